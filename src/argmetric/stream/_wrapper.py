"""Add a threshold rule to any online model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import check_is_fitted

from argmetric._ground.arguments import check_label, install, shown
from argmetric._ground.features import check_features_with_hint
from argmetric._ground.odds import logit
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    ClassNames,
    Estimator,
    Features,
    Floats,
    Label,
)
from argmetric._ground.validation import is_sparse, to_floats, to_numpy
from argmetric.metrics import MetricLike
from argmetric.stream._classifier import OnlineClassifier
from argmetric.stream._omma import OMMARule
from argmetric.stream._rule_base import UNWEIGHTED, ThresholdRule
from argmetric.stream._rules import RuleName, first_decision, get_rule
from argmetric.stream._several import (
    Answers,
    Codes,
    TwoAnswers,
    build_answers,
    count_outcomes,
)

_BLOCK = 256  # rows of `fit` between two steps of the model


class ThresholdAnswers(TwoAnswers):
    """Decisions of two classes by a rule, from the log-odds of a user's model."""

    def __init__(self, owner: OnlineThreshold, classes: AnyArray) -> None:
        super().__init__(owner, classes)
        self.rule = get_rule(owner.rule)  # type: ignore[arg-type]  # of two classes
        self.state, self.counts = self.rule.init_state(self.metric), np.zeros(4)

    def unknown(self, n: int) -> Floats:
        """Return the log-odds of an untrained model."""
        return np.zeros(n)

    def decide(self, logits: Floats) -> Codes:
        return self.rule.decide(self.state, logits, logits=True)

    def learn(self, logits: Floats, truth: Codes) -> Codes:
        """Decide every row before it is counted; return the decisions."""
        labels = self.rule.run(self.state, logits, truth, logits=True).labels
        self.counts = self.counts + count_outcomes(truth, labels, UNWEIGHTED)
        return labels

    @property
    def score(self) -> float:
        return float(self.metric.value(*self.counts))


