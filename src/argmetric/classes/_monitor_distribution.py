"""Three readings of a period of class probabilities, and the law of its score.

Rows x of the reference (m) and of the period (n) are told apart by

    P(period | x) = n·h/(m + n·h),  h = density of the period over that of the reference

with q the probabilities of the classes after the map, and a free constant κ ~ N(0, 1):

    nothing      log h = κ
    other rows   log h = κ + φ·b,  φ = log q, standardised;  b ~ N(0, σ²/classes)
    share moved  log h = κ + log Σ_c q_c·e^θ_c,  θ ~ N(0, 1) for every class

The evidence of each is Laplace's. If shares moved, P(class | x) is q·e^θ, scaled to sum
to 1, and known labels tell of θ too. If other rows came it is q·e^θ with θ ~ N(0, .15²)
that is not learnt. The law of the score is the class forecast at these probabilities,
over maps and draws of θ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from argmetric._ground.discrete import central_interval, distinct
from argmetric._ground.odds import expit
from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._monitor import ACTUAL_DRAWS, DEVIATIONS, PRIOR, SIZES, Readings
from argmetric.classes._calibrate import ClassBatch
from argmetric.classes._forecast import ClassForecast, forecast_batch
from argmetric.metrics import ClassMetric

ROUNDS, SETTLED = 50, 1e-6  # most of Newton's steps, and the size of the last one
MOST_ROWS = 20_000  # of either sample in a likelihood; more are thinned evenly
LEAST = 1e-6  # smallest probability whose logarithm is told apart
SEED = 3
MOVED_DEVIATION = 1.0  # of θ, where shares moved

Link = Callable[[Floats], tuple[Floats, Floats]]


class Laplace(NamedTuple):
    """A normal law of β about its mode, and the log of the evidence."""

    mode: Floats
    root: Floats  # of the covariance: root·rootᵀ
    evidence: float


def laplace(
    link: Link, sd: Floats, new: Booleans, labels: Link | None = None
) -> Laplace:
    """The law of β ~ N(0, sd²) given which rows are those of the period.

    `link` gives log h and its slopes, a row for every row; `labels` gives the
    probabilities of the classes over those of the map, and which class is known.
    """
    precision, beta = 1.0 / sd**2, np.zeros(sd.size)
    offset = np.log(new.sum() / (~new).sum())

    def level(beta: Floats) -> float:
        x = offset + link(beta)[0]
        total = x[new].sum() - np.logaddexp(0.0, x).sum() - precision @ beta**2 / 2
        return float(total if labels is None else total + labels(beta)[0].sum())

    best = level(beta)
    for _ in range(ROUNDS):
        rise, slopes = link(beta)
        chance = expit(offset + rise)
        gradient = slopes.T @ (new - chance) - precision * beta
        bend = (slopes * (chance * (1.0 - chance))[:, None]).T @ slopes
        bend[np.diag_indices_from(bend)] += precision
        if labels is not None:
            own = labels(beta)[1]
            gradient += own.sum(axis=0)
            bend += own.T @ own
        step = np.linalg.solve(bend, gradient)
        while (found := level(beta + step)) < best and np.abs(step).max() > SETTLED:
            step = step / 2.0
        if found >= best:
            beta, best = beta + step, found
        if np.abs(step).max() <= SETTLED:
            break
    root = np.linalg.cholesky(np.linalg.inv(bend))
    size = np.log(precision).sum() / 2 + np.log(np.diag(root)).sum()
    return Laplace(beta, root, best + float(size))


class ClassReadings(NamedTuple):
    """Probabilities of the readings, and θ if the shares of classes moved."""

    readings: Readings
    theta: Floats
    root: Floats


def read_classes(q_old: Floats, q_new: Floats, truth: Integers) -> ClassReadings:
    """Weigh the readings of a period; `truth` has known classes, and -1 elsewhere."""
    known = truth >= 0
    seen, code = q_new[known], truth[known]
    thin = [one[:: -(-len(one) // MOST_ROWS)] for one in (q_old, q_new)]
    q = np.concatenate(thin)
    new = np.arange(len(q)) >= len(thin[0])
    count = q.shape[1]
    one = np.ones((len(q), 1))
    logs = np.log(np.maximum(q, LEAST))
    spread = logs[~new].std(axis=0)
    features = (logs - logs[~new].mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    features = np.hstack([one, features])

    def linear(columns: Floats) -> Link:
        return lambda beta: (columns @ beta, columns)

    def moved(beta: Floats) -> tuple[Floats, Floats]:
        parts = q * np.exp(beta[1:])
        total = parts.sum(axis=1)
        return beta[0] + np.log(total), np.hstack([one, parts / total[:, None]])

    def labelled(beta: Floats) -> tuple[Floats, Floats]:
        parts = seen * np.exp(beta[1:])
        total = parts.sum(axis=1)
        slopes = -parts / total[:, None]
        slopes[np.arange(code.size), code] += 1.0
        return beta[1:][code] - np.log(total), np.hstack([one[: code.size] * 0, slopes])

    others = [
        laplace(linear(features), _deviations(size / np.sqrt(count), count), new)
        for size in SIZES
    ]
    share = laplace(
        moved,
        _deviations(MOVED_DEVIATION, count),
        new,
        labelled if known.any() else None,
    )
    level = np.array(
        [
            laplace(linear(one), np.ones(1), new).evidence,
            float(
                np.logaddexp.reduce([x.evidence for x in others]) - np.log(len(others))
            ),
            share.evidence,
        ]
    )
    weight = PRIOR * np.exp(level - level.max())
    readings = Readings(*(weight / weight.sum()).tolist())
    return ClassReadings(readings, share.mode[1:], share.root[1:])


def _deviations(sd: float, count: int) -> Floats:
    return np.append(1.0, np.full(count, sd))


class MovedMaps(NamedTuple):
    """Maps that the reference allows, each with its θ: a calibrator of a batch."""

    alternatives: list[tuple[Floats, Floats]]  # probabilities after a map, and θ
    shares: Floats
    n: int


def at_theta(q: Floats, theta: Floats) -> Floats:
    """Rows proportional to q·e^θ."""
    moved = q * np.exp(theta - theta.max())
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


class ClassLaw:
    """The law of the score of a period, under each reading and mixed.

    `maps`: probabilities of its rows after the map itself, and after each other map
    that the reference allows; `old`: those of the reference, after the map itself;
    `shares` and `codes`: shares of the classes in the reference, labels of the rows.
    """

    def __init__(
        self,
        maps: list[Floats],
        old: Floats,
        shares: Floats,
        codes: Integers,
        truth: Integers,
        metric: ClassMetric,
        shift: str,
        coverage: float,
    ) -> None:
        q, others = maps[0], maps[1:] or maps
        found = read_classes(old, q, truth)
        count = q.shape[1]
        still, free = np.zeros(count), np.eye(count)
        laws = [(still, 0.0 * free), (still, DEVIATIONS[1] * free), found[1:]]
        normal = np.random.default_rng(SEED).standard_normal((len(others), count + 1))
        known = np.where(truth < 0, np.nan, truth)
        self.readings = found.readings
        self.forecasts: list[ClassForecast] = []
        means = []
        for theta, root in laws:
            drawn = theta + normal[:, : root.shape[1]] @ root.T
            pairs = list(zip(others, drawn, strict=True))
            batch = ClassBatch(
                at_theta(q, theta),
                tuple(range(count)),
                None,
                MovedMaps(pairs, shares, len(old)),
                through=lambda pair: at_theta(*pair),
            )
            self.forecasts.append(forecast_batch(batch, codes, metric, coverage, known))
            means.append([_shares(one, truth) for one in batch.alternatives()])
        weight = {"none": [1.0, 0.0, 0.0], "prior": [0.0, 0.0, 1.0]}.get(shift)
        self.weight = np.array(self.readings if weight is None else weight)
        self._shares = np.array(means)
        self._coverage, self._truth = coverage, truth

    def summary(self) -> tuple[float, Interval]:
        """Mean and interval of the score; as wide as that of the forecast at least."""
        values = np.concatenate([one.values for one in self.forecasts])
        pairs = zip(self.weight, self.forecasts, strict=True)
        chances = np.concatenate([w * one.probabilities for w, one in pairs])
        ends = central_interval(*distinct(values, chances), self._coverage)
        plain = self.forecasts[0].interval
        mean = float(self.weight @ [one.mean for one in self.forecasts])
        return mean, Interval(min(ends[0], plain[0]), max(ends[1], plain[1]))

    def shares(self) -> tuple[Floats, Floats, Floats]:
        """Share of each class among the rows, and its interval."""
        from scipy.special import ndtri

        n, unknown = self._truth.size, (self._truth < 0).mean()
        drawn = self._shares.reshape(-1, self._shares.shape[2])
        weight = np.repeat(self.weight, self._shares.shape[1]) / self._shares.shape[1]
        mean = weight @ drawn
        chance = unknown * mean * (1.0 - mean) / n
        sd = np.sqrt(weight @ (drawn - mean) ** 2 + chance)
        reach = float(ndtri((1.0 + self._coverage) / 2)) * sd
        return mean, np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)


def _shares(p: Floats, truth: Integers) -> Floats:
    known = np.bincount(truth[truth >= 0], minlength=p.shape[1])
    return np.asarray((known + p[truth < 0].sum(axis=0)) / truth.size)


def actual_of(
    table: Floats, metric: ClassMetric, coverage: float
) -> tuple[float, Interval]:
    """Score of the rows whose class is known, and an interval for such rows.

    The interval is for the shares of the cells of the table, with 1/classes of a row
    added to each: half a row for two classes (Jeffreys).
    """
    n = table.sum()
    if not n:
        return np.nan, Interval(np.nan, np.nan)
    rng = np.random.default_rng(0)
    drawn = rng.standard_gamma(table + 1.0 / len(table), (ACTUAL_DRAWS, *table.shape))
    values = metric.score(drawn * (n / drawn.sum(axis=(1, 2), keepdims=True)))
    tails = [(1.0 - coverage) / 2, (1.0 + coverage) / 2]
    ends = np.nanquantile(values, tails).tolist()
    return float(metric.score(table)), Interval(*ends)
