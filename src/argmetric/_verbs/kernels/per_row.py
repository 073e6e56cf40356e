"""Exactly so many labels in every row, improved row by row.

Of label j: tp = Σ p over the rows that have it, k how many these are, T the number of
positives, of mean t = Σ p. The value of a label is Σ_q weight[q]·metric(tp·T[q]/t, k,
T[q], n) over few points of T: the metric of expected counts with T = t alone. Entries
of p lie row by row, those of row i from starts[i] to starts[i+1]; `columns` has their
labels, or is empty where every row has all of them in order. picked[i] has the chosen
entries of row i, counted from its start. `gains` is room.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.types import Floats

RATIO, GEOMETRIC, CORRELATION = 0, 1, 2  # forms of the metric
ROUNDING = 1e-14  # a smaller difference of gains is none
N_NODES, REACH = 20, 30.0  # e^(-30·x) on [0, 1] by 20 Gauss-Legendre nodes: 2e-13
N_TERMS = 8  # of a power series in p·u


class Labels(NamedTuple):
    """Metric, and the state of every one of the m labels (columns)."""

    linear: bool  # in tp, at fixed k and t
    form: int
    c: tuple[float, ...]
    d: tuple[float, ...]
    zero: float
    n: float
    t: Floats  # (m, points): T
    weight: Floats  # (m, points)
    scale: Floats  # (m, points): T/t
    barred: Floats  # (m,): added to all gains; lets rows leave a label if very low
    tp: Floats  # (m,), and so are the others
    k: Floats
    now: Floats  # the value
    slope: (
        Floats  # what one more row of probability p adds: slope·p + offset, if linear
    )
    offset: Floats


@inner
def value_at(s, tp, k, t):
    """Return the metric at these counts, as `Metric.value` has it."""
    n = s.n
    if s.form == RATIO:
        c, d = s.c, s.d
        below = d[0] * n + d[1] * tp + d[2] * k + d[3] * t
        if below == 0.0:
            return s.zero
        return (c[0] * n + c[1] * tp + c[2] * k + c[3] * t) / below
    if s.form == CORRELATION:
        below = math.sqrt(max(k * (n - k) * t * (n - t), 0.0))
        return (n * tp - k * t) / below if below != 0.0 else 0.0
    tn, others = n - k - t + tp, n - t
    first = tp / t if t != 0.0 else s.zero
    second = max(tn, 0.0) / others if others > 0.0 else s.zero
    return math.sqrt(max(first, 0.0) * second)


@inner
def label_value(s, tp, k, j):
    """Return the value of label j with other hits and another count."""
    if s.t.shape[1] == 1:
        return value_at(s, tp, k, s.t[j, 0])
    total = 0.0
    for q in range(s.t.shape[1]):
        if s.weight[j, q] > 0.0:
            at = value_at(s, tp * s.scale[j, q], k, s.t[j, q])
            total += s.weight[j, q] * at
    return total


@inner
def set_label(s, j):
    """Set the value of label j, and the line of what one more row adds to it."""
    tp, k = s.tp[j], s.k[j]
    s.now[j] = label_value(s, tp, k, j)
    if s.linear:
        none = label_value(s, tp, k + 1.0, j)
        s.slope[j] = label_value(s, tp + 1.0, k + 1.0, j) - none
        s.offset[j] = none - s.now[j] + s.barred[j]


@inner
def fill_gains(row, labels, s, gains):
    """Write the gain of adding each label that the row does not have."""
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
            more = label_value(s, hits, s.k[j] + 1.0, j)
            gains[e] = more - s.now[j] + s.barred[j]


@inner
def sink(heap, at, gains):
    """Let an entry of a heap sink to its place: its root is dropped first.

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
    """Write the entries of the largest of `size` gains, of equal ones the first."""
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
    for j in range(s.k.size):
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
            gains[e] = s.now[j] - label_value(s, tp, k, j) + s.barred[j]
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
def column_moments(p, indptr, out):
    """Write mean, variance, third central moment, P(none), P(all) per segment."""
    for j in range(indptr.size - 1):
        mean, variance, third, none, every = 0.0, 0.0, 0.0, 1.0, 1.0
        for x in p[indptr[j] : indptr[j + 1]]:
            spread = x * (1.0 - x)
            mean += x
            variance += spread
            third += spread * (1.0 - 2.0 * x)
            none *= 1.0 - x
            every *= x
        out[j, 0], out[j, 1], out[j, 2] = mean, variance, third
        out[j, 3], out[j, 4] = none, every


