"""JSON by people and machines of all kinds, and plain values for it.

JSON has no infinities and no nan: they are text, "inf", "-inf" and "nan".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from argmetric._input.arguments import check_path
from argmetric._results.saving._whole import DataError, FilePath, replaced_whole

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_NOT_FINITE = ("nan", "inf", "-inf")
# Readers go down by recursion, and that of pyarrow to the end of the stack
MAX_NESTING = 100
_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


def refuse_other_encodings(
    data: bytes, name: str, otherwise: str = "iconv -f UTF-16 -t UTF-8 converts it"
) -> None:
    """Refuse UTF-16 and bytes that are no text, where text in UTF-8 is expected."""
    if data.startswith(_UTF16_MARKS):
        raise DataError(f"{name} is UTF-16 text; {otherwise}")
    if b"\0" in data[:4]:  # where two letters of UTF-16 would be
        raise DataError(
            f"{name} begins with zero bytes: it is UTF-16, or no text at all"
        )


def is_too_deep(text: bytes, n_objects: int = 1) -> bool:
    """Whether JSON is nested deeper than `MAX_NESTING`; strings do not count.

    Parameters
    ----------
    text : bytes
        JSON, or what should be.
    n_objects : int, optional
        How many objects there are, one after the other.

    Examples
    --------
    >>> is_too_deep(b"[" * 101), is_too_deep(b'{"a": "' + b"[" * 101 + b'"}')
    (True, False)
    """
    if text.count(b"[") + text.count(b"{") < MAX_NESTING + n_objects:
        return False
    codes = np.frombuffer(_STRING.sub(b"", text), dtype=np.uint8)
    opened = (codes == ord("[")) | (codes == ord("{"))
    closed = (codes == ord("]")) | (codes == ord("}"))
    depth = np.cumsum(opened.view(np.int8) - closed.view(np.int8), dtype=np.int64)
    return bool(depth.max(initial=0) > MAX_NESTING)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="surrogatepass")


def parsed(text: str | bytes, *, with_place: bool = False) -> Any:
    """Parse JSON; a ValueError says in a few words what is wrong, and where."""
    if is_too_deep(_as_bytes(text)):
        raise ValueError(f"it is nested deeper than {MAX_NESTING} levels")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f" (line {error.lineno}, column {error.colno})" if with_place else ""
        raise ValueError(f"{error.msg}{place}") from None
    except UnicodeDecodeError:
        raise
    except ValueError:  # of Python, which reads no number of more than 4,300 digits
        raise ValueError("a number has thousands of digits") from None


def save_json(path: FilePath, values: dict[str, Any]) -> None:
    """Write plain values; a file that is there is replaced whole or not at all.

    Parameters
    ----------
    path : str or path
        The file.
    values : dict
        What JSON can hold; nan and infinities are refused.
    """
    text = json.dumps(values, indent=1, allow_nan=False, ensure_ascii=False)
    with replaced_whole(path) as file:
        file.write(f"{text}\n".encode())


def load_json(path: FilePath, what: str) -> Any:
    """Read plain values; a message names the file where it is damaged.

    Parameters
    ----------
    path : str or path
        The file.
    what : str
        What it should hold, for the message.
    """
    path = check_path(path)
    with open(path, "rb") as file:
        content = file.read()
    try:
        return parsed(content.decode(), with_place=True)
    except ValueError as error:
        raise ValueError(f"{path} is no {what}, or was cut short: {error}") from None


def plain_number(value: float) -> float | str:
    """JSON has no infinities and no nan: text."""
    return float(value) if math.isfinite(value) else str(float(value))


def shown_number(value: float) -> float | str | None:
    """As `plain_number` for those who only look: nan is null."""
    return None if math.isnan(value) else plain_number(value)


def plain(value: Any, name: str = "") -> Any:
    """Values that JSON holds: infinities and nan as text, arrays as lists.

    Parameters
    ----------
    value : object
        Of any depth. What has a `to_dict` of its own is asked for it.
    name : str
        What it is called in the message that refuses it.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return plain_number(value)
    if isinstance(value, np.generic):
        return plain(value.item(), name)
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind == "f" and np.isfinite(value).all()
        return value.tolist() if finite else plain(value.tolist(), name)
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item, name) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    kind = type(value).__name__
    raise TypeError(f"{name or 'a value'} of type {kind} cannot be saved: {value!r}")


def restored(value: Any) -> Any:
    """What `plain` made of numbers, text and tuples of them."""
    if isinstance(value, list):
        return tuple(map(restored, value))
    return float(value) if isinstance(value, str) and value in _NOT_FINITE else value


def check_version(found: Any, newest: int, what: str, by: str = "") -> None:
    """Refuse a format that is none, or that a newer argmetric wrote.

    Parameters
    ----------
    found : int
        The version of the format that a file names.
    newest : int
        The last one that is known here; all before it are read too.
    what : str
        What has it, for the message.
    by : str, optional
        The release that wrote it, where the file says so.
    """
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ValueError(f"{what} has the odd format {found!r}")
    if found > newest:
        raise ValueError(
            f"{what} has version {found} of its format: it was written by a newer "
            f"argmetric{f' ({by})' if by else ''}, and this one reads up to version "
            f"{newest}; update argmetric"
        )
