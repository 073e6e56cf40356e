"""Hashing to 64 bits, and drawing from them, for kernels.

Both rest on splitmix64 (Steele, Lea and Flood 2014): a counter that grows by 2^64 over
the golden ratio, each value scattered by `mix`, passes the usual tests of randomness.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from argmetric._ground.jit import borrowing

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S29, _S30, _S31 = np.uint64(27), np.uint64(29), np.uint64(30), np.uint64(31)


@borrowing
def mix(h):
    """Scatter 64 bits (the finisher of splitmix64)."""
    h = (h ^ (h >> _S30)) * _FIRST
    h = (h ^ (h >> _S27)) * _SECOND
    return h ^ (h >> _S31)


@borrowing
def absorb(h, code):
    """Return the hash h extended by one more code of a feature template."""
    h = (h ^ code) * GOLDEN
    return h ^ (h >> _S29)


@borrowing
def draw(state):
    """Return the next 64 random bits; state[0] is the counter."""
    state[0] += GOLDEN
    return mix(state[0])
