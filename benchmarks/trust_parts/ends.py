"""The default with a reference: which end of the interval is missed, and what it gains.

A row is a case in one metric: F1, MCC or G-mean of labels that `decide` finds through
the default map, the same with the scores as they stand, and the 90 % interval of the
forecast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from trust_parts.cases import MODELS, SIZES, Case, over_cases

METRICS = ("f1", "mcc", "gmean")
FEW_POSITIVES = 20
LOST = 3.0  # points of a score
Row = dict[str, Any]


def run(*, quick: bool) -> None:
    rows = over_cases(measure, quick=quick)
    for half in ("shown on", "chosen on", "both"):
        part = [row for row in rows if half in (row["sets"], "both")]
        for name, one in _parts(part).items():
            _emit(name, one, half)


def measure(case: Case) -> list[Row]:
    calibrator = am.calibrate(case.reference_y, case.reference_p)
    rows = []
    for metric in METRICS:
        plain = am.decide(case.p, metric)
        decided = am.decide(case.p, metric, reference=calibrator)
        score = am.evaluate(case.y, decided.labels, metric)
        low, high = decided.forecast().interval
        rows.append(
            {
                "metric": metric,
                "positives": int(case.reference_y.sum()),
                "below": float(score < low - 1e-9),
                "above": float(score > high + 1e-9),
                "width": high - low,
                "gain": 100 * (score - am.evaluate(case.y, plain.labels, metric)),
            }
        )
    return rows


def _parts(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by kind of model, by size of the reference, and the hard ones."""
    kinds: dict[str, Callable[[Row], bool]] = {"all": lambda row: True}
    kinds |= {name: lambda row, name=name: row["model"] == name for name in MODELS}
    kinds |= {
        f"{size:,} rows": lambda row, size=size: row["size"] == size for size in SIZES
    }
    kinds[f"{FEW_POSITIVES} positives or fewer"] = lambda row: (
        row["positives"] <= FEW_POSITIVES
    )
    return {name: [row for row in rows if of(row)] for name, of in kinds.items()}


def _mean(rows: list[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _emit(name: str, rows: list[Row], half: str) -> None:
    if not rows:
        return
    about = {"of": name, "sets": half, "intervals": len(rows)}
    below, above = _mean(rows, "below"), _mean(rows, "above")
    aim = (">=", 0.9) if name == "all" or "positives" in name else None
    emit(
        "ends", "90 % interval holds", 1 - below - above, "share", aim,
        width=_mean(rows, "width"), **about,
    )  # fmt: skip
    emit(
        "ends", "actual score below the interval", below, "share", ("<=", 0.07), **about
    )
    emit(
        "ends", "actual score above the interval", above, "share", ("<=", 0.07), **about
    )
    gains = np.array([row["gain"] for row in rows if row["metric"] == "f1"])
    if gains.size:
        emit(
            "ends", "F1 gained by the reference", float(gains.mean()), "points",
            (">=", 0.0), lose_more_than_3=float((gains < -LOST).mean()),
            **about,
        )  # fmt: skip
