"""The law of the score of a period, from its table of counts.

Given a map and θ a row of a cell with the chance c is positive with the probability
q = c·e^θ/(1 - c + c·e^θ). Hits and misses are then sums of independent labels. For
every map and reading the law is held by some draws: θ from its posterior, and quantiles
of hits and of misses, all three spread evenly over their laws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from argmetric._calibrate.spline import centred
from argmetric._input.odds import bounded_logit, expit
from argmetric._input.types import Floats, Integers
from argmetric._monitor._cells import NEGATIVE, POSITIVE, UNKNOWN, rows_of
from argmetric._monitor._likelihood import ThetaTable
from argmetric._monitor._readings import Readings, weigh_readings
from argmetric._results.discrete import central_interval
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric._monitor._groups import MeanOverGroups

Shift = Literal["auto", "none", "prior"]
SHIFTS: tuple[Shift, ...] = ("auto", "none", "prior")
THETAS, CHANCES = 16, 4  # draws of θ for every map and reading; of counts for each θ
CERTAIN = 1e-9  # standard deviation of a score that all labels are known of
WHOLE = 25.0  # variance of a count below which its draws are whole numbers
# θ where nothing happened, other rows came, the share moved. What P(y | score) may move
# when rows move is not learnt from the scores.
DEVIATIONS = (0.1, 0.15, 1.0)
LEARNT = (True, False, True)
FEW = (
    8.0  # rows of the rarer class of the reference from which maps lie √2 as far apart
)
PLASTIC = 1.2207440846057596  # its powers spread points evenly over three dimensions


class Counts(NamedTuple):
    """Numbers of a confusion matrix; arrays, or numbers that all draws share."""

    hits: Floats
    predicted: float
    positives: Floats
    rows: float

    def value(self, metric: Metric) -> Floats:
        return metric.value(self.hits, self.predicted, self.positives, self.rows)


@dataclass(frozen=True)
class Draws:
    """Equally or otherwise weighted draws, a row for every map.

    Attributes
    ----------
    value, share : ndarray
        Score, and share of positives.
    expected : ndarray
        Score at the expected counts, without chance.
    weight : ndarray
        They sum to 1.
    """

    value: Floats
    share: Floats
    expected: Floats
    weight: Floats

    def summary(self, coverage: float) -> tuple[float, float, float]:
        """Mean and interval of the score."""
        return _summary(self.value, self.weight, coverage)

    def share_summary(self, coverage: float) -> tuple[float, float, float]:
        return _summary(self.share, self.weight, coverage)

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
        total = max(_variance(self.value, self.weight), map_part + share_part)
        if total <= CERTAIN**2:
            return 0.0, 0.0, 0.0
        map_part, share_part = map_part / total, share_part / total
        return map_part, share_part, max(1.0 - map_part - share_part, 0.0)

    def level(self) -> tuple[float, float]:
        """Mean and standard deviation of the score at the expected counts."""
        mean = _summary(self.expected, self.weight, 0.9)[0]
        return mean, float(np.sqrt(_variance(self.expected, self.weight)))


class ScoreLaw(NamedTuple):
    """The law of a period, and those of the two readings in which something moved.

    `theta` is the mean of θ if the share moved.
    """

    readings: Readings
    mixed: Draws
    share_moved: Draws
    other_rows: Draws
    theta: float


def widened(chances: Floats, rarer: float) -> Floats:
    """Chances of maps that lie further apart, about the same mean chance in each cell.

    Draws of a map are from a normal law of its coefficients, which is too narrow where
    few labels hold it, as a normal law is beside Student's. Distances on the log-odds
    are multiplied by √(1 + 8/k). 90 % intervals of references of 200 rows, k = 8, 16
    and 40 of them positive, cover 0.90, 0.93 and 0.92 so; 0.85, 0.87 and 0.90 as drawn
    (240 periods each, on the sets that the constant was chosen on).

    Parameters
    ----------
    chances : ndarray
        Chance of a positive in each cell, a row for every map.
    rarer : float
        Rows of the rarer class of the reference, k.
    """
    if len(chances) == 1:
        return chances
    x = bounded_logit(chances, 1e-300, 1.0 - 1e-16)
    middle = x.mean(axis=0)
    x = middle + np.sqrt(1.0 + FEW / rarer) * (x - middle)
    usual = bounded_logit(chances.mean(axis=0), 1e-300, 1.0 - 1e-16)
    return expit(centred(x, usual))


def score_law(
    table: Integers,
    old: Floats,
    chances: Floats,
    metric: Metric | MeanOverGroups,
    shift: Shift = "auto",
    weighted: Floats | None = None,
) -> ScoreLaw:
    """The law of the score of one period.

    Parameters
    ----------
    table : ndarray
        Counts of the period.
    old : ndarray
        Rows of the reference in each cell.
    chances : ndarray
        Chance of a positive in each cell, a row for every map.
    metric : Metric or MeanOverGroups
        What is forecast.
    shift : {"auto", "none", "prior"}
        Which readings are mixed.
    weighted : ndarray, optional
        Chances for rows such as those of the period, which hold unless the share of
        positives moved.
    """
    new = rows_of(table)
    known = table[:, [NEGATIVE, POSITIVE]].sum(axis=0).astype(np.float64)
    readings = weigh_readings(old, new, chances)
    likelihood = ThetaTable.of(old, new, known, chances)
    usual = chances, likelihood
    kept = usual
    if weighted is not None:
        kept = weighted, ThetaTable.of(old, new, known, weighted)
    laws, evidence = [], []
    cases = zip((kept, kept, usual), DEVIATIONS, LEARNT, strict=True)
    for (c, levels), deviation, learnt in cases:
        weight, level = posterior(levels, deviation, learnt=learnt)
        evidence.append(level)
        of_map = np.exp(level - level.max())
        of_map /= of_map.sum()
        theta = drawn_theta(levels.theta, weight)
        laws.append(draws_at(table, c, theta, of_map, metric))
    mean_theta = float(of_map @ theta.mean(axis=1))
    if known.any():  # known labels tell of the readings, too
        level = np.array([_log_mean(one) for one in evidence])
        odds = np.array(readings) * np.exp(level - level.max())
        readings = Readings(*(odds / odds.sum()).tolist())
    mixed = laws[2]
    if shift == "auto":
        mixed = mixture(laws, np.array(readings))
    elif shift == "none":
        even = np.full(len(kept[0]), 1.0 / len(kept[0]))
        theta = np.zeros((even.size, THETAS))
        mixed = draws_at(table, kept[0], theta, even, metric)
    return ScoreLaw(readings, mixed, laws[2], laws[1], mean_theta)


def posterior(
    table: ThetaTable, deviation: float, *, learnt: bool
) -> tuple[Floats, Floats]:
    """Weights of θ ~ N(0, deviation²) for every map, and the evidence of known labels.

    Scores count where θ is learnt from them; known labels count always.
    """
    level = np.log(table.width) - table.theta**2 / (2.0 * deviation**2)
    level = level + (table.scores if learnt else np.zeros_like(table.scores))
    both = level + table.labels
    before, after = (_log_sum(one) for one in (level, both))
    return np.exp(both - after[:, None]), after - before


def drawn_theta(theta: Floats, weight: Floats) -> Floats:
    """Quantiles of every map's law of θ, in the order of the lattice."""
    levels = lattice(weight.shape[0], THETAS)[..., 0]
    reached = np.cumsum(weight, axis=1) - weight / 2
    rows = zip(levels, reached, strict=True)
    return np.array([np.interp(level, below, theta) for level, below in rows])


