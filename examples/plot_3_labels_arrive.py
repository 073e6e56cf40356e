"""
A forecast that sharpens as labels arrive
=========================================

True labels arrive over weeks. `forecast` gives an interval for the score from the first
day. Pass the labels that have arrived as ``known``, and the interval shrinks towards
the actual score.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(11)
p = rng.beta(0.6, 2.5, size=400)
truth = (rng.random(p.size) < p).astype(float)
labels = am.decide(p, "f1").labels

# %%
# Labels arrive in random order; unknown ones are nan.
arrival = rng.permutation(p.size)
counts = np.arange(0, p.size + 1, 10)
forecasts = []
for count in counts:
    known = np.full(p.size, np.nan)
    known[arrival[:count]] = truth[arrival[:count]]
    forecasts.append(am.forecast(p, labels, "f1", known=known))

# %%
low, high = np.array([f.interval for f in forecasts]).T
fig, ax = plt.subplots(figsize=(7.6, 3.9), layout="constrained")
ax.fill_between(counts, low, high, alpha=0.2, label="90 % interval")
ax.plot(counts, [f.mean for f in forecasts], label="forecast")
ax.axhline(am.evaluate(truth, labels), color="#c8553d", label="actual score")
ax.set(xlabel="labels known, of 400", ylabel="F1", xlim=(0, 400))
ax.legend()
plt.show()
