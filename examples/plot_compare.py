"""
Which model is better?
======================

Two models on the same 3,000 rows, and 500 labelled rows of before. Labels of rows that
are chosen, 25 at a time, narrow the difference of their F1.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(2)
x = rng.normal(-1.5, 1.8, 3500)
y = rng.random(3500) < 1 / (1 + np.exp(-x))
a, b = (1 / (1 + np.exp(-x - rng.normal(0, s, 3500))) for s in (0.5, 1.1))
reference = y[:500], {"a": a[:500], "b": b[:500]}

# %%
# Labels come in batches; the dotted line is no difference.
found = am.compare(
    {"a": a[500:], "b": b[500:]}, {"a": 0.4, "b": 0.4}, reference=reference
)
for _ in range(6):
    rows = found.next_rows(25)
    found = found.add(rows, y[500:][rows])
found.plot()
plt.show()
