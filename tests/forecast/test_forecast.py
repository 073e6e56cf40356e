"""`forecast` against enumeration of all outcomes, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

import argmetric as am
import oracle
import strategies as nasty
from argmetric import forecast
from decide_checks import CONVENTIONS, NAN, spec

P = np.array([0.9, 0.75, 0.5, 0.5, 0.35, 0.2, 0.1, 0.05])
LABELS = np.array([1, 1, 1, 0, 1, 0, 0, 0])
few = settings(deadline=None, max_examples=10)


def tolerance(name, scale):
    if name in oracle.TWO_DIMENSIONAL:
        return 1e-9
    return 1e-11 * float(scale) + 1e-300


def assert_same_distribution(result, atoms, mass, name="f1"):
    """Mean, spread, distribution function and quantiles of one distribution."""
    mean, std = (float(x) for x in oracle.moments(atoms, mass))
    scale = float(np.sum(np.abs(atoms) * mass))
    assert abs(result.mean - mean) <= tolerance(name, scale)
    assert result.std == pytest.approx(std, rel=1e-6, abs=1e-7 * max(1, scale))
    assert_atoms_are_a_distribution(result)
    total = np.cumsum(mass).astype(float)
    between = (atoms[1:] + atoms[:-1]).astype(float) / 2
    for x, reached in zip(between, total, strict=False):
        assert result.cdf(x) == pytest.approx(reached, rel=1e-9, abs=1e-11)
        assert result.probability_below(x) == pytest.approx(
            reached, rel=1e-9, abs=1e-11
        )
    span = max(1.0, float(np.abs(atoms).max()))
    assert result.cdf(float(atoms[0]) - 1e-6 * span) == 0
    assert result.cdf(float(atoms[-1]) + 1e-6 * span) == pytest.approx(1, abs=1e-12)
    for q in (0.03, 0.27, 0.5, 0.81, 0.97):
        if np.abs(total - q).min() > 1e-9:
            at = float(atoms[np.searchsorted(total, q)])
            assert result.quantile(q) == pytest.approx(at, rel=1e-10, abs=1e-12)


def assert_atoms_are_a_distribution(result):
    values, mass = np.asarray(result.values), np.asarray(result.probabilities)
    assert values.shape == mass.shape
    assert (np.diff(values) > 0).all()
    assert (mass >= 0).all()
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert values @ mass == pytest.approx(result.mean, rel=1e-9, abs=1e-12)


def assert_central(result, atoms, mass, coverage):
    ends = oracle.central_interval(atoms, mass, coverage)
    assert result.interval == pytest.approx(ends, abs=1e-9)
    assert result.coverage == coverage


# -------------------------------------------------------------- enumeration


@pytest.mark.parametrize("zd", CONVENTIONS)
@pytest.mark.parametrize("name", oracle.NAMES)
def test_the_whole_distribution_of_each_metric(name, zd):
    for p, labels in ((P, LABELS), (P[::-1], LABELS), (P, 0 * LABELS)):
        atoms, mass, missing = oracle.distribution(name, p, labels, zd)
        if atoms.size == 0:
            continue
        result = forecast(p, labels, spec(name), zero_division=oracle.obeyed(name, zd))
        assert_same_distribution(result, atoms, mass, name)
        assert_central(result, atoms, mass, 0.9)
        assert result.p_undefined == pytest.approx(float(missing), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", ["f1", "f2", "jaccard", "mcc", "gmean", "sec"])
@pytest.mark.parametrize("zd", [0.0, 1.0])
@few
@given(case=nasty.vectors_with_labels())
def test_nasty_probabilities_and_arbitrary_labels(name, zd, case):
    p, labels = case
    atoms, mass, _ = oracle.distribution(name, p, labels, zd)
    result = forecast(p, labels, name, zero_division=oracle.obeyed(name, zd))
    mean, _ = oracle.moments(atoms, mass)
    scale = np.sum(np.abs(atoms) * mass)
    assert abs(result.mean - float(mean)) <= tolerance(name, scale)
    assert_central(result, atoms, mass, 0.9)
    assert result.n == p.size
    assert result.n_positives == labels.sum()
    assert result.expected_positives == pytest.approx(p.sum(), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.8, 0.95, 0.999])
def test_the_interval_leaves_half_of_the_rest_beyond_each_end(coverage):
    for name in ("f1", "mcc", "sec"):
        atoms, mass, _ = oracle.distribution(name, P, LABELS)
        result = forecast(P, LABELS, name, coverage)
        assert_central(result, atoms, mass, coverage)
        low, high = result.interval
        rest = (1 - coverage) / 2 + 1e-9
        assert mass[atoms < low - 1e-9].sum() <= rest
        assert mass[atoms > high + 1e-9].sum() <= rest


def test_small_probabilities_are_not_lost():
    for p, labels in (([1e-19], [1]), ([1e-300, 0.5], [1, 0]), ([1e-30] * 4, [1] * 4)):
        truth = oracle.enumerated_mean("f1", p, labels)
        assert forecast(p, labels, "f1").mean == pytest.approx(float(truth), rel=1e-11)


def test_the_mean_is_what_decide_expects():
    rng = np.random.default_rng(11)
    for name in ("f1", "f0.5", "jaccard", "kappa", "balanced_accuracy", "qmean"):
        p = rng.random(60)
        decision = am.decide(p, spec(name))
        result = forecast(p, decision.labels, spec(name))
        assert result.mean == pytest.approx(decision.expected, rel=1e-9)


def test_certain_labels_give_a_certain_score():
    result = forecast([1, 1, 0, 0], [1, 0, 0, 0], "f1")
    assert result.mean == pytest.approx(2 / 3, rel=1e-14)
    assert result.interval == pytest.approx((2 / 3, 2 / 3), rel=1e-14)
    assert result.std == pytest.approx(0, abs=1e-8)


# ------------------------------------------------------------- known labels


def test_all_labels_known_is_the_realised_score():
    y = np.array([1, 0, 1, 1, 0, 0, 0, 1])
    result = forecast(P, LABELS, "f2", known=y)
    score = am.evaluate(y, LABELS, "f2")
    assert result.mean == pytest.approx(score, rel=1e-14)
    assert result.interval == pytest.approx((score, score), rel=1e-14)


def test_the_interval_shrinks_as_labels_arrive():
    rng = np.random.default_rng(13)
    p = rng.beta(0.6, 1, 200)
    labels = am.decide(p, "f1").labels
    y = (rng.random(200) < p).astype(float)
    widths = []
    for arrived in (0, 60, 120, 180, 200):
        known = np.where(np.arange(200) < arrived, y, NAN)
        low, high = forecast(p, labels, "f1", known=known).interval
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(0, abs=1e-12)


# -------------------------------------------------------------------- prior


@pytest.mark.parametrize("prior", [1e-300, 1e-60, 1e-9, 0.5, 1 - 1e-9, 1 - 1e-15])
@pytest.mark.parametrize(
    "p", [[0.5, 0.3, 0.999], [1e-300, 1 - 1e-16, 0.5], [5e-324, 5e-324, 1e-308]]
)
def test_an_extreme_prior_is_met(p, prior):
    result = forecast(p, [1, 0, 0], prior=prior)
    assert result.expected_positives == pytest.approx(3 * prior, rel=1e-9)


def test_a_prior_between_rows_that_are_nearly_certain_is_met():
    """Newton's method overshoots to where all probabilities are next to 0."""
    p = np.append([0.003, 0.09, 0.66, 0.82, 0.91], 1 - np.logspace(-13, -3, 7))
    result = forecast(p, np.ones(12), prior=0.82)
    assert result.expected_positives == pytest.approx(12 * 0.82, rel=1e-9)


