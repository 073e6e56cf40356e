"""``argmetric monitor --append``: what was counted so far, in a file.

The state is one JSON file: the counts, the options it was begun with, the files that
were counted, and a digest of all that. It is replaced in one step when all new rows are
counted, so a run that is killed has changed nothing.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from argmetric import _files as files
from argmetric._results.saving import check_version, parsed
from argmetric._results.whole_files import (
    held_alone,
    is_special,
    read_whole,
    written_whole,
)
from argmetric.cli._errors import UsageError
from argmetric.cli.scores._rules import refuse_bad_target

if TYPE_CHECKING:
    from argmetric import Monitoring

NAME, FORMAT = "argmetric monitor state", 1
_ANEW = "pass another --append file to begin anew"


@dataclass(frozen=True)
class State:
    """What was counted so far.

    Attributes
    ----------
    asked : dict
        Options that must stay the same, by their names.
    monitoring : Monitoring or None
        None before the first row.
    files : list of [path, size, modified, digest]
        Files that were counted.
    zoned : bool or None
        Whether their times have a zone.
    """

    asked: dict[str, Any]
    monitoring: Monitoring | None = None
    files: list[list[Any]] = field(default_factory=list)
    zoned: bool | None = None

    @classmethod
    def load(
        cls, path: str, asked: dict[str, Any], reference: tuple[Any, ...] | None
    ) -> State:
        """Read a state, or begin one; what does not fit the options is refused."""
        asked["--reference"] = reference and _digest_of_rows(reference)
        if not os.path.exists(path):
            refuse_bad_target(path)
            if reference is None:
                raise UsageError("--reference FILE is needed to begin a state")
            return State(asked)
        content = read_whole(path)
        try:
            values = parsed(content.decode())
            if not isinstance(values, dict) or values.get("file") != NAME:
                raise files.DataError(
                    f"{path} is no state of argmetric monitor: {_ANEW}, or name the "
                    "right one"
                )
            check_version(values.get("format"), FORMAT, path)
            if values.pop("digest", None) != _digest(values):
                raise ValueError("it does not match its digest")
            from argmetric import Monitoring

            made = Monitoring.from_dict(values["monitoring"])
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
            was, is_ = (
                f"with {option} {one:g}"
                if isinstance(one, float)
                else "without it"
                if one is None
                else f"with {option} {one}"
                for one in (before, now)
            )
            raise files.DataError(
                f"{option}: {path} was begun {was} and not {is_}: pass the same "
                f"options, or {_ANEW}"
            )
        return State({**asked, "--reference": begun["--reference"]}, made, read, zoned)

    def new_files(self, paths: list[str], notes: list[str]) -> list[list[Any]]:
        """Files that were not counted yet; notes tell which are left out.

        A file is known by its path, size and time of change, or by its content.
        """
        by_path = {one[0]: one for one in self.files}
        by_content = {one[3]: one[0] for one in self.files}
        found, n_known = [], 0
        for path in paths:
            whole, status = os.path.abspath(path), os.stat(path)
            stamp = [status.st_size, status.st_mtime_ns]
            known = by_path.get(whole)
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
                found.append([whole, *stamp, digest])
                by_content[digest] = whole
        if n_known:
            were = "1 file was" if n_known == 1 else f"{n_known:,} files were"
            notes.append(f"{were} counted before and not read again")
        return found

    def save(
        self, path: str, found: Monitoring, fresh: list[list[Any]], zoned: bool | None
    ) -> None:
        """Replace the file in one step, with what was found in new files."""
        values = {
            "file": NAME,
            "format": FORMAT,
            "asked": self.asked,
            "files": [*self.files, *fresh],
            "zoned": zoned,
            "monitoring": found.to_dict(),
        }
        text = json.dumps({**values, "digest": _digest(values)}, allow_nan=False)
        with written_whole(path) as file:
            file.write(text.encode())


def check_state_file(path: str) -> None:
    """Refuse what can keep no state: a folder, a pipe, a device."""
    if os.path.isdir(path) or is_special(path):
        kind = "a folder" if os.path.isdir(path) else "a device or a pipe"
        raise UsageError(f"--append {path} is {kind}: name a file, which may be new")


@contextlib.contextmanager
def only_run(path: str) -> Iterator[None]:
    """Refuse a second run with the same state; remove what a killed one left."""
    folder, name = os.path.split(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise files.DataError(f"cannot write {path}: there is no folder {folder}")
    lock = os.path.join(folder, f".{name}.lock")
    with held_alone(lock, f"another run writes to {path}: wait until it has ended"):
        left = os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.tmp")
        for one in glob.glob(left):
            with contextlib.suppress(OSError):
                os.unlink(one)
        yield


def _digest_of_rows(columns: tuple[Any, ...]) -> str:
    """Digest of the columns of a reference."""
    found = hashlib.sha256()
    for one in columns:
        as_text = one.dtype.kind == "O"
        found.update(repr(one.tolist()).encode() if as_text else one.tobytes())
    return found.hexdigest()


def _digest(values: dict[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
