"""tune and fit, over files: bins of cuts, and sums of values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

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
from argmetric.scale._memory import rows_held
from argmetric.scale._scan import OpenedFiles, Scan, scanning
from argmetric.scale.files import DataError
from argmetric.train import TrainingRows

if TYPE_CHECKING:
    from argmetric.train import MetricLogisticRegression


ROWS_SCANNED_WHOLE = 1 << 22  # rows whose scores are all looked at, if memory allows
BIN_BYTES = 160  # of a score with a bin of its own, while bins are merged
MOST_BINS = 1 << 18  # with rows in them, into which a range is divided at a time
FIRST_SHIFT = 44  # keys that differ in later bits alone are in one bin at first
WHOLE = 0, (1 << 64) - 1


def tune(
    files: OpenedFiles,
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
    files : Files
        The files, of which this is a method.
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
        The threshold, its score, and the scores of other thresholds.
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
    with scanning(files, wanted, pos_label, both=True) as scan:
        require_defined(chosen, scan.n)
        bins = _bins_for(scan, chosen, limits)
        scan.warn_of_skipped()
    return tune_cuts(bins.cuts(), [chosen], settings, scan.columns.truth.classes)[0]


def _count(
    scan: Scan, low: int, high: int, shift: int | None, n_rows: int
) -> LabelBins:
    """Return bins of the rows, so many, whose keys lie between two, both included.

    They have 2^shift keys each; without `shift` every distinct score has its own.
    """

    def of_batch(batch: FileBatch) -> LabelBins:
        scores, keys = batch.values, keys_of(batch.values)
        inside = (keys >= np.uint64(low)) & (keys <= np.uint64(high))
        some = scores[inside], keys[inside], batch.positive[inside]
        return LabelBins.of(some, low, shift)

    bins = scan.merge_batches(of_batch, LabelBins.merge)
    if bins.n_rows != n_rows:
        raise DataError(f"{n_rows:,} rows were read and {bins.n_rows:,} are counted")
    return bins


def _bins_for(scan: Scan, metric: Metric, limits: RuleLimits) -> LabelBins:
    """Return bins that are single scores wherever the best cut can be."""
    low, high = WHOLE
    few = min(ROWS_SCANNED_WHOLE, rows_held(scan.memory, BIN_BYTES))
    if scan.n <= few:
        return _count(scan, low, high, None, scan.n)
    shift = FIRST_SHIFT
    bins = _count(scan, low, high, shift, scan.n)
    while True:
        # From the first to the last that can hold the best cut
        alive = can_hold_the_best(bins.cuts(), [metric], limits)[::-1]
        alive &= (bins.first >= np.uint64(low)) & (bins.last <= np.uint64(high))
        places = np.flatnonzero(alive)
        if not places.size:
            limits.allowed_cuts(bins.cuts())  # says what can be had
        part = slice(max(int(places[0]) - 1, 0), int(places[-1]) + 2)
        inner = LabelBins(*(values[part] for values in vars(bins).values()))
        low, high = int(inner.first[0]), int(inner.last[-1])
        if inner.n_rows <= few:
            return bins.replace_inner(_count(scan, low, high, None, inner.n_rows))
        finer = MOST_BINS.bit_length() - inner.first.size.bit_length()
        if finer <= 0:
            raise DataError(
                f"cuts at {inner.n_rows:,} rows are as good as the best one for "
                f"{metric.name}: round the scores, or tune in memory"
            )
        shift = max(0, shift - finer)
        bins = bins.replace_inner(_count(scan, low, high, shift, inner.n_rows))
        if shift == 0:
            return bins


# -- labelled scores in bins -------------------------------------------------------
#
# A score is known by its bits, in an order in which whole numbers stand for doubles, so
# that bins of any width down to one double can be counted and merged exactly.


@dataclass(frozen=True)
class LabelBins:
    """Bins with rows in them, ascending."""

    scores: Floats  # the smallest score of each
    # first, last: the keys that each stands for
    first: Hashes
    last: Hashes
    # positive, negative: its rows of either class
    positive: Integers
    negative: Integers

    @classmethod
    def of(
        cls, rows: tuple[Floats, Hashes, Booleans], low: int, shift: int | None
    ) -> LabelBins:
        """Return the bins of scores with their keys and labels; see `_count`."""
        scores, keys, positive = rows
        first, width = keys, np.uint64(0)
        if shift is not None:
            by = np.uint64(shift)
            first = ((keys - np.uint64(low)) >> by << by) + np.uint64(low)
            width = np.uint64((1 << shift) - 1)
        hits = positive.astype(np.int64)
        return cls(scores, first, first + width, hits, 1 - hits).unique()

    @classmethod
    def merge(cls, parts: list[LabelBins]) -> LabelBins:
        """Return the bins of all parts."""
        nothing = np.zeros(0)
        empty = nothing, keys_of(nothing), np.zeros(0, bool)
        parts = parts or [cls.of(empty, 0, None)]
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns)).unique()

    def unique(self) -> LabelBins:
        """Return bins in which those with the same keys are one."""
        keys, place = np.unique(self.first, return_inverse=True)

        def total(rows: Integers) -> Integers:
            return np.bincount(place, rows, keys.size).astype(np.int64)  # below 2^53

        scores, last = np.full(keys.size, np.inf), np.zeros(keys.size, dtype=np.uint64)
        np.minimum.at(scores, place, self.scores)
        np.maximum.at(last, place, self.last)
        return LabelBins(scores, keys, last, total(self.positive), total(self.negative))

    @property
    def n_rows(self) -> int:
        """Return the number of rows in all bins."""
        return int(self.positive.sum() + self.negative.sum())

    def cuts(self) -> Cuts:
        """Return what every cut between bins has counted."""
        tp, fp = (
            np.concatenate([[0.0], np.cumsum(part[::-1])])
            for part in (self.positive, self.negative)
        )
        return Cuts(self.scores[::-1].copy(), tp, fp)

    def replace_inner(self, inner: LabelBins) -> LabelBins:
        """Return these bins with finer ones in place of those with the same rows."""
        before = self.last < inner.first[0]
        after = self.first > inner.last[-1]
        parts = zip(vars(self).values(), vars(inner).values(), strict=True)
        return LabelBins(*(np.concatenate([a[before], b, a[after]]) for a, b in parts))


MOST_ROWS_IN_MEMORY = 50_000  # as the search itself would hold


def fit(
    files: OpenedFiles, estimator: MetricLogisticRegression
) -> MetricLogisticRegression:
    """Fit a `MetricLogisticRegression` with the objective "soft".

    The coefficients are those of ``estimator.fit`` on all rows at once, up to rounding.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    files : Files
        The files, of which this is a method.
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
    with scanning(files, wanted, pos_label, both=True) as scan:
        truth = scan.columns.truth
        labels = read_labels(np.array([truth.negative, truth.positive]), pos_label)
        truth = replace(truth, positive=labels.positive)
        scan = replace(scan, columns=replace(scan.columns, label=truth))
        rows = FileRows(scan)
        few = scan.n <= MOST_ROWS_IN_MEMORY
        estimator._fit_rows(rows.in_memory() if few else rows, labels)
        scan.warn_of_skipped()
    names = scan.columns.features
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


