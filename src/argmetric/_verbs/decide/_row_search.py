"""Search the labels of rows, so many in each, by few numbers of every column.

Metrics in which a row's gain does not depend on the other rows (recall, specificity,
balanced accuracy, Youden: hits·tp/t + rejections·tn/(n-t)) have the gain
hits·p·E[1/(1 + T₋ᵢ)] - rejections·q·E[1/(n - T₋ᵢ)] and a constant of the column, T₋ᵢ
being the positives but row i: the largest gains of every row are the best labels of
all. So are the largest p for accuracy.

Others are improved by block-coordinate ascent (Schultheis et al. 2023): row by row the
labels of the largest gains are taken, value with the row less value without, all other
rows as they are, until no row changes. The value of a label is first the metric at its
expected counts, then Σ_q w_q·metric(tp·T_q/t, k, T_q, n) over no positive and two
points that have the first three moments of all other outcomes. The ascent starts with
the labels of the largest p/t: on 300 x 50 matrices it led from there to higher values
than from the most probable labels, random ones or none (0.4073, 0.4069, 0.4069,
0.4030).
After one pass every row keeps its likely entries only, and the ascent goes on among
these. There it is also begun again, some rows having other entries, which leads to
higher values (iterated local search). Last come passes over all entries.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from argmetric._expected import plan
from argmetric._ground.types import Floats, Integers
from argmetric._verbs.decide._few_rows import columns_to_close
from argmetric.metrics import MCC, ItemForm, Metric, RatesForm

if TYPE_CHECKING:
    from argmetric._verbs.kernels.per_row import Labels

MOST_PASSES = 100
SPARE = 10  # likely entries of a row beside those that it has
ROUNDS, FEWER = 24.0, 4.5  # of beginning again, and how many fewer for ten times n
# Parts of the rows that get other entries, by turns. On 60 matrices of 1,000 rows
# these were never more than 5e-6 below the best of seven choices; 2 % alone was in one
# case, 5, 2 and 1 % by turns in three.
MOVED = (0.02, 0.02, 0.3)
ROUNDING = 1e-13  # a smaller rise of the mean is none
FEW_PASSES = 3  # of likely entries at points of T
MANY_ENTRIES = 1_000_000  # beyond, columns are left empty in one way alone
BARRED = -1e3  # beside it no gain counts


class Entries(NamedTuple):
    """Probabilities row by row."""

    p: Floats
    starts: Integers
    columns: Integers  # labels of the entries; empty: all of them, in order

    @property
    def widest(self) -> int:
        return int(np.diff(self.starts).max())

    def places(self, picked: Integers) -> Integers:
        """Return where the picked entries of all rows lie."""
        there = np.arange(picked.shape[1]) < np.diff(self.starts)[:, None]
        return (self.starts[:-1, None] + picked)[there]


class RowSearch:
    """A search of `count` labels a row.

    Parameters
    ----------
    rows : Entries
    columns : pair (p, indptr)
        The same probabilities column by column.
    metric : Metric
    count : int
    """

    def __init__(
        self,
        rows: Entries,
        columns: tuple[Floats, Integers],
        metric: Metric,
        count: int,
    ) -> None:
        from argmetric._verbs.kernels import per_row as kernels

        self.rows, self.columns, self.metric, self.count = rows, columns, metric, count
        self.kernels = kernels
        self.n = rows.starts.size - 1
        self.gains = np.empty(rows.widest)
        self.moments = np.empty((columns[1].size - 1, 5))
        kernels.column_moments(*columns, self.moments)
        self.moments[np.diff(columns[1]) < self.n, 4] = 0.0  # absent cells are negative
        self.t = np.minimum(self.moments[:, 0], self.n)  # ones may be rounded up

    def empty_picks(self, count: int) -> Integers:
        return np.zeros((self.n, min(count, self.rows.widest)), dtype=np.int64)

    def best_by_weight(self) -> Integers | None:
        """Return the optimal labels if gains do not depend on other rows, else None."""
        coefficients = getattr(self.metric, "coefficients", None)
        if coefficients is not None:
            constant = not any(coefficients[1][1:])
            return self.largest(np.ones(self.t.size)) if constant else None
        worth = constant_worths(self.metric, self.n)
        if worth is None:
            return None
        (p, indptr), kernels, n = self.columns, self.kernels, self.n
        nodes, weights = gauss_legendre(kernels.N_NODES)
        tables = np.zeros((2, self.t.size, 2 + kernels.N_TERMS + kernels.N_NODES))
        absent = (0.0, float(n) - np.diff(indptr))
        for mirrored, table in enumerate(tables):
            if worth[mirrored] != 0.0:
                more = np.broadcast_to(absent[mirrored], self.t.shape)
                kernels.share_tables(
                    p, indptr, more, mirrored == 1, nodes, weights, table
                )
        # One class may be absent, where a hit or a false alarm can count otherwise
        value, (none, every) = self.metric.value, self.moments.T[3:]
        alarm = float(value(0, 1, 0, n) - value(0, 0, 0, n)) + worth[1] / n
        hit = float(value(1, 1, n, n) - value(0, 0, n, n)) - worth[0] / n
        offset = alarm * none + hit * every
        picked = self.empty_picks(self.count)
        kernels.take_shares(
            *self.rows, *tables, nodes, worth, offset, picked, self.gains
        )
        return picked

    def largest(self, slope: Floats) -> Integers:
        """Return the entries of the largest slope·p of every row."""
        picked, labels = self.empty_picks(self.count), self.at_expected_counts
        labels = labels._replace(linear=True, slope=slope, offset=np.zeros_like(slope))
        self.kernels.likely_entries(
            *self.rows, picked[:, :0], labels, self.gains, picked
        )
        return picked

    @cached_property
    def at_expected_counts(self) -> Labels:
        """Return the state of every label with T fixed at its mean Σ p."""
        one = np.ones((self.t.size, 1))
        return self.state(self.t[:, None], one, one)

    @cached_property
    def at_points(self) -> Labels:
        """Return the state of every label with T at three points: 0, and two above it.

        The points m ± and their weights have the first three moments of T given T ≥ 1.
        """
        mean, variance, third, none, _ = self.moments.T
        some = np.where(mean < 1e-6, np.maximum(mean, 1e-300), 1.0 - none)
        first = mean / some
        second = (variance + mean**2) / some
        spread = np.maximum(second - first**2, 0.0)
        skew = (third + 3.0 * mean * variance + mean**3) / some
        skew += first * (2.0 * first**2 - 3.0 * second)
        deviation = np.sqrt(spread)
        skew = np.divide(skew, spread * deviation, where=spread > 1e-9, out=0.0 * mean)
        root = np.sqrt(skew**2 + 4.0)
        low, high = (skew - root) / 2.0, (skew + root) / 2.0
        t = np.stack([0.0 * mean, first + low * deviation, first + high * deviation], 1)
        t[:, 1:] = np.clip(t[:, 1:], 1.0, self.n)
        weight = np.stack([none, some * high / root, -some * low / root], 1)
        return self.state(t, weight, t / np.maximum(self.t, 1e-300)[:, None])

    def state(self, t: Floats, weight: Floats, scale: Floats) -> Labels:
        """Return the state of labels that no row has yet, as the kernels take it."""
        kernels, metric = self.kernels, self.metric
        ratio = getattr(metric, "coefficients", None)
        linear, (c, d) = True, ratio or ((0.0,) * 4, (0.0,) * 4)
        if ratio is not None:
            form, linear = kernels.RATIO, d[1] == 0.0
        elif isinstance(metric, MCC):
            form = kernels.CORRELATION
        else:
            form, linear = kernels.GEOMETRIC, False
        counts, known = np.zeros((6, self.t.size)), (c, d, metric.zero_division)
        labels: Labels = kernels.Labels(
            linear, form, *known, float(self.n), t, weight, scale, *counts
        )
        return labels

    def ascend(
        self, rows: Entries, picked: Integers, labels: Labels, most: int = MOST_PASSES
    ) -> float:
        """Improve all rows until none changes; the mean value that is reached."""
        kernels, passes, changed = self.kernels, 0, 1
        kernels.count_labels(*rows, picked, labels)
        while changed and passes < most:
            changed = kernels.improve_rows(*rows, picked, labels, self.gains)
            kernels.count_labels(*rows, picked, labels)
            passes += 1
        return float(labels.now.mean())

    def likely(self, picked: Integers) -> tuple[Entries, Integers]:
        """Return the most likely entries of all rows, and their indices."""
        kernels, rows = self.kernels, self.rows
        kept, labels = self.empty_picks(self.count + SPARE), self.at_expected_counts
        kernels.count_labels(*rows, picked, labels)
        kernels.likely_entries(*rows, picked, labels, self.gains, kept)
        places = rows.places(kept)
        present = np.minimum(np.diff(rows.starts), kept.shape[1])
        columns = rows.columns[places] if rows.columns.size else places % self.t.size
        return Entries(rows.p[places], np.append(0, np.cumsum(present)), columns), kept

    def best_at_expected_counts(self) -> Integers:
        """Return a local optimum of the metric at the expected counts."""
        rows, n, labels = self.rows, self.n, self.at_expected_counts
        picked = self.largest(1.0 / np.maximum(self.t, 1e-300))
        self.ascend(rows, picked, labels, 1)
        few, kept = self.likely(picked)
        best, rng = self.ascend(few, picked, labels), np.random.default_rng(0)
        absent = np.arange(kept.shape[1]) >= np.diff(few.starts)[:, None]
        for turn in range(max(2, round(ROUNDS - FEWER * math.log10(n)))):
            moved = rng.random(n) < max(MOVED[turn % len(MOVED)], 1.0 / n)
            keys = rng.random((int(moved.sum()), kept.shape[1])) + absent[moved]
            trial = picked.copy()
            trial[moved] = np.argsort(keys, axis=1)[:, : picked.shape[1]]
            value = self.ascend(few, trial, labels)
            if value > best + ROUNDING:
                best, picked = value, trial
        picked = np.take_along_axis(kept, picked, axis=1)
        self.ascend(rows, picked, labels)
        return picked

    def best_at_points(self, picked: Integers) -> Integers | None:
        """Return picks improved by the expected metric at points of T, or None.

        None where every column has many expected positives, so that T = t is as good.
        """
        if plan.needs_one_point(float(self.t.min())):
            return None
        labels, picked = self.at_points, picked.copy()
        few, kept = self.likely(picked)
        best = self.ascend(few, picked, labels, FEW_PASSES)
        values = labels.now.copy()
        self.kernels.count_labels(*few, picked[:, :0], labels)
        empty = labels.now.copy()
        better = bool((empty > 0.5 * values).any()) and self.t.size > self.count
        while better:
            better = False
            ways = columns_to_close(values - empty, self.count)
            if few.p.size > MANY_ENTRIES:
                ways = [empty > values]
            for closed in ways:
                trial = picked.copy()
                for barred in (np.where(closed, BARRED, 0.0), 0.0):
                    labels.barred[:] = barred
                    value = self.ascend(few, trial, labels, FEW_PASSES)
                if value > best + ROUNDING:
                    best, picked, values = value, trial, labels.now.copy()
                    better = few.p.size <= MANY_ENTRIES
        return np.take_along_axis(kept, picked, axis=1)

    def value_at_expected_counts(self, picked: Integers) -> float:
        labels = self.at_expected_counts
        self.kernels.count_labels(*self.rows, picked, labels)
        return float(labels.now.mean())


@cache
def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights for [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1.0) / 2.0, weights / 2.0


def constant_worths(metric: Metric, n: int) -> tuple[float, float] | None:
    """Return the weights of tp/t and tn/(n-t); None if they depend on k."""
    form = metric.form
    if not isinstance(form, ItemForm) or form.exponent != 1.0:
        return None
    k, size = np.array([1.0, 2.0]), np.full(2, float(n))
    parts = (form.hits, form.rejections)
    worths = [np.zeros(2) if part is None else part(k, size) for part in parts]
    if any(worth[0] != worth[1] for worth in worths):
        return None
    return float(worths[0][0]), float(worths[1][0])


def is_searched(metric: Metric) -> bool:
    """Return whether `RowSearch` knows the metric."""
    ratio = getattr(metric, "coefficients", None) is not None
    known = isinstance(metric, MCC) or metric.form == RatesForm("geometric")
    return metric.greater_is_better and (
        ratio or known or constant_worths(metric, 2) is not None
    )
