"""Decoding against enumeration of all hypotheses and all outcomes."""

import math

import numpy as np
import pytest

import argmetric as am
import sequence_oracle as oracle
from argmetric.sequence import (
    BoundarySimilarity,
    Hamming,
    Independent,
    LinearChainCRF,
    MarkovChain,
    Pk,
    SimpleFunction,
    WindowDiff,
    WindowUtility,
    ZeroOne,
    decode,
    expectation,
)
from refusing import refuses


def label_probabilities(initial, transitions, n):
    probability_of = oracle.chain_probability(initial, transitions)
    return np.array([probability_of(y) for y in oracle.sequences(n)])


def expected_of_all(metric, probabilities, n):
    """Expected metric of all 2^n hypotheses, from the counts of all pairs."""
    y = np.array(oracle.sequences(n))
    hits, ones = y @ y.T, y.sum(axis=1)
    values = metric.value(hits, ones[:, None], ones[None, :], n)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0) @ probabilities / (known @ probabilities)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_f_of_two_hundred_random_chains(beta):
    rng = np.random.default_rng(int(10 * beta))
    for trial in range(200):
        n, order = int(rng.integers(2, 9)), int(rng.integers(1, 3))
        parts = oracle.random_chain(rng, n, order, sharp=rng.choice([0.2, 1.0]))
        metric = am.FBeta(beta, zero_division=float(trial % 2))
        values = expected_of_all(metric, label_probabilities(*parts, n), n)
        found = decode(metric, MarkovChain(*parts))
        place = int("".join(map(str, found.labels)), 2)
        assert found.proven
        assert found.expected == pytest.approx(values.max(), abs=1e-12)
        assert values[place] == pytest.approx(values.max(), abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [name for name in am.metric_names() if not name.startswith(("f0", "f1", "f2"))],
)
def test_every_metric_of_short_chains(name):
    rng = np.random.default_rng(1)
    for zero_division in (0.0, 1.0, math.nan):
        metric = am.get_metric(name).with_zero_division(zero_division)
        for _ in range(6):
            n, order = int(rng.integers(2, 8)), int(rng.integers(1, 3))
            parts = oracle.random_chain(rng, n, order)
            values = expected_of_all(metric, label_probabilities(*parts, n), n)
            best = np.nanmax(values) if metric.greater_is_better else np.nanmin(values)
            found = decode(metric, MarkovChain(*parts))
            assert found.proven
            assert found.expected == pytest.approx(best, abs=1e-12)
            place = int("".join(map(str, found.labels)), 2)
            assert values[place] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "recall", "jaccard"])
def test_certain_labels(name):
    """Transitions of probability 0 and 1, and metrics that may be undefined."""
    rng = np.random.default_rng(7)
    for trial in range(60):
        n = int(rng.integers(2, 8))
        ones = rng.choice([0.0, 1.0, 0.5, 1e-300], (n, 2))
        rows = np.stack([1 - ones, ones], axis=2)
        parts = rows[0, 0], rows[1:]
        zero_division = (0.0, 1.0, math.nan)[trial % 3]
        metric = am.get_metric(name).with_zero_division(zero_division)
        values = expected_of_all(metric, label_probabilities(*parts, n), n)
        found = decode(metric, MarkovChain(*parts))
        if np.isnan(values).all():
            assert math.isnan(found.expected) or found.expected == 0.0
            continue
        assert found.expected == pytest.approx(np.nanmax(values), abs=1e-12)
        value = expectation(metric, found.labels, MarkovChain(*parts)).mean
        assert value == pytest.approx(found.expected, abs=1e-12)


def test_long_chains_have_the_value_that_is_promised():
    rng = np.random.default_rng(1)
    model = MarkovChain(*oracle.random_chain(rng, 1500, 1, sharp=0.2))
    for metric in ("f1", am.FBeta(30), am.FBeta(0.03)):
        found = decode(metric, model)
        value = expectation(metric, found.labels, model).mean
        assert value == pytest.approx(found.expected, rel=1e-11)


def test_a_random_field_of_two_labels():
    rng = np.random.default_rng(12)
    n = 6
    unary, pairwise = rng.normal(size=(n, 2)), rng.normal(size=(n - 1, 2, 2))
    all_y = oracle.sequences(n)
    scores = [
        unary[np.arange(n), y].sum() + pairwise[np.arange(n - 1), y[:-1], y[1:]].sum()
        for y in all_y
    ]
    probabilities = np.exp(scores) / np.exp(scores).sum()
    model = LinearChainCRF(unary, pairwise)
    values = expected_of_all(am.FBeta(2), probabilities, n)
    found = decode("f2", model)
    assert found.proven
    assert found.expected == pytest.approx(values.max(), abs=1e-12)
    z = all_y[37]
    losses = [oracle.pk(3)(z, y) for y in all_y]
    assert expectation(Pk(3), z, model).mean == pytest.approx(probabilities @ losses)


def test_a_metric_of_your_own():
    rng = np.random.default_rng(3)
    hits_minus_cost = am.CustomMetric(lambda tp, k, t, n: tp - 0.4 * k, name="net")
    backwards = am.Utility(tp=-1.0, fp=1.0)
    for metric in (hits_minus_cost, backwards):
        for _ in range(5):
            parts = oracle.random_chain(rng, 7, 1)
            values = expected_of_all(metric, label_probabilities(*parts, 7), 7)
            found = decode(metric, MarkovChain(*parts))
            assert found.method == "general F-maximiser"
            assert found.expected == pytest.approx(values.max(), abs=1e-12)
        p = rng.random(7)
        found = decode(metric, Independent(p))
        probabilities = [
            oracle.independent_probability(p)(y) for y in oracle.sequences(7)
        ]
        values = expected_of_all(metric, np.array(probabilities), 7)
        assert found.expected == pytest.approx(values.max(), abs=1e-12)


