"""Exact decoding of utilities that add up over positions or windows.

The expectation of such a utility is a sum of costs, each of one window of z: the best
z is a shortest path through the windows.
"""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric.sequence._models import Chain
from argmetric.sequence._segmentation import (
    Pk,
    WindowDiff,
    WindowUtility,
    count_ones,
)
from argmetric.sequence._simple import SimpleFunction
from argmetric.sequence._utilities import Hamming, ZeroOne

MAX_DECODED_WINDOW = 12  # 2**window costs for every position


def decode_windows(function: SimpleFunction, chain: Chain) -> Integers | None:
    """The best labels for a utility of windows; None if this is not one."""
    if isinstance(function, Hamming):
        return (chain.marginals() > 0.5).astype(np.int64)
    if isinstance(function, ZeroOne):
        return most_probable(chain)
    if isinstance(function, Pk):
        return _decode_pk(function.window, chain)
    if (
        isinstance(function, WindowDiff | WindowUtility)
        and function.window <= MAX_DECODED_WINDOW
    ):
        return shortest_path(_window_costs(function, chain), function.window)
    return None


def most_probable(chain: Chain) -> Integers:
    """The label sequence with the highest probability (Viterbi)."""
    n, size = chain.n, chain.steps.shape[1]
    with np.errstate(divide="ignore"):
        costs = -np.log(chain.at_least(1).steps)
    size = costs.shape[1]
    score = np.full(size, np.inf)
    score[0] = 0.0
    oldest = np.zeros((n, size), dtype=np.int64)
    for i in range(n):
        both = (score[:, None] + costs[i]).reshape(2, size)
        oldest[i] = both.argmin(axis=0)
        score = both.min(axis=0)
    return _walk_back(oldest, int(score.argmin()), size)


def _walk_back(oldest: Integers, state: int, size: int) -> Integers:
    """Labels of the path whose forgotten labels are `oldest`."""
    labels = np.zeros(oldest.shape[0], dtype=np.int64)
    for i in range(labels.size - 1, -1, -1):
        window = int(oldest[i, state]) * size + state
        labels[i], state = window & 1, window >> 1
    return labels


def shortest_path(costs: Floats, window: int) -> Integers:
    """Labels with the least sum of costs[i, window that ends at i]."""
    size = 1 << (window - 1)
    score = np.full(size, np.inf)
    score[0] = 0.0
    oldest = np.zeros((costs.shape[0], size), dtype=np.int64)
    for i, cost in enumerate(costs):
        both = (np.repeat(score, 2) + cost).reshape(2, size)
        oldest[i] = both.argmin(axis=0)
        score = both.min(axis=0)
    return _walk_back(oldest, int(score.argmin()), size)


def _window_costs(function: WindowDiff | WindowUtility, chain: Chain) -> Floats:
    """Expected cost of every window of z at every position, 0 before the first."""
    from argmetric.sequence.kernels.counts import window_laws

    w = function.window
    laws = np.zeros((chain.n, 1 << w))
    window_laws(chain.steps, w, laws)
    codes = np.arange(1 << w)
    if isinstance(function, WindowDiff):
        ones = count_ones(codes)
        counts = np.eye(w + 1)[ones]
        costs = 1.0 - (laws @ counts)[:, ones]
    else:
        sign = -1.0 if function.greater_is_better else 1.0
        costs = sign * laws @ function.losses(codes).T
    costs[: w - 1] = 0.0
    return np.asarray(costs)


def none_in_window(chain: Chain, window: int) -> Floats:
    """P(no 1 among the labels of a window), for every window."""
    count, size = chain.n - window + 1, chain.steps.shape[1]
    mass = chain.histories()[:count]
    after = (np.arange(size) << 1) & (size - 1)
    for j in range(window):
        moved = np.zeros_like(mass)
        part = mass * chain.steps[j : j + count, :, 0]
        for h in range(size):
            moved[:, after[h]] += part[:, h]
        mass = moved
    return np.asarray(mass.sum(axis=1))


def _decode_pk(window: int, chain: Chain) -> Integers:
    """Viterbi over the labels since the last boundary of z. O(n·window)."""
    n, w = chain.n, window
    none = none_in_window(chain, w)
    score = np.full(w + 1, np.inf)
    score[w] = 0.0
    jump, far = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for i in range(n):
        moved = np.empty(w + 1)
        jump[i] = score.argmin()
        moved[0] = score[jump[i]]
        moved[1:] = score[:-1]
        far[i] = w if score[w] < score[w - 1] else w - 1
        moved[w] = score[far[i]]
        if i >= w - 1:
            moved[:w] += none[i - w + 1]
            moved[w] += 1.0 - none[i - w + 1]
        score = moved
    labels = np.zeros(n, dtype=np.int64)
    state = int(score[::-1].argmin())
    state = w - state
    for i in range(n - 1, -1, -1):
        if state == 0:
            labels[i], state = 1, int(jump[i])
        elif state == w:
            state = int(far[i])
        else:
            state -= 1
    return labels
