"""Search for rows whose review, or absence, raises the expected score most.

Let z be the labels, y the true labels, R the reviewed rows. After the review the score
is a function of three independent Poisson-binomial counts: hits H of the unreviewed
rows with z = 1, misses M of those with z = 0, positives S of the reviewed rows:

    metric(tp = H + S, predicted = k + S, positives = H + M + S, n),

k the unreviewed rows with z = 1. Reviewing a row with z = 1 pays the more the less
probable it is, one with z = 0 the more probable it is. So R is a window in the order of
z and then of p, around the last row with z = 1: one number, the start of the window, is
searched for by the expected score itself. Where the labels are free, R is any window in
the order of p, with positives above and negatives below it. Few rows are exchanged one
by one after that. The same holds for rows that are left out.

Counts are taken as normal only where they vary: a metric may jump where there is no
positive, and of few positives a normal distribution has none of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from argmetric._forecast.distributions import ScorePMF, count_pmf, score_pmf_from_counts
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

EVERY = 48  # rows up to which every window has its expected score
EXCHANGED = 24  # rows up to which single rows are exchanged after that
RARE = 1e-12  # probability of a count that is left out
FEW = 12.0  # variance of a count up to which all its values are summed over: 48 rows
NODES = 9  # of a count that varies more
_value = attrgetter("value")
STARTS = 9  # windows, evenly spread, beside the one that is best at expected counts


class Choice(NamedTuple):
    """Rows to review or leave out, labels of all rows, and the expected score."""

    value: float  # negated where smaller is better
    rows: Integers
    labels: Booleans


@dataclass(frozen=True)
class RowSearch:
    """Problem of `review_rows`: which `budget` rows to review, or to leave out."""

    metric: Metric
    p: Floats  # probabilities of a positive and of a negative, shape (n,)
    q: Floats
    given: Booleans  # labels that the search starts from
    budget: int
    leave: bool

    def distribution(self, labels: Booleans, rows: Integers) -> ScorePMF:
        """Return the distribution of the score after the review of some rows."""
        sides, n = self._other_rows(labels, rows), self.p.size
        hits, misses = (count_pmf(self.p[some], self.q[some]) for some in sides)
        parts = []
        for seen, weight in zip(*self._nodes(rows), strict=True):
            counts = hits._replace(first=hits.first + seen), misses
            own = score_pmf_from_counts(self.metric, n, sides[0].size + seen, *counts)
            defined = weight * (1.0 - own.p_undefined)
            parts.append((own.values, own.probabilities * defined))
            parts.append((np.full(1, np.nan), np.full(1, weight * own.p_undefined)))
        return ScorePMF.from_atoms(parts)

    def choice(self, labels: Booleans, rows: Integers) -> Choice:
        """Return rows and labels with their expected score."""
        above, below = self._other_rows(labels, rows)
        reviewed = (np.zeros(1), np.ones(1)) if self.leave else self._nodes(rows)
        counts = [self._nodes(above), self._nodes(below), reviewed]
        hits, misses, seen = np.ix_(*(values for values, _ in counts))
        x, y, z = np.ix_(*(weights for _, weights in counts))
        score, weights = self.score(above.size, hits, misses, seen), x * y * z
        defined, value = ~np.isnan(score), -np.inf
        if defined.any():
            mean = np.average(score[defined], weights=weights[defined])
            value = self.sign * float(mean)
        return Choice(value, rows, labels)

    def score(
        self, k: float | Integers, hits: Floats, misses: Floats, seen: Floats
    ) -> Floats:
        """Return the metric for numbers of positives of three kinds, as above.

        k : number of the unreviewed rows that are labelled 1
        """
        tp, n = hits + seen, float(self.p.size - self.budget * self.leave)
        return np.asarray(self.metric.value(tp, k + seen, tp + misses, n))

    @property
    def sign(self) -> float:
        return 1.0 if self.metric.greater_is_better else -1.0

    def _other_rows(self, labels: Booleans, rows: Integers) -> list[Integers]:
        """Return unreviewed rows labelled 1, and those labelled 0."""
        rest = np.ones(self.p.size, dtype=bool)
        rest[rows] = False
        return [np.flatnonzero(rest & side) for side in (labels, ~labels)]

    def _nodes(self, rows: Integers) -> tuple[Floats, Floats]:
        """Return points and weights of the number of positives among some rows.

        A count that varies much has Gauss-Hermite nodes of a normal distribution.
        """
        variance = self.p[rows] @ self.q[rows]
        if variance <= FEW:
            low, mass = count_pmf(self.p[rows], self.q[rows])
            likely = np.flatnonzero(mass > RARE)
            return (low + likely).astype(np.float64), mass[likely]
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        counts = self.p[rows].sum() + nodes * np.sqrt(variance)
        return np.clip(counts, 0.0, float(rows.size)), weights / weights.sum()

    def best_rows(self, *, free: bool) -> Choice:
        """Return the best rows to review or leave out, and labels of all rows.

        Labels that are free may change: those above the window become positive, those
        below negative, if that is better than the labels that were given.
        """
        windows = map(self._best_window, (False, True) if free else (False,))
        best = max((*windows, *self._simple_rules()), key=_value)
        if self.p.size <= EXCHANGED:
            while (better := self._better_exchange(best, free)) is not None:
                best = better
        return best

    def _simple_rules(self) -> Iterator[Choice]:
        """Review the rows nearest the cut of the labels, and those nearest one half."""
        for middle in (self.p.min(initial=1.0, where=self.given), 0.5):
            order = np.argsort(np.abs(self.p - middle), kind="stable")
            yield self.choice(self.given, order[: self.budget])

    def _best_window(self, free: bool) -> Choice:
        """Return the best run of `budget` rows by p; if there are many, by a climb."""
        budget, n, k = self.budget, self.p.size, int(self.given.sum())
        order = np.lexsort((-self.p, np.zeros(n) if free else ~self.given))
        low, high = (0, n) if free else (k - budget, k)
        first, last = max(0, low), min(high, n - budget)

        @cache
        def window(start: int) -> Choice:
            labels = self.given.copy()
            labels[order[:start]] = True
            labels[order[start + budget :]] = False
            return self.choice(labels, order[start : start + budget])

        starts = list(range(first, last + 1))
        if n > EVERY:
            middle = first + int(np.argmax(self._plain_values(order, first, last)))
            starts = [*np.linspace(first, last, STARTS).round().astype(int), middle]
        best = max(sorted(starts), key=lambda one: window(one).value)
        step = max(1, min(last - first, budget) // (STARTS - 1))
        while step:
            near = best, max(first, best - step), min(last, best + step)
            top = max(near, key=lambda one: window(one).value)
            best, step = top, step if top != best else step // 2
        return window(best)

    def _plain_values(self, order: Integers, first: int, last: int) -> Floats:
        """Return the metric at the expected counts for each window of reviewed rows."""
        start = np.arange(first, last + 1)
        sums = np.concatenate([[0.0], np.cumsum(self.p[order])])
        hits, misses = sums[start], sums[-1] - sums[start + self.budget]
        seen = (sums[-1] - hits - misses) * (not self.leave)
        value = self.sign * self.score(start, hits, misses, seen)
        return np.where(np.isnan(value), -np.inf, value)

    def _better_exchange(self, best: Choice, free: bool) -> Choice | None:
        """Return a better choice that differs in one row or one label, or None."""
        _, rows, labels = best
        every = np.arange(self.p.size)

        def changes() -> Iterator[Choice]:
            for other in np.setdiff1d(every, rows):
                for i in range(rows.size):
                    yield self.choice(labels, np.append(np.delete(rows, i), other))
                if free:
                    yield self.choice(labels ^ (every == other), rows)

        return next((x for x in changes() if x.value > best.value + 1e-12), None)

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
            new = self.metric.value(tp - z * p, k - z, t - p, n - 1.0)
        else:
            more = np.where(z == 1.0, 0.0, p)
            fewer = np.where(z == 1.0, 1.0 - p, 0.0)
            new = self.metric.value(tp + more, k + more - fewer, t, n)
        return np.asarray(self.sign * np.nan_to_num(np.asarray(new) - now))
