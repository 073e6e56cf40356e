"""Distributions of the number of positives and of metric values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._expected import TOLERANCE, bernoulli_cumulants, kernels
from argmetric._expected.plan import SHORT_ROWS
from argmetric._ground.discrete import distinct, dot
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

ROWS_PER_BLOCK = 512  # a long vector is convolved block by block, then in pairs
MAX_ATOMS = 1 << 16  # distributions with more distinct values are binned
MAX_UNTRIMMED = 256  # tails are kept in full up to this many counts
PAIRS_PER_BLOCK = 1 << 14  # pairs of counts per metric call: they fit in cache
MAX_OUTSIDE_MASS = 1e-13  # probability outside the bins that is ignored
RANGE_GRID_SIZE = 64  # counts of hits and of misses at which the range is estimated


class CountPMF(NamedTuple):
    """Probability mass function of a count: P(first + i) = probabilities[i].

    A first count between whole numbers is a node of a quadrature.
    """

    first: float
    probabilities: Floats


def count_pmf(p: Floats, q: Floats, tolerance: float = TOLERANCE) -> CountPMF:
    """Return the distribution of the number of positives (Poisson binomial).

    All terms are sums of positive products, so that no digits cancel.

    Parameters
    ----------
    p, q : ndarray of shape (n_rows,)
        Probabilities of a positive and of a negative; labels are independent.
    tolerance : float
        With more than `MAX_UNTRIMMED` rows, tails at or below it are dropped.
    """
    tolerance = 0.0 if p.size <= MAX_UNTRIMMED else tolerance
    if p.size <= SHORT_ROWS:  # avoids loading the compiled kernels
        pmf = np.ones(1)
        for bernoulli in np.stack([q, p], axis=1):
            pmf = np.convolve(pmf, bernoulli)
        return trim_tails(CountPMF(0, pmf), tolerance)
    indptr = np.append(np.arange(0, p.size, ROWS_PER_BLOCK), p.size)
    n_blocks = indptr.size - 1
    box = np.empty((n_blocks, 4), dtype=np.int64)
    pmfs = np.empty(p.size + 2 * n_blocks)
    all_rows = np.ones(p.size, dtype=bool)
    kernels.fill_pmfs(p, q, indptr, all_rows, tolerance, box, pmfs)
    starts = (indptr[:-1] + 2 * np.arange(n_blocks)).tolist()
    blocks = [
        CountPMF(first, pmfs[start : start + length])
        for start, (first, length, _, _) in zip(starts, box.tolist(), strict=True)
    ]
    return convolve_pmfs(blocks, tolerance)


def convolve_pmfs(pmfs: list[CountPMF], tolerance: float = TOLERANCE) -> CountPMF:
    """Return the distribution of the sum of independent counts, without its tails."""
    while len(pmfs) > 1:
        pairs = [
            CountPMF(a.first + b.first, np.convolve(a.probabilities, b.probabilities))
            for a, b in zip(pmfs[::2], pmfs[1::2], strict=False)
        ]
        pairs = [trim_tails(pmf, tolerance) for pmf in pairs]
        pmfs = pairs + pmfs[2 * len(pairs) :]
    return trim_tails(pmfs[0], tolerance)


def trim_tails(pmf: CountPMF, tolerance: float) -> CountPMF:
    """Drop the leading and trailing probabilities that are at most `tolerance`."""
    first, probabilities = pmf
    kept = np.flatnonzero(probabilities > tolerance)
    return CountPMF(first + int(kept[0]), probabilities[kept[0] : kept[-1] + 1])


@dataclass(frozen=True)
class ScorePMF:
    """Distribution of a metric's value, conditional on the metric being defined."""

    values: Floats  # shape (n_atoms,), ascending
    probabilities: Floats  # shape (n_atoms,), adding up to 1
    p_undefined: float  # probability that the metric is 0/0
    mean: float
    variance: float

    @classmethod
    def from_pmf(
        cls, values: Floats, probabilities: Floats, p_undefined: float
    ) -> ScorePMF:
        """Compute the mean and the variance from the probabilities, which add to 1."""
        mean = dot(probabilities, values)
        variance = dot(probabilities, (values - mean) ** 2)
        return cls(values, probabilities, p_undefined, mean, variance)

    @classmethod
    def from_atoms(cls, parts: list[tuple[Floats, Floats]]) -> ScorePMF:
        """Merge arrays of values and weights into one distribution.

        Parameters
        ----------
        parts : list of (values, weights)
            Arrays of equal shape (n_i,). NaN marks an undefined metric. The weights of
            all parts together add up to 1.
        """
        p_defined = p_undefined = 0.0
        for values, weights in parts:
            defined = ~np.isnan(values)
            p_undefined += float(weights[~defined].sum())
            p_defined += float(weights[defined].sum())
        if p_defined <= 0.0:
            return ALWAYS_UNDEFINED
        values, weights = merge_atoms(parts)
        return cls.from_pmf(values, weights / p_defined, p_undefined)


