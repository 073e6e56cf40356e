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
    """For every factor: intervals that hold, the share, and the F1 of decisions."""
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


def _measure_one(y: np.ndarray, p: np.ndarray, reference: Any) -> dict[str, Any]:
    actual = float(y.mean())
    priors = dict(zip(KNOWLEDGE, (None, "estimate", actual), strict=True))
    decided = {
        name: am.decide(p, reference=reference, prior=prior)
        for name, prior in priors.items()
    }
    share = decided["estimate"].share
    row: dict[str, Any] = {
        "noted": float(any("scores moved" in note for note in decided["none"].notes)),
        "share error": abs(share.mean - actual),
        "share error, none": abs(float(reference.calibrator.apply(p).mean()) - actual),
        "share held": float(share.interval.low <= actual <= share.interval.high),
        "share width": share.interval.high - share.interval.low,
    }
    labels = decided["none"].labels  # the same for all: only the forecast differs
    got = am.evaluate(y, labels)
    for name, prior in priors.items():
        f = am.forecast(p, labels, reference=reference, prior=prior)
        low, high = f.interval
        row[f"{name} held"] = float(low - 1e-9 <= got <= high + 1e-9)
        row[f"{name} width"] = high - low
        row[f"{name} score"] = 100 * am.evaluate(y, decided[name].labels)
    return row


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _gain(rows: list[dict[str, Any]], name: str) -> float:
    return _mean(rows, f"{name} score") - _mean(rows, "none score")


def _emit(rows: list[dict[str, Any]], half: str) -> None:
    parts: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [({}, rows)]
    for key, values in (("factor", FACTORS), ("model", MODELS), ("size", SIZES)):
        parts += [
            ({key: value}, [row for row in rows if row[key] == value])
            for value in values
        ]
    for about, part in parts:
        if not part:
            continue
        how = {"sets": half, "cases": len(part), **about}
        for name in KNOWLEDGE:
            target = (">=", 0.87) if name == "estimate" and not about else None
            held, width = _mean(part, f"{name} held"), _mean(part, f"{name} width")
            emit(
                "share", f"90 % interval holds, prior {name}", held, "share", target,
                width=width, **how,
            )  # fmt: skip
        emit(
            "share", "share off by", _mean(part, "share error"), "share",
            without=_mean(part, "share error, none"), **how,
        )  # fmt: skip
        emit(
            "share", "90 % interval of the share holds", _mean(part, "share held"),
            "share", width=_mean(part, "share width"), **how,
        )  # fmt: skip
        emit(
            "share", "F1 gained by an estimate", _gain(part, "estimate"), "points",
            given=_gain(part, "given"), **how,
        )  # fmt: skip
        emit("share", "said that scores moved", _mean(part, "noted"), "share", **how)
