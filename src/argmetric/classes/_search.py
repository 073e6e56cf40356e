"""Search for weights of classes: one weight after the other, from many starts.

A worth is a pair: rows by which limits are missed, negative, and then the score. So
weights that keep limits are better than any that do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, Protocol

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._verbs.tune import means
from argmetric.classes._input import ClassLimits
from argmetric.metrics import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    ClassGain,
    ClassMetric,
    GMean,
    Kappa,
    Metric,
    ratio_or,
)


class ClassObjective(Protocol):
    """Objective of weights: `combine` scores the sums of `parts` over classes."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats: ...

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats: ...


@dataclass(frozen=True)
class Macro:
    """Mean over the classes in which the metric is defined."""

    metric: Metric

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        """Return values of classes, 0 where undefined, and which are defined."""
        values = self.metric.value(tp, k, t, n)
        missing = np.isnan(values)
        parts = np.empty((2, *values.shape))
        parts[0] = values
        parts[0][missing] = 0.0
        parts[1] = ~missing
        return parts

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return means(sums[0], sums[1])


@dataclass(frozen=True)
class Correlation:
    """Multi-class Matthews correlation, 0 where a margin is empty.

    (n·Σ tp − Σ k·t) / √((n² − Σ k²)·(n² − Σ t²)).
    """

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t = np.broadcast_arrays(tp, k, t)
        return np.stack([tp, k * t, k * k])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        spread = np.maximum((n * n - sums[2]) * (n * n - (t * t).sum(axis=-1)), 0.0)
        return ratio_or(n * sums[0] - sums[1], np.sqrt(spread), 0.0)


@dataclass(frozen=True)
class Hits:
    """Share of rows whose class is right."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        return np.stack(np.broadcast_arrays(tp, k, t)[:1])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return np.asarray(sums[0] / n)


@dataclass(frozen=True)
class Agreement:
    """Cohen's kappa of several classes: (n·Σ tp − Σ k·t) / (n² − Σ k·t)."""

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t = np.broadcast_arrays(tp, k, t)
        return np.stack([tp, k * t])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return ratio_or(n * sums[0] - sums[1], n * n - sums[1], 0.0)


@dataclass(frozen=True)
class Recalls:
    """Mean of the recalls of the classes with true rows, arithmetic or geometric."""

    geometric: bool

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        """Return recalls of the classes, or their logarithms, and which ones count."""
        tp, t = np.broadcast_arrays(tp, t)
        there, recall = t > 0.0, ratio_or(tp, t, 0.0)
        if not self.geometric:
            return np.stack([recall, there])
        missed = there & (tp <= 0.0)
        return np.stack([np.log(np.where(recall > 0.0, recall, 1.0)), there, missed])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        mean = means(sums[0], sums[1])
        return np.where(sums[2] > 0.5, 0.0, np.exp(mean)) if self.geometric else mean


@dataclass(frozen=True)
class SupportMean:
    """Mean over the classes, each with the weight of its rows."""

    metric: Metric

    def parts(self, tp: Floats, k: Floats, t: Floats, n: Floats) -> Floats:
        tp, k, t, n = np.broadcast_arrays(tp, k, t, n)
        return np.stack([np.nan_to_num(self.metric.value(tp, k, t, n)) * t])

    def combine(self, sums: Floats, t: Floats, n: Floats) -> Floats:
        return np.asarray(sums[0] / n)


def objective_of(
    metric: Metric | ClassMetric, *, by_support: bool = False
) -> ClassObjective | ClassMetric:
    """Return the mean over classes, or the form of a metric for several classes."""
    if isinstance(metric, ClassMetric):
        return metric
    if isinstance(metric, MCC):
        return Correlation()
    if isinstance(metric, Kappa):
        return Agreement()
    if isinstance(metric, Accuracy):
        return Hits()
    if isinstance(metric, BalancedAccuracy | GMean):
        return Recalls(geometric=isinstance(metric, GMean))
    return SupportMean(metric) if by_support else Macro(metric)


