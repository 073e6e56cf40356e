"""Predicted means of classes in order, such as those of a regression, as probabilities.

A mean m becomes p_c ∝ exp(-(v_c - m)² / 2s²), v the classes as numbers and s² the mean
squared error of the means in a reference. A calibrator fitted to that reference then
finds which classes such means had; it may see other spreads at other means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from argmetric._calibrate.resolve import is_pair
from argmetric._ground.arguments import shown
from argmetric._ground.labels import distinct, label_array, one_per_row, plain_label
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    ReferenceLike,
)
from argmetric._ground.validation import check_length, check_weight, to_floats
from argmetric.classes._calibrators import log_softmax
from argmetric.classes._input import codes_of, given_classes
from argmetric.metrics import check_order

LEAST_SPREAD = 0.25  # of the least step between classes: means without errors
POINTS = 1025  # at which labels of a rule are compared to find its cuts
HALVINGS = 60  # of the step between two of them


@dataclass(frozen=True)
class MeanScores:
    """Class probabilities of predicted means, from their errors in a reference."""

    values: Floats  # the classes as numbers, ascending
    spread: float  # s: root mean squared error
    low: float  # least and greatest mean that probabilities tell apart
    high: float

    def scores(self, mean: Floats) -> Floats:
        """Return p of every class for each mean, of shape (n_rows, n_classes)."""
        m = np.clip(mean, self.low, self.high)[:, None]
        return np.exp(log_softmax(-0.5 * ((self.values - m) / self.spread) ** 2))

    def as_cuts(self, predicts: Callable[[Floats], Integers]) -> dict[str, Any]:
        """Return fields of a rule of these p that make it one of means."""
        cuts, plain = self.cuts(predicts), np.ones(self.values.size)
        fields = {"weights": plain, "offsets": None, "gains": None, "calibrator": None}
        return {"cuts": cuts, **fields}

    def cuts(self, predicts: Callable[[Floats], Integers]) -> Floats:
        """Return the means from which on a rule of these p gives the next classes.

        A cut of class c leaves the fewest points of a grid with c or more below it, or
        less above it: such cuts ascend. Between its two points it is exact.

        Parameters
        ----------
        predicts : callable
            Columns of the labels of p.

        Returns
        -------
        ndarray of shape (n_classes - 1,)
            Ascending; -inf and inf where every mean or none is enough.
        """
        grid = np.linspace(self.low, self.high, POINTS)
        later = np.arange(1, self.values.size)
        is_less = predicts(self.scores(grid))[:, None] < later
        worth = np.cumsum(np.where(is_less, 1, -1), axis=0)
        place = np.argmax(np.vstack([np.zeros_like(later), worth]), axis=0)
        ends = np.concatenate([[-np.inf], grid, [np.inf]])
        low, high = ends[place], ends[place + 1]
        inside = np.isfinite(low) & np.isfinite(high)
        for _ in range(HALVINGS if inside.any() else 0):
            middle = (low[inside] + high[inside]) / 2.0
            is_less = predicts(self.scores(middle)) < later[inside]
            low[inside] = np.where(is_less, middle, low[inside])
            high[inside] = np.where(is_less, high[inside], middle)
        return np.asarray(np.where(np.isfinite(low), high, low))


class MeanCall(NamedTuple):
    """A call with means, as one with class probabilities."""

    mean: Floats
    known: Floats  # means of the labelled rows
    p: Floats
    reference: Any
    classes: list[Any]
    scores: MeanScores


def require_scores(verb: str, p: ArrayLike | None, mean: ArrayLike | None) -> ArrayLike:
    """Return probabilities or means, or refuse that neither was passed."""
    given = p if mean is None else mean
    if given is None:
        raise TypeError(f"{verb} needs p, the class probabilities of the rows, or mean")
    return given


def read_means(
    p: object,
    mean: ArrayLike,
    reference: ReferenceLike | None,
    classes: ClassNames | None,
    *,
    labelled: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
) -> MeanCall:
    """Return the probabilities of means, and of those of the reference.

    Parameters
    ----------
    p, logits
        Refused where they are passed.
    mean : array-like of shape (n_rows,)
    reference : pair (y, mean) or None
    classes : sequence or None
        In order; by default the sorted labels.
    labelled : array-like of shape (n_rows,), optional
        Labels of the rows themselves, where they can stand for the reference.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of these.
    """
    if p is not None or logits:
        raise ValueError("pass either p, class probabilities, or mean, not both")
    m = check_means(mean, "mean")
    if reference is not None and not is_pair(reference):
        raise ValueError(
            "with mean, reference must be a pair (y, mean) of labelled rows, whose "
            f"errors show how far means are off, not {shown(reference)}"
        )
    if reference is None and labelled is None:
        raise ValueError(
            "mean needs reference=(y, mean): labelled rows that the regression was not "
            "trained on, which show how far its means are off"
        )
    y, name, weight = labelled, "y", sample_weight
    known = m
    if reference is not None:
        y, given = reference
        name, weight = "the y of reference=(y, mean)", None
        known = check_means(given, "the mean of reference=(y, mean)")
    array = one_per_row(label_array(y, name), name)
    check_length(
        array, name, known.size, "its mean" if reference is not None else "mean"
    )
    if classes is None:
        names: ClassTuple = tuple(sorted(map(plain_label, distinct(array))))
        check_order("quadratic_kappa", names)
        whole = (known == np.rint(known)).all()
        if whole and any(one % 1 for one in names if isinstance(one, float)):
            raise ValueError(
                f"{name} has fractions and its means are whole numbers: are labels and "
                "means swapped? Else pass classes="
            )
    else:
        names = given_classes(classes)
    if known.size == 0 or len(names) < 2:
        raise ValueError(
            f"{name} has {len(names)} class{'es' * (len(names) != 1)}: pass classes=, "
            "two or more in order"
        )
    values = _numbers_of(names)
    code = codes_of(array, names, array.size, name)
    squares = (values[code] - known) ** 2
    weight = check_weight(weight, squares.shape, "mean")
    spread = float(np.sqrt(np.average(squares, weights=weight)))
    spread = max(spread, LEAST_SPREAD * float(np.diff(values).min()))
    low, high = min(values[0], known.min()), max(values[-1], known.max())
    scores = MeanScores(values, spread, float(low), float(high))
    pair = None if reference is None else (array, scores.scores(known))
    return MeanCall(m, known, scores.scores(m), pair, list(names), scores)


def check_means(mean: ArrayLike, name: str) -> Floats:
    """Return predicted means of shape (n_rows,), or refuse them."""
    values = to_floats(mean, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one predicted mean for each row, not an array of shape "
            f"{values.shape}"
        )
    odd = np.flatnonzero(~np.isfinite(values))
    if odd.size:
        raise ValueError(
            f"{name} is {values[odd[0]]:g} in row {odd[0]}: predicted means are finite "
            "numbers"
        )
    return values


def _numbers_of(classes: ClassTuple) -> Floats:
    """Return the classes as numbers: themselves, or 0, 1, 2 and so on for names."""
    if any(isinstance(one, str | bool) for one in classes):
        return np.arange(len(classes), dtype=np.float64)
    values = np.array(classes, dtype=np.float64)
    if (np.diff(values) <= 0.0).any():
        raise ValueError(
            f"classes must ascend where mean is in their units, not {shown(classes)}"
        )
    return values
