"""The search for rows whose review, or absence, raises the expected score most.

Let z be the labels, y the true labels, R the reviewed rows. After the review the score
is a function of three independent Poisson-binomial counts: hits H of the unreviewed
rows with z = 1, misses M of those with z = 0, positives S of the reviewed rows:

    metric(tp = H + S, predicted = k + S, positives = H + M + S, n),

k the unreviewed rows with z = 1. Reviewing a row with z = 1 pays the more the less
probable it is, one with z = 0 the more probable it is. So R has the b least probable of
the rows with z = 1 and the a most probable of those with z = 0, a + b the budget: one
number is searched for, by the expected score itself. Where the labels are free, R is a
window in the order of p, with positives above and negatives below it. Few rows are
exchanged one by one after that. The same holds for rows that are left out.

Counts are taken as normal only where they vary: a metric may jump where there is no
positive, and of few positives a normal distribution has none of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from argmetric._forecast.distributions import ScorePMF, count_pmf, score_pmf_from_counts
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

EVERY = 48  # rows up to which every set of a family has its exact expected score
EXCHANGED = 24  # rows up to which single rows are exchanged after that
NODES = 9  # of reviewed positives that take more than MOST_COUNTS values
MOST_COUNTS = 32
UNLIKELY = 1e-15  # probability of a number of positives that is left out
RARE = 1e-9  # the same, where sets of rows are compared
FEW_NODES = 3  # of each count, to start the search among many sets of rows
FEW = 9.0  # variance of a count up to which all its values are summed over
STARTS = 9  # evenly spread, beside the one that looks best


@dataclass(frozen=True)
class RowSearch:
    """The search for rows to review or leave out."""

    metric: Metric
    p: Floats  # probabilities of a positive and of a negative, shape (n,)
    q: Floats
    given: Booleans  # labels that the search starts from
    budget: int
    leave: bool

    def distribution(self, labels: Booleans, rows: Integers) -> ScorePMF:
        """Return the distribution of the score after the review of some rows."""
        rest = np.ones(self.p.size, dtype=bool)
        rest[rows] = False
        hits, misses = (
            count_pmf(self.p[some], self.q[some])
            for some in (rest & labels, rest & ~labels)
        )
        k = int((rest & labels).sum())
        if self.leave:
            return score_pmf_from_counts(self.metric, int(rest.sum()), k, hits, misses)
        parts = []
        for seen, weight in zip(*self._reviewed_positives(rows), strict=True):
            counts = hits._replace(first=hits.first + seen), misses
            own = score_pmf_from_counts(self.metric, self.p.size, k + seen, *counts)
            defined = weight * (1.0 - own.p_undefined)
            parts.append((own.values, own.probabilities * defined))
            parts.append((np.full(1, np.nan), np.full(1, weight * own.p_undefined)))
        return ScorePMF.from_atoms(parts)

    def _reviewed_positives(self, rows: Integers) -> tuple[list[float], list[float]]:
        """Return numbers of positives among reviewed rows, and their probabilities.

        Many numbers become Gauss-Hermite nodes of a normal distribution.
        """
        low, mass = count_pmf(self.p[rows], self.q[rows])
        likely = np.flatnonzero(mass > UNLIKELY)
        if self.p.size <= EVERY or likely.size <= MOST_COUNTS:
            seen = low + np.arange(mass.size)
            return seen[likely].tolist(), mass[likely].tolist()
        nodes, weights = self._normal_nodes(rows)
        return nodes.tolist(), weights.tolist()

    def _normal_nodes(self, rows: Integers) -> tuple[Floats, Floats]:
        """Return Gauss-Hermite nodes of the positives of some rows, and weights."""
        mean, variance = self.moments[:, rows].sum(axis=1)
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        counts = np.clip(mean + nodes * np.sqrt(variance), 0.0, float(rows.size))
        return counts, weights / weights.sum()

    def _nodes(self, rows: Integers) -> tuple[Floats, Floats]:
        """Return numbers of positives of some rows and their weights, few of them."""
        if self.moments[1, rows].sum() > FEW:
            return self._normal_nodes(rows)
        low, mass = count_pmf(self.p[rows], self.q[rows])
        likely = np.flatnonzero(mass > RARE)
        return (low + likely).astype(np.float64), mass[likely]

    def expected(self, labels: Booleans, rows: Integers) -> float:
        """Return the expected score, negated where smaller is better."""
        if self.p.size <= EVERY:
            mean = self.distribution(labels, rows).mean
        else:
            mean = self._mean_of_nodes(labels, rows)
        if np.isnan(mean):
            return -np.inf
        return mean if self.metric.greater_is_better else -mean

    def _mean_of_nodes(self, labels: Booleans, rows: Integers) -> float:
        """Return the expected score over all nodes of the three counts."""
        rest = np.ones(self.p.size, dtype=bool)
        rest[rows] = False
        above, below = np.flatnonzero(rest & labels), np.flatnonzero(rest & ~labels)
        counts = [self._nodes(above), self._nodes(below)]
        counts.append((np.zeros(1), np.ones(1)) if self.leave else self._nodes(rows))
        hits, misses, seen = np.ix_(*(values for values, _ in counts))
        x, y, z = np.ix_(*(weights for _, weights in counts))
        n = float(above.size + below.size + (0 if self.leave else rows.size))
        tp, weights = np.broadcast_arrays(hits + misses * 0.0 + seen, x * y * z)
        score = self.metric.value(
            tp, above.size + seen + 0.0 * tp, tp + misses, np.full(tp.shape, n)
        )
        defined = ~np.isnan(score)
        if not defined.any():
            return np.nan
        return float(np.average(score[defined], weights=weights[defined]))

    def best_rows(self, *, free: bool) -> tuple[Integers, Booleans]:
        """Return the best rows, and the labels beside them.

        Labels that are free may change: those above the window become positive, those
        below negative, if that is better than the labels that were given.
        """
        found = [self._best_number(self._sides()), *self._simple_rules()]
        if free:
            found.append(self._best_number(self._windows()))
        value, rows, labels = max(found, key=lambda one: one[0])
        if self.p.size <= EXCHANGED:
            rows, labels = self._exchange(value, rows, labels, free=free)
        return rows, labels

    def _simple_rules(self) -> Iterator[tuple[float, Integers, Booleans]]:
        """Review the rows nearest the cut of the labels, and those nearest one half."""
        for middle in (self.p.min(initial=1.0, where=self.given), 0.5):
            order = np.argsort(np.abs(self.p - middle), kind="stable")
            rows = order[: self.budget]
            yield self.expected(self.given, rows), rows, self.given

    @cached_property
    def moments(self) -> Floats:
        """Mean and variance of each true label, shape (2, n)."""
        return np.stack([self.p, self.p * self.q])

    def _cumulate(self, rows: Integers) -> Floats:
        """Return the moments of the first 0, 1, ... of some rows together."""
        return np.cumsum(np.pad(self.moments[:, rows], ((0, 0), (1, 0))), axis=1)

    def _sides(self) -> RowFamily:
        """Choose the least probable positives and the most probable negatives."""
        order = np.argsort(self.p, kind="stable")
        above, below = order[self.given[order]], order[~self.given[order]][::-1]
        a = np.arange(
            max(0, self.budget - above.size), min(self.budget, below.size) + 1
        )
        hits, misses = self._cumulate(above), self._cumulate(below)

        def rows(a: int) -> tuple[Integers, Booleans]:
            return np.append(above[: self.budget - a], below[:a]), self.given

        return RowFamily(
            numbers=a,
            hits=hits[:, -1:] - hits[:, self.budget - a],
            misses=misses[:, -1:] - misses[:, a],
            k=(above.size - self.budget + a).astype(np.float64),
            rows=rows,
        )

    def _windows(self) -> RowFamily:
        """Choose a window in the order of p: positives above it, negatives below."""
        order = np.argsort(-self.p, kind="stable")
        cumulated = self._cumulate(order)
        start = np.arange(self.p.size - self.budget + 1)

        def rows(start: int) -> tuple[Integers, Booleans]:
            labels = self.given.copy()
            labels[order[:start]] = True
            labels[order[start + self.budget :]] = False
            return order[start : start + self.budget], labels

        return RowFamily(
            numbers=start,
            hits=cumulated[:, start],
            misses=cumulated[:, -1:] - cumulated[:, start + self.budget],
            k=start.astype(np.float64),
            rows=rows,
        )

    def _best_number(self, family: RowFamily) -> tuple[float, Integers, Booleans]:
        """Return the expected score, the rows and the labels of the best member."""
        numbers = family.numbers.tolist()

        @cache
        def value(at: int) -> float:
            rows, labels = family.rows(numbers[at])
            return self.expected(labels, rows)

        last, step = len(numbers) - 1, 0
        starts = set(range(last + 1))
        if self.p.size > EVERY:
            step = max(1, min(last, self.budget) // (STARTS - 1))
            starts = {round(x) for x in np.linspace(0, last, STARTS)}
            starts.add(int(np.argmax(self._approximate(family))))
        best = max(sorted(starts), key=value)
        while step:
            near = (max(0, best - step), best, min(last, best + step))
            top = max(near, key=value)
            if value(top) > value(best):
                best = top
            else:
                step //= 2
        return (value(best), *family.rows(numbers[best]))

    def _approximate(self, family: RowFamily) -> Floats:
        """Return the expected score of each member, the counts taken as normal.

        Gauss-Hermite nodes of hits, misses and reviewed positives, FEW_NODES each.
        """
        n, total = float(self.p.size), self.moments.sum(axis=1)
        seen = total[:, None] - family.hits - family.misses
        if self.leave:
            n, seen = n - self.budget, np.zeros_like(seen)
        nodes, weights = np.polynomial.hermite_e.hermegauss(FEW_NODES)
        weights = weights / weights.sum()
        value = np.zeros(family.numbers.size)
        k, rest = family.k, n - family.k - (0 if self.leave else self.budget)
        for i, j, s in np.ndindex(FEW_NODES, FEW_NODES, FEW_NODES):
            hits, misses, more = (
                np.clip(mean + node * np.sqrt(np.maximum(variance, 0.0)), 0.0, most)
                for (mean, variance), node, most in (
                    (family.hits, nodes[i], k),
                    (family.misses, nodes[j], rest),
                    (seen, nodes[s], float(self.budget)),
                )
            )
            score = self.metric.value(
                hits + more, k + more, hits + misses + more, np.full(k.size, n)
            )
            value = value + weights[i] * weights[j] * weights[s] * np.asarray(score)
        value = value if self.metric.greater_is_better else -value
        return np.where(np.isnan(value), -np.inf, value)

    def _exchange(
        self, value: float, rows: Integers, labels: Booleans, *, free: bool
    ) -> tuple[Integers, Booleans]:
        """Climb by single exchanges of rows and, where they are free, of labels."""
        rising = True
        while rising:
            rising = False
            for other_rows, other_labels in self._neighbours(rows, labels, free=free):
                raised = self.expected(other_labels, other_rows)
                if raised > value + 1e-12:
                    value, rows, labels = raised, other_rows, other_labels
                    rising = True
                    break
        return rows, labels

    def _neighbours(
        self, rows: Integers, labels: Booleans, *, free: bool
    ) -> list[tuple[Integers, Booleans]]:
        others = np.setdiff1d(np.arange(self.p.size), rows)
        swapped = [
            (np.append(np.delete(rows, i), other), labels)
            for i in range(rows.size)
            for other in others
        ]
        if not free:
            return swapped
        return swapped + [
            (rows, np.where(np.arange(labels.size) == other, ~labels, labels))
            for other in others
        ]

    def worth(self, labels: Booleans, rows: Integers) -> Floats:
        """Return the gain by each row alone, of the metric of the expected counts.

        The review of a row with z = 1 takes 1 - p from the predicted positives, that
        of one with z = 0 adds p to these and to the true positives.
        """
        p, z = self.p[rows], labels[rows].astype(np.float64)
        tp, k, t = self.p @ labels, float(labels.sum()), self.p.sum()
        n = float(self.p.size)
        now = self.metric.value(tp, k, t, n)
        if self.leave:
            new = self.metric.value(tp - z * p, k - z, t - p, np.full(p.size, n - 1.0))
        else:
            more = np.where(z == 1.0, 0.0, p)
            fewer = np.where(z == 1.0, 1.0 - p, 0.0)
            new = self.metric.value(tp + more, k + more - fewer, t, n)
        worth = np.nan_to_num(np.asarray(new) - now)
        return worth if self.metric.greater_is_better else -worth


@dataclass(frozen=True)
class RowFamily:
    """Sets of rows that one number chooses, with their expected counts."""

    numbers: Integers
    # Of the rows that are not chosen: mean and variance of hits and of misses, shape
    # (2, n_members), and how many are predicted positive
    hits: Floats
    misses: Floats
    k: Floats
    rows: Callable[[int], tuple[Integers, Booleans]]  # and labels, for a number
