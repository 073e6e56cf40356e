"""Labels and weights of a training set, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.labels import (
    class_number,
    one_class,
    plain_label,
    refuse_more_than_two,
)
from argmetric._input.types import Floats
from argmetric._input.validation import check_weight


@dataclass(frozen=True)
class Labels:
    """The two classes, sorted, and the one that the metric calls positive."""

    classes: npt.NDArray[Any]
    positive: Any


def read_labels(y: npt.NDArray[Any], pos_label: Any) -> Labels:
    """The classes of y; anything but two is refused."""
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    check_classification_targets(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold one label per row, not {kind} targets")
    classes = np.unique(y)
    refuse_more_than_two(classes, pos_label)
    return Labels(classes, classes[class_number(classes, pos_label)])


def read_weights(
    y: npt.NDArray[Any], labels: Labels, sample_weight: Any, class_weight: Any
) -> Floats:
    """Weights of the rows times those of their classes; both classes must weigh."""
    weight = _sample_weights(sample_weight, y.shape[0])
    second = y == labels.classes[1]
    sizes = np.array([weight[~second].sum(), weight[second].sum()])
    factor = np.ones(2)
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = sizes.sum() / (2.0 * np.where(sizes > 0, sizes, 1.0))
    elif class_weight is not None:
        from sklearn.utils import compute_class_weight

        factor = compute_class_weight(class_weight, classes=labels.classes, y=y)
        if not (np.isfinite(factor).all() and (factor >= 0).all()):
            raise ValueError(f"class_weight must not be negative: {class_weight!r}")
    there = np.flatnonzero(sizes * factor)
    if there.size == 0:
        raise ValueError("all weights are zero: there is nothing to learn from")
    if there.size == 1:
        label = plain_label(labels.classes[there[0]])
        raise one_class(label, "y", "label of positive weight")
    return np.asarray(weight * np.where(second, factor[1], factor[0]))


def _sample_weights(weight: Any, n: int) -> Floats:
    """Finite weights, none negative, one per row."""
    checked = check_weight(weight, (n,), "y")
    return np.ones(n) if checked is None else checked
