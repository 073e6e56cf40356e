"""The losses of all counts that a row with t positives can come to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Floats, Integers
from argmetric._text.common import row_losses
from argmetric.metrics import Metric

_ROUNDING = 1e-12


class LossTable(NamedTuple):
    """Losses by counts, as kernels take them.

    Attributes
    ----------
    losses : ndarray
        At starts[t] + tp · (n_labels - t + 1) + fp, for true and false positives.
    starts : ndarray of shape (n_labels + 1,)
        -1 for a t that no row has.
    in_corner : ndarray of shape (n_labels + 1,)
        Whether the loss of rows with t positives never grows with tp nor falls with
        fp. The least in reach then needs no search.
    """

    losses: Floats
    starts: Integers
    in_corner: npt.NDArray[np.bool_]


def loss_table(metric: Metric, n_labels: int, totals: Integers) -> LossTable:
    """The losses of rows with so many positives: O(n_labels²) for each of `totals`."""
    starts = np.full(n_labels + 1, -1, dtype=np.int64)
    in_corner = np.zeros(n_labels + 1, dtype=np.bool_)
    parts, size = [], 0
    for t in np.unique(totals).tolist():
        tp, fp = np.arange(t + 1)[:, None], np.arange(n_labels - t + 1)[None, :]
        losses = np.asarray(row_losses(metric, tp, tp + fp, t, n_labels))
        if not np.isfinite(losses).all():
            hits, wrong = np.argwhere(~np.isfinite(losses))[0].tolist()
            raise ValueError(
                f"{metric.name} is not finite at tp={hits}, k={hits + wrong}, t={t}, "
                f"n={n_labels}: a row cannot be judged by it"
            )
        worse = (np.diff(losses, axis=0) > _ROUNDING).any()
        better = (np.diff(losses, axis=1) < -_ROUNDING).any()
        in_corner[t] = not (worse or better)
        starts[t] = size
        parts.append(losses.ravel())
        size += losses.size
    return LossTable(np.concatenate(parts), starts, in_corner)
