"""Score of a period that is a mean over groups, samples or columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argmetric._forecast.group_mean import mean_distribution
from argmetric._forecast.groups import MetricGroups
from argmetric._forecast.posterior_score import GroupSample
from argmetric._ground.groups import Segments
from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._monitor._bins import POSITIVE, UNKNOWN
from argmetric._monitor._periods import GroupTable
from argmetric.metrics import Metric


@dataclass(frozen=True)
class MeanOverGroups:
    """Score of a period: the mean of a metric over its groups.

    bin_index, selected, known : ndarray of shape (n_rows,)
        Bin of the score, whether a row was predicted positive, and the true label, nan
        where unknown; group by group.
    indptr : ndarray of shape (n_groups + 1,)
        Where each group begins.
    """

    metric: Metric
    bin_index: Integers
    selected: Booleans
    known: Floats
    indptr: Integers

    @classmethod
    def from_tables(
        cls, metric: Metric, tables: Sequence[GroupTable], bins: int
    ) -> MeanOverGroups:
        """Build the score from the groups of several periods."""
        first = np.cumsum([0, *(one.ids.size for one in tables)])
        parts = [
            np.repeat(one.place, one.rows) + begin * 6 * bins
            for one, begin in zip(tables, first[:-1], strict=True)
        ]
        place = np.concatenate(parts)
        state, group = place // bins % 3, place // (6 * bins)
        sizes = np.bincount(group, minlength=int(first[-1]))
        return cls(
            metric,
            place % bins,
            place // (3 * bins) % 2 == 1,
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
        """Return the metric in every group, for labels of all rows (n_rows,)."""
        k, t, hits = (
            np.add.reduceat(one, self.indptr[:-1], dtype=np.float64)
            for one in (self.selected, labels, labels * self.selected)
        )
        return self.metric.value(hits, k, t, self.lengths.astype(np.float64))

    def known_counts(self) -> Integers:
        """Return rows with a known label, by group, predicted label and true label."""
        there = ~np.isnan(self.known)
        group = np.repeat(np.arange(self.lengths.size), self.lengths)[there]
        label = 2 * self.selected[there] + self.known[there].astype(np.int64)
        return np.bincount(4 * group + label, minlength=4 * self.lengths.size)

    def actual(self, coverage: float) -> tuple[float, Interval]:
        """Return the mean over groups with all labels known, and Student's interval."""
        from scipy.special import stdtrit

        known = np.add.reduceat(np.isnan(self.known), self.indptr[:-1]) == 0
        values = self.values(np.nan_to_num(self.known))[known]
        values = values[~np.isnan(values)]
        if values.size < 2:
            only = float(values.mean()) if values.size else math.nan
            return only, Interval(math.nan, math.nan)
        mean, error = values.mean(), values.std(ddof=1) / math.sqrt(values.size)
        wide = float(stdtrit(values.size - 1, (1.0 + coverage) / 2)) * error
        ends = np.clip([mean - wide, mean + wide], values.min(), values.max())
        return float(mean), Interval(*ends.tolist())

    def draw_means(
        self, p: Floats, place: Integers, count: int
    ) -> tuple[Floats, Floats]:
        """Draw the mean, and return its expectation in every draw of probabilities.

        p : ndarray of shape (n_places, n_draws)
        place : ndarray of shape (2·n_bins,)
            Row of `p` for each predicted label and bin.
        means : ndarray of shape (count, n_draws)
        expected : ndarray of shape (n_draws,)
        """
        place = place[self.selected * (place.size // 2) + self.bin_index]
        centre = p.mean(axis=1)
        known = np.where(np.isnan(self.known), centre[place], self.known)
        rows = Segments(known, 1.0 - known, self.indptr, self.lengths)
        pmf = mean_distribution(
            MetricGroups(self.metric, rows, self.known, self.selected, 0.0)
        )[0]
        if not pmf.values.size:
            return np.full((count, p.shape[1]), math.nan), np.full(p.shape[1], math.nan)
        arrays = place, self.selected, self.known
        sample = GroupSample(self.metric, *arrays, (self.indptr, self.lengths))
        mean, deviation = sample.moments(centre)
        means, deviations = np.array([sample.moments(one) for one in p.T]).T
        ends = sample.ends()
        ends = min(ends[0], pmf.values[0]), max(ends[1], pmf.values[-1])
        expected = np.clip(pmf.mean + means - mean, *ends)
        level = np.random.default_rng(1).permutation(count * means.size)
        level = (level.reshape(count, -1) + 0.5) / level.size
        where = np.searchsorted(np.cumsum(pmf.probabilities), level)
        error = pmf.values[np.minimum(where, pmf.values.size - 1)] - pmf.mean
        scale = deviations / max(deviation, 1e-12)
        return np.clip(expected + error * scale, *ends), expected
