"""Coverage by kind of model and by verdict, naive Bayes and over-fitted boosting too.

References of 200 to 4,000 rows with 8 positives or more, periods of 200 to 5,000 rows;
other metrics than F1 with a reference of 700 rows and periods of 1,000. The rule is the
cut that is best for F1 on the reference. References whose scores rank backwards are
refused, and left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Target

import argmetric as am
from monitor_parts.cases import ALL_MODELS, HALVES_OF_KINDS, Pool, pools
from monitor_parts.measured import (
    Row,
    by_half,
    concatenated,
    emit_ends,
    seeded,
    tuned,
)
from monitor_parts.shifts import QUIET, SHARES, SIDES, drawn_reference, kind_of

PERIODS = {200: (200, 1000), 700: (1000,), 2000: (1000,), 4000: (5000,)}
FEWEST = 8  # positives of a reference
OTHERS, REFERENCE_OF_OTHERS = ("mcc", "balanced_accuracy", "gmean"), 700
MOVED = ("score feature 3:1", "score feature 9:1", "error feature 3:1", "score 3:1")
DRAWS = {**SHARES, **{name: SIDES[name] for name in MOVED}}
KINDS = ("quiet", "label shift", "covariate shift")
PROMISED = ("no shift", "prevalence shift")  # verdicts that carry an interval


def run(*, quick: bool, half: str | None, seed: int) -> None:
    rows: list[Row] = []
    for pool in pools(quick, half, HALVES_OF_KINDS, ALL_MODELS):
        rows += _of_pool(pool, quick, seed)
    for of_half, kept in by_half(rows):
        f1 = [row for row in kept if row["metric"] == "f1"]
        _emit(f1, half=of_half)
        for model in ALL_MODELS:
            _emit([r for r in f1 if r["model"] == model], half=of_half, model=model)
        for shift in SHARES:
            fine = [r for r in f1 if (r["shift"], r["verdict"]) == (shift, "no shift")]
            if shift != QUIET and fine:
                told = {"shift": shift, "verdict": "no shift", "half": of_half}
                emit_ends("kinds", fine, ("auto",), **told)
        for metric in OTHERS:
            part = [row for row in kept if row["metric"] == metric]
            _emit(part, half=of_half, metric=metric)


def _of_pool(pool: Pool, quick: bool, seed: int) -> Iterator[Row]:
    rng = seeded(seed, "kinds", pool.name, pool.model)
    for_reference, for_periods = pool.halved(rng)
    for m in (700,) if quick else PERIODS:
        chosen = drawn_reference(rng, pool.y, for_reference, m)
        if chosen is None or pool.y[chosen].sum() < FEWEST:
            continue
        reference = pool.y[chosen], pool.p[chosen]
        try:
            am.calibrate(*reference)
        except ValueError:
            continue
        rule = tuned(*reference)
        for n in PERIODS[m]:
            names, periods = concatenated(rng, pool, for_periods, n, DRAWS)
            if not periods:
                continue
            p = np.concatenate([pool.p[one] for one in periods])
            for metric in ("f1", *(OTHERS if m == REFERENCE_OF_OTHERS else ())):
                found = am.monitor(p, rule, metric, reference=reference, every=n)
                for name, one, x in zip(names, periods, found.periods, strict=True):
                    labels = rule.apply(pool.p[one]) == 1
                    yield {
                        **pool.about,
                        "metric": metric,
                        "shift": name,
                        "kind": kind_of(name),
                        "verdict": x.verdict,
                        "actual": float(am.evaluate(pool.y[one], labels, metric)),
                        "auto": (*x.interval, x.mean),
                    }


def _emit(rows: list[Row], **told: Any) -> None:
    """Lines by what happened, by verdict, and by both."""
    goal: Target = (">=", 0.88) if told["half"] == "show" else None
    parts: list[tuple[str | None, str | None]] = [(kind, None) for kind in KINDS]
    parts += [(None, verdict) for verdict in PROMISED]
    parts += itertools.product(KINDS, PROMISED)
    for kind, verdict in parts:
        part = [
            row
            for row in rows
            if kind in (None, row["kind"]) and verdict in (None, row["verdict"])
        ]
        if part:
            names = {"shift": kind, "verdict": verdict}
            about = told | {key: one for key, one in names.items() if one is not None}
            judged = goal if kind is None else None
            emit_ends("kinds", part, ("auto",), lambda _, goal=judged: goal, **about)
