"""Functions of argmetric for data larger than memory.

Experimental: names and parameters may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.scale._lazy import LazyDecision as LazyDecision
    from argmetric.scale._lazy import LazyTable as LazyTable
    from argmetric.scale._memory import check_memory as check_memory
    from argmetric.scale._open import Files as Files
    from argmetric.scale._open import open as open
    from argmetric.scale._result import ScaledClassDecision as ScaledClassDecision
    from argmetric.scale._result import ScaledDecision as ScaledDecision
    from argmetric.scale._scan import columns_of as columns_of
    from argmetric.scale._sources import batches_of as batches_of
    from argmetric.scale._sources import find_files as find_files
    from argmetric.scale._sources import inspect_file as inspect_file

if not TYPE_CHECKING:  # a misspelt name is an error for type checkers
    __getattr__, __dir__, __all__ = lazy_names(
        __name__,
        {
            "_lazy": ("LazyDecision", "LazyTable"),
            "_open": ("Files", "open"),
            "_result": ("ScaledClassDecision", "ScaledDecision"),
        },
        for_other_rooms={
            "_memory": ("check_memory",),
            "_scan": ("columns_of",),
            "_sources": ("batches_of", "find_files", "inspect_file"),
        },
    )
