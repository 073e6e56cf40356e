"""A threshold rule around any online model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.validation import check_is_fitted, column_or_1d

from argmetric._ground.arguments import check_label, install
from argmetric._ground.features import explained, is_second
from argmetric._ground.odds import from_log_odds, logit
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    Estimator,
    Features,
    Floats,
    Label,
)
from argmetric._ground.validation import (
    is_sparse,
    to_floats,
    to_numpy,
    warn_of_common_class,
)
from argmetric.metrics import MetricLike, get_metric
from argmetric.stream._classifier import OnlineClassifier
from argmetric.stream._input import order_classes, read_labels, two_classes
from argmetric.stream._omma import OMMARule
from argmetric.stream._rule_base import UNWEIGHTED, ThresholdRule
from argmetric.stream._rules import RuleName, get_rule, undecided
from argmetric.stream._several import Answers, answers_for

_BLOCK = 256  # rows of `fit` between two steps of the model


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

    def __init__(
        self,
        model: Estimator,
        metric: MetricLike = "f1",
        rule: RuleName | ThresholdRule | OMMARule = "histogram",
        *,
        pos_label: Label | None = None,
    ) -> None:
        self.model = model
        self.metric = metric
        self.rule = rule
        self.pos_label = pos_label

    _answers: Answers | None = None  # of several classes or labels

    # -- blocks -----------------------------------------------------------------

    def partial_fit(
        self,
        X: Features,
        y: ArrayLike,
        classes: ClassNames | None = None,
    ) -> Self:
        """Learn from a block, the rule before the model."""
        self.progressive(X, y, classes=classes)
        return self

    def fit(self, X: Features, y: ArrayLike) -> Self:
        """Start anew and learn from the rows in their order, in small blocks."""
        if hasattr(self, "model_"):
            del self.model_
        answers = answers_for(self, y, None)
        if answers is None:
            values = read_labels(y, _n_rows(X), first=True)
            classes = two_classes(values, None, self.pos_label, whole=True)
            if self.pos_label is None:
                warn_of_common_class(classes, 1, values)
        else:
            values = answers.named(answers.code(y, _n_rows(X)))
            classes = None if answers.labelled else answers.classes  # type: ignore[assignment]
        rows: Any = X
        rows = rows.tocsr() if is_sparse(X) else rows
        rows = rows if hasattr(X, "shape") or self._is_river else to_numpy(X, "X")
        rows = getattr(rows, "iloc", rows)
        for start in range(0, len(values), _BLOCK):
            part = slice(start, start + _BLOCK)
            self.progressive(rows[part], values[part], classes=classes)
        return self

    def progressive(
        self,
        X: Features,
        y: ArrayLike,
        *,
        classes: ClassNames | None = None,
    ) -> npt.NDArray[Any]:
        """Predict a block before its labels are seen, and learn from it.

        The model learns from the whole block at once, as its `partial_fit` does: the
        smaller the blocks, the fresher the probabilities that the rule sees.
        """
        if not hasattr(self, "model_"):
            self._begin(y, classes, _n_rows(X))
        if self._answers is not None:
            return self._progress_several(self._answers, X, y, classes)
        truth = self._truth(read_labels(y, _n_rows(X), first=True))
        if self._is_river:
            rows = _dicts(X, truth.size)
            found = [
                self._learn_one(x, label) for x, label in zip(rows, truth, strict=True)
            ]
            labels = np.array(found, dtype=np.int64)
        else:
            logits = self._logits(X)
            self._teach(X, self.classes_[truth], self._sorted)
            labels = self._rule.run(self._rule_state, logits, truth, logits=True).labels
        self._count(labels, truth)
        return np.asarray(self.classes_[labels])

    def _progress_several(
        self, answers: Answers, X: Any, y: Any, classes: Any
    ) -> npt.NDArray[Any]:
        truth = answers.code(y, _n_rows(X), classes)
        targets = answers.named(truth)
        if self._is_river:
            p = answers.unknown(len(truth))
            for i, x in enumerate(_dicts(X, len(truth))):
                p[i] = self._shares_one(answers, x)
                self.model_.learn_one(x, targets[i : i + 1].tolist()[0])
        else:
            p = self._shares(answers, X)
            known: Any = answers.classes
            if isinstance(self.model_, MultiOutputClassifier):
                known = [np.arange(2) for _ in known]  # of each label
            self._teach(X, targets, known)
        return answers.named(answers.learn(p, truth))

    def _teach(self, X: Any, targets: npt.NDArray[Any], classes: Any) -> None:
        """The model first: a block that it refuses must not count for the rule."""
        with explained(X, model=True):
            self.model_.partial_fit(X, targets, classes=classes)
        self._trained = True

    def predict(self, X: Features) -> npt.NDArray[Any]:
        """Labels by the current model and threshold."""
        check_is_fitted(self, "model_")
        if self._answers is not None:
            p = self._shares(self._answers, X)
            return self._answers.named(self._answers.decide(p))
        logits = self._logits(X)
        labels = self._rule.decide(self._rule_state, logits, logits=True)
        return np.asarray(self.classes_[labels])

    def predict_proba(self, X: Features) -> Floats:
        """Probabilities of the negative and the positive class, or of all classes."""
        check_is_fitted(self, "model_")
        if self._answers is not None:
            return self._shares(self._answers, X)
        return np.column_stack(from_log_odds(self._logits(X))[::-1])

    def score(self, X: Features, y: ArrayLike) -> float:
        """The metric of `predict(X)`, negated where smaller is better."""
        if self._answers is not None:
            labels = self._answers.decide(self._shares(self._answers, X))
            truth = self._answers.code(y, len(labels))
            return self._answers.score_of(truth, labels, UNWEIGHTED)
        predicted = self.predict(X) == self.classes_[1]
        value = self._metric.score(self._truth(column_or_1d(y)), predicted)
        return self._metric._gain(value)

    # -- one row at a time ------------------------------------------------------

    def learn_one(self, x: Mapping[Label, object], y: Label) -> None:
        """Learn from one row, the rule before the model."""
        check_label(y, "y")
        if not hasattr(self, "model_"):
            self._begin([y], None, 1)
        if self._answers is not None:
            self._progress_several(self._answers, [x], [y], None)
            return
        truth = self._truth(np.asarray([y]))
        label = self._learn_one(x, int(truth[0]))
        self._count(np.array([label]), truth)

    def _learn_one(self, x: Mapping[Any, Any], truth: int) -> int:
        p = self._probability_one(x)
        self.model_.learn_one(x, self.classes_[truth].item())
        return self._rule.update(self._rule_state, p, truth)

    def predict_proba_one(self, x: Mapping[Label, object]) -> dict[Label, float]:
        """Probabilities by class; nothing is learned."""
        if not hasattr(self, "model_"):
            return {False: 0.5, True: 0.5}
        if self._answers is not None:
            found = self._shares_one(self._answers, x).tolist()
            return dict(zip(self.classes_.tolist(), found, strict=True))
        p = self._probability_one(x)
        return dict(zip(self.classes_.tolist(), (1.0 - p, p), strict=True))

    def predict_one(self, x: Mapping[Label, object]) -> Label:
        """Label of one row; nothing is learned."""
        if not hasattr(self, "model_"):
            return undecided(self.rule, self.metric)
        if self._answers is not None:
            found = self._answers.decide(self._shares_one(self._answers, x)[None])
            named: Label = self._answers.named(found).tolist()[0]
            return named
        p = self._probability_one(x)
        place = int(self._rule.decide(self._rule_state, [p])[0])
        label: Label = self.classes_[place].item()
        return label

    # -- inside -----------------------------------------------------------------

    @property
    def threshold_(self) -> float:
        """Threshold on probabilities that the next row will meet."""
        check_is_fitted(self, "model_")
        if self._answers is not None:
            raise AttributeError("threshold_ is known for two classes alone")
        return self._rule.threshold_of(self._rule_state)

    @property
    def score_(self) -> float:
        """The metric of all predictions so far."""
        check_is_fitted(self, "model_")
        if self._answers is not None:
            return self._answers.score
        return float(self._metric.value(*self._counts))

    @property
    def _is_river(self) -> bool:
        return hasattr(self.model, "learn_one") and not hasattr(
            self.model, "partial_fit"
        )

    def _begin(self, y: Any, classes: Any, n: int) -> None:
        """Start with the classes of the first labels, or those that are named."""
        self._answers = answers_for(self, y, classes)
        if self._answers is None:
            values = read_labels(y, n, first=True)
            self._start(two_classes(values, classes, self.pos_label))
        else:
            self._start(self._answers.classes)

    def _start(self, classes: npt.NDArray[Any]) -> None:
        if not (self._is_river or hasattr(self.model, "partial_fit")):
            raise TypeError(
                f"model must have partial_fit or learn_one, and {self.model!r} does not"
            )
        self._sorted = self.classes_ = classes
        if self._answers is None:
            self.classes_ = order_classes(classes, self.pos_label)
            self._metric = get_metric(self.metric)
            assert not isinstance(self.rule, OMMARule)  # several have answers
            self._rule = get_rule(self.rule)
            self._rule_state = self._rule.init_state(self._metric)
            self._counts = np.zeros(4)
        self._trained = False
        self.model_: Any = self.model
        if hasattr(self.model, "clone"):  # river's estimators copy themselves
            self.model_ = self.model.clone()
        elif hasattr(self.model, "get_params"):
            self.model_ = clone(self.model)

    def _truth(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        return is_second(values, self.classes_).astype(np.int64)

    def _count(
        self, labels: npt.NDArray[np.int64], truth: npt.NDArray[np.int64]
    ) -> None:
        counts = [(labels & truth).sum(), labels.sum(), truth.sum(), truth.size]
        self._counts = self._counts + np.array(counts, dtype=np.float64)

    def _logits(self, X: Any) -> Floats:
        """Log-odds of the positive class; 0 while the model has seen nothing."""
        if self._is_river:
            found = [self._probability_one(x) for x in _dicts(X, None)]
            return logit(np.array(found))
        if not self._trained:
            return np.zeros(_n_rows(X))
        with explained(X, model=True):
            if hasattr(self.model_, "decision_function"):
                margins = to_floats(self.model_.decision_function(X), "the margins")
                return margins if self.classes_[1] == self._sorted[1] else -margins
            shares = np.asarray(self.model_.predict_proba(X), dtype=np.float64)
        return logit(shares[:, list(self.model_.classes_).index(self.classes_[1])])

    def _shares(self, answers: Answers, X: Any) -> Floats:
        """Probabilities of several classes or labels; equal ones at first."""
        if self._is_river:
            rows = [self._shares_one(answers, x) for x in _dicts(X, None)]
            return np.array(rows).reshape(-1, len(self.classes_))
        if not self._trained:
            return answers.unknown(_n_rows(X))
        with explained(X, model=True):
            if not hasattr(self.model_, "predict_proba"):
                margins = to_floats(self.model_.decision_function(X), "the margins")
                return answers.shares(margins)
            found = self.model_.predict_proba(X)
        if isinstance(found, list):  # a pair of columns for each label
            found = np.column_stack([np.asarray(one)[:, -1] for one in found])
        return np.asarray(found, dtype=np.float64)

    def _shares_one(self, answers: Answers, x: Mapping[Any, Any]) -> Floats:
        found = self._found_one(x)
        p = np.array([found.get(one, 0.0) for one in answers.classes.tolist()])
        return np.asarray(p / p.sum() if p.sum() > 0.0 else answers.unknown(1)[0])

    def _probability_one(self, x: Mapping[Any, Any]) -> float:
        found = self._found_one(x)
        return float(found.get(self.classes_[1].item(), 0.0)) if found else 0.5

    def _found_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        if not self._is_river:
            raise TypeError(
                "one row at a time goes with a model of river, which has "
                "predict_proba_one and learn_one; with this model call "
                "partial_fit(X, y) and predict(X)"
            )
        found: dict[Any, float] = self.model_.predict_proba_one(x)
        return found


def _n_rows(X: Any) -> int:
    with explained(X, model=True):
        if isinstance(X, str | bytes | Mapping):
            raise TypeError
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _dicts(X: Any, n: int | None) -> list[Mapping[Any, Any]]:
    """Rows as dicts of features by name, or by number."""
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

    Parameters and methods are those of `OnlineClassifier`; labels are booleans.
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
