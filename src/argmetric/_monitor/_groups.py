"""A mean over groups: a metric that is computed in every basket, user or row.

Groups are independent of each other given the chances of their rows. The law of their
mean has the shape that `forecast` finds for all groups at the usual chances. In every
draw of chances it moves as its mean does, and is as wide as its standard deviation
says; both are taken from some groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argmetric._forecast.groups import JudgedGroups
from argmetric._forecast.means import law_of_mean
from argmetric._forecast.over_truth import GroupSample
from argmetric._ground.segments import Segments
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._monitor._cells import POSITIVE, UNKNOWN
from argmetric._monitor._rows import GroupTable
from argmetric.metrics import Metric


@dataclass(frozen=True)
class MeanOverGroups:
    """The score of a period: the mean of a metric over its groups."""

    metric: Metric  # what is computed in every group
    # Of every row, group by group: cell of the score, whether it was predicted
    # positive, and the true label, nan where unknown
    cell: Integers
    selected: Booleans
    known: Floats
    indptr: Integers  # where each group begins

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
        values = self.values(np.nan_to_num(self.known))[known]
        values = values[~np.isnan(values)]
        if values.size < 2:
            return float(values.mean()) if values.size else math.nan, math.nan, math.nan
        mean, error = values.mean(), values.std(ddof=1) / math.sqrt(values.size)
        wide = float(stdtrit(values.size - 1, (1.0 + coverage) / 2)) * error
        ends = np.clip([mean - wide, mean + wide], values.min(), values.max())
        return float(mean), *ends.tolist()

    def drawn(self, p: Floats, place: Integers, count: int) -> tuple[Floats, Floats]:
        """Draws of the mean, and its expectation in every draw of chances.

        `p`: chances in cells, a column for each draw; `place`: the cell of all cells of
        the score, called negative and then positive; `count`: draws of the mean for
        each of chances.
        """
        place = place[self.selected * (place.size // 2) + self.cell]
        open_, usual = np.isnan(self.known), p.mean(axis=1)
        chance = np.where(open_, usual[place], self.known)
        rows = Segments(chance, 1.0 - chance, self.indptr, self.lengths)
        law = law_of_mean(
            JudgedGroups(self.metric, rows, self.known, self.selected, 0.0)
        )[0]
        if not law.values.size:
            return np.full((count, p.shape[1]), math.nan), np.full(p.shape[1], math.nan)
        of_rows = self.selected, self.known, self.indptr, self.lengths
        sample = GroupSample(self.metric, place, *of_rows)
        mean, deviation = sample.moments(usual)
        means, deviations = np.array([sample.moments(one) for one in p.T]).T
        ends = sample.ends()
        ends = min(ends[0], law.values[0]), max(ends[1], law.values[-1])
        expected = np.clip(law.mean + means - mean, *ends)
        level = np.random.default_rng(1).permutation(count * means.size)
        level = (level.reshape(count, -1) + 0.5) / level.size
        where = np.searchsorted(np.cumsum(law.probabilities), level)
        drawn = law.values[np.minimum(where, law.values.size - 1)] - law.mean
        scale = deviations / max(deviation, 1e-12)
        return np.clip(expected + drawn * scale, *ends), expected
