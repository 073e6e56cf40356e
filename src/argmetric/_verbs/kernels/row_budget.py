"""Exactly so many labels in every row, improved row by row.

Of label j: tp = Σ p over the rows that have it, k how many these are, t = Σ p over all
rows. Entries of p lie row by row, those of row i from starts[i] to starts[i+1];
`columns` has their labels, or is None where every row has all of them in order.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from argmetric._ground.jit import inner, kernel

RATIO, ARITHMETIC, GEOMETRIC, CORRELATION = 0, 1, 2, 3  # forms of the metric


@inner
def metric_value(form, c, d, zero, tp, k, t, n):
    """The value of the metric at expected counts, as `Metric.value` has it."""
    if form == RATIO:
        below = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
        if below == 0.0:
            return zero
        return (c[0] * n + c[1] * tp + c[2] * k + c[3] * t) / below
    if form == CORRELATION:
        below = math.sqrt(k * (n - k) * t * (n - t))
        return (n * tp - k * t) / below if below != 0.0 else 0.0
    tn, others = n - k - t + tp, n - t
    if form == ARITHMETIC:  # a class that is absent is dropped
        if t == 0.0:
            return tn / others
        if others == 0.0:
            return tp / t
        return 0.5 * (tp / t + tn / others)
    first = tp / t if t != 0.0 else zero
    second = max(tn, 0.0) / others if others != 0.0 else zero
    return math.sqrt(first * second)


@inner
def sink(heap, size, at, gains):
    """Let the entry at this place of a heap sink: its root is the first to go.

    That is the entry of the smallest gain, of equal ones the last in the row.
    """
    entry = heap[at]
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
def set_label(j, linear, form, c, d, zero, t, n, tp, k, slope, offset):
    """What one more row of chance p adds to label j.

    It is slope·p + offset where the metric is linear in tp, and else the value with the
    row plus offset.
    """
    now = metric_value(form, c, d, zero, tp[j], k[j], t[j], n)
    offset[j] = -now
    if linear:
        none = metric_value(form, c, d, zero, tp[j], k[j] + 1.0, t[j], n)
        one = metric_value(form, c, d, zero, tp[j] + 1.0, k[j] + 1.0, t[j], n)
        slope[j], offset[j] = one - none, none - now


@kernel
def set_labels(linear, form, c, d, zero, t, n, tp, k, slope, offset):
    """`set_label` of all labels."""
    for j in range(t.size):
        set_label(j, linear, form, c, d, zero, t, n, tp, k, slope, offset)


@kernel
def improve_rows(
    p, starts, columns, count, begun, linear, form, c, d, zero, t, n,
    tp, k, slope, offset, gains, picked,
):  # fmt: skip
    """Give every row, one after the other, the labels of the largest gains.

    The gain of a label is its value with the row less that without, all other rows as
    they are. picked[i] has the chosen entries of row i. Before that is `begun`, gains
    are slope·p + offset as given, and no counts are kept. `gains` is room. Of equal
    gains the first label is chosen.
    """
    for i in range(starts.size - 1):
        first, last = starts[i], starts[i + 1]
        row, labels = p[first:last], None if columns is None else columns[first:last]
        chosen = picked[i, : min(count, row.size)]
        size, least = chosen.size, 0.0
        for place in range(size if begun else 0):
            e = chosen[place]
            j = e if labels is None else labels[e]
            k[j] -= 1.0
            tp[j] = max(tp[j] - row[e], 0.0) if k[j] > 0.0 else 0.0
            set_label(j, linear, form, c, d, zero, t, n, tp, k, slope, offset)
        for e in range(row.size):
            j = e if labels is None else labels[e]
            if linear or not begun:
                gain = slope[j] * row[e] + offset[j]
            else:
                hits, more = tp[j] + row[e], k[j] + 1.0
                gain = metric_value(form, c, d, zero, hits, more, t[j], n) + offset[j]
            if e < size:
                chosen[e], gains[e] = e, gain
                if e < size - 1:
                    continue
                for at in range(size // 2 - 1, -1, -1):
                    sink(chosen, size, at, gains)
            elif size > 0 and gain > least:
                chosen[0], gains[e] = e, gain
                sink(chosen, size, 0, gains)
            else:
                continue
            least = gains[chosen[0]]
        for place in range(size if begun else 0):
            e = chosen[place]
            j = e if labels is None else labels[e]
            tp[j] += row[e]
            k[j] += 1.0
            set_label(j, linear, form, c, d, zero, t, n, tp, k, slope, offset)


@kernel
def count_labels(p, starts, columns, count, picked, tp, k):
    """Sum tp and k anew, without the rounding of many steps."""
    tp[:] = 0.0
    k[:] = 0.0
    for i in range(starts.size - 1):
        for place in range(min(count, starts[i + 1] - starts[i])):
            e = picked[i, place]
            j = e if columns is None else columns[starts[i] + e]
            tp[j] += p[starts[i] + e]
            k[j] += 1.0


@kernel
def add_chances(p, starts, columns, t):
    """Σ p of every label."""
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            t[e - starts[i] if columns is None else columns[e]] += p[e]


@kernel
def mark_picked(starts, count, picked, order, labels):
    """Set the labels of all chosen entries, which lie at order[entry], or by column."""
    rows = starts.size - 1
    for i in range(rows):
        for place in range(min(count, starts[i + 1] - starts[i])):
            e = picked[i, place]
            labels[e * rows + i if order is None else order[starts[i] + e]] = 1


@kernel
def chosen_first(scores, indptr, chosen, out, k):
    """Scores of every segment, those of the k that are chosen before the others."""
    for g in range(indptr.size - 1):
        place = indptr[g]
        for wanted in (1, 0):
            for e in range(indptr[g], indptr[g + 1]):
                if chosen[e] == wanted:
                    out[place] = scores[e]
                    place += 1
            if wanted == 1:
                k[g] = place - indptr[g]
