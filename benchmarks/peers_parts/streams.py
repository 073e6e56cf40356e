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
from search_parts.data import timed
from stream_parts.speed import dicts_of, in_blocks, write_vw

from peers_parts.cases import f1
from peers_parts.rows import Row

RIVER = "StandardScaler() | LogisticRegression()"
VW = "vw --loss_function logistic"
FIXED, TUNED = ", positive from {} on", ", cut tuned on the rows before"
OURS = "OnlineClassifier(), blocks of 1,000 rows"
BY_ROW = "OnlineClassifier(), one row a call"
BLOCKS = "LogisticRegression(), learn_many of 1,000 rows"
IN_THE_FOLDER = ("a9a", "elec2", "ijcnn1", "covtype")
BLOCK, FEW = 1_000, 2_000


@cache
def _streams(fast: bool) -> tuple[tuple[str, Any, np.ndarray], ...]:
    return tuple(_made(fast))


def _made(fast: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    from harness import MissingData
    from sklearn.datasets import make_classification

    n = 3_000 if fast else 20_000
    for seed, share in enumerate((0.5, 0.1, 0.02, 0.1)):
        X, y = make_classification(
            n,
            n_informative=6,
            n_clusters_per_class=3,
            weights=[1.0 - share],
            flip_y=0.02,
            random_state=2 + seed,
        )
        if seed < 3:
            yield f"generated, {share:.0%} positive", X, y
        else:  # in the middle the columns change their roles
            X[n // 2 :] = X[n // 2 :, ::-1].copy()
            yield f"generated, {share:.0%} positive, columns swapped half-way", X, y
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

    def prepare(X: Any, y: np.ndarray) -> Callable[[], np.ndarray]:
        rows, labels = dicts_of(X), y.astype(bool).tolist()
        scaled = not hasattr(X, "tocsr")

        def call() -> np.ndarray:
            model, scores = linear_model.LogisticRegression(), []
            if scaled:
                model = preprocessing.StandardScaler() | model
            for x, label in zip(rows, labels, strict=True):
                scores.append(model.predict_proba_one(x)[True])
                model.learn_one(x, label)
            return np.array(scores)

        return call

    rows = _beside(fast, RIVER, prepare, 0.5, full=True)
    single = Row("rows per CPU second", "rows/s", "higher", RIVER, BY_ROW, ratio=True)
    many = Row("rows per CPU second", "rows/s", "higher", BLOCKS, OURS, ratio=True)
    for name, X, y in _streams(fast):
        blocks = _blocks_of_river(X, y)
        blocks()
        theirs, ours = timed(blocks)[1], timed(in_blocks(X, y, BLOCK))[1]
        many.add(name, y.size / theirs, y.size / ours)
        X, y = X[:FEW], y[:FEW]
        theirs = timed(prepare(X, y))[1]
        single.add(name, y.size / theirs, y.size / timed(in_blocks(X, y, 1))[1])
    return [*rows, single, many]


def _blocks_of_river(X: Any, y: np.ndarray) -> Callable[[], None]:
    """Blocks of full rows as frames, cut beforehand; one step a block.

    They are not scaled: `learn_many` of its scaler may get negative variances.
    """
    import pandas as pd
    from river import linear_model

    full = pd.DataFrame(X.toarray() if hasattr(X, "tocsr") else X).rename(columns=str)
    labels = pd.Series(y.astype(bool))
    starts = range(0, y.size, BLOCK)
    blocks = [(full[i : i + BLOCK], labels[i : i + BLOCK]) for i in starts]

    def call() -> None:
        model = linear_model.LogisticRegression()
        for rows, truth in blocks:
            model.predict_proba_many(rows)
            model.learn_many(rows, truth)

    return call


def vowpal_wabbit(fast: bool) -> list[Row]:
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:

        def prepare(X: Any, y: np.ndarray) -> Callable[[], Path]:
            path, predictions = Path(folder, "rows.vw"), Path(folder, "predictions")
            write_vw(X, y, path)

            def call() -> Path:
                Workspace(
                    loss_function="logistic",
                    quiet=True,
                    data=str(path),
                    predictions=str(predictions),
                ).finish()
                return predictions

            return call

        return _beside(fast, VW, prepare, 0.0, np.loadtxt)


def _beside(
    fast: bool,
    peer: str,
    prepare: Callable[..., Any],
    cut: float,
    read: Callable[[Any], np.ndarray] = np.asarray,
    *,
    full: bool = False,
) -> list[Row]:
    """F1 with a fixed cut and with a tuned one, and speed.

    `read` makes scores of what the timed call returns. With `full` the F1 of a peer on
    a sparse set is that of full rows.
    """
    what, fixed_is = "F1 over the whole stream", peer + FIXED.format(f"{cut:g}")
    fixed = Row(what, "%", "higher", fixed_is, OURS)
    rate = Row("rows per CPU second", "rows/s", "higher", fixed_is, OURS, ratio=True)
    tuned = Row(what, "%", "higher", peer + TUNED, OURS)
    for name, X, y in _streams(fast):
        in_blocks(X[:FEW], y[:FEW], BLOCK)()  # compiles
        output, their_seconds = timed(prepare(X, y))
        labels, our_seconds = timed(in_blocks(X, y, BLOCK))
        if full and hasattr(X, "tocsr"):
            output = prepare(X.toarray(), y)()
        scores, ours = read(output), f1(y, labels)
        fixed.add(name, f1(y, scores >= cut), ours)
        tuned.add(name, f1(y, cut_on_past(y, scores, cut)), ours)
        rate.add(name, y.size / their_seconds, y.size / our_seconds)
    return [fixed, rate, tuned]


def cut_on_past(y: np.ndarray, scores: np.ndarray, cut: float) -> np.ndarray:
    """Return labels by the cut with the best F1 on the rows before each block."""
    labels = scores >= cut
    for start in range(BLOCK, y.size, BLOCK):
        if y[:start].any():
            cut = best_cut(y[:start], scores[:start])
        labels[start : start + BLOCK] = scores[start : start + BLOCK] >= cut
    return labels


def best_cut(y: np.ndarray, scores: np.ndarray) -> float:
    """Return the largest score c with the best F1 of `scores >= c`."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(y[order])[ends]
    return float(scores[order][ends][np.argmax(hits / (ends + 1 + y.sum()))])
