"""Long vectors are decided from a histogram: as if they had been sorted."""

import math

import numpy as np
import pytest

import argmetric as am
from routes import plan

N = 60_000
SHAPES = {
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


def takes_no_sort(p, metric):
    return "without a sort" in am.decide(p, metric).plan


def by_sorting(monkeypatch, p, metric, **options):
    with monkeypatch.context() as patch:
        patch.setattr(plan, "HISTOGRAM_ROWS", p.size + 1)
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


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("metric", EVERY)
def test_decisions_equal_those_of_sorted_vectors(metric, shape, monkeypatch):
    p = SHAPES[shape](np.random.default_rng(len(shape)))
    assert_same(am.decide(p, metric), by_sorting(monkeypatch, p, metric))


@pytest.mark.parametrize("shape", ["uniform", "skewed", "rounded"])
@pytest.mark.parametrize("metric", EVERY)
def test_these_take_no_sort(metric, shape):
    p = SHAPES[shape](np.random.default_rng(3))
    flat = metric == "markedness" and shape != "skewed"  # the same at almost every k
    assert takes_no_sort(p, metric) != flat


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
    if metric == "mcc" and options.get("zero_division") == 1.0:
        pytest.skip("it would change nothing for mcc, and is refused")
    p = np.where(np.arange(N) % 5 == 0, 0.0, np.random.default_rng(5).random(N))
    assert_same(
        am.decide(p, metric, **options), by_sorting(monkeypatch, p, metric, **options)
    )


@pytest.mark.parametrize("metric", ["f1", "kappa", "hmean"])
def test_the_switch_to_no_sort_moves_nothing(metric, monkeypatch):
    p = np.random.default_rng(7).beta(0.3, 2, plan.HISTOGRAM_ROWS)
    for some in (p, p[1:]):
        assert_same(am.decide(some, metric), by_sorting(monkeypatch, some, metric))
        assert takes_no_sort(some, metric) == (some is p)


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
            assert takes_no_sort(some, metric) == beyond


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
@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_vectors_without_a_short_series_are_sorted(p, metric, monkeypatch):
    if metric != "f1" or p.mean() < 0.5:
        assert not takes_no_sort(p, metric)
    assert_same(am.decide(p, metric), by_sorting(monkeypatch, p, metric))


def test_millions_of_rows_of_tversky_keep_their_digits():
    """Beside the second order in the deviations of counts; others are about 1e-13."""
    alpha, beta = map(np.longdouble, (1.5, 0.4))
    p = np.clip(3.0 * np.random.default_rng(15).random(4_000_000) - 1.0, 0.0, 1.0)
    found = am.decide(p, am.Tversky(1.5, 0.4))
    chosen = found.labels == 1
    hits, misses = p[chosen].astype(np.longdouble), p[~chosen].astype(np.longdouble)
    mean, spread = hits.sum(), (hits * (1 - hits)).sum()
    below = mean + alpha * (found.n_positives - mean) + beta * misses.sum()
    variance = (1 - alpha) ** 2 * spread + beta**2 * (misses * (1 - misses)).sum()
    value = mean / below - (1 - alpha) * spread / below**2
    value += mean * variance / below**3
    assert abs(found.expected - float(value)) <= min(found.error, 3e-13)


def test_few_hits_at_one_half_have_their_exact_distribution(monkeypatch):
    rng = np.random.default_rng(9)
    p = np.concatenate([rng.uniform(0.5, 0.9, 20), 0.4 * rng.random(N - 20)])
    assert takes_no_sort(p, "gmean")
    assert am.decide(p, "gmean").cut_half.n_positives == 20
    assert_same(am.decide(p, "gmean"), by_sorting(monkeypatch, p, "gmean"))


@pytest.mark.parametrize("metric", ["f1", "jaccard", "mcc", "gmean", "markedness"])
@pytest.mark.parametrize("options", [{}, {"max_positives": "10%"}], ids=str)
def test_long_groups_are_decided_as_if_each_were_alone(metric, options):
    """Long groups and short ones, with ties, in any order of their rows."""
    rng = np.random.default_rng(12)
    sizes = 300, N, 50, 0, N + 5, 70, N
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    p = rng.beta(0.2, 2, groups.size)
    p[groups == 4] = p[groups == 4].round(2)
    whole = am.decide(p, metric, groups=groups, average="groups", **options)
    half = 0.0
    for g, best, value in zip(
        whole.group_ids, whole.group_n_positives, whole.group_expected, strict=True
    ):
        alone = am.decide(p[groups == g], metric, **options)
        np.testing.assert_array_equal(whole.labels[groups == g], alone.labels)
        assert best == alone.n_positives
        assert value == pytest.approx(alone.expected, rel=2e-12)
        half += alone.cut_half.expected / whole.group_ids.size
    assert whole.cut_half.expected == pytest.approx(half, rel=2e-12)
    assert whole.cut_half.n_positives == (p >= 0.5).sum()
    assert "the longest by histogram" in whole.plan


def test_long_labels_of_a_matrix_are_recalibrated_without_a_sort(monkeypatch):
    rng = np.random.default_rng(13)
    p = rng.beta(0.3, 2, (N, 2))
    y = rng.random(2000) < 0.5 * p[:2000, 0]
    options = {"average": "macro", "reference": (y, p[:2000, 0])}
    got = am.decide(p, **options)
    wanted = by_sorting(monkeypatch, p, "f1", **options)
    np.testing.assert_array_equal(got.labels, wanted.labels)
    assert got.expected == pytest.approx(wanted.expected, rel=2e-12)
    assert got.cut_half.expected == pytest.approx(wanted.cut_half.expected, rel=1e-11)
    assert "without a sort" in got.plan
