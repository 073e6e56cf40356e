"""
Train for the metric
====================

Logistic regression maximises the likelihood, even if F1 judges it.
`MetricLogisticRegression` maximises the metric itself. The four rows of Jansche (2005)
show the difference: one feature, and no line separates the classes.
"""

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am

x = np.array([0.0, 1.0, 2.0, 3.0])
y = np.array([1, 0, 1, 1])
goals = {"F1": am.FBeta(1), "F0.58": am.FBeta((1 / 3) ** 0.5)}  # the second: α = 0.25
for name, metric in goals.items():
    model = am.MetricLogisticRegression(metric, C=1000, random_state=0)
    labels = model.fit(x[:, None], y).predict(x[:, None])
    scores = {key: round(goal.score(y, labels), 3) for key, goal in goals.items()}
    print(f"trained for {name}: labels {labels}, scores {scores}")

# %%
# Each model wins by its own metric. The likelihood has one hill. The metrics have
# plateaus, and their best points lie in opposite corners; so the search starts several
# times, and a penalty keeps the coefficients finite.
fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
surfaces = {"log-likelihood": "log_likelihood", **goals}
for ax, (name, metric) in zip(axes, surfaces.items(), strict=True):
    display = am.MetricSurfaceDisplay.from_data(x, y, metric, name=name)
    display.plot(ax, levels=12)
    row, column = np.unravel_index(display.values.argmax(), display.values.shape)
    ax.plot(display.theta0[column], display.theta1[row], "o", color="#c8553d")
plt.show()
