"""Binary tasks of the tabular sets, and what all sections do with a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from tabular import load

from argmetric.stream import OnlineClassifier

ONE_VERSUS_REST = {"covtype": range(1, 8), "letter": range(26), "optdigits": range(10)}
BINARY = (
    *("a9a", "ijcnn1", "w8a", "annthyroid", "bio_kdd04", "breastw", "celeba"),
    *("cover_odds", "elec2", "magic", "mammography", "optdigits_odds"),
    *("pendigits_odds", "reuters_tick", "scene", "shuttle", "smtp", "spamassassin"),
    *("spambase", "spambase_ad", "wdbc"),
)


@dataclass(frozen=True)
class Task:
    """A stream: rows in their published order, and labels 0 and 1."""

    name: str
    family: str
    X: Any
    y: np.ndarray

    @property
    def n(self) -> int:
        return int(self.y.size)


def tasks_of(name: str, classes: Any = None) -> list[Task]:
    """All tasks of a set: itself, or one class against the rest."""
    table = load(name)
    X = table.X
    if name == "covtype":  # as CSR: twelve of its 54 columns are filled in every row
        X = csr_matrix(X)
    if name in ONE_VERSUS_REST:
        return [
            Task(f"{name} {_called(name, c)}", name, X, (table.y == c).astype(np.int64))
            for c in (ONE_VERSUS_REST[name] if classes is None else classes)
        ]
    return [Task(name, name, X, (table.y == 1).astype(np.int64))]


def _called(name: str, c: int) -> str:
    return chr(ord("A") + c) if name == "letter" else str(c)


def probabilities(X: Any, y: np.ndarray, **options: Any) -> np.ndarray:
    """What a learner thinks of every row before it sees the label."""
    from sklearn import config_context

    model = OnlineClassifier(rule="fixed", **options)
    with config_context(assume_finite=True):
        _, p = model.progressive(X, y, classes=[0, 1], return_proba=True)
    return np.asarray(p)


def f_score(y: np.ndarray, labels: np.ndarray) -> float:
    """F1 in points."""
    hits = float((y * labels).sum())
    total = float(y.sum() + labels.sum())
    return 200.0 * hits / total if total else 100.0


def best_fixed(y: np.ndarray, p: np.ndarray) -> float:
    """The F1 of the best fixed threshold in hindsight, in points."""
    order = np.argsort(-p)
    ends = np.flatnonzero(np.append(np.diff(p[order]) != 0.0, True))
    hits = np.cumsum(y[order])[ends]
    return float((200.0 * hits / (ends + 1 + y.sum())).max()) if y.sum() else 100.0
