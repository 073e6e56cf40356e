"""`MetricClassifier.forecast` on new rows: does the interval hold the actual score?

Its calibrator is fitted to out-of-fold scores, and the scores that it is applied to
come from a model that was fitted to all rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from harness import emit
from joblib import Parallel, delayed

import argmetric as am
from trust_parts.cases import (
    CHOSEN_ON,
    FEWEST_TESTED,
    MODELS,
    SHOWN_ON,
    load_split,
    new_model,
)

SIZES = (500, 2000)  # rows that are fitted to
TREES = 50  # of forests and boosting, half as many as elsewhere
FEWEST_LEARNED = 10  # positives


def run(*, quick: bool) -> None:
    names = ("mammography", "wdbc") if quick else CHOSEN_ON + SHOWN_ON
    measured = Parallel(n_jobs=2)(delayed(measure)(name) for name in names)
    rows = [row for part in measured for row in part]
    for half in ("shown on", "chosen on", "both"):
        part = [row for row in rows if half in (row["sets"], "both")]
        for labels in ("predict", "decide"):
            _emit(part, {"sets": half, "labels": labels})


def measure(name: str, split: int = 0) -> list[dict[str, Any]]:
    """Forecast and actual score of every model and size on the test of a split."""
    X, y, train, more, test = load_split(name, split)
    rest = np.concatenate([train, more])
    half = "chosen on" if name in CHOSEN_ON else "shown on"
    rows, before = [], 0
    for size in SIZES:
        train = rest[:size]
        enough = y[train].sum() >= FEWEST_LEARNED
        enough &= min(y[test].sum(), (~y[test]).sum()) >= FEWEST_TESTED
        if not enough or train.size == before:
            continue
        before = train.size
        for model in MODELS:
            about = {"set": name, "sets": half, "model": model, "size": size}
            fitted = _fitted(_small(model), X[train], y[train])
            rows += _judged(fitted, X[test], y[test], about)
    return rows


def _small(model: str) -> Any:
    names = {"forest": "n_estimators", "boosting": "max_iter"}
    options = {names[model]: TREES} if model in names else {}
    return new_model(model).set_params(**options)


def _fitted(estimator: Any, X: np.ndarray, y: np.ndarray) -> am.MetricClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scores that tell nothing, and the like
        return am.MetricClassifier(estimator, "f1", random_state=0).fit(X, y)


def _judged(
    fitted: am.MetricClassifier, X: np.ndarray, y: np.ndarray, about: dict[str, Any]
) -> list[dict[str, Any]]:
    rows = []
    for name in ("predict", "decide"):
        labels = fitted.predict(X) if name == "predict" else fitted.decide(X)
        forecast = fitted.forecast(X, labels)
        predicted = labels if name == "predict" else labels.labels == 1
        actual = am.evaluate(y, predicted, "f1")
        low, high = forecast.interval
        below, above = actual < low - 1e-9, actual > high + 1e-9
        rows.append(
            about
            | {
                "labels": name,
                "actual": 100 * actual,
                "bias": 100 * (forecast.mean - actual),
                "off by": 100 * abs(forecast.mean - actual),
                "below": float(below),
                "above": float(above),
                "held": float(not below and not above),
                "width": 100 * (high - low),
            }
        )
    return rows


def _emit(rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    rows = _part(rows, about)
    groups: list[dict[str, Any]] = [{}, *({"model": model} for model in MODELS)]
    for group in groups:
        part = _part(rows, group)
        if not part:
            continue
        judged = not group and about["sets"] == "both"
        about_part = about | group | {"cases": len(part)}
        emit(
            "classifier", "90 % interval holds", _mean(part, "held"), "share",
            (">=", 0.87) if judged else None, width=_mean(part, "width"),
            bias=_mean(part, "bias"), off_by=_mean(part, "off by"),
            actual=_mean(part, "actual"), **about_part,
        )  # fmt: skip
        for end in ("below", "above"):
            target = ("<=", 0.08) if judged else None
            share = _mean(part, end)
            emit("classifier", f"{end} it", share, "share", target, **about_part)


def _part(rows: list[dict[str, Any]], about: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of which all these things hold; of sets "both" holds for all."""
    wanted = {key: x for key, x in about.items() if x != "both"}
    return [row for row in rows if all(row[key] == x for key, x in wanted.items())]


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
