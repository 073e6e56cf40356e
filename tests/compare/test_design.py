"""PPI++ for the accuracy of one system, and draws that are moved onto it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
from argmetric._compare.design import (
    DOUBT,
    MOST,
    LabelledRows,
    label_weights,
    moved_onto_labels,
    ppi_accuracy,
)


def rows_of(right: Any, judged: Any, rows: int = 1000, mean: float = 0.6) -> Any:
    """Every label has a bin of its own, all other rows are in one."""
    right, n = np.array(right, dtype=bool), len(right)
    size = np.append(np.ones(n, dtype=int), rows - n)
    judged = np.append(np.array(judged, dtype=float), mean)
    return LabelledRows(right, np.arange(n), np.full(n, 1.0 / n), judged, size)


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, g, n, rows = rng.random(30) < 0.8, rng.random(30), 30, 500
    every = np.append(g, np.full(470, 0.6))
    power = np.cov(f, g)[0, 1] / ((1 + n / rows) * every.var())
    power = min(max(power, 0.0), 1.0)
    rest = power * 0.6 + (f - power * g).mean()
    mean, variance = ppi_accuracy(rows_of(f, g, rows))
    assert mean == pytest.approx((f.sum() + (rows - n) * rest) / rows, abs=1e-12)
    assert variance == pytest.approx((f - power * g).var(ddof=1) / n, rel=1e-12)


def test_a_judge_without_meaning_leaves_the_labels() -> None:
    """Its scores are equal: the estimate is the part of the labels that are right."""
    f = np.arange(20) < 13
    mean, variance = ppi_accuracy(rows_of(f, np.full(20, 0.3), mean=0.3))
    assert mean == pytest.approx(13 / 20)
    assert variance == pytest.approx(f.var(ddof=1) / 20)


def test_labels_of_uneven_strata_are_weighed() -> None:
    total, stratum = np.array([900, 100]), np.repeat([0, 1], [9, 1])
    assert label_weights(total, np.array([9, 1]), stratum) == pytest.approx(0.1)
    half = label_weights(total, np.array([20, 20]), np.repeat([0, 1], 20))
    assert half == pytest.approx(np.repeat([0.9 / 20, 0.1 / 20], 20))
    # Every row is labelled with the same probability by weight: unbiased over strata
    right = np.repeat([True, False], 20)
    rows = rows_of(right, np.full(40, 0.5), mean=0.5)._replace(weight=half)
    assert ppi_accuracy(rows)[0] == pytest.approx((20 + 960 * 0.9) / 1000)


DRAWS = np.random.default_rng(0).normal(0.7, 0.03, 4000)


def test_draws_move_where_labels_contradict_the_judge() -> None:
    right = np.arange(50) < 45
    rows = rows_of(right, np.full(50, 0.6))
    mean, variance = ppi_accuracy(rows)
    agrees = rows_of(right, np.full(50, 0.89), mean=0.89)
    np.testing.assert_array_equal(moved_onto_labels(DRAWS, agrees), DRAWS)
    centre = DRAWS.mean()
    s2 = (50 * variance + 5 * centre * (1 - centre) / 50) / 55
    moved = MOST * (1 - DOUBT * s2 / (mean - 0.6) ** 2)
    found = moved_onto_labels(DRAWS, rows)
    wanted = centre + moved * (mean - centre)
    assert found.mean() == pytest.approx(wanted, abs=2e-4)
    low, high = np.quantile(DRAWS, (0.05, 0.95))
    ends = np.quantile(found, (0.05, 0.95))
    np.testing.assert_allclose(ends, (low, high + mean - centre), atol=1e-9)
    # The mirror image: a system that is wrong as often
    rows = rows._replace(right=~right, judged=1 - rows.judged)
    other = moved_onto_labels(1 - DRAWS, rows)
    np.testing.assert_allclose(np.sort(1 - other), np.sort(found), atol=1e-12)


@given(
    st.lists(st.booleans(), min_size=2, max_size=9),
    st.sampled_from([0.0, 0.5, 1.0, 1e-300]),
    st.integers(1, 40),
)
def test_odd_labels(right: list[bool], judged: float, more: int) -> None:
    low, n = sum(right), len(right)
    rows = rows_of(right, np.full(n, judged), n + more, judged)
    draws = np.linspace(low, low + more, 50) / (n + more)
    found = moved_onto_labels(draws, rows) * (n + more)
    assert ((low - 1e-9 <= found) & (found <= low + more + 1e-9)).all()


def test_a_judge_that_labels_contradict_does_not_hold_an_accuracy_back() -> None:
    """The same metric by another name has the posterior alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(-1.0, 2.0, 1500)
    y = rng.random(1500) < 1 / (1 + np.exp(-x))
    d = np.where(rng.random(1500) < 0.02, ~y, y)
    judge = 1 / (1 + np.exp(-0.6 * x - rng.normal(0.0, 1.5, 1500)))
    plain = am.CustomMetric(lambda tp, k, t, n: (n - k - t + 2 * tp) / n, "right")
    rows = rng.permutation(np.flatnonzero(d == y))[:25]  # all of them right
    alone, found = (
        am.compare(judge, [d], one).add(rows, y[rows]) for one in (plain, "accuracy")
    )
    assert alone.mean + 0.003 < found.mean <= 1.0
    assert found.interval[0] == pytest.approx(alone.interval[0], abs=1e-9)
    assert alone.interval[1] <= found.interval[1] <= 1.0
    # Two systems, groups and labels that cut the scores have the posterior alone
    both = [
        am.compare(judge, [d, ~d], x).add(rows, y[rows]) for x in (plain, "accuracy")
    ]
    assert both[0].mean == pytest.approx(both[1].mean)
    cut = [am.compare(judge, 0.5, x).add(rows, y[rows]) for x in (plain, "accuracy")]
    assert cut[0].mean == cut[1].mean
