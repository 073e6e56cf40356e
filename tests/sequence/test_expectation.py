"""Expected utilities against enumeration of all label sequences."""

import math
import warnings

import numpy as np
import pytest

import argmetric as am
import sequence_oracle as oracle
from argmetric.sequence import (
    BoundarySimilarity,
    CountUtility,
    Hamming,
    Independent,
    MarkovChain,
    Pk,
    SimpleFunction,
    WindowDiff,
    WindowUtility,
    ZeroOne,
    distribution,
    evaluate,
    expectation,
)


def weighted(z, y):
    """A loss of a window of two labels that is no whole number."""
    return 0.3 * abs(z[0] - y[0]) + 0.7 * abs(z[1] - y[1]) - 0.1 * z[0] * y[1]


def weighted_mean(z, y):
    return np.mean([weighted(a, b) for a, b in oracle.windows(z, y, 2)])


UTILITIES = {
    "f1": (CountUtility("f1"), oracle.f_score(1)),
    "f2": (CountUtility("f2"), oracle.f_score(2)),
    "f0.5, 0/0 = 1": (
        CountUtility(am.FBeta(0.5, zero_division=1)),
        oracle.f_score(0.5, 1.0),
    ),
    "jaccard": (CountUtility("jaccard"), oracle.jaccard),
    "mcc": (CountUtility("mcc"), oracle.mcc),
    "gmean": (CountUtility("gmean"), oracle.gmean),
    "recall": (CountUtility("recall"), oracle.recall),
    "hamming": (Hamming(), oracle.hamming),
    "share": (Hamming(normalise=True), lambda z, y: np.mean(z != y)),
    "zero-one": (ZeroOne(), oracle.zero_one),
    "pk1": (Pk(1), oracle.pk(1)),
    "pk3": (Pk(3), oracle.pk(3)),
    "window_diff1": (WindowDiff(1), oracle.window_diff(1)),
    "window_diff3": (WindowDiff(3), oracle.window_diff(3)),
    "boundary": (BoundarySimilarity(), oracle.boundary_similarity),
    "window": (WindowUtility(2, weighted), weighted_mean),
    "whole window": (
        WindowUtility(3, lambda z, y: float(sum(z) != sum(y))),
        oracle.window_diff(3),
    ),
}


def models(n, rng):
    p = rng.random(n)
    yield Independent(p), oracle.independent_probability(p)
    for order in (1, 2):
        initial, transitions = oracle.random_chain(rng, n, order)
        yield (
            MarkovChain(initial, transitions),
            oracle.chain_probability(initial, transitions),
        )


@pytest.mark.parametrize("name", UTILITIES)
def test_evaluate(name):
    utility, function = UTILITIES[name]
    rng = np.random.default_rng(0)
    for n in (3, 4, 9):
        for _ in range(20):
            z, y = rng.integers(0, 2, (2, n))
            assert evaluate(utility, z, y) == pytest.approx(function(z, y), abs=1e-14)


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("name", UTILITIES)
def test_expectation_equals_enumeration(name, n):
    utility, function = UTILITIES[name]
    rng = np.random.default_rng(n)
    for model, probability_of in models(n, rng):
        for z in (rng.integers(0, 2, n), np.zeros(n, int), np.ones(n, int)):
            true = oracle.expected(function, z, probability_of, n)
            result = expectation(utility, z, model)
            assert result.mean == pytest.approx(true, abs=1e-12)
            assert result.exact
            assert result.bounds.low == result.bounds.high == result.mean


@pytest.mark.parametrize("name", UTILITIES)
def test_distribution_equals_enumeration(name):
    utility, function = UTILITIES[name]
    rng = np.random.default_rng(3)
    n = 7
    for model, probability_of in models(n, rng):
        z = rng.integers(0, 2, n)
        probabilities = {}
        for y in oracle.sequences(n):
            value = round(float(function(z, y)), 10)
            probabilities[value] = probabilities.get(value, 0.0) + probability_of(y)
        found = distribution(utility, z, model)
        np.testing.assert_allclose(found.values, sorted(probabilities), atol=1e-9)
        true = [probabilities[value] for value in sorted(probabilities)]
        np.testing.assert_allclose(found.probabilities, true, atol=1e-13)
        total = np.cumsum(true)
        for q in (0.05, 0.5, 0.95):
            place = int(np.argmax(total >= q))
            assert found.quantile(q) == pytest.approx(found.values[place], abs=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 20, 1000])
@pytest.mark.parametrize("name", UTILITIES)
def test_bounds_of_a_beam_hold(name, width):
    utility, function = UTILITIES[name]
    rng = np.random.default_rng(width)
    n = 8
    for model, probability_of in models(n, rng):
        z = rng.integers(0, 2, n)
        true = oracle.expected(function, z, probability_of, n)
        result = expectation(utility, z, model, beam=width)
        assert result.bounds.low - 1e-12 <= true <= result.bounds.high + 1e-12
        assert result.bounds.low <= result.mean <= result.bounds.high
        if width == 1000:
            assert result.exact
            assert result.mean == pytest.approx(true, abs=1e-12)


