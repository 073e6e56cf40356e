"""A run: stages of tasks over files and over buckets, each held to the rows read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from argmetric._files import DataError
from argmetric.scale._columns import UsedColumns
from argmetric.scale._executors import Executor
from argmetric.scale._folders import Places
from argmetric.scale._memory import bucket_rows, n_buckets
from argmetric.scale._pieces import (
    Bucket,
    Piece,
    PieceReader,
    partition,
    parts_of,
    read_bucket,
    split,
)
from argmetric.scale._sources import OnError, Source
from argmetric.scale._tasks import (
    Found,
    PieceTask,
    Progress,
    Refused,
    Tally,
    accepted,
    refuse,
    require_read,
    require_same,
    run_stage,
)

PieceTuple = tuple[Piece, ...]
Report = Callable[[Progress], None] | None


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
    report: Report
    on_error: OnError
    sources: dict[int, Source] = field(default_factory=dict)  # the files, by number
    columns: UsedColumns = field(default_factory=UsedColumns)  # what is read of them
    # what went in, by the number of the file
    tallies: dict[int, Tally] = field(default_factory=dict)
    # files that were left out, with the reason
    skipped: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Rows of all files, as their ends say."""
        return sum(source.rows for source in self.sources.values())

    @property
    def task_memory(self) -> int:
        """What one task may take."""
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
        whole = self.on_error == "skip" and any(_reads_input(one) for one in tasks)
        told = _refuse_unread if whole else refuse
        found = run_stage(name, self.executor, tasks, self.report, told, take)
        return accepted(found)

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
        """Every file as one piece."""
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
            place = os.path.join(folder, f"file-{piece.file:06d}")
            paths.append(f"{place}.arrow")
            work = partial(
                partition,
                columns=self.columns,
                path=paths[-1],
                buckets=buckets,
                memory=self.task_memory // 2,
            )
            tasks.append(PieceTask(work, piece, f"{place}.json", piece.rows))
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
            tasks.append(PieceTask(read, piece, "", piece.rows))
        results = self.stage(stage, tasks, take)
        for task, found in zip(tasks, results, strict=True):
            after = Tally(found["rows"], found["checksum"])
            before = self.tallies.get(task.item.file, Tally(task.rows, after.checksum))
            require_read(stage, task.item.path, before, after)
            self.tallies[task.item.file] = after
        return results

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
    """Rows of all pieces."""
    return sum(piece.rows for piece in pieces)


def _reads_input(task: PieceTask) -> bool:
    """Whether it reads a file of the input, and not pieces that were checked."""
    parts = task.item if isinstance(task.item, tuple) else (task.item,)
    return any(piece.source is not None for piece in parts)


def _refuse_unread(why: str) -> None:
    """End the run over a value in a file that was not left out at the beginning."""
    refuse(
        f"{why}; without groups only files that cannot be opened, or have other "
        "columns, are skipped: leave this one out yourself"
    )
