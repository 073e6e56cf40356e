"""review_rows against enumeration of all truths, labels and choices of rows."""

import itertools
from typing import Any

import numpy as np
import pytest

import argmetric as am

P = np.array([0.93, 0.8, 0.62, 0.5, 0.41, 0.3, 0.18, 0.07])
TRUTHS = np.array(list(itertools.product([0, 1], repeat=P.size)))
CHANCE = np.where(TRUTHS, P, 1 - P).prod(axis=1)


def expected(metric: Any, labels: Any, rows: Any, leave: bool = False) -> float:
    """Expected score, summed over all truths, once a person looked at some rows."""
    handed = np.tile(labels, (len(TRUTHS), 1))
    rest = np.ones(P.size, dtype=bool)
    if leave:
        rest[list(rows)] = False
    else:
        handed[:, list(rows)] = TRUTHS[:, list(rows)]
    y, handed = TRUTHS[:, rest], handed[:, rest]
    tp, k = (y & handed).sum(axis=1), handed.sum(axis=1)
    return float(CHANCE @ metric.value(tp, k, y.sum(axis=1), float(rest.sum())))


@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("metric", ["f1", "mcc", "jaccard", "accuracy"])
def test_rows_are_nearly_the_best_of_all(metric: str, leave: bool) -> None:
    one, budget = am.get_metric(metric), 2
    for labels in ([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]):
        found = am.review_rows(P, labels, metric, budget, leave_out=leave)
        rows = itertools.combinations(range(P.size), budget)
        values = [expected(one, labels, some, leave) for some in rows]
        own = expected(one, labels, found.rows, leave)
        assert own >= max(values) - 0.02
        assert own > np.mean(values)
        assert found.mean == pytest.approx(own, abs=0.02)
        assert found.before == pytest.approx(expected(one, labels, ()), abs=0.02)
        np.testing.assert_array_equal(found.labels, labels)


@pytest.mark.parametrize("metric", ["f1", "jaccard"])
def test_labels_beside_a_person_are_nearly_the_best(metric: str) -> None:
    one = am.get_metric(metric)
    found = am.review_rows(P, None, metric, 2)
    best = max(
        expected(one, np.arange(P.size) < k, rows)
        for k in range(P.size + 1)
        for rows in itertools.combinations(range(P.size), 2)
    )
    assert expected(one, found.labels, found.rows) >= best - 0.02


def test_worth_is_that_of_the_formula_for_f1() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 2.0, 5000)
    found = am.review_rows(p, 0.4, "f1", "4%")
    assert found.rows.size == 200
    labels = (p >= 0.4).astype(float)
    labels[found.rows] = p[found.rows]
    rest = np.ones(p.size, dtype=bool)
    rest[found.rows] = False
    f = 2 * (p @ (rest & (p >= 0.4)) + p[found.rows].sum()) / (labels.sum() + p.sum())
    worth = np.where(p >= 0.4, f * (1 - p), p * (2 - f))
    wanted = np.argsort(-worth, kind="stable")[:200]
    assert len(set(found.rows) & set(wanted)) >= 198
    ratio = found.worth / worth[found.rows]
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.01)
    assert found.mean - found.before == pytest.approx(found.worth.sum(), rel=0.15)


def test_the_score_afterwards_comes_true() -> None:
    """With a reference, on generated data: intervals hold, and looks pay."""
    held, over = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.normal(-1.5, 1.6, 3000)
        y, p = rng.random(3000) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-0.6 * x))
        reference, new = (y[:600], p[:600]), slice(600, None)
        found = am.review_rows(p[new], None, "f1", "5%", reference=reference)
        labels = found.labels.copy()
        labels[found.rows] = y[new][found.rows]
        score = am.evaluate(y[new], labels).score
        held += found.interval[0] <= score <= found.interval[1]
        random = found.labels.copy()
        some = rng.choice(random.size, found.rows.size, replace=False)
        random[some] = y[new][some]
        over.append(score - am.evaluate(y[new], random).score)
    assert held >= 9
    assert np.mean(over) > 0.02


def test_what_a_review_shows() -> None:
    found = am.review_rows(P, [1, 1, 1, 0, 0, 0, 0, 0], "f1", 2)
    text = repr(found).splitlines()
    assert text[0].startswith("Review: look at 2 rows, then F1 is 0.")
    assert "  rows to look at  2 of 8 (25.0%)" in text
    frame = found.to_frame("polars")
    assert frame.columns == ["row", "label", "worth"]
    assert frame["row"].to_list() == found.rows.tolist()
    assert found.plot().get_xlabel() == "Rows that were looked at"
    rule = am.tune([0, 0, 1, 1, 0, 1], [0.1, 0.2, 0.6, 0.7, 0.4, 0.5], "f1")
    same = am.review_rows(P, rule, "f1", 2)
    np.testing.assert_array_equal(same.labels, rule.applies(P))
    odds = am.review_rows(np.log(P / (1 - P)), rule.applies(P), "f1", 2, logits=True)
    np.testing.assert_array_equal(odds.rows, same.rows)
    whole = am.review_rows(P, None, "f1", 100)
    assert whole.rows.size == P.size
    assert whole.interval[1] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": "5"}, "budget must be a number of rows or a share such as '5%'"),
        ({"budget": "200%"}, "budget must be a number of rows or a share"),
        ({"budget": 0.05}, "budget must be a whole number ≥ 1, not 0.05"),
        ({"budget": 0}, "budget must be a whole number ≥ 1"),
        ({"labels": [1, 0]}, "labels has shape"),
        ({"p": np.ones((2, 3)) / 2}, "matrix"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    usual = {"p": P, "labels": P > 0.4, "metric": "f1", "budget": 2}
    with pytest.raises(ValueError, match=message):
        am.review_rows(**(usual | given))