@kernel
def share_tables(p, indptr, more, mirrored, nodes, weights, tables):
    """Tabulate E[1/(1 + T₋ᵢ)] = ∫₀¹ Π_{l≠i} (1 - p_l·u) du of every segment.

    T₋ᵢ counts the positives but row i, `more` certain ones among them; mirrored: the
    negatives. `nodes` and `weights` are for [0, 1]; the integral ends where the product
    is below e^-REACH. A table holds that end, the largest p of the series, moments
    Σ w·u^r, and weights: products of all rows at the nodes. Small p·u enter by sums of
    powers, Σ log(1 - p·u) = -Σ_r u^r·Σ p^r/r.
    """
    sums, product = np.empty(N_TERMS), np.empty(N_NODES)
    for j in range(indptr.size - 1):
        part, mean = p[indptr[j] : indptr[j + 1]], more[j]
        for x in part:
            mean += 1.0 - x if mirrored else x
        end = min(1.0, REACH / max(mean, 1.0))
        series = (0.2 if mean >= REACH else 0.03) / end
        sums[:] = 0.0
        product[:] = 1.0
        for x in part:
            probability = 1.0 - x if mirrored else x
            if probability <= series:
                power = 1.0
                for r in range(N_TERMS):
                    power *= probability
                    sums[r] += power
            else:
                for q in range(N_NODES):
                    product[q] *= 1.0 - probability * (end * nodes[q])
        table = tables[j]
        table[:] = 0.0
        table[0], table[1] = end, series
        for q in range(N_NODES):
            u, log = end * nodes[q], 0.0
            for r in range(N_TERMS - 1, -1, -1):
                log = u * (sums[r] / (r + 1) + log)
            log -= more[j] * math.log1p(-u)
            weight = end * weights[q] * product[q] * math.exp(-log)
            table[2 + N_TERMS + q] = weight
            for r in range(N_TERMS):
                table[2 + r] += weight
                weight *= u


@inner
def share_of_hit(table, nodes, p):
    """Return p·E[1/(1 + T₋ᵢ)] of a row with this probability."""
    total = 0.0
    if p <= table[1]:
        for r in range(N_TERMS + 1, 1, -1):
            total = total * p + table[r]
    else:
        for q in range(N_NODES):
            total += table[2 + N_TERMS + q] / (1.0 - p * (table[0] * nodes[q]))
    return p * total


@kernel
def take_shares(p, starts, columns, hits, misses, nodes, worth, offset, picked, gains):
    """Choose the entries of every row with the largest gains, which nothing else moves.

    gain = worth[0]·p·E[1/(1 + T₋ᵢ)] - worth[1]·q·E[1/(n - T₋ᵢ)] + offset of the label.
    """
    for i in range(starts.size - 1):
        row, labels = p[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        for e in range(row.size):
            j = labels[e] if labels.size else e
            gains[e] = offset[j]
            if worth[0] != 0.0:
                gains[e] += worth[0] * share_of_hit(hits[j], nodes, row[e])
            if worth[1] != 0.0:
                gains[e] -= worth[1] * share_of_hit(misses[j], nodes, 1.0 - row[e])
        take_largest(gains, row.size, picked[i, : row.size])


@kernel
def chosen_first(scores, indptr, places, ends, first, last, out):
    """Write scores of segments first … last-1, the chosen ones first in each.

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
