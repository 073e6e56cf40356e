"""Training on files: every step is a sum of values and gradients over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._reading import reading
from argmetric.scale._run import Run
from argmetric.scale._tasks import Found
from argmetric.train import TrainingRows

if TYPE_CHECKING:
    from argmetric.scale._open import Files
    from argmetric.train import MetricLogisticRegression

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
