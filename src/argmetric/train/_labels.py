"""Labels and weights of a training set, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._types import Floats
from argmetric._validation import check_weight


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
    if classes.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{kind}: wrap the model in sklearn.multiclass.OneVsRestClassifier"
        )
    if classes.size < 2:
        raise ValueError(
            "rows of two classes are needed, but y contains only one class: "
            f"{classes.tolist()[0]!r}"
        )
    known = classes.tolist()
    if pos_label is None:
        return Labels(classes, classes[1])
    if pos_label not in known:
        words = " and ".join(map(repr, known))
        raise ValueError(f"pos_label={pos_label!r} is not in y, which holds {words}")
    return Labels(classes, classes[known.index(pos_label)])


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
    for size, label in zip(sizes * factor, labels.classes.tolist(), strict=True):
        if size == 0:
            raise ValueError(
                f"the weights of all rows of class {label!r} are zero; rows of two "
                "classes are needed"
            )
    return np.asarray(weight * np.where(second, factor[1], factor[0]))


def _sample_weights(weight: Any, n: int) -> Floats:
    """Finite weights, none negative, one per row."""
    checked = check_weight(weight, (n,), "y")
    return np.ones(n) if checked is None else checked
