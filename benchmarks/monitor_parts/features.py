"""Features at hand: what weights of the reference gain under covariate shift.

References of 4,000 rows and periods of 5,000, drawn by a feature; each period by
itself, with `features=` and without.
"""

from __future__ import annotations

from typing import Any

import argmetric as am
from monitor_parts.cases import features_of, pools
from monitor_parts.measured import by_half, emit_ends, seeded, tuned
from monitor_parts.shifts import QUIET, SHARES, SIDES, drawn_reference, kind_of

M, N = 4000, 5000
DRAWS = {
    QUIET: SHARES[QUIET],
    **{name: draw for name, draw in SIDES.items() if "error" in name},
    **{name: draw for name, draw in SIDES.items() if name == "score feature 9:1"},
}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        rng = seeded(seed, "features", pool.name, pool.model)
        for_reference, for_periods = pool.halved(rng)
        chosen = drawn_reference(rng, pool.y, for_reference, M)
        if chosen is None or pool.model not in ("logistic", "boosting"):
            continue
        X = features_of(pool)
        reference = pool.y[chosen], pool.p[chosen]
        rule = tuned(*reference)
        for name, draw in DRAWS.items():
            period = draw(rng, pool, for_periods, N)
            if period is None:
                continue
            p = pool.p[period]
            row = {**pool.about, "shift": name, "kind": kind_of(name)}
            row["actual"] = float(am.evaluate(pool.y[period], rule.apply(p)))
            options = {
                "auto": {},
                "auto, features": {"features": (X[chosen], X[period])},
                "none": {"shift": "none"},
            }
            for method, how in options.items():
                one = am.monitor(p, rule, reference=reference, **how).periods[0]
                row[method] = (*one.interval, one.mean)
            rows.append(row)
    for of_half, kept in by_half(rows):
        for kind in ("quiet", "covariate shift"):
            part = [row for row in kept if row["kind"] == kind]
            methods = ("auto", "auto, features", "none")
            emit_ends("features", part, methods, shift=kind, half=of_half)
        for name in DRAWS:
            part = [row for row in kept if row["shift"] == name]
            emit_ends("features", part, methods, shift=name, half=of_half)
