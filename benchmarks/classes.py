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
import statistics
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from classes_parts.cases import TRAIN, Setting, fitted_models, settings
from classes_parts.coverage import coverage
from harness import emit, run_sections, wall_seconds

import argmetric as am

TARGETS: dict[str, dict[str, tuple[str, float]]] = {
    "decided minus tuned weights": {"rows": (">=", 1.5), "model": (">=", 0.0)},
    "inside the interval": {
        "all": (">=", 0.9),
        "rows": (">=", 0.87),
        "model": (">=", 0.87),
    },
    "below the interval": {"all": ("<=", 0.08)},
    "above the interval": {"all": ("<=", 0.08)},
}
CONVENTIONS = {"0/0 = 0": 0.0, "0/0 = 1": 1.0, "left out": math.nan}


def macro_f1(y: np.ndarray, z: Any, count: int, absent: float) -> float:
    """Points by scikit-learn; its default leaves out classes that are absent."""
    from sklearn.metrics import f1_score

    labels = None if math.isnan(absent) else range(count)
    return 100 * float(
        f1_score(y, z, average="macro", labels=labels, zero_division=absent)
    )


def grouped(
    section: str, what: str, lines: list[tuple[Setting, float]], unit: str, **told: Any
) -> None:
    """Means over all settings, and by rows, model and reference."""
    targets = TARGETS.get(what, {})
    keys: dict[str, Callable[[Setting], Any]] = {
        "rows": lambda s: s.rows,
        "model": lambda s: s.case.model,
        "reference": lambda s: s.m,
    }
    mean = statistics.mean(value for _, value in lines)
    emit(section, what, mean, unit, targets.get("all"), cases=len(lines), **told)
    for name, key in keys.items():
        for one in dict.fromkeys(key(s) for s, _ in lines):
            values = [value for s, value in lines if key(s) == one]
            by = {name: one, "cases": len(values)}
            mean = statistics.mean(values)
            emit(section, what, mean, unit, targets.get(name), **by, **told)


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
    found: dict[str, dict[str, list[tuple[Setting, float]]]] = {}
    for s in settings(quick, tune=True):
        shares = np.bincount(s.case.reference[0][: s.m], minlength=s.case.count) + 0.5
        for name, absent in CONVENTIONS.items():
            decision = am.classes.decide(
                s.P,
                "f1",
                classes=range(s.case.count),
                zero_division=absent,
                reference=s.calibrator,
            )
            answers = {
                "most probable": s.P.argmax(axis=1),
                "P over shares": (s.P / shares).argmax(axis=1),
                "tuned weights": s.tuned.apply(s.P),
                "decided": decision.labels,
            }
            other = by_xcolumns(s) if name == "0/0 = 0" else None
            if other is not None:
                answers["xCOLUMNs, k = 1"] = other
            kept = found.setdefault(name, {})
            for answer, z in answers.items():
                points = macro_f1(s.y, z, s.case.count, absent)
                kept.setdefault(answer, []).append((s, points))
    for name, kept in found.items():
        for answer, lines in kept.items():
            mean = statistics.mean(points for _, points in lines)
            told = {"convention": name, "cases": len(lines)}
            emit("decide", answer, mean, "points of macro-F1", **told)
        for answer in [one for one in kept if one != "decided"]:
            theirs = {id(s): points for s, points in kept[answer]}
            pairs = [
                (s, x, theirs[id(s)]) for s, x in kept["decided"] if id(s) in theirs
            ]
            over = [(s, mine - other) for s, mine, other in pairs]
            what = f"decided minus {answer}"
            grouped("decide", what, over, "points", convention=name)


def forecast(*, quick: bool) -> None:
    """3. How often the 90 % interval contains the actual score."""
    for metric, name in (("f1", "left out"), ("f1", "0/0 = 0"), ("gmean", "left out")):
        absent, lines = CONVENTIONS[name], []
        for s in settings(quick, tune=False):
            names = range(s.case.count)
            how = {"classes": names, "zero_division": absent}
            d = am.classes.decide(s.P, metric, reference=s.calibrator, **how)
            distribution = d.forecast()
            actual = float(am.classes.evaluate(s.y, d.labels, metric, **how))
            lines.append((s, actual, distribution))
        emit_ends(lines, metric=metric, convention=name)


def emit_ends(lines: list[tuple[Setting, float, Any]], **told: Any) -> None:
    """How the actual scores lie to the intervals of their forecasts."""
    ends: dict[str, Callable[[float, Any], float]] = {
        "inside the interval": lambda x, f: f.interval[0] <= x <= f.interval[1],
        "below the interval": lambda x, f: x < f.interval[0],
        "above the interval": lambda x, f: x > f.interval[1],
    }
    for what, of in ends.items():
        values = [(s, float(of(x, distribution))) for s, x, distribution in lines]
        grouped("forecast", what, values, "share", **told)


def classifier(*, quick: bool) -> None:
    """4. The interval of `MetricClassifier.forecast`, which needs no reference."""
    lines = []
    for case, model, X, y in fitted_models(quick):
        fitted = am.MetricClassifier(model, "f1", average="macro", cv=5)
        fitted.fit(X[:TRAIN], y[:TRAIN])
        for size in (200, 1000):
            for start in range(TRAIN, min(TRAIN + 2 * size, y.size - size + 1), size):
                rows = slice(start, start + size)
                labels = fitted.decide(X[rows]).labels
                distribution = fitted.forecast(X[rows], labels)
                actual = float(am.classes.evaluate(y[rows], labels, "f1"))
                setting = Setting(case, TRAIN, size, None, None, y[rows], X[rows])
                lines.append((setting, actual, distribution))
    emit_ends(lines, metric="f1", convention="left out", of="MetricClassifier")


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