def test_a_beam_of_one_keeps_one_path():
    """The paper calls this the F of the best path; it is its share of the mean."""
    result = expectation("f1", [1, 1], Independent([0.6, 0.6]), beam=1)
    assert result.partial == pytest.approx(0.6 * (0.6 * 1 + 0.4 * 2 / 3))
    assert result.partial == pytest.approx(0.52)
    # a first label of 0 was dropped: with [0, 1] F1 is 2/3, with [0, 0] it is 0
    assert result.bounds == pytest.approx((0.52, 0.52 + 0.4 * 2 / 3))


@pytest.mark.parametrize(
    ("p", "mean", "high"),
    [
        (
            [0.3, 0.2, 0.1],
            0.0,
            0.44 / 0.496,
        ),  # kept [0, 0, 1], and [0, 0, 0] is undefined
        ([0.4, 0.0, 0.3], 0.0, 0.4 / 0.58),
        ([0.4, 0.0, 0.0], math.nan, 1.0),  # all that is kept is undefined
    ],
)
def test_what_a_beam_drops_is_undefined_or_the_best(p, mean, high):
    recall = am.Recall(zero_division=math.nan)
    result = expectation(recall, [1, 0, 0], Independent(p), beam=1)
    assert result.mean == pytest.approx(mean, nan_ok=True)
    assert result.bounds == pytest.approx((0.0, high))


def test_ties_in_a_beam():
    """All outcomes are equally likely: any choice of states is a valid one."""
    for n in (6, 30):
        z = np.arange(n) % 2
        model = Independent(np.full(n, 0.5))
        exact = expectation("f1", z, model).mean
        for width in (1, 2, 5, 17):
            result = expectation("f1", z, model, beam=width)
            assert result.bounds.low - 1e-12 <= exact <= result.bounds.high + 1e-12


def test_auto_beam_reaches_its_tolerance():
    rng = np.random.default_rng(1)
    model = MarkovChain(*oracle.random_chain(rng, 60, 1))
    z = rng.integers(0, 2, 60)
    for utility in ("f1", "jaccard", "mcc", Pk(4), BoundarySimilarity()):
        exact = expectation(utility, z, model)
        close = expectation(utility, z, model, beam="auto", tol=1e-4)
        assert close.bounds.high - close.bounds.low <= 1e-4
        assert close.bounds.low - 1e-12 <= exact.mean <= close.bounds.high + 1e-12
        assert close.beam < 20_000


def test_undefined_outcomes_are_left_out():
    metric = am.FBeta(1, zero_division=math.nan)
    p = np.array([0.3, 0.2, 0.1])
    none = np.prod(1 - p)
    z = np.zeros(3, int)
    assert expectation(metric, z, Independent(p)).mean == 0.0
    recall = am.Recall(zero_division=math.nan)
    z = np.array([1, 0, 0])
    whole = expectation("recall", z, Independent(p)).mean
    assert expectation(recall, z, Independent(p)).mean == pytest.approx(
        whole / (1 - none)
    )
    found = distribution(recall, z, Independent(p))
    assert found.p_undefined == pytest.approx(none)
    assert found.probabilities.sum() == pytest.approx(1.0)
    for width in (1, 2, 3):
        bounded = expectation(recall, z, Independent(p), beam=width)
        assert (
            bounded.bounds.low - 1e-12
            <= whole / (1 - none)
            <= bounded.bounds.high + 1e-12
        )


