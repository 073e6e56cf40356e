"""How a verb begins: its files, their columns, and which label is positive."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground.arguments import check_label
from argmetric._ground.label_words import (
    EVERY_ROW,
    LabelText,
    is_spelled_missing,
    no_label,
)
from argmetric._ground.labels import (
    classes_of,
    distinct,
    label_array,
    missing_labels,
    plain_label,
)
from argmetric._ground.whole_files import remove_folder, removed_at_exit
from argmetric.scale._columns import (
    LabelColumn,
    UsedColumns,
    WantedColumns,
    find_columns,
    plain_labels,
)
from argmetric.scale._executors import as_executor
from argmetric.scale._pieces import Piece
from argmetric.scale._run import Run, task_of
from argmetric.scale._sources import InputFile, batches_of, find_files, look
from argmetric.scale._tasks import Found, Places, Refused, Tally, require_read
from argmetric.scale.files import DataError, Table, find_column, read_values

if TYPE_CHECKING:
    from argmetric.scale._open import Files

MOST_LABELS = 16  # of a file; two are needed, and a few make a good message
FILES_OF_A_LOOK = 64
HELD_SHARE = 8  # part of the memory for rows of tiny files
HELD_COLUMN_BYTES = 600  # of a column, besides its values


@contextlib.contextmanager
def running(files: Files, places: Places) -> Iterator[Run]:
    """A run with an executor; one that it has made itself ends with the block."""
    tasks = as_executor(files.executor, files.n_jobs)
    workers = getattr(tasks, "n_workers", getattr(tasks, "_max_workers", 1))
    n_workers = max(1, int(workers))
    how = files.progress, files.on_error
    try:
        yield Run(tasks, n_workers, files.memory, places, *how)
    finally:
        if tasks is not files.executor and hasattr(tasks, "close"):
            tasks.close()


@contextlib.contextmanager
def reading(
    files: Files,
    wanted: WantedColumns,
    pos_label: Any = None,
    *,
    both: bool = False,
    moves_rows: bool = False,
    two_classes: bool = True,
) -> Iterator[Run]:
    """A run with its columns and positive labels, which leaves nothing behind.

    `both` refuses labels of one class, `moves_rows` makes a folder for pieces, and
    without `two_classes` labels are not looked at.
    """
    with contextlib.ExitStack() as stack:
        work = ""
        if moves_rows:
            made = tempfile.mkdtemp(prefix="argmetric-", dir=files.work_dir)
            work = os.path.abspath(made)
            stack.enter_context(removed_at_exit(work))
            stack.callback(remove_folder, work)
        run = stack.enter_context(running(files, Places("", "", work)))
        look_at(run, files.found, wanted)
        if two_classes:
            settle_labels(run, pos_label, both=both)
        yield run


def look_at(run: Run, files: list[Any], wanted: WantedColumns) -> None:
    """Stage 0: tell a run its files, by number, and the columns to use.

    Files must agree on the columns; the first decides.
    """
    sources: dict[int, InputFile] = {}
    first: tuple[InputFile, Any, UsedColumns] | None = None
    room = run.memory // HELD_SHARE
    parts = [
        files[i : i + FILES_OF_A_LOOK] for i in range(0, len(files), FILES_OF_A_LOOK)
    ]
    looks = itertools.chain.from_iterable(run.executor.map(_looked, parts))
    for i, found in enumerate(looks):
        try:
            if isinstance(found, Refused):
                raise DataError(found.why)
            source, schema = found
            if first is None:
                first = source, schema, find_columns(source, schema, wanted)
            elif (
                not schema.equals(first[1])
                or source.keys.keys() != first[0].keys.keys()
            ):
                _refuse_unlike(source, schema, wanted, first)
        except DataError as error:
            run.skip(str(error))
            continue
        if source.held is not None:
            room -= source.held.nbytes + HELD_COLUMN_BYTES * len(schema)
            source = source if room >= 0 else replace(source, held=None)
        sources[i] = source
    names = [source.name for source in sources.values()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"files: two files of the output would be called {twice}")
    if first is None:
        raise DataError(f"files: none can be used; the first: {run.skipped[0]}")
    if sum(source.rows for source in sources.values()) == 0:
        raise DataError("files has no rows")
    run.sources, run.columns = sources, first[2]


def _refuse_unlike(
    source: InputFile, schema: Any, wanted: WantedColumns, first: Any
) -> None:
    """Refuse a file that has not the columns of the first, in whatever order."""
    other, its_schema, its_columns = first
    names, known = {*schema.names, *source.keys}, {*its_schema.names, *other.keys}
    for lacks, has, more in (
        (source, other, known - names),
        (other, source, names - known),
    ):
        if more:
            raise DataError(
                f"{source.path} has other columns than {other.path}: {lacks.path} has "
                f"no column {min(more)!r}, which {has.path} has"
            )
    columns = find_columns(source, schema, wanted)
    if columns.score != its_columns.score:
        raise DataError(
            f"{source.path}: the scores are in column {columns.score!r}, and in "
            f"{its_columns.score!r} of {other.path}"
        )
    if columns != its_columns:
        raise DataError(
            f"{source.path}: column {columns.group!r} holds {columns.kind}, and "
            f"{its_columns.kind} in {other.path}; make them one type first"
        )


def _looked(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        try:
            found.append(look(item))
        except DataError as error:
            found.append(Refused(str(error)))
    return found


def find_labels(piece: Piece, names: tuple[str, ...]) -> Found:
    """Distinct labels of the columns of a file, as they appear."""
    source = piece.source
    assert source is not None
    found: dict[str, list[Any]] = {name: [] for name in names}
    first = 0
    for batch in batches_of(source, list(names)):
        for name, seen in found.items():
            column = batch.column(name)
            labels = label_array(plain_labels(column.unique()), name)
            if missing_labels(labels).any():
                gaps = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                where = f"row {first + int(np.argmax(gaps))}"
                raise DataError(f"{source.path}: {no_label(name, where)}")
            plain = dict.fromkeys(map(plain_label, labels.tolist()))
            seen += [one for one in plain if one not in seen]
            if len(seen) > MOST_LABELS:
                raise DataError(
                    f"{source.path}: column {name!r} has more than {MOST_LABELS} "
                    "distinct labels: two are needed"
                )
        first += batch.num_rows
    return {"rows": first, "labels": found}


def settle_labels(run: Run, pos_label: Any, *, both: bool) -> None:
    """Find the positive label of every column, by a look at all of them.

    With `pos_label` it is all columns together that hold two labels; without, each is
    read for itself, as in memory, and so is each where a command spells the label.
    `both` refuses a column with one class.
    """
    check_label(pos_label)
    columns = run.columns.of_labels
    names = tuple(one.column for one in columns)
    if not names:
        return
    seen: dict[str, list[Any]] = {name: [] for name in names}
    find = partial(find_labels, names=names)
    tasks = [task_of(find, piece) for piece in run.whole_files]
    results = run.stage("labels", tasks)
    for source, found in zip(run.sources.values(), results, strict=True):
        read = Tally(found["rows"])
        require_read("labels", source.path, Tally(source.rows), read)
        for name, labels in found["labels"].items():
            seen[name] += [one for one in labels if one not in seen[name]]
    ordered = {
        name: distinct(label_array(labels, name)) for name, labels in seen.items()
    }
    if isinstance(pos_label, LabelText):
        text = pos_label.text
        settled = [_read(one, ordered[one.column], text, both) for one in columns]
    else:
        if pos_label is not None:
            union = list(dict.fromkeys(itertools.chain(*ordered.values())))
            classes = [classes_of(union, " and ".join(names), pos_label, both=both)]
            classes *= len(names)
        else:
            classes = [classes_of(ordered[name], name, both=both) for name in names]
        settled = [
            replace(column, positive=one.positive, negative=one.negative)
            for column, one in zip(columns, classes, strict=True)
        ]
    truth = [one for one in settled if not one.is_decision]
    decision = [one for one in settled if one.is_decision]
    run.columns = replace(
        run.columns,
        label=truth[0] if truth else None,
        decision=decision[0] if decision else None,
    )


def _read(
    column: LabelColumn, values: list[Any], text: str | None, both: bool
) -> LabelColumn:
    """A column whose values are read as the commands read one file."""
    place = f"column {column.column!r}"
    if any(is_spelled_missing(value) for value in values):
        raise DataError(f"{place} is empty in some rows; {EVERY_ROW}")
    spelled = partial(read_values, values, place, both=both)
    try:
        meant, known = spelled(None if column.is_decision else text)
    except DataError:
        if text is None or not column.is_decision:
            raise
        meant, known = spelled(text)
    same = tuple(value for value, one in meant.items() if one == known.positive)
    names = (1, 0) if text is None else (known.positive, known.negative)
    # A day without positives has none of their spellings.
    return replace(
        column,
        positive=names[0],
        negative=names[1],
        spellings=same or (known.positive,),
    )


def columns_of(files: Any, **wanted: tuple[str | None, tuple[str, ...]]) -> list[str]:
    """Names of columns in the first file: as given, else one of the default names.

    One that cannot be read is passed over: the verb says what becomes of it.
    """
    items = find_files(files)
    while True:
        try:
            source, schema = look(items[0])
            break
        except DataError:
            items = items[1:]
            if not items:
                raise
    table = Table(schema.empty_table(), "parquet", source.path)
    found: list[str] = []
    for role, (name, defaults) in wanted.items():
        known: Any = role
        what = role.removesuffix("_column")
        column = find_column(table, name, defaults, what=what, role=known, taken=found)
        found.append(column)
    return found
