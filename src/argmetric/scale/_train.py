"""Training on files: every step is a sum of values and gradients over them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._files import LABEL_NAMES, DataError, Table, named_column
from argmetric._input.arguments import shown
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.scale._columns import Used, as_floats, require_numbers
from argmetric.scale._conservation import Tally, require_all, tally_of
from argmetric.scale._frames import blocks_of, is_array
from argmetric.scale._marks import NO_MARK, Mark, find_mark, settle_marks
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import Run, look_at
from argmetric.scale._scan import packed, unpacked
from argmetric.scale._sources import OnError, Source, batches_of, find_input
from argmetric.scale._tasks import Found, Progress, Task
from argmetric.train import Rows

if TYPE_CHECKING:
    from argmetric.train import MetricLogisticRegression

FEW = 50_000  # rows that are held in memory, as the search itself would


def fit(
    estimator: MetricLogisticRegression,
    files: Any,
    *,
    features: Sequence[str] | None = None,
    label: str | None = None,
    on_error: OnError = "stop",
    memory: int | str | None = None,
    executor: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> MetricLogisticRegression:
    """Fit a `MetricLogisticRegression` with the objective "soft" on files of any size.

    The coefficients are those of ``estimator.fit`` on all rows at once, up to rounding.

    Parameters
    ----------
    estimator : MetricLogisticRegression
        What to fit, with its own settings.
    files : str, path or list of these
        As `argmetric.scale.decide` takes them; or a pair of Dask arrays, of features
        and labels, by their blocks of rows.
    features : list of str, optional
        Columns of numbers; by default all but the label, in their order.
    label : str, optional
        The column of labels: by default the one called label, y, target or the like.
    on_error, memory, executor, n_jobs, progress
        As `argmetric.scale.decide` takes them.

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
    if features is not None:
        if isinstance(features, str) or not isinstance(features, Sequence):
            raise TypeError(f"features must be a list of names, not {shown(features)}")
        check_names(**{f"features[{i}]": one for i, one in enumerate(features)})
    check_names(label=label)
    how = How(on_error, memory, None, executor, n_jobs, progress)
    arrays = isinstance(files, tuple) and len(files) == 2 and is_array(files[0])
    found = blocks_of(*files) if arrays else find_input(files)
    with reading(how, moves_rows=False) as run:
        use = partial(find_examples, features=features, label=label)
        sources, used = look_at(run, found, use)
        assert isinstance(used, Examples)
        pos_label = estimator.pos_label
        (mark,) = settle_marks(run, sources, (used.mark,), pos_label, both=True)
        labels = read_labels(np.array([mark.negative, mark.positive]), pos_label)
        used = replace(used, mark=replace(mark, positive=labels.positive))
        rows = FileRows(run, sources, used)
        estimator._fit_rows(rows.in_memory() if rows.n <= FEW else rows, labels)
        run.tell_skipped()
    estimator.n_features_in_ = len(used.features)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit
    if not arrays:
        estimator.feature_names_in_ = np.array(used.features, dtype=object)
    return estimator


@dataclass(frozen=True)
class Examples(Used):
    """Rows of numbers, and their label."""

    features: tuple[str, ...] = ()
    mark: Mark = NO_MARK

    @property
    def columns(self) -> list[str]:
        return [*self.features, self.mark.column]


def find_examples(
    source: Source, schema: Any, features: Sequence[str] | None, label: str | None
) -> Examples:
    """The columns of one file."""
    mark = find_mark(
        source, schema, label, LABEL_NAMES, what="label", role="label", taken=()
    )
    table = Table(schema.empty_table(), "parquet", source.path)
    if features is None:
        names = tuple(name for name in schema.names if name != mark.column)
    else:
        names = tuple(named_column(table, name) for name in features)
    if mark.column in names:
        raise DataError(f"features and label both name column {mark.column!r}")
    for name in names:
        require_numbers(source, schema, name)
    return Examples("", True, features=names, mark=mark)


@dataclass(frozen=True)
class PassTask:
    """A file, and what is added up over its rows."""

    source: Source
    used: Examples
    work: Callable[[Iterator[Rows]], Found]


def one_pass(task: PassTask) -> Found:
    """Add up over the rows of a file."""
    read = Tally()

    def batches() -> Iterator[Rows]:
        nonlocal read
        for batch in batches_of(task.source, task.used.columns):
            X = np.empty((batch.num_rows, len(task.used.features)))
            for j, name in enumerate(task.used.features):
                X[:, j] = as_floats(batch.column(name))
            wrong = ~np.isfinite(X).all(axis=1)
            if wrong.any():
                row = read.rows + int(np.argmax(wrong))
                raise DataError(
                    f"{task.source.path}: a feature is missing at row {row}"
                )
            positive = task.used.mark.holds(batch)
            yield Rows(X, positive, np.ones(batch.num_rows))
            numbers = np.arange(read.rows, read.rows + batch.num_rows)
            read += tally_of(numbers, X, positive)

    return {**task.work(batches()), **vars(read)}