def lattice(*shape: int) -> Floats:
    """Points of three dimensions, spread evenly over all of an array and over parts."""
    number = np.arange(np.prod(shape)).reshape(*shape, 1)
    return np.asarray((0.5 + number * PLASTIC ** -np.arange(1.0, 4.0)) % 1.0)


def draws_at(
    table: Integers,
    chances: Floats,
    theta: Floats,
    of_map: Floats,
    metric: Metric | MeanOverGroups,
) -> Draws:
    """Draws of the score, some for every θ of every map.

    Parameters
    ----------
    table, chances, metric
        As for `score_law`.
    theta : ndarray
        A row for every map.
    of_map : ndarray
        Weights of the maps.
    """
    from scipy.special import ndtri

    if not isinstance(metric, Metric):
        pooled = draws_at(table, chances, theta, of_map, metric.metric)
        levels = lattice(*theta.shape, CHANCES)[..., 1]
        drawn, level = metric.drawn(chances, theta, levels)
        drawn, level = drawn.reshape(len(theta), -1), np.repeat(level, CHANCES, axis=1)
        return replace(pooled, value=drawn, expected=level)
    open_ = table[:, UNKNOWN].astype(np.float64)
    c, odds = chances[:, None], np.exp(theta)[..., None]
    q = c * odds / (1.0 - c + c * odds)
    spread = q * (1.0 - q)
    mean, variance = q @ open_.T, spread @ open_.T
    third = (spread * (1.0 - 2.0 * q)) @ open_.T
    z = ndtri(lattice(*theta.shape, CHANCES)[..., 1:])
    mean, variance, third = (one[:, :, None] for one in (mean, variance, third))
    found = quantiles(mean, variance, third, z, open_.sum(axis=1))
    counts, expected = (_counts(table, one) for one in (found, mean))
    value = counts.value(metric).reshape(of_map.size, -1)
    return Draws(
        value,
        counts.positives.reshape(value.shape) / counts.rows,
        np.repeat(expected.value(metric)[..., 0], CHANCES, axis=1),
        np.repeat(of_map[:, None] / value.shape[1], value.shape[1], axis=1),
    )


