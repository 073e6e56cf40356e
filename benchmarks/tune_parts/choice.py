"""7. What `choice="one_se"` costs: test scores beside those of the best cut.

Ten sets, a logistic regression and a forest fitted on half of the rows, at most 4,000;
the cut is tuned in both ways on 500 and on 2,000 further rows or a quarter of the set;
the rest, at most 20,000, is the test. Gains are paired: the same model, the same rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, standard_error
from tabular import load
from threadpoolctl import threadpool_limits

import argmetric as am

TASKS = {
    **{"a9a": 1, "w8a": 1, "ijcnn1": 1, "spambase": 1, "mammography": 1, "celeba": 1},
    **{"covtype": 3, "letter": 10, "magic": 1, "annthyroid": 1},
}
METRICS = ("f1", "mcc", "gmean")
MODELS = ("logistic", "forest")
TRAIN, TEST_ROWS = 4_000, 20_000
TUNING = (500, 2_000)
SEEDS = 5


def run(*, quick: bool) -> None:
    names = ("spambase", "mammography") if quick else tuple(TASKS)
    seeds = 1 if quick else SEEDS
    with threadpool_limits(1):
        found = np.array([_measure(name, seeds) for name in names])
    for m, model in enumerate(MODELS):
        for r, rows in enumerate(TUNING):
            for j, metric in enumerate(METRICS):
                gain = found[:, :, m, r, j].mean(axis=1)
                emit(
                    "choice",
                    f"{metric}, {model}, {rows} rows: one_se minus best",
                    float(gain.mean()),
                    "test score",
                    standard_error=standard_error(gain),
                    sets_won=int((gain > 0).sum()),
                    sets=gain.size,
                )


def _measure(name: str, seeds: int) -> list[Any]:
    """Seeds by models by rows by metrics: the gain."""
    table = load(name)
    y = (table.y == TASKS[name]).astype(np.int64)
    return [_one_split(table.X, y, seed) for seed in range(seeds)]


def _one_split(X: Any, y: np.ndarray, seed: int) -> list[Any]:
    order = np.random.default_rng(seed).permutation(y.size)
    size = min(TRAIN, y.size // 2)
    most = min(TUNING[-1], y.size // 4)
    train, held, test = np.split(order, [size, size + most])
    test = test[:TEST_ROWS]
    found = []
    for model in _models():
        model.fit(X[train], y[train])
        p, out = (model.predict_proba(X[part])[:, 1] for part in (held, test))
        found.append(
            [_gains(y[held][:rows], p[:rows], y[test], out) for rows in TUNING]
        )
    return found


def _models() -> tuple[Any, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    return LogisticRegression(max_iter=300), forest


def _gains(
    y: np.ndarray, p: np.ndarray, y_test: np.ndarray, out: np.ndarray
) -> list[float]:
    gains = []
    for metric in METRICS:
        kind = am.get_metric(metric)
        labels = [
            np.asarray(am.tune(y, p, metric, choice=choice, cv=None).applies(out))
            for choice in ("best", "one_se")
        ]
        best, cautious = (kind.score(y_test, one) for one in labels)
        gains.append(cautious - best)
    return gains