# -- what is added up over the rows ----------------------------------------------------


def _rows(batch: FileBatch) -> TrainingRows:
    return TrainingRows(batch.values, batch.positive, np.ones(batch.size))


@dataclass(frozen=True)
class FileRows:
    """Rows that lie in files; every sum over them is a pass over all of them."""

    scan: Scan

    def _total(self, work: Callable[[FileBatch], Floats]) -> Floats:
        """Return the sum of arrays, one of each batch, in their order."""

        def add(parts: list[Floats]) -> Floats:
            return np.asarray(sum(parts[1:], parts[0]))

        return add([part for part in self.scan.each(partial(_sums, work)) if part.size])

    @cached_property
    def positive(self) -> Booleans:
        """Return which rows are positive."""
        return np.asarray(self.scan.rows(None, lambda batch: [batch.positive])[0])

    @cached_property
    def weight(self) -> Floats:
        """Return the weight of every row, 1."""
        return np.broadcast_to(np.ones(1), (self.n,))

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return self.scan.n

    @property
    def k(self) -> int:
        """Return the number of features."""
        return len(self.scan.columns.features)

    @cached_property
    def positives(self) -> float:
        """Return the weight of the positives."""
        return float(self.positive.sum())

    @cached_property
    def negatives(self) -> float:
        """Return the weight of the negatives."""
        return float(self.n - self.positive.sum())

    def take(self, rows: Integers, weight: Floats) -> TrainingRows:
        """Return some rows, by number, in memory."""
        order = np.argsort(rows, kind="stable")
        (taken,) = self.scan.rows(rows[order], lambda batch: [batch.values])
        X = np.empty((rows.size, self.k))
        X[order] = taken
        return TrainingRows(X, self.positive[rows], weight)

    def in_memory(self) -> TrainingRows:
        """Return all rows in memory."""
        return self.take(np.arange(self.n), np.ones(self.n))

    def sums(
        self, theta: Floats, gamma: float, *, likelihood: bool = False
    ) -> tuple[Floats, Floats]:
        """Return sums of values and gradients at a point; see `TrainingRows`."""

        def of_batch(batch: FileBatch) -> Floats:
            sums, slopes = _rows(batch).sums(theta, gamma, likelihood=likelihood)
            return np.column_stack([sums, slopes])

        total = self._total(of_batch)
        return total[:, 0], total[:, 1:]

    def moments(self) -> tuple[Floats, Floats]:
        """Return the mean and the variance of every feature."""
        mean = self._total(lambda batch: batch.values.sum(axis=0)) / self.n
        squares = self._total(lambda batch: ((batch.values - mean) ** 2).sum(axis=0))
        return mean, squares / self.n

    def least_margin(self, theta: Floats) -> float:
        """Return the smallest margin of a row."""

        def least(batches: Iterator[FileBatch]) -> float:
            margins = (_rows(one).least_margin(theta) for one in batches if one.size)
            return min(margins, default=np.inf)

        return float(min(self.scan.each(least)))


def _sums(work: Callable[[FileBatch], Floats], batches: Iterator[FileBatch]) -> Floats:
    """Return the sum of arrays, one of each batch; an empty one of none."""
    parts = [work(batch) for batch in batches if batch.size]
    return np.asarray(sum(parts[1:], parts[0])) if parts else np.zeros(0)
