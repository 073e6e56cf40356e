"""Decisions as sparse matrices, for learners of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Hashes, Integers
from argmetric.search._searn._decisions import Decisions, Rows
from argmetric.search._searn._learners import flat


def joint_rows(decisions: Decisions) -> Rows:
    """One row for each action, from the features of its state and its own."""
    from argmetric.search.kernels.cost_sensitive import fill_joint

    per_state = np.diff(decisions.states.indptr)[decisions.owners]
    size = int((per_state + np.diff(decisions.pairs.indptr)).sum())
    ends = np.empty(decisions.codes.size + 1, dtype=np.int64)
    hashes, values = np.empty(size, dtype=np.uint64), np.empty(size)
    fill_joint(flat(decisions), ends, hashes, values)
    return Rows(ends, hashes, values)


@dataclass(frozen=True, eq=False)
class Columns:
    """The features seen in training, as columns of a sparse matrix."""

    hashes: Hashes

    @classmethod
    def of(cls, rows: Rows) -> Columns:
        """Columns of all features of some rows."""
        return cls(np.unique(rows.hashes))

    def matrix(self, rows: Rows) -> Any:
        """A sparse matrix; features never seen are left out."""
        from scipy.sparse import csr_matrix

        where = np.searchsorted(self.hashes, rows.hashes)
        where = np.minimum(where, max(self.hashes.size - 1, 0))
        known = self.hashes[where] == rows.hashes if self.hashes.size else where < 0
        counts = np.concatenate([[0], np.cumsum(known)])
        shape = (rows.indptr.size - 1, self.hashes.size)
        parts = (rows.values[known], where[known], counts[rows.indptr])
        matrix = csr_matrix(parts, shape=shape)
        matrix.sum_duplicates()
        return matrix


def has_pairs(decisions: Decisions) -> bool:
    """Whether actions have features of their own."""
    return decisions.pairs.hashes.size > 0


def class_table(decisions: Decisions, classes: Hashes) -> Integers:
    """Where the action of each class stands in each decision, -1 where not legal."""
    table = np.full((len(decisions), classes.size), -1, dtype=np.int64)
    if classes.size == 0:
        return table
    column = np.minimum(np.searchsorted(classes, decisions.codes), classes.size - 1)
    known = np.flatnonzero(classes[column] == decisions.codes)
    table[decisions.owners[known], column[known]] = known
    return table


def pairs_of(indptr: Integers) -> tuple[Integers, Integers]:
    """Every two actions of every decision."""
    first: list[npt.NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
    second: list[npt.NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
    sizes = np.diff(indptr)
    for size in np.unique(sizes):
        i, j = np.triu_indices(size, 1)
        starts = indptr[:-1][sizes == size]
        first.append((starts[:, None] + i).ravel())
        second.append((starts[:, None] + j).ravel())
    return np.concatenate(first), np.concatenate(second)
