"""Labels for a function of the table of counts that a user wrote.

The function is taken of the expected table M, M_ab = Σ p_ia over the rows given b. Its
slopes at M say what moving a row is worth to first order; of the rows that gain, as
many move as the function itself finds best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric.metrics import ClassFunction

if TYPE_CHECKING:
    from argmetric._classes._climb import Rows

ROUNDS = 50
STEP = 1e-4  # of a slope, as a share of the rows


def expected_table(p: Floats, labels: Integers) -> Floats:
    """Expected counts by true class (rows) and predicted class (columns)."""
    chosen = np.zeros_like(p)
    chosen[np.arange(labels.size), labels] = 1.0
    return np.asarray(p.T @ chosen)


def decide_own(rows: Rows, metric: ClassFunction) -> Integers:
    labels = np.empty(rows.p.shape[0], dtype=np.int64)
    for first, last in zip(rows.starts[:-1], rows.starts[1:], strict=True):
        labels[first:last] = _decide_one(rows.p[first:last], metric)
    return labels


def _decide_one(p: Floats, metric: ClassFunction) -> Integers:
    labels = p.argmax(axis=1)
    table = expected_table(p, labels)
    value = metric.defined(table)
    for _ in range(ROUNDS):
        gains = p @ slopes_of(metric, table)
        rows = np.arange(labels.size)
        target = gains.argmax(axis=1)
        rise = gains[rows, target] - gains[rows, labels]
        movers = np.flatnonzero((target != labels) & (rise > 0.0))
        movers = movers[np.argsort(-rise[movers], kind="stable")]
        best, tried = None, movers.size
        while tried:
            moved = labels.copy()
            moved[movers[:tried]] = target[movers[:tried]]
            found = expected_table(p, moved)
            score = float(metric.score(found))
            if score > value + 1e-12:
                best, table, value = moved, found, score
            elif best is not None:
                break
            tried //= 2
        if best is None:
            break
        labels = best
    return np.asarray(labels, dtype=np.int64)


def slopes_of(metric: ClassFunction, table: Floats) -> Floats:
    """Central differences of the metric in every cell of the table."""
    step = STEP * max(float(table.sum()), 1.0)
    count = table.size
    moves = np.zeros((count, count))
    np.fill_diagonal(moves, step)
    moves = moves.reshape(count, *table.shape)
    above = metric.score(table + moves)
    below = metric.score(np.maximum(table - moves, 0.0))
    width = step + np.minimum(step, table.ravel())
    return np.nan_to_num((above - below) / width).reshape(table.shape)
