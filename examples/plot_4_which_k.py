"""
Which metric picks which k
==========================

Each metric has its own best number of predicted positives for the same probabilities.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(5)
p = rng.beta(0.5, 2.8, size=250)
print(f"{p.size} rows, {p.sum():.1f} positives expected")

metrics = {
    "precision": "precision",
    "accuracy": "accuracy",
    "F0.5": "f0.5",
    "kappa": "kappa",
    "MCC": "mcc",
    "F1": "f1",
    "Fowlkes-Mallows": "fowlkes_mallows",
    "F2": "f2",
    "Q-mean": "qmean",
    "G-mean": "gmean",
    "balanced accuracy": "balanced_accuracy",
    "count error": "sec",
}
decisions = {name: am.decide(p, metric) for name, metric in metrics.items()}
ordered = sorted(decisions.items(), key=lambda item: item[1].n_positives)
for name, decision in ordered:
    print(f"{name:20} k = {decision.n_positives:3}  expected {decision.expected:.3f}")

# %%
# Each panel shows the expected metric of the k most probable rows. The dot is the
# decision; the dashed line is the expected number of actual positives. Only the squared
# count error, which is minimised, aims at that number.
BLUE, RED, GREY = "#2a6f97", "#c8553d", "#9aa5b1"
fig, axes = plt.subplots(3, 4, figsize=(9.6, 5.8), sharex=True, layout="constrained")
for ax, (name, decision) in zip(axes.flat, ordered, strict=True):
    ax.axvline(p.sum(), color=GREY, linewidth=1, linestyle="--")
    ax.plot(decision.curve, color=BLUE, linewidth=1.8)
    ax.plot(decision.n_positives, decision.expected, "o", color=RED, markersize=7)
    ax.set_title(f"{name}: k = {decision.n_positives}", fontsize=10.5)
    ax.set(xlim=(-6, p.size + 6), xticks=(0, 100, 200))
    ax.tick_params(labelsize=8.5, color=GREY)
    ax.spines[["top", "right"]].set_visible(False)
fig.supxlabel("k, rows predicted positive", fontsize=10.5)
fig.supylabel("expected metric", fontsize=10.5)
plt.show()

# %%
# Your own metric is a function of the four counts. Here a false alarm costs 1 and a
# miss costs 4.
cost = am.CustomMetric(
    lambda tp, k, t, n: (k - tp) + 4 * (t - tp), name="cost", greater_is_better=False
)
decision = am.decide(p, cost)
print(f"{decision.n_positives} rows, expected cost {decision.expected:.1f}")
