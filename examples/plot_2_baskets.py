"""
Baskets: when "none" is the right answer
========================================

Which items of each order will be bought again? The score is the mean F1 over orders, so
every order gets its own set. `zero_division` sets how an empty set scores when nothing
was bought, and it changes the answer.
"""

# %%
# Eight orders with different numbers of candidates.
import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(3)
sizes = rng.integers(5, 13, size=8)
order = np.repeat(np.arange(8), sizes)
liveliness = np.linspace(-4.2, 0.6, 8)[order]
p = 1 / (1 + np.exp(-(liveliness + rng.normal(0, 1.0, order.size))))

# %%
# The same probabilities with both values: an empty set scores 0, or it scores 1 when
# nothing was bought.
conventions = {0.0: "an empty set scores 0", 1.0: "a right empty set scores 1"}
decisions = {
    value: am.decide(p, "f1", groups=order, average="groups", zero_division=value)
    for value in conventions
}
for value, decision in decisions.items():
    print(f"zero_division={value:g}", decision.group_n_positives)

# %%
# Filled dots are selected items. In orders with low probabilities the first convention
# selects several long shots; the second selects none.
RED, GREY, INK = "#c8553d", "#b8c1ca", "#33414e"
fig, axes = plt.subplots(1, 2, figsize=(9.2, 4.4), sharey=True, layout="constrained")
for ax, (value, decision) in zip(axes, decisions.items(), strict=True):
    taken = decision.labels == 1
    ax.hlines(range(8), 0, 1, color="#eef1f4", linewidth=9, zorder=0)
    ax.scatter(p[~taken], order[~taken], s=34, color="white", edgecolor=GREY)
    ax.scatter(p[taken], order[taken], s=44, color=RED, edgecolor="white")
    for group, count in enumerate(decision.group_n_positives):
        answer = f"{count} of {sizes[group]}" if count else "none"
        weight = "normal" if count else "bold"
        ax.text(1.03, group, answer, va="center", color=INK, fontweight=weight)
    ax.set(
        xlim=(-0.02, 1.0),
        xlabel="p(bought again)",
        title=f"0/0 = {value:g}: {conventions[value]}\n"
        f"expected mean F1 {decision.expected:.3f}",
    )
    ax.tick_params(left=False)
    ax.spines[["top", "right", "left"]].set_visible(False)
axes[0].set_yticks(range(8), [f"order {g + 1}" for g in range(8)])
plt.show()

# %%
# One threshold for all orders scores less:
for value, decision in decisions.items():
    print(
        f"zero_division={value:g}: per order {decision.expected:.3f}, "
        f"best single cut {decision.best_cut.expected:.3f}, "
        f"cut at 0.5 {decision.cut_half.expected:.3f}"
    )
