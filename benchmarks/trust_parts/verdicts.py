"""What `calibration_check` says of a reference, and what comes true on new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit, emit_mean, mean_of

import argmetric as am
from trust_parts.cases import Case, by_half, over_cases

ROUTES = ("recalibrate", "decide", "tune", "half")
SPLITS = 1  # of the five, to keep the run short
GROUP = 20  # rows of a group, where rows are grouped


def run(*, quick: bool) -> None:
    rows = over_cases(measure, quick=quick, splits=SPLITS)
    for kind in ("one vector", "MCC", "groups, 0/0 = 0", "groups, 0/0 = 1"):
        for half, part in by_half(rows, kind=kind):
            if kind == "one vector":
                _emit_forecasts(part, half)
            for name in ROUTES:
                gains = [row["auto"] - row[name] for row in part]
                what, told = f"the measured route over '{name}'", {"sets": half}
                emit_mean("verdicts", what, gains, "points", kind=kind, **told)


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
        row["off by"] = 100 * abs(f.mean - score["recalibrate"])
    return row


def _emit_forecasts(rows: list[dict[str, Any]], half: str) -> None:
    told: dict[str, Any] = {"sets": half, "cases": len(rows)}
    held, goal = mean_of(rows, "recalibrate held"), (">=", 0.85)
    emit("verdicts", "recalibrated forecasts hold", held, "share", goal, **told)
    error, off_by = (mean_of(rows, x) for x in ("expected error", "off by"))
    what, actual = "expected error of recalibrated forecasts", {"actual_error": off_by}
    emit("verdicts", what, error, "points", **told, **actual)
    for verdict in ("yes", "no", "too few rows to say"):
        gains = [x["auto"] - x["decide"] for x in rows if x["fit to decide"] == verdict]
        if gains:
            what = f"the advised route gains, called '{verdict}' to decide"
            emit_mean("verdicts", what, gains, "points", sets=half)
    pairs = np.array([(abs(row["gap"]), row["decide off by"]) for row in rows])
    ranks = np.argsort(np.argsort(pairs, axis=0), axis=0)
    what = "rank correlation of the gap and the error on new rows"
    rank = float(np.corrcoef(ranks.T)[0, 1])
    emit("verdicts", what, rank, "correlation", **told)
