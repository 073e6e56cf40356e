"""5c. Scores with ties: does the rule equal brute force over all the cuts there are?

A case is a random vector of scores on a coarse grid with random labels. The best is
found here by trying "p >= v" for every value v and "nothing". A way misses a case if
the labels that it gives score less than that.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import numpy as np
from harness import emit
from papers_parts.values import score_of_labels

import argmetric as am
from tune_parts.rivals import tuned

CUTOFFS = "optimal-classification-cutoffs"
Way = Callable[[np.ndarray, np.ndarray, str], np.ndarray]
METRICS = ("f1", "f2", "mcc", "jaccard", "gmean", "kappa", "accuracy")


def run(*, quick: bool) -> None:
    count = 30 if quick else 1_000
    for metric in METRICS:
        for weighted in (False, True):
            _exactness(metric, count, weighted)
    ways: dict[str, Way] = {
        "argmetric": _argmetric,
        "TunedThresholdClassifierCV, 100 thresholds": _sklearn,
        f"{CUTOFFS}, p > t (default)": lambda y, p, m: _cutoffs(y, p, m, ">"),
        f"{CUTOFFS}, p >= t": lambda y, p, m: _cutoffs(y, p, m, ">="),
    }
    peers = 20 if quick else 300
    for name, way in ways.items():
        for metric in ("f1", "accuracy"):
            _missed(name, way, metric, peers)


def _case(
    seed: int, weighted: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grids of 2 to 20 steps, 2 to 60 rows, both classes; labels follow the scores."""
    rng = np.random.default_rng(seed)
    n, steps = int(rng.integers(2, 61)), int(rng.integers(2, 21))
    p = rng.integers(0, steps + 1, n) / steps
    p[:2] = (0.0, 1.0)  # not all equal: `tune` would say so
    y = (rng.random(n) < 0.1 + 0.6 * p).astype(np.int64)
    y[:2] = rng.permutation(2)
    weights = rng.integers(1, 9, n) / 4 if weighted else np.ones(n)
    return y, p, weights


def _values(
    metric: str, y: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Scores of answers, a row each, in code that argmetric does not share."""
    if metric == "accuracy":
        return (weights * (labels == y)).sum(axis=-1) / weights.sum()
    return score_of_labels(metric, y, labels, weights)


def _best(metric: str, y: np.ndarray, p: np.ndarray, weights: np.ndarray) -> float:
    cuts = np.append(np.unique(p), np.inf)
    return float(_values(metric, y, p >= cuts[:, None], weights).max())


def _exactness(metric: str, count: int, weighted: bool) -> None:
    """The labels of the rule, and the score that it reports, against brute force."""
    equal, worst = 0, 0.0
    for seed in range(count):
        y, p, weights = _case(seed, weighted)
        rule = am.tune(
            *(y, p, metric),
            sample_weight=weights if weighted else None,
            n_bootstrap=0,
            cv=None,
        )
        best = _best(metric, y, p, weights)
        given = float(_values(metric, y, rule.apply(p), weights))
        error = max(abs(given - best), abs(rule.score - best))
        equal += error <= 1e-12
        worst = max(worst, error)
    emit(
        "ties",
        f"{metric}{', weighted' if weighted else ''}: cases equal to brute force",
        equal,
        f"of {count:,}",
        (">=", count),
        largest_error=worst,
    )


def _missed(name: str, way: Way, metric: str, count: int) -> None:
    missed, lost, failure = 0, [], None
    try:
        for seed in range(count):
            y, p, weights = _case(seed)
            best = _best(metric, y, p, weights)
            loss = best - float(_values(metric, y, way(y, p, metric), weights))
            missed += loss > 1e-12
            lost.append(loss)
    except Exception as problem:  # a peer that fails is a line, not the end
        failure = f"{type(problem).__name__}: {problem}"
    share = None if failure else missed / count
    emit(
        "ties",
        f"{metric}: share of cases where {name} gives less than the best cut",
        share,
        f"of {count:,}",
        mean_loss=float(np.mean(lost)) if lost else None,
        largest_loss=float(np.max(lost)) if lost else None,
        version=_version(name),
        failed=failure,
    )


def _version(name: str) -> str | None:
    package = name.split(",")[0].replace("TunedThresholdClassifierCV", "scikit-learn")
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _argmetric(y: np.ndarray, p: np.ndarray, metric: str) -> np.ndarray:
    return np.asarray(am.tune(y, p, metric, n_bootstrap=0, cv=None).apply(p))


def _sklearn(y: np.ndarray, p: np.ndarray, metric: str) -> np.ndarray:
    return (p >= tuned(y, p, metric).best_threshold_).astype(np.int64)


def _cutoffs(y: np.ndarray, p: np.ndarray, metric: str, comparison: str) -> np.ndarray:
    from optimal_cutoffs import get_optimal_threshold

    result = get_optimal_threshold(y, p, metric=metric, comparison=comparison)
    return np.asarray(result.predict(p)).astype(np.int64)
