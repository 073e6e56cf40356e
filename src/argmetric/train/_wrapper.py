"""What classifiers that wrap another one share: its rows, held-out scores, labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.arguments import check_jobs, check_label, check_seed, shown
from argmetric._ground.features import (
    check_features,
    class_number,
    estimator_labels,
    is_second,
    response_method,
    scores_of,
)
from argmetric._ground.labels import one_per_row
from argmetric._ground.types import AnyArray, ArrayLike, Features, Floats
from argmetric._ground.validation import to_numpy, warn_of_common_class
from argmetric._verbs.decide import evaluate
from argmetric.classes import evaluate as evaluate_classes
from argmetric.metrics import get_metric, ordinal_kappa
from argmetric.train._folds import (
    HeldOut,
    Problem,
    check_rows,
    check_weights,
    code_classes,
    out_of_fold,
    score_rows,
    split_rows,
)

Parameters = dict[str, Any]


def base_estimator(estimator: Any) -> Any:
    """Return the estimator, or the default if it is None."""
    if estimator is not None:
        return estimator
    default = LogisticRegression(max_iter=1000)
    if get_config()["enable_metadata_routing"]:
        default.set_fit_request(sample_weight=True)
    return default


class ClassifierWrapper(
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A classifier that fits another one on folds, and decides by its scores."""

    calibrator_: Calibrator | None
    classes_: AnyArray
    _positive: int | None
    # Splitters request groups by default, and so does what passes groups to one.
    __metadata_request__fit = {"groups": True}  # noqa: RUF012
    __metadata_request__score = {"groups": True}  # noqa: RUF012

    def get_metadata_routing(self) -> object:
        """Return where parameters of `fit` go: estimator, splitter or this object.

        Returns
        -------
        MetadataRouter
            As scikit-learn asks for it.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=base_estimator(self.estimator), method_mapping=to_fit)
            .add(splitter=self.cv, method_mapping=to_split)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(base_estimator(self.estimator))
        tags.input_tags = base.input_tags
        if base.classifier_tags is not None:
            tags.classifier_tags.multi_class = base.classifier_tags.multi_class
            tags.classifier_tags.poor_score = base.classifier_tags.poor_score
        return tags

    def _read(
        self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Problem]:
        """Check the arguments once; return the estimator, and the rows without groups.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
        y, sample_weight : array-like of shape (n_samples,)
        """
        check_jobs(self.n_jobs)
        check_seed(self.random_state, high=2**32 - 1)
        check_label(self.pos_label)
        estimator, known = base_estimator(self.estimator), None
        if not hasattr(estimator, "fit") or isinstance(estimator, type):
            raise TypeError(f"estimator must be a classifier, not {shown(estimator)}")
        if isinstance(estimator, FrozenEstimator):
            check_is_fitted(estimator)
            known = estimator.classes_
        X, y = check_rows(X, y, type(self).__name__)
        classes, codes = code_classes(y, known)
        weights = check_weights(sample_weight, codes, classes)
        positive = class_number(classes, self.pos_label)
        if self.pos_label is None and positive is not None:
            warn_of_common_class(classes, positive, y)
        return estimator, Problem(X, y, classes, codes, positive, weights, None)

    def _hold_out(
        self, estimator: Any, problem: Problem, params: Parameters
    ) -> tuple[HeldOut, Parameters]:
        """Return held-out scores, and the parameters for the estimator's `fit`."""
        fit_params, split_params = self._route(estimator, problem, params)
        if isinstance(estimator, FrozenEstimator):
            return score_rows(estimator, problem), fit_params
        splits = split_rows(self.cv, problem, split_params)
        scores = out_of_fold(estimator, problem, splits, fit_params, self.n_jobs)
        return scores, fit_params

    def _route(
        self, estimator: Any, problem: Problem, params: Parameters
    ) -> tuple[Parameters, Parameters]:
        """Return parameters for the estimator's `fit` and the splitter's `split`."""
        own = {"sample_weight": problem.weights, "groups": problem.groups}
        given = {name: value for name, value in own.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            shares = process_routing(self, "fit", **given, **params)
            return dict(shares.estimator.fit), dict(shares.splitter.split)
        fit_params, weights = dict(params), given.pop("sample_weight", None)
        if weights is not None:
            if has_fit_parameter(estimator, "sample_weight"):
                fit_params["sample_weight"] = weights
            elif not isinstance(estimator, FrozenEstimator):
                warnings.warn(
                    f"{type(estimator).__name__}.fit takes no sample_weight: the "
                    "weights act on calibration and threshold only. Name the step that "
                    "takes them, as in fit(..., step__sample_weight=w), or enable "
                    "metadata routing",
                    UserWarning,
                    stacklevel=4,
                )
        return fit_params, given

    def _fit_on_all(
        self, estimator: Any, problem: Problem, fit_params: Parameters
    ) -> None:
        """Fit the estimator on all rows, unless it is frozen."""
        if not isinstance(estimator, FrozenEstimator):
            estimator = clone(estimator).fit(problem.X, problem.y, **fit_params)
        self.estimator_ = estimator
        self._take_columns(estimator)

    def _take_columns(self, model: Any) -> None:
        """Take over what a fitted model knows of the columns."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _scores(self, X: Features) -> tuple[Floats, bool]:
        """Return scores, of the positive class or of all, and if they are margins."""
        check_is_fitted(self)
        check_features(X)
        method = response_method(self.estimator_)
        scores = scores_of(self.estimator_, X, self.classes_, self._positive, method)
        return scores, method == "decision_function"

    def _class_probabilities(self, scores: Floats, margins: bool) -> Floats:
        """Return calibrated probabilities, a column for each class."""
        p = scores
        if self.calibrator_ is not None:
            p = np.asarray(self.calibrator_.apply(scores, logits=margins))
        if self._positive is None:
            return p
        return np.column_stack((1.0 - p, p)[:: 1 if self._positive else -1])

    def _score(self, y: ArrayLike, labels: AnyArray, how: Parameters) -> float:
        """Return the metric of predicted labels, negated if smaller is better.

        `how` has further options of `evaluate`, or with several classes of
        `classes.evaluate`.
        """
        truth = one_per_row(to_numpy(estimator_labels(y), "y"), "y")
        how = {"zero_division": self.zero_division, **how}
        classes, positive = self.classes_, self._positive
        if positive is None:
            how["classes"] = classes.tolist()
            value: float = evaluate_classes(truth, labels, self.metric, **how)
        else:
            known = is_second(truth, classes, "y") == (positive == 1)
            value = evaluate(known, labels == classes[positive], self.metric, **how)
        if ordinal_kappa(self.metric) is not None:
            return float(value)
        return get_metric(self.metric)._gain(value)