def confusion(
    true: Integers, predicted: Integers, weight: Floats | None, classes: int
) -> Floats:
    """Return the weight of every pair of a true and a predicted class.

    `true`, `predicted` and `weight` have the shape (n_rows,).
    """
    pairs = np.bincount(true * classes + predicted, weight, classes * classes)
    return pairs.reshape(classes, classes).astype(np.float64)


def score_confusion(objective: ClassObjective | ClassMetric, table: Floats) -> Floats:
    """Return the score of one confusion matrix, or of a stack of them."""
    if isinstance(objective, ClassMetric):
        return objective.score(table)
    tp = np.diagonal(table, axis1=-2, axis2=-1)
    t, k = table.sum(axis=-1), table.sum(axis=-2)
    n = t.sum(axis=-1, keepdims=True)
    sums = objective.parts(tp, k, t, n).sum(axis=-1)
    return objective.combine(sums, t, n[..., 0])


Worth = tuple[float, float]
SWEEPS = 50  # over all classes; a search stops when one changes nothing
FEW_ENOUGH = 4_000  # more rows are searched on a sample first
MANY_ROWS = 20_000  # most rows that the search of a fold uses
BETTER = 1e-12  # relative gain that counts as one
ROUNDING = 1e-14
LIMITED_RESTARTS = 30  # with limits a climb of few rows ends early more often
# Rows of three classes, with limits or costs, whose weights are all tried: at most
# n + n² of the second class, each with a scan of the third; .3 s for so many
ENUMERATED = 25


@dataclass(frozen=True)
class ClassRows:
    """Probabilities, number of the true class, and weight of every row."""

    p: Floats
    true: Integers
    weight: Floats | None
    objective: ClassObjective | ClassMetric
    sign: float
    limits: ClassLimits | None = None

    @property
    def classes(self) -> int:
        return int(self.p.shape[1])

    def take(self, rows: Integers) -> ClassRows:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, p=self.p[rows], true=self.true[rows], weight=weight)

    @property
    def weights(self) -> Floats:
        """Weights of the rows; empty where all weigh 1."""
        return np.empty(0) if self.weight is None else self.weight

    def predict(self, weights: Floats) -> Integers:
        return np.asarray(np.argmax(self.p * weights, axis=1))

    def table(self, predicted: Integers) -> Floats:
        return confusion(self.true, predicted, self.weight, self.classes)

    def confusion(self, weights: Floats) -> Floats:
        """Return rows by true class and by that of the largest weight·p."""
        from argmetric.classes.kernels.weights import confuse

        table = np.zeros((self.classes, self.classes))
        confuse(self.p, weights, self.true, self.weights, table)
        return table

    def worth(self, weights: Floats) -> Worth:
        """Return the objective to maximise; -inf where the score is undefined."""
        table = self.confusion(weights)
        score = float(score_confusion(self.objective, table))
        missed = 0.0 if self.limits is None else self.limits.of_table(table).sum()
        return -float(missed), -math.inf if math.isnan(score) else self.sign * score


def is_better(new: Worth, old: Worth) -> bool:
    """Return whether one worth exceeds another by more than rounding."""
    least = BETTER * max(1.0, abs(old[1]))
    return new[0] > old[0] + BETTER or (new[0] >= old[0] and new[1] > old[1] + least)


@dataclass(frozen=True)
class Scan:
    """Scores for all values of one weight: below, between and above break points."""

    breaks: Floats
    scores: Floats
    missed: Floats  # rows by which limits are missed

    @property
    def narrow(self) -> Booleans:
        """Return which scores lie between break points equal up to rounding."""
        ends = np.concatenate([[0.0], self.breaks, [math.inf]])
        return np.asarray(ends[1:] <= ends[:-1] * (1.0 + ROUNDING))

    def weight(self, i: int) -> float | None:
        """Return a weight between the break points around score i, or None."""
        breaks = self.breaks
        if not breaks.size:
            return None
        if i == 0:
            return float(breaks[0] / 2.0)
        if i == breaks.size:
            return float(breaks[-1] * 2.0)
        return math.sqrt(breaks[i - 1]) * math.sqrt(breaks[i])


