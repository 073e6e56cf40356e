"""Where a long run stood, on the disk: whole or not at all, and checked when read.

A checkpoint is one npz file: the arrays, a manifest (JSON) that lists them with their
checksums, and the digest of the manifest. It is written under another name, brought to
the disk and renamed; the one before it stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import io as memory
import json
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._results.archives import DAMAGE, Arrays, read_arrays
from argmetric._results.saving import check_version, parsed
from argmetric._results.whole_files import read_whole, written_whole
from argmetric.cli._errors import say

VERSION = 1
KEPT = 2  # the newest, and the one before it
_NAME = re.compile(r"checkpoint-(\d{15})\.npz")
_TEMPORARY = re.compile(r"\.checkpoint-\d{15}\.npz\..*\.tmp")
_MANIFEST, _DIGEST = "manifest", "digest"


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on.

    Attributes
    ----------
    manifest : dict
        Plain values.
    arrays : dict of ndarray
        The state of the model.
    path : str
        Where it was read from.
    """

    manifest: dict[str, Any]
    arrays: Arrays
    path: str


class CheckpointFolder:
    """The checkpoints of one run; nobody else may write to the folder meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise files.DataError(
                f"--checkpoint {path} is a file; pass a folder"
            ) from None
        self._lock = self._locked()

    def _locked(self) -> Any:
        """Hold the folder until this process ends, however it does."""
        file = open(self.path / "lock", "ab")  # noqa: SIM115
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            file.close()
            raise files.DataError(
                f"another run writes to {self.path}; give each run a folder of its own"
            ) from None
        return file

    def close(self) -> None:
        """Let go of the folder."""
        self._lock.close()

    def _files(self) -> list[Path]:
        return checkpoint_files(self.path)

    @property
    def empty(self) -> bool:
        """Whether there is no checkpoint yet."""
        return not self._files()

    def newest(self) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, None where there is none."""
        return newest_checkpoint(self.path)

    def set_aside_newer(self, checkpoint: Checkpoint) -> None:
        """Rename damaged checkpoints, that they do not count as the newest."""
        for path in self._files():
            if path.name > Path(checkpoint.path).name:
                os.replace(path, path.with_suffix(".damaged"))

    def save(self, rows: int, manifest: dict[str, Any], arrays: Arrays) -> str:
        """Write a checkpoint, and remove all but the one before it."""
        path = self.path / f"checkpoint-{rows:015d}.npz"
        with written_whole(path) as file:
            file.write(packed(manifest, arrays))
        for old in self._files()[KEPT:]:
            old.unlink()
        return str(path)

    def remove_leftovers(self) -> None:
        """Remove what a run that was killed had begun to write."""
        for name in os.listdir(self.path):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    (self.path / name).unlink()


def checkpoint_files(folder: Path) -> list[Path]:
    """Return the checkpoints of a folder, the newest first."""
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
        raise files.DataError(
            f"no checkpoint in {folder} is whole; pass another folder to begin anew"
        )
    return None


def packed(manifest: dict[str, Any], arrays: Arrays) -> memoryview:
    """Return a checkpoint as bytes."""
    table = {name: _described(array) for name, array in arrays.items()}
    whole = {"version": VERSION, **manifest, "arrays": table}
    text = json.dumps(whole, sort_keys=True).encode()
    buffer = memory.BytesIO()
    members: Any = {f"state_{name}": array for name, array in arrays.items()}
    members |= {_MANIFEST: _bytes(text), _DIGEST: _bytes(hashlib.sha256(text).digest())}
    np.savez(buffer, **members)
    return buffer.getbuffer()


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and check a checkpoint; any damage is an error."""
    data = memory.BytesIO(read_whole(path))
    members = read_arrays(data)
    text = members[_MANIFEST].tobytes()
    if hashlib.sha256(text).digest() != members[_DIGEST].tobytes():
        raise ValueError("the manifest does not match its digest")
    manifest = parsed(text)
    check_version(manifest["version"], VERSION, str(path))
    arrays = {name: members[f"state_{name}"] for name in manifest["arrays"]}
    for name, array in arrays.items():
        if _described(array) != manifest["arrays"][name]:
            raise ValueError(f"the array {name!r} does not match its checksum")
    return Checkpoint(manifest, arrays, str(path))


def _described(array: npt.NDArray[Any]) -> list[Any]:
    checksum = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data)
    return [array.dtype.str, list(array.shape), checksum]


def _bytes(text: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text, dtype=np.uint8)
