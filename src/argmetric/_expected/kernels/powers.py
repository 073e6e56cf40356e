"""A long vector without a sort: its moments in bins, and what lies in a range."""

from __future__ import annotations

from argmetric._jit import kernel


@kernel
def bin_sums(p, low, scale, sums):
    """Add up the place f of every p within its bin, b, which begins at low + b/scale.

    f is from -1/2 to 1/2, and exact for bins of a width that is a power of two. Sums
    are of whole numbers, so that they depend neither on the order of the items nor on
    how these are divided: how many there are, f in units of 2^-22, what that leaves
    of f in units of 2^-53, and f² and f³ in units of 2^-32. What lies outside of the
    bins is left out. No sum of fewer than 2^32 items overflows.
    """
    width = float(sums.shape[0])
    for i in range(p.shape[0]):
        place = (p[i] - low) * scale
        if 0.0 <= place < width:
            b = int(place)
            f = place - b - 0.5
            units = int(f * 9007199254740992.0)
            square = f * f
            sums[b, 0] += 1
            sums[b, 1] += units >> 31
            sums[b, 2] += units & 0x7FFFFFFF
            sums[b, 3] += int(square * 4294967296.0 + 0.5)
            sums[b, 4] += int(square * f * 4294967296.0)


@kernel
def take_range(p, low, high, out):
    """All p with low ≤ p < high in the order of the input; `out` has one place more."""
    count = 0
    for i in range(p.shape[0]):
        x = p[i]
        out[count] = x
        count += (x >= low) & (x < high)
        if count == out.shape[0]:
            break
