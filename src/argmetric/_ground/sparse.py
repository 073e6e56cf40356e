"""Sparse matrices whose parts agree: compiled code looks at no bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def is_sparse(values: object) -> bool:
    """Whether this is a scipy sparse matrix or array, without importing scipy."""
    return type(values).__module__.startswith("scipy.sparse")


def check_structure(matrix: Any, name: str) -> None:
    """Refuse entries outside of a matrix, and parts that do not fit: scipy may not."""
    if not is_sparse(matrix):
        return
    if len(matrix.shape) != 2:  # a vector: who needs a matrix refuses it
        return
    if matrix.format == "coo":
        for axis, numbers in (("row", matrix.row), ("column", matrix.col)):
            _check_inside(numbers, matrix.shape[axis == "column"], name, axis)
        if not matrix.row.size == matrix.col.size == matrix.data.size:
            raise ValueError(
                f"{name} has {matrix.row.size} rows, {matrix.col.size} columns and "
                f"{matrix.data.size} values of its entries"
            )
    elif matrix.format in ("csr", "csc", "bsr"):
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        rows, columns = (
            length // size for length, size in zip(matrix.shape, block, strict=True)
        )
        by_column = matrix.format == "csc"
        count, width = (columns, rows) if by_column else (rows, columns)
        ends, size = matrix.indptr, len(matrix.data)
        if ends.shape != (count + 1,) or matrix.indices.shape != (size,):
            raise ValueError(
                f"{name} has {ends.size} values in indptr and {matrix.indices.size} in "
                f"indices; {count + 1} and {size} are needed"
            )
        if ends[0] != 0 or ends[-1] > size or (ends[1:] < ends[:-1]).any():
            raise ValueError(
                f"{name} has an indptr that does not rise from 0 to its {size} stored "
                "values"
            )
        axes = ("column", "row") if by_column else ("row", "column")
        stored = matrix.indices[: ends[-1]]
        _check_inside(stored, width, name, axes[1], axes[0], ends)


def to_dense(matrix: Any, name: str) -> npt.NDArray[Any]:
    """All cells of a sparse matrix."""
    check_structure(matrix, name)
    return np.asarray(matrix.toarray())


def entry_place(matrix: Any, entry: int) -> str:
    """Row and column of a stored value of a compressed matrix, in words."""
    major = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    minor = int(matrix.indices[entry])
    row, column = (minor, major) if matrix.format == "csc" else (major, minor)
    return f"row {row}, column {column}"


def _check_inside(
    numbers: npt.NDArray[Any],
    width: int,
    name: str,
    axis: str,
    other: str = "entry",
    ends: Any = None,
) -> None:
    if not numbers.size or (numbers.min() >= 0 and numbers.max() < width):
        return
    wrong = int(np.flatnonzero((numbers < 0) | (numbers >= width))[0])
    at = wrong if ends is None else int(np.searchsorted(ends, wrong, side="right")) - 1
    raise ValueError(
        f"{name} has {axis} {numbers[wrong]} at {other} {at}, but {width} {axis}s"
    )
