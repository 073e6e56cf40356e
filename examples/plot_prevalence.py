"""
When positives become rarer
===========================

If only the prevalence changes, `prior` adjusts decision and forecast. Here the
forecast F1 falls as positives become rarer.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

p = np.random.default_rng(6).beta(0.8, 3.0, 1000)
shares = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3])
decisions = [am.decide(p, "f1", prior=share) for share in shares]
forecasts = [
    am.forecast(p, one.labels, "f1", prior=share)
    for one, share in zip(decisions, shares, strict=True)
]
low, high = np.array([one.interval for one in forecasts]).T

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.fill_between(shares, low, high, alpha=0.25, lw=0, label="90 % interval")
ax.plot(shares, [one.mean for one in forecasts], "o-", label="forecast F1")
ax.set(xlabel="prevalence", ylabel="F1", ylim=(0, 1))
ax.legend()
plt.show()
