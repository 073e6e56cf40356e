"""Rows in: matrices, dicts of features, hashed features."""

from __future__ import annotations

import math
import zlib
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import shown, to_float
from argmetric._input.types import Floats
from argmetric.stream._learners import SparseRows, to_sparse


def sparse_rows(matrix: Any, bits: int | None = None) -> SparseRows:
    """A scipy CSR matrix in the types that the kernels are compiled for."""
    columns = hash_columns(matrix.indices, bits) if bits else matrix.indices
    return SparseRows(
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
    )


def hash_columns(columns: npt.NDArray[Any], bits: int) -> npt.NDArray[np.int32]:
    """Column numbers of any size as numbers below 2^bits (Fibonacci hashing)."""
    wide = columns.astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):
        mixed = wide * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - bits)).astype(np.int32)


def hash_rows(dense: Floats, bits: int) -> SparseRows:
    """The rows of a dense matrix over 2^bits hashed columns."""
    rows = to_sparse(dense)
    return SparseRows(rows.indptr, hash_columns(rows.indices, bits), rows.data)


class Vocabulary:
    """Numbers of named features; the columns of an array are named by number."""

    def __init__(
        self, columns: int = 0, names: Mapping[Hashable, int] | None = None
    ) -> None:
        self.columns = columns
        self.numbers: dict[Hashable, int] = dict(names or {})

    def __len__(self) -> int:
        return self.columns + len(self.numbers)

    def find(self, name: Hashable) -> int:
        """Number of a name, -1 where it is unknown."""
        if isinstance(name, int | np.integer) and 0 <= name < self.columns:
            return int(name)
        return self.numbers.get(name, -1)

    def row(
        self, x: Mapping[Hashable, Any], *, bits: int | None, learn: bool
    ) -> SparseRows:
        """One row; text becomes an indicator, unknown names grow the vocabulary."""
        found: list[tuple[int, float]] = []
        new: dict[Hashable, int] = {}  # taken up when the whole row is right
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features by name, not {shown(x)}")
        for name, value in x.items():
            if isinstance(value, str):
                name, value = f"{name}={value}", 1.0
            elif not isinstance(value, Real | np.bool_):
                raise TypeError(
                    f"feature {name!r} is {shown(value)}: a number or text is needed"
                )
            number = to_float(value)
            if not math.isfinite(number):
                raise ValueError(
                    f"feature {name!r} is {shown(value)}; drop or fill it first"
                )
            if bits is not None:
                if isinstance(name, int | np.integer):
                    column = int(hash_columns(np.array([name]), bits)[0])
                else:
                    column = zlib.crc32(str(name).encode(errors="surrogatepass")) >> (
                        32 - min(bits, 32)
                    )
            else:
                column = self.find(name)
                if column < 0 and learn:
                    column = new.setdefault(name, len(self) + len(new))
            if column >= 0 and number != 0.0:
                found.append((column, number))
        self.numbers |= new
        found.sort()  # the order of a dict must not matter, not even in the last bit
        indices = np.array([column for column, _ in found], dtype=np.int32)
        data = np.array([number for _, number in found], dtype=np.float64)
        return SparseRows(np.array([0, len(found)], dtype=np.int64), indices, data)
