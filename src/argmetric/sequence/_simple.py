"""Utilities as automata: the interface, and the tables that compiled code runs on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Floats, Integers


class SimpleFunction:
    """A utility of two label sequences, computed by reading the second one once.

    The hypothesis z is fixed. Write three methods in plain Python; a state may be any
    value that can be a key of a dict (lists, sets, dicts and arrays work too, and are
    compared by what they hold).

    Examples
    --------
    The length of the longest run of correct labels:

    >>> from argmetric.sequence import Independent, SimpleFunction, expectation
    >>> class LongestRun(SimpleFunction):
    ...     def start(self):
    ...         return 0, 0
    ...     def transition(self, state, z, i, y_i):
    ...         run, longest = state
    ...         run = run + 1 if z[i] == y_i else 0
    ...         return run, max(run, longest)
    ...     def value(self, state, z):
    ...         return state[1]
    >>> expectation(LongestRun(), [1, 1, 0], Independent([0.9, 0.5, 0.5])).value
    1.675
    """

    greater_is_better: bool = True

    @property
    def name(self) -> str:
        """Name for messages and tables."""
        return type(self).__name__

    def start(self) -> Any:
        """State before the first label."""
        raise TypeError(f"{type(self).__name__} must define the method `start`")

    def transition(self, state: Any, z: Integers, i: int, y_i: int) -> Any:
        """State after label y_i at position i (from 0)."""
        raise TypeError(f"{type(self).__name__} must define the method `transition`")

    def value(self, state: Any, z: Integers) -> float:
        """Utility of a final state; nan where it is undefined and left out."""
        raise TypeError(f"{type(self).__name__} must define the method `value`")

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Smallest and largest utility that a sequence can have beside z.

        A beam needs them to bound what it drops. By default nothing is known.
        """
        return -math.inf, math.inf

    def check(self, n: int) -> None:
        """Refuse a length that this utility is not defined for."""

    def tables(self, z: Integers) -> Tables | None:
        """Array form for compiled code; None for an automaton in plain Python."""
        return None


@dataclass(frozen=True, eq=False)
class Tables:
    """An automaton whose state is (control state s, counter c), in arrays.

    Attributes
    ----------
    kind : ndarray of shape (n,)
        Which table a position uses.
    follow : ndarray of shape (kinds, states, 2)
        Next control state.
    gain : ndarray of shape (kinds, states, 2) or None
        What the counter grows by; None where the growth is not a whole number.
    cells : int
        The counter is below this.
    unit : float or None
        The utility is unit·c, for a utility that adds up.
    worth : ndarray or None
        unit·gain, likewise.
    table : ndarray of shape (states or 1, cells) or None
        The utility of every final state, where it does not add up.
    down, up : ndarray of shape (n,) or None
        A state with counter c before position i ends with a utility between those of
        the counters c + down[i] and c + up[i].
    start : int
        Control state before the first label.
    """

    kind: Integers
    follow: Integers
    gain: Integers | None
    cells: int
    unit: float | None = None
    worth: Floats | None = None
    table: Floats | None = None
    down: Integers | None = None
    up: Integers | None = None
    start: int = 0

    def values(self) -> Floats:
        """Utility of every (control state or any, counter)."""
        if self.table is not None:
            return self.table
        assert self.unit is not None
        return self.unit * np.arange(self.cells, dtype=np.float64)[None, :]


def remaining(increments: Integers) -> Integers:
    """Sum of the increments from every position on."""
    return np.cumsum(increments[::-1])[::-1].copy()
