"""Liu et al. (2018): probabilities that are learned too, and what a row costs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from harness import cpu_seconds
from stream_parts.convergence import Stream, end_of, slope_of
from stream_parts.paper import FOFO, OFO, OMCSL, STAMP

from argmetric.stream import FOFORule, OFORule, OnlineClassifier
from papers_parts.claim import Estimate, Figures, at_least, at_most, declare, within
from papers_parts.estimates import slope
from papers_parts.liu2018 import ranges, streams

FEATURES = 5
TEST_ROWS = 200_000
BLOCK = 1_000_000  # rows that are drawn at once


def _draw(stream: Stream, n: int, *seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Features, true logits and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    z = stream.mean + stream.deviation * X.sum(axis=1) / FEATURES**0.5
    return X, z, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.int64)


@cache
def _learned(stream: Stream, fast: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of rows, |θ − θ*| at each, and points of F1 lost, with w averaged."""
    most = BLOCK if fast else 10 * BLOCK
    lengths = np.geomspace(1_000, most, 7 if fast else 9).astype(int)
    shape = (5 if fast else 10, lengths.size)
    errors, lost = np.zeros(shape), np.zeros(shape[0])
    found, labels = np.zeros(most), np.zeros(most, dtype=np.int64)
    for seed in range(shape[0]):
        model = OnlineClassifier(
            rule="fixed", learner="sgd", step=1.0, average="suffix"
        )
        for start in range(0, most, BLOCK):  # all features at once would fill memory
            X, _, y = _draw(stream, BLOCK, seed, start)
            _, p = model.progressive(X, y, classes=[0, 1], return_proba=True)
            part = slice(start, start + BLOCK)
            found[part], labels[part] = np.log(p / (1 - p)), y
        for i, n in enumerate(lengths):
            end = end_of(FOFORule(n=int(n)), found[:n], labels[:n])
            errors[seed, i] = abs(end - stream.best)
        X, z, y = _draw(stream, TEST_ROWS, seed, most)
        best = 1 / (1 + np.exp(-z)) >= stream.best
        lost[seed] = _f1(y, best) - _f1(y, model.predict_proba(X)[:, 1] >= end)
    return lengths, errors, lost


def _f1(y: np.ndarray, labels: np.ndarray) -> float:
    return 200.0 * float((y * labels).sum()) / float(y.sum() + labels.sum())


@declare("liu2018-theorem-3-learned")
def _theorem_3(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for stream in streams(fast):
        lengths, errors, _ = _learned(stream, fast)
        for rows, mine in ranges(stream, lengths).items():
            figures[f"slope of log|θ − θ*| {rows}, averaged w, {stream.name}"] = slope(
                lengths[mine], errors[:, mine]
            )
    return figures


@declare("liu2018-theorem-4-learned")
def _theorem_4(fast: bool) -> Figures:
    return {
        f"points of F1 lost, averaged w, {stream.name}": Estimate.of(
            _learned(stream, fast)[2]
        )
        for stream in streams(fast)
    }


def _model(method: str, n: int) -> OnlineClassifier:
    if method in (STAMP, OMCSL):
        own: Any = method.lower()
        return OnlineClassifier(learner=own, random_state=0)
    rules = {FOFO: FOFORule(n=n), OFO: OFORule(prior=(0, 0))}
    return OnlineClassifier(rule=rules[method], learner="sgd")


def _measured(method: str, n: int, d: int) -> tuple[float, float]:
    """Bytes of the state, and CPU seconds of all rows."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X, y = csr_matrix(rng.normal(size=(n, d))), rng.integers(0, 2, n)
    models: list[OnlineClassifier] = []

    def run() -> None:
        models.append(_model(method, n))
        models[-1].progressive(X, y, classes=[0, 1])

    seconds = min(cpu_seconds(run) for _ in range(4))  # the first may compile
    state = models[-1].get_state()
    kept = [array for array in state.values() if array.dtype.kind == "f"]
    return float(sum(array.nbytes for array in kept)), seconds


@declare(
    "liu2018-table-1-costs",
    asks=[
        *(
            ask
            for method in (FOFO, OFO, STAMP)
            for ask in (
                within(f"bytes a feature, {method}", 1, 32),
                at_most(f"bytes that 140,000 more rows add, {method}", 0),
                at_most(f"slope of log time over log d, {method}", 1.1),
                at_most(f"slope of log time over log n, {method}", 1.1),
            )
        ),
        within("bytes of OMCSL over those of FOFO", 8, 12),
        at_least("nanoseconds of OMCSL over those of FOFO", 1.5),
    ],
)
def _costs(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    widths = np.array([500, 1_000, 2_000, 4_000])
    lengths = np.array([20_000, 40_000, 80_000, 160_000])
    for method in (FOFO, OFO, STAMP, OMCSL):
        by_d = np.array([_measured(method, 1_000, int(d)) for d in widths])
        by_n = np.array([_measured(method, int(n), 20) for n in lengths])
        figures[f"bytes a feature, {method}"] = float(
            (by_d[-1, 0] - by_d[0, 0]) / (widths[-1] - widths[0])
        )
        figures[f"bytes that 140,000 more rows add, {method}"] = float(
            by_n[-1, 0] - by_n[0, 0]
        )
        figures[f"slope of log time over log d, {method}"] = slope_of(
            widths, by_d[:, 1]
        )
        figures[f"slope of log time over log n, {method}"] = slope_of(
            lengths, by_n[:, 1]
        )
        figures[f"nanoseconds a feature of a row, {method}"] = float(
            1e9 * by_d[-1, 1] / (1_000 * widths[-1])
        )
    for what in ("bytes", "nanoseconds"):
        name = "a feature" if what == "bytes" else "a feature of a row"
        figures[f"{what} of OMCSL over those of FOFO"] = float(
            figures[f"{what} {name}, {OMCSL}"] / figures[f"{what} {name}, {FOFO}"]
        )
    return figures
