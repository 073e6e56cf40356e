"""
A first decision
================

A model gives each of 300 rows a probability, and F1 judges the rows together. `decide`
computes the expected F1 of predicting the k most probable rows, for every k, and takes
the best k.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(7)
p = rng.beta(0.7, 3.5, size=300)
decision = am.decide(p, metric="f1")
print(decision)

# %%
# The curve shows how flat the top is, and how much a 0.5 cut-off loses.
ax = decision.plot()
plt.show()

# %%
# The threshold lies half-way between the last selected score and the next one. It
# belongs to *these* rows; call `decide` again for other rows.
