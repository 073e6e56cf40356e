"""Plain numpy twins of the kernels in `logistic` and `expected`, without tricks."""

import numpy as np


def row_sums(X, positive, weight, theta, intercept, gamma, likelihood):
    """Sums and slopes of the positives and of the negatives."""
    x = gamma * (X.astype(np.float64) @ theta + intercept)
    g, rest = 1.0 / (1.0 + np.exp(-x)), 1.0 / (1.0 + np.exp(x))
    value, factor = weight * g, weight * g * rest
    if likelihood:
        value = weight * np.logaddexp(0.0, np.where(positive, -x, x))
        factor = weight * np.where(positive, -rest, g)
    sides = [positive, ~positive]
    wide = np.column_stack([X, np.ones(x.size)])
    sums = np.array([value[side].sum() for side in sides])
    return sums, np.array([factor[side] @ wide[side] for side in sides])


def expected_f(p, q, positive, weight, b2, s, w):
    """E[F] and its slopes in p, by the nodes s and weights w of an exponential sum."""
    u = np.exp(-np.outer(weight, s))
    phi = q[:, None] + p[:, None] * u
    y = positive[:, None] * weight[:, None]
    shares = y * p[:, None] * u / phi
    hits = shares.sum(axis=0)
    level = np.log(phi).sum(axis=0) - s * b2 * weight[positive].sum()
    heights = (1.0 + b2) * w * np.exp(level)
    terms = heights / phi * (y * u - (1.0 - u) * (hits - shares))
    return float(heights @ hits), terms.sum(axis=1)
