"""Moments of the metric per group, and of its mean over very many groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argmetric._forecast.distributions import ScorePMF, merge_atoms
from argmetric._forecast.groups import (
    JointCounts,
    MetricGroups,
    fits_in_block,
    iter_blocks,
)
from argmetric._ground.discrete import dot
from argmetric._ground.types import Floats, Integers

COARSE_ATOMS = 512  # atoms kept for the distribution of each very long group
LATTICE_SIZES = (*range(1, 33), 36, 40, 48, 50, 60, 64, 72, 84, 90, 96, 100, 120)
MAX_CACHED_ENTRIES = 1 << 21  # probabilities and values kept for a second pass
MAX_LATTICE_VALUES = 1 << 16  # with more values no common lattice is looked for
TAIL_PROBABILITY = 1e-13  # tails of a group that do not widen its range


@dataclass(frozen=True)
class GroupMoments:
    """Moments and range of the metric in every group.

    Attributes
    ----------
    raw : ndarray of shape (n_groups, 4)
        P(defined), and E[value^j; defined] for j = 1, 2, 3.
    min_value, max_value : ndarray of shape (n_groups,)
    distributions : dict of int to ScorePMF
        Coarse distributions of the very long groups, by index of the group.
    blocks : tuple of (indices, distributions)
        Exact distributions of all other groups; empty where they exceed
        `MAX_CACHED_ENTRIES`.
    """

    raw: Floats
    min_value: Floats
    max_value: Floats
    distributions: dict[int, ScorePMF]
    blocks: tuple[tuple[Integers, JointCounts], ...] = ()

    def take(self, indices: Integers) -> GroupMoments:
        """Return the moments of the groups with these indices."""
        n_groups = self.min_value.size
        if indices.size == n_groups:
            return self
        distributions = {
            new: self.distributions[old]
            for new, old in enumerate(indices.tolist() if self.distributions else ())
            if old in self.distributions
        }
        new_index = np.full(n_groups, -1)
        new_index[indices] = np.arange(indices.size)
        blocks = []
        for old_indices, block in self.blocks:
            kept = new_index[old_indices] >= 0
            blocks.append((new_index[old_indices[kept]], block.take(kept)))
        low, high = self.min_value[indices], self.max_value[indices]
        return GroupMoments(self.raw[indices], low, high, distributions, tuple(blocks))


def compute_group_moments(groups: MetricGroups) -> tuple[GroupMoments, float]:
    """Return the moments of every group, and the expected positives of all groups."""
    min_value, max_value = np.zeros((2, groups.size))
    moments = GroupMoments(np.zeros((groups.size, 4)), min_value, max_value, {})
    expected_positives = 0.0
    fits = fits_in_block(groups)
    blocks: list[tuple[Integers, JointCounts]] = []
    n_entries = 0
    for indices, block in iter_blocks(groups, np.flatnonzero(fits)):
        raw, low, high, positives = block.moments(TAIL_PROBABILITY)
        moments.raw[indices], min_value[indices], max_value[indices] = raw, low, high
        expected_positives += positives
        n_entries += block.probabilities.size + block.values.size
        blocks = [*blocks, (indices, block)] if n_entries <= MAX_CACHED_ENTRIES else []
    for g in np.flatnonzero(~fits).tolist():
        exact, positives = groups.pmf(g)
        expected_positives += positives
        powers = [dot(exact.probabilities, exact.values**j) for j in (0, 1, 2, 3)]
        moments.raw[g] = (1 - exact.p_undefined) * np.array(powers)
        moments.distributions[g] = coarse = _coarsen(exact)
        min_value[g] = coarse.values.min(initial=math.inf)
        max_value[g] = coarse.values.max(initial=-math.inf)
    return replace(moments, blocks=tuple(blocks)), expected_positives


def find_lattice_size(moments: GroupMoments, width: float) -> int | None:
    """Return the least m such that all values are multiples of width/m, or None.

    Multiples are counted from the smallest value of all groups, and m is one of
    `LATTICE_SIZES`. None also where the values are not cached, or are too many.
    """
    values = [block.values for _, block in moments.blocks]
    n_cached = sum(indices.size for indices, _ in moments.blocks)
    n_values = sum(part.size for part in values)
    if n_cached < moments.min_value.size or n_values > MAX_LATTICE_VALUES:
        return None
    distinct = np.unique((np.concatenate(values) - moments.min_value.min()) / width)
    position = np.multiply.outer(LATTICE_SIZES, distinct[np.isfinite(distinct)])
    fits = np.flatnonzero(np.abs(position - np.rint(position)).max(axis=1) < 1e-9)
    return LATTICE_SIZES[fits[0]] if fits.size else None


def _coarsen(pmf: ScorePMF) -> ScorePMF:
    """Bin the values into `COARSE_ATOMS` means and drop the tails; keep the moments."""
    up_to = np.cumsum(pmf.probabilities)
    below = up_to - pmf.probabilities
    inside = (up_to > TAIL_PROBABILITY) & (below < 1.0 - TAIL_PROBABILITY)
    values, weights = pmf.values[inside], pmf.probabilities[inside]
    if values.size <= COARSE_ATOMS:
        return pmf
    scale = (COARSE_ATOMS - 1) / (values[-1] - values[0])
    bins = ((values - values[0]) * scale).astype(np.int64)
    mass = np.bincount(bins, weights, COARSE_ATOMS)
    used = mass > 0
    means = np.bincount(bins, weights * values, COARSE_ATOMS)[used] / mass[used]
    return replace(pmf, values=means, probabilities=mass[used] / mass.sum())


@dataclass(frozen=True)
class GroupGrid:
    """Bins of equal width that hold the value of each group.

    Attributes
    ----------
    step : float
        Width of a bin.
    n_bins : int
    fill_value : float or None
        Value of an undefined group. None: sums are kept apart by how many groups are
        defined.
    origin : float or None
        Left edge of the first bin. None: the smallest value of each group.
    """

    step: float
    n_bins: int
    fill_value: float | None = None
    origin: float | None = None

    def assign(self, values: Floats, min_value: float) -> tuple[Integers, Floats]:
        """Return the bin b of each value, and the remainder value - b·step."""
        origin = min_value if self.origin is None else self.origin
        bins = np.floor((values - origin) / self.step + 1e-9).astype(np.int64)
        bins = np.clip(bins, 0, self.n_bins - 1)
        return bins, values - bins * self.step


def bin_groups(
    groups: MetricGroups, start: int, moments: GroupMoments, grid: GroupGrid
) -> tuple[Floats, Floats]:
    """Return the distribution of each group on the grid.

    Parameters
    ----------
    groups : MetricGroups
        Groups start, start + 1, … of those in `moments`.

    Returns
    -------
    mass, remainder : ndarray of shape (n_groups, n_bins + 1)
        Probability of every bin, and Σ probability·(value - b·step) over the values in
        bin b. The last column of `mass` is the probability that the group is
        undefined, where there is no fill value.
    """
    mass, remainder = np.zeros((2, groups.size, grid.n_bins + 1))
    fits = fits_in_block(groups)
    for g in np.flatnonzero(~fits).tolist():
        _bin_pmf(moments.distributions[start + g], grid, mass[g], remainder[g])
    blocks = iter_blocks(groups, np.flatnonzero(fits))
    if moments.blocks and groups.size == moments.min_value.size:
        blocks = iter(moments.blocks)
    fill_value = math.nan if grid.fill_value is None else grid.fill_value
    for indices, block in blocks:
        origin = moments.min_value[start + indices]
        if grid.origin is not None:
            origin = np.full_like(origin, grid.origin)
        elif np.isnan(block.values).any():
            origin = np.minimum(origin, fill_value)
        mass[indices], remainder[indices] = block.on_grid(
            origin, grid.step, grid.n_bins, fill_value
        )
    return mass, remainder


def _bin_pmf(pmf: ScorePMF, grid: GroupGrid, mass: Floats, remainder: Floats) -> None:
    """Write one group's row of `bin_groups` into `mass` and `remainder`."""
    values, weights = pmf.values, (1 - pmf.p_undefined) * pmf.probabilities
    if pmf.p_undefined > 0:
        if grid.fill_value is None:
            mass[-1] = pmf.p_undefined
        else:
            values = np.append(values, grid.fill_value)
            weights = np.append(weights, pmf.p_undefined)
    if values.size:
        bins, rest = grid.assign(values, float(values.min()))
        mass[: grid.n_bins] = np.bincount(bins, weights, grid.n_bins)
        remainder[: grid.n_bins] = np.bincount(bins, weights * rest, grid.n_bins)


