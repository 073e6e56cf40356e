"""The default with a reference: which end of the interval is missed, and what it gains.

A row is a case in one metric: F1, MCC or G-mean of labels that `decide` finds through
the default map, the same with the scores as they stand, and the 90 % interval of the
forecast.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from harness import emit, groups_of, mean_of

import argmetric as am
from trust_parts.cases import Case, by_half, over_cases

METRICS = ("f1", "mcc", "gmean")
FEW_POSITIVES = 20
LOST = 3.0  # points of a score
Row = dict[str, Any]


def run(*, quick: bool) -> None:
    rows = over_cases(measure, quick=quick)
    for half, part in by_half(rows):
        few = [row for row in part if row["positives"] <= FEW_POSITIVES]
        hard = {"positives": f"{FEW_POSITIVES} or fewer"}, few
        for about, some in chain(groups_of(part, "model", "size"), [hard]):
            _emit(some, sets=half, intervals=len(some), **about)


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


def _emit(rows: list[Row], **about: Any) -> None:
    if not rows:
        return
    below, above = mean_of(rows, "below"), mean_of(rows, "above")
    whole = not about.keys() & {"model", "size"}
    emit(
        "ends", "90 % interval holds", 1 - below - above, "share",
        (">=", 0.9) if whole else None, width=mean_of(rows, "width"), **about,
    )  # fmt: skip
    for end, share in (("below", below), ("above", above)):
        what = f"actual score {end} the interval"
        emit("ends", what, share, "share", ("<=", 0.07), **about)
    gains = np.array([row["gain"] for row in rows if row["metric"] == "f1"])
    lost = {"lose_more_than_3": float((gains < -LOST).mean())}
    what, aim = "F1 gained by the reference", (">=", 0.0)
    emit("ends", what, float(gains.mean()), "points", aim, **lost, **about)