ALWAYS_UNDEFINED = ScorePMF(
    np.zeros(0), np.zeros(0), p_undefined=1.0, mean=math.nan, variance=math.nan
)


def score_pmf(
    metric: Metric, n: int, p: Floats, q: Floats, selected: Booleans
) -> ScorePMF:
    """Return the distribution of the metric for fixed predictions.

    Parameters
    ----------
    n : int
        Number of rows that the metric counts, with the absent ones of a sparse matrix.
    p, q : ndarray of shape (n_rows,)
        Probabilities of a positive and of a negative; labels are independent.
    selected : ndarray of bool, shape (n_rows,)
        Rows that are predicted positive.
    """
    hits = count_pmf(p[selected], q[selected])
    misses = count_pmf(p[~selected], q[~selected])
    return score_pmf_from_counts(metric, n, int(selected.sum()), hits, misses)


def score_pmf_from_counts(
    metric: Metric, n: int, k: float, hits: CountPMF, misses: CountPMF
) -> ScorePMF:
    """Return the distribution of the metric, given those of its two counts.

    Parameters
    ----------
    n, k : int, float
        Number of rows, and of rows that are predicted positive. It may lie between
        whole numbers, as the node of a quadrature does.
    hits, misses : CountPMF
        Numbers of true positives and of false negatives, independent of each other.
    """
    pairs = _CountPairs(metric, n, k, hits, misses)
    n_hits, n_misses = hits.probabilities.size, misses.probabilities.size
    if n_hits * n_misses <= MAX_ATOMS:
        trim = n_hits + n_misses > MAX_UNTRIMMED
        blocks = pairs.iter_blocks() if trim else [pairs.block(0, n_hits, 0.0)]
        return ScorePMF.from_atoms(list(blocks))
    # The range of the bins is estimated on a coarse grid of counts. Where the metric
    # leaves it with more than a negligible probability, the exact range is used.
    bins = pairs.fill(BinnedAtoms(pairs.sample_values()))
    if bins.outside_mass > MAX_OUTSIDE_MASS:
        bins = pairs.fill(BinnedAtoms(np.array([bins.min_value, bins.max_value])))
    values, weights = bins.atoms()
    if not values.size:
        return ALWAYS_UNDEFINED
    return ScorePMF.from_pmf(values, weights / weights.sum(), bins.undefined_mass)


