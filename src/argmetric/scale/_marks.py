"""Columns of labels: which class is the positive one, in all files together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from argmetric._files import DataError, Role, Table, find_column, read_values
from argmetric._input.arguments import check_label
from argmetric._input.labels import (
    EVERY_ROW,
    Spelled,
    classes_of,
    distinct,
    is_spelled_missing,
    label_array,
    missing_labels,
    no_label,
    plain_label,
)
from argmetric._input.types import Booleans, Floats
from argmetric.scale._columns import Used
from argmetric.scale._conservation import Tally, require_read
from argmetric.scale._run import Run
from argmetric.scale._sources import Source, batches_of
from argmetric.scale._tasks import Found, Task

MOST_LABELS = 16  # of a file; two are needed, and a few make a good message


@dataclass(frozen=True)
class Mark:
    """A column of labels, and the one that counts.

    Attributes
    ----------
    positive, negative : object
        What the classes are called.
    spellings : tuple
        The values that mean the positive one; empty: itself.
    is_decision : bool
        Whether these are predicted labels, which may be 0 and 1 where the true ones
        have names.
    """

    column: str
    positive: Any = None
    negative: Any = None
    spellings: tuple[Any, ...] = ()
    is_decision: bool = False

    def holds(self, batch: Any) -> Booleans:
        """Which rows are positive."""
        labels = plain_labels(batch.column(self.column))
        found = [labels == one for one in self.spellings or (self.positive,)]
        return np.asarray(reduce(np.logical_or, found), dtype=bool)


def plain_labels(column: Any) -> Any:
    """Labels of a batch as an array; missing ones are None or nan."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


def find_mark(
    source: Source,
    schema: Any,
    name: str | None,
    defaults: tuple[str, ...],
    *,
    what: str,
    role: Role,
    taken: Sequence[str],
) -> Mark:
    """The column of labels, found in one file."""
    table = Table(schema.empty_table(), "parquet", source.path)
    column = find_column(table, name, defaults, what=what, role=role, taken=taken)
    return Mark(column, is_decision=role == "decision_column")


NO_MARK = Mark("")


@dataclass(frozen=True)
class LabelTask:
    """A file, and its columns of labels."""

    source: Source
    columns: tuple[str, ...]


def find_labels(task: LabelTask) -> Found:
    """Distinct labels of every column, as they appear."""
    found: dict[str, list[Any]] = {name: [] for name in task.columns}
    first = 0
    for batch in batches_of(task.source, list(task.columns)):
        for name, seen in found.items():
            column = batch.column(name)
            labels = label_array(plain_labels(column.unique()), name)
            if missing_labels(labels).any():
                gaps = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                where = f"row {first + int(np.argmax(gaps))}"
                raise DataError(f"{task.source.path}: {no_label(name, where)}")
            plain = dict.fromkeys(map(plain_label, labels.tolist()))
            seen += [one for one in plain if one not in seen]
            if len(seen) > MOST_LABELS:
                raise DataError(
                    f"{task.source.path}: column {name!r} has more than {MOST_LABELS} "
                    "distinct labels: two are needed"
                )
        first += batch.num_rows
    return {"rows": first, "labels": found}


def settle_marks(
    run: Run,
    sources: dict[int, Source],
    marks: tuple[Mark, ...],
    pos_label: Any,
    *,
    both: bool = False,
) -> tuple[Mark, ...]:
    """The positive label of every column, after a look at all of them.

    With `pos_label` it is all columns together that hold two labels; without, each is
    read for itself, as in memory, and so is each where a command spells the label.
    `both` refuses a column with one class.
    """
    check_label(pos_label)
    columns = tuple(mark.column for mark in marks)
    tasks = [
        Task(find_labels, LabelTask(source, columns), "", source.rows)
        for source in sources.values()
    ]
    seen: dict[str, list[Any]] = {name: [] for name in columns}
    results = run.stage("labels", tasks)
    for source, found in zip(sources.values(), results, strict=True):
        read = Tally(found["rows"])
        require_read("labels", source.path, Tally(source.rows), read)
        for name, labels in found["labels"].items():
            seen[name] += [one for one in labels if one not in seen[name]]
    ordered = {
        name: distinct(label_array(labels, name)) for name, labels in seen.items()
    }
    if isinstance(pos_label, Spelled):
        text = pos_label.text
        return tuple(_read(mark, ordered[mark.column], text, both) for mark in marks)
    if pos_label is not None:
        union = list(dict.fromkeys(one for some in ordered.values() for one in some))
        classes = [classes_of(union, " and ".join(columns), pos_label, both=both)]
        classes *= len(marks)
    else:
        classes = [classes_of(ordered[name], name, both=both) for name in columns]
    return tuple(
        replace(mark, positive=one.positive, negative=one.negative)
        for mark, one in zip(marks, classes, strict=True)
    )


def _read(mark: Mark, values: list[Any], text: str | None, both: bool) -> Mark:
    """A column whose values are read as the commands read one file."""
    place = f"column {mark.column!r}"
    if any(is_spelled_missing(value) for value in values):
        raise DataError(f"{place} is empty in some rows; {EVERY_ROW}")
    spelled = partial(read_values, values, place, both=both)
    try:
        meant, known = spelled(None if mark.is_decision else text)
    except DataError:
        if text is None or not mark.is_decision:
            raise
        meant, known = spelled(text)
    same = tuple(value for value, one in meant.items() if one == known.positive)
    names = (1, 0) if text is None else (known.positive, known.negative)
    # A day without positives has none of their spellings.
    return replace(
        mark,
        positive=names[0],
        negative=names[1],
        spellings=same or (known.positive,),
    )


@dataclass(frozen=True)
class Pairs(Used):
    """Rows whose value is the pair of their labels: 2·decision + truth."""

    truth: Mark = NO_MARK
    decision: Mark = NO_MARK

    @property
    def columns(self) -> list[str]:
        return [self.truth.column, self.decision.column]

    def values(self, batch: Any, source: Source, first: int) -> Floats:
        truth, decision = self.truth.holds(batch), self.decision.holds(batch)
        return np.asarray(2.0 * decision + truth, dtype=np.float64)

    def in_range(self, values: Floats) -> Floats:
        return values
