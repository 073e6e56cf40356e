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
from harness import emit, mean_of

import argmetric as am
from argmetric._calibrate.resolve import resolve_reference
from trust_parts.cases import Case, by_half, over_cases

MODELS = ("logistic", "forest", "boosting", "neighbours")
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SIZES = (1000, 4000)  # rows of the reference
MOST_ROWS, FEWEST_OF_A_CLASS = 1000, 10
LEAST_SHARE, LARGEST_SHARE = 0.005, 0.9


def run(*, quick: bool) -> None:
    rows = over_cases(measure, quick=quick, splits=1)
    for half, part in by_half(rows):
        for name in ("none", "estimate", "given"):
            share, what = mean_of(part, name), f"90 % interval holds, prior {name}"
            goal = (">=", 0.87) if name == "estimate" else None
            told = {"sets": half, "cases": len(part)}
            emit("share", what, share, "share", goal, **told)


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
            rows.append(_measure_one(case.y[chosen], case.p[chosen], reference))
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


def _measure_one(y: np.ndarray, p: np.ndarray, reference: Any) -> dict[str, bool]:
    # The labels are the same for all: only the forecast differs
    labels = am.decide(p, reference=reference).labels
    actual, row = am.evaluate(y, labels), {}
    priors = {"none": None, "estimate": "estimate", "given": float(y.mean())}
    for name, prior in priors.items():
        low, high = am.forecast(p, labels, reference=reference, prior=prior).interval
        row[name] = bool(low - 1e-9 <= actual <= high + 1e-9)
    return row
