"""Expected F1 where some positives never became rows, with `missed=` and without it.

Of the positives of real sets so many become rows, each independently; the others are
missing, in the new rows and in the reference, whose missed ones are counted. Error: the
expected less the actual F1, to which the missing ones count as missed.
"""

from __future__ import annotations

import numpy as np
from harness import emit_mean
from tabular import dense, load, new_model, positive

import argmetric as am

SETS = "a9a", "mammography", "spambase", "annthyroid"
KINDS = "logistic", "boosting"
FOUND = 0.3, 0.5, 0.7, 0.9
FITTED, REFERENCE, NEW, SPLITS = 1_000, 1_000, 1_000, 5


def run(*, quick: bool) -> None:
    for found in FOUND[:1] if quick else FOUND:
        cases = []
        for name in SETS[: 1 if quick else None]:
            table = load(name)
            X, y = dense(table.X), positive(table.y).astype(int)
            for kind in KINDS:
                for seed in range(1 if quick else SPLITS):
                    cases.append(errors_of(X, y, found, kind, seed))
        alone, own = 100.0 * np.array(cases).T
        what = f"{found:.0%} of the positives found: expected less actual F1"
        emit_mean("missed", f"{what}, rows alone", alone, "points")
        goal, name = ("<=", 2.0), f"{what}, missed=(found, missed)"
        emit_mean("missed", name, own, "points", goal)


def errors_of(
    X: np.ndarray, y: np.ndarray, found: float, kind: str, seed: int
) -> list[float]:
    """Expected less actual F1, without the missed positives and with them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[: FITTED + REFERENCE + NEW]
    kept = (y == 0) | (rng.random(len(y)) < found)  # the others are no rows
    parts = np.split(order, [FITTED, FITTED + REFERENCE])
    fit, held, new = (part[kept[part]] for part in parts)
    lost_held, lost = (
        int(y[part].sum() - y[part[kept[part]]].sum()) for part in parts[1:]
    )
    p = new_model(kind).fit(X[fit], y[fit]).predict_proba(X)[:, 1]
    reference = y[held], p[held]
    errors = []
    for missed in (None, (int(y[held].sum()), lost_held)):
        d = am.decide(p[new], "f1", reference=reference, missed=missed)
        actual = am.evaluate(y[new], d.labels, "f1", missed=lost)
        errors.append(d.forecast().mean - actual)
    return errors