QUADRATURE_STEP = 0.25  # of the double exponential rule: errs by less than 1e-13
GROUPS_PER_BLOCK = 1 << 14  # groups that are transformed at once: they fit in cache
# From this many group ranges per standard deviation on, a sum is treated as normal with
# skewness: its skewness is below 1/40, and no lattice of values is coarser than that.
MIN_NORMAL_RANGES = 40.0
CERTAINTY_TOLERANCE = 1e-14  # a smaller probability of being undefined counts as 0


@dataclass(frozen=True)
class PartialMoments:
    """Moments of the sum over some of the groups; those of disjoint groups add up.

    Groups are *fixed* where their value is certain, else *uncertain*.

    Attributes
    ----------
    n_fixed : int
        Number of fixed groups.
    fixed_sum : float
        Sum of the values of the fixed groups.
    expected_positives : float
        Of all groups.
    expected_count, expected_sum : float
        Σ P(defined) and Σ E[value; defined] over the uncertain groups.
    variance, third_cumulant : float
        Of Σ (value - mean)·1(defined), where `mean` is that over all groups; nan before
        it is known.
    covariance : float
        Of that sum and the number of defined groups.
    max_range : float
        Largest difference between the values of one group.
    log_p_undefined : float
        Logarithm of the probability that no uncertain group is defined.
    transforms : ndarray of shape (3, n_nodes)
        See `laplace_transforms`; zeros before the mean is known.
    """

    n_fixed: int
    fixed_sum: float
    expected_positives: float
    expected_count: float
    expected_sum: float
    variance: float
    third_cumulant: float
    covariance: float
    max_range: float
    log_p_undefined: float
    transforms: Floats


