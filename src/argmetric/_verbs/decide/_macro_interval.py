"""Interval of a mean over labels: rows are drawn, and a row has all its labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from argmetric._ground.types import Floats, Interval
from argmetric.metrics import Metric

DRAWS = 4000  # of the tables of all labels; fewer where there are many labels
FEWEST_DRAWS = 100
TABLES_AT_ONCE = 200_000  # drawn tables of labels
NORMAL_FROM = 200  # labels whose mean is taken as normal: few draws give its moments
STEP = 1e-3  # of a difference quotient, relative to the count
# Priors of tp, fp and fn. A single number is spread as in the other labels, and tn gets
# as much as leaves the label's own part of tn. The first prior takes labels as they are
# on these rows, the second is Jeffreys'. The next two have more hits and fewer: of
# labels with few positives Jeffreys' ends are too narrow.
PRIORS: tuple[tuple[float, ...], ...] = (
    (0.0, 0.0, 0.0),
    (0.5, 0.5, 0.5),
    (1.0, 0.25, 0.25),
    (0.25, 0.625, 0.625),
    (1.5,),
    (15.0,),
)


class MatrixRows(NamedTuple):
    """Sums along the rows of a matrix of labels, for `tables_of_labels`.

    `sums(by_true, by_predicted, by_hit)` takes three arrays of shape (n_labels,) and
    returns Σ_j by_true_j·y_ij + by_predicted_j·ŷ_ij + by_hit_j·y_ij·ŷ_ij of each row.
    """

    sums: Callable[[Floats, Floats, Floats], Floats]
    weight: Floats | None = None  # of each row
    squares: Floats | None = None  # sums of squared weights, of shape (n_labels, 4)


class LabelTables(NamedTuple):
    """Counts tp, fp, fn and tn of every label, and how labels of a row vary together.

    `cells` and `scales` have the shape (n_labels, 4); scales are the Σw²/Σw of a cell.
    `ratio` is the standard error of the mean over labels, divided by that of labels
    which are independent.
    """

    cells: Floats
    scales: Floats
    ratio: float


def tables_of_labels(
    metric: Metric, cells: Floats, scales: Floats, rows: MatrixRows
) -> LabelTables:
    """Return the tables with the ratio of standard errors, from linear influences.

    A row adds Σ_j s_j(c_ij) to the mean, s_j(c) the slope of label j in the count of
    its cell c_ij. The variance of its sum over rows is compared with the sum over
    labels of the variances of its parts; in both 1/2 an entry of Jeffreys' prior is
    independent. Rows that are all equal show no dependence: there labels vary as one.
    """
    slopes = _slopes(metric, cells + 0.5 * scales)
    tp, fp, fn, tn = slopes.T
    total = cells.sum(axis=1, keepdims=True)
    mean = (cells * slopes).sum(axis=1, keepdims=True) / total
    squares = cells if rows.squares is None else rows.squares
    apart = (squares * (slopes - mean) ** 2).sum(axis=1)
    influence = rows.sums(fn - tn, fp - tn, tp - fp - fn + tn) + tn.sum() - mean.sum()
    if rows.weight is not None:
        influence = influence[rows.weight > 0.0] * rows.weight[rows.weight > 0.0]
    n = influence.size
    more = n / max(n - 1, 1)
    prior = 0.5 * np.sum((slopes * scales) ** 2, axis=1)
    independent = float(apart.sum() * more + prior.sum())
    together = float(np.sum(influence**2) * more + prior.sum())
    if (cells > 0.0).sum(axis=1).max() == 1:
        together = float(np.sqrt(prior).sum() ** 2)
    ratio = math.sqrt(together / independent) if independent > 0.0 else 1.0
    return LabelTables(cells, scales, round(ratio, 6))  # whatever the order of sums


def macro_interval(
    metric: Metric, tables: LabelTables, coverage: float, score: float
) -> Interval:
    """Return the lowest and highest ends under six priors of rare labels.

    Of each label the masses of tp, fp, fn and tn are drawn as gamma variates of the
    count + prior. The middle of the means over labels, stretched by the ratio of the
    tables, is an interval for each prior. What rare labels score on many more rows
    depends on the prior, all others hardly: the lowest and the highest end hold for
    labels that are as on these rows, or as Jeffreys' prior or other labels have them.
    """
    n_labels = len(tables.cells)
    draws = max(FEWEST_DRAWS, min(DRAWS, TABLES_AT_ONCE // n_labels))
    sums = np.zeros((len(PRIORS), draws))
    defined = np.zeros_like(sums)
    span = [score, score]
    for number, values in _drawn_values(metric, tables, draws):
        known = ~np.isnan(values)
        sums[number] += np.sum(values, axis=1, where=known)
        defined[number] += known.sum(axis=1)
        seen = np.append(values[known], span)
        span = [float(seen.min()), float(seen.max())]
    tail = (1.0 - coverage) / 2.0
    ends = [score, score]
    for total, count in zip(sums, defined, strict=True):
        means = total[count > 0] / count[count > 0]
        if not means.size:
            continue
        center = float(means.mean())
        if n_labels < NORMAL_FROM:
            low, high = np.quantile(means, (tail, 1.0 - tail)).tolist()
        else:
            reach = 1.645 * float(means.std())
            low, high = center - reach, center + reach
        ends[0] = min(ends[0], center + tables.ratio * (low - center))
        ends[1] = max(ends[1], center + tables.ratio * (high - center))
    return Interval(max(ends[0], span[0]), min(ends[1], span[1]))


def _drawn_values(
    metric: Metric, tables: LabelTables, draws: int
) -> Iterator[tuple[int, Floats]]:
    """Yield the number of a prior, with drawn values of shape (draws, labels)."""
    step = max(1, TABLES_AT_ONCE // draws)
    parts = [slice(i, i + step) for i in range(0, len(tables.cells), step)]
    counts = tables.cells / tables.scales
    weight = 1.0 / (counts[:, :3].sum(axis=1) + 1.5)  # of rare and of frequent labels

    def own(part: slice) -> tuple[np.random.Generator, Floats]:
        rng = np.random.default_rng(part.start)
        return rng, rng.standard_gamma(counts[part], (draws, *counts[part].shape))

    found = np.full((draws, 3), 0.5 / (len(counts) + 1))
    for part in parts:
        found += np.einsum("djc,j->dc", own(part)[1][:, :, :3], weight[part])
    others = found / found.sum(axis=1, keepdims=True)
    for part in parts:
        rng, mass = own(part)
        n = tables.cells[part].sum(axis=1)
        for number, prior in enumerate(PRIORS):
            if len(prior) > 1:
                shape = np.array([*prior, 0.5 if any(prior) else 0.0])
            else:
                shape = np.empty(mass.shape)
                shape[:, :, :3] = prior[0] * others[:, None]
                shape[:, :, 3] = prior[0] * counts[part, 3] * weight[part]
            more = rng.standard_gamma(shape, mass.shape)
            yield number, _values(metric, (mass + more) * tables.scales[part], n)


def _values(metric: Metric, masses: Floats, n: Floats) -> Floats:
    """Return the metric of tables scaled to n rows, of shape (..., n_labels)."""
    masses = masses * (n / masses.sum(axis=-1))[..., None]
    tp, fp, fn, _ = np.moveaxis(masses, -1, 0)
    return np.asarray(metric.value(tp, tp + fp, tp + fn, np.broadcast_to(n, tp.shape)))


def _slopes(metric: Metric, cells: Floats) -> Floats:
    """Return the slopes of the metric in tp, fp, fn and tn, of shape (n_labels, 4)."""
    slopes = np.zeros_like(cells)
    for place in range(4):
        step = np.zeros_like(cells)
        step[:, place] = STEP * cells[:, place]
        ends = [cells + step, cells - step]
        high, low = (
            np.asarray(metric.value(x[:, 0], x[:, 0] + x[:, 1], x[:, 0] + x[:, 2], n))
            for x, n in ((one, one.sum(axis=1)) for one in ends)
        )
        slopes[:, place] = np.nan_to_num((high - low) / (2.0 * step[:, place]))
    return slopes
