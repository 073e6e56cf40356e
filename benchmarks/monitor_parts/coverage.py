"""How often the 90 % interval contains the actual F1.

References have 1,000 rows and more.
"""

from __future__ import annotations

from harness import Target, emit

from monitor_parts.measured import CHANGED, USUAL, emit_ends, ends, measured
from monitor_parts.peers import BANDS
from monitor_parts.shifts import QUIET, SHARES, SIDES

METHODS = ("auto", "prior", "none", *BANDS)
AROUND: Target = ("within", 0.87, 0.93)
TARGETS: dict[str, dict[str, Target]] = {
    "quiet": {"auto": AROUND},
    "prevalence shift or not": {"auto": (">=", 0.87), "prior": AROUND},
    "share x 0.25": {"auto": (">=", 0.84)},
    "covariate shift": {"auto": (">=", 0.84)},
}
PARTS = {
    "quiet": [QUIET],
    "prevalence shift or not": list(SHARES),
    "covariate shift": list(SIDES),
    **{name: [name] for name in (*SHARES, *SIDES, CHANGED) if name != QUIET},
}


def run(*, quick: bool, half: str, seed: int) -> None:
    rows = [row for row in measured(quick, half, seed) if row["m"] >= USUAL]
    for part, names in PARTS.items():
        kept = [row for row in rows if row["shift"] in names]
        emit_ends("coverage", kept, METHODS, TARGETS.get(part), shift=part)
        if part == "quiet" and kept:
            ratio = ends(kept, "auto")["width"] / ends(kept, "none")["width"]
            what = "width of auto over none, quiet"
            emit("coverage", what, ratio, "ratio", ("<=", 1.15))
