"""
A model without labels
======================

The prevalence falls in week 9, and the inputs change in week 13. The forecast follows
the fall, and says when it cannot know.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(3)


def scored(n, share):
    y = rng.random(n) < share
    x = rng.normal(np.where(y, 1.0, -1.0))
    return y, 1 / (1 + 4 * np.exp(-2 * x))


reference = scored(2000, 0.2)
_, p = scored(8000, 0.2)
_, p_rare = scored(4000, 0.08)
_, p_other = scored(20_000, 0.2)
unsure = np.flatnonzero(np.abs(p_other - 0.4) < 0.25)[:2000]
p = np.concatenate([p, p_rare, p_other[unsure]])

# %%
m = am.monitor(p, 0.4, "f1", reference=reference, every=1000, floor=0.5)
m.plot()
plt.show()