def scan_class(rows: ClassRows, weights: Floats, j: int) -> Scan:
    """Return the scores of all predictions that weight j alone can make."""
    from argmetric.classes.kernels import weights as kernels

    size, weight = rows.true.size, rows.weights
    objective: Any = rows.objective  # no metric of the whole table: those climb
    rival, turning = np.empty((2, size), dtype=np.int64)
    ratio, table = np.empty(size), np.zeros((rows.classes, rows.classes))
    count = kernels.rivals(
        rows.p, weights, j, rows.true, weight, rival, ratio, turning, table
    )
    t, k, tp = table.sum(axis=1), table.sum(axis=0), np.diagonal(table).copy()
    n = t.sum()
    turning = turning[:count]
    turning = turning[np.argsort(ratio[turning])]  # scores stand where ties end
    breaks, left = ratio[turning], rival[turning]

    def parts(tp: Floats, k: Floats, of: Integers | int | slice) -> Floats:
        """Return terms that add up over classes: of score, and above limits."""
        tp, k, true = np.broadcast_arrays(tp, k, t[of])
        terms = np.empty((0, *tp.shape))
        if not isinstance(objective, ClassGain):
            terms = objective.parts(tp, k, true, n)
        if rows.limits is None:
            return terms
        return np.concatenate([terms, rows.limits.excess(tp, k, true, n, of)[None]])

    start = parts(tp, k, slice(None))
    sums = start.sum(axis=1)[:, None]
    ends = np.zeros(0, dtype=np.int64)
    if turning.size:
        ends = np.append(np.flatnonzero(breaks[1:] != breaks[:-1]), breaks.size - 1)
        counts = np.empty((4, turning.size))
        kernels.take_over(turning, rival, rows.true, weight, j, tp, k, *counts)
        own = parts(counts[0], counts[1], j)
        other = parts(counts[2], counts[3], left)
        moved = np.empty_like(own)
        kernels.add_changes(turning, rival, own, other, start, j, moved)
        sums = np.concatenate([sums, moved[:, ends]], axis=1)
    missed = np.zeros(ends.size + 1)
    if rows.limits is not None:
        # a sum of changes may be off by rounding: less than any part of a row is 0
        sums, missed = sums[:-1], np.where(sums[-1] > BETTER * n, sums[-1], 0.0)
    if isinstance(objective, ClassGain):
        matrix, true = objective.gains(rows.classes), rows.true[turning]
        rise = matrix[true, j] - matrix[true, left]
        rise = rise if rows.weight is None else rise * rows.weight[turning]
        total = (matrix * table).sum() + np.append(0.0, np.cumsum(rise)[ends])
        return Scan(breaks[ends], total / n, missed)
    return Scan(breaks[ends], objective.combine(sums, t, n), missed)


def _best_of_scan(
    scan: Scan, weights: Floats, j: int, sign: float, best: Worth, *, wide_only: bool
) -> Floats | None:
    """Return the weights with the weight of class j at the best of its scan, or None.

    Fewest rows beyond the limits come first, then the score. None if this is no better
    than `best`. With `wide_only`, weights between break points that rounding does not
    tell apart are left out.
    """
    excluded = np.isnan(scan.scores)
    if wide_only:
        excluded |= scan.narrow
    excess = np.where(excluded, math.inf, scan.missed)
    gain = np.where(excess > excess.min(), -math.inf, sign * scan.scores)
    gain[excluded] = -math.inf
    weight = scan.weight(int(np.argmax(gain)))
    if weight is None or not is_better((-excess.min(), gain.max()), best):
        return None
    if not 0 < weight < math.inf:
        return None
    new_weights = weights.copy()
    new_weights[j] = weight
    return new_weights


