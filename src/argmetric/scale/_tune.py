"""tune and fit, over files: cells of cuts, and sums of values and gradients."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import shown
from argmetric._ground.types import Booleans, Floats, Hashes, Integers, Label
from argmetric._verbs.tune import (
    Choice,
    Cost,
    Cuts,
    Rule,
    RuleLimits,
    can_hold_the_best,
    check_settings,
    check_tune_limits,
    one_metric,
    tune_cuts,
)
from argmetric.metrics import Metric, MetricLike, require_defined
from argmetric.scale._calibrate import keys_of
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._reading import reading
from argmetric.scale._run import Gathered, Run
from argmetric.scale._tasks import Found, require_all
from argmetric.scale.files import DataError
from argmetric.train import TrainingRows

if TYPE_CHECKING:
    from argmetric.scale._open import Files
    from argmetric.train import MetricLogisticRegression


ROWS_SCANNED_WHOLE = 1 << 22  # rows whose scores are all looked at
MOST_CELLS = 1 << 18  # with rows in them, into which a range is divided at a time
FIRST_SHIFT = 44  # keys that differ in later bits alone are in one bin at first
WHOLE = 0, (1 << 64) - 1


def tune(
    files: Files,
    metric: MetricLike | None = None,
    *,
    zero_division: float | None = None,
    min_positives: int | str | None = None,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    cost: Cost | None = None,
    choice: Choice = "best",
    coverage: float = 0.9,
    n_bootstrap: int = 200,
    cv: int | None = 5,
    random_state: int | np.random.Generator | None = 0,
    pos_label: Label | None = None,
) -> Rule:
    """Find the threshold with the best score on labelled rows.

    The threshold and its score are those of `argmetric.tune` on all rows at once: rows
    are counted in bins of the score, and only bins that can contain the best threshold
    are divided further, down to single scores. `thresholds` and `scores` of the rule
    have every threshold near the best one, and one per bin elsewhere.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What to optimise.
    zero_division, min_positives, max_positives, min_precision, min_recall, cost
        See `argmetric.tune`.
    choice, coverage, n_bootstrap, cv, random_state, pos_label
        See `argmetric.tune`. The bootstrap resamples rows in bins of
        neighbouring scores.

    Returns
    -------
    Rule
    """
    chosen = one_metric(metric, cost, zero_division)
    limits = check_tune_limits(
        min_precision, min_recall, max_positives, min_positives=min_positives
    )
    how: Any = {"cv": cv, "random_state": random_state}
    settings = check_settings(limits, choice, n_bootstrap, coverage, **how)
    if files.group is not None:
        raise ValueError(
            "a threshold for the mean over groups needs all rows in memory: open the "
            "files without group, or see argmetric.tune"
        )
    wanted = WantedColumns(
        {"score": files.score, "label": files.label}, scores="finite"
    )
    with reading(files, wanted, pos_label, both=True) as run:
        require_defined(chosen, run.n)
        cells = _cells_for(run, chosen, limits)
        run.tell_skipped()
    return tune_cuts(cells.cuts(), [chosen], settings, run.columns.truth.classes)[0]


def _count(run: Run, low: int, high: int, shift: int | None, n_rows: int) -> LabelCells:
    """Cells of the rows, so many, whose keys lie between two, both included."""
    total = gathered_cells()

    def take(found: Found) -> Found:
        total.add(found.pop("cells"))
        return found

    work = partial(count_cells, low=low, high=high, shift=shift)
    run.over_files("count", work, take=take)
    cells = total.whole()
    require_all("count", n_rows, cells.n_rows)
    return cells


def _cells_for(run: Run, metric: Metric, limits: RuleLimits) -> LabelCells:
    """Cells that are single scores wherever the best cut can be."""
    low, high = WHOLE
    if run.n <= ROWS_SCANNED_WHOLE:
        return _count(run, low, high, None, run.n)
    shift = FIRST_SHIFT
    cells = _count(run, low, high, shift, run.n)
    while True:
        # Cells from the first to the last that can hold the best cut.
        alive = can_hold_the_best(cells.cuts(), [metric], limits)[::-1]
        alive &= (cells.first >= np.uint64(low)) & (cells.last <= np.uint64(high))
        found = np.flatnonzero(alive)
        if not found.size:
            limits.allowed_cuts(cells.cuts())  # says what can be had
        part = slice(max(int(found[0]) - 1, 0), int(found[-1]) + 2)
        inner = LabelCells(*(values[part] for values in vars(cells).values()))
        low, high = int(inner.first[0]), int(inner.last[-1])
        if inner.n_rows <= ROWS_SCANNED_WHOLE:
            return cells.replaced(_count(run, low, high, None, inner.n_rows))
        finer = MOST_CELLS.bit_length() - inner.first.size.bit_length()
        if finer <= 0:
            raise DataError(
                f"cuts at {inner.n_rows:,} rows are as good as the best one for "
                f"{metric.name}: round the scores, or tune in memory"
            )
        shift = max(0, shift - finer)
        cells = cells.replaced(_count(run, low, high, shift, inner.n_rows))
        if shift == 0:
            return cells


# -- labelled scores in cells ------------------------------------------------------
#
# A score is known by its bits, in an order in which whole numbers stand for doubles, so
# that cells of any width down to one double can be counted and merged exactly.


@dataclass(frozen=True)
class LabelCells:
    """Cells with rows in them, ascending."""

    scores: Floats  # the smallest score of each
    # first, last: the keys that each stands for
    first: Hashes
    last: Hashes
    # positive, negative: its rows of either class
    positive: Integers
    negative: Integers

    @property
    def n_rows(self) -> int:
        return int(self.positive.sum() + self.negative.sum())

    def cuts(self) -> Cuts:
        """What every cut between cells has counted."""
        tp, fp = (
            np.concatenate([[0.0], np.cumsum(part[::-1])])
            for part in (self.positive, self.negative)
        )
        return Cuts(self.scores[::-1].copy(), tp, fp)

    def replaced(self, inner: LabelCells) -> LabelCells:
        """These cells, with finer ones in place of those that have the same rows."""
        before = self.last < inner.first[0]
        after = self.first > inner.last[-1]
        parts = zip(vars(self).values(), vars(inner).values(), strict=True)
        return LabelCells(*(np.concatenate([a[before], b, a[after]]) for a, b in parts))


def merged_cells(parts: list[LabelCells]) -> LabelCells:
    """Cells of all files; those with the same keys become one."""
    first = np.concatenate([part.first for part in parts])
    keys, place = np.unique(first, return_inverse=True)

    def total(name: str) -> Integers:
        sums = np.zeros(keys.size, dtype=np.int64)
        np.add.at(sums, place, np.concatenate([getattr(part, name) for part in parts]))
        return sums

    scores, last = np.full(keys.size, np.inf), np.zeros(keys.size, dtype=np.uint64)
    np.minimum.at(scores, place, np.concatenate([part.scores for part in parts]))
    np.maximum.at(last, place, np.concatenate([part.last for part in parts]))
    return LabelCells(scores, keys, last, total("positive"), total("negative"))


def gathered_cells() -> Gathered[LabelCells]:
    """Cells to which those of more rows are added."""
    return Gathered(merged_cells, lambda cells: cells.scores.size)


def count_cells(
    batches: Iterable[FileBatch], low: int, high: int, shift: int | None
) -> Found:
    """Cells of the rows of a file with keys between two, in bins of 2^shift keys.

    Without bins (`shift` is None) every distinct score has a cell of its own.
    """
    total = gathered_cells()
    empty = np.zeros(0)
    total.add(_cells_of(empty, keys_of(empty), np.zeros(0, bool), 0, None))
    for batch in batches:
        scores, keys = batch.values, keys_of(batch.values)
        inside = (keys >= np.uint64(low)) & (keys <= np.uint64(high))
        if inside.any():
            some = scores[inside], keys[inside], batch.positive[inside]
            total.add(_cells_of(*some, low, shift))
    return {"cells": total.whole()}


def _cells_of(
    scores: Floats, keys: Hashes, positive: Booleans, low: int, shift: int | None
) -> LabelCells:
    if shift is None:
        bins, width = keys, np.uint64(0)
    else:
        by = np.uint64(shift)
        bins = ((keys - np.uint64(low)) >> by << by) + np.uint64(low)
        width = np.uint64((1 << shift) - 1)
    first, place = np.unique(bins, return_inverse=True)
    least = np.full(first.size, np.inf)
    np.minimum.at(least, place, scores)
    hits = np.bincount(place, positive, first.size).astype(np.int64)
    rows: npt.NDArray[np.int64] = np.bincount(place, minlength=first.size)
    return LabelCells(least, first, first + width, hits, rows - hits)


MOST_ROWS_IN_MEMORY = 50_000  # as the search itself would hold


def fit(files: Files, estimator: MetricLogisticRegression) -> MetricLogisticRegression:
    """Fit a `MetricLogisticRegression` with the objective "soft".

    The coefficients are those of ``estimator.fit`` on all rows at once, up to rounding.

    Parameters
    ----------
    estimator : MetricLogisticRegression
        What to fit, with its own settings.

    Returns
    -------
    MetricLogisticRegression
        The estimator itself.
    """
    from argmetric.train import MetricLogisticRegression, read_labels

    if not isinstance(estimator, MetricLogisticRegression):
        raise TypeError(
            f"estimator must be a MetricLogisticRegression, not {shown(estimator)}"
        )
    estimator._check_parameters()
    for name, given in (
        ("objective='expected'", estimator.objective != "soft"),
        ("class_weight", estimator.class_weight is not None),
        ("warm_start", estimator.warm_start),
    ):
        if given:
            raise ValueError(f"{name} needs all rows in memory: see estimator.fit")
    wanted = WantedColumns({"label": files.label}, features=files.features)
    pos_label = estimator.pos_label
    with reading(files, wanted, pos_label, both=True) as run:
        truth = run.columns.truth
        labels = read_labels(np.array([truth.negative, truth.positive]), pos_label)
        truth = replace(truth, positive=labels.positive)
        run.columns = replace(run.columns, label=truth)
        rows = FileRows(run)
        few = run.n <= MOST_ROWS_IN_MEMORY
        estimator._fit_rows(rows.in_memory() if few else rows, labels)
        run.tell_skipped()
    names = run.columns.features
    estimator.n_features_in_ = len(names)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit
    if not files.are_arrays:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


# -- what is added up over the rows of a file -----------------------------------------


def _rows(batch: FileBatch) -> TrainingRows:
    return TrainingRows(batch.values, batch.positive, np.ones(batch.rows.size))


def _values(batch: FileBatch) -> list[Any]:
    return [batch.values]


def _positive(batch: FileBatch) -> list[Any]:
    return [batch.positive]


def _sums(
    batches: Iterable[FileBatch], theta: Floats, gamma: float, likelihood: bool
) -> Found:
    sums, slopes = np.zeros(2), np.zeros((2, theta.size))
    for batch in batches:
        more = _rows(batch).sums(theta, gamma, likelihood=likelihood)
        sums, slopes = sums + more[0], slopes + more[1]
    return {"sums": sums, "slopes": slopes}


def _squares(batches: Iterable[FileBatch], center: Floats | None) -> Found:
    """Σ(x - center)² of every column, or Σx where there is no center."""
    total: Any = 0.0
    for batch in batches:
        X = batch.values if center is None else (batch.values - center) ** 2
        total = total + X.sum(axis=0)
    return {"total": total}


def _least(batches: Iterable[FileBatch], theta: Floats) -> Found:
    least = [_rows(batch).least_margin(theta) for batch in batches if batch.rows.size]
    return {"least": min(least, default=np.inf)}


@dataclass(frozen=True)
class FileRows:
    """Rows that lie in files; every sum over them is a look at all of them."""

    run: Run

    def _look(self, work: Any) -> list[Found]:
        return self.run.over_files("train", work)

    @cached_property
    def positive(self) -> Booleans:
        return np.asarray(self.run.picked("train", None, _positive)[0])

    @cached_property
    def weight(self) -> Floats:
        return np.broadcast_to(np.ones(1), (self.n,))

    @cached_property
    def n(self) -> int:
        return self.run.n

    @property
    def k(self) -> int:
        return len(self.run.columns.features)

    @cached_property
    def positives(self) -> float:
        return float(self.positive.sum())

    @cached_property
    def negatives(self) -> float:
        return float(self.n - self.positive.sum())

    def take(self, rows: Integers, weight: Floats) -> TrainingRows:
        order = np.argsort(rows, kind="stable")
        (taken,) = self.run.picked("train", rows[order], _values)
        X = np.empty((rows.size, self.k))
        X[order] = taken
        return TrainingRows(X, self.positive[rows], weight)

    def in_memory(self) -> TrainingRows:
        return self.take(np.arange(self.n), np.ones(self.n))

    def sums(
        self, theta: Floats, gamma: float, *, likelihood: bool = False
    ) -> tuple[Floats, Floats]:
        work = partial(_sums, theta=theta, gamma=gamma, likelihood=likelihood)
        results = self._look(work)
        sums = np.sum([found["sums"] for found in results], axis=0)
        return sums, np.sum([found["slopes"] for found in results], axis=0)

    def moments(self) -> tuple[Floats, Floats]:
        def mean_of(center: Floats | None) -> Floats:
            results = self._look(partial(_squares, center=center))
            totals = np.sum([found["total"] + np.zeros(self.k) for found in results], 0)
            return np.asarray(totals / self.n)

        mean = mean_of(None)
        return mean, mean_of(mean)

    def least_margin(self, theta: Floats) -> float:
        return min(
            float(found["least"]) for found in self._look(partial(_least, theta=theta))
        )
