"""optimal_scorer: brute force over all cuts, and its life inside of scikit-learn."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
)
from sklearn.metrics import f1_score, matthews_corrcoef
from sklearn.model_selection import cross_validate

import argmetric as am

X, Y = make_classification(300, 6, weights=[0.85], flip_y=0.1, random_state=0)


class Given(ClassifierMixin, BaseEstimator):
    """Its scores are its first feature."""

    def __init__(self, classes=(0, 1)):
        self.classes_ = np.asarray(classes)

    def decision_function(self, X):
        return X[:, 0]


def brute(y, scores, weight=None):
    """2·tp/(k + t) at every cut."""
    weight = np.ones(len(y)) if weight is None else weight
    best = 0.0
    for cut in np.unique(scores):
        chosen = scores >= cut
        tp = (weight * y)[chosen].sum()
        best = max(best, 2 * tp / (weight[chosen].sum() + (weight * y).sum()))
    return best


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-2.0, 0.0, 0.25, 0.5, 1e-300, 1.0, 7.0]),
            st.sampled_from([0, 1]),
            st.sampled_from([0.5, 1.0, 3.0]),
        ),
        min_size=2,
        max_size=15,
    )
)
def test_best_of_all_cuts(rows):
    scores, y, weight = np.array(rows).T
    scorer = am.optimal_scorer("f1")
    best = scorer(Given(), scores[:, None], y.astype(int))
    assert best == pytest.approx(brute(y, scores), rel=1e-12, abs=1e-15)
    weighted = scorer(Given(), scores[:, None], y.astype(int), sample_weight=weight)
    assert weighted == pytest.approx(brute(y, scores, weight), rel=1e-12, abs=1e-15)


def test_one_class_in_a_fold_is_scored_by_the_metrics_convention():
    scores = np.array([[0.1], [0.9], [0.5]])
    none = np.zeros(3, dtype=int)
    assert am.optimal_scorer("f1")(Given(), scores, none) == 0.0
    assert am.optimal_scorer("f1", zero_division=1.0)(Given(), scores, none) == 1.0
    assert am.optimal_scorer("f1")(Given(), scores, none + 1) == 1.0


def test_labels_of_any_kind():
    words = np.array(["ham", "spam"])[Y]
    inner = LogisticRegression()
    expected = am.optimal_scorer()(clone(inner).fit(X, Y), X, Y)
    fitted = clone(inner).fit(X, words)
    spam = am.optimal_scorer(pos_label="spam")
    assert spam(fitted, X, words) == spam(fitted, X, words.tolist()) == expected
    with pytest.raises(ValueError, match="pass pos_label='spam' or pos_label='ham'"):
        am.optimal_scorer()(fitted, X, words)
    assert am.optimal_scorer()(clone(inner).fit(X, Y == 1), X, Y == 1) == expected
    ham = am.optimal_scorer(pos_label="ham")(fitted, X, words)
    p = fitted.predict_proba(X)[:, 0]
    assert ham == pytest.approx(brute(words == "ham", p), rel=1e-12)
    with pytest.raises(ValueError, match="y never holds 'eggs', which pos_label"):
        am.optimal_scorer(pos_label="eggs")(fitted, X, words)


def test_less_is_better_is_negated():
    fitted = LogisticRegression().fit(X, Y)
    scorer = am.optimal_scorer(am.SquaredCountError())
    assert scorer(fitted, X, Y) == 0.0  # as many positives as there are
    assert np.signbit(
        am.optimal_scorer(am.SquaredCountError(), max_positives=1)(fitted, X, Y)
    )


def test_more_than_two_classes():
    X, y = make_classification(
        240, 6, n_informative=4, n_classes=3, weights=[0.7, 0.2], random_state=0
    )
    fitted = LogisticRegression().fit(X, y)
    best = am.optimal_scorer()(fitted, X, y)
    assert best >= f1_score(y, fitted.predict(X), average="macro")
    assert am.optimal_scorer("mcc")(fitted, X, y) >= matthews_corrcoef(
        y, fitted.predict(X)
    )


def test_it_is_a_value():
    scorer = am.optimal_scorer("mcc", min_recall=0.5)
    assert repr(scorer) == "OptimalScorer(metric='mcc', min_recall=0.5)"
    assert clone(scorer).get_params() == scorer.get_params()


def test_weights_are_routed():
    weights = np.where(Y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = am.optimal_scorer("f1").set_score_request(sample_weight=True)
        inner = LogisticRegression().set_fit_request(sample_weight=False)
        half = sklearn.metrics.get_scorer("f1").set_score_request(sample_weight=True)
        weighted = cross_validate(
            inner, X, Y, scoring=scorer, cv=3, params={"sample_weight": weights}
        )["test_score"]
        several = cross_validate(
            inner,
            X,
            Y,
            scoring={"best": scorer, "half": half},
            cv=3,
            params={"sample_weight": weights},
        )
    np.testing.assert_array_equal(weighted, several["test_best"])
    assert (weighted >= several["test_half"]).all()
    folds = sklearn.model_selection.StratifiedKFold(3).split(X, Y)
    for found, (train, test) in zip(weighted, folds, strict=True):
        p = LogisticRegression().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        assert found == pytest.approx(brute(Y[test], p, weights[test]), rel=1e-12)


def test_bad_weights_and_estimators_are_refused():
    model = LogisticRegression().fit(X, Y)
    scorer = am.optimal_scorer("f1")
    with pytest.raises(ValueError, match="sample_weight is -1 at row 0"):
        scorer(model, X, Y, np.full(Y.size, -1.0))
    with pytest.raises(TypeError, match="neither predict_proba nor decision_function"):
        scorer(LinearRegression().fit(X, Y), X, Y)
