"""Labelled scores with a weight: added up where they are about the same, or drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from argmetric._arguments import check_count, check_seed
from argmetric._calibrate import Counted
from argmetric._files import LABEL_NAMES, DataError, Table, named_column
from argmetric._odds import logit
from argmetric._types import Booleans, Floats, Hashes, Integers
from argmetric.scale._cells import keys_of
from argmetric.scale._columns import Used, as_floats, find_used
from argmetric.scale._conservation import require_rows
from argmetric.scale._marks import NO_MARK, Mark, find_mark, plain_labels, settle_marks
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import Run, look_at
from argmetric.scale._sources import Source, batches_of, find_input
from argmetric.scale._tasks import Found, Task

MOST_SAMPLE = 1 << 26  # rows that are held in memory
BINS = 1 << 12  # to a unit of log-odds
MOST_PARTS = 32  # batches that are added up one by one before they become one
FAR = 64.0  # log-odds beyond which bins are as wide as these are large
_MIDDLE = 1 << 40


@dataclass(frozen=True)
class Labelled(Used):
    """Rows with a probability or log-odds, a label, and a weight where there is one."""

    mark: Mark = NO_MARK
    weight: str = ""

    @property
    def columns(self) -> list[str]:
        return [self.score, self.mark.column, *([self.weight] if self.weight else [])]

    def weights(self, batch: Any, source: Source, first: int) -> Floats:
        if not self.weight:
            return np.ones(batch.num_rows)
        weights = as_floats(batch.column(self.weight))
        wrong = ~(np.isfinite(weights) & (weights >= 0.0))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise DataError(
                f"{source.path}: column {self.weight!r} is {weights[i]:g} at row "
                f"{first + i}: weights are finite and not negative"
            )
        return weights


def find_labelled(
    source: Source,
    schema: Any,
    score: str | None,
    label: str | None,
    weight: str | None,
    group: str | None,
    *,
    logits: bool,
) -> Labelled:
    """The columns of one file."""
    used = find_used(source, schema, score, group, "", logits=logits, missing="own")
    taken = [name for name in (used.score, weight, group) if name is not None]
    mark = find_mark(
        source, schema, label, LABEL_NAMES, what="label", role="label", taken=taken
    )
    if weight is not None:
        named_column(Table(schema.empty_table(), "parquet", source.path), weight)
    if mark.column in taken or len(set(taken)) < len(taken):
        raise DataError(
            f"{source.path}: two of score, label, weight and group are the same"
        )
    return Labelled(
        used.score, logits, group, used.kind, "own", mark=mark, weight=weight or ""
    )


Batch = tuple[Floats, Booleans, Floats]


def labelled_batches(source: Source, used: Labelled) -> Iterator[Batch]:
    """Scores, labels and weights of a file."""
    first = 0
    for batch in batches_of(source, used.columns):
        scores = used.in_range(used.values(batch, source, first))
        yield scores, used.mark.holds(batch), used.weights(batch, source, first)
        first += scores.size


@dataclass(frozen=True)
class Sums:
    """Sums over the rows of one class whose scores have a number in common.

    Attributes
    ----------
    number : ndarray
        What they have in common, ascending.
    rows, weight, square : ndarray
        How many, and their weights and the squares of these added up.
    said, odds : ndarray
        Their scores and log-odds, by weight; log-odds that are infinite count as 0.
    low, high : ndarray
        The lowest and the highest of their scores.
    """

    number: Hashes
    rows: Integers
    weight: Floats
    square: Floats
    said: Floats
    odds: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, number: Hashes, scores: Floats, odds: Floats, w: Floats) -> Sums:
        finite = np.where(np.isfinite(odds), odds, 0.0)
        said = np.where(np.isfinite(scores), scores, 0.0)
        ones = np.ones(w.size, dtype=np.int64)
        return cls(number, ones, w, w * w, w * said, w * finite, scores, scores).added()

    def added(self) -> Sums:
        """Those with the same number become one."""
        number, place = np.unique(self.number, return_inverse=True)
        size = number.size

        def total(values: Any) -> Floats:
            return np.bincount(place, values, size).astype(np.float64, copy=False)

        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, place, self.low)
        np.maximum.at(high, place, self.high)
        rows = total(self.rows).astype(np.int64)  # exact up to 2^53
        weight, square = total(self.weight), total(self.square)
        said, odds = total(self.said), total(self.odds)
        return Sums(number, rows, weight, square, said, odds, low, high)

    @classmethod
    def merged(cls, parts: list[Sums]) -> Sums:
        """Sums over the rows of all parts, added up in their order."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns)).added()


