"""A linear classifier and its threshold, learned together in one pass."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from argmetric._types import BinaryLabels, Floats
from argmetric.metrics import MetricLike
from argmetric.stream._core import NO_LABELS, ONE, Detector, sigmoid
from argmetric.stream._delayed import DelayedLabels
from argmetric.stream._learners import AverageName, LearnerName, count_rows
from argmetric.stream._one_row import OneRow
from argmetric.stream._rules import RuleName, ThresholdRule, check_weight
from argmetric.stream._saved import Saved


class OnlineClassifier(ClassifierMixin, OneRow, DelayedLabels, Saved):  # type: ignore[misc]
    """Logistic regression and the threshold that is best for a metric, in one pass.

    Rows come in chunks (`partial_fit`, `progressive`: one compiled call for all of
    them) or one by one (`learn_one`); a chunk equals its rows one by one, bit for bit.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What predictions are judged by.
    rule : str or ThresholdRule, default="histogram"
        How the threshold is learned: "histogram", "newton", "ofo", "fofo", "fixed", or
        a rule with options of its own, such as `FOFORule(n=10_000)`. The learners
        "stamp" and "omcsl" carry their own decision and take no rule.
    learner : {"mixture", "sgd", "adagrad", "stamp", "omcsl"}, default="mixture"
        How the probability is learned. The mixture needs no step to be tuned.
    step : float, optional
        Step size c: SGD moves by c/√t, AdaGrad by c; by default 1. It scales all steps
        of a mixture.
    average : {"polynomial", "suffix"}, optional
        For "sgd" and "adagrad": predict with an average of the iterates.
    memory : float, optional
        Rows that the learner remembers, where the stream drifts.
    fit_intercept : bool, default=True
        Whether there is a constant feature.
    hash_bits : int, optional
        Hash all features into 2**hash_bits columns: rows may then have any width.
    detector : object, optional
        Has `update(value)` and `drift_detected`. It is fed 1 for every error and 0 for
        every hit; at a drift the rule starts anew and the learner takes large steps
        again. A copy of it is used, `detector_`, which `get_state` leaves out.
    waiting : int, default=10_000
        Rows of `predict_id` that may wait for their labels.
    expired : {"drop", "negative"}, default="drop"
        What becomes of a row that waited too long: it is forgotten, or learned from as
        a negative.
    pos_label : optional
        The positive class; by default the larger one.
    random_state : int, RandomState or None
        For the draws of "omcsl".

    Attributes
    ----------
    threshold_ : float
        Threshold on probabilities that the next row will meet.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Weights of the log-odds (of a mixture: the mean of its experts').
    score_ : float
        The metric of all predictions so far, each made before its label was seen.
    history_ : dict of arrays
        `n_seen`, `score`, `threshold` and the counts `tp`, `k`, `t`, `n` at up to 512
        evenly spaced moments.
    n_seen_ : int
        Rows learned from.
    classes_ : ndarray of shape (2,)
        Negative and positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from argmetric.stream import OnlineClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3))
    >>> y = rng.random(5000) < 1 / (1 + np.exp(3 - 2 * X[:, 0]))
    >>> model = OnlineClassifier(metric="f1")
    >>> labels = model.progressive(X, y)
    >>> round(model.score_, 2), round(model.threshold_, 2)
    (0.55, 0.32)
    """

    def __init__(
        self,
        metric: MetricLike = "f1",
        *,
        rule: RuleName | ThresholdRule = "histogram",
        learner: LearnerName = "mixture",
        step: float | None = None,
        average: AverageName | None = None,
        memory: float | None = None,
        fit_intercept: bool = True,
        hash_bits: int | None = None,
        detector: Detector | None = None,
        waiting: int = 10_000,
        expired: Literal["drop", "negative"] = "drop",
        pos_label: Any = None,
        random_state: Any = None,
    ) -> None:
        self.metric = metric
        self.rule = rule
        self.learner = learner
        self.step = step
        self.average = average
        self.memory = memory
        self.fit_intercept = fit_intercept
        self.hash_bits = hash_bits
        self.detector = detector
        self.waiting = waiting
        self.expired = expired
        self.pos_label = pos_label
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Start anew and learn from the rows in their order.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            BinaryLabels of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        """
        for name in ("_state", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self._learn(X, y, None, sample_weight, whole=True)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from a chunk.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            BinaryLabels.
        classes : array-like of two labels, optional
            Needed at the first call if the chunk may hold one class alone and labels
            are not 0 and 1. With them the first chunk may be empty, `X[:0]`: for
            `predict_id` before any label is known.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; rows of weight 0 are passed over.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def progressive(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        return_proba: bool = False,
    ) -> Any:
        """Predict each row before its label is seen, and learn from it.

        Parameters
        ----------
        X, y, sample_weight, classes
            As for `partial_fit`.
        return_proba : bool, default=False
            Whether to return the probability of the positive class too.

        Returns
        -------
        ndarray of shape (n_samples,), or a pair of them
            Predicted labels, and with `return_proba` their probabilities.
        """
        labels, logits = self._learn(X, y, classes, sample_weight)
        predicted = self.classes_.take(labels)
        return (predicted, sigmoid(logits)) if return_proba else predicted

    def _learn(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, whole: bool = False
    ) -> tuple[BinaryLabels, Floats]:
        if not self._started():  # of a first call that failed
            self.__dict__.pop("classes_", None)
        first = not self._started()
        rows = self._rows(X, reset=first, least=int(first and classes is None))
        truth = self._truth(y, classes, count_rows(rows), whole=whole)
        weight, pace = check_weight(sample_weight, count_rows(rows))
        if whole and not weight.any():
            raise ValueError("sample_weight is zero for all rows: nothing to learn")
        if not self._started():
            width = 2**self.hash_bits if self.hash_bits else self.n_features_in_
            self._start(width)
        return self._run(rows, truth, weight, pace)

    def _predicted(self, X: Any) -> tuple[BinaryLabels, Floats]:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return self._chunk(rows, NO_LABELS, ONE, 0, learn=False)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """BinaryLabels under the model and the threshold as they stand."""
        labels, _ = self._predicted(X)
        return np.asarray(self.classes_.take(labels))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the negative and of the positive class."""
        logits = self._predicted(X)[1]
        return np.column_stack([sigmoid(-logits), sigmoid(logits)])

    def decision_function(self, X: Any) -> Floats:
        """Log-odds minus those of the threshold: > 0 where `predict` is positive."""
        labels, logits = self._predicted(X)
        threshold = min(max(self.threshold_, 1e-300), 1.0 - 2.0**-53)
        margin = logits - (np.log(threshold) - np.log1p(-threshold))
        # a tie, or the last bit, must not tell another story than the label
        margin = np.where(labels == 1, np.maximum(margin, 1e-300), margin)
        return np.asarray(np.where(labels == 1, margin, np.minimum(margin, 0.0)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The metric of `predict(X)`."""
        predicted = self._predicted(X)[0]
        truth = self._truth(y, None, predicted.size)
        weight, pace = check_weight(sample_weight, predicted.size)
        weight = weight if pace else np.ones(predicted.size)
        positive, chosen = truth == 1, predicted == 1
        tp, k = weight[positive & chosen].sum(), weight[chosen].sum()
        return float(self._metric.value(tp, k, weight[positive].sum(), weight.sum()))
