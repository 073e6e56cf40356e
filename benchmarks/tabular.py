"""The tabular sets of the benchmarks, .npz files in `tabular` of the data folder.

Scaling is the same for all rows and blind to the labels: covtype's ten numbers to
[0, 1], other dense sets standardised and cut at 5 standard deviations, sparse sets as
they are published.
"""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import data_file
from joblib import Memory

# Scores of models that take long to fit, in the temporary folder
MEMORY = Memory(Path(tempfile.gettempdir()) / "argmetric-benchmarks", verbose=0)
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu"
PUBLISHED = {
    "a9a": LIBSVM,
    "breastw": UCI,
    "celeba": "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    "covtype": UCI,
    "ijcnn1": LIBSVM,
    "letter": UCI,
    "magic": UCI,
    "mammography": "https://www.openml.org",
    "reuters_tick": "https://www.openml.org",
    "scene": "https://mulan.sourceforge.net/datasets-mlc.html",
    "spambase": UCI,
    "w8a": LIBSVM,
}


@dataclass(frozen=True)
class Table:
    """Rows, labels, and how many first rows the publisher meant for training (or 0)."""

    name: str
    X: Any
    y: np.ndarray
    n_train: int


def load(name: str) -> Table:
    path = data_file(f"tabular/{name}.npz", PUBLISHED.get(name, UCI))
    with np.load(path) as arrays:
        y = arrays["y"].astype(np.int64)
        n_train = int(arrays["n_train"])
        if "num" in arrays:
            X = _covtype(arrays)
        elif "X" in arrays:
            X = _standardised(arrays["X"].astype(np.float64))
        else:
            X = _sparse(arrays)
    return Table(name, X, y, n_train)


def scene_labels() -> np.ndarray:
    """Return all labels of the rows of scene: `load` has one of them."""
    with np.load(data_file("tabular/scene.npz", PUBLISHED["scene"])) as arrays:
        return arrays["Y"].astype(np.int64)


def _covtype(arrays: Any) -> np.ndarray:
    numbers = arrays["num"].astype(np.float64)
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    X = np.zeros((len(numbers), 54))
    X[:, :10] = (numbers - low) / (high - low)
    rows = np.arange(len(numbers))
    X[rows, 10 + arrays["wild"].astype(np.int64)] = 1.0
    X[rows, 14 + arrays["soil"].astype(np.int64)] = 1.0
    return X


def _standardised(X: np.ndarray) -> np.ndarray:
    deviation = X.std(axis=0)
    deviation[deviation == 0] = 1.0
    return np.ascontiguousarray(np.clip((X - X.mean(axis=0)) / deviation, -5.0, 5.0))


def _sparse(arrays: Any) -> Any:
    from scipy.sparse import csr_matrix

    indptr = np.concatenate([[0], np.cumsum(arrays["counts"].astype(np.int64))])
    data = arrays["data"].astype(np.float64)
    if data.size == 1:  # one value for all: a binary set
        data = np.full(indptr[-1], data[0])
    indices = arrays["indices"].astype(np.int32)
    return csr_matrix((data, indices, indptr), shape=tuple(arrays["shape"]))


def positive(y: np.ndarray) -> np.ndarray:
    """Return which rows are positive: the rarer of two classes, or the median one."""
    classes, counts = np.unique(y, return_counts=True)
    order = np.argsort(counts, kind="stable")
    return y == classes[order[0 if classes.size == 2 else classes.size // 2]]


def dense(X: Any, columns: int = 300) -> np.ndarray:
    """Return a matrix as an array; of a sparse one the most frequent columns."""
    if isinstance(X, np.ndarray):
        return X
    used = np.asarray((X != 0).sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-used, kind="stable")[:columns])
    return np.asarray(X[:, kept].toarray())


def new_model(kind: str, **settings: Any) -> Any:
    """Return an estimator of a kind that is not fitted yet.

    `settings` replace those of this table, which are scikit-learn's but for the seed,
    100 trees, 15 neighbours and iterations that suffice.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    deep: dict[str, Any] = {"max_iter": 300, "learning_rate": 0.3}
    deep |= {"min_samples_leaf": 2, "early_stopping": False, "random_state": 0}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "logistic": (LogisticRegression, {"max_iter": 1000}),
        "forest": (RandomForestClassifier, {"n_estimators": 100, "random_state": 0}),
        "boosting": (HistGradientBoostingClassifier, {"random_state": 0}),
        "over-fitted boosting": (HistGradientBoostingClassifier, deep),
        "neighbours": (KNeighborsClassifier, {"n_neighbors": 15}),
        "bayes": (GaussianNB, {}),
        "tree": (DecisionTreeClassifier, {"random_state": 0}),
    }
    estimator, usual = kinds[kind]
    return estimator(**usual | settings)


def probability_classifier(y: np.ndarray) -> Any:
    """Return a fitted classifier whose only feature is the probability itself."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class ProbabilityClassifier(ClassifierMixin, BaseEstimator):
        classes_ = np.unique(y)

        def fit(self, X: np.ndarray, y: np.ndarray) -> ProbabilityClassifier:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    return ProbabilityClassifier()


def class_probabilities(model: Any, X: np.ndarray, count: int) -> np.ndarray:
    """Return probabilities of all classes, above 0, of a model that knows some."""
    P = np.zeros((len(X), count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        P[:, model.classes_] = model.predict_proba(X)
    P = np.clip(P, 1e-12, None)
    return np.asarray(P / P.sum(axis=1, keepdims=True))
