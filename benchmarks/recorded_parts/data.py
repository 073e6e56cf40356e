"""Seeded scores, labels, groups and metrics of the recorded calls."""

from __future__ import annotations

from typing import Any

import numpy as np

import argmetric as am


def scores(n: int, kind: str = "usual", seed: int = 0) -> np.ndarray:
    """Probabilities whose log-odds are normal; `kind` says how many are large."""
    rng = np.random.default_rng([n, seed])
    shift = {"rare": -np.log(n + 1.0), "half": 0.0, "frequent": 4.0}.get(kind, -2.0)
    p = 1 / (1 + np.exp(-(2.0 * rng.standard_normal(n) + shift)))
    if kind == "tied":
        p = np.round(p, 1)
    elif kind == "certain":
        p = np.where(rng.random(n) < 0.3, (rng.random(n) < 0.4).astype(float), p)
    elif kind == "equal":
        p = np.full(n, 0.3)
    return np.asarray(p)


def truth(p: np.ndarray, seed: int = 1) -> np.ndarray:
    """Labels drawn with these probabilities."""
    return (np.random.default_rng([p.size, seed]).random(p.shape) < p).astype(int)


def of_variance(limit: float, side: float) -> int:
    """Rows of usual scores whose count of positives has about this variance."""
    p = scores(20_000)
    return int(side * limit / float((p * (1 - p)).mean())) + 1


def groups_of(sizes: list[int], kind: str = "sorted") -> np.ndarray:
    """Ids of groups of these sizes."""
    ids = np.repeat(np.arange(len(sizes)), sizes)
    if kind != "sorted":
        ids = ids[np.random.default_rng(len(ids)).permutation(len(ids))]
    if kind == "text":
        return np.array([f"order-{i:x}" for i in range(len(sizes))])[ids]
    if kind == "wide":
        return np.random.default_rng(3).integers(0, 2**62, len(sizes))[ids]
    return ids


def matrix(rows: int, columns: int) -> np.ndarray:
    return scores(rows * columns, seed=columns).reshape(rows, columns)


def own(tp: Any, k: Any, t: Any, n: Any) -> Any:
    """A function of the counts such as a user writes."""
    return tp / (0.3 * k + 0.7 * t + 1.0)


def rough(tp: Any, k: Any, t: Any, n: Any) -> Any:
    """Jumps: too rough for quadrature."""
    return np.where(2 * tp >= t, 1.0, 0.0) - 0.001 * k


METRICS: dict[str, Any] = {name: name for name in am.metric_names()} | {
    "f3": am.FBeta(3.0),
    "f0.7": am.FBeta(0.7),
    "f1,0/0=1": am.FBeta(1.0, zero_division=1.0),
    "tversky": am.Tversky(0.4, 0.2),
    "utility": am.Utility(tp=1.0, fp=-0.3, fn=-0.1, tn=0.0),
    "linear_fractional": am.LinearFractional(c=(0, 2, 0, 0), d=(0, 0.5, 1, 1)),
    "own": own,
    "smooth": am.CustomMetric(own, name="smooth", smooth=True),
    "rough": am.CustomMetric(rough, name="rough"),
    "loss": am.CustomMetric(
        lambda tp, k, t, n: (k + t - 2 * tp) / (k + t + 1.0),
        name="loss",
        greater_is_better=False,
    ),
}
MAIN = ("f1", "jaccard", "mcc", "kappa", "gmean", "qmean", "balanced_accuracy")
MAIN += ("fowlkes_mallows", "own", "smooth")
FEW = ("f1", "mcc", "gmean", "own")
