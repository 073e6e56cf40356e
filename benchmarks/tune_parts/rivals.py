"""5b. `tune` against TunedThresholdClassifierCV's scoring, on the same given scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, interleaved, wall_seconds
from tabular import probability_classifier

import argmetric as am

SCORING = {"f1": "f1", "mcc": "matthews_corrcoef", "balanced_accuracy": None}


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(55)
    n = 5_000 if quick else 100_000
    p = rng.beta(0.5, 2.0, n)
    y = (rng.random(n) < p).astype(np.int64)
    am.tune(y[:1_000], p[:1_000])  # compiles
    for metric, scoring in SCORING.items():
        _compare(y, p, metric, scoring or metric, 1 if quick else 2)


def tuned(y: np.ndarray, p: np.ndarray, scoring: Any) -> Any:
    """scikit-learn's tuner, fitted on scores that pass through a frozen estimator."""
    from sklearn.model_selection import TunedThresholdClassifierCV

    X = p[:, None]
    tuner = TunedThresholdClassifierCV(
        probability_classifier(y), scoring=scoring, cv="prefit", refit=False
    )
    return tuner.fit(X, y)


def _compare(
    y: np.ndarray, p: np.ndarray, metric: str, scoring: str, repeats: int
) -> None:
    ours, theirs = am.tune(y, p, metric), tuned(y, p, scoring)
    calls = {
        "tune, threshold alone": lambda: am.tune(y, p, metric, n_bootstrap=0, cv=None),
        "tune, with intervals and optimism": lambda: am.tune(y, p, metric),
    }
    ours_s = interleaved(calls, 5 * repeats, wall_seconds)
    theirs_s = interleaved(
        {"sklearn": lambda: tuned(y, p, scoring)}, repeats, wall_seconds
    )["sklearn"]
    achieved = am.get_metric(metric)
    our_score = achieved.score(y, ours.apply(p))
    their_score = achieved.score(y, (p >= theirs.best_threshold_).astype(np.int64))
    setting = f"{metric}, 100 thresholds, n = {y.size:,}"
    for name, seconds in ours_s.items():
        emit(
            "rivals",
            f"TunedThresholdClassifierCV's time over that of {name}, {setting}",
            min(theirs_s) / min(seconds),
            "x, wall",
            (">=", 100.0) if "alone" in name else None,  # it gives no intervals
            tune_s=min(seconds),
            sklearn_s=min(theirs_s),
        )
    emit(
        "rivals",
        f"score of tune minus that of TunedThresholdClassifierCV, {setting}",
        our_score - their_score,
        "score",
        (">=", 0.0),
        tune=our_score,
        sklearn=their_score,
        sklearn_says=float(theirs.best_score_),
    )
