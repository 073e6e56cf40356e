"""What stays the same from period to period, and the counts of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.labels import read_together
from argmetric._ground.odds import from_log_odds
from argmetric._ground.saving import plain
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._monitor._cells import Cells
from argmetric._monitor._law import Maps, Shift
from argmetric._monitor._periods import Every, check_every
from argmetric._monitor._rows import GroupTable
from argmetric._verbs.tune import Rule
from argmetric.metrics import Metric, metric_from_dict, metric_to_dict

if TYPE_CHECKING:
    from argmetric._monitor._groups import MeanOverGroups


@dataclass(frozen=True)
class Watch:
    """What stays the same from period to period."""

    metric: Metric
    cells: Cells  # cells of the score
    calibrator: Calibrator  # the map that was fitted on the reference
    # Counts of the reference: known negatives and positives in each cell
    reference: Integers
    rule: Rule | float | None  # what predicts labels; None where they are passed
    every: Every  # the length of a period
    shift: Shift
    coverage: float
    floor: float | None
    false_alarms: float
    # As for `monitor`; "groups" where groups were given without it
    average: str | None = None
    columns: int = 0  # columns of the matrix of scores; 0 where every row has one score

    @cached_property
    def maps(self) -> Maps:
        """What the reference says of the cells."""
        return Maps.of(self.calibrator, self.cells)

    @cached_property
    def own(self) -> Floats:
        """Chance of a positive in each cell under the map itself."""
        return np.asarray(from_log_odds(self.calibrator._map(self.maps.x))[0])

    @cached_property
    def old(self) -> Floats:
        """Rows of the reference in each cell."""
        return np.asarray(self.reference.sum(axis=0), dtype=np.float64)

    @property
    def grouped(self) -> bool:
        """Whether the score is a mean over groups, rows or columns."""
        return self.average in ("groups", "samples", "macro")

    @property
    def unseen(self) -> str:
        """What no period tells without labels, and what would tell it."""
        way = "to_label(100) draws the rows that tell"
        if self.grouped or self.columns:
            way = "the labels of some groups, drawn at random, tell as known="
        return (
            "without labels nobody sees that labels changed their meaning, a fine "
            f"period included: {way}"
        )

    def select(self, scores: Floats, labels: Any, pos_label: Any) -> Booleans:
        """Which rows are predicted positive; a matrix cell by cell."""
        if self.rule is None:
            if labels is None:
                raise ValueError("labels are needed: these periods have no rule")
            shape = scores.shape
            (read,) = read_together(pos_label, shape=shape, labels=labels)
            return np.asarray(read.ravel() == 1.0)
        if labels is not None:
            raise ValueError("labels are predicted by the rule: pass p alone")
        if isinstance(self.rule, Rule):
            return self.rule.applies(scores.ravel())
        return np.asarray(scores.ravel() >= self.rule)

    def score(self, counts: Sequence[PeriodCounts]) -> Metric | MeanOverGroups:
        """What is forecast of some periods together."""
        tables = [one.groups for one in counts if one.groups is not None]
        if not self.grouped:
            return self.metric
        from argmetric._monitor._groups import MeanOverGroups

        return MeanOverGroups.of(self.metric, tables, self.cells.size)

    def to_dict(self) -> dict[str, Any]:
        rule = self.rule.to_dict() if isinstance(self.rule, Rule) else self.rule
        return {
            "metric": metric_to_dict(self.metric),
            "cells": plain(self.cells.to_dict()),
            "calibrator": self.calibrator.to_dict(),
            "reference": self.reference.tolist(),
            "rule": rule,
            "every": self.every.text,
            "shift": self.shift,
            "coverage": self.coverage,
            "floor": self.floor,
            "false_alarms": self.false_alarms,
            "average": self.average,
            "columns": self.columns,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Watch:
        rule, every = values["rule"], values["every"]
        every = int(every) if every.isdigit() else every or None
        return cls(
            metric=metric_from_dict(values["metric"]),
            cells=Cells.from_dict(values["cells"]),
            calibrator=Calibrator.from_dict(values["calibrator"]),
            reference=np.array(values["reference"], dtype=np.int64),
            rule=Rule.from_dict(rule) if isinstance(rule, dict) else rule,
            every=check_every(every, with_time=bool(every)),
            shift=values["shift"],
            coverage=float(values["coverage"]),
            floor=values["floor"],
            false_alarms=float(values["false_alarms"]),
            average=values.get("average"),
            columns=int(values.get("columns", 0)),
        )


class PeriodCounts(NamedTuple):
    """The rows of one period, counted."""

    number: int  # its place among all periods
    # When it begins and when the next one does; numbers of rows without times
    start: str
    end: str
    table: Integers  # counts by predicted label, known label and cell
    # Counts by group too, where a mean over groups is asked for
    groups: GroupTable | None = None
