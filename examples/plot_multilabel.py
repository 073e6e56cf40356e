"""
Multi-label: samples, macro or micro
====================================

The best labels depend on how F1 is averaged: over rows, over labels, or over all cells.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(2)
P = rng.beta(0.6, 1.4, (12, 8)).round(2)
kinds = "samples", "macro", "micro"
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.8), sharey=True, layout="constrained")
for ax, kind in zip(axes, kinds, strict=True):
    decision = am.decide(P, "f1", average=kind)
    ax.imshow(P, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    rows, columns = np.nonzero(decision.labels)
    ax.plot(columns, rows, "o", color="C1", markersize=5)
    ax.set(xlabel="label", title=f"{kind}: expected {decision.expected:.3f}")
axes[0].set_ylabel("row")
plt.show()
