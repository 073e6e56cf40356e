"""review_rows against enumeration of all truths, labels and choices of rows."""

import itertools
from functools import reduce
from typing import Any

import numpy as np
import pytest

import argmetric as am
from argmetric._ground.labels import predicted_labels

P = np.array([0.93, 0.8, 0.62, 0.5, 0.41, 0.3, 0.18, 0.07])
ODDS = np.log(P / (1 - P))
TRUTHS = np.array(list(itertools.product([0, 1], repeat=P.size)))
PROBABILITY = np.where(TRUTHS, P, 1 - P).prod(axis=1)


def pmf(p: Any) -> Any:
    """Return the distribution of the number of positives, one row after the other."""
    return reduce(lambda mass, one: np.convolve(mass, [1 - one, one]), p, np.ones(1))


def exact(metric: Any, p: Any, labels: Any, rows: Any, leave: bool = False) -> float:
    """Expected score, summed over hits, misses and reviewed positives."""
    called, rows = np.asarray(labels) == 1, np.array(rows, dtype=int)
    rest = np.isin(np.arange(p.size), rows, invert=True)
    above, below = rest & called, rest & ~called
    seen = [1.0] if leave else pmf(p[rows])
    masses = np.ix_(pmf(p[above]), pmf(p[below]), seen)
    hits, misses, more = np.indices([one.size for one in masses])
    n = float(rest.sum() if leave else p.size)
    k = above.sum() + more
    score = metric.value(hits + more, k, hits + misses + more, np.full(k.shape, n))
    return float((masses[0] * masses[1] * masses[2] * score).sum())


METRICS = (
    *("f1", "f2", "jaccard", "mcc", "accuracy", "balanced_accuracy", "gmean"),
    *("hmean", "qmean", "precision", "recall", "kappa"),
)


