"""Baskets: many small groups."""

from __future__ import annotations

import numpy as np


def baskets(
    n_groups: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, ids and sizes of baskets: 1 to 80 rows, about 20, few positives.

    Sizes are log-normal; logits are the sum of a basket's and a row's own effect.
    """
    sizes = np.clip(np.rint(rng.lognormal(2.75, 0.75, n_groups)), 1, 80).astype(int)
    ids = np.repeat(np.arange(n_groups) * 3 + 17, sizes)
    logits = np.repeat(rng.normal(-2.5, 1.0, n_groups), sizes)
    logits += rng.normal(0.0, 1.2, ids.size)
    return 1 / (1 + np.exp(-logits)), ids, sizes
