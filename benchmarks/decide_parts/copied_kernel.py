"""The quadratic F1 decoder that is copied from project to project, written out anew.

It is the O(n²) recurrence of Ye et al. (2012, "Optimizing F-measures: a tale of two
approaches"), spread by a 2017 notebook for baskets of products: C[i][j] is the
probability of i positives among the j most probable items, S[i] the mean of
1/(i + positives among the rest), taken down from k = n to 0. The notebook also scores
every k together with an extra label "None" that is right when there is no positive.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np


def expectations(p: np.ndarray) -> np.ndarray:
    """E[F1] of the k most probable items with (row 0) and without (row 1) "None".

    Element by element into numpy arrays, as the copies do.
    """
    p = np.sort(p)[::-1]
    n = p.shape[0]
    p_none = (1.0 - p).prod()
    table = np.zeros((n + 2, n + 1))
    table[0, 0] = 1.0
    for j in range(1, n):
        table[0, j] = (1.0 - p[j - 1]) * table[0, j - 1]
    for i in range(1, n + 1):
        table[i, i] = table[i - 1, i - 1] * p[i - 1]
        for j in range(i + 1, n + 1):
            table[i, j] = (
                p[j - 1] * table[i - 1, j - 1] + (1.0 - p[j - 1]) * table[i, j - 1]
            )
    inverse = np.zeros(2 * n + 1)
    inverse_with_none = np.zeros(2 * n + 1)
    for i in range(1, 2 * n + 1):
        inverse[i] = 1.0 / i
        inverse_with_none[i] = 1.0 / (i + 1)
    found = np.zeros((2, n + 1))
    for k in range(n, -1, -1):
        plain = with_none = 0.0
        for hits in range(n + 1):
            plain += 2 * hits * table[hits, k] * inverse[k + hits]
            with_none += 2 * hits * table[hits, k] * inverse_with_none[k + hits]
        for i in range(1, 2 * k - 1):
            inverse[i] = (1 - p[k - 1]) * inverse[i] + p[k - 1] * inverse[i + 1]
            inverse_with_none[i] = (1 - p[k - 1]) * inverse_with_none[i] + p[
                k - 1
            ] * inverse_with_none[i + 1]
        found[0, k] = with_none + 2 * p_none / (2 + k)
        found[1, k] = plain
    return found


compiled_expectations = numba.njit(expectations)


def decide(
    p: np.ndarray,
    zero_division: float,
    kernel: Callable[[np.ndarray], np.ndarray] = expectations,
) -> np.ndarray:
    """Labels by the copied kernel; of its "None" answers only the pure one is used.

    Predicting "None" alone is predicting nothing. It is right if there is no positive,
    which is what the empty set is worth where 0/0 counts 1. `kernel` may be the
    compiled one.
    """
    with_none, plain = kernel(p)
    best = int(np.argmax([zero_division * with_none[0], *plain[1:]]))
    labels = np.zeros(p.size, dtype=np.int64)
    labels[np.argsort(-p, kind="stable")[:best]] = 1
    return labels
