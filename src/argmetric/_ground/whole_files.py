"""Files that are replaced whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO

FilePath = str | os.PathLike[str]

_unfinished: set[str] = set()  # temporary files and folders


class DataError(ValueError):
    """Error of unusable data; the message says where the fault is and what it is."""


@contextlib.contextmanager
def replaced_whole(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file that replaces `path` on success; write to pipes directly."""
    # With numpy, which help does without
    from argmetric._ground.arguments import check_path

    path = check_path(path)
    if is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    path = os.path.realpath(path)  # a link stays a link
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        # Otherwise the error would name the temporary file
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    import tempfile

    mode = _mode_of(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.", suffix=".tmp")
    _unfinished.add(temporary)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        _unfinished.discard(temporary)
    with contextlib.suppress(OSError):  # not every system can make a name last
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Raise a DataError that names the file if the system cannot write it."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error


@contextlib.contextmanager
def written_whole(path: FilePath) -> Iterator[IO[bytes]]:
    """Write a file as `replaced_whole` does; a DataError names file and cause."""
    with writing(path), replaced_whole(path) as file:
        yield file


def remove_unfinished() -> None:
    """Remove what was begun, where the process ends without clean-up code."""
    for temporary in tuple(_unfinished):
        if os.path.isdir(temporary):
            remove_folder(temporary)
        else:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def remove_folder(path: str) -> None:
    """Rename a folder, then remove it, so that other processes stop using it."""
    import shutil
    import uuid

    aside = f"{path}.{uuid.uuid4().hex}.gone"
    with removed_at_exit(aside):
        try:
            os.rename(path, aside)
        except OSError:
            aside = path
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def removed_at_exit(*paths: str) -> Iterator[None]:
    """Remove files and folders also if the process ends without clean-up code."""
    _unfinished.update(paths)
    try:
        yield
    finally:
        _unfinished.difference_update(paths)


@contextlib.contextmanager
def held_alone(path: str, refusal: str) -> Iterator[None]:
    """Hold a lock file during the block; raise if another process holds it."""
    handle = _try_lock(path)
    if handle is None:
        raise DataError(refusal)
    try:
        with removed_at_exit(path):
            yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(handle)
        if os.name == "nt":  # Windows removes no open file
            with contextlib.suppress(OSError):
                os.unlink(path)


def _try_lock(path: str) -> int | None:
    """Return the handle of a locked file; None if another process holds it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                import fcntl
            except ModuleNotFoundError:  # Windows
                import msvcrt

                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        os.close(handle)  # the run before had removed it when we got hold of it


def is_special(path: str) -> bool:
    """Return whether a path exists and is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def read_whole(path: FilePath) -> bytes:
    """Return all bytes of a file or a pipe; refuse devices that may never end."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
        if is_device and not file.isatty() and os.path.realpath(path) != os.devnull:
            raise OSError(errno.ENODEV, "it is a device, not a file", os.fspath(path))
        return file.read()


def _mode_of(path: str) -> int:
    """Return the permissions of the file that is replaced, or those of a new one."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
    return stat.S_IMODE(status.st_mode)
