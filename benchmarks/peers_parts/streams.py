"""river and Vowpal Wabbit: F1 while learning from a stream, and rows per second.

Every row is predicted before its label is learned from. river takes rows one by one, as
dicts that were made beforehand; Vowpal Wabbit runs natively over a file in its own
format and hands its predictions out through a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from stream_parts.speed import dicts_of, in_blocks, write_vw

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
        rows, labels = dicts_of(X), y.astype(bool).tolist()
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
        single.add(name, y.size / theirs, y.size / timed(in_blocks(X, y, 1))[1])
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
        in_blocks(X[:FEW], y[:FEW], BLOCK)()  # compiles
        found, their_seconds = timed(made(X, y))
        ours, our_seconds = timed(in_blocks(X, y, BLOCK))
        if full and hasattr(X, "tocsr"):
            found = made(X.toarray(), y)()
        score.add(name, f1(y, read(found)), f1(y, ours))
        rate.add(name, y.size / their_seconds, y.size / our_seconds)
    return [score, rate]
