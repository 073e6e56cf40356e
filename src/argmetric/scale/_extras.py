"""Libraries that are installed on demand."""

from __future__ import annotations

import importlib
from types import ModuleType


def load_extra(module: str, extra: str) -> ModuleType:
    """A library of an extra; where it is missing, the error says how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise ModuleNotFoundError(
            f"this needs {library}: pip install 'argmetric[{extra}]'", name=library
        ) from None
