"""What `calibration_check` says of a reference, and what comes true on new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from trust_parts.cases import Case, over_cases

ROUTES = ("recalibrate", "decide", "tune", "half")
SPLITS = 1  # of the five, to keep the run short
GROUP = 20  # rows of a group, where rows are grouped


def run(*, quick: bool) -> str:
    rows = over_cases(measure, quick=quick, splits=SPLITS)
    for half in ("shown on", "chosen on", "both"):
        part = [row for row in rows if half in (row["sets"], "both")]
        _emit_forecasts([row for row in part if row["kind"] == "one vector"], half)
        for kind in ("one vector", "MCC", "groups, 0/0 = 0", "groups, 0/0 = 1"):
            _emit_routes([row for row in part if row["kind"] == kind], half, kind)
    return ""


def measure(case: Case) -> list[dict[str, Any]]:
    """Verdicts and routes of the reference, and all routes on the test."""
    rows = [_row(case, "one vector", {}, {}), _row(case, "MCC", {}, {}, "mcc")]
    if case.size >= 1000:
        for zero in (0.0, 1.0):
            options = {"zero_division": zero}
            groups = {"groups": np.arange(case.reference_y.size) // GROUP}
            there = {"groups": np.arange(case.y.size) // GROUP, "average": "groups"}
            kind = f"groups, 0/0 = {zero:g}"
            rows.append(_row(case, kind, options | groups, options | there))
    return rows


def _row(
    case: Case,
    kind: str,
    here: dict[str, Any],
    there: dict[str, Any],
    metric: str = "f1",
) -> dict[str, Any]:
    known, p = case.reference_y, case.reference_p
    check = am.calibration_check(known, p, metric, **here)
    rule = am.tune(known, p, metric, n_bootstrap=0, cv=0, **here)
    decided = am.decide(case.p, metric, **there)
    calibrator = am.calibrate(known, p)
    mended = am.decide(case.p, metric, reference=calibrator, **there)
    labels = {
        "recalibrate": mended.labels,
        "decide": decided.labels,
        "tune": rule.apply(case.p),
        "half": (case.p >= 0.5).astype(int),
    }
    score = {
        name: am.evaluate(case.y, one, metric, **there) for name, one in labels.items()
    }
    row: dict[str, Any] = {"kind": kind, "route": check.route}
    row |= {name: 100 * value for name, value in score.items()}
    row["auto"] = row[check.route]
    row["fit to decide"] = check.fit_to_decide
    if kind == "one vector":
        row["gap"] = 100 * check.gap
        row["expected error"] = 100 * check.forecast_error
        plain = am.forecast(case.p, decided.labels, "f1")
        row["decide off by"] = 100 * abs(plain.mean - score["decide"])
        f = am.forecast(case.p, mended.labels, "f1", reference=calibrator)
        row["recalibrate held"] = float(f.surprise(score["recalibrate"]) is None)
        row["recalibrate off by"] = 100 * abs(f.mean - score["recalibrate"])
    return row


def _emit_forecasts(rows: list[dict[str, Any]], half: str) -> None:
    if not rows:
        return
    emit(
        "verdicts", "recalibrated forecasts hold",
        float(np.mean([row["recalibrate held"] for row in rows])), "share",
        (">=", 0.85), sets=half, cases=len(rows),
    )  # fmt: skip
    off_by = float(np.mean([row["recalibrate off by"] for row in rows]))
    emit(
        "verdicts", "expected error of recalibrated forecasts",
        float(np.mean([row["expected error"] for row in rows])), "points",
        sets=half, cases=len(rows), actual_error=off_by,
    )  # fmt: skip
    for verdict in ("yes", "no", "too few rows to say"):
        part = [row for row in rows if row["fit to decide"] == verdict]
        if part:
            gain = [row["auto"] - row["decide"] for row in part]
            emit(
                "verdicts", f"the advised route gains, called '{verdict}' to decide",
                float(np.mean(gain)), "points", sets=half, cases=len(part),
            )  # fmt: skip
    gap = [abs(row["gap"]) for row in rows]
    error = [row["decide off by"] for row in rows]
    rank = float(np.corrcoef(_ranks(gap), _ranks(error))[0, 1])
    emit(
        "verdicts", "rank correlation of the gap and the error on new rows", rank,
        "correlation", sets=half, cases=len(rows),
    )  # fmt: skip


def _ranks(values: list[float]) -> np.ndarray:
    return np.argsort(np.argsort(values))


def _emit_routes(rows: list[dict[str, Any]], half: str, kind: str) -> None:
    if not rows:
        return
    base = float(np.mean([row["auto"] for row in rows]))
    taken = {name: sum(row["route"] == name for row in rows) for name in ROUTES}
    for name in ROUTES:
        gain = np.array([row["auto"] - row[name] for row in rows])
        error = float(gain.std() / np.sqrt(gain.size))
        emit(
            "verdicts", f"the measured route over '{name}'", float(gain.mean()),
            "points", kind=kind, sets=half, cases=len(rows),
            error=error, taken=taken[name], score=base,
        )  # fmt: skip
