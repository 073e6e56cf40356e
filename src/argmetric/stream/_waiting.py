"""Rows that wait for their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.types import BinaryLabels, Floats
from argmetric.stream._learners import Rows, SparseRows, to_sparse

_Row = tuple[npt.NDArray[np.int32], Floats, int]


class WaitingRows:
    """Rows by id, oldest first, with the label that was predicted for each."""

    def __init__(self) -> None:
        self.rows: dict[int, _Row] = {}
        self.next_id = 0
        self.expired_below = 0

    def add(self, rows: Rows, labels: BinaryLabels) -> npt.NDArray[np.int64]:
        """Keep the rows; returns their ids."""
        sparse = rows if isinstance(rows, SparseRows) else to_sparse(rows)
        ids = np.arange(self.next_id, self.next_id + sparse.n)
        ends = sparse.indptr.tolist()
        for i, key in enumerate(ids.tolist()):
            part = slice(ends[i], ends[i + 1])
            one = (
                sparse.indices[part].copy(),
                sparse.data[part].copy(),
                int(labels[i]),
            )
            self.rows[key] = one
        self.next_id += sparse.n
        return ids

    def expire(self, most: int) -> tuple[SparseRows, BinaryLabels] | None:
        """Take out the oldest rows beyond `most`."""
        extra = len(self.rows) - most
        if extra <= 0:
            return None
        oldest = list(self.rows)[:extra]
        self.expired_below = oldest[-1] + 1
        return self.take(np.array(oldest))

    def known(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of the ids still wait; ids never given out, or twice, are refused."""
        keys = ids.tolist()
        if len(set(keys)) < len(keys):
            raise ValueError("ids holds an id twice: a row has one label")
        for key in keys:
            if isinstance(key, bool) or not isinstance(key, int):
                raise TypeError(f"ids must be integers of predict_id, not {key!r}")
            if key not in self.rows and not 0 <= key < self.expired_below:
                what = (
                    "was never given out"
                    if key >= self.next_id or key < 0
                    else ("had its label already")
                )
                raise ValueError(f"id {key} {what}")
        return np.array([key in self.rows for key in keys], dtype=bool)

    def take(self, ids: npt.NDArray[Any]) -> tuple[SparseRows, BinaryLabels]:
        """Take rows out, in the order of the ids."""
        found = [self.rows.pop(key) for key in ids.tolist()]
        lengths = [indices.size for indices, _, _ in found]
        rows = SparseRows(
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([indices for indices, _, _ in found]).astype(np.int32),
            np.concatenate([data for _, data, _ in found]),
        )
        return rows, np.array([label for _, _, label in found], dtype=np.uint8)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Plain arrays of everything that waits."""
        found = list(self.rows.values())
        lengths = [indices.size for indices, _, _ in found]
        return {
            "waiting_numbers": np.array([self.next_id, self.expired_below]),
            "waiting_ids": np.array(list(self.rows), dtype=np.int64),
            "waiting_indptr": np.concatenate([[0], np.cumsum(lengths)]).astype(
                np.int64
            ),
            "waiting_indices": np.concatenate(
                [np.zeros(0, np.int32), *(indices for indices, _, _ in found)]
            ),
            "waiting_data": np.concatenate(
                [np.zeros(0), *(data for _, data, _ in found)]
            ),
            "waiting_labels": np.array([label for *_, label in found], dtype=np.uint8),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], n_features: int
    ) -> WaitingRows:
        """The inverse of `to_arrays`; nothing waits where the arrays are missing.

        Columns from `n_features` on are refused: compiled code would write there.
        """
        waiting = cls()
        if "waiting_numbers" not in arrays:
            return waiting
        waiting.next_id, waiting.expired_below = arrays["waiting_numbers"].tolist()
        ends = arrays["waiting_indptr"].tolist()
        labels = arrays["waiting_labels"].tolist()
        indices = arrays["waiting_indices"]
        if len(indices) != len(arrays["waiting_data"]):
            raise ValueError("rows that wait have more columns than values, or fewer")
        if len(indices) and not 0 <= indices.min() <= indices.max() < n_features:
            raise ValueError(f"a row that waits has a column beyond {n_features}")
        for i, key in enumerate(arrays["waiting_ids"].tolist()):
            part = slice(ends[i], ends[i + 1])
            waiting.rows[key] = (
                np.array(arrays["waiting_indices"][part], dtype=np.int32),
                np.array(arrays["waiting_data"][part], dtype=np.float64),
                int(labels[i]),
            )
        return waiting
