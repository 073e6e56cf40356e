"""Arrays by what they hold: one name for each, everywhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SingleFloats = npt.NDArray[np.float32]  # weights of compiled taggers
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
BinaryLabels = npt.NDArray[np.uint8]  # 0 and 1, as kernels take them
Hashes = npt.NDArray[np.uint64]
AnyArray = npt.NDArray[Any]


class Interval(NamedTuple):
    """Two ends of what a number lies between: a plain pair, with names."""

    low: Any
    high: Any
