"""The two classes of a stream, of which at first only one may be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.labels import (
    class_number,
    distinct,
    label_array,
    one_class,
    refuse_missing,
    refuse_more_than_two,
    usual_pair,
)


def two_classes(
    values: npt.NDArray[Any], classes: Any, pos_label: Any, *, whole: bool = False
) -> npt.NDArray[Any]:
    """The two classes, sorted; of 0/1 and their like one may come later."""
    found = np.unique(values if classes is None else read_classes(classes))
    refuse_more_than_two(found, pos_label)
    if found.size == 2:
        return found
    names = distinct(found)
    if whole and names:
        raise one_class(names[0], "y")
    pair = usual_pair(names)
    if names and pair is not None:
        return np.array(pair, dtype=found.dtype)
    raise ValueError(
        f"the first rows hold one class alone, {names}: name both by "
        "partial_fit(X, y, classes=[negative, positive])"
    )


def read_classes(classes: Any) -> npt.NDArray[Any]:
    """The classes that a caller names, none of them missing."""
    found = label_array(classes, "classes")
    refuse_missing(found, "classes")
    return found


def order_classes(classes: npt.NDArray[Any], pos_label: Any) -> npt.NDArray[Any]:
    """Negative class first; the larger one is positive unless another is named."""
    return classes[::-1] if class_number(classes, pos_label) == 0 else classes
