"""Other maps that a reference allows: draws from the normal law of the parameters."""

from __future__ import annotations

import numpy as np

from argmetric._input.types import Floats

N_DRAWS = 48
SINGULAR = 1e-9  # added to correlations, which rounding may have made those of no law


def standard_normal(size: int, dimension: int) -> Floats:
    """Draws whose mean and covariance are those of the law itself; always the same."""
    half = np.random.default_rng(0).standard_normal((size // 2, dimension))
    both = np.concatenate([half, -half])
    root = np.linalg.cholesky(both.T @ both / size)
    return np.asarray(np.linalg.solve(root, both.T).T)


def drawn(mean: Floats, covariance: Floats) -> Floats:
    """Draws of a normal law, in rows; some variances may be 0.

    By the root of the correlations: draws do not depend on the units of the mean.
    """
    deviation = np.sqrt(np.diag(covariance))
    unit = np.where(deviation > 0.0, deviation, 1.0)
    correlation = covariance / np.outer(unit, unit)
    np.fill_diagonal(correlation, 1.0 + SINGULAR)
    root = deviation[:, None] * np.linalg.cholesky(correlation)
    return rounded(mean + standard_normal(N_DRAWS, mean.size) @ root.T)


def rounded(draws: Floats) -> Floats:
    """Seven digits of each, so that a file stays small and gives the same back."""
    scale = 10.0 ** (6 - np.floor(np.log10(np.maximum(np.abs(draws), 1e-290))))
    return np.asarray(np.round(draws * scale) / scale)
