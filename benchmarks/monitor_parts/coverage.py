"""How often the 90 % interval contains the actual F1.

Targets are for references of 1,000 rows and more. Lines by "m" and by "known", the
positives of the reference, hold those of 200 rows too.
"""

from __future__ import annotations

from harness import Target, emit

from monitor_parts.measured import (
    CHANGED,
    USUAL,
    by_half,
    emit_ends,
    ends,
    measured,
)
from monitor_parts.peers import BANDS
from monitor_parts.shifts import QUIET, SHARES, SIDES

METHODS = ("auto", "prior", "none", *BANDS, "NannyML")
AROUND: Target = ("within", 0.87, 0.93)
TARGETS: dict[tuple[str, str], Target] = {
    ("quiet", "auto"): AROUND,
    ("prevalence shift or not", "auto"): (">=", 0.87),
    ("prevalence shift or not", "prior"): AROUND,
    ("share x 0.25", "auto"): (">=", 0.84),
    ("covariate shift", "auto"): (">=", 0.84),
}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    for of_half, all_rows in by_half(measured(quick, half, seed)):
        rows = [row for row in all_rows if row["m"] >= USUAL]
        parts = {
            "quiet": [QUIET],
            "prevalence shift or not": list(SHARES),
            "covariate shift": list(SIDES),
            **{name: [name] for name in (*SHARES, *SIDES, CHANGED) if name != QUIET},
        }
        for part, names in parts.items():
            kept = [row for row in rows if row["shift"] in names]
            shown = of_half == "show"

            def target(method: str, part: str = part, shown: bool = shown) -> Target:
                return TARGETS.get((part, method)) if shown else None

            if kept:
                emit_ends("coverage", kept, METHODS, target, shift=part, half=of_half)
        quiet = [row for row in rows if row["kind"] == "quiet"]
        if quiet:
            ratio = ends(quiet, "auto")["width"] / ends(quiet, "none")["width"]
            goal: Target = ("<=", 1.15) if of_half == "show" else None
            what = "width of auto over none, quiet"
            emit("coverage", what, ratio, "ratio", goal, half=of_half)