def test_independent_labels_go_through_decide():
    p = np.random.default_rng(2).random(30)
    for metric in ("f1", "jaccard", "gmean"):
        found, known = decode(metric, Independent(p)), am.decide(p, metric)
        np.testing.assert_array_equal(found.labels, known.labels)
        assert found.expected == known.expected
        assert found.proven


def weighted(z, y):
    return 0.3 * (z[0] == y[0]) + 0.7 * (z[1] == y[1]) - 0.1 * z[0] * y[1]


def weighted_mean(z, y):
    return np.mean([weighted(a, b) for a, b in oracle.windows(z, y, 2)])


class FirstError(SimpleFunction):
    """Labels before the first difference: a user's automaton without tables."""

    def start(self):
        return 0

    def transition(self, state, z, i, y_i):
        return i + 1 if state == i and z[i] == y_i else state

    def value(self, state, z):
        return state / z.size

    def bounds(self, z):
        return 0.0, 1.0


def before_the_first_error(z, y):
    wrong = np.flatnonzero(z != y)
    return (wrong[0] if wrong.size else z.size) / z.size


OTHERS = {
    "hamming": (Hamming(), oracle.hamming),
    "zero-one": (ZeroOne(), oracle.zero_one),
    "pk1": (Pk(1), oracle.pk(1)),
    "pk2": (Pk(2), oracle.pk(2)),
    "pk3": (Pk(3), oracle.pk(3)),
    "window_diff1": (WindowDiff(1), oracle.window_diff(1)),
    "window_diff3": (WindowDiff(3), oracle.window_diff(3)),
    "window": (WindowUtility(2, weighted), weighted_mean),
    "boundary": (BoundarySimilarity(), oracle.boundary_similarity),
    "first error": (FirstError(), before_the_first_error),
}


@pytest.mark.parametrize("name", OTHERS)
def test_utilities_that_are_no_counts(name):
    utility, function = OTHERS[name]
    rng = np.random.default_rng(4)
    n = 6
    sign = 1 if utility.greater_is_better else -1
    all_y = oracle.sequences(n)
    table = np.array([[function(z, y) for y in all_y] for z in all_y])
    for order in (1, 1, 1, 2, 2):
        parts = oracle.random_chain(rng, n, order, sharp=0.7)
        values = table @ label_probabilities(*parts, n)
        found = decode(utility, MarkovChain(*parts))
        best = sign * (sign * values).max()
        assert found.proven
        assert found.expected == pytest.approx(best, abs=1e-12)
        place = int("".join(map(str, found.labels)), 2)
        assert values[place] == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("name", ["jaccard", "gmean", "hmean", "qmean"])
def test_search_says_what_it_knows(name, monkeypatch):
    """Its bound is never below the best value, and what is proven is the best."""
    rng = np.random.default_rng(6)
    metric, proven = am.get_metric(name), 0
    monkeypatch.setattr("argmetric.sequence._decode.ALL_COUNTS", 0)
    monkeypatch.setattr("argmetric.sequence._decode.ALL_OTHERS", 0)
    for _ in range(8):
        parts = oracle.random_chain(rng, 7, 1, sharp=0.3)
        best = np.nanmax(expected_of_all(metric, label_probabilities(*parts, 7), 7))
        found = decode(metric, MarkovChain(*parts))
        assert found.expected <= best + 1e-12
        assert found.bound >= best - 1e-9
        if found.proven:
            proven += 1
            assert found.expected == pytest.approx(best, abs=1e-9)
    assert proven < 8 or name != "jaccard"


def test_what_is_not_proven_is_said():
    rng = np.random.default_rng(6)
    long = decode(BoundarySimilarity(), Independent(rng.random(25)), budget=100)
    assert not long.proven
    assert long.bound == math.inf
    assert "not proven" in repr(long)
    certain = decode(BoundarySimilarity(), Independent(np.arange(25) % 2))
    assert certain.proven
    assert certain.expected == 1.0


def test_the_decision_speaks():
    model = MarkovChain([0.7, 0.3], [[[0.9, 0.1], [0.4, 0.6]]] * 5)
    found = decode("f1", model, zero_division=1.0)
    assert found.n == 6
    assert found.n_positives == found.labels.sum()
    assert found.distribution().mean == pytest.approx(found.expected, rel=1e-12)
    assert found.to_dict()["proven"] is True
    with pytest.raises(ValueError, match="Hamming has no zero_division"):
        decode(Hamming(), model, zero_division=1.0)
    with pytest.raises(ValueError, match="window is 9 but the sequence has 6"):
        decode(Pk(9), model)
    refuses(ValueError, "unknown metric 'f-1'", decode, "f-1", model)


class UndefinedError(FirstError):
    def value(self, state, z):
        return math.nan


def test_no_labels_are_best_where_nothing_is_defined():
    decision = decode(UndefinedError(), Independent([0.5, 0.2]))
    assert math.isnan(decision.expected)
    assert not decision.proven


def test_labels_of_a_chain_are_whole_numbers_or_names():
    model = LinearChainCRF([[1.0, 0.0], [0.0, 0.5]], np.zeros((2, 2)))
    assert model.score([0.0, 1.0]) == model.score([0, 1]) == 1.5
    for y in ([0.7, 1.2], [0, -np.inf], [0, np.nan], [0, 2], [0, 10**30], [[0, 1]]):
        refuses(ValueError, "y has ", model.score, y)
    refuses(TypeError, "y must be an array, not int", model.score, 3)


@pytest.mark.parametrize("window", [np.timedelta64(1, "s"), True, 1.0, [[[1]]]])
def test_a_window_is_a_whole_number(window):
    refuses(ValueError, "window must be a positive integer", Pk, window)
