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
    """What 12 plans with labels of 100 rows tell."""
    made = am.monitor(NEW_P, 0.3, metric, reference=(Y[:1000], P[:1000]))
    plans = [made.to_label(100, random_state=seed) for seed in range(12)]
    return [plan.estimate(NEW_Y[plan.rows]) for plan in plans]


@pytest.mark.parametrize(
    "metric",
    ["f1", *(pytest.param(one, marks=pytest.mark.slow) for one in ("mcc", "recall"))],
)
def test_estimates_hold_the_score(metric: str) -> None:
    actual = am.evaluate(NEW_Y, NEW_P >= 0.3, metric).score
    intervals = [told.interval for told in estimates(metric)]
    assert sum(low <= actual <= high for low, high in intervals) >= 9
    for told in estimates(metric):
        assert told.interval[0] <= told.mean <= told.interval[1]
    made = am.monitor(NEW_P, 0.3, metric, reference=(Y[:1000], P[:1000]))
    few = made.to_label(40)
    told = few.estimate(NEW_Y[few.rows])
    assert np.ptp(told.interval) > np.mean(np.ptp(intervals, axis=1))


@pytest.mark.parametrize(
    ("case", "gain"),
    [
        ("prevalence 0.1 for 0.25", 0.6),
        pytest.param("covariate shift", 0.55, marks=pytest.mark.slow),
        pytest.param("labels changed", 0.4, marks=pytest.mark.slow),
    ],
)
def test_fifty_labels_get_nearer(case: str, gain: float) -> None:
    """The score of a period, with labels and without: their mean squared errors.

    Scores of 300 labelled rows are not calibrated.
    """
    before, after, held = [], [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        prevalence = np.where(case.startswith("prevalence"), 0.1, 0.25)
        y = rng.random(1800) < np.repeat([0.25, prevalence], [300, 1500])
        x = rng.normal(np.where(y, 1.0, -1.0), 1.0)
        if case == "covariate shift":
            x[300:] = rng.normal(0.3, 1.2, 1500)
            y[300:] = rng.random(1500) < 1 / (1 + np.exp(np.log(3) - 2 * x[300:]))
        if case == "labels changed":
            y[300:] &= (x[300:] <= 0.2) | (rng.random(1500) < 0.6)
        p = 1 / (1 + np.exp(-1.4 * x - 0.2))
        made = am.monitor(p[300:], 0.5, reference=(y[:300], p[:300]))
        plan = made.to_label(50, random_state=seed)
        found = plan.estimate(y[300:][plan.rows])
        actual = am.evaluate(y[300:], p[300:] >= 0.5).score
        before.append(made.periods[0].mean - actual)
        after.append(found.mean - actual)
        held += found.interval[0] <= actual <= found.interval[1]
    assert np.mean(np.square(after)) < gain * np.mean(np.square(before))
    assert held >= (6 if case == "labels changed" else 10)


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
