"""The two classes of a stream, of which at first only one may be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._arguments import check_label


def two_classes(
    values: npt.NDArray[Any], classes: Any, *, whole: bool = False
) -> npt.NDArray[Any]:
    """The two classes, sorted; labels 0 and 1 need not both be there at first."""
    found = np.unique(values if classes is None else np.asarray(classes))
    if found.size > 2:
        from sklearn.utils.multiclass import type_of_target

        kind = type_of_target(values, input_name="y", raise_unknown=True)
        kind = "multiclass" if kind == "binary" else kind
        raise ValueError(
            "Only binary classification is supported. The type of the target "
            f"is {kind}: {found.size} classes."
        )
    if found.size == 2:
        return found
    if whole:
        raise ValueError(f"y holds one class alone: {found.tolist()}; two are needed")
    if found.dtype.kind == "b":
        return np.array([False, True])
    if found.dtype.kind in "iuf" and found.size and found[0] in (0, 1):
        return np.array([0, 1], dtype=found.dtype)
    raise ValueError(
        f"the first rows hold one class alone, {found.tolist()}: name both by "
        "partial_fit(X, y, classes=[negative, positive])"
    )


def order_classes(classes: npt.NDArray[Any], pos_label: Any) -> npt.NDArray[Any]:
    """Negative class first; the larger one is positive unless another is named."""
    if pos_label is None:
        return classes
    check_label(pos_label)
    if pos_label not in classes.tolist():
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the classes {classes.tolist()}"
        )
    return classes[::-1] if classes[0] == pos_label else classes


def is_positive(
    values: npt.NDArray[Any], classes: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Where a label is the second class; refused where it is neither."""
    positive = np.asarray(values == classes[1])
    wrong = np.flatnonzero(~(positive | (values == classes[0])))
    if wrong.size:
        shown = values[wrong[0]]
        shown = shown.item() if isinstance(shown, np.generic) else shown
        raise ValueError(
            f"y is {shown!r} at row {wrong[0]}; the classes are {classes.tolist()}"
        )
    return positive
