"""A run: files are looked at, partitioned, decided and written again."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from argmetric._files import DataError
from argmetric.scale._append import AppendTask, Decided, append
from argmetric.scale._buckets import (
    Asked,
    BucketTask,
    CutTask,
    cut_bucket,
    decide_bucket,
)
from argmetric.scale._columns import Used
from argmetric.scale._conservation import Tally, require_read, require_same
from argmetric.scale._executors import Executor
from argmetric.scale._folders import Places
from argmetric.scale._partition import PartitionTask, partition
from argmetric.scale._pieces import Piece
from argmetric.scale._sources import OnError, Source, look
from argmetric.scale._split import SplitTask, parts_of, split
from argmetric.scale._tasks import (
    Found,
    Progress,
    Refused,
    Task,
    accepted,
    refuse,
    run_stage,
)
from argmetric.scale._vector import VectorCut, VectorFound

FILES_OF_A_LOOK = 64
HELD_SHARE = 8  # part of the memory for rows of tiny files
HELD_COLUMN_BYTES = 600  # of a column, besides its values

Report = Callable[[Progress], None] | None


@dataclass
class Run:
    """What stages need, and what they leave for the next ones.

    Attributes
    ----------
    tallies : dict of int to Tally
        What went in, by the number of the file.
    skipped : list of str
        Files that were left out, with the reason.
    """

    executor: Executor
    n_workers: int
    memory: int
    places: Places
    report: Report
    on_error: OnError
    tallies: dict[int, Tally] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

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
        tasks: Sequence[Task],
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

    def partition(
        self, sources: dict[int, Source], used: Used, buckets: int
    ) -> list[tuple[Piece, ...]]:
        """Stage 1; buckets as pieces, without files that cannot be read."""
        if buckets == 1 and not (used.group and self.on_error == "skip"):
            whole = tuple(
                Piece(i, source=one, rows=one.rows) for i, one in sources.items()
            )
            return [whole]
        folder = self.places.inside("pieces")
        os.makedirs(folder, exist_ok=True)
        tasks = []
        for i, source in sources.items():
            place = os.path.join(folder, f"file-{i:06d}")
            path, memory = f"{place}.arrow", self.task_memory // 2
            item = PartitionTask(source, used, path, buckets, memory)
            tasks.append(Task(partition, item, f"{place}.json", source.rows))
        parts: list[list[Piece]] = [[] for _ in range(buckets)]
        results = run_stage("partition", self.executor, tasks, self.report, self.skip)
        for i, task, found in zip(list(sources), tasks, results, strict=True):
            if isinstance(found, Refused):
                del sources[i]
                continue
            self.tallies[i] = Tally(found["rows"], found["checksum"])
            rows = Tally(sources[i].rows, found["checksum"])
            require_same("partition", sources[i].path, rows, self.tallies[i])
            for b, size in enumerate(found["buckets"]):
                if size:
                    batches = range(b, buckets * found["chunks"], buckets)
                    piece = Piece(i, None, task.item.path, batches, size)
                    parts[b].append(piece)
        return [tuple(part) for part in parts if part]

    def split(
        self, buckets: list[tuple[Piece, ...]], kind: str, most_rows: int
    ) -> tuple[list[tuple[Piece, ...]], list[tuple[Piece, ...]]]:
        """Buckets of which none is too large, and groups that are, each by itself."""
        folder = self.places.inside("parts")
        os.makedirs(folder, exist_ok=True)
        small, tasks = [], []
        for b, pieces in enumerate(buckets):
            rows = sum(piece.rows for piece in pieces)
            if rows <= most_rows:
                small.append(pieces)
                continue
            place = os.path.join(folder, f"bucket-{b:06d}")
            memory = self.task_memory // 2
            item = SplitTask(pieces, kind, most_rows, place, memory)
            tasks.append(Task(split, item, f"{place}.json", rows))
        large = []
        results = self.stage("split", tasks) if tasks else []
        for task, found in zip(tasks, results, strict=True):
            parts = parts_of(task.item, found)
            large += parts[: found["large"]]
            small += [part for part in parts[found["large"] :] if part]
        return small, large

    def decide(
        self,
        sources: dict[int, Source],
        buckets: list[tuple[Piece, ...]],
        asked: Asked,
        cuts: dict[int, VectorFound],
    ) -> tuple[list[Found], dict[int, tuple[Decided, ...]]]:
        """Stage 2; what was found, and where the labels of every file are.

        `cuts` are those of buckets, by number, that are larger than memory.
        """
        folder = self.places.inside("labels")
        os.makedirs(folder, exist_ok=True)
        tasks = []
        for b, pieces in enumerate(buckets):
            place = os.path.join(folder, f"bucket-{b:06d}")
            rows = sum(piece.rows for piece in pieces)
            if b in cuts:
                item: Any = CutTask(pieces, cuts[b], place)
                tasks.append(Task(cut_bucket, item, f"{place}.json", rows))
            else:
                item = BucketTask(pieces, asked, place)
                tasks.append(Task(decide_bucket, item, f"{place}.json", rows))
        results = self.over_buckets("decide", sources, tasks)
        decided: dict[int, list[Decided]] = {i: [] for i in sources}
        for task, found in zip(tasks, results, strict=True):
            start = 0
            for piece, rows in zip(task.item.pieces, found["rows"], strict=True):
                label = Decided(piece, task.item.labels, start, rows)
                decided[piece.file].append(label)
                start += rows
        return results, {i: tuple(parts) for i, parts in decided.items()}

    def over_files(
        self,
        stage: str,
        sources: dict[int, Source],
        tasks: Sequence[Task],
        take: Callable[[Found], Found] = lambda found: found,
    ) -> list[Found]:
        """Results of a look at whole files, the same rows of each as in any before."""
        results = self.stage(stage, tasks, take)
        for (i, source), found in zip(sources.items(), results, strict=True):
            after = Tally(found["rows"], found["checksum"])
            before = self.tallies.get(i, Tally(source.rows, after.checksum))
            require_read(stage, source.path, before, after)
            self.tallies[i] = after
        return results

    def over_buckets(
        self, stage: str, sources: dict[int, Source], tasks: Sequence[Task]
    ) -> list[Found]:
        """Results of buckets, which together have all rows that were partitioned."""
        after = dict.fromkeys(sources, Tally())
        results = self.stage(stage, tasks)
        for task, found in zip(tasks, results, strict=True):
            if found["files"] != [piece.file for piece in task.item.pieces]:
                raise DataError(
                    f"{stage}: {task.kept} was made with other files; begin again "
                    "without resume"
                )
            lists = (found["files"], found["rows"], found["checksums"])
            for i, rows, checksum in zip(*lists, strict=True):
                after[i] += Tally(rows, checksum)
        for i, source in sources.items():
            before = self.tallies.get(i, Tally(source.rows, after[i].checksum))
            require_same(stage, source.path, before, after[i])
            self.tallies[i] = after[i]
        return results

    def append(
        self,
        sources: dict[int, Source],
        decided: Mapping[int, tuple[Decided, ...] | VectorCut],
        score: str,
        column: str,
    ) -> int:
        """Stage 3; how many rows are positive."""
        folder = self.places.inside("appended")
        os.makedirs(folder, exist_ok=True)
        tasks = [
            Task(
                append,
                AppendTask(
                    source,
                    score,
                    column,
                    decided[i],
                    self.tallies[i],
                    os.path.join(self.places.fresh, source.name),
                    self.task_memory,
                ),
                os.path.join(folder, f"file-{i:06d}.json"),
                source.rows,
            )
            for i, source in sources.items()
        ]
        for place in {os.path.dirname(task.item.target) for task in tasks}:
            os.makedirs(place, exist_ok=True)  # by tasks they would outlive a clean-up
        return sum(found["positives"] for found in self.stage("append", tasks))


def look_at(
    run: Run, files: list[Any], use: Callable[[Source, Any], Used]
) -> tuple[dict[int, Source], Used]:
    """Stage 0: files by number with their sizes, and the columns to use.

    Files must agree on the columns; the first decides.
    """
    sources: dict[int, Source] = {}
    first: tuple[Source, Any, Used] | None = None
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
                first = source, schema, use(source, schema)
            elif not _is_alike(source, schema, *first[:2]):
                _refuse_other_columns(source, schema, *first[:2])
                used = use(source, schema)
                if used != first[2]:
                    raise DataError(_difference(source, used, first[0], first[2]))
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
    return sources, first[2]


def _is_alike(source: Source, schema: Any, first: Source, wanted: Any) -> bool:
    return bool(schema.equals(wanted)) and source.keys.keys() == first.keys.keys()


def _refuse_other_columns(
    source: Source, schema: Any, first: Source, wanted: Any
) -> None:
    """Refuse a file that has not the columns of the first, in whatever order."""
    names, known = {*schema.names, *source.keys}, {*wanted.names, *first.keys}
    for lacks, has, other in (
        (source, first, known - names),
        (first, source, names - known),
    ):
        if other:
            raise DataError(
                f"{source.path} has other columns than {first.path}: {lacks.path} has "
                f"no column {min(other)!r}, which {has.path} has"
            )


def _reads_input(task: Task) -> bool:
    """Whether it reads a file of the input, and not pieces that were checked."""
    parts = getattr(task.item, "pieces", (task.item,))
    return any(getattr(one, "source", None) is not None for one in parts)


def _refuse_unread(why: str) -> None:
    """End the run over a value in a file that was not left out at the beginning."""
    refuse(
        f"{why}; without groups only files that cannot be opened, or have other "
        "columns, are skipped: leave this one out yourself"
    )


def _looked(items: list[Any]) -> list[Any]:
    return [_looked_at(item) for item in items]


def _looked_at(item: Any) -> Any:
    try:
        return look(item)
    except DataError as error:
        return Refused(str(error))


def _difference(source: Source, used: Used, first: Source, wanted: Used) -> str:
    if used.score != wanted.score:
        return (
            f"{source.path}: the scores are in column {used.score!r}, and in "
            f"{wanted.score!r} of {first.path}"
        )
    return (
        f"{source.path}: column {used.group!r} holds {used.kind}, and {wanted.kind} in "
        f"{first.path}; make them one type first"
    )
