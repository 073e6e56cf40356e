"""Distribution of the score of a period, from its table of counts.

Every calibrator that the reference allows draws some θ, the change of all log-odds,
from its posterior under each of three readings. What may be true at these calibrators
and θ is drawn as for a forecast (`_forecast/draws.py`): the prevalence on either side
of the decision, and counts. The posterior has the two-sample likelihood ℓ(θ), whose
formula is in `_calibrate/prevalence.py`, on tables of counts: at a few points for every
calibrator, and by a cubic spline between them.

The mean is that of the mixture of the readings. The interval of a mixture would miss as
often as stated on average over the readings, and so take the likeliest one for granted
where scores tell them apart badly. It is therefore widened until it misses a score on
either side with a probability of at most

    (1 - coverage)/2 · max(1, τ/P)

under each reading, where P is its probability: one that is not ruled out keeps the
coverage by itself. Where half or more would be missed, a reading is left out. That of a
score takes ALLOWED·(1 - coverage): the same reference calibrates and, most often, tuned
the cut, and no reading has the form of what happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prevalence import (
    PrevalenceLikelihood,
    TwoSampleBins,
    theta_draws,
)
from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.draws import (
    COUNTS,
    DRAWS,
    Factors,
    Posterior,
    ScoreBins,
    draw_counts,
    sums,
)
from argmetric._forecast.posterior_score import MOVES
from argmetric._ground.discrete import central_interval
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import Floats, Integers, Interval
from argmetric._monitor._bins import (
    NEGATIVE,
    POSITIVE,
    UNKNOWN,
    PeriodBins,
    Readings,
    log_sum,
    rows_of,
    weigh_readings,
)
from argmetric._monitor._group_score import MeanOverGroups
from argmetric.metrics import Metric

Shift = Literal["auto", "none", "prior"]
SHIFTS: tuple[Shift, ...] = ("auto", "none", "prior")
CERTAIN = 1e-9  # standard deviation of a score with all labels known
# Of θ where nothing happened, under covariate shift and under prevalence shift. What
# P(y | score) may move under covariate shift is not learnt from the scores. A
# prevalence × 1/4 or × 4 is within one deviation.
DEVIATIONS = (0.1, 0.15, 1.5)
NOT_RULED_OUT = 0.3  # τ, the probability from which a reading keeps the coverage
# The part of 1 - coverage that draws of a score may miss: of .5, .6, .7, 1 the largest
# with which "no shift" holds .89 for every metric and kind of model on a9a, celeba,
# ijcnn1 and magic (1: .85, .7: .87); quiet intervals are 1.13 times as wide.
ALLOWED = 0.6
LEARNT = (True, False, True)
LARGEST_THETA = 4.0
FURTHEST = 30.0  # log-odds of a bin
POINTS = 25  # of a table over θ
FINE_POINTS = 401  # at which a spline is read
LIKELY = 25.0  # log-likelihood below the largest from which nothing is left
MOST_ZOOMS = 6
LEAST_LIKELY = 6  # points of a table where something is left, before it is fine enough


class BinProbabilities(NamedTuple):
    """Probabilities of bins of the score under the calibrators of a reference.

    posterior : Posterior
        Draws of what may be true, given the reference.
    x : ndarray of shape (n_bins,)
        Log-odds of the bins before calibration.
    probabilities : ndarray of shape (n_calibrators, n_bins)
        Probability of a positive in each bin.
    """

    posterior: Posterior
    x: Floats
    probabilities: Floats

    @classmethod
    def from_calibrator(
        cls, calibrator: Calibrator, bins: PeriodBins
    ) -> BinProbabilities:
        """Return the probabilities under a calibrator's alternatives."""
        x = bins.scores if bins.logits else logit(bins.scores)
        mapped = np.atleast_2d(calibrator._family._map(x))
        return cls(Posterior(calibrator), x, from_log_odds(mapped)[0])

    def open_rows(self, table: Integers) -> ScoreBins:
        """Return the rows of a period whose labels are not known, as for a forecast."""
        return ScoreBins.of_counts(self.x, table.sum(axis=1), table[:, UNKNOWN])


