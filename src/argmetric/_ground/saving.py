"""JSON files of people and machines of all kinds, and objects that are kept in them.

JSON has no infinities and no nan: they are text, "inf", "-inf" and "nan".
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import json
import math
import os
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, ClassVar, Generic, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_path, is_among, is_sparse, shown
from argmetric._ground.display import Result
from argmetric._ground.label_words import spelled_number
from argmetric._ground.plain import plain as plain
from argmetric._ground.plain import restore_values as restore_values
from argmetric._ground.types import Interval
from argmetric._ground.whole_files import (
    DataError,
    FilePath,
    read_whole,
    replaced_whole,
    written_whole,
)


def is_utf8(encoding: str) -> bool:
    """Return whether an encoding, by any of its names, is UTF-8."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def decode_text(data: bytes, encoding: str, name: str, otherwise: str) -> str:
    """Return bytes as text; an error names line, byte and what to do."""
    if is_utf8(encoding):
        refuse_utf16_and_zero_bytes(data, name)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        byte = f"byte {error.start + 1:,} is 0x{data[error.start]:02X}"
        raise DataError(
            f"{name}, line {number}: not {encoding} text ({byte}); {otherwise}"
        ) from None
    except UnicodeError as error:  # UTF-16 and UTF-32 without the mark they begin with
        raise DataError(f"{name}: not {encoding} text ({error}); {otherwise}") from None


_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Readers go down by recursion, and that of pyarrow to the end of the stack
MAX_NESTING = 100
_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


def refuse_utf16_and_zero_bytes(
    data: bytes, name: str, remedy: str = "iconv -f UTF-16 -t UTF-8 converts it"
) -> None:
    """Refuse UTF-16, and zero bytes in the first line; other bytes pass.

    `remedy`: what the message advises for UTF-16.
    """
    if data.startswith(_UTF16_MARKS):
        raise DataError(f"{name} is UTF-16 text; {remedy}")
    if b"\0" in data[:4]:  # where two letters of UTF-16 would be
        raise DataError(
            f"{name} begins with zero bytes: it is UTF-16, or no text at all"
        )
    first, _, _ = data.partition(b"\n")
    if b"\0" in first:
        at = first.index(b"\0")
        before = first[max(0, at - 20) : at].decode(errors="replace")
        raise DataError(
            f"{name}, line 1: a zero byte after {before!r} (byte {at + 1:,}); the file "
            "is damaged, or no text: tr -d '\\000' removes such bytes"
        )


def is_too_deep(text: bytes) -> bool:
    """Return whether JSON is nested deeper than `MAX_NESTING`, ignoring strings."""
    if text.count(b"[") + text.count(b"{") <= MAX_NESTING:
        return False
    codes = np.frombuffer(_STRING.sub(b"", text), dtype=np.uint8)
    opened = (codes == ord("[")) | (codes == ord("{"))
    closed = (codes == ord("]")) | (codes == ord("}"))
    depth = np.cumsum(opened.view(np.int8) - closed.view(np.int8), dtype=np.int64)
    return bool(depth.max(initial=0) > MAX_NESTING)


class _AmbiguousError(ValueError):
    """JSON that can be read in more ways than one."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; refuse equal keys, of which Python keeps the last."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _AmbiguousError(f"the key {shown(twice)} stands there twice")
    return values


def _within_floats(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _AmbiguousError(f"the number {text[:40]} is beyond all floats")
    return value


_OF_A_FILE: dict[str, Any] = {"object_pairs_hook": _once, "parse_float": _within_floats}


def parse_json(
    text: str | bytes, *, with_place: bool = False, rows: bool = False
) -> Any:
    """Parse JSON; a ValueError says in a few words what is wrong, and where.

    A key that an object has twice, and a number beyond all floats, are refused; not in
    `rows` of data, whose readers judge the columns that are used.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if is_too_deep(data):
        raise ValueError(f"it is nested deeper than {MAX_NESTING} levels")
    try:
        return json.loads(text, **({} if rows else _OF_A_FILE))
    except (_AmbiguousError, UnicodeDecodeError):
        raise
    except json.JSONDecodeError as error:
        place = f" (line {error.lineno}, column {error.colno})" if with_place else ""
        raise ValueError(f"{error.msg}{place}") from None
    except ValueError:  # of Python, which reads no number of more than 4,300 digits
        raise ValueError("a number has thousands of digits") from None


def save_json(path: FilePath, values: dict[str, Any]) -> None:
    """Write plain values; a file that is there is replaced whole or not at all."""
    text = json.dumps(values, indent=1, allow_nan=False, ensure_ascii=False)
    with replaced_whole(path) as file:
        file.write(f"{text}\n".encode())


def load_json(path: FilePath, what: str) -> Any:
    """Read plain values; a message names the file that is no whole `what`."""
    path = check_path(path)
    content = read_whole(path)
    try:
        return parse_json(content.decode(), with_place=True)
    except ValueError as error:
        if content.strip() and not content.lstrip().startswith((b"{", b"[")):
            raise ValueError(f"{path} is no {what}: it is not JSON") from None
        cut = "" if isinstance(error, _AmbiguousError) else ", or was cut short"
        raise ValueError(f"{path} is no {what}{cut}: {error}") from None


