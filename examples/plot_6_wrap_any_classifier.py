"""
Wrap any classifier
===================

`MetricClassifier` wraps any scikit-learn classifier. It tunes the threshold on
out-of-fold scores, recalibrates them, and fits the classifier on all rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import argmetric as am

shape = {"n_informative": 5, "n_redundant": 3, "n_clusters_per_class": 3}
noise = {"weights": [0.93], "class_sep": 0.9, "flip_y": 0.03}
X, y = make_classification(8000, 12, **shape, **noise, random_state=4)
X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)

# %%
# A support vector machine has no probabilities; its margins are recalibrated too.
boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
forest = RandomForestClassifier(50, random_state=0)
fig, ax = plt.subplots(figsize=(7.6, 3.2), layout="constrained")
for learner in (LinearSVC(random_state=0), LogisticRegression(), forest, boosting):
    model = am.MetricClassifier(learner, metric="f1", random_state=0).fit(X, y)
    plain = am.evaluate(y_new, model.estimator_.predict(X_new))
    tuned = am.evaluate(y_new, model.predict(X_new))
    ax.plot(plain, type(learner).__name__, "s", color="#8d99a6")
    ax.plot(tuned, type(learner).__name__, "o", color="#c8553d")
ax.set(xlabel="F1 on new rows: own cut-off (square), tuned threshold (dot)")
plt.show()

# %%
# `forecast` predicts the score of the last model on new rows, without their labels.
print(model.forecast(X_new), f"\nactual F1: {tuned:.3f}")
