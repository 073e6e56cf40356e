"""2. What a fit costs, as a multiple of scikit-learn's.

Both with one BLAS thread, which on two cores is also the quicker way for scikit-learn.
All calls are taken in turns. How long a fit for the metric takes
depends on its random starts, so there are several seeds, and the slowest is judged.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from harness import emit, interleaved, wall_seconds
from tabular import load
from threadpoolctl import threadpool_limits

import argmetric as am

SETS = {"a9a": 1, "covtype": 3}  # and the class that is the positive one
STARTS = 5
SEEDS = (0, 1, 2)


def run(*, quick: bool) -> None:
    for name, positive in SETS.items():
        table = load(name)
        y = (table.y == positive).astype(np.int64)
        X = table.X
        if quick:
            rows = np.random.default_rng(0).permutation(y.size)[:3_000]
            X, y = X[rows], y[rows]
        with threadpool_limits(1):
            _fits(name, X, y, 1 if quick else 2 if y.size > 200_000 else 5)


def _fits(name: str, X: Any, y: np.ndarray, repeats: int) -> None:
    """Whole fits from the same defaults; what each took to converge is beside it."""
    from sklearn.linear_model import LogisticRegression

    models: dict[str, Any] = {"sklearn": LogisticRegression(solver="lbfgs")}
    for seed in SEEDS:
        models[f"soft, seed {seed}"] = am.MetricLogisticRegression(
            "f1", n_restarts=STARTS, random_state=seed
        )
    models["expected, seed 0"] = am.MetricLogisticRegression(
        "f1", objective="expected", n_restarts=STARTS, random_state=0
    )
    mixed = np.concatenate([np.flatnonzero(y == c)[:300] for c in (0, 1)])
    for objective in ("soft", "expected"):  # compiles
        am.MetricLogisticRegression("f1", objective=objective).fit(X[mixed], y[mixed])
    calls = {name: partial(model.fit, X, y) for name, model in models.items()}
    every = interleaved(calls, repeats, wall_seconds)
    times = {name: min(seconds) for name, seconds in every.items()}
    slowest = max(times[f"soft, seed {seed}"] for seed in SEEDS)
    setting = f"{name}, {y.size:,} x {X.shape[1]}: fit"
    what = f"{setting}, soft, {STARTS} starts, slowest of {len(SEEDS)} seeds"
    unit, plain = "x LogisticRegression(lbfgs), wall", times["sklearn"]
    emit("speed", what, slowest / plain, unit, ("<=", 5.0))
    for one in list(models)[1:]:
        told = {"fit_s": times[one], "sklearn_s": plain}
        emit("speed", f"{setting}, {one}", times[one] / plain, unit, **told)
