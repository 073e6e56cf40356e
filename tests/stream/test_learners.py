"""Learners on streams: compiled blocks equal their plain twins, row by row."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import argmetric as am
from argmetric.stream import HistogramRule, OnlineClassifier
from twins import stream as twin
from twins import stream_baselines as baselines

LINEAR = {
    "sgd": {"learner": "sgd", "step": 0.7},
    "sgd, polynomial": {"learner": "sgd", "average": "polynomial"},
    "sgd, suffix": {"learner": "sgd", "average": "suffix", "step": 2.0},
    "sgd, memory": {"learner": "sgd", "memory": 50},
    "adagrad": {"learner": "adagrad", "step": 0.5},
    "adagrad, polynomial": {"learner": "adagrad", "average": "polynomial"},
    "adagrad, suffix": {"learner": "adagrad", "average": "suffix"},
    "adagrad, memory": {"learner": "adagrad", "memory": 40, "average": "polynomial"},
    "mixture": {"learner": "mixture"},
    "mixture, memory": {"learner": "mixture", "memory": 30, "step": 0.5},
}
SEED = 11  # where the numbers of a model have its seed
BASELINES = {"stamp": baselines.Stamp, "omcsl": baselines.Omcsl}


def problem(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[:, 0] *= 3.0
    logits = X @ rng.normal(size=d) - 1.5
    y = rng.random(n) < 1 / (1 + np.exp(-logits))
    return X, y.astype(int)


def with_constant(X):
    return np.column_stack([np.ones(len(X)), X])


def twin_of(options, d):
    options = dict(options)
    learner = options.pop("learner")
    if learner == "mixture":
        return twin.Mixture(d, **options)
    return twin.Linear(d, learner, **options)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", LINEAR)
def test_learners_equal_their_twins(name, kind):
    X, y = problem()
    model = OnlineClassifier(rule="newton", **LINEAR[name])
    rows = X if kind == "dense" else sp.csr_matrix(X)
    predicted, p = model.progressive(rows, y, return_proba=True)
    reference = twin_of(LINEAR[name], 7)
    labels, logits = twin.run_learner(
        reference, twin.Newton(), with_constant(X), y, np.ones(len(y))
    )
    expected = [twin.sigmoid(z) for z in logits]
    np.testing.assert_allclose(p, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(predicted, labels)
    np.testing.assert_allclose(
        model.predict_proba(rows)[:, 1],
        [twin.sigmoid(reference.logit(x)) for x in with_constant(X)],
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", ["sgd", "adagrad, polynomial", "mixture"])
def test_weights_and_no_intercept(name):
    X, y = problem(seed=1)
    w = np.random.default_rng(1).choice([0, 0.5, 1, 3.5], len(y))
    model = OnlineClassifier(rule="ofo", fit_intercept=False, **LINEAR[name])
    predicted, p = model.progressive(X, y, w, return_proba=True)
    labels, logits = twin.run_learner(twin_of(LINEAR[name], 6), twin.OFO(), X, y, w)
    np.testing.assert_allclose(p, [twin.sigmoid(z) for z in logits], rtol=1e-10)
    np.testing.assert_array_equal(predicted, labels)
    assert model.n_seen_ == (w > 0).sum()
    assert model.score_ == am.get_metric("f1").value(
        w[(y & predicted) == 1].sum(), w[predicted == 1].sum(), w[y == 1].sum(), w.sum()
    )
    assert model.intercept_ == 0


@pytest.mark.parametrize("metric", ["f1", am.FBeta(2), "jaccard", am.Tversky(0.2, 0.9)])
@pytest.mark.parametrize("name", BASELINES)
def test_baselines_equal_their_twins(name, metric):
    X, y = problem(n=700, seed=2)
    model = OnlineClassifier(metric, learner=name, step=2.0, random_state=5)
    predicted, p = model.progressive(X, y, return_proba=True)
    options = {"seed": int(model.get_state()["model"][SEED])} if name == "omcsl" else {}
    costs = baselines.Costs(*am.get_metric(metric).coefficients)
    reference = BASELINES[name](7, costs, 2.0, **options)
    labels, logits = baselines.run_baseline(
        reference, with_constant(X), y, np.ones(len(y))
    )
    np.testing.assert_allclose(p, [twin.sigmoid(z) for z in logits], rtol=1e-10)
    np.testing.assert_array_equal(predicted, labels)
    assert 0 < model.threshold_ < 1
    decided = model.decision_function(X) > 0
    np.testing.assert_array_equal(model.predict(X), decided)


ALL = {**LINEAR, **{name: {"learner": name, "random_state": 0} for name in BASELINES}}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", ALL)
def test_blocks_of_all_sizes_give_the_same_bits(name, kind):
    X, y = problem(n=150, seed=3)
    X = X if kind == "dense" else sp.csr_matrix(X)
    whole = OnlineClassifier(**ALL[name])
    expected = whole.progressive(X, y, return_proba=True)
    for size in (1, 7, 80):
        model = OnlineClassifier(**ALL[name])
        parts = [
            model.progressive(
                X[i : i + size], y[i : i + size], classes=[0, 1], return_proba=True
            )
            for i in range(0, len(y), size)
        ]
        for found, wanted in zip(zip(*parts, strict=True), expected, strict=True):
            np.testing.assert_array_equal(np.concatenate(found), wanted)
        for key, array in model.get_state().items():
            np.testing.assert_array_equal(array, whole.get_state()[key], err_msg=key)


@pytest.mark.parametrize("name", ALL)
def test_the_next_prediction_is_the_one_that_is_learned_from(name):
    """`predict` gives, and does not change, what `progressive` will say of the row."""
    X, y = problem(n=120, seed=4)
    model = OnlineClassifier(**ALL[name]).fit(X[:100], y[:100])
    for i in range(100, 120):
        before = model.get_state()
        label, p = model.predict(X[i : i + 1]), model.predict_proba(X[i : i + 1])
        for key, array in model.get_state().items():
            np.testing.assert_array_equal(array, before[key])
        found = model.progressive(X[i : i + 1], y[i : i + 1], return_proba=True)
        if name != "omcsl":  # which draws a learner for each row it learns from
            assert found[0] == label
            np.testing.assert_array_equal(found[1], p[:, 1])


def test_sparse_averages_cost_no_more_than_the_non_zeros():
    """u = w + c·v holds for 10⁵ rows, and c·v does not lose its digits."""
    rng = np.random.default_rng(5)
    X = sp.random(3000, 40, density=0.1, format="csr", random_state=5)
    y = rng.random(3000) < 0.3
    model = OnlineClassifier(learner="sgd", average="polynomial")
    reference = twin.Linear(41, "sgd", 1.0, "polynomial")
    for _ in range(4):
        model.partial_fit(X, y)
        for x, label in zip(X.toarray(), y, strict=True):
            reference.learn(np.concatenate([[1.0], x]), bool(label), 1.0)
    np.testing.assert_allclose(model.coef_[0], reference.u[1:], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, reference.u[:1], rtol=1e-9)


@pytest.mark.parametrize("name", ["adagrad", "mixture"])
def test_units_are_rescaled_before_they_overflow(name):
    """With a memory of two rows the units pass 10¹⁰⁰ every 461 rows."""
    X, y = problem(n=1200, seed=6)
    options = {"learner": name, "memory": 2, "step": 0.02}
    model = OnlineClassifier(rule="fixed", **options)
    _, p = model.progressive(X, y, return_proba=True)
    _, logits = twin.run_learner(
        twin_of(options, 7), twin.Fixed(), with_constant(X), y, np.ones(len(y))
    )
    np.testing.assert_allclose(p, [twin.sigmoid(z) for z in logits], rtol=1e-8)
    assert np.isfinite(model._model.state.weights).all()


def test_rules_see_the_mixture_as_it_is():
    """The fused rule is the rule alone, run over the mixture's own probabilities."""
    X, y = problem(n=3000, seed=7)
    model = OnlineClassifier("mcc")
    predicted, p = model.progressive(X, y, return_proba=True)
    rule = HistogramRule()
    state = rule.init_state("mcc")
    run = rule.run(state, p, y)
    np.testing.assert_array_equal(predicted, run.labels)
    assert model.threshold_ == pytest.approx(rule.threshold_of(state), rel=1e-9)


