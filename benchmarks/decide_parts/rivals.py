"""How each peer is asked for F1 decisions, in the best mode that it has for the job.

Every function takes a `Task` and returns 0/1 labels; what is timed is the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tabular import probability_classifier

import argmetric as am
from decide_parts import copied_kernel


@dataclass(frozen=True)
class Task:
    """Probabilities to decide on, and labelled rows like them to tune on.

    `sizes` are the sizes of consecutive groups, None for a single vector.
    """

    p: np.ndarray
    sizes: np.ndarray | None
    zero_division: float
    past_p: np.ndarray
    past_y: np.ndarray
    past_sizes: np.ndarray | None

    @property
    def parts(self) -> list[np.ndarray]:
        if self.sizes is None:
            return [self.p]
        return np.split(self.p, np.cumsum(self.sizes)[:-1])


def cut_half(task: Task) -> np.ndarray:
    return (task.p >= 0.5).astype(np.int64)


def argmetric(task: Task) -> np.ndarray:
    how: dict[str, Any] = {"zero_division": task.zero_division}
    if task.sizes is not None:
        how["groups"] = np.repeat(np.arange(task.sizes.size), task.sizes)
        how["average"] = "groups"
    return np.asarray(am.decide(task.p, "f1", **how).labels)


def tuned_threshold(task: Task) -> np.ndarray:
    """One threshold, tuned on labelled rows for the very score that is reported."""
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    sizes = task.past_sizes
    n_groups = 1 if sizes is None else sizes.size
    code = np.repeat(np.arange(n_groups), task.past_p.size if sizes is None else sizes)

    def mean_f1(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        hits, both = (
            np.bincount(code, counts, n_groups)
            for counts in (y_true * y_pred, y_true + y_pred)
        )
        empty = both == 0
        return float(
            np.where(empty, task.zero_division, 2 * hits / (both + empty)).mean()
        )

    X, y = task.past_p[:, None], task.past_y
    tuned = TunedThresholdClassifierCV(
        probability_classifier(y),
        scoring=make_scorer(mean_f1),
        cv="prefit",
        refit=False,
    )
    return tuned.fit(X, y).predict(task.p[:, None]).astype(np.int64)


def _cutoffs(task: Task, comparison: str) -> np.ndarray:
    """Its "expected" mode, a ratio of expectations; one call per group."""
    import optimal_cutoffs

    how = {"metric": "f1", "mode": "expected", "comparison": comparison}
    call = partial(getattr(optimal_cutoffs, cutoffs_call()), None, **how)
    labels = [call(part).predict(part) for part in task.parts]
    return np.concatenate(labels).astype(np.int64)


cutoffs_above = partial(_cutoffs, comparison=">")
cutoffs_at_least = partial(_cutoffs, comparison=">=")


def cutoffs_call() -> str:
    """Return the name of the function in the version that is installed."""
    import optimal_cutoffs

    names = "optimize_thresholds", "get_optimal_threshold"  # from 2.0 on, and before
    return next(name for name in names if hasattr(optimal_cutoffs, name))


def xcolumns(task: Task) -> np.ndarray:
    """Block-coordinate ascent on macro F1: groups are columns, padded with p = 0.

    Dense, because its sparse mode without a budget predicts everything.
    """
    from xcolumns.block_coordinate import predict_optimizing_macro_f1_score_using_bc

    sizes = np.array([task.p.size]) if task.sizes is None else task.sizes
    column = np.repeat(np.arange(sizes.size), sizes)
    row = np.arange(task.p.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    matrix = np.zeros((int(sizes.max()), sizes.size))
    matrix[row, column] = task.p
    chosen = predict_optimizing_macro_f1_score_using_bc(matrix, 0, seed=0)
    return np.asarray(chosen)[row, column].astype(np.int64)


def copied(task: Task) -> np.ndarray:
    labels = [copied_kernel.decide(part, task.zero_division) for part in task.parts]
    return np.concatenate(labels)


def copied_compiled(task: Task) -> np.ndarray:
    """The copied kernel under `numba.njit`, one call for each group."""
    kernel = copied_kernel.compiled_expectations
    return np.concatenate(
        [copied_kernel.decide(x, task.zero_division, kernel) for x in task.parts]
    )


def true_expected_f1(task: Task, labels: np.ndarray) -> float:
    """E[F1] of any labels, mean over groups, by summing over all (tp, rest) counts."""
    total, start = 0.0, 0
    for part in task.parts:
        chosen = labels[start : start + part.size] == 1
        start += part.size
        hits_p, rest_p = (
            _count_distribution(part[chosen]),
            _count_distribution(part[~chosen]),
        )
        hits, rest = np.ogrid[: hits_p.size, : rest_p.size]
        both = int(chosen.sum()) + hits + rest
        empty = both == 0
        value = np.where(empty, task.zero_division, 2 * hits / (both + empty))
        total += float(hits_p @ value @ rest_p)
    return total / len(task.parts)


def _count_distribution(p: np.ndarray) -> np.ndarray:
    distribution = np.ones(1)
    for probability in p:
        distribution = np.convolve(distribution, (1 - probability, probability))
    return distribution