@dataclass(frozen=True)
class _Labels:
    def __call__(self, batches: Iterator[Rows]) -> Found:
        parts = [rows.positive for rows in batches]
        whole = np.concatenate(parts) if parts else np.zeros(0, dtype=bool)
        return {"positive": packed(whole)}


@dataclass(frozen=True)
class _Sums:
    theta: Floats
    gamma: float
    likelihood: bool

    def __call__(self, batches: Iterator[Rows]) -> Found:
        sums, slopes = np.zeros(2), np.zeros((2, self.theta.size))
        for rows in batches:
            more = rows.sums(self.theta, self.gamma, likelihood=self.likelihood)
            sums, slopes = sums + more[0], slopes + more[1]
        return {"sums": sums, "slopes": slopes}


@dataclass(frozen=True)
class _Squares:
    """Σ(x - center)² of every column, or Σx where there is no center."""

    center: Floats | None

    def __call__(self, batches: Iterator[Rows]) -> Found:
        total: Any = 0.0
        for rows in batches:
            total = total + (
                rows.X.sum(axis=0)
                if self.center is None
                else ((rows.X - self.center) ** 2).sum(axis=0)
            )
        return {"total": total}


@dataclass(frozen=True)
class _Least:
    theta: Floats

    def __call__(self, batches: Iterator[Rows]) -> Found:
        least = [rows.least_margin(self.theta) for rows in batches if rows.n]
        return {"least": min(least, default=np.inf)}


@dataclass(frozen=True)
class _Taken:
    """Rows by their numbers in the file."""

    chosen: Integers

    def __call__(self, batches: Iterator[Rows]) -> Found:
        parts, first = [np.zeros((0, 0))], 0
        for rows in batches:
            inside = (self.chosen >= first) & (self.chosen < first + rows.n)
            parts.append(rows.X[self.chosen[inside] - first])
            first += rows.n
        kept = [part for part in parts if part.size]
        return {"X": np.concatenate(kept) if kept else None}


@dataclass(frozen=True)
class FileRows:
    """Rows that lie in files; every sum over them is a look at all of them."""

    run: Run
    sources: dict[int, Source]
    used: Examples

    @cached_property
    def positive(self) -> Booleans:
        parts = [unpacked(one["positive"], bool) for one in self._look(_Labels())]
        positive = np.concatenate(parts)
        require_all("train", self.n, positive.size)
        return positive

    @cached_property
    def weight(self) -> Floats:
        return np.broadcast_to(np.ones(1), (self.n,))

    def _look(self, work: Any, works: list[Any] | None = None) -> list[Found]:
        each = works or [work] * len(self.sources)
        tasks = [
            Task(one_pass, PassTask(source, self.used, one), "", source.rows)
            for source, one in zip(self.sources.values(), each, strict=True)
        ]
        return self.run.over_files("train", self.sources, tasks)

    @cached_property
    def n(self) -> int:
        return sum(source.rows for source in self.sources.values())

    @property
    def k(self) -> int:
        return len(self.used.features)

    @cached_property
    def positives(self) -> float:
        return float(self.positive.sum())

    @cached_property
    def negatives(self) -> float:
        return float(self.n - self.positive.sum())

    def take(self, rows: Integers, weight: Floats) -> Rows:
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum([0, *(source.rows for source in self.sources.values())])
        works = []
        for first, last in itertools.pairwise(ends.tolist()):
            inside = (rows >= first) & (rows < last)
            works.append(_Taken(np.sort(rows[inside]) - first))
        parts = [found["X"] for found in self._look(None, works)]
        taken = np.concatenate([part for part in parts if part is not None])
        require_all("train", rows.size, len(taken))
        X = np.empty((rows.size, self.k))
        X[order] = taken
        return Rows(X, self.positive[rows], weight)

    def in_memory(self) -> Rows:
        return self.take(np.arange(self.n), np.ones(self.n))

    def sums(
        self, theta: Floats, gamma: float, *, likelihood: bool = False
    ) -> tuple[Floats, Floats]:
        results = self._look(_Sums(theta, gamma, likelihood))
        sums = np.sum([found["sums"] for found in results], axis=0)
        return sums, np.sum([found["slopes"] for found in results], axis=0)

    def moments(self) -> tuple[Floats, Floats]:
        def mean_of(center: Floats | None) -> Floats:
            results = self._look(_Squares(center))
            totals = np.sum([found["total"] + np.zeros(self.k) for found in results], 0)
            return np.asarray(totals / self.n)

        mean = mean_of(None)
        return mean, mean_of(mean)

    def least_margin(self, theta: Floats) -> float:
        return min(float(found["least"]) for found in self._look(_Least(theta)))