@pytest.mark.parametrize("n", range(1, 30))
def test_number_of_states_of_footnote_3(n):
    """Alternating hypotheses are the worst case; the bound is attained."""
    z = np.arange(n) % 2
    result = expectation("f1", z, Independent(np.full(n, 0.4)))
    assert result.n_states == (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24
    other = np.random.default_rng(n).integers(0, 2, n)
    fewer = expectation("f1", other, Independent(np.full(n, 0.4)))
    assert fewer.n_states <= result.n_states


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
def test_long_sequences_need_no_table_of_hits(zero_division, monkeypatch):
    rng = np.random.default_rng(9)
    for order in (1, 2):
        model = MarkovChain(*oracle.random_chain(rng, 40, order, sharp=0.3))
        z = rng.integers(0, 2, 40)
        for name in ("f2", "mcc", "kappa", "recall", "balanced_accuracy", "sec"):
            metric = am.get_metric(name).with_zero_division(zero_division)
            table = expectation(metric, z, model).mean
            with monkeypatch.context() as patch:
                patch.setattr("argmetric.sequence._expectation.LONG_SEQUENCE", 10)
                short = expectation(metric, z, model)
            assert short.mean == pytest.approx(table, rel=1e-12)
            assert short.n_states < 41 * 42 * 2 ** (order - 1)


class Alternations(SimpleFunction):
    """Changes between neighbouring labels, with states of any kind."""

    def __init__(self, wrap):
        self.wrap = wrap

    def start(self):
        return self.wrap([-1, 0])

    def transition(self, state, z, i, y_i):
        last, changes = list(state)
        return self.wrap([y_i, changes + (last >= 0 and last != y_i)])

    def value(self, state, z):
        return list(state)[1] * (1 + z.sum())


class Opaque:
    """Equal by content, and without a hash."""

    __hash__ = None

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __eq__(self, other):
        return self.items == other.items


@pytest.mark.parametrize("wrap", [tuple, list, np.array, Opaque])
def test_states_of_any_kind_give_the_same(wrap):
    rng = np.random.default_rng(2)
    n = 8
    for model, probability_of in models(n, rng):
        z = rng.integers(0, 2, n)
        utility = Alternations(wrap)

        def function(z, y):
            return (np.diff(y) != 0).sum() * (1 + z.sum())

        true = oracle.expected(function, z, probability_of, n)
        result = expectation(utility, z, model)
        assert result.mean == pytest.approx(true, abs=1e-12)
        assert distribution(utility, z, model).mean == pytest.approx(true, abs=1e-12)
        beam = expectation(utility, z, model, beam=3)
        assert beam.bounds.high == math.inf
        assert not beam.exact


class Remembers(SimpleFunction):
    """Never merges two histories."""

    def start(self):
        return ()

    def transition(self, state, z, i, y_i):
        return (*state, y_i)

    def value(self, state, z):
        return float(sum(state))


class Unique(Remembers):
    """Every state is new, whatever it holds."""

    def start(self):
        return object()

    def transition(self, state, z, i, y_i):
        return object()


def test_states_that_explode_are_refused_with_their_number():
    model = Independent(np.full(40, 0.5))
    z = np.zeros(40, int)
    with pytest.raises(ValueError, match=r"Remembers has 1,024 states at position 10"):
        expectation(Remembers(), z, model, max_states=1000)
    with pytest.raises(ValueError, match=r"Unique has 128 states .* limit of 100"):
        expectation(Unique(), z, model, max_states=100)
    with pytest.raises(ValueError, match=r"f1 has 441 states .* limit of 400"):
        expectation("f1", np.arange(40) % 2, model, max_states=400)
    with pytest.raises(ValueError, match="2,097,152 control states"):
        expectation(WindowDiff(22), z, model)
    assert expectation(Remembers(), z, model, beam=50).mean <= 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Independent([0.5, 1.2]), "p is 1.2 at row 1"),
        (lambda: Independent([]), "p is empty"),
        (lambda: Independent([[0.5]]), "one dimension"),
        (lambda: MarkovChain([0.5, 0.6], []), "initial sums to 1.1, not to 1"),
        (lambda: MarkovChain([1.5, -0.5], []), r"initial\[1\] is -0.5"),
        (lambda: MarkovChain([0.2, 0.3, 0.5], []), "2 for order 1, 4 for order 2"),
        (
            lambda: MarkovChain([0.5, 0.5], [[[0.9, 0.1], [0.4, 0.4]]]),
            r"transitions\[0, 1\] sums to 0.8, not to 1",
        ),
        (
            lambda: MarkovChain([0.5, 0.5], [[[0.9, 0.1], [0.4, math.nan]]]),
            r"transitions\[0, 1, 1\] is nan",
        ),
        (
            lambda: MarkovChain(np.full(4, 0.25), np.full((3, 2, 2), 0.5)),
            r"shape \(n-m, 4, 2\)",
        ),
        (
            lambda: expectation("f1", [1, 0], Independent([0.5, 0.5, 0.5])),
            "z has 2 labels but the model has 3",
        ),
        (
            lambda: expectation("f1", [1, 2], Independent([0.5, 0.5])),
            "z has the label 2 at position 1, which the model does not know",
        ),
        (lambda: evaluate("f1", [1, 0], [1, 0, 0]), "y has 3 labels but z has 2"),
        (lambda: evaluate("f1", [], []), "z is empty"),
        (lambda: evaluate(Pk(3), [1, 0], [1, 0]), "window is 3 .* 2 labels"),
        (lambda: Pk(0), "positive integer"),
        (
            lambda: expectation("f1", [1], Independent([0.5]), beam=0),
            "beam must be a positive integer",
        ),
        (
            lambda: distribution("f1", [1], Independent([0.5])).quantile(2),
            "between 0 and 1",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_kinds_are_refused():
    with pytest.raises(TypeError, match="model must be Independent, MarkovChain"):
        expectation("f1", [1], [0.5])
    with pytest.raises(TypeError, match="must define the method `start`"):
        expectation(SimpleFunction(), [1], Independent([0.5]))


def test_nothing_bounds_what_is_undefined():
    never = CountUtility(am.get_metric("precision").with_zero_division(math.nan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = expectation(never, [0, 0, 0], Independent([0.1, 0.8, 0.3]), 2)
    assert math.isnan(found.mean)
