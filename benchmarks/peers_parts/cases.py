"""Sets that everybody has, more where the data folder is, and five kinds of models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from tabular import load, new_model

EMBEDDED = ("breast cancer", "diabetes", "digits", "generated")
IN_THE_FOLDER = ("letter", "magic", "mammography")
SETTINGS: dict[str, dict[str, Any]] = {
    "logistic": {"max_iter": 500},
    "forest": {"n_estimators": 50},
    "boosting": {"max_iter": 40, "max_leaf_nodes": 15},
    "neighbours": {},
    "bayes": {"var_smoothing": 1e-3},
}
MOST = 3000  # rows of a set


def models() -> dict[str, Any]:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        kind: make_pipeline(StandardScaler(), new_model(kind, **settings))
        for kind, settings in SETTINGS.items()
    }


@cache
def loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and 0/1 labels."""
    from sklearn import datasets

    if name == "breast cancer":  # malignant is positive; ten columns leave errors
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return X[:, :10], 1 - y
    if name == "diabetes":
        X, progress = datasets.load_diabetes(return_X_y=True)
        return X, (progress >= np.quantile(progress, 0.8)).astype(int)
    if name == "digits":  # eights; the upper half of the image leaves errors
        X, y = datasets.load_digits(return_X_y=True)
        return X[:, :32], (y == 8).astype(int)
    if name == "generated":
        return datasets.make_classification(
            MOST,
            n_informative=6,
            n_clusters_per_class=3,
            weights=[0.9],
            flip_y=0.05,
            random_state=0,
        )
    table = load(name)
    y = table.y == (table.y.max() // 2 if name == "letter" else 1)
    rows = np.random.default_rng(0).permutation(y.size)[:MOST]
    return np.asarray(table.X)[rows], y[rows].astype(int)


def names(fast: bool) -> list[str]:
    """The sets that are at hand."""
    from harness import MissingData

    found = list(EMBEDDED[:2] if fast else EMBEDDED)
    for name in () if fast else IN_THE_FOLDER:
        try:
            loaded(name)
        except MissingData:
            continue
        found.append(name)
    return found


@dataclass(frozen=True, eq=False)
class Scored:
    """What a model says of rows that it was not fitted on: labelled ones, and new."""

    name: str
    data: str
    held_y: np.ndarray
    held_p: np.ndarray
    y: np.ndarray
    p: np.ndarray


def split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Train 40 %, held 30 %, test 30 % of the rows, at random."""
    n = loaded(name)[1].size
    order = np.random.default_rng(seed).permutation(n)
    return tuple(np.split(order, [int(0.4 * n), int(0.7 * n)]))


@cache
def scored(fast: bool, seeds: int) -> tuple[Scored, ...]:
    return tuple(_scored(fast, 1 if fast else seeds))


def _scored(fast: bool, seeds: int) -> Iterator[Scored]:
    for name in names(fast):
        X, y = loaded(name)
        for seed in range(seeds):
            train, held, test = split(name, seed)
            for kind, model in models().items():
                model.fit(X[train], y[train])
                p = model.predict_proba(X)[:, 1]
                yield Scored(
                    f"{name}, {kind}, seed {seed}",
                    name,
                    y[held],
                    p[held],
                    y[test],
                    p[test],
                )


def f1(y: np.ndarray, labels: np.ndarray) -> float:
    """F1 in percent; 0/0 counts 0."""
    y, labels = np.asarray(y, dtype=bool), np.asarray(labels, dtype=bool)
    both = int(y.sum() + labels.sum())
    return 200.0 * int((y & labels).sum()) / both if both else 0.0
