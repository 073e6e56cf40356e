"""1. Analytic gradients against finite differences.

Five-point differences of the objective's own value, step 1e-3 (their error is about
1e-12 of the largest slope); the error is the greatest of any coordinate, relative to
the largest coordinate. The value itself is checked too, in plain numpy: the soft counts
are summed, and for 12 rows the expectation, over all their labellings.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from harness import emit
from scipy.sparse import csr_matrix

import argmetric as am
from argmetric.train._objectives import ExpectedMetric, SoftMetric
from argmetric.train._rows import TrainingRows

SOFT = ("f1", "f2", "jaccard", "balanced_accuracy", "mcc", "gmean", "kappa")
EXPECTED = ("f1", "f2", "f0.5")
STEP = 1e-3
GAMMA = 1.5
FEW = 12  # rows whose labellings can all be gone through


def run(*, quick: bool) -> None:
    sizes = (FEW,) if quick else (FEW, 3_000, 40_000)
    for kind, names in (("soft", SOFT), ("expected", EXPECTED)):
        for metric, sparse, weighted in product(names, (False, True), (False, True)):
            _check(kind, metric, sizes, sparse=sparse, weighted=weighted)


def _check(
    kind: str, metric: str, sizes: tuple[int, ...], *, sparse: bool, weighted: bool
) -> None:
    slope_error, value_error = 0.0, 0.0
    for seed, n in enumerate(sizes):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 7)) * (rng.random((n, 7)) < 0.6)
        y = rng.random(n) < 0.2
        y[:2] = (False, True)
        weight = rng.exponential(size=n) if weighted else np.ones(n)
        rows = TrainingRows(csr_matrix(X) if sparse else X, y, weight)
        chosen = SoftMetric if kind == "soft" else ExpectedMetric
        objective = chosen(rows, am.get_metric(metric), gamma=GAMMA)
        theta = rng.normal(size=8)
        slope_error = max(slope_error, slope_error_of(objective, theta))
        value_error = max(
            value_error, _value_error(kind, metric, X, y, weight, objective, theta)
        )
    shape = "CSR" if sparse else "dense"
    emit(
        "gradients",
        f"{kind} {metric}, {shape}, weights {'on' if weighted else 'off'}",
        slope_error,
        "relative error of the gradient",
        ("<=", 1e-6),
        error_of_value=value_error,
        rows=sizes,
    )


def slope_error_of(objective: Any, theta: np.ndarray) -> float:
    _, gradient = objective.value_and_gradient(theta)
    numeric = np.empty(theta.size)
    for j in range(theta.size):
        values = []
        for steps in (-2, -1, 1, 2):
            moved = theta.copy()
            moved[j] += steps * STEP
            values.append(objective.value_and_gradient(moved)[0])
        before_2, before, after, after_2 = values
        numeric[j] = (8 * (after - before) - (after_2 - before_2)) / (12 * STEP)
    return float(np.abs(gradient - numeric).max() / np.abs(numeric).max())


def _value_error(
    kind: str,
    metric: str,
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    objective: Any,
    theta: np.ndarray,
) -> float:
    value, _ = objective.value_and_gradient(theta)
    g = 1 / (1 + np.exp(-GAMMA * (X @ theta[:-1] + theta[-1])))
    counted = am.get_metric(metric)
    there, total = weight[y].sum(), weight.sum()
    if kind == "soft":
        plain = counted.value(weight[y] @ g[y], weight @ g, there, total)
        return abs(value - float(plain))
    if y.size > FEW:
        return 0.0  # too many outcomes
    outcomes = np.arange(2**y.size)[:, None] >> np.arange(y.size) & 1
    chances = np.where(outcomes == 1, g, 1 - g).prod(axis=1)
    hits, chosen = outcomes[:, y] @ weight[y], outcomes @ weight
    plain = chances @ counted.value(hits, chosen, there, total)
    return abs(value - float(plain))
