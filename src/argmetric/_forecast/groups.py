"""Groups of rows that are independent of each other, and the laws of their counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from argmetric._expected import TOLERANCE, kernels
from argmetric._forecast.distributions import ScorePMF, score_pmf
from argmetric._forecast.effects import (
    centre_log_odds,
    effect_step,
    effects,
    likeliest_effects,
    mixed_law,
    settle,
    tells_of_effect,
)
from argmetric._ground.groups import Segments
from argmetric._ground.layout import Layout
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

TABLE_LIMIT = 64  # rows of a group whose moments are looked up in a table of values
LONGEST_TILT = 6.0  # standard deviations of a count by which its law is tilted


@dataclass(frozen=True)
class JudgedGroups:
    """Rows group by group, with the metric that judges every group."""

    metric: Metric
    rows: Segments  # probabilities; `known` and `selected` lie beside them
    known: Floats
    selected: Booleans
    deviation: float  # of the effect that the rows of a group share

    @property
    def size(self) -> int:
        return self.rows.n_segments

    def per_group(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sum over the rows of every group."""
        group = np.repeat(np.arange(self.size), self.rows.lengths)
        weights = values.astype(np.float64)
        return np.bincount(group, weights, self.size).astype(np.float64)

    @cached_property
    def predictions(self) -> Integers:
        """Selected rows of every group."""
        return self.per_group(self.selected).astype(np.int64)

    def open(self) -> Booleans:
        """Groups with a row whose label is neither known nor certain."""
        rows = self.rows
        unsure = np.isnan(self.known) & (rows.p > 0.0) & (rows.q > 0.0)
        return self.per_group(unsure) > 0

    def take(self, chosen: Integers) -> JudgedGroups:
        """Some of the groups."""
        if chosen.size == self.size:
            return self
        inside = np.zeros(self.size, dtype=bool)
        inside[chosen] = True
        rows = np.repeat(inside, self.rows.lengths)
        return replace(
            self,
            rows=self.rows.take(chosen),
            known=self.known[rows],
            selected=self.selected[rows],
        )

    def settled(self) -> tuple[Floats, Floats]:
        """Values of groups without an open row, and their positives."""
        labels, _ = settle(self.rows.p, self.rows.q, self.known)
        tp = self.per_group(labels * self.selected)
        t, k = self.per_group(labels), self.per_group(self.selected)
        return self.metric.value(tp, k, t, self.rows.sizes.astype(np.float64)), t

    def law(self, g: int) -> tuple[ScorePMF, float]:
        """Law of one group, and its expected positives."""
        part = slice(self.rows.indptr[g], self.rows.indptr[g + 1])
        return law_of_one(
            self.metric,
            int(self.rows.sizes[g]),
            self.rows.p[part],
            self.rows.q[part],
            self.known[part],
            self.selected[part],
            self.deviation,
        )

    def certain(self) -> Segments:
        """The rows, with the labels that are known."""
        rows = self.rows
        return Segments(*settle(rows.p, rows.q, self.known), rows.indptr, rows.sizes)

    def tilted(self) -> Iterator[tuple[Segments, Floats, Floats]]:
        """Rows at some effects, tilts to more of them, and weights of these per group.

        A tilt is a shift of all log-odds, and makes a count more likely by a power of
        it: laws are built up row by row at few effects. Without a shared effect there
        is one without tilt.
        """
        if self.deviation == 0.0:
            yield self.certain(), np.zeros(1), np.ones((1, self.size))
            return
        rows, known = self.rows, self.known
        group = np.repeat(np.arange(self.size), rows.lengths)
        centre = centre_log_odds(rows.p, rows.q, self.deviation)
        longest = int(rows.lengths.max(initial=1))
        step = 2.0 / (self.deviation * math.sqrt(longest))
        points, _ = effects(self.deviation, min(step, effect_step(self.deviation)))
        # Known labels move the effect of their group: its points go along.
        middle = likeliest_effects(centre, self.deviation, known, group, self.size)
        middle = np.rint(middle / (points[1] - points[0])) * (points[1] - points[0])
        centre = centre + self.deviation * middle[group]
        chances = self._chances(centre, points, middle)
        shifts = self.deviation * points
        # A count of n labels has a standard deviation of at most √n/2.
        apart = 2.0 * LONGEST_TILT / math.sqrt(longest)
        number = np.rint((shifts - shifts[0]) / (2.0 * apart)).astype(np.int64)
        for part in np.split(
            np.arange(shifts.size), np.flatnonzero(np.diff(number)) + 1
        ):
            anchor = float(shifts[part].mean())
            p, q = settle(*from_log_odds(centre + anchor), known)
            here = Segments(p, q, rows.indptr, rows.sizes)
            yield here, shifts[part] - anchor, chances[part]

    def _chances(self, centre: Floats, points: Floats, middle: Floats) -> Floats:
        """Chance of every effect in every group, given the known labels."""
        level = -((points[:, None] + middle) ** 2) / 2
        arrived = tells_of_effect(centre, self.known)
        if arrived.any():
            sign = np.where(self.known == 1.0, 1.0, -1.0)
            for i, effect in enumerate(points):
                x = sign * (centre + self.deviation * effect)
                chance = np.where(arrived, -np.logaddexp(0.0, -x), 0.0)
                level[i] += self.per_group(chance)
        chances = np.exp(level - level.max(axis=0))
        return np.asarray(chances / chances.sum(axis=0))


