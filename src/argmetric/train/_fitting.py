"""Calibrate out-of-fold scores, and tune a rule on them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from argmetric._calibrate.calibrate import DEFAULT, choose_method
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import METHODS, Method, fit_calibrator
from argmetric._calibrate.reference import Reference
from argmetric._calibrate.resolve import calibrated_scores
from argmetric._ground.arguments import check_flag, shown
from argmetric._ground.groups import check_groups
from argmetric._ground.types import AnyArray, ArrayLike, Floats
from argmetric._ground.validation import Probabilities, check_choice, check_scores
from argmetric._verbs.check import CalibrationCheck, calibration_check
from argmetric._verbs.decide import decide
from argmetric._verbs.tune import check_ask, tune
from argmetric.classes import (
    check_class_probabilities,
    fit_class_matrix,
    fit_class_temperature,
)
from argmetric.classes import tune as tune_classes
from argmetric.metrics import (
    ClassAgreement,
    Metric,
    check_order,
    get_metric,
    ordinal_kappa,
)
from argmetric.train._folds import (
    HeldOut,
    Problem,
)

if TYPE_CHECKING:
    from argmetric.train._classifier import MetricClassifier

# Weight, in a forecast, of a labelled row that the final model also learns from: its
# out-of-fold score is that of another model. Chosen on half of the data sets of
# benchmarks/trust.py classifier.
ROWS_LEARNED_FROM = 0.5


def calibrate_held_out(
    problem: Problem, held_out: HeldOut, method: Method
) -> Calibrator:
    """Fit a calibrator on all held-out scores.

    If the scores rank backwards, it is the best one that never decreases. `calibrate`
    refuses such scores, because they may belong to the other class. Here they are the
    estimator's own, and on noise half of all scores rank backwards.
    """
    scores, weights = held_out.scores, problem.part(held_out.rows)["sample_weight"]
    check_scores(scores, held_out.method, logits=held_out.margins)
    codes = problem.codes[held_out.rows]
    if problem.positive is None:
        scores = check_class_probabilities(scores, logits=held_out.margins)
        return fit_class_temperature(
            codes, scores, weights, logits=held_out.margins, strict=False
        )
    y = codes == problem.positive
    if weights is not None:
        part = weights > 0.0
        y, scores, weights = y[part], scores[part], weights[part]
    reference = Reference(scores, y, weights, held_out.margins)
    calibrator = fit_calibrator(
        reference, choose_method(reference, method), strict=False
    )
    low, high = calibrator.apply([0.0, 1.0])
    if low == high:
        warnings.warn(
            "the out-of-fold scores carry no information about y: every row gets the "
            f"same probability, {calibrator.prevalence:.3g}",
            UserWarning,
            stacklevel=4,
        )
    if held_out.refitted and calibrator.counts is not None:
        share = np.array([[1.0], [ROWS_LEARNED_FROM], [ROWS_LEARNED_FROM]])
        calibrator = replace(calibrator, counts=calibrator.counts * share)
    return calibrator


ROUTES = ("tune", "decide", "half", "auto")
_FLOORS = ("min_precision", "min_recall", "min_specificity", "min_npv")
REVIEWED = ("min_precision", "confidence")  # what several classes take with review
LIMITS = (*_FLOORS, "max_positives", "confidence")


def check_options(classifier: MetricClassifier) -> Metric | ClassAgreement:
    """Refuse unknown option values, and return the metric as an object."""
    if classifier.calibration is not None:
        check_choice(classifier.calibration, "calibration", METHODS)
    check_choice(classifier.route, "route", ROUTES)
    if classifier.route == "auto" and classifier.average == "groups":
        raise ValueError(
            "route='auto' compares decisions group by group, which predict does not "
            "make: pass route='tune' or 'decide' with average='groups'"
        )
    given = [name for name in LIMITS if getattr(classifier, name) is not None]
    review = check_flag(classifier.review, "review")
    if classifier.ask is not None:
        check_ask(classifier.ask, review=review)
    given += ["review"] * review
    if classifier.route != "tune" and given:  # there is no tuned threshold
        raise ValueError(
            f"{given[0]} goes with route='tune', not with route={classifier.route!r}"
        )
    if classifier.average is not None:
        check_choice(classifier.average, "average", ("groups", "pooled", "macro"))
    zero = classifier.zero_division
    ordinal = ordinal_kappa(classifier.metric)
    return ordinal or get_metric(classifier.metric, zero_division=zero)


def with_groups(
    classifier: MetricClassifier, problem: Problem, groups: ArrayLike | None
) -> Problem:
    """Return the problem with its groups, and refuse options that it does not allow."""
    if groups is not None:
        groups = check_groups(groups, problem.y.size, "y")
    elif classifier.average not in (None, "macro"):
        raise ValueError(
            f"average={shown(classifier.average)} needs groups: fit(X, y, groups=...)"
        )
    classes = problem.classes
    if ordinal_kappa(classifier.metric) is not None:
        _check_order(classifier.metric, classes)
    if problem.positive is None:
        supported = {
            "route": ("tune", "auto"),
            "calibration": (None, DEFAULT, "auto", "temperature"),
        }
        promised = REVIEWED if classifier.review else ()
        for name in (*LIMITS, "average", *supported):
            value = getattr(classifier, name)
            if name in promised or value in supported.get(name, (None, "macro")):
                continue
            what = f"{name}={value!r}" if name in supported else name
            instead = ": use 'temperature'" if name == "calibration" else ""
            two = f"{what} only supports two classes, but y has {classes.size}"
            raise ValueError(two + instead)
    elif classifier.average == "macro":
        raise ValueError("average='macro' is for more than two classes, but y has 2")
    return replace(problem, groups=groups)


def _check_order(name: object, classes: AnyArray) -> None:
    """Refuse classes that are two, or names: sorted, they are in no order."""
    if classes.size == 2:
        raise ValueError(f"{name} of two classes is kappa: pass metric='kappa'")
    check_order(name, classes.tolist(), "pass y as numbers from 0 on")


@dataclass(frozen=True)
class FitResult:
    """Calibrator and rule from held-out scores, and where the rule came from."""

    calibrator: Calibrator | None
    rule: Any
    route: str
    check: CalibrationCheck | None
    # calibrator of several classes for `decide` and `forecast` of a batch
    batch: Calibrator | None = None


def calibrate_and_tune(
    classifier: MetricClassifier,
    metric: Metric | ClassAgreement,
    problem: Problem,
    held_out: HeldOut,
) -> FitResult:
    """Fit the calibrator, and tune the rule on the raw scores of the estimator.

    The rule is not tuned on calibrated scores: the calibrators of different folds have
    steps in different places, and a threshold may fall between them.
    """
    seed = int(check_random_state(classifier.random_state).randint(2**31 - 1))
    if problem.positive is None:
        return _fit_classes(classifier, metric, problem, held_out, seed)
    assert isinstance(metric, Metric)
    calibrator = None
    if classifier.calibration is not None:
        calibrator = calibrate_held_out(problem, held_out, classifier.calibration)
    rows = problem.part(held_out.rows)
    options: dict[str, Any] = {"random_state": seed}
    options["pos_label"] = problem.classes.tolist()[problem.positive]
    options |= {name: getattr(classifier, name) for name in LIMITS}
    if classifier.review:  # promises hold for rows: of groups one row each counts
        ask = classifier.ask
        options |= {"review": True, "ask": -1 if ask is None else ask}
        rows["average"] = classifier.average
    elif problem.groups is not None:
        rows["average"] = classifier.average or "pooled"
    y = problem.y[held_out.rows]
    rule: Any = tune(y, held_out.probabilities, metric, **options, **rows)
    if held_out.margins:
        rule = replace(rule, probabilities=False)  # even if all lie between 0 and 1
    route: str = classifier.route
    check = None
    if route in ("decide", "auto") and calibrator is None and held_out.margins:
        raise ValueError(
            f"route={route!r} needs probabilities, and the estimator has margins only: "
            "set a calibration"
        )
    if route == "auto":
        method: Any = "identity" if calibrator is None else calibrator.method
        check = calibration_check(
            y == problem.classes[problem.positive],
            held_out.probabilities,
            metric,
            **rows,
            method=method,
            random_state=seed,
            logits=held_out.margins,
        )
        route = check.route
    if route in ("decide", "recalibrate"):
        # The check measured "decide" on the raw scores, which did better.
        used = None if check is not None and route == "decide" else calibrator
        rule = _rule_by_decide(rule, used, metric, held_out, rows)
        route = "decide"
    elif route == "half":
        half = 0.0 if held_out.margins else 0.5
        why = "the cut at 0.5, as the estimator itself"
        rule = _at_threshold(rule, half, held_out.scores, why)
    return FitResult(calibrator, rule, route, check)


def _rule_by_decide(
    rule: Any,
    calibrator: Calibrator | None,
    metric: Metric,
    held_out: HeldOut,
    rows: dict[str, Any],
) -> Any:
    """Return the rule at the single threshold with the best expected metric.

    Parameters
    ----------
    rule : Rule
        The tuned rule, whose threshold is replaced.
    calibrator : Calibrator or None
        Maps raw scores to probabilities.
    rows : dict
        Groups, weights and average, as `Problem.part` returns them.
    """
    result = decide(
        held_out.probabilities,
        metric,
        groups=rows["groups"],
        average=rows.get("average"),
        reference=calibrator,
        logits=held_out.margins,
    )
    mapped = held_out.scores
    if calibrator is not None:
        mapped = calibrated_scores(calibrator, mapped, logits=held_out.margins)
    chosen = mapped >= result.best_cut.threshold
    inside = held_out.scores[chosen].min(initial=math.inf)
    outside = held_out.scores[~chosen].max(initial=-math.inf)
    if math.isinf(inside) or math.isinf(outside):
        cut = inside if math.isinf(inside) else -math.inf
    else:
        cut = (inside + outside) / 2
    kind = "calibrated probabilities" if calibrator is not None else "scores"
    why = f"the cut that the {kind} promise most for"
    return _at_threshold(rule, cut, held_out.scores, why)


def _at_threshold(rule: Any, threshold: float, scores: Floats, why: str) -> Any:
    """Return the rule with another threshold on raw scores, and its score there."""
    cut = int(np.searchsorted(-rule.thresholds, -threshold, side="right")) - 1
    return replace(
        rule,
        threshold=threshold,
        score=float(rule.scores[max(cut, 0)]),
        positive_rate=float((scores >= threshold).mean()),
        interval=None,
        threshold_interval=None,
        plateau=None,
        optimism=math.nan,
        mean=math.nan,
        notes=(why,),
    )


def _class_review(
    classifier: MetricClassifier, problem: Problem, held_out: HeldOut
) -> Any:
    """Certify a threshold for each class; rows below it are left to a person."""
    if held_out.margins:
        raise ValueError(
            "review=True with several classes needs predict_proba, and the estimator "
            "has margins only"
        )
    if problem.groups is not None:
        raise ValueError(
            "review=True with several classes promises what holds for independent "
            "rows: leave groups out, and fit on one row of each group"
        )
    how: dict[str, Any] = {name: getattr(classifier, name) for name in REVIEWED}
    how["average"] = classifier.average
    return tune_classes(
        problem.y[held_out.rows],
        held_out.scores,
        classes=problem.classes,
        sample_weight=problem.part(held_out.rows)["sample_weight"],
        review=True,
        ask=classifier.ask,
        **how,
    )


def _fit_classes(
    classifier: MetricClassifier,
    metric: Metric | ClassAgreement,
    problem: Problem,
    held_out: HeldOut,
    seed: int,
) -> FitResult:
    """Fit a temperature, and tune weights of the classes on the probabilities.

    `decide` uses expectations, which need a more flexible calibrator: a matrix, unless
    the user chose "temperature".
    """
    calibrator, scores = None, held_out.scores
    batch: Calibrator | None = None
    weight = problem.part(held_out.rows)["sample_weight"]
    if classifier.calibration is not None:
        calibrator = calibrate_held_out(problem, held_out, "temperature")
        batch = calibrator
        if classifier.calibration != "temperature":
            batch = fit_class_matrix(
                problem.codes[held_out.rows],
                check_class_probabilities(scores, logits=held_out.margins),
                weight,
                logits=held_out.margins,
                classes=tuple(problem.classes.tolist()),
                strict=False,
            )
        scores = calibrator.apply(scores, logits=held_out.margins)
    elif held_out.margins:
        raise ValueError(
            "Only binary classification is supported for margins that are not "
            "calibrated, as the rule of several classes weighs probabilities: use "
            "calibration='temperature'"
        )
    y = problem.y[held_out.rows]
    if classifier.review:  # of raw probabilities: the calibrator was fitted to y
        return FitResult(
            calibrator,
            _class_review(classifier, problem, held_out),
            "tune",
            None,
            batch,
        )
    checked = Probabilities(check_scores(scores, "p", logits=True), scale_is_known=True)
    how = {"sample_weight": weight, "random_state": seed}
    of: Any = metric
    rule = tune_classes(y, checked, of, **how)
    return FitResult(calibrator, rule, "tune", None, batch)
