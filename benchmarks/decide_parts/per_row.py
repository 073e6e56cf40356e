"""9. So many labels in every row of a matrix: value and time beside xCOLUMNs.

xCOLUMNs (Schultheis et al. 2023, 2024; `pip install xcolumns`) runs with its own
defaults, a random start and rows in random order, on the same matrices in the same run.
Its objective is the mean over labels of the metric at the expected counts, which is
compared; `decide` maximises the expected score, which is printed beside it. The section
`per_row_expected` compares with all answers, and on real labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import emit, interleaved, median_ratio

import argmetric as am

PER_ROW = 5
# kind, rows, labels, labels a row
SWEEP = (
    *((kind, 1_000, 20, 1) for kind in ("uniform", "powers", "likely", "ties")),
    *((kind, 1_000, 100, 3) for kind in ("uniform", "powers", "likely", "ties")),
    *((kind, 1_000, 300, 10) for kind in ("uniform", "powers", "likely", "ties")),
    ("likely", 2_000, 3_000, 10),
    ("uniform", 3_000, 3_000, 5),
    ("powers", 10_000, 100, 3),
    ("likely", 100_000, 20, 1),
)


def run(*, quick: bool) -> None:
    rng = np.random.default_rng(9)
    for kind, n, m, count in SWEEP[:2] if quick else SWEEP:
        _beside(kind, _drawn(kind, n, m, rng), 1, count)
    shapes = ((300, 50), (2_000, 2_000)) if quick else ((10**4, 10**3), (10**5, 10**5))
    _beside("dense", _dense(*shapes[0], rng), 1 if quick else 3)
    _beside("sparse, 30 a row", _sparse(*shapes[1], rng), 1)


def objective(P: Any, labels: Any, metric: str = "f1") -> float:
    hits = labels.multiply(P) if sp.issparse(labels) else labels * P
    tp, k, t = (np.asarray(x.sum(axis=0)).ravel() for x in (hits, labels, P))
    return float(am.metrics.get_metric(metric).value(tp, k, t, P.shape[0]).mean())


def _dense(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Labels from frequent to rare, as in text collections."""
    share = np.exp(rng.normal(-4.0, 1.2, m))
    return np.clip(share * np.exp(rng.normal(0.0, 1.5, (n, m))), 1e-6, 0.95)


def _drawn(kind: str, n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "likely":  # few hidden causes, as a model of labels has
        causes = rng.normal(size=(n, 4)) @ rng.normal(size=(4, m))
        odds = rng.normal(-3.0, 1.5, m) + 0.75 * causes + rng.normal(0, 0.5, (n, m))
        return 1.0 / (1.0 + np.exp(-odds))
    p = rng.random((n, m))
    return {"uniform": p, "powers": p**6, "ties": np.round(10 * p**3) / 10}[kind]


def _sparse(n: int, m: int, rng: np.random.Generator, stored: int = 30) -> Any:
    """A Zipf-like choice of labels, and few large probabilities in a row."""
    columns = np.minimum((m ** rng.random((n, stored))).astype(np.int64), m - 1)
    values = rng.beta(0.4, 2.0, (n, stored)) + 1e-6
    rows = np.repeat(np.arange(n), stored)
    keys = np.unique(rows * m + columns.ravel(), return_index=True)[1]
    where = rows[keys], columns.ravel()[keys]
    return sp.csr_matrix((values.ravel()[keys], where), shape=(n, m))


def _beside(kind: str, P: Any, repeats: int, per_row: int = PER_ROW) -> None:
    n, m = P.shape
    found: dict[str, Any] = {}

    def ours() -> None:
        found["ours"] = am.decide(P, "f1", average="macro", per_row=per_row)

    calls = {"ours": ours}
    try:
        from xcolumns.block_coordinate import (
            predict_optimizing_macro_f1_score_using_bc as theirs_f1,
        )
    except ImportError:
        emit("per_row", "xCOLUMNs is not installed", None, "")
    else:

        def theirs() -> None:
            found["theirs"] = theirs_f1(P, per_row, seed=0, return_meta=True)

        calls["theirs"] = theirs
    what = f"macro F1, {per_row} labels a row, {kind}, {n:,} x {m:,}"
    am.decide(P[:50], "f1", average="macro", per_row=per_row)  # compile before timing
    if "theirs" in calls:
        theirs_f1(P[:50].copy(), per_row, seed=0)
    times = interleaved(calls, repeats)
    value = objective(P, found["ours"].labels)
    told = {"exact": found["ours"].expected, "plan": found["ours"].plan}
    seconds = float(np.median(times["ours"]))
    emit("per_row", f"{what}: time", seconds, "s", objective=value, **told)
    if "theirs" in calls:
        labels, meta = found["theirs"]
        other = objective(P, labels)
        emit(
            "per_row",
            f"{what}: objective over that of xCOLUMNs",
            value / other,
            "ratio",
            (">=", 1.0),
            difference=value - other,
        )
        emit(
            "per_row",
            f"{what}: times as fast as xCOLUMNs",
            median_ratio(times["theirs"], times["ours"]),
            "x",
            (">=", 10.0),
            seconds_of_xcolumns=float(np.median(times["theirs"])),
            passes_of_xcolumns=meta["iters"],
        )
