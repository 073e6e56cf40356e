"""Groups that are too long for tables: the laws of their counts, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argmetric._discrete import dot
from argmetric._expected import TOLERANCE, compiled
from argmetric._forecast._groups import TABLE_LIMIT, Groups
from argmetric._types import Booleans, Floats, Integers

ROWS = 1 << 15  # rows whose cells are laid out at once
TOLERANCE_TILTED = 1e-60  # of a law that is tilted: unlikely counts become likely
LONGEST, LONGEST_MIXED = 20_000, 2_000  # rows of a group whose cells are laid out


@dataclass(frozen=True)
class CellLaws:
    """Values of groups and their chances; group g has starts[g]…starts[g+1]."""

    values: Floats
    chances: Floats
    starts: Integers
    positives: float

    def take(self, kept: Booleans) -> CellLaws:
        """The laws of some of the groups."""
        sizes = np.diff(self.starts)
        inside = np.repeat(kept, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[kept])])
        return CellLaws(
            self.values[inside], self.chances[inside], starts, self.positives
        )


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
    tp, t = np.empty((2, chances.size))
    kernels.fill_counts(box, starts, tp, t)
    k, n = groups.per_group(selected), rows.sizes.astype(np.float64)
    cells = np.diff(starts)
    values = groups.metric.value(tp, np.repeat(k, cells), t, np.repeat(n, cells))
    return CellLaws(values, chances, starts, dot(t, chances))
