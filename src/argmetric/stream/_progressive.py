"""The score of a stream: of all of it, of its last rows, or fading."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import check_count, check_number
from argmetric._input.labels import clear_labels, one_per_row
from argmetric._input.types import Floats
from argmetric._results.display import Lines, Shown
from argmetric.metrics import MetricLike, get_metric
from argmetric.stream._rule_base import LONGEST


class ProgressiveScore(Shown):
    """A metric of predictions that were made before their labels were seen.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        Any metric of the counts.
    window : int, optional
        Score only the last `window` rows.
    fading : float, optional
        Every row counts 1 - 1/fading as much as the one after it.

    Examples
    --------
    >>> from argmetric.stream import ProgressiveScore
    >>> score = ProgressiveScore("f1")
    >>> score.update([1, 0, 1], [1, 1, 1])
    0.8
    >>> score.value
    0.8
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        window: int | None = None,
        fading: float | None = None,
    ) -> None:
        if window is not None and fading is not None:
            raise ValueError("give window or fading, not both")
        if window is not None:
            window = check_count(window, "window", low=1, high=LONGEST)
        if fading is not None:
            fading = check_number(fading, "fading")
            if fading <= 1.0:
                raise ValueError(f"fading must be a number above 1, not {fading!r}")
        self.metric = get_metric(metric)
        self.window, self.fading = window, fading
        self.counts: Floats = np.zeros(4)  # tp, k, t, n
        self._ring = np.zeros((4, window or 0))  # a column of counts for each row
        self._place = 0

    def update(self, y_true: Any, y_pred: Any) -> float:
        """Count a block of labels, 0 and 1, and return the value.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,), or one label each
            The size of the blocks does not change the counts.
        """
        true = one_per_row(clear_labels(_column(y_true), "y_true"), "y_true")
        pred = clear_labels(_column(y_pred), "y_pred", shape=true.shape, other="y_true")
        if self.window is not None:
            self._slide(_counts(true, pred)[:, -self.window :])
        elif self.fading is not None:
            self._fade(_counts(true, pred))
        else:
            self.counts = self.counts + _counts(true, pred).sum(axis=1)
        return self.value

    def _slide(self, rows: Floats) -> None:
        """New rows take the places of the oldest ones; empty places count nothing."""
        places = (self._place + np.arange(rows.shape[1])) % self._ring.shape[1]
        leaving = self._ring[:, places].sum(axis=1)
        self.counts = self.counts - leaving + rows.sum(axis=1)
        self._ring[:, places] = rows
        self._place = int(self._place + rows.shape[1]) % self._ring.shape[1]

    def _fade(self, rows: Floats) -> None:
        """Row by row: counts ← (1 - 1/fading)·counts + row."""
        from scipy.signal import lfilter

        assert self.fading is not None
        keep = 1.0 - 1.0 / self.fading
        if rows.shape[1]:
            state = keep * self.counts[:, None]
            steps, _ = lfilter([1.0], [1.0, -keep], rows, axis=1, zi=state)
            self.counts = steps[:, -1]

    @property
    def value(self) -> float:
        """The metric of the remembered rows."""
        return float(self.metric.value(*self.counts))

    def _lines(self) -> Lines:
        known = {"window": self.window, "fading": self.fading}
        tp, k, t, n = self.counts
        return [
            (self.metric.name, f"{self.value:.4f}"),
            *((name, f"{x:,}") for name, x in known.items() if x is not None),
            ("rows", f"{n:,.6g}"),
            ("true positives", f"{tp:,.6g} of {k:,.6g} predicted, {t:,.6g} actual"),
        ]

    def __repr__(self) -> str:
        kind = ""
        if self.window is not None:
            kind = f", window={self.window}"
        if self.fading is not None:
            kind = f", fading={self.fading:g}"
        return f"ProgressiveScore({self.metric.name}={self.value:.4f}{kind})"


def _counts(true: npt.NDArray[np.bool_], pred: npt.NDArray[np.bool_]) -> Floats:
    """One row per count: tp, k, t, n."""
    return np.stack([true & pred, pred, true, np.ones_like(true)]).astype(np.float64)


def _column(labels: Any) -> Any:
    """A label alone as a column of one."""
    return [labels] if np.isscalar(labels) else labels
