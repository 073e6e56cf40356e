"""Values that pass for probabilities and are something else."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.types import Floats
from argmetric._ground.validation import ROUNDING, Probabilities

VALUES_TO_JUDGE_BY = 20  # values of which none is a fraction by accident
MAJORITY = 0.7  # share of the rows from which a class is plainly the common one
# Names that say themselves that they are the positive class.
_POSITIVE = frozenset({"1", "t", "true", "y", "yes", "p", "pos", "positive"})
ENOUGH_ROWS = 3  # rows of two columns that do not sum to 1 by accident
_PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str) -> None:
    """A warning that points at the line outside of the package that is to blame."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def refuse_two_classes(scores: Floats, name: str) -> None:
    """Refuse both columns of `predict_proba` as labels: they sum to 1 in every row."""
    if scores.ndim != 2 or scores.shape[1] != 2 or scores.shape[0] < ENOUGH_ROWS:
        return
    first = scores[:, 0]
    if (np.abs(first + scores[:, 1] - 1.0) > ROUNDING).any():
        return
    inside = first[(first > 0.0) & (first < 1.0)]
    if inside.size and (inside != inside[0]).any():
        raise ValueError(
            f"{name} has two columns that sum to 1 in all {scores.shape[0]:,} rows, as "
            f"predict_proba gives them: pass {name}[:, 1], the probability of the "
            "positive class"
        )


def warn_of_scale(
    scores: Floats,
    *,
    logits: bool,
    given: Any = None,
    name: str = "p",
    zeros: bool = False,
    rows: int | None = None,
) -> None:
    """Warn of labels among probabilities, and of probabilities among log-odds.

    `given` may know its scale; `zeros` lie besides the scores, as in a sparse matrix;
    `rows` is their number where the scores are distinct.
    """
    n = scores.size if rows is None else rows
    is_known = isinstance(given, Probabilities) and given.scale_is_known
    if is_known or n < VALUES_TO_JUDGE_BY:
        return
    few = scores.ravel()[
        :VALUES_TO_JUDGE_BY
    ]  # tell of nearly all scores that nothing is wrong
    if few.min() < 0.0 or few.max() > 1.0 or not (logits or np.isin(few, (0, 1)).all()):
        return
    if scores.min() < 0.0 or scores.max() > 1.0:
        return
    if logits:
        warn_user(
            f"logits=True, but all {n:,} values of {name} lie between 0 and "
            "1: if they are probabilities, leave logits=True out"
        )
        return
    ones = scores == 1.0
    both = ones.any() and (zeros or not ones.all())
    if both and (ones | (scores == 0.0)).all():
        warn_user(
            f"{name} has {n:,} values, all of them 0 or 1: are these "
            "predicted labels? They are taken for certain; pass predict_proba(X)[:, 1] "
            "instead, and calibrate a model that gives no other probabilities"
        )


def warn_of_common_class(
    classes: npt.NDArray[Any], positive: int, y: npt.NDArray[Any]
) -> None:
    """Warn of a positive class that only the alphabet chose, and most rows have."""
    names = classes.tolist()
    chosen, other = names[positive], names[1 - positive]
    if not isinstance(chosen, str) or chosen.strip().lower() in _POSITIVE:
        return
    share = float(np.mean(y == classes[positive]))
    if y.size >= VALUES_TO_JUDGE_BY and share >= MAJORITY:
        warn_user(
            f"the positive class is {chosen!r}, the last in sorted order, and "
            f"{share:.0%} of the rows have it: pass pos_label={other!r} if that is the "
            f"class to find, or pos_label={chosen!r} if not"
        )
