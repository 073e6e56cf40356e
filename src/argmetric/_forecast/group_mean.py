"""Distribution of the mean of a metric over groups.

The method depends on the number of uncertain groups. A few are convolved exactly, value
by value. For many, the distribution of their sum is computed on a grid, pair by pair,
with fast Fourier transforms. For very many it is normal with a correction for skewness
(`group_moments.py`).

On a grid, a distribution has for every bin its probability (mass), and the probability
times the mean remainder of the values in it (remainder). The mean of a bin is therefore
exact, and a value that is alone in its bin is kept exactly. Where groups may be
undefined (0/0), either the sums are kept apart by the number of defined groups, or an
undefined group counts as the mean over all groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from argmetric._forecast.distributions import (
    ALWAYS_UNDEFINED,
    MAX_ATOMS,
    ScorePMF,
    merge_atoms,
)
from argmetric._forecast.group_moments import (
    CERTAINTY_TOLERANCE,
    GroupGrid,
    MeanMoments,
    UncertainGroups,
    bin_groups,
    find_lattice_size,
)
from argmetric._forecast.groups import MetricGroups
from argmetric._ground.types import Floats

MAX_EXACT_GROUPS = 16  # up to this many uncertain groups are convolved exactly
# The mean is treated as a ratio of two sums where the number N of defined groups has a
# standard deviation above the first, and at most the second times E[N].
MIN_COUNT_STD, MAX_COUNT_CV = 3.0, 0.03
MIN_EXPECTED_UNDEFINED = 1e-9  # expected undefined groups below which N is constant
# From this many group ranges per standard deviation on, a ratio has the distribution of
# its numerator, bent, shifted and scaled: ends of intervals are off by .005 of them.
MIN_RATIO_RANGES = 1.5
MIN_ATOM_PROBABILITY = 0.01  # an atom this likely stands out of a smooth distribution
MAX_BINS = 1 << 14  # bins of a sum
MAX_BINS_ALL_COUNTS = 1 << 17  # bins of the sums for all likely N together
# Bins per group range. They have many divisors: common fractions fall on bin edges.
BIN_COUNTS = (12, 24, 36, 48, 60, 84, 120, 180, 240, 420, 840, 1260, 2520, 5040, 27720)
BINS_PER_STD = 512.0  # interval ends are off by at most 1/512 standard deviations
# Coarser bins for a distribution that may be smooth, and is then interpolated: steps of
# .02 standard deviations are detected. A group range has at least `MIN_BINS` bins.
SMOOTH_BINS_PER_STD, MIN_BINS = 128.0, 8
SPAN_STDS = 17.0  # standard deviations between the ends of a distribution
ENTRIES_PER_BLOCK = 1 << 19  # entries of groups times bins that are filled at once
FFT_TOLERANCE = 1e-15  # probabilities below the rounding error of an FFT
MAX_HIGH_FREQUENCY = 1e-6  # amplitude of the upper half spectrum of a smooth function


def mean_distribution(groups: MetricGroups) -> tuple[ScorePMF, float]:
    """Return the distribution of the mean over groups, and the expected positives.

    The mean is over the groups in which the metric is defined.
    """
    is_open = groups.is_uncertain()
    open_groups = groups.take(np.flatnonzero(is_open))
    is_exact = (
        open_groups.size <= MAX_EXACT_GROUPS
        and _estimate_atom_pairs(open_groups) <= MAX_ATOMS
    )
    if open_groups.size <= 1 or is_exact:
        values, positives = groups.take(np.flatnonzero(~is_open)).fixed_values()
        values = values[~np.isnan(values)]
        exact, more = convolve_groups(open_groups, float(values.sum()), values.size)
        if exact is not None:
            return exact, float(positives.sum()) + more
    uncertain = UncertainGroups.from_groups(groups)
    return _approximate_distribution(uncertain), uncertain.expected_positives


def _estimate_atom_pairs(groups: MetricGroups) -> float:
    """Estimate the number of atom pairs when the two widest groups are convolved.

    A group has about (1 + 6·sd(hits))·(1 + 6·sd(misses)) likely pairs of counts.
    """
    variance = groups.rows.p * groups.rows.q * np.isnan(groups.known)
    if groups.deviation:
        variance = np.ones_like(variance)
    hits, misses = (
        1.0 + 6.0 * np.sqrt(groups.per_group(variance * side))
        for side in (groups.selected, ~groups.selected)
    )
    return float(np.sort(hits * misses)[-2:].prod())


def convolve_groups(
    groups: MetricGroups, fixed_sum: float, n_fixed: int
) -> tuple[ScorePMF | None, float]:
    """Return the exact distribution of the mean, and the expected positives.

    Sums are kept apart by the number of defined groups. The distribution is None where
    it would have more than `MAX_ATOMS` atoms.

    Parameters
    ----------
    fixed_sum, n_fixed
        Sum and number of the values of other groups, which are certain.
    """
    sums_by_count = {n_fixed: (np.array([fixed_sum]), np.ones(1))}
    expected_positives = 0.0
    for g in range(groups.size):
        group, positives = groups.pmf(g)
        expected_positives += positives
        n_sums = sum(sums.size for sums, _ in sums_by_count.values())
        if n_sums * group.values.size > MAX_ATOMS:
            return None, 0.0
        p_values = (1 - group.p_undefined) * group.probabilities
        by_count: dict[int, list[tuple[Floats, Floats]]] = {}
        for count, (sums, weights) in sums_by_count.items():
            if group.p_undefined > 0:
                part = sums, weights * group.p_undefined
                by_count.setdefault(count, []).append(part)
            if group.values.size:
                new_sums = (sums[:, None] + group.values).ravel()
                new_weights = (weights[:, None] * p_values).ravel()
                by_count.setdefault(count + 1, []).append((new_sums, new_weights))
        sums_by_count = {count: merge_atoms(part) for count, part in by_count.items()}
    parts = [
        (sums / count if count else np.full_like(sums, math.nan), weights)
        for count, (sums, weights) in sums_by_count.items()
    ]
    return ScorePMF.from_atoms(parts), expected_positives


def _approximate_distribution(uncertain: UncertainGroups) -> ScorePMF:
    """Return the distribution of the mean over many groups, on a grid or as normal."""
    moments = uncertain.mean_moments()
    mean, std = moments.mean, moments.std
    if moments.expected_count <= 0.0:
        return ALWAYS_UNDEFINED
    is_constant = moments.max_range <= 1e-12 * max(1.0, abs(mean))
    if is_constant or std <= 1e-9 * moments.max_range:
        return ScorePMF.from_pmf(np.array([mean]), np.ones(1), moments.p_undefined)
    if moments.is_nearly_normal:
        return moments.skewed_normal()
    low, high = uncertain.value_range(mean)
    width = float((high - low).max())
    p_defined = uncertain.p_defined
    p_missing = np.maximum(1.0 - p_defined, 0.0)
    count_std = math.sqrt(float((p_defined * p_missing).sum()))
    is_ratio = MIN_COUNT_STD < count_std <= MAX_COUNT_CV * moments.expected_count
    by_count = float(p_missing.sum()) >= MIN_EXPECTED_UNDEFINED and not is_ratio
    lattice_size = None
    if not (p_defined <= 1.0 - CERTAINTY_TOLERANCE).any():
        lattice_size = find_lattice_size(uncertain.moments, width)
    if lattice_size is None and (not by_count or std >= MIN_RATIO_RANGES * width):
        n_bins = max(math.ceil(SMOOTH_BINS_PER_STD * width / std), MIN_BINS)
        grid = GroupGrid(width / n_bins, n_bins + 1, fill_value=mean)
        total = _sum_on_grid(uncertain, grid, with_remainder=False)
        smooth = _interpolate_if_smooth(moments, total.mass[0, 0])
        if smooth is not None:
            return smooth
    if by_count:
        return _distribution_by_count(uncertain, moments, count_std)
    max_bins = MAX_BINS * width / (width + SPAN_STDS * std)
    n_bins = _choose_n_bins(width, std, max_bins, lattice_size)
    grid = GroupGrid(width / n_bins, n_bins + 1, fill_value=mean)
    distribution = _distribution_with_fill(uncertain, moments, grid)
    if lattice_size is not None:
        return distribution
    return _match_if_smooth(moments, distribution, of_sum=True)


def _distribution_with_fill(
    uncertain: UncertainGroups, moments: MeanMoments, grid: GroupGrid
) -> ScorePMF:
    """Return the distribution of (sum - fill values)/E[N] over all groups."""
    total = _sum_on_grid(uncertain, grid)
    ((sums, probabilities),) = _atoms_by_count(total, grid.step)
    n_groups = uncertain.p_defined.size + uncertain.n_fixed
    fill_sum = moments.mean * (n_groups - moments.expected_count)
    values = (uncertain.fixed_sum + sums - fill_sum) / moments.expected_count
    return ScorePMF.from_atoms([(values, probabilities)])


def _distribution_by_count(
    uncertain: UncertainGroups, moments: MeanMoments, count_std: float
) -> ScorePMF:
    """Return the distribution of sum/N, with a grid for every number N of groups."""
    low, high = uncertain.value_range(moments.mean)
    origin, width = float(low.min()), float(high.max() - low.min())
    lattice_size = find_lattice_size(uncertain.moments, width)
    n_counts = min(SPAN_STDS * count_std + 2.0, uncertain.p_defined.size) + 1.0
    max_bins = min(MAX_BINS, MAX_BINS_ALL_COUNTS / n_counts)
    max_bins = max_bins * width / (width + SPAN_STDS * moments.std)
    n_bins = _choose_n_bins(width, moments.std, max_bins, lattice_size)
    grid = GroupGrid(width / n_bins, n_bins + 1, origin=origin)
    total = _sum_on_grid(uncertain, grid)
    atoms = _atoms_by_count(total, grid.step)
    parts = [
        ((uncertain.fixed_sum + sums) / (count or math.nan), probabilities)
        for count, (sums, probabilities) in enumerate(
            atoms, total.min_count + uncertain.n_fixed
        )
    ]
    return _match_if_smooth(moments, ScorePMF.from_atoms(parts), of_sum=False)


def _interpolate_if_smooth(moments: MeanMoments, mass: Floats) -> ScorePMF | None:
    """Interpolate band-limited probabilities on finer bins; None if not smooth.

    Parameters
    ----------
    mass : ndarray of shape (n_bins,)
        Probabilities of a sum.
    """
    spectrum = np.fft.rfft(mass)
    if np.abs(spectrum[spectrum.size // 2 :]).max() >= MAX_HIGH_FREQUENCY:
        return None
    n_fine = mass.size * max(1, MAX_BINS // mass.size)
    fine = np.maximum(np.fft.irfft(spectrum, n_fine), 0)
    return moments.match_moments(np.arange(float(fine.size)), fine / fine.sum())


def _match_if_smooth(
    moments: MeanMoments, distribution: ScorePMF, *, of_sum: bool
) -> ScorePMF:
    """Match the moments of the ratio, unless an atom is likely: its value is exact."""
    values, probabilities = distribution.values, distribution.probabilities
    if probabilities.max() < MIN_ATOM_PROBABILITY:
        return moments.match_moments(values, probabilities, of_sum=of_sum)
    return replace(distribution, p_undefined=moments.p_undefined)


def _choose_n_bins(
    width: float, std: float, max_bins: float, lattice_size: int | None
) -> int:
    """Return the bins per group range: those of a coarse lattice, else of `BIN_COUNTS`.

    Aims at `BINS_PER_STD` and stays at or below `max_bins`.
    """
    wanted = BINS_PER_STD * width / std
    n_bins = next((n for n in BIN_COUNTS if n >= wanted), BIN_COUNTS[-1])
    limit = max(min(n_bins, max_bins), BIN_COUNTS[0])
    n_bins = max(n for n in BIN_COUNTS if n <= limit)
    return min(n_bins, lattice_size or n_bins)


@dataclass(frozen=True)
class GridSums:
    """Distributions of several sums on a common grid.

    The value of bin b is (b - origin)·step plus its mean remainder. Entry i of the axis
    of counts has the sums over min_count + i defined groups.
    """

    # Shape (1 or 2, n_sums, n_counts, n_bins): mass, and remainder if it is computed.
    stacked: Floats
    origin: int
    min_count: int

    @property
    def mass(self) -> Floats:
        """Probabilities, of shape (n_sums, n_counts, n_bins)."""
        return np.asarray(self.stacked[0])

    @property
    def remainder(self) -> Floats:
        """Probability times mean remainder, of shape (n_sums, n_counts, n_bins)."""
        return np.asarray(self.stacked[1])


def _atoms_by_count(total: GridSums, step: float) -> list[tuple[Floats, Floats]]:
    """Return the values of one sum and their probabilities, for each count."""
    atoms, total_mass = [], float(total.mass.sum())
    for mass, remainder in zip(total.mass[0], total.remainder[0], strict=True):
        used = np.flatnonzero(mass)
        sums = step * (used - total.origin) + remainder[used] / mass[used]
        atoms.append((sums, mass[used] / total_mass))
    return atoms


def _sum_on_grid(
    uncertain: UncertainGroups, grid: GroupGrid, *, with_remainder: bool = True
) -> GridSums:
    """Return the distribution of the sum over all uncertain groups."""
    by_count = grid.fill_value is None
    entries_per_group = 2 * grid.n_bins * (2 if by_count else 1)
    step = max(2, ENTRIES_PER_BLOCK // entries_per_group)
    sums, n_groups = [], uncertain.groups.size
    for start in range(0, n_groups, step):
        groups = uncertain.groups.take(np.arange(start, min(start + step, n_groups)))
        mass, remainder = bin_groups(groups, start, uncertain.moments, grid)
        p_undefined = mass[:, -1] if by_count else None
        stacked = np.stack([mass, remainder] if with_remainder else [mass])[..., :-1]
        sums.append(add_all(centre_on_origin(stacked, p_undefined, grid.step)))
    return reduce(add_pairwise, sums)


def centre_on_origin(
    stacked: Floats, p_undefined: Floats | None, step: float
) -> GridSums:
    """Shift each distribution by whole bins so that the means of any run cancel.

    Partial sums then stay near the origin, and their grids short.

    Parameters
    ----------
    stacked : ndarray of shape (1 or 2, n_groups, n_bins)
        Mass, and remainder if it is computed.
    p_undefined : ndarray of shape (n_groups,) or None
        Probability that a group is undefined; None if sums need not be kept apart by
        the number of defined groups.
    """
    n_kinds, n_groups, n_bins = stacked.shape
    mean = np.einsum("ij,j->i", stacked[0], np.arange(float(n_bins)))
    mean /= np.maximum(stacked[0].sum(axis=1), 1e-300)
    if p_undefined is not None:
        # One shift for all groups: a sum of m values is shifted by m of them, whichever
        # groups are defined.
        mean[:] = np.rint(mean.mean())
    shift = np.diff(np.rint(np.cumsum(mean)), prepend=0.0).astype(np.int64)
    n_counts = 1 if p_undefined is None else 2
    wide = np.zeros((n_kinds, n_groups, n_counts, 2 * n_bins + 1))
    rows = np.arange(n_groups)[:, None]
    columns = n_bins + np.arange(n_bins) - shift[:, None]
    wide[:, rows, -1, columns] = stacked
    wide[1:, rows, -1, columns] += stacked[0] * (step * shift)[:, None]
    if p_undefined is not None:
        wide[0, :, 0, n_bins] = p_undefined
    low = min(n_bins - int(shift.max()), n_bins)
    high = 2 * n_bins - min(int(shift.min()), n_bins - 1)
    return GridSums(wide[..., low:high], n_bins - low, 0)


def add_all(sums: GridSums) -> GridSums:
    """Return the distribution of the total, adding neighbouring sums in rounds."""
    odd: GridSums | None = None
    while (n_sums := sums.stacked.shape[1]) > 1:
        if n_sums % 2:
            last = replace(sums, stacked=sums.stacked[:, -1:])
            odd = last if odd is None else add_pairwise(last, odd)
        paired = sums.stacked[:, : n_sums - n_sums % 2]
        halves = (replace(sums, stacked=paired[:, i::2]) for i in (0, 1))
        sums = add_pairwise(*halves)
    return sums if odd is None else add_pairwise(sums, odd)


def _fft_size(size: int) -> int:
    """Return the least size 2^i·3^j with j ≤ 5 that is not below `size`."""
    powers = (1, 3, 9, 27, 81, 243)
    return min(x << (-(-size // x) - 1).bit_length() for x in powers)


def add_pairwise(a: GridSums, b: GridSums) -> GridSums:
    """Return the distributions of a_i + b_i, by FFT, without empty ends.

    The masses are convolved, m = m_a ∗ m_b, and the remainders by the product rule,
    r = r_a ∗ m_b + m_a ∗ r_b.
    """
    n_counts, n_bins = (a.stacked.shape[i] + b.stacked.shape[i] - 1 for i in (2, 3))
    # With one count, a transform along its axis would only copy.
    axes = (3,) if n_counts == 1 else (2, 3)
    shape = (_fft_size(n_counts), _fft_size(n_bins))[-len(axes) :]
    fft_a, fft_b = (np.fft.rfftn(one.stacked, shape, axes) for one in (a, b))
    product = fft_a[:1] * fft_b
    product[1:] += fft_a[1:] * fft_b[:1]
    stacked = np.fft.irfftn(product, shape, axes)[:, :, :n_counts, :n_bins]
    used = stacked[0] > FFT_TOLERANCE
    bins = np.flatnonzero(used.any(axis=(0, 1)))
    counts = np.flatnonzero(used.any(axis=(0, 2)))
    origin = a.origin + b.origin
    low, high = min(int(bins[0]), origin), max(int(bins[-1]), origin) + 1
    inside = (..., slice(int(counts[0]), int(counts[-1]) + 1), slice(low, high))
    min_count = a.min_count + b.min_count + int(counts[0])
    return GridSums(np.where(used, stacked, 0.0)[inside], origin - low, min_count)
