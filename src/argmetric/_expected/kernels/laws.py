"""Laws of the positives on both sides of every cut."""

import numpy as np

from argmetric._jit import unfused


@unfused
def both_laws(p, q):
    """Laws of the positives among the first k items, and among the others, by rows.

    To the bit those of `reference.both_laws`: which of the two is at hand decides
    nothing but the time that it takes.
    """
    m = p.shape[0]
    hits, misses = np.zeros((m + 1, m + 1)), np.zeros((m + 1, m + 1))
    hits[0, 0] = misses[m, 0] = 1.0
    for i in range(m):
        hits[i + 1, 0] = hits[i, 0] * q[i]
        for a in range(1, i + 2):
            hits[i + 1, a] = hits[i, a] * q[i] + hits[i, a - 1] * p[i]
        k = m - 1 - i
        misses[k, 0] = misses[k + 1, 0] * q[k]
        for a in range(1, i + 2):
            misses[k, a] = misses[k + 1, a] * q[k] + misses[k + 1, a - 1] * p[k]
    return hits, misses
