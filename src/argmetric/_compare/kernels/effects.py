"""Log-odds of bins under parameters of the model, and the likelihood of labels.

Rows of all arrays of particles are particles, columns bins, patterns or systems.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from argmetric._ground.jit import inner, kernel

FACTORS = 16  # of a rising factorial that are multiplied; beyond them Stirling's series
FURTHEST = 35.0  # log-odds of a bin
STEPS = 12  # of Newton's method, at most
LARGEST_STEP = 3.0  # of it, on the log-odds
RIDGE = 1e-4  # keeps the slope that holds the calibration finite
# Log-odds beyond which a rate is extrapolated, and what its standard deviation rises by
SURE, BEYOND_SURE = 3.0, 0.25
CLOSE = 1e-7  # a mean probability that is met


@inner
def expit(x):
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


@inner
def log_rising(a, n):
    """Return log(a·(a + 1)···(a + n - 1)), for a > 0 and a whole n."""
    product = 1.0
    for i in range(min(n, FACTORS)):
        product *= a + i
    total = math.log(product)
    if n > FACTORS:
        more = n - FACTORS
        low, high = a + FACTORS, a + n
        total += (low - 0.5) * math.log1p(more / low) - more + more * math.log(high)
        total += (1.0 / high - 1.0 / low) / 12.0
        total -= (1.0 / high**3 - 1.0 / low**3) / 360.0
        total += (1.0 / high**5 - 1.0 / low**5) / 1260.0
    return total


@inner
def shift_to_mean(x, weight, mean):
    """Return c so that Σ weight·expit(x + c) is the mean, by Newton on its log-odds.

    The log-odds of a mean of probabilities are nearly linear in c.
    """
    c, wanted = 0.0, math.log(mean) - math.log(1.0 - mean)
    for _ in range(STEPS):
        p = slope = 0.0
        for i in range(x.shape[0]):
            one = expit(x[i] + c)
            p += weight[i] * one
            slope += weight[i] * one * (1.0 - one)
        p = min(max(p, 1e-300), 1.0 - 1e-16)
        if abs(p - mean) <= CLOSE * min(mean, 1.0 - mean):
            break
        step = (wanted - math.log(p) + math.log(1.0 - p)) * p * (1.0 - p)
        step /= max(slope, 1e-300)
        c += min(max(step, -LARGEST_STEP), LARGEST_STEP)
    return c


@inner
def hold_calibration(base, moved, y, weight, part, out):
    """Add c₀ + c₁·y to `moved`, so that means of its probabilities are those of `base`.

    Σ weight·(expit(moved + c₀ + c₁·y) - expit(base))·(1, y) = 0: a logistic regression
    of the probabilities of `base` on y, with `moved` as its offset. Only a `part` of it
    is added.
    """
    c0 = c1 = 0.0
    for i in range(base.shape[0]):
        out[i] = expit(base[i])
    for _ in range(STEPS):
        g0 = g1 = h0 = h1 = h2 = 0.0
        for i in range(base.shape[0]):
            p = expit(moved[i] + c0 + c1 * y[i])
            rest = weight[i] * (out[i] - p)
            w = weight[i] * p * (1.0 - p)
            g0 += rest
            g1 += rest * y[i]
            h0 += w
            h1 += w * y[i]
            h2 += w * y[i] * y[i]
        g1 -= RIDGE * c1
        h0 += 1e-9
        h2 += RIDGE
        below = max(h0 * h2 - h1 * h1, 1e-300)
        d0, d1 = (h2 * g0 - h1 * g1) / below, (h0 * g1 - h1 * g0) / below
        c0 += min(max(d0, -LARGEST_STEP), LARGEST_STEP)
        c1 += min(max(d1, -LARGEST_STEP), LARGEST_STEP)
        if abs(d0) + abs(d1) < 1e-4:
            break
    for i in range(base.shape[0]):
        out[i] = moved[i] + part * (c0 + c1 * y[i])


@kernel
def bin_odds(curve, system, which, bins, pattern, sign, prevalence, held, out):
    """Write the log-odds of bins without the effects of patterns.

    curve : (particles, 3) level a, slope b and bend t; b = 0: log-odds are
        a + ½·logit(prevalence) + Σ ±e, whatever x is
    system : (particles, systems) effects e
    which : (particles) number of the calibrator
    bins : (calibrators + 4, bins) log-odds x under each calibrator, then the ranks z as
        normal scores, constants, standardised scores, and weights
    pattern : (bins) number of its pattern
    sign : (systems, patterns) 1 where a system predicts a positive, else -1
    prevalence : (calibrators) mean probability
    held : (particles) effect of a system up to which the judge stays calibrated; from
        twice as much on nothing is held
    out : (particles, bins)
    """
    n_bins, effects = bins.shape[1], system.shape[1]
    z, constant, y, weight = bins[-4], bins[-3], bins[-2], bins[-1]
    base, moved = np.empty(n_bins), np.empty(n_bins)
    for i in range(curve.shape[0]):
        x = bins[which[i]]
        level, slope, bend = curve[i]
        if slope == 0.0:  # scores say nothing beyond the predictions
            mean = prevalence[which[i]]
            middle = level + (math.log(mean) - math.log(1.0 - mean)) / 2.0
            for c in range(n_bins):
                odds = middle
                for j in range(effects):
                    odds += system[i, j] * sign[j, pattern[c]]
                out[i, c] = min(max(odds, -FURTHEST), FURTHEST)
            continue
        for c in range(n_bins):
            base[c] = slope * x[c] + bend * z[c]
        shift = level
        if slope != 1.0 or bend != 0.0:
            shift += shift_to_mean(base, weight, prevalence[which[i]])
        most = 0.0
        for j in range(effects):
            most = max(most, abs(system[i, j]))
        part = min(max(2.0 - most / held[i], 0.0), 1.0)
        for c in range(n_bins):
            base[c] = min(max(base[c] + shift + constant[c], -FURTHEST), FURTHEST)
            moved[c] = base[c]
            for j in range(effects):
                moved[c] += system[i, j] * sign[j, pattern[c]]
        if most == 0.0 or part == 0.0:
            out[i] = moved
        else:
            hold_calibration(base, moved, y, weight, part, out[i])


@inner
def stratum_means(odds, effect, spread, places, share, mean, rest):
    """Write the mean probability of a positive, and of a negative, of each stratum.

    `spread`: constants that keep means over the effects of patterns, on a grid of
    log-odds of steps of ¼ from -FURTHEST on.
    """
    mean[:] = 0.0
    rest[:] = 0.0
    for c in range(odds.shape[0]):
        x = with_effect(odds[c], effect[places[0, c]], spread)
        small = math.exp(-abs(x))
        large = 1.0 / (1.0 + small)
        small *= large
        if x < 0.0:
            large, small = small, large
        mean[places[1, c]] += share[c] * large
        rest[places[1, c]] += share[c] * small


@inner
def with_effect(x, effect, spread):
    x = min(max(x, -FURTHEST), FURTHEST)
    at = 4.0 * (x + FURTHEST)
    i = min(int(at), spread.shape[0] - 2)
    at -= i
    return x + effect + (1.0 - at) * spread[i] + at * spread[i + 1]


@inner
def variance_of_rate(mean, rest, sigma):
    """Return σ² of the rate of a stratum, on the log-odds; more if nearly certain."""
    more = max(abs(math.log(mean) - math.log(rest)) - SURE, 0.0) * BEYOND_SURE
    return sigma * sigma + more * more


@kernel
def label_likelihood(odds, effect, sigma, spread, places, share, labels, out):
    """Write the log-likelihood of the labels of every pattern.

    odds : (particles, bins), as `bin_odds` returns them
    effect : (particles, patterns)
    sigma : (particles) standard deviation of rates, on the log-odds
    places : (2, bins) number of the pattern, and of the stratum, of a bin
    share : (bins) part of the rows of its stratum
    labels : (3, strata) labels, positives among them, and the number of the pattern
    out : (particles, patterns)
    """
    count = labels.shape[1]
    mean, rest = np.empty(count), np.empty(count)
    for i in range(odds.shape[0]):
        stratum_means(odds[i], effect[i], spread, places, share, mean, rest)
        out[i] = 0.0
        for s in range(count):
            n, k = labels[0, s], labels[1, s]
            if n > 0:
                variance = variance_of_rate(mean[s], rest[s], sigma[i])
                up, down = 1.0 / (variance * rest[s]), 1.0 / (variance * mean[s])
                value = log_rising(up, k) + log_rising(down, n - k)
                out[i, labels[2, s]] += value - log_rising(up + down, n)


@kernel
def rates_of_strata(odds, effect, sigma, spread, places, share, probability, rates):
    """Write probabilities of bins, and of strata μ, 1 - μ and variance of the rate.

    rates : (3, particles, strata)
    """
    mean, rest, variance = rates
    for i in range(odds.shape[0]):
        stratum_means(odds[i], effect[i], spread, places, share, mean[i], rest[i])
        for s in range(mean.shape[1]):
            variance[i, s] = variance_of_rate(mean[i, s], rest[i, s], sigma[i])
        for c in range(odds.shape[1]):
            probability[i, c] = expit(
                with_effect(odds[i, c], effect[i, places[0, c]], spread)
            )
