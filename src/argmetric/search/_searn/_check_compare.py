"""Equality of what tasks are made of, for `check_task`."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np


def same(one: Any, other: Any, *, inside: bool = False) -> bool:
    """Equality that also holds for arrays and nan.

    Objects whose class does not say what equality means are equal, unless `inside` asks
    for their attributes to be compared.
    """
    try:
        return _same(one, other, inside)
    except RecursionError:  # an object that holds itself
        return True


def _same(one: Any, other: Any, inside: bool) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() == other.keys()
        return keys and all(_same(one[k], other[k], inside) for k in one)
    if isinstance(one, list | tuple | deque) and type(one) is type(other):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, inside) for a, b in pairs)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if one is other:
        return True
    if type(one) is type(other) and not _comparable(one):
        return not inside or _same(_parts(one), _parts(other), inside)
    try:
        return bool(one == other) or bool(one != one and other != other)
    except (TypeError, ValueError):
        return True


def _comparable(value: Any) -> bool:
    """Whether its class says what equality means."""
    return any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1])


def _parts(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots among them."""
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found
