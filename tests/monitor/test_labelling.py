"""Which rows to label, and the estimate from their labels."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import argmetric as am

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


@cache
def estimates(metric: str) -> list[Any]:
    """What 20 plans with labels of 100 rows tell."""
    made = am.monitor(NEW_P, 0.3, metric, reference=(Y[:1000], P[:1000]))
    plans = [made.to_label(100, random_state=seed) for seed in range(20)]
    return [plan.estimate(NEW_Y[plan.rows]) for plan in plans]


@pytest.mark.parametrize(
    "metric", ["f1", "mcc", pytest.param("recall", marks=pytest.mark.slow)]
)
def test_estimates_hold_the_score(metric: str) -> None:
    actual = am.evaluate(NEW_Y, NEW_P >= 0.3, metric).score
    intervals = [told.interval for told in estimates(metric)]
    assert sum(low <= actual <= high for low, high in intervals) >= 15
    for told in estimates(metric):
        assert told.interval[0] <= told.mean <= told.interval[1]
    made = am.monitor(NEW_P, 0.3, metric, reference=(Y[:1000], P[:1000]))
    few = made.to_label(40)
    told = few.estimate(NEW_Y[few.rows])
    assert np.ptp(told.interval) > np.mean(np.ptp(intervals, axis=1))


@pytest.mark.parametrize(("slope", "level"), [(0.6, 0.3), (1.0, 0.8)])
def test_fifty_labels_get_nearer_where_scores_changed(
    slope: float, level: float
) -> None:
    """The score of a period whose calibration moved, with labels and without."""
    before, after = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(-2.0, 1.8, 4000)
        p = 1 / (1 + np.exp(-x))
        old = rng.random(1000) < p[:1000]
        y = rng.random(3000) < 1 / (1 + np.exp(-slope * x[1000:] - level))
        made = am.monitor(p[1000:], 0.35, reference=(old, p[:1000]))
        plan = made.to_label(50, random_state=seed)
        actual = am.evaluate(y, p[1000:] >= 0.35).score
        before.append(made.periods[0].mean - actual)
        after.append(plan.estimate(y[plan.rows]).mean - actual)
    assert np.mean(np.square(after)) < 0.8 * np.mean(np.square(before))


def test_labels_that_changed_their_meaning_are_found() -> None:
    """The verdict is fine, and labels say otherwise."""
    wrong = NEW_Y & (np.random.default_rng(0).random(4000) < 0.15)
    assert MADE.periods[0].verdict == "no shift"
    plan = MADE.to_label(200)
    told = plan.estimate(wrong[plan.rows])
    assert told.interval[1] < MADE.periods[0].interval.low


def test_hits_and_positives_without_a_model_are_unbiased() -> None:
    found = [(told.hits, told.positives) for told in estimates("f1")]
    actual = (NEW_Y & (NEW_P >= 0.3)).sum(), NEW_Y.sum()
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(mean - actual) < 4 * error).all()


def test_known_labels_are_not_asked_again() -> None:
    known = np.where(np.arange(4000) < 3950, NEW_Y.astype(float), np.nan)
    made = am.monitor(NEW_P, 0.3, reference=(Y[:1000], P[:1000]), known=known)
    plan = made.to_label(100)
    assert set(plan.rows) == set(range(3950, 4000))
    told = plan.estimate(NEW_Y[plan.rows])
    actual = am.evaluate(NEW_Y, NEW_P >= 0.3, "f1").score
    assert told.mean == pytest.approx(actual)
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
