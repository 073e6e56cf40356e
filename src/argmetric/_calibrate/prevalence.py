"""Prevalence among unlabelled rows, estimated from a two-sample likelihood.

Label shift: each class still looks as it did in the reference, and only the odds of a
positive changed, by a factor e^θ. Where a calibrator gives c(s) for the score s, the
density of scores now is that of the reference times r(s) = a·h(s), h = 1 - c + c·e^θ.
With m rows in the reference and n new ones the empirical likelihood is

    ℓ(θ) = max over a of Σ_new log r - Σ_all log(m + n·r) + (m + n)·log(m + n),

in which the scores of the reference have a sampling error of their own (Qin 1999). At
the best a, Σ_all n·r/(m + n·r) = n. ℓ(0) is 0 for every calibrator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.bins import ReferenceBins
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prior import MatchedPrevalence, constant_for_prevalence
from argmetric._calibrate.reference import Reference
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import Floats, Integers, Interval

LARGEST_THETA = 8.0
GRID_POINTS = 33
EVEN, NINE = (np.linspace(0.0, 1.0, count) for count in (GRID_POINTS, 9))
TABLES = 6  # of nine points each, by which a peak or an end is found
MIN_LIKELY_POINTS = 8  # of the grid, where a posterior is resolved
LIKELY = 20.0  # log-likelihood below the largest from which nothing is left
MOST_ZOOMS = 8
MOST_STEPS = 50  # of Newton's method
SMALL_STEP = 1e-6  # of log a
ENTRIES_PER_BLOCK = 1 << 16  # of tables of θ, calibrators and bins
BINOMIAL_ATOMS = 9
CRITICAL = 6.63  # of 2·ℓ: exceeded in 1 % of the cases in which nothing moved
LEAST_THETA = 0.1  # F1 moves by about one point: less is not worth a note


class EstimatedPrevalence(NamedTuple):
    """An estimated prevalence."""

    mean: float  # the prevalence to expect among the rows
    interval: Interval  # holds it with the probability `coverage`
    coverage: float  # nominal coverage
    reference: float  # the prevalence of the reference

    def __str__(self) -> str:
        return (
            f"{self.mean:.3g} ({self.coverage:.0%} interval {self.interval.low:.3g} to "
            f"{self.interval.high:.3g}), {self.reference:.3g} in the reference"
        )


@dataclass(frozen=True)
class TwoSampleBins:
    """Rows of a reference and new rows, counted in the same bins of scores.

    scores : ndarray of shape (n_bins,)
        Mean score of each bin, on the scale of the reference.
    old, new : ndarray of shape (n_bins,) or (n_calibrators, n_bins)
        Rows of the reference, and new rows.
    logits : bool
        Whether scores are log-odds.
    """

    scores: Floats
    old: Floats
    new: Floats
    logits: bool

    @classmethod
    def count(cls, reference: Reference | ReferenceBins, new: Floats) -> TwoSampleBins:
        """Count the reference and the `new` scores in its bins; no bin is empty."""
        bins = ReferenceBins.from_rows(reference)
        count, above = bins.sums(new)
        both = bins.count + count
        used = both > 0
        mean = bins.base + (bins.above + above) / np.maximum(both, 1.0)
        return cls(mean[used], bins.count[used], count[used], bins.logits)

    def probabilities(self, calibrator: Calibrator) -> Floats:
        """Return the probability of a positive in each bin."""
        mapped = calibrator._map_scores(self.scores, logits=self.logits)
        return from_log_odds(mapped)[0] if self.logits else mapped


@dataclass(frozen=True)
class PrevalenceLikelihood:
    """ℓ(θ) under some calibrators.

    probabilities : ndarray of shape (n_calibrators, n_bins)
        Probability of a positive in each bin of the table.
    """

    table: TwoSampleBins
    probabilities: Floats

    @classmethod
    def from_calibrator(
        cls, table: TwoSampleBins, calibrator: Calibrator
    ) -> PrevalenceLikelihood:
        """Return ℓ under a calibrator, or under each of a family."""
        return cls(table, np.atleast_2d(table.probabilities(calibrator)))

    @cached_property
    def _rows(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Old and new rows, m and n/m: (n_calibrators, n_bins, 1), or 1 for n_bins."""
        shape = len(self.probabilities), self.probabilities.shape[1], 1
        old, new = (
            np.broadcast_to(one[..., None], shape)
            for one in (self.table.old, self.table.new)
        )
        m = old.sum(axis=1, keepdims=True)
        return old, new, m, new.sum(axis=1, keepdims=True) / m

    def loglik(self, theta: Floats) -> Floats:
        """Return ℓ at every θ (n_calibrators, n_theta), by blocks within the cache."""
        level = np.empty((*theta.shape, 1))
        step = max(
            ENTRIES_PER_BLOCK // (theta[0].size * self.probabilities.shape[1]), 1
        )
        for first in range(0, len(theta), step):
            part = slice(first, first + step)
            old, new = self._rows[0][part], self._rows[1][part]
            m, ratio, both = self._rows[2][part], self._rows[3][part], old + new
            h = self.probabilities[part, None] * np.expm1(theta[part])[..., None]
            h += 1.0
            log_a, one = -np.log(h @ old / m), np.empty_like(h)
            for _ in range(MOST_STEPS):
                np.multiply(h, ratio * np.exp(log_a), out=one)
                one += 1.0
                np.reciprocal(one, out=one)  # the part of old rows, m/(m + n·r)
                rest = one @ both
                np.multiply(one, one, out=one)
                move = (rest - m) / (rest - one @ both)
                log_a += np.minimum(np.maximum(move, -1.0), 1.0)
                if np.abs(move).max() <= SMALL_STEP:  # what is left is its square
                    break
            np.multiply(h, ratio * np.exp(log_a), out=one)
            one += 1.0
            level[part] = ratio * m * log_a - np.log(one, out=one) @ both
            level[part] += np.log(h, out=h) @ new + (1.0 + ratio) * m * np.log1p(ratio)
        return level[..., 0]

    def prevalences(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the expected prevalence of the new rows, and its binomial sd."""
        new, p = self.table.new, self.probabilities[:, None]
        odds = np.exp(theta)[..., None]
        shifted = odds * p / (1.0 - p + p * odds)
        spread = (shifted * (1.0 - shifted)) @ new
        return shifted @ new / new.sum(), np.sqrt(spread) / new.sum()

    @cached_property
    def peaks(self) -> tuple[Floats, Floats]:
        """Return the θ of the largest ℓ for each calibrator, and that ℓ.

        Tables, each between the neighbours of the best point of the one before, and a
        parabola through the best three points of the last.
        """
        row = np.arange(self.probabilities.shape[0])
        low, high = (np.full(row.size, end * LARGEST_THETA) for end in (-1.0, 1.0))
        for _ in range(TABLES):
            theta = low[:, None] + np.multiply.outer(high - low, NINE)
            level = self.loglik(theta)
            best = np.minimum(np.maximum(level.argmax(axis=1), 1), NINE.size - 2)
            low, high = theta[row, best - 1], theta[row, best + 1]
        before, top, after = (level[row, best + step] for step in (-1, 0, 1))
        bend = before - 2.0 * top + after
        inside = (level.argmax(axis=1) == best) & (bend < 0.0)
        step = np.where(inside, 0.5 * (before - after) / np.where(inside, bend, 1.0), 0)
        at = theta[row, best] + step * (high - low) / 2
        ends = level.argmax(axis=1)
        return (
            np.where(inside, at, theta[row, ends]),
            np.where(inside, top - 0.25 * (before - after) * step, level.max(axis=1)),
        )

    def profile(self, coverage: float) -> tuple[Floats, Floats]:
        """Return the two θ where 2·ℓ has fallen by a quantile of χ²(1), per calibrator.

        Each table lies between two neighbours of the one before. The root of the fall
        is nearly linear in θ between the last two.
        """
        root = NormalDist().inv_cdf((1.0 + coverage) / 2)
        peak, level = (one[:, None, None] for one in self.peaks)
        inner = np.repeat(peak, 2, axis=1)
        outer = np.broadcast_to([[-LARGEST_THETA], [LARGEST_THETA]], inner.shape)
        for _ in range(TABLES):
            theta = inner + (outer - inner) * NINE
            height = self.loglik(theta.reshape(len(peak), -1)).reshape(theta.shape)
            fall = np.sqrt(2.0 * np.maximum(level - height, 0.0)) - root
            last = np.minimum((fall <= 0.0).sum(axis=2), theta.shape[2] - 1)[..., None]
            inner, outer = (
                np.take_along_axis(theta, last - step, axis=2) for step in (1, 0)
            )
        low, high = (np.take_along_axis(fall, last - step, axis=2) for step in (1, 0))
        part = np.where(high > 0.0, low / np.minimum(low - high, -1e-300), 1.0)
        ends = (inner + part * (outer - inner))[..., 0]
        return ends[:, 0], ends[:, 1]

    def posterior(self) -> tuple[Floats, Floats]:
        """Return values of θ ~ N(0, 1) given the scores, and their weights."""
        row = np.arange(self.probabilities.shape[0])
        low, high = (np.full(row.size, end * LARGEST_THETA) for end in (-1.0, 1.0))
        for _ in range(MOST_ZOOMS):
            theta = low[:, None] + np.multiply.outer(high - low, EVEN)
            level = self.loglik(theta) - theta**2 / 2
            likely = level >= level.max(axis=1, keepdims=True) - LIKELY
            if likely.sum(axis=1).min() >= MIN_LIKELY_POINTS:
                break
            first, last = likely.argmax(axis=1), likely[:, ::-1].argmax(axis=1)
            low = theta[row, np.maximum(first - 1, 0)]
            high = theta[row, np.minimum(GRID_POINTS - last, GRID_POINTS - 1)]
        weight = np.exp(level - level.max(axis=1, keepdims=True))
        return theta, weight / weight.sum(axis=1, keepdims=True)


def estimate_prevalence(
    calibrator: Calibrator,
    reference: Reference | ReferenceBins,
    scores: Floats,
    n: int,
    coverage: float = 0.9,
) -> tuple[MatchedPrevalence, EstimatedPrevalence]:
    """Return a shift of calibrated log-odds to the estimated prevalence, and that.

    The prevalence is the posterior mean over θ and over the calibrator's alternatives,
    which are equally likely. The draws of the shift pair every alternative with a θ
    from its own posterior. Scores are those before calibration; n has the certain
    negatives, too.
    """
    if not scores.size:
        raise ValueError('prior="estimate" needs scores to estimate from: p is empty')
    table = TwoSampleBins.count(reference, scores)
    estimate, draws = _estimate(calibrator, reference.prevalence, table, n, coverage)
    # As log-odds, which do not vanish where probabilities do
    x = calibrator._map(scores if reference.logits else logit(scores))
    mean = estimate.mean
    constant = constant_for_prevalence(*from_log_odds(x), mean, n)
    shift = MatchedPrevalence(constant, prevalence=mean, n=scores.size, draws=draws)
    return shift, estimate


def _estimate(
    calibrator: Calibrator,
    reference: float,
    table: TwoSampleBins,
    n: int,
    coverage: float,
) -> tuple[EstimatedPrevalence, Floats]:
    """Return the estimated prevalence among n rows, and draws of θ.

    The draws have one θ from its posterior for each alternative of the calibrator.
    """
    likelihood = PrevalenceLikelihood.from_calibrator(table, calibrator._family)
    theta, weight = likelihood.posterior()
    summary = _summarise_mixture(*likelihood.prevalences(theta), weight, coverage)
    mean, low, high = (float(table.new.sum()) / n * one for one in summary)
    estimate = EstimatedPrevalence(mean, Interval(low, high), coverage, reference)
    return estimate, theta_draws(theta, weight, 1)


def _summarise_mixture(
    mean: Floats, deviation: Floats, weight: Floats, coverage: float
) -> tuple[float, float, float]:
    """Return mean and interval of a mixture of normals, clipped to [0, 1].

    mean, deviation, weight : ndarray of shape (n_calibrators, n_theta)
    """
    levels = (np.arange(BINOMIAL_ATOMS) + 0.5) / BINOMIAL_ATOMS
    z = np.array([NormalDist().inv_cdf(level) for level in levels])
    z /= math.sqrt(float(np.mean(z**2)))
    values = np.clip(mean[..., None] + deviation[..., None] * z, 0.0, 1.0).ravel()
    order = np.argsort(values)
    reached = np.cumsum(np.repeat(weight.ravel(), z.size)[order])
    ends = reached[-1] * np.array([(1.0 - coverage) / 2, (1.0 + coverage) / 2])
    low, high = values[order][np.searchsorted(reached, ends)]
    return float((weight * mean).sum() / weight.sum()), float(low), float(high)


def theta_draws(theta: Floats, weight: Floats, each: int) -> Floats:
    """Return draws of θ (n_calibrators, each): quantiles by the rows of `weight`.

    The levels (i + ½)/N of all N draws together are dealt out to the calibrators at
    random: all draws are spread as evenly as one stratified sample.
    """
    shape = len(weight), each
    level = np.random.default_rng(0).permutation(len(weight) * each).reshape(shape)
    rows = zip(
        (level + 0.5) / level.size,
        np.cumsum(weight, axis=1) - weight / 2,
        np.broadcast_to(theta, weight.shape),
        strict=True,
    )
    return np.array([np.interp(*row) for row in rows])


def shift_note(
    calibrator: Calibrator,
    reference: Reference | ReferenceBins,
    scores: Floats,
    n: int,
    codes: Integers | None = None,
) -> str | None:
    """Return a note where the scores moved as under a new prevalence, else None.

    None where they may have moved at random, and where it hardly matters. Rows with the
    same of `codes` belong together, and count as fewer rows where they are alike.
    """
    if not scores.size:
        return None
    table = TwoSampleBins.count(reference, scores)
    theta, level = PrevalenceLikelihood.from_calibrator(table, calibrator).peaks
    if 2.0 * level[0] <= CRITICAL or abs(theta[0]) < LEAST_THETA:
        return None
    if codes is not None:
        mapped = calibrator._map_scores(scores, logits=table.logits)
        p = from_log_odds(mapped)[0] if table.logits else mapped
        if 2.0 * level[0] <= CRITICAL * _design_effect(p, codes):
            return None
    estimate, _ = _estimate(calibrator, reference.prevalence, table, n, 0.9)
    return (
        "the scores moved since the reference: if only the prevalence did, it is now "
        f'{estimate}; prior="estimate" takes it into account'
    )


def _design_effect(values: Floats, codes: Integers) -> float:
    """Return the factor of the variance of a mean by likeness in groups (Kish)."""
    off = values - values.mean()
    spread = float(off @ off)
    if spread <= 0.0:
        return 1.0
    sums = np.bincount(codes, off)
    return max(1.0, float(sums @ sums) / spread)
