"""Passes over rows of logits, or probabilities, of any number of classes.

Sums and maxima of numpy along rows of few columns take ten times as long.
"""

from __future__ import annotations

from argmetric._ground.jit import kernel

# mypy: disable-error-code="no-untyped-def,no-untyped-call"


@kernel
def lower_rows(z, code, true):
    """Take its maximum off every row, and write what is left in column `code`."""
    for i in range(z.shape[0]):
        greatest = z[i, 0]
        for c in range(1, z.shape[1]):
            greatest = max(greatest, z[i, c])
        for c in range(z.shape[1]):
            z[i, c] -= greatest
        true[i] = z[i, code[i]]


@kernel
def divide_rows(z, total):
    """Divide every row by its sum, and write the sum."""
    for i in range(z.shape[0]):
        total[i] = 0.0
        for c in range(z.shape[1]):
            total[i] += z[i, c]
        for c in range(z.shape[1]):
            z[i, c] /= total[i]


@kernel
def take_residuals(p, code, w, total):
    """Make p the weighted residuals w·(p - 1 in column `code`); add up its columns."""
    for i in range(p.shape[0]):
        p[i, code[i]] -= 1.0
        for c in range(p.shape[1]):
            p[i, c] *= w[i]
            total[c] += p[i, c]
