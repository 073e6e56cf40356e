"""A scan: the files of a verb and their columns, read in passes over all rows."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from argmetric._ground.arguments import check_jobs, check_label
from argmetric._ground.label_words import (
    EVERY_ROW,
    LabelText,
    is_spelled_missing,
)
from argmetric._ground.labels import classes_of, distinct, label_array
from argmetric._ground.types import Integers
from argmetric._ground.whole_files import remove_folder, removed_at_exit
from argmetric.scale._columns import (
    FileBatch,
    LabelColumn,
    MissingGroups,
    ScoreKind,
    UsedColumns,
    WantedColumns,
    find_columns,
    find_names,
    label_codes,
    read_batches,
)
from argmetric.scale._memory import bucket_count, bucket_rows
from argmetric.scale._sources import (
    InputFile,
    OnError,
    find_files,
    inspect_file,
    is_text,
)
from argmetric.scale._text import copy_text, share_types
from argmetric.scale._verbs import Verbs
from argmetric.scale.files import (
    DataError,
    Table,
    read_blocks,
    read_values,
)

Item = TypeVar("Item")
Part = TypeVar("Part")
MOST_LABELS = 16  # of a column; two are needed, and a few make a good message
PARTS_OF_A_WORKER = 4  # into which the rows of a pass are divided
BATCHES_MERGED = 16  # parts that wait before they are merged


@dataclass(frozen=True, repr=False, eq=False)
class OpenedFiles(Verbs):
    """Files of any size, their columns, and how they are worked on."""

    paths: list[tuple[str, str]]  # of the files, and their names in an output
    # score, label, group, weight, decision_column, scores, missing_groups:
    # the columns, as they were named
    score: str | None
    label: str | None
    group: str | None
    weight: str | None
    decision_column: str | None
    scores: list[str] | None
    missing_groups: MissingGroups
    # on_error, memory, work_dir, n_jobs: how the verbs run
    on_error: OnError
    memory: int
    work_dir: str | None
    n_jobs: int | None
    reading: dict[str, Any] = field(default_factory=dict)  # options of `read_blocks`

    def _subject(self) -> str:
        return f"Files: {len(self.paths):,} file{'s' * (len(self.paths) != 1)}"


@dataclass(frozen=True)
class Scan:
    """Files of a verb, with the columns that it reads of them."""

    sources: list[InputFile]
    columns: UsedColumns
    n_workers: int
    memory: int
    work: str  # a folder for what is in between; empty where nothing is
    skipped: tuple[str, ...] = ()  # files that were left out, with the reason
    divided: tuple[int, int] | None = None  # `division` of the run that goes on

    @cached_property
    def division(self) -> tuple[int, int]:
        """Return the number of buckets of groups, and the most rows of one."""
        if self.divided is not None:
            return self.divided
        most = bucket_rows(self.memory, self.n_workers)
        return bucket_count(self.n, most, self.n_workers), most

    @cached_property
    def n(self) -> int:
        """Return the number of rows."""
        return sum(source.rows for source in self.sources)

    @cached_property
    def starts(self) -> list[int]:
        """Return the number of rows before each file, and last of all files."""
        return [0, *itertools.accumulate(source.rows for source in self.sources)]

    def batches(
        self, part: range | None = None, rows: int | None = None
    ) -> Iterator[FileBatch]:
        """Yield the rows of some files, by number, or of all, in their order."""
        for i in range(len(self.sources)) if part is None else part:
            most = self.columns.batch_rows if rows is None else rows
            yield from read_batches(self.sources[i], self.columns, most, self.starts[i])

    @cached_property
    def parts(self) -> list[range]:
        """Return neighbouring files with about as many rows, one part for each."""
        most = 1 if self.n_workers == 1 else PARTS_OF_A_WORKER * self.n_workers
        ends = np.searchsorted(
            self.starts, self.n * np.arange(1, most) / most, side="right"
        )
        bounds = sorted({0, len(self.sources), *np.minimum(ends, len(self.sources))})
        return [range(a, b) for a, b in itertools.pairwise(map(int, bounds))]

    def map(self, work: Callable[[Item], Part], items: Sequence[Item]) -> list[Part]:
        """Return `work` of each item, in threads, in the order of the items."""
        if self.n_workers == 1 or len(items) < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.n_workers) as pool:
            futures = [pool.submit(work, item) for item in items]
            try:
                return [future.result() for future in futures]
            finally:
                for future in futures:
                    future.cancel()

    def each(self, work: Callable[[Iterator[FileBatch]], Part]) -> list[Part]:
        """Return `work` of the batches of each part, in the order of the parts."""
        return self.map(lambda part: work(self.batches(part)), self.parts)

    def merge_batches(
        self, work: Callable[[FileBatch], Part], merge: Callable[[list[Part]], Part]
    ) -> Part:
        """Return `work` of each batch, merged a few at a time in their order."""

        def of_part(batches: Iterator[FileBatch]) -> Part:
            whole: list[Part] = []
            while some := [*map(work, itertools.islice(batches, BATCHES_MERGED))]:
                whole = [merge([*whole, *some])]
            return whole[0] if whole else merge([])

        parts = self.each(of_part)
        return parts[0] if len(parts) == 1 else merge(parts)

    def rows(
        self,
        chosen: Integers | None,
        values: Callable[[FileBatch], Sequence[Any]],
    ) -> list[Any]:
        """Return columns of some rows, by rising numbers in all files; None takes all.

        `values` gives the columns of a batch.
        """

        def of_batch(batch: FileBatch) -> list[Any]:
            """Return the values of a batch, of the chosen rows alone if any."""
            part: Any = slice(None)
            if chosen is not None:
                ends = np.searchsorted(chosen, [batch.start, batch.start + batch.size])
                part = chosen[slice(*ends)] - batch.start
            return [column[part] for column in values(batch)]

        parts = self.each(lambda batches: list(map(of_batch, batches)))
        columns = zip(*itertools.chain.from_iterable(parts), strict=True)
        return [np.concatenate(one) for one in columns]


@contextlib.contextmanager
def scanning(
    files: OpenedFiles,
    wanted: WantedColumns,
    pos_label: object = None,
    *,
    both: bool = False,
    two_classes: bool = True,
) -> Iterator[Scan]:
    """Yield a scan with its positive labels, whose folder is removed at the end.

    Warn then of files that were left out: the results have no place for them.
    `both` refuses labels of one class; without `two_classes` labels are not read.
    """
    with contextlib.ExitStack() as stack:
        work = ""
        if wanted.group is not None or any(is_text(path) for path, _ in files.paths):
            work = tempfile.mkdtemp(prefix="argmetric-", dir=files.work_dir)
            work = os.path.abspath(work)
            stack.enter_context(removed_at_exit(work))
            stack.callback(remove_folder, work)
        scan = start_scan(files, wanted, work)
        yield with_labels(scan, pos_label, both=both) if two_classes else scan
        for why in scan.skipped:
            warnings.warn(f"left out: {why}", UserWarning, stacklevel=5)


def start_scan(files: OpenedFiles, wanted: WantedColumns, work: str) -> Scan:
    """Return a scan of the files that can be used; the first decides on columns."""
    skipped: list[str] = []
    sources: list[InputFile] = []
    columns = UsedColumns()
    for source in share_types(_inspect_all(files, wanted, work, skipped)):
        with _skipping(files, skipped):
            if not sources:
                columns = find_columns(source, wanted)
            else:
                _refuse_unlike(source, sources[0], wanted, columns)
            if files.on_error == "skip":  # rows that are wrong are met here
                for batch in read_batches(source, columns, columns.batch_rows):
                    _ = batch.values, batch.ids
            sources.append(source)
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"files: two files of the output would be called {twice}")
    if not sources:
        raise DataError(f"files: none can be used; the first: {skipped[0]}")
    if not any(source.rows for source in sources):
        raise DataError("files has no rows")
    how = columns, check_jobs(files.n_jobs), files.memory, work
    return Scan(sources, *how, skipped=tuple(skipped))


@contextlib.contextmanager
def _skipping(files: OpenedFiles, skipped: list[str]) -> Iterator[None]:
    """List a file that cannot be used, unless `on_error` is "stop"."""
    try:
        yield
    except DataError as error:
        if files.on_error == "stop":
            raise
        skipped.append(str(error))


def _inspect_all(
    files: OpenedFiles, wanted: WantedColumns, work: str, skipped: list[str]
) -> list[InputFile]:
    """Return the files that can be read; those of text are copied."""
    sources: list[InputFile] = []
    for i, (path, name) in enumerate(files.paths):
        with _skipping(files, skipped):
            if is_text(path):
                folder = os.path.join(work, "text", f"{i:06d}")
                os.makedirs(folder)
                sources.append(copy_text(path, name, folder, wanted, files.reading))
            else:
                sources.append(inspect_file(path, name))
    return sources


def _refuse_unlike(
    source: InputFile, other: InputFile, wanted: WantedColumns, columns: UsedColumns
) -> None:
    """Refuse a file that has not the columns of the first, in whatever order."""
    if source.schema.equals(other.schema):
        return
    names, known = {*source.schema.names}, {*other.schema.names}
    for lacks, has, more in (
        (source, other, known - names),
        (other, source, names - known),
    ):
        if more:
            raise DataError(
                f"{source.path} has other columns than {other.path}: {lacks.path} has "
                f"no column {min(more)!r}, which {has.path} has"
            )
    its_columns = find_columns(source, wanted)
    if its_columns.score != columns.score:
        raise DataError(
            f"{source.path}: the scores are in column {its_columns.score!r}, and in "
            f"{columns.score!r} of {other.path}"
        )
    if its_columns != columns:
        raise DataError(
            f"{source.path}: column {columns.group!r} holds {its_columns.kind}, and "
            f"{columns.kind} in {other.path}; make them one type first"
        )


# -- labels ---------------------------------------------------------------------------


def _labels_of(
    batches: Iterator[FileBatch], names: tuple[str, ...]
) -> dict[str, list[Any]]:
    """Return the distinct labels of columns of some rows, as they appear."""
    labels: dict[str, list[Any]] = {name: [] for name in names}
    for batch in batches:
        for name, seen in labels.items():
            more, _ = label_codes(batch, name)
            seen += [one for one in dict.fromkeys(more) if one not in seen]
            if len(seen) > MOST_LABELS:
                raise DataError(
                    f"{batch.source.path}: column {name!r} has more than {MOST_LABELS} "
                    "distinct labels: two are needed"
                )
    return labels


def with_labels(scan: Scan, pos_label: object, *, both: bool) -> Scan:
    """Return a scan that knows the positive label of every column, by a pass.

    With `pos_label` it is all columns together that hold two labels; without, each is
    read for itself, as in memory, and so is each where a command spells the label.
    `both` refuses a column with one class.
    """
    check_label(pos_label)
    columns = scan.columns.of_labels
    names = tuple(one.column for one in columns)
    if not names:
        return scan
    of_labels = replace(
        scan,
        columns=UsedColumns(label=scan.columns.label, decision=scan.columns.decision),
    )
    parts = of_labels.each(partial(_labels_of, names=names))
    ordered = {
        name: distinct(label_array([one for part in parts for one in part[name]], name))
        for name in names
    }
    union = list(dict.fromkeys(itertools.chain(*ordered.values())))
    settled = []
    for column in columns:
        name, values = column.column, ordered[column.column]
        if isinstance(pos_label, LabelText):
            settled.append(_spelled_column(column, values, pos_label.text, both))
            continue
        if pos_label is not None:
            name, values = " and ".join(names), union
        one = classes_of(values, name, pos_label, both=both)
        settled.append(replace(column, positive=one.positive, negative=one.negative))
    roles: Any = {"decision" if one.is_decision else "label": one for one in settled}
    return replace(scan, columns=replace(scan.columns, **roles))


def _spelled_column(
    column: LabelColumn, values: list[Any], text: str | None, both: bool
) -> LabelColumn:
    """Return a column whose values are read as the commands read one file."""
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
    spelled_so = same or (known.positive,)
    return replace(column, positive=names[0], negative=names[1], spellings=spelled_so)


def columns_of(
    files: Any, names: dict[Any, str | None], reading: dict[str, Any], *, logits: bool
) -> dict[str, str]:
    """Return names of columns in the first file: as given, else those usually there.

    `names` are by role, of which that of decisions may have no column, and `reading`
    options of `read_blocks`. A file that cannot be read is passed over: the verb says
    what becomes of it.
    """
    scores: ScoreKind = "finite" if logits else "probabilities"
    wanted = WantedColumns(names, scores=scores, may_decide=True)
    *others, (last, _) = find_files(files)
    for path, _ in others:
        with contextlib.suppress(DataError):
            table = _names_in(path, reading)
            break
    else:
        table = _names_in(last, reading)
    return find_names(table, wanted)


def _names_in(path: str, reading: dict[str, Any]) -> Table:
    """Return a table with the columns of a file, with or without rows."""
    if not is_text(path):
        schema = inspect_file(path, "").schema
        return Table(schema.empty_table(), "parquet", path)
    tables: list[Table] = []

    def choose(table: Table) -> list[str]:
        tables.append(table)
        return table.names

    next(read_blocks(path, choose, **reading), None)
    return tables[0]
