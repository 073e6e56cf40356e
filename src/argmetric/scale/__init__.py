"""The same verbs over data larger than memory, and over a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.scale._decide import decide as decide
    from argmetric.scale._executors import Dask as Dask
    from argmetric.scale._executors import Processes as Processes
    from argmetric.scale._executors import Threads as Threads
    from argmetric.scale._memory import check_memory as check_memory
    from argmetric.scale._result import ScaledDecision as ScaledDecision
    from argmetric.scale._tasks import Progress as Progress

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_decide": ("decide",),
        "_executors": ("Dask", "Processes", "Threads"),
        "_result": ("ScaledDecision",),
        "_tasks": ("Progress",),
    },
    for_other_rooms={"_memory": ("check_memory",)},
)