@dataclass(frozen=True)
class ScoreDraws:
    """Weighted draws; all arrays have the shape (n_calibrators, n_draws).

    value, prevalence : ndarray
        Score, and prevalence.
    expected : ndarray
        Score at the expected counts.
    weight : ndarray
        Weights that sum to 1.
    """

    value: Floats
    prevalence: Floats
    expected: Floats
    weight: Floats

    def _pmf(self, values: Floats) -> ScorePMF:
        return ScorePMF.from_atoms([(values.ravel(), self.weight.ravel())])

    @cached_property
    def score_pmf(self) -> ScorePMF:
        """Distribution of the score."""
        return self._pmf(self.value)

    @cached_property
    def prevalence_pmf(self) -> ScorePMF:
        """Distribution of the prevalence."""
        return self._pmf(self.prevalence)

    def summary(self, coverage: float, of: str = "score_pmf") -> tuple[float, Interval]:
        """Return mean and interval of the score, or of `prevalence_pmf`."""
        pmf = getattr(self, of)
        return pmf.mean, _interval(pmf, coverage)

    def parts(self) -> tuple[float, float, float]:
        """Return the parts of the variance due to calibrator, prevalence and labels."""
        there = np.isfinite(self.expected)
        weight = np.where(there, self.weight, 0.0)
        values = np.where(there, self.expected, 0.0)
        total = weight.sum(axis=1)  # of each calibrator
        mean = (weight * values).sum(axis=1) / np.maximum(total, 1e-300)
        middle = float(total @ mean / max(total.sum(), 1e-300))
        between = float(total @ (mean - middle) ** 2)
        within = float((weight * (values - mean[:, None]) ** 2).sum())
        variance = max(np.nan_to_num(self.score_pmf.variance), between + within)
        if variance <= CERTAIN**2:
            return 0.0, 0.0, 0.0
        between, within = between / variance, within / variance
        return between, within, max(1.0 - between - within, 0.0)

    def level(self) -> tuple[float, float]:
        """Return mean and standard deviation of the score at the expected counts."""
        pmf = self._pmf(self.expected)
        return pmf.mean, float(np.sqrt(np.nan_to_num(pmf.variance)))


