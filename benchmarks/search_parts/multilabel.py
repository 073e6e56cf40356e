"""8. Labels of a row: pictures of SCENE, and rows drawn from chains of labels.

The score is F1 of a row's labels, averaged over rows, 0/0 counted as 1. The default
step, epochs and order of `MultiLabelTagger` were chosen on other splits of the same
pictures, test rows included, and on three other drawn sets: its rows of SCENE are a
little flattered.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit
from tabular import load

import argmetric as am
from argmetric.search import MultiLabelTagger
from search_parts.data import data_file, mean_and_error, simple_table, timed

SPLITS = 3
FIRST_SEED = 100  # seeds below were used to choose the defaults
ROLL_INS = ("mixed", "own", "gold", "none")
BEAM = 5
STRENGTHS = (1.0, 0.1)  # of logistic regression: the default, and one for SCENE


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by."""

    X: np.ndarray
    Y: np.ndarray
    unseen: np.ndarray
    truth: np.ndarray

    def first(self, n: int) -> Split:
        return Split(self.X[:n], self.Y[:n], self.unseen[:n], self.truth[:n])


def scene(seed: int) -> Split:
    """Half of the pictures to learn from; standardised, without their labels."""
    X = load("scene").X
    with np.load(data_file("tabular/scene.npz")) as arrays:
        Y = arrays["Y"].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    return Split(X[train], Y[train], X[test], Y[test])


def chain(seed: int, n_labels: int, n: int = 3000, width: int = 30) -> Split:
    """Labels that depend on the row and on two in five of those before them."""
    model = np.random.default_rng(n_labels)
    weights = 1.5 * model.normal(size=(width, n_labels)) / np.sqrt(width)
    chosen = model.random((n_labels, n_labels)) < 0.4
    between = chosen * model.normal(size=(n_labels, n_labels))
    intercepts = model.normal(size=n_labels) - 2.0
    columns = model.permutation(n_labels)
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, width)), np.zeros((n, n_labels), dtype=np.int64)
    for j in range(n_labels):
        score = X @ weights[:, j] + intercepts[j]
        score += (2 * Y[:, :j] - 1) @ between[j, :j]
        Y[:, j] = rng.logistic(size=n) < score
    Y, half = Y[:, columns], n // 2
    return Split(X[:half], Y[:half], X[half:], Y[half:])


SETS: dict[str, Callable[[int], Split]] = {
    "SCENE, 6 labels": scene,
    "chain, 10 labels": lambda seed: chain(seed, 10),
    "chain, 40 labels": lambda seed: chain(seed, 40),
}


def f1(truth: np.ndarray, labels: Any) -> float:
    score = am.evaluate(truth, labels, "f1", average="samples", zero_division=1.0)
    return 100.0 * float(score)


def tagger(beam: int = 1, **options: Any) -> Callable[[Split], Any]:
    return lambda s: MultiLabelTagger(beam=beam, **options).fit(s.X, s.Y).predict


def apart(C: float) -> Callable[[Split], Any]:
    """Logistic regression for each label, cut at a half."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    model = OneVsRestClassifier(LogisticRegression(C=C, max_iter=1000))
    return lambda s: model.fit(s.X, s.Y).predict


def decided(C: float) -> Callable[[Split], Any]:
    """The same probabilities, decided for the expected F1 of each row."""

    def learn(s: Split) -> Any:
        model = apart(C)(s).__self__

        def labels(X: np.ndarray) -> np.ndarray:
            p = model.predict_proba(X)
            return am.decide(p, "f1", average="samples", zero_division=1.0).labels

        return labels

    return learn


def chained(C: float) -> Callable[[Split], Any]:
    """Right labels as history; the policy's own in prediction."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain

    model = ClassifierChain(LogisticRegression(C=C, max_iter=1000))
    return lambda s: model.fit(s.X, s.Y).predict


def peers() -> dict[str, Callable[[Split], Any]]:
    found = {}
    for C in STRENGTHS:
        found[f"one against rest, C={C:g}, cut at 0.5"] = apart(C)
        found[f"ClassifierChain, C={C:g}"] = chained(C)
        found[f"one against rest, C={C:g}, argmetric.decide"] = decided(C)
    return found


def ways() -> dict[str, Callable[[Split], Any]]:
    found = {}
    for roll_in in ROLL_INS:
        found[f"greedy, roll-in {roll_in}"] = tagger(roll_in=roll_in)
        if roll_in != "none":  # a beam has nothing to search for there
            found[f"beam {BEAM}, roll-in {roll_in}"] = tagger(BEAM, roll_in=roll_in)
    found["greedy, costs zero_one"] = tagger(costs="zero_one")
    found[f"beam {BEAM}, costs zero_one"] = tagger(BEAM, costs="zero_one")
    found["greedy, roll-in none, costs zero_one"] = tagger(
        roll_in="none", costs="zero_one"
    )
    return found | peers()


def run(*, quick: bool, figures: Path | None) -> str:
    """Measure, and return the table."""
    warm = chain(0, 3, 40)
    tagger()(warm)(warm.unseen)
    rows: dict[str, list[str]] = {name: [name] for name in ways()}
    for what, draw in SETS.items():
        splits = [draw(FIRST_SEED + i) for i in range(1 if quick else SPLITS)]
        if quick:
            splits = [split.first(200) for split in splits]
        for name, learn in ways().items():
            scores, seconds = [], []
            for split in splits:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # a label never on
                    predict, spent = timed(partial(learn, split))
                scores.append(f1(split.truth, predict(split.unseen)))
                seconds.append(spent)
            mean, spread = mean_and_error(scores)
            emit(
                "multilabel",
                f"{what}: {name}",
                mean,
                "F1, %",
                spread=spread,
                runs=scores,
                train_cpu_seconds=float(np.mean(seconds)),
            )
            rows[name].append(f"{mean:.1f} ± {spread:.1f}, {np.mean(seconds):.2f} s")
        _epoch(what, splits[0])
    return simple_table(["F1 of rows, %; training", *SETS], list(rows.values()))


def _epoch(what: str, split: Split) -> None:
    """CPU seconds of more epochs, so that reading of the rows does not count."""
    few, many = 5, 25
    spent = [
        min(timed(lambda e=e: tagger(epochs=e)(split))[1] for _ in range(3))
        for e in (few, many)
    ]
    seconds = (spent[1] - spent[0]) / (many - few)
    emit(
        "multilabel",
        f"{what}: one epoch of {len(split.X):,} rows",
        1e3 * seconds,
        "CPU ms",
        microseconds_per_decision=1e6 * seconds / split.Y.size,
    )
