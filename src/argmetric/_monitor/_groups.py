"""A mean over groups: a metric that is computed in every basket, user or row.

Groups are independent of each other given the map and θ. The law of their mean has the
shape that `forecast` finds for all groups at the usual chances. Under another map or θ
it moves as its mean does, and is as wide as its standard deviation says; both are taken
from some groups, at a few values of θ for every map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from argmetric._expected import Tables, by_size
from argmetric._forecast.groups import TABLE_LIMIT, JudgedGroups
from argmetric._forecast.means import law_of_mean
from argmetric._forecast.parts import table_moments
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._monitor._cells import POSITIVE, UNKNOWN
from argmetric._monitor._rows import GroupTable
from argmetric.metrics import Metric

SHORT, LONG = 2000, 32  # groups, of up to 64 rows and longer, seen under every map
QUANTILES = 12  # of hits and of misses of a long group
FEWEST_NODES, MOST_NODES = 3, 7  # values of θ that means are read between


@dataclass(frozen=True)
class MeanOverGroups:
    """The score of a period: the mean of a metric over its groups.

    Attributes
    ----------
    metric : Metric
        What is computed in every group.
    cell, selected, known : ndarray
        Of every row, group by group: cell of the score, whether it was predicted
        positive, and the true label, nan where unknown.
    indptr : ndarray
        Where each group begins.
    """

    metric: Metric
    cell: Integers
    selected: Booleans
    known: Floats
    indptr: Integers

    @classmethod
    def of(
        cls, metric: Metric, tables: Sequence[GroupTable], cells: int
    ) -> MeanOverGroups:
        """The groups of some periods together."""
        first = np.cumsum([0, *(one.ids.size for one in tables)])
        parts = [
            np.repeat(one.place, one.rows) + begin * 6 * cells
            for one, begin in zip(tables, first[:-1], strict=True)
        ]
        place = np.concatenate(parts)
        state, group = place // cells % 3, place // (6 * cells)
        sizes = np.bincount(group, minlength=int(first[-1]))
        return cls(
            metric,
            place % cells,
            place // (3 * cells) % 2 == 1,
            np.where(state == UNKNOWN, math.nan, state == POSITIVE),
            np.concatenate([[0], np.cumsum(sizes)]),
        )

    @property
    def greater_is_better(self) -> bool:
        return self.metric.greater_is_better

    @cached_property
    def lengths(self) -> Integers:
        return np.diff(self.indptr)

    def take(self, groups: Integers) -> MeanOverGroups:
        """Some of the groups."""
        lengths = self.lengths[groups]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(self.indptr[:-1][groups] - indptr[:-1], lengths)
        rows += np.arange(rows.size)
        part = self.cell[rows], self.selected[rows], self.known[rows]
        return MeanOverGroups(self.metric, *part, indptr)

    def chances(self, c: Floats, theta: float) -> tuple[Floats, Floats]:
        """P and 1 - p of every row, from chances of cells at odds times e^θ."""
        odds = c * math.exp(theta)
        p, q = odds / (1.0 - c + odds), (1.0 - c) / (1.0 - c + odds)
        open_ = np.isnan(self.known)
        return (
            np.where(open_, p[self.cell], self.known),
            np.where(open_, q[self.cell], 1.0 - self.known),
        )

    def values(self, labels: Floats) -> Floats:
        """The metric in every group, for labels of all rows."""
        k, t, hits = (
            np.add.reduceat(one, self.indptr[:-1], dtype=np.float64)
            for one in (self.selected, labels, labels * self.selected)
        )
        return self.metric.value(hits, k, t, self.lengths.astype(np.float64))

    def known_counts(self) -> Integers:
        """Rows with a known label: by group, predicted label and true label."""
        there = ~np.isnan(self.known)
        group = np.repeat(np.arange(self.lengths.size), self.lengths)[there]
        label = 2 * self.selected[there] + self.known[there].astype(np.int64)
        return np.bincount(4 * group + label, minlength=4 * self.lengths.size)

    def actual(self, coverage: float) -> tuple[float, float, float]:
        """Mean over the groups all of whose labels are known, and an interval.

        The interval is that of Student for a mean over such groups.
        """
        from scipy.special import stdtrit

        known = np.add.reduceat(np.isnan(self.known), self.indptr[:-1]) == 0
        some = self.take(np.flatnonzero(known))
        if not some.lengths.size:
            return math.nan, math.nan, math.nan
        values = some.values(some.known)
        values = values[~np.isnan(values)]
        if values.size < 2:
            return float(values.mean()) if values.size else math.nan, math.nan, math.nan
        mean, error = values.mean(), values.std(ddof=1) / math.sqrt(values.size)
        wide = float(stdtrit(values.size - 1, (1.0 + coverage) / 2)) * error
        ends = np.clip([mean - wide, mean + wide], values.min(), values.max())
        return float(mean), *ends.tolist()

    def drawn(
        self, chances: Floats, theta: Floats, levels: Floats
    ) -> tuple[Floats, Floats]:
        """Draws of the mean at every θ of every map, and its expectation there.

        Parameters
        ----------
        chances : ndarray
            Chance of a positive in each cell, a row for every map.
        theta : ndarray
            A row for every map.
        levels : ndarray
            For every θ the levels of the quantiles that are drawn.
        """
        usual, middle = chances.mean(axis=0), float(theta.mean())
        p, q = self.chances(usual, middle)
        rows = Segments(p, q, self.indptr, self.lengths)
        law = law_of_mean(
            JudgedGroups(self.metric, rows, self.known, self.selected, 0.0)
        )[0]
        if not law.values.size:
            return np.full(levels.shape, math.nan), np.full(theta.shape, math.nan)
        some = self._sample
        mean, deviation = some.moments(usual, middle)
        means, deviations = some.moments_at(chances, theta)
        expected = np.clip(law.mean + means - mean, *self._ends)
        reached = np.cumsum(law.probabilities)
        where = np.minimum(np.searchsorted(reached, levels), law.values.size - 1)
        scale = np.maximum(deviations, 0.0) / max(deviation, 1e-12)
        apart = (law.values[where] - law.mean) * scale[..., None]
        return np.clip(expected[..., None] + apart, *self._ends), expected

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Least and largest mean, at the ends of what the counts can be."""
        known, ends = self.known, (0.0, 1.0)
        values = np.array(
            [
                self.values(np.where(np.isnan(known), open_, known))
                for hit in ends
                for miss in ends
                for open_ in [np.where(self.selected, hit, miss)]
            ]
        )
        values = values[:, ~np.isnan(values).all(axis=0)]
        if not values.size:
            return -math.inf, math.inf
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        return float(low.mean()), float(high.mean())

    @cached_property
    def _sample(self) -> _Sample:
        rng, chosen, weight = np.random.default_rng(0), [], []
        short = self.lengths <= TABLE_LIMIT
        for kind, most in ((short, SHORT), (~short, LONG)):
            members = np.flatnonzero(kind)
            taken = np.sort(rng.permutation(members)[:most])
            chosen.append(taken)
            weight.append(np.full(taken.size, members.size / max(taken.size, 1)))
        groups = self.take(np.concatenate(chosen))
        return _Sample(groups, np.concatenate(weight), chosen[0].size)


