"""
Tune a threshold on imbalanced data
===================================

One row in ten is positive, so few rows reach p = 0.5. `tune` finds the threshold with
the best F1 on labelled rows, and shows how uncertain it is.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

rng = np.random.default_rng(0)
p = rng.beta(0.4, 3.0, 3000)
y = (rng.random(3000) < p).astype(int)
rule = am.tune(y[:1500], p[:1500], "f1", random_state=0)
print(rule)

# %%
# The curve is flat near its top: many thresholds are about as good.
ax = rule.plot()
plt.show()

# %%
# On new rows, the tuned threshold beats a 0.5 cut-off.
for name, labels in (("0.5", p[1500:] >= 0.5), ("tuned", rule.apply(p[1500:]))):
    print(f"{name:6} F1 {am.evaluate(y[1500:], labels, 'f1'):.3f}")
