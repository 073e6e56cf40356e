"""How often the 90 % interval contains the actual F1.

Targets are for references of 1,000 rows and more. Lines by "m" and by "known", the
positives of the reference, hold those of 200 rows too.
"""

from __future__ import annotations

from harness import Target, emit

from monitor_parts.cases import MODELS
from monitor_parts.measured import (
    CHANGED,
    PERIODS,
    REFERENCES,
    USUAL,
    Row,
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
    ("share moved or not", "auto"): (">=", 0.87),
    ("share moved or not", "prior"): AROUND,
    ("share x 0.25", "auto"): (">=", 0.84),
    ("covariate shift", "auto"): (">=", 0.84),
}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    for of_half, all_rows in by_half(measured(quick, half, seed)):
        rows = [row for row in all_rows if row["m"] >= USUAL]
        parts = {
            "quiet": [QUIET],
            "share moved or not": list(SHARES),
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
        _emit_shares(rows, of_half)
        for key, values in (
            ("n", PERIODS),
            ("model", MODELS),
            ("set", dict.fromkeys(row["set"] for row in rows)),
            ("m", REFERENCES),
            ("known", dict.fromkeys(row["known"] for row in all_rows)),
        ):
            of = all_rows if key in ("m", "known") else rows
            for value in values:
                for kind in ("quiet", "label shift", "covariate shift"):
                    kept = [r for r in of if r[key] == value and r["kind"] == kind]
                    if kept:
                        told = {"shift": kind, key: value, "half": of_half}
                        emit_ends("coverage", kept, ("auto", "prior", "none"), **told)


def _emit_shares(rows: list[Row], of_half: str) -> None:
    """How often the share that rows were drawn at is in the interval of the share."""
    drawn = [r | {"actual": r["drawn share"]} for r in rows if "population" in r]
    goal: Target = AROUND if of_half == "show" else None
    told = {"of": "share of the population", "half": of_half}
    emit_ends("coverage", drawn, ("population",), lambda _: goal, **told)
    for n in PERIODS:
        kept = [row for row in drawn if row["n"] == n]
        emit_ends("coverage", kept, ("population",), **told, n=n)