@dataclass(frozen=True)
class UncertainGroups:
    """Groups whose values are uncertain, and the sum over the fixed ones."""

    groups: MetricGroups
    moments: GroupMoments
    n_fixed: int
    fixed_sum: float
    expected_positives: float  # of all groups

    @classmethod
    def from_groups(cls, groups: MetricGroups) -> UncertainGroups:
        """Separate groups that have one possible value from the uncertain ones."""
        is_open = groups.is_uncertain()
        values, positives = groups.take(np.flatnonzero(~is_open)).fixed_values()
        values = values[~np.isnan(values)]
        open_groups = groups.take(np.flatnonzero(is_open))
        moments, open_positives = compute_group_moments(open_groups)
        is_defined = moments.raw[:, 0] >= 1.0 - CERTAINTY_TOLERANCE
        is_fixed = is_defined & (moments.min_value == moments.max_value)
        values = np.append(values, moments.min_value[is_fixed])
        uncertain = np.flatnonzero(~is_fixed)
        expected_positives = float(positives.sum()) + open_positives
        fixed = values.size, float(values.sum()), expected_positives
        return cls(open_groups.take(uncertain), moments.take(uncertain), *fixed)

    @property
    def p_defined(self) -> Floats:
        """Probability that the metric is defined, of shape (n_groups,)."""
        return np.asarray(self.moments.raw[:, 0])

    def value_range(self, mean: float) -> tuple[Floats, Floats]:
        """Return the smallest and the largest value of every group.

        An undefined group counts as `mean`, unless that is nan.
        """
        low, high = self.moments.min_value, self.moments.max_value
        may_be_undefined = self.p_defined <= 1.0 - CERTAINTY_TOLERANCE
        if not math.isnan(mean) and may_be_undefined.any():
            return np.minimum(low, mean), np.maximum(high, mean)
        return low, high

    def mean_moments(self) -> MeanMoments:
        """Return the moments of the mean over all groups."""
        expected_count, expected_sum = self.moments.raw[:, :2].sum(axis=0).tolist()
        expected_count += self.n_fixed
        mean = (expected_sum + self.fixed_sum) / max(expected_count, 1e-300)
        return MeanMoments.from_partials([self.partial_moments(mean, expected_count)])

    def partial_moments(self, mean: float, expected_count: float) -> PartialMoments:
        """Return the moments of these groups around the mean over all groups.

        Parameters
        ----------
        mean, expected_count : float
            Mean over all groups, and their expected number of defined ones. nan in a
            first pass, which serves to compute them (`pooled_mean`).
        """
        p_defined, first, second, third = self.moments.raw.T
        # E[(value - mean)^j; defined] for j = 1, 2, 3
        d1 = first - mean * p_defined
        d2 = second - 2 * mean * first + mean**2 * p_defined
        d3 = third - 3 * mean * second + 3 * mean**2 * first - mean**3 * p_defined
        low, high = self.value_range(mean)
        with np.errstate(divide="ignore"):
            log_p_undefined = float(np.log(np.maximum(1.0 - p_defined, 0.0)).sum())
        transforms = np.zeros((3, 1))
        if not math.isnan(expected_count):
            transforms = laplace_transforms(p_defined, d1, d2, expected_count)
        max_range = float((high - low).max(initial=0.0))
        cumulants = d2 - d1**2, d3 - 3 * d1 * d2 + 2 * d1**3
        terms = p_defined, first, *cumulants, d1 * (1.0 - p_defined)
        count, total, *moments = (math.fsum(one.tolist()) for one in terms)
        fixed = self.n_fixed, self.fixed_sum, self.expected_positives
        variance, third, covariance = moments
        sums = count, total, variance, third, covariance
        return PartialMoments(*fixed, *sums, max_range, log_p_undefined, transforms)


