"""Rows that `argmetric monitor` reads, and what it keeps with ``--append``.

Rows are read file by file, in blocks of flat memory. The state is one JSON file: the
counts, the options it was begun with, the files that were counted, and a digest of all
that. It is replaced in one step when all new rows are counted, so a run that is killed
has changed nothing.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import argmetric as am
from argmetric._ground import whole_files as whole
from argmetric._ground.arguments import check_bytes
from argmetric._ground.groups import Groups
from argmetric._ground.saving import check_version, parse_json
from argmetric._ground.types import AnyArray
from argmetric._monitor import read_times
from argmetric.cli._command import Arguments
from argmetric.cli._errors import UsageError, with_flags
from argmetric.cli._values import refuse_bad_target
from argmetric.cli.scores import _rows as load
from argmetric.cli.scores._layout import TableRows, way_of
from argmetric.cli.scores._pieces import read_decisions, read_known_labels
from argmetric.scale import files

_NAMED = ("time", "by", "group")
NAME, FORMAT = "argmetric monitor state", 1
_ANEW = "pass another --append file to begin anew"
ZONES = (
    "some times have a time zone and some have none: give all of them a zone, or none"
)


@dataclass
class RowReader:
    """Columns are found in every file, and checked block by block.

    Predicted labels are read if the rows are `labelled`; None: where the first file has
    them. Times are `zoned`, or not; None before the first.
    """

    o: Arguments
    labelled: bool | None
    zoned: bool | None = None
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    columns: dict[str, str] = field(default_factory=dict)  # of classes
    rule: Any = None  # that orders them
    parity: am.ParityRule | None = None  # whose groups are read
    _without_label: files.Table | None = None
    _bad_label: bool = False

    def blocks(self, path: str) -> Iterator[dict[str, Any]]:
        """Yield rows of one file, as `Monitoring.add` takes them."""
        before, o = self.rows, self.o
        for table in self._tables(path):
            self.rows += table.n_rows
            used = {"known": self._found.get("label"), "label": None}
            here = o.but(**{**self._found, **used})
            rows = TableRows(table, way_of(o), None, logits=bool(o.logits), judged=True)
            rows.columns = {} if not o.one_label else self.columns
            rows.read_scores(here.but(known=None), self.rule, "probabilities")
            self.columns = rows.columns
            given = read_decisions(rows, here) if self.labelled else None
            yield {
                "p": rows.p,
                "labels": None if given is None else given[1],
                "known": self._known_labels(rows, here),
                "time": self._times(table),
                "by": self._named_groups(table, "by"),
                "groups": self._named_groups(table, "group"),
            }
        if self.rows == before:
            self.notes.append(f"{path} has no rows")

    def at_once(self, paths: list[str], source: load.Input) -> dict[str, Any]:
        """Return the columns of the rows of all files by name."""
        blocks = [block for path in paths for block in self.blocks(path)]
        self.check()
        if not blocks:
            raise files.DataError(f"{load.shown_input(source)} has no rows")
        found: dict[str, Any] = {}
        for name in ("p", "labels", "known", "time"):
            parts = [one[name] for one in blocks]
            if name == "known" and any(x is not None for x in parts):
                none = [np.full(len(one["p"]), None) for one in blocks]
                parts = [
                    b if a is None else a for a, b in zip(parts, none, strict=True)
                ]
            found[name] = None if parts[0] is None else np.concatenate(parts)
        groups = [one["groups"] for one in blocks]
        if groups[0] is not None:
            found["groups"] = np.concatenate([one.ids[one.codes] for one in groups])
        return found

    def check(self) -> None:
        """Refuse a name of --label that no file has."""
        if self._without_label is not None and "label" not in self.names:
            assert self.o.label is not None
            files.named_column(self._without_label, self.o.label)

    def _tables(self, path: str) -> Iterator[files.Table]:
        """Yield the tables of a file, block by block."""
        how = self.o.only("format", "encoding", "max_line", "decimal")
        if how["format"] is not None or not load.in_pieces(path):
            how["max_line"] = check_bytes(how["max_line"], "--max-line")
            yield from files.read_blocks(path, self._choose, **how)
            return
        import pyarrow as pa

        from argmetric.scale import batches_of, inspect_file

        source = inspect_file(path, os.path.basename(path))
        empty = pa.Table.from_batches([], source.schema)  # empty_table() imports pandas
        chosen = self._choose(files.Table(empty, "parquet", path))
        first = 0
        for batch in batches_of(source, chosen):
            table = pa.Table.from_batches([batch])
            if batch.num_rows:
                yield files.Table(table, "parquet", path, first=first)
            first += batch.num_rows

    def _choose(self, table: files.Table) -> list[str]:
        """Return the columns of a file that are read."""
        o, label = self.o, self.o.label
        named = {k: v for k, v in o.only(*_NAMED).items() if v is not None}
        taken = [*named.values(), *([] if label is None else [label])]
        found, scores = {}, []
        if o.mean is not None:
            found = {"score": files.named_column(table, o.mean)}
        elif o.one_label:
            rows = TableRows(table, "classes", None)
            scores = [*rows.matching_columns(o.scores, "--scores").values()]
            self.names |= {"scores": o.scores}
        else:
            score = load.find_score(table, o.score, logits=o.logits, taken=taken)
            found = {"score": score}
        found |= {role: files.named_column(table, x) for role, x in named.items()}
        taken += [*scores, *found.values()]
        if self.labelled is None:
            usual = files.default_columns(table, files.DECISION_NAMES, taken=taken)
            self.labelled = bool(usual)
        if self.labelled:
            decision = load.find_decisions(table, o.decision_column, taken=taken)
            found["decision_column"] = decision
        if label is None and not self._bad_label:
            taken = [*taken, *found.values()]
            some = files.default_columns(table, files.LABEL_NAMES, taken=taken)
            found |= {"label": some[0]} if len(some) == 1 else {}
        elif label in table.names:
            found["label"] = files.named_column(table, label)
        elif label is not None:  # labels may not have come yet
            self._without_label = table
        load.refuse_shared(**found)
        self.names |= found
        self._found = found
        return [*scores, *found.values()]

    def _named_groups(self, table: files.Table, role: str) -> Groups | None:
        """Return a column of segments or groups, by their names as text."""
        if role not in self._found:
            return None
        codes, ids = files.groups(table, self._found[role])
        if self.parity is not None:
            found = Groups(codes, np.fromiter(ids, dtype=object, count=len(ids)))
            return load.groups_of_rule(table, self.o, found, self.parity)
        return Groups(codes, np.array([str(one) for one in ids], dtype=object))

    def _known_labels(self, rows: TableRows, o: Arguments) -> AnyArray | None:
        """Return labels that have come; None, and a note, if they are unreadable."""
        if self._bad_label:
            return None
        try:
            return read_known_labels(rows, o)
        except files.DataError as error:
            if self.o.label is not None or o.pos_label is not None:
                raise
            self._bad_label = True
            self.notes.append(with_flags(f"labels not used: {error}"))
            return None

    def _times(self, table: files.Table) -> AnyArray | None:
        """Return the time of each row of a block; None without --time."""
        if self.o.time is None:
            return None
        column = table.columns.column(table.names.index(self._found["time"]))
        place = f"{table.source}: column {self.o.time!r}"
        try:
            found, zone = read_times(
                _parse_times(column), table.n_rows, table.first + 1
            )
        except (ValueError, TypeError) as error:
            empty = [one in (None, "") for one in column.to_pylist()]
            files.refuse_rows(table, self._found["time"], np.array(empty), files.EMPTY)
            counted = f"; {files.COUNTED}" * ("at row" in str(error))
            raise files.DataError(f"{place}: {error}{counted}") from None
        if self.zoned not in (None, bool(zone)):
            raise files.DataError(f"{place}: {ZONES}")
        self.zoned = bool(zone)
        self.notes += [one for one in zone if one not in self.notes]
        return found


def with_labels(block: dict[str, Any], place: str) -> dict[str, Any]:
    """Return rows whose labels are known, as `Monitoring.add_labels` takes them."""
    if block["known"] is None:
        raise files.DataError(f"{place} has no column of labels: pass --label")
    rows = ~np.isnan(block["known"])
    some = {"y" if name == "known" else name: x for name, x in block.items()}
    for name, x in some.items():
        if isinstance(x, Groups):
            some[name] = Groups(x.codes[rows], x.ids)
        elif x is not None:
            some[name] = x[rows]
    return some


def _parse_times(column: Any) -> Any:
    """Return a column of ISO text or plain times as times; others as they are."""
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


@dataclass(frozen=True)
class State:
    """Counts of the files so far; options in `asked` must stay the same.

    Each of the files has its path, size, time of change and digest.
    """

    asked: dict[str, Any]
    monitoring: am.Monitoring | None = None
    files: list[list[Any]] = field(default_factory=list)
    zoned: bool | None = None

    @staticmethod
    def check_file(path: str) -> None:
        """Refuse what can keep no state: a folder, a pipe, a device."""
        if os.path.isdir(path) or whole.is_special(path):
            kind = "a folder" if os.path.isdir(path) else "a device or a pipe"
            said = f"--append {path} is {kind}"
            raise UsageError(f"{said}: name a file, which may be new")

    @classmethod
    def load(
        cls, path: str, asked: dict[str, Any], reference: tuple[Any, ...] | None
    ) -> State:
        """Read a state, or begin one; refuse options that differ from its own."""
        asked["--reference"] = reference and _digest_of_rows(reference)
        if not os.path.exists(path):
            refuse_bad_target(path)
            if reference is None:
                raise UsageError("--reference FILE is needed to begin a state")
            return State(asked)
        content = whole.read_whole(path)
        try:
            values = parse_json(content.decode())
            if not isinstance(values, dict) or values.get("file") != NAME:
                raise files.DataError(
                    f"{path} is no state of argmetric monitor: {_ANEW}, or name the "
                    "right one"
                )
            check_version(values.get("format"), FORMAT, path)
            if values.pop("digest", None) != _digest(values):
                raise ValueError("it does not match its digest")
            made = am.Monitoring.from_dict(values["monitoring"])
            begun, read, zoned = (values[k] for k in ("asked", "files", "zoned"))
        except files.DataError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise files.DataError(
                f"{path} is damaged ({error}): restore it, or {_ANEW}, over all files"
            ) from None
        for option, now in asked.items():
            before = begun.get(option)
            if now == before or (option == "--reference" and now is None):
                continue
            if option in ("--reference", "--rule") and None not in (now, before):
                raise files.DataError(
                    f"{path} was begun with another {option}: pass that one, or {_ANEW}"
                )
            both = (f"{x:g}" if isinstance(x, float) else x for x in (before, now))
            was, is_ = (
                "without it" if x is None else f"with {option} {x}" for x in both
            )
            raise files.DataError(
                f"{option}: {path} was begun {was} and not {is_}: pass the same "
                f"options, or {_ANEW}"
            )
        return State({**asked, "--reference": begun["--reference"]}, made, read, zoned)

    def new_files(self, paths: list[str], notes: list[str]) -> list[list[Any]]:
        """Return files that were not counted yet; add notes on those left out.

        A file is known by its path, size and time of change, or by its content.
        """
        by_path = {one[0]: one for one in self.files}
        by_content = {one[3]: one[0] for one in self.files}
        found, n_known = [], 0
        for path in paths:
            full, status = os.path.abspath(path), os.stat(path)
            stamp = [status.st_size, status.st_mtime_ns]
            known = by_path.get(full)
            if known is not None and known[1:3] == stamp:
                n_known += 1
                continue
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if known is not None and known[3] != digest:
                raise files.DataError(
                    f"{path} has changed since its rows were counted, and they cannot "
                    f"be taken out: {_ANEW}, over all files"
                )
            if known is not None:
                n_known += 1
            elif digest in by_content:
                twin = os.path.relpath(by_content[digest])
                notes.append(f"{path} has the content of {twin}, and is left out")
            else:
                found.append([full, *stamp, digest])
                by_content[digest] = full
        if n_known:
            were = "1 file was" if n_known == 1 else f"{n_known:,} files were"
            notes.append(f"{were} counted before and not read again")
        return found

    def save(
        self,
        path: str,
        found: am.Monitoring,
        fresh: list[list[Any]],
        zoned: bool | None,
    ) -> None:
        """Write the state with new files, replacing the file in one step."""
        values = {
            "file": NAME,
            "format": FORMAT,
            "asked": self.asked,
            "files": [*self.files, *fresh],
            "zoned": zoned,
            "monitoring": found.to_dict(),
        }
        text = json.dumps({**values, "digest": _digest(values)}, allow_nan=False)
        with whole.written_whole(path) as file:
            file.write(text.encode())


@contextlib.contextmanager
def only_run(path: str) -> Iterator[None]:
    """Refuse a second run with the same state; remove files of a killed one."""
    folder, name = os.path.split(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise files.DataError(f"cannot write {path}: there is no folder {folder}")
    lock = os.path.join(folder, f".{name}.lock")
    with whole.held_alone(
        lock, f"another run writes to {path}: wait until it has ended"
    ):
        left = os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.tmp")
        for one in glob.glob(left):
            with contextlib.suppress(OSError):
                os.unlink(one)
        yield


def _digest_of_rows(columns: tuple[Any, ...]) -> str:
    """Return a digest of the columns of a reference."""
    found = hashlib.sha256()
    for one in columns:
        as_text = one.dtype.kind == "O"
        found.update(repr(one.tolist()).encode() if as_text else one.tobytes())
    return found.hexdigest()


def _digest(values: dict[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
