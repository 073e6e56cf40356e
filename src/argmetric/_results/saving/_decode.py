"""Bytes as text, with the place of the first byte that is none."""

from __future__ import annotations

import codecs

from argmetric._results.saving._json import refuse_other_encodings
from argmetric._results.saving._whole import DataError


def is_utf8(encoding: str) -> bool:
    """Whether an encoding, by whichever of its names, is UTF-8."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def decoded(data: bytes, encoding: str, name: str, otherwise: str) -> str:
    """Return text; what cannot be read is told with its line and its byte.

    Parameters
    ----------
    data : bytes
        All of it.
    encoding : str
        How it is written.
    name : str
        What messages call it.
    otherwise : str
        What the reader of the message may do.
    """
    if is_utf8(encoding):
        refuse_other_encodings(data, name)
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
