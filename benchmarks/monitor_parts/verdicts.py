"""What is said of periods of which it is known what happened to them.

Targets are for references of 1,000 rows and more. Lines by "known", the positives of
the reference, hold those of 200 rows too.
"""

from __future__ import annotations

from typing import Any

from harness import Target, emit

from monitor_parts.measured import CHANGED, PERIODS, USUAL, by_half, emit_ends, measured
from monitor_parts.shifts import QUIET, SHARES, SIDES

LONG = "1,000 or more"  # rows of a period
VERDICTS = ("no shift", "prevalence shift", "cannot say without labels")


def run(*, quick: bool, half: str | None, seed: int) -> None:
    for of_half, all_rows in by_half(measured(quick, half, seed)):
        rows = [row for row in all_rows if row["m"] >= USUAL]
        shown = of_half == "show"
        for shift in (*SHARES, *SIDES, CHANGED):
            for n in (*PERIODS, LONG):
                kept = [r for r in rows if r["shift"] == shift and _has_size(r, n)]
                goals = _targets(shift, n) if shown else {}
                for what, value in (_parts(kept) if kept else {}).items():
                    told = {"shift": shift, "n": n, "half": of_half}
                    goal = goals.get(what)
                    emit(
                        "verdicts",
                        what,
                        value,
                        "share",
                        goal,
                        **told,
                        periods=len(kept),
                    )
        covariate = [row for row in rows if row["kind"] == "covariate shift"]
        if covariate:
            value = _parts(covariate)["prevalence shift"]
            goal: Target = ("<=", 0.15) if shown else None
            told = {"shift": "covariate shift", "half": of_half}
            emit("verdicts", "prevalence shift", value, "share", goal, **told)
        for known in dict.fromkeys(row["known"] for row in all_rows):
            for shift in (QUIET, "share x 4", "score 3:1"):
                kept = [
                    r for r in all_rows if (r["shift"], r["known"]) == (shift, known)
                ]
                for what, value in (_parts(kept) if kept else {}).items():
                    told = {"shift": shift, "known": known, "half": of_half}
                    emit("verdicts", what, value, "share", **told, periods=len(kept))
        for kind in ("quiet", "label shift", "covariate shift", CHANGED):
            for verdict in VERDICTS:
                kept = [
                    r for r in rows if r["kind"] == kind and r["verdict"] == verdict
                ]
                if kept:
                    told = {"shift": kind, "verdict": verdict, "half": of_half}
                    emit_ends("verdicts", kept, ("auto", "none"), **told)


def _parts(rows: list[dict[str, Any]]) -> dict[str, float]:
    found = {
        verdict: sum(row["verdict"] == verdict for row in rows) / len(rows)
        for verdict in VERDICTS
    }
    return found | {"moved": 1 - found["no shift"]}


def _has_size(row: dict[str, Any], n: int | str) -> bool:
    return bool(row["n"] >= 1000 if n == LONG else row["n"] == n)


def _targets(shift: str, n: int | str) -> dict[str, Target]:
    if shift == QUIET and n in (200, LONG):
        return {"moved": ("<=", 0.02 if n == LONG else 0.05)}
    if shift == "share x 4" and n == LONG:
        return {"prevalence shift": (">=", 0.85)}
    if shift == "score 3:1" and n == LONG:
        return {"cannot say without labels": (">=", 0.85)}
    return {}
