"""Utilities as automata: the interface, metrics of counts, Hamming and zero-one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.metrics import Metric, MetricLike, get_metric
from argmetric.search.learning import complete_docstrings

State: TypeAlias = Any  # each utility has a kind of its own


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
    >>> expectation(LongestRun(), [1, 1, 0], Independent([0.9, 0.5, 0.5])).mean
    1.675
    """

    greater_is_better: bool = True

    @property
    def name(self) -> str:
        """Return the name for messages and tables."""
        return type(self).__name__

    def start(self) -> State:
        """Return the state before the first label.

        Returns
        -------
        object
            A value that can be a key of a dict, or a list, set, dict or array.
        """
        raise TypeError(f"{type(self).__name__} must define the method `start`")

    def transition(self, state: State, z: Integers, i: int, y_i: int) -> State:
        """Return the state after label y_i at position i (from 0).

        Parameters
        ----------
        state : object
            A state that `start` or `transition` returned.
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.
        i : int
            A position.
        y_i : int
            The label of the outcome there.

        Returns
        -------
        object
            The next state.
        """
        raise TypeError(f"{type(self).__name__} must define the method `transition`")

    def value(self, state: State, z: Integers) -> float:
        """Return the utility of a final state; nan if it is undefined and left out.

        Parameters
        ----------
        state : object
            A state that `start` or `transition` returned.
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        float
            The utility.
        """
        raise TypeError(f"{type(self).__name__} must define the method `value`")

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return the smallest and largest utility of any sequence for z.

        A beam needs them to bound the dropped states. By default they are infinite.

        Parameters
        ----------
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        tuple of two floats
            The bounds.
        """
        return -math.inf, math.inf

    def check(self, n: int) -> None:
        """Raise an error for a length that this utility is not defined for.

        Parameters
        ----------
        n : int
            Number of labels.
        """

    def tables(self, z: Integers) -> AutomatonTables | None:
        """Return arrays for compiled code, or None for an automaton in plain Python.

        Parameters
        ----------
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        AutomatonTables or None
            The arrays.
        """
        return None


class VectorFunction(SimpleFunction):
    """A utility with vector values: several expectations from one automaton.

    The expectation of a vector is that of its components (Jansche 2007, section 5).
    `value` returns an array; `bounds`, for beams, a pair of them. Vectors have no
    order, so `decode` refuses them.

    Examples
    --------
    Expected hits, misses and false alarms, the vector of Jansche (2005):

    >>> from argmetric.sequence import Independent, VectorFunction, expectation
    >>> class Table(VectorFunction):
    ...     def start(self):
    ...         return 0, 0, 0
    ...     def transition(self, state, z, i, y_i):
    ...         A, B, C = state
    ...         return A + z[i] * y_i, B + (1 - z[i]) * y_i, C + z[i] * (1 - y_i)
    ...     def value(self, state, z):
    ...         return state
    >>> model = Independent([0.9, 0.5, 0.2])
    >>> expectation(Table(), [1, 1, 0], model).mean
    array([1.4, 0.2, 0.6])
    """

    def value(self, state: State, z: Integers) -> Any:
        """Return the utilities of a final state; nan if one is undefined and left out.

        Parameters
        ----------
        state : object
            A state that `start` or `transition` returned.
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        array-like of shape (n_components,)
            The utilities.
        """
        raise TypeError(f"{type(self).__name__} must define the method `value`")

    def bounds(self, z: Integers) -> Any:
        """Return the smallest and largest utilities of each component, for beams.

        Parameters
        ----------
        z : ndarray of shape (n,)
            Labels 0 and 1 of the hypothesis.

        Returns
        -------
        pair of float or array-like of shape (n_components,)
            The bounds.
        """
        return -math.inf, math.inf


@dataclass(frozen=True, eq=False)
class AutomatonTables:
    """Arrays of an automaton whose state is (control state s, counter c)."""

    kind: Integers  # (n,): which table a position uses
    follow: Integers  # (kinds, states, 2): next control state
    # (kinds, states, 2): what the counter grows by; None where the growth is not a
    # whole number
    gain: Integers | None
    cells: int  # the counter is below this
    unit: float | None = None  # the utility is unit·c, for a utility that adds up
    worth: Floats | None = None  # unit·gain, likewise
    # (states or 1, cells): the utility of every final state, where it does not add up
    table: Floats | None = None
    # down, up: (n,): a state with counter c before position i ends with a utility
    # between those of the counters c + down[i] and c + up[i]
    down: Integers | None = None
    up: Integers | None = None
    start: int = 0  # control state before the first label

    def values(self) -> Floats:
        """Return the utility of every (control state or any, counter)."""
        if self.table is not None:
            return self.table
        assert self.unit is not None
        return self.unit * np.arange(self.cells, dtype=np.float64)[None, :]


def remaining(increments: Integers) -> Integers:
    """Return the sum of the increments from every position on."""
    return np.cumsum(increments[::-1])[::-1].copy()


@complete_docstrings
@dataclass(frozen=True)
class CountUtility(SimpleFunction):
    """A metric of counts; its states are (A, T): hits so far, and ones of y so far.

    Parameters
    ----------
    metric : str, Metric or callable
        As in :func:`argmetric.decide`.

    Examples
    --------
    >>> from argmetric.sequence import CountUtility, evaluate
    >>> evaluate(CountUtility("f1"), z=[1, 1, 0, 0], y=[1, 0, 1, 0])
    0.5
    """

    metric: MetricLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", get_metric(self.metric))

    @property
    def counts(self) -> Metric:
        """Return the metric as an object."""
        assert isinstance(self.metric, Metric)
        return self.metric

    @property
    def name(self) -> str:
        """Return the name of the metric."""
        return self.counts.name

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """Return whether the metric is maximised."""
        return self.counts.greater_is_better

    def start(self) -> tuple[int, int]:
        """Return the state: no hits, no ones."""
        return 0, 0

    def transition(
        self, state: tuple[int, int], z: Integers, i: int, y_i: int
    ) -> tuple[int, int]:
        """Count a one of y, and a hit if z has one too."""
        hits, ones = state
        return hits + int(z[i]) * y_i, ones + y_i

    def value(self, state: tuple[int, int], z: Integers) -> float:
        """Return the metric of the counts."""
        hits, ones = state
        return float(self.counts.value(hits, int(z.sum()), ones, z.size))

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return the extremes over all counts that z allows."""
        table = self._values(z)
        known = table[~np.isnan(table)]
        if not known.size:  # undefined whatever the outcome
            return math.nan, math.nan
        return float(known.min()), float(known.max())

    def _values(self, z: Integers) -> Floats:
        """Return the metric for every number of hits (rows) and misses (columns)."""
        k = int(z.sum())
        hits, misses = np.arange(k + 1)[:, None], np.arange(z.size - k + 1)[None, :]
        return self.counts.value(hits, k, hits + misses, z.size)

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables with the counter hits·(zeros of z + 1) + misses.

        If the metric grows with hits and falls with misses, as most do, the extremes
        that a state can still reach are stored.
        """
        width = int((z == 0).sum()) + 1
        values = self._values(z)
        gain = np.zeros((2, 1, 2), dtype=np.int64)
        gain[0, 0, 1], gain[1, 0, 1] = 1, width
        down = up = None
        if not np.isnan(values).any():
            steps = np.diff(values, axis=0), -np.diff(values, axis=1)
            if all((step >= 0).all() for step in steps):
                down, up = remaining(1 - z), remaining(z) * width
            elif all((step <= 0).all() for step in steps):
                down, up = remaining(z) * width, remaining(1 - z)
        table, follow = values.reshape(1, -1), np.zeros_like(gain)
        known: dict[str, Any] = {"table": table, "down": down, "up": up}
        return AutomatonTables(z, follow, gain, values.size, **known)


@complete_docstrings
@dataclass(frozen=True)
class Hamming(SimpleFunction):
    """Number of positions at which z and y differ; a loss.

    Parameters
    ----------
    normalise : bool, default=False
        Divide by the number of positions.

    Examples
    --------
    >>> from argmetric.sequence import Hamming, evaluate
    >>> evaluate(Hamming(), z=[0, 1, 0, 0], y=[0, 0, 1, 0])
    2.0
    """

    normalise: bool = False
    greater_is_better = False

    def start(self) -> int:
        """Return 0 differences."""
        return 0

    def transition(self, state: int, z: Integers, i: int, y_i: int) -> int:
        """Count a difference."""
        return state + int(z[i] != y_i)

    def value(self, state: int, z: Integers) -> float:
        """Return the number of differences, or their share."""
        return state * self._unit(z)

    def _unit(self, z: Integers) -> float:
        return 1.0 / z.size if self.normalise else 1.0

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return the bounds: no difference, and all."""
        return 0.0, z.size * self._unit(z)

    def tables(self, z: Integers) -> AutomatonTables:
        """Return tables with one control state."""
        gain = np.array([[[0, 1]], [[1, 0]]])
        unit, up = self._unit(z), np.arange(z.size, 0, -1)
        known: dict[str, Any] = {"unit": unit, "worth": unit * gain, "up": up}
        known["down"] = np.zeros_like(z)
        return AutomatonTables(z, np.zeros_like(gain), gain, z.size + 1, **known)