def law_of_one(
    metric: Metric,
    n: int,
    p: Floats,
    q: Floats,
    known: Floats,
    selected: Booleans,
    deviation: float,
) -> tuple[ScorePMF, float]:
    """Law of the score of one segment, and its expected positives."""
    if deviation == 0.0:
        p, q = settle(p, q, known)
        return score_pmf(metric, n, p, q, selected), float(p.sum())
    centre = centre_log_odds(p, q, deviation)
    return mixed_law(metric, n, centre, deviation, known, selected)


ROWS_AT_ONCE = 1 << 15  # rows whose cells are laid out at once
TOLERANCE_TILTED = 1e-60  # of a law that is tilted: unlikely counts become likely
CELLS = 1 << 14  # pairs of counts whose values are made at once: they stay in cache
LONGEST, LONGEST_MIXED = 20_000, 2_000  # rows of a group whose cells are laid out


@dataclass(frozen=True)
class CellLaws:
    """Pairs of hits and misses of groups, with their chances and values."""

    # per group the least hits, how many numbers of hits, and the same of misses
    box: Integers
    # chances, values: of all pairs. Groups of one size and as many predictions share
    # their values.
    chances: Floats
    values: Floats
    # with `a` hits and `r` misses more than the least, group g has the chance
    # chances[places[g, 0] + places[g, 1]·a + r] and the value values[places[g, 2] +
    # places[g, 3]·a + r]
    places: Integers

    def take(self, kept: Booleans) -> CellLaws:
        """The laws of some of the groups."""
        return replace(self, box=self.box[kept], places=self.places[kept])

    def moments(self, unlikely: float) -> tuple[Floats, Floats, Floats, float]:
        """Per group raw moments and the likely ends, and the positives of all."""
        groups = self.box.shape[0]
        raw, low, high = np.zeros((groups, 4)), *np.zeros((2, groups))
        positives = kernels.cell_moments(
            self.values, self.chances, self.box, self.places, unlikely, raw, low, high
        )
        return raw, low, high, float(positives)

    def place(
        self, base: Floats, step: float, count: int, filled: float
    ) -> tuple[Floats, Floats]:
        """Mass of `count` cells from each group's base on, and what lies between."""
        mass, moment = np.zeros((2, self.box.shape[0], count + 1))
        laws = self.values, self.chances, self.box, self.places
        kernels.place_cells(*laws, base, step, count, filled, mass, moment)
        return mass, moment


def lies_in_cells(groups: JudgedGroups) -> Booleans:
    """Groups whose laws are made many at a time; the others are very long."""
    longest = LONGEST_MIXED if groups.deviation else LONGEST
    return groups.rows.lengths <= longest


def in_blocks(
    groups: JudgedGroups, chosen: Integers
) -> Iterator[tuple[Integers, CellLaws]]:
    """Numbers of groups, about ROWS_AT_ONCE rows at a time, and their laws."""
    ends = np.cumsum(groups.rows.lengths[chosen])
    block = (ends - 1) // ROWS_AT_ONCE
    for part in np.split(chosen, np.flatnonzero(np.diff(block)) + 1):
        if part.size:
            yield part, cell_laws(groups.take(part))


def cell_laws(groups: JudgedGroups) -> CellLaws:
    """Values and chances of all groups, mixed over the effects that they share."""
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
    for first in range(0, values.size, CELLS):
        part = values[first : first + CELLS]
        used = np.empty((4, part.size))
        kernels.fill_counts(sheets, starts, sheet_k, sheet_n, first, used)
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


@dataclass(frozen=True)
class Batch:
    """Rows whose labels are scored."""

    metric: Metric  # what scores them
    layout: Layout  # how they lie in segments; its scores are those before any map
    # p, q: chances of a positive and of a negative, after the map
    p: Floats
    q: Floats
    # known, selected: labels that have come, nan for the others; and those that are
    # scored
    known: Floats
    selected: Booleans
    deviation: float  # of the effect that the rows of a segment share
    prior: float | None  # the share of positives, where it is given
    logits: bool  # whether scores are log-odds

    @property
    def n(self) -> int:
        """Rows, with the absent ones of a sparse matrix."""
        return int(self.layout.sizes.sum())

    @property
    def odds(self) -> Floats:
        """Log-odds before the map."""
        scores = self.layout.scores
        return scores if self.logits else logit(scores)

    def law(self) -> tuple[ScorePMF, float]:
        """Law of the score given the chances, and the expected positives."""
        metric, layout = self.metric, self.layout
        p, q, known, selected = self.p, self.q, self.known, self.selected
        if layout.single:
            n = int(layout.sizes[0])
            return law_of_one(metric, n, p, q, known, selected, self.deviation)
        from argmetric._forecast.group_mean import mean_distribution

        if layout.rows is not None:
            p, q, known = (one[layout.rows] for one in (p, q, known))
            selected = selected[layout.rows]
        rows = Segments(p, q, layout.indptr, layout.sizes)
        groups = JudgedGroups(metric, rows, known, selected, self.deviation)
        return mean_distribution(groups)
