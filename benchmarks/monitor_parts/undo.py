"""Models trained on a sample of the negatives, or with weights: what undoing leaves.

For every model the mean probability over the share of positives, and the log-loss
beyond that of a model that was trained on all rows without weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit
from tabular import load
from trust_parts.cases import dense, new_model, positive

import argmetric as am
from monitor_parts.cases import HALVES
from monitor_parts.measured import seeded

SETS = ("a9a", "ijcnn1", "magic", "elec2", "covtype", "w8a")
MODELS = ("logistic", "forest", "boosting")
TRAIN, TEST = 12_000, 20_000
RATES, WEIGHTS = (0.1, 0.3), (5.0, None)  # None: balanced
SMALLEST = 1e-4  # probability, as a forest of 100 trees says 0 and is wrong


def run(*, quick: bool, half: str | None, seed: int) -> None:
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    used = [s for s in SETS if half is None or s in HALVES[half]]
    for name in used[:1] if quick else used:
        table = load(name)
        rng = seeded(seed, "undo", name)
        rows = rng.permutation(table.y.size)[: TRAIN + TEST]
        X, y = dense(table.X[rows]), positive(table.y)[rows]
        n = 1000 if quick else min(TRAIN, rows.size // 2)
        for model in MODELS:
            for key, line in _of_model(rng, model, X, y, n).items():
                found.setdefault((model, *key), []).append(line)
    for (model, treated, state), lines in found.items():
        ratio, excess = np.mean(lines, axis=0)
        told = {"model": model, "training": treated, "scores": state}
        told["sets"] = len(lines)
        emit("undo", "mean p over the share", ratio, "ratio", **told)
        emit("undo", "log-loss beyond a model of all rows", excess, "nats", **told)


def _of_model(
    rng: np.random.Generator, model: str, X: np.ndarray, y: np.ndarray, n: int
) -> dict[tuple[str, str], tuple[float, float]]:
    train, test = slice(0, n), slice(n, None)

    def scores(rows: Any, weight: float = 1.0) -> np.ndarray:
        fitted = new_model(model)
        fitted.fit(X[rows], y[rows], sample_weight=np.where(y[rows], weight, 1.0))
        return np.asarray(fitted.predict_proba(X[test])[:, 1])

    def loss(p: np.ndarray) -> float:
        p = np.clip(p, SMALLEST, 1 - SMALLEST)
        return float(-np.log(np.where(y[test], p, 1 - p)).mean())

    usual = loss(scores(train))
    found = {}

    def add(
        treated: str, p: np.ndarray, undone: Callable[..., Any], **how: Any
    ) -> None:
        for state, one in (("raw", p), ("undone", undone(p, **how))):
            ratio = float(one.mean() / y[test].mean())
            found[treated, state] = (ratio, loss(one) - usual)

    for rate in RATES:
        kept = np.flatnonzero(y[train] | (rng.random(n) < rate))
        add(f"negatives, {rate:g} kept", scores(kept), am.undo_sampling, rate=rate)
    for weight in WEIGHTS:
        ratio = weight or float((~y[train]).sum() / y[train].sum())
        name = f"positives, weight {weight:g}" if weight else "balanced weights"
        add(name, scores(train, ratio), am.undo_weights, ratio=ratio)
    return found
