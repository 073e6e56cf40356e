"""BinaryLabels that come later, in any order, or never."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from argmetric._types import BinaryLabels
from argmetric.stream._core import NO_LABELS, ONE, StreamCore
from argmetric.stream._learners import SparseRows


class DelayedLabels(StreamCore):
    """`predict_id` now, `feedback` later."""

    def predict_id(self, X: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Predict, and keep the rows until `feedback` brings their labels.

        Returns
        -------
        ids : ndarray of int
            For `feedback`. Rows beyond `waiting` expire, oldest first.
        labels : ndarray
            As of `predict`.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        labels, _ = self._chunk(rows, NO_LABELS, ONE, 0, learn=False)
        ids = self._waiting.add(rows, labels)
        expired = self._waiting.expire(self.waiting)
        if expired is not None:
            self.n_expired_ += expired[1].size
            if self.expired == "negative":
                self._late(*expired, np.zeros(expired[1].size, dtype=np.uint8))
        return ids, self.classes_[labels]

    def feedback(self, ids: Any, y: Any) -> int:
        """Learn from labels of earlier predictions, in the order given.

        Parameters
        ----------
        ids : int or array-like of int
            From `predict_id`, in any order.
        y : label or array-like
            Their labels.

        Returns
        -------
        int
            Rows learned from; labels of expired rows come too late and are passed over.
        """
        check_is_fitted(self)
        wanted = np.atleast_1d(np.asarray(ids))
        truth = self._truth(np.atleast_1d(np.asarray(y)), None, wanted.size)
        known = self._waiting.known(wanted)
        self.n_late_ += int((~known).sum())
        if known.any():
            rows, labels = self._waiting.take(wanted[known])
            self._late(rows, labels, truth[known])
        return int(known.sum())

    def _late(
        self, rows: SparseRows, predicted: BinaryLabels, truth: BinaryLabels
    ) -> None:
        """Learn, and let the score count the predictions that were handed out."""
        now, _ = self._run(rows, truth, ONE, 0)
        change = predicted.astype(np.int64) - now
        kernels, model = self._learner.kernels, self._state.model
        model[kernels.PREDICTED] += change.sum()
        model[kernels.HITS] += (change * truth).sum()