@dataclass(frozen=True)
class _CountPairs:
    """All pairs of numbers of true positives and of false negatives."""

    metric: Metric
    n: int
    k: float
    hits: CountPMF
    misses: CountPMF

    def block(
        self, start: int, stop: int, min_probability: float
    ) -> tuple[Floats, Floats]:
        """Return metric values and probabilities of the pairs in a slice of the hits.

        Misses are trimmed where all pairs are at most `min_probability` likely.
        """
        hit_p, miss_p = self.hits.probabilities[start:stop], self.misses.probabilities
        kept = np.flatnonzero(hit_p.max() * miss_p > min_probability)
        inside = slice(int(kept[0]), int(kept[-1]) + 1)
        tp = self.hits.first + np.arange(start, start + hit_p.size, dtype=float)
        tp = tp[:, None]
        fn = self.misses.first + np.arange(inside.start, inside.stop, dtype=float)
        values = self.metric.value(tp, self.k, tp + fn, self.n)
        return values.ravel(), (hit_p[:, None] * miss_p[inside]).ravel()

    def iter_blocks(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield values and probabilities, `PAIRS_PER_BLOCK` likely pairs at a time."""
        hit_p, miss_p = self.hits.probabilities, self.misses.probabilities
        step = max(1, PAIRS_PER_BLOCK // miss_p.size)
        min_probability = TOLERANCE * miss_p.max()
        for start in range(0, hit_p.size, step):
            if hit_p[start : start + step].max() > TOLERANCE:
                yield self.block(start, start + step, min_probability)

    def fill(self, bins: BinnedAtoms) -> BinnedAtoms:
        """Add all pairs to the bins and return them."""
        for values, weights in self.iter_blocks():
            bins.add(values, weights)
        return bins

    def sample_values(self) -> Floats:
        """Return the defined metric values on a coarse grid of counts."""
        hit_steps, miss_steps = (
            np.rint(np.linspace(0.0, pmf.probabilities.size - 1.0, RANGE_GRID_SIZE))
            for pmf in (self.hits, self.misses)
        )
        tp = self.hits.first + hit_steps[:, None]
        values = self.metric.value(
            tp, self.k, tp + self.misses.first + miss_steps, self.n
        )
        return np.asarray(values[~np.isnan(values)])


def merge_atoms(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the distinct values in ascending order, and their total weights.

    NaN and values of weight 0 are dropped. More than 4·`MAX_ATOMS` values are binned.
    """
    if sum(values.size for values, _ in parts) <= 4 * MAX_ATOMS:
        values = np.concatenate([values for values, _ in parts])
        weights = np.concatenate([weights for _, weights in parts])
        keep = ~np.isnan(values) & (weights > 0)
        return distinct(values[keep], weights[keep])
    extremes = [
        extreme(values[~np.isnan(values)])
        for values, _ in parts
        for extreme in (np.min, np.max)
        if not np.isnan(values).all()
    ]
    bins = BinnedAtoms(np.array(extremes))
    for values, weights in parts:
        bins.add(values, weights)
    return bins.atoms()


class BinnedAtoms:
    """Histogram with `MAX_ATOMS` bins of equal width; a bin keeps its mean value.

    Parameters
    ----------
    values : ndarray
        The bins span the range of these values. Values outside it are added to the
        first or the last bin, and their weight to `outside_mass`.

    Attributes
    ----------
    min_value, max_value : float
        Range of the values seen so far, with those outside the bins.
    mass, weighted_sum : ndarray of shape (MAX_ATOMS,)
        Sums of the weights, and of weights times values, in every bin.
    outside_mass, undefined_mass : float
        Weight of the values outside the bins, and of NaN.
    """

    def __init__(self, values: Floats) -> None:
        self.low = float(values.min(initial=math.inf))
        self.high = float(values.max(initial=-math.inf))
        self.min_value, self.max_value = self.low, self.high
        self.mass, self.weighted_sum = np.zeros((2, MAX_ATOMS))
        self.outside_mass = self.undefined_mass = 0.0

    def add(self, values: Floats, weights: Floats) -> None:
        """Add values with their weights, both of shape (n,)."""
        smallest, largest = float(values.min()), float(values.max())
        if math.isnan(smallest):
            defined = ~np.isnan(values)
            self.undefined_mass += float(weights[~defined].sum())
            if not defined.any():
                return
            values, weights = values[defined], weights[defined]
            smallest, largest = float(values.min()), float(values.max())
        scale = (
            (MAX_ATOMS - 1) / (self.high - self.low) if self.high > self.low else 0.0
        )
        position = (values - self.low) * scale
        if smallest < self.low or largest > self.high:
            outside = (values < self.low) | (values > self.high)
            self.outside_mass += float(weights[outside].sum())
            self.min_value = min(self.min_value, smallest)
            self.max_value = max(self.max_value, largest)
            np.clip(position, 0, MAX_ATOMS - 1, out=position)
        bins = position.astype(np.intp)
        first = int(bins.min())
        bins -= first
        for total, terms in (
            (self.mass, weights),
            (self.weighted_sum, weights * values),
        ):
            sums = np.bincount(bins, terms)
            total[first : first + sums.size] += sums

    def atoms(self) -> tuple[Floats, Floats]:
        """Return the mean values of the used bins, ascending, and their weights."""
        used = np.flatnonzero(self.mass)
        mass = self.mass[used]
        return self.weighted_sum[used] / mass, mass


MAX_TILT_STDS = 6.0  # a distribution is tilted by at most this many standard deviations
TILT_TOLERANCE = 1e-60  # tilting can make very unlikely counts likely: keep them
TERMS_PER_BLOCK = 1 << 16  # rows times shifts that are summed at once: fits in cache
RELATIVE_TOLERANCE = 1e-13  # of the largest probability; smaller ones are set to 0
EDGEWORTH_STDS = 5.6  # half-width of an Edgeworth expansion: 2e-8 lie outside
# Counts kept per standard deviation of a wide distribution. Means over them are as
# accurate as over all counts; quantiles of the mixture are off by a few hundredths of
# a standard deviation.
POINTS_PER_STD = 3
LOG_ODDS_BIN_WIDTH = 0.02  # a Taylor series with four terms errs by less than 1e-9


class TiltedCounts:
    """Distributions of the number of positives as all log-odds shift by θ.

    A shift tilts the distribution exponentially: P_θ(t) ∝ P_0(t)·e^(θt). Distributions
    are computed row by row at a few shifts, and tilted in between.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        Log-odds at shift 0 of the rows with unknown labels.
    n_known_positives : int
        Positives among the rows with known labels; added to every count.
    shifts : ndarray of shape (n_shifts,)
        Ascending shifts at which the cumulants are computed.
    """

    # From this variance on, four cumulants determine the distribution well enough.
    MIN_EDGEWORTH_VARIANCE = 100.0

    def __init__(
        self, log_odds: Floats, n_known_positives: int, shifts: Floats
    ) -> None:
        self.log_odds, self.shifts = log_odds, shifts
        self.n_known_positives = n_known_positives
        self.cumulants = count_cumulants(log_odds, shifts)

    @property
    def variance(self) -> Floats:
        """Variances at the shifts, of shape (n_shifts,)."""
        return np.asarray(self.cumulants[1])

    @property
    def n_likely_counts(self) -> int:
        """Approximate number of counts that are likely at any shift."""
        half_width = 9.0 * np.sqrt(self.variance) + 20.0
        low = max(float((self.cumulants[0] - half_width).min()), 0.0)
        high = min(float((self.cumulants[0] + half_width).max()), self.log_odds.size)
        return int(high - low) + 1

    def iter_pmfs(self, shifts: Floats) -> Iterator[tuple[int, Floats]]:
        """Yield exact probabilities at ascending shifts, for a run of them at a time.

        Yields
        ------
        first : int
            The count of the first column.
        probabilities : ndarray of shape (n_shifts_of_run, n_counts)
        """
        stds = np.sqrt(np.interp(shifts, self.shifts, self.variance))
        start = 0
        while start < shifts.size:
            tilts = shifts[start:] - shifts[start]
            tilt_stds = tilts * np.maximum(stds[start:], stds[start])
            near = np.append(tilt_stds <= MAX_TILT_STDS, False)
            tilts = tilts[: max(1, int(np.argmin(near)))]
            p, q = from_log_odds(self.log_odds + shifts[start])
            low, pmf = count_pmf(p, q, TILT_TOLERANCE)
            deviations = np.arange(float(pmf.size))
            deviations -= dot(pmf, deviations)
            # Where e^x would overflow, the probability that it multiplies is 0.
            pmfs = pmf * np.exp(np.minimum(tilts[:, None] * deviations, 700.0))
            pmfs[pmfs <= RELATIVE_TOLERANCE * pmfs.max(axis=1, keepdims=True)] = 0.0
            used = np.flatnonzero(pmfs.any(axis=0))
            pmfs = pmfs[:, used[0] : used[-1] + 1]
            first = self.n_known_positives + int(low) + int(used[0])
            yield first, pmfs / pmfs.sum(axis=1, keepdims=True)
            start += tilts.size

    def pmf_table(self, shifts: Floats) -> tuple[int, Floats]:
        """Return the first count, and probabilities of shape (n_shifts, n_counts)."""
        blocks = list(self.iter_pmfs(shifts))
        low = min(first for first, _ in blocks)
        high = max(first + pmfs.shape[1] for first, pmfs in blocks)
        table = np.zeros((shifts.size, high - low))
        row = 0
        for first, pmfs in blocks:
            columns = slice(first - low, first - low + pmfs.shape[1])
            table[row : row + pmfs.shape[0], columns] = pmfs
            row += pmfs.shape[0]
        return low, table

    def support_points(self, shifts: Floats) -> tuple[Floats, Floats]:
        """Return counts and weights at ascending shifts; wide supports are thinned.

        Returns
        -------
        counts, weights : ndarray of shape (n_shifts, max_points)
            Rows with fewer points are padded with weights of 0.
        """
        from scipy.interpolate import CubicSpline

        variance = np.interp(shifts, self.shifts, self.variance)
        smooth = variance >= self.MIN_EDGEWORTH_VARIANCE
        cumulants = CubicSpline(self.shifts, self.cumulants, axis=1)(shifts[smooth])
        rows, points, start = [], [], 0
        if smooth.any():
            rows.append(np.flatnonzero(smooth))
            points.append(_edgeworth_points(cumulants, self.log_odds.size))
        exact_rows = np.flatnonzero(~smooth)
        for first, pmfs in self.iter_pmfs(shifts[~smooth]):
            row = exact_rows[start : start + pmfs.shape[0]]
            start += row.size
            columns, kept = _thin_support(pmfs, row - first)
            rows.append(row)
            points.append((first - self.n_known_positives + columns, kept))
        width = max(kept.shape[1] for _, kept in points)
        counts, weights = np.zeros((2, shifts.size, width))
        for row, (some_counts, some_weights) in zip(rows, points, strict=True):
            counts[row] = some_counts[:, :1]
            counts[row, : some_weights.shape[1]] = some_counts
            weights[row, : some_weights.shape[1]] = some_weights
        return self.n_known_positives + counts, weights


def _thin_support(pmfs: Floats, phases: Integers) -> tuple[Floats, Floats]:
    """Keep every m-th column of each row, m growing with its standard deviation.

    Parameters
    ----------
    pmfs : ndarray of shape (n_rows, n_counts)
    phases : ndarray of int, shape (n_rows,)
        The first kept column is ``phases % m``: neighbouring rows keep different
        counts, so that their mixture has no gaps.

    Returns
    -------
    columns, weights : ndarray of shape (n_rows, n_kept)
    """
    columns = np.arange(float(pmfs.shape[1]))
    means = pmfs @ columns
    std = np.sqrt(np.maximum(pmfs @ columns**2 - means**2, 0.0))
    spacing, phases = count_spacing(std)[:, None], phases[:, None]
    kept = phases % spacing + spacing * np.arange(-(-pmfs.shape[1] // spacing.min()))
    inside = kept < pmfs.shape[1]
    kept = np.where(inside, kept, 0)
    weights = np.where(inside, np.take_along_axis(pmfs, kept, axis=1), 0.0)
    return kept.astype(np.float64), weights / weights.sum(axis=1, keepdims=True)


def count_spacing(std: Floats) -> Integers:
    """Return the distance between kept counts: `POINTS_PER_STD` of them per std."""
    return np.maximum((std / POINTS_PER_STD).astype(np.int64), 1)


def count_cumulants(log_odds: Floats, shifts: Floats) -> Floats:
    """Return the first four cumulants of the number of positives at every shift.

    The derivative of a Bernoulli cumulant by the log-odds is the next cumulant. Many
    rows are therefore binned by log-odds, with a Taylor series around the bin centres:
    κ_j(c + d) = κ_j(c) + κ_{j+1}(c)·d + κ_{j+2}(c)·d²/2 + κ_{j+3}(c)·d³/6.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows,)
        May be infinite: a row at ∞ is always positive.
    shifts : ndarray of shape (n_shifts,)

    Returns
    -------
    ndarray of shape (4, n_shifts)
    """
    finite = np.isfinite(log_odds)
    certain = np.zeros((4, 1))
    certain[0] = np.count_nonzero(log_odds == math.inf)
    centres = log_odds[finite]
    coefficients = np.ones((1, centres.size))  # Σ d^j/j!, of shape (n_terms, n_centres)
    if centres.size:
        nearest = np.rint(centres / LOG_ODDS_BIN_WIDTH)
        first = nearest.min()
        n_bins = int(nearest.max() - first) + 1
        if 2 * n_bins < centres.size:
            bins = (nearest - first).astype(np.int64)
            offset = centres - LOG_ODDS_BIN_WIDTH * nearest
            term = np.ones(centres.size)
            coefficients = np.empty((4, n_bins))
            for order in range(4):
                coefficients[order] = np.bincount(bins, term, n_bins)
                term *= offset / (order + 1)
            used = coefficients[0] > 0
            centres = LOG_ODDS_BIN_WIDTH * (first + np.flatnonzero(used))
            coefficients = coefficients[:, used]
    total = np.zeros((4, shifts.size))
    n_terms = coefficients.shape[0]
    step = max(1, TERMS_PER_BLOCK // shifts.size)
    for start in range(0, centres.size, step):
        block = slice(start, start + step)
        x = centres[block, None] + shifts
        cumulants = bernoulli_cumulants(*from_log_odds(x.ravel()), 3 + n_terms)
        cumulants = cumulants.reshape(-1, *x.shape)
        for order in range(n_terms):
            derivatives = cumulants[order : order + 4]
            total += np.einsum("jrs,r->js", derivatives, coefficients[order, block])
    return total + certain


def _edgeworth_points(cumulants: Floats, n_rows: int) -> tuple[Floats, Floats]:
    """Return counts and weights from a fourth-order Edgeworth expansion.

    With z = (t - κ₁)/√κ₂, skewness γ and excess kurtosis δ, the weight of t is
    e^(-z²/2)·(1 + γ·He₃(z)/6 + δ·He₄(z)/24 + γ²·He₆(z)/72). The first count differs
    from row to row, so that the mixture of the rows has no gaps.

    Parameters
    ----------
    cumulants : ndarray of shape (4, n_shifts)
    n_rows : int
        The largest possible count.

    Returns
    -------
    counts, weights : ndarray of shape (n_shifts, n_points)
    """
    mean, variance, third, fourth = cumulants
    std = np.sqrt(variance)
    spacing = count_spacing(std)
    low = np.ceil(mean - EDGEWORTH_STDS * std) + np.arange(mean.size) % spacing
    low = np.maximum(low, 0.0)
    high = np.minimum(np.floor(mean + EDGEWORTH_STDS * std), n_rows)
    n_points = int(((high - low) // spacing).max()) + 1
    counts = low[:, None] + spacing[:, None] * np.arange(n_points)
    z = (counts - mean[:, None]) / std[:, None]
    z2 = z * z
    skewness = (third / std**3)[:, None]
    excess = (fourth / variance**2)[:, None]
    series = 1.0 + skewness / 6 * z * (z2 - 3)
    series += excess / 24 * (z2 * (z2 - 6) + 3)
    series += skewness**2 / 72 * (z2 * (z2 * (z2 - 15) + 45) - 15)
    weights = np.exp(-z2 / 2) * np.maximum(series, 0.0)
    inside = counts <= high[:, None]
    weights = np.where(inside, weights, 0.0)
    counts = np.where(inside, counts, low[:, None])
    return counts, weights / weights.sum(axis=1, keepdims=True)
