"""
Several classes: weights instead of thresholds
==============================================

With rare classes the most probable class is not the best answer for macro F1.
`classes.tune` finds one weight per class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

import argmetric as am

rng = np.random.default_rng(7)
P = rng.dirichlet([4.0, 1.0, 0.6], 3000)
y = (P.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
rule = am.classes.tune(y[:1500], P[:1500], "f1")
print("weights", np.round(rule.weights, 2))

# %%
answers = {"most probable": P[1500:].argmax(axis=1), "tuned": rule.apply(P[1500:])}
fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for ax, (name, found) in zip(axes, answers.items(), strict=True):
    truth = y[1500:]
    f1 = np.mean([am.evaluate(truth == c, found == c, "f1") for c in range(3)])
    ConfusionMatrixDisplay.from_predictions(truth, found, ax=ax, colorbar=False)
    ax.set_title(f"{name}: macro F1 {f1:.3f}")
plt.show()
