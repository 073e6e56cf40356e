"""How sure a tuned cut is: resampled rows, folds, and scores of as many new rows.

Rows are cells of one row each where there are few, and bins of neighbouring scores
where there are many, so that the cost does not grow with the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from argmetric._ground.types import Booleans, Floats, Integers, Interval
from argmetric._verbs.tune._scan import Cuts, RuleLimits, SortedRows, gains, means
from argmetric.metrics import Metric

MANY_ROWS = 4096  # rows up to which every row is resampled for itself
BINS = 1024  # beyond: so many bins, each with a cell of either class
MANY_DRAWS = 16_000  # rows up to which drawing each is cheaper than drawing the cells
DRAWS_AT_ONCE = 1 << 16  # draws that are counted at a time
SPLITS = 5  # splits into folds over which the optimism is averaged
N_DRAWS = 4000
# Rows that every confusion matrix is given beforehand, spread over its cells: half a
# row per cell of two classes, as in Jeffreys' rule.
PRIOR_ROWS = 2.0


@dataclass(frozen=True)
class SampleSums:
    """Additive statistics of samples (rows) at the cuts (columns).

    Either counts, whose metric is taken of their sum; or, with groups, the sum of
    the metric over groups and the number of groups in which it is defined.
    """

    tp: Floats | None
    fp: Floats | None
    value: Floats | None = None
    defined: Floats | None = None

    def map_arrays(self, change: Callable[[Floats], Floats]) -> SampleSums:
        """Return all statistics with the same change applied."""
        parts = vars(self).values()
        return SampleSums(*(None if one is None else change(one) for one in parts))

    def pick(self, cuts: Integers) -> SampleSums:
        """Return one cut per sample, and the totals in a second column."""
        rows = np.arange(cuts.size)

        def two(a: Floats) -> Floats:
            # A single column holds for all cuts.
            column = np.minimum(cuts, a.shape[1] - 1)
            return np.stack([a[rows, column], a[:, -1]], axis=1)

        return self.map_arrays(two)

    def at(self, cuts: Integers, folds: int) -> SampleSums:
        """Return one cut per fold, summed over each split; totals in column 2."""
        return self.pick(cuts).map_arrays(lambda a: a.reshape(-1, folds, 2).sum(axis=1))

    def others(self, folds: int) -> SampleSums:
        """Return the sums of the other folds of the same split."""

        def without(a: Floats) -> Floats:
            split = a.reshape(-1, folds, a.shape[1])
            rest = split.sum(axis=1, keepdims=True) - split
            return np.asarray(rest.reshape(a.shape))

        return self.map_arrays(without)

    def counts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return counts tp, k, t, n; the last cut predicts everything."""
        assert self.tp is not None
        assert self.fp is not None
        # Sums of weights that are rounded each for itself may exceed their total.
        tp, fp = (np.minimum(part, part[:, -1:]) for part in (self.tp, self.fp))
        k = tp + fp
        return tp, k, tp[:, -1:], k[:, -1:]

    def score(self, metric: Metric) -> Floats:
        """Return the metric for every sample and cut."""
        if self.value is None:
            return metric.value(*self.counts())
        assert self.defined is not None
        return means(self.value, self.defined)


def some_cuts(cuts: Cuts, keep: Integers, most: int) -> Integers:
    """Return some cuts, in equal steps of 0.5·k/n + 0.5·tp/t, together with `keep`."""
    if cuts.size <= most + 1:
        return np.arange(cuts.size)
    position = 0.5 * cuts.k / cuts.n + 0.5 * cuts.tp / cuts.t
    steps = np.searchsorted(position, np.linspace(0.0, 1.0, most + 1))
    steps = np.minimum(steps, cuts.size - 1)
    return np.unique(np.concatenate([[0, cuts.size - 1], steps, keep]))


