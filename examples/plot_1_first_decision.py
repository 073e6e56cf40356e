"""
A first decision
================

A model gives each of 300 rows a probability; the rows are judged together by F1. A 0.5
cut-off is usually not the best one for F1. `decide` computes the expected F1 of
predicting the k most probable rows, for every k from 0, and takes the best.
"""

# %%
# The data: rare positives, so few probabilities come near 0.5.
import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(7)
p = rng.beta(0.7, 3.5, size=300)

decision = am.decide(p, metric="f1")
print(decision)

# %%
# The whole curve shows how flat the top is, and how much a 0.5 cut-off loses.
BLUE, RED, GREY = "#2a6f97", "#c8553d", "#8d99a6"
k = np.arange(decision.curve.size)
half = decision.cut_half

fig, (rows, curve) = plt.subplots(
    1, 2, figsize=(9.2, 3.9), width_ratios=(1, 1.6), layout="constrained"
)
edges = decision.threshold + 0.025 * np.arange(-40, 41)  # a bin begins at the cut
bins = np.concatenate([[0.0], edges[(edges > 0) & (edges < 1)], [1.0]])
chosen = decision.labels == 1
rows.hist([p[chosen], p[~chosen]], bins=bins, stacked=True, color=[RED, "#cfd6dd"])
rows.axvline(decision.threshold, color=RED, linewidth=1.5)
rows.axvline(0.5, ymax=0.88, color=GREY, linewidth=1.5, linestyle="--")
top = rows.get_ylim()[1]
note = f"threshold {decision.threshold:.3f}"
rows.text(decision.threshold + 0.02, 0.94 * top, note, color=RED)
rows.text(0.52, 0.84 * top, "0.5", color="#5c6873")
rows.set(xlabel="p", ylabel="rows", xlim=(0, 1), title="What is predicted positive")

curve.plot(k, decision.curve, color=BLUE, linewidth=2)
curve.plot(decision.n_positives, decision.expected, "o", color=RED, markersize=8)
curve.annotate(
    f"decision: k = {decision.n_positives}, expected F1 {decision.expected:.3f}",
    (decision.n_positives, decision.expected),
    xytext=(14, 10),
    textcoords="offset points",
    color=RED,
)
curve.plot(half.n_positives, half.expected, "s", color=GREY, markersize=7)
curve.annotate(
    f"cut at 0.5: k = {half.n_positives}, expected F1 {half.expected:.3f}",
    (half.n_positives, half.expected),
    xytext=(14, -4),
    textcoords="offset points",
    color="#5c6873",
)
curve.set(
    xlabel="k, rows predicted positive",
    ylabel="expected F1",
    xlim=(-4, p.size),
    ylim=(0, 1.2 * decision.expected),
    title="Expected F1 of the k likeliest rows",
)
for ax in (rows, curve):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# ``decision.plot()`` draws the right-hand picture in one line. The threshold lies
# half-way between the last selected score and the next one, so it survives rounding.
# It belongs to *these* rows; call `decide` again for other rows.
