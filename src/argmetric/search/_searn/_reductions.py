"""Cost-sensitive learning with any classifier or regressor of scikit-learn."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_flag
from argmetric._ground.display import Shown
from argmetric._ground.lazy import load_module
from argmetric._ground.odds import bounded_logit
from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._decisions import (
    Decisions,
    HashedRows,
    cheapest_regrets,
    largest_regrets,
)
from argmetric.search._searn._learners import (
    Always,
    StateScorer,
    check_estimator,
    expand_features,
    flat,
)

_LEAST_PROBABILITY, _MOST_PROBABILITY = 1e-300, 1 - 1e-16


def joint_rows(decisions: Decisions) -> HashedRows:
    """Return one row of features for each action: of its state and its own."""
    from argmetric.search.kernels.cost_sensitive import fill_joint

    per_state = np.diff(decisions.states.indptr)[decisions.owners]
    size = int((per_state + np.diff(decisions.pairs.indptr)).sum())
    ends = np.empty(decisions.codes.size + 1, dtype=np.int64)
    hashes, values = np.empty(size, dtype=np.uint64), np.empty(size)
    fill_joint(flat(decisions), ends, hashes, values)
    return HashedRows(ends, hashes, values)


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Columns of a sparse matrix for the features seen in training."""

    hashes: Hashes

    @classmethod
    def of(cls, rows: HashedRows) -> FeatureColumns:
        """Build columns for all features of some rows."""
        return cls(np.unique(rows.hashes))

    def matrix(self, rows: HashedRows) -> Any:
        """Return a sparse matrix; features not seen in training are left out."""
        from scipy.sparse import csr_matrix

        where = np.searchsorted(self.hashes, rows.hashes)
        where = np.minimum(where, max(self.hashes.size - 1, 0))
        known = self.hashes[where] == rows.hashes if self.hashes.size else where < 0
        counts = np.concatenate([[0], np.cumsum(known)])
        shape = (rows.indptr.size - 1, self.hashes.size)
        parts = (rows.values[known], where[known], counts[rows.indptr])
        matrix = csr_matrix(parts, shape=shape)
        matrix.sum_duplicates()
        return matrix


def has_pairs(decisions: Decisions) -> bool:
    """Return whether actions have features of their own."""
    return decisions.pairs.hashes.size > 0


def class_table(decisions: Decisions, classes: Hashes) -> Integers:
    """Return the index of each class's action in each decision, -1 if not legal."""
    table = np.full((len(decisions), classes.size), -1, dtype=np.int64)
    if classes.size == 0:
        return table
    column = np.minimum(np.searchsorted(classes, decisions.codes), classes.size - 1)
    known = np.flatnonzero(classes[column] == decisions.codes)
    table[decisions.owners[known], column[known]] = known
    return table


