"""Class weights for the argmax of w·p, by coordinate search.

With all weights but one fixed, row i goes to class j where w_j exceeds
r_i = max over the others of w·p, over p_ij. The rows change sides one by one as w_j
grows: all break points are scanned, in O(n log n) for all values of w_j.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import cycle, islice
from types import ModuleType
from typing import Any

import numpy as np

from argmetric._calibrate.calibrate import deal
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._tune._binary import FEW_ROWS, Settings, within_range
from argmetric._tune._multiclass_rule import MultiClassRule
from argmetric._tune._new_rows import N_DRAWS, mean_worth, new_tables
from argmetric._tune._objective import (
    Objective,
    confusion,
    objective_of,
    score_confusion,
)
from argmetric._tune._uncertainty import quantiles
from argmetric.metrics import Metric

SWEEPS = 50  # over all classes; a search stops when one changes nothing
RESTARTS = (4, 20)  # from random weights around the best: fewer where rows are many
FEW_ENOUGH = 4_000  # more rows are searched on a sample first
MANY_ROWS = 20_000  # most rows that the search of a fold looks at
WITHOUT_NUMBA = 300  # rows for which numba is not worth its loading
BETTER = 1e-12  # relative gain that counts as one
ROUNDING = 1e-14


@dataclass(frozen=True)
class ClassRows:
    """Probabilities, number of the true class, and weight of every row."""

    p: Floats
    true: Integers
    weight: Floats | None
    objective: Objective
    sign: float

    @property
    def classes(self) -> int:
        return int(self.p.shape[1])

    def take(self, rows: Integers) -> ClassRows:
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, p=self.p[rows], true=self.true[rows], weight=weight)

    @property
    def kernels(self) -> ModuleType:
        """Compiled where rows are many enough for numba to be loaded."""
        if self.true.size > WITHOUT_NUMBA:
            from argmetric._tune.kernels import classes

            return classes
        from argmetric._tune.kernels import classes_small

        return classes_small

    @property
    def weights(self) -> Floats:
        """Of the rows; empty where all weigh 1."""
        return np.empty(0) if self.weight is None else self.weight

    def predict(self, weights: Floats) -> Integers:
        return np.asarray(np.argmax(self.p * weights, axis=1))

    def table(self, predicted: Integers) -> Floats:
        return confusion(self.true, predicted, self.weight, self.classes)

    def gain(self, weights: Floats) -> float:
        """Score to be maximised; -inf where it is undefined."""
        table = np.zeros((self.classes, self.classes))
        self.kernels.confuse(self.p, weights, self.true, self.weights, table)
        score = score_confusion(self.objective, table)
        return -math.inf if np.isnan(score) else self.sign * float(score)


@dataclass(frozen=True)
class Scan:
    """Scores for all values of one weight: below, between and above break points."""

    breaks: Floats
    scores: Floats

    @property
    def narrow(self) -> Booleans:
        """Scores between break points that rounding does not tell apart."""
        ends = np.concatenate([[0.0], self.breaks, [math.inf]])
        return np.asarray(ends[1:] <= ends[:-1] * (1.0 + ROUNDING))

    def weight(self, i: int) -> float | None:
        """A weight between the break points around score i; None without any."""
        breaks = self.breaks
        if not breaks.size:
            return None
        if i == 0:
            return float(breaks[0] / 2.0)
        if i == breaks.size:
            return float(breaks[-1] * 2.0)
        return math.sqrt(breaks[i - 1]) * math.sqrt(breaks[i])


def scan_class(rows: ClassRows, weights: Floats, j: int) -> Scan:
    """Scores of all predictions that weight j alone can make."""
    kernels, size, weight = rows.kernels, rows.true.size, rows.weights
    rival, turning = np.empty((2, size), dtype=np.int64)
    ratio, table = np.empty(size), np.zeros((rows.classes, rows.classes))
    count = kernels.rivals(
        rows.p, weights, j, rows.true, weight, rival, ratio, turning, table
    )
    t, k, tp = table.sum(axis=1), table.sum(axis=0), np.diagonal(table).copy()
    n = t.sum()
    turning = turning[:count]
    turning = turning[np.argsort(ratio[turning])]  # scores stand where ties end
    breaks = ratio[turning]
    start = rows.objective.parts(tp, k, t, n)
    sums = start.sum(axis=1)[:, None]
    if turning.size:
        ends = np.append(np.flatnonzero(breaks[1:] != breaks[:-1]), breaks.size - 1)
        counts = np.empty((4, turning.size))
        kernels.take_over(turning, rival, rows.true, weight, j, tp, k, *counts)
        own = rows.objective.parts(counts[0], counts[1], t[j], n)
        other = rows.objective.parts(counts[2], counts[3], t[rival[turning]], n)
        moved = np.empty_like(own)
        kernels.add_changes(turning, rival, own, other, start, j, moved)
        sums = np.concatenate([sums, moved[:, ends]], axis=1)
        breaks = breaks[ends]
    return Scan(breaks, rows.objective.combine(sums, t, n))


def _improved(
    scan: Scan, weights: Floats, j: int, sign: float, best: float, *, wide_only: bool
) -> Floats | None:
    """Weights with the best of the scan for class j; None if that is no better."""
    lost = np.isnan(scan.scores)
    if wide_only:
        lost |= scan.narrow
    gain = np.where(lost, -math.inf, sign * scan.scores)
    weight = scan.weight(int(np.argmax(gain)))
    if weight is None or not gain.max() > best + BETTER * max(1.0, abs(best)):
        return None
    if not 0 < weight < math.inf:
        return None
    tried = weights.copy()
    tried[j] = weight
    return tried


def climb(rows: ClassRows, weights: Floats) -> tuple[Floats, float]:
    """Improve one weight after the other until none can be improved."""
    weights = weights.copy()
    best = rows.gain(weights)
    idle = 0  # classes that were scanned since a weight changed
    for j in islice(cycle(range(rows.classes)), SWEEPS * rows.classes):
        scan = scan_class(rows, weights, j)
        idle += 1
        for wide_only in (False, True):
            tried = _improved(scan, weights, j, rows.sign, best, wide_only=wide_only)
            if tried is None:
                break
            # Rounding may turn a row at a break point: only what is seen counts.
            found = rows.gain(tried)
            if found > best:
                weights, best, idle = tried, found, 1
                break
        if idle == rows.classes:
            break
    return weights, best


def search(rows: ClassRows, rng: np.random.Generator, restarts: int) -> Floats:
    """The best weights of several starts; all 1 is one of them, and wins ties.

    Many rows are searched on a sample, and the best weights improved on all of them.
    """
    ones = np.ones(rows.classes)
    part = rows
    if rows.true.size > FEW_ENOUGH:
        part = rows.take(np.sort(rng.permutation(rows.true.size)[:FEW_ENOUGH]))
    share = np.bincount(part.true, part.weight, rows.classes)
    share = share / share.sum()
    inverse = 1.0 / np.maximum(share, 1e-3 / rows.classes)
    best, gain = climb(part, ones)
    for start in (inverse, np.sqrt(inverse)):
        found, value = climb(part, start / start.mean())
        if value > gain + BETTER * max(1.0, abs(gain)):
            best, gain = found, value
    for _ in range(restarts):
        found, value = climb(part, best * np.exp(rng.normal(0, 0.7, rows.classes)))
        if value > gain + BETTER * max(1.0, abs(gain)):
            best, gain = found, value
    if part is not rows:
        best, gain = climb(rows, best)
    return best if gain > rows.gain(ones) else ones


def tune_classes(
    p: Floats,
    true: Integers,
    classes: tuple[Any, ...],
    weight: Floats | None,
    metric: Metric,
    settings: Settings,
) -> MultiClassRule:
    """Weights for one metric, with the optimism of tuning them."""
    sign = 1.0 if metric.greater_is_better else -1.0
    rows = ClassRows(p, true, weight, objective_of(metric), sign)
    seeds = settings.seeds()
    restarts = int(np.clip(4 * FEW_ENOUGH // true.size, *RESTARTS))
    weights = search(rows, np.random.default_rng(seeds[2]), restarts)
    if rows.gain(weights) == -math.inf:
        raise ValueError(f"{metric.name} is undefined on these rows")
    predicted = rows.predict(weights)
    score = float(_score(rows, predicted))
    held = _out_of_fold(rows, settings.cv, np.random.default_rng(seeds[1]))
    outside = math.nan if held is None else float(_score(rows, held))
    interval = None
    if settings.n_bootstrap:
        seen = rows.table(predicted if held is None else held)
        rng = np.random.default_rng(seeds[3])
        tables = new_tables(seen, mean_worth(weight), N_DRAWS, rng)
        scores = score_confusion(rows.objective, tables)
        interval = quantiles(scores, settings.coverage)
        interval = within_range(interval, metric, float(true.size))
    notes = []
    if true.size < FEW_ROWS:
        notes.append(f"tuned on {true.size} rows: the weights are little but a guess")
    return MultiClassRule(
        classes=classes,
        weights=weights,
        metric=metric,
        score=score,
        argmax_score=sign * rows.gain(np.ones(rows.classes)),
        optimism=sign * (score - outside),
        out_of_fold_score=outside,
        score_interval=interval,
        n=true.size,
        coverage=settings.coverage,
        notes=tuple(notes),
    )


def _score(rows: ClassRows, predicted: Integers) -> Floats:
    return score_confusion(rows.objective, rows.table(predicted))


def _out_of_fold(rows: ClassRows, cv: int, rng: np.random.Generator) -> Integers | None:
    """Classes of rows by weights found on the other folds, each class dealt evenly."""
    counts = np.bincount(rows.true)
    folds = min(cv, int(counts[counts > 0].min()))
    if folds < 2:
        return None
    fold = deal(rng, rows.true, folds)
    predicted = np.empty(fold.size, dtype=np.int64)
    for f in range(folds):
        inside = np.flatnonzero(fold != f)
        if inside.size > MANY_ROWS:  # a smaller sample flatters more: a safe estimate
            inside = rng.permutation(inside)[:MANY_ROWS]
        weights = search(rows.take(inside), rng, 0)
        held = np.flatnonzero(fold == f)
        predicted[held] = rows.take(held).predict(weights)
    return predicted
