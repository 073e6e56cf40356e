"""A rule around models of others, and the score of a stream."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

import argmetric as am
from argmetric.stream import OnlineThreshold, ProgressiveScore, get_rule
from refusing import refuses
from stream_data import problem


@pytest.mark.parametrize("options", [{}, {"window": 30}, {"fading": 20.0}])
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_progressive_scores(metric, options):
    rng = np.random.default_rng(0)
    y, z = rng.random(200) < 0.4, rng.random(200) < 0.5
    score = ProgressiveScore(metric, **options)
    weights = np.ones(200)
    if "window" in options:
        weights[:-30] = 0
    if "fading" in options:
        weights = (1 - 1 / 20.0) ** np.arange(199, -1, -1)
    expected = am.get_metric(metric).value(
        weights[y & z].sum(), weights[z].sum(), weights[y].sum(), weights.sum()
    )
    assert score.update(y, z) == pytest.approx(expected, rel=1e-13)
    for size in (1, 7):
        parts = ProgressiveScore(metric, **options)
        for i in range(0, 200, size):
            parts.update(y[i : i + size], z[i : i + size])
        np.testing.assert_array_equal(parts.counts, score.counts)
    assert score.update([], []) == score.value
    one = ProgressiveScore(metric, **options)
    one.update(1, 1)
    assert repr(one).startswith("ProgressiveScore(")


@pytest.mark.parametrize(
    "model", [SGDClassifier(loss="log_loss", random_state=0), GaussianNB()]
)
def test_a_threshold_for_a_model_of_scikit_learn(model):
    X, y = problem(4000)
    wrapped, plain = OnlineThreshold(model), clone(model)
    guesses = np.zeros(4000, dtype=int)
    for i in range(0, 4000, 50):
        part = slice(i, i + 50)
        if i:
            guesses[part] = plain.predict(X[part])
        plain.partial_fit(X[part], y[part], classes=[0, 1])
        wrapped.partial_fit(X[part], y[part], classes=[0, 1])
    assert wrapped.score_ > am.get_metric("f1").score(y, guesses)
    np.testing.assert_array_equal(  # the model itself is the same
        wrapped.model_.predict(X), plain.predict(X)
    )
    p = wrapped.predict_proba(X)[:, 1]
    clear = np.abs(p - wrapped.threshold_) > 1e-9
    decided = wrapped.predict(X)[clear] == 1
    np.testing.assert_array_equal(decided, p[clear] > wrapped.threshold_)
    assert wrapped.score(X, y) > 0.3


def test_a_threshold_for_a_model_of_river():
    pytest.importorskip("river")
    from river import linear_model

    X, y = problem(1500)
    wrapped = OnlineThreshold(linear_model.LogisticRegression())
    assert wrapped.predict_one({0: 1.0}) is True  # ½ is above the first threshold, ¼
    assert wrapped.predict_proba_one({0: 1.0}) == {False: 0.5, True: 0.5}
    plain, hits = linear_model.LogisticRegression(), []
    for x, label in zip(X, y == 1, strict=True):
        row = dict(enumerate(x))
        hits.append(plain.predict_one(row))
        plain.learn_one(row, label)
        wrapped.learn_one(row, label)
    assert wrapped.score_ > am.get_metric("f1").score(y, np.array(hits, dtype=int))
    assert wrapped.model_.weights == plain.weights
    again = OnlineThreshold(linear_model.LogisticRegression())
    again.progressive(X, y == 1)
    assert again.score_ == wrapped.score_
    assert again.predict(X[:5]).dtype == bool


def test_fit_of_a_threshold_learns_from_what_the_model_says():
    model = OnlineThreshold(GaussianNB(), "f1")
    X, y = problem(2000)
    blocks = OnlineThreshold(GaussianNB(), "f1")
    for i in range(0, 2000, 256):
        blocks.partial_fit(X[i : i + 256], y[i : i + 256], classes=[0, 1])
    assert model.fit(X, y).threshold_ == blocks.threshold_
    assert model.fit(X.tolist(), y).score_ == blocks.score_ > 0.4
    refuses(ValueError, "y has 1999 rows but X has 2000", model.fit, X, y[1:])
    with pytest.raises(TypeError, match="model must have partial_fit or learn_one"):
        OnlineThreshold("svm").fit(X, y)


def test_a_block_that_the_model_refuses_does_not_count_for_the_rule():
    X, y = problem(50)
    model = OnlineThreshold(GaussianNB())
    X[3, 1] = np.nan
    refuses(ValueError, "NaN", model.partial_fit, X, y, classes=[0, 1])
    fresh = get_rule("histogram").init_state("f1")
    np.testing.assert_array_equal(model._answers.state, fresh)


def test_a_threshold_for_a_model_of_river_on_sparse_rows():
    naive_bayes = pytest.importorskip("river.naive_bayes")
    X, y = problem(80)
    dense = OnlineThreshold(naive_bayes.GaussianNB())
    labels = dense.progressive(X, y, classes=[0, 1])
    sparse = OnlineThreshold(naive_bayes.GaussianNB())
    found = sparse.progressive(sp.csr_matrix(X), y, classes=[0, 1])
    np.testing.assert_array_equal(found, labels)
