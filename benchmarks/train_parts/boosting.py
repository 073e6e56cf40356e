"""5. `metric_objective` in LightGBM against the log-loss with a tuned cut.

Half of the rows to train on, at most 8,000; validation rows, half as many, stop the
boosting early and tune the cut; the rest, at most 20,000, is the test. The log-loss
stops by its own validation value, the objectives by their `eval`, the metric at 0. All
else is the same: rate 0.1, 15 leaves, at most 400 rounds, 50 rounds of patience, one
thread. The default objective was chosen on other sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit, emit_mean, standard_error
from tabular import load

import argmetric as am
from argmetric._ground.odds import expit

TASKS = (  # none of their sets was used for a choice
    *(("w8a", 1), ("ijcnn1", 1), ("celeba", 1), ("annthyroid", 1), ("bio_kdd04", 1)),
    *(("elec2", 1), ("scene", 1), ("reuters_tick", 1), ("optdigits", 8)),
)
METRICS = ("f1", "mcc", "gmean", "jaccard")
ROWS, TEST_ROWS = 8_000, 20_000
ROUNDS, PATIENCE, SEEDS = 400, 50, 3
HALF, TUNED, SOFT, WEIGHTED, WEIGHTED_TUNED = WAYS = (
    "log-loss, cut at 0.5",
    "log-loss, tuned cut",
    "soft, cut at 0",
    "weighted, cut at 0",
    "weighted, tuned cut",
)
SETTINGS = {
    "learning_rate": 0.1,
    "num_leaves": 15,
    "num_threads": 1,
    "verbose": -1,
    "seed": 0,
}
LEAST_GAIN = -0.005  # a tie: about the standard error over nine tasks
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]
Margins = tuple[np.ndarray, np.ndarray]


def run(*, quick: bool) -> None:
    """Measure, and return the table as Markdown."""
    seeds = 1 if quick else SEEDS
    tasks = TASKS[-1:] if quick else TASKS
    _emit_means([_measure(name, label, seeds) for name, label in tasks])


def _measure(name: str, label: int, seeds: int) -> dict[str, np.ndarray]:
    """For each metric an array of seeds by ways."""
    table = load(name)
    y = (table.y == label).astype(np.int64)
    found = {metric: np.zeros((seeds, len(WAYS))) for metric in METRICS}
    for seed in range(seeds):
        parts = _split(y, seed)
        plain = _boosted(table.X, y, parts, "binary", None)
        for metric in METRICS:
            found[metric][seed] = _ways(table.X, y, parts, metric, plain)
    for metric, values in found.items():
        for i, way in enumerate(WAYS):
            what = f"{name} {label}: {metric} of {way}"
            emit_mean("boosting", what, values[:, i], "test score")
    return found


def _split(y: np.ndarray, seed: int) -> Parts:
    order = np.random.default_rng(seed).permutation(y.size)
    n = min(ROWS, y.size // 2)
    valid = min(ROWS // 2, y.size // 4)
    return order[:n], order[n : n + valid], order[n + valid :][:TEST_ROWS]


def _ways(
    X: Any, y: np.ndarray, parts: Parts, metric: str, plain: Margins
) -> list[float]:
    """Test scores in the order of WAYS."""
    _, valid, test = parts
    kind = am.get_metric(metric)

    def at_zero(margins: Margins) -> float:
        return kind.score(y[test], margins[1] > 0)

    def tuned(margins: Margins) -> float:
        held, out = (expit(z) for z in margins)
        rule = am.tune(y[valid], held, metric, n_bootstrap=0, cv=None)
        return kind.score(y[test], rule.applies(out))

    def trained(kind_of: Any) -> Margins:
        goal = am.metric_objective(metric, objective=kind_of)
        return _boosted(X, y, parts, goal, goal.eval)

    weighted = trained("weighted")
    return [
        at_zero(plain),
        tuned(plain),
        at_zero(trained("soft")),
        at_zero(weighted),
        tuned(weighted),
    ]


def _boosted(
    X: Any,
    y: np.ndarray,
    parts: Parts,
    objective: Any,
    judge: Callable[..., Any] | None,
) -> Margins:
    """Margins of validation and test rows at the best round; no judge: by log-loss."""
    import lightgbm

    train, valid, _ = parts
    data = lightgbm.Dataset(X[train], y[train].astype(np.float64))
    held = lightgbm.Dataset(X[valid], y[valid].astype(np.float64), reference=data)
    named = "binary_logloss" if judge is None else "None"
    booster = lightgbm.train(
        {**SETTINGS, "objective": objective, "metric": named},
        data,
        ROUNDS,
        valid_sets=[held],
        feval=judge,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    held_z, test_z = (booster.predict(X[part], raw_score=True) for part in parts[1:])
    return np.asarray(held_z), np.asarray(test_z)


def _emit_means(scores: list[dict[str, np.ndarray]]) -> None:
    """Gains over the log-loss with a tuned cut: no loss is asked for, not a win."""
    gains = np.array([[one[m].mean(axis=0) for m in METRICS] for one in scores])
    gains -= gains[:, :, [WAYS.index(TUNED)]]
    for i, way in enumerate(WAYS):
        each, what = gains[:, :, i], f"gain of {way} over {TUNED}"
        goal = (">=", LEAST_GAIN) if way in (WEIGHTED, WEIGHTED_TUNED) else None
        error = standard_error(each.mean(axis=1))
        told = {"median": float(np.median(each)), "standard_error": error}
        emit("boosting", what, float(each.mean()), "test score", goal, **told)
        for metric, of in zip(METRICS, each.T, strict=True):
            won = int((of > 0).sum())
            emit_mean("boosting", f"{metric}: {what}", of, "test score", won=won)
