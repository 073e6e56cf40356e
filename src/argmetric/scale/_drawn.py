"""Some rows of each class, the same for any division into files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate import Reference
from argmetric._input.types import Floats, Hashes, Integers
from argmetric.scale._conservation import Tally, tally, tickets
from argmetric.scale._labelled import Labelled, LabelledRows, labelled_batches
from argmetric.scale._sources import Source
from argmetric.scale._tasks import Found


@dataclass(frozen=True)
class Drawn:
    """Rows of one class with the lowest tickets, and how many there are to draw from.

    Attributes
    ----------
    n : int
        Rows of the class.
    row : ndarray
        Numbers of those that were drawn, among the rows of all files.
    ticket : ndarray
        A hash of this number.
    scores, weight : ndarray
        As in the files.
    """

    n: int
    row: Integers
    ticket: Hashes
    scores: Floats
    weight: Floats

    @classmethod
    def of(cls, row: Integers, scores: Floats, weight: Floats) -> Drawn:
        return cls(row.size, row, tickets(row), scores, weight)

    @classmethod
    def merged(cls, parts: list[Drawn], most: int) -> Drawn:
        """At most so many of the rows of all parts."""
        columns = [
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("row", "ticket", "scores", "weight")
        ]
        kept: Any = slice(None)
        if columns[1].size > most:
            kept = np.argpartition(columns[1], most)[:most]
        n = sum(part.n for part in parts)
        return cls(n, *(column[kept] for column in columns))


@dataclass(frozen=True)
class DrawTask:
    """A file, how many rows stand before it, and how many of a class are wanted."""

    source: Source
    used: Labelled
    first: int
    most: int


def draw_rows(task: DrawTask) -> Found:
    """Found: rows of the negatives and of the positives."""
    counted, drawn = Tally(), nothing_drawn()
    for rows, scores, positive, weight in labelled_batches(task.source, task.used):
        counted += tally(rows, scores)
        for i, member in enumerate((~positive, positive)):
            part = member & (weight > 0.0)
            more = Drawn.of(rows[part] + task.first, scores[part], weight[part])
            drawn[i] = Drawn.merged([drawn[i], more], task.most)
    return {**vars(counted), "drawn": drawn}


def nothing_drawn() -> list[Drawn]:
    """No negatives, and no positives."""
    nothing = np.zeros(0)
    return [Drawn.of(np.zeros(0, dtype=np.int64), nothing, nothing)] * 2


def drawn_reference(rows: LabelledRows, most: int) -> Reference:
    """At most so many rows of each class, weighted so that they stand for all."""
    before = np.cumsum([0, *(source.rows for source in rows.sources.values())])
    items = [
        DrawTask(source, rows.used, int(first), most)
        for source, first in zip(rows.sources.values(), before, strict=False)
    ]
    drawn = nothing_drawn()

    def take(found: Found) -> Found:
        pairs = zip(drawn, found.pop("drawn"), strict=True)
        drawn[:] = [Drawn.merged(list(pair), most) for pair in pairs]
        return found

    rows.look(draw_rows, items, take)
    row = np.concatenate([one.row for one in drawn])
    order = np.argsort(row)
    weight = np.concatenate(
        [one.weight * (one.n / max(one.row.size, 1)) for one in drawn]
    )
    alike = not rows.used.weight and max(one.n for one in drawn) <= most
    return Reference(
        np.concatenate([one.scores for one in drawn])[order],
        np.repeat([False, True], [one.row.size for one in drawn])[order],
        None if alike else weight[order],
        rows.used.logits,
    )
