"""What is said of periods of which it is known what happened to them.

References have 1,000 rows and more, but those with few positives any number.
"""

from __future__ import annotations

from harness import Target, emit

from monitor_parts.measured import (
    CHANGED,
    FEW,
    USUAL,
    Row,
    emit_ends,
    measured,
    share_of,
)
from monitor_parts.shifts import SHARES, SIDES

LONG = "1,000 or more"  # rows of a period
VERDICTS = ("no shift", "prevalence shift", "cannot say without labels")
TARGETS: dict[tuple[str, str], Target] = {
    ("share x 4", "prevalence shift"): (">=", 0.85),
    ("score 3:1", "cannot say without labels"): (">=", 0.85),
}


def run(*, quick: bool, half: str, seed: int) -> None:
    every = measured(quick, half, seed)
    rows = [row for row in every if row["m"] >= USUAL]
    for shift in (*SHARES, *SIDES, CHANGED):
        kept = [row for row in rows if row["shift"] == shift]
        for n in (200, LONG):
            part = [row for row in kept if (row["n"] == 200) == (n == 200)]
            for verdict in VERDICTS:
                goal = TARGETS.get((shift, verdict)) if n == LONG else None
                _emit_share(part, verdict, goal, shift=shift, n=n)
    kept = [row for row in rows if row["kind"] == "covariate shift"]
    _emit_share(kept, "prevalence shift", ("<=", 0.15), shift="covariate shift")
    for verdict in VERDICTS:
        part = [row for row in kept if row["verdict"] == verdict]
        about = {"shift": "covariate shift", "verdict": verdict}
        emit_ends("verdicts", part, ("auto",), **about)
    few = [x for x in every if x["shift"] == "share x 4" and x["positives"] < FEW]
    _emit_share(few, "no shift", shift="share x 4", positives=f"below {FEW}")


def _emit_share(
    rows: list[Row], verdict: str, target: Target = None, **about: str | int
) -> None:
    if rows:
        share = share_of(rows, verdict=verdict)
        emit("verdicts", verdict, share, "share", target, **about, periods=len(rows))
