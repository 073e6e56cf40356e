"""Groups of rows that are independent of each other, and the law of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from argmetric._forecast._effects import mixed_law, settle
from argmetric._forecast._laws import ValueLaw, law_of_values
from argmetric._forecast._shift import centre_log_odds, effect_step, effects
from argmetric._odds import from_log_odds
from argmetric._segments import Segments
from argmetric._types import Booleans, Floats, Integers
from argmetric.metrics import Metric

TABLE_LIMIT = 64


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

    def scenarios(self) -> Iterator[tuple[Floats, Segments]]:
        """Weight of every group and its rows, for values of the effect of a group."""
        rows, known = self.rows, self.known
        if self.deviation == 0.0:
            settled = settle(rows.p, rows.q, known)
            yield np.ones(self.size), Segments(*settled, rows.indptr, rows.sizes)
            return
        centre = centre_log_odds(rows.p, rows.q, self.deviation)
        points, weights = self._effects()
        level = np.log(np.maximum(weights, 1e-300))[:, None] + np.zeros(self.size)
        arrived = ~np.isnan(known)
        if arrived.any():
            sign = np.where(known == 1.0, 1.0, -1.0)
            for i, effect in enumerate(points):
                x = sign * (centre + self.deviation * effect)
                chance = np.where(arrived, -np.logaddexp(0.0, -x), 0.0)
                level[i] += self.per_group(chance)
        chances = np.exp(level - level.max(axis=0))
        chances /= chances.sum(axis=0)
        for effect, weight in zip(points, chances, strict=True):
            p, q = settle(*from_log_odds(centre + self.deviation * effect), known)
            yield weight, Segments(p, q, rows.indptr, rows.sizes)

    def _effects(self) -> tuple[Floats, Floats]:
        """So close that the counts of the longest group overlap."""
        longest = int(self.rows.lengths.max(initial=1))
        step = 2.0 / (self.deviation * math.sqrt(longest))
        return effects(self.deviation, min(step, effect_step(self.deviation)))


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
