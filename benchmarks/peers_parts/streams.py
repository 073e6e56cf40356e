"""river and Vowpal Wabbit: F1 while learning from a stream, and rows per second.

Every row is predicted before its label is learned from. river takes rows one by one, as
dicts that were made beforehand; Vowpal Wabbit runs natively over a file in its own
format and hands its predictions out through a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from stream_parts.speed import _write_vw as write_vw

from argmetric.stream import OnlineClassifier
from peers_parts.cases import f1
from peers_parts.rows import Row, timed

RIVER = "StandardScaler() | LogisticRegression(), positive from 0.5 on"
VW = "vw --loss_function logistic, positive from 0 on"
OURS = "OnlineClassifier(), blocks of 1,000 rows"
BY_ROW = "OnlineClassifier(), one row a call"
IN_THE_FOLDER = ("a9a", "elec2", "ijcnn1", "covtype")
BLOCK, FEW = 1_000, 2_000


@cache
def _streams(fast: bool) -> tuple[tuple[str, Any, np.ndarray], ...]:
    return tuple(_made(fast))


def _made(fast: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    from harness import MissingData
    from sklearn.datasets import make_classification

    n = 3_000 if fast else 20_000
    for share in (0.5, 0.1, 0.02):
        X, y = make_classification(
            n,
            n_informative=6,
            n_clusters_per_class=3,
            weights=[1.0 - share],
            flip_y=0.02,
            random_state=2,
        )
        yield f"generated, {share:.0%} positive", X, y
        if share == 0.1:  # in the middle the columns change their roles
            X = X.copy()
            X[n // 2 :] = X[n // 2 :, ::-1]
            yield "generated, 10% positive, columns swapped half-way", X, y
    for name in () if fast else IN_THE_FOLDER:
        try:
            from stream_parts.sets import tasks_of

            task = tasks_of(name, (3,))[0]
        except MissingData:
            continue
        order = np.arange(min(n, task.n))
        if name == "covtype":  # sorted by place
            order = np.random.default_rng(0).permutation(task.n)[:n]
        yield task.name, task.X[order], task.y[order]


def river(fast: bool) -> list[Row]:
    """F1 of full rows that are scaled; the speed on sparse sets is that without both.

    The scaler sees filled cells alone: of sparse rows it makes every flag 0.
    """
    from river import linear_model, preprocessing

    def made(X: Any, y: np.ndarray) -> Callable[[], np.ndarray]:
        rows, labels = _dicts(X), y.astype(bool).tolist()
        scaled = not hasattr(X, "tocsr")

        def call() -> np.ndarray:
            model, found = linear_model.LogisticRegression(), []
            if scaled:
                model = preprocessing.StandardScaler() | model
            for x, label in zip(rows, labels, strict=True):
                found.append(bool(model.predict_one(x)))
                model.learn_one(x, label)
            return np.array(found)

        return call

    rows = _beside(fast, RIVER, made, full=True)
    single = Row("rows per CPU second", "rows/s", "higher", RIVER, BY_ROW, ratio=True)
    for name, X, y in _streams(fast):
        X, y = X[:FEW], y[:FEW]
        theirs = timed(made(X, y))[1]
        single.add(name, y.size / theirs, y.size / timed(_ours(X, y, 1))[1])
    return [*rows, single]


def vowpal_wabbit(fast: bool) -> list[Row]:
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:

        def made(X: Any, y: np.ndarray) -> Callable[[], Path]:
            path, given = Path(folder, "rows.vw"), Path(folder, "given")
            write_vw(X, y, path)

            def call() -> Path:
                Workspace(
                    loss_function="logistic",
                    quiet=True,
                    data=str(path),
                    predictions=str(given),
                ).finish()
                return given

            return call

        return _beside(fast, VW, made, lambda path: np.loadtxt(path) >= 0)


def _beside(
    fast: bool,
    theirs: str,
    made: Callable[..., Any],
    read: Callable[[Any], np.ndarray] = np.asarray,
    *,
    full: bool = False,
) -> list[Row]:
    """F1 and speed; `read` makes labels of what the timed call hands out.

    With `full` the F1 of a peer on a sparse set is that of full rows.
    """
    score = Row("F1 over the whole stream", "%", "higher", theirs, OURS)
    rate = Row("rows per CPU second", "rows/s", "higher", theirs, OURS, ratio=True)
    for name, X, y in _streams(fast):
        _ours(X[:FEW], y[:FEW], BLOCK)()  # compiles
        found, their_seconds = timed(made(X, y))
        ours, our_seconds = timed(_ours(X, y, BLOCK))
        if full and hasattr(X, "tocsr"):
            found = made(X.toarray(), y)()
        score.add(name, f1(y, read(found)), f1(y, ours))
        rate.add(name, y.size / their_seconds, y.size / our_seconds)
    return [score, rate]


def _ours(X: Any, y: np.ndarray, size: int) -> Callable[[], np.ndarray]:
    """Blocks are cut beforehand: a stream would bring them so."""
    blocks = [(X[i : i + size], y[i : i + size]) for i in range(0, y.size, size)]

    def call() -> np.ndarray:
        model = OnlineClassifier()
        return np.concatenate(
            [model.progressive(*block, classes=[0, 1]) for block in blocks]
        )

    return call


def _dicts(X: Any) -> list[dict[str, float]]:
    names = [str(j) for j in range(X.shape[1])]
    if not hasattr(X, "tocsr"):
        return [dict(zip(names, row, strict=True)) for row in X.tolist()]
    X = X.tocsr()
    ends, columns, data = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
    return [
        {names[j]: v for j, v in zip(columns[a:b], data[a:b], strict=True)}
        for a, b in pairwise(ends)
    ]
