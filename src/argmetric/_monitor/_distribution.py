"""The distribution of the score of a period, from its table of counts.

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
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prevalence import ScoreTable, ShareLikelihood, drawn_theta
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
    MonitorCells,
    Readings,
    log_sum,
    rows_of,
    weigh_readings,
)
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._monitor._watch import MeanOverGroups

Shift = Literal["auto", "none", "prior"]
SHIFTS: tuple[Shift, ...] = ("auto", "none", "prior")
CERTAIN = 1e-9  # standard deviation of a score that all labels are known of
# θ where nothing happened, other rows came, the share moved. What P(y | score) may move
# when rows move is not learnt from the scores. A prevalence × 1/4 or × 4 is within one
# deviation.
DEVIATIONS = (0.1, 0.15, 1.5)
NOT_RULED_OUT = 0.3  # τ, the probability from which a reading keeps the coverage
# The part of 1 - coverage that draws of a score may miss: of .5, .6, .7, 1 the largest
# with which "fine" holds .89 for every metric and kind of model on a9a, celeba, ijcnn1
# and magic (1: .85, .7: .87); quiet intervals are 1.13 times as wide.
ALLOWED = 0.6
LEARNT = (True, False, True)
LARGEST_THETA = 4.0
POINTS = 25  # of a table over θ
FINE = 401  # points that a spline is read at
LIKELY = 25.0  # log-likelihood below the largest from which nothing is left
MOST_ZOOMS = 6
LEAST_LIKELY = 6  # points of a table where something is left, before it is fine enough


class Maps(NamedTuple):
    """What the maps of a reference say of cells of the score."""

    truth: Posterior  # draws of what may be true, given the reference
    x: Floats  # log-odds of the cells, before any map
    chances: Floats  # chance of a positive in each cell, a row for every map

    @classmethod
    def of(cls, calibrator: Calibrator, cells: MonitorCells) -> Maps:
        x = cells.scores if cells.logits else logit(cells.scores)
        mapped = np.atleast_2d(calibrator._family._map(x))
        return cls(Posterior(calibrator), x, from_log_odds(mapped)[0])

    def cells_of(self, table: Integers) -> ScoreBins:
        """The rows of a period that may be true in different ways."""
        return ScoreBins.of_counts(self.x, table.sum(axis=1), table[:, UNKNOWN])


@dataclass(frozen=True)
class Draws:
    """Equally or otherwise weighted draws, a row for every map."""

    # Score, and share of positives
    value: Floats
    share: Floats
    expected: Floats  # score at the expected counts, without chance
    weight: Floats  # they sum to 1

    @cached_property
    def score(self) -> ScorePMF:
        """Distribution of the score."""
        return ScorePMF.from_atoms([(self.value.ravel(), self.weight.ravel())])

    @cached_property
    def prevalence(self) -> ScorePMF:
        """Distribution of the share of positives."""
        return ScorePMF.from_atoms([(self.share.ravel(), self.weight.ravel())])

    def summary(self, coverage: float) -> tuple[float, Interval]:
        """Mean and interval of the score."""
        return self.score.mean, _interval(self.score, coverage)

    def share_summary(self, coverage: float) -> tuple[float, Interval]:
        """Mean and interval of the share of positives."""
        return self.prevalence.mean, _interval(self.prevalence, coverage)

    def parts(self) -> tuple[float, float, float]:
        """Parts of the variance of the score that map, share and chance are behind."""
        there = np.isfinite(self.expected)
        weight = np.where(there, self.weight, 0.0)
        values = np.where(there, self.expected, 0.0)
        of_map = weight.sum(axis=1)
        mean = (weight * values).sum(axis=1) / np.maximum(of_map, 1e-300)
        middle = float(of_map @ mean / max(of_map.sum(), 1e-300))
        map_part = float(of_map @ (mean - middle) ** 2)
        share_part = float((weight * (values - mean[:, None]) ** 2).sum())
        total = max(np.nan_to_num(self.score.variance), map_part + share_part)
        if total <= CERTAIN**2:
            return 0.0, 0.0, 0.0
        map_part, share_part = map_part / total, share_part / total
        return map_part, share_part, max(1.0 - map_part - share_part, 0.0)

    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of the score at the expected counts."""
        law = ScorePMF.from_atoms([(self.expected.ravel(), self.weight.ravel())])
        return law.mean, float(np.sqrt(np.nan_to_num(law.variance)))


