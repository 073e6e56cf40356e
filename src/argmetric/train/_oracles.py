"""Classifiers of the highest gain, where a prediction gains by its true class.

Gains have the shape (n_groups, n_classes, n_classes): true class in rows, predicted
class in columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, has_fit_parameter

from argmetric._ground.types import AnyArray, Features, Floats, Integers
from argmetric.train._folds import Problem, Split, take_rows

NO_WEIGHT = 1e-9  # of the largest weight: a row of less is left out
MOST_CUTS = 2**16  # thresholds that are compared, times groups


def best_labels(p: Floats, groups: Integers, gains: Floats) -> Integers:
    """Return the class of the highest expected gain of each row.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
        Probabilities of the true classes.
    groups : ndarray of shape (n_rows,)
        Index of the group of each row.
    """
    expected = np.empty_like(p)
    for group, own in enumerate(gains):
        rows = groups == group
        expected[rows] = p[rows] @ own
    return np.asarray(np.argmax(expected, axis=1))


@dataclass(frozen=True)
class Rows:
    """True classes, groups and weights of rows."""

    codes: Integers
    groups: Integers
    weights: Floats
    n_groups: int
    n_classes: int

    def take(self, rows: Integers) -> Self:
        """Return some of the rows."""
        codes, groups, weights = self.codes[rows], self.groups[rows], self.weights[rows]
        return replace(self, codes=codes, groups=groups, weights=weights)

    def tally(self, labels: Integers) -> Floats:
        """Return the tables of predicted labels, (n_groups, n_classes, n_classes)."""
        shape = self.n_groups, self.n_classes, self.n_classes
        cell = np.ravel_multi_index((self.groups, self.codes, labels), shape)
        sums: Floats = np.bincount(cell, self.weights, int(np.prod(shape)))  # type: ignore[assignment]  # of weights: floats
        return sums.reshape(shape)


@dataclass(frozen=True)
class PlugIn:
    """Labels of the highest expected gain under held-out probabilities."""

    rows: Rows
    p: Floats

    def table(self, gains: Floats) -> Floats:
        return self.rows.tally(best_labels(self.p, self.rows.groups, gains))

    def thresholds(self) -> tuple[Floats, Floats]:
        """Return thresholds between probabilities of the second class, and tables.

        Returns
        -------
        thresholds : ndarray of shape (n_thresholds,)
        tables : ndarray of shape (n_thresholds, n_groups, 2, 2)
        """
        rows, p = self.rows, self.p[:, 1]
        order = np.argsort(p)
        last = np.flatnonzero(np.diff(p[order]))  # row below each threshold
        last = last[:: 1 + last.size * rows.n_groups // MOST_CUTS]
        weights = np.zeros((p.size, rows.n_groups, 2))
        weights[np.arange(p.size), rows.groups, rows.codes] = rows.weights
        sums = np.cumsum(weights[order], axis=0)
        middle = (p[order[last]] + p[order[last + 1]]) / 2.0
        return middle, np.stack([sums[last], sums[-1] - sums[last]], axis=-1)


@dataclass(frozen=True)
class Refits:
    """The estimator, fitted anew with a weight for each row and label.

    A row weighs, as an example of label j, what j gains over the worst label. With two
    classes that is one example for each row; weights are scaled to the rows' own sum.
    """

    estimator: Any
    problem: Problem
    every: Rows
    splits: list[Split]
    rows: Rows  # the test rows of all splits, in their order
    n_jobs: int | None

    def table(self, gains: Floats) -> Floats:
        jobs = (
            delayed(self._held_out)(train, test, gains) for train, test in self.splits
        )
        return self.rows.tally(np.concatenate(Parallel(n_jobs=self.n_jobs)(jobs)))

    def _held_out(self, train: Integers, test: Integers, gains: Floats) -> Integers:
        model = self.fit(train, gains)
        return class_codes(model, take_rows(self.problem.X, test), self.problem.classes)

    def fit(self, rows: Integers, gains: Floats) -> Any:
        """Return the estimator fitted on some rows; a class if it is the only label."""
        own = self.every.take(rows)
        weights, worth = own.weights, gains[own.groups, own.codes]
        worth = weights[:, None] * (worth - worth.min(axis=1, keepdims=True))
        worth[worth <= NO_WEIGHT * worth.max()] = 0.0
        used = np.flatnonzero(worth.any(axis=0))
        if used.size < 2:
            return int(used[0]) if used.size else 0
        row, label = np.nonzero(worth)
        found = worth[row, label]
        given = {weight_name(self.estimator): found * (weights.sum() / found.sum())}
        X = take_rows(self.problem.X, rows[row])
        return clone(self.estimator).fit(X, self.problem.classes[label], **given)


def class_codes(model: Any, X: Features, classes: AnyArray) -> Integers:
    """Return the index of the class that a model, or a class alone, predicts."""
    if isinstance(model, int):
        return np.full(_num_samples(X), model)
    return np.asarray(np.searchsorted(classes, model.predict(X)))


def weight_name(estimator: Any) -> str:
    """Return the parameter of `fit` that takes weights of rows."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        return f"{step}__{weight_name(last)}"
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"{type(estimator).__name__}.fit takes no sample_weight, which "
            "oracle='weights' needs: pass oracle='plug-in'"
        )
    return "sample_weight"
