"""The share of positives among unlabelled rows, by a two-sample likelihood.

Label shift: each class still looks as it did in the reference, and only the odds of a
positive changed, by a factor e^θ. Where a map gives c(s) for the score s, the density
of scores now is that of the reference times r(s) = a·h(s), h = 1 - c + c·e^θ. With m
rows in the reference and n new ones the empirical likelihood is

    ℓ(θ) = max over a of Σ_new log r - Σ_all log(m + n·r) + (m + n)·log(m + n),

in which the scores of the reference have a sampling error of their own (Qin 1999). At
the best a, Σ_all n·r/(m + n·r) = n. ℓ(0) is 0 for every map.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.bins import ScoreCells
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prior import MatchedShare, constant_for_share
from argmetric._calibrate.reference import Reference
from argmetric._calibrate.resolve import calibrated_scores
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import Floats, Integers, Interval

LARGEST_THETA = 8.0
GRID_POINTS = 33
EVEN, NINE = (np.linspace(0.0, 1.0, count) for count in (GRID_POINTS, 9))
TABLES = 6  # of nine points each, by which a peak or an end is found
FEWEST_LIKELY_POINTS = 8  # of the grid, where a law is resolved
LIKELY = 20.0  # log-likelihood below the largest from which nothing is left
MOST_ZOOMS = 8
MOST_STEPS = 50  # of Newton's method
SMALL_STEP = 1e-6  # of log a
CELLS_AT_ONCE = 1 << 16  # of tables of θ, maps and cells
BINOMIAL_ATOMS = 9
CRITICAL = 6.63  # of 2·ℓ: exceeded in 1 % of the cases in which nothing moved
LEAST_THETA = 0.1  # F1 moves by about one point: less is not worth a note


class EstimatedShare(NamedTuple):
    """An estimated share of positives."""

    mean: float  # the share to expect among the rows
    interval: Interval  # holds it with the probability `coverage`
    coverage: float  # the probability asked for
    reference: float  # the share of positives in the reference

    def __str__(self) -> str:
        return (
            f"{self.mean:.3g} ({self.coverage:.0%} interval {self.interval.low:.3g} to "
            f"{self.interval.high:.3g}), {self.reference:.3g} in the reference"
        )


@dataclass(frozen=True)
class ScoreTable:
    """Rows of a reference and new rows, counted in the same cells of scores."""

    scores: Floats  # mean score of each cell, on the scale of the reference
    # Rows of the reference, and new rows, in each cell; or a row of them for each map
    old: Floats
    new: Floats
    logits: bool  # whether scores are log-odds

    @classmethod
    def of(cls, reference: Reference | ScoreCells, new: Floats) -> ScoreTable:
        """Count the reference and the `new` scores in its cells; no cell is empty."""
        cells = ScoreCells.of(reference)
        count, above = cells.counted(new)
        both = cells.count + count
        used = both > 0
        mean = cells.base + (cells.above + above) / np.maximum(both, 1.0)
        return cls(mean[used], cells.count[used], count[used], cells.logits)

    def chances(self, calibrator: Calibrator) -> Floats:
        """Chance of a positive in each cell under a map."""
        mapped = calibrated_scores(calibrator, self.scores, logits=self.logits)
        return from_log_odds(mapped)[0] if self.logits else mapped


@dataclass(frozen=True)
class ShareLikelihood:
    """ℓ(θ) under some maps, each with a row of `chances` over the cells of a table."""

    table: ScoreTable
    chances: Floats

    @classmethod
    def of(cls, table: ScoreTable, calibrator: Calibrator) -> ShareLikelihood:
        return cls(table, np.atleast_2d(table.chances(calibrator)))

    @cached_property
    def _rows(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Old and new rows of cells; m, and n/m: all with a first axis of maps."""
        shape = len(self.chances), self.chances.shape[1], 1
        old, new = (
            np.broadcast_to(one[..., None], shape)
            for one in (self.table.old, self.table.new)
        )
        m = old.sum(axis=1, keepdims=True)
        return old, new, m, new.sum(axis=1, keepdims=True) / m

    def loglik(self, theta: Floats) -> Floats:
        """ℓ at every θ; some maps at a time, so that tables stay in cache."""
        level = np.empty((*theta.shape, 1))
        step = max(CELLS_AT_ONCE // (theta[0].size * self.chances.shape[1]), 1)
        for first in range(0, len(theta), step):
            part = slice(first, first + step)
            old, new = self._rows[0][part], self._rows[1][part]
            m, ratio, both = self._rows[2][part], self._rows[3][part], old + new
            h = self.chances[part, None] * np.expm1(theta[part])[..., None]
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

    def shares(self, theta: Floats) -> tuple[Floats, Floats]:
        """Expected share of positives among the new rows, and its binomial sd."""
        new, chances = self.table.new, self.chances[:, None]
        odds = np.exp(theta)[..., None]
        shifted = odds * chances / (1.0 - chances + chances * odds)
        spread = (shifted * (1.0 - shifted)) @ new
        return shifted @ new / new.sum(), np.sqrt(spread) / new.sum()

    @cached_property
    def peaks(self) -> tuple[Floats, Floats]:
        """The likeliest θ of every map, and its ℓ.

        Tables, each between the neighbours of the best point of the one before, and a
        parabola through the best three points of the last.
        """
        row = np.arange(self.chances.shape[0])
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
        """For every map the θ at whose ends 2·ℓ has fallen by a quantile of χ²(1).

        Each table lies between two neighbours of the one before. The root of the fall
        is nearly linear in θ between the last two.
        """
        root = NormalDist().inv_cdf((1.0 + coverage) / 2)
        peak, level = (one[:, None, None] for one in self.peaks)
        inner = np.repeat(peak, 2, axis=1)
        outer = np.broadcast_to([[-LARGEST_THETA], [LARGEST_THETA]], inner.shape)
        for _ in range(TABLES):
            theta = inner + (outer - inner) * NINE
            found = self.loglik(theta.reshape(len(peak), -1)).reshape(theta.shape)
            fall = np.sqrt(2.0 * np.maximum(level - found, 0.0)) - root
            last = np.minimum((fall <= 0.0).sum(axis=2), theta.shape[2] - 1)[..., None]
            inner, outer = (
                np.take_along_axis(theta, last - step, axis=2) for step in (1, 0)
            )
        low, high = (np.take_along_axis(fall, last - step, axis=2) for step in (1, 0))
        part = np.where(high > 0.0, low / np.minimum(low - high, -1e-300), 1.0)
        ends = (inner + part * (outer - inner))[..., 0]
        return ends[:, 0], ends[:, 1]

    def posterior(self) -> tuple[Floats, Floats]:
        """Values of θ ~ N(0, 1) given the scores, and their weights, for every map."""
        row = np.arange(self.chances.shape[0])
        low, high = (np.full(row.size, end * LARGEST_THETA) for end in (-1.0, 1.0))
        for _ in range(MOST_ZOOMS):
            theta = low[:, None] + np.multiply.outer(high - low, EVEN)
            level = self.loglik(theta) - theta**2 / 2
            likely = level >= level.max(axis=1, keepdims=True) - LIKELY
            if likely.sum(axis=1).min() >= FEWEST_LIKELY_POINTS:
                break
            first, last = likely.argmax(axis=1), likely[:, ::-1].argmax(axis=1)
            low = theta[row, np.maximum(first - 1, 0)]
            high = theta[row, np.minimum(GRID_POINTS - last, GRID_POINTS - 1)]
        weight = np.exp(level - level.max(axis=1, keepdims=True))
        return theta, weight / weight.sum(axis=1, keepdims=True)


def estimate_share(
    calibrator: Calibrator,
    reference: Reference | ScoreCells,
    scores: Floats,
    n: int,
    coverage: float = 0.9,
) -> tuple[MatchedShare, EstimatedShare]:
    """The shift that goes after a map of the reference, and the share it stands for.

    The share is the posterior mean over θ and over the map's alternatives, each as
    likely as the next. The draws of the shift pair every alternative with a θ from its
    own posterior. Scores are those before the map; n has the certain negatives, too.
    """
    if not scores.size:
        raise ValueError('prior="estimate" needs scores to estimate from: p is empty')
    table = ScoreTable.of(reference, scores)
    share, draws = _from_table(calibrator, reference, table, n, coverage)
    # As log-odds, which do not vanish where probabilities do
    x = calibrator._map(scores if reference.logits else logit(scores))
    constant = constant_for_share(*from_log_odds(x), share.mean, n)
    shift = MatchedShare(constant, prevalence=share.mean, n=scores.size, draws=draws)
    return shift, share


def _from_table(
    calibrator: Calibrator,
    reference: Reference | ScoreCells,
    table: ScoreTable,
    n: int,
    coverage: float,
) -> tuple[EstimatedShare, Floats]:
    """The share among n rows of which a table has some, and draws of θ.

    The draws have one θ from its posterior for each alternative of the map.
    """
    likelihood = ShareLikelihood.of(table, calibrator._family)
    theta, weight = likelihood.posterior()
    found = _share_of(*likelihood.shares(theta), weight, coverage)
    mean, low, high = (float(table.new.sum()) / n * one for one in found)
    share = EstimatedShare(mean, Interval(low, high), coverage, reference.prevalence)
    return share, drawn_theta(theta, weight, 1)


def _share_of(
    mean: Floats, deviation: Floats, weight: Floats, coverage: float
) -> tuple[float, float, float]:
    """Mean and interval of a mixture of nearly normal laws, clipped to [0, 1]."""
    levels = (np.arange(BINOMIAL_ATOMS) + 0.5) / BINOMIAL_ATOMS
    z = np.array([NormalDist().inv_cdf(level) for level in levels])
    z /= math.sqrt(float(np.mean(z**2)))
    values = np.clip(mean[..., None] + deviation[..., None] * z, 0.0, 1.0).ravel()
    order = np.argsort(values)
    reached = np.cumsum(np.repeat(weight.ravel(), z.size)[order])
    ends = reached[-1] * np.array([(1.0 - coverage) / 2, (1.0 + coverage) / 2])
    low, high = values[order][np.searchsorted(reached, ends)]
    return float((weight * mean).sum() / weight.sum()), float(low), float(high)


def drawn_theta(theta: Floats, weight: Floats, each: int) -> Floats:
    """`each` draws of θ for every map: quantiles of its law, a row of `weight`.

    The levels (i + ½)/N of all N draws together are dealt out to the maps at random:
    the draws of all maps are spread as evenly as one stratified sample.
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


def moved_note(
    calibrator: Calibrator,
    reference: Reference | ScoreCells,
    scores: Floats,
    n: int,
    codes: Integers | None = None,
) -> str | None:
    """What to say where scores moved as a new share of positives would move them.

    None where chance may have moved them, and where it hardly matters. Rows with the
    same of `codes` belong together, and count as fewer rows where they are alike.
    """
    if not scores.size:
        return None
    table = ScoreTable.of(reference, scores)
    theta, level = ShareLikelihood.of(table, calibrator).peaks
    if 2.0 * level[0] <= CRITICAL or abs(theta[0]) < LEAST_THETA:
        return None
    if codes is not None:
        mapped = calibrated_scores(calibrator, scores, logits=table.logits)
        chance = from_log_odds(mapped)[0] if table.logits else mapped
        if 2.0 * level[0] <= CRITICAL * _design_effect(chance, codes):
            return None
    share, _ = _from_table(calibrator, reference, table, n, 0.9)
    return (
        "the scores moved since the reference: if only the share of positives did, it "
        f'is now {share}; prior="estimate" takes it into account'
    )


def _design_effect(values: Floats, codes: Integers) -> float:
    """By how much the variance of a mean grows as rows of a group are alike (Kish)."""
    off = values - values.mean()
    spread = float(off @ off)
    if spread <= 0.0:
        return 1.0
    sums = np.bincount(codes, off)
    return max(1.0, float(sums @ sums) / spread)