class PeriodLaw:
    """The law of the score of one period; each part is computed when it is asked for.

    `table`: counts of the period; `old`: rows of the reference in each cell; `maps`:
    what the reference says of the cells; `metric`: what is forecast; `shift`: which
    readings are mixed; `weighted`: what it says of rows such as those of the period,
    which holds unless the share of positives moved.
    """

    def __init__(
        self,
        table: Integers,
        old: Floats,
        maps: Maps,
        metric: Metric | MeanOverGroups,
        shift: Shift = "auto",
        weighted: Maps | None = None,
    ) -> None:
        self._table, self._old, self._metric = table, old, metric
        self._maps, self._kept, self._shift = maps, weighted or maps, shift
        self.new = rows_of(table)
        self._known = table[:, [NEGATIVE, POSITIVE]].sum(axis=0).astype(np.float64)
        draws = DRAWS if isinstance(metric, Metric) else MOVES
        self._each = max(draws // len(maps.chances), 1)

    @cached_property
    def readings(self) -> Readings:
        """Chances of the three readings; known labels tell of them, too."""
        found = weigh_readings(self._old, self.new, self._maps.chances)
        if not self._known.any():
            return found
        level = np.array([log_sum(evidence) for _, evidence in self._thetas])
        odds = np.array(found) * np.exp(level - level.max())
        return Readings(*(odds / odds.sum()).tolist())

    @cached_property
    def mixed(self) -> Draws:
        """The law, with the readings mixed that the shift allows."""
        if self._shift == "prior":
            return self.prevalence_shift
        if self._shift == "auto":
            return mixture(self._of_readings, np.array(self.readings))
        return self.unmoved

    @cached_property
    def _of_readings(self) -> tuple[Draws, Draws, Draws]:
        return self._drawn(0), self.covariate_shift, self.prevalence_shift

    def summary(self, coverage: float) -> tuple[float, Interval]:
        """Mean and interval of the score."""
        if self._shift != "auto":
            return self.mixed.summary(coverage)
        law, laws = self.mixed.score, [one.score for one in self._of_readings]
        coverage = 1.0 - ALLOWED * (1.0 - coverage)
        return law.mean, widened(law, laws, self.readings, coverage)

    def share_summary(self, coverage: float) -> tuple[float, Interval]:
        """Mean and interval of the share of positives."""
        if self._shift != "auto":
            return self.mixed.share_summary(coverage)
        law, laws = self.mixed.prevalence, [one.prevalence for one in self._of_readings]
        return law.mean, widened(law, laws, self.readings, coverage)

    @cached_property
    def unmoved(self) -> Draws:
        """The law if all rows are as likely to be positive as the reference says."""
        return self._draws(self._kept, None, np.zeros(len(self._kept.chances)))

    @cached_property
    def covariate_shift(self) -> Draws:
        """Draws under covariate shift."""
        return self._drawn(1)

    @cached_property
    def prevalence_shift(self) -> Draws:
        """Draws under prevalence shift."""
        return self._drawn(2)

    @cached_property
    def _thetas(self) -> list[tuple[Floats, Floats]]:
        """Draws of θ and the evidence of known labels under each reading, by maps."""
        found = {}
        for one in {id(one): one for one in (self._maps, self._kept)}.values():
            rows = self._old, self.new, self._known
            found[id(one)] = ThetaTable.of(*rows, one.chances)
        laws = []
        for i, (deviation, learnt) in enumerate(zip(DEVIATIONS, LEARNT, strict=True)):
            levels = found[id(self._under(i))]
            weight, evidence = posterior(levels, deviation, learnt=learnt)
            laws.append((drawn_theta(levels.theta, weight, self._each), evidence))
        return laws

    def _under(self, reading: int) -> Maps:
        return self._maps if reading == 2 else self._kept

    def _drawn(self, reading: int) -> Draws:
        return self._draws(self._under(reading), *self._thetas[reading])

    def _draws(self, maps: Maps, theta: Floats | None, evidence: Floats) -> Draws:
        of_map = np.exp(evidence - evidence.max())
        factors = maps.truth.factors(maps.cells_of(self._table), self._each)
        weights = of_map / of_map.sum()
        return draws_at(self._table, maps, theta, weights, self._metric, factors)


def posterior(
    table: ThetaTable, deviation: float, *, learnt: bool
) -> tuple[Floats, Floats]:
    """Weights of θ ~ N(0, deviation²) for every map, and the evidence of known labels.

    Scores count where θ is learnt from them; known labels count always.
    """
    level = np.log(table.width) - table.theta**2 / (2.0 * deviation**2)
    level = level + (table.scores if learnt else np.zeros_like(table.scores))
    both = level + table.labels
    before, after = (log_sum(one) for one in (level, both))
    return np.exp(both - after[:, None]), after - before


def draws_at(
    table: Integers,
    maps: Maps,
    theta: Floats | None,
    of_map: Floats,
    metric: Metric | MeanOverGroups,
    factors: list[Factors] | None = None,
) -> Draws:
    """Draws of the score, some for every θ of every map."""
    cells = maps.cells_of(table)
    shift = None if theta is None else theta.T
    p = maps.truth.probabilities(cells, shift=shift, factors=factors)
    rows = cells.open * np.stack([cells.called, ~cells.called])  # as for a forecast
    known = table[::-1, POSITIVE].sum(axis=1)[:, None]
    of_metric = metric if isinstance(metric, Metric) else metric.metric
    n, k = float(table.sum()), float(table[1].sum())
    drawn = draw_counts(p, rows, COUNTS, np.random.default_rng(1)) + known

    def by_map(values: Floats) -> Floats:
        """Values of every draw in rows of a map each."""
        return np.moveaxis(values.reshape(-1, of_map.size), 0, 1)

    def score(counts: Floats) -> Floats:
        hits, missed = np.moveaxis(counts, -2, 0)
        return of_metric.value(hits, k, hits + missed, n)

    value, share = by_map(score(drawn)), by_map(drawn.sum(axis=1)) / n
    level = np.tile(by_map(score(sums(rows, p) + known)), COUNTS)
    weight = np.repeat(of_map[:, None] / value.shape[1], value.shape[1], axis=1)
    found = Draws(value, share, level, weight)
    if isinstance(metric, Metric):
        return found
    values, means = metric.drawn(p, cells.place, COUNTS)
    level = np.tile(by_map(means), COUNTS)
    return replace(found, value=by_map(values), expected=level)


def mixture(laws: Sequence[Draws], weight: Floats) -> Draws:
    """Draws of several laws together, each with its weight."""
    value, share, expected = (
        np.concatenate([getattr(one, name) for one in laws], axis=1)
        for name in ("value", "share", "expected")
    )
    parts = [w * one.weight for one, w in zip(laws, weight, strict=True)]
    return Draws(value, share, expected, np.concatenate(parts, axis=1))


def _interval(law: ScorePMF, coverage: float) -> Interval:
    if not law.values.size:
        return Interval(np.nan, np.nan)
    return central_interval(law.values, law.probabilities, coverage)


def widened(
    mixed: ScorePMF, laws: Sequence[ScorePMF], readings: Readings, coverage: float
) -> Interval:
    """Return the interval of a mixture, widened until every reading keeps its part.

    `laws` are those of the readings, of which `readings` has the probabilities.
    """
    ends = [_interval(mixed, coverage)]
    for probability, law in zip(readings, laws, strict=True):
        missed = (1.0 - coverage) * max(1.0, NOT_RULED_OUT / max(probability, 1e-300))
        if missed < 1.0 and law.values.size:
            ends.append(_interval(law, 1.0 - missed))
    lows, highs = zip(*ends, strict=True)
    return Interval(min(lows), max(highs))


def likelihood_of(old: Floats, new: Floats, chances: Floats) -> ShareLikelihood:
    """ℓ for rows of the reference and of a period in the same cells."""
    used = np.atleast_2d(old + new > 0).any(axis=0)
    table = ScoreTable(np.zeros(0), old[..., used], new[..., used], False)
    return ShareLikelihood(table, chances[:, used])


def population_share(
    old: Floats, new: Floats, chances: Floats, coverage: float
) -> Interval:
    """Interval of the share of positives where a period's rows come from.

    It holds the odds of the reference times e^θ, for all θ whose 2·ℓ is within a
    quantile of χ²(1) of the largest one, under one map: the share may have moved, and
    nothing else. The odds are those of the reference's own rows, with which the error
    of the map goes up and down.
    """
    theta = np.array(likelihood_of(old, new, chances[None]).profile(coverage))[:, 0]
    share = old @ chances / old.sum()
    low, high = share / (share + (1.0 - share) * np.exp(-theta))
    return Interval(float(low), float(high))


@dataclass(frozen=True)
class ThetaTable:
    """Log-likelihoods over θ, a row for every map."""

    # Values of θ, and what each stands for in an integral over θ
    theta: Floats
    width: Floats
    # Log-likelihood of the scores, and of the known labels given the scores
    scores: Floats
    labels: Floats

    @classmethod
    def of(cls, old: Floats, new: Floats, known: Floats, chances: Floats) -> ThetaTable:
        """Tables of a period."""
        likelihood = likelihood_of(old, new, chances)

        def levels(theta: Floats) -> tuple[Floats, Floats]:
            grid = np.broadcast_to(theta, (chances.shape[0], theta.size))
            return likelihood.loglik(grid), label_likelihood(known, chances, theta)

        grid = np.linspace(-LARGEST_THETA, LARGEST_THETA, FINE)
        theta = np.linspace(-LARGEST_THETA, LARGEST_THETA, POINTS)
        found = levels(theta)
        at, (scores, labels) = grid, (one @ between().T for one in found)
        for _ in range(MOST_ZOOMS):
            both = found[0] + found[1]
            likely = (both >= both.max(axis=1, keepdims=True) - LIKELY).any(axis=0)
            if likely.sum() >= LEAST_LIKELY:
                break
            first, last = np.flatnonzero(likely)[[0, -1]]
            ends = theta[max(first - 1, 0)], theta[min(last + 1, POINTS - 1)]
            theta, inner = (np.linspace(*ends, count) for count in (POINTS, FINE))
            found = levels(theta)
            fine = (one @ between().T for one in found)
            before, after = at < ends[0], at > ends[1]
            at = np.concatenate([at[before], inner, at[after]])
            scores, labels = (
                np.concatenate([old[:, before], new, old[:, after]], axis=1)
                for old, new in zip((scores, labels), fine, strict=True)
            )
        return cls(at, np.gradient(at), scores, labels)


@lru_cache(maxsize=1)
def between() -> Floats:
    """Weights of POINTS even points in a cubic spline, a row for each of FINE points.

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
    x = np.linspace(0.0, POINTS - 1.0, FINE)
    left = np.minimum(x.astype(np.int64), POINTS - 2)
    t = (x - left)[:, None]
    rise = one[left + 1] - one[left]
    bend = slopes[left] - rise, rise - slopes[left + 1]
    inner = t * (1.0 - t) * ((1.0 - t) * bend[0] + t * bend[1])
    return np.asarray(one[left] + t * rise + inner)


def label_likelihood(known: Floats, chances: Floats, theta: Floats) -> Floats:
    """Σ over known labels of log P(y | score) at odds times e^θ, a row for every map.

    log P(y | s) = y·(θ + log c) + (1-y)·log(1-c) - log h, h = 1 - c + c·e^θ.
    """
    used = known.sum(axis=0) > 0
    if not used.any():
        return np.zeros((chances.shape[0], theta.size))
    negative, positive = known[:, used]
    c = np.clip(chances[:, used], 1e-300, 1.0 - 1e-16)
    fixed = np.log(c) @ positive + np.log1p(-c) @ negative
    h = 1.0 - c[:, None] + c[:, None] * np.exp(theta)[:, None]
    return np.asarray(
        fixed[:, None] + theta * positive.sum() - np.log(h) @ (negative + positive)
    )
