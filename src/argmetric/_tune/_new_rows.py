"""The score that a tuned rule will have on as many new rows."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Floats
from argmetric.metrics import Metric

N_DRAWS = 4000
N_GROUP_DRAWS = 1000
# Rows that every confusion matrix is given beforehand, spread over its cells: half a
# row per cell of two classes, as in Jeffreys' rule.
PRIOR_ROWS = 2.0


def new_tables(
    table: Floats, worth: float, size: int, rng: np.random.Generator
) -> Floats:
    """Confusion matrices of as many new rows as a matrix was seen on.

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
    """Scores of new rows, from matrices of rows that the cuts were not tuned on.

    Every way to split the rows into folds has a matrix; each gets its part.
    """
    size = -(-N_DRAWS // len(tables))
    drawn = [new_tables(table, worth, size, rng) for table in tables]
    (tn, fp), (fn, tp) = np.concatenate(drawn).transpose(1, 2, 0)
    return metric.value(tp, tp + fp, tp + fn, tn + fp + fn + tp)


def mean_worth(weight: Floats | None) -> float:
    """Σw²/Σw: what a row counts, if rows of equal weight are to vary as much."""
    return 1.0 if weight is None else float((weight**2).sum() / weight.sum())


def confusion_of(tp: float, k: float, t: float, n: float) -> Floats:
    """The four counts, true classes in rows."""
    table = np.array([[n - k - t + tp, k - tp], [t - tp, tp]])
    return np.asarray(np.maximum(table, 0.0))
