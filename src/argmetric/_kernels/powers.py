"""A long vector without a sort: its moments in bins, and what lies in a range."""

from __future__ import annotations

from argmetric._kernels._jit import kernel


@kernel
def bin_moments(p, low, scale, moments):
    """moments[b, j] = Σ f^j over the p in bin b, which begins at low + b/scale.

    f is the place within the bin, from -1/2 to 1/2: exact for bins of a width that is a
    power of two. What lies outside of the bins is left out.
    """
    width = float(moments.shape[0])
    for i in range(p.shape[0]):
        place = (p[i] - low) * scale
        if 0.0 <= place < width:
            b = int(place)
            f = place - b - 0.5
            moments[b, 0] += 1.0
            moments[b, 1] += f
            moments[b, 2] += f * f
            moments[b, 3] += f * f * f


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
