"""Linear learners over streams, one row after the other.

A learner's state is a header `model`, its `weights` and the recorded `history`. The
intercept is feature 0, so that features may be added behind.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import borrowing, inline_kernel, inner
from argmetric._ground.jit.lanes import four, over_root, put, two
from argmetric.stream.kernels.rules import (
    decide,
    sigmoid,
    threshold,
    update_rare,
    update_usual,
)

# Slots of a learner; the first twelve are those of every learner.
STEPS, RATE, MEMORY, INTERCEPT = 0, 1, 2, 3
HITS, PREDICTED, POSITIVES, WEIGHT = 4, 5, 6, 7
EVERY, LENGTH, RECORD, SEED = 8, 9, 10, 11
KIND, AVERAGE, LATE, LATE_GROWTH = 12, 13, 14, 15
FACTOR_A, FACTOR_B, START_A, START_B, TURN = 16, 17, 18, 19, 20
SHARE, EXPERTS, RATES, SINCE = 21, 22, 28, 34
MODEL = 35
SGD, ADAGRAD = 0, 1
PLAIN, POLYNOMIAL, SUFFIX = 0, 1, 2
RECORDS = 512
FIRST_ROW, ONE_ROW = np.uint64(0), np.uint64(1)  # unsigned: none from the end
# Per feature of the mixture: four members that take AdaGrad's steps, two of SGD, and
# sums of squares of the four.
STRIDE, PLAIN_STEPS, SQUARES = np.uint64(10), np.uint64(4), np.uint64(6)
AVERAGED = 3  # place of v among the weights of a feature of the mixture


@inner
def record(model, history, theta):
    """Append the counts and a threshold to the history.

    Drop every second one when full.
    """
    place = int(model[LENGTH])
    history[place, 0] = model[STEPS]
    for slot in range(4):
        history[place, 1 + slot] = model[HITS + slot]
    history[place, 5] = theta
    place += 1
    if place == RECORDS:
        place //= 2
        for i in range(place):
            for slot in range(6):
                history[i, slot] = history[2 * i + 1, slot]
        model[EVERY] *= 2.0
    model[LENGTH] = place
    model[RECORD] = model[STEPS] + model[EVERY]


@inline_kernel
def tally(model, predicted, positive, w):
    """Count the row, and return whether a record is due."""
    model[STEPS] += 1.0
    model[WEIGHT] += w
    model[POSITIVES] += w * positive
    model[PREDICTED] += w * predicted
    model[HITS] += w * (predicted & positive)
    return model[STEPS] >= model[RECORD]


@inner
def learn_averages(model, weights):
    """Advance the weights of the averages; return the factors of δ for v_A and v_B.

    An average u ← (1-a)·u + a·w is kept as u = w + c·v with c ← (1-a)·c and
    v ← v - δ/c for w ← w + δ, so that a sparse row touches its own features alone.
    """
    t = model[STEPS] - model[SINCE]
    if model[AVERAGE] == POLYNOMIAL:
        before = model[FACTOR_A]
        if before < 1e-150:
            for j in range(weights.shape[1]):
                weights[2, j] *= before
            before = 1.0
        if t == 0.0:
            return 0.0, 0.0
        model[FACTOR_A] = before * (1.0 - 4.0 / (min(t, model[MEMORY]) + 4.0))
        return 1.0 / before, 0.0
    if t >= model[TURN]:
        for j in range(weights.shape[1]):
            weights[2, j] = weights[3, j]
            weights[3, j] = 0.0
        model[FACTOR_A], model[FACTOR_B] = model[FACTOR_B], 1.0
        model[START_A], model[START_B] = model[START_B], t
        model[TURN] = 2.0 * t
    first, second = 0.0, 0.0
    if t > model[START_A]:  # the first iterate of a run is its average
        first = 1.0 / model[FACTOR_A]
        model[FACTOR_A] = 1.0 / (t - model[START_A] + 1.0)
    if t > model[START_B]:
        second = 1.0 / model[FACTOR_B]
        model[FACTOR_B] = 1.0 / (t - model[START_B] + 1.0)
    return first, second


@inner
def age(model, weights, first, last):
    """Fade the sums of squares: newer squares count more, rescaled when large."""
    model[LATE] *= model[LATE_GROWTH]
    if model[LATE] > 1e100:
        for row in range(first, last):
            for j in range(weights.shape[1]):
                weights[row, j] /= model[LATE]
        model[LATE] = 1.0


@inner
def move(weights, j, delta, first, second):
    """Set w_j ← w_j + δ, and update its averages."""
    weights[0, j] += delta
    if first > 0.0:
        weights[2, j] -= first * delta
    if second > 0.0:
        weights[3, j] -= second * delta


@inner
def descend(model, weights, j, x, slope, rate, first, second):
    """Take a step of one feature, by SGD or AdaGrad."""
    g = slope * x
    if model[KIND] == SGD:
        move(weights, j, -rate * g, first, second)
    elif g != 0.0:
        weights[1, j] += model[LATE] * g * g
        scale = math.sqrt(weights[1, j] / model[LATE])
        if scale > 0.0:
            move(weights, j, -rate * g / scale, first, second)


@inline_kernel
def linear_rate(model):
    """Return the step size: c/√t for SGD, c for AdaGrad."""
    if model[KIND] == ADAGRAD:
        return model[RATE]
    t = model[STEPS] - model[SINCE]
    return model[RATE] / math.sqrt(min(t + 1.0, model[MEMORY]))


@borrowing
def linear_sparse(matrix, whole, given, s, rare, arrays, out):
    """Run SGD or AdaGrad on the rows of a CSR matrix, with or without averaging.

    Rows of a dense matrix are `whole`: they have all columns in order, zeros too. Each
    row is decided by the rule `s` before it is learned; `rare` is None for the default
    rule (see `rules`). Weights of rows are read at i·pace (0: all are 1); without
    `learn` nothing is changed. Rows of `weights`: w, sums of squares, and the averages
    (see `learn_averages`). `labels` and `z` are filled with decisions and log-odds.
    """
    (indptr, indices, data), (y, weight, pace, learn) = matrix, given
    (model, weights, history), (labels, z) = arrays, out
    averaged = model[AVERAGE] != PLAIN
    plain = weights[0]
    body = plain[1:]
    simple = model[KIND] == SGD and not averaged
    bias = model[INTERCEPT]
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        inner = bias * plain[0]
        if whole:
            # four sums side by side: one alone would wait for each addition
            a1, a2, a3 = 0.0, 0.0, 0.0
            row = data[start:stop]
            for j in range(0, row.size - 3, 4):
                inner += row[j] * body[j]
                a1 += row[j + 1] * body[j + 1]
                a2 += row[j + 2] * body[j + 2]
                a3 += row[j + 3] * body[j + 3]
            for j in range(row.size - row.size % 4, row.size):
                inner += row[j] * body[j]
            inner = (inner + a1) + (a2 + a3)
        else:
            for e in range(start, stop):
                inner += data[e] * body[indices[e]]
        outer = inner
        if averaged:
            lag = bias * weights[2, 0]
            for e in range(start, stop):
                j = e - start if whole else indices[e]
                lag += data[e] * weights[2, j + 1]
            outer += model[FACTOR_A] * lag
        p = sigmoid(outer)
        predicted = decide(s, outer, p, rare)
        labels[i], z[i] = predicted, outer
        if not learn:
            continue
        w = weight[i * pace]
        if w == 0.0:
            continue
        positive = y[i] > 0
        if rare is None:
            update_usual(s, outer, p, predicted, positive, w)
        else:
            update_rare(s, outer, p, predicted, positive, w)
        if averaged:
            p = sigmoid(inner)
        slope = w * (p - 1.0 if positive else p)
        rate = linear_rate(model)
        if simple:
            step = rate * slope
            plain[0] -= bias * step
            if whole:
                for j in range(stop - start):
                    body[j] -= step * data[start + j]
            else:
                for e in range(start, stop):
                    body[indices[e]] -= step * data[e]
        else:
            first, second = 0.0, 0.0
            if averaged:
                first, second = learn_averages(model, weights)
            if model[LATE_GROWTH] > 1.0:
                age(model, weights, 1, 2)
            if bias > 0.0:
                descend(model, weights, 0, 1.0, slope, rate, first, second)
            for e in range(start, stop):
                j = e - start if whole else indices[e]
                descend(model, weights, j + 1, data[e], slope, rate, first, second)
        if tally(model, predicted, positive, w):
            record(model, history, threshold(s, rare))


@inner
def rescale(model, weights):
    """Reset the units of the mixture's averages and squares to 1.

    Each feature has STRIDE weights: v stands for v·FACTOR_A, and the sums of squares,
    from SQUARES on, for their values over LATE.
    """
    for start in range(0, weights.shape[0], STRIDE):
        weights[start + AVERAGED] *= model[FACTOR_A]
        for k in range(start + SQUARES, start + STRIDE):
            weights[k] /= model[LATE]
    model[FACTOR_A] = model[LATE] = 1.0


@inline_kernel
def at_feature(indices, e):
    """Return the position of a feature of the mixture; the intercept is first."""
    return STRIDE * (np.uint64(indices[e]) + ONE_ROW)


@borrowing
def mixture_sparse(matrix, given, s, rare, arrays, scratch, out):
    """Run the fixed-share mixture on the rows of a CSR matrix.

    Per feature: weights of AdaGrad with three steps, v of the average u = w + c·v of
    the second, weights of SGD with two steps, and AdaGrad's sums of squares, that of
    the second twice: v takes the steps of w, in another unit.
    """
    (indptr, indices, data), (y, weight, pace, learn) = matrix, given
    (model, weights, history), (labels, z) = arrays, out
    inner, up, down = scratch[0], scratch[1], scratch[2]
    steps, squares = scratch[3], scratch[4]
    bias = model[INTERCEPT]
    before = 1 if bias > 0.0 else 0  # the intercept stands one before the first
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        first, last = bias * four(weights, 0), bias * two(weights, 4)
        second, latter = 0.0 * first, 0.0 * last
        # two sums side by side: one alone would wait for each addition
        for e in range(start, stop - 1, 2):
            j, x = at_feature(indices, e), data[e]
            first = first + x * four(weights, j)
            last = last + x * two(weights, j + PLAIN_STEPS)
            j, x = at_feature(indices, e + 1), data[e + 1]
            second = second + x * four(weights, j)
            latter = latter + x * two(weights, j + PLAIN_STEPS)
        for e in range(stop - (stop - start) % 2, stop):
            j, x = at_feature(indices, e), data[e]
            first = first + x * four(weights, j)
            last = last + x * two(weights, j + PLAIN_STEPS)
        first, last = first + second, last + latter
        put(inner, 0, first)
        put(inner, 4, last)
        inner[3] = inner[1] + model[FACTOR_A] * inner[3]
        p, q = 0.0, 0.0
        for k in range(6):
            small = math.exp(-abs(inner[k]))
            large = 1.0 / (1.0 + small)
            small *= large
            up[k] = large if inner[k] >= 0.0 else small
            down[k] = small if inner[k] >= 0.0 else large
            p += model[EXPERTS + k] * up[k]
            q += model[EXPERTS + k] * down[k]
        # q is summed by itself: 1 - p has no digits left where p is close to 1
        outer = math.log(max(p, 1e-300) / max(q, 1e-300))
        p /= p + q
        predicted = decide(s, outer, p, rare)
        labels[i], z[i] = predicted, outer
        if not learn:
            continue
        w = weight[i * pace]
        if w == 0.0:
            continue
        positive = y[i] > 0
        if rare is None:
            update_usual(s, outer, p, predicted, positive, w)
        else:
            update_rare(s, outer, p, predicted, positive, w)
        # Bayes' rule for the experts, then a small share for each of them
        total = 0.0
        for k in range(6):
            likely = up[k] if positive else down[k]
            inner[k] = -w * down[k] if positive else w * up[k]
            if w != 1.0:
                likely = likely**w
            model[EXPERTS + k] *= likely
            total += model[EXPERTS + k]
        keep = (1.0 - model[SHARE]) / total if total > 0.0 else 0.0
        share = model[SHARE] / 6.0 if total > 0.0 else 1.0 / 6.0
        for k in range(6):
            model[EXPERTS + k] = keep * model[EXPERTS + k] + share
        t = model[STEPS] - model[SINCE]
        lag = 0.0
        if t > 0.0:
            lag = 1.0 / model[FACTOR_A]
            model[FACTOR_A] *= 1.0 - 4.0 / (min(t, model[MEMORY]) + 4.0)
        if model[LATE_GROWTH] > 1.0:
            model[LATE] *= model[LATE_GROWTH]
        root = 1.0 / math.sqrt(min(t + 1.0, model[MEMORY]))
        # squares in units of LATE ask for steps in units of √LATE
        gain, unit = model[LATE], math.sqrt(model[LATE])
        inner[3] = inner[1]
        for k in range(4):
            steps[k] = unit * model[RATES + k] * inner[k]
            squares[k] = gain * inner[k] * inner[k]
        steps[3] *= -lag
        steps[4] = root * model[RATES + 4] * inner[4]
        steps[5] = root * model[RATES + 5] * inner[5]
        first, added, last = four(steps, 0), four(squares, 0), two(steps, 4)
        for e in range(start - before, stop):
            j, x = FIRST_ROW, 1.0
            if e >= start:
                j, x = at_feature(indices, e), data[e]
            total = four(weights, j + SQUARES) + x * x * added
            moved = four(weights, j) - over_root(x * first, total)
            others = two(weights, j + PLAIN_STEPS) - x * last
            put(weights, j, moved)
            put(weights, j + PLAIN_STEPS, others)
            put(weights, j + SQUARES, total)
        if tally(model, predicted, positive, w):
            record(model, history, threshold(s, rare))
        if model[FACTOR_A] < 1e-150 or model[LATE] > 1e100:
            rescale(model, weights)


@borrowing
def compress(X, indptr, indices, data):
    """Fill the arrays of a CSR matrix from dense rows without zeros.

    They are large enough.
    """
    here = FIRST_ROW
    for i in range(X.shape[0]):
        indptr[i] = here
        for j in range(X.shape[1]):
            # written over where it is 0: no branch to guess wrongly
            indices[here] = j
            data[here] = X[i, j]
            here += np.uint64(X[i, j] != 0.0)
    indptr[X.shape[0]] = here
