"""Real time order: models trained and calibrated on the first rows of a set.

The first 4,000 rows train a model, the next 2,000 are its reference, and all others, at
most 40,000, come in their order in periods of 1,000. Nobody made anything move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit
from tabular import dense, load, new_model, positive

import argmetric as am
from monitor_parts.cases import MODELS, POOL, TRAIN
from monitor_parts.measured import emit_ends, tuned
from monitor_parts.verdicts import VERDICTS

SETS = ("elec2", "covtype", "spamassassin")
M, N = 2000, 1000
FEWEST = 5  # rows of a class, to train on and in a reference


def run(*, quick: bool, half: str | None, seed: int) -> None:
    if half == "choose":
        return
    rows: list[dict[str, Any]] = []
    for name in SETS[-1:] if quick else SETS:
        table = load(name)
        X, y = dense(table.X[: TRAIN + M + POOL]), positive(table.y)
        for model in MODELS[:1] if quick else MODELS:
            rows += _periods(name, model, X, y[: len(X)])
    for name in (None, *SETS):
        kept = [row for row in rows if name in (None, row["set"])]
        if not kept:
            continue
        about = {"set": name or "all"}
        for verdict in VERDICTS:
            share = sum(row["verdict"] == verdict for row in kept) / len(kept)
            emit("order", verdict, share, "share", **about, periods=len(kept))
        emit_ends("order", kept, ("auto", "prior", "none"), **about)
        for verdict in VERDICTS:
            part = [row for row in kept if row["verdict"] == verdict]
            if part:
                emit_ends("order", part, ("auto",), **about, verdict=verdict)


def _periods(
    name: str, model: str, X: np.ndarray, y: np.ndarray
) -> list[dict[str, Any]]:
    train, known = slice(TRAIN), slice(TRAIN, TRAIN + M)
    for part in (train, known):
        if min(y[part].sum(), (~y[part]).sum()) < FEWEST:
            return []
    p = new_model(model).fit(X[train], y[train]).predict_proba(X[TRAIN:])[:, 1]
    reference, p, y = (y[known], p[:M]), p[M:], y[TRAIN + M :]
    count = p.size // N
    p, y = p[: count * N], y[: count * N]
    rule = tuned(*reference)
    auto, none = (
        am.monitor(p, rule, reference=reference, every=N, shift=shift).periods
        for shift in ("auto", "none")
    )
    actual = [
        float(am.evaluate(*both))
        for both in zip(
            y.reshape(count, N), rule.apply(p).reshape(count, N), strict=True
        )
    ]
    return [
        {
            "set": name,
            "model": model,
            "actual": score,
            "verdict": one.verdict,
            "auto": (*one.interval, one.mean),
            "prior": (*one.if_prevalence_shift_interval, one.if_prevalence_shift),
            "none": (*other.interval, other.mean),
        }
        for score, one, other in zip(actual, auto, none, strict=True)
    ]
