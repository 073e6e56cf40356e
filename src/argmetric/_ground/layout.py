"""From what the user hands in to flat segments, and back to labels of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_structure, entry_place, shown
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import (
    check_choice,
    check_scores,
    is_sparse,
    read_scores,
    refuse_two_classes,
    same_kind,
    warn_of_classes,
)
from argmetric._ground.validation import column_names as column_names

Average = Literal["groups", "pooled", "samples", "macro", "micro"]


ROWS_AT_ONCE = 512  # of a transpose: 3 ns a number, not 8
UNITS = {"samples": "rows", "macro": "labels"}  # what is averaged over, else groups


class Layout(NamedTuple):
    """Scores of all segments and how to give labels back."""

    scores: Floats  # probabilities or logits, one per explicit item
    # indptr, sizes: where each segment begins among `rows`, and how many members it has
    indptr: Integers
    sizes: Integers
    # positions in `scores` of the segments' items; None: they lie in order
    rows: Integers | None
    ids: npt.NDArray[Any] | None  # names of the segments, where there is more than one
    average: str | None  # how the segments are combined; None for a single vector
    # from 0/1 per explicit item to labels of the kind of the input
    restore: Callable[[npt.NDArray[Any]], Any]
    # from an array in the shape of the input to its explicit items
    select: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    shape: tuple[int, ...]  # shape of the input
    # the groups that were given: who lays the same rows out again may pass them
    coded: Groups | None = None

    @property
    def single(self) -> bool:
        return self.ids is None

    @property
    def largest(self) -> int:
        """Members of the largest segment."""
        return int(self.sizes[0] if self.single else self.sizes.max())

    @property
    def sparse(self) -> bool:
        """Whether some members are implicit certain negatives."""
        members = self.sizes[0] if self.single else self.sizes.sum()
        return bool(members != self.scores.size)

    def segment_rows(self, first: int, last: int) -> Integers:
        """Return the positions of the rows of segments first … last - 1."""
        at = self.segment(first, last)
        return np.arange(at.start, at.stop) if isinstance(at, slice) else at

    def segment(self, first: int, last: int) -> slice | Integers:
        """Return `segment_rows`, as a slice where the rows are contiguous."""
        at = slice(int(self.indptr[first]), int(self.indptr[last]))
        return at if self.rows is None else self.rows[at]


def lay_out(
    p: object,
    *,
    groups: object = None,
    average: Average | None = None,
    logits: bool = False,
    name: str = "p",
) -> Layout:
    """Check the input and lay it out in segments; messages call it by its name."""
    if is_sparse(p):
        return _sparse(p, groups, average, logits, name)
    array = read_scores(p, name, logits=logits)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have one or two dimensions, not {array.ndim}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: there is nothing to decide")
    if array.ndim == 2:
        refuse_two_classes(array, name)
        if not logits and name == "p":
            warn_of_classes(array)
        return _matrix(array, p, groups, average, name)
    if groups is None:
        if average is not None:
            raise ValueError(
                f"average={shown(average)} needs groups, or {name} as a matrix"
            )
        return _one(array, array.shape, None, same_kind(p))
    average = "groups" if average is None else average  # groups alone: their mean
    check_choice(average, "average", ("groups", "pooled"))
    coded = code_groups(groups, array.size, name)  # a wrong column is always an error
    if average == "pooled":
        return _one(array, array.shape, "pooled", same_kind(p), coded)
    return Layout(
        scores=array,
        indptr=coded.indptr,
        sizes=np.diff(coded.indptr),
        rows=coded.rows,
        ids=coded.ids,
        average="groups",
        restore=same_kind(p),
        select=np.ravel,
        shape=array.shape,
        coded=coded,
    )


def _one(
    scores: Floats,
    shape: tuple[int, ...],
    average: str | None,
    restore: Callable[[npt.NDArray[Any]], Any],
    coded: Groups | None = None,
) -> Layout:
    bounds, size = _whole(scores.size)
    return Layout(
        scores, bounds, size, None, None, average, restore, np.ravel, shape, coded
    )


@lru_cache(maxsize=256)  # services ask for the same sizes again
def _whole(size: int) -> tuple[Integers, Integers]:
    """Return bounds and size of a single segment of all rows, as read-only arrays."""
    return np.array([0, size]), np.array([size])


def check_matrix_average(
    groups: object, average: str | None, p: object = None, name: str = "p"
) -> None:
    """Refuse groups beside a matrix, and an average that a matrix cannot have."""
    if groups is not None:
        raise ValueError(
            "groups go with one column; for a matrix use "
            "average='samples', 'macro' or 'micro'"
        )
    if average is None:
        names = column_names(p)
        way = (
            "" if names is None else f"pass one column, such as {name}[{names[0]!r}]; "
        )
        raise ValueError(
            f"{way}{name} is a matrix, and a matrix needs average='samples' (mean over "
            "rows), 'macro' (mean over columns) or 'micro' (all cells together); for "
            "one of several classes per row call argmetric.classes.decide or "
            "argmetric.classes.forecast"
        )
    check_choice(average, "average", ("samples", "macro", "micro"))


def _matrix(
    array: Floats, p: object, groups: object, average: str | None, name: str
) -> Layout:
    """Return the layout of a matrix: rows, columns or all cells as segments."""
    check_matrix_average(groups, average, p, name)
    shape, kind = array.shape, same_kind(p)
    if average == "micro":
        return _one(
            array.ravel(), shape, "micro", lambda flat: kind(flat.reshape(shape))
        )
    by_row = average == "samples"
    count, length = shape if by_row else shape[::-1]

    def select(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(
            values if by_row else transpose_blocks(values)
        ).ravel()

    def restore(flat: npt.NDArray[Any]) -> object:
        table = flat.reshape(count, length)
        return kind(table if by_row else transpose_blocks(table))

    names = None if by_row else column_names(p)
    ids = np.arange(count) if names is None else names
    return Layout(
        scores=select(array),
        indptr=np.arange(count + 1) * length,
        sizes=np.full(count, length),
        rows=None,
        ids=ids,
        average=average,
        restore=restore,
        select=select,
        shape=shape,
    )


def transpose_blocks(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the transpose in row-major order, copied by blocks that fit in cache."""
    if table.flags.f_contiguous:
        return table.T
    out = np.empty(table.shape[::-1], dtype=table.dtype)
    for first in range(0, table.shape[0], ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        out[:, part] = table[part].T
    return out


def _sparse(
    p: Any, groups: object, average: str | None, logits: bool, name: str
) -> Layout:
    """Check a sparse matrix of p and lay it out; absent cells have p = 0."""
    if len(p.shape) != 2:
        raise ValueError(
            f"{name} is sparse with {len(p.shape)} dimension(s): pass a matrix, or "
            f"{name}.toarray()"
        )
    check_matrix_average(groups, average, name=name)
    if logits:
        raise ValueError("a sparse matrix holds probabilities: an absent cell is p = 0")
    check_structure(p, name)
    matrix = p.tocsc() if average == "macro" else p.tocsr()
    if matrix is p:
        matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.sort_indices()
    if 0 in matrix.shape:
        raise ValueError(f"{name} is empty: there is nothing to decide")
    if matrix.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers, not {matrix.dtype}")
    scores = np.ascontiguousarray(matrix.data, dtype=np.float64)
    scores = check_scores(
        scores, name, logits=False, where=lambda entry: entry_place(matrix, entry)
    )
    wanted = p.format

    def restore(flat: npt.NDArray[Any]) -> object:
        # A copy: zeros are removed in place, and `select` needs the entries of p.
        parts = (flat, matrix.indices, matrix.indptr)
        labels = type(matrix)(parts, shape=matrix.shape, copy=True)
        labels.eliminate_zeros()
        return labels.asformat(wanted)

    def select(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        major = np.repeat(np.arange(matrix.indptr.size - 1), np.diff(matrix.indptr))
        pair = (
            (matrix.indices, major) if average == "macro" else (major, matrix.indices)
        )
        return np.asarray(values[pair])

    if average == "micro":
        bounds, size = np.array([0, scores.size]), np.array([np.prod(matrix.shape)])
        ids = None
    else:
        bounds = matrix.indptr.astype(np.int64)
        count = bounds.size - 1
        size = np.full(count, np.prod(matrix.shape) // count)
        ids = np.arange(count)
    shape = tuple(int(length) for length in matrix.shape)
    return Layout(scores, bounds, size, None, ids, average, restore, select, shape)
