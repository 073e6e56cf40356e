"""Values as JSON holds them: infinities and nan as text, arrays as lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from argmetric._ground.types import Interval

_NOT_FINITE = ("nan", "inf", "-inf")


def plain(value: object, name: str = "", nan: str | None = "nan") -> Any:
    """Return a value for JSON: infinities as text, nan as `nan`, arrays as lists."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        return nan if math.isnan(value) else str(float(value))
    if isinstance(value, np.generic):
        return plain(value.item(), name, nan)
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        finite = kind in "biu" or (kind == "f" and np.isfinite(value).all())
        return value.tolist() if finite else plain(value.tolist(), name, nan)
    if hasattr(value, "_asdict") and not isinstance(value, Interval):
        value = value._asdict()
    if isinstance(value, list | tuple):
        return [plain(item, name, nan) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item, name, nan) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    kind = type(value).__name__
    raise TypeError(f"{name or 'a value'} of type {kind} cannot be saved: {value!r}")


def restore_values(value: object) -> Any:
    """Return the numbers, texts and tuples that `plain` wrote."""
    if isinstance(value, list):
        return tuple(map(restore_values, value))
    return float(value) if isinstance(value, str) and value in _NOT_FINITE else value