@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("rows", [(), (2,), (0, 5, 6)])
def test_the_twin_is_the_sum_over_all_truths(rows: Any, leave: bool) -> None:
    labels, rest = np.array([0, 1, 1, 0, 0, 1, 0, 0]), np.ones(P.size, dtype=bool)
    given = np.tile(labels, (len(TRUTHS), 1))
    if leave:
        rest[list(rows)] = False
    else:
        given[:, list(rows)] = TRUTHS[:, list(rows)]
    y, given = TRUTHS[:, rest], given[:, rest]
    counts = (y & given).sum(axis=1), given.sum(axis=1), y.sum(axis=1)
    for metric in map(am.get_metric, METRICS):
        wanted = PROBABILITY @ metric.value(*counts, float(rest.sum()))
        assert exact(metric, P, labels, rows, leave) == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("leave", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_rows_and_labels_are_the_best_of_all(metric: str, leave: bool) -> None:
    """Labels are those that were passed, or the best ones beside a reviewer's."""
    one, every = am.get_metric(metric), list(itertools.product([0, 1], repeat=6))
    for given in ([1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 1, 0, 0], None):
        p = P if given else P[:6]
        found = am.review_rows(p, given, metric, 2, leave_out=leave)
        best = max(
            exact(one, p, labels, rows, leave)
            for labels in ([given] if given else every)
            for rows in itertools.combinations(range(p.size), 2)
        )
        own = exact(one, p, found.labels, found.rows, leave)
        assert own == pytest.approx(best, abs=1e-12)
        assert found.mean == pytest.approx(best, abs=1e-12)
        assert found.worth.sum() == pytest.approx(found.mean - found.before, abs=1e-12)
        if given:
            assert found.before == pytest.approx(exact(one, p, given, ()), abs=1e-12)
            np.testing.assert_array_equal(found.labels, given)


KINDS = ((0.1, 8.0), (0.4, 2.0), (0.5, 1.5), (4.0, 0.5), (0.02, 0.1))


@pytest.mark.parametrize("n", [24, 25, 48, 49, 60, 120, 300])  # around both switches
@pytest.mark.parametrize("kind", KINDS)
def test_simple_choices_are_not_better(n: int, kind: tuple[float, float]) -> None:
    """Neither rows near the cut nor near one half gain more.

    A metric jumps where there is no positive, which no normal count has.
    """
    p = np.random.default_rng(n).beta(*kind, n)
    metrics = ("f1", "f2", "mcc", "balanced_accuracy", "gmean", "precision")
    for metric, leave in itertools.product(metrics, (False, True)):
        one = am.get_metric(metric)
        labels = am.decide(p, metric).labels
        for count in (max(1, n // 20), n // 4) if n < 300 else (n // 20,):
            found = am.review_rows(p, None, metric, count, leave_out=leave)
            own = exact(one, p, found.labels, found.rows, leave)
            assert found.mean == pytest.approx(own, abs=1e-5)
            assert leave or own >= exact(one, p, labels, []) - 1e-9
            assert found.before == am.forecast(p, labels, metric).mean
            for middle in (p[labels == 1].min(initial=1.0), 0.5):
                rows = np.argsort(np.abs(p - middle), kind="stable")[:count]
                assert own >= exact(one, p, labels, rows, leave) - 1e-9


def test_scores_are_those_of_forecast() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(-1.0, 1.5, 900)
    y, p = rng.random(900) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-0.7 * x))
    calibrator, new = am.calibrate(y[:300], p[:300]), p[300:]
    labels = new >= 0.4
    for reference in (None, calibrator):
        kept = am.review_rows(new, labels, "f1", 30, reference=reference, coverage=0.8)
        now = am.forecast(new, labels, "f1", reference=reference)
        assert kept.before == now.mean
        left = am.review_rows(
            new, labels, "f1", 30, reference=reference, leave_out=True
        )
        rest = np.setdiff1d(np.arange(new.size), left.rows)
        after = am.forecast(new[rest], labels[rest], "f1", reference=reference)
        assert (left.mean, left.interval) == (after.mean, after.interval)
        assert kept.coverage == 0.8
        assert kept.interval[1] - kept.interval[0] < 0.2
    most = am.review_rows(new, None, "mcc", 600, reference=calibrator)
    assert most.mean == 1.0
    one, same, other = (
        am.review_rows(new, labels, "f1", 30, reference=calibrator, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert one.mean == same.mean == other.mean
    assert one.interval == same.interval != other.interval
    assert one.interval == pytest.approx(other.interval, abs=0.01)


ODD_ROWS: Any = (
    *([0.3] * 5, [0.2] * 60, [0.4, 0.6], [1.0] * 30 + [0.5] + [0.0] * 30),
    *([0.0, 1.0, 1.0, 0.0, 0.5], [1e-300, 1 - 1e-16, 0.5, 5e-324, 0.2]),
)


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean", "precision", "accuracy"])
@pytest.mark.parametrize("p", ODD_ROWS)
def test_odd_rows_are_reviewed(metric: str, p: list[float]) -> None:
    found = am.review_rows(p, None, metric, 1)
    assert found.rows.size == 1
    assert np.isfinite([found.mean, found.before, *found.interval, *found.worth]).all()
    assert found.mean >= found.before - 1e-9


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
    assert len(set(found.rows) & set(wanted)) >= 196
    assert found.mean - found.before == pytest.approx(found.worth.sum())
    assert (np.diff(found.worth) <= 1e-15).all()


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


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean", "sec"])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_no_review_lowers_the_score_by_noise(metric: str, count: int) -> None:
    """With a reference, before and after have the same draws."""
    rng = np.random.default_rng(count)
    x = rng.normal(-1.0, 1.5, 3300)
    y, p = rng.random(3300) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-0.7 * x))
    found = am.review_rows(p[300:], None, metric, count, reference=(y[:300], p[:300]))
    assert found.worth.min() >= 0.0
    assert found.worth.sum() > 0.0
    greater = am.get_metric(metric).greater_is_better
    rise = found.mean - found.before
    assert found.worth.sum() == pytest.approx(rise if greater else -rise)
    (line,) = found.plot().get_lines()
    assert line.get_ydata()[-1] == pytest.approx(found.mean)
    assert found.interval[0] < found.mean < found.interval[1]


def test_labels_of_rules_and_decisions_are_read_as_elsewhere() -> None:
    found = am.review_rows(ODDS, -1.0, "f1", 2, logits=True)
    np.testing.assert_array_equal(found.labels, ODDS >= -1.0)
    for labels in (am.decide(P, "mcc"), am.tune(P > 0.4, P, "mcc")):
        one = am.review_rows(P, labels, budget=2)
        same = am.review_rows(ODDS, one.labels, "mcc", 2, logits=True)
        assert one.metric.name == "mcc"
        assert (
            one.labels.tolist() == np.asarray(predicted_labels(labels, P)[0]).tolist()
        )
        np.testing.assert_array_equal(one.rows, same.rows)
    assert am.review_rows(P, P > 0.4, budget=2).metric.name == "f1"


def test_what_a_review_shows() -> None:
    found = am.review_rows(P, [1, 1, 1, 0, 0, 0, 0, 0], "f1", 2)
    text = repr(found).splitlines()
    assert text[0].startswith("Review: correct 2 rows, then F1 is 0.")
    assert "  rows to review   2 of 8 (25.0%)" in text
    frame = found.to_frame("polars")
    assert frame.columns == ["row", "label", "worth"]
    assert frame["row"].to_list() == found.rows.tolist()
    assert found.plot().get_xlabel() == "Rows reviewed"
    one, whole = (am.review_rows(P, None, "f1", n) for n in (1, 100))
    assert repr(one).startswith("Review: correct 1 row, then")
    assert whole.rows.size == P.size
    assert whole.interval[1] == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": "5"}, """a share from "0%" to "100%" of the rows, not '5'"""),
        ({"budget": "200%"}, "budget must be a whole number ≥ 0, or a share from"),
        ({"budget": "0%"}, "budget must be a whole number ≥ 1, not '0%'"),
        ({"budget": 0.05}, "budget must be a whole number ≥ 1, not 0.05"),
        ({"budget": 0}, "budget must be a whole number ≥ 1"),
        ({"budget": 8, "leave_out": True}, "budget=8 leaves none of the 8 rows"),
        ({"coverage": 1.5}, "coverage must lie"),
        ({"labels": [1, 0]}, "labels has shape"),
        ({"labels": list("abababab")}, "pass labels == 'b'"),
        ({"p": [[0.5, 0.4], [0.2, 0.6]]}, "p must be one column, not a matrix"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    usual = {"p": P, "labels": P > 0.4, "metric": "f1", "budget": 2}
    with pytest.raises((ValueError, TypeError), match=message):
        am.review_rows(**(usual | given))
