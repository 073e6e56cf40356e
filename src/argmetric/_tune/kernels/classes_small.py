"""Weights of classes without numba: twins of the kernels, for few rows."""

from __future__ import annotations

import math

import numpy as np

from argmetric._input.types import Floats, Integers


def confuse(
    p: Floats, weights: Floats, true: Integers, weight: Floats, table: Floats
) -> None:
    """Add every row to the table, at its true class and that of the largest w·p."""
    predicted = np.argmax(p * weights, axis=1)
    np.add.at(table, (true, predicted), weight if weight.size else 1.0)


def rivals(
    p: Floats,
    weights: Floats,
    j: int,
    true: Integers,
    weight: Floats,
    rival: Integers,
    ratio: Floats,
    turning: Integers,
    table: Floats,
) -> int:
    """The strongest other class of every row, and the weight at which j takes over."""
    others = p * weights
    others[:, j] = -1.0
    rival[:] = np.argmax(others, axis=1)
    most, own = others[np.arange(rival.size), rival], p[:, j]
    # Two zeros tie at every weight: the first class wins, as in argmax.
    edge = np.where((most > 0) | (j > rival), math.inf, 0.0)
    ratio[:] = np.where(own > 0, most / np.where(own > 0, own, 1.0), edge)
    first = np.where(ratio == 0, j, rival)
    np.add.at(table, (true, first), weight if weight.size else 1.0)
    found = np.flatnonzero((ratio > 0) & (ratio < math.inf))
    turning[: found.size] = found
    return int(found.size)


def take_over(
    turning: Integers,
    rival: Integers,
    true: Integers,
    weight: Floats,
    j: int,
    tp: Floats,
    k: Floats,
    own_tp: Floats,
    own_k: Floats,
    other_tp: Floats,
    other_k: Floats,
) -> None:
    """Counts of j after each row has joined it, and of its rival after it has left."""
    of, w = rival[turning], weight[turning] if weight.size else 1.0
    right = np.stack([true[turning] == j, true[turning] == of])
    for counts, own, other, (joins, leaves) in (
        (k, own_k, other_k, np.ones_like(right) * w),
        (tp, own_tp, other_tp, right * w),
    ):
        moved = np.zeros((turning.size, counts.size))
        moved[np.arange(of.size), of] = leaves
        left = counts - np.cumsum(moved, axis=0)
        own[:] = counts[j] + np.cumsum(joins)
        other[:] = np.maximum(left[np.arange(of.size), of], 0.0)


def add_changes(
    turning: Integers,
    rival: Integers,
    own: Floats,
    other: Floats,
    start: Floats,
    j: int,
    sums: Floats,
) -> None:
    """Sums over the classes of their parts, after each row has changed sides."""
    of, rows = rival[turning], np.arange(turning.size)
    last = np.where(of[:, None] == np.arange(start.shape[1]), rows[:, None], -1)
    last = np.maximum.accumulate(last, axis=0)  # row that last left each class
    for part in range(start.shape[0]):
        values = np.where(last >= 0, other[part][last], start[part])
        values[:, j] = own[part]
        sums[part] = values.sum(axis=1)
