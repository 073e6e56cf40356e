"""OMMA: decide each row by the slopes of a metric at the counts so far.

The state is one array: a header, whose first slots are those of a threshold rule; for
classes the table of counts by true and predicted class, the rows k given to each, its
true rows t, and a matrix of weights where the metric has one; for labels tp, k and t of
each. The prior is added to every cell where counts are read.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from argmetric._ground.jit import borrowing, inner
from argmetric.stream.kernels import rules
from argmetric.stream.kernels.rules import level_parts

KIND, ROWS, WIDTH, PER_ROW, PRIOR = 0, 13, 14, 15, 16
DECAY, SOFT, SUPPORT, ALL_TP, ALL_K, ALL_T = 17, 18, 19, 20, 21, 22
CONFUSIONS = 23  # length of the header
CLASSES, MACRO, MICRO = 0, 1, 2
RATIO, PRODUCT, CORRELATION, AGREEMENT, GAIN = 0, 1, 2, 3, 4


@inner
def fade(s, last):
    """Let all counts fade before the next one is added."""
    if s[DECAY] < 1.0:
        s[ROWS] *= s[DECAY]
        for slot in range(ALL_TP, last):
            s[slot] *= s[DECAY]


@inner
def class_slopes(s, c, slopes):
    """Slopes of a mean over classes, or of a product of recalls, in tp_c and k_c."""
    width = int(s[WIDTH])
    margins, add = CONFUSIONS + width * width, width * s[PRIOR]
    tp = s[CONFUSIONS + c * width + c] + s[PRIOR]
    k, t = s[margins + c] + add, s[margins + width + c] + add
    if s[rules.METRIC] == PRODUCT:
        slopes[0, c], slopes[1, c] = 1.0 / tp, 0.0
        return
    below = s[rules.D1] * tp + s[rules.D2] * k + s[rules.D3] * t
    value = s[rules.C1] * tp / below
    share = t if s[SUPPORT] > 0.0 else 1.0
    slopes[0, c] = share * (s[rules.C1] - value * s[rules.D1]) / below
    slopes[1, c] = -share * value * s[rules.D2] / below


@inner
def weighted_gains(s, p, i, gains, g):
    """Gains of a kappa, 1 - n·Σ w·M / Σ w·t·k, or of a sum Σ w·M."""
    width = int(s[WIDTH])
    margins, add = CONFUSIONS + width * width, width * s[PRIOR]
    weights = margins + 2 * width
    sign, ratio = 1.0, 0.0
    if s[rules.METRIC] == AGREEMENT:
        seen, chance, sign = 0.0, 0.0, -1.0
        for a in range(width):
            for b in range(width):
                w = s[weights + a * width + b]
                seen += w * (s[CONFUSIONS + a * width + b] + s[PRIOR])
                chance += w * (s[margins + width + a] + add) * (s[margins + b] + add)
        ratio = seen / chance
    for b in range(width):
        gain = 0.0
        for a in range(width):
            t = s[margins + width + a] + add
            gain += s[weights + a * width + b] * (p[i, a] - ratio * t)
        gains[g, b] = sign * gain


@inner
def correlation_gains(s, p, i, gains, g):
    """Gains of (n·Σtp - Σkt)/√((n² - Σk²)(n² - Σt²)), up to what classes share."""
    width = int(s[WIDTH])
    margins, add = CONFUSIONS + width * width, width * s[PRIOR]
    n = s[ROWS] + width * add
    above, free = 0.0, n * n
    for c in range(width):
        k, t = s[margins + c] + add, s[margins + width + c] + add
        above += n * (s[CONFUSIONS + c * width + c] + s[PRIOR]) - k * t
        free -= k * k
    for c in range(width):
        k, t = s[margins + c] + add, s[margins + width + c] + add
        gains[g, c] = n * p[i, c] - t + above / free * k


@borrowing
def run_classes(s, p, y, weight, pace, learn, slopes, gains, step, labels):
    """Decide every row by the gains of its classes, then count it if `learn`.

    Weights are read at i·pace, gains are written at i·step; `slopes` is room for two
    numbers a class. Of equal gains the first class has it.
    """
    width, metric, soft = int(s[WIDTH]), int(s[rules.METRIC]), s[SOFT] > 0.0
    margins = CONFUSIONS + width * width
    local = metric in (RATIO, PRODUCT)  # slopes of a class change with its own counts
    for c in range(width):
        class_slopes(s, c, slopes)
    for i in range(p.shape[0]):
        g = i * step
        if local:
            for c in range(width):
                gains[g, c] = slopes[0, c] * p[i, c] + slopes[1, c]
        elif metric == CORRELATION:
            correlation_gains(s, p, i, gains, g)
        else:
            weighted_gains(s, p, i, gains, g)
        best = 0
        for c in range(1, width):
            if gains[g, c] > gains[g, best]:
                best = c
        labels[i] = best
        w = weight[i * pace]
        if not learn or not w > 0.0:
            continue
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
        if local and (soft or s[DECAY] < 1.0):
            for c in range(width):
                class_slopes(s, c, slopes)
        elif local:
            class_slopes(s, best, slopes)
            class_slopes(s, y[i], slopes)


@inner
def label_slopes(s, j):
    """∂Φ/∂tp and ∂Φ/∂k of a label; without a budget up to a factor above 0."""
    width, add = int(s[WIDTH]), s[PRIOR]
    n = s[ROWS] + 4.0 * add
    if s[KIND] == MICRO:
        add, n = add * width, n * width
        tp, k, t = s[ALL_TP], s[ALL_K], s[ALL_T]
    else:
        first = CONFUSIONS + j
        tp, k, t = s[first], s[first + width], s[first + 2 * width]
    tp, k, t = tp + add, k + 2.0 * add, t + 2.0 * add
    top, bottom = level_parts(s, tp, k, t, n)
    if s[KIND] == MACRO and s[PER_ROW] > 0.0:  # of a ratio
        below = s[rules.D1] * tp + s[rules.D2] * k + s[rules.D3] * t + s[rules.D0] * n
        return bottom / below, -top / below
    return bottom, -top


@inner
def choose_largest(gains, g, count, chosen):
    """Mark the `count` largest gains of a row; of equal ones the first."""
    for _ in range(min(count, chosen.size)):
        best = -1
        for j in range(chosen.size):
            if not chosen[j] and (best < 0 or gains[g, j] > gains[g, best]):
                best = j
        chosen[best] = 1


@borrowing
def run_labels(s, p, y, weight, pace, learn, gains, step, chosen):
    """Decide the labels of every row by their gains, then count them if `learn`.

    Weights are read at i·pace, gains are written at i·step; `chosen` comes as zeros.
    """
    width, per_row, soft = int(s[WIDTH]), int(s[PER_ROW]), s[SOFT] > 0.0
    for i in range(p.shape[0]):
        g = i * step
        by_tp, by_k = label_slopes(s, 0)
        for j in range(width):
            if s[KIND] == MACRO:
                by_tp, by_k = label_slopes(s, j)
            gains[g, j] = by_tp * p[i, j] + by_k
            if per_row == 0:
                chosen[i, j] = gains[g, j] > 0.0
        if per_row > 0:
            choose_largest(gains, g, per_row, chosen[i])
        w = weight[i * pace]
        if not learn or not w > 0.0:
            continue
        fade(s, s.size)
        s[ROWS] += w
        for j in range(width):
            true = w * p[i, j] if soft else w * y[i, j]
            first, hit = CONFUSIONS + j, true * chosen[i, j]
            s[first] += hit
            s[first + width] += w * chosen[i, j]
            s[first + 2 * width] += true
            s[ALL_TP] += hit
            s[ALL_K] += w * chosen[i, j]
            s[ALL_T] += true
