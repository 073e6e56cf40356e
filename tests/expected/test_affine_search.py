"""The search for the best k of metrics affine in tp, and of Jaccard's: by curves."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
import oracle
from argmetric._expected import CountRange, _affine_search, _curves, _search, plan
from argmetric._input.segments import Segments
from strategies import moderate_vectors, probability_vectors

NAMES = ["kappa", "mcc", "f1", "jaccard"]
ZEROS = [0.0, 1.0, math.nan]
some_vectors = st.one_of(
    probability_vectors(max_size=12), moderate_vectors(min_size=13, max_size=40)
)
DRAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(1.0 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "equal": lambda rng, n: np.full(n, 0.3),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    "two heaps": lambda rng, n: np.where(rng.random(n) < 0.2, 0.95, 0.02),
    "two slopes": lambda rng, n: np.where(rng.random(n) < 0.02, 1, 0.2) * rng.random(n),
}


def answers(metric, p, n, low, high, extra):
    p = np.sort(p)[::-1].copy()
    segments = Segments(p, 1 - p, np.array([0, p.size]), np.array([n]))
    bounds = (np.array([x]) for x in (low, high))
    asked = CountRange(*bounds, np.zeros(1), np.array([extra]))
    form = _affine_search.of_misses(metric)
    if form is not None:
        return _affine_search.miss_answers(segments, metric, form, asked)[:, 0]
    return _affine_search.affine_answers(segments, metric, asked)[:, 0]


@pytest.mark.parametrize(
    ("name", "zero"),
    [
        pytest.param(name, zero, marks=() if (i - j) % 2 else pytest.mark.slow)
        for i, name in enumerate(NAMES)
        for j, zero in enumerate(ZEROS)
    ],
)
@given(p=some_vectors, implicit=st.integers(0, 3), data=st.data())
def test_the_affine_search_finds_the_best_of_the_curve(name, zero, p, implicit, data):
    """Any range of counts; certain negatives beside the items, as in a sparse row."""
    m, n = p.size, p.size + implicit
    low = data.draw(st.integers(0, m))
    high, extra = data.draw(st.integers(low, m)), data.draw(st.integers(0, m))
    everything = np.append(p, np.zeros(implicit))
    curve, scale = oracle.summed_curve(name, everything, zero)
    curve, scale = (x[: m + 1].astype(float) for x in (curve, scale))
    metric = am.get_metric(name, zero_division=zero)
    best, value, at_extra, settled = answers(metric, p, n, low, high, extra)
    if not settled:
        return  # given up: the curve is made instead
    best = int(best)
    assert low <= best <= high
    slack = 1e-14 * n * np.nan_to_num(scale) + 1e-15
    assert at_extra == pytest.approx(curve[extra], abs=slack[extra], nan_ok=True)
    assert value == pytest.approx(curve[best], abs=slack[best], nan_ok=True)
    part = curve[low : high + 1]
    if np.isnan(part).all():
        assert best == low
    else:
        top = int(low + np.nanargmax(part))
        assert curve[best] >= curve[top] - slack[best] - slack[top]


def test_a_value_that_is_almost_never_defined_keeps_its_digits():
    """All positive but for 1e-9: what is left counts relative to its own chance."""
    metric = am.get_metric("mcc", zero_division=math.nan)
    p = np.full(3, 1 - 1e-9)
    assert answers(metric, p, 3, 0, 0, 1)[2] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", DRAWS)
def test_decisions_equal_those_on_curves(name, zero, law):
    """Groups on both sides of the tables, one by one and together."""
    rng = np.random.default_rng(5)
    sizes = [1, 2, 32, 33, 34, 66, 200, 501]
    p = np.concatenate([DRAWS[law](rng, n) for n in sizes])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    found = am.decide(p, name, groups=ids, average="groups", zero_division=zero)
    for g in range(len(sizes)):
        curve = found.curve_of(g)
        if np.isnan(curve).all():
            assert math.isnan(found.group_expected[g])
            continue
        alone = am.decide(p[ids == g], name, zero_division=zero)
        assert found.group_n_positives[g] == alone.n_positives
        best = found.group_n_positives[g]
        assert found.group_expected[g] == pytest.approx(
            curve[best], rel=1e-12, abs=1e-13, nan_ok=True
        )
        half = int((p[ids == g] >= 0.5).sum())
        assert alone.cut_half.expected == pytest.approx(
            curve[half], rel=1e-12, abs=1e-13, nan_ok=True
        )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", DRAWS)
def test_longer_groups_equal_their_curves(name, law):
    """Several blocks of runs in either direction; sizes beyond the items."""
    rng = np.random.default_rng(8)
    lengths = np.array([700, 1501, 3000])
    p = np.concatenate([np.sort(DRAWS[law](rng, m))[::-1] for m in lengths])
    indptr = np.append(0, np.cumsum(lengths))
    metric, extra = am.get_metric(name), np.array([1, 800, 2999])
    for implicit in (0, 7):
        segments = Segments(p, 1 - p, indptr, lengths + implicit)
        floor = metric.tie_floor(segments.sizes)
        asked = CountRange(np.zeros(3, np.int64), lengths.copy(), floor, extra)
        found = _search.choose_counts(segments, metric, asked)
        curves, errors = _curves.expected_curves(segments, metric)
        slow = _search.choose_on_curves(segments, metric, curves, errors, asked)
        np.testing.assert_array_equal(found.best, slow.best)
        np.testing.assert_allclose(
            found.expected, slow.expected, rtol=1e-11, atol=1e-13
        )
        np.testing.assert_allclose(
            found.at_extra, slow.at_extra, rtol=1e-11, atol=1e-13
        )


@pytest.mark.parametrize("name", NAMES)
def test_most_groups_are_settled(name):
    """The search is there to be quick: it must not give up on plain groups."""
    rng = np.random.default_rng(1)
    metric = am.get_metric(name)
    for law in ("uniform", "rare", "frequent"):
        for m in (40, 100, 1000):
            p = DRAWS[law](rng, m)
            assert answers(metric, p, m, 0, m, 0)[3] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_an_affine_search_that_is_given_up_makes_the_curve(name, monkeypatch):
    rng = np.random.default_rng(9)
    p, ids = rng.beta(0.5, 2.0, 400), np.repeat([0, 1, 2, 3], 100)
    found = am.decide(p, name, groups=ids, average="groups")
    kernel = "best_of_misses" if name == "jaccard" else "best_of_affine"
    compiled_search = getattr(_curves.compiled(), kernel)

    def give_up(*arguments):
        compiled_search(*arguments)
        arguments[-1][3, 1:3] = 0

    monkeypatch.setattr(_curves.compiled(), kernel, give_up)
    again = am.decide(p, name, groups=ids, average="groups")
    np.testing.assert_array_equal(found.labels, again.labels)
    np.testing.assert_allclose(found.group_expected, again.group_expected, rtol=1e-12)


def test_metrics_that_bend_have_curves():
    """Quotients of other than affine functions of k are not bounded by their ends."""
    n, factors = np.array([90.0]), am.Kappa().form.factors
    assert _affine_search.is_straight(factors, n)
    assert _affine_search.is_straight(am.MCC().form.factors, n)
    for name in ("hits_k", "rest_k", "floor", "rate"):
        bent = dataclasses.replace(factors, **{name: lambda k, n: k * k + n})
        assert not _affine_search.is_straight(bent, n)


def test_one_short_vector_needs_no_kernel():
    p = np.full(70, 0.3)
    one = Segments(p, 1 - p, np.array([0, 70]), np.array([70]))
    two = Segments(np.tile(p, 2), 1 - np.tile(p, 2), np.arange(3) * 70, np.full(2, 70))
    for metric in (am.Kappa(), am.MCC(), am.FBeta(0.7), am.Jaccard()):
        assert not _search.has_search(metric, "auto", one)
        assert _search.has_search(metric, "auto", two)
        assert not _search.has_search(metric, "windows", two)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("side", [0.97, 1.03])
def test_both_sides_of_the_limit_of_the_search_agree(name, side):
    """The best count and its value are those of the curve; the plan says the route."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 2.0, 20_000)
    p = p[: np.searchsorted(np.cumsum(p * (1 - p)), side * plan.SEARCH_VARIANCE)]
    both = np.concatenate([p, p[::-1]])
    ids = np.repeat([0, 1], p.size)
    found = am.decide(both, name, groups=ids, average="groups")
    assert ("bounds" in found.plan) == (side < 1)
    for g in (0, 1):
        curve = found.curve_of(g)
        assert found.group_n_positives[g] == np.nanargmax(curve)
        assert found.group_expected[g] == pytest.approx(np.nanmax(curve), rel=1e-12)
