"""Expected F1 where some positives never became rows, with `missed=` and without it.

Of the positives of real sets so many become rows, each independently; the others are
missing, in the new rows and in the reference, whose missed ones are counted. Error: the
expected less the actual F1, to which the missing ones count as missed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, standard_error, unheard
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
                    cases.append(one(X, y, found, kind, seed))
        report(found, np.array(cases).T)


def report(found: float, columns: np.ndarray) -> None:
    what = f"{found:.0%} of the positives found"
    alone, own, gained, inside = 100.0 * columns
    for name, errors, target in (
        ("rows alone", alone, None),
        ("missed=(found, missed)", own, ("<=", 2.0)),
    ):
        emit(
            "missed",
            f"{what}: expected less actual F1, {name}",
            float(errors.mean()),
            "points",
            target,
            standard_error=standard_error(errors),
            cases=errors.size,
        )
    emit(
        "missed",
        f"{what}: F1 gained by labels that know of it",
        float(gained.mean()),
        "points",
        standard_error=standard_error(gained),
    )
    emit("missed", f"{what}: 90 % interval contains the F1", float(inside.mean()), "%")


def one(
    X: np.ndarray, y: np.ndarray, found: float, kind: str, seed: int
) -> tuple[float, ...]:
    """Return both errors, the F1 gained, and whether the interval holds."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[: FITTED + REFERENCE + NEW]
    kept = (y == 0) | (rng.random(len(y)) < found)  # the others are no rows
    parts = np.split(order, [FITTED, FITTED + REFERENCE])
    fit, held, new = (part[kept[part]] for part in parts)
    lost_held, lost = (
        int(y[part].sum() - y[part[kept[part]]].sum()) for part in parts[1:]
    )
    with unheard():
        p = new_model(kind).fit(X[fit], y[fit]).predict_proba(X)[:, 1]
        how: dict[str, Any] = {"reference": (y[held], p[held])}
        pair = int(y[held].sum()), lost_held
        plain = am.decide(p[new], "f1", **how)
        d = am.decide(p[new], "f1", missed=pair, **how)
        forecast = d.forecast()
    f1 = [am.evaluate(y[new], z.labels, "f1", missed=lost) for z in (plain, d)]
    low, high = forecast.interval
    return (
        plain.forecast().mean - f1[0],
        forecast.mean - f1[1],
        f1[1] - f1[0],
        float(low <= f1[1] <= high),
    )
