"""
F-beta: how much recall?
========================

A larger beta gives recall more weight, so more rows are predicted positive.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

p = np.random.default_rng(4).beta(0.6, 2.5, 400)
betas = np.geomspace(0.25, 4, 17)
decisions = [am.decide(p, am.FBeta(beta)) for beta in betas]
precision, recall = (
    [am.forecast(p, one.labels, metric).mean for one in decisions]
    for metric in ("precision", "recall")
)

# %%
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.semilogx(betas, precision, label="expected precision")
ax.semilogx(betas, recall, label="expected recall")
ax.semilogx(betas, [one.threshold for one in decisions], "--", label="threshold")
ax.set(xlabel="beta", ylim=(0, 1))
ax.set_xticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"], minor=False)
ax.minorticks_off()
ax.legend()
plt.show()
