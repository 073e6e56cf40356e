"""Groups of rows that are independent of each other, and the law of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from argmetric._expected import by_size
from argmetric._forecast._effects import mixed_law, settle, tells_of_effect
from argmetric._forecast._laws import ValueLaw, law_of_values
from argmetric._forecast._shift import centre_log_odds, effect_step, effects
from argmetric._input.odds import from_log_odds
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

TABLE_LIMIT = 64
Size = tuple[int, int, Integers]
LONGEST_TILT = 6.0  # standard deviations of a count by which its law is tilted


@dataclass(frozen=True)
class Groups:
    """Rows group by group, with the metric that judges every group.

    Attributes
    ----------
    rows : Segments
        Probabilities; `known` and `selected` lie beside them.
    deviation : float
        Of the effect that the rows of a group share.
    """

    metric: Metric
    rows: Segments
    known: Floats
    selected: Booleans
    deviation: float

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

    @cached_property
    def short_sizes(self) -> list[Size]:
        """Rows, size and numbers of the groups that are short, size by size."""
        return list(by_size(self.rows, TABLE_LIMIT))

    def open(self) -> Booleans:
        """Groups with a row whose label is neither known nor certain."""
        rows = self.rows
        unsure = np.isnan(self.known) & (rows.p > 0.0) & (rows.q > 0.0)
        return self.per_group(unsure) > 0

    def take(self, chosen: Integers) -> Groups:
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

    def law(self, g: int) -> tuple[ValueLaw, float]:
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
        centre = centre_log_odds(rows.p, rows.q, self.deviation, loaded=True)
        longest = int(rows.lengths.max(initial=1))
        step = 2.0 / (self.deviation * math.sqrt(longest))
        points, weights = effects(
            self.deviation, min(step, effect_step(self.deviation))
        )
        chances = self._chances(centre, points, weights)
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

    def _chances(self, centre: Floats, points: Floats, weights: Floats) -> Floats:
        """Chance of every effect in every group, given the known labels."""
        level = np.log(np.maximum(weights, 1e-300))[:, None] + np.zeros(self.size)
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
) -> tuple[ValueLaw, float]:
    """Law of the score of one segment, and its expected positives."""
    if deviation == 0.0:
        p, q = settle(p, q, known)
        return law_of_values(metric, n, p, q, selected), float(p.sum())
    centre = centre_log_odds(p, q, deviation)
    return mixed_law(metric, n, centre, deviation, known, selected)
