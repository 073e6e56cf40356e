"""Long vectors are decided from a histogram: as if they had been sorted."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric._expected import _items, _long, _powers, plan
from argmetric._expected.kernels import powers
from twins.curves import law_of_items

N = 60_000
LAWS = {
    "uniform": lambda rng: rng.random(N),
    "skewed": lambda rng: rng.beta(0.1, 2, N),
    "rare": lambda rng: rng.beta(0.5, 100, N),
    "high": lambda rng: 1 - rng.beta(0.5, 20, N),
    "rounded": lambda rng: rng.random(N).round(2),
    "two values": lambda rng: rng.choice([0.2, 0.7], N),
    "some certain": lambda rng: np.where(
        rng.random(N) < 0.3, rng.choice([0.0, 1.0], N), rng.random(N)
    ),
}
RATIOS = ("f1", "f2", "f0.5", "jaccard")
AFFINE = ("mcc", "kappa")
RATES = ("gmean", "hmean", "qmean")
ITEMS = ("balanced_accuracy", "youden", "recall", "specificity", "lift", "fm")
MEANS = ("accuracy", "precision", "markedness", "sec")
EVERY = (*RATIOS, *AFFINE, *RATES, *ITEMS, *MEANS)


def without_sort(p, metric, **limits):
    """What the histogram finds; None where it leaves the vector to the curve."""
    metric = am.get_metric(metric)
    low, high = limits.get("low", 0), limits.get("high", p.size)
    floor = float(metric.tie_floor(p.size))
    items, most = _items.Array(p), _items.MOST_COUNTS
    return _long.choose_in_long(items, metric, low, high, floor, most)


def by_sorting(monkeypatch, p, metric, **options):
    with monkeypatch.context() as patch:
        patch.setattr(_long, "choose_in_long", lambda *_: None)
        return am.decide(p, metric, **options)


def assert_same(got, wanted, within=2e-12):
    assert got.n_positives == wanted.n_positives
    assert got.threshold == wanted.threshold
    np.testing.assert_array_equal(got.labels, wanted.labels)
    assert got.expected == pytest.approx(wanted.expected, rel=within)
    assert got.cut_half.n_positives == wanted.cut_half.n_positives
    half = pytest.approx(wanted.cut_half.expected, abs=within, nan_ok=True)
    assert got.cut_half.expected == half
    assert got.best_cut.n_positives == wanted.best_cut.n_positives
    assert got.notes == wanted.notes


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("metric", EVERY)
def test_decisions_equal_those_of_sorted_vectors(metric, law, monkeypatch):
    p = LAWS[law](np.random.default_rng(len(law)))
    assert_same(am.decide(p, metric), by_sorting(monkeypatch, p, metric))


@pytest.mark.parametrize("law", ["uniform", "skewed", "rounded"])
@pytest.mark.parametrize("metric", EVERY)
def test_these_take_no_sort(metric, law):
    p = LAWS[law](np.random.default_rng(3))
    flat = metric == "markedness" and law != "skewed"  # the same at almost every k
    assert (without_sort(p, metric) is None) == flat


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "gmean"])
@pytest.mark.parametrize(
    "options",
    [
        {"max_positives": 700},
        {"min_positives": 50_000},
        {"min_positives": 100, "max_positives": 100},
        {"max_positives": 0},
        {"min_positives": N},
        {"zero_division": 1.0},
        {"zero_division": math.nan},
    ],
)
def test_limits_and_conventions_hold_without_a_sort(metric, options, monkeypatch):
    p = np.where(np.arange(N) % 5 == 0, 0.0, np.random.default_rng(5).random(N))
    assert_same(
        am.decide(p, metric, **options), by_sorting(monkeypatch, p, metric, **options)
    )


@pytest.mark.parametrize("metric", ["f1", "kappa", "hmean"])
def test_the_switch_to_no_sort_moves_nothing(metric, monkeypatch):
    p = np.random.default_rng(7).beta(0.3, 2, plan.HISTOGRAM_ROWS)
    taken, choose_in_long = [], _long.choose_in_long

    def watched(some, *rest):
        taken.append(some.size)
        return choose_in_long(some, *rest)

    for some in (p, p[1:]):
        wanted = by_sorting(monkeypatch, some, metric)
        with monkeypatch.context() as patch:
            patch.setattr(_long, "choose_in_long", watched)
            assert_same(am.decide(some, metric), wanted)
    assert taken == [p.size]
    assert without_sort(p, metric) is not None


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("metric", [*RATIOS, "precision", "accuracy"])
def test_the_switch_by_positives_moves_nothing(metric, zero_division, monkeypatch):
    """A vector without any positive: forgotten from a mean of 45 on, e^-45 of all."""
    rng = np.random.default_rng(11)
    p = rng.beta(0.3, 2, N)
    for mean in (0.98 * plan.HISTOGRAM_POSITIVES, 1.001 * plan.HISTOGRAM_POSITIVES):
        some = p * (mean / p.sum())
        wanted = by_sorting(monkeypatch, some, metric, zero_division=zero_division)
        assert_same(am.decide(some, metric, zero_division=zero_division), wanted)
        if metric in RATIOS:
            beyond = mean > plan.HISTOGRAM_POSITIVES
            assert (without_sort(some, metric) is not None) == beyond


def test_the_curve_is_made_when_it_is_asked_for(monkeypatch):
    p = np.random.default_rng(8).random(N)
    decision = am.decide(p)
    assert decision.curve.size == N + 1
    assert decision.curve[decision.n_positives] == pytest.approx(decision.expected)
    assert decision.curve.max() == pytest.approx(decision.expected, rel=1e-12)
    assert decision.best_cut.expected == decision.expected


@pytest.mark.parametrize(
    "p",
    [
        np.full(N, 1e-4),  # a positive or none: the convention counts
        np.where(np.arange(N) < 3, 0.6, 0.0),
        np.full(N, 1 - 1e-5),
        np.zeros(N),
        np.ones(N),
    ],
)
@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean"])
def test_vectors_without_a_short_series_are_sorted(p, metric, monkeypatch):
    if metric != "f1" or p.mean() < 0.5:
        assert without_sort(p, metric) is None
    assert_same(am.decide(p, metric), by_sorting(monkeypatch, p, metric))


def test_few_hits_at_one_half_have_their_exact_law(monkeypatch):
    rng = np.random.default_rng(9)
    p = np.concatenate([rng.uniform(0.5, 0.9, 20), 0.4 * rng.random(N - 20)])
    assert without_sort(p, "gmean").n_half == 20
    assert_same(am.decide(p, "gmean"), by_sorting(monkeypatch, p, "gmean"))


@pytest.mark.parametrize("metric", EVERY)
def test_values_from_sums_of_powers_equal_sums_over_laws(metric):
    metric, n = am.get_metric(metric), 20_000
    p = np.sort(np.random.default_rng(10).beta(2, 5, n))[::-1].copy()
    q = 1 - p
    evaluator = _powers.evaluator_of(metric, n, p.sum(), float(p @ q), p[0])
    sums = np.cumsum(_items.powers_of(p, _powers.TOTAL_TERMS), axis=1)
    evaluator.begin(sums[:, -1])
    sums = sums[: evaluator.terms]
    for k in (3000, 9000, 14_000):
        low, hits = law_of_items(p[:k], q[:k], 1e-18)
        lowest, misses = law_of_items(p[k:], q[k:], 1e-18)
        a = low + np.arange(hits.size)[:, None]
        values = metric.value(a, k, a + lowest + np.arange(misses.size), n)
        got = evaluator.values(np.array([float(k)]), sums[:, [k - 1]])[0]
        wanted = evaluator.sign * (hits @ values @ misses)
        assert got == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("metric", EVERY)
def test_bounds_hold_between_any_two_counts(metric):
    rng = np.random.default_rng(11)
    p = np.sort(rng.random(4000))[::-1].copy()
    metric = am.get_metric(metric)
    variance = float((p * (1 - p)).sum())
    evaluator = _powers.evaluator_of(metric, p.size, p.sum(), variance, p[0])
    sums = np.cumsum(_items.powers_of(p, _powers.TOTAL_TERMS), axis=1)
    evaluator.begin(sums[:, -1])
    sums = sums[: evaluator.terms]
    curve = evaluator.sign * am.decide(p, metric).curve
    for first, last in [(300, 340), (1500, 1501), (2000, 2600), (700, 3700)]:
        column = sums[:, [last - 1]]
        ends = np.array([first + 1.0]), np.array([float(last)])
        bound = evaluator.bounds(*ends, column)[0]
        best = curve[first + 1 : last + 1].max()
        assert bound >= best - 1e-11 * abs(best)


def test_bins_and_ranges_equal_numpy():
    rng = np.random.default_rng(12)
    p = np.concatenate([rng.random(5000), [0.0, 1.0, 0.5, 0.25, 0.75]])
    for low, scale, bins in [(0.0, 64.0, 65), (0.25, 1024.0, 256)]:
        place = (p - low) * scale
        inside = (place >= 0) & (place < bins)
        b = place[inside].astype(int)
        f = place[inside] - b - 0.5
        wanted = [np.bincount(b, f**j, minlength=bins) for j in range(4)]
        sums = np.zeros((bins, 5), dtype=np.int64)
        powers.bin_sums(p, low, scale, sums)
        parts = np.zeros_like(sums)
        for part in (p[4000:], p[:17], p[17:4000][::-1]):
            powers.bin_sums(part, low, scale, parts)
        np.testing.assert_array_equal(parts, sums)
        exact = _items.Array(p).moments(low, scale, bins)
        within = [0, 1e-15, 1e-8, 1e-8]  # units of 2^-53 and of 2^-32, a few in a bin
        for j in range(4):
            np.testing.assert_allclose(exact[:, j], wanted[j], 0, 200 * within[j])
        high = low + bins / scale
        wanted = p[(p >= low) & (p < high)]
        out = np.empty(wanted.size + 1)
        powers.take_range(p, low, high, out)
        np.testing.assert_array_equal(out[:-1], wanted)


@pytest.mark.parametrize("terms", [2, 7, 12])
def test_sums_of_powers_above_edges_are_exact(terms):
    p = np.concatenate([np.random.default_rng(13).random(20_000), np.full(9000, 0.3)])
    moments = _items.Array(p).moments(*_long.FIRST_BINS)
    edges = _long.bin_edges(moments, 0.0, float(_long.BINS), terms)
    for e in (1, 100, 2048, 4000, 4097):
        above = p[p >= edges.at[e]]
        assert edges.k[e] == above.size
        wanted = [math.fsum(above**r) for r in range(1, terms + 1)]
        np.testing.assert_allclose(edges.sums[:, e], wanted, rtol=3e-14)
