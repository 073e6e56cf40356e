"""Learn a linear classifier and its threshold together, in one pass."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from argmetric._ground.arguments import check_count, check_flag, check_label
from argmetric._ground.odds import expit
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    ClassNames,
    Features,
    Floats,
    Label,
    RandomState,
)
from argmetric._ground.validation import to_numpy
from argmetric.metrics import MetricLike
from argmetric.stream._input import Vocabulary, read_rows
from argmetric.stream._learners import AverageName, FeatureRows, LearnerName, count_rows
from argmetric.stream._model import Detector, StreamModel
from argmetric.stream._omma import OMMARule
from argmetric.stream._rule_base import ThresholdRule, check_weight
from argmetric.stream._rules import RuleName, first_decision
from argmetric.stream._several import (
    Answers,
    SeveralModel,
    TwoAnswers,
    build_answers,
    build_model,
    takes_several,
)
from argmetric.stream._state import load_state, save_state


def _attribute(name: str, words: str) -> Any:
    """Return a property that reads an attribute of the model, after the first row."""

    def get(classifier: OnlineClassifier) -> Any:
        """Return an attribute of the fitted model; explain its absence."""
        if not hasattr(classifier, "_model"):
            raise AttributeError(f"{name}_ needs a first row: call fit")
        if not hasattr(classifier._model, name):
            raise AttributeError(f"{name}_ is only available for binary problems")
        return getattr(classifier._model, name)

    return property(get, doc=words)


@dataclass(eq=False, repr=False)
class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a logistic regression and the best threshold for a metric in one pass.

    Pass rows in blocks (`partial_fit`, `progressive`: one compiled call per block) or
    one by one (`learn_one`). The block size does not change the result, bit for bit.

    Several classes, or a matrix y of labels 0 and 1, have a regression each; they are
    decided by `OMMARule`.

    Parameters
    ----------
    metric : str, Metric or callable, default="f1"
        What predictions are judged by; of several classes the mean over these.
    rule : str, ThresholdRule or OMMARule, default="histogram"
        How the threshold is learned: "histogram", "newton", "ofo", "fofo", "sfo",
        "fixed", or a rule with options of its own, such as `FOFORule(n=10_000)`. The
        learners "stamp" and "omcsl" decide without a threshold and take no rule.
        Several classes or labels take `OMMARule()`, or another one of its kind.
    learner : {"mixture", "sgd", "adagrad", "stamp", "omcsl"}, default="mixture"
        How the probability is learned. The mixture needs no tuned step.
    step : float, optional
        Step size c: SGD moves by c/√t, AdaGrad by c; by default 1. It scales all steps
        of a mixture.
    average : {"polynomial", "suffix"}, optional
        For "sgd" and "adagrad": predict with an average of the iterates.
    memory : float, optional
        Number of rows that the learner remembers; set it if the stream drifts.
    fit_intercept : bool, default=True
        Whether there is a constant feature.
    hash_bits : int, optional
        Hash all features into 2**hash_bits columns: rows may then have any width.
    detector : object, optional
        An object with `update(value)` and `drift_detected`. It gets 1 for every error
        and 0 for every hit; at a drift the rule is reset and the learner takes large
        steps again. A copy is used, `detector_`, which `get_state` leaves out.
    waiting : int, default=10_000
        Rows of `predict_id` that may wait for their labels.
    expired : {"drop", "negative"}, default="drop"
        A row that waited too long is forgotten, or learned as a negative.
    pos_label : optional
        The positive class; by default the larger one.
    random_state : int, RandomState or None, default=0
        For the draws of "omcsl".

    Attributes
    ----------
    threshold_ : float
        Threshold on probabilities for the next row.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Weights of the log-odds (of a mixture: the mean of its experts').
    score_ : float
        The metric of all predictions so far, each made before its label was seen.
    history_ : dict of arrays
        `n_seen`, `score`, `threshold` and the counts `tp`, `k`, `t`, `n` at up to 512
        evenly spaced moments.
    n_seen_ : int
        Rows learned from.
    n_drifts_, n_expired_, n_late_ : int
        Drifts detected, rows that waited too long, labels that arrived too late.
    detector_ : object or None
        The drift detector in use, a copy of the one passed.
    classes_ : ndarray
        Negative and positive class; several classes; or the numbers of the labels.

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

    metric: MetricLike = "f1"
    _: KW_ONLY
    rule: RuleName | ThresholdRule | OMMARule = "histogram"
    learner: LearnerName = "mixture"
    step: float | None = None
    average: AverageName | None = None
    memory: float | None = None
    fit_intercept: bool = True
    hash_bits: int | None = None
    detector: Detector | None = None
    waiting: int = 10_000
    expired: Literal["drop", "negative"] = "drop"
    pos_label: Label | None = None
    random_state: RandomState = 0
    classes_: AnyArray = field(init=False)
    n_features_in_: int = field(init=False)
    _model: StreamModel | SeveralModel = field(init=False)
    _answers: TwoAnswers | Answers = field(init=False)
    _vocabulary: Vocabulary = field(init=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kinds = tags.classifier_tags
        kinds.multi_class = kinds.multi_label = takes_several(self)
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    # -- rows in blocks -----------------------------------------------------------

    def fit(
        self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Reset the model, and learn from the rows in their order.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels of classes, or a matrix of labels 0 and 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        OnlineClassifier
            Itself.
        """
        for name in ("_model", "classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        self._learn(X, y, None, sample_weight, whole=True)
        return self

    def partial_fit(
        self,
        X: Features,
        y: ArrayLike,
        classes: ClassNames | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from a block.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of labels, optional
            Needed at the first call if the block may lack a class, unless labels are 0
            and 1. The first block may then be empty, `X[:0]`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; rows of weight 0 are skipped.

        Returns
        -------
        OnlineClassifier
            Itself.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def progressive(
        self,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ClassNames | None = None,
        return_proba: bool = False,
    ) -> AnyArray | tuple[AnyArray, Floats]:
        """Predict each row before its label is seen, and learn from it.

        Parameters
        ----------
        X, y, sample_weight, classes
            As for `partial_fit`.
        return_proba : bool, default=False
            Whether to return probabilities, too.

        Returns
        -------
        ndarray of shape (n_samples,), or a pair of them
            Predicted labels, and with `return_proba` their probabilities.
        """
        return_proba = check_flag(return_proba, "return_proba")
        labels, scores = self._learn(X, y, classes, sample_weight)
        predicted = self._answers.to_labels(labels)
        if not return_proba:
            return predicted
        return predicted, expit(scores) if scores.ndim == 1 else scores

    def _learn(
        self,
        X: Features,
        y: ArrayLike,
        classes: ClassNames | None,
        sample_weight: ArrayLike | None,
        *,
        whole: bool = False,
    ) -> tuple[AnyArray, Floats]:
        """Read the rows and learn from them.

        Return predictions and scores of before.
        """
        first = not hasattr(self, "_model")
        if first:  # classes of a first call that failed
            self.__dict__.pop("classes_", None)
        rows = self._rows(X, reset=first, least=int(first and classes is None))
        truth = self._read_truth(y, count_rows(rows), classes, whole=whole)
        weights = check_weight(sample_weight, count_rows(rows))
        if whole and not weights[0].any():
            raise ValueError("sample_weight is zero for all rows: nothing to learn")
        if first:
            self._start()
        return self._model.learn(rows, truth, weights)

    def _decide_rows(self, X: Features) -> tuple[AnyArray, Floats]:
        """Return labels and scores by the current model."""
        check_is_fitted(self)
        return self._model.decide(self._rows(X))

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
        labels, _ = self._decide_rows(X)
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
        _, scores = self._decide_rows(X)
        return self._answers.columns(scores)

    def decision_function(self, X: Features) -> Floats:
        """Return log-odds minus those of the threshold; of several classes, the gains.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 for predicted labels.
        """
        decided = self._decide_rows(X)
        return self._model.margins(*decided)

    def score(
        self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the metric of `predict(X)`, negated if smaller is better.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
            Larger is better.
        """
        labels, _ = self._decide_rows(X)
        truth = self._read_truth(y, len(labels))
        weights = check_weight(sample_weight, len(labels))
        return self._answers.evaluate(truth, labels, weights)

    # -- labels that come later ---------------------------------------------------

    def predict_id(self, X: Features) -> tuple[npt.NDArray[np.int64], AnyArray]:
        """Predict, and keep the rows until `feedback` brings their labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ids : ndarray of int
            For `feedback`. Rows beyond `waiting` expire, oldest first.
        labels : ndarray
            As of `predict`.
        """
        check_is_fitted(self)
        ids, labels = self._two().hold(
            self._rows(X), most=self.waiting, as_negative=self.expired == "negative"
        )
        return ids, self.classes_[labels]

    def feedback(self, ids: ArrayLike, y: ArrayLike) -> int:
        """Learn from labels of earlier predictions, in the order given.

        Parameters
        ----------
        ids : int or array-like of int
            From `predict_id`, in any order.
        y : label or array-like
            Their labels.

        Returns
        -------
        int
            Rows learned from; labels of expired rows are ignored.
        """
        check_is_fitted(self)
        wanted = to_numpy(ids if np.iterable(ids) else [ids], "ids", "a list of ids")
        if wanted.ndim != 1:
            raise ValueError(f"ids must be a list of ids, not of shape {wanted.shape}")
        several = np.iterable(y) and not isinstance(y, str)
        y = to_numpy(y if several else [y], "y")
        truth = self._read_truth(y, wanted.size, other="ids")
        return self._two().feedback(wanted, truth)

    # -- one row at a time, as river has it ---------------------------------------

    def learn_one(self, x: Mapping[Label, object], y: ArrayLike) -> None:
        """Learn from one row of named features.

        Parameters
        ----------
        x : dict
            Numbers by name; text counts as the feature "name=text" of value 1. New
            names are added, missing ones are 0.
        y : bool, or a label
            Its label.
        """
        if not (hasattr(self, "_model") and self._answers.labelled):
            check_label(y, "y")
        truth = self._read_truth(np.asarray([y]), 1)
        if not hasattr(self, "_model"):
            self.n_features_in_ = 0
            self._start()
        rows = self._vocabulary.row(x, bits=self._bits, learn=True)
        if not self.hash_bits:
            self._model.grow(len(self._vocabulary))
            self.n_features_in_ = max(self.n_features_in_, len(self._vocabulary))
        self._model.learn(rows, truth)

    def predict_proba_one(self, x: Mapping[Label, object]) -> dict[Label, float]:
        """Return probabilities by class; the model does not change.

        Parameters
        ----------
        x : dict
            Numbers by name; text counts as the feature "name=text" of value 1.

        Returns
        -------
        dict of label to float
            Probabilities.
        """
        if not hasattr(self, "_model"):
            return {False: 0.5, True: 0.5}
        p = self._answers.columns(self._decide_row(x)[1])[0]
        return dict(zip(self.classes_.tolist(), p.tolist(), strict=True))

    def predict_one(self, x: Mapping[Label, object]) -> Label:
        """Return the label of one row; the model does not change.

        Parameters
        ----------
        x : dict
            Numbers by name; text counts as the feature "name=text" of value 1.

        Returns
        -------
        label
            The decision.
        """
        if not hasattr(self, "_model"):
            return first_decision(self.rule, self.metric)
        label: Label = self._answers.to_labels(self._decide_row(x)[0]).tolist()[0]
        return label

    def _decide_row(self, x: Mapping[Hashable, Any]) -> tuple[AnyArray, Floats]:
        """Return the label and score of one row of named features."""
        rows = self._vocabulary.row(x, bits=self._bits, learn=False)
        return self._model.decide(rows)

    # -- what was learned ---------------------------------------------------------

    threshold_ = _attribute("threshold", "Threshold on probabilities for the next row.")
    n_seen_ = _attribute("n_seen", "Rows learned from.")
    score_ = _attribute(
        "score", "The metric of all predictions made before their labels were seen."
    )
    history_ = _attribute(
        "history", "Counts, score and threshold at up to 512 evenly spaced moments."
    )
    n_drifts_ = _attribute("n_drifts", "Drifts that the detector has found.")
    n_expired_ = _attribute("n_expired", "Rows that waited too long for their labels.")
    n_late_ = _attribute("n_late", "Labels that came after their rows had expired.")
    detector_ = _attribute(
        "detector", "The drift detector in use, a copy of the one passed."
    )
    _coefficients = _attribute("coefficients", "Constant and weights of the log-odds.")

    @property
    def coef_(self) -> Floats:
        """Return the weights of the log-odds, shape (1 or n_classes, n_features)."""
        return np.atleast_2d(self._coefficients(self._width()))[:, 1:]

    @property
    def intercept_(self) -> Floats:
        """Return the constant of the log-odds, of shape (1,) or (n_classes,)."""
        return np.atleast_2d(self._coefficients(self._width()))[:, 0]

    def get_state(self) -> dict[str, AnyArray]:
        """Return the whole state as plain arrays, for `numpy.savez`.

        A model with the same parameters continues from them exactly (`set_state`).

        Returns
        -------
        dict of str to ndarray
            Arrays by name.
        """
        check_is_fitted(self)
        return save_state(self)

    def set_state(self, state: Mapping[str, AnyArray]) -> Self:
        """Continue from a state of `get_state`; the parameters must be equal.

        Parameters
        ----------
        state : dict of str to ndarray
            Arrays by name.

        Returns
        -------
        OnlineClassifier
            Itself.
        """
        load_state(self, state)
        return self

    # -- inside -------------------------------------------------------------------

    @property
    def _bits(self) -> int | None:
        """Checked `hash_bits`; 2**bits is 0 in the 8 bits of numpy's uint8."""
        if self.hash_bits is None:
            return None
        return check_count(self.hash_bits, "hash_bits", low=1, high=30)

    def _width(self) -> int:
        return 2**self._bits if self._bits else self.n_features_in_

    def _start(self) -> None:
        """Create a model for rows of the current width and feature names."""
        width, names = self._width(), getattr(self, "feature_names_in_", None)
        self._vocabulary = Vocabulary(width)
        if names is not None:
            self._vocabulary = Vocabulary(0, {name: i for i, name in enumerate(names)})
        self._model = build_model(self, self._answers, width)

    def _two(self) -> StreamModel:
        """Return the binary model, or raise an error if there are several classes."""
        if isinstance(self._model, SeveralModel):
            raise ValueError("delayed labels only support binary classification")
        return self._model

    def _rows(self, X: Features, *, reset: bool = False, least: int = 0) -> FeatureRows:
        return read_rows(self, X, self._bits, reset=reset, least=least)

    def _read_truth(
        self,
        y: ArrayLike | None,
        n: int,
        classes: ClassNames | None = None,
        *,
        whole: bool = False,
        other: str = "X",
    ) -> AnyArray:
        """Return labels as 0 and 1, or as class numbers; learn the classes at first.

        Parameters
        ----------
        n : int
            Number of rows of `other`, for messages.
        whole : bool
            Whether y holds all labels, so that no class can follow.
        """
        if not hasattr(self, "classes_"):
            self._answers = build_answers(self, y, n, classes, whole=whole, other=other)
            self.classes_ = self._answers.classes
        return self._answers.code(y, n, classes, other)
