"""Poisson-binomial laws on moving windows.

A law is an array whose first entry is the probability of `low` positives; entries
below the tolerance are trimmed at both ends and their mass is added up, so that
every sum over a law comes with a rigorous bound on what it left out.
"""

from __future__ import annotations

from argmetric._jit import kernel


@kernel
def extend(law, length, p, q):
    """Add one item to law[:length], in place; the law grows by one entry."""
    law[length] = p * law[length - 1]
    for step in range(length - 1):
        a = length - 1 - step
        law[a] = q * law[a] + p * law[a - 1]
    law[0] *= q


@kernel
def trim(law, low, length, tolerance):
    """Drop the ends below the tolerance; return low, length and the dropped mass."""
    dropped = 0.0
    while length > 1 and law[length - 1] < tolerance:
        length -= 1
        dropped += law[length]
    shift = 0
    while length - shift > 1 and law[shift] < tolerance:
        dropped += law[shift]
        shift += 1
    if shift:
        length -= shift
        for a in range(length):
            law[a] = law[a + shift]
    return low + shift, length, dropped


@kernel
def prefix_laws(p, q, first, last, stride, law, low, length, tolerance, rows, lows):
    """Laws of the first k items for k = first, first+stride, … below last.

    Starts from the law of `first` items, which begins at `low`; every row is padded
    with zeros and `lows` says where it begins. Returns the mass dropped on the way, or
    -1 where the buffer `law` is too short.
    """
    dropped = 0.0
    for k in range(first, last):
        if (k - first) % stride == 0:
            row = (k - first) // stride
            lows[row] = low
            for a in range(rows.shape[1]):
                rows[row, a] = law[a] if a < length else 0.0
        if k < p.shape[0]:
            if length + 1 > law.shape[0]:
                return -1.0  # the buffer is too short
            extend(law, length, p[k], q[k])
            low, length, lost = trim(law, low, length + 1, tolerance)
            dropped += lost
    return dropped
