"""Where a long run stood, on the disk: whole or not at all, and checked when read.

A checkpoint is one npz file: the arrays of the model, and a manifest (JSON). The
archive has a checksum of each. The checkpoint before the newest stays.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from argmetric._ground.archives import DAMAGE, Arrays, json_array, read_arrays
from argmetric._ground.saving import check_version, parsed
from argmetric._ground.whole_files import held_alone, read_whole, written_whole
from argmetric.cli._errors import say
from argmetric.scale.files import DataError

VERSION = 1
_N_CHECKPOINTS = 2  # the newest, and the one before it
_NAME = re.compile(r"checkpoint-(\d{15})\.npz")
_TEMPORARY = re.compile(r"\.checkpoint-\d{15}\.npz\..*\.tmp")


class Checkpoint(NamedTuple):
    """What a run needs to go on: plain values, the state of the model, the file."""

    manifest: dict[str, Any]
    arrays: Arrays
    path: str


@contextlib.contextmanager
def checkpoint_folder(path: str) -> Iterator[Path]:
    """Hold a folder; what a run that was killed had begun to write is removed."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise DataError(f"--checkpoint {path} is a file; pass a folder") from None
    refusal = f"another run writes to {path}; give each run a folder of its own"
    with held_alone(str(folder / "lock"), refusal):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    (folder / name).unlink()
        yield folder


def checkpoint_to_resume(
    folder: Path, configuration: dict[str, Any], *, resume: bool
) -> Checkpoint | None:
    """Return the checkpoint to go on from; damaged ones behind it are set aside."""
    if not resume:
        if checkpoint_files(folder):
            raise DataError(
                f"{folder} holds checkpoints: pass --resume to go on, or another "
                "folder to begin anew"
            )
        return None
    newest = newest_checkpoint(folder)
    if newest is None:
        say(f"no checkpoint in {folder} yet: beginning with the first row")
        return None
    saved = newest.manifest["configuration"]
    for name in sorted(saved.keys() | configuration.keys()):
        before, now = saved.get(name), configuration.get(name)
        if before != now:
            raise DataError(
                f"{newest.path} is of a run with --{name.replace('_', '-')} "
                f"{_shown(before)}, not {_shown(now)}: pass the same options, or "
                "another folder"
            )
    return newest


def _shown(value: Any) -> str:
    if value is None or value is False:
        return "left out"
    return "given" if value is True else str(value)


def checkpoint_files(folder: Path) -> list[Path]:
    names = sorted(os.listdir(folder), reverse=True)
    return [folder / name for name in names if _NAME.fullmatch(name)]


def newest_checkpoint(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint that is whole; a damaged one is passed over."""
    damaged = False
    for path in checkpoint_files(folder):
        try:
            return read_checkpoint(path)
        except DAMAGE as error:
            damaged, reason = True, " ".join(str(error).split()) or repr(error)
            say(f"{path} is damaged ({reason}); the one before it is tried")
    if damaged:
        raise DataError(
            f"no checkpoint in {folder} is whole; pass another folder to begin anew"
        )
    return None


def save_checkpoint(
    folder: Path, rows: int, manifest: dict[str, Any], arrays: Arrays
) -> str:
    """Write a checkpoint, and remove all but the one before it."""
    path = folder / f"checkpoint-{rows:015d}.npz"
    said = {"version": VERSION, **manifest, "arrays": list(arrays)}
    members: Any = {f"state_{name}": array for name, array in arrays.items()}
    buffer = io.BytesIO()  # a disk that is full is told by what writes the file
    np.savez(buffer, manifest=json_array(said), **members)
    with written_whole(path) as file:
        file.write(buffer.getbuffer())
    for old in checkpoint_files(folder)[_N_CHECKPOINTS:]:
        old.unlink()
    return str(path)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and check a checkpoint; any damage is an error."""
    members = read_arrays(io.BytesIO(read_whole(path)))
    manifest = parsed(members["manifest"].tobytes())
    check_version(manifest["version"], VERSION, str(path))
    arrays = {name: members[f"state_{name}"] for name in manifest["arrays"]}
    return Checkpoint(manifest, arrays, str(path))