@dataclass(eq=False, repr=False)
class OnlineThreshold(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Add the best threshold for a metric to any online classifier.

    The model scores each row, the rule decides it, and then both learn from its label.
    The model itself does not change. Several classes, or a matrix y of labels 0 and 1,
    are decided by `OMMARule`.

    Parameters
    ----------
    model : object
        A river classifier (`predict_proba_one` and `learn_one`), or a scikit-learn
        estimator with `partial_fit` and `predict_proba` or `decision_function` (taken
        as log-odds).
    metric : str, Metric or callable, default="f1"
        What predictions are judged by; of several classes the mean over these.
    rule : str, ThresholdRule or OMMARule, default="histogram"
        How the threshold is learned; of several classes or labels an `OMMARule`.
    pos_label : optional
        The positive class; by default the larger one.

    Attributes
    ----------
    threshold_ : float
        Threshold on probabilities that the next row will meet.
    score_ : float
        The metric of all predictions so far.
    model_ : object
        The model that has learned (a scikit-learn estimator is cloned first).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from argmetric.stream import OnlineThreshold
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = (rng.random(3000) < 1 / (1 + np.exp(3 - 2 * X[:, 0]))).astype(int)
    >>> model = OnlineThreshold(GaussianNB())
    >>> for i in range(0, 3000, 100):
    ...     labels = model.progressive(X[i : i + 100], y[i : i + 100], classes=[0, 1])
    >>> round(model.score_, 2)
    0.51
    """

    model: Estimator
    metric: MetricLike = "f1"
    rule: RuleName | ThresholdRule | OMMARule = "histogram"
    _: KW_ONLY
    pos_label: Label | None = None

    # -- blocks -----------------------------------------------------------------

    def partial_fit(
        self, X: Features, y: ArrayLike, classes: ClassNames | None = None
    ) -> Self:
        """Learn from a block, the rule before the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        classes : array-like of labels, optional
            Needed at the first call if the block may lack a class.

        Returns
        -------
        OnlineThreshold
            Itself.
        """
        self.progressive(X, y, classes=classes)
        return self

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Reset, and learn from the rows in their order, in small blocks.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.

        Returns
        -------
        OnlineThreshold
            Itself.
        """
        self._start(y, _n_rows(X), None, whole=True)
        values = self._answers.to_labels(self._answers.code(y, _n_rows(X)))
        rows: Any = X
        rows = rows.tocsr() if is_sparse(X) else rows
        rows = rows if hasattr(X, "shape") or self._is_river else to_numpy(X, "X")
        rows = getattr(rows, "iloc", rows)
        for start in range(0, len(values), _BLOCK):
            part = slice(start, start + _BLOCK)
            self.progressive(rows[part], values[part])
        return self

    def progressive(
        self, X: Features, y: ArrayLike, *, classes: ClassNames | None = None
    ) -> AnyArray:
        """Predict a block before its labels are seen, and learn from it.

        The model learns from the whole block at once, as its `partial_fit` does: the
        smaller the blocks, the fresher the probabilities that the rule sees.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        classes : array-like of labels, optional
            Needed at the first call if the block may lack a class.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels predicted before theirs were seen.
        """
        if not hasattr(self, "model_"):
            self._start(y, _n_rows(X), classes)
        answers = self._answers
        truth = answers.code(y, _n_rows(X), classes)
        targets = answers.to_labels(truth)
        if self._is_river:
            scores = answers.unknown(len(truth))
            for i, x in enumerate(_dicts(X, len(truth))):
                scores[i] = self._score_one(x)
                self.model_.learn_one(x, targets[i : i + 1].tolist()[0])
        else:
            scores, known = self._scores(X), list(np.sort(answers.classes))
            if isinstance(self.model_, MultiOutputClassifier):
                known = [np.arange(2)] * len(known)  # of each label
            # The model first: a block that it refuses must not count for the rule
            with check_features_with_hint(X, model=True):
                self.model_.partial_fit(X, targets, classes=known)
            self._trained = True
        return answers.to_labels(answers.learn(scores, truth))

    def _decide_rows(self, X: Features) -> Codes:
        """Return decisions by the current model and rule."""
        check_is_fitted(self, "model_")
        return self._answers.decide(self._scores(X))

    def predict(self, X: Features) -> AnyArray:
        """Return labels by the current model and threshold.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        """
        labels = self._decide_rows(X)
        return self._answers.to_labels(labels)

    def predict_proba(self, X: Features) -> Floats:
        """Return probabilities, one column per class; of two, the negative one first.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        check_is_fitted(self, "model_")
        return self._answers.columns(self._scores(X))

    def score(self, X: Features, y: ArrayLike) -> float:
        """Return the metric of `predict(X)`, negated if smaller is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.

        Returns
        -------
        float
            Larger is better.
        """
        labels = self._decide_rows(X)
        truth = self._answers.code(y, len(labels))
        return self._answers.evaluate(truth, labels)

    # -- one row at a time ------------------------------------------------------

    def learn_one(self, x: Mapping[Label, object], y: Label) -> None:
        """Learn from one row, the rule before the model.

        Parameters
        ----------
        x : dict
            Features by name, as the model of river takes them.
        y : label
            Its label.
        """
        check_label(y, "y")
        rows: Any = [x]
        self.progressive(rows, np.asarray([y]))

    def predict_proba_one(self, x: Mapping[Label, object]) -> dict[Label, float]:
        """Return probabilities by class; nothing is learned.

        Parameters
        ----------
        x : dict
            Features by name, as the model of river takes them.

        Returns
        -------
        dict of label to float
            Probabilities.
        """
        if not hasattr(self, "model_"):
            return {False: 0.5, True: 0.5}
        p = self._answers.columns(np.array([self._score_one(x)]))[0]
        return dict(zip(self.classes_.tolist(), p.tolist(), strict=True))

    def predict_one(self, x: Mapping[Label, object]) -> Label:
        """Return the label of one row; nothing is learned.

        Parameters
        ----------
        x : dict
            Features by name, as the model of river takes them.

        Returns
        -------
        label
            The decision.
        """
        if not hasattr(self, "model_"):
            return first_decision(self.rule, self.metric)
        codes = self._answers.decide(np.array([self._score_one(x)]))
        label: Label = self._answers.to_labels(codes).tolist()[0]
        return label

    # -- inside -----------------------------------------------------------------

    @property
    def threshold_(self) -> float:
        """Return the threshold on probabilities for the next row."""
        check_is_fitted(self, "model_")
        if isinstance(self._answers, Answers):
            raise AttributeError("threshold_ is only available for binary problems")
        return self._answers.rule.threshold_of(self._answers.state)

    @property
    def score_(self) -> float:
        """Return the metric of all predictions so far."""
        check_is_fitted(self, "model_")
        return self._answers.score

    @property
    def _is_river(self) -> bool:
        return hasattr(self.model, "learn_one") and not hasattr(
            self.model, "partial_fit"
        )

    def _start(
        self, y: ArrayLike, n: int, classes: ClassNames | None, *, whole: bool = False
    ) -> None:
        """Reset, with the classes of the first labels or those in `classes`."""
        answers: Any = build_answers(
            self, y, n, classes, two=ThresholdAnswers, whole=whole
        )
        if not (self._is_river or hasattr(self.model, "partial_fit")):
            raise TypeError(
                "model must have partial_fit or learn_one, and "
                f"{shown(self.model)} does not"
            )
        self._answers: ThresholdAnswers | Answers = answers
        self.classes_, self._trained = answers.classes, False
        self.model_: Any = self.model
        if hasattr(self.model, "clone"):  # river's estimators copy themselves
            self.model_ = self.model.clone()
        elif hasattr(self.model, "get_params"):
            self.model_ = clone(self.model)

    def _scores(self, X: Features) -> Floats:
        """Return log-odds of the positive class, or probabilities of all classes."""
        answers = self._answers
        if self._is_river:
            rows = _dicts(X, None)
            scores = answers.unknown(len(rows))
            for i, x in enumerate(rows):
                scores[i] = self._score_one(x)
            return scores
        if not self._trained:
            return answers.unknown(_n_rows(X))
        several = isinstance(answers, Answers)
        with check_features_with_hint(X, model=True):
            if hasattr(self.model_, "predict_proba") and (
                several or not hasattr(self.model_, "decision_function")
            ):
                shares = self.model_.predict_proba(X)
                if isinstance(shares, list):  # a pair of columns for each label
                    shares = np.column_stack([np.asarray(one)[:, -1] for one in shares])
                shares = np.asarray(shares, dtype=np.float64)
                if several:
                    return shares
                place = list(self.model_.classes_).index(self.classes_[1])
                return logit(shares[:, place])
            margins = to_floats(self.model_.decision_function(X), "the margins")
        if isinstance(answers, Answers):
            return answers.shares(margins)
        return margins if self.classes_[1] == max(self.classes_) else -margins

    def _score_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the score of one row by a river model, as `_scores` does for many."""
        if not self._is_river:
            raise TypeError(
                "one row at a time goes with a model of river, which has "
                "predict_proba_one and learn_one; with this model call "
                "partial_fit(X, y) and predict(X)"
            )
        shares: dict[Any, float] = self.model_.predict_proba_one(x)
        p = np.array([shares.get(one, 0.0) for one in self.classes_.tolist()])
        if isinstance(self._answers, Answers):
            return p / p.sum() if p.sum() > 0.0 else self._answers.unknown(1)[0]
        return logit(p[1:])[0] if shares else 0.0


def _n_rows(X: Any) -> int:
    """Return the number of rows of X."""
    with check_features_with_hint(X, model=True):
        if isinstance(X, str | bytes | Mapping):
            raise TypeError
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _dicts(X: Any, n: int | None) -> list[Mapping[Any, Any]]:
    """Return rows as dicts of features by name, or by number."""
    if hasattr(X, "to_dict") and hasattr(X, "columns"):
        rows: list[Mapping[Any, Any]] = X.to_dict(orient="records")
    elif isinstance(X, list) and X and isinstance(X[0], Mapping):
        rows = X
    elif is_sparse(X):
        rows = [
            dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            for row in X.tocsr()
        ]
    else:
        rows = [dict(enumerate(row)) for row in np.asarray(X, dtype=object).tolist()]
    if n is not None and len(rows) != n:
        raise ValueError(f"X has {len(rows)} rows but y has {n}")
    return rows


try:
    from river.base import Classifier as _RiverBase
except ModuleNotFoundError:
    _RiverBase = None


class RiverClassifier(OnlineClassifier, *([_RiverBase] if _RiverBase else [])):  # type: ignore[misc]
    """`OnlineClassifier` for river's pipelines, metrics and evaluation.

    Methods are those of `OnlineClassifier`; labels are booleans.

    Parameters
    ----------
    *args, **options
        As for `OnlineClassifier`.

    Examples
    --------
    >>> from argmetric.stream import RiverClassifier
    >>> model = RiverClassifier("f1")  # doctest: +SKIP
    >>> model.learn_one({"size": 2.0}, True)  # doctest: +SKIP
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:
        if _RiverBase is None:
            raise ModuleNotFoundError(
                f"RiverClassifier needs river: {install('river')}"
            )
        made: Self = super().__new__(cls)
        return made

    @property
    def _multiclass(self) -> bool:
        return False

    @property
    def _is_stochastic(self) -> bool:
        return bool(self.learner == "omcsl")
