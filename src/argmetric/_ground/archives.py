"""Arrays in npz files, in which nothing can be run, beside a header that is JSON."""

from __future__ import annotations

import contextlib
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_path
from argmetric._ground.saving import check_version, parsed, plain
from argmetric._ground.whole_files import DataError, FilePath, written_whole

Arrays = dict[str, npt.NDArray[Any]]

DAMAGE = (  # whatever an archive raises that is not whole
    tokenize.TokenError,  # of numpy, which parses the header of an array as Python
    SyntaxError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    OSError,
    NotImplementedError,  # a method of compression that there is not
    RuntimeError,  # an archive that asks for a password
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_HEADER = "header"


@contextlib.contextmanager
def whole(path: FilePath, what: str) -> Iterator[None]:
    """Whatever a damaged file makes fail, as one error."""
    try:
        yield
    except DataError:
        raise
    except DAMAGE:
        raise DataError(f"{path} is damaged: the {what} in it is not whole") from None


def json_array(values: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """JSON as an array of bytes, to be kept among other arrays."""
    text = json.dumps(values, default=plain)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def read_arrays(file: IO[bytes]) -> Arrays:
    """All arrays of an npz file; none of them can hold objects."""
    with np.load(file, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def write_archive(
    path: FilePath, kind: str, version: int, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a JSON header and arrays, none called "header"; whole or not at all."""
    said = {"format": kind, "version": version, **header}
    members: Any = {_HEADER: json_array(said), **arrays}
    with written_whole(path) as file:
        np.savez_compressed(file, allow_pickle=False, **members)


def read_archive(
    path: FilePath, kind: str, version: int, what: str
) -> tuple[dict[str, Any], Arrays]:
    """The header and arrays of `write_archive`; `what` names them in messages."""
    path = check_path(path)
    try:
        # Where it is cut off, np.load would leave a file open that it opened itself
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise DataError(
                    f"{path} is not a {what} of argmetric, or it is cut off"
                )
            file.seek(0)
            with whole(path, what):
                arrays = read_arrays(file)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    if _HEADER not in arrays:
        raise DataError(f"{path} is not a {what} of argmetric")
    with whole(path, what):
        header = parsed(arrays[_HEADER].tobytes())
        found, number = header["format"], header["version"]
    if found != kind:
        raise DataError(f"{path} holds {found!r}, not {kind!r}")
    try:
        check_version(number, version, str(path))
    except ValueError as error:
        raise DataError(str(error)) from None
    return header, arrays
