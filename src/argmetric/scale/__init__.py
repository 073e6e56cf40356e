"""Functions of argmetric for data larger than memory, and for a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.scale._executors import Dask as Dask
    from argmetric.scale._executors import Processes as Processes
    from argmetric.scale._executors import Threads as Threads
    from argmetric.scale._executors import check_memory as check_memory
    from argmetric.scale._open import Files as Files
    from argmetric.scale._open import open as open
    from argmetric.scale._reading import columns_of as columns_of
    from argmetric.scale._result import ScaledClassDecision as ScaledClassDecision
    from argmetric.scale._result import ScaledDecision as ScaledDecision
    from argmetric.scale._result import ScaledScore as ScaledScore
    from argmetric.scale._sources import batches_of as batches_of
    from argmetric.scale._sources import find_files as find_files
    from argmetric.scale._sources import look as look
    from argmetric.scale._tasks import Progress as Progress

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_executors": ("Dask", "Processes", "Threads"),
            "_open": ("Files", "open"),
            "_result": ("ScaledClassDecision", "ScaledDecision", "ScaledScore"),
            "_tasks": ("Progress",),
        },
        for_other_rooms={
            "_executors": ("check_memory",),
            "_reading": ("columns_of",),
            "_sources": ("batches_of", "find_files", "look"),
        },
    )
