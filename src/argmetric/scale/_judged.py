"""Rows with a probability and a label that was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._files import DECISION_NAMES, DataError
from argmetric._input.types import Floats
from argmetric.scale._columns import MissingGroups, Used, find_used
from argmetric.scale._marks import NO_MARK, Mark, find_mark
from argmetric.scale._sources import Source


@dataclass(frozen=True)
class Judged(Used):
    """Rows whose value is their probability, with a minus where the label is 1."""

    mark: Mark = NO_MARK

    @property
    def columns(self) -> list[str]:
        return [self.score, self.mark.column]

    def values(self, batch: Any, source: Source, first: int) -> Floats:
        p = super().in_range(super().values(batch, source, first))
        return np.where(self.mark.holds(batch), -p, p)

    def in_range(self, values: Floats) -> Floats:
        return values


def find_judged(
    source: Source,
    schema: Any,
    score: str | None,
    decision: str | None,
    group: str | None,
    missing: MissingGroups,
) -> Judged:
    """The columns of one file."""
    used = find_used(source, schema, score, group, "", logits=False, missing=missing)
    taken = [used.score, *([] if group is None else [group])]
    mark = find_mark(
        source,
        schema,
        decision,
        DECISION_NAMES,
        what="decision",
        role="decision_column",
        taken=taken,
    )
    if mark.column in taken:
        raise DataError(f"{source.path}: two columns are both {mark.column!r}")
    return Judged(**vars(used), mark=mark)
