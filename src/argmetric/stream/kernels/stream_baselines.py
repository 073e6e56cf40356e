"""STAMP and OMCSL: learners that have their own decision rule.

The first twelve slots of `model` are those of every learner.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import kernel
from argmetric.stream.kernels.rules import sigmoid
from argmetric.stream.kernels.stream import (
    INTERCEPT,
    MEMORY,
    POSITIVES,
    RATE,
    SEED,
    STEPS,
    WEIGHT,
    record,
    tally,
)

C0, C1, C2, C3, D0, D1, D2, D3 = 12, 13, 14, 15, 16, 17, 18, 19
LEVEL, LEARNING, LEFT, EPOCH = 20, 21, 22, 23
REWARD_1, ROWS_1, REWARD_0, ROWS_0 = 24, 25, 26, 27
CHOSEN, TALLIES = 28, 29  # OMCSL: tp and k of each of the ten learners
LEARNERS = 10
MODEL = 49


@kernel
def softplus(z):
    """Return log(1 + e^z) without overflow."""
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


@kernel
def cost(model, value):
    """Return the share of the weight that positives get at this level of the metric.

    Of Φ = N/D, N - value·D gains c1 + c2 - value·(d1+d2) by a hit and loses
    value·d2 - c2 by a false alarm.
    """
    hit = model[C1] + model[C2] - value * (model[D1] + model[D2])
    alarm = value * model[D2] - model[C2]
    share = max(hit, 0.0) / (max(hit, 0.0) + max(alarm, 0.0) + 1e-300)
    return min(max(share, 0.01), 0.99)


@kernel
def ratio(model, tp, k, t, n):
    """Return the metric at these counts, within [0, 1]; 0 at 0/0."""
    top = model[C0] * n + model[C1] * tp + model[C2] * k + model[C3] * t
    bottom = model[D0] * n + model[D1] * tp + model[D2] * k + model[D3] * t
    return min(max(top / bottom, 0.0), 1.0) if bottom > 0.0 else 0.0


@kernel
def stamp_level(model, z, positive, w):
    """Add a row's logistic reward 1 - log₂(1 + e^∓z); at the end set the new level."""
    if positive:
        model[REWARD_1] += w * (1.0 - softplus(-z) / math.log(2.0))
        model[ROWS_1] += w
    else:
        model[REWARD_0] += w * (1.0 - softplus(z) / math.log(2.0))
        model[ROWS_0] += w
    model[LEFT] -= 1.0
    if model[LEFT] > 0.0:
        return
    if model[ROWS_1] > 0.0 and model[ROWS_0] > 0.0:
        share = (model[POSITIVES] + (w if positive else 0.0)) / (model[WEIGHT] + w)
        tpr = min(max(model[REWARD_1] / model[ROWS_1], 0.0), 1.0)
        tnr = min(max(model[REWARD_0] / model[ROWS_0], 0.0), 1.0)
        k = share * tpr + (1.0 - share) * (1.0 - tnr)
        model[LEVEL] = ratio(model, share * tpr, k, share, 1.0)
    for slot in range(REWARD_1, ROWS_0 + 1):
        model[slot] = 0.0
    model[LEARNING] = 1.0
    model[EPOCH] = math.ceil(1.2 * model[EPOCH])
    model[LEFT] = model[EPOCH]


@kernel
def stamp_row(indices, data, start, stop, positive, w, learn, model, weights, history):
    """Process a row by STAMP.

    Return its log-odds, corrected for the costs, and label.
    """
    bias = model[INTERCEPT]
    z = bias * weights[0, 0]
    for e in range(start, stop):
        z += data[e] * weights[0, indices[e] + 1]
    share = cost(model, model[LEVEL])
    outer, predicted = z - math.log(share / (1.0 - share)), z > 0.0
    if not learn or w == 0.0:
        return outer, predicted
    if model[LEARNING] > 0.0:
        slope = -share * sigmoid(-z) if positive else (1.0 - share) * sigmoid(z)
        step = w * slope * model[RATE]
        step /= math.sqrt(min(model[STEPS] + 1.0, model[MEMORY]))
        weights[0, 0] -= bias * step
        for e in range(start, stop):
            weights[0, indices[e] + 1] -= step * data[e]
        model[LEFT] -= 1.0
        if model[LEFT] <= 0.0:
            model[LEARNING] = 0.0
            model[LEFT] = math.ceil(0.25 * model[EPOCH])
    else:
        stamp_level(model, z, positive, w)
    if tally(model, predicted, positive, w):
        record(model, history, 1.0 - share)
    return outer, predicted


