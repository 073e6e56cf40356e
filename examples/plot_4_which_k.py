"""
Which metric picks which k
==========================

Each metric has its own best number of predicted positives for the same probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(5)
p = rng.beta(0.5, 2.8, size=250)
names = (
    *("precision", "accuracy", "f0.5", "kappa", "mcc", "f1", "fowlkes_mallows"),
    *("f2", "qmean", "gmean", "balanced_accuracy", "sec"),
)
decisions = sorted((am.decide(p, name) for name in names), key=lambda d: d.n_positives)

# %%
# Each panel shows the expected metric of the k most probable rows. The dot is the best
# k; the dashed line is the expected number of actual positives. Only the squared count
# error (sec), which is minimised, aims at that number.
fig, axes = plt.subplots(3, 4, figsize=(9.6, 5.8), sharex=True, layout="constrained")
for ax, decision in zip(axes.flat, decisions, strict=True):
    ax.axvline(p.sum(), color="#9aa5b1", linewidth=1, linestyle="--")
    ax.plot(decision.curve)
    ax.plot(decision.n_positives, decision.expected, "o", color="#c8553d")
    ax.set_title(f"{decision.metric.name}: k = {decision.n_positives}", fontsize=9.5)
fig.supxlabel("k, rows predicted positive")
fig.supylabel("expected metric")
plt.show()
