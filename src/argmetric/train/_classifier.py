"""MetricClassifier: any classifier with calibrated probabilities and a tuned rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from argmetric._calibrate.fit import Method
from argmetric._ground.arguments import refuses
from argmetric._ground.odds import log_odds
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Estimator,
    Features,
    Floats,
    Folds,
    Label,
    RandomState,
    SharesLike,
)
from argmetric.metrics import MetricLike
from argmetric.train._batches import BatchDecisions
from argmetric.train._fitting import calibrate_and_tune, check_options, with_groups
from argmetric.train._wrapper import base_estimator

# The smallest positive double has log-odds of -744; beyond are only 0 and 1.
LIMIT = 800.0
# The smallest number that is still positive as a 32-bit float.
TINY = float(np.finfo(np.float32).tiny)
# What users of other libraries call `best_threshold_`, which not every rule has.
THRESHOLD_NAMES = "best_threshold_", "threshold_", "thresholds_", "threshold"


def distance(
    scores: Floats,
    threshold: float,
    applies: npt.NDArray[np.bool_],
    *,
    probabilities: bool,
    positive: int,
) -> Floats:
    """Return the distance from the threshold, > 0 exactly for the second class.

    It is the log-odds of the probability minus those of the threshold; for margins the
    plain difference. At a threshold of ±∞, where all rows fall to one side, the order
    of the rows is kept by ∓log(1 + exp(∓score)).

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Probabilities or margins of the positive class.
    applies : ndarray of bool, shape (n_rows,)
        Rows that the rule predicts positive.
    positive : {0, 1}
        Index of the positive class.
    """
    if probabilities:
        scores = np.clip(log_odds(scores, 1.0 - scores), -LIMIT, LIMIT)
        if 0.0 <= threshold <= 1.0:
            at = np.array([threshold])
            threshold = float(np.clip(log_odds(at, 1.0 - at), -LIMIT, LIMIT)[0])
        else:
            threshold = math.copysign(math.inf, threshold)
    if math.isinf(threshold):
        sign = math.copysign(1.0, threshold)
        away: Floats = -sign * np.logaddexp(0.0, -sign * scores)
    else:
        away = scores - threshold
    if positive == 0:
        away, applies = -away, ~applies
    # A score that equals the threshold, or differs in the last bit, has distance 0.
    return np.where(applies, np.maximum(away, TINY), np.minimum(away, 0.0))


def _has_probabilities(classifier: MetricClassifier) -> bool:
    """Return whether `predict_proba` is available."""
    if classifier.calibration is not None:
        return True
    unfitted = base_estimator(classifier.estimator)
    return hasattr(getattr(classifier, "estimator_", unfitted), "predict_proba")


class MetricClassifier(BatchDecisions):
    """Wrap a classifier and tune its threshold for a metric.

    `fit` tunes a threshold and fits a calibrator on out-of-fold scores, then fits the
    classifier on all rows. `predict` applies the threshold; `decide` chooses the
    best labels for a whole batch, and `forecast` forecasts their score. More on the
    page :doc:`/with_pipelines`.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba` or `decision_function`; by default
        ``LogisticRegression(max_iter=1000)``. A `FrozenEstimator` is not refitted: the
        rows given to `fit` are the reference that it is calibrated and tuned on.
    metric : str, Metric or callable, default="f1"
        A name, an instance, or a function of (tp, k, t, n). Of more than two classes
        its mean, "mcc", or if they are numbers in order "quadratic_kappa".
    calibration : str or None, default="spline"
        A method of `calibrate`; with more than two classes "temperature", and for
        `decide` and `forecast` the matrix of `classes.calibrate`. None leaves the
        scores as they are.
    route : {"tune", "decide", "half", "auto"}, default="tune"
        Where the threshold comes from: the best on the labels, the best in expectation,
        0.5, or what `calibration_check` advises on the out-of-fold scores.
    cv : int, splitter or iterable of splits, default=5
        Folds of the out-of-fold scores; a number: stratified, with groups kept whole.
    min_precision, min_recall, min_specificity, min_npv : float, optional
        Minima of these scores on the out-of-fold scores. With `review` of several
        classes `min_precision` may be a dict by class.
    max_positives : int or str, optional
        Most rows predicted positive on the out-of-fold scores: a count, or "5%".
    confidence : float, optional
        The limits hold for new rows with this probability: see `tune`. Exact for a
        frozen estimator, an approximation for out-of-fold scores.
    review : bool, default=False
        Experimental. With `confidence`: accept, reject or ask, see `ReviewRule`; of
        several classes a class or ask, see `argmetric.classes.ClassReviewRule`.
    ask : object, optional
        Experimental. With `review`: the label that `predict` gives to rows that a
        person should see; by default -1, or "ask" among several classes of text.
    average : {"groups", "pooled", "macro"}, optional
        Tune for the mean over the groups given to `fit`, or for all rows pooled, which
        is the default; "macro" is for more than two classes.
    pos_label : int, float, bool or str, optional
        The positive one of two classes; by default the last in sorted order.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    n_jobs : int, optional
        Folds fitted at a time.
    random_state : int, RandomState or None, default=0
        Seed of the intervals of `rule_`, and of the search with several classes.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted on all rows.
    calibrator_ : Calibrator or None
        Calibrator of its scores.
    rule_ : Rule, ReviewRule, MultiClassRule or ClassReviewRule
        On the estimator's own scores; of several classes without `review` calibrated.
    route_ : str
        Where its threshold came from: "tune", "decide" or "half".
    check_ : CalibrationCheck or None
        With ``route="auto"``, how all routes did out of fold.
    best_threshold_, best_score_ : float
        Threshold of `rule_` (two classes), and the metric on the out-of-fold scores;
        not with `review`.
    classes_ : ndarray
        The classes, sorted.
    n_features_in_, feature_names_in_
        As the fitted classifier has them.

    See Also
    --------
    argmetric.tune : The same rule from scores alone.
    argmetric.optimal_scorer : Choose a model by the best score over thresholds.

    Notes
    -----
    The sign of `decision_function` is the decision. `predict_proba` is calibrated: a
    row may be positive at a probability below one half. `score` is the metric.

    Examples
    --------
    >>> import argmetric as am
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(1_000, weights=[0.9], flip_y=0.1, random_state=0)
    >>> model = am.MetricClassifier(metric="f1", random_state=0).fit(X, y)
    >>> bool(model.best_threshold_ < 0.5)
    True
    >>> bool(((model.decision_function(X) > 0) == model.predict(X)).all())
    True
    """

    @refuses("parity", "prefit", "scoring")
    def __init__(
        self,
        estimator: Estimator | None = None,
        metric: MetricLike = "f1",
        *,
        calibration: Method | None = "spline",
        route: Literal["tune", "decide", "half", "auto"] = "tune",
        cv: Folds = 5,
        min_precision: SharesLike | None = None,
        min_recall: float | None = None,
        min_specificity: float | None = None,
        min_npv: float | None = None,
        max_positives: int | str | None = None,
        confidence: float | None = None,
        review: bool = False,
        ask: Label | None = None,
        average: Literal["groups", "pooled", "macro"] | None = None,
        pos_label: Label | None = None,
        zero_division: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.calibration = calibration
        self.route = route
        self.cv = cv
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.min_specificity = min_specificity
        self.min_npv = min_npv
        self.max_positives = max_positives
        self.confidence = confidence
        self.review = review
        self.ask = ask
        self.average = average
        self.pos_label = pos_label
        self.zero_division = zero_division
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Tune and calibrate on out-of-fold scores, then fit on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows; whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the estimator, the calibration and the rule.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for the splitter; see `average`.
        **params
            Further parameters of the estimator's `fit`.

        Returns
        -------
        MetricClassifier
            The estimator itself.
        """
        metric = check_options(self)
        estimator, problem = self._read(X, y, sample_weight)
        problem = with_groups(self, problem, groups)
        held_out, fit_params = self._hold_out(estimator, problem, params)
        fitted = calibrate_and_tune(self, metric, problem, held_out)
        self._fit_on_all(estimator, problem, fit_params)
        self.calibrator_ = fitted.calibrator
        self.rule_ = rule = fitted.rule
        self.route_, self.check_ = fitted.route, fitted.check
        self.classes_ = problem.classes
        self._positive, self._batch = problem.positive, fitted.batch
        if not self.review:
            self.best_score_ = rule.score
            if problem.positive is not None:
                self.best_threshold_ = rule.threshold
        return self

    def predict(self, X: Features) -> AnyArray:
        """Predict the class of each row with the tuned rule.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes, as in `classes_`; with `review` also ``rule_.ask``.
        """
        check_is_fitted(self)
        if self.review:
            return np.asarray(self.rule_.apply(self._scores(X)[0]))
        if self._positive is None:
            number = self.rule_.predicts(self.predict_proba(X))
        else:
            scores, _ = self._scores(X)
            chosen = self.rule_.applies(scores)
            number = np.where(chosen, self._positive, 1 - self._positive)
        return np.asarray(self.classes_[number])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Features) -> Floats:
        """Return calibrated probabilities, one column per class.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._class_probabilities(*self._scores(X))

    def decision_function(self, X: Features) -> Floats:
        """Return the signed distance of each row from the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: > 0 exactly where `predict` gives the second one. More: the
            weighted probabilities, or gains, of which `predict` takes the largest.
        """
        check_is_fitted(self)
        self._refuse_review("decision_function")
        if self._positive is None:
            return np.asarray(self.rule_._values(self.predict_proba(X)))
        scores, logits = self._scores(X)
        return distance(
            scores,
            self.rule_.threshold,
            self.rule_.applies(scores),
            probabilities=not logits,
            positive=self._positive,
        )

    def score(
        self,
        X: Features,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Return the metric that the rule was tuned for, of `predict(X)`.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.
        groups : array-like of shape (n_samples,), optional
            Their groups; needed with ``average="groups"``.

        Returns
        -------
        float
            Larger is better: a metric that is minimised is negated.
        """
        check_is_fitted(self)
        self._refuse_review("score")
        labels = self.predict(X)
        how: dict[str, Any] = {"sample_weight": sample_weight}
        if self.average == "groups":
            if groups is None:
                raise ValueError("average='groups' needs score(X, y, groups=...)")
            how["groups"] = groups
        if self._positive is None:
            how["average"] = self.average
        return self._score(y, labels, how)

    def _html_repr(self) -> str:
        """Return the notebook view: the tuned rule, and scikit-learn's diagram."""
        diagram = str(super()._html_repr())
        rule = getattr(self, "rule_", None)
        return diagram if rule is None else f"{rule._repr_html_()}{diagram}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Weights of classes act on probabilities, not on margins.
        tags.classifier_tags.multi_class &= _has_probabilities(self)
        return tags

    if not TYPE_CHECKING:  # any name would be an attribute for mypy

        def __getattr__(self, name: str) -> object:
            """Name the attribute that holds the threshold; other names fail as ever."""
            if name not in THRESHOLD_NAMES:  # the message is that of available_if
                return object.__getattribute__(self, name)
            holds = "best_threshold_ holds the threshold"
            if "rule_" not in vars(self):
                where = f"call fit first, then {holds}"
            elif "best_threshold_" in vars(self):
                where = holds
            else:
                where = "rule_ holds what it decides by, which is not one threshold"
            raise AttributeError(f"MetricClassifier has no {name}: {where}")
