"""Which rows to label, and the estimate from their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import betabinom

import argmetric as am
from argmetric._monitor._labelling import (
    TILTS,
    allocation,
    row_sizes,
    strata_of,
    stratum_positives,
)

RNG = np.random.default_rng(11)
P = RNG.beta(0.5, 3, 5000)
Y = RNG.random(5000) < P
MADE = am.monitor(P[1000:], 0.3, reference=(Y[:1000], P[:1000]))
NEW_Y, NEW_P = Y[1000:], P[1000:]


def test_the_plan_draws_some_rows_of_each_stratum() -> None:
    plan = MADE.to_label(100)
    assert plan.rows.size == 100
    assert (np.diff(plan.rows) > 0).all()
    np.testing.assert_array_equal(plan.scores, NEW_P[plan.rows])
    np.testing.assert_array_equal(plan.labels, NEW_P[plan.rows] >= 0.3)
    assert plan.sizes.sum() == 4000
    assert plan.sizes.size == 10
    assert (np.bincount(plan.stratum, minlength=10) >= 2).all()
    assert plan.labels.mean() > 2 * (NEW_P >= 0.3).mean()  # they matter more
    frame = plan.to_frame("polars")
    assert frame.columns == ["row", "score", "predicted", "stratum"]
    same = MADE.to_label(100)
    np.testing.assert_array_equal(same.rows, plan.rows)
    other = MADE.to_label(100, random_state=1)
    assert not np.array_equal(other.rows, plan.rows)


def test_sizes_are_those_of_the_formula_for_f1() -> None:
    table = MADE.counts[0].table
    c = MADE.watch.maps.chances.mean(axis=0)
    rows = table.sum(axis=1)
    f = 2 * (rows[1] @ c) / (rows[1].sum() + rows.sum(axis=0) @ c)
    wanted = np.abs(2 * np.array([[0], [1]]) - f) * np.sqrt(c * (1 - c))
    found = row_sizes(table, c, am.FBeta())
    np.testing.assert_allclose(found / found.sum(), wanted / wanted.sum(), rtol=1e-4)


def test_strata_have_equal_sums_of_sizes() -> None:
    open_ = np.full((2, 200), 7)
    open_[1, :50] = 0
    sizes = np.abs(np.sin(np.arange(400.0))).reshape(2, 200)
    member = strata_of(open_, sizes, 5)
    assert (member[1, :50] == -1).all()
    assert sorted(set(member[member >= 0])) == list(range(10))
    for side in (0, 1):
        there = member[side] >= 0
        mass = (open_ * sizes)[side, there]
        sums = np.bincount(member[side, there], mass)[5 * side : 5 * side + 5]
        np.testing.assert_allclose(sums, sums.mean(), rtol=0.08)
        assert (np.diff(member[side, there]) >= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 50, 137, 5000])
def test_labels_are_dealt_out_in_full(n: int) -> None:
    total = np.array([3000, 500, 90, 5, 1])
    weight = np.array([10.0, 50.0, 60.0, 9.0, 1.0])
    found = allocation(n, total, weight)
    assert found.sum() == min(n, total.sum())
    assert (found <= total).all()
    if n >= 10:
        assert (found >= np.minimum(2, total)).all()
    if n == 137:  # Neyman's, but for the bounds
        share = 0.9 * weight / weight.sum() + 0.1 * total / total.sum()
        np.testing.assert_allclose(found[:3], (share * n)[:3], rtol=0.12)


def test_the_posterior_of_strata_is_that_of_the_model() -> None:
    """E[positives] by summing over the grid of tilts, map by map."""
    chances = np.array([[0.05, 0.2, 0.6, 0.9], [0.1, 0.3, 0.5, 0.8]])
    weights = np.array([[0.7, 0.3, 0, 0], [0, 0, 0.5, 0.5], [0, 0.2, 0.8, 0]])
    sizes, drawn = np.array([400, 50, 80]), np.array([10, 12, 0])
    found = np.array([3.0, 9.0, 0.0])
    wanted = np.zeros(3)
    for c in chances:
        total, means = 0.0, np.zeros(3)
        for a in TILTS[0]:
            for b in TILTS[1]:
                tilted = 1 / (1 + np.exp(-(a + b * np.log(c / (1 - c)))))
                mu = weights @ tilted
                level = np.exp(-(a**2) / 2 - (b - 1) ** 2 / (2 * 0.25))
                for k, m, x in zip(found, drawn, mu, strict=True):
                    level *= betabinom(m, 20 * x, 20 * (1 - x)).pmf(k)
                rate = (20 * mu + found) / (20 + drawn)
                total += level
                means += level * (found + (sizes - drawn) * rate)
        wanted += means / total / 2
    draws = np.concatenate(
        [stratum_positives(np.tile(chances, (40, 1)), weights, sizes, drawn, found)]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - wanted) < 4 * error).all()
    assert (draws >= found).all()
    assert (draws <= found + sizes - drawn).all()


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall"])
def test_estimates_hold_the_score(metric: str) -> None:
    made = am.monitor(NEW_P, 0.3, metric, reference=(Y[:1000], P[:1000]))
    actual = am.evaluate(NEW_Y, NEW_P >= 0.3, metric).score
    held, width = 0, []
    for seed in range(20):
        plan = made.to_label(100, random_state=seed)
        told = plan.estimate(NEW_Y[plan.rows])
        held += told.interval[0] <= actual <= told.interval[1]
        width.append(told.interval[1] - told.interval[0])
        assert told.interval[0] <= told.score <= told.interval[1]
    assert held >= 15
    few = made.to_label(40)
    told = few.estimate(NEW_Y[few.rows])
    assert told.interval[1] - told.interval[0] > np.mean(width)


def test_labels_that_changed_their_meaning_are_found() -> None:
    """The verdict is fine, and labels say otherwise."""
    wrong = NEW_Y & (np.random.default_rng(0).random(4000) < 0.15)
    assert MADE.periods[0].verdict == "fine"
    plan = MADE.to_label(200)
    told = plan.estimate(wrong[plan.rows])
    assert told.interval[1] < MADE.periods[0].low


def test_hits_and_positives_without_a_model_are_unbiased() -> None:
    found = [
        (told.hits, told.positives)
        for seed in range(40)
        for plan in [MADE.to_label(100, random_state=seed)]
        for told in [plan.estimate(NEW_Y[plan.rows])]
    ]
    actual = (NEW_Y & (NEW_P >= 0.3)).sum(), NEW_Y.sum()
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(40)
    assert (np.abs(mean - actual) < 4 * error).all()


def test_known_labels_are_not_asked_again() -> None:
    known = np.where(np.arange(4000) < 3950, NEW_Y.astype(float), np.nan)
    made = am.monitor(NEW_P, 0.3, reference=(Y[:1000], P[:1000]), known=known)
    plan = made.to_label(100)
    assert set(plan.rows) == set(range(3950, 4000))
    told = plan.estimate(NEW_Y[plan.rows])
    actual = am.evaluate(NEW_Y, NEW_P >= 0.3, "f1").score
    assert told.score == pytest.approx(actual)
    assert told.interval == pytest.approx((actual, actual))
    done = am.monitor(NEW_P, 0.3, reference=(Y[:1000], P[:1000]), known=NEW_Y)
    with pytest.raises(ValueError, match="all labels of this period are known"):
        done.to_label(10)


def test_a_loaded_state_needs_the_rows() -> None:
    loaded = am.Monitoring.from_dict(MADE.to_dict())
    with pytest.raises(ValueError, match="p must hold all rows of the period"):
        loaded.to_label(100)
    plan = loaded.to_label(100, p=NEW_P)
    np.testing.assert_array_equal(plan.rows, MADE.to_label(100).rows)
    with pytest.raises(ValueError, match="p must hold all rows of the period"):
        loaded.to_label(100, p=NEW_P[1:])
    with pytest.raises(ValueError, match="period is 3, but there are 1"):
        loaded.to_label(100, period=3)
    with pytest.raises(ValueError, match="segment must be one of by"):
        loaded.to_label(100, segment="x")


def test_labels_of_a_plan() -> None:
    plan = MADE.to_label(30)
    y: list[Any] = NEW_Y[plan.rows].astype(int).tolist()
    y[3] = None
    assert plan.estimate(y).n_labels == 29
    named = np.where(NEW_Y[plan.rows], "spam", "ham")
    assert plan.estimate(named, pos_label="spam").n_labels == 30
    with pytest.raises(ValueError, match="y has shape"):
        plan.estimate([1, 0])
    with pytest.raises(ValueError, match="y has no label"):
        plan.estimate([None] * 30)


def test_strata_of_sure_rows_have_counts_that_fit_their_labels():
    chances = np.array([[1e-16, 0.5, 1.0 - 1e-16]] * 3)
    sizes, drawn = np.array([100, 100, 100]), np.array([10, 10, 10])
    found = np.array([0.0, 5.0, 10.0])
    positives = stratum_positives(chances, np.eye(3), sizes, drawn, found)
    assert np.isfinite(positives).all()
    low, middle, high = positives.mean(axis=0)
    assert low == pytest.approx(0.0, abs=0.5)
    assert middle == pytest.approx(50.0, abs=5.0)
    assert high == pytest.approx(100.0, abs=0.5)


def test_labels_that_contradict_a_sure_map_are_believed():
    chances = np.array([[1.0 - 1e-16, 1e-16]] * 3)
    sizes, drawn = np.array([1000, 1000]), np.array([50, 50])
    found = np.array([25.0, 0.0])
    positives = stratum_positives(chances, np.eye(2), sizes, drawn, found)
    assert 500 < positives[:, 0].mean() < 900  # half of the labels, 20 rows of the map