def pairs_of(indptr: Integers) -> tuple[Integers, Integers]:
    """Return both indices of all pairs i < j within a segment, (n_pairs,) each."""
    first: list[npt.NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
    second: list[npt.NDArray[Any]] = [np.zeros(0, dtype=np.int64)]
    sizes = np.diff(indptr)
    for size in np.unique(sizes):
        i, j = np.triu_indices(size, 1)
        starts = indptr[:-1][sizes == size]
        first.append((starts[:, None] + i).ravel())
        second.append((starts[:, None] + j).ravel())
    return np.concatenate(first), np.concatenate(second)


def all_pairs_values(costs: Floats, indptr: Integers) -> Floats:
    """Return v of weighted all pairs, whose differences are the importances of pairs.

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


def fit_copy(estimator: Any, X: Any, y: Floats, weight: Floats) -> Any:
    """Return a clone fitted to weighted rows, or a constant for a single label."""
    clone = load_module("sklearn.base").clone
    has_fit_parameter = load_module("sklearn.utils.validation").has_fit_parameter

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


def log_odds_of_zero(probability: Floats) -> Floats:
    """Return log((1 - p) / p), finite if p is 0 or 1.

    Confident models differ too little in p for a softmax, not in the log-odds.
    """
    return -bounded_logit(probability, _LEAST_PROBABILITY, _MOST_PROBABILITY)


@dataclass(frozen=True, eq=False)
class _PairModels(StateScorer):
    columns: FeatureColumns
    classes: Hashes
    models: dict[tuple[int, int], Any]
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        """Return for each action how many pairs of classes it wins."""
        decisions = expand_features(decisions, self.quadratic)
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
class _DifferenceModel(StateScorer):
    columns: FeatureColumns
    model: Any
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        """Return for each action how many other actions of the decision it beats."""
        decisions = expand_features(decisions, self.quadratic)
        X = self.columns.matrix(joint_rows(decisions))
        i, j = pairs_of(decisions.indptr)
        wins = np.zeros(decisions.codes.size)
        if i.size:
            first = np.asarray(self.model.predict(X[i] - X[j])) > 0.5
            np.add.at(wins, np.where(first, i, j), 1)
        return wins


@dataclass(frozen=True)
class AllPairs(Shown):
    """Weighted all pairs: one weighted binary classifier for each pair of actions.

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
        """Learn from decisions and the cost of each action.

        Parameters
        ----------
        decisions : Decisions
            Decisions to learn from.
        costs : ndarray
            One cost for each action.
        rng : numpy.random.Generator
            Not used: the estimator has a seed of its own.

        Returns
        -------
        scorer
            Its `scores(decisions)` are one score for each action, greater is better.
        """
        check_estimator(self.estimator)
        decisions = expand_features(decisions, check_flag(self.quadratic, "quadratic"))
        values = all_pairs_values(np.asarray(costs, dtype=float), decisions.indptr)
        if has_pairs(decisions):
            return self._fit_differences(decisions, values)
        columns = FeatureColumns.of(decisions.states)
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
            models[i, j] = fit_copy(self.estimator, X[rows], labels, np.abs(difference))
        return _PairModels(columns, classes, models, self.quadratic)

    def _fit_differences(
        self, decisions: Decisions, values: Floats
    ) -> _DifferenceModel:
        """Fit one classifier to differences of the features of two actions."""
        from scipy.sparse import vstack

        rows = joint_rows(decisions)
        columns = FeatureColumns.of(rows)
        X = columns.matrix(rows)
        i, j = pairs_of(decisions.indptr)
        unlike = values[i] != values[j]  # others say nothing
        i, j = i[unlike], j[unlike]
        differences = X[i] - X[j]
        labels = (values[j] > values[i]).astype(np.float64)
        both = vstack([differences, -differences]).tocsr()  # no side is favored
        weight = np.abs(values[i] - values[j])
        model = fit_copy(
            self.estimator,
            both,
            np.concatenate([labels, 1 - labels]),
            np.concatenate([weight, weight]),
        )
        return _DifferenceModel(columns, model, self.quadratic)


@dataclass(frozen=True, eq=False)
class _CostModels(StateScorer):
    columns: FeatureColumns
    classes: Hashes
    models: list[Any]
    quadratic: bool
    are_classifiers: bool

    def scores(self, decisions: Decisions) -> Floats:
        """Return the score of each action by the model of its class, -inf if unseen."""
        decisions = expand_features(decisions, self.quadratic)
        if has_pairs(decisions):
            X = self.columns.matrix(joint_rows(decisions))
            return self._scores_by(self.models[0], X)
        table = class_table(decisions, self.classes)
        X = self.columns.matrix(decisions.states)
        scores = np.full(decisions.codes.size, -np.inf)  # never seen: never taken
        for number, model in enumerate(self.models):
            rows = np.flatnonzero(table[:, number] >= 0)
            if rows.size:
                scores[table[rows, number]] = self._scores_by(model, X[rows])
        return scores

    def _scores_by(self, model: Any, X: Any) -> Floats:
        """Return minus the predicted cost, or the log-odds of no cost."""
        if not self.are_classifiers:
            return -np.asarray(model.predict(X), dtype=np.float64)
        if isinstance(model, Always) or not hasattr(model, "predict_proba"):
            probability = model.predict(X)  # the decision itself
        else:
            probability = model.predict_proba(X)[:, 1]
        return log_odds_of_zero(np.asarray(probability, dtype=np.float64))


@dataclass(frozen=True)
class OneAgainstAll(Shown):
    """One-against-all regression: the cost of each action is predicted on its own.

    A regressor is fitted to the regrets c_a, and the score of an action is minus its
    prediction. A classifier learns probabilities: c_a is the weight of label 1 and
    m - c_a that of label 0, m the largest regret of the same decision. In the limit
    label 1 has the probability E[c_a | x] / E[m | x], least for the action of least
    expected cost, and the score of an action is the log odds of label 0. Where actions
    have features of their own, one model is trained for all of them.

    Parameters
    ----------
    estimator : regressor or classifier of scikit-learn
        Takes sample weights; a classifier that does not is wrapped in `Costing`.
    quadratic : bool, default=False
        Whether products of two features are features too.

    Notes
    -----
    An action that is half as bad as the worst has both labels at once. Learners of
    large steps (SGDClassifier with a small `alpha`) settle on such rows slowly; where
    most costs lie in between, as regrets of F1 do, `Ridge`, `LogisticRegression` and
    `AllPairs` are the surer choice. Costs that a regressor predicts are no log odds:
    in a beam, sum them up (`beam_scores="raw"`).

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

    @property
    def _classifies(self) -> bool:
        return hasattr(self.estimator, "predict_proba") or hasattr(
            self.estimator, "decision_function"
        )

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> _CostModels:
        """Learn from decisions and the cost of each action.

        Parameters
        ----------
        decisions : Decisions
            Decisions to learn from.
        costs : ndarray
            One cost for each action.
        rng : numpy.random.Generator
            Not used: the estimator has a seed of its own.

        Returns
        -------
        scorer
            Its `scores(decisions)` are one score for each action, greater is better.
        """
        check_estimator(self.estimator)
        decisions = expand_features(decisions, check_flag(self.quadratic, "quadratic"))
        regrets = cheapest_regrets(np.asarray(costs, dtype=float), decisions.indptr)
        # Not the largest of all decisions: beside it most regrets would look like 0
        most = largest_regrets(regrets, decisions.indptr)[decisions.owners]
        if has_pairs(decisions):
            joint = joint_rows(decisions)
            columns = FeatureColumns.of(joint)
            classes = np.zeros(0, dtype=np.uint64)
            models = [self._fit_one(columns.matrix(joint), regrets, most)]
        else:
            columns = FeatureColumns.of(decisions.states)
            X = columns.matrix(decisions.states)
            classes = np.unique(decisions.codes)
            table = class_table(decisions, classes)
            models = []
            for number in range(classes.size):
                rows = np.flatnonzero(table[:, number] >= 0)
                own = table[rows, number]
                models.append(self._fit_one(X[rows], regrets[own], most[own]))
        return _CostModels(columns, classes, models, self.quadratic, self._classifies)

    def _fit_one(self, X: object, regrets: Floats, most: Floats) -> Any:
        """Fit a model of the costs of one action: a regression, or classes."""
        if not self._classifies:
            return fit_copy(self.estimator, X, regrets, np.ones(regrets.size))
        from scipy.sparse import vstack

        labels = np.repeat([1.0, 0.0], regrets.size)
        weight = np.concatenate([regrets, most - regrets])
        return fit_copy(self.estimator, vstack([X, X]).tocsr(), labels, weight)