def test_a_prior_beside_certain_labels_is_met():
    p = [1.0, 0.0, 0.4, 0.2, 0.7]
    for prior in (0.2 + 1e-9, 0.5, 0.8 - 1e-9):
        result = forecast(p, [1, 0, 0, 0, 0], prior=prior)
        assert result.expected_positives == pytest.approx(5 * prior, rel=1e-12)


# ----------------------------------------------------------- overdispersion


@pytest.mark.parametrize("name", ["f1", "jaccard", "precision"])
def test_overdispersion_keeps_the_marginals_and_widens(name):
    rng = np.random.default_rng(14)
    p = rng.beta(0.8, 1.5, 150)
    labels = am.decide(p, "f1").labels
    results = [forecast(p, labels, name, overdispersion=s) for s in (0, 0.25, 0.5, 1)]
    assert results[0].mean == forecast(p, labels, name).mean
    for result in results:
        assert result.expected_positives == pytest.approx(p.sum(), rel=1e-9)
        assert_atoms_are_a_distribution(result)
    spreads = [result.std for result in results]
    assert spreads == sorted(spreads)
    assert spreads[-1] > 1.3 * spreads[0]
    widths = [result.interval[1] - result.interval[0] for result in results]
    assert widths[-1] > 1.2 * widths[0]


# ------------------------------------------------------------------- groups


# ------------------------------------------------------------------ coverage


@pytest.mark.parametrize("n", [20, 100, 400])
def test_coverage_by_simulation(n):
    """Sampling error of 1,200 runs: sd .0087; small n overshoots, for atoms are few."""
    rng = np.random.default_rng(n)
    inside, runs, draws = [], 30, 40
    for _ in range(runs):
        p = rng.beta(0.5, 1.2, n)
        labels = np.asarray(am.decide(p, "f1").labels)
        low, high = forecast(p, labels, "f1").interval
        y = (rng.random((draws, n)) < p).astype(int)
        realised = oracle.scores("f1", y, np.broadcast_to(labels, y.shape)).astype(
            float
        )
        inside.extend((realised >= low - 1e-9) & (realised <= high + 1e-9))
    assert 0.88 <= np.mean(inside) <= 0.95


def test_the_assumptions_stand_in_the_repr():
    result = forecast(P, LABELS)
    assert result.assumptions
    for assumption in result.assumptions:
        assert assumption[:20] in repr(result)
    assert "independent" in repr(result)
    shared = forecast(P, LABELS, overdispersion=0.5)
    assert shared.assumptions != result.assumptions


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("known", bad) for bad in ([1, 0], [2] * 8, [0.5] * 8)),
        *(("prior", bad) for bad in (0.0, 1.0, -0.1, 1.5, NAN)),
        *(("overdispersion", bad) for bad in (-0.1, NAN, math.inf)),
        *(("coverage", bad) for bad in (0, 1.5, -1, NAN)),
        *(("labels", bad) for bad in ([1, 0], [2] * 8, [0.5] * 8, [NAN] + [0] * 7)),
    ],
)
def test_odd_arguments_are_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=name):
        forecast(**{"p": P, "labels": LABELS} | {name: bad})
