"""
A forecast that sharpens as labels arrive
=========================================

True labels arrive over weeks. `forecast` gives the distribution of the score from the
first day. Pass the labels that have arrived as ``known``, and the interval shrinks
towards the actual score.
"""

# %%
# 400 rows with calibrated probabilities, a decision for F1, and simulated true labels.
import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(11)
p = rng.beta(0.6, 2.5, size=400)
truth = (rng.random(p.size) < p).astype(float)
labels = am.decide(p, "f1").labels

first = am.forecast(p, labels, "f1", coverage=0.9)
print(first)

# %%
# Labels arrive in random order. Unknown labels are nan.
arrival = rng.permutation(p.size)
stages = np.arange(0, p.size + 1, 10)
forecasts = []
for count in stages:
    known = np.full(p.size, np.nan)
    known[arrival[:count]] = truth[arrival[:count]]
    forecasts.append(am.forecast(p, labels, "f1", coverage=0.9, known=known))

final = am.evaluate(truth, labels)
print(f"after all labels: {forecasts[-1].mean:.4f}, evaluated: {final:.4f}")

# %%
# Left, the interval against the share of known labels; right, the distribution at three
# stages.
BLUE, RED = "#2a6f97", "#c8553d"
low, high = np.array([f.interval for f in forecasts]).T
mean = np.array([f.mean for f in forecasts])
share = stages / p.size

fig, (fan, laws) = plt.subplots(
    1, 2, figsize=(9.2, 3.9), width_ratios=(1.6, 1), layout="constrained", sharey=True
)
fan.fill_between(
    share, low, high, color=BLUE, alpha=0.2, linewidth=0, label="90% interval"
)
fan.plot(share, mean, color=BLUE, linewidth=2, label="mean of the forecast")
fan.axhline(final, color=RED, linewidth=1.5, linestyle="--", label="actual score")
fan.legend(frameon=False, loc="lower left")
fan.set(
    xlabel="share of the labels known",
    ylabel="F1",
    xlim=(0, 1),
    title="The interval shrinks as labels come",
)
fan.xaxis.set_major_formatter("{x:.0%}")

bins = np.linspace(low.min() - 0.06, high.max() + 0.05, 33)
for stage, colour in ((0, "#9fbfd3"), (24, BLUE), (36, "#123a52")):
    law = forecasts[stage]
    laws.hist(
        law.values,
        bins=bins,
        weights=law.probabilities,
        orientation="horizontal",
        histtype="step",
        linewidth=1.8,
        color=colour,
        label=f"{share[stage]:.0%} known",
    )
laws.axhline(final, color=RED, linewidth=1.5, linestyle="--")
laws.set(xlabel="probability", title="The law of F1")
laws.legend(frameon=False, loc="upper right")
for ax in (fan, laws):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The interval relies on calibrated probabilities, independent labels, and no shift. If
# labels rise and fall together, ``overdispersion`` widens it:
for sd in (0.0, 0.3, 0.6):
    wide = am.forecast(p, labels, "f1", overdispersion=sd)
    print(f"sd {sd:g}: {wide.interval[0]:.3f} to {wide.interval[1]:.3f}")
