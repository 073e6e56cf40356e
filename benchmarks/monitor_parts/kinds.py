"""Coverage by kind of model and by verdict, naive Bayes and over-fitted boosting too.

References of 200 to 4,000 rows with 8 positives or more, periods of 200 to 5,000 rows;
other metrics than F1 with a reference of 700 rows and periods of 1,000. The rule is the
cut that is best for F1 on the reference. References whose scores rank backwards are
refused, and left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import argmetric as am
from monitor_parts.cases import ALL_MODELS, HALVES_OF_KINDS, Pool, pools
from monitor_parts.measured import (
    Row,
    concatenated,
    emit_ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import SHARES, SIDES, draw_reference, kind_of

PERIODS = {200: (200, 1000), 700: (1000,), 2000: (1000,), 4000: (5000,)}
FEWEST = 8  # positives of a reference
OTHERS, REFERENCE_OF_OTHERS = ("mcc", "balanced_accuracy", "gmean"), 700
MOVED = ("score feature 3:1", "score feature 9:1", "error feature 3:1", "score 3:1")
DRAWS = {**SHARES, **{name: SIDES[name] for name in MOVED}}
KINDS = ("quiet", "label shift", "covariate shift")
PROMISED = ("no shift", "prevalence shift")  # verdicts that carry an interval
# By what happened, by verdict, and by both
PARTS: list[Row] = [
    *({"kind": kind} for kind in KINDS),
    *({"verdict": verdict} for verdict in PROMISED),
    *({"kind": a, "verdict": b} for a, b in itertools.product(KINDS, PROMISED)),
]


def run(*, quick: bool, half: str, seed: int) -> None:
    rows: list[Row] = []
    for pool in pools(quick, half, HALVES_OF_KINDS, ALL_MODELS):
        rows += _of_pool(pool, quick, seed)
    for about in (
        {"metric": "f1"},
        *({"metric": "f1", "model": model} for model in ALL_MODELS),
        *({"metric": metric} for metric in OTHERS),
    ):
        for part in PARTS:
            own = [row for row in rows if (about | part).items() <= row.items()]
            goal = None if "kind" in part else {"auto": (">=", 0.88)}
            emit_ends("kinds", own, ("auto",), goal, **about, **part)


def _of_pool(pool: Pool, quick: bool, seed: int) -> Iterator[Row]:
    rng = seeded(seed, "kinds", pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    for m in (700,) if quick else PERIODS:
        reference = draw_reference(rng, pool, for_reference, m, FEWEST)
        if reference is None:
            continue
        try:
            am.calibrate(*reference)
        except ValueError:
            continue
        rule = tuned(*reference)
        for n in PERIODS[m]:
            drawn, p = concatenated(rng, pool, for_periods, n, DRAWS)
            metrics = ("f1", *(OTHERS if m == REFERENCE_OF_OTHERS else ()))
            for metric in metrics if drawn else ():
                found = am.monitor(p, rule, metric, reference=reference, every=n)
                for (name, rows), x in zip(drawn.items(), found.periods, strict=True):
                    labels = rule.apply(pool.p[rows]) == 1
                    yield {
                        **pool.about,
                        "metric": metric,
                        "kind": kind_of(name),
                        "verdict": x.verdict,
                        "actual": float(am.evaluate(pool.y[rows], labels, metric)),
                        "auto": (*x.interval, x.mean),
                    }
