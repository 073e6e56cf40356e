"""OMMA: decide each row by the slopes of a metric at the counts so far.

The state is one array: a header, whose first slots are those of a threshold rule; for
classes the table of counts by true and predicted class, the rows k predicted for each,
its true rows t, and a matrix of weights if the metric has one; for labels tp, k and t
of each. The prior, RIGHT in cells of right answers and WRONG in the others, is added
where counts are read.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing, inner
from argmetric.stream.kernels import rules
from argmetric.stream.kernels.rules import level_parts

KIND, ROWS, WIDTH, PER_ROW, RIGHT, WRONG = 0, 13, 14, 15, 16, 17
DECAY, SOFT, SUPPORT, ALL_TP, ALL_K, ALL_T = 18, 19, 20, 21, 22, 23
CONFUSIONS = 24  # length of the header
CLASSES, MACRO, MICRO = 0, 1, 2
RATIO, PRODUCT, CORRELATION, AGREEMENT, GAIN = 0, 1, 2, 3, 4


@inner
def fade(s, last):
    """Multiply all counts by the decay, before the next one is added."""
    s[ROWS] *= s[DECAY]
    for slot in range(ALL_TP, last):
        s[slot] *= s[DECAY]


@inner
def margins_of(s):
    """Return the number of classes, where their k begin, and the prior of k and t."""
    width = int(s[WIDTH])
    return width, CONFUSIONS + width * width, s[RIGHT] + (width - 1.0) * s[WRONG]


@inner
def class_slopes(s, c, slopes):
    """Set slopes[:, c] in tp_c and k_c of a class mean, or a product of recalls."""
    width, margins, add = margins_of(s)
    tp = s[CONFUSIONS + c * width + c] + s[RIGHT]
    k, t = s[margins + c] + add, s[margins + width + c] + add
    if s[rules.METRIC] == PRODUCT:
        slopes[0, c], slopes[1, c] = 1.0 / tp, 0.0
        return
    share = 1.0 / (s[rules.D1] * tp + s[rules.D2] * k + s[rules.D3] * t)
    value = s[rules.C1] * tp * share
    share *= t if s[SUPPORT] > 0.0 else 1.0
    slopes[0, c] = share * (s[rules.C1] - value * s[rules.D1])
    slopes[1, c] = -share * value * s[rules.D2]


@inner
def weighted_gains(s, p, i, gains, g):
    """Set gains[g] of a kappa, 1 - n·Σ w·M / Σ w·t·k, or of a sum Σ w·M."""
    width, margins, add = margins_of(s)
    weights = margins + 2 * width
    sign, ratio = 1.0, 0.0
    if s[rules.METRIC] == AGREEMENT:
        seen, random, sign = 0.0, 0.0, -1.0
        for a in range(width):
            for b in range(width):
                w = s[weights + a * width + b]
                prior = s[RIGHT] if a == b else s[WRONG]
                seen += w * (s[CONFUSIONS + a * width + b] + prior)
                random += w * (s[margins + width + a] + add) * (s[margins + b] + add)
        ratio = seen / random
    for b in range(width):
        gain = 0.0
        for a in range(width):
            t = s[margins + width + a] + add
            gain += s[weights + a * width + b] * (p[i, a] - ratio * t)
        gains[g, b] = sign * gain


@inner
def correlation_gains(s, p, i, gains, g):
    """Set gains[g] of (n·Σtp - Σkt)/√((n² - Σk²)(n² - Σt²)), up to a common term."""
    width, margins, add = margins_of(s)
    n = s[ROWS] + width * add
    above, free = 0.0, n * n
    for c in range(width):
        k, t = s[margins + c] + add, s[margins + width + c] + add
        above += n * (s[CONFUSIONS + c * width + c] + s[RIGHT]) - k * t
        free -= k * k
    for c in range(width):
        k, t = s[margins + c] + add, s[margins + width + c] + add
        gains[g, c] = n * p[i, c] - t + above / free * k


@borrowing
def run_classes(s, p, y, weight, pace, learn, slopes, gains, step, labels):
    """Decide every row by the gains of its classes, then count it if `learn`.

    Weights are read at i·pace, gains are written at i·step; `slopes` is scratch space
    of shape (2, n_classes). Ties go to the first class.
    """
    metric, soft, fading = int(s[rules.METRIC]), s[SOFT] > 0.0, s[DECAY] < 1.0
    width, margins, _ = margins_of(s)
    local = metric in (RATIO, PRODUCT)  # slopes of a class change with its own counts
    for c in range(width):
        class_slopes(s, c, slopes)
    for i in range(p.shape[0]):
        g = i * step
        if metric == CORRELATION:
            correlation_gains(s, p, i, gains, g)
        elif not local:
            weighted_gains(s, p, i, gains, g)
        best, most = 0, -np.inf
        for c in range(width):
            if local:
                gains[g, c] = slopes[0, c] * p[i, c] + slopes[1, c]
            if gains[g, c] > most:
                best, most = c, gains[g, c]
        labels[i] = best
        w = weight[i * pace]
        if not learn or not w > 0.0:
            continue
        if fading:
            fade(s, margins + 2 * width)
        s[ROWS] += w
        s[margins + best] += w
        if soft:
            for a in range(width):
                s[CONFUSIONS + a * width + best] += w * p[i, a]
                s[margins + width + a] += w * p[i, a]
        else:
            s[CONFUSIONS + y[i] * width + best] += w
            s[margins + width + y[i]] += w
        if local and (soft or fading):
            for c in range(width):
                class_slopes(s, c, slopes)
        elif local:
            class_slopes(s, best, slopes)
            if y[i] != best:
                class_slopes(s, y[i], slopes)


@inner
def label_slopes(s, j):
    """Return ∂Φ/∂tp and ∂Φ/∂k of a label; without a budget up to a positive factor."""
    width, right, wrong = int(s[WIDTH]), s[RIGHT], s[WRONG]
    n = s[ROWS] + 2.0 * (right + wrong)
    if s[KIND] == MICRO:
        right, wrong, n = right * width, wrong * width, n * width
        tp, k, t = s[ALL_TP], s[ALL_K], s[ALL_T]
    else:
        first = CONFUSIONS + j
        tp, k, t = s[first], s[first + width], s[first + 2 * width]
    tp, k, t = tp + right, k + right + wrong, t + right + wrong
    top, bottom = level_parts(s, tp, k, t, n)
    if s[KIND] == MACRO and s[PER_ROW] > 0.0:  # of a ratio
        below = s[rules.D1] * tp + s[rules.D2] * k + s[rules.D3] * t + s[rules.D0] * n
        return bottom / below, -top / below
    return bottom, -top


@inner
def choose_largest(gains, count, chosen):
    """Mark the `count` largest gains of a row; of equal ones the first."""
    for _ in range(min(count, chosen.size)):
        best = -1
        for e in range(chosen.size):
            if not chosen[e] and (best < 0 or gains[e] > gains[best]):
                best = e
        chosen[best] = 1


@borrowing
def run_labels(s, rows, whole, true, weight, pace, learn, last, gains, chosen):
    """Decide the labels of every row of a CSR matrix, then count them if `learn`.

    `rows` are its indptr, indices and probabilities; those of a dense matrix are
    `whole`: they have all labels in order. `true` are the indptr and indices of the
    true labels, and `last` is room for the last row that had a label. Weights are read
    at i·pace. Gains are those of all entries, or of the last row where rows are
    learned; `chosen` comes as zeros.
    """
    (indptr, indices, p), (y_indptr, y_indices) = rows, true
    per_row, soft, width = int(s[PER_ROW]), s[SOFT] > 0.0, int(s[WIDTH])
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        first = 0 if learn else start
        by_tp, by_k = label_slopes(s, 0)
        for e in range(start, stop):
            if s[KIND] == MACRO:
                by_tp, by_k = label_slopes(s, e - start if whole else indices[e])
            gain = by_tp * p[e] + by_k
            gains[first + e - start] = gain
            chosen[e] = per_row == 0 and gain > 0.0
        if per_row > 0:
            own = gains[first : first + stop - start]
            choose_largest(own, per_row, chosen[start:stop])
        w = weight[i * pace]
        if not learn or not w > 0.0:
            continue
        if s[DECAY] < 1.0:
            fade(s, s.size)
        s[ROWS] += w
        for e in range(y_indptr[i], y_indptr[i + 1]):
            j = y_indices[e]
            last[j] = i + 1
            if not soft:
                s[CONFUSIONS + 2 * width + j] += w
                s[ALL_T] += w
        for e in range(start, stop):
            j = e - start if whole else indices[e]
            if soft:
                s[CONFUSIONS + 2 * width + j] += w * p[e]
                s[ALL_T] += w * p[e]
            if chosen[e]:
                hit = w * p[e] if soft else w * (last[j] == i + 1)
                s[CONFUSIONS + j] += hit
                s[CONFUSIONS + width + j] += w
                s[ALL_TP] += hit
                s[ALL_K] += w