def test_history_is_thinned_and_exact():
    X, y = problem(n=3000, seed=8)
    model = OnlineClassifier(rule="newton", learner="sgd")
    predicted = model.progressive(X, y)
    history = model.history_
    assert 256 <= history["n_seen"].size <= 512
    steps = np.diff(history["n_seen"])
    assert (steps == steps[0]).all()
    at = history["n_seen"].astype(int)
    hits = np.cumsum(predicted & y)[at - 1]
    np.testing.assert_array_equal(history["tp"], hits)
    np.testing.assert_array_equal(history["k"], np.cumsum(predicted)[at - 1])
    score = am.get_metric("f1").value(
        hits, np.cumsum(predicted)[at - 1], np.cumsum(y)[at - 1], at
    )
    np.testing.assert_array_equal(history["score"], score)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "svm"}, "learner must be one of"),
        ({"step": -1.0, "learner": "sgd"}, "step must be a positive number"),
        ({"average": "last", "learner": "sgd"}, "average must be"),
        ({"average": "suffix"}, "average is for sgd and adagrad"),
        ({"memory": 0}, "memory must be at least 1 row"),
        ({"learner": "stamp", "metric": "mcc"}, "stamp is for ratios"),
        ({"learner": "omcsl", "metric": "gmean"}, "omcsl is for ratios"),
        ({"learner": "stamp", "rule": "newton"}, "has its own decision rule"),
        ({"expired": "keep"}, "expired must be"),
        ({"hash_bits": 40}, "hash_bits must be a whole number"),
        ({"metric": "sec"}, "no threshold rule for sec"),
    ],
)
def test_refusals(options, message):
    X, y = problem(n=10)
    y[:2] = [0, 1]
    with pytest.raises(ValueError, match=message):
        OnlineClassifier(**options).fit(X, y)


def test_step_schedule_of_the_paper():
    """w₁ = c·½·x for a first positive, then c/√2 times the next gradient."""
    X, y = np.array([[2.0], [1.0]]), np.array([1, 0])
    model = OnlineClassifier(
        learner="sgd", step=0.5, fit_intercept=False, rule="fixed"
    ).partial_fit(X, y)
    first = 0.5 * 0.5 * 2.0
    second = first - 0.5 / math.sqrt(2) / (1 + math.exp(-first))
    assert model.coef_[0, 0] == pytest.approx(second, rel=1e-15)
