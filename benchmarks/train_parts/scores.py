"""3. Test F1 and F2 of four ways to train and cut, on eight sets.

Every split draws training and test rows anew, at most 20,000 of each, so that the
section stays within a quarter of an hour; a set with several classes is several tasks
of one class against the rest. All models have their default settings, and features
come as `tabular.py` scales them. One thread for everything; where F1 and F2 cut the
same models differently, these are fitted once, and boosting is cut after 3 folds, not
5, because it costs the most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import emit_mean
from papers_parts.values import score_of_labels
from tabular import load
from threadpoolctl import threadpool_limits

import argmetric as am
from train_parts.remembered import Remembered

ROWS = 20_000  # at most, for training and again for the test
LETTERS = (0, 5, 10, 15, 20)  # A, F, K, P and U: every fifth, averaged
METRICS = ("f1", "f2")
HALF, TUNED, SOFT, BOOSTED = WAYS = (
    "log-loss, cut at 0.5",
    "log-loss, tuned cut",
    "soft F",
    "boosting, tuned cut",
)


@dataclass(frozen=True)
class Task:
    """Rows and one or more binary targets whose scores are averaged."""

    name: str
    X: Any
    targets: tuple[np.ndarray, ...]


def tasks(quick: bool) -> list[Task]:
    found = []
    for name in ("a9a", "w8a", "ijcnn1", "spambase", "mammography", "celeba"):
        if not quick or name in ("spambase", "mammography"):
            table = load(name)
            found.append(Task(name, table.X, (table.y,)))
    if not quick:
        forest = load("covtype")
        for c in range(1, 8):
            target = (forest.y == c).astype(np.int64)
            found.append(Task(f"covtype {c}", forest.X, (target,)))
        letter = load("letter")
        targets = tuple((letter.y == c).astype(np.int64) for c in LETTERS)
        found.append(Task("letter A F K P U", letter.X, targets))
    return found


def run(*, quick: bool) -> None:
    """Measure, and return the table as Markdown."""
    n_splits = 2 if quick else 5
    scores: dict[str, dict[str, np.ndarray]] = {}
    with threadpool_limits(1):
        for task in tasks(quick):
            scores[task.name] = _measure(task, n_splits)
    for metric in METRICS:
        _emit_means(scores, metric)


def _measure(task: Task, n_splits: int) -> dict[str, np.ndarray]:
    """For each metric an array of splits by ways."""
    found = {metric: np.zeros((n_splits, len(WAYS))) for metric in METRICS}
    for split in range(n_splits):
        for target in task.targets:
            Remembered.forget()
            train, test = _rows(target, split)
            X, y = task.X[train], target[train]
            for way, labels_of in _ways(X, y, task.X[test]).items():
                for metric in METRICS:
                    score = score_of_labels(metric, target[test], labels_of(metric))
                    found[metric][split, WAYS.index(way)] += score / len(task.targets)
    for metric, values in found.items():
        for i, way in enumerate(WAYS):
            what = f"{task.name}: {metric} of {way}"
            emit_mean("scores", what, values[:, i], "test score")
    return found


def _rows(target: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Seven tenths to train on, the rest to test, each class by itself."""
    rng = np.random.default_rng(split)
    train, test = [], []
    for label in (0, 1):
        mine = rng.permutation(np.flatnonzero(target == label))
        share = mine.size / target.size
        n_train = min(round(0.7 * mine.size), round(ROWS * share))
        n_test = min(mine.size - n_train, round(ROWS * share))
        train.append(mine[:n_train])
        test.append(mine[n_train : n_train + n_test])
    return rng.permutation(np.concatenate(train)), np.concatenate(test)


def _ways(X: Any, y: np.ndarray, X_test: Any) -> dict[str, Callable[[str], np.ndarray]]:
    """How each way labels the test rows for a metric."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    dense, dense_test = (
        z.toarray() if hasattr(z, "toarray") else z for z in (X, X_test)
    )

    def labels(model: Any, X: Any = X, X_test: Any = X_test) -> np.ndarray:
        return np.asarray(model.fit(X, y).predict(X_test))

    plain = Remembered(LogisticRegression(max_iter=300))
    boosting = Remembered(HistGradientBoostingClassifier(random_state=0))
    return {
        HALF: lambda metric: labels(plain),
        TUNED: lambda metric: labels(
            am.MetricClassifier(plain, metric, calibration=None, random_state=0)
        ),
        SOFT: lambda metric: labels(
            am.MetricLogisticRegression(metric, random_state=0)
        ),
        BOOSTED: lambda metric: labels(
            am.MetricClassifier(boosting, metric, cv=3, random_state=0),
            dense,
            dense_test,
        ),
    }


def _emit_means(scores: dict[str, dict[str, np.ndarray]], metric: str) -> None:
    """Means over the tasks; the first must beat a cut at 0.5, the rest is reported."""
    means = np.array([values[metric].mean(axis=0) for values in scores.values()])
    for i, way in enumerate(WAYS[1:], 1):
        for against, other in ((0, HALF), (1, TUNED)):
            gain = means[:, i] - means[:, against]
            if i == against:
                continue
            what = f"{metric}: gain of {way} over {other}, mean over tasks"
            goal = (">=", 0.0) if way == SOFT and against == 0 else None
            won = int((gain > 0).sum())
            emit_mean("scores", what, gain, "test score", goal, tasks_won=won)