@dataclass(frozen=True)
class CellSampler:
    """Cells of rows in the order of the scores."""

    cuts: Integers
    # expected number of draws of each cell, the number of its rows if they weigh the
    # same. Otherwise W²/Q draws worth Q/W each, W and Q the sums of weights and of
    # their squares: the mean and the variance of the resampled weight are right.
    draws: Floats
    worth: Floats  # weight of a draw
    # rows, mean_weight: number of rows of the cell, and their mean weight
    rows: Integers
    mean_weight: Floats
    positive: Booleans  # class of each cell
    ends: Integers  # number of cells that each cut predicts

    @property
    def n_units(self) -> int:
        """Rows of the rarer class: as many folds can be made."""
        positives = int(self.rows[self.positive].sum())
        return min(positives, int(self.rows.sum()) - positives)

    def bootstrap(self, rng: np.random.Generator, size: int) -> SampleSums:
        """Draw as many rows as there are, with replacement."""
        if self.rows.sum() <= MANY_DRAWS and np.array_equal(self.draws, self.rows):
            # Draw row by row: the counts are distributed as one multinomial draw.
            cells, n = self.rows.size, int(self.rows.sum())
            cell = np.repeat(np.arange(cells), self.rows)
            drawn = np.empty((size, cells), dtype=np.int64)
            step = max(1, DRAWS_AT_ONCE // n)
            for first in range(0, size, step):
                part = drawn[first : first + step]
                picks = cell[rng.integers(0, n, (len(part), n))]
                picks += cells * np.arange(len(part))[:, None]
                part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(
                    -1, cells
                )
        else:
            total = self.draws.sum()
            drawn = rng.multinomial(round(float(total)), self.draws / total, size=size)
        return self._count(drawn * self.worth)

    def splits(self, rng: np.random.Generator, folds: int) -> SampleSums:
        """Deal rows to folds, each class evenly; few rows several times."""
        count = SPLITS if self.rows.max() == 1 else 1
        held = np.zeros((count * folds, self.rows.size))
        for split in held.reshape(count, folds, -1):
            for chosen in (self.positive, ~self.positive):
                split[:, chosen] = _deal(rng, self.rows[chosen], folds)
        return self._count(held * self.mean_weight)

    def _count(self, weight: Floats) -> SampleSums:
        """Return running sums over the bins of either class."""
        found = []
        for chosen in (self.positive, ~self.positive):
            if self.ends.size == weight.shape[1] + 1:  # every cell ends a cut
                running = np.zeros((weight.shape[0], self.ends.size))
                np.cumsum(np.where(chosen, weight, 0.0), axis=1, out=running[:, 1:])
            else:
                before = np.concatenate([[0], np.cumsum(chosen)])[self.ends]
                running = np.zeros((weight.shape[0], int(chosen.sum()) + 1))
                np.cumsum(weight[:, chosen], axis=1, out=running[:, 1:])
                running = running[:, before]
            found.append(running)
        return SampleSums(*found)


def _deal(rng: np.random.Generator, rows: Integers, count: int) -> Floats:
    """Return the number of rows of each bin in each random fold, (n_folds, n_bins)."""
    total = int(rows.sum())
    sizes = np.full(count, total // count)
    sizes[: total % count] += 1
    if rows.max() == 1:
        fold = np.repeat(np.arange(count), sizes)[rng.permutation(total)]
        return np.where(fold == np.arange(count)[:, None], 1.0, 0.0)
    held, left = np.empty((count, rows.size)), rows.copy()
    for i, size in enumerate(sizes):
        part = rng.multivariate_hypergeometric(left, size, method="marginals")
        held[i] = part
        left -= part
    return held


def cell_sampler(rows: SortedRows, cuts: Cuts, keep: Integers) -> CellSampler:
    """Return bins of single rows, or of scores by class."""
    if rows.n_rows <= MANY_ROWS:
        ones = np.ones(rows.n_rows)
        weight = ones if rows.weight is None else rows.weight
        ends = np.concatenate([[0], rows.ends])
        whole, every = ones.astype(np.int64), np.arange(cuts.size)
        return CellSampler(every, ones, weight, whole, weight, rows.positive, ends)
    index = some_cuts(cuts, keep, BINS)
    positive = np.tile([True, False], index.size - 1)
    parts = np.diff(cuts.tp[index]), np.diff(cuts.fp[index])
    number = np.stack(parts, axis=1).ravel()  # both classes of every bin, in turn
    if rows.weight is not None:
        ends = rows.ends_of(index)
        values = (np.ones(rows.n_rows), rows.weight, rows.weight**2)
        number, weight, square = (_bin_sums(rows, ends, one) for one in values)
    there = number > 0
    cell_ends = np.concatenate([[0], np.cumsum(there)[1::2]])
    number, positive = number[there], positive[there]
    draws, worth, mean = number, np.ones(number.size), np.ones(number.size)
    if rows.weight is not None:
        weight, square = weight[there], square[there]
        safe = np.where(weight > 0, weight, 1.0)
        worth = np.where(weight > 0, square / safe, 0.0)
        draws = np.where(weight > 0, weight / np.where(worth > 0, worth, 1.0), number)
        mean = weight / number
    whole = number.astype(np.int64)
    return CellSampler(index, draws, worth, whole, mean, positive, cell_ends)


def _bin_sums(rows: SortedRows, ends: Integers, values: Floats) -> Floats:
    """Return sums of values over the rows of either class in every bin."""
    sums = [
        np.add.reduceat(np.where(chosen, values, 0.0), ends[:-1])
        for chosen in (rows.positive, ~rows.positive)
    ]
    return np.stack(sums, axis=1).ravel()


def new_tables(
    table: Floats, worth: float, size: int, rng: np.random.Generator
) -> Floats:
    """Draw confusion matrices of as many new rows as a matrix was seen on.

    Two sources of noise: the shares of the cells are known from the rows seen only
    (Dirichlet), and the new rows are drawn by these shares (multinomial). A row counts
    as `worth`, the mean weight weighted by itself, so that unequal weights make fewer
    rows of the same total.
    """
    cells = table.ravel() / worth
    prior = PRIOR_ROWS / cells.size
    shares = rng.standard_gamma(cells + prior, (size, cells.size))
    shares /= shares.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(round(float(cells.sum())), shares) * worth
    return np.asarray(drawn, dtype=np.float64).reshape(size, *table.shape)


def new_scores(
    metric: Metric, tables: list[Floats], worth: float, rng: np.random.Generator
) -> Floats:
    """Draw scores of new rows, from matrices that the cuts were not tuned on."""
    size = -(-N_DRAWS // len(tables))
    drawn = [new_tables(table, worth, size, rng) for table in tables]
    (tn, fp), (fn, tp) = np.concatenate(drawn).transpose(1, 2, 0)
    return metric._new_value(tp, tp + fp, tp + fn, tn + fp + fn + tp, rng)


def mean_worth(weight: Floats | None) -> float:
    """Return Σw²/Σw: the weight at which equally weighted rows vary as much."""
    return 1.0 if weight is None else float((weight**2).sum() / weight.sum())


def confusion_matrix(tp: float, k: float, t: float, n: float) -> Floats:
    """Return the four counts, true classes in rows."""
    table = np.array([[n - k - t + tp, k - tp], [t - tp, tp]])
    return np.asarray(np.maximum(table, 0.0))


@dataclass(frozen=True)
class Procedure:
    """Steps repeated on every sample: the metric and its limits."""

    metric: Metric
    limits: RuleLimits
    tolerance: float

    def choose_cuts(self, sums: SampleSums) -> tuple[Integers, Booleans]:
        """Return the chosen column, and if any is allowed."""
        values, limits = sums.score(self.metric), self.limits
        allowed = limits.allowed_counts(*sums.counts()) if limits.named_limits else None
        gain = gains(values, self.metric, allowed)
        top = gain.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # -inf - -inf: nothing is allowed there
            best = np.argmax(gain >= top - self.tolerance, axis=1)
        return best, top[:, 0] > -math.inf

    def bootstrap(self, samples: Iterable[SampleSums], cuts: Integers) -> Integers:
        """Return the cuts tuned on those samples that allow any."""
        chosen = [cuts[:0]]
        for sums in samples:
            index, any_allowed = self.choose_cuts(sums)
            chosen.append(cuts[index[any_allowed]])
        return np.concatenate(chosen)


def quantiles(values: Floats, coverage: float) -> Interval | None:
    """Return the central interval, of values that occur; None without any."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    tail = (1.0 - coverage) / 2.0
    low, high = np.quantile(known, [tail, 1.0 - tail], method="inverted_cdf")
    return Interval(float(low), float(high))
