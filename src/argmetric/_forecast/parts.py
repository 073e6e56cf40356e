"""What the groups add to a sum over them: moments, and laws on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from argmetric._forecast.groups import (
    CellLaws,
    JudgedGroups,
    in_blocks,
    lies_in_cells,
)
from argmetric._forecast.laws import ValueLaw
from argmetric._ground.discrete import dot
from argmetric._ground.types import Floats, Integers

COARSE_ATOMS = 512  # values by which the law of one of many long groups is kept
LATTICES = (*range(1, 33), 36, 40, 48, 50, 60, 64, 72, 84, 90, 96, 100, 120)
KEPT = 1 << 21  # chances and values of groups that are not made twice
MOST_VALUES = 1 << 16  # of all groups, that are looked at for a lattice
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


def parts_of(groups: JudgedGroups) -> tuple[Parts, float]:
    """What the groups add, and the expected positives."""
    parts = Parts(
        np.zeros((groups.size, 4)), np.zeros(groups.size), np.zeros(groups.size), {}
    )
    positives = 0.0
    in_cells = lies_in_cells(groups)
    kept: list[tuple[Integers, CellLaws]] = []
    size = 0
    for part, laws in in_blocks(groups, np.flatnonzero(in_cells)):
        raw, low, high, more = laws.moments(UNLIKELY)
        parts.raw[part], parts.low[part], parts.high[part] = raw, low, high
        positives += more
        size += laws.chances.size + laws.values.size
        kept = [*kept, (part, laws)] if size <= KEPT else []
    for g in np.flatnonzero(~in_cells).tolist():
        law, mean = groups.law(g)
        positives += mean
        powers = [dot(law.probabilities, law.values**j) for j in (0, 1, 2, 3)]
        parts.raw[g] = (1 - law.p_undefined) * np.array(powers)
        parts.laws[g] = law = _coarser(law)
        parts.low[g] = law.values.min(initial=math.inf)
        parts.high[g] = law.values.max(initial=-math.inf)
    return replace(parts, cells=tuple(kept)), positives


def divisions_of(parts: Parts, width: float) -> int | None:
    """Cells of the width on whose edges the values of all groups lie, if so few."""
    values = [laws.values for _, laws in parts.cells]
    known = sum(numbers.size for numbers, _ in parts.cells) == parts.low.size
    if not known or sum(one.size for one in values) > MOST_VALUES:
        return None
    distinct = np.unique((np.concatenate(values) - parts.low.min()) / width)
    place = np.multiply.outer(LATTICES, distinct[np.isfinite(distinct)])
    there = np.flatnonzero(np.abs(place - np.rint(place)).max(axis=1) < 1e-9)
    return LATTICES[there[0]] if there.size else None


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
    groups: JudgedGroups, first: int, parts: Parts, cells: GroupCells
) -> tuple[Floats, Floats]:
    """Mass of every cell and what lies between, and last what is left out."""
    mass, moment = np.zeros((2, groups.size, cells.count + 1))
    in_cells = lies_in_cells(groups)
    for g in np.flatnonzero(~in_cells).tolist():
        _place_law(parts.laws[first + g], cells, mass[g], moment[g])
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
