"""Labelled scores with a weight: added up where they are about the same, or drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from argmetric._calibrate import Counted
from argmetric._files import LABEL_NAMES, DataError, Table, named_column
from argmetric._input.arguments import check_count, check_seed
from argmetric._input.odds import logit
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.scale._cells import keys_of
from argmetric.scale._columns import Used, as_floats, find_used, require_numbers
from argmetric.scale._conservation import Tally, require_all, tally
from argmetric.scale._marks import NO_MARK, Mark, find_mark, plain_labels, settle_marks
from argmetric.scale._reading import How, check_names, reading
from argmetric.scale._run import Run, look_at
from argmetric.scale._sources import Source, batches_of, find_input
from argmetric.scale._sums import Sums, Total, bins_of, counted
from argmetric.scale._tasks import Found, Task

MOST_SAMPLE = 1 << 26  # rows that are held in memory


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
        require_numbers(source, schema, weight)
    if mark.column in taken or len(set(taken)) < len(taken):
        raise DataError(
            f"{source.path}: two of score, label, weight and group are the same"
        )
    return Labelled(
        used.score, logits, group, used.kind, "own", mark=mark, weight=weight or ""
    )


Batch = tuple[Integers, Floats, Booleans, Floats]


def labelled_batches(source: Source, used: Labelled) -> Iterator[Batch]:
    """Row numbers, scores, labels and weights of a file."""
    first = 0
    for batch in batches_of(source, used.columns):
        scores = used.in_range(used.values(batch, source, first))
        weights = used.weights(batch, source, first)
        rows = np.arange(first, first + scores.size)
        yield rows, scores, used.mark.holds(batch), weights
        first += scores.size


@dataclass(frozen=True)
class SumTask:
    """A file, and whether only rows with the very same score are added up."""

    source: Source
    used: Labelled
    exact: bool


def sum_rows(task: SumTask) -> Found:
    """Add up the rows of a file; found: sums of the negatives and the positives."""
    total, counted, weightless = Total(), Tally(), 0
    for rows, scores, positive, weight in labelled_batches(task.source, task.used):
        counted += tally(rows, scores)
        weightless += int((weight == 0.0).sum())
        odds = scores if task.used.logits else logit(scores)
        number = keys_of(scores) if task.exact else bins_of(odds)
        parts = [rightly & (weight > 0.0) for rightly in (~positive, positive)]
        total.add([Sums.of(number[i], scores[i], odds[i], weight[i]) for i in parts])
    return {**vars(counted), "weightless": weightless, "sums": total.sums()}


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
        **vars(Tally(rows)),
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

    def counted(self, *, exact: bool, together: bool = False) -> Counted:
        """Sums over rows with the same score, or about the same; see `counted`."""
        total = Total()  # of files as they come: all sums at once may not fit

        def take(found: Found) -> Found:
            total.add(found.pop("sums"))
            return found

        items = [SumTask(one, self.used, exact) for one in self.sources.values()]
        weightless = sum(one["weightless"] for one in self.look(sum_rows, items, take))
        found = counted(total.sums(), logits=self.used.logits, together=together)
        require_all("calibrate", self.n, found.n + weightless)
        return found

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
        parts = [one["columns"] for one in self.look(take_rows, items)]
        scores, y, weight, *ids = map(
            np.concatenate, zip(*(part for part in parts if part), strict=True)
        )
        require_all("calibrate", min(size, self.n), scores.size)
        groups = ids[0] if ids else None
        return y, scores, weight if self.used.weight else None, groups

    def look(self, function: Any, items: list[Any], *take: Any) -> list[Found]:
        """What is found in every file, all rows of each of them read."""
        tasks = [Task(function, one, "", one.source.rows) for one in items]
        return self.run.over_files("calibrate", self.sources, tasks, *take)


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
