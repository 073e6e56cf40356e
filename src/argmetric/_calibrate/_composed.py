"""Maps made of other maps, and of functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from argmetric._calibrate._base import Calibrator
from argmetric._input.odds import expit, logit
from argmetric._input.types import Floats
from argmetric._input.validation import check_scores, to_floats


@dataclass(frozen=True, repr=False, eq=False)
class ChainedMap(Calibrator):
    """Several maps, one after the other.

    Attributes
    ----------
    maps : tuple of Calibrator
        In the order of their use.
    """

    maps: tuple[Calibrator, ...]

    kind: ClassVar[str] = "chain"
    method: ClassVar[str] = "chain"

    def _check(self) -> None:
        if not self.maps or not all(isinstance(m, Calibrator) for m in self.maps):
            raise TypeError("maps must hold one Calibrator or more")
        object.__setattr__(self, "maps", tuple(self.maps))
        object.__setattr__(self, "n", max(one.n for one in self.maps))
        object.__setattr__(self, "prevalence", self.maps[-1].prevalence)

    @classmethod
    def _made(cls, values: dict[str, Any]) -> Calibrator:
        return cls(tuple(Calibrator.from_dict(one) for one in values["maps"]))

    def _map(self, x: Floats) -> Floats:
        for one in self.maps:
            x = one._map(x)
        return x

    def _map_p(self, p: Floats) -> Floats:
        for one in self.maps:
            p = one._map_p(p)
        return p

    @property
    def parts(self) -> tuple[Calibrator, ...]:
        return self.maps

    @property
    def summary(self) -> str:
        return ", then ".join(one.summary for one in self.maps)

    @cached_property
    def alternatives(self) -> tuple[Calibrator, ...]:
        """Chains in which the maps that have others vary, each by itself in turn."""
        found = [one.alternatives for one in self.maps]
        count = max(map(len, found))
        return tuple(
            self._varied(
                maps=tuple(
                    others[i % len(others)] if others else one
                    for one, others in zip(self.maps, found, strict=True)
                )
            )
            for i in range(count)
        )

    def keeps_apart(self, low: float, high: float) -> bool:
        for one in self.maps:
            if not one.keeps_apart(low, high):
                return False
            low, high = one._map(np.array([low, high])).tolist()
        return True

    @property
    def formula(self) -> str:
        return ", then ".join(one.formula for one in self.maps)


@dataclass(frozen=True, repr=False, eq=False)
class FunctionMap(Calibrator):
    """A function of the user's own, from probabilities to probabilities.

    Attributes
    ----------
    function : callable
        Takes and gives an array of one dimension.
    """

    function: Callable[[Floats], Any]

    method: ClassVar[str] = "function"

    def _map(self, x: Floats) -> Floats:
        return logit(self._map_p(expit(x)))

    def _map_p(self, p: Floats) -> Floats:
        given = to_floats(self.function(p.ravel()), "what the calibrator gives")
        if given.shape != (p.size,):
            raise ValueError(
                f"the calibrator gives an array of shape {given.shape} for {p.size} "
                "probabilities; it has to give one for each"
            )
        given = check_scores(given, "what the calibrator gives", logits=False)
        return given.reshape(p.shape)

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    @property
    def summary(self) -> str:
        return f"the function {self.name}"

    def keeps_apart(self, low: float, high: float) -> bool:
        return False

    @property
    def formula(self) -> str:
        return f"p' = {self.name}(p)"

    def to_dict(self) -> dict[str, Any]:
        raise TypeError(
            f"the function {self.name} cannot be saved: use a map made by calibrate()"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMap) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)
