"""Resampling of rows: counts of bootstrap samples and of folds, at some of the cuts.

Rows are cells of one row each where there are few, and bins of neighbouring scores
where there are many, so that the cost does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from argmetric._input.types import Booleans, Floats, Integers
from argmetric._tune._scan import Cuts, SortedRows, means
from argmetric.metrics import Metric

MANY_ROWS = 4096  # rows up to which every row is resampled for itself
BINS = 1024  # beyond: so many bins, each with a cell of either class
MANY_DRAWS = 16_000  # rows up to which drawing each is cheaper than drawing the cells
DRAWS_AT_ONCE = 1 << 16  # draws that are counted at a time
SPLITS = 5  # splits into folds over which the optimism is averaged


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

    def __sub__(self, other: SampleSums) -> SampleSums:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return SampleSums(*(None if a is None else a - b for a, b in pairs))

    def pick(self, cuts: Integers) -> SampleSums:
        """One cut per sample, and the totals in a second column."""
        rows = np.arange(cuts.size)

        def two(a: Floats | None) -> Floats | None:
            if a is None:
                return None
            # A single column holds for all cuts.
            column = np.minimum(cuts, a.shape[1] - 1)
            return np.stack([a[rows, column], a[:, -1]], axis=1)

        return SampleSums(*map(two, vars(self).values()))

    def at(self, cuts: Integers) -> SampleSums:
        """One cut per sample, added up; the totals in a second column."""
        return self.pick(cuts).total()

    def rows(self, chosen: slice) -> SampleSums:
        """Some of the samples."""
        parts = vars(self).values()
        return SampleSums(*(None if a is None else a[chosen] for a in parts))

    def total(self) -> SampleSums:
        """All samples added up."""
        parts = vars(self).values()
        return SampleSums(*(None if a is None else a.sum(axis=0)[None] for a in parts))

    def counts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Counts tp, k, t, n; the last cut predicts everything."""
        assert self.tp is not None
        assert self.fp is not None
        # Sums of weights that are rounded each for itself may exceed their total.
        tp, fp = (np.minimum(part, part[:, -1:]) for part in (self.tp, self.fp))
        k = tp + fp
        return tp, k, tp[:, -1:], k[:, -1:]

    def score(self, metric: Metric) -> Floats:
        """Value of the metric for every sample and cut."""
        if self.value is None:
            return metric.value(*self.counts())
        assert self.defined is not None
        return means(self.value, self.defined)


class Sampler(Protocol):
    """Draws samples of the rows; `cuts` are the cuts at which they are counted."""

    @property
    def cuts(self) -> Integers: ...

    @property
    def n_units(self) -> int: ...

    def bootstrap(self, rng: np.random.Generator, size: int) -> SampleSums: ...

    def splits(self, rng: np.random.Generator, folds: int) -> Iterator[SampleSums]: ...


def some_cuts(cuts: Cuts, keep: Integers, most: int) -> Integers:
    """Cuts at equal steps of 0.5·k/n + 0.5·tp/t, with the ones to keep."""
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
            drawn = self._draw_rows(rng, size)
        else:
            total = self.draws.sum()
            drawn = rng.multinomial(round(float(total)), self.draws / total, size=size)
        return self._count(drawn * self.worth)

    def _draw_rows(self, rng: np.random.Generator, size: int) -> Integers:
        """Draw row by row: the counts have the law of one multinomial draw."""
        cells, n = self.rows.size, int(self.rows.sum())
        cell = np.repeat(np.arange(cells), self.rows)
        drawn = np.empty((size, cells), dtype=np.int64)
        step = max(1, DRAWS_AT_ONCE // n)
        for first in range(0, size, step):
            part = drawn[first : first + step]
            picks = cell[rng.integers(0, n, (len(part), n))]
            picks += cells * np.arange(len(part))[:, None]
            part[:] = np.bincount(picks.ravel(), minlength=part.size).reshape(-1, cells)
        return drawn

    def splits(self, rng: np.random.Generator, folds: int) -> Iterator[SampleSums]:
        """Rows dealt to folds at random, each class evenly; few rows several times."""
        for _ in range(SPLITS if self.rows.max() == 1 else 1):
            held = np.zeros((folds, self.rows.size))
            for chosen in (self.positive, ~self.positive):
                held[:, chosen] = _deal(rng, self.rows[chosen], folds)
            yield self._count(held * self.mean_weight)

    def _count(self, weight: Floats) -> SampleSums:
        classes = (self.positive, ~self.positive)
        return SampleSums(*(self._at_cuts(weight, chosen) for chosen in classes))

    def _at_cuts(self, weight: Floats, chosen: Booleans) -> Floats:
        """Running sums over the cells of one class."""
        if self.ends.size == weight.shape[1] + 1:  # every cell ends a cut
            result = np.zeros((weight.shape[0], self.ends.size))
            np.cumsum(np.where(chosen, weight, 0.0), axis=1, out=result[:, 1:])
            return result
        before = np.concatenate([[0], np.cumsum(chosen)])[self.ends]
        running = np.zeros((weight.shape[0], int(chosen.sum()) + 1))
        np.cumsum(weight[:, chosen], axis=1, out=running[:, 1:])
        return running[:, before]


def _deal(rng: np.random.Generator, rows: Integers, count: int) -> Floats:
    """How many rows of each cell fall into each fold; folds differ by one row."""
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
    """Cells of single rows, or bins with a cell for either class."""
    if rows.n_rows <= MANY_ROWS:
        ones = np.ones(rows.n_rows)
        weight = ones if rows.weight is None else rows.weight
        ends = np.concatenate([[0], rows.ends])
        return CellSampler(
            np.arange(cuts.size),
            ones,
            weight,
            ones.astype(np.int64),
            weight,
            rows.positive,
            ends,
        )
    index = some_cuts(cuts, keep, BINS)
    positive = np.tile([True, False], index.size - 1)
    number = _pairs(np.diff(cuts.tp[index]), np.diff(cuts.fp[index]))
    if rows.weight is not None:
        ends = rows.ends_of(index)
        number = _binned(rows, ends, np.ones(rows.n_rows))
        weight = _binned(rows, ends, rows.weight)
        square = _binned(rows, ends, rows.weight**2)
    keep_cell = number > 0
    cell_ends = np.concatenate([[0], np.cumsum(keep_cell)[1::2]])
    number, positive = number[keep_cell], positive[keep_cell]
    if rows.weight is None:
        ones = np.ones(number.size)
        draws, worth, mean = number, ones, ones
    else:
        weight, square = weight[keep_cell], square[keep_cell]
        safe = np.where(weight > 0, weight, 1.0)
        worth = np.where(weight > 0, square / safe, 0.0)
        draws = np.where(weight > 0, weight / np.where(worth > 0, worth, 1.0), number)
        mean = weight / number
    return CellSampler(
        index, draws, worth, number.astype(np.int64), mean, positive, cell_ends
    )


def _pairs(positive: Floats, negative: Floats) -> Floats:
    """Both classes of every bin, in turn."""
    return np.stack([positive, negative], axis=1).ravel()


def _binned(rows: SortedRows, ends: Integers, values: Floats) -> Floats:
    """Sum of the values over the rows of either class in every bin."""
    return _pairs(
        *(
            np.add.reduceat(np.where(chosen, values, 0.0), ends[:-1])
            for chosen in (rows.positive, ~rows.positive)
        )
    )
