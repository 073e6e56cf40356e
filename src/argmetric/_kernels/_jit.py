"""The decorators of every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

Function = TypeVar("Function", bound=Callable[..., object])
_OPTIONS = {"nogil": True, "fastmath": {"contract"}}
_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def kernel(function: Function) -> Function:
    """Compile serially, without the GIL, with a disk cache where one can be written.

    numba keys its cache on the caller's file alone: a kernel file must hold every
    compiled function that it calls. No explicit signatures (frames hand out
    read-only arrays), no prange (threads stand outside). Of fastmath only the fusing
    of a product and a sum into one rounding: it never reorders.
    """
    return _compiled(function, _OPTIONS)


def borrowing(function: Function) -> Function:
    """A kernel that makes no array: references to those it is given are not counted.

    Counting is atomic, and costs a short loop body a fifth of its time.
    """
    return _compiled(function, _OPTIONS | _UNCOUNTED)


def unfused(function: Function) -> Function:
    """A kernel that rounds every product: to the bit what numpy gives."""
    return _compiled(function, {"nogil": True})


def inlined(function: Function) -> Function:
    """Copy a small function into the kernels that call it, once for every row.

    numba counts references to the arrays of a call, which may cost more than the call.
    """
    return cast(Function, numba.njit(inline="always", **_OPTIONS)(function))


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # no folder to cache in, such as a read-only installation
        return cast(Function, numba.njit(**options)(function))
