"""Sets with rare classes, five kinds of models, and batches of their rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from search_parts.data import letters
from tabular import class_probabilities, load, new_model

import argmetric as am

DROPPED = {"optdigits": 40, "digits": 40, "ocr": 64}  # columns, to leave errors
RATIOS = {"digits": 10, "ocr": 30, "generated": 30}  # of every set
MOST_CLASSES = 12  # of ocr the most frequent: tuned weights are slow to find
REFERENCES = (200, 1000, 3000)
BATCHES = {50: 3, 200: 2, 1000: 1, 10**9: 1}  # rows, and how many batches of them
SETTINGS: dict[str, dict[str, Any]] = {
    "logistic": {"max_iter": 500},
    "forest": {"n_estimators": 60},
    "boosting": {"max_iter": 15, "max_leaf_nodes": 15},
    "neighbours": {},
    "bayes": {"var_smoothing": 1e-3},
}
MOST_ROWS, TRAIN, TEST = 20_000, 1200, 3000


@dataclass(frozen=True, eq=False)
class Case:
    """The probabilities of one model on the rows of one set, with their labels."""

    name: str
    ratio: int
    model: str
    count: int
    reference: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def loaded(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of a set; "generated" is no real one."""
    if name == "generated":
        from sklearn.datasets import make_classification

        return make_classification(
            12_000,
            n_features=20,
            n_informative=8,
            n_classes=8,
            n_clusters_per_class=2,
            class_sep=1.2,
            random_state=0,
        )
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X / 16.0, y
    if name == "ocr":
        return letters().pixels.astype(float), letters().labels
    table = load(name)
    return table.X, table.y


def thinned(name: str, ratio: int) -> Any:
    """Rows of a set, shuffled, with classes up to `ratio` times as rare."""
    X, y = loaded(name)
    found, counts = np.unique(y, return_counts=True)
    kept = np.sort(found[np.argsort(-counts)[:MOST_CLASSES]])
    rng = np.random.default_rng(ratio)
    rows = rng.permutation(np.flatnonzero(np.isin(y, kept)))[:MOST_ROWS]
    if ratio > 1:
        keep = ratio ** -(rng.permutation(kept.size) / (kept.size - 1.0))
        parts = [rows[y[rows] == one] for one in kept]
        sizes = [max(int(k * p.size), 12) for k, p in zip(keep, parts, strict=True)]
        parts = [p[:size] for p, size in zip(parts, sizes, strict=True)]
        rows = rng.permutation(np.concatenate(parts))
    columns = rng.permutation(X.shape[1])[DROPPED.get(name, 0) :]
    return X[rows][:, columns], np.searchsorted(kept, y[rows]), kept.size


def models() -> dict[str, Any]:
    return {kind: new_model(kind, **settings) for kind, settings in SETTINGS.items()}


@cache
def cases(quick: bool) -> list[Case]:
    """Every model on every set and variant."""
    return list(_cases(quick))


def _cases(quick: bool) -> Iterator[Case]:
    names = ("digits",) if quick else RATIOS
    kinds = {k: v for k, v in models().items() if not quick or k != "boosting"}
    for name, thin in itertools.product(names, (True,) if quick else (0, 1)):
        ratio = RATIOS[name] if thin else 1
        X, y, count = thinned(name, ratio)
        n_train = min(TRAIN, y.size // 3)
        fits = [one for one in REFERENCES if y.size - n_train >= 2 * one]
        m = max(fits, default=REFERENCES[0])
        test = slice(n_train + m, n_train + m + TEST)
        for kind, model in kinds.items():
            model.fit(X[:n_train], y[:n_train])
            P = class_probabilities(model, X, count)
            part = slice(n_train, n_train + m)
            yield Case(name, ratio, kind, count, (y[part], P[part]), (y[test], P[test]))


def fitted_models(quick: bool) -> Iterator[Any]:
    """A model that is not fitted, rows and labels."""
    kinds = ("logistic",) if quick else ("logistic", "forest", "bayes")
    for (name, ratio), kind in itertools.product(RATIOS.items(), kinds):
        X, y, _ = thinned(name, ratio)
        yield models()[kind], X, y


@dataclass(frozen=True)
class Setting:
    """A case with a calibrator, and one batch of its test rows."""

    case: Case
    m: int
    size: int
    calibrator: Any
    tuned: Any
    y: np.ndarray
    P: np.ndarray

    @property
    def rows(self) -> str:
        return f"{self.size:,}" if self.size < 10**9 else "all"


@cache
def calibrated(case: Case, m: int) -> Any:
    """Return the calibrator of the first m rows of the reference."""
    y, P = (one[:m] for one in case.reference)
    return am.classes.calibrate(y, P, classes=range(case.count))


def settings(quick: bool, *, tune: bool) -> Iterator[Setting]:
    for case in cases(quick):
        for m in REFERENCES:
            if m > case.reference[0].size:
                continue
            y, P = (one[:m] for one in case.reference)
            names = range(case.count)
            found = calibrated(case, m)
            rule = None
            if tune:
                rule = am.classes.tune(
                    y, P, "f1", classes=names, n_bootstrap=0, cv=None
                )
            truth, scores = case.test
            for size, most in BATCHES.items():
                n = min(size, truth.size)
                if n < size < 10**9:
                    continue
                for i in range(min(most, truth.size // n)):
                    part = slice(i * n, i * n + n)
                    yield Setting(case, m, size, found, rule, truth[part], scores[part])
