"""Arrow arrays to and from numpy, and functions of Arrow called by their names.

``pyarrow.array``, ``pyarrow.scalar`` and ``Array.to_numpy`` import pandas wherever it
is installed, and ``pyarrow.compute`` writes a Python function, with documentation, for
each of three hundred when it is loaded: both cost more than all else that a small job
does. So arrays are made from buffers, and functions are called by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

_OPTIONS = {
    "count_substring_regex": "MatchSubstringOptions",
    "match_substring_regex": "MatchSubstringOptions",
    "replace_substring": "ReplaceSubstringOptions",
    "replace_substring_regex": "ReplaceSubstringOptions",
}


def call(name: str, *columns: Any, **options: str) -> Any:
    """Apply a function to columns and scalars, with the options that it has."""
    engine = _engine()
    chosen = getattr(engine, _OPTIONS[name])(**options) if options else None
    return engine.call_function(name, list(columns), chosen)


def cast(column: Any, type_: Any, *, safe: bool = True) -> Any:
    """Return a column as another type; unsafe casts may lose digits."""
    engine = _engine()
    options = engine.CastOptions
    chosen = options.safe(type_) if safe else options.unsafe(type_)
    return engine.call_function("cast", [column], chosen)


def _engine() -> Any:
    """The module that `pyarrow.compute` has these from, where there is one."""
    try:
        from pyarrow import _compute as engine
    except ImportError:
        from pyarrow import compute as engine
    return engine


def integer_array(values: npt.NDArray[Any]) -> Any:
    """Return whole numbers as an Arrow int64 array, without a copy where possible."""
    import pyarrow as pa

    values = np.ascontiguousarray(values, dtype=np.int64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.int64(), values.size, buffers)


def float_array(values: npt.NDArray[Any]) -> Any:
    """Return floats as an Arrow float64 array, without a copy where possible."""
    import pyarrow as pa

    values = np.ascontiguousarray(values, dtype=np.float64)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.float64(), values.size, buffers)


def column_array(values: npt.NDArray[Any]) -> Any:
    """Return whole numbers, truth values (as 0 and 1), floats or strings for Arrow."""
    if values.dtype.kind == "f":
        return float_array(values)
    if values.dtype.kind in "OU":
        distinct, codes = np.unique(values.astype(str), return_inverse=True)
        return text_array(distinct.tolist()).take(integer_array(codes))
    return integer_array(values)


def text_array(values: Sequence[str]) -> Any:
    """Return strings as an Arrow large_string array."""
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def text_scalar(value: str) -> Any:
    """Return one string as an Arrow large_string scalar."""
    return text_array([value])[0]


def text_bytes(array: Any) -> memoryview:
    """Return the strings of a large_string array one after another, as bytes."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)
    start, stop = offsets[array.offset], offsets[array.offset + len(array)]
    data = array.buffers()[2]
    return memoryview(data)[start:stop] if data is not None else memoryview(b"")


def flat(column: Any) -> Any:
    """Return a chunked column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks()


def to_numpy(column: Any, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Return a column of fixed-width numbers as numpy; nulls hold arbitrary values."""
    array = flat(column)
    if len(array) == 0:
        return np.empty(0, dtype=dtype)
    values = np.frombuffer(array.buffers()[1], dtype=dtype)
    return values[array.offset : array.offset + len(array)]


def mask_to_numpy(mask: Any) -> npt.NDArray[np.bool_]:
    """Return a boolean column as numpy, False where it is null."""
    import pyarrow as pa

    bits = cast(call("coalesce", mask, _false()), pa.uint8())
    return to_numpy(bits, np.uint8).astype(np.bool_)


def _false() -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(pa.bool_(), 1, [None, pa.py_buffer(b"\0")])[0]
