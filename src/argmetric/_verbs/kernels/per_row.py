"""Exactly so many labels in every row, improved row by row.

Of label j: tp = Σ p over the rows that have it, k how many these are, t = Σ p over all
rows. Entries of p lie row by row, those of row i from starts[i] to starts[i+1];
`columns` has their labels, or is empty where every row has all of them in order.
picked[i] has the chosen entries of row i, counted from its start. `gains` is room.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.types import Floats

RATIO, ARITHMETIC, GEOMETRIC, CORRELATION = 0, 1, 2, 3  # forms of the metric
ROUNDING = 1e-14  # a smaller difference of gains is none


class Labels(NamedTuple):
    """The metric, and what is known of every label."""

    linear: bool  # in tp, at fixed k and t
    form: int
    c: tuple[float, ...]
    d: tuple[float, ...]
    zero: float
    n: float
    t: Floats
    tp: Floats
    k: Floats
    now: Floats  # the value of the metric
    slope: Floats  # what one more row of chance p adds is slope·p + offset, if linear
    offset: Floats

    @property
    def additive(self) -> bool:
        """Whether the gain of a row does not depend on the other rows."""
        fixed = self.form == RATIO and self.d[1] == self.d[2] == 0.0
        return fixed or self.form == ARITHMETIC


@inner
def metric_value(s, tp, k, t):
    """The value of the metric at expected counts, as `Metric.value` has it."""
    n = s.n
    if s.form == RATIO:
        c, d = s.c, s.d
        below = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
        if below == 0.0:
            return s.zero
        return (c[0] * n + c[1] * tp + c[2] * k + c[3] * t) / below
    if s.form == CORRELATION:
        below = math.sqrt(k * (n - k) * t * (n - t))
        return (n * tp - k * t) / below if below != 0.0 else 0.0
    tn, others = n - k - t + tp, n - t
    if s.form == ARITHMETIC:  # a class that is absent is dropped
        if t == 0.0:
            return tn / others
        if others == 0.0:
            return tp / t
        return 0.5 * (tp / t + tn / others)
    first = tp / t if t != 0.0 else s.zero
    second = max(tn, 0.0) / others if others != 0.0 else s.zero
    return math.sqrt(first * second)


@inner
def set_label(s, j):
    """The value of label j, and the line of what one more row adds to it."""
    tp, k, t = s.tp[j], s.k[j], s.t[j]
    s.now[j] = metric_value(s, tp, k, t)
    if s.linear:
        none = metric_value(s, tp, k + 1.0, t)
        s.slope[j] = metric_value(s, tp + 1.0, k + 1.0, t) - none
        s.offset[j] = none - s.now[j]


@inner
def fill_gains(row, labels, s, gains):
    """What the row would add to each of its labels that it does not have."""
    if s.linear and labels.size == 0:
        for e in range(row.size):
            gains[e] = s.slope[e] * row[e] + s.offset[e]
        return
    for e in range(row.size):
        j = labels[e] if labels.size else e
        if s.linear:
            gains[e] = s.slope[j] * row[e] + s.offset[j]
        else:
            hits = s.tp[j] + row[e]
            gains[e] = metric_value(s, hits, s.k[j] + 1.0, s.t[j]) - s.now[j]


@inner
def sink(heap, at, gains):
    """Let the entry at this place of a heap sink: its root is the first to go.

    That is the entry of the smallest gain, of equal ones the last in the row.
    """
    entry, size = heap[at], heap.size
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if gains[b] < gains[a] or (gains[b] == gains[a] and b > a):
                child += 1
        below = heap[child]
        if gains[below] > gains[entry]:
            break
        if gains[below] == gains[entry] and below < entry:
            break
        heap[at] = below
        at = child
    heap[at] = entry


@inner
def take_largest(gains, size, chosen):
    """The entries of the largest of `size` gains, of equal ones the first."""
    for e in range(chosen.size):
        chosen[e] = e
    for at in range(chosen.size // 2 - 1, -1, -1):
        sink(chosen, at, gains)
    least = gains[chosen[0]] if chosen.size else math.inf
    for e in range(chosen.size, size):
        if gains[e] > least:
            chosen[0] = e
            sink(chosen, 0, gains)
            least = gains[chosen[0]]


@kernel
def count_labels(p, starts, columns, picked, s):
    """Sum tp and k anew, without the rounding of many steps."""
    s.tp[:] = 0.0
    s.k[:] = 0.0
    for i in range(starts.size - 1):
        for e in picked[i, : starts[i + 1] - starts[i]]:
            j = columns[starts[i] + e] if columns.size else e
            s.tp[j] += p[starts[i] + e]
            s.k[j] += 1.0
    for j in range(s.t.size):
        set_label(s, j)


@kernel
def improve_rows(p, starts, columns, picked, s, gains):
    """Give every row, one after the other, the labels of the largest gains.

    The gain of a label is its value with the row less that without, all other rows as
    they are. A row keeps its labels if none has a larger gain. How many rows change.
    """
    changed = 0
    for i in range(starts.size - 1):
        row, labels = p[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        chosen = picked[i, : row.size]
        fill_gains(row, labels, s, gains)
        least, above = math.inf, 0
        for e in chosen:
            j = labels[e] if labels.size else e
            k = s.k[j] - 1.0
            tp = max(s.tp[j] - row[e], 0.0) if k > 0.0 else 0.0
            gains[e] = s.now[j] - metric_value(s, tp, k, s.t[j])
            least = min(least, gains[e])
        least += ROUNDING
        for e in range(row.size):
            above += gains[e] > least
        for e in chosen:
            above -= gains[e] > least
        if above == 0:
            continue
        changed += 1
        for sign in (-1.0, 1.0):
            for e in chosen:
                j = labels[e] if labels.size else e
                s.k[j] += sign
                s.tp[j] = max(s.tp[j] + sign * row[e], 0.0) if s.k[j] > 0.0 else 0.0
                set_label(s, j)
            if sign < 0.0:
                take_largest(gains, row.size, chosen)
    return changed


@kernel
def likely_entries(p, starts, columns, picked, s, gains, kept):
    """Keep the entries of every row that are chosen or have large gains, in order.

    kept[i] gets those of row i, and picked[i] the places of its chosen ones there.
    """
    for i in range(starts.size - 1):
        row, labels = p[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        chosen, own = picked[i, : row.size], kept[i, : row.size]
        fill_gains(row, labels, s, gains)
        for e in chosen:
            gains[e] = math.inf
        take_largest(gains, row.size, own)
        own.sort()
        chosen[:] = np.searchsorted(own, chosen)


@kernel
def chosen_first(scores, indptr, places, ends, first, last, out):
    """Scores of segments first…last-1, in each the chosen ones before the others.

    The chosen ones of segment g lie at places[ends[g]:ends[g+1]], ascending.
    """
    at = 0
    for g in range(first, last):
        chosen, begun = places[ends[g] : ends[g + 1]], indptr[g]
        behind = at + chosen.size
        for i in range(chosen.size + 1):
            stop = chosen[i] if i < chosen.size else indptr[g + 1]
            for e in range(begun, stop):
                out[behind] = scores[e]
                behind += 1
            if i < chosen.size:
                out[at + i] = scores[stop]
                begun = stop + 1
        at = behind
