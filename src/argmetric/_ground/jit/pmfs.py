"""PMF of the number of positives among independent labels, for all kernels.

A PMF lies in an array from PAD on, with PAD zeros before and behind it: its first entry
is P(`low` positives). Probabilities at both ends that are not above the tolerance
are trimmed, and their mass is added up.
"""

from __future__ import annotations

import math

from argmetric._ground.jit import borrowing, inner

PAD = 2


@borrowing
def pmf_capacity(variance, most):
    """Return how many entries a PMF of this variance, of `most` labels, needs."""
    return min(most + 1, int(20.0 * math.sqrt(variance)) + 64) + 2 * PAD + 2


@borrowing
def add_labels(p, q, first, last, tolerance, low, length, pmf, spare):
    """Add labels first…last-1 to a PMF in place, two at a time.

    For two labels with the probabilities p, p' and q = 1-p, q' = 1-p',
    P(a) = q·q'·P(a) + (q·p' + p·q')·P(a-1) + p·p'·P(a-2). Returns low, length and the
    mass that was trimmed.
    """
    start, source, target, lost = PAD, pmf, spare, 0.0
    i = first
    while i < last:
        step = min(2, last - i)
        if step == 2:
            none, both = q[i] * q[i + 1], p[i] * p[i + 1]
            one = q[i] * p[i + 1] + p[i] * q[i + 1]
        else:
            none, one, both = q[i], p[i], 0.0
        i += step
        old = source[start - PAD : start + length + step]
        new = target[PAD : PAD + length + step]
        for a in range(new.shape[0]):
            new[a] = none * old[a + 2] + one * old[a + 1] + both * old[a]
        length += step
        start = PAD
        while length > 1 and target[start + length - 1] <= tolerance:
            length -= 1
            lost += target[start + length]
        while length > 1 and target[start] <= tolerance:
            lost += target[start]
            start += 1
            length -= 1
            low += 1
        target[start - 1] = target[start - 2] = 0.0
        target[start + length] = target[start + length + 1] = 0.0
        source, target = target, source
    if first < last:
        for a in range(length):
            pmf[PAD + a] = source[start + a]
        pmf[0] = pmf[1] = pmf[PAD + length] = pmf[PAD + length + 1] = 0.0
    return low, length, lost


@inner
def no_labels(pmf):
    """Write the PMF of no labels, a certain 0; return its low and length."""
    for a in range(2 * PAD + 1):
        pmf[a] = 0.0
    pmf[PAD] = 1.0
    return 0, 1


@inner
def copy_pmf(pmf, length, other):
    """Copy a PMF with the zeros around it, in a loop, which compiles faster."""
    for a in range(length + 2 * PAD):
        other[a] = pmf[a]
