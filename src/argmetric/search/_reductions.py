"""Cost-sensitive learning with any classifier or regressor of scikit-learn."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric.search._columns import (
    Columns,
    class_table,
    has_pairs,
    joint_rows,
    pairs_of,
)
from argmetric.search._costing import Always
from argmetric.search._decisions import (
    Decisions,
    Floats,
    Hashes,
    Integers,
    cheapest_regrets,
)
from argmetric.search._learners import expanded


def all_pairs_values(costs: Floats, indptr: Integers) -> Floats:
    """V of weighted all pairs, whose differences are the importances of pairs.

    v_(1) = 0 and v_(i) = v_(i-1) + (c_(i) - c_(i-1)) / (i - 1), costs in rising order:
    the integral of 1/|{j : c_j ≤ t}| from the least cost to c_i.
    """
    owners = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    order = np.lexsort((costs, owners))
    rank = np.arange(costs.size) - indptr[owners]  # of the sorted costs, from 0
    sorted_costs = costs[order]
    steps = np.diff(sorted_costs, prepend=sorted_costs[:1])
    steps = np.where(rank > 0, steps / np.maximum(rank, 1), 0.0)
    total = np.cumsum(steps)
    values = np.empty_like(total)
    values[order] = total
    if costs.size:
        values -= np.repeat(np.minimum.reduceat(values, indptr[:-1]), np.diff(indptr))
    return values


def fitted(estimator: Any, X: Any, y: Floats, weight: Floats) -> Any:
    """A clone fitted to weighted rows, or a constant where there is one answer only."""
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"{type(estimator).__name__} takes no sample_weight: wrap it in Costing()"
        )
    keep = np.flatnonzero(weight > 0)
    y, weight = y[keep], weight[keep]
    if keep.size == 0 or (y == y[0]).all():
        return Always(float(y[0]) if keep.size else 0.5)
    weight = weight / weight.mean()  # a learner's own penalty keeps its meaning
    return clone(estimator).fit(X[keep], y, sample_weight=weight)


def chance_of_one(model: Any, X: Any) -> Floats:
    """Probability of class 1, or the decision itself where there is none."""
    if isinstance(model, Always) or not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(X), dtype=np.float64)
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _PairModels:
    columns: Columns
    classes: Hashes
    models: dict[tuple[int, int], Any]
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        decisions = expanded(decisions, self.quadratic)
        table = class_table(decisions, self.classes)
        X = self.columns.matrix(decisions.states)
        wins = np.zeros(decisions.codes.size)
        for (i, j), model in self.models.items():
            rows = np.flatnonzero((table[:, i] >= 0) & (table[:, j] >= 0))
            if rows.size:
                first = np.asarray(model.predict(X[rows])) > 0.5
                wins[np.where(first, table[rows, i], table[rows, j])] += 1
        return wins


@dataclass(frozen=True, eq=False)
class _DifferenceModel:
    columns: Columns
    model: Any
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        decisions = expanded(decisions, self.quadratic)
        X = self.columns.matrix(joint_rows(decisions))
        i, j = pairs_of(decisions.indptr)
        wins = np.zeros(decisions.codes.size)
        if i.size:
            first = np.asarray(self.model.predict(X[i] - X[j])) > 0.5
            np.add.at(wins, np.where(first, i, j), 1)
        return wins


@dataclass(frozen=True)
class AllPairs:
    """Weighted all pairs: one weighted binary classifier for each two actions.

    The importance of a pair is abs(v_i - v_j) (see `all_pairs_values`), its label the
    cheaper action; the action with most wins is taken. The regret is at most twice the
    total importance of the pairs that come out wrong. Where actions have features of
    their own, one classifier is trained on differences of features.

    Parameters
    ----------
    estimator : classifier of scikit-learn
        Takes sample weights; one that does not is wrapped in `Costing`.
    quadratic : bool, default=False
        Whether products of two features are features too.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from argmetric.search import AllPairs, Searn, SequenceLabelling
    >>> task = SequenceLabelling(["c", "v"])
    >>> searn = Searn(task, AllPairs(LogisticRegression()), beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    estimator: Any
    quadratic: bool = False

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> _PairModels | _DifferenceModel:
        """Learn from decisions and the cost of each action."""
        decisions = expanded(decisions, self.quadratic)
        values = all_pairs_values(np.asarray(costs, dtype=float), decisions.indptr)
        if has_pairs(decisions):
            return self._fit_differences(decisions, values)
        columns = Columns.of(decisions.states)
        X = columns.matrix(decisions.states)
        classes = np.unique(decisions.codes)
        table = class_table(decisions, classes)
        models = {}
        for i, j in itertools.combinations(range(classes.size), 2):
            rows = np.flatnonzero((table[:, i] >= 0) & (table[:, j] >= 0))
            difference = values[table[rows, j]] - values[table[rows, i]]
            if not difference.any():
                continue  # nothing to say about these two
            labels = (difference > 0).astype(np.float64)
            models[i, j] = fitted(self.estimator, X[rows], labels, np.abs(difference))
        return _PairModels(columns, classes, models, self.quadratic)

    def _fit_differences(
        self, decisions: Decisions, values: Floats
    ) -> _DifferenceModel:
        from scipy.sparse import vstack

        rows = joint_rows(decisions)
        columns = Columns.of(rows)
        X = columns.matrix(rows)
        i, j = pairs_of(decisions.indptr)
        differences = X[i] - X[j]
        labels = (values[j] > values[i]).astype(np.float64)
        both = vstack([differences, -differences]).tocsr()  # no side is favored
        weight = np.abs(values[i] - values[j])
        model = fitted(
            self.estimator,
            both,
            np.concatenate([labels, 1 - labels]),
            np.concatenate([weight, weight]),
        )
        return _DifferenceModel(columns, model, self.quadratic)


@dataclass(frozen=True, eq=False)
class _CostModels:
    columns: Columns
    classes: Hashes
    models: list[Any]
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        decisions = expanded(decisions, self.quadratic)
        if has_pairs(decisions):
            X = self.columns.matrix(joint_rows(decisions))
            return -chance_of_one(self.models[0], X)
        table = class_table(decisions, self.classes)
        X = self.columns.matrix(decisions.states)
        scores = np.full(decisions.codes.size, -np.inf)  # never seen: never taken
        for number, model in enumerate(self.models):
            rows = np.flatnonzero(table[:, number] >= 0)
            if rows.size:
                scores[table[rows, number]] = -chance_of_one(model, X[rows])
        return scores


@dataclass(frozen=True)
class OneAgainstAll:
    """One-against-all regression: the cost of each action is predicted on its own.

    A regressor is fitted to the costs. A classifier learns them as probabilities: the
    cost, divided by the largest, is the weight of label 1 and the rest that of label 0.
    Where actions have features of their own, one model is trained for all of them.

    Parameters
    ----------
    estimator : regressor or classifier of scikit-learn
        Takes sample weights; a classifier that does not is wrapped in `Costing`.
    quadratic : bool, default=False
        Whether products of two features are features too.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from argmetric.search import OneAgainstAll, Searn, SequenceLabelling
    >>> task = SequenceLabelling(["c", "v"])
    >>> searn = Searn(task, OneAgainstAll(Ridge()), beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    estimator: Any
    quadratic: bool = False

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> _CostModels:
        """Learn from decisions and the cost of each action."""
        decisions = expanded(decisions, self.quadratic)
        regrets = cheapest_regrets(np.asarray(costs, dtype=float), decisions.indptr)
        most = float(regrets.max(initial=0.0))
        if has_pairs(decisions):
            joint = joint_rows(decisions)
            columns = Columns.of(joint)
            model = self._fit_one(columns.matrix(joint), regrets, most)
            empty = np.zeros(0, dtype=np.uint64)
            return _CostModels(columns, empty, [model], self.quadratic)
        columns = Columns.of(decisions.states)
        X = columns.matrix(decisions.states)
        classes = np.unique(decisions.codes)
        table = class_table(decisions, classes)
        models = []
        for number in range(classes.size):
            rows = np.flatnonzero(table[:, number] >= 0)
            target = regrets[table[rows, number]]
            models.append(self._fit_one(X[rows], target, most))
        return _CostModels(columns, classes, models, self.quadratic)

    def _fit_one(self, X: Any, target: Floats, most: float) -> Any:
        is_classifier = hasattr(self.estimator, "predict_proba") or hasattr(
            self.estimator, "decision_function"
        )
        if not is_classifier or most == 0:
            return fitted(self.estimator, X, target, np.ones(target.size))
        from scipy.sparse import vstack

        share = target / most
        labels = np.repeat([1.0, 0.0], target.size)
        weight = np.concatenate([share, 1 - share])
        return fitted(self.estimator, vstack([X, X]).tocsr(), labels, weight)