class _Sample:
    """Some groups, the short ones first: what a map does to the mean shows on them."""

    def __init__(self, groups: MeanOverGroups, weight: Floats, n_short: int) -> None:
        self.groups, self.weight = groups, weight  # groups that each stands for
        self.short = groups.take(np.arange(n_short))
        self.tables = Tables(groups.metric)
        rows = Segments(self.short.known, self.short.known, *self._bounds)
        self.sizes = list(by_size(rows, TABLE_LIMIT))
        self.long = groups.take(np.arange(n_short, weight.size))

    @property
    def _bounds(self) -> tuple[Integers, Integers]:
        return self.short.indptr, self.short.lengths

    def moments(self, c: Floats, theta: float) -> tuple[float, float]:
        """Expected mean over all groups, and its standard deviation."""
        rows = Segments(*self.short.chances(c, theta), *self._bounds)
        raw = table_moments(self.tables, rows, self.short.selected, self.sizes)
        raw = np.concatenate([raw[:, :3], self._moments_of_long(c, theta)])
        share, first, second = raw.T
        total = self.weight @ share
        if not total > 0.0:
            return 0.0, 0.0
        mean = self.weight @ first / total
        apart = first - mean * share
        square = second - 2.0 * mean * first + mean**2 * share - apart**2
        return float(mean), math.sqrt(max(self.weight @ square, 0.0)) / float(total)

    def moments_at(self, chances: Floats, theta: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation at every θ of every map.

        By polynomials through a few values of θ, the more the wider they lie.
        """
        low, high = theta.min(axis=1), theta.max(axis=1)
        middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-9)
        count = min(FEWEST_NODES + int(2.0 * half.max()), MOST_NODES)
        nodes = chebpts1(count if half.max() > 1e-9 else 1)
        found = [
            [self.moments(c, centre + width * x) for x in nodes]
            for c, centre, width in zip(chances, middle, half, strict=True)
        ]
        inside = (theta - middle[:, None]) / half[:, None]
        weight = chebvander(inside, nodes.size - 1) @ np.linalg.inv(
            chebvander(nodes, nodes.size - 1)
        )
        means, deviations = np.moveaxis(weight @ np.array(found), -1, 0)
        return means, deviations

    def _moments_of_long(self, c: Floats, theta: float) -> Floats:
        """Per long group P(defined), E[value] and E[value²] where it is defined.

        From quantiles of hits and of misses by three cumulants, as in `_law.quantiles`
        but not rounded: only differences between maps are used.
        """
        from scipy.special import ndtri

        long, n = self.long, self.long.lengths.size
        if not n:
            return np.zeros((0, 3))
        p, q = long.chances(c, theta)
        code = 2 * np.repeat(np.arange(n), long.lengths) + long.selected
        mean, variance, third, rows = (
            np.bincount(code, one, 2 * n).reshape(n, 2, 1).astype(np.float64)
            for one in (p, p * q, p * q * (q - p), np.ones(p.size))
        )
        z = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
        skew = third / np.maximum(variance, 1e-12) ** 1.5
        bend = np.clip(skew, -2.0, 2.0) * (z**2 - 1.0) / 6.0
        counts = np.clip(mean + np.sqrt(variance) * (z + bend), 0.0, rows)
        missed, hits = np.moveaxis(counts, 1, 0)
        k, size = rows[:, 1:], rows.sum(axis=1, keepdims=True)
        hits = hits[:, :, None]
        value = long.metric.value(hits, k, hits + missed[:, None], size)
        there = ~np.isnan(value)
        value = np.where(there, value, 0.0)
        return np.stack([one.mean(axis=(1, 2)) for one in (there, value, value**2)], 1)
