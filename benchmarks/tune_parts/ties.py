"""5c. Scores with ties: does the rule equal brute force over all the cuts there are?

A case is a random vector of scores on a coarse grid with random labels. The best is
found here by trying "p >= v" for every value v and "nothing", in plain Python. A way
misses a case if the labels that it gives score less than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import metadata

import numpy as np
from harness import emit

import argmetric as am
from tune_parts.rivals import tuned

CUTOFFS = "optimal-classification-cutoffs"
Metric = Callable[[float, float, float, float], float]
Way = Callable[[np.ndarray, np.ndarray, str], np.ndarray]


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0


def _matthews(tp: float, k: float, t: float, n: float) -> float:
    return _over(n * tp - k * t, math.sqrt(max(k * t * (n - k) * (n - t), 0.0)))


def _gmean(tp: float, k: float, t: float, n: float) -> float:
    return math.sqrt(max(_over(tp, t) * _over(n - k - t + tp, n - t), 0.0))


METRICS: dict[str, Metric] = {
    "f1": lambda tp, k, t, n: _over(2 * tp, k + t),
    "f2": lambda tp, k, t, n: _over(5 * tp, k + 4 * t),
    "mcc": _matthews,
    "jaccard": lambda tp, k, t, n: _over(tp, k + t - tp),
    "gmean": _gmean,
    "kappa": lambda tp, k, t, n: _over(2 * (n * tp - k * t), k * (n - t) + t * (n - k)),
    "accuracy": lambda tp, k, t, n: (n - k - t + 2 * tp) / n,
}


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


def _value(
    metric: str, y: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> float:
    counts = (float((weights * z).sum()) for z in (y * labels, labels, y, 1))
    return METRICS[metric](*counts)


def _best(metric: str, y: np.ndarray, p: np.ndarray, weights: np.ndarray) -> float:
    cuts = [*np.unique(p).tolist(), math.inf]
    return max(_value(metric, y, p >= cut, weights) for cut in cuts)


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
        given = _value(metric, y, rule.apply(p), weights)
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
            loss = best - _value(metric, y, way(y, p, metric), weights)
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
    return (p >= tuned(y, p, metric, 100).best_threshold_).astype(np.int64)


def _cutoffs(y: np.ndarray, p: np.ndarray, metric: str, comparison: str) -> np.ndarray:
    from optimal_cutoffs import get_optimal_threshold

    result = get_optimal_threshold(y, p, metric=metric, comparison=comparison)
    return np.asarray(result.predict(p)).astype(np.int64)
