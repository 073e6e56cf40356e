"""Features of decisions as flat arrays, with names hashed to 64 bits."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._task import (
    Action,
    Features,
    Input,
    Output,
    State,
    Task,
    quote,
)

BIAS = ("bias",)  # the constant that every state has among its features
_MOST_NAMES = 4_000_000
_known: dict[Any, int] = {}


class Situation(NamedTuple):
    """Decision to take: the input, the state, and the legal actions."""

    place: int  # row of X
    x: Input
    y: Output
    state: State
    actions: tuple[Action, ...]
    depth: int = 0  # decisions taken before
    fold: int = -1  # -1: not an input of the training set


def _concatenate(parts: Sequence[Any], dtype: npt.DTypeLike) -> Any:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)


def _joined_ends(parts: Sequence[Integers]) -> Integers:
    sizes = [np.zeros(1, dtype=np.int64), *map(np.diff, parts)]
    return np.cumsum(np.concatenate(sizes))


def take_rows(indptr: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return the starts of chosen segments after concatenation, and their elements."""
    sizes = np.diff(indptr)[rows]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return ends, np.arange(ends[-1]) + np.repeat(indptr[rows] - ends[:-1], sizes)


@dataclass(frozen=True, eq=False)
class HashedRows:
    """Sparse rows of hashed names and values, concatenated."""

    indptr: Integers
    hashes: Hashes
    values: Floats

    @classmethod
    def concatenate(cls, parts: Sequence[HashedRows]) -> HashedRows:
        """Concatenate the rows of all parts."""
        return cls(
            _joined_ends([part.indptr for part in parts]),
            _concatenate([part.hashes for part in parts], np.uint64),
            _concatenate([part.values for part in parts], np.float64),
        )

    def take(self, rows: Integers) -> HashedRows:
        indptr, where = take_rows(self.indptr, rows)
        return HashedRows(indptr, self.hashes[where], self.values[where])


@dataclass(frozen=True, eq=False)
class Decisions:
    """States with their features, and their actions with theirs.

    Actions of decision i are `indptr[i]:indptr[i + 1]`; `codes` are their hashes, and
    `pairs` holds one row of action features for each of them.
    """

    states: HashedRows
    indptr: Integers
    codes: Hashes
    pairs: HashedRows

    def __len__(self) -> int:
        return self.indptr.size - 1

    @classmethod
    def concatenate(cls, parts: Sequence[Decisions]) -> Decisions:
        """Concatenate the decisions of all parts."""
        return cls(
            HashedRows.concatenate([part.states for part in parts]),
            _joined_ends([part.indptr for part in parts]),
            _concatenate([part.codes for part in parts], np.uint64),
            HashedRows.concatenate([part.pairs for part in parts]),
        )

    @property
    def owners(self) -> Integers:
        """Return the decision that each action belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def take(self, rows: Integers) -> Decisions:
        indptr, where = take_rows(self.indptr, rows)
        return Decisions(
            self.states.take(rows), indptr, self.codes[where], self.pairs.take(where)
        )


class SituationCache:
    """Cache of situations: their features, and the costs of actions."""

    def __init__(
        self, find: Callable[[], Decisions], costs: list[list[float]] | None
    ) -> None:
        self._find = find
        self.costs = costs

    @cached_property
    def decisions(self) -> Decisions:
        """Return the features, computed at the first use."""
        return self._find()

    def take(self, rows: Integers) -> SituationCache:
        """Return the cache of some situations."""
        costs = self.costs and [self.costs[row] for row in rows]
        return SituationCache(lambda: self.decisions.take(rows), costs)


def _plain(name: object) -> Any:
    """Return a name without numpy's types, whose printed form differs."""
    if isinstance(name, tuple):
        return tuple(_plain(part) for part in name)
    return name.item() if isinstance(name, np.generic) else name


def hash_name(name: object) -> int:
    """Return a 64-bit hash of a name or an action, equal in all processes."""
    try:
        found = _known.get(name)
    except TypeError:
        raise TypeError(
            f"{quote(name)} is not hashable: names of features and actions are text, "
            "integers or tuples of these"
        ) from None
    if found is None:
        if len(_known) >= _MOST_NAMES:
            _known.clear()
        text = repr(_plain(name)).encode("utf-8", "surrogatepass")
        found = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        _known[name] = found
    return found


