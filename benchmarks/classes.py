"""Measure `decide` and `forecast` where every row has one of several classes.

    python benchmarks/classes.py                  # everything, about twenty minutes
    python benchmarks/classes.py decide speed     # some sections
    python benchmarks/classes.py --quick          # a smoke run: figures mean nothing

Every line is one JSON object: what was measured, the value, the target and whether it
was met. Points are 100 times the metric. `decide` and `forecast` run on sets, as they
are and thinned to rare classes; the one called generated is not real. Choices were made
on other sets. The sets are those of `classes_parts/cases.py`; all but digits and
generated need the data folder. xCOLUMNs is compared where it is installed.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from classes_parts.cases import TRAIN, Setting, fitted_models, settings
from classes_parts.coverage import coverage
from harness import emit, groups_of, mean_of, run_sections, wall_seconds

import argmetric as am

TARGETS: dict[str, dict[str, tuple[str, float]]] = {
    "decided minus tuned weights": {"rows": (">=", 1.5), "model": (">=", 0.0)},
    "inside the interval": {
        "all": (">=", 0.9),
        "rows": (">=", 0.87),
        "model": (">=", 0.87),
    },
}
CONVENTIONS = {"0/0 = 0": 0.0, "0/0 = 1": 1.0, "left out": math.nan}


def macro_f1(y: np.ndarray, z: Any, count: int, absent: float) -> float:
    """Points by scikit-learn; its default leaves out classes that are absent."""
    from sklearn.metrics import f1_score

    labels = None if math.isnan(absent) else range(count)
    return 100 * float(
        f1_score(y, z, average="macro", labels=labels, zero_division=absent)
    )


def about(s: Setting) -> dict[str, Any]:
    return {"rows": s.rows, "model": s.case.model, "reference": s.m}


def emit_groups(
    section: str, what: str, rows: list[dict[str, Any]], unit: str, **told: Any
) -> None:
    """Means over all settings, and by rows, model and reference."""
    for by, some in groups_of(rows, "rows", "model", "reference"):
        target = TARGETS.get(what, {}).get(next(iter(by), "all"))
        cases = {"cases": len(some), **by, **told}
        emit(section, what, mean_of(some, "value"), unit, target, **cases)


@cache
def xcolumns() -> Any:
    """The other tool's search for macro-F1, or None where it is not installed."""
    try:
        from xcolumns import block_coordinate as found
    except ImportError as error:
        emit("decide", "xCOLUMNs", None, "is missing", why=str(error))
        return None
    return found.predict_optimizing_macro_f1_score_using_bc


def by_xcolumns(s: Setting) -> Any:
    """Labels of xCOLUMNs on the recalibrated P: it counts absent classes 0."""
    search = xcolumns()
    if search is None or s.y.size > 1000:  # a row takes it about a millisecond
        return None
    found = search(s.calibrator.apply(s.P), k=1)
    return np.asarray(found[0] if isinstance(found, tuple) else found).argmax(axis=1)


def decide(*, quick: bool) -> None:
    """2. Macro-F1 on real sets: most probable, P over shares, tuned, decided."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for s in settings(quick, tune=True):
        shares = np.bincount(s.case.reference[0][: s.m], minlength=s.case.count) + 0.5
        for name, absent in CONVENTIONS.items():
            how = {"classes": range(s.case.count), "zero_division": absent}
            decision = am.classes.decide(s.P, "f1", reference=s.calibrator, **how)
            answers = {
                "most probable": s.P.argmax(axis=1),
                "P over shares": (s.P / shares).argmax(axis=1),
                "tuned weights": s.tuned.apply(s.P),
                "decided": decision.labels,
            }
            other = by_xcolumns(s) if name == "0/0 = 0" else None
            if other is not None:
                answers["xCOLUMNs, k = 1"] = other
            points = {
                answer: macro_f1(s.y, z, s.case.count, absent)
                for answer, z in answers.items()
            }
            for answer, value in points.items():
                gain = points["decided"] - value
                row = {**about(s), "points": value, "value": gain}
                rows.setdefault((name, answer), []).append(row)
    for (name, answer), some in rows.items():
        told, mean = {"convention": name}, mean_of(some, "points")
        emit("decide", answer, mean, "points of macro-F1", **told, cases=len(some))
        if answer != "decided":
            emit_groups("decide", f"decided minus {answer}", some, "points", **told)


def forecast(*, quick: bool) -> None:
    """3. How often the 90 % interval contains the actual score."""
    rows = []
    for s in settings(quick, tune=False):
        how = {"classes": range(s.case.count)}
        d = am.classes.decide(s.P, "f1", reference=s.calibrator, **how)
        actual = float(am.classes.evaluate(s.y, d.labels, "f1", **how))
        low, high = d.forecast().interval
        rows.append({**about(s), "value": low <= actual <= high})
    emit_groups("forecast", "inside the interval", rows, "share")


def classifier(*, quick: bool) -> None:
    """4. The interval of `MetricClassifier.forecast`, which needs no reference."""
    inside = []
    for model, X, y in fitted_models(quick):
        fitted = am.MetricClassifier(model, "f1", average="macro", cv=5)
        fitted.fit(X[:TRAIN], y[:TRAIN])
        for size in (200, 1000):
            for start in range(TRAIN, min(TRAIN + 2 * size, y.size - size + 1), size):
                rows = slice(start, start + size)
                labels = fitted.decide(X[rows]).labels
                low, high = fitted.forecast(X[rows], labels).interval
                actual = float(am.classes.evaluate(y[rows], labels, "f1"))
                inside.append(low <= actual <= high)
    what, share = "inside the interval of MetricClassifier", sum(inside) / len(inside)
    emit("classifier", what, share, "share", cases=len(inside))


def speed(*, quick: bool) -> None:
    """5. Seconds of large batches."""
    shapes = {(10**6, 10): 2.0, (10**5, 100): 2.0, (10**5, 1000): 15.0}
    rng = np.random.default_rng(0)
    for (n, count), most in shapes.items():
        n = n // 20 if quick else n
        mix = rng.dirichlet(np.ones(count)) * count * 0.3 + 0.01
        p = rng.standard_gamma(mix, (n, count)) + 1e-9
        p /= p.sum(axis=1, keepdims=True)
        am.classes.decide(p[:2000], "f1")

        def call(p: np.ndarray = p) -> None:
            am.classes.decide(p, "f1")

        took = min(wall_seconds(call) for _ in range(2))
        emit("speed", "decide", took, "s", ("<=", most), rows=n, classes=count)


if __name__ == "__main__":
    sections = {"decide": decide, "forecast": forecast, "classifier": classifier}
    sections |= {"speed": speed, "coverage": coverage}
    raise SystemExit(run_sections(__doc__, sections))