@kernel
def uniform(seed, t):
    """Return a number in [0, 1) for row t, by two rounds of splitmix."""
    x = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64(t) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x94D049BB133111EB)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def omcsl_score(model, k):
    """Return the metric so far of learner k, one of ten."""
    tp, predicted = model[TALLIES + 2 * k], model[TALLIES + 2 * k + 1]
    return ratio(model, tp, predicted, model[POSITIVES], model[WEIGHT])


@kernel
def omcsl_pick(model, best):
    """Return the learner that decides: random by exp(√(8·ln10·n)·Φ_k), or the best."""
    eta = math.sqrt(8.0 * math.log(10.0) * model[STEPS])
    peak, leader = -1.0, 0
    for k in range(LEARNERS):
        value = omcsl_score(model, k)
        if value > peak:
            peak, leader = value, k
    if best:
        return leader
    total = 0.0
    for turn in range(2):
        rest = uniform(model[SEED], model[STEPS]) * total
        for k in range(LEARNERS):
            odds = math.exp(eta * (omcsl_score(model, k) - peak))
            if turn == 0:
                total += odds
            else:
                rest -= odds
                if rest < 0.0:
                    return k
    return leader


@kernel
def omcsl_row(
    indices, data, start, stop, positive, w, learn, model, weights, history, z
):
    """Process a row by OMCSL.

    Return its log-odds, corrected for the costs, and label.
    """
    bias = model[INTERCEPT]
    for k in range(LEARNERS):
        z[k] = bias * weights[0, k]
    for e in range(start, stop):
        x, j = data[e], indices[e] + 1
        for k in range(LEARNERS):
            z[k] += x * weights[j, k]
    pick = omcsl_pick(model, not learn)
    chosen = cost(model, (pick + 0.5) / LEARNERS)
    outer, predicted = z[pick] - math.log(chosen / (1.0 - chosen)), z[pick] > 0.0
    if not learn or w == 0.0:
        return outer, predicted
    rate = w * model[RATE] / math.sqrt(min(model[STEPS] + 1.0, model[MEMORY]))
    for k in range(LEARNERS):
        if z[k] > 0.0:
            model[TALLIES + 2 * k + 1] += w
            if positive:
                model[TALLIES + 2 * k] += w
        share = cost(model, (k + 0.5) / LEARNERS)
        if positive:
            z[k] = -rate * share * sigmoid(-z[k])
        else:
            z[k] = rate * (1.0 - share) * sigmoid(z[k])
        weights[0, k] -= bias * z[k]
    for e in range(start, stop):
        x, j = data[e], indices[e] + 1
        for k in range(LEARNERS):
            weights[j, k] -= z[k] * x
    model[CHOSEN] = pick
    if tally(model, predicted, positive, w):
        record(model, history, 1.0 - chosen)
    return outer, predicted


@kernel
def baseline_sparse(matrix, given, omcsl, arrays, out):
    """Run STAMP or OMCSL on the rows of a CSR matrix."""
    (indptr, indices, data), (y, weight, pace, learn) = matrix, given
    (model, weights, history), (labels, logits) = arrays, out
    z = np.empty(LEARNERS)
    true, w = False, 0.0
    for i in range(indptr.shape[0] - 1):
        if learn:
            true, w = y[i] > 0, weight[i * pace]
        start, stop = indptr[i], indptr[i + 1]
        if omcsl:
            logits[i], labels[i] = omcsl_row(
                indices, data, start, stop, true, w, learn, model, weights, history, z
            )
        else:
            logits[i], labels[i] = stamp_row(
                indices, data, start, stop, true, w, learn, model, weights, history
            )
