"""`MetricClassifier.forecast` on new rows: does the interval hold the actual score?

Its calibrator is fitted to out-of-fold scores, and the scores that it is applied to
come from a model that was fitted to all rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from harness import emit, groups_of, mean_of
from joblib import Parallel, delayed

import argmetric as am
from trust_parts.cases import (
    CHOSEN_ON,
    FEWEST_TESTED,
    MODELS,
    SHOWN_ON,
    by_half,
    half_of,
    load_split,
    new_model,
)

SIZES = (500, 2000)  # rows that are fitted to
SMALLER = {"forest": {"n_estimators": 50}, "boosting": {"max_iter": 50}}
FEWEST_LEARNED = 10  # positives
TARGETS = {"holds": (">=", 0.87), "below": ("<=", 0.08), "above": ("<=", 0.08)}


def run(*, quick: bool) -> None:
    names = ("mammography", "wdbc") if quick else CHOSEN_ON + SHOWN_ON
    measured = Parallel(n_jobs=2)(delayed(measure)(name) for name in names)
    rows = [row for part in measured for row in part]
    for labels in ("predict", "decide"):
        for half, part in by_half(rows, labels=labels):
            for about, some in groups_of(part, "model"):
                told = {"sets": half, "labels": labels, "cases": len(some), **about}
                for end, target in TARGETS.items():
                    goal = target if half == "both" and not about else None
                    share, what = mean_of(some, end), f"90 % interval: {end}"
                    emit("classifier", what, share, "share", goal, **told)


def measure(name: str, split: int = 0) -> list[dict[str, Any]]:
    """Whether each interval holds, of every model and size on the test of a split."""
    X, y, train, more, test = load_split(name, split)
    rest = np.concatenate([train, more])
    rows, before = [], 0
    for size in SIZES:
        train = rest[:size]
        enough = y[train].sum() >= FEWEST_LEARNED
        enough &= min(y[test].sum(), (~y[test]).sum()) >= FEWEST_TESTED
        if not enough or train.size == before:
            continue
        before = train.size
        for kind in MODELS:
            model = new_model(kind, **SMALLER.get(kind, {}))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of scores that tell nothing
                fitted = am.MetricClassifier(model, "f1", random_state=0)
                fitted.fit(X[train], y[train])
            about = {"sets": half_of(name), "model": kind}
            rows += [about | row for row in _judged(fitted, X[test], y[test])]
    return rows


def _judged(
    fitted: am.MetricClassifier, X: np.ndarray, y: np.ndarray
) -> list[dict[str, Any]]:
    rows = []
    for name in ("predict", "decide"):
        labels = fitted.predict(X) if name == "predict" else fitted.decide(X)
        low, high = fitted.forecast(X, labels).interval
        predicted = labels if name == "predict" else labels.labels == 1
        actual = am.evaluate(y, predicted, "f1")
        row = {"below": actual < low - 1e-9, "above": actual > high + 1e-9}
        rows.append({"labels": name, "holds": not any(row.values()), **row})
    return rows