@complete_docstrings
@dataclass(frozen=True)
class ZeroOne(SimpleFunction):
    """0 if z and y are equal, 1 if not; a loss.

    Examples
    --------
    >>> from argmetric.sequence import ZeroOne, evaluate
    >>> evaluate(ZeroOne(), z=[0, 1], y=[0, 0])
    1.0
    """

    greater_is_better = False

    def start(self) -> bool:
        """Return False: no difference so far."""
        return False

    def transition(self, state: bool, z: Integers, i: int, y_i: int) -> bool:
        """Return whether there is a difference so far."""
        return state or bool(z[i] != y_i)

    def value(self, state: bool, z: Integers) -> float:
        """Return 1 if there is a difference."""
        return float(state)

    def bounds(self, z: Integers) -> tuple[float, float]:
        """Return 0 and 1."""
        return 0.0, 1.0

    def tables(self, z: Integers) -> AutomatonTables:
        """Return the tables of an automaton with the states "equal" and "different"."""
        follow = np.array([[[0, 1], [1, 1]], [[1, 0], [1, 1]]])
        values, none = np.array([[0.0], [1.0]]), np.zeros_like(follow)
        return AutomatonTables(z, follow, none, cells=1, table=values)


Utility: TypeAlias = MetricLike | SimpleFunction | type[SimpleFunction]


def as_utility(utility: Utility) -> SimpleFunction:
    """Return a utility unchanged, or the counting automaton of a metric."""
    if isinstance(utility, SimpleFunction):
        return utility
    if isinstance(utility, type) and issubclass(utility, SimpleFunction):
        return utility()
    return CountUtility(utility)


def as_scalar(utility: Utility, what: str) -> SimpleFunction:
    """Return a utility with single numbers as values; refuse a vector."""
    function = as_utility(utility)
    if isinstance(function, VectorFunction):
        raise ValueError(
            f"{function.name} is a vector, and {what} needs a number: expectation() "
            "takes it, or write a SimpleFunction of its components"
        )
    return function
