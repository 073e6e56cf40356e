"""
A metric of your own
====================

Any function of the four counts works: true positives, predicted positives, actual
positives and rows. Here a hit earns 5, a false alarm costs 1, and a team of ten people
handles 40 cases for free.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am


def profit(tp, k, t, n):
    return 5 * tp - (k - tp) - 2 * np.maximum(k - 40, 0)


p = np.random.default_rng(5).beta(0.5, 2.0, 200)
print(am.check_metric(profit))
decision = am.decide(p, am.CustomMetric(profit, name="profit"))
decision.plot()
plt.show()

# %%
print(f"{decision.n_positives} cases, expected profit {decision.expected:.1f}")
