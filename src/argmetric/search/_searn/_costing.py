"""Importance weights for classifiers that take none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.arguments import check_count, check_seed, shown
from argmetric._input.labels import clear_labels
from argmetric._input.sparse import check_features
from argmetric._input.types import Floats
from argmetric._input.validation import check_weight, is_sparse
from argmetric._results.display import Shown

_MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Always:
    """The answer where training showed nothing else."""

    value: float

    def predict(self, X: Any) -> Floats:
        """The same for every row."""
        return np.full(X.shape[0], self.value)


def check_estimator(estimator: Any) -> None:
    """Refuse what cannot be trained, a class in place of an instance among it."""
    able = hasattr(estimator, "fit") and hasattr(estimator, "predict")
    if not able or isinstance(estimator, type):
        raise TypeError(
            "estimator must be a classifier or regressor of scikit-learn, not "
            f"{shown(estimator)}"
        )


class Costing(Shown):
    """Importance weights by rejection: any classifier becomes one that takes weights.

    A row of weight w is kept with probability w / max w; several such samples are drawn
    and the classifiers trained on them vote. E[w 1(wrong)] = E[w] · P(wrong | kept).

    Parameters
    ----------
    estimator : classifier of scikit-learn
        Needs no sample weights; labels are 0 and 1.
    n_draws : int, default=10
        Number of samples.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from argmetric.search import Costing
    >>> X = np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> costing = Costing(KNeighborsClassifier(1), n_draws=5)
    >>> costing.fit(X, [0, 0, 1, 1], sample_weight=[1, 1, 1, 1]).predict(X)
    array([0., 0., 1., 1.])
    """

    def __init__(
        self, estimator: Any, *, n_draws: int = 10, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.n_draws = n_draws
        self.random_state = random_state

    def __sklearn_clone__(self) -> Costing:
        return Costing(
            self.estimator, n_draws=self.n_draws, random_state=self.random_state
        )

    def __repr__(self) -> str:
        return f"Costing({self.estimator!r}, n_draws={self.n_draws})"

    def fit(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Costing:
        """Draw and train.

        Parameters
        ----------
        X : array or sparse matrix
            Rows.
        y : array-like of 0 and 1
            Labels.
        sample_weight : array-like, optional
            Importances; by default all equal.
        """
        from sklearn.base import clone

        check_estimator(self.estimator)
        n_draws = check_count(self.n_draws, "n_draws", low=1, high=_MOST_DRAWS)
        check_seed(self.random_state)
        if len(getattr(X, "shape", ())) != 2:
            raise TypeError(f"X must be a matrix of rows, not {shown(X)}")
        check_features(X)
        X = X.tocsr() if is_sparse(X) else X  # rows are drawn
        rows = getattr(X, "iloc", X)
        labels = clear_labels(y).astype(np.float64)
        if labels.shape != (X.shape[0],):
            raise ValueError(f"y has shape {labels.shape} but X has {X.shape[0]} rows")
        weight = check_weight(sample_weight, labels.shape, "y")
        if weight is None:
            weight = np.ones(labels.size)
        if labels.size == 0 or not weight.max() > 0:
            raise ValueError("Costing needs a row with a positive sample_weight")
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.array([0.0, 1.0])
        self.estimators_: list[Any] = []
        for _ in range(n_draws):
            kept = np.flatnonzero(rng.random(labels.size) * weight.max() < weight)
            found = labels[kept]
            if (found == found[0]).all():  # the row of greatest weight is always kept
                self.estimators_.append(Always(float(found[0])))
            else:
                self.estimators_.append(clone(self.estimator).fit(rows[kept], found))
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Share of votes for 0 and for 1."""
        check_features(X)
        votes = [np.asarray(one.predict(X)) > 0.5 for one in self.estimators_]
        ones = np.mean(votes, axis=0)
        return np.stack([1 - ones, ones], axis=1)

    def predict(self, X: Any) -> Floats:
        """The label with most votes, 1 where equal."""
        return np.asarray(self.predict_proba(X)[:, 1] >= 0.5, dtype=np.float64)
