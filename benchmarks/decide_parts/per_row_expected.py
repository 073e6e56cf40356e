"""So many labels in every row: the expected score against all answers, and real labels.

Tiny matrices, 3 x 3 to 5 x 3: the best expected score of all answers by enumeration of
answers and outcomes. Models: macro scores on real labels less those of the most
probable labels and of the metric at expected counts, on held-out batches of scene.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
from harness import emit, emit_mean
from tabular import load, new_model, scene_labels

import argmetric as am
from argmetric._verbs.decide._row_search import Entries, RowSearch
from argmetric.metrics import get_metric

MATRICES = 500
SHAPES = ((3, 3), (3, 4), (4, 3), (5, 3))
METRICS: tuple[Any, ...] = (
    *("f1", "f2", "jaccard", am.Tversky(0.3, 0.7), "precision", "mcc", "gmean"),
    *("accuracy", "recall", "specificity", "youden", "balanced_accuracy"),
)
TRAINED, BATCHES, CALLS = 1_000, (10, 100, 300), 8


def run(*, quick: bool) -> None:
    for metric in METRICS:
        for zero in (0.0, 1.0):
            tiny(metric, zero, 10 if quick else MATRICES)
    for kind in ("forest", "logistic", "bayes", "neighbours"):
        models(kind, 3 if quick else CALLS)


def column_values(p: np.ndarray, metric: Any) -> np.ndarray:
    """Return the expected metric of all sets of rows of one column."""
    sets = np.array(list(product((0, 1), repeat=p.size)))
    probability, size = np.where(sets, p, 1 - p).prod(axis=1), sets.sum(axis=1)
    values = metric.value(sets @ sets.T, size[:, None], size, p.size)
    return np.asarray(values @ probability)


def tiny(metric: Any, zero: float, matrices: int) -> None:
    metric, rng = get_metric(metric).with_zero_division(zero), np.random.default_rng(1)
    gaps, above_top = [], []
    for case in range(matrices):
        (n, m), count = SHAPES[case % 4], 1 + case // 4 % 2
        P = rng.random((n, m)) ** rng.choice([0.5, 1.0, 2.0, 4.0])
        values = np.array([column_values(p, metric) for p in P.T])
        sets = combinations(range(m), count)
        rows = np.array([np.bincount(one, minlength=m) for one in sets])
        answers = rows[np.array(list(product(range(len(rows)), repeat=n)))]
        digits, every = 2 ** np.arange(n)[::-1], np.arange(m)
        best = values[every, (answers * digits[:, None]).sum(axis=1)].mean(axis=1).max()
        found = am.decide(P, metric, average="macro", per_row=count)
        score = values[every, digits @ found.labels].mean()
        gaps.append(best - score)
        above_top.append(score - values[every, digits @ largest(P, count)].mean())
    emit(
        "per_row",
        f"3 x 3 to 5 x 3 matrices with the best expected score of all answers, "
        f"{metric.name}, zero_division={zero:g}, {matrices} matrices",
        100 * float(np.mean(np.array(gaps) < 1e-11)),
        "%",
        (">=", 98.0),
        largest_loss=float(np.max(gaps)),
        least_above_most_probable=float(np.min(above_top)),
        mean_above_most_probable=float(np.mean(above_top)),
    )


def largest(P: np.ndarray, count: int) -> np.ndarray:
    labels = np.zeros(P.shape, dtype=np.int64)
    order = np.argsort(-P, axis=1, kind="stable")[:, :count]
    np.put_along_axis(labels, order, 1, axis=1)
    return labels


def at_expected_counts(P: np.ndarray, metric: Any, count: int) -> np.ndarray:
    (n, m), labels = P.shape, np.zeros(P.size, dtype=np.int64)
    rows = Entries(P.ravel(), np.arange(n + 1) * m, np.empty(0, dtype=np.int64))
    columns = P.T.ravel().copy(), np.arange(m + 1) * n
    search = RowSearch(rows, columns, metric, count)
    if metric.name == "recall":
        picked = search.largest(1.0 / np.maximum(search.t, 1e-300))
    else:
        picked = search.best_at_expected_counts()
    labels[rows.places(picked)] = 1
    return labels.reshape(n, m)


def scores_of(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return held-out probabilities and labels, one column a label."""
    from sklearn.multiclass import OneVsRestClassifier

    X, Y = load("scene").X, scene_labels()
    chosen = np.random.default_rng(0).permutation(len(X))[: TRAINED + 1_400]
    X, Y = X[chosen], Y[chosen]
    model = new_model(kind, **({"max_iter": 300} if kind == "logistic" else {}))
    fitted = OneVsRestClassifier(model).fit(X[:TRAINED], Y[:TRAINED])
    return np.clip(fitted.predict_proba(X[TRAINED:]), 0.0, 1.0), Y[TRAINED:]


def models(kind: str, calls: int) -> None:
    P, Y = scores_of(kind)
    rng, count = np.random.default_rng(5), 1
    for n in BATCHES:
        for metric in ("f1", "jaccard", "recall"):
            for zero in (0.0, 1.0):
                one = get_metric(metric).with_zero_division(zero)
                gains = []
                for _ in range(calls if n < 300 else max(calls // 4, 1)):
                    at = rng.permutation(len(P))[:n]
                    p, y = np.ascontiguousarray(P[at]), Y[at]
                    found = am.decide(p, one, average="macro", per_row=count)
                    answers = (
                        *(found.labels, largest(p, count)),
                        at_expected_counts(p, one, count),
                    )
                    real = [
                        one.value((x * y).sum(0), x.sum(0), y.sum(0), n).mean()
                        for x in answers
                    ]
                    simple = am.forecast(p, answers[1], one, average="macro").mean
                    gains.append(
                        (found.expected - simple, *np.subtract(real[0], real[1:]))
                    )
                expected, real_gains, less_counts = np.transpose(gains)
                emit_mean(
                    "per_row",
                    f"scene, {kind}, {n} rows, {metric}, zero_division={zero:g}: real "
                    "macro score less that of the most probable labels",
                    real_gains,
                    "",
                    expected_gain=float(expected.mean()),
                    less_expected_counts=float(less_counts.mean()),
                )
