"""Real time order: models trained and calibrated on the first rows of a set.

The first 4,000 rows train a model, the next 2,000 are its reference, and all others, at
most 40,000, come in their order in periods of 1,000. Nobody made anything move.
"""

from __future__ import annotations

import numpy as np
from harness import emit
from tabular import dense, load, new_model, positive

import argmetric as am
from monitor_parts.cases import MODELS, POOL, TRAIN
from monitor_parts.measured import Row, emit_ends, forecasts_of, share_of, tuned
from monitor_parts.verdicts import VERDICTS

SETS = ("elec2", "covtype", "spamassassin")
M, N = 2000, 1000
FEWEST = 5  # rows of a class, to train on and in a reference


def run(*, quick: bool) -> None:
    rows: list[Row] = []
    for name in SETS[-1:] if quick else SETS:
        table = load(name)
        X, y = dense(table.X[: TRAIN + M + POOL]), positive(table.y)
        for model in MODELS[:1] if quick else MODELS:
            rows += _periods(name, model, X, y[: len(X)])
    for name in (None, *SETS):
        kept = [row for row in rows if name in (None, row["set"])]
        for verdict in VERDICTS if kept else ():
            told = {"set": name or "all", "periods": len(kept)}
            emit("order", verdict, share_of(kept, verdict=verdict), "share", **told)
        emit_ends("order", kept, ("auto", "prior"), set=name or "all")


def _periods(name: str, model: str, X: np.ndarray, y: np.ndarray) -> list[Row]:
    train, known = slice(TRAIN), slice(TRAIN, TRAIN + M)
    for part in (train, known):
        if min(y[part].sum(), (~y[part]).sum()) < FEWEST:
            return []
    p = new_model(model).fit(X[train], y[train]).predict_proba(X[TRAIN:])[:, 1]
    reference, p, y = (y[known], p[:M]), p[M:], y[TRAIN + M :]
    count = p.size // N
    p, y = p[: count * N], y[: count * N].reshape(count, N)
    rule = tuned(*reference)
    labels = rule.apply(p).reshape(count, N)
    periods = am.monitor(p, rule, reference=reference, every=N).periods
    return [
        {"set": name, "actual": float(am.evaluate(*both)), **forecasts_of(one)}
        for *both, one in zip(y, labels, periods, strict=True)
    ]
