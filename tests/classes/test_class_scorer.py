"""optimal_scorer with one label per row: decide and evaluate, nothing else."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import argmetric as am
from refusing import refuses

X, CODE = make_classification(
    600, n_classes=4, n_informative=6, weights=[0.6, 0.2, 0.15], random_state=0
)
Y = np.array(["ok", "late", "lost", "broken"])[CODE]
MODEL = LogisticRegression().fit(X[:300], Y[:300])


@pytest.mark.parametrize(
    ("metric", "how"),
    [
        ("f1", {}),
        ("f1", {"average": "weighted"}),
        ("jaccard", {"zero_division": 0.0}),
        ("mcc", {}),
        (lambda table: float(np.trace(table)), {}),
    ],
)
def test_it_scores_the_labels_of_decide(metric, how):
    p = MODEL.predict_proba(X[300:])
    labels = am.classes.decide(p, metric, classes=MODEL.classes_, **how).labels
    actual = am.classes.evaluate(Y[300:], labels, metric, classes=MODEL.classes_, **how)
    scorer = am.optimal_scorer(metric, one_label=True, **how)
    assert scorer(MODEL, X[300:], Y[300:]) == float(actual)
    assert clone(scorer)(MODEL, X[300:], Y[300:]) == float(actual)


def test_a_search_takes_it():
    found = GridSearchCV(
        LogisticRegression(),
        {"C": [0.01, 1.0]},
        scoring=am.optimal_scorer(one_label=True),
        cv=2,
    ).fit(X, Y)
    first = found.cv_results_["split0_test_score"]
    assert (first > 0).all()


def test_wrong_input():
    scorer = am.optimal_scorer(one_label=True)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        scorer(LinearSVC().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="sample_weight cannot be used"):
        scorer(MODEL, X, Y, sample_weight=np.ones(600))
    with pytest.raises(ValueError, match="min_recall cannot be used"):
        am.optimal_scorer(one_label=True, min_recall=0.2)(MODEL, X, Y)
    refuses(ValueError, "not among the classes", scorer, MODEL, X[:2], ["ok", "other"])
