"""So many labels in every row of a small matrix, for the best expected mean of columns.

The ascent of `kernels.few_rows` starts at several answers and keeps the best: the
largest p, the largest p over the column's sum, all rows in the same columns, and the
answers that the caller has. Where an empty column scores, 1, 2, 4, … columns are left
empty, those first that gain most. Tiny matrices are begun again with other labels in
some rows.
"""

from __future__ import annotations

import numpy as np

from argmetric._expected import refuse_infinite
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

PAIRED_STEPS = 40_000  # rows times squared columns whose pairs of columns are shared
RESTARTED_CELLS, RESTARTS = 400, 8
MOVED = (0.1, 0.3, 0.6)  # parts of the rows that get other labels, by turns
ROUNDING = 1e-13


def largest_of_rows(keys: Floats, allowed: Booleans, count: int) -> Booleans:
    """Mark the `count` largest allowed keys of every row, of equal ones the first."""
    marked = np.zeros(keys.shape, dtype=bool)
    order = np.argsort(np.where(allowed, -keys, np.inf), axis=1, kind="stable")
    np.put_along_axis(marked, order[:, :count], True, axis=1)
    return marked & allowed


def value_table(metric: Metric, n: int) -> Floats:
    """Return the metric (n+1, n+1, n+1) at k, hits a ≤ k and misses r ≤ n - k."""
    table, counts = np.zeros((n + 1, n + 1, n + 1)), np.arange(n + 1)
    for k in range(n + 1):
        a, r = counts[: k + 1, None], counts[: n - k + 1]
        table[k, : k + 1, : n - k + 1] = metric.value(a, k, a + r, n)
    refuse_infinite(table, metric)
    return table


def improve_few(
    p: Floats, allowed: Booleans, metric: Metric, count: int, first: list[Booleans]
) -> Booleans:
    """Return the labels (n, m) of the highest expected score that was found.

    Parameters
    ----------
    p : ndarray of shape (n, m)
    allowed : ndarray of shape (n, m)
    first : list of ndarray of shape (n, m)
        Answers to start from; the result is not below any of them.
    """
    from argmetric._verbs.kernels import few_rows as kernels

    n, m = p.shape
    state = kernels.Columns(
        np.ascontiguousarray(p.T),
        np.ascontiguousarray(allowed.T),
        np.zeros((m, n), dtype=bool),
        value_table(metric, n),
        np.zeros(m, dtype=np.int64),
        hits=np.zeros((m, n + 1)),
        misses=np.zeros((m, n + 1)),
        now=np.zeros(m),
        join=np.zeros((m, 2, n + 1)),
        leave=np.zeros((m, 2, n + 1)),
        fresh=np.zeros(m, dtype=bool),
    )
    best, values = first[0], np.full(m, -np.inf)
    tiny = n * m <= RESTARTED_CELLS

    def improves(start: Booleans, pairs: bool = tiny) -> bool:
        """Climb from labels, and keep the result if the mean metric is higher."""
        nonlocal best, values
        state.labels[:] = start.T
        kernels.climb_few(state, pairs)
        better = bool(state.now.mean() > values.mean() + ROUNDING)
        if better:
            best, values = state.labels.T.copy(), state.now.copy()
        return better

    part = p / np.maximum(p.sum(axis=0), 1e-300)
    same = np.broadcast_to(p.sum(axis=0), p.shape)
    for keys in (p, part, same):
        first = [*first, largest_of_rows(keys, allowed, count)]
    for start in first:
        improves(start)
    none = np.prod(1.0 - p, axis=0)
    empty = none * state.value[0, 0, 0] + (1.0 - none) * float(state.value[0, 0, -1])
    better = bool(m > count and (empty > 0.5 * values).any())
    while better:
        better, now = False, best
        for closed in columns_to_close(values - empty, count):
            keys = np.where(closed, -1.0, 1e3 * now + part)
            better |= improves(largest_of_rows(keys, allowed, count))
    if not tiny and n * m * m <= PAIRED_STEPS:
        improves(best, True)
    rng = np.random.default_rng(0)
    for turn in range(RESTARTS if tiny else 0):
        moved = rng.random(n) < max(MOVED[turn % len(MOVED)], 1.5 / n)
        keys = np.where(moved[:, None], rng.random((n, m)), best)
        improves(largest_of_rows(keys, allowed, count))
    return best


def columns_to_close(excess: Floats, count: int) -> list[Booleans]:
    """Return masks of 1, 2, 4, … columns of least excess, at most all but `count`."""
    rank: Integers = np.argsort(np.argsort(excess, kind="stable"), kind="stable")
    most = excess.size - count
    numbers = sorted({min(2**e, most) for e in range(excess.size.bit_length() + 1)})
    return [rank < number for number in numbers]
