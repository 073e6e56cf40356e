"""PPI++ for scores of systems, and draws that are moved onto it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import argmetric as am
from argmetric._compare import design
from argmetric._compare.design import (
    MOST,
    LabelledRows,
    label_weights,
    moved_onto_labels,
    ppi_mean,
    row_influence,
)

RIGHT = np.array([[1.0, 0.0], [0.0, 1.0]])  # of accuracy, by prediction and label


def rows_of(right: Any, judged: Any, rows: int = 1000, mean: float = 0.6) -> Any:
    """Every label has a bin of its own, all other rows are in one; predictions are 1.

    With them the influence of rows on the accuracy.
    """
    right, n = np.array(right, dtype=float), len(right)
    size = np.append(np.ones(n, dtype=int), rows - n)
    judged = np.append(np.array(judged, dtype=float), mean)
    bins = judged, np.full(n + 1, 0.7), size
    labelled = LabelledRows(np.arange(n), right, np.full(n, 1.0 / n), *bins)
    return labelled, np.tile(RIGHT[1], (n + 1, 1))


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_that_of_the_formula(seed: int) -> None:
    """With equal scores, which mean nothing, the labels alone."""
    rng = np.random.default_rng(seed)
    f, g, n, rows = rng.random(30) < 0.8, rng.random(30), 30, 500
    g = g if seed else np.full(30, 0.6)
    every = np.append(g, np.full(470, 0.6))
    power = np.cov(f, g)[0, 1] / ((1 + n / rows) * every.var())
    power = min(max(power, 0.0), 1.0)
    rest = power * 0.6 + (f - power * g).mean()
    mean, variance, expected = ppi_mean(*rows_of(f, g, rows))
    assert mean == pytest.approx((f.sum() + (rows - n) * rest) / rows, abs=1e-12)
    assert variance == pytest.approx((f - power * g).var(ddof=1) / n, rel=1e-12)
    assert expected == pytest.approx(every.mean())


def test_labels_of_uneven_strata_are_weighed() -> None:
    total, stratum = np.array([900, 100]), np.repeat([0, 1], [9, 1])
    assert label_weights(total, np.array([9, 1]), stratum) == pytest.approx(0.1)
    half = label_weights(total, np.array([20, 20]), np.repeat([0, 1], 20))
    assert half == pytest.approx(np.repeat([0.9 / 20, 0.1 / 20], 20))
    # Every row is labelled with the same probability by weight: unbiased over strata
    rows, influence = rows_of(np.repeat([1, 0], 20), np.full(40, 0.5), mean=0.5)
    mean = ppi_mean(rows._replace(weight=half), influence)[0]
    assert mean == pytest.approx((20 + 960 * 0.9) / 1000)


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc", "jaccard", "gmean"])
def test_the_influence_of_rows_is_the_gradient_of_the_score(metric: str) -> None:
    value, cells = am.get_metric(metric).value, np.array([[135.0, 15.0], [20.0, 30.0]])
    influence = row_influence(am.get_metric(metric), 30.0, 50.0, 45.0, 200.0)
    rng = np.random.default_rng(0)
    for size in (0.01, 200.0 if metric == "accuracy" else 0.01):
        moved = cells + size * rng.random((2, 2))
        moved *= cells.sum() / moved.sum()
        counts = (30.0, moved[1, 1]), (50.0, moved[1].sum()), (45.0, moved[:, 1].sum())
        gap = np.diff(value(*map(np.array, counts), 200.0))[0]
        assert (moved * influence).sum() / 200 == pytest.approx(gap, rel=1e-3, abs=1e-8)


DRAWS = np.random.default_rng(0).normal(0.7, 0.03, 4000)


def test_draws_move_where_labels_contradict_the_judge() -> None:
    right = np.arange(50) < 45
    rows, influence = rows_of(right, np.full(50, 0.6))
    influence = influence - 0.7  # at a posterior mean of 0.7
    agrees, _ = rows_of(right, np.full(50, 0.89), mean=0.89)
    same = moved_onto_labels(DRAWS, agrees, influence, [0.0, 1.0])
    np.testing.assert_array_equal(same, DRAWS)
    error, variance, _ = ppi_mean(rows, influence)
    moved = MOST * (1 - max(variance, 0.7 * 0.3 / 50) / (error + 0.1) ** 2)
    found = moved_onto_labels(DRAWS, rows, influence, [0.0, 1.0])
    assert found.mean() == pytest.approx(DRAWS.mean() + moved * error, abs=2e-4)
    low, high = np.quantile(DRAWS, (0.05, 0.95))
    ends = np.quantile(found, (0.05, 0.95))
    np.testing.assert_allclose(ends, (low, high + error), atol=1e-9)
    # The mirror image: a system that is wrong as often
    wrong = rows._replace(y=1 - rows.y, judged=1 - rows.judged, rate=1 - rows.rate)
    other = moved_onto_labels(1 - DRAWS, wrong, influence[:, ::-1] * -1, [0.0, 1.0])
    np.testing.assert_allclose(np.sort(1 - other), np.sort(found), atol=1e-12)


METRICS = ("f1", "accuracy", "mcc", "jaccard", "precision", "recall")


ODD = st.sampled_from([0.0, 0.3, 0.5, 1.0, 1e-300, 1 - 1e-16])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), ODD), min_size=1, max_size=8),
    st.sampled_from(METRICS),
    st.integers(1, 8),
)
def test_odd_labels(rows: list[Any], metric: str, known: int) -> None:
    """Scores stay within what the labels allow, by enumeration of its ends."""
    (called, y, p), n = np.array(rows).T, len(rows)
    labels, decisions = np.where(np.arange(n) < known, y, np.nan), [called, 1 - called]
    how: Any = {"zero_division": 0.0}
    found = am.compare(p, [*decisions, called], metric, known=labels, **how)
    free = max(n - known, 0)
    for name, one in zip("AB", decisions, strict=True):
        every = [
            am.evaluate(np.append(y[: n - free], [*rest]), one, metric, **how).score
            for rest in np.ndindex(*[2] * free)
        ]
        mean, (low, high) = found.scores()[name]
        for some in (mean, low, high):
            assert min(every) - 1e-9 <= some <= max(every) + 1e-9
    assert found.difference("A", "C").verdict == "same score"


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_a_judge_that_labels_contradict_does_not_hold_a_score_back(
    metric: str, monkeypatch: Any
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(-1.0, 2.0, 1500)
    y = rng.random(1500) < 1 / (1 + np.exp(-x))
    d = np.where(rng.random(1500) < 0.02, ~y, y)
    judge = 1 / (1 + np.exp(-0.6 * x - rng.normal(0.0, 1.5, 1500)))
    rows = rng.permutation(np.flatnonzero(d == y))[:25]  # all of them right
    found = am.compare(judge, [d], metric).add(rows, y[rows])
    cut = am.compare(judge, 0.5, metric).add(rows, y[rows]).mean
    mean, (low, high) = found.mean, found.interval
    monkeypatch.setattr(design, "MOST", 0.0)  # the posterior alone
    alone = am.compare(judge, [d], metric).add(rows, y[rows])
    assert alone.mean + 0.001 < mean <= 1.0
    assert low == pytest.approx(alone.interval[0], abs=1e-9)
    assert alone.interval[1] <= high <= 1.0
    # Labels that cut the scores have the posterior alone
    assert am.compare(judge, 0.5, metric).add(rows, y[rows]).mean == cut
