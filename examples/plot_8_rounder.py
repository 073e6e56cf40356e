"""
Quadratic kappa without OptimizedRounder
========================================

The usual recipe cuts a regression where Nelder-Mead finds the best kappa. With class
probabilities `classes.decide` needs no cuts. 442 diabetes patients, 12 random splits.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression

import argmetric as am

X, progress = load_diabetes(return_X_y=True)
y = np.digitize(progress, np.quantile(progress, [0.5, 0.75, 0.88, 0.96]))  # 0 to 4


def optimized_rounder(y, x):
    def loss(cuts):
        return -am.classes.evaluate(y, np.digitize(x, np.sort(cuts)), "quadratic_kappa")

    return np.sort(minimize(loss, [0.5, 1.5, 2.5, 3.5], method="nelder-mead").x)


scores = []
for seed in range(12):  # 150 to fit, 150 for the cuts or the reference, 142 held out
    fit, held, new = np.split(np.random.default_rng(seed).permutation(442), [150, 300])
    x = LinearRegression().fit(X[fit], y[fit]).predict(X)
    P = LogisticRegression(C=30).fit(X[fit], y[fit]).predict_proba(X)
    z = np.digitize(x[new], optimized_rounder(y[held], x[held]))
    d = am.classes.decide(P[new], "quadratic_kappa", reference=(y[held], P[held]))
    scores.append([am.classes.evaluate(y[new], z, d.metric) for z in (z, d.labels)])
print("means: rounder {:.3f}, decide {:.3f}".format(*np.mean(scores, axis=0)))
plt.plot(*np.transpose(scores), "o")
plt.axline((0.55, 0.55), slope=1, color="0.5")
plt.gca().set(xlabel="kappa, OptimizedRounder", ylabel="kappa, classes.decide")
plt.show()
