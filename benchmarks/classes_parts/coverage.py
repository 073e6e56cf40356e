"""Coverage of class forecasts with a reference: by its rows, and by a calibrator alone.

Each case is a model, a reference and one batch. Labels are decided for six metrics, and
their score is forecast twice: with ``reference=(y, P)``, and with the calibrator that
was fitted to these rows. Classes are bins of a column that the models do not see, from
frequent to rare.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import emit
from tabular import class_probabilities, new_model

import argmetric as am
from argmetric.classes._forecast import forecast_batch
from classes_parts.cases import loaded, models

BINNED = {"magic": 0, "elec2": 3, "pendigits_odds": 8, "mammography": 3}
QUANTILES = (0.35, 0.6, 0.8, 0.93)
MOST_ROWS, TRAIN = 12_000, 1000
REFERENCES, BATCHES = (60, 200, 700, 3000), (60, 300, 1500)
METRICS = ("gmean", "balanced_accuracy", "f1", "mcc", "quadratic_kappa", "accuracy")
ROUTES = ("calibrator alone", "labelled rows")


@dataclass(frozen=True)
class Outcome:
    """The forecast of one batch, and what came."""

    name: str
    model: str
    m: int
    rows: int
    metric: str
    route: str
    mean: float
    low: float
    high: float
    actual: float


def task(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes, shuffled; a column becomes the classes."""
    X, y = loaded(name)
    X = X[np.random.default_rng(0).permutation(y.size)[:MOST_ROWS]]
    column = X[:, BINNED[name]]
    y = np.searchsorted(np.quantile(column, QUANTILES), column)
    X = np.delete(X, BINNED[name], axis=1)
    return X, np.unique(y, return_inverse=True)[1]


def outcomes(name: str, quick: bool) -> Iterator[Outcome]:
    """Forecasts of every model on one set."""
    X, y = task(name)
    names = range(int(y.max()) + 1)
    rng = np.random.default_rng(1)
    kinds = models()
    settings = {"max_iter": 100, "learning_rate": 0.3}
    kinds["over-fitted boosting"] = new_model("boosting", **settings)
    number = 0
    for kind, model in kinds.items():
        model.fit(X[:TRAIN], y[:TRAIN])
        truth = y[TRAIN:]
        P = class_probabilities(model, X[TRAIN:], len(names))
        for m in REFERENCES[:1] if quick else REFERENCES:
            size = BATCHES[number % len(BATCHES)]
            number += 1
            order = rng.permutation(truth.size)[: m + size]
            old, new = order[:m], order[m:]
            if new.size < size:
                continue
            reference = truth[old], P[old]
            alone = am.classes.calibrate(*reference, classes=names)
            # the rows with the reference, read once for all metrics
            read = am.classes.decide(
                P[new], "accuracy", classes=names, reference=reference
            )._batch
            for metric in METRICS[:2] if quick else METRICS:
                d = am.classes.decide(P[new], metric, classes=names, reference=alone)
                found = d.forecast(), forecast_batch(read, d.codes, d.metric)
                actual = float(
                    am.classes.evaluate(truth[new], d.codes, metric, classes=names)
                )
                for route, f in zip(ROUTES, found, strict=True):
                    yield Outcome(
                        name, kind, m, size, metric, route, f.mean, *f.interval,
                        actual,
                    )  # fmt: skip


def emit_outcomes(lines: list[Outcome], **by: Any) -> None:
    """Coverage with both ends, width and bias by each route."""
    for route in ROUTES:
        some = [one for one in lines if one.route == route]
        if some:
            below = statistics.mean(one.actual < one.low for one in some)
            above = statistics.mean(one.actual > one.high for one in some)
            emit(
                "coverage",
                f"inside the interval, {route}",
                1.0 - below - above,
                "share",
                (">=", 0.88) if route == ROUTES[1] else None,
                below=round(below, 3),
                above=round(above, 3),
                width=round(100 * statistics.mean(x.high - x.low for x in some), 1),
                bias=round(100 * statistics.mean(x.mean - x.actual for x in some), 1),
                error=round(
                    100 * statistics.mean(abs(x.mean - x.actual) for x in some), 1
                ),
                cases=len(some),
                **by,
            )


def coverage(*, quick: bool) -> None:
    """6. Forecasts by the labelled rows of a reference, and by a calibrator alone."""
    lines: list[Outcome] = []
    for name in ("magic",) if quick else BINNED:
        lines += outcomes(name, quick)
    emit_outcomes(lines)
    keys: dict[str, Callable[[Outcome], Any]] = {
        "model": lambda x: x.model,
        "reference": lambda x: x.m,
        "rows": lambda x: x.rows,
    }
    for key, of in keys.items():
        for one in dict.fromkeys(map(of, lines)):
            emit_outcomes([x for x in lines if of(x) == one], **{key: one})
