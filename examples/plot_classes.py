"""
Several classes: decide without labels
======================================

With rare classes the most probable class is not the best answer for macro F1. `decide`
chooses one class per row from the probabilities alone. Rare classes gain most.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(7)
P = rng.dirichlet([5.0, 1.2, 0.8, 0.4], 3000)
y = (P.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
names = np.array(["ok", "late", "lost", "fraud"])
decision = am.classes.decide(P, "f1", classes=names)
print(decision)

# %%
# What each class is expected to score, against the most probable class:
decision.plot()
plt.show()

# %%
# The forecast, and the actual scores once the labels have arrived:
low, high = decision.forecast().interval
print(f"forecast       {decision.expected:.3f}, from {low:.3f} to {high:.3f}")
for name, z in (("decided", decision.labels), ("most probable", names[P.argmax(1)])):
    print(f"{name:14} {am.classes.evaluate(names[y], z, 'f1'):.3f}")
