"""Run an automaton along the model, layer by layer (Algorithm 4).

Three ways with the same result: tables in compiled code, built in or built from a
user's automaton; tables without their counter, if only the mean is needed; and plain
Python, for beams of a user's automaton and for automata with too many states to store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from argmetric._ground.types import Floats, Integers
from argmetric.sequence._models import Chain
from argmetric.sequence._utilities import (
    AutomatonTables,
    SimpleFunction,
    State,
    VectorFunction,
)

MAX_STATES = 50_000_000  # (history, state) pairs of a layer, in arrays
MAX_PLAIN_STATES = 1_000_000  # and in a dict
MAX_CELLS = 16_000_000  # of the tables of a user's automaton


@dataclass(frozen=True, eq=False)
class Outcome:
    """Final values with their probabilities, and bounds on the dropped states.

    `least` and `most` bound the contribution of the dropped mass. All three have a
    column for each component of a vector.
    """

    values: Floats
    mass: Floats
    n_states: int
    dropped: float = 0.0
    least: Any = 0.0
    most: Any = 0.0


def size_error(name: str, count: int, position: int, limit: int) -> ValueError:
    """Return the error for an automaton with too many states."""
    return ValueError(
        f"the automaton {name} has {count:,} states at position {position}, more than "
        f"the limit of {limit:,}: merge states that have the same future, pass beam=L "
        "or raise max_states"
    )


def run(
    utility: SimpleFunction,
    z: Integers,
    chain: Chain,
    width: int | None = None,
    max_states: int | None = None,
) -> Outcome:
    """Return the distribution of the utility: exactly, or with a beam of `width`."""
    tables = utility.tables(z)
    if tables is None or tables.gain is None:
        if width is not None:
            return run_plain(utility, z, chain, width, max_states)
        return run_layers(utility, z, chain, max_states)
    if width is not None:
        # The `width` most probable states of every layer of a catalogue automaton.
        from argmetric.sequence.kernels.automata import beam_run

        values = tables.values()
        states, cells = tables.follow.shape[1], tables.cells
        width = min(width, (1 << chain.order) * states * cells)
        if tables.down is None or tables.up is None:
            worst, best = utility.bounds(z)
            low, high = np.array([worst]), np.array([best])
            down = up = np.zeros(0, dtype=np.int64)
        else:
            low = high = values[0]
            down, up = tables.down, tables.up
        keys = np.zeros(2 * width + 2, dtype=np.int64)
        automaton = tables.kind, tables.follow, tables.gain, tables.start, cells
        bounds = low, high, down, up
        keys, mass, count, dropped, least, most, total = beam_run(
            chain.steps, *automaton, width, *bounds, keys, np.zeros(keys.size)
        )
        row = keys[:count] // cells % states if values.shape[0] > 1 else 0
        found = values[row, keys[:count] % cells]
        return Outcome(found, mass[:count], total, dropped, least, most)
    return run_tables(utility, chain, tables, max_states)


def run_tables(
    utility: SimpleFunction,
    chain: Chain,
    tables: AutomatonTables,
    max_states: int | None = None,
) -> Outcome:
    """Visit every state of a built-in automaton, in dense arrays."""
    from argmetric.sequence.kernels.automata import propagate

    limit = MAX_STATES if max_states is None else max_states
    states = tables.follow.shape[1]
    size = (1 << chain.order) * states * tables.cells
    if size > limit:
        raise size_error(utility.name, size, chain.n, limit)
    assert tables.gain is not None
    final, total = propagate(
        chain.steps, tables.kind, tables.follow, tables.gain, tables.start, tables.cells
    )
    mass = final.sum(axis=0)
    values = np.broadcast_to(tables.values(), mass.shape)
    return Outcome(values.ravel(), mass.ravel(), int(total))


def run_mean(chain: Chain, tables: AutomatonTables) -> tuple[float, int]:
    """Return the mean of a utility that adds up, and the number of states."""
    from argmetric.sequence.kernels.automata import additive_mean

    mean, total = additive_mean(
        chain.steps, tables.kind, tables.follow, tables.worth, tables.start
    )
    return float(mean), int(total)


def run_layers(
    utility: SimpleFunction, z: Integers, chain: Chain, max_states: int | None = None
) -> Outcome:
    """Turn a user's automaton into tables, one per position, and run compiled code."""
    limit = MAX_PLAIN_STATES if max_states is None else max_states
    key = _choose_key(utility.start())
    if key is None:
        return run_plain(utility, z, chain, None, max_states)
    layer, tables, widest, total = [utility.start()], [], 1, 0
    for i in range(z.size):
        index: dict[Hashable, int] = {}
        following: list[State] = []
        rows = []
        for state in layer:
            row = []
            for y in (0, 1):
                new = utility.transition(state, z, i, y)
                try:
                    place = index.setdefault(key(new), len(following))
                except TypeError:  # a state of another kind, further on
                    return run_plain(utility, z, chain, None, max_states)
                if place == len(following):
                    following.append(new)
                row.append(place)
            rows.append(row)
        if len(following) > limit:
            raise size_error(utility.name, len(following), i + 1, limit)
        total, widest = total + len(rows), max(widest, len(following))
        if total > MAX_PLAIN_STATES or widest * z.size > MAX_CELLS:
            return run_plain(utility, z, chain, None, max_states)  # keeps one layer
        layer = following
        tables.append(rows)
    follow = np.zeros((z.size, widest, 2), dtype=np.int64)
    for table, rows in zip(follow, tables, strict=True):
        table[: len(rows)] = rows
    numbers = np.arange(widest, dtype=np.float64)[:, None]  # of the final states
    kind, none = np.arange(z.size), np.zeros_like(follow)
    final = run_tables(
        utility, chain, AutomatonTables(kind, follow, none, 1, table=numbers)
    )
    mass = final.mass[: len(layer)]  # states that the last layer lacks have none
    return Outcome(final_values(utility, layer, z), mass, final.n_states)


