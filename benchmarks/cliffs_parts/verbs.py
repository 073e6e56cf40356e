"""The cells of every verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import argmetric as am
from argmetric._verbs.decide import decide_by
from cliffs_parts.cells import Cell, group_ids, probabilities

METRICS = ("f1", "jaccard", "mcc", "kappa", "gmean", "qmean", "custom")
METRICS += ("custom, smooth",)
SIZES, VECTORS = (5, 20, 65, 100, 200, 1_000, 10_000), (10, 500, 5_000, 100_000)
LAYOUTS = ("groups shuffled int", "groups shuffled text", "groups shuffled 64-bit")
LAYOUTS += ("samples dense", "samples sparse")


def own_metric(tp: Any, k: Any, t: Any, n: Any) -> Any:
    """A function of the counts such as a user writes."""
    return tp / (0.3 * k + 0.7 * t + 1.0)


def metric_of(name: str) -> Any:
    own = {
        "custom": own_metric,
        "custom, smooth": am.CustomMetric(own_metric, smooth=True),
    }
    return own.get(name, name)


def all_cells() -> Iterator[Cell]:
    yield from decision_cells("decide", decide_call)
    yield from decision_cells("forecast", forecast_call)
    yield from decision_cells("evaluate", evaluate_call)
    yield from overdispersion_cells()
    yield from tune_cells()


def decision_cells(verb: str, make: Callable[..., Callable[[], Any]]) -> Iterator[Cell]:
    for metric in ("f1", "gmean") if verb == "evaluate" else METRICS:
        for rows in SIZES:
            yield _grouped(verb, make, metric, rows, "10%", "groups sorted")
        for layout in LAYOUTS if metric in ("f1", "mcc") else ():
            yield _grouped(verb, make, metric, 20, "10%", layout)
        for rows in VECTORS:
            yield _grouped(verb, make, metric, rows, "10%", "one vector")
        yield _grouped(verb, make, metric, VECTORS[-1], "10", "one vector")


def _grouped(
    verb: str,
    make: Callable[..., Callable[[], Any]],
    metric: str,
    rows: int,
    positives: str,
    layout: str,
    **options: Any,
) -> Cell:
    def build(count: int) -> Callable[[], Any]:
        rng = np.random.default_rng(rows)
        p = probabilities(rows, count, positives, rng)
        given: dict[str, Any] = dict(options)
        if layout.startswith("groups"):
            given["groups"] = group_ids(rows, count, layout[7:], rng)
            given["average"] = "groups"
        elif layout.startswith("samples"):
            p = p.reshape(count, rows)
            given["average"] = "samples"
            if layout == "samples sparse":
                from scipy import sparse

                p = sparse.csr_array(np.where(p > 0.02, p, 0.0))
        return make(p, metric_of(metric), given)

    return Cell(verb, metric, rows, positives, layout, build, layout != "one vector")


def decide_call(p: Any, metric: Any, given: dict[str, Any]) -> Callable[[], Any]:
    return lambda: decide_by(p, metric, check=False, **given)


def forecast_call(p: Any, metric: Any, given: dict[str, Any]) -> Callable[[], Any]:
    labels = p > 0.3
    if hasattr(labels, "tocsr"):
        labels = labels.astype(np.int64)
    return lambda: am.forecast(p, labels, metric, **given)


def evaluate_call(p: Any, metric: Any, given: dict[str, Any]) -> Callable[[], Any]:
    rng = np.random.default_rng(3)
    if hasattr(p, "tocsr"):
        labels, truth = (p > 0.3).astype(np.int64), (p > 0.4).astype(np.int64)
    else:
        labels, truth = p > 0.3, rng.random(p.shape) < p
    given = {"zero_division": 0.0, **given}
    return lambda: am.evaluate(truth, labels, metric, **given)


def overdispersion_cells() -> Iterator[Cell]:
    for rows in (20, 200, 100_000):
        for layout in ("groups sorted", "one vector")[rows == 100_000 :]:
            how = ("forecast", forecast_call, "f1", rows, "10%", layout)
            cell = _grouped(*how, overdispersion=0.5)
            yield replace(cell, metric="f1, overdispersion")


def tune_cells() -> Iterator[Cell]:
    def tune_call(p: Any, metric: Any, given: dict[str, Any]) -> Callable[[], Any]:
        y = np.random.default_rng(5).random(p.shape) < p
        return lambda: am.tune(y, p, metric, **given)

    for metric in ("f1", "mcc", "gmean"):
        for rows in (20, 200, 1_000):
            yield _grouped("tune", tune_call, metric, rows, "10%", "groups sorted")
        for rows in (1_000, 100_000):
            yield _grouped("tune", tune_call, metric, rows, "10%", "one vector")
