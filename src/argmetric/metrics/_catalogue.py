"""The metrics of this package, found by their classes and listed nowhere else."""

from __future__ import annotations

from collections.abc import Callable

from argmetric.metrics import _counts, _fractional, _rates
from argmetric.metrics._base import Metric
from argmetric.metrics._fractional import FBeta

CLASSES: dict[str, type[Metric]] = {
    name: kind
    for module in (_fractional, _rates, _counts)
    for name, kind in vars(module).items()
    if isinstance(kind, type)
    and issubclass(kind, Metric)
    and kind.__module__ == module.__name__
    and not name.startswith("_")
}
_PLAIN = {kind.short_name: kind for kind in CLASSES.values() if kind.short_name}

NAMED: dict[str, Callable[[], Metric]] = {
    "f1": lambda: FBeta(1.0),
    "f2": lambda: FBeta(2.0),
    "f0.5": lambda: FBeta(0.5),
    **_PLAIN,
}
ALIASES = {"f": "f1"} | {
    alias: name for name, kind in _PLAIN.items() for alias in kind.aliases
}
