"""Both sides of every switch of routes: by rows of a group, by variance, by ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import argmetric as am
from argmetric._expected import plan
from argmetric._forecast import distributions as _distributions
from argmetric._forecast import effects as _effects
from argmetric._forecast import group_mean as _group_mean
from argmetric._forecast import groups as forecast_groups
from argmetric._ground import groups as _groups
from argmetric._verbs.decide import decide_by
from cliffs_parts.cells import cpu_time, group_ids, probabilities
from cliffs_parts.verbs import metric_of

ROWS = 60_000  # of a call on groups
SMALL_CALL = 20_000  # rows that calls are repeated for
REPEATS = 3
MARGIN = 0.04  # around a switch by variance, on either side


@dataclass(frozen=True)
class Switch:
    """A constant, what it decides about, and the rows of a group on its two sides."""

    name: str
    verb: str
    metric: str
    layout: str
    sides: tuple[int, int]
    positives: str = "10%"
    options: tuple[tuple[str, Any], ...] = ()


def at_rows(limit: int) -> tuple[int, int]:
    return limit, limit + 1


def at_variance(limit: float, positives: str) -> tuple[int, int]:
    """Rows of a group whose variance is a little below the limit, and above."""
    p = probabilities(20_000, 1, positives, np.random.default_rng(0))
    rows = limit / float((p * (1 - p)).mean())
    return int(rows * (1 - MARGIN)), int(rows * (1 + MARGIN)) + 1


def all_switches() -> list[Switch]:
    groups = [
        Switch(name, "decide", metric, "groups", at_rows(getattr(plan, name)))
        for name, metrics in (
            ("TABLE_ROWS", ("mcc", "balanced_accuracy", "gmean", "qmean")),
            ("SHORT_ROWS", ("jaccard", "custom")),
            ("SHARED_TABLE_ROWS", ("custom",)),
            ("QUADRATIC_ROWS", ("f1", "balanced_accuracy", "fowlkes_mallows")),
        )
        for metric in metrics
    ]
    by_variance = [
        Switch(name, "decide", metric, "groups", at_variance(value, "10%"))
        for name, value, metric in (
            ("QUADRATURE_VARIANCE", plan.QUADRATURE_VARIANCE, "custom"),
            ("AFFINE_QUADRATURE_VARIANCE", plan.AFFINE_QUADRATURE_VARIANCE, "mcc"),
            ("MIXED_QUADRATURE_VARIANCE", plan.MIXED_QUADRATURE_VARIANCE, "kappa"),
        )
    ]
    vectors = [
        Switch(name, "decide", metric, "one vector", sides)
        for name, sides, metrics in (
            ("SHORT_ROWS", at_rows(plan.SHORT_ROWS), ("f1", "mcc", "gmean", "custom")),
            (
                "HISTOGRAM_ROWS",
                at_rows(plan.HISTOGRAM_ROWS - 1),
                ("f1", "mcc", "gmean", "custom"),
            ),
            ("WHOLE_LAW_ROWS", at_rows(plan.WHOLE_LAW_ROWS), ("custom",)),
        )
        for metric in metrics
    ]
    ids = [
        Switch("FEW_IDS", "decide", "f1", kind, at_rows(_groups.FEW_IDS))
        for kind in ("ids 64-bit", "ids text")
    ]
    many = (_groups.MANY_GROUPS - 1, _groups.MANY_GROUPS)
    ids.append(Switch("MANY_GROUPS", "decide", "f1", "shuffled groups", many))
    least = plan.HISTOGRAM_POSITIVES
    means = (int(0.95 * least), int(1.05 * least))
    vectors += [
        Switch("HISTOGRAM_POSITIVES", "decide", name, "positives of one vector", means)
        for name in ("f1", "mcc", "gmean")
    ]
    forecasts = [
        Switch("TABLE_LIMIT", "forecast", name, "groups", at_rows(limit))
        for limit in (forecast_groups.TABLE_LIMIT,)
        for name in ("f1", "gmean")
    ]
    forecasts += [
        Switch(name, "forecast", "f1", "one vector", at_rows(limit))
        for name, limit in (
            ("SHORT_ROWS", plan.SHORT_ROWS),
            ("MAX_UNTRIMMED", _distributions.MAX_UNTRIMMED),
        )
    ]
    spread = (("overdispersion", 0.5),)
    few = at_rows(_effects.FEW_ROWS)
    forecasts.append(
        Switch("FEW_ROWS", "forecast", "f1", "one vector", few, "50%", spread)
    )
    few = at_rows(_group_mean.MAX_EXACT_GROUPS)
    forecasts += [
        Switch("MAX_EXACT_GROUPS", "forecast", name, "count of groups", few)
        for name in ("f1", "gmean")
    ]
    return groups + by_variance + vectors + ids + forecasts


def call_of(switch: Switch, side: int) -> tuple[Callable[[], Any], int]:
    """A call on one side of the switch, and its number of rows."""
    rng = np.random.default_rng(side)
    given: dict[str, Any] = dict(switch.options)
    if switch.layout == "one vector":
        rows, count = side, 1
    elif switch.layout == "groups":
        rows, count = side, max(2, ROWS // side)
    elif switch.layout == "count of groups":
        rows, count = 100, side
    elif switch.layout == "shuffled groups":
        rows, count = 20, side
    elif switch.layout == "positives of one vector":
        rows, count = 10 * SMALL_CALL, 1
    else:  # so many runs of ids that none is beside its like
        rows, count = 1, side
    p = probabilities(rows, count, switch.positives, rng)
    if switch.layout == "positives of one vector":
        p *= side / p.sum()
    if count > 1:
        kind = {"ids 64-bit": "shuffled 64-bit", "ids text": "shuffled text"}
        kind["shuffled groups"] = "shuffled int"
        ids = group_ids(rows, count, kind.get(switch.layout, "sorted"), rng)
        given |= {"groups": ids, "average": "groups"}
    metric = metric_of(switch.metric)
    if switch.verb == "decide":
        return lambda: decide_by(p, metric, check=False, **given), p.size
    labels = p > 0.3
    return lambda: am.forecast(p, labels, metric, **given), p.size


def measured(switch: Switch) -> dict[str, Any]:
    """Costs per row on both sides, by calls in turns, and their ratio."""
    calls = [call_of(switch, side) for side in switch.sides]
    spent = [np.inf, np.inf]
    for call, _ in calls:
        call()  # compiled, loaded, cached
    for _ in range(REPEATS):
        for i, (call, rows) in enumerate(calls):
            times = max(1, min(20, SMALL_CALL // rows))
            found = sum(cpu_time(call) for _ in range(times)) / times
            spent[i] = min(spent[i], 1e9 * found / rows)
    return {
        "section": "switches",
        "switch": switch.name,
        "verb": switch.verb,
        "metric": switch.metric,
        "layout": switch.layout,
        "sides": list(switch.sides),
        "ns_per_row": [float(f"{x:.3g}") for x in spent],
        "ratio": float(f"{spent[1] / spent[0]:.3g}"),
    }


def run() -> None:
    for switch in all_switches():
        print(json.dumps(measured(switch)), flush=True)
