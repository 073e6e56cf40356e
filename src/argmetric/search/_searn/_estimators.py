"""One classifier or regressor of any library that scores all actions of a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_flag, shown
from argmetric._ground.display import Shown
from argmetric._ground.lazy import load_module
from argmetric._ground.types import Floats, Hashes
from argmetric.search._searn._decisions import (
    BIAS,
    Decisions,
    best_actions,
    cheapest_regrets,
    hash_name,
    largest_regrets,
)
from argmetric.search._searn._learners import StateScorer
from argmetric.search._searn._reductions import FeatureColumns, class_table, has_pairs

_MOST_NUMBERS = 8_000_000  # of dense states that are scored at once: 64 MB
_MOST_TO_LEARN = 2**29  # numbers of dense states to learn from: 4 GB
_LEAST_PROBABILITY = 1e-300
_ROUNDING = 1e-12  # weights that are sums of costs are equal up to it
_SCORES = ("decision_function", "predict_proba", "predict")


def _has_scores(estimator: object) -> bool:
    return any(hasattr(estimator, name) for name in _SCORES[:2])


def _kind(estimator: object) -> str | None:
    """Return what scikit-learn says an estimator is, such as "classifier"."""
    if isinstance(estimator, type) or not hasattr(estimator, "__sklearn_tags__"):
        return None
    kind: str | None = load_module("sklearn.utils").get_tags(estimator).estimator_type
    return kind


def _classifies(estimator: object) -> bool:
    """Return whether an estimator learns labels; some have no scores before `fit`."""
    return _kind(estimator) == "classifier" or _has_scores(estimator)


def is_estimator(value: object) -> bool:
    """Return whether a learner is a classifier or regressor, not a learner of costs."""
    return _classifies(value) or hasattr(value, "predict")


def _weight_option(estimator: Any) -> str:
    """Return the argument of `fit` for weights, of the last step of a pipeline."""
    takes = load_module("sklearn.utils.validation").has_fit_parameter
    if takes(estimator, "sample_weight"):
        return "sample_weight"
    steps = getattr(estimator, "steps", None)
    inner = _weight_option(steps[-1][1]) if steps else ""
    return f"{steps[-1][0]}__{inner}" if steps and inner else ""


def _refuse_hard(estimator: object) -> None:
    """Refuse a classifier that gives a label alone."""
    if _classifies(estimator) and not _has_scores(estimator):
        name = type(estimator).__name__
        raise TypeError(
            f"{name} has no decision_function and no predict_proba, and a label alone "
            f"does not score the other actions: pass AllPairs({name}(...))"
        )


def _check(estimator: object) -> None:
    """Refuse what cannot be trained, or cannot score several actions."""
    name = type(estimator).__name__
    able = hasattr(estimator, "fit") and is_estimator(estimator)
    known = _kind(estimator) in (None, "classifier", "regressor")
    if isinstance(estimator, type) or not able or not known:
        raise TypeError(
            "estimator must be a classifier or regressor with fit(X, y), not "
            f"{shown(estimator)}"
        )
    for option, value in getattr(estimator, "get_params", dict)().items():
        if option.endswith("decision_function_shape") and value == "ovo":
            raise ValueError(f"{name} scores pairs: set {option}='ovr'")
    if hasattr(estimator, "predict"):  # one that tells so before it is fitted
        _refuse_hard(estimator)


@dataclass(frozen=True, eq=False)
class EstimatorScorer(StateScorer):
    """A fitted estimator; without one (a single action to learn) all scores are 0."""

    columns: FeatureColumns
    classes: Hashes  # the codes of the actions that are scored
    model: Any
    dense: bool

    def scores(self, decisions: Decisions) -> Floats:
        """Return the score of each action of each decision, -inf if never learned."""
        out = np.full(decisions.indptr[-1], -np.inf)
        width = max(self.columns.hashes.size, self.classes.size, 1)
        step = max(1, _MOST_NUMBERS // width)
        for first in range(0, len(decisions), step):
            rows = np.arange(first, min(first + step, len(decisions)))
            part = decisions.take(rows)
            table = class_table(part, self.classes)
            known = table >= 0
            own = out[decisions.indptr[first] : decisions.indptr[rows[-1] + 1]]
            own[table[known]] = self._values(part)[known]
        return out

    def _values(self, decisions: Decisions) -> Floats:
        """Return one score for each state and class, of shape (n_states, n_classes)."""
        n, k, model = len(decisions), self.classes.size, self.model
        if model is None:
            return np.zeros((n, k))
        X = self.columns.matrix(decisions.states)
        X = X.toarray() if self.dense else X
        how = next(name for name in _SCORES if hasattr(model, name))
        values = np.asarray(getattr(model, how)(X), dtype=np.float64)
        if how == "predict_proba":
            values = np.log(np.maximum(values, _LEAST_PROBABILITY))
        elif how == "predict":
            values = -values.reshape(n, -1)
        elif values.size == n:  # log-odds of the second action
            values = np.multiply.outer(values.ravel(), [-0.5, 0.5])
        name = f"{how} of {type(model).__name__}"
        if values.shape != (n, k):
            raise ValueError(
                f"{name} gives an array of shape {values.shape} for {n} states and {k} "
                f"actions: it must have the shape {(n, k)}"
            )
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"{name} gives {values[row, column]} for action {column} of state "
                f"{row}: scores must be finite"
            )
        return values


@dataclass(frozen=True)
class EstimatorLearner(Shown):
    """One classifier or regressor of any library, for decisions with different costs.

    Rows are states: a column for each feature seen in training, without the constant,
    which estimators have themselves. `Searn` wraps an estimator that it is given.

    A classifier learns from one row for each decision: its label is the cheapest action
    (the first of equals), its weight the mean regret of the actions that are not
    cheapest, ``Σ (c_a - min c) / |{a : c_a > min c}|``; rows without regrets are out,
    and equal weights are not passed. Scores are `decision_function`, else the logarithm
    of `predict_proba`. A regressor, which has neither, learns the regrets of all
    actions as a matrix of shape (n_decisions, n_actions), an illegal action that of the
    worst; a regressor of one output is fitted once for each action. The score of an
    action is minus its prediction.

    Parameters
    ----------
    estimator : object
        With `fit(X, y)`, and `fit(X, y, sample_weight=...)` where costs differ between
        decisions (those of a pipeline go to its last step): of scikit-learn, or for
        example a small network of PyTorch with `decision_function(X)` of shape
        (n_states, n_labels). Labels are 0, 1, 2, ...
    dense : bool, default=True
        Whether states are laid out as arrays; else as sparse matrices, which text needs
        and not every estimator takes.

    Notes
    -----
    An action that was never the cheapest gets the score -inf. With two actions the
    weights make the reduction exact; with more, `AllPairs` is the one with a bound.
    Scores of `SVC` are votes of pairs of actions with a small margin added: compare
    ``beam_scores="raw"`` and ``"log"``. `SequenceLabelling` and `WordChunking` run all
    sequences step by step together.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from argmetric.search import Searn, SequenceLabelling
    >>> task = SequenceLabelling(["c", "v"])
    >>> searn = Searn(task, SVC(kernel="poly", degree=2), beta=1.0, iterations=1)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).predict(["onion"])
    [('v', 'c', 'v', 'v', 'c')]
    """

    estimator: Any
    dense: bool = True

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> EstimatorScorer:
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
        _check(self.estimator)
        check_flag(self.dense, "dense")
        if has_pairs(decisions):
            name = type(self.estimator).__name__
            raise ValueError(
                "actions of this task have features of their own (action_features), "
                f"which {name} on states does not see: pass AllPairs({name}(...)) or "
                f"OneAgainstAll({name}(...))"
            )
        costs = np.asarray(costs, dtype=np.float64)
        names = np.unique(decisions.states.hashes)
        own = names[names != np.uint64(hash_name(BIAS))]
        columns = FeatureColumns(own if own.size else names)  # no matrix is empty
        found = self._fit_classes if _classifies(self.estimator) else self._fit_costs
        classes, model = found(decisions, costs, columns)
        return EstimatorScorer(columns, classes, model, self.dense)

    def _states(self, decisions: Decisions, columns: FeatureColumns) -> Any:
        n, d = len(decisions), columns.hashes.size
        if self.dense and n * d > _MOST_TO_LEARN:
            raise ValueError(
                f"{n:,} states of {d:,} features are too many for a dense array: pass "
                "EstimatorLearner(estimator, dense=False) if the estimator takes "
                "sparse matrices, or LinearLearner()"
            )
        X = columns.matrix(decisions.states)
        return X.toarray() if self.dense else X

    def _fit_classes(
        self, decisions: Decisions, costs: Floats, columns: FeatureColumns
    ) -> tuple[Hashes, Any]:
        """Return the codes of the labels, and the classifier."""
        regrets = cheapest_regrets(costs, decisions.indptr)
        owners, n = decisions.owners, len(decisions)
        count = np.bincount(owners[regrets > 0], minlength=n)
        weight = np.bincount(owners, regrets, n) / np.maximum(count, 1)
        rows = np.flatnonzero(weight > 0)
        cheapest = decisions.indptr[:-1] + best_actions(-costs, decisions.indptr)
        classes, y = np.unique(decisions.codes[cheapest[rows]], return_inverse=True)
        if classes.size < 2:
            return classes, None
        weight, options = weight[rows], {}
        model, name = self._copy(), type(self.estimator).__name__
        if not np.allclose(weight, weight[0], rtol=_ROUNDING, atol=0.0):
            option = _weight_option(model)
            if not option:
                raise TypeError(
                    f"{name} takes no sample_weight, and costs differ between "
                    f"decisions: pass AllPairs(Costing({name}(...)))"
                )
            options = {option: weight / weight.mean()}
        model.fit(self._states(decisions.take(rows), columns), y, **options)
        _refuse_hard(model)
        labels = np.arange(classes.size)
        if not np.array_equal(getattr(model, "classes_", labels), labels):
            raise ValueError(
                f"{name} was trained on the labels 0 to {labels[-1]} and predicts "
                f"{shown(model.classes_)}"
            )
        return classes, model

    def _fit_costs(
        self, decisions: Decisions, costs: Floats, columns: FeatureColumns
    ) -> tuple[Hashes, Any]:
        """Return the codes of all actions, and the regressor of their regrets."""
        classes = np.unique(decisions.codes)
        if classes.size < 2:
            return classes, None
        regrets = cheapest_regrets(costs, decisions.indptr)
        table = class_table(decisions, classes)
        wanted = largest_regrets(regrets, decisions.indptr)[:, None]
        wanted = np.where(table >= 0, regrets[table], wanted)
        model = self._copy()
        if hasattr(model, "__sklearn_tags__"):
            tags = load_module("sklearn.utils").get_tags(model)
            if not tags.target_tags.multi_output:
                model = load_module("sklearn.multioutput").MultiOutputRegressor(model)
        model.fit(self._states(decisions, columns), wanted)
        return classes, model

    def _copy(self) -> Any:
        return load_module("sklearn.base").clone(self.estimator, safe=False)
