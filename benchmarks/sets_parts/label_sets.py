"""Rows with several labels: pictures of SCENE, and rows drawn from chains of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tabular import load, scene_labels

FIRST_SEED = 100


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by."""

    X: np.ndarray
    Y: np.ndarray
    unseen: np.ndarray
    truth: np.ndarray


def scene(seed: int) -> Split:
    """Return the pictures, half of them to learn from, standardised."""
    X = load("scene").X
    Y = scene_labels()
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    return Split(X[train], Y[train], X[test], Y[test])


def chain(seed: int, n_labels: int, n: int = 3000, width: int = 30) -> Split:
    """Draw labels that depend on the row and on two in five of those before them."""
    model = np.random.default_rng(n_labels)
    weights = 1.5 * model.normal(size=(width, n_labels)) / np.sqrt(width)
    chosen = model.random((n_labels, n_labels)) < 0.4
    between = chosen * model.normal(size=(n_labels, n_labels))
    intercepts = model.normal(size=n_labels) - 2.0
    columns = model.permutation(n_labels)
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, width)), np.zeros((n, n_labels), dtype=np.int64)
    for j in range(n_labels):
        score = X @ weights[:, j] + intercepts[j]
        score += (2 * Y[:, :j] - 1) @ between[j, :j]
        Y[:, j] = rng.logistic(size=n) < score
    Y, half = Y[:, columns], n // 2
    return Split(X[:half], Y[:half], X[half:], Y[half:])
