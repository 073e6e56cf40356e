"""
A floor under precision that holds for new rows
===============================================

A threshold that keeps a precision of 80 % on the rows that it was tuned on breaks it on
new rows about every second time. With a confidence, `tune` takes a threshold of which
the labelled rows prove that it keeps the floor.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(0)
p = rng.beta(0.25, 0.5, 1000)
y = (rng.random(1000) < p).astype(int)
rule = am.tune(y, p, "f1", min_precision=0.8, confidence=0.95)
print(rule.guarantee)

# %%
# F1 and precision at every threshold, and the thresholds that are certified.
ax = rule.plot()
precision = am.tune(y, p, "precision", n_bootstrap=0, cv=None)
ax.step(precision.thresholds, precision.scores, where="pre", label="Precision")
ax.axhline(0.8, color="0.5", lw=1)
ax.legend()
plt.show()

# %%
# A hundred people tune on rows of their own: how many thresholds break the floor?
rows = rng.beta(0.25, 0.5, 100_000)
broken = np.zeros(2, dtype=int)
for _ in range(100):
    p = rng.beta(0.25, 0.5, 1000)
    y = (rng.random(1000) < p).astype(int)
    how = {"min_precision": 0.8, "n_bootstrap": 0, "cv": None}
    rules = am.tune(y, p, **how), am.tune(y, p, **how, confidence=0.95)
    broken += [int(rows[rows >= rule.threshold].mean() < 0.8) for rule in rules]
print("on their rows alone {}, with a confidence of 95 % {}".format(*broken))