def run_plain(
    utility: SimpleFunction,
    z: Integers,
    chain: Chain,
    width: int | None = None,
    max_states: int | None = None,
) -> Outcome:
    """Run Algorithm 4 in plain Python, with a dict from states to probabilities."""
    limit = MAX_PLAIN_STATES if max_states is None else max_states
    worst, best = utility.bounds(z)
    mask = (1 << chain.order) - 1
    start = utility.start()
    layer = _StateMap(_choose_key(start))
    layer.add(0, start, 1.0)
    total, dropped = 1, 0.0
    for i, step in enumerate(chain.steps):
        entries = layer.entries
        if width is not None and len(entries) > width:
            masses = np.array([entry[2] for entry in entries])
            order = np.argpartition(-masses, width - 1)  # in linear time
            dropped += float(masses[order[width:]].sum())
            entries = [entries[int(e)] for e in np.sort(order[:width])]
        following = _StateMap(layer.key)
        for h, state, mass in entries:
            for y in (0, 1):
                p = mass * float(step[h, y])
                if p > 0.0:
                    new = utility.transition(state, z, i, y)
                    following.add(((h << 1) | y) & mask, new, p)
        layer = following
        if len(layer.entries) > limit:
            raise size_error(utility.name, len(layer.entries), i + 1, limit)
        total += len(layer.entries)
    values = final_values(utility, [state for _, state, _ in layer.entries], z)
    kept = np.array([mass for _, _, mass in layer.entries])
    least = dropped * np.asarray(worst) if dropped else 0.0
    most = dropped * np.asarray(best) if dropped else 0.0
    return Outcome(values, kept, total, dropped, least, most)


def final_values(utility: SimpleFunction, states: list[State], z: Integers) -> Floats:
    """Return the utility of every final state: a number or a row of components."""
    if not isinstance(utility, VectorFunction):
        return np.array([float(utility.value(state, z)) for state in states])
    rows = [np.asarray(utility.value(state, z), dtype=np.float64) for state in states]
    if any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
        shapes = sorted({row.shape for row in rows})
        raise ValueError(
            f"values of {utility.name} must be vectors of one length, not of shapes "
            f"{', '.join(map(str, shapes))}"
        )
    return np.array(rows)


class _StateMap:
    """Entries [history, state, probability], merged where the states are equal."""

    def __init__(self, key: Callable[[State], Hashable] | None) -> None:
        self.key = key
        self.entries: list[list[State]] = []
        self._place: dict[Hashable, int] = {}

    def add(self, h: int, state: State, mass: float) -> None:
        """Add probability to an entry, or append a new one."""
        place = None
        if self.key is not None:
            try:
                place = self._place.setdefault((h, self.key(state)), len(self.entries))
            except TypeError:
                self.key = None
        if self.key is None:
            place = next(
                (
                    e
                    for e, (other, held, _) in enumerate(self.entries)
                    if other == h and held == state
                ),
                len(self.entries),
            )
        assert place is not None
        if place == len(self.entries):
            self.entries.append([h, state, mass])
        else:
            self.entries[place][2] += mass


def _choose_key(state: State) -> Callable[[State], Hashable] | None:
    """Return a function from states to keys of a dict, or None if there is none."""
    ways: tuple[Callable[[State], Hashable], ...] = (lambda own: own, freeze)
    for key in ways:
        try:
            hash(key(state))
        except TypeError:
            continue
        return key
    return None


def freeze(state: State) -> Hashable:
    """Return a list, set, dict or array as something that can be hashed."""
    if isinstance(state, np.ndarray):
        return state.shape, state.dtype.str, state.tobytes()
    if isinstance(state, list | tuple):
        return tuple(map(freeze, state))
    if isinstance(state, set):
        return frozenset(state)
    if isinstance(state, dict):
        return frozenset((key, freeze(value)) for key, value in state.items())
    return cast("Hashable", state)


def mean_if_defined(outcome: Outcome) -> tuple[float, float]:
    """Return E[value; defined], and P(defined), nan for it if always defined."""
    known = ~np.isnan(outcome.values)
    if known.all():
        return float(outcome.mass @ outcome.values), math.nan
    mass = outcome.mass[known]
    return float(mass @ outcome.values[known]), float(mass.sum())