def with_intervals(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return named values of a file, with lists of two converted to intervals."""
    return {
        key: Interval(*map(restore_values, x))
        if key.endswith("interval") and x is not None
        else x
        for key, x in values.items()
    }


def refuse_spelled_numbers(value: object, name: str) -> None:
    """Refuse a number that a file holds as text: "0.5" for 0.5."""
    if isinstance(value, list | tuple):
        for one in value:
            refuse_spelled_numbers(one, name)
    elif isinstance(value, str) and spelled_number(value) is not None:
        raise ValueError(f"{name} has {value!r}, which is text: write {value}")


def check_version(found: object, newest: int, what: str, by: str = "") -> None:
    """Refuse a format that is none, or that a newer argmetric (release `by`) wrote."""
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ValueError(f"{what} has the odd format {shown(found)}")
    if found > newest:
        raise ValueError(
            f"{what} has version {found} of its format: it was written by a newer "
            f"argmetric{f' ({by})' if by else ''}, and this one reads up to version "
            f"{newest}; update argmetric"
        )


def is_file_of(values: object, name: str) -> TypeGuard[dict[str, Any]]:
    """Return whether a value is a dict whose key "file" is this name."""
    # A sparse matrix of keys is a dict with a `get` of its own
    return isinstance(values, dict) and is_among(dict.get(values, "file"), (name,))


def _refuse_foreign(values: dict[str, Any], what: str) -> None:
    """Refuse collections that no file holds, some of which never end."""
    for key, one in values.items():
        known = isinstance(one, str | list | tuple | Mapping | np.ndarray | np.generic)
        if is_sparse(one) or (not known and hasattr(one, "__getitem__")):
            raise ValueError(
                f"a saved {what} is damaged: {key!r} must be a list, not {shown(one)}"
            )


Kept = TypeVar("Kept")


class Saved(Result, Generic[Kept]):
    """An object that is kept in a JSON file; every kind of it registers itself.

    The class that names it in `_what` is the head of a family, and each class below it
    with a `kind` of its own is one of its kinds. `fields` and `_from_plain` are a
    kind's own; `_kind_of` is the family's. `_elsewhere` names the class of each kind
    that a room above defines: it is loaded when a file holds that kind.
    """

    _nan: ClassVar[str | None] = "nan"
    _what: ClassVar[str] = ""
    _elsewhere: ClassVar[dict[str, str]] = {}
    kind: ClassVar[str] = ""
    _kinds: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        if "_what" in vars(cls):
            cls._kinds = {}
        if vars(cls).get("kind"):
            cls._kinds[cls.kind] = cls

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Kept:
        """Return an object of this class from a dict that is already checked."""
        raise NotImplementedError

    @classmethod
    def _kind_of(cls, values: object) -> str:
        """Return the class that a dict names; refuse others and later formats."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Kept:
        """Return the object that `to_dict` described, of any saved class.

        Parameters
        ----------
        values : dict
            What `to_dict` gave.

        Returns
        -------
        object
            An object of the class that the dict names.

        Raises
        ------
        ValueError
            If the dict describes no object of this kind, or is damaged.
        """
        kind = cls._kind_of(values)
        _refuse_foreign(values, cls._what)
        if kind in cls._elsewhere:
            room, _, name = cls._elsewhere[kind].rpartition(".")
            getattr(importlib.import_module(room), name)  # registers itself
        if kind not in cls._kinds:
            known = ", ".join(sorted({*cls._kinds, *cls._elsewhere}))
            raise ValueError(f"no {cls._what} of the kind {kind!r}; known are {known}")
        try:
            return cls._kinds[kind]._from_plain(values)  # type: ignore[no-any-return]
        except KeyError as error:
            raise ValueError(f"a saved {cls._what} lacks {error}") from None
        except RecursionError:
            raise ValueError(f"a saved {cls._what} is nested too deeply") from None
        except (
            *(TypeError, AttributeError, ValueError, IndexError),
            *(ArithmeticError, NotImplementedError),
        ) as error:
            raise ValueError(f"a saved {cls._what} is damaged: {error}") from None

    def save(self, path: FilePath) -> None:
        """Write it to a JSON file, which is replaced whole or not at all.

        Parameters
        ----------
        path : str or path
            The file.
        """
        save_json(path, self.to_dict())

    @classmethod
    def load(cls, path: FilePath) -> Kept:
        """Return the object that `save` wrote, of any kind.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        object
            An object of the class that the file names.

        Raises
        ------
        ValueError
            If the file holds no object of this kind, or is damaged.
        """
        values = load_json(path, cls._what)
        try:
            return cls.from_dict(values)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


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
    RuntimeError,  # a method of compression that there is not, or a password
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_HEADER = "header"


@contextlib.contextmanager
def whole(path: FilePath, what: str) -> Iterator[None]:
    """Convert whatever a damaged file raises into one error."""
    try:
        yield
    except DataError:
        raise
    except DAMAGE:
        raise DataError(f"{path} is damaged: the {what} in it is not whole") from None


def json_array(values: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """Return JSON as an array of bytes, to be saved beside other arrays."""
    text = json.dumps(values, default=plain)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def read_arrays(file: IO[bytes]) -> Arrays:
    """Return all arrays of an npz file; refuse arrays of objects."""
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
    """Return header and arrays that `write_archive` wrote; errors call it `what`."""
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
        header = parse_json(arrays[_HEADER].tobytes())
        found, number = header["format"], header["version"]
    if found != kind:
        raise DataError(f"{path} holds {found!r}, not {kind!r}")
    try:
        check_version(number, version, str(path))
    except ValueError as error:
        raise DataError(str(error)) from None
    return header, arrays
