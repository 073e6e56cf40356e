"""A run: stages of tasks over files and over buckets, each held to the rows read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from argmetric._ground.types import Integers
from argmetric.scale._columns import FileBatch, UsedColumns
from argmetric.scale._executors import Executor, bucket_rows, n_buckets
from argmetric.scale._pieces import (
    Bucket,
    Piece,
    PieceReader,
    partition,
    parts_of,
    read_bucket,
    split,
)
from argmetric.scale._sources import InputFile, OnError
from argmetric.scale._tasks import (
    Found,
    PieceTask,
    Places,
    Progress,
    Refused,
    Tally,
    require_all,
    require_read,
    require_same,
    run_stage,
)
from argmetric.scale.files import DataError

PieceTuple = tuple[Piece, ...]
Part = TypeVar("Part")
WAITING_CELLS = 1 << 16  # at least, of parts, before they become one


class Gathered(Generic[Part]):
    """Parts that are merged in their order, whenever as many wait as were merged.

    So each is merged a few times, and those that wait take no more than the rest.
    """

    def __init__(
        self, merge: Callable[[list[Part]], Part], size: Callable[[Part], int]
    ) -> None:
        self.merge, self.size = merge, size
        self.parts: list[Part] = []
        self.waiting, self.most = 0, WAITING_CELLS

    def add(self, part: Part) -> None:
        self.parts.append(part)
        self.waiting += 1 + self.size(part)
        if self.waiting > self.most:
            self.parts = [self.merge(self.parts)]
            self.waiting = 0
            self.most = max(WAITING_CELLS, self.size(self.parts[0]))

    def whole(self) -> Part:
        return self.parts[0] if len(self.parts) == 1 else self.merge(self.parts)


def task_of(
    work: Callable[[Piece], Found], piece: Piece, folder: str = ""
) -> PieceTask:
    """Work on one piece; what it finds is kept in a folder, where there is one."""
    kept = os.path.join(folder, f"file-{piece.file:06d}.json") if folder else ""
    return PieceTask(work, piece, kept, piece.rows)


def pick_rows(
    reader: PieceReader,
    chosen: Integers | None,
    values: Callable[[FileBatch], Sequence[Any]],
) -> Found:
    """Columns of some rows of a file, given by rising numbers; None takes all."""
    parts = []
    for batch in reader:
        part: Any = slice(None)
        if chosen is not None:
            first = int(batch.rows[0]) if batch.rows.size else 0
            ends = np.searchsorted(chosen, [first, first + batch.rows.size])
            part = chosen[slice(*ends)] - first
        parts.append([column[part] for column in values(batch)])
    return {"columns": [np.concatenate(one) for one in zip(*parts, strict=True)]}


def read_file(
    piece: Piece, columns: UsedColumns, work: Callable[[PieceReader], Found]
) -> Found:
    """What some work finds in a piece, and how many rows it has read."""
    reader = PieceReader(piece, columns)
    return {**work(reader), **vars(reader.read)}


def read_whole(
    pieces: PieceTuple, columns: UsedColumns, work: Callable[[Bucket], Found]
) -> Found:
    """What some work finds in a bucket, and which rows of which file it has."""
    bucket = read_bucket(pieces, columns)
    return {**counted(pieces, bucket.tallies), **work(bucket)}


def counted(pieces: PieceTuple, tallies: Sequence[Tally]) -> Found:
    """Which rows of which file a bucket has, in the order of its labels."""
    return {
        "files": [piece.file for piece in pieces],
        "rows": [one.rows for one in tallies],
        "checksums": [one.checksum for one in tallies],
    }


@dataclass
class Run:
    """What stages need, and what they leave for the next ones."""

    executor: Executor
    n_workers: int
    memory: int
    places: Places
    report: Callable[[Progress], None] | None
    on_error: OnError
    sources: dict[int, InputFile] = field(default_factory=dict)  # the files, by number
    columns: UsedColumns = field(default_factory=UsedColumns)  # what is read of them
    # what went in, by the number of the file
    tallies: dict[int, Tally] = field(default_factory=dict)
    # files that were left out, with the reason
    skipped: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return sum(source.rows for source in self.sources.values())

    @property
    def task_memory(self) -> int:
        return max(1, self.memory // self.n_workers)

    @property
    def rows_read(self) -> int:
        """Rows of all files, as they were read last."""
        return sum(one.rows for one in self.tallies.values())

    def stage(
        self,
        name: str,
        tasks: Sequence[PieceTask],
        take: Callable[[Found], Found] = lambda found: found,
    ) -> list[Found]:
        """Results of tasks, none of which may be refused; see `run_stage`."""
        parts = (one.item for one in tasks)
        pieces = (one if isinstance(one, tuple) else (one,) for one in parts)
        reads_input = any(piece.source for own in pieces for piece in own)
        unread = ""
        if self.on_error == "skip" and reads_input:
            unread = (
                "; without groups only files that cannot be opened, or have other "
                "columns, are skipped: leave this one out yourself"
            )

        def refuse(why: str) -> None:
            raise DataError(f"{why}{unread}")

        found = run_stage(name, self.executor, tasks, self.report, refuse, take)
        return [one for one in found if not isinstance(one, Refused)]

    def skip(self, why: str) -> None:
        """Leave a file out, if that is wanted."""
        if self.on_error == "stop":
            raise DataError(why)
        self.skipped.append(why)

    def tell_skipped(self) -> None:
        """Warn of every file that was left out, where a result has no place for it."""
        for why in self.skipped:
            warnings.warn(f"left out: {why}", UserWarning, stacklevel=3)

    @property
    def whole_files(self) -> PieceTuple:
        return tuple(
            Piece(i, source, rows=source.rows) for i, source in self.sources.items()
        )

    def partition(self, buckets: int) -> list[PieceTuple]:
        """Stage 1; buckets as pieces, without files that cannot be read."""
        if buckets == 1 and not (self.columns.group and self.on_error == "skip"):
            return [self.whole_files]
        folder = self.places.made("pieces")
        paths, tasks = [], []
        for piece in self.whole_files:
            paths.append(os.path.join(folder, f"file-{piece.file:06d}.arrow"))
            work = partial(
                partition,
                columns=self.columns,
                path=paths[-1],
                buckets=buckets,
                memory=self.task_memory // 2,
            )
            tasks.append(task_of(work, piece, folder))
        parts: list[list[Piece]] = [[] for _ in range(buckets)]
        results = run_stage("partition", self.executor, tasks, self.report, self.skip)
        for task, path, found in zip(tasks, paths, results, strict=True):
            i = task.item.file
            if isinstance(found, Refused):
                del self.sources[i]
                continue
            self.tallies[i] = Tally(found["rows"], found["checksum"])
            rows = Tally(task.rows, found["checksum"])
            require_same("partition", task.item.path, rows, self.tallies[i])
            for b, size in enumerate(found["buckets"]):
                if size:
                    batches = range(b, buckets * found["chunks"], buckets)
                    parts[b].append(Piece(i, None, path, batches, size))
        return [tuple(part) for part in parts if part]

    def split(
        self, buckets: list[PieceTuple], most_rows: int
    ) -> tuple[list[PieceTuple], list[PieceTuple]]:
        """Buckets of which none is too large, and groups that are, each by itself."""
        folder = self.places.made("parts")
        small, places, tasks = [], [], []
        for b, pieces in enumerate(buckets):
            rows = n_rows(pieces)
            if rows <= most_rows:
                small.append(pieces)
                continue
            places.append(os.path.join(folder, f"bucket-{b:06d}"))
            work = partial(
                split,
                kind=self.columns.kind,
                most_rows=most_rows,
                folder=places[-1],
                memory=self.task_memory // 2,
            )
            tasks.append(PieceTask(work, pieces, f"{places[-1]}.json", rows))
        large = []
        results = self.stage("split", tasks) if tasks else []
        for task, place, found in zip(tasks, places, results, strict=True):
            parts = parts_of(task.item, place, found)
            large += parts[: found["large"]]
            small += [part for part in parts[found["large"] :] if part]
        return small, large

    def whole_groups(self) -> list[PieceTuple]:
        """Buckets of whole groups that fit in memory."""
        most = bucket_rows(self.memory, self.n_workers)
        pieces = self.partition(n_buckets(self.n, most, self.n_workers))
        small, large = self.split(pieces, most)
        return small + large

    def over_files(
        self,
        stage: str,
        work: Callable[..., Found],
        words: Sequence[dict[str, Any]] | None = None,
        take: Callable[[Found], Found] = lambda found: found,
    ) -> list[Found]:
        """What some work finds in every file; all rows are read, as in any look before.

        The work is called with a `Reader` and the words that a file has for it.
        """
        tasks = []
        for i, piece in enumerate(self.whole_files):
            own = work if words is None else partial(work, **words[i])
            read = partial(read_file, columns=self.columns, work=own)
            tasks.append(task_of(read, piece))
        results = self.stage(stage, tasks, take)
        for task, found in zip(tasks, results, strict=True):
            after = Tally(found["rows"], found["checksum"])
            before = self.tallies.get(task.item.file, Tally(task.rows, after.checksum))
            require_read(stage, task.item.path, before, after)
            self.tallies[task.item.file] = after
        return results

    def picked(
        self,
        stage: str,
        chosen: Integers | None,
        values: Callable[[FileBatch], Sequence[Any]],
    ) -> list[Any]:
        """Columns of some rows of all files, by rising numbers; None takes all."""
        words: list[dict[str, Any]] = []
        first = 0
        for source in self.sources.values():
            some = None
            if chosen is not None:
                part = slice(*np.searchsorted(chosen, [first, first + source.rows]))
                some = chosen[part] - first
            words.append({"chosen": some})
            first += source.rows
        results = self.over_files(stage, partial(pick_rows, values=values), words)
        parts = [found["columns"] for found in results if found["columns"]]
        columns = [np.concatenate(one) for one in zip(*parts, strict=True)]
        n_rows = self.n if chosen is None else chosen.size
        require_all(stage, n_rows, len(columns[0]) if columns else 0)
        return columns

    def rewritten(
        self,
        stage: str,
        folder: str,
        work: Callable[..., Found],
        words: Callable[[int], dict[str, Any]] = lambda file: {},
        take: Callable[[Found], Found] = lambda found: found,
    ) -> list[Found]:
        """What some work finds in every file while it writes that of the output.

        The work is called with the piece, `target`, `memory`, and the words for the
        number of the file.
        """
        folder, tasks = self.places.made(folder), []
        for piece in self.whole_files:
            assert piece.source is not None
            target = os.path.join(self.places.fresh, piece.source.name)
            # by tasks folders would outlive a clean-up
            os.makedirs(os.path.dirname(target), exist_ok=True)
            own = partial(work, target=target, memory=self.task_memory)
            tasks.append(task_of(partial(own, **words(piece.file)), piece, folder))
        return self.stage(stage, tasks, take)

    def over_buckets(
        self, stage: str, buckets: Sequence[PieceTuple], work: Callable[[Bucket], Found]
    ) -> list[Found]:
        """What some work finds in buckets that together have all rows."""
        read = partial(read_whole, columns=self.columns, work=work)
        tasks = [PieceTask(read, pieces, "", n_rows(pieces)) for pieces in buckets]
        return self.all_rows(stage, tasks)

    def all_rows(self, stage: str, tasks: Sequence[PieceTask]) -> list[Found]:
        """Results of buckets, which together have all rows that were partitioned."""
        after = dict.fromkeys(self.sources, Tally())
        results = self.stage(stage, tasks)
        for task, found in zip(tasks, results, strict=True):
            if found["files"] != [piece.file for piece in task.item]:
                raise DataError(
                    f"{stage}: {task.kept} was made with other files; begin again "
                    "without resume"
                )
            lists = (found["files"], found["rows"], found["checksums"])
            for i, rows, checksum in zip(*lists, strict=True):
                after[i] += Tally(rows, checksum)
        for i, source in self.sources.items():
            before = self.tallies.get(i, Tally(source.rows, after[i].checksum))
            require_same(stage, source.path, before, after[i])
            self.tallies[i] = after[i]
        return results


def n_rows(pieces: PieceTuple) -> int:
    return sum(piece.rows for piece in pieces)
