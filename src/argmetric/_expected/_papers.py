"""Published algorithms, readable and slow, with their errata corrected.

They are the reference that the near-linear algorithms are held to. Each returns the
expected metric for every k = 0…n; the printed ones begin at k = 1 (except Jansche's).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from argmetric._ground.groups import Segments
from argmetric._ground.types import Floats
from argmetric.metrics import Metric, RatioForm


def paper_curve(segment: Segments, metric: Metric) -> Floats:
    """Return the curve by the fastest published algorithm that covers the metric."""
    form, n = metric.form, int(segment.sizes[0])
    if n != segment.p.size:
        raise ValueError("the published algorithms take dense input only")
    if not math.isnan(metric.zero_division) and isinstance(form, RatioForm):
        if form.counts_hits_only and form.d[0] == form.d[1] == 0 and form.d[2] > 0:
            return jansche_algorithm_1(segment.p, metric)
        if covers(form, n):
            return natarajan_algorithm_2(segment.p, metric)
    return natarajan_algorithm_1(segment.p, metric)


def jansche_algorithm_1(p: Floats, metric: Metric) -> Floats:
    """Run Jansche (2007), Algorithm 1: select by falling probability. O(n⁴)."""
    z = np.zeros(p.size, dtype=bool)
    values = [expected_value(z, p, metric)]
    for i in range(p.size):
        z[i] = True
        values.append(expected_value(z, p, metric))
    return np.array(values)


def expected_value(z: np.ndarray, p: Floats, metric: Metric) -> float:
    """Run Jansche (2007), section 3: the automaton with states (A, T) along y.

    A counts the positives among the predicted ones, T all positives. The probability
    of each final state is accumulated label by label; 0/0 is the metric's own.
    """
    n = p.size
    joint = np.zeros((n + 1, n + 1))
    joint[0, 0] = 1.0
    for predicted, pi in zip(z, p, strict=True):
        moved = np.zeros_like(joint)
        if predicted:
            moved[1:, 1:] = joint[:-1, :-1]
        else:
            moved[:, 1:] = joint[:, :-1]
        joint = (1 - pi) * joint + pi * moved
    a, t = np.nonzero(joint)
    return float(joint[a, t] @ metric.value(a, z.sum(), t, n))


def natarajan_algorithm_1(p: Floats, metric: Metric) -> Floats:
    """Run Natarajan et al. (2015), Algorithm 1, with k = 0. O(n³), any metric."""
    n = p.size
    c, d = pmfs(p, 1 - p), pmfs(p[::-1], 1 - p[::-1])[::-1]
    curve = np.empty(n + 1)
    for k in range(n + 1):
        k1, k2 = np.arange(k + 1)[:, None], np.arange(n - k + 1)[None, :]
        values = metric.value(k1, k, k1 + k2, n)
        defined = ~np.isnan(values)
        mass = c[k] @ defined @ d[k]
        total = c[k] @ np.where(defined, values, 0.0) @ d[k]
        curve[k] = total / mass if mass > 0 else math.nan
    return curve


def covers(form: RatioForm, n: int) -> bool:
    """Return whether Algorithm 2 applies: c3 = 0, rational d, 0/0 only at k = t = 0."""
    simple = all(Fraction(x).limit_denominator(64) == Fraction(x) for x in form.d)
    d0, d1, d2, d3 = form.d
    corners = [(0, 0, n), (0, n, 0), (n, n, n), (1, 1, 1), (0, 1, 0), (0, 0, 1)]
    smallest = min(d0 * n + d1 * tp + d2 * k + d3 * t for tp, k, t in corners)
    return form.c[3] == 0 and simple and smallest > 0


def natarajan_algorithm_2(p: Floats, metric: Metric) -> Floats:
    """Run Natarajan et al. (2015), Algorithm 2, with k = 0.

    O(n²) for small coefficients.

    S[i] = b(k, α) = Σ_{k2} D_k[k2] / (α + d3·k2) for the α of every feasible cell;
    going from k to k-1 mixes S at α and α + d3. The printed version never sets S[0],
    and runs out of its array for negative coefficients: here the array covers all
    indices and a denominator of 0 (its numerator is 0 too) is left out.
    """
    form = metric.form
    assert isinstance(form, RatioForm)
    n = p.size
    d = [Fraction(x).limit_denominator(64) for x in form.d]
    scale = math.lcm(*(x.denominator for x in d))
    j0, ju1, jv, ju2 = (int(x * scale) for x in d)
    # (ju1 + ju2)·k1 + jv·k + ju2·k2 is extreme where (k, k1, k2) is (0, 0, 0),
    # (0, 0, n), (n, 0, 0) or (n, n, 0), the corners of 0 ≤ k1 ≤ k, 0 ≤ k2 ≤ n - k
    corners = (0, ju2 * n, jv * n, (ju1 + ju2 + jv) * n)
    low, high = min(corners), max(corners)
    alpha = np.arange(low, high + 1) + j0 * n
    s = np.where(alpha == 0, 0.0, scale / np.where(alpha == 0, 1, alpha))
    prefix = pmfs(p, 1 - p)
    c0, c1, c2, _ = form.c
    curve = np.empty(n + 1)
    for k_ in range(n, -1, -1):
        hits = np.arange(k_ + 1)
        index = (ju1 + ju2) * hits + jv * k_ - low
        curve[k_] = (c0 * n + c1 * hits + c2 * k_) * prefix[k_] @ s[index]
        if k_ > 0:
            eta, moved = p[k_ - 1], np.zeros_like(s)
            if ju2 >= 0:
                moved[: s.size - ju2] = s[ju2:]
            else:
                moved[-ju2:] = s[:ju2]
            s = (1 - eta) * s + eta * moved
    if j0 == 0:  # k = t = 0
        curve[0] += float(np.prod(1 - p)) * float(metric.value(0, 0, 0, n))
    return curve


def pmfs(p: Floats, q: Floats) -> list[Floats]:
    """Return the PMFs of the positives among the first 0, 1, …, m items."""
    result = [np.ones(1)]
    for pi, qi in zip(p, q, strict=True):
        result.append(np.convolve(result[-1], [qi, pi]))
    return result