def pooled_mean(partials: list[PartialMoments]) -> tuple[float, float]:
    """Return expected sum over expected count of the defined groups, and this count."""
    expected_count = math.fsum(one.expected_count + one.n_fixed for one in partials)
    expected_sum = math.fsum(one.expected_sum + one.fixed_sum for one in partials)
    return expected_sum / max(expected_count, 1e-300), expected_count


def normal_approximation(partials: list[PartialMoments]) -> ScorePMF | None:
    """Return the distribution of the mean; None with too few groups for it."""
    moments = MeanMoments.from_partials(partials)
    return moments.skewed_normal() if moments.is_nearly_normal else None


def _quadrature_nodes(expected_count: float) -> tuple[Floats, Floats]:
    """Return nodes x and weights of a quadrature over x from 0 to infinity.

    The integrands fall like E[e^(-xN)] < e^(-E[N]·(1 - e^-x)), E[N] = expected_count:
    at first on the scale of 1/E[N], in the end like e^-x.
    """
    scale = max(expected_count, 1.0)
    t = np.arange(-3.75, math.log(45.0 * scale) + QUADRATURE_STEP, QUADRATURE_STEP)
    x = np.exp(t - np.exp(-t)) / scale
    kept = expected_count * -np.expm1(-x) < 45.0
    t, x = t[kept], x[kept]
    return x, x * (1.0 + np.exp(-t)) * QUADRATURE_STEP


def laplace_transforms(
    p_defined: Floats, d1: Floats, d2: Floats, expected_count: float
) -> Floats:
    """Return sums over groups at every node x, for the moments of the ratio D/N.

    N is the number of defined groups and D the sum of their deviations from the mean.
    The rows are log E[e^(-xN)], and the mean and the variance of D under the
    distribution that is tilted by e^(-xN).

    Parameters
    ----------
    p_defined, d1, d2 : ndarray of shape (n_groups,)
        P(defined), and E[(value - mean)^j; defined] for j = 1, 2.
    expected_count : float
        Expected number of defined groups, of all.

    Returns
    -------
    ndarray of shape (3, n_nodes)
    """
    x, _ = _quadrature_nodes(expected_count)
    may_be_undefined, decay = p_defined < 1.0, np.exp(-x)
    d1_defined, d2_defined = d1[~may_be_undefined], d2[~may_be_undefined]
    sums = np.empty((3, x.size))
    sums[0] = -x * d1_defined.size
    sums[1], sums[2] = d1_defined.sum(), (d2_defined - d1_defined**2).sum()
    p_defined, d1, d2 = (one[may_be_undefined] for one in (p_defined, d1, d2))
    for start in range(0, p_defined.size, GROUPS_PER_BLOCK):
        block = slice(start, start + GROUPS_PER_BLOCK)
        for i, factor in enumerate(decay.tolist()):  # factor = e^-x
            normaliser = (1.0 - p_defined[block]) + p_defined[block] * factor
            mean = d1[block] * (factor / normaliser)
            sums[0, i] += np.log(normaliser).sum()
            sums[1, i] += mean.sum()
            sums[2, i] += dot(d2[block], factor / normaliser) - dot(mean, mean)
    return sums


