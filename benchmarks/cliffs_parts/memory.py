"""The peak of memory of every verb, over what a user may pass."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import emit

import argmetric as am
from cliffs_parts.cells import group_ids, peak, probabilities

GROUP = 20  # rows of a group, cells of a sample
METHODS = ("spline", "platt", "beta", "temperature", "isotonic", "identity", "auto")
Given = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Scores, labels that came true, and labels that were chosen."""

    p: Any
    y: Any
    labels: Any
    given: Given


Call = Callable[[Data], Any]


def run(*, quick: bool, rows: int) -> None:
    """Print the arrays of 64-bit numbers that each call holds at its peak."""
    rows = 20_000 if quick else rows
    for what, layout, call in cases():
        measured = partial(call, _data(rows, layout))
        measured()  # compiled, loaded, cached
        gc.collect()
        arrays = float(f"{peak(measured) / (8 * rows):.3g}")
        emit("memory", what, arrays, "arrays", rows=rows)


def cases() -> Iterator[tuple[str, str, Call]]:
    """Yield what is called in words, the layout of its input, and the call."""
    calls: dict[str, Call] = {
        "decide": lambda d: am.decide(d.p, **d.given),
        "forecast": lambda d: am.forecast(d.p, d.labels, **d.given),
        "evaluate": lambda d: am.evaluate(d.y, d.labels, **d.given),
        "tune": lambda d: am.tune(d.y, d.p, **d.given),
        "calibration_check": lambda d: am.calibration_check(d.y, d.p, **d.given),
        "report": lambda d: am.report(am.decide(d.p, **d.given), d.y),
    }
    for verb, call in calls.items():
        for layout in ("one vector", *_LAYOUTS):
            if _is_taken(verb, layout):
                yield f"{verb}, {layout}", layout, call
    for method in METHODS:
        yield f"calibrate, {method}", "one vector", _calibrate(method)
    for layout in ("logits", "float32", "list", "Arrow", "weights"):
        yield f"calibrate, spline, {layout}", layout, _calibrate("spline")


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


def _calibrate(method: str) -> Call:
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
