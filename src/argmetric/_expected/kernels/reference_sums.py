"""Plain numpy twins of the kernels in `sums`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Floats, Integers


def members(
    key: int, order: Integers, ends: Integers, spans: Integers
) -> Iterator[tuple[int, slice, slice]]:
    """Pairs of a key, and where their laws lie."""
    for i in order[ends[key] : ends[key + 1]].tolist():
        start, size, miss_start, miss_size = spans[i].tolist()
        yield i, slice(start, start + size), slice(miss_start, miss_start + miss_size)


def key_boxes(
    order: Integers, ends: Integers, spans: Integers, hits: Floats, misses: Floats
) -> Integers:
    """Least and most hits, and misses, that the pairs of a key can have, by rows."""
    own, starts = spans[order], ends[:-1]
    low, left = hits[0, own[:, 0]].astype(int), misses[0, own[:, 2]].astype(int)
    return np.stack(
        [
            np.minimum.reduceat(low, starts),
            np.maximum.reduceat(low + own[:, 1], starts),
            np.minimum.reduceat(left, starts),
            np.maximum.reduceat(left + own[:, 3], starts),
        ],
        axis=1,
    )


def widest_key(
    order: Integers, ends: Integers, spans: Integers, hits: Floats, misses: Floats
) -> tuple[int, int]:
    """Most rows, and most cells, that a key can have."""
    low, high, left, right = key_boxes(order, ends, spans, hits, misses).T
    rows = high - low
    return int(rows.max()), int((rows * (right - left)).max())


def key_cells(
    key: int,
    box: list[int],
    order: Integers,
    ends: Integers,
    spans: Integers,
    asked: Floats,
    hits: Floats,
    misses: Floats,
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Hits and misses of a key, and which pairs of them are worth a cell."""
    low, high, left, right = box
    kept = np.zeros((high - low, right - left), dtype=bool)
    for i, one, other in members(key, order, ends, spans):
        if asked[i, 2] < 0.0:
            return hits[0, one], misses[0, other], ~kept
        a, r = int(hits[0, one.start]) - low, int(misses[0, other.start]) - left
        chance = hits[1, one, None] * misses[1, other]
        kept[a : a + chance.shape[0], r : r + chance.shape[1]] |= chance >= asked[i, 2]
    counts = np.arange(max(high, right), dtype=np.float64)
    return counts[low:high], counts[left:right], kept


def fill_cells(
    key: int,
    limit: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    asked: Floats,
    hits: Floats,
    misses: Floats,
    bases: Integers,
    rows: Integers,
    cells: Floats,
) -> tuple[int, int]:
    """Cells of the keys from `key` on, until there are `limit` of them or of rows."""
    known = order, ends, spans
    used = last_row = 0
    boxes = key_boxes(*known, hits, misses).tolist()
    while key < ends.size - 1 and used < limit and last_row < limit:
        box = boxes[key]
        bases[key] = last_row, box[0], box[2]
        own_hits, own_misses, kept = key_cells(key, box, *known, asked, hits, misses)
        some = kept.any(axis=1)
        first = some * kept.argmax(axis=1)
        last = some * (kept.shape[1] - kept[:, ::-1].argmax(axis=1))
        column = np.arange(kept.shape[1])
        a, r = ((column >= first[:, None]) & (column < last[:, None])).nonzero()
        k, n = asked[order[ends[key]], :2]
        tp, place = own_hits[a], slice(used, used + a.size)
        for row, counts in zip(cells, (tp, k, tp + own_misses[r], n), strict=True):
            row[place] = counts
        starts = used + np.cumsum(last - first) - (last - first)
        own = np.stack([first, last, starts], axis=1)
        rows[last_row : last_row + some.size] = own
        used, last_row, key = used + a.size, last_row + some.size, key + 1
    return key, used


def sum_cells(
    key: int,
    last: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    hits: Floats,
    misses: Floats,
    bases: Integers,
    rows: Integers,
    values: Floats,
    work: Floats,
    out: Floats,
) -> bool:
    """out[0] = E[value | defined] of every pair of keys key…last-1; out[1] the rest."""
    finite = True
    for now in range(key, last):
        first_row, low, left = bases[now].tolist()
        for i, one, other in members(now, order, ends, spans):
            first = first_row + int(hits[0, one.start]) - low
            begin, stop, place = rows[first : first + one.stop - one.start].T[
                :, :, None
            ]
            column = np.arange(other.stop - other.start)
            column += int(misses[0, other.start]) - left
            inside = (column >= begin) & (column < stop)
            chance = hits[1, one, None] * misses[1, other]
            cell = (place + column - begin)[inside]
            value, weight = values[cell], chance[inside]
            total = float(weight @ value)
            if not math.isfinite(total):
                finite = False
                known = ~np.isnan(value)
                mass = float(weight[known].sum())
                total = float(weight[known] @ value[known])
                total = total / mass if mass > 1e-300 else math.nan
            out[0, i] = total
            out[1, i] = np.abs(chance[~inside]).sum()
    return finite
