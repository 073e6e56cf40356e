"""One class for every row, improved row by row until no row can be improved.

Of class c: k rows are given c, h = Σ p over these rows, μ = Σ p over all rows. Rows of
a group lie together, from starts[g] to starts[g+1]; every group is decided alone.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._ground.jit import inner, kernel
from argmetric._ground.types import Floats

RATIO, PRODUCT, CORRELATION = 0, 1, 2  # forms of the objective
LEAST_GAIN = 1e-12  # a smaller one is rounding


class Ratio(NamedTuple):
    """Value of class c: above[c]·h / (b_tp·h + b_k·k + truth[c]); empty[c] if k = 0.

    Arrays have the shape (n_classes,).
    """

    b_tp: float
    b_k: float
    above: Floats
    truth: Floats
    empty: Floats


class ClassState(NamedTuple):
    """Sums, value and gain of one more row, slope·p + offset, of every class.

    Arrays have the shape (n_classes,).
    """

    h: Floats
    k: Floats
    value: Floats
    slope: Floats
    offset: Floats


@inner
def class_sums(p, first, last, labels, h, k):
    """Write Σ p and number of the rows of every class."""
    h[:] = 0.0
    k[:] = 0.0
    for i in range(first, last):
        h[labels[i]] += p[i, labels[i]]
        k[labels[i]] += 1.0


@inner
def ratio_value(ratio, c, h, k):
    """Return the value of class c with the sums h and k."""
    if k <= 0.0:
        return ratio.empty[c]
    below = ratio.b_tp * h + ratio.b_k * k + ratio.truth[c]
    return ratio.above[c] * h / below if below > 0.0 else 0.0


@inner
def set_class(ratio, c, state):
    """Write the value of class c now, and slope·p + offset, the gain of one more row.

    The gain is linear in p where tp does not stand below the line (b_tp = 0).
    """
    h, k = state.h[c], state.k[c]
    state.value[c] = ratio_value(ratio, c, h, k)
    below = ratio.b_tp * h + ratio.b_k * (k + 1.0) + ratio.truth[c]
    state.slope[c] = ratio.above[c] / below if below > 0.0 else 0.0
    state.offset[c] = state.slope[c] * h - state.value[c]


@inner
def climb_ratio(p, first, last, labels, ratio, most, floor, few, state):
    """Move rows of a group while the sum of the values of its classes rises.

    A class is given at most most[c] rows, and keeps a Σ p of floor[c]. A sweep with at
    most `few` moves is the last. `labels` and `state` are written.
    """
    C = p.shape[1]
    h, k = state.h, state.k
    class_sums(p, first, last, labels, h, k)
    for c in range(C):
        set_class(ratio, c, state)
    for _ in range(MOST_SWEEPS):
        moved = 0
        for i in range(first, last):
            a = labels[i]
            if h[a] - p[i, a] < floor[a]:
                continue
            left = ratio_value(ratio, a, max(h[a] - p[i, a], 0.0), k[a] - 1.0)
            best, most_gain = a, state.value[a] - left + LEAST_GAIN
            for c in range(C):
                if ratio.b_tp != 0.0:
                    grown = ratio_value(ratio, c, h[c] + p[i, c], k[c] + 1.0)
                    gain = grown - state.value[c]
                else:
                    gain = state.slope[c] * p[i, c] + state.offset[c]
                if gain > most_gain and c != a and k[c] < most[c]:
                    best, most_gain = c, gain
            if best != a:
                h[a], k[a] = max(h[a] - p[i, a], 0.0), k[a] - 1.0
                if k[a] <= 0.0:
                    h[a] = 0.0
                h[best] += p[i, best]
                k[best] += 1.0
                labels[i] = best
                set_class(ratio, a, state)
                set_class(ratio, best, state)
                moved += 1
        if moved <= few:
            break


@inner
def climb_product(p, first, last, labels, there, most, floor, few, h, k):
    """Move rows while Π_c h_c rises: a move helps where (1-p_a/h_a)(1+p_b/h_b) > 1.

    Classes that are there with a probability below one half keep the rows they have.
    """
    C = p.shape[1]
    class_sums(p, first, last, labels, h, k)
    for _ in range(MOST_SWEEPS):
        moved = 0
        for i in range(first, last):
            a = labels[i]
            left = h[a] - p[i, a]
            if left < floor[a] or (k[a] <= 1.0 and h[a] > 0.0) or there[a] < 0.5:
                continue
            best, most_ratio = a, 0.0
            for c in range(C):
                if c != a and k[c] < most[c] and p[i, c] > 0.0 and there[c] >= 0.5:
                    ratio = p[i, c] / h[c] if h[c] > 0.0 else math.inf
                    if ratio > most_ratio:
                        best, most_ratio = c, ratio
            if best == a:
                continue
            keep = left / h[a] if h[a] > 0.0 else 1.0
            if most_ratio == math.inf or keep * (1.0 + most_ratio) > 1.0 + LEAST_GAIN:
                h[a], k[a] = max(left, 0.0), k[a] - 1.0
                h[best] += p[i, best]
                k[best] += 1.0
                labels[i] = best
                moved += 1
        if moved <= few:
            break


@inner
def correlation(n, hits, random_hits, squares, truth):
    """Return (n·hits - random_hits) / √((n² - squares)·(n² - truth)), 0 without one."""
    spread = (n * n - squares) * (n * n - truth)
    return (n * hits - random_hits) / math.sqrt(spread) if spread > 0.0 else 0.0


@inner
def climb_correlation(p, first, last, labels, mu, most, floor, few, h, k):
    """Move rows while (n·Σh − Σμk) / √((n² − Σk²)(n² − Σμ²)) rises."""
    C, n = p.shape[1], float(last - first)
    class_sums(p, first, last, labels, h, k)
    hits, random_hits, squares, truth = 0.0, 0.0, 0.0, 0.0
    for c in range(C):
        hits += h[c]
        random_hits += mu[c] * k[c]
        squares += k[c] * k[c]
        truth += mu[c] * mu[c]
    value = correlation(n, hits, random_hits, squares, truth)
    for _ in range(MOST_SWEEPS):
        moved = 0
        for i in range(first, last):
            a = labels[i]
            if h[a] - p[i, a] < floor[a]:
                continue
            best, most_value = a, value + LEAST_GAIN
            for c in range(C):
                if c == a or k[c] >= most[c]:
                    continue
                found = correlation(
                    n,
                    hits + p[i, c] - p[i, a],
                    random_hits + mu[c] - mu[a],
                    squares + 2.0 * (k[c] - k[a]) + 2.0,
                    truth,
                )
                if found > most_value:
                    best, most_value = c, found
            if best != a:
                hits += p[i, best] - p[i, a]
                random_hits += mu[best] - mu[a]
                squares += 2.0 * (k[best] - k[a]) + 2.0
                h[a], k[a] = h[a] - p[i, a], k[a] - 1.0
                h[best] += p[i, best]
                k[best] += 1.0
                labels[i], value = best, most_value
                moved += 1
        if moved <= few:
            break


MOST_SWEEPS = 100


@kernel
def climb(
    p, starts, labels, form, b_tp, b_k, above, truth, empty, most, floor, few, h, k
):
    """Improve the labels of every group in place; h and k are sums of its classes.

    `above`, `truth`, `empty`, `most`, `floor`, `h` and `k` have a row for every group.
    `truth` is μ where the form is a correlation, `above` the probability that a class
    is there where it is a product. A sweep with at most `few` moves is the last.
    """
    value, slope, offset = np.empty((3, p.shape[1]))
    for g in range(starts.shape[0] - 1):
        first, last = starts[g], starts[g + 1]
        if form == PRODUCT:
            climb_product(
                p, first, last, labels, above[g], most[g], floor[g], few, h[g], k[g]
            )
        elif form == CORRELATION:
            climb_correlation(
                p, first, last, labels, truth[g], most[g], floor[g], few, h[g], k[g]
            )
        else:
            ratio = Ratio(b_tp, b_k, above[g], truth[g], empty[g])
            state = ClassState(h[g], k[g], value, slope, offset)
            climb_ratio(p, first, last, labels, ratio, most[g], floor[g], few, state)


@kernel
def sums_of(p, starts, labels, mu, none, h, k):
    """Write Σ p, Π (1-p), Σ p of its own rows and their number, by group and class."""
    for g in range(starts.shape[0] - 1):
        mu[g, :] = 0.0
        none[g, :] = 1.0
        for i in range(starts[g], starts[g + 1]):
            for c in range(p.shape[1]):
                mu[g, c] += p[i, c]
                none[g, c] *= 1.0 - p[i, c]
        class_sums(p, starts[g], starts[g + 1], labels, h[g], k[g])


@kernel
def presence_weights(absent, x, w, weights):
    """Write E[1/N | class c is there], N the number of classes that are there.

    Class d is away with probability absent[g, d], one independent of the other:
    E[u^(N-1) | c is there] = Π_{d≠c} (absent_d + (1 - absent_d)·u), and 1/N is its
    integral over u from 0 to 1. `x` and `w` are nodes of Gauss and Legendre there.
    """
    C = absent.shape[1]
    for g in range(absent.shape[0]):
        weights[g, :] = 0.0
        for q in range(x.shape[0]):
            product = w[q]
            for d in range(C):
                product *= absent[g, d] + (1.0 - absent[g, d]) * x[q]
            for c in range(C):
                weights[g, c] += product / (absent[g, c] + (1.0 - absent[g, c]) * x[q])
