"""Threshold rules over streams, one row after the other.

A rule's whole state is one array: a header of named slots, then (histogram) the bins
N, P, e and the rates that they let expect, then (window) a ring of (code, weight).

The usual rule is a histogram without a window, for an F-measure. Its callers pass None
as `rare`, for which numba leaves out the code of other rules and metrics before it
compiles anything; for all others they pass True.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, inline_kernel, inner

# Slots of a rule.
RULE, METRIC, B2, CEILING, START = 0, 1, 2, 3, 4
C0, C1, C2, C3, D0, D1, D2, D3 = 5, 6, 7, 8, 9, 10, 11, 12
ROWS, THETA, CUT = 13, 14, 15
TP, K, T, N = 16, 17, 18, 19  # counts of the decisions
SOFT_TP, SOFT_K, SOFT_T, SOFT_N = 20, 21, 22, 23  # as the model expects
DECAY, MASS, CENTRE, WINDOW, PLACE, RECENT = 24, 25, 26, 27, 28, 29
BINS, UNIT, FORGET, DUE, KAPPA, SHRINK, LAMBDA = 30, 31, 32, 33, 34, 35, 36
HORIZON, ANYTIME, USED, STAGE, STAGES, SIZE = 37, 38, 39, 40, 41, 42
INSIDE, RADIUS, GAMMA, FIRST, LAST, CELLS = 43, 44, 45, 46, 47, 48
GROW, FOUND, SETTLED = 49, 50, 51  # memory of the histogram, in positive rows
SURPLUS, SPREAD, SEEN = 52, 53, 54  # labels against the bins
HEADER = 55
FIXED, OFO, FOFO, NEWTON, HISTOGRAM, SFO = 0, 1, 2, 3, 4, 5
F_FAMILY, FRACTIONAL, MCC, KAPPA_SCORE, FOWLKES = 0, 1, 2, 3, 4
GMEAN, ARITHMETIC, HMEAN, QMEAN = 5, 6, 7, 8
STEADY = 20.0  # pseudo-counts behind the level of MCC, which is unstable in few rows
EDGE = 8.0  # the histogram covers logits from -8 to 8
PER_BIN = 0.5 / EDGE  # times the number of bins: bins per unit of the logit
REACH = 2.0  # logits around the cut in which changes of the stream are detected
FAINT = -40.0  # log weights this far below the largest are treated as 0
ALARM = 25.0  # squared: five standard deviations
AFTER_ALARM = 0.25  # share of `forget` positives that the bins keep after an alarm
WITNESSES = 8.0  # minimum rows of a bin, and multiple of its prior, for evidence


@inner
def sigmoid(z):
    """Return 1/(1 + e^-z) without overflow and without a branch."""
    e = math.exp(-abs(z))
    large = 1.0 / (1.0 + e)
    return large if z >= 0.0 else e * large


@inner
def logit(p):
    """Return log(p/(1-p)), infinite at 0 and 1."""
    if p <= 0.0:
        return -np.inf
    if p >= 1.0:
        return np.inf
    return math.log(p) - math.log1p(-p)


@inner
def level_parts(s, tp, k, t, n):
    """Return -∂Φ/∂k and ∂Φ/∂tp up to a positive factor; (0, 0) if undefined."""
    metric = int(s[METRIC])
    top, bottom = 0.0, 0.0
    if metric == F_FAMILY:
        top, bottom = tp, s[B2] * t + k
    elif metric == FRACTIONAL:
        scale = s[D0] * n + s[D1] * tp + s[D2] * k + s[D3] * t
        if scale <= 0.0:
            return 0.0, 0.0
        value = (s[C0] * n + s[C1] * tp + s[C2] * k + s[C3] * t) / scale
        top, bottom = value * s[D2] - s[C2], s[C1] - value * s[D1]
    elif metric == MCC:
        # hits that a model expects need not fit in with the positives that came, and
        # the level would fall to 0 and stay there: all positive, no correlation
        tp = min(max(tp, k + t - n), min(k, t))
        c, spread = n * tp - k * t, 2.0 * k * (n - k)
        top, bottom = t * spread + c * (n - 2.0 * k), n * spread
    elif metric == KAPPA_SCORE:
        c, spread = n * tp - k * t, k * (n - t) + t * (n - k)
        top, bottom = t * spread + c * (n - 2.0 * t), n * spread
    elif metric == FOWLKES:
        top, bottom = tp, 2.0 * k
    elif metric == ARITHMETIC:
        top, bottom = t, n
    else:
        tn = n - k - t + tp
        if metric == GMEAN:
            top, bottom = tp, tn + tp
        elif t > 0.0 and n > t:
            # (1/(n-t))·Φ_b over (1/t)·Φ_a + (1/(n-t))·Φ_b, a and b the two rates
            a, b = tp / t, tn / (n - t)
            if metric == HMEAN:
                top, bottom = a * a * t, b * b * (n - t) + a * a * t
            else:
                top, bottom = (1.0 - b) * t, (1.0 - a) * (n - t) + (1.0 - b) * t
    return (top, bottom) if bottom > 0.0 else (0.0, 0.0)


@inner
def level(s, tp, k, t, n):
    """Return -(∂Φ/∂k)/(∂Φ/∂tp) at these counts, within [0, 1]; -1 if undefined."""
    top, bottom = level_parts(s, tp, k, t, n)
    return min(max(top / bottom, 0.0), 1.0) if bottom > 0.0 else -1.0


@inner
def shrunk_level(s, tp, k, t, n, mass, centre, rare):
    """Return the level with `mass` pseudo-counts at `centre`."""
    if rare is None or s[METRIC] == F_FAMILY:
        scale = s[B2] * t + k
        if scale + mass <= 0.0:
            return centre
        return (tp + mass * centre) / (scale + mass)
    scale, one = t + k, level(s, tp, k, t, n)
    if one < 0.0 or scale + mass <= 0.0:
        return centre
    return (scale * one + mass * centre) / (scale + mass)


@inline_kernel
def newton(s, p, y, w, rare):
    """Take a stochastic Newton step of θ towards the optimal threshold."""
    if rare is not None and s[DECAY] < 1.0 and y:
        for slot in range(SOFT_TP, SOFT_N + 1):
            s[slot] *= s[DECAY]
    theta = s[THETA]
    above = w * (p > theta)
    s[SOFT_N] += w
    s[SOFT_T] += w * y
    s[SOFT_K] += above
    s[SOFT_TP] += above * p
    if rare is None or s[METRIC] == F_FAMILY:
        slope = s[B2] * (s[SOFT_T] / s[SOFT_N]) * theta - max(p - theta, 0.0)
        theta -= w * slope / (s[B2] * s[SOFT_T] + s[SOFT_K] + 1.0)
    else:
        counts = (s[SOFT_TP], s[SOFT_K], s[SOFT_T], s[SOFT_N])
        mass = STEADY if s[METRIC] == MCC else 1.0
        theta = shrunk_level(
            s, counts[0], counts[1], counts[2], counts[3], mass, s[START], rare
        )
    s[THETA] = min(max(theta, 0.0), s[CEILING])


@borrowing
def plan(s):
    """Set m, n0, R_0 and γ_1 of the stages for the current horizon.

    SFO is one stage.
    """
    n = s[HORIZON]
    stages = 1.0
    if s[RULE] == FOFO and n >= 2.0:
        stages = math.floor(0.5 * math.log2(2.0 * n / math.log2(n))) - 1.0
    s[STAGES] = max(1.0, stages)
    s[SIZE] = max(1.0, math.floor(n / s[STAGES]))
    s[STAGE], s[INSIDE], s[USED] = 1.0, 0.0, 0.0
    if s[RULE] == FOFO:
        s[RADIUS] = s[CEILING]
    s[GAMMA] = s[RADIUS] / math.sqrt(10.0 * s[SIZE])
    s[FIRST] = s[LAST] = s[THETA]


@inline_kernel
def fofo(s, p, y, w):
    """Run lines 11-14 of Algorithm 2, and the change of stage of Algorithm 1."""
    theta = s[LAST]
    s[SOFT_N] += w
    s[SOFT_T] += w * y
    share = s[SOFT_T] / s[SOFT_N]
    if s[METRIC] == F_FAMILY:
        slope = s[B2] * share * theta - max(p - theta, 0.0)
    else:
        if p > theta:
            s[SOFT_K] += w
            s[SOFT_TP] += w * p
        goal = level(s, s[SOFT_TP], s[SOFT_K], s[SOFT_T], s[SOFT_N])
        if goal < 0.0:  # all rows or none above θ: MCC, for one, has no level there
            goal = s[START]
        slope = (share + s[SOFT_K] / s[SOFT_N]) * (theta - goal)
    low = max(0.0, s[FIRST] - s[RADIUS])
    high = min(s[CEILING], s[FIRST] + s[RADIUS])
    theta = min(max(theta - s[GAMMA] * w * slope, low), high)
    s[INSIDE] += 1.0
    s[USED] += 1.0
    s[LAST] = theta
    s[THETA] = (s[INSIDE] * s[THETA] + theta) / (s[INSIDE] + 1.0)
    if s[INSIDE] >= s[SIZE] and s[STAGE] < s[STAGES]:
        s[STAGE] += 1.0
        s[INSIDE] = 0.0
        s[RADIUS] *= 0.5
        s[GAMMA] = s[RADIUS] / math.sqrt(10.0 * s[SIZE])
        s[FIRST] = s[LAST] = s[THETA]
    if s[ANYTIME] > 0.0 and s[USED] >= s[HORIZON]:
        s[HORIZON] *= 2.0
        plan(s)


@inner
def excess(s, b, goal, scale):
    """Return the hits above the level in bin b, S_b - L·n_b, with S_b shrunk."""
    bins = int(s[BINS])
    rows, found = s[HEADER + b] * scale, s[HEADER + bins + b] * scale
    expected = rows * s[HEADER + 2 * bins + b]
    if expected + s[SHRINK] > 0.0:
        # Gamma-Poisson shrinkage of the ratio found/expected towards 1
        found = expected * (found + s[SHRINK]) / (expected + s[SHRINK])
    return found - goal * rows


@inner
def place_inside(share, lower, upper, pull, centre, cells):
    """Return the quantile `share` of the weight between two bin centres, in bins.

    The excess is linear from `lower` to `upper` between the centres, so that G is a
    parabola; the quantile of its exponential is computed on a grid of `cells`.
    """
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    peak, total, rest, inside = -np.inf, 0.0, 0.0, 0.5
    for turn in range(3 * cells):  # largest exponent, sum, place
        cell = turn % cells
        u = (cell + 0.5) / cells - 0.5
        log = -(middle + half * u) * u - pull * abs(u - centre)
        if turn < cells:
            peak = max(peak, log)
            continue
        one = math.exp(log - peak)
        if turn < 2 * cells:
            total += one
            rest = share * total
        elif rest <= one and one > 0.0:
            inside = u + (rest / one - 0.5) / cells
            break
        else:
            rest -= one
    return inside


@inline_kernel
def memory(s):
    """Return the number of positives that the bins remember."""
    return max(s[FORGET], s[GROW] * (s[FOUND] - s[SETTLED]))


@inner
def detect_change(s):
    """Fade most bins if the labels near the cut contradict their probabilities.

    With weights, Σw(y - r) has the variance Σw²r(1 - r), which is that of
    (Σwr(1 - r))²/Σw²r(1 - r) in rows of weight 1.
    """
    rows = s[SEEN] * s[SEEN]
    if rows > 10.0 * s[SPREAD] and s[SURPLUS] * s[SURPLUS] > ALARM * s[SPREAD]:
        bins = int(s[BINS])
        held = 0.0
        for b in range(bins):
            held += s[HEADER + bins + b] / s[UNIT]
        if held > 0.0:
            held *= s[FOUND] / s[SOFT_T]  # weights to rows
        s[UNIT] *= max(1.0, held / (AFTER_ALARM * s[FORGET]))
        s[SETTLED] = s[FOUND]
        s[SURPLUS] = s[SPREAD] = s[SEEN] = 0.0
    elif rows > 0.5 * s[FORGET] * s[SPREAD]:
        s[SURPLUS] = s[SPREAD] = s[SEEN] = 0.0


@inner
def expect(s):
    """Store the expected rates of positives of the bins, to detect changes.

    They are -1 for bins that do not count: those far from the cut, and those of few
    rows, whose rates would be the model's, which may always be wrong.
    """
    bins = int(s[BINS])
    place = (s[CUT] + EDGE) * (PER_BIN * bins)
    reach, scale = REACH * PER_BIN * bins, 1.0 / s[UNIT]
    least = WITNESSES * max(s[SOFT_N] / max(s[ROWS], 1.0), s[SHRINK])
    for b in range(bins):
        rows, found = s[HEADER + b] * scale, s[HEADER + bins + b] * scale
        rate = -1.0
        if abs(b - place) <= reach and rows > least:
            rate = (found + s[SHRINK] * s[HEADER + 2 * bins + b]) / (rows + s[SHRINK])
        s[HEADER + 3 * bins + b] = rate


@inner
def evidence(s, cut, centre):
    """Return how much the labels between two cuts contradict the model, in [0, 1].

    Δ positives above expectation with variance V give max(0, 1 - V/Δ²), the form of
    James and Stein: if the model is right, its own threshold is the better one.
    """
    bins = int(s[BINS])
    width = 2.0 * EDGE / bins
    low = max(min(cut, centre), -EDGE)
    high = min(max(cut, centre), EDGE)
    surplus, variance = 0.0, 0.0
    for b in range(int((low + EDGE) / width), bins):
        left = b * width - EDGE
        if left >= high:
            break
        part = (min(left + width, high) - max(left, low)) / width
        rows, found = s[HEADER + b] / s[UNIT], s[HEADER + bins + b] / s[UNIT]
        e = s[HEADER + 2 * bins + b]
        surplus += part * (found - rows * e)
        variance += part * rows * e * (1.0 - e)
    if surplus * surplus <= variance:
        return 0.0 if variance > 0.0 else 1.0
    return 1.0 - variance / (surplus * surplus)


@borrowing
def recompute(s, rare):
    """Set the cut: the median of exp(κ·G_c - λ·|z_c - logit θ|) over edges."""
    bins = int(s[BINS])
    width = 2.0 * EDGE / bins
    if s[GROW] > 0.0:
        detect_change(s)
    theta = min(max(s[THETA], 1e-4), 0.9999)
    goal = shrunk_level(s, s[TP], s[K], s[T], s[N], s[MASS], s[THETA], rare)
    goal = min(max(goal, 1e-4), 0.9999)
    centre = logit(theta)
    logs = HEADER + 3 * bins
    gain, peak, scale = 0.0, -np.inf, 1.0 / s[UNIT]
    for b in range(bins - 1, -1, -1):
        gain += excess(s, b, goal, scale)
        edge = b * width - EDGE
        s[logs + b] = s[KAPPA] * gain - s[LAMBDA] * abs(edge - centre)
        peak = max(peak, s[logs + b])
    total = 0.0
    for b in range(bins):
        log = s[logs + b] - peak
        s[logs + b] = math.exp(log) if log > FAINT else 0.0
        total += s[logs + b]
    if not total > 0.0:  # overflown: the cut stays, and the caller sees log-odds of nan
        return
    rest, b = 0.5 * total, 0
    while b < bins - 1 and rest > s[logs + b]:
        rest -= s[logs + b]
        b += 1
    upper = excess(s, b, goal, scale)
    lower = excess(s, b - 1, goal, scale) if b > 0 else upper
    inside = place_inside(
        rest / s[logs + b],
        s[KAPPA] * lower,
        s[KAPPA] * upper,
        s[LAMBDA] * width,
        (centre + EDGE) / width - b,
        int(s[CELLS]),
    )
    cut = (b + inside) * width - EDGE
    # the pull to the model's threshold grows with the memory, as errors would show
    doubt = 0.0 if s[WINDOW] > 0.0 else 1.0
    if s[FORGET] > 0.0:
        doubt -= s[FORGET] / memory(s)
    if doubt > 0.0:
        cut = centre + (1.0 - doubt * (1.0 - evidence(s, cut, centre))) * (cut - centre)
    s[CUT] = cut
    if s[GROW] > 0.0:
        expect(s)
    s[DUE] = s[ROWS] + min(256.0, 1.0 + math.floor(s[ROWS] / 32.0))


@inline_kernel
def count(s, z, y, w, rare):
    """Add a row to the histogram, and take out the one that leaves the window."""
    bins = int(s[BINS])
    b = 0
    if z >= EDGE:
        b = bins - 1
    elif z > -EDGE:
        b = min(int((z + EDGE) * (PER_BIN * bins)), bins - 1)
    if y:
        s[FOUND] += 1.0
        if s[FORGET] > 0.0:
            s[UNIT] *= 1.0 + 1.0 / memory(s)
    if s[GROW] > 0.0:
        # products instead of a branch that would often be mispredicted
        rate = s[HEADER + 3 * bins + b]
        informative = w * (rate >= 0.0)
        spread = informative * rate * (1.0 - rate)
        s[SURPLUS] += informative * (y - rate)
        s[SPREAD] += informative * spread
        s[SEEN] += spread
    s[HEADER + bins + b] += w * y * s[UNIT]
    s[HEADER + b] += w * s[UNIT]
    if rare is not None and s[WINDOW] > 0.0:
        ring = HEADER + 4 * bins + 2 * int(s[PLACE])
        if s[ROWS] > s[WINDOW]:
            old, weight = int(s[ring]), s[ring + 1]
            s[HEADER + old // 2] -= weight
            if old % 2 == 1:
                s[HEADER + bins + old // 2] -= weight
        s[ring], s[ring + 1] = 2.0 * b + (1.0 if y else 0.0), w
        s[PLACE] = 0.0 if s[PLACE] + 1.0 >= s[WINDOW] else s[PLACE] + 1.0
    if s[UNIT] > 1e100:
        for i in range(2 * bins):
            s[HEADER + i] /= s[UNIT]
        s[UNIT] = 1.0


@inner
def slide(s, predicted, y, w):
    """Remove the decision that leaves the window from the counts (OFO)."""
    ring = HEADER + 2 * int(s[PLACE])
    if s[ROWS] > s[WINDOW]:
        old, weight = int(s[ring]), s[ring + 1]
        s[N] -= weight
        if old >= 2:
            s[K] -= weight
        if old % 2 == 1:
            s[T] -= weight
        if old == 3:
            s[TP] -= weight
    s[ring], s[ring + 1] = (2.0 if predicted else 0.0) + (1.0 if y else 0.0), w
    s[PLACE] = 0.0 if s[PLACE] + 1.0 >= s[WINDOW] else s[PLACE] + 1.0


@inline_kernel
def decide(s, z, p, rare):
    """Return whether a row of log-odds z and probability p is predicted positive."""
    if rare is None or s[RULE] == HISTOGRAM:
        return z > s[CUT]
    return p >= s[THETA]


@inline_kernel
def add_decision(s, predicted, y, w):
    """Add a decided row to the counts n, t, k and tp."""
    s[N] += w
    s[T] += w * y
    s[K] += w * predicted
    s[TP] += w * (predicted & y)


@inline_kernel
def update_histogram(s, z, p, y, w, rare):
    """Update θ, count the row, and recompute the cut when it is due."""
    newton(s, p, y, w, rare)
    count(s, z, y, w, rare)
    if s[ROWS] >= s[DUE]:
        recompute(s, rare)


@inner
def update_usual(s, z, p, predicted, y, w):
    """Update the default rule with the label of a row decided as `predicted`."""
    s[ROWS] += 1.0
    add_decision(s, predicted, y, w)
    update_histogram(s, z, p, y, w, None)


@inline_kernel
def update_rare(s, z, p, predicted, y, w):
    """Update any rule with the label of a row decided as `predicted`."""
    rule = s[RULE]
    s[ROWS] += 1.0
    if s[RECENT] < 1.0 and y:
        for slot in range(TP, N + 1):
            s[slot] *= s[RECENT]
    if rule in (FOFO, SFO):
        fofo(s, p, y, w)
    elif rule == NEWTON:
        newton(s, p, y, w, True)
    elif rule == HISTOGRAM:
        add_decision(s, predicted, y, w)
        update_histogram(s, z, p, y, w, True)
    elif rule == OFO:
        add_decision(s, predicted, y, w)
        if s[WINDOW] > 0.0:
            slide(s, predicted, y, w)
        s[THETA] = shrunk_level(s, s[TP], s[K], s[T], s[N], s[MASS], s[CENTRE], True)


@inline_kernel
def threshold(s, rare):
    """Return the threshold on probabilities for the next row."""
    if rare is None or s[RULE] == HISTOGRAM:
        return sigmoid(s[CUT])
    return s[THETA]


@borrowing
def run_rule(s, rare, scores, is_logit, y, weight, pace, labels, thresholds):
    """Decide every row before its label is seen; weights are read at i·pace."""
    for i in range(scores.shape[0]):
        p = z = scores[i]
        if is_logit:
            p = sigmoid(z)
        else:
            z = logit(p)
        thresholds[i] = threshold(s, rare)
        predicted = decide(s, z, p, rare)
        labels[i] = predicted
        if weight[i * pace] > 0.0:
            if rare is None:
                update_usual(s, z, p, predicted, y[i] > 0, weight[i * pace])
            else:
                update_rare(s, z, p, predicted, y[i] > 0, weight[i * pace])
