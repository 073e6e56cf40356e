"""Groups that are too long for tables: the laws of their counts, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from argmetric._expected import TOLERANCE, compiled
from argmetric._forecast._groups import TABLE_LIMIT, Groups
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

ROWS = 1 << 15  # rows whose cells are laid out at once
TOLERANCE_TILTED = 1e-60  # of a law that is tilted: unlikely counts become likely
CELLS = 1 << 14  # pairs of counts whose values are made at once: they stay in cache
LONGEST, LONGEST_MIXED = 20_000, 2_000  # rows of a group whose cells are laid out


@dataclass(frozen=True)
class CellLaws:
    """Pairs of hits and misses of groups, with their chances and values.

    Attributes
    ----------
    box : ndarray
        Per group the least hits, how many numbers of hits, and the same of misses.
    chances, values : ndarray
        Of all pairs. Groups of one size and as many predictions share their values.
    places : ndarray
        With `a` hits and `r` misses more than the least, group g has the chance
        chances[places[g, 0] + places[g, 1]·a + r] and the value
        values[places[g, 2] + places[g, 3]·a + r].
    """

    box: Integers
    chances: Floats
    values: Floats
    places: Integers

    def take(self, kept: Booleans) -> CellLaws:
        """The laws of some of the groups."""
        return replace(self, box=self.box[kept], places=self.places[kept])

    def moments(self, unlikely: float) -> tuple[Floats, Floats, Floats, float]:
        """Per group raw moments and the likely ends, and the positives of all."""
        groups = self.box.shape[0]
        raw, low, high = np.zeros((groups, 4)), *np.zeros((2, groups))
        positives = compiled().cell_moments(
            self.values,
            self.chances,
            self.box,
            self.places,
            unlikely,
            raw,
            low,
            high,
        )
        return raw, low, high, float(positives)

    def place(
        self, base: Floats, step: float, count: int, filled: float
    ) -> tuple[Floats, Floats]:
        """Mass of `count` cells from each group's base on, and what lies between."""
        mass, moment = np.zeros((2, self.box.shape[0], count + 1))
        compiled().place_cells(
            self.values,
            self.chances,
            self.box,
            self.places,
            base,
            step,
            count,
            filled,
            mass,
            moment,
        )
        return mass, moment


def lies_in_cells(groups: Groups) -> Booleans:
    """Groups whose laws are made many at a time, but not from tables."""
    lengths = groups.rows.lengths
    if groups.deviation:
        return lengths <= LONGEST_MIXED
    return (lengths > TABLE_LIMIT) & (lengths <= LONGEST)


def in_blocks(groups: Groups, chosen: Integers) -> Iterator[tuple[Integers, CellLaws]]:
    """Numbers of groups, about ROWS rows at a time, and their laws."""
    ends = np.cumsum(groups.rows.lengths[chosen])
    block = (ends - 1) // ROWS
    for part in np.split(chosen, np.flatnonzero(np.diff(block)) + 1):
        if part.size:
            yield part, cell_laws(groups.take(part))


def cell_laws(groups: Groups) -> CellLaws:
    """Values and chances of all groups, mixed over the effects that they share."""
    kernels = compiled()
    rows, selected = groups.rows, groups.selected
    tolerance = TOLERANCE_TILTED if groups.deviation else TOLERANCE
    scenes = []
    for scene, tilts, weights in groups.tilted():
        place = np.empty((groups.size, 4), dtype=np.int64)
        laws = np.empty(rows.p.size + 2 * groups.size)
        kernels.law_boxes(
            scene.p, scene.q, rows.indptr, selected, tolerance, place, laws
        )
        scenes.append((place, laws, tilts, weights))
    # A larger effect means more positives: the first and the last bound all boxes.
    first, last = scenes[0][0], scenes[-1][0]
    box = first.copy()
    for side in (0, 2):
        box[:, side] = np.minimum(first[:, side], last[:, side])
        ends = np.maximum(*(one[:, side] + one[:, side + 1] for one in (first, last)))
        box[:, side + 1] = ends - box[:, side]
    starts = np.concatenate([[0], np.cumsum(box[:, 1] * box[:, 3])])
    chances = np.zeros(starts[-1])
    for place, laws, tilts, weights in scenes:
        kernels.add_cells(
            rows.indptr, selected, place, laws, tilts, weights, box, starts, chances
        )
    places = np.stack([starts[:-1], box[:, 3]], axis=1)
    if groups.deviation:  # what was likely under another tilt need not be so here
        kernels.trim_boxes(rows.indptr, TOLERANCE, chances, box, places)
    values, sheets = _shared_values(groups.metric, box, groups.predictions, rows.sizes)
    return CellLaws(box, chances, values, np.concatenate([places, sheets], axis=1))


def _shared_values(
    metric: Metric, box: Integers, k: Integers, n: Integers
) -> tuple[Floats, Integers]:
    """Values of all pairs of counts, once for groups of equal k and n; their places."""
    _, sheet = np.unique(n * (k.max() + 1) + k, return_inverse=True)
    sheets = _bounds(box, sheet)
    # Groups may have so different counts that less is apart than lies between.
    apart = (_areas(sheets) > np.bincount(sheet, _areas(box)))[sheet]
    if apart.any():
        own = np.where(apart, sheet.size + np.arange(sheet.size), sheet)
        _, sheet = np.unique(own, return_inverse=True)
        sheets = _bounds(box, sheet)
    starts = np.concatenate([[0], np.cumsum(_areas(sheets))])
    sheet_k, sheet_n = np.empty((2, sheets.shape[0]))
    sheet_k[sheet], sheet_n[sheet] = k, n
    values = np.empty(starts[-1])
    counts = np.empty((4, min(CELLS, values.size)))
    for first in range(0, values.size, CELLS):
        part = values[first : first + CELLS]
        used = counts[:, : part.size]
        compiled().fill_counts(sheets, starts, sheet_k, sheet_n, first, used)
        part[:] = metric.value(*used)
    width = sheets[sheet, 3]
    above = (box[:, 0] - sheets[sheet, 0]) * width + box[:, 2] - sheets[sheet, 2]
    return values, np.stack([starts[sheet] + above, width], axis=1)


def _areas(box: Integers) -> Integers:
    return np.asarray(box[:, 1] * box[:, 3])


def _bounds(box: Integers, sheet: Integers) -> Integers:
    """The least box around all boxes of a sheet, for sheets 0, 1, …"""
    order = np.argsort(sheet, kind="stable")
    first = np.flatnonzero(np.diff(sheet[order], prepend=-1))
    low, size = box[order, ::2], box[order, 1::2]
    least = np.minimum.reduceat(low, first)
    above = np.maximum.reduceat(low + size, first)
    return np.stack([least, above - least], axis=2).reshape(-1, 4)
