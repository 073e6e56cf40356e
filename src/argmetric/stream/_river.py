"""The online classifier as a classifier of river."""

from __future__ import annotations

from typing import Any, Self

from argmetric._ground.arguments import install
from argmetric.stream._classifier import OnlineClassifier

try:
    from river.base import Classifier as _RiverBase
except ModuleNotFoundError:
    _RiverBase = None


class RiverClassifier(OnlineClassifier, *([_RiverBase] if _RiverBase else [])):  # type: ignore[misc]
    """`OnlineClassifier` for river's pipelines, metrics and evaluation.

    Parameters and methods are those of `OnlineClassifier`; labels are booleans.
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        if _RiverBase is None:
            raise ModuleNotFoundError(
                f"RiverClassifier needs river: {install('river')}"
            )
        made: Self = super().__new__(cls)
        return made

    @property
    def _multiclass(self) -> bool:
        return False

    @property
    def _is_stochastic(self) -> bool:
        return bool(self.learner == "omcsl")
