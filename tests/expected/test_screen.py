"""The search for the best k of any metric, against whole curves and plain twins."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
import oracle
import plain_kernels as reference
from argmetric._expected import _curves, _screen, _search, _sums
from argmetric._expected import kernels as compiled
from argmetric._expected._hermite import cumulants_of
from argmetric._input.segments import Segments
from strategies import moderate_vectors, probability_vectors

some_vectors = st.one_of(
    probability_vectors(max_size=12), moderate_vectors(min_size=13, max_size=40)
)


def own(tp, k, t, n):
    return tp / (0.3 * k + 0.7 * t + 1.0)


def squares(tp, k, t, n):
    return tp * tp / (k * t)


def capped(tp, k, t, n):
    return np.minimum(tp, 12) - 0.3 * (k - tp)


def at_least_half(tp, k, t, n):
    return np.where(tp >= 0.5 * t, 1.0 - k / (4 * n), 0.0)


def bonus(tp, k, t, n):
    return tp / (k + t + 1) + (tp == k)


def wavy(tp, k, t, n):
    return tp / (k + t) + 0.05 * (tp % 5 == 1)


def steps(tp, k, t, n):
    return np.floor(10 * tp / (k + 1)) + tp / (t + 1)


def roots(tp, k, t, n):
    return np.sqrt(tp) / np.sqrt(k + 1) - 0.01 * (t - tp)


def flat(tp, k, t, n):
    return 0.25


def signed(tp, k, t, n):
    return (tp * n - k * t) / (k * t + 1)


FUNCTIONS = [own, squares, capped, at_least_half, bonus, wavy, steps, roots]
FUNCTIONS += [flat, signed]
LOSS = am.CustomMetric(
    lambda tp, k, t, n: (k - tp) + 4 * (t - tp),
    name="loss",
    greater_is_better=False,
    smooth=True,
)
SMOOTH = am.CustomMetric(own, smooth=True)


def segments_of(*vectors, implicit=0):
    p = np.concatenate([np.sort(x)[::-1] for x in vectors])
    sizes = np.array([len(x) for x in vectors])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Segments(p, 1 - p, indptr, sizes + implicit)


def laws(segments, pairs, backend):
    group, count = (np.array(x) for x in zip(*pairs, strict=True))
    start = np.cumsum(count + 1) - count - 1
    points, weights = np.zeros((2, int(count.sum()) + count.size))
    lengths, dropped = np.zeros(count.size, dtype=np.int64), np.zeros(count.size)
    tolerance = np.full(segments.n_segments, 1e-18)
    seeds = _sums.Laws.of_nothing(segments.n_segments)
    backend.laws_at(
        segments.p,
        segments.q,
        segments.indptr,
        group,
        count,
        tolerance,
        *seeds.table,
        seeds.start,
        seeds.length,
        start,
        points,
        weights,
        lengths,
        dropped,
    )
    found = []
    for i, first in enumerate(start):
        full = np.zeros(count[i] + 1)
        part = slice(first, first + lengths[i])
        full[points[part].astype(int)] = weights[part]
        found.append(full)
    return found, dropped


@given(p=some_vectors, other=some_vectors, data=st.data())
def test_laws_and_cumulants_at_some_counts(p, other, data):
    segments = segments_of(p, other)
    pairs = [
        (g, k)
        for g, m in enumerate((p.size, other.size))
        for k in sorted(data.draw(st.sets(st.integers(0, m), min_size=1, max_size=4)))
    ]
    for backend in (compiled, reference):
        found, dropped = laws(segments, pairs, backend)
        sums = np.empty((7, len(pairs)))
        group, count = (np.array(x) for x in zip(*pairs, strict=True))
        arguments = segments.p, segments.q, segments.indptr, group, count
        backend.power_sums_at(*arguments, sums)
        again = np.empty((7, len(pairs)))
        reference.power_sums_at(*arguments, again)
        np.testing.assert_allclose(sums, again, rtol=1e-12, atol=1e-14)
        sums = cumulants_of(sums)
        for i, (g, k) in enumerate(pairs):
            items = slice(segments.indptr[g], segments.indptr[g] + k)
            wanted = reference.laws(segments.p[items], segments.q[items])[-1]
            np.testing.assert_allclose(found[i], wanted, rtol=1e-12, atol=2e-17)
            assert abs(found[i].sum() + dropped[i] - 1.0) < 1e-14
            x = np.arange(k + 1.0)
            mean = wanted @ x
            central = [wanted @ (x - mean) ** j for j in range(5)]
            cumulants = [mean, central[2], central[3], central[4] - 3 * central[2] ** 2]
            np.testing.assert_allclose(
                sums[:4, i], cumulants, atol=1e-11 * (k + 1) ** 2
            )


def rough_of(segments, backend, room):
    size = segments.p.size + segments.n_segments
    at, sums = np.zeros(2, dtype=np.int64), np.zeros((3, 5))
    found, done = [], 0
    while done < size:
        counts, points = np.empty((3, room)), np.empty((2, 5, room))
        weights = np.empty_like(points)
        arguments = segments.p, segments.q, segments.indptr, at, sums
        used = backend.rough_laws(*arguments, counts, points, weights)
        found.append((counts[:, :used], points[..., :used], weights[..., :used]))
        done += used
    return [np.concatenate(x, axis=-1) for x in zip(*found, strict=True)]


@given(p=some_vectors, other=some_vectors, room=st.integers(42, 90))
def test_rough_laws_have_the_first_moments(p, other, room):
    """Three points those up to the fifth, two those up to the third; all possible."""
    segments = segments_of(p, other)
    for backend in (compiled, reference):
        counts, points, weights = rough_of(segments, backend, room)
        assert (points >= 0).all()
        assert (points <= counts[1:, None, :]).all()
        assert (weights >= 0).all()
        for i, (g, k, _) in enumerate(counts.T.astype(int)):
            part = slice(segments.indptr[g], segments.indptr[g + 1])
            sides = (segments.p[part][:k], segments.p[part][k:])
            for side, items in enumerate(sides):
                law = reference.laws(items, 1 - items)[-1]
                x = np.arange(law.size) - items.sum()
                scale = 1.0 + np.abs(x).max()
                for rows, degree in ((slice(3), 5), (slice(3, 5), 3)):
                    y = points[side, rows, i] - items.sum()
                    for j in range(degree + 1):
                        assert weights[side, rows, i] @ y**j == pytest.approx(
                            law @ x**j, abs=1e-8 * scale**j
                        )


@given(p=some_vectors, other=some_vectors)
def test_compiled_rough_laws_equal_their_twin(p, other):
    segments = segments_of(p, other)
    found = [rough_of(segments, backend, 90) for backend in (compiled, reference)]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for side in range(2):
        for rows in (slice(3), slice(3, 5)):
            values = [
                (weights[side, rows] / (1.0 + points[side, rows])).sum(axis=0)
                for _, points, weights in found
            ]
            np.testing.assert_allclose(*values, atol=1e-7)


@given(seed=st.integers(0, 1000), used=st.integers(1, 9))
def test_rough_values_are_means_over_few_cells(seed, used):
    """Of those that are finite, where there are any."""
    rng = np.random.default_rng(seed)
    points, weights = rng.uniform(0, 9, (2, 5, 9)), rng.random((2, 5, 9))
    for rows in (slice(3), slice(3, 5)):
        weights[:, rows] /= weights[:, rows].sum(axis=1, keepdims=True)
    value = rng.choice([1.0, 2.5, np.nan, np.inf, -np.inf], (13, used))
    value[:, 0] = np.nan
    for backend in (compiled, reference):
        tp, t = np.empty((2, 13, used))
        backend.rough_cells(points, tp, t)
        sums = np.empty((2, used))
        backend.rough_sums(value, weights, *sums)
        for i in range(used):
            for j, (rows, cell) in enumerate(((range(3), 0), (range(3, 5), 9))):
                total = mass = 0.0
                for a in rows:
                    for r in rows:
                        assert tp[cell, i] == points[0, a, i]
                        assert t[cell, i] == points[0, a, i] + points[1, r, i]
                        if np.isfinite(value[cell, i]):
                            chance = weights[0, a, i] * weights[1, r, i]
                            total += chance * value[cell, i]
                            mass += chance
                        cell += 1
                wanted = total / mass if mass else math.nan
                assert sums[j, i] == pytest.approx(wanted, rel=1e-12, nan_ok=True)


def settled_is_right(segments, metric, low, high, extra):
    """What is settled is the best of the whole curve, with its value."""
    count = segments.n_segments
    floor = np.zeros(count)
    curves, errors, settled = _screen.search_any(
        segments, metric, low, high, floor, extra
    )
    sign = 1.0 if metric.greater_is_better else -1.0
    whole, _ = _curves.expected_curves(segments, metric, method="windows")
    for g in np.flatnonzero(settled):
        found, wanted = (
            sign * curves[segments.place(g)],
            sign * whole[segments.place(g)],
        )
        part = slice(low[g], high[g] + 1)
        top = np.nanmax(wanted[part])
        slack = errors[g] + 1e-11 * max(1.0, abs(top))
        known = ~np.isnan(found)
        np.testing.assert_allclose(found[known], wanted[known], rtol=0, atol=slack)
        assert known[extra[g]] or np.isnan(wanted[extra[g]])
        assert np.nanmax(found[part]) >= top - slack
    return settled


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(deadline=None, max_examples=25)
@given(p=some_vectors, other=some_vectors, implicit=st.integers(0, 3), data=st.data())
def test_what_is_settled_is_the_best_of_the_curve(function, p, other, implicit, data):
    segments = segments_of(p, other, implicit=implicit)
    ranges = []
    for m in segments.lengths:
        low = data.draw(st.integers(0, m))
        high, extra = data.draw(st.integers(low, m)), data.draw(st.integers(0, m))
        ranges.append((low, high, extra))
    low, high, extra = np.array(ranges).T
    metric = am.CustomMetric(function)
    settled_is_right(segments, metric, low, high, extra)


LAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(0.2, 2.0, n),
    "rare": lambda rng, n: np.minimum(1.0, rng.exponential(2.0 / n, n)),
    "frequent": lambda rng, n: 1.0 - rng.beta(0.2, 4.0, n),
    "tied": lambda rng, n: rng.choice([0.1, 0.2, 0.5, 0.9], n),
    "certain": lambda rng, n: rng.choice([0.0, 1.0, 0.3], n),
    "tiny": lambda rng, n: rng.choice([1e-300, 1e-16, 1 - 1e-16, 0.4], n),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("metric", [*FUNCTIONS, LOSS])
def test_decisions_equal_those_on_whole_curves(metric, law):
    """Smooth functions and others, in groups and one by one."""
    rng = np.random.default_rng(6)
    sizes = [1, 2, 64, 65, 66, 130, 300]
    p = np.concatenate([LAWS[law](rng, n) for n in sizes])
    ids = np.repeat(np.arange(len(sizes)), sizes)
    if metric is not LOSS:
        metric = am.CustomMetric(metric, smooth=True)
    sign = 1.0 if metric.greater_is_better else -1.0
    options = {"check": False, "zero_division": 0.0}
    found = am.decide(p, metric, groups=ids, average="groups", **options)
    floor = metric.tie_floor(np.array(sizes))
    for g in range(len(sizes)):
        curve = sign * am.decide(p[ids == g], metric, method="windows", **options).curve
        size = max(1.0, float(np.abs(curve).max()))
        bar = curve.max() - max(2e-12 * size, floor[g])
        alone = am.decide(p[ids == g], metric, **options)
        for k, value in (
            (alone.n_positives, alone.expected),
            (found.group_n_positives[g], found.group_expected[g]),
        ):
            assert sign * value == pytest.approx(curve[k], rel=1e-11, abs=1e-12)
            assert curve[k] >= bar
            assert (curve[:k] < curve.max() - 5e-13 * abs(curve.max())).all()
        half = alone.cut_half
        assert sign * half.expected == pytest.approx(
            curve[half.n_positives], rel=1e-11, abs=1e-12
        )


@pytest.mark.parametrize("function", [own, squares, roots])
def test_smooth_functions_are_settled_by_a_few_sums(function, monkeypatch):
    rng = np.random.default_rng(3)
    vectors = [rng.beta(0.3, 2.0, 400) for _ in range(20)]
    segments = segments_of(*vectors)
    taken = []
    probed_values = _sums.Sums.probed_values

    def count(self, pairs):
        taken.append(pairs.count.size)
        return probed_values(self, pairs)

    monkeypatch.setattr(_sums.Sums, "probed_values", count)
    low, extra = np.zeros((2, 20), dtype=np.int64)
    high = segments.lengths
    metric = am.CustomMetric(function)
    settled = settled_is_right(segments, metric, low, high, extra)
    assert settled.all()
    assert sum(taken) <= 20 * 14


@pytest.mark.parametrize("zero", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("law", ["skewed", "rare", "certain"])
def test_undefined_outcomes_are_left_out(zero, law):
    rng = np.random.default_rng(7)
    metric = am.CustomMetric(squares, zero_division=zero, smooth=True)
    for n in (66, 200):
        p = LAWS[law](rng, n)
        found = am.decide(p, metric, check=False)
        curve = am.decide(p, metric, check=False, method="windows").curve
        k = oracle.best_k(np.where(np.isnan(curve), -np.inf, curve))
        assert found.n_positives == k
        assert found.expected == pytest.approx(curve[k], rel=1e-11)


def test_limits_hold_and_the_curve_is_made_when_asked_for():
    p = np.random.default_rng(2).beta(0.3, 1.0, 300)
    curve = am.decide(p, SMOOTH).curve
    whole = am.decide(p, SMOOTH, method="windows").curve
    np.testing.assert_allclose(curve, whole, rtol=1e-11, atol=1e-13)
    free = oracle.best_k(curve)
    for low, high in ((0, free - 20), (free + 20, None), (free - 3, free + 3)):
        limited = am.decide(p, SMOOTH, min_positives=low, max_positives=high)
        last = 300 if high is None else high
        assert limited.n_positives == low + oracle.best_k(curve[low : last + 1])
        assert limited.best_cut.n_positives == free


def test_infinite_values_are_refused():
    p = np.random.default_rng(1).random(200)

    def infinite(tp, k, t, n):
        return np.where((k == 7) & (tp == 3), np.inf, tp / (k + 1))

    def everywhere(tp, k, t, n):
        return np.where(tp > 2, np.inf, tp)

    for function in (everywhere, lambda tp, k, t, n: -everywhere(tp, k, t, n)):
        for smooth in (False, True):
            metric = am.CustomMetric(function, smooth=smooth)
            with pytest.raises(ValueError, match="infinite on some counts"):
                am.decide(p, metric, check=False)
    with pytest.raises(ValueError, match="infinite on some counts"):
        am.decide(p, infinite, check=False, method="windows")


def test_long_vectors_and_the_counts_between_two_blocks():
    p = np.random.default_rng(8).beta(0.2, 3.0, 12_291)
    segments = segments_of(p)
    found = rough_of(segments, compiled, _screen.PLACES)
    wanted = rough_of(segments, reference, p.size + 1)
    for side in range(2):
        values = [(w[side] / (1 + x[side])).sum(axis=0) for _, x, w in (found, wanted)]
        np.testing.assert_allclose(*values, rtol=1e-9)
    decision = am.decide(p, SMOOTH)
    k = decision.n_positives
    assert decision.expected == pytest.approx(decision.curve[k], rel=1e-11)
    assert decision.curve[k] >= decision.curve.max() * (1 - 1e-11)


def test_known_forms_are_not_searched():
    segments = segments_of(np.full(70, 0.3))
    assert _search.has_search(SMOOTH, "auto", segments)
    assert not _search.has_search(SMOOTH, "windows", segments)
    assert not _search.has_search(am.CustomMetric(own), "auto", segments)
    assert not _search.has_search(am.FBeta(1), "auto", segments)


@pytest.mark.parametrize("law", LAWS)
def test_what_hides_from_a_rough_curve_is_found_by_default(law):
    """One k is singled out by what may seldom happen there."""

    def spike(tp, k, t, n):
        return np.where((k == 17) & (tp >= 12), 2.5, 2 * tp / (k + t + 1))

    rng = np.random.default_rng(9)
    for n in (66, 150):
        p = LAWS[law](rng, n)
        curve = am.decide(p, spike, check=False, method="windows").curve
        found = am.decide(p, spike, check=False)
        assert found.expected == pytest.approx(curve.max(), rel=1e-11)
        assert found.n_positives == oracle.best_k(curve)
