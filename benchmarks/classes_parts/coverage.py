"""Coverage of class forecasts with a reference: by its rows, and by a calibrator alone.

Each case is a model, a reference and one batch. Labels are decided for six metrics, and
their score is forecast twice: with ``reference=(y, P)``, and with the calibrator that
was fitted to these rows. Classes are bins of a column that the models do not see, from
frequent to rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import emit, groups_of, mean_of
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


def task(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and classes, shuffled; a column becomes the classes."""
    X, y = loaded(name)
    X = X[np.random.default_rng(0).permutation(y.size)[:MOST_ROWS]]
    column = X[:, BINNED[name]]
    y = np.searchsorted(np.quantile(column, QUANTILES), column)
    X = np.delete(X, BINNED[name], axis=1)
    return X, np.unique(y, return_inverse=True)[1]


def outcomes(name: str, quick: bool) -> Iterator[dict[str, Any]]:
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
                    low, high = f.interval
                    yield {
                        **{"model": kind, "reference": m, "rows": size},
                        **{"metric": metric, "route": route},
                        **{"below": actual < low, "above": actual > high},
                        "width": 100 * (high - low),
                        "bias": 100 * (f.mean - actual),
                    }


def coverage(*, quick: bool) -> None:
    """6. Forecasts by the labelled rows of a reference, and by a calibrator alone."""
    names = ("magic",) if quick else BINNED
    rows = [row for name in names for row in outcomes(name, quick)]
    for by, some in groups_of(rows, "model", "metric", "reference", "rows"):
        for route in ROUTES:
            own = [row for row in some if row["route"] == route]
            keys = ("below", "above", "width", "bias")
            told = {key: mean_of(own, key) for key in keys}
            inside, what = 1.0 - told["below"] - told["above"], f"inside, {route}"
            goal = (">=", 0.88) if route == ROUTES[1] else None
            emit("coverage", what, inside, "share", goal, cases=len(own), **told, **by)
