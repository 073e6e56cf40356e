"""Folders of a run that writes, and files written again with one more column."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from argmetric import __version__
from argmetric._ground.arguments import check_path
from argmetric._ground.whole_files import held_alone, remove_folder, removed_at_exit
from argmetric.scale._columns import FileBatch, WantedColumns, read_batches
from argmetric.scale._groups import load, save
from argmetric.scale._scan import OpenedFiles, Scan, start_scan
from argmetric.scale._sources import InputFile
from argmetric.scale.files import DataError, marked

MARK = b"argmetric"  # in the metadata of the column that a run has added
OLD_MARK = "_argmetric.json"  # in a folder that an earlier version has written
MOST_ROWS = 1 << 20  # of a row group
LEAST_ROWS = 1 << 10  # of a batch
Labelled = tuple[Any, list[Any]]  # labels of a batch, and what it adds to sums


class UnfinishedError(DataError):
    """Work of an earlier run is in the way, and is kept."""


class StoppedError(DataError):
    """Error of a run that can be resumed: what was done is kept."""


@dataclass(frozen=True)
class Folders:
    """Folders of a run."""

    output: str  # what is written in the end, by one rename
    fresh: str  # the output while it grows, beside its place
    work: str  # rows by bucket, labels, and what was found in buckets
    old: str  # an earlier output, between two renames
    lock: str

    @classmethod
    def of(cls, output: str, work_dir: str | None) -> Folders:
        """Return the folders of the run that writes an output."""
        output = os.path.abspath(output)
        folder, name = os.path.split(output)
        fresh, work, old, lock = (
            os.path.join(folder, f".{name}.{word}")
            for word in ("fresh", "work", "old", "lock")
        )
        if work_dir is not None:
            # A folder of its own: what else lies in the one that was given is not ours
            own = hashlib.sha256(output.encode()).hexdigest()[:16]
            work = os.path.join(os.path.abspath(work_dir), f"argmetric-{own}")
        return cls(output, fresh, work, old, lock)

    @property
    def plan(self) -> str:
        """Return the file that says what a run does."""
        return os.path.join(self.work, "plan")

    def remove(self) -> None:
        """Remove all that a run leaves besides its output."""
        aside = [glob.escape(one) + ".*.gone" for one in (self.work, self.fresh)]
        for path in (self.work, self.fresh, *(x for y in aside for x in glob.glob(y))):
            remove_folder(path)


@contextlib.contextmanager
def writing(
    files: OpenedFiles, output: object, wanted: WantedColumns, *, resume: bool
) -> Iterator[Writer]:
    """Yield a writer of a folder, which is written wholly or not at all.

    Work is left where a run may go on, and nothing where it cannot.
    """
    output = check_path(output, "output")
    if "://" in output:
        raise ValueError(f"output must be a folder of this machine, not {output}")
    folders = Folders.of(output, files.work_dir)
    for path, _ in files.paths:
        if path.startswith(folders.output.replace(os.sep, "/") + "/"):
            raise DataError(f"output: {folders.output} holds {path}, which is read")
    with _claim_output(folders), removed_at_exit(folders.work, folders.fresh):
        _begin(folders, resume=resume)
        try:
            yield Writer(start_scan(files, wanted, folders.work), folders)
            _commit(folders)
        except UnfinishedError:
            raise
        except OSError as error:  # a full disk
            reason = error.strerror or str(error)
            raise StoppedError(
                f"{reason.splitlines()[0]}; what was done is kept: {marked('resume')} "
                "goes on with it"
            ) from error
        except BaseException:
            folders.remove()
            raise
        folders.remove()


@contextlib.contextmanager
def _claim_output(folders: Folders) -> Iterator[None]:
    """Refuse a second run into the same output, and to replace what no run has written.

    A run that was killed claims nothing.
    """
    output, old = folders.output, folders.old
    folder = os.path.dirname(output)
    if not os.path.isdir(folder):
        raise DataError(f"cannot write {output}: there is no folder {folder}")
    with held_alone(folders.lock, f"another run is writing {output}"):
        if os.path.isdir(old):  # a run was killed between the two renames of `_commit`
            if os.path.isdir(output):
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.rename(old, output)
        if os.path.exists(output) and not os.path.isdir(output):
            raise DataError(
                f"cannot write {output}: it is a file, and many are written"
            )
        if os.path.isdir(output) and not _is_ours(output):
            raise DataError(
                f"cannot write {output}: it holds files that are not of an earlier "
                "run; choose another folder, or empty it"
            )
        yield


def _is_ours(folder: str) -> bool:
    """Return whether a folder holds nothing but what runs have written."""
    if os.path.exists(os.path.join(folder, OLD_MARK)):
        return True
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                last = pq.read_schema(os.path.join(place, name)).field(-1)
            except (pa.ArrowException, OSError):
                return False
            if MARK not in (last.metadata or {}):
                return False
    return True


def _begin(folders: Folders, *, resume: bool) -> None:
    """Create the working folder, or go on with that of an unfinished run."""
    plan = load(folders.plan)
    # Without the folder that it has filled a run was killed in the clean-up
    if plan is not None and os.path.isdir(folders.fresh):
        if not resume:
            raise UnfinishedError(
                f"a run into {folders.output} has not ended: {marked('resume')} goes "
                f"on with it; or remove {folders.work}"
            )
    else:
        folders.remove()
    for folder in (folders.work, folders.fresh):
        os.makedirs(folder, exist_ok=True)
    shutil.rmtree(os.path.join(folders.work, "text"), ignore_errors=True)


def _commit(folders: Folders) -> None:
    """Give the output its name, in place of that of an earlier run."""
    if os.path.isdir(folders.output):
        os.rename(folders.output, folders.old)
    os.rename(folders.fresh, folders.output)
    shutil.rmtree(folders.old, ignore_errors=True)


@dataclass(frozen=True)
class Writer:
    """A scan whose files are written again with one more column."""

    scan: Scan
    folders: Folders

    def settle(self, plan: dict[str, Any]) -> Scan:
        """Write the plan of the run; refuse to resume under another plan.

        Return the scan, whose rows are divided as they were in the first run.
        """
        known = [[one.path, one.size, one.modified] for one in self.scan.sources]
        plan = {"argmetric": __version__, "files": known, **plan}
        before = load(self.folders.plan)
        if before is None:
            save(self.folders.plan, plan | {"division": self.scan.division})
            return self.scan
        changed = [name for name in plan if plan[name] != before.get(name)]
        if changed:
            raise UnfinishedError(
                f"cannot go on with the run in {self.folders.work}: "
                f"{', '.join(sorted(changed))} changed since; remove that folder to "
                "begin again"
            )
        return replace(self.scan, divided=tuple(before["division"]))

    def append(
        self,
        column: str,
        kind: pa.DataType,
        label: Callable[[FileBatch], Labelled],
        more_bytes: int = 0,
    ) -> list[Any]:
        """Write all files with a column of an Arrow type at their end.

        `label` makes it for a batch, for which it takes `more_bytes` a row. Return the
        sums over all batches of what it adds to them.
        """
        field = pa.field(column, kind, metadata={MARK: b"decided"})

        def write(i: int) -> list[Any]:
            """Write file i with its column of labels, in batches that fit memory."""
            scan, source = self.scan, self.scan.sources[i]
            target = os.path.join(self.folders.fresh, source.name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            memory = scan.memory // scan.n_workers
            rows = memory // (16 * source.row_bytes + more_bytes)
            rows = min(max(rows, LEAST_ROWS), MOST_ROWS)
            batches = read_batches(
                source, scan.columns, rows, scan.starts[i], whole=True
            )
            return _write_file(source, target, field, label, batches)

        sums = self.scan.map(write, range(len(self.scan.sources)))
        return [np.sum(one, axis=0) for one in zip(*filter(None, sums), strict=True)]


def _write_file(
    source: InputFile,
    target: str,
    field: pa.Field,
    label: Callable[[FileBatch], Labelled],
    batches: Iterator[FileBatch],
) -> list[Any]:
    """Write one file, and return sums; a run that goes on writes it again."""
    schema = source.schema.append(field)
    how: dict[str, Any] = {}
    if source.packing is not None:  # Arrow files become what Parquet files are
        compression, helped = source.packing
        how = {"compression": compression, "use_dictionary": [*helped, field.name]}
    sums: list[Any] = []
    with pq.ParquetWriter(target, schema, **how) as writer:
        for batch in batches:
            labels, more = label(batch)
            sums = [a + b for a, b in zip(sums, more, strict=True)] if sums else more
            columns = [*batch.record.columns, labels]
            table = pa.Table.from_arrays(columns, schema=schema)
            writer.write_table(table, row_group_size=MOST_ROWS)
    return sums
