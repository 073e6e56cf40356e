"""Plain numpy twins of the kernels in `sums`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from argmetric._types import Floats, Integers


def members(
    key: int, order: Integers, ends: Integers, spans: Integers
) -> Iterator[tuple[int, slice, slice]]:
    """Pairs of a key, and where their laws lie."""
    for i in order[ends[key] : ends[key + 1]].tolist():
        start, size, miss_start, miss_size = spans[i].tolist()
        yield i, slice(start, start + size), slice(miss_start, miss_start + miss_size)


def key_box(
    key: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    hits: Floats,
    misses: Floats,
) -> tuple[int, int, int, int]:
    """Least and most hits, and misses, that the pairs of a key can have."""
    one = spans[order[ends[key] : ends[key + 1]]]
    low, left = (side[0, one[:, j]].astype(int) for side, j in ((hits, 0), (misses, 2)))
    high, right = low + one[:, 1], left + one[:, 3]
    return int(low.min()), int(high.max()), int(left.min()), int(right.max())


def widest_key(
    order: Integers, ends: Integers, spans: Integers, hits: Floats, misses: Floats
) -> tuple[int, int]:
    """Most rows, and most cells, that a key can have."""
    boxes = [
        key_box(key, order, ends, spans, hits, misses) for key in range(ends.size - 1)
    ]
    rows = [high - low for low, high, _, _ in boxes]
    columns = [right - left for _, _, left, right in boxes]
    return max(rows), max(a * b for a, b in zip(rows, columns, strict=True))


def key_cells(
    key: int,
    order: Integers,
    ends: Integers,
    spans: Integers,
    asked: Floats,
    hits: Floats,
    misses: Floats,
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """Hits and misses of a key, and which pairs of them are worth a cell."""
    low, high, left, right = key_box(key, order, ends, spans, hits, misses)
    kept = np.zeros((high - low, right - left), dtype=bool)
    for i, one, other in members(key, order, ends, spans):
        if asked[i, 2] < 0.0:
            return hits[0, one], misses[0, other], ~kept
        a, r = int(hits[0, one.start]) - low, int(misses[0, other.start]) - left
        chance = hits[1, one, None] * misses[1, other]
        box = kept[a : a + chance.shape[0], r : r + chance.shape[1]]
        box |= chance >= asked[i, 2]
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
    while key < ends.size - 1 and used < limit and last_row < limit:
        low, _, left, _ = key_box(key, *known, hits, misses)
        bases[key] = last_row, low, left
        own_hits, own_misses, kept = key_cells(key, *known, asked, hits, misses)
        some = kept.any(axis=1)
        first = np.where(some, kept.argmax(axis=1), 0)
        last = np.where(some, kept.shape[1] - kept[:, ::-1].argmax(axis=1), 0)
        column = np.arange(kept.shape[1])
        a, r = np.nonzero((column >= first[:, None]) & (column < last[:, None]))
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
            known = ~np.isnan(value)
            if known.all():
                out[0, i] = weight @ value
            else:
                finite = False
                mass = float(weight[known].sum())
                total = weight[known] @ value[known]
                out[0, i] = total / mass if mass > 1e-300 else math.nan
            finite &= math.isfinite(out[0, i])
            out[1, i] = np.abs(chance[~inside]).sum()
    return finite
