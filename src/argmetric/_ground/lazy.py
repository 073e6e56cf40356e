"""Names that are loaded at their first use, and libraries that may be missing."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

# Libraries that not every user needs: the extra that brings a module, and whose it is
# where that is named otherwise
_EXTRAS = {
    **{name: name for name in ("pandas", "polars", "sklearn", "mlflow", "haystack")},
    **{name: name for name in ("monai", "lightning")},
    **dict.fromkeys(("cyclopts", "rich"), "cli"),
    **dict.fromkeys(("dask", "distributed", "cloudpickle", "fsspec"), "dask"),
    "pyarrow": "files",
    "pyspark": "spark",
    "langchain_core": "langchain",
    "llama_index": "llama-index",
}
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def missing_library(error: ModuleNotFoundError) -> str | None:
    """Return which library is missing and how to install it; None if it is no extra."""
    library = (error.name or "").partition(".")[0]
    if library not in _EXTRAS:
        return None
    from argmetric._ground.arguments import install

    named = _DISTRIBUTIONS.get(library, library)
    return f"this needs {named}: {install(_EXTRAS[library])}"


def load_module(name: str, package: str | None = None) -> ModuleType:
    """Import a module; an error names the extra that installs a missing library."""
    try:
        return importlib.import_module(name, package)
    except ModuleNotFoundError as error:
        missing = missing_library(error)
        if missing is None:
            raise
        raise ModuleNotFoundError(missing, name=error.name) from None


def lazy_names(
    package: str,
    modules: Mapping[str, str | tuple[str, ...]],
    for_other_rooms: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, loading lazily.

    A module is named relative to the package: "_rules", or "parser" of a neighbour.
    Its names are a tuple, or a text with blanks between them. Names for other
    subpackages are found, and not listed.
    """
    module_of: dict[str, str] = {}
    for module, names in modules.items():
        every = names.split() if isinstance(names, str) else names
        module_of |= dict.fromkeys(every, module)
    everything = sorted(module_of)
    for module, names in (for_other_rooms or {}).items():
        module_of |= dict.fromkeys(names, module)

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(load_module(f".{module_of[name]}", package), name)

    return load, lambda: everything, everything
