"""Groups that are too long for tables: the laws of their counts, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from argmetric._expected import TOLERANCE, compiled
from argmetric._forecast._groups import Groups
from argmetric._types import Floats, Integers

ROWS = 1 << 15  # rows whose cells are laid out at once
LONGEST, LONGEST_MIXED = 20_000, 2_000  # rows of a group whose cells are laid out


@dataclass(frozen=True)
class CellLaws:
    """Values of groups and their chances; group g has starts[g]…starts[g+1]."""

    values: Floats
    chances: Floats
    starts: Integers
    positives: float


def lies_in_cells(groups: Groups, shortest: int) -> np.ndarray:
    """Groups longer than the shortest whose laws are made many at a time."""
    lengths = groups.rows.lengths
    longest = LONGEST if groups.deviation == 0.0 else LONGEST_MIXED
    return (lengths > shortest) & (lengths <= longest)


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
    scenes = list(groups.scenarios())
    place, laws = np.empty((groups.size, 4), dtype=np.int64), None
    # A larger effect means more positives: the first and the last bound all boxes.
    boxes = []
    for _, scene in (scenes[0], scenes[-1]):
        laws = np.empty(rows.p.size + 2 * groups.size)
        kernels.law_boxes(
            scene.p, scene.q, rows.indptr, selected, TOLERANCE, place, laws
        )
        boxes.append(place.copy())
    box = boxes[0]
    for side in (0, 2):
        last = np.maximum(*(one[:, side] + one[:, side + 1] for one in boxes))
        box[:, side] = np.minimum(boxes[0][:, side], boxes[1][:, side])
        box[:, side + 1] = last - box[:, side]
    starts = np.concatenate([[0], np.cumsum(box[:, 1] * box[:, 3])])
    chances = np.zeros(starts[-1])
    positives = 0.0
    for weight, scene in scenes:
        if len(scenes) > 1:
            kernels.law_boxes(
                scene.p, scene.q, rows.indptr, selected, TOLERANCE, place, laws
            )
        kernels.add_cells(
            rows.indptr, selected, place, laws, weight, box, starts, chances
        )
        positives += float(np.repeat(weight, rows.lengths) @ scene.p)
    tp, t = np.empty((2, chances.size))
    kernels.fill_counts(box, starts, tp, t)
    k, n = groups.per_group(selected), rows.sizes.astype(np.float64)
    cells = np.diff(starts)
    values = groups.metric.value(tp, np.repeat(k, cells), t, np.repeat(n, cells))
    return CellLaws(values, chances, starts, positives)
