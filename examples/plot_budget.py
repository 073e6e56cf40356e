"""
A budget and a minimum
======================

What does a limit cost? The expected F1 falls as fewer positives are allowed, or as more
precision is required.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

p = np.random.default_rng(3).beta(0.6, 2.5, 300)
budgets = np.arange(10, 121, 10)
by_budget = [am.decide(p, "f1", max_positives=int(k)).expected for k in budgets]
minimums = np.linspace(0.3, 0.8, 11)
by_precision = [am.decide(p, "f1", min_precision=x).expected for x in minimums]

# %%
fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), sharey=True, layout="constrained"
)
left.plot(budgets, by_budget, "o-")
left.set(xlabel="max_positives", ylabel="expected F1")
right.plot(minimums, by_precision, "o-")
right.set(xlabel="min_precision")
plt.show()
