"""Names of a package that are loaded at their first use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str,
    modules: Mapping[str, tuple[str, ...]],
    for_other_rooms: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from names by module.

    A module is named relative to the package: "_rules", or "parser" of a
    neighbour. Names for other rooms of this library are found, and not listed.
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    everything = sorted(module_of)
    for module, names in (for_other_rooms or {}).items():
        module_of |= dict.fromkeys(names, module)

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f".{module_of[name]}", package), name)

    return load, lambda: everything, everything
