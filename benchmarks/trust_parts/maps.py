"""Maps on real models: points lost, and intervals that hold what is had."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from argmetric.metrics import get_metric
from trust_parts.cases import MODELS, SIZES, Case, over_cases

METRICS = ("f1", "mcc", "gmean")
MAPS = ("identity", "platt", "isotonic", "spline")
SAMPLES = 200


def run(*, quick: bool) -> None:
    return report(over_cases(measure, quick=quick))


def report(rows: list[dict[str, Any]]) -> str:
    """Print every figure, for both halves of the sets and for all of them."""
    for half in ("shown on", "chosen on", "both"):
        part = [row for row in rows if half in (row["sets"], "both")]
        _emit_losses(part, half)
        _emit_coverage(part, half)


def measure(case: Case, metrics: tuple[str, ...] = METRICS) -> list[dict[str, Any]]:
    """Loss of every map and of a tuned cut; the interval of the default."""
    fitted = {
        name: am.calibrate(case.reference_y, case.reference_p, name) for name in MAPS
    }
    # What a map can come to: one that has seen the labels it is judged by.
    seen = am.calibrate(case.y, case.p)
    rows = []
    for metric in metrics:
        best = _best(case, metric)
        row: dict[str, Any] = {"metric": metric, "best": best}
        for name, calibrator in fitted.items():
            d = am.decide(case.p, metric, reference=calibrator)
            got = am.evaluate(case.y, d.labels, metric)
            row[name] = 100 * (got - best)
            row[f"{name} promised"] = 100 * (d.expected - got)
        f = am.forecast(case.p, d.labels, metric, reference=fitted["spline"])
        row |= _held("interval", f.interval, got)
        row |= _held("given the map", f.interval_given_map, got)
        knowing = am.decide(case.p, metric, reference=seen)
        row["seen"] = 100 * (am.evaluate(case.y, knowing.labels, metric) - best)
        rule = am.tune(case.reference_y, case.reference_p, metric, n_bootstrap=0, cv=0)
        cut = am.evaluate(case.y, rule.apply(case.p), metric)
        row["tuned"] = 100 * (cut - best)
        row |= _held("resampled", _resampled(case, rule, metric), cut)
        rows.append(row)
    return rows


def _best(case: Case, metric: str) -> float:
    """The best cut in hindsight, on the labels of the test."""
    return float(am.tune(case.y, case.p, metric, n_bootstrap=0, cv=0).score)


def _held(name: str, interval: tuple[float, float], got: float) -> dict[str, float]:
    low, high = interval
    held = low - 1e-9 <= got <= high + 1e-9
    return {f"{name} held": float(held), f"{name} width": high - low}


def _resampled(case: Case, rule: Any, metric: str) -> tuple[float, float]:
    """The 90 % interval of the tuned cut's score on reference rows drawn again."""
    y, chosen = case.reference_y, rule.applies(case.reference_p)
    cells = np.array([(y & chosen).sum(), chosen.sum(), y.sum(), y.size])
    tp, k, t, n = cells
    shares = np.array([tp, k - tp, t - tp, n - k - t + tp]) / n
    drawn = np.random.default_rng(0).multinomial(n, shares, SAMPLES).astype(float)
    tp, fp, fn, _ = drawn.T
    values = get_metric(metric).value(tp, tp + fp, tp + fn, float(n))
    low, high = np.quantile(values, [0.05, 0.95])
    return float(low), float(high)


def _mean(rows: list[dict[str, Any]], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _emit_losses(rows: list[dict[str, Any]], half: str) -> None:
    about = {"sets": half}
    for metric in METRICS:
        part = [row for row in rows if row["metric"] == metric]
        if not part:
            continue
        about |= {"metric": metric, "cases": len(part)}
        for name in (*MAPS, "tuned", "seen"):
            target = None
            if name == "spline":
                target = (">=", -1.1) if metric == "f1" and half == "both" else None
            worst = min(row[name] for row in part)
            emit(
                "maps", f"points lost, {name}", _mean(part, name), "points", target,
                worst=worst, **about,
            )  # fmt: skip
        gain = _mean(part, "spline") - _mean(part, "tuned")
        emit("maps", "spline over tuned", gain, "points", (">=", 0.0), **about)
        for model in MODELS:
            one = [row for row in part if row["model"] == model]
            gain = _mean(one, "spline") - _mean(one, "identity")
            emit(
                "maps", "spline over none", gain, "points", (">=", -1.0),
                model=model, **about,
            )  # fmt: skip
        for size in SIZES:
            one = [row for row in part if row["size"] == size]
            lost = {name: _mean(one, name) for name in ("identity", "tuned")}
            emit(
                "maps", "points lost, spline", _mean(one, "spline"), "points",
                size=size, **about | {"cases": len(one)} | lost,
            )  # fmt: skip
        for name in MAPS:
            error = float(np.mean([abs(row[f"{name} promised"]) for row in part]))
            bias = _mean(part, f"{name} promised")
            emit("maps", f"promise off by, {name}", error, "points", bias=bias, **about)


def _emit_coverage(rows: list[dict[str, Any]], half: str) -> None:
    for metric in METRICS:
        part = [row for row in rows if row["metric"] == metric]
        if not part:
            continue
        about = {"sets": half, "metric": metric, "cases": len(part)}
        width, other = _mean(part, "interval width"), _mean(part, "resampled width")
        emit(
            "maps", "90 % interval holds", _mean(part, "interval held"), "share",
            (">=", 0.87), width=width, given_the_map=_mean(part, "given the map held"),
            **about,
        )  # fmt: skip
        emit(
            "maps", "width against resampled rows", width / other, "ratio",
            ("<=", 1.0), resampled_rows_hold=_mean(part, "resampled held"), **about,
        )  # fmt: skip
        for name, values in (("model", MODELS), ("size", SIZES)):
            for value in values:
                one = [row for row in part if row[name] == value]
                held = _mean(one, "interval held")
                emit(
                    "maps", "90 % interval holds", held, "share", (">=", 0.82),
                    **about | {"cases": len(one), name: value},
                )  # fmt: skip
