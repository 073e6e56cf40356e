"""
Macro-F1 without weights from Nelder-Mead
=========================================

People divide by the prevalences, best with one of these two models, or search a factor
per class with Nelder-Mead, which stops where small steps change no label. `tune`
searches the steps, `decide` maximises the expected score of the batch.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import argmetric as am

X, y = load_digits(return_X_y=True)
for model in (LogisticRegression(C=0.03), RandomForestClassifier(random_state=0)):
    scores = []
    for seed in range(4):  # noisy digits, 9 the rarest: fit, search, hold out a third
        rng = np.random.default_rng(seed)
        rows = rng.permutation(np.flatnonzero(rng.random(y.size) < 0.8**y))
        noisy, c = X[rows] / 16 + rng.normal(0, 0.5, (rows.size, 64)), y[rows]
        P = model.fit(noisy[::3], c[::3]).predict_proba(noisy)
        known, p = (c[1::3], P[1::3]), P[2::3]

        def loss(weights, c=known[0], p=known[1]):
            return -am.classes.evaluate(c, (p * weights).argmax(1), "f1")

        weights = minimize(loss, np.ones(10), method="nelder-mead").x
        answers = {"most probable": p.argmax(1), "Nelder-Mead": (p * weights).argmax(1)}
        answers["/ prevalence"] = (p / np.bincount(c[::3])).argmax(1)
        answers["tune"] = am.classes.tune(*known, "f1", cv=None).apply(p)
        answers["decide"] = am.classes.decide(p, "f1", reference=known).labels
        scores.append([am.classes.evaluate(c[2::3], z) for z in answers.values()])
    plt.plot(list(answers), np.mean(scores, axis=0), "o-", label=type(model).__name__)
plt.legend(title="macro-F1, held-out rows, mean of 4 draws")
plt.show()
