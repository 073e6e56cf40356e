"""
Baskets: when "none" is the right answer
========================================

Which items of each order will be bought again? The score is the mean F1 over orders, so
each order gets its own set. `zero_division` sets how an empty set scores when nothing
was bought, and it changes the answer.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(3)
order = np.repeat(np.arange(8), rng.integers(5, 13, size=8))
logit = np.linspace(-4.2, 0.6, 8)[order] + rng.normal(0, 1.0, order.size)
p = 1 / (1 + np.exp(-logit))

# %%
# Filled dots are selected items. Orders with low probabilities get one or two long
# shots if an empty set scores 0, and none if a right empty set scores 1.
fig, axes = plt.subplots(1, 2, figsize=(9.2, 4.4), sharey=True, layout="constrained")
for ax, zero_division in zip(axes, (0, 1), strict=True):
    d = am.decide(p, "f1", groups=order, average="groups", zero_division=zero_division)
    chosen = d.labels == 1
    ax.scatter(p[~chosen], order[~chosen], color="white", edgecolor="#8d99a6")
    ax.scatter(p[chosen], order[chosen], color="#c8553d")
    for place, count in enumerate(d.group_n_positives):
        ax.text(1.05, place, str(count or "none"), va="center")
    title = f"zero_division={zero_division}: expected mean F1 {d.expected:.3f}"
    ax.set(xlim=(-0.02, 1.2), xlabel="p(bought again)", ylabel="order", title=title)
    best, half = d.best_cut.expected, d.cut_half.expected
    print(f"{title}; best single cut {best:.3f}; cut at 0.5 {half:.3f}")
plt.show()
