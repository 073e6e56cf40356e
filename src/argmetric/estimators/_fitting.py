"""The steps of MetricClassifier.fit."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from argmetric._calibrate import Calibrator
from argmetric._tune import tune
from argmetric._validation import check_choice, check_groups
from argmetric.estimators._calibration import calibrate_held_out
from argmetric.estimators._folds import HeldOut, Problem
from argmetric.estimators._rows import (
    Labels,
    check_rows,
    check_weights,
    code_classes,
)
from argmetric.metrics import Metric, get_metric

if TYPE_CHECKING:
    from argmetric.estimators._classifier import MetricClassifier

CALIBRATIONS = ("auto", "platt", "beta", "temperature", "isotonic")
LIMITS = ("min_precision", "min_recall", "max_positives")


def check_settings(classifier: MetricClassifier) -> Metric:
    """Refuse words that no option has; the metric as an object."""
    if classifier.calibration is not None:
        check_choice(classifier.calibration, "calibration", CALIBRATIONS)
    check_choice(classifier.choice, "choice", ("best", "one_se"))
    if classifier.average is not None:
        check_choice(classifier.average, "average", ("groups", "pooled"))
    return get_metric(classifier.metric, zero_division=classifier.zero_division)


def base_estimator(estimator: Any) -> Any:
    """The estimator, or the one that stands for None."""
    if estimator is not None:
        return estimator
    default = LogisticRegression(max_iter=1000)
    if get_config()["enable_metadata_routing"]:
        default.set_fit_request(sample_weight=True)
    return default


def pose(
    classifier: MetricClassifier,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    known_classes: Labels | None,
) -> Problem:
    """Check the rows once."""
    X, y = check_rows(X, y, type(classifier).__name__)
    classes, codes = code_classes(y, known_classes)
    weights = check_weights(sample_weight, codes, classes)
    if groups is not None:
        groups = check_groups(groups, y.size, "y")
    elif classifier.average is not None:
        raise ValueError(
            f"average={classifier.average!r} needs groups: fit(X, y, groups=...)"
        )
    positive = positive_class(classes, classifier.pos_label)
    if positive is None:
        _refuse_binary_options(classifier, classes)
    return Problem(X, y, classes, codes, positive, weights, groups)


def positive_class(classes: Labels, pos_label: Any) -> int | None:
    """Number of the positive one of two classes; None where there are more."""
    if classes.size == 2 and pos_label is None:
        return 1
    if pos_label is None:
        return None
    if classes.size > 2:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes, but y has {classes.size}"
        )
    names = classes.tolist()
    if pos_label not in names:
        raise ValueError(f"pos_label={pos_label!r} is no class of y, which has {names}")
    return int(names.index(pos_label))


def _refuse_binary_options(classifier: MetricClassifier, classes: Labels) -> None:
    for name in (*LIMITS, "average"):
        if getattr(classifier, name) is not None:
            raise ValueError(f"{name} is for two classes, but y has {classes.size}")
    if classifier.choice != "best":
        raise ValueError(
            f"choice={classifier.choice!r} is for two classes, but y has {classes.size}"
        )
    if classifier.calibration not in (None, "auto", "temperature"):
        raise ValueError(
            f"calibration={classifier.calibration!r} is for two classes, but y has "
            f"{classes.size}: use 'temperature'"
        )


def route(
    classifier: MetricClassifier,
    estimator: Any,
    problem: Problem,
    params: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What goes to the estimator's `fit`, and what to the splitter's `split`."""
    own = {"sample_weight": problem.weights, "groups": problem.groups}
    given = {name: value for name, value in own.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(classifier, "fit", **given, **params)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    fit_params = dict(params)
    if problem.weights is not None:
        if has_fit_parameter(estimator, "sample_weight"):
            fit_params["sample_weight"] = problem.weights
        elif not isinstance(estimator, FrozenEstimator):
            warnings.warn(
                f"{type(estimator).__name__}.fit takes no sample_weight: the weights "
                "act on calibration and threshold only. Name the step that takes them, "
                "as in fit(..., step__sample_weight=w), or enable metadata routing",
                UserWarning,
                stacklevel=3,
            )
    split_params = {} if problem.groups is None else {"groups": problem.groups}
    return fit_params, split_params


def calibrate_and_tune(
    classifier: MetricClassifier, metric: Metric, problem: Problem, held_out: HeldOut
) -> tuple[Calibrator | None, Any]:
    """The calibrator, and the rule on scores calibrated without their own labels."""
    seed = int(check_random_state(classifier.random_state).randint(2**31 - 1))
    many = problem.positive is None
    calibrator, scores = None, held_out.scores
    if classifier.calibration is not None:
        method = "temperature" if many else classifier.calibration
        calibrator, scores = calibrate_held_out(problem, held_out, method, seed)
    elif many and held_out.margins:
        raise ValueError(
            "Only binary classification is supported for margins that are not "
            "calibrated, as the rule of several classes weighs probabilities: use "
            "calibration='temperature'"
        )
    options: dict[str, Any] = {"random_state": seed, **problem.part(held_out.rows)}
    if problem.positive is None:
        options.pop("groups")  # whole groups make the folds; rules of classes take none
    else:
        options["pos_label"] = problem.classes.tolist()[problem.positive]
        options["choice"] = classifier.choice
        options |= {name: getattr(classifier, name) for name in LIMITS}
        if problem.groups is not None:
            options["average"] = classifier.average or "pooled"
    rule: Any = tune(problem.y[held_out.rows], scores, metric, **options)
    if calibrator is None and held_out.margins:
        rule = replace(rule, probabilities=False)  # even if all lie between 0 and 1
    return calibrator, rule


def columns(p: np.ndarray[Any, Any], positive: int) -> np.ndarray[Any, Any]:
    """Probabilities of both classes in their order."""
    return np.column_stack((1.0 - p, p) if positive == 1 else (p, 1.0 - p))