def _improve_one_class(
    rows: ClassRows, weights: Floats, j: int, best: Worth
) -> tuple[Floats, Worth] | None:
    """Return the best weights that differ in class j and their worth, or None.

    None if no weight of class j is better than `best`.
    """
    scan = scan_class(rows, weights, j)
    for wide_only in (False, True):
        tried = _best_of_scan(scan, weights, j, rows.sign, best, wide_only=wide_only)
        if tried is None:
            return None
        # Rounding may turn a row at a break point: only the worth itself counts.
        worth = rows.worth(tried)
        if worth > best:
            return tried, worth
    return None


def climb(rows: ClassRows, weights: Floats) -> tuple[Floats, Worth]:
    """Improve one weight after the other until none can be improved."""
    weights = weights.copy()
    best = rows.worth(weights)
    idle = 0  # classes that were scanned since a weight changed
    for j in islice(cycle(range(rows.classes)), SWEEPS * rows.classes):
        step = _improve_one_class(rows, weights, j, best)
        idle += 1
        if step is not None:
            weights, best = step
            idle = 1
        if idle == rows.classes:
            break
    return weights, best


def _best_of_three(rows: ClassRows, weights: Floats, best: Worth) -> Floats:
    """Return the best of all weights of three classes, by every step of the second.

    With w₀ = 1 predictions change where w₁ = p₀/p₁ of a row, and scans of w₂ change
    where two of their break points p₀/p₂ and w₁·p₁/p₂ change places.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second, third = (
            rows.p[:, a] / rows.p[:, b] for a, b in ((0, 1), (0, 2), (1, 2))
        )
        turns = np.append(first, second[:, None] / third)
    turns = np.unique(turns[(turns > 0.0) & (turns < math.inf)])
    inner = np.sqrt(turns[:-1]) * np.sqrt(turns[1:])
    for w in (*turns[:1] / 2.0, *inner, *turns[-1:] * 2.0):
        step = _improve_one_class(rows, np.array([1.0, w, 1.0]), 2, best)
        if step is not None:
            weights, best = step
    return weights


def search(rows: ClassRows, rng: np.random.Generator, restarts: int) -> Floats:
    """Return the best weights of several starts; all 1 is one, and wins ties."""
    ones = np.ones(rows.classes)
    part = rows
    if rows.true.size > FEW_ENOUGH:
        part = rows.take(np.sort(rng.permutation(rows.true.size)[:FEW_ENOUGH]))
    prevalence = np.bincount(part.true, part.weight, rows.classes)
    prevalence = prevalence / prevalence.sum()
    inverse = 1.0 / np.maximum(prevalence, 1e-3 / rows.classes)
    best, worth = climb(part, ones)
    starts = [inverse, np.sqrt(inverse)]
    if rows.limits is not None:
        starts.append(climb(replace(part, limits=None), ones)[0])
    for start in starts:
        weights, value = climb(part, start / start.mean())
        if is_better(value, worth):
            best, worth = weights, value
    limited = rows.limits is not None or isinstance(rows.objective, ClassGain)
    few = limited and rows.classes == 3 and rows.true.size <= ENUMERATED
    for _ in range(0 if few else restarts):
        weights, value = climb(part, best * np.exp(rng.normal(0, 0.7, rows.classes)))
        if is_better(value, worth):
            best, worth = weights, value
    if part is not rows:
        best, worth = climb(rows, best)
    if few and restarts:
        best = _best_of_three(rows, best, worth)
        worth = rows.worth(best)
    return best if worth > rows.worth(ones) else ones


def labels_by_folds(
    rows: ClassRows, fold: Integers, rng: np.random.Generator
) -> Integers:
    """Return classes of rows (n_rows,) by weights found on the other folds."""
    predicted = np.empty(fold.size, dtype=np.int64)
    for f in range(int(fold.max()) + 1):
        inside = np.flatnonzero(fold != f)
        if inside.size > MANY_ROWS:  # a smaller sample flatters more: a safe estimate
            inside = rng.permutation(inside)[:MANY_ROWS]
        weights = search(rows.take(inside), rng, 0)
        held = np.flatnonzero(fold == f)
        predicted[held] = rows.take(held).predict(weights)
    return predicted
