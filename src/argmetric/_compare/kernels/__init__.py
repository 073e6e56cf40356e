"""Compiled loops of this subpackage: numba is loaded at a first use."""

from __future__ import annotations

from typing import Any

from argmetric._ground.lazy import lazy_names

_load, __dir__, __all__ = lazy_names(
    __name__, {"effects": ("bin_odds", "label_likelihood", "rates_of_strata")}
)


def __getattr__(name: str) -> Any:
    kernel = globals()[name] = _load(name)
    return kernel
