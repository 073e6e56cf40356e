"""One class for every row, improved row by row until no row can be improved.

Of class c: k rows are given c, h = Σ p over these rows, μ = Σ p over all rows. Rows of
a group lie together, from starts[g] to starts[g+1]; every group is decided alone.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel

LINEAR, CURVED, PRODUCT, CORRELATION = 0, 1, 2, 3  # forms of the objective
LEAST_GAIN = 1e-12  # a smaller one is rounding


@inner
def class_sums(p, first, last, labels, h, k):
    """Σ p and number of the rows of every class."""
    h[:] = 0.0
    k[:] = 0.0
    for i in range(first, last):
        h[labels[i]] += p[i, labels[i]]
        k[labels[i]] += 1.0


@inner
def ratio_value(h, k, above, b_tp, b_k, truth, empty):
    """`above`·h / (b_tp·h + b_k·k + truth), and `empty` for no rows."""
    if k <= 0.0:
        return empty
    below = b_tp * h + b_k * k + truth
    return above * h / below if below > 0.0 else 0.0


@inner
def set_class(c, h, k, above, b_tp, b_k, truth, empty, value, slope, offset):
    """Value of class c now, and slope·p + offset, the gain of one more row.

    The gain is linear in p where tp does not stand below the line (b_tp = 0).
    """
    value[c] = ratio_value(h[c], k[c], above[c], b_tp, b_k, truth[c], empty[c])
    below = b_tp * h[c] + b_k * (k[c] + 1.0) + truth[c]
    slope[c] = above[c] / below if below > 0.0 else 0.0
    offset[c] = slope[c] * h[c] - value[c]


@inner
def climb_ratio(
    p, first, last, labels, curved, b_tp, b_k, above, truth, empty, most, floor, few,
    h, k, value, slope, offset,
):  # fmt: skip
    """Move rows while Σ_c above·h/(b_tp·h + b_k·k + truth) rises."""
    C = p.shape[1]
    class_sums(p, first, last, labels, h, k)
    for c in range(C):
        set_class(c, h, k, above, b_tp, b_k, truth, empty, value, slope, offset)
    for _ in range(MOST_SWEEPS):
        moved = 0
        for i in range(first, last):
            a = labels[i]
            if h[a] - p[i, a] < floor[a]:
                continue
            left = ratio_value(
                max(h[a] - p[i, a], 0.0),
                k[a] - 1.0,
                above[a],
                b_tp,
                b_k,
                truth[a],
                empty[a],
            )
            best, most_gain = a, value[a] - left + LEAST_GAIN
            for c in range(C):
                if curved:
                    q = h[c] + p[i, c]
                    below = b_tp * q + b_k * (k[c] + 1.0) + truth[c]
                    gain = above[c] * q / below - value[c] if below > 0.0 else -value[c]
                else:
                    gain = slope[c] * p[i, c] + offset[c]
                if gain > most_gain and c != a and k[c] < most[c]:
                    best, most_gain = c, gain
            if best != a:
                h[a], k[a] = max(h[a] - p[i, a], 0.0), k[a] - 1.0
                if k[a] <= 0.0:
                    h[a] = 0.0
                h[best] += p[i, best]
                k[best] += 1.0
                labels[i] = best
                for c in (a, best):
                    set_class(
                        c, h, k, above, b_tp, b_k, truth, empty, value, slope, offset
                    )
                moved += 1
        if moved <= few:
            break


@inner
def climb_product(p, first, last, labels, there, most, floor, few, h, k):
    """Move rows while Π_c h_c rises: a move helps where (1-p_a/h_a)(1+p_b/h_b) > 1.

    Classes that are there with a chance below one half keep the rows that they have.
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
def correlation(n, hits, chance, squares, truth):
    spread = (n * n - squares) * (n * n - truth)
    return (n * hits - chance) / math.sqrt(spread) if spread > 0.0 else 0.0


@inner
def climb_correlation(p, first, last, labels, mu, most, floor, few, h, k):
    """Move rows while (n·Σh − Σμk) / √((n² − Σk²)(n² − Σμ²)) rises."""
    C, n = p.shape[1], float(last - first)
    class_sums(p, first, last, labels, h, k)
    hits, chance, squares, truth = 0.0, 0.0, 0.0, 0.0
    for c in range(C):
        hits += h[c]
        chance += mu[c] * k[c]
        squares += k[c] * k[c]
        truth += mu[c] * mu[c]
    value = correlation(n, hits, chance, squares, truth)
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
                    chance + mu[c] - mu[a],
                    squares + 2.0 * (k[c] - k[a]) + 2.0,
                    truth,
                )
                if found > most_value:
                    best, most_value = c, found
            if best != a:
                hits += p[i, best] - p[i, a]
                chance += mu[best] - mu[a]
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
    `truth` is μ where the form is a correlation, `above` the chance that a class is
    there where it is a product. A sweep with at most `few` moves is
    the last.
    """
    C = p.shape[1]
    value, slope, offset = np.empty(C), np.empty(C), np.empty(C)
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
            climb_ratio(
                p, first, last, labels, form == CURVED, b_tp, b_k, above[g], truth[g],
                empty[g], most[g], floor[g], few, h[g], k[g], value, slope, offset,
            )  # fmt: skip


@kernel
def sums_of(p, starts, labels, mu, none, h, k):
    """Of every group and class: Σ p, Π (1-p), Σ p of its own rows, their number."""
    for g in range(starts.shape[0] - 1):
        mu[g, :] = 0.0
        none[g, :] = 1.0
        for i in range(starts[g], starts[g + 1]):
            for c in range(p.shape[1]):
                mu[g, c] += p[i, c]
                none[g, c] *= 1.0 - p[i, c]
        class_sums(p, starts[g], starts[g + 1], labels, h[g], k[g])


@kernel
def shares_of_mean(absent, x, w, shares):
    """E[1/N | class c is there], N the number of classes that are there.

    Class d is away with probability absent[g, d], one independent of the other:
    E[u^(N-1) | c is there] = Π_{d≠c} (absent_d + (1 - absent_d)·u), and 1/N is its
    integral over u from 0 to 1. `x` and `w` are nodes of Gauss and Legendre there.
    """
    C = absent.shape[1]
    for g in range(absent.shape[0]):
        shares[g, :] = 0.0
        for q in range(x.shape[0]):
            product = w[q]
            for d in range(C):
                product *= absent[g, d] + (1.0 - absent[g, d]) * x[q]
            for c in range(C):
                shares[g, c] += product / (absent[g, c] + (1.0 - absent[g, c]) * x[q])
