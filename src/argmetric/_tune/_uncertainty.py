"""The score that a tuned rule will have on as many new rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric._tune._limits import RuleLimits
from argmetric._tune._resample import Sampler, SampleSums
from argmetric._tune._scan import gains
from argmetric.metrics import Metric

N_DRAWS = 4000
N_GROUP_DRAWS = 1000
# Rows that every confusion matrix is given beforehand, spread over its cells: half a
# row per cell of two classes, as in Jeffreys' rule.
PRIOR_ROWS = 2.0


def new_tables(
    table: Floats, worth: float, size: int, rng: np.random.Generator
) -> Floats:
    """Confusion matrices of as many new rows as a matrix was seen on.

    Two sources of noise: the shares of the cells are known from the rows seen only
    (Dirichlet), and the new rows are drawn by these shares (multinomial). A row counts
    as `worth`, the mean weight weighted by itself, so that unequal weights make fewer
    rows of the same total.
    """
    cells = table.ravel() / worth
    prior = PRIOR_ROWS / cells.size
    shares = rng.standard_gamma(cells + prior, (size, cells.size))
    shares /= shares.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(round(float(cells.sum())), shares) * worth
    return np.asarray(drawn, dtype=np.float64).reshape(size, *table.shape)


def new_scores(
    metric: Metric, tables: list[Floats], worth: float, rng: np.random.Generator
) -> Floats:
    """Scores of new rows, from matrices of rows that the cuts were not tuned on.

    Every way to split the rows into folds has a matrix; each gets its part.
    """
    size = -(-N_DRAWS // len(tables))
    drawn = [new_tables(table, worth, size, rng) for table in tables]
    (tn, fp), (fn, tp) = np.concatenate(drawn).transpose(1, 2, 0)
    return metric.value(tp, tp + fp, tp + fn, tn + fp + fn + tp)


def mean_worth(weight: Floats | None) -> float:
    """Σw²/Σw: what a row counts, if rows of equal weight are to vary as much."""
    return 1.0 if weight is None else float((weight**2).sum() / weight.sum())


def confusion_of(tp: float, k: float, t: float, n: float) -> Floats:
    """The four counts, true classes in rows."""
    table = np.array([[n - k - t + tp, k - tp], [t - tp, tp]])
    return np.asarray(np.maximum(table, 0.0))


Choice = Literal["best", "one_se"]
BLOCK = 2**15  # cells of samples that are held at once, near the processor


@dataclass(frozen=True)
class Spread:
    """Bootstrap of one metric: the cut tuned on every sample, scores of one cut."""

    cuts: Integers
    scores: Floats

    @property
    def standard_error(self) -> float:
        """Of the score of the cut that was asked for."""
        known = self.scores[~np.isnan(self.scores)]
        return float(known.std(ddof=1)) if known.size > 1 else math.nan


def best_cuts(gain: Floats, tolerance: float) -> Integers:
    """Column of the best cut in every row; ties go to fewer positives."""
    with np.errstate(invalid="ignore"):  # -inf - -inf: nothing is allowed in this row
        near = gain >= gain.max(axis=1, keepdims=True) - tolerance
    return np.asarray(np.argmax(near, axis=1))


def plateaus(gain: Floats, best: Integers, within: float) -> tuple[Integers, Integers]:
    """First and last column of the run around the best that comes so near to it."""
    column = np.arange(gain.shape[1])
    best = best[:, None]
    with np.errstate(invalid="ignore"):
        far = gain < np.take_along_axis(gain, best, axis=1) - within
    left = np.where(far & (column < best), column, -1).max(axis=1) + 1
    right = np.where(far & (column > best), column, column.size).min(axis=1) - 1
    return left, right


def choose_cuts(
    gain: Floats, tolerance: float, standard_error: float | None
) -> Integers:
    """The best cut of every row; with a standard error, the fewest positives near it.

    Near is the run of cuts around the best that come within the standard error.
    """
    best = best_cuts(gain, tolerance)
    if standard_error is None:
        return best
    return plateaus(gain, best, standard_error)[0]


def draw_samples(
    sampler: Sampler, size: int, random_state: np.random.SeedSequence
) -> Iterator[SampleSums]:
    """Bootstrap samples, some at a time."""
    rng = np.random.default_rng(random_state)
    step = max(1, BLOCK // sampler.cuts.size)
    for first in range(0, size, step):
        yield sampler.bootstrap(rng, min(step, size - first))


@dataclass(frozen=True)
class Procedure:
    """What is done again on every sample: the metric, its limits, and the choice."""

    metric: Metric
    limits: RuleLimits
    tolerance: float
    standard_error: float | None = None

    def values_and_gains(self, sums: SampleSums) -> tuple[Floats, Floats]:
        values = sums.score(self.metric)
        limits = self.limits
        allowed = limits.allowed(*sums.counts()) if limits.given else None
        return values, gains(values, self.metric, allowed)

    def bootstrap(
        self, samples: Iterable[SampleSums], cuts: Integers, column: int
    ) -> Spread:
        """Tune on every sample, and score one column on all of them.

        A sample in which nothing is allowed or defined gives no cut.
        """
        chosen, scores = [cuts[:0]], [np.empty(0)]
        for sums in samples:
            values, gain = self.values_and_gains(sums)
            index = choose_cuts(gain, self.tolerance, self.standard_error)
            chosen.append(cuts[index[gain.max(axis=1) > -math.inf]])
            scores.append(values[:, column])
        return Spread(np.concatenate(chosen), np.concatenate(scores))

    def held_out_cuts(
        self, splits: Iterable[SampleSums], column: int
    ) -> list[Integers]:
        """Cut of every fold that was tuned on the other folds, for every split.

        Where the other folds allow nothing, the cut of all rows is taken.
        """
        found = []
        for held in splits:
            _, gain = self.values_and_gains(held.total() - held)
            index = choose_cuts(gain, self.tolerance, self.standard_error)
            found.append(np.where(gain.max(axis=1) > -math.inf, index, column))
        return found


def quantiles(values: Floats, coverage: float) -> tuple[float, float] | None:
    """The central interval, of values that occur; None without any."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    tail = (1.0 - coverage) / 2.0
    low, high = np.quantile(known, [tail, 1.0 - tail], method="inverted_cdf")
    return float(low), float(high)
