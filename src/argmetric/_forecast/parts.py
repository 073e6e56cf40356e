"""What the groups add to a sum over them: moments, and laws on a grid."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from argmetric._expected import Tables, kernels
from argmetric._forecast.groups import (
    TABLE_LIMIT,
    CellLaws,
    JudgedGroups,
    Size,
    in_blocks,
    lies_in_cells,
)
from argmetric._forecast.laws import ValueLaw
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._results.discrete import dot

COARSE_ATOMS = 512  # values by which the law of one of many long groups is kept
LATTICES = (*range(1, 33), 36, 40, 48, 50, 60, 64, 72, 84, 90, 96, 100, 120)
KEPT = 1 << 21  # chances and values of groups that are not made twice
UNLIKELY = 1e-13  # ends of a law that do not widen the grid


@dataclass(frozen=True)
class Parts:
    """What every group adds to the sum."""

    raw: Floats  # per group P(defined) and E[value^j; defined], j = 1, 2, 3
    # low, high: least and largest value of every group
    low: Floats
    high: Floats
    laws: dict[int, ValueLaw]  # laws of the groups that are very long
    # numbers and laws of groups of middle length; none where they are too many
    cells: tuple[tuple[Integers, CellLaws], ...] = ()

    def take(self, chosen: Integers) -> Parts:
        """Those of some of the groups."""
        if chosen.size == self.low.size:
            return self
        laws = {
            place: self.laws[g]
            for place, g in enumerate(chosen.tolist() if self.laws else ())
            if g in self.laws
        }
        place = np.full(self.low.size, -1)
        place[chosen] = np.arange(chosen.size)
        kept = [(numbers, place[numbers] >= 0, laws) for numbers, laws in self.cells]
        cells = tuple((place[x[some]], laws.take(some)) for x, some, laws in kept)
        return Parts(self.raw[chosen], self.low[chosen], self.high[chosen], laws, cells)


def _raw_moments(law: ValueLaw) -> Floats:
    powers = [dot(law.probabilities, law.values**j) for j in (0, 1, 2, 3)]
    return (1 - law.p_undefined) * np.array(powers)


def _ends(law: ValueLaw) -> tuple[float, float]:
    """Infinite the wrong way round where nothing is defined."""
    if not law.values.size:
        return math.inf, -math.inf
    return float(law.values[0]), float(law.values[-1])


def parts_of(groups: JudgedGroups, tables: Tables) -> tuple[Parts, float]:
    """From tables where groups are short; and the expected positives."""
    parts = Parts(
        np.zeros((groups.size, 4)), np.zeros(groups.size), np.zeros(groups.size), {}
    )
    positives = 0.0
    in_cells, in_tables = lies_in_cells(groups), lies_in_tables(groups)
    kept: list[tuple[Integers, CellLaws]] = []
    size = 0
    for part, laws in in_blocks(groups, np.flatnonzero(in_cells)):
        raw, low, high, more = laws.moments(UNLIKELY)
        parts.raw[part], parts.low[part], parts.high[part] = raw, low, high
        positives += more
        size += laws.chances.size + laws.values.size
        kept = [*kept, (part, laws)] if size <= KEPT else []
    for g in np.flatnonzero(~in_cells & ~in_tables).tolist():
        law, mean = groups.law(g)
        positives += mean
        parts.raw[g] = _raw_moments(law)
        parts.laws[g] = law = _coarser(law)
        parts.low[g], parts.high[g] = _ends(law)
    if in_tables.any():
        chosen = np.flatnonzero(in_tables)
        short = groups.take(chosen)
        rows = short.certain()
        parts.raw[chosen] = table_moments(
            tables, rows, short.selected, short.short_sizes
        )
        parts.low[chosen], parts.high[chosen] = _table_ends(short, tables)
        positives += float(rows.p.sum())
    return replace(parts, cells=tuple(kept)), positives


def lies_in_tables(groups: JudgedGroups) -> Booleans:
    """Groups that are short, without a shared effect."""
    return (groups.rows.lengths <= TABLE_LIMIT) & (groups.deviation == 0.0)


def table_moments(
    tables: Tables, rows: Segments, selected: Booleans, sizes: Iterable[Size]
) -> Floats:
    """Per segment P(defined) and E[value^j; defined], j = 1, 2, 3."""
    moments, raw = np.zeros((rows.n_segments, 4)), np.zeros((rows.n_segments, 3))
    for m, n, chosen in sizes:
        table, defined = tables.of(m, n)
        arguments = (rows.p, rows.q, rows.indptr, chosen, selected)
        kernels.table_moments(*arguments, table, raw)
        moments[chosen, 1:] = raw[chosen]
        moments[chosen, 0] = 1.0
        if defined is not None:
            kernels.table_moments(*arguments, defined, raw)
            moments[chosen, 0] = raw[chosen, 0]
    return moments


def _reached(tables: Tables, m: int, n: int, used: Integers) -> tuple[Floats, Booleans]:
    """Values at [k, a, r], and which of these counts are possible and defined.

    Only for the numbers of predictions that are used.
    """
    table, defined = tables.of(m, n)
    possible = _possible(m)[used]
    return table[used], possible if defined is None else possible & (defined[used] > 0)


def _table_ends(groups: JudgedGroups, tables: Tables) -> tuple[Floats, Floats]:
    low, high = np.zeros((2, groups.size))
    least, most = np.empty((2, TABLE_LIMIT + 1))
    for m, n, chosen in groups.short_sizes:
        k = groups.predictions[chosen]
        used = _distinct(k)
        table, reached = _reached(tables, m, n, used)
        least[used] = np.where(reached, table, math.inf).min(axis=(1, 2))
        most[used] = np.where(reached, table, -math.inf).max(axis=(1, 2))
        low[chosen], high[chosen] = least[k], most[k]
    return low, high


def divisions_of(
    groups: JudgedGroups, tables: Tables, width: float, lowest: float | None
) -> int | None:
    """Cells of the width on whose edges the values of all groups lie, if so few.

    They begin at the least value of each group, or at the lowest of all.
    """
    if not lies_in_tables(groups).all():
        return None
    found = np.array(LATTICES)
    for m, n, chosen in groups.short_sizes:
        used = _distinct(groups.predictions[chosen])
        table, reached = _reached(tables, m, n, used)
        least = np.where(reached, table, math.inf).min(axis=(1, 2), keepdims=True)
        values = (table - (least if lowest is None else lowest))[reached]
        place = np.unique(values / width)[:, None] * found
        found = found[np.abs(place - np.rint(place)).max(axis=0, initial=0.0) < 1e-9]
        if not found.size:
            return None
    return int(found[0])


def _coarser(law: ValueLaw) -> ValueLaw:
    """The law by few values, each the mean of its neighbours, without rare ends."""
    reached = np.cumsum(law.probabilities)
    inside = (reached > UNLIKELY) & (reached - law.probabilities < 1.0 - UNLIKELY)
    values, weights = law.values[inside], law.probabilities[inside]
    if values.size <= COARSE_ATOMS:
        return law
    place = (values - values[0]) * ((COARSE_ATOMS - 1) / (values[-1] - values[0]))
    cell = place.astype(np.int64)
    mass = np.bincount(cell, weights, COARSE_ATOMS)
    moment = np.bincount(cell, weights * values, COARSE_ATOMS)
    used = mass > 0
    chances = mass[used] / mass.sum()
    return ValueLaw(
        moment[used] / mass[used], chances, law.p_undefined, law.mean, law.variance
    )


@dataclass(frozen=True)
class GroupCells:
    """Cells of one width, counted from the least value of each group."""

    # step, count: width and number of the cells
    step: float
    count: int
    # the value that stands in for one that is left out; None where sums are kept apart
    # by how many values went in
    filled: float | None = None
    # where the cells of all groups begin, if sums are kept apart
    base: float | None = None

    def place(self, values: Floats, least: Floats | float) -> tuple[Integers, Floats]:
        """The cell of each value, and what lies between."""
        base = least if self.base is None else self.base
        cell = np.floor((values - base) / self.step + 1e-9).astype(np.int64)
        cell = np.clip(cell, 0, self.count - 1)
        return cell, values - cell * self.step


def placed(
    groups: JudgedGroups, first: int, parts: Parts, cells: GroupCells, tables: Tables
) -> tuple[Floats, Floats]:
    """Mass of every cell and what lies between, and last what is left out."""
    mass, moment = np.zeros((2, groups.size, cells.count + 1))
    in_cells, in_tables = lies_in_cells(groups), lies_in_tables(groups)
    for g in np.flatnonzero(~in_cells & ~in_tables).tolist():
        _place_law(parts.laws[first + g], cells, mass[g], moment[g])
    if in_tables.any():
        chosen = np.flatnonzero(in_tables)
        rows = groups.take(chosen)
        mass[chosen], moment[chosen] = _place_tables(rows, cells, tables)
    blocks = in_blocks(groups, np.flatnonzero(in_cells))
    if parts.cells and groups.size == parts.low.size:
        blocks = iter(parts.cells)
    for chosen, laws in blocks:
        base = parts.low[first + chosen]
        mass[chosen], moment[chosen] = _place_cells(laws, base, cells)
    return mass, moment


def _place_law(law: ValueLaw, cells: GroupCells, mass: Floats, moment: Floats) -> None:
    values, weights = law.values, (1 - law.p_undefined) * law.probabilities
    if law.p_undefined > 0:
        if cells.filled is None:
            mass[-1] = law.p_undefined
        else:
            values = np.append(values, cells.filled)
            weights = np.append(weights, law.p_undefined)
    if values.size:
        cell, rest = cells.place(values, float(values.min()))
        mass[: cells.count] = np.bincount(cell, weights, cells.count)
        moment[: cells.count] = np.bincount(cell, weights * rest, cells.count)


def _place_cells(
    laws: CellLaws, least: Floats, cells: GroupCells
) -> tuple[Floats, Floats]:
    filled = math.nan if cells.filled is None else cells.filled
    if cells.base is not None:
        least = np.full_like(least, cells.base)
    elif np.isnan(laws.values).any():
        least = np.minimum(least, filled)
    return laws.place(least, cells.step, cells.count, filled)


def _place_tables(
    groups: JudgedGroups, cells: GroupCells, tables: Tables
) -> tuple[Floats, Floats]:
    mass, moment = np.zeros((2, groups.size, cells.count + 1))
    rows, weight = groups.certain(), np.ones(groups.size)
    for m, n, chosen in groups.short_sizes:
        used = _distinct(groups.predictions[chosen])
        cell, rest = _table_cells(tables, m, n, used, cells)
        kernels.table_laws(
            rows.p,
            rows.q,
            rows.indptr,
            chosen,
            groups.selected,
            cell,
            rest,
            weight,
            mass,
            moment,
        )
    return mass, moment


def _table_cells(
    tables: Tables, m: int, n: int, used: Integers, cells: GroupCells
) -> tuple[Integers, Floats]:
    """Cell and rest at [k, a, r], for the numbers of predictions that are used."""
    table, defined = _reached(tables, m, n, used)
    if cells.filled is not None:
        table, defined = np.where(defined, table, cells.filled), _possible(m)[used]
    least = np.where(defined, table, math.inf).min(axis=(1, 2))
    least = np.where(np.isfinite(least), least, 0.0)
    place, between = cells.place(table, least[:, None, None])
    shape = (m + 1, m + 1, m + 1)
    cell, rest = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    cell[used] = np.where(defined, place, cells.count)
    rest[used] = np.where(defined, between, 0.0)
    return cell, rest


def _distinct(counts: Integers) -> Integers:
    """Small numbers that occur, ascending."""
    return np.flatnonzero(np.bincount(counts))


@lru_cache(maxsize=TABLE_LIMIT + 1)
def _possible(m: int) -> Booleans:
    """Which counts [k, a, r] can occur."""
    k, a, r = np.ogrid[: m + 1, : m + 1, : m + 1]
    return (a <= k) & (r <= m - k)
