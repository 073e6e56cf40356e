"""tune and fit, over files: bins of cuts, and sums of values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from argmetric._ground.arguments import refuses, shown
from argmetric._ground.types import Booleans, Floats, Integers, Label
from argmetric._verbs.tune import (
    CutLimits,
    Cuts,
    Rule,
    can_hold_the_best,
    check_settings,
    check_tune_limits,
    tune_cuts,
)
from argmetric.metrics import MetricLike, get_metric, require_defined
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
MOST_ROUNDS = 20  # in which labelled scores are divided


@refuses("cost", "choice", limits=CutLimits)
def tune(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    zero_division: float | None = None,
    coverage: float = 0.9,
    n_bootstrap: int = 200,
    cv: int | None = 5,
    random_state: int | np.random.Generator | None = 0,
    pos_label: Label | None = None,
    **limits: Unpack[CutLimits],
) -> Rule:
    r"""Find the threshold with the best score on labelled rows.

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
    zero_division : {0.0, 1.0, nan}, optional
        See `argmetric.tune`.
    coverage, n_bootstrap, cv, random_state, pos_label
        See `argmetric.tune`. The bootstrap resamples rows in bins of neighbouring
        scores.
    **limits : float, int or str, optional
        What the threshold must keep: those of `argmetric.tune` without a budget.

    Returns
    -------
    Rule
        The threshold, its score, and the scores of other thresholds.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> path = Path(tempfile.mkdtemp(), "scores.csv")
    >>> size = path.write_text("score,label\n0.9,1\n0.6,1\n0.4,0\n0.1,0\n")
    >>> rule = scale.open(path).tune("f1", cv=None)
    >>> rule.threshold, rule.score
    (0.5, 1.0)
    """
    chosen = get_metric(metric, zero_division=zero_division)
    kept = check_tune_limits({**limits})
    how: Any = {"cv": cv, "random_state": random_state}
    settings = check_settings(kept, n_bootstrap, coverage, **how)
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
        cuts = label_cuts(
            np.array([[-np.inf, np.inf, scan.n, 0.0]]),
            partial(_count, scan),
            lambda cuts: can_hold_the_best(cuts, [chosen], kept),
            min(ROWS_SCANNED_WHOLE, rows_held(scan.memory, BIN_BYTES)),
        )
        scan.warn_of_skipped()
    return tune_cuts(cuts, [chosen], settings, scan.columns.truth.classes)[0]


# -- labelled scores in bins -------------------------------------------------------

LabelBins = Floats  # (bins, 4): smallest and largest score, rows, positives; ascending


def label_cuts(
    bins: LabelBins,
    count: Callable[[float, float, float, bool], LabelBins],
    can_be_best: Callable[[Cuts], Booleans],
    few: int,
) -> Cuts:
    """Return labels counted by score, down to single scores where the best cut can be.

    Parameters
    ----------
    bins : ndarray (1, 4)
        All rows in one bin, whose positives are not yet known.
    count : callable
        Returns finer bins of the rows between two scores, both included, of which there
        are so many; at last every score by itself.
    can_be_best : callable
        Which steps between cuts can hide the best one.
    few : int
        Rows of which every score may be looked at.
    """
    first, last, is_divided = 0, 0, True
    for _ in range(MOST_ROUNDS):
        is_one = bins[first, 0] == bins[last, 1]
        exactly = bins[first : last + 1, 2].sum() <= few or is_one or not is_divided
        if exactly:  # with both neighbours, where thresholds end
            first, last = max(first - 1, 0), min(last + 1, len(bins) - 1)
        n_rows = bins[first : last + 1, 2].sum()
        finer = count(float(bins[first, 0]), float(bins[last, 1]), n_rows, exactly)
        is_divided = len(finer) > last - first + 1
        bins = np.concatenate([bins[:first], finer, bins[last + 1 :]])
        tp, k = (np.append(0.0, np.cumsum(bins[::-1, j])) for j in (3, 2))
        cuts = Cuts(bins[::-1, 0].copy(), tp, k - tp)
        places = np.flatnonzero(can_be_best(cuts)[::-1])
        if exactly or not places.size:
            return cuts
        first, last = int(places[0]), int(places[-1])
    raise too_many_cuts(bins[first : last + 1, 2].sum())


def too_many_cuts(n_rows: float) -> DataError:
    """Return the error of scores that cannot be divided further."""
    return DataError(
        f"cuts at {int(n_rows):,} rows are as good as the best one: round the scores, "
        "or tune in memory"
    )


def _count(
    scan: Scan, low: float, high: float, n_rows: float, exactly: bool
) -> LabelBins:
    """Return bins of the rows between two scores; see `label_cuts`.

    A score is known by its bits, in an order in which whole numbers stand for doubles,
    so that bins of any width down to one double can be counted and merged.
    """
    start, end = keys_of(np.array([low, high]))
    most = MOST_BINS.bit_length() - 1
    shift = np.uint64(0 if exactly else max(int(end - start).bit_length() - most, 0))

    def of_batch(batch: FileBatch) -> list[Any]:
        keys = keys_of(batch.values)
        inside = (keys >= start) & (keys <= end)
        scores, positive = batch.values[inside], batch.positive[inside]
        places = (keys[inside] - start) >> shift
        return [places, scores, scores, np.ones(scores.size), positive]

    def merge(parts: list[list[Any]]) -> list[Any]:
        nothing = [np.zeros(0, np.uint64), *[np.zeros(0)] * 4]
        columns = zip(nothing, *parts, strict=True)
        places, lows, highs, rows, hits = map(np.concatenate, columns)
        distinct, at = np.unique(places, return_inverse=True)
        if distinct.size > max(MOST_BINS, ROWS_SCANNED_WHOLE):
            raise too_many_cuts(n_rows)
        smallest = np.full(distinct.size, np.inf)
        largest = -smallest
        np.minimum.at(smallest, at, lows)
        np.maximum.at(largest, at, highs)
        sums = [np.bincount(at, one, distinct.size) for one in (rows, hits)]
        return [distinct, smallest, largest, *sums]

    bins = np.stack(merge([scan.merge_batches(of_batch, merge)])[1:], axis=1)
    if (counted := int(bins[:, 2].sum())) != n_rows:
        raise DataError(f"{n_rows:,.0f} rows were read and {counted:,} are counted")
    return bins


MOST_ROWS_IN_MEMORY = 50_000  # as the search itself would hold


def fit(
    files: OpenedFiles, estimator: MetricLogisticRegression
) -> MetricLogisticRegression:
    r"""Fit a `MetricLogisticRegression` with the objective "soft".

    The coefficients are those of ``estimator.fit`` on all rows at once, up to rounding.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    estimator : MetricLogisticRegression
        What to fit, with its own settings.

    Returns
    -------
    MetricLogisticRegression
        The estimator itself.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> from argmetric.train import MetricLogisticRegression
    >>> path = Path(tempfile.mkdtemp(), "rows.csv")
    >>> size = path.write_text("size,label\n3,1\n2,1\n1,0\n0,0\n")
    >>> model = scale.open(path).fit(MetricLogisticRegression())
    >>> model.feature_names_in_.tolist()
    ['size']
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
        return self.scan.merge_batches(work, lambda parts: np.asarray(sum(parts)))

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
