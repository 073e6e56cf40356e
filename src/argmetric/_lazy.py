"""Names of a package that are loaded at their first use."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any


def lazy_names(
    package: str,
    modules: Mapping[str, tuple[str, ...]],
    for_other_rooms: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from names by module.

    Names for other rooms of this library are found, and not listed.
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    everything = sorted(module_of)
    for module, names in (for_other_rooms or {}).items():
        module_of |= dict.fromkeys(names, module)

    def full_name(module: str) -> str:
        return module if module.startswith("argmetric.") else f"{package}.{module}"

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(full_name(module_of[name])), name)

    return load, lambda: everything, everything


def lazy_face(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from its own imports.

    The imports that stand below ``if TYPE_CHECKING:`` in `file`, the package's
    ``__init__.py``, are the one list of its names: type checkers follow them, and here
    they are read from the source and followed at the first use of a name.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    modules: dict[str, tuple[str, ...]] = {}
    for node in chain.from_iterable(blocks):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = (alias.name for alias in node.names)
            modules[node.module] = (*modules.get(node.module, ()), *names)
    return lazy_names(package, modules)