class PeriodDistribution:
    """Distribution of the score of one period; its parts are computed when used.

    table : ndarray of shape (2, 3, n_bins)
        Rows of the period by predicted label, known label and bin.
    old : ndarray of shape (n_bins,)
        Rows of the reference.
    probabilities : BinProbabilities
    metric : Metric or MeanOverGroups
        The score.
    shift : str
        The readings that are mixed.
    weighted : BinProbabilities or None
        Probabilities for rows such as those of the period, which hold unless the
        prevalence changed.
    """

    def __init__(
        self,
        table: Integers,
        old: Floats,
        probabilities: BinProbabilities,
        metric: Metric | MeanOverGroups,
        *,
        shift: Shift = "auto",
        weighted: BinProbabilities | None = None,
    ) -> None:
        self._table, self._old, self._metric = table, old, metric
        self._probabilities, self._shift = probabilities, shift
        self._weighted = weighted or probabilities
        self.new = rows_of(table)
        self._known = table[:, [NEGATIVE, POSITIVE]].sum(axis=0).astype(np.float64)
        draws = DRAWS if isinstance(metric, Metric) else MOVES
        self._each = max(draws // len(probabilities.probabilities), 1)

    @cached_property
    def readings(self) -> Readings:
        """Probabilities of the three readings, by the scores and by known labels."""
        readings = weigh_readings(
            self._old, self.new, self._probabilities.probabilities
        )
        if not self._known.any():
            return readings
        level = np.array([log_sum(evidence) for _, evidence in self._thetas])
        odds = np.array(readings) * np.exp(level - level.max())
        return Readings(*(odds / odds.sum()).tolist())

    @cached_property
    def mixture(self) -> ScoreDraws:
        """Draws of the readings that the shift allows, mixed."""
        if self._shift == "prior":
            return self.prevalence_shift
        if self._shift == "auto":
            return mix_draws(self._by_reading, np.array(self.readings))
        return self.no_shift

    @cached_property
    def _by_reading(self) -> tuple[ScoreDraws, ScoreDraws, ScoreDraws]:
        return self._draw_reading(0), self.covariate_shift, self.prevalence_shift

    def summary(self, coverage: float) -> tuple[float, Interval]:
        """Return mean and interval of the score."""
        return self._summary("score_pmf", coverage, ALLOWED)

    def prevalence_summary(self, coverage: float) -> tuple[float, Interval]:
        """Return mean and interval of the prevalence."""
        return self._summary("prevalence_pmf", coverage, 1.0)

    def _summary(
        self, name: str, coverage: float, allowed: float
    ) -> tuple[float, Interval]:
        """Return mean and interval, which may miss `allowed` of 1 - coverage."""
        if self._shift != "auto":
            return self.mixture.summary(coverage, name)
        pmf = getattr(self.mixture, name)
        pmfs = [getattr(one, name) for one in self._by_reading]
        coverage = 1.0 - allowed * (1.0 - coverage)
        return pmf.mean, widen_interval(pmf, pmfs, self.readings, coverage)

    @cached_property
    def no_shift(self) -> ScoreDraws:
        """Draws at the probabilities of the reference themselves."""
        evidence = np.zeros(len(self._weighted.probabilities))
        return self._draw(self._weighted, None, evidence)

    @cached_property
    def covariate_shift(self) -> ScoreDraws:
        """Draws under covariate shift."""
        return self._draw_reading(1)

    @cached_property
    def prevalence_shift(self) -> ScoreDraws:
        """Draws under prevalence shift."""
        return self._draw_reading(2)

    @cached_property
    def _thetas(self) -> list[tuple[Floats, Floats]]:
        """Draws of θ and the evidence of known labels under each reading."""
        rows = self._old, self.new, self._known
        both = self._probabilities, self._weighted
        tables = {
            key: ThetaTable.from_rows(*rows, one.probabilities)
            for key, one in {id(one): one for one in both}.items()
        }
        thetas = []
        for i, (deviation, learnt) in enumerate(zip(DEVIATIONS, LEARNT, strict=True)):
            levels = tables[id(self._under(i))]
            weight, evidence = posterior(levels, deviation, learnt=learnt)
            thetas.append((theta_draws(levels.theta, weight, self._each), evidence))
        return thetas

    def odds_draws(self, count: int) -> Floats:
        """Return draws of the log-odds of all bins, of the shape (count, n_bins).

        Calibrators and θ are as likely as in the mixture of the readings.
        """
        parts = np.array(self.readings)
        if self._shift != "auto":
            parts = np.array([1.0, 0.0, 0.0] if self._shift == "none" else [0, 0, 1.0])
        odds, weights = [], []
        for i, (theta, evidence) in enumerate(self._thetas):
            theta = theta * (self._shift != "none")
            x = logit(self._under(i).probabilities)[:, None] + theta[:, :, None]
            odds.append(np.clip(x, -FURTHEST, FURTHEST).reshape(theta.size, -1))
            level = parts[i] * np.exp(evidence - log_sum(evidence)) / theta.shape[1]
            weights.append(np.repeat(level, theta.shape[1]))
        place = np.cumsum(np.concatenate(weights))
        at = (np.arange(count) + 0.5) / count * place[-1]
        return np.asarray(np.concatenate(odds)[np.searchsorted(place, at)])

    def _under(self, reading: int) -> BinProbabilities:
        return self._probabilities if reading == 2 else self._weighted

    def _draw_reading(self, reading: int) -> ScoreDraws:
        return self._draw(self._under(reading), *self._thetas[reading])

    def _draw(
        self, probabilities: BinProbabilities, theta: Floats | None, evidence: Floats
    ) -> ScoreDraws:
        """Return draws of the score at draws of θ, weighted by their evidence."""
        weight = np.exp(evidence - evidence.max())
        weight /= weight.sum()
        rows = probabilities.open_rows(self._table)
        factors = probabilities.posterior.factors(rows, self._each)
        return draws_at(
            self._table, probabilities, theta, weight, self._metric, factors=factors
        )


def posterior(
    table: ThetaTable, deviation: float, *, learnt: bool
) -> tuple[Floats, Floats]:
    """Return weights of θ ~ N(0, deviation²), and the evidence of known labels.

    Scores count where θ is learnt from them; known labels count always.
    """
    level = np.log(table.width) - table.theta**2 / (2.0 * deviation**2)
    level = level + (table.scores if learnt else np.zeros_like(table.scores))
    both = level + table.labels
    before, after = (log_sum(one) for one in (level, both))
    return np.exp(both - after[:, None]), after - before


def draws_at(
    table: Integers,
    probabilities: BinProbabilities,
    theta: Floats | None,
    weight: Floats,
    metric: Metric | MeanOverGroups,
    *,
    factors: list[Factors] | None = None,
) -> ScoreDraws:
    """Draw the score several times for every θ of every calibrator.

    table : ndarray of shape (2, 3, n_bins)
    theta : ndarray of shape (n_calibrators, n_theta) or None
    weight : ndarray of shape (n_calibrators,)
    """
    bins = probabilities.open_rows(table)
    shift = None if theta is None else theta.T
    p = probabilities.posterior.probabilities(bins, shift=shift, factors=factors)
    rows = bins.open * np.stack([bins.called, ~bins.called])  # as for a forecast
    known = table[::-1, POSITIVE].sum(axis=1)[:, None]
    base = metric if isinstance(metric, Metric) else metric.metric
    n, k = float(table.sum()), float(table[1].sum())
    counts = draw_counts(p, rows, COUNTS, np.random.default_rng(1)) + known

    def by_calibrator(values: Floats) -> Floats:
        """Return values of all draws in a row for each calibrator."""
        return np.moveaxis(values.reshape(-1, weight.size), 0, 1)

    def score(counts: Floats) -> Floats:
        hits, missed = np.moveaxis(counts, -2, 0)
        return base.value(hits, k, hits + missed, n)

    value, prevalence = by_calibrator(score(counts)), by_calibrator(counts.sum(axis=1))
    level = np.tile(by_calibrator(score(sums(rows, p) + known)), COUNTS)
    each = np.repeat(weight[:, None] / value.shape[1], value.shape[1], axis=1)
    draws = ScoreDraws(value, prevalence / n, level, each)
    if isinstance(metric, Metric):
        return draws
    values, means = metric.draw_means(p, bins.place, COUNTS)
    level = np.tile(by_calibrator(means), COUNTS)
    return replace(draws, value=by_calibrator(values), expected=level)


def mix_draws(draws: Sequence[ScoreDraws], weight: Floats) -> ScoreDraws:
    """Put several sets of draws together, each with its weight (n_sets,)."""
    parts = [w * one.weight for one, w in zip(draws, weight, strict=True)]
    names = ("value", "prevalence", "expected")
    columns = [[getattr(one, name) for one in draws] for name in names]
    return ScoreDraws(*(np.concatenate(one, axis=1) for one in (*columns, parts)))


def _interval(pmf: ScorePMF, coverage: float) -> Interval:
    if not pmf.values.size:
        return Interval(np.nan, np.nan)
    return central_interval(pmf.values, pmf.probabilities, coverage)


def widen_interval(
    mixed: ScorePMF, pmfs: Sequence[ScorePMF], readings: Readings, coverage: float
) -> Interval:
    """Return the interval of a mixture, widened until every reading keeps its part.

    `pmfs` are those of the readings, of which `readings` has the probabilities.
    """
    ends = [_interval(mixed, coverage)]
    for probability, pmf in zip(readings, pmfs, strict=True):
        missed = (1.0 - coverage) * max(1.0, NOT_RULED_OUT / max(probability, 1e-300))
        if missed < 1.0 and pmf.values.size:
            ends.append(_interval(pmf, 1.0 - missed))
    lows, highs = zip(*ends, strict=True)
    return Interval(min(lows), max(highs))


def period_likelihood(
    old: Floats, new: Floats, probabilities: Floats
) -> PrevalenceLikelihood:
    """Return ℓ for rows of the reference and of a period in the same bins."""
    used = np.atleast_2d(old + new > 0).any(axis=0)
    table = TwoSampleBins(np.zeros(0), old[..., used], new[..., used], logits=False)
    return PrevalenceLikelihood(table, probabilities[:, used])


def population_prevalence(
    old: Floats, new: Floats, probabilities: Floats, coverage: float
) -> Interval:
    """Return an interval of the prevalence in the population of a period's rows.

    It holds the odds of the reference times e^θ, for all θ whose 2·ℓ is within a
    quantile of χ²(1) of the largest one, under one calibrator: the prevalence may have
    changed, and nothing else. The odds are those of the reference's own rows, with
    which the error of the calibrator goes up and down.

    old, new, probabilities : ndarray of shape (n_bins,)
    """
    theta = np.array(
        period_likelihood(old, new, probabilities[None]).profile(coverage)
    )[:, 0]
    before = old @ probabilities / old.sum()
    low, high = before / (before + (1.0 - before) * np.exp(-theta))
    return Interval(float(low), float(high))


@dataclass(frozen=True)
class ThetaTable:
    """Log-likelihoods over θ.

    theta, width : ndarray of shape (n_theta,)
        Values of θ, and the width that each stands for in an integral over θ.
    scores, labels : ndarray of shape (n_calibrators, n_theta)
        Log-likelihood of the scores, and of the known labels given the scores.
    """

    theta: Floats
    width: Floats
    scores: Floats
    labels: Floats

    @classmethod
    def from_rows(
        cls, old: Floats, new: Floats, known: Floats, probabilities: Floats
    ) -> ThetaTable:
        """Return the table of a period, refined where something is likely."""
        likelihood = period_likelihood(old, new, probabilities)

        def levels(theta: Floats) -> tuple[Floats, Floats]:
            grid = np.broadcast_to(theta, (probabilities.shape[0], theta.size))
            return likelihood.loglik(grid), label_likelihood(
                known, probabilities, theta
            )

        grid = np.linspace(-LARGEST_THETA, LARGEST_THETA, FINE_POINTS)
        theta = np.linspace(-LARGEST_THETA, LARGEST_THETA, POINTS)
        level = levels(theta)
        at, (scores, labels) = grid, (one @ spline_weights().T for one in level)
        for _ in range(MOST_ZOOMS):
            both = level[0] + level[1]
            likely = (both >= both.max(axis=1, keepdims=True) - LIKELY).any(axis=0)
            if likely.sum() >= LEAST_LIKELY:
                break
            first, last = np.flatnonzero(likely)[[0, -1]]
            ends = theta[max(first - 1, 0)], theta[min(last + 1, POINTS - 1)]
            theta, inner = (
                np.linspace(*ends, count) for count in (POINTS, FINE_POINTS)
            )
            level = levels(theta)
            fine = (one @ spline_weights().T for one in level)
            before, after = at < ends[0], at > ends[1]
            at = np.concatenate([at[before], inner, at[after]])
            scores, labels = (
                np.concatenate([old[:, before], new, old[:, after]], axis=1)
                for old, new in zip((scores, labels), fine, strict=True)
            )
        return cls(at, np.gradient(at), scores, labels)


@lru_cache(maxsize=1)
def spline_weights() -> Floats:
    """Return the weights (FINE_POINTS, POINTS) of even points in a cubic spline.

    Neighbouring slopes s of the spline are tied by s₋ + 4s + s₊ = 3·(y₊ - y₋). At the
    ends, where the third derivative does not jump: s₀ + 2s₁ = (y₂ + 4y₁ - 5y₀)/2.
    """
    one = np.eye(POINTS)
    ties = 4.0 * one + np.eye(POINTS, k=1) + np.eye(POINTS, k=-1)
    ties[[0, -1]] = one[[0, -1]] + 2.0 * one[[1, -2]]
    rises = np.zeros_like(one)
    rises[1:-1] = 3.0 * (one[2:] - one[:-2])
    rises[0] = (-5.0 * one[0] + 4.0 * one[1] + one[2]) / 2.0
    rises[-1] = (5.0 * one[-1] - 4.0 * one[-2] - one[-3]) / 2.0
    slopes = np.linalg.solve(ties, rises)
    x = np.linspace(0.0, POINTS - 1.0, FINE_POINTS)
    left = np.minimum(x.astype(np.int64), POINTS - 2)
    t = (x - left)[:, None]
    rise = one[left + 1] - one[left]
    bend = slopes[left] - rise, rise - slopes[left + 1]
    inner = t * (1.0 - t) * ((1.0 - t) * bend[0] + t * bend[1])
    return np.asarray(one[left] + t * rise + inner)


def label_likelihood(known: Floats, probabilities: Floats, theta: Floats) -> Floats:
    """Return Σ log P(y | score) over known labels at odds times e^θ, per calibrator.

    log P(y | s) = y·(θ + log c) + (1-y)·log(1-c) - log h, h = 1 - c + c·e^θ.
    """
    used = known.sum(axis=0) > 0
    if not used.any():
        return np.zeros((probabilities.shape[0], theta.size))
    negative, positive = known[:, used]
    c = np.clip(probabilities[:, used], 1e-300, 1.0 - 1e-16)
    fixed = np.log(c) @ positive + np.log1p(-c) @ negative
    h = 1.0 - c[:, None] + c[:, None] * np.exp(theta)[:, None]
    return np.asarray(
        fixed[:, None] + theta * positive.sum() - np.log(h) @ (negative + positive)
    )
