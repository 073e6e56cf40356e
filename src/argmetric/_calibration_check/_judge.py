"""Several sets of labels judged on the truth, and how sure their differences are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.groups import code_groups
from argmetric._input.layout import Layout
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

MOST_BLOCKS = 1024  # units are drawn in this many blocks, or one by one if fewer
MOST_CELLS = 1 << 23


@dataclass(frozen=True)
class Units:
    """What a new sample would draw: rows, or whole groups.

    Attributes
    ----------
    unit : ndarray or None
        Number of the unit of every item; None: each is one.
    segment : ndarray or None
        Number of the segment whose counts the item enters; None: one for all.
    n_units, n_segments : int
        How many there are.
    per_unit : bool
        Whether every unit has a score of its own, and the mean of them counts.
    """

    unit: Integers | None
    segment: Integers | None
    n_units: int
    n_segments: int
    per_unit: bool


def units_of(layout: Layout, groups: Any) -> Units:
    """Units and segments for the average of a layout, per item of it."""
    n = layout.scores.size
    if len(layout.shape) == 2:
        rows, columns = layout.shape
        row = layout.select(np.repeat(np.arange(rows), columns).reshape(layout.shape))
        column = None
        if layout.average == "macro":
            column = layout.select(np.tile(np.arange(columns), (rows, 1)))
        count = columns if layout.average == "macro" else 1
        return Units(row, column, rows, count, layout.average == "samples")
    if groups is None:
        return Units(None, None, n, 1, False)
    coded = code_groups(groups, n)
    return Units(coded.codes, None, coded.count, 1, layout.average == "groups")


@dataclass(frozen=True)
class Case:
    """Sets of labels, the truth, and how they are judged; one entry per item."""

    metric: Metric
    units: Units
    y: Booleans
    labels: tuple[Booleans, ...]
    weight: Floats | None

    def added(self, code: Integers, mask: Booleans, size: int) -> Floats:
        """Weight of the items of a mask, by code."""
        values = mask.astype(np.float64) if self.weight is None else mask * self.weight
        return np.bincount(code, values, size).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Judged:
    """Scores of all sets of labels, and of the same labels on units drawn again."""

    scores: Floats
    samples: Floats

    def error(self, i: int) -> float:
        """Standard error of a score."""
        return _spread(self.samples[:, i])

    def difference_error(self, i: int, j: int) -> float:
        """Standard error of the difference of two scores, which are paired."""
        return _spread(self.samples[:, i] - self.samples[:, j])


def judge(case: Case, n_bootstrap: int, rng: np.random.Generator) -> Judged:
    """Scores of sets of labels, which stay fixed while units are drawn again."""
    block, n_blocks = _blocks(case, rng)
    sums = _scores if case.units.per_unit else _counts
    table = sums(case, block, n_blocks)
    drawn = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), n_bootstrap)
    again = np.tensordot(drawn.astype(np.float64), table, axes=1)
    return Judged(_judged(case, table.sum(axis=0)[None])[0], _judged(case, again))


def _spread(values: Floats) -> float:
    values = values[np.isfinite(values)]
    return float(values.std(ddof=1)) if values.size > 1 else float("nan")


def _blocks(case: Case, rng: np.random.Generator) -> tuple[Integers, int]:
    """Block of every unit: its own, or one of many that are dealt at random."""
    units, columns = case.units, 2 * len(case.labels) + 2
    most = max(32, min(MOST_BLOCKS, MOST_CELLS // (columns * units.n_segments)))
    if units.n_units <= most:
        return np.arange(units.n_units), units.n_units
    block = rng.permutation(units.n_units)
    block %= most
    return block.astype(np.int16), most  # most is at most MOST_BLOCKS


def _counts(case: Case, block: Integers, n_blocks: int) -> Floats:
    """Positives and size, then hits and predictions: blocks × segments × columns."""
    units, y = case.units, case.y
    code = block if units.unit is None else block[units.unit]
    if units.segment is not None:
        code = code.astype(np.int64) * units.n_segments + units.segment
    masks = [y, np.ones_like(y)]
    for labels in case.labels:
        masks += [labels & y, labels]
    size = n_blocks * units.n_segments
    table = np.stack([case.added(code, mask, size) for mask in masks], axis=-1)
    return table.reshape(n_blocks, units.n_segments, len(masks))


def _scores(case: Case, block: Integers, n_blocks: int) -> Floats:
    """Sum and number of the defined scores of the units: blocks × 1 × columns."""
    unit, count, y = case.units.unit, case.units.n_units, case.y
    assert unit is not None
    t, n = (case.added(unit, mask, count) for mask in (y, np.ones_like(y)))
    columns = []
    for labels in case.labels:
        tp, k = (case.added(unit, mask, count) for mask in (labels & y, labels))
        values = case.metric.value(tp, k, t, n)
        defined = ~np.isnan(values) & (n > 0)  # a unit of weight 0 is not there
        columns += [np.where(defined, values, 0.0), defined.astype(np.float64)]
    table = np.stack([np.bincount(block, one, n_blocks) for one in columns], axis=-1)
    return table[:, None, :].astype(np.float64, copy=False)


def _judged(case: Case, table: Floats) -> Floats:
    """Scores of all labels from sums over samples × segments × columns."""
    cells = np.moveaxis(table, -1, 0)
    if case.units.per_unit:
        with np.errstate(invalid="ignore"):
            return np.asarray((cells[::2] / cells[1::2])[:, :, 0].T)
    t, n = cells[:2]
    there = n > 0  # a segment of weight 0 is not
    pairs = zip(cells[2::2], cells[3::2], strict=True)
    means = [_mean(case.metric.value(tp, k, t, n), there) for tp, k in pairs]
    return np.stack(means, axis=1)


def _mean(values: Floats, there: Booleans) -> Floats:
    """Mean over the segments in which the metric is defined."""
    defined = ~np.isnan(values) & there
    with np.errstate(invalid="ignore"):
        total = np.where(defined, values, 0.0).sum(axis=1)
        return np.asarray(total / defined.sum(axis=1))
