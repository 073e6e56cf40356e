"""Calls of `monitor` and of the verbs for tensors, on arrays of numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

import argmetric as am
from argmetric import tensors
from recorded_parts.data import groups_of, matrix, scores, truth

Calls = Iterator[tuple[str, Callable[[], Any]]]

FEW_METRICS = ("f1", "mcc", "gmean", "jaccard")
N_PERIODS, PERIOD = 4, 250


@cache
def weeks(kind: str) -> np.ndarray:
    """Scores of four periods; the last two have moved as `kind` says."""
    p = scores(N_PERIODS * PERIOD, seed=21)
    odds = np.log(p / (1 - p))
    late = np.arange(p.size) >= p.size // 2
    if kind == "up":
        odds = odds + 1.2 * late
    elif kind == "down":
        odds = odds - 1.2 * late
    elif kind == "wider":
        odds = np.where(late, 2 * odds, odds)
    return np.asarray(1 / (1 + np.exp(-odds)))


@cache
def labelled(n: int) -> tuple[np.ndarray, np.ndarray]:
    p = scores(n, seed=22)
    return truth(p, seed=22), p


def days() -> np.ndarray:
    """A day for every row, seven days a period."""
    first = np.datetime64("2026-01-05")
    day = np.arange(N_PERIODS * PERIOD) * 7 // PERIOD
    return first + day.astype("timedelta64[D]")


def some_known(p: np.ndarray) -> np.ndarray:
    """Labels of every fifth row."""
    known = np.full(p.size, np.nan)
    known[::5] = truth(p, seed=23)[::5]
    return known


def watched(kind: str, metric: Any = "f1", n: int = 600, **options: Any) -> Any:
    """Periods, alarms and all that is said of them."""
    options = {"every": PERIOD, **options}
    return am.monitor(weeks(kind), 0.3, metric, reference=labelled(n), **options)


def monitor_calls() -> Calls:
    quiet = weeks("quiet")
    for kind in ("quiet", "up", "down", "wider"):
        for metric in FEW_METRICS:
            for shift in ("auto", "prior"):
                call = partial(watched, kind, metric, shift=shift)
                yield f"monitor/{metric}/{kind}/{shift}", call
        for n in (40, 200, 4000):
            yield f"monitor/f1/{kind}/reference={n}", partial(watched, kind, n=n)
    given: dict[str, dict[str, Any]] = {
        "time": {"time": days(), "every": "1w"},
        "by": {"by": np.array(["a", "b"])[np.arange(quiet.size) % 2]},
        "known": {"known": some_known(quiet)},
        "known,all": {"known": truth(quiet, seed=23)},
        "floor": {"floor": 0.5},
        "coverage": {"coverage": 0.5},
        "groups": {"groups": groups_of([10] * 100), "average": "groups"},
        "shift=none": {"shift": "none"},
        "false_alarms": {"false_alarms": 0.2},
        "zero_division": {"zero_division": 1.0},
    }
    for word, options in given.items():
        yield f"monitor/f1/{word}", partial(watched, "quiet", **options)
    for kind in ("quiet", "up"):
        key = f"monitor/add/{kind}"
        yield key, lambda kind=kind: watched("quiet").add(weeks(kind)[-PERIOD:])
        key = f"monitor/to_label/{kind}"
        yield key, lambda kind=kind: watched(kind).to_label(30, p=weeks(kind)[-PERIOD:])
    yield "monitor/frame", lambda: watched("down").to_frame()
    yield "monitor/saved", lambda: am.Monitoring.from_dict(watched("up").to_dict())


# ----------------------------------------------------------------------- tensors


def tensor_calls() -> Calls:
    P = matrix(30, 12)
    for metric in (
        "f1",
        "f2",
        "jaccard",
        "mcc",
        "kappa",
        "recall",
        "balanced_accuracy",
    ):
        for average in ("samples", "macro", "micro"):
            call = partial(tensors.decide, P, metric, average=average)
            yield f"tensors/decide/{metric}/{average}", call
        labels = (P > 0.3).astype(int)
        call = partial(tensors.forecast, P, labels, metric, average="samples")
        yield f"tensors/forecast/{metric}", call
    limits: tuple[dict[str, Any], ...] = (
        {"max_positives": 2},
        {"min_positives": 1},
        {"min_precision": 0.5},
        {"min_recall": 0.5},
        {"zero_division": 1.0},
        {"dtype": "float32"},
    )
    for options in limits:
        (name,) = options
        call = partial(tensors.decide, P, "f1", average="samples", **options)
        yield f"tensors/decide/f1/{name}", call
    for n in (1, 33, 1025, 5000):
        for metric in ("f1", "mcc"):
            key = f"tensors/decide/{metric}/n={n}"
            yield key, partial(tensors.decide, scores(n), metric)


def all_calls() -> Calls:
    yield from monitor_calls()
    yield from tensor_calls()
