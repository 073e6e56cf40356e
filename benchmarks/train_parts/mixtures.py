"""5. FrankWolfeClassifier beside a tuned threshold, class weights and SMOTE.

Three splits of at most 4,000 rows to train on and 20,000 to test, each class by itself.
Gains are over `MetricClassifier` with the same model; their errors are over the sets.
SMOTE needs imbalanced-learn, and is left out where that is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit_mean
from sklearn.base import clone
from tabular import dense, load, new_model
from threadpoolctl import threadpool_limits

import argmetric as am
from argmetric.train import FrankWolfeClassifier

N_TRAIN, N_TEST, SPLITS, FOLDS = 4_000, 20_000, 3, 3
TWO = ("a9a", "w8a", "ijcnn1", "spambase", "mammography", "celeba", "covtype 5")
SEVERAL = ("covtype", "letter")
METRICS = {2: ("f1", "mcc", "gmean"), 3: ("f1", "gmean", "accuracy")}
TUNED = "MetricClassifier"
GAP, FEMALE = 0.05, 71  # a column of a9a
Ways = dict[str, Callable[[str], np.ndarray]]


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = load(name.split()[0])
    X, y = dense(table.X), table.y
    return (X, (y == 5).astype(np.int64)) if name == "covtype 5" else (X, y)


def rows(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and to test, with the same shares of the classes."""
    rng, parts = np.random.default_rng(split), ([], [])
    for label in np.unique(y):
        mine = rng.permutation(np.flatnonzero(y == label))
        share = mine.size / y.size
        n = max(5, min(round(0.7 * mine.size), round(N_TRAIN * share)))
        parts[0].append(mine[:n])
        parts[1].append(mine[n : n + round(N_TEST * share)])
    train, test = (np.concatenate(part) for part in parts)
    return rng.permutation(train), test


def ways(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Ways:
    """How each way labels new rows for a metric."""

    def of(one: Any) -> np.ndarray:
        return np.asarray(one.fit(X, y).predict(new))

    def searched(metric: str, **options: Any) -> np.ndarray:
        options = {"cv": FOLDS, "max_iter": 10, **options}
        return of(FrankWolfeClassifier(clone(model), metric, **options))

    found: Ways = {
        TUNED: lambda metric: of(
            am.MetricClassifier(clone(model), metric, cv=FOLDS, random_state=0)
        ),
        "as it is": lambda _: of(clone(model)),
        "class_weight balanced": lambda _: of(
            clone(model).set_params(class_weight="balanced")
        ),
        "plug-in": lambda metric: searched(metric, max_iter=30),
        "plug-in, randomised": lambda metric: searched(
            metric, max_iter=30, randomised=True
        ),
    }
    if np.unique(y).size < 10:  # every row is an example of all other classes
        found["weights"] = lambda metric: searched(metric, oracle="weights")
    try:
        from imblearn.over_sampling import SMOTE
    except ImportError:
        return found

    def smote(_: str) -> np.ndarray:
        more = SMOTE(random_state=0, k_neighbors=3).fit_resample(X, y)
        return np.asarray(clone(model).fit(*more).predict(new))

    return {**found, "SMOTE": smote}


def score(y: np.ndarray, labels: np.ndarray, metric: str) -> float:
    verb = am.evaluate if np.unique(y).size == 2 else am.classes.evaluate
    return float(verb(y, labels, metric))


def run(*, quick: bool) -> None:
    n_splits = 1 if quick else SPLITS
    gains: dict[tuple[str, str, str, str], list[float]] = {}
    with threadpool_limits(1):
        for kind in ("logistic",) if quick else ("logistic", "boosting"):
            for name in TWO[3:5] if quick else TWO + SEVERAL:
                _measure(kind, name, n_splits, gains)
        _parity(n_splits)
    for (kind, classes, metric, way), values in gains.items():
        what = f"{kind}, {classes}: {metric} of {way} less that of {TUNED}"
        won = sum(value > 0 for value in values)
        emit_mean("mixtures", what, values, "test score, mean over sets", won=won)


def _measure(
    kind: str,
    name: str,
    n_splits: int,
    gains: dict[tuple[str, str, str, str], list[float]],
) -> None:
    X, y = read(name)
    model = new_model(kind, **({"max_iter": 30} if kind == "boosting" else {}))
    found: dict[tuple[str, str], list[float]] = {}
    classes = "two classes" if np.unique(y).size == 2 else "several classes"
    for split in range(n_splits):
        train, test = rows(y, split)
        memory: dict[str, np.ndarray] = {}
        for way, labels_of in ways(model, X[train], y[train], X[test]).items():
            for metric in METRICS[2 if classes == "two classes" else 3]:
                fixed = way in ("as it is", "class_weight balanced", "SMOTE")
                labels = memory.get(way) if fixed else None
                labels = labels_of(metric) if labels is None else labels
                memory[way] = labels
                value = score(y[test], labels, metric)
                found.setdefault((metric, way), []).append(value)
    for (metric, way), values in found.items():
        if way != TUNED:
            over = np.subtract(values, found[metric, TUNED])
            what = f"{kind}, {name}: {metric} of {way} less that of {TUNED}"
            emit_mean("mixtures", what, over, "test score")
            gain = float(over.mean())
            gains.setdefault((kind, classes, metric, way), []).append(gain)


def _parity(n_splits: int) -> None:
    """F1 on a9a where recalls of women and men may differ by 0.05."""
    X, y = read("a9a")
    sex = (X[:, FEMALE] > 0).astype(np.int64)
    found: dict[str, list[tuple[float, float]]] = {}
    for split in range(n_splits):
        train, test = rows(y, split)
        for name, options in {
            "no limit": {},
            "plug-in, parity": {"parity": ("recall", GAP), "max_iter": 30},
            "weights, parity": {"parity": ("recall", GAP), "oracle": "weights"},
        }.items():
            how: dict[str, Any] = {"cv": FOLDS, "max_iter": 10, "randomised": True}
            model = FrankWolfeClassifier(new_model("logistic"), "f1", **how | options)
            limited = bool(options)
            model.fit(X[train], y[train], groups=sex[train] if limited else None)
            labels = model.predict(X[test], sex[test] if limited else None)
            recall = [labels[(sex[test] == s) & (y[test] == 1)].mean() for s in (0, 1)]
            gap = abs(float(recall[0] - recall[1]))
            found.setdefault(name, []).append((score(y[test], labels, "f1"), gap))
    for name, pairs in found.items():
        f1, gap = np.transpose(pairs)
        emit_mean("mixtures", f"a9a: F1, {name}", f1, "test score")
        emit_mean("mixtures", f"a9a: gap of recall, {name}", gap, "")