@dataclass(frozen=True)
class SumTask:
    """A file, and whether only rows with the very same score are added up."""

    source: Source
    used: Labelled
    exact: bool


def sum_rows(task: SumTask) -> Found:
    """Add up the rows of a file; found: sums of the negatives and the positives."""
    nothing, rows = np.zeros(0), 0
    empty = Sums.of(keys_of(nothing), nothing, nothing, nothing)
    sums = [[empty], [empty]]
    for scores, positive, weight in labelled_batches(task.source, task.used):
        rows += scores.size
        odds = scores if task.used.logits else logit(scores)
        number = keys_of(scores) if task.exact else bins_of(odds)
        for i, rightly in enumerate((~positive, positive)):
            part = rightly & (weight > 0.0)
            some = Sums.of(number[part], scores[part], odds[part], weight[part])
            sums[i].append(some)
            if len(sums[i]) > MOST_PARTS:
                sums[i] = [Sums.merged(sums[i])]
    return {"rows": rows, "sums": [Sums.merged(parts) for parts in sums]}


def bins_of(odds: Floats) -> Hashes:
    """Numbers of bins of log-odds; infinite ones have their own."""
    size = np.abs(odds)
    far = np.isfinite(size) & (size > FAR)
    ratio = np.where(far, size / FAR, 1.0)
    size = np.where(far, FAR * (1.0 + np.log(ratio)), size)
    size = np.where(np.isfinite(size), size, float(_MIDDLE // (2 * BINS)))
    number = np.floor(np.copysign(size, odds) * BINS) + _MIDDLE
    return np.asarray(number, dtype=np.uint64)


def counted(results: list[Found], *, logits: bool) -> Counted:
    """The reference that the sums of all files, in their order, stand for."""
    classes = [Sums.merged([found["sums"][i] for found in results]) for i in (0, 1)]
    whole = {
        name: np.concatenate([getattr(one, name) for one in classes])
        for name in vars(classes[0])
    }
    low, high, weight = whole["low"], whole["high"], whole["weight"]
    alone = low == high  # whose mean must be the score to the last digit
    odds = np.where(alone, low if logits else logit(low), whole["odds"] / weight)
    scores = odds if logits else np.where(alone, low, whole["said"] / weight)
    y = np.repeat([False, True], [one.number.size for one in classes])
    order = np.argsort(odds, kind="stable")
    return Counted(
        scores[order],
        y[order],
        weight[order],
        logits,
        True,
        odds[order],
        rows=whole["rows"][order],
        squares=whole["square"][order],
        low=low[order],
        high=high[order],
    )


@dataclass(frozen=True)
class TakeTask:
    """A file, and the numbers of the rows that are wanted, rising; None: all."""

    source: Source
    used: Labelled
    chosen: Integers | None


def take_rows(task: TakeTask) -> Found:
    """Found: scores, labels, weights and groups of rows in their order."""
    parts: list[tuple[Any, ...]] = []
    used, source, rows = task.used, task.source, 0
    in_file = used.group is not None and used.group not in source.keys
    columns = [*used.columns, *([str(used.group)] if in_file else [])]
    for batch in batches_of(source, columns):
        last = rows + batch.num_rows
        part: Any = slice(None)
        if task.chosen is not None:
            ends = np.searchsorted(task.chosen, [rows, last])
            part = task.chosen[slice(*ends)] - rows
        values = [
            used.in_range(used.values(batch, source, rows)),
            used.mark.holds(batch),
            used.weights(batch, source, rows),
        ]
        if in_file:
            values.append(plain_labels(batch.column(str(used.group))))
        elif used.group is not None:
            values.append(np.full(batch.num_rows, source.keys[used.group], object))
        parts.append(tuple(one[part] for one in values))
        rows = last
    return {
        "rows": rows,
        "columns": [np.concatenate(one) for one in zip(*parts, strict=True)],
    }


def drawn_rows(n: int, size: int, rng: np.random.Generator) -> Integers:
    """Numbers of some of n rows, each as likely as the next, rising."""
    if n <= 4 * size:
        return np.sort(rng.permutation(n)[:size])
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < size:
        more = rng.integers(n, size=size - chosen.size)
        chosen = np.unique(np.concatenate([chosen, more]))
    return chosen


@dataclass(frozen=True)
class Wanted:
    """Names of columns as a caller gives them, and what the scores are."""

    score: str | None
    label: str | None
    weight: str | None
    group: str | None
    pos_label: Any
    logits: bool


class LabelledRows:
    """All rows of the files; every method is a look at them."""

    def __init__(self, run: Run, sources: dict[int, Source], used: Labelled) -> None:
        self.run, self.sources, self.used = run, sources, used
        self.mark = used.mark
        self.n = sum(source.rows for source in sources.values())

    def counted(self, *, exact: bool) -> Counted:
        """Sums over rows with the same score, or about the same."""
        items = [SumTask(one, self.used, exact) for one in self.sources.values()]
        return counted(self._look(sum_rows, items), logits=self.used.logits)

    def taken(self, size: int, random_state: Any) -> tuple[Any, ...]:
        """Labels, scores, weights and groups (None where there are none) of rows.

        So many of them, or all where there are no more.
        """
        chosen = None
        if size < self.n:
            chosen = drawn_rows(self.n, size, np.random.default_rng(random_state))
        items, first = [], 0
        for source in self.sources.values():
            some = None
            if chosen is not None:
                last = first + source.rows
                part = slice(*np.searchsorted(chosen, [first, last]))
                some, first = chosen[part] - first, last
            items.append(TakeTask(source, self.used, some))
        parts = [one["columns"] for one in self._look(take_rows, items)]
        scores, y, weight, *ids = map(
            np.concatenate, zip(*(part for part in parts if part), strict=True)
        )
        groups = ids[0] if ids else None
        return y, scores, weight if self.used.weight else None, groups

    def _look(self, function: Any, items: list[Any]) -> list[Found]:
        tasks = [Task(function, one, "", one.source.rows) for one in items]
        results = self.run.stage("calibrate", tasks)
        for source, found in zip(self.sources.values(), results, strict=True):
            require_rows("calibrate", source.path, source.rows, found["rows"])
        return results


def check_sample(n_sample: Any, random_state: Any) -> int | None:
    """How many rows are to be drawn; None: none."""
    check_seed(random_state)
    if n_sample is None:
        return None
    return check_count(n_sample, "n_sample", low=2, high=MOST_SAMPLE)


@contextlib.contextmanager
def labelled_rows(files: Any, wanted: Wanted, how: How) -> Iterator[LabelledRows]:
    """Rows whose columns were found, and whose positive label is known."""
    names = ("score", "label", "weight", "group")
    check_names(**{name: getattr(wanted, name) for name in names})
    found = find_input(files)
    use = partial(
        find_labelled,
        **{name: getattr(wanted, name) for name in names},
        logits=wanted.logits,
    )
    with reading(how, moves_rows=False) as run:
        sources, used = look_at(run, found, use)
        assert isinstance(used, Labelled)
        (mark,) = settle_marks(run, sources, (used.mark,), wanted.pos_label, both=True)
        yield LabelledRows(run, sources, replace(used, mark=mark))
