"""
A floor under precision that holds for new rows
===============================================

A threshold that keeps a precision of 80 % on the rows that it was tuned on breaks it on
new rows about every second time. With a confidence, `tune` takes a threshold of which
the labelled rows prove that it keeps the floor.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(0)
p = rng.beta(0.25, 0.5, 1000)
y = (rng.random(1000) < p).astype(int)
rule = am.tune(y, p, "f1", min_precision=0.8, confidence=0.95)
print(rule.guarantee)

# %%
# Precision at every threshold, and the thresholds that are certified. On these rows the
# curve is above the floor further down as well, which proves nothing for others.
ax = am.tune(y, p, "precision", min_precision=0.8, confidence=0.95).plot()
ax.axhline(0.8, color="0.5", lw=1)
plt.show()

# %%
# A hundred people tune on rows of their own: how many thresholds break the floor?
grid = (np.arange(20_000) + 0.5) / 20_000
population = np.quantile(rng.beta(0.25, 0.5, 200_000), grid)
broken = {"on these rows": 0, "with a confidence of 95 %": 0}
for seed in range(100):
    draw = np.random.default_rng(seed)
    p = draw.beta(0.25, 0.5, 1000)
    y = (draw.random(1000) < p).astype(int)
    quick = {"min_precision": 0.8, "n_bootstrap": 0, "cv": None}
    rules = (
        am.tune(y, p, "recall", **quick),
        am.tune(y, p, "recall", confidence=0.95, **quick),
    )
    for name, one in zip(broken, rules, strict=True):
        broken[name] += int(population[population >= one.threshold].mean() < 0.8)
print(broken)
