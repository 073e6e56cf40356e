"""Other metrics than F1: how often the actual score lies below and above the interval.

The rule is always the cut that is best for F1 on the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import argmetric as am
from monitor_parts.cases import pools
from monitor_parts.measured import by_half, concatenated, emit_ends, seeded, tuned
from monitor_parts.shifts import SHARES, SIDES, drawn_reference, kind_of

METRICS = ("f1", "f0.5", "mcc", "gmean", "precision", "recall")
M, N = 1000, 1000
DRAWS = {
    name: draw
    for name, draw in {**SHARES, **SIDES}.items()
    if name in SHARES or name.endswith("3:1")
}


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[dict[str, Any]] = []
    for pool in pools(quick, half):
        rng = seeded(seed, "metrics", pool.name, pool.model)
        for_reference, for_periods = pool.halved(rng)
        chosen = drawn_reference(rng, pool.y, for_reference, M)
        if chosen is None or not pool.y[chosen].any():
            continue
        reference = pool.y[chosen], pool.p[chosen]
        cut = tuned(*reference).threshold
        names, periods = concatenated(rng, pool, for_periods, N, DRAWS)
        p = np.concatenate([pool.p[one] for one in periods])
        for metric in METRICS:
            found = am.monitor(p, cut, metric, reference=reference, every=N).periods
            for name, one, x in zip(names, periods, found, strict=True):
                actual = am.evaluate(pool.y[one], pool.p[one] >= cut, metric)
                rows.append(
                    {
                        **pool.about,
                        "metric": metric,
                        "kind": kind_of(name),
                        "actual": float(actual),
                        "auto": (*x.interval, x.mean),
                        "prior": (*x.if_share_interval, x.if_share),
                    }
                )
    for of_half, kept in by_half(rows):
        for metric in METRICS:
            for kind in ("quiet", "label shift", "covariate shift"):
                part = [r for r in kept if (r["metric"], r["kind"]) == (metric, kind)]
                told = {"metric": metric, "shift": kind, "half": of_half}
                if part:
                    emit_ends("metrics", part, ("auto", "prior"), **told)
