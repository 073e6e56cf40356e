"""How sure a tuned cut is, and how much its own score flatters it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric._tune._limits import Limits
from argmetric._tune._resample import Sampler, Sums
from argmetric._tune._scan import gains
from argmetric.metrics import Metric

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
) -> Iterator[Sums]:
    """Bootstrap samples, some at a time."""
    rng = np.random.default_rng(random_state)
    step = max(1, BLOCK // sampler.cuts.size)
    for first in range(0, size, step):
        yield sampler.bootstrap(rng, min(step, size - first))


@dataclass(frozen=True)
class Procedure:
    """What is done again on every sample: the metric, its limits, and the choice."""

    metric: Metric
    limits: Limits
    tolerance: float
    standard_error: float | None = None

    def values_and_gains(self, sums: Sums) -> tuple[Floats, Floats]:
        values = sums.score(self.metric)
        limits = self.limits
        allowed = limits.allowed(*sums.counts()) if limits.given else None
        return values, gains(values, self.metric, allowed)

    def bootstrap(self, samples: Iterable[Sums], cuts: Integers, column: int) -> Spread:
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

    def held_out_cuts(self, splits: Iterable[Sums], column: int) -> list[Integers]:
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
