"""The judge: ROUGE-2 recall, no stemming, in percent, as rouge-score counts it.

A cluster's score is the mean over its references; the maximum over them stands beside
it. Intervals are of 95 %, clusters resampled; all systems see the same resamples, so
that differences are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from argmetric.search.summaries.rouge import rouge_recall

RESAMPLES = 10_000


def recalls(references: Sequence[Sequence[str]], texts: Sequence[str]) -> np.ndarray:
    """Mean and maximum over references, a row a cluster."""
    pairs = zip(references, texts, strict=True)
    return 100.0 * np.array([rouge_recall(text, own) for own, text in pairs])


def interval(values: np.ndarray) -> tuple[float, float]:
    """Of the mean; of a difference where `values` are differences, cluster by cluster.

    >>> low, high = interval(np.array([1.0, 1.0, 1.0]))
    >>> float(low), float(high)
    (1.0, 1.0)
    """
    means = values[_draws(values.size)].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


@cache
def _draws(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
