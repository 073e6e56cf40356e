"""
Wrap any classifier
===================

`MetricClassifier` wraps any scikit-learn classifier. It computes out-of-fold scores,
finds the threshold with the best F1, fits a calibration map, and fits the classifier on
all rows.
"""

# %%
# One row in twelve is positive. The wrapped model is gradient boosting.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import argmetric as am

X, y = make_classification(
    8_000,
    12,
    n_informative=5,
    n_redundant=3,
    n_clusters_per_class=3,
    weights=[0.93],
    class_sep=0.9,
    flip_y=0.03,
    random_state=4,
)
X, X_new, y, y_new = train_test_split(X, y, stratify=y, random_state=0)

boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
model = am.MetricClassifier(boosting, metric="f1", random_state=0).fit(X, y)
print(model.rule_)
print(model.calibrator_)

# %%
# The rule reports the out-of-fold score beside the score in sample. The score on new
# rows can be forecast before their labels are known.
forecast = model.forecast(X_new)
print(forecast)
print(f"F1 that came: {f1_score(y_new, model.predict(X_new)):.3f}")
print(f"F1 of a cut at 0.5: {f1_score(y_new, model.estimator_.predict(X_new)):.3f}")

# %%
# The same for five classifiers. A linear support vector machine has no probabilities;
# its margins are calibrated like any score.
learners = {
    "naive Bayes": GaussianNB(),
    "linear SVM": LinearSVC(random_state=0),
    "logistic": LogisticRegression(),
    "boosting": boosting,
    "forest": RandomForestClassifier(50, random_state=0),
}
plain, tuned = {}, {}
for name, learner in learners.items():
    wrapped = am.MetricClassifier(learner, metric="f1", random_state=0).fit(X, y)
    plain[name] = f1_score(y_new, wrapped.estimator_.predict(X_new))
    tuned[name] = f1_score(y_new, wrapped.predict(X_new))
    method = wrapped.calibrator_.method
    cut = f"score >= {wrapped.best_threshold_:.3f}"
    print(f"{name:12} {plain[name]:.3f} -> {tuned[name]:.3f}   {cut}, {method}")

# %%
BLUE, RED, GREY = "#2a6f97", "#c8553d", "#8d99a6"
rule = model.rule_
fig, (curve, bars) = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
finite = np.isfinite(rule.thresholds)
curve.plot(rule.thresholds[finite], rule.scores[finite], color=BLUE, linewidth=2)
curve.axvspan(*rule.threshold_interval, color=BLUE, alpha=0.12, linewidth=0)
curve.plot(rule.threshold, rule.score, "o", color=RED, markersize=8)
curve.annotate(
    f"rule: p ≥ {rule.threshold:.3f}, F1 {rule.score:.3f}",
    (rule.threshold, rule.score),
    xytext=(8, 10),
    textcoords="offset points",
    color=RED,
)
curve.axvline(0.5, ymax=0.82, color=GREY, linestyle="--", linewidth=1.5)
curve.set(
    xlabel="threshold on the classifier's probability",
    ylabel="F1, out-of-fold scores",
    xlim=(0, 1),
    ylim=(0, 1.15 * rule.score),
    title="The exact curve, and where its top may lie",
)
place = np.arange(len(learners))
bars.hlines(place, list(plain.values()), list(tuned.values()), color=GREY, linewidth=2)
bars.plot(list(plain.values()), place, "s", color=GREY, label="cut at 0.5")
bars.plot(list(tuned.values()), place, "o", color=RED, label="tuned rule")
bars.set(
    yticks=place,
    yticklabels=list(learners),
    xlabel="F1 on new rows",
    xlim=(-0.02, 0.8),
    title="What the rule is worth",
)
bars.legend(frameon=False, loc="lower right")
for ax in (curve, bars):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# `decision_function` is zero at the threshold. So `OneVsRestClassifier`, which looks at
# its sign, keeps one threshold per label.
labels = np.column_stack([y, X[:, 0] > 1.5, X[:, 1] + X[:, 2] > 3.0]).astype(int)
several = OneVsRestClassifier(am.MetricClassifier(GaussianNB(), random_state=0))
several.fit(X, labels)
for one in several.estimators_:
    print(f"p >= {one.best_threshold_:.3f}, F1 {one.best_score_:.3f}")
each = np.column_stack([one.predict(X_new) for one in several.estimators_])
print("rules kept:", bool((several.predict(X_new) == each).all()))

# %%
# `predict` labels each row on its own. For rows that are scored per order or query, use
# `decide`:
groups = np.arange(len(X_new)) // 20
decision = model.decide(X_new, groups=groups, average="groups", zero_division=1.0)
print(decision)
