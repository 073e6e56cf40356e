"""The peak of memory of every verb, over what a user may pass."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from cliffs_parts.cells import group_ids, peak, probabilities

GROUP = 20  # rows of a group, cells of a sample
COLUMNS = 5
METHODS = ("spline", "platt", "beta", "temperature", "isotonic", "identity", "auto")
Given = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Scores, labels that came true, and labels that were chosen."""

    p: Any
    y: Any
    labels: Any
    given: Given


@dataclass(frozen=True)
class Case:
    """A call whose memory is measured: `make()` builds its input."""

    verb: str
    layout: str
    make: Callable[[], Callable[[], Any]]


def run(*, quick: bool, rows: int) -> None:
    """Print the arrays of every case."""
    rows = 20_000 if quick else rows
    for case in cases(rows):
        arrays = _arrays(case.make(), rows)
        emit("memory", f"{case.verb}, {case.layout}", arrays, "arrays", rows=rows)


def _arrays(call: Callable[[], Any], rows: int) -> float:
    """Arrays of 64-bit numbers that the call holds at its peak."""
    call()  # compiled, loaded, cached
    gc.collect()
    return float(f"{peak(call) / (8 * rows):.3g}")


def cases(rows: int) -> Iterator[Case]:
    plain = {name: _built(_data, rows, name) for name in ("one vector", *_LAYOUTS)}
    calls = {
        "decide": lambda d: am.decide(d.p, **d.given),
        "forecast": lambda d: am.forecast(d.p, d.labels, **d.given),
        "evaluate": lambda d: am.evaluate(d.y, d.labels, **d.given),
        "tune": lambda d: am.tune(d.y, d.p, **d.given),
        "calibration_check": lambda d: am.calibration_check(d.y, d.p, **d.given),
        "report": lambda d: am.report(am.decide(d.p, **d.given), d.y),
    }
    for verb, call in calls.items():
        for layout, build in plain.items():
            if _is_taken(verb, layout):
                yield Case(verb, layout, _on(build, call))
    for metric in ("mcc", "gmean"):
        for layout in ("one vector", "groups sorted"):
            for verb in ("decide", "forecast", "tune"):
                name = f"{metric}, {layout}"
                yield Case(verb, name, _on(plain[layout], _with(calls[verb], metric)))
    for method in METHODS:
        yield Case("calibrate", method, _on(plain["one vector"], _calibrate(method)))
    for layout in ("logits", "float32", "list", "Arrow", "weights"):
        call = _calibrate("spline")
        yield Case("calibrate", f"spline, {layout}", _on(plain[layout], call))
    build = _built(_columns, rows, "labels")
    yield Case("tune", f"{COLUMNS} labels", _on(build, calls["tune"]))
    build, layout = _built(_columns, rows, "classes"), f"{COLUMNS} classes"
    of_classes = {
        "tune": lambda d: am.classes.tune(d.y, d.p),
        "calibrate": lambda d: am.classes.calibrate(d.y, d.p, "temperature"),
    }
    for verb, call in of_classes.items():
        yield Case(verb, layout, _on(build, call))


_LAYOUTS = (
    "groups sorted",
    "groups shuffled int",
    "groups shuffled 64-bit",
    "groups shuffled text",
    "groups pooled",
    "logits",
    "float32",
    "list",
    "Series",
    "Arrow",
    "weights",
    "samples dense",
    "samples sparse",
)
_SAMPLES = ("samples dense", "samples sparse")
_TAKES_WEIGHTS = ("tune", "calibration_check")


def _is_taken(verb: str, layout: str) -> bool:
    """Whether the verb takes such input at all."""
    if layout == "weights":
        return verb in _TAKES_WEIGHTS
    if layout in _SAMPLES:
        dense = verb == "report" and layout == "samples dense"
        return dense or verb in ("decide", "forecast", "evaluate")
    if layout == "logits":
        return verb not in ("evaluate", "tune")
    return True


def _built(
    build: Callable[[int, str], Data], rows: int, name: str
) -> Callable[[], Data]:
    return lambda: build(rows, name)


def _on(
    build: Callable[[], Data], call: Callable[[Data], Any]
) -> Callable[[], Callable[[], Any]]:
    def make() -> Callable[[], Any]:
        data = build()
        return lambda: call(data)

    return make


def _with(call: Callable[[Data], Any], metric: str) -> Callable[[Data], Any]:
    def judged(data: Data) -> Any:
        given = data.given | {"metric": metric}
        return call(Data(data.p, data.y, data.labels, given))

    return judged


def _calibrate(method: str) -> Callable[[Data], Any]:
    return lambda d: am.calibrate(d.y, d.p, method, **d.given)


def _data(rows: int, layout: str) -> Data:
    rng = np.random.default_rng(0)
    p: Any = probabilities(rows, 1, "10%", rng)
    y: Any = (rng.random(rows) < p).astype(np.int64)
    labels: Any = (p > 0.3).astype(np.int64)
    given: Given = {}
    if layout.startswith("groups"):
        kind = layout.removeprefix("groups ")
        kind = "sorted" if kind == "pooled" else kind
        given["groups"] = group_ids(GROUP, rows // GROUP, kind, rng)
        given["average"] = "pooled" if layout == "groups pooled" else "groups"
    elif layout.startswith("samples"):
        p, y, labels = (one.reshape(-1, GROUP) for one in (p, y, labels))
        given["average"] = "samples"
        if layout == "samples sparse":
            from scipy import sparse

            p, y, labels = (sparse.csr_array(one) for one in (p, y, labels))
    elif layout == "logits":
        p, given = np.log(p) - np.log1p(-p), {"logits": True}
    elif layout == "weights":
        given["sample_weight"] = rng.random(rows) + 0.5
    else:
        p, y, labels = (_as_kind(one, layout) for one in (p, y, labels))
    return Data(p, y, labels, given)


def _as_kind(values: np.ndarray, kind: str) -> Any:
    if kind == "float32":
        return values.astype(np.float32)
    if kind == "list":
        return values.tolist()
    if kind == "Series":
        import pandas as pd

        return pd.Series(values)
    if kind == "Arrow":
        import pyarrow as pa

        return pa.array(values)
    return values


def _columns(rows: int, name: str) -> Data:
    """Several labels or several classes: the cells of the matrix are the rows."""
    rng, count = np.random.default_rng(0), rows // COLUMNS
    p = probabilities(COLUMNS, count, "30%", rng).reshape(count, COLUMNS)
    if name == "labels":
        y, labels = (rng.random(p.shape) < p).astype(np.int64), p > 0.4
        return Data(p, y, labels.astype(np.int64), {"average": "macro"})
    p /= p.sum(axis=1, keepdims=True)
    drawn = (rng.random((count, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
    return Data(p, np.minimum(drawn, COLUMNS - 1), np.argmax(p, axis=1), {})
