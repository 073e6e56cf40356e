"""xCOLUMNs: macro-F1 of label matrices, and of several classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from search_parts.data import timed
from tabular import class_probabilities

import argmetric as am
from peers_parts.cases import f1, models
from peers_parts.rows import Row

SEEDS = 5
FEWEST = 20  # rows of a label, in both halves
SEARCH = "predict_optimizing_macro_f1_score_using_bc"
LABELS = (f"{SEARCH}(P, k=0)", 'decide(P, "f1", average="macro", zero_division=0)')
CLASSES = (f"{SEARCH}(P, k=1)", 'classes.decide(P, "f1", zero_division=0)')


def run(fast: bool) -> list[Row]:
    return [*_matrices(fast), *_classes(fast)]


def _search(P: np.ndarray, k: int) -> np.ndarray:
    from xcolumns import block_coordinate

    found = getattr(block_coordinate, SEARCH)(P, k=k, seed=0)
    return np.asarray(found[0] if isinstance(found, tuple) else found).astype(int)


def _macro(Y: np.ndarray, Z: np.ndarray) -> float:
    return float(np.mean([f1(y, z) for y, z in zip(Y.T, Z.T, strict=True)]))


def _matrices(fast: bool) -> list[Row]:
    value = Row("expected macro-F1, 10 labels", "%", "higher", *LABELS)
    actual = Row("actual macro-F1, 10 labels", "%", "higher", *LABELS)
    spent = Row("decide 10 labels of 1,000 rows", "CPU s", "lower", *LABELS, ratio=True)
    for case, unit, Y, P in _label_cases(fast):

        def ours(P: np.ndarray = P) -> Any:
            return am.decide(P, "f1", average="macro", zero_division=0.0)

        _search(P[:20], 0), ours(P[:20])  # imports and compilation are not timed
        theirs, their_seconds = timed(lambda P=P: _search(P, 0))
        decided, our_seconds = timed(ours)
        both = theirs, np.asarray(decided.labels)
        value.add(case, *(100 * _expected(P, Z) for Z in both), unit=unit)
        actual.add(case, *(_macro(Y, Z) for Z in both), unit=unit)
        spent.add(case, their_seconds, our_seconds, unit=unit)
    return [value, actual, spent]


def _expected(P: np.ndarray, Z: np.ndarray) -> float:
    """The exact expected macro-F1 of labels."""
    return float(am.forecast(P, Z, "f1", average="macro", zero_division=0.0).mean)


def _label_cases(fast: bool) -> Iterator[tuple[str, str, np.ndarray, np.ndarray]]:
    """Yield cases, the data that some share, labels and probabilities."""
    from sklearn.datasets import make_multilabel_classification

    for seed in range(1 if fast else SEEDS):
        X, Y = make_multilabel_classification(
            2_000, n_features=20, n_classes=20, n_labels=3, random_state=seed
        )
        often = np.minimum(Y[:1_000].sum(axis=0), Y[1_000:].sum(axis=0))
        Y = Y[:, np.flatnonzero(often >= FEWEST)[:10]]
        for kind, model in models().items():
            P = np.column_stack([_probabilities(model, X, y) for y in Y.T])
            yield f"generated, {kind}, seed {seed}", f"seed {seed}", Y[1_000:], P


def _probabilities(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of the second half of the rows, from the first."""
    half = y.size // 2
    return np.asarray(model.fit(X[:half], y[:half]).predict_proba(X[half:])[:, 1])


def _classes(fast: bool) -> list[Row]:
    """Digits, thinned so that classes are up to ten times as rare as others."""
    from sklearn.datasets import load_digits

    actual = Row("actual macro-F1, 10 classes", "%", "higher", *CLASSES)
    spent = Row(
        "decide 10 classes of some 400 rows", "CPU s", "lower", *CLASSES, ratio=True
    )
    X, y = load_digits(return_X_y=True)
    X = X[:, :32]
    for seed in range(1 if fast else SEEDS):
        rng = np.random.default_rng(seed)
        keep = 10.0 ** -(rng.permutation(10) / 9.0)
        rows = rng.permutation(np.flatnonzero(rng.random(y.size) < keep[y]))
        train, test = np.array_split(rows, 2)
        for kind, model in models().items():
            model.fit(X[train], y[train])
            P = class_probabilities(model, X[test], 10)

            def ours(P: np.ndarray = P) -> Any:
                return am.classes.decide(
                    P, "f1", classes=range(10), zero_division=0.0
                ).labels

            _search(P[:20], 1), ours(P[:20])
            theirs, their_seconds = timed(lambda P=P: _search(P, 1).argmax(axis=1))
            mine, our_seconds = timed(ours)
            case = f"digits, {kind}, seed {seed}"
            truth = np.eye(10)[y[test]]
            both = np.eye(10)[theirs], np.eye(10)[np.asarray(mine)]
            actual.add(case, *(_macro(truth, Z) for Z in both), unit=f"seed {seed}")
            spent.add(case, their_seconds, our_seconds, unit=f"seed {seed}")
    return [actual, spent]
