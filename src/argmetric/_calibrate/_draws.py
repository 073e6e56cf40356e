"""Other maps that a reference allows: draws from the normal law of the parameters."""

from __future__ import annotations

import numpy as np

from argmetric._segments import Floats

N_DRAWS = 48


def standard_normal(size: int, dimension: int) -> Floats:
    """Draws whose mean and covariance are those of the law itself; always the same."""
    half = np.random.default_rng(0).standard_normal((size // 2, dimension))
    both = np.concatenate([half, -half])
    root = np.linalg.cholesky(both.T @ both / size)
    return np.asarray(np.linalg.solve(root, both.T).T)


def drawn(mean: Floats, covariance: Floats) -> Floats:
    """Draws of a normal law, in rows; some variances may be 0."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return rounded(mean + standard_normal(N_DRAWS, mean.size) @ root.T)


def rounded(draws: Floats) -> Floats:
    """Six digits, so that a file stays small and gives the same draws back."""
    size = np.abs(draws).max(initial=1e-300)
    return np.round(draws, max(0, 5 - int(np.floor(np.log10(size)))) + 1)
