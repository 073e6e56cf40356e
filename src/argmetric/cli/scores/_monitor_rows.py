"""Rows that `argmetric monitor` reads: file by file, in blocks of flat memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from argmetric import _files as files
from argmetric._input.groups import Groups
from argmetric._input.types import AnyArray, Floats
from argmetric._monitor import read_times
from argmetric.cli._command import Given
from argmetric.cli._errors import with_flags
from argmetric.cli.scores._load import find, refuse_shared
from argmetric.cli.scores._rows import Input, in_pieces, listed

ZONES = (
    "some times have a time zone and some have none: give all of them a zone, or none"
)


@dataclass(frozen=True)
class RowBlock:
    """Some rows: scores, and what else is read of them."""

    p: Floats
    labels: AnyArray | None
    known: Floats | None
    time: AnyArray | None
    by: Groups | None
    groups: Groups | None

    @property
    def added(self) -> dict[str, Any]:
        """As `Monitoring.add` takes them, beside the scores."""
        return {
            "labels": self.labels,
            "known": self.known,
            "time": self.time,
            "by": self.by,
            "groups": self.groups,
        }

    def with_labels(self, place: str) -> RowBlock:
        """The rows whose labels are known."""
        if self.known is None:
            raise files.DataError(f"{place} has no column of labels: pass --label")
        rows = ~np.isnan(self.known)
        by, groups = (
            None if one is None else Groups(one.codes[rows], one.ids)
            for one in (self.by, self.groups)
        )
        return RowBlock(
            self.p[rows],
            None if self.labels is None else self.labels[rows],
            self.known[rows],
            None if self.time is None else self.time[rows],
            by,
            groups,
        )


@dataclass
class RowReader:
    """Columns are found in every file, and checked block by block.

    Attributes
    ----------
    o : Given
        The options.
    labelled : bool or None
        Whether predicted labels are read; None: where the first file has them.
    names : dict of str to str
        The columns that were used.
    zoned : bool or None
        Whether times have a zone; None before the first.
    notes : list of str
        What the reader should know.
    rows : int
        Rows that were read.
    """

    o: Given
    labelled: bool | None
    zoned: bool | None = None
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    _without_label: files.Table | None = None
    _bad_label: bool = False

    def blocks(self, path: str) -> Iterator[RowBlock]:
        """Rows of one file."""
        found = False
        for table in self._tables(path):
            found = True
            self.rows += table.n_rows
            yield self._block(table)
        if not found:
            self.notes.append(f"{path} has no rows")

    def check(self) -> None:
        """Refuse a name of --label that no file has."""
        if self._without_label is not None and "label" not in self.names:
            assert self.o.label is not None
            files.named_column(self._without_label, self.o.label)

    def _tables(self, path: str) -> Iterator[files.Table]:
        how = self.o.only("format", "encoding", "max_line", "decimal")
        if how["format"] is not None or not in_pieces(path):
            from argmetric._input.arguments import check_bytes

            how["max_line"] = check_bytes(how["max_line"], "--max-line")
            yield from files.read_blocks(path, self._choose, **how)
            return
        import pyarrow as pa

        from argmetric.scale import batches_of, look

        source, schema = look((path, os.path.basename(path)))
        empty = pa.Table.from_batches([], schema)  # empty_table() imports pandas
        chosen = self._choose(files.Table(empty, "parquet", path))
        first = 0
        for batch in batches_of(source, chosen):
            table = pa.Table.from_batches([batch])
            if batch.num_rows:
                yield files.Table(table, "parquet", path, first=first)
            first += batch.num_rows

    def _choose(self, table: files.Table) -> list[str]:
        """The columns of a file that are read."""
        label = self.o.label
        named = {"time": self.o.time, "by": self.o.by, "group": self.o.group}
        taken = [one for one in (*named.values(), label) if one is not None]
        score = find(
            table, self.o.score, what="score", logits=self.o.logits, taken=taken
        )
        found = {"score": score}
        for role, name in named.items():
            if name is not None:
                found[role] = files.named_column(table, name)
        taken = [*taken, found["score"]]
        if self.labelled is None:
            self.labelled = bool(
                files.default_columns(table, files.DECISION_NAMES, taken=taken)
            )
        if self.labelled:
            found["decision_column"] = files.find_column(
                table,
                self.o.decision_column,
                files.DECISION_NAMES,
                what="decision",
                role="decision_column",
                taken=taken,
            )
        if label is None and not self._bad_label:
            taken = [*taken, *found.values()]
            some = files.default_columns(table, files.LABEL_NAMES, taken=taken)
            found |= {"label": some[0]} if len(some) == 1 else {}
        elif label in table.names:
            found["label"] = files.named_column(table, label)
        elif label is not None:  # labels may not have come yet
            self._without_label = table
        refuse_shared(**found)
        self.names = {**self.names, **found}
        self._found = found
        return list(found.values())

    def _block(self, table: files.Table) -> RowBlock:
        names = self._found
        return RowBlock(
            files.probabilities(table, names["score"], logits=self.o.logits),
            self._decisions(table),
            self._known(table),
            self._times(table),
            self._named_groups(table, "by"),
            self._named_groups(table, "group"),
        )

    def _named_groups(self, table: files.Table, role: str) -> Groups | None:
        """A column of segments or groups, by their names as text."""
        if role not in self._found:
            return None
        codes, ids = files.groups(table, self._found[role])
        texts = np.empty(len(ids), dtype=object)
        texts[:] = [str(one) for one in ids]
        return Groups(codes, texts)

    def _decisions(self, table: files.Table) -> AnyArray | None:
        if not self.labelled:
            return None
        name = self._found["decision_column"]
        try:
            return files.labels(table, name)
        except files.DataError:
            if self.o.pos_label is None:
                raise
            return files.labels(table, name, pos_label=self.o.pos_label)

    def _known(self, table: files.Table) -> Floats | None:
        name = self._found.get("label")
        if name is None or self._bad_label:
            return None
        pos_label = self.o.pos_label
        try:
            return files.labels(table, name, pos_label=pos_label, missing=True)
        except files.DataError as error:
            if self.o.label is not None or pos_label is not None:
                raise
            self._bad_label = True
            self.notes.append(with_flags(f"labels not used: {error}"))
            return None

    def _times(self, table: files.Table) -> AnyArray | None:
        if self.o.time is None:
            return None
        column = table.columns.column(table.names.index(self._found["time"]))
        place = f"{table.source}: column {self.o.time!r}"
        try:
            found, zone = read_times(_parsed(column), table.n_rows, table.first + 1)
        except (ValueError, TypeError) as error:
            raise files.DataError(f"{place}: {error}") from None
        zoned = bool(zone)
        if self.zoned is not None and zoned != self.zoned:
            raise files.DataError(f"{place}: {ZONES}")
        self.zoned = zoned
        self.notes += [one for one in zone if one not in self.notes]
        return found


def _parsed(column: Any) -> Any:
    """A column of ISO text or plain times as times, at once; others as they are."""
    import pyarrow as pa

    plain = [pa.timestamp(unit) for unit in ("s", "ms", "us")]
    if column.type in plain and not column.null_count:
        # By way of numbers: pyarrow imports pandas to turn times into an array.
        numbers = column.cast(pa.timestamp("us")).cast(pa.int64())
        return files.to_numpy(numbers, np.int64).view("datetime64[us]")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    import pyarrow.compute as pc

    for zone in (None, "UTC"):
        with contextlib.suppress(pa.ArrowInvalid):
            trimmed = pc.utf8_trim_whitespace(column)
            return trimmed.cast(pa.timestamp("us", zone))
    return column  # `read_times` says which row is wrong


def files_of(source: Input) -> list[str]:
    """All files of an input, folders and addresses included, in order."""
    found: list[str] = []
    for path in listed(source):
        if os.path.isdir(path) or "://" in path:
            from argmetric.scale import find_files

            found += [one for one, _ in find_files(path)]
        else:
            found.append(path)
    return found
