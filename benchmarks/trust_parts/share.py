"""The prevalence changed: what `prior="estimate"` saves, on real models.

Rows of the test are drawn without repetition so that their prevalence is a
quarter, half, once, twice and four times that of the reference; as many as there are,
1,000 at most. Cases with a share outside of (0.005, 0.9), or with fewer than 10 rows of
either class, are left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from argmetric._calibrate.resolve import resolve_reference
from trust_parts.cases import Case, over_cases

MODELS = ("logistic", "forest", "boosting", "neighbours")
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIZES = (1000, 4000)  # rows of the reference
MOST_ROWS, FEWEST_OF_A_CLASS = 1000, 10
LEAST_SHARE, LARGEST_SHARE = 0.005, 0.9
KNOWLEDGE = ("none", "estimate", "given")


def run(*, quick: bool) -> None:
    rows = over_cases(measure, quick=quick, splits=1)
    for half in ("shown on", "chosen on", "both"):
        _emit([row for row in rows if half in (row["sets"], "both")], half)


def measure(case: Case) -> list[dict[str, Any]]:
    """For every factor: whether the intervals hold."""
    if case.size not in SIZES or case.model not in MODELS:
        return []
    reference = resolve_reference((case.reference_y, case.reference_p))
    rng = np.random.default_rng(case.split)
    rows = []
    for factor in FACTORS:
        chosen = _drawn(rng, case.y, factor * float(case.reference_y.mean()))
        if chosen is not None:
            y, p = case.y[chosen], case.p[chosen]
            rows.append({"factor": factor} | _measure_one(y, p, reference))
    return rows


def _drawn(rng: np.random.Generator, y: np.ndarray, share: float) -> np.ndarray | None:
    """Rows in random order of which a given share is positive; None: too few."""
    if not LEAST_SHARE < share < LARGEST_SHARE:
        return None
    positive, negative = (rng.permutation(np.flatnonzero(y == one)) for one in (1, 0))
    n = min(MOST_ROWS, positive.size / share, negative.size / (1 - share))
    k = int(rng.binomial(math.floor(n), share))
    k = min(k, positive.size)
    rest = min(math.floor(n) - k, negative.size)
    if min(k, rest) < FEWEST_OF_A_CLASS:
        return None
    return rng.permutation(np.concatenate([positive[:k], negative[:rest]]))


def _measure_one(y: np.ndarray, p: np.ndarray, reference: Any) -> dict[str, float]:
    actual = float(y.mean())
    priors = dict(zip(KNOWLEDGE, (None, "estimate", actual), strict=True))
    row: dict[str, float] = {}
    # The labels are the same for all: only the forecast differs
    labels = am.decide(p, reference=reference).labels
    got = am.evaluate(y, labels)
    for name, prior in priors.items():
        f = am.forecast(p, labels, reference=reference, prior=prior)
        low, high = f.interval
        row[f"{name} held"] = float(low - 1e-9 <= got <= high + 1e-9)
        row[f"{name} width"] = high - low
    return row


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _emit(rows: list[dict[str, Any]], half: str) -> None:
    for name in KNOWLEDGE if rows else ():
        emit(
            "share", f"90 % interval holds, prior {name}", _mean(rows, f"{name} held"),
            "share", (">=", 0.87) if name == "estimate" else None,
            width=_mean(rows, f"{name} width"), sets=half, cases=len(rows),
        )  # fmt: skip
