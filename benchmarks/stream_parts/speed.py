"""1. Rows per second beside river and Vowpal Wabbit, and what a rule adds.

All three learn the same logistic regression by SGD and predict every row before they
learn from it. argmetric takes the rows in blocks of 50,000, as arrays; river takes
them one by one, as dicts that were made beforehand; Vowpal Wabbit runs natively over a
file of its own format, with its two threads, and hands its predictions out as it can,
through a file: from them alone F1 is known. Beside that it runs without handing them
out.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit, interleaved, median_ratio

from argmetric.stream import FixedRule, FOFORule, OnlineClassifier
from stream_parts.sets import tasks_of

SETS = ("a9a", "w8a", "ijcnn1", "covtype")
BLOCK = 50_000
RIVER_ROWS = 5_000
RULES = ("ofo", "newton", "histogram")


def run(*, quick: bool) -> None:
    for name in SETS[:1] if quick else SETS:
        task = tasks_of(name, (3,))[0]
        most = 5_000 if quick else task.n
        order = np.random.default_rng(0).permutation(task.n)[:most]
        X, y = task.X[order], task.y[order]
        repeats = 2 if quick else 5
        _rates(name, X, y, repeats)
        _overhead(name, X, y, repeats)


def in_blocks(
    X: Any, y: np.ndarray, size: int, **options: Any
) -> Callable[[], np.ndarray]:
    """Predict and learn; blocks are cut beforehand: a stream would bring them so."""
    cuts = range(0, y.size, size)
    blocks = [(X[i : i + size], y[i : i + size]) for i in cuts]

    def call() -> np.ndarray:
        model = OnlineClassifier(**options)
        labels = [model.progressive(*block, classes=[0, 1]) for block in blocks]
        return np.concatenate(labels)

    return call


def _ours(
    X: Any, y: np.ndarray, rule: Any, size: int = BLOCK
) -> Callable[[], np.ndarray]:
    return in_blocks(X, y, size, rule=rule, learner="sgd", step=1.0)


def _river(X: Any, y: np.ndarray) -> Callable[[], None]:
    from river import linear_model, optim

    rows, labels = dicts_of(X), y.astype(bool).tolist()

    def call() -> None:
        step = optim.schedulers.InverseScaling(1.0, 0.5)
        model = linear_model.LogisticRegression(optim.SGD(step), intercept_lr=step)
        for x, label in zip(rows, labels, strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    return call


def dicts_of(X: Any) -> list[dict[str, float]]:
    """Rows as river takes them: of sparse ones the filled cells."""
    names = [str(j) for j in range(X.shape[1])]
    if not hasattr(X, "tocsr"):
        return [dict(zip(names, row, strict=True)) for row in X.tolist()]
    X = X.tocsr()
    ends, columns, data = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
    return [
        {names[j]: v for j, v in zip(columns[a:b], data[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]


def _vw(path: Path, **options: Path) -> Callable[[], None]:
    from vowpalwabbit import Workspace

    files = {name: str(file) for name, file in options.items()}

    def call() -> None:
        Workspace(
            loss_function="logistic",
            sgd=True,
            learning_rate=1.0,
            power_t=0.5,
            quiet=True,
            data=str(path),
            **files,
        ).finish()

    return call


def write_vw(X: Any, y: np.ndarray, path: Path) -> None:
    from scipy.sparse import csr_matrix

    X = csr_matrix(X)
    ends, columns, data = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
    with path.open("w") as file:
        for i, label in enumerate(y.tolist()):
            pairs = zip(
                columns[ends[i] : ends[i + 1]], data[ends[i] : ends[i + 1]], strict=True
            )
            text = " ".join(f"{j}:{value:g}" for j, value in pairs)
            file.write(f"{1 if label else -1} | {text}\n")


def _rates(name: str, X: Any, y: np.ndarray, repeats: int) -> None:
    """Rows per second of CPU time of each, taken in turns."""
    calls = {"argmetric": _ours(X, y, FOFORule(n=y.size))}
    rows = {"argmetric": y.size}
    targets = {"river, row by row": 80.0, "VW native, with predictions": 30.0}
    if importlib.util.find_spec("river"):
        few = min(RIVER_ROWS, y.size)
        calls["river, row by row"] = _river(X[:few], y[:few])
        rows["river, row by row"] = few
    with tempfile.TemporaryDirectory() as folder:
        if importlib.util.find_spec("vowpalwabbit"):
            few = min(200_000, y.size)
            path = Path(folder, "rows.vw")
            write_vw(X[:few], y[:few], path)
            given = Path(folder, "given")
            natively = {
                "VW native, with predictions": _vw(path, predictions=given),
                "VW native, no predictions": _vw(path),
            }
            calls |= natively
            rows |= dict.fromkeys(natively, few)
        for call in calls.values():  # compiles
            call()
        cpu = interleaved(calls, repeats)
    for what in targets:
        if what not in calls:
            emit("speed", f"{name}: {what} is not installed", None, "x")
    for what in list(calls)[1:]:
        scale = y.size / rows[what]
        emit(
            "speed",
            f"{name}, {y.size:,} x {X.shape[1]}: FOFO + SGD in blocks against {what}",
            median_ratio(cpu[what], cpu["argmetric"]) * scale,
            "x the rows per second of CPU time",
            (">=", targets[what]) if what in targets else None,
            rows_per_second=y.size / min(cpu["argmetric"]),
            rows_per_second_of_peer=rows[what] / min(cpu[what]),
        )


def _overhead(name: str, X: Any, y: np.ndarray, repeats: int) -> None:
    """The rules against the learner alone (a fixed threshold), taken in turns."""
    calls = {"fixed": _ours(X, y, FixedRule(0.5))}
    calls |= {"fofo": _ours(X, y, FOFORule(n=y.size))}
    calls |= {rule: _ours(X, y, rule) for rule in RULES}
    for call in calls.values():
        call()
    times = interleaved(calls, 3 * repeats)
    for rule in list(calls)[1:]:
        ratio, goal = min(times[rule]) / min(times["fixed"]), ("<=", 1.4)
        target = goal if rule == "fofo" else None
        emit("speed", f"{name}: SGD with {rule}", ratio, "x the learner alone", target)
    sizes = {str(n): _ours(X, y, FOFORule(n=y.size), n) for n in (1_000, BLOCK)}
    few, many = map(min, interleaved(sizes, repeats).values())
    what, unit = f"{name}: FOFO + SGD, blocks of 1,000 rows", f"x that of {BLOCK:,}"
    emit("speed", what, few / many, unit)