def read_features(features: Features) -> Iterable[tuple[Any, float]]:
    """Return names and values of features; refuse anything else by name."""
    items = features.items() if isinstance(features, Mapping) else features
    for item in items:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    f"{quote(item)} is no (name, value) pair: write a name of several "
                    "parts as text, or as a key of a mapping"
                )
            name, value = item
            plain = type(value) is float  # quick to tell; all other kinds are not
            if not (plain or isinstance(value, Real)) or not math.isfinite(value):
                raise ValueError(
                    f"feature {quote(name)} has the value {quote(value)}: values are "
                    "finite numbers"
                )
            yield name, float(value)
        elif isinstance(item, str | int | np.integer):
            yield item, 1.0
        else:
            raise TypeError(
                f"{quote(item)} is no feature: give names (text or integers) and "
                "(name, value) pairs"
            )


def _names_and_values(features: Features) -> tuple[Collection[Any], Iterable[float]]:
    """Return names and values of features, at once if all are of one plain kind."""
    names: Collection[Any] = ()
    values: Iterable[Any] = ()
    if type(features) is list and features:
        kinds = set(map(type, features))
        if kinds == {str}:
            return features, [1.0] * len(features)
        if kinds == {tuple} and set(map(len, features)) == {2}:
            names, values = zip(*features, strict=True)
    elif type(features) is dict:
        names, values = features, features.values()
    if set(map(type, values)) == {float} and math.isfinite(sum(values)):
        return names, values
    pairs = list(read_features(features))
    return [name for name, _ in pairs], [value for _, value in pairs]


def _hashes(names: Collection[Any]) -> list[int]:
    """Return 64 bits of each name; only new names are hashed one by one."""
    try:
        found: list[Any] = list(map(_known.get, names))
    except TypeError:  # one cannot be hashed: say which
        found = [None] * len(names)
    if None not in found:
        return found
    pairs = zip(names, found, strict=True)
    return [hash_name(name) if known is None else known for name, known in pairs]


class RowGatherer:
    """Collect sparse rows."""

    def __init__(self) -> None:
        self.ends = [0]
        self.hashes = array("Q")
        self.values = array("d")

    def add(self, features: Features | None, bias: bool = False) -> None:
        """Add a row of features, empty for None; with a constant if `bias`."""
        if features is not None:
            names, values = _names_and_values(features)
            self.hashes.extend(_hashes(names))
            self.values.extend(values)
            if bias:
                self.hashes.append(hash_name(BIAS))
                self.values.append(1.0)
        self.ends.append(len(self.hashes))

    def rows(self) -> HashedRows:
        """Return the rows gathered so far as arrays."""
        return HashedRows(
            np.array(self.ends, dtype=np.int64),
            np.array(self.hashes, dtype=np.uint64),
            np.array(self.values, dtype=np.float64),
        )


def describe(task: Task, situations: Sequence[Situation]) -> Decisions:
    """Return the decisions of situations with the features of states and actions."""
    states, pairs = RowGatherer(), RowGatherer()
    codes: list[int] = []
    ends = [0]
    plain = type(task).action_features is Task.action_features
    for place, x, _, state, actions, *_ in situations:
        try:
            n_before = len(pairs.hashes)
            features = task.features(x, state)
            states.add(features, bias=True)
            codes += _hashes(actions)
            if not plain:
                for action in actions:
                    pairs.add(task.action_features(x, state, action))
        except (TypeError, ValueError) as error:
            error.add_note(f"at input {place}, state {quote(state)}")
            raise
        ends.append(len(codes))
        if features is None and (plain or len(pairs.hashes) == n_before):
            raise ValueError(
                f"no features at input {place}, state {quote(state)}: the task must "
                "define features(x, state) or action_features(x, state, action)"
            )
    if plain:
        pairs.ends = [0] * (len(codes) + 1)
    return Decisions(
        states.rows(),
        np.array(ends, dtype=np.int64),
        np.array(codes, dtype=np.uint64),
        pairs.rows(),
    )


def cheapest_regrets(costs: Floats, indptr: Integers) -> Floats:
    """Return the costs of actions above the least of their decision."""
    if costs.size == 0:
        return costs
    least = np.minimum.reduceat(costs, indptr[:-1])
    return np.asarray(costs - np.repeat(least, np.diff(indptr)))


def largest_regrets(regrets: Floats, indptr: Integers) -> Floats:
    if regrets.size == 0:
        return regrets
    return np.asarray(np.maximum.reduceat(regrets, indptr[:-1]))


def best_actions(scores: Floats, indptr: Integers) -> Integers:
    """Return the index of the first best action of each decision, counted within it."""
    if scores.size == 0:
        return np.zeros(0, dtype=np.int64)
    most = np.maximum.reduceat(scores, indptr[:-1])
    where = np.flatnonzero(scores == np.repeat(most, np.diff(indptr)))
    first = where[np.searchsorted(where, indptr[:-1])]
    return np.asarray(first - indptr[:-1])