def ratio_moments(
    transforms: Floats,
    expected_count: float,
    n_fixed: int,
    fixed_sum: float,
    p_undefined: float,
) -> tuple[float, float]:
    """Return the mean and the standard deviation of D/N given N > 0.

    1/N = ∫ e^(-xN) dx and 1/N² = ∫ x e^(-xN) dx, over x from 0 to infinity.

    Parameters
    ----------
    transforms : ndarray of shape (3, n_nodes)
        See `laplace_transforms`.
    n_fixed, fixed_sum
        Added to N and to D.
    p_undefined : float
        P(N = 0).
    """
    x, weights = _quadrature_nodes(expected_count)
    log_normaliser, mean, variance = transforms
    weights = weights * np.exp(log_normaliser - x * n_fixed) / (1.0 - p_undefined)
    first = dot(weights, mean + fixed_sum)
    second = dot(weights * x, (mean + fixed_sum) ** 2 + variance)
    return first, math.sqrt(max(second - first**2, 0.0))


@dataclass(frozen=True)
class MeanMoments:
    """Moments of the mean over the defined groups, a ratio of two random sums.

    Attributes
    ----------
    mean : float
        Expected sum over expected count of the defined groups.
    expected_count : float
    variance, third_cumulant : float
        Of D, the sum of the deviations of the defined groups from `mean`.
    covariance : float
        Of D and N, the number of defined groups.
    max_range : float
        Largest difference between the values of one group.
    p_undefined : float
        Probability that no group is defined.
    ratio_mean, ratio_std : float
        Mean and standard deviation of D/N.
    """

    mean: float
    expected_count: float
    variance: float
    third_cumulant: float
    covariance: float
    max_range: float
    p_undefined: float
    ratio_mean: float
    ratio_std: float

    @classmethod
    def from_partials(cls, partials: list[PartialMoments]) -> MeanMoments:
        """Add up the moments of the parts of a partition of all groups."""
        mean, expected_count = pooled_mean(partials)
        n_fixed, p_undefined = sum(one.n_fixed for one in partials), 0.0
        if not n_fixed:
            p_undefined = math.exp(sum(one.log_p_undefined for one in partials))
        ratio_mean = ratio_std = math.nan
        if expected_count > 0.0 and p_undefined < 1.0:
            transforms = sum((one.transforms for one in partials), np.zeros((3, 1)))
            fixed = math.fsum(one.fixed_sum - mean * one.n_fixed for one in partials)
            ratio_mean, ratio_std = ratio_moments(
                transforms, expected_count, n_fixed, fixed, p_undefined
            )
        variance = max(math.fsum(one.variance for one in partials), 0.0)
        third = math.fsum(one.third_cumulant for one in partials)
        covariance = math.fsum(one.covariance for one in partials)
        max_range = max(one.max_range for one in partials)
        of_sum = mean, expected_count, variance, third, covariance, max_range
        return cls(*of_sum, p_undefined, ratio_mean, ratio_std)

    @property
    def std(self) -> float:
        """Standard deviation of the sum D."""
        return math.sqrt(self.variance)

    @property
    def is_nearly_normal(self) -> bool:
        """Whether a normal distribution with skewness describes the sum."""
        has_groups = self.expected_count > 0.0
        return has_groups and self.std >= MIN_NORMAL_RANGES * self.max_range > 0.0

    def skewed_normal(self) -> ScorePMF:
        """Return a normal distribution with a first-order Edgeworth correction.

        Its density is proportional to e^(-z²/2)·(1 + γ·(z³ - 3z)/6), γ the skewness.
        """
        z = np.linspace(-6.0, 6.0, 2401)
        skewness = self.third_cumulant / self.std**3
        density = np.exp(-(z**2) / 2) * (1 + skewness / 6 * (z**3 - 3 * z))
        density = np.maximum(density, 0.0)
        return self.match_moments(z, density / density.sum())

    def match_moments(
        self, values: Floats, probabilities: Floats, *, of_sum: bool = True
    ) -> ScorePMF:
        """Shift and scale values to the mean and standard deviation of the ratio.

        Where they are those of D (`of_sum`, up to shift and scale), they are bent first
        to D/E[N | D], where E[N | D] is linear: E[N] + Cov(D, N)/Var(D)·D.
        """
        deviations = values - dot(probabilities, values)
        if of_sum:
            unit = math.sqrt(dot(probabilities, deviations**2))
            bend = self.covariance / (self.std * self.expected_count * unit)
            most = 0.5 / np.abs(deviations).max()  # E[N | D] stays positive
            deviations /= 1.0 + min(max(bend, -most), most) * deviations
            deviations -= dot(probabilities, deviations)
        scale = self.ratio_std / math.sqrt(dot(probabilities, deviations**2))
        matched = self.mean + self.ratio_mean + scale * deviations
        values, weights = merge_atoms([(matched, probabilities)])
        return ScorePMF.from_pmf(values, weights, self.p_undefined)