def quantiles(
    mean: Floats, variance: Floats, third: Floats, z: Floats, most: Floats
) -> Floats:
    """Quantiles of a sum of independent labels, from three cumulants.

    The series of Cornish and Fisher, x = μ + σ·(z + γ·(z² - 1)/6), in whole numbers
    where the law is narrow.
    """
    deviation = np.sqrt(variance)
    skew = third / np.maximum(variance, 1e-12) ** 1.5
    bend = np.clip(skew, -2.0, 2.0) * (z**2 - 1.0) / 6.0
    x = mean + deviation * (z + bend)
    return np.clip(np.where(variance < WHOLE, np.rint(x), x), 0.0, most)


def _counts(table: Integers, open_positives: Floats) -> Counts:
    """Counts of the period where so many rows of unknown label are positive."""
    known = table[:, POSITIVE].sum(axis=1)
    missed, hits = np.moveaxis(open_positives + known, -1, 0)
    return Counts(hits, float(table[1].sum()), hits + missed, float(table.sum()))


def mixture(laws: list[Draws], weight: Floats) -> Draws:
    """Draws of several laws together, each with its weight."""
    value, share, expected = (
        np.concatenate([getattr(one, name) for one in laws], axis=1)
        for name in ("value", "share", "expected")
    )
    parts = [w * one.weight for one, w in zip(laws, weight, strict=True)]
    return Draws(value, share, expected, np.concatenate(parts, axis=1))


def _summary(
    values: Floats, weight: Floats, coverage: float
) -> tuple[float, float, float]:
    values, weight = values.ravel(), weight.ravel()
    there = np.isfinite(values) & (weight > 0.0)
    if not there.any():
        return np.nan, np.nan, np.nan
    values, weight = values[there], weight[there] / weight[there].sum()
    order = np.argsort(values, kind="stable")
    low, high = central_interval(values[order], weight[order], coverage)
    return float(weight @ values), low, high


def _variance(values: Floats, weight: Floats) -> float:
    there = np.isfinite(values)
    total = weight[there].sum()
    if not total > 0.0:
        return 0.0
    mean = weight[there] @ values[there] / total
    return float(weight[there] @ (values[there] - mean) ** 2 / total)


def _log_sum(levels: Floats) -> Floats:
    top = levels.max(axis=1)
    return np.asarray(top + np.log(np.exp(levels - top[:, None]).sum(axis=1)))


def _log_mean(levels: Floats) -> float:
    return float(_log_sum(levels[None])[0] - np.log(levels.size))
