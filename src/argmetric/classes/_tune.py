"""tune: which weight should every class have, given labelled rows?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.arguments import check_choice, check_flag, refuses
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    Label,
    ReferenceLike,
    SharesLike,
)
from argmetric._ground.validation import check_scores, is_sparse, warn_of_scale
from argmetric._verbs.tune import (
    LOGITS,
    RuleLimits,
    Settings,
    check_p,
    check_row_weight,
    check_settings,
    listed_metrics,
    mapped_scores,
)
from argmetric.classes._calibrate import resolve_calibrator
from argmetric.classes._climb import GroupRows, decide_agreement
from argmetric.classes._fit import fit_class_matrix
from argmetric.classes._input import class_codes, refuse_column
from argmetric.classes._means import MeanCall, read_means, require_scores
from argmetric.classes._review import (
    ClassReviewRule,
    check_class_review,
    class_floors,
    tune_review,
)
from argmetric.classes._search import (
    ClassRows,
    Hits,
    labels_by_folds,
    objective_of,
    score_confusion,
)
from argmetric.classes._values import agreement_rule
from argmetric.classes._weights import MultiClassRule, measure_rule, tune_classes
from argmetric.metrics import (
    ClassAgreement,
    ClassAverage,
    ClassGain,
    ClassMetric,
    CustomMetric,
    Metric,
    MetricLike,
    check_order,
    get_class_metric,
    get_metric,
    ordinal_kappa,
    refuse_ignored_absence,
    require_defined,
)

OF_ONE_CLASS = (
    "it is of one class: am.tune(y == c, p[:, c], ...) promises it, also with review"
)
POPULATION = (
    "what is promised of classes holds for the population; for few new rows pass a "
    "higher min_precision"
)


@refuses(
    *("scoring", "max_positives", "budget", "parity"),
    groups="rows count one by one. Where those of a group are alike pass one of each: "
    "first = np.unique(groups, return_index=True)[1], then y[first] and p[first]",
    prior="rows stand for new ones. For other prevalences draw them so: with new[c] "
    "wanted and old[c] here, r = new / old, keep rng.random(n) < r[y] / r.max()",
    new_rows=POPULATION,
    for_rows=POPULATION,
    min_npv=OF_ONE_CLASS,
    min_specificity=OF_ONE_CLASS,
    logits="it takes probabilities: scipy.special.softmax(p, axis=1)",
)
def tune(
    y: ArrayLike,
    p: ArrayLike | None = None,
    metric: MetricLike | Sequence[MetricLike] | None = None,
    *,
    mean: ArrayLike | None = None,
    classes: ClassNames | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: ArrayLike | None = None,
    max_per_class: SharesLike | None = None,
    min_recall: SharesLike | None = None,
    sample_weight: ArrayLike | None = None,
    reference: ReferenceLike | None = None,
    n_bootstrap: int = 200,
    coverage: float = 0.9,
    cv: int | None = 5,
    random_state: int | np.random.Generator | None = 0,
    min_precision: SharesLike | None = None,
    confidence: float | None = None,
    review: bool = False,
    ask: Label | None = None,
) -> MultiClassRule | ClassReviewRule | dict[str, MultiClassRule]:
    """Find weights of the classes: the largest weight·p has the best score on y.

    Parameters
    ----------
    y : array-like
        The class of each row.
    p : array-like or frame
        Class probabilities, one column per class: in the order of `classes`, else by
        the names of a frame's columns where the labels are among them, else in sorted
        order.
    metric : str, Metric, callable, or a list of them, default="f1"
        Metric to optimise; a list gives a dict of rules. For "linear_kappa" and
        "quadratic_kappa" the rows calibrate p, and the rule has the highest expected
        kappa.
    mean : array-like, optional
        In place of p: the mean that a regression predicts for each row, in the units of
        the classes (of names, 0, 1, 2 and so on). The rule has cuts of such means.
    classes : sequence, optional
        The class of each column. Not all of them need to occur in `y`.
    average : {"macro", "weighted"}, optional
        Every class weighs the same, the default, or as its rows.
    zero_division : {0.0, 1.0, nan}, optional
        Value of a class without true and predicted rows, by default none (it is
        left out).
    cost : matrix, optional
        Instead of a metric: the cost of a true class (row) that is predicted as
        another (column); the score is then the negative mean cost of a row, and gains
        are negative costs.
    max_per_class : int, str, sequence or dict, optional
        Most of these rows that are given a class, or a share of them such as "5%": one
        value, one per class or a dict by class. In folds a count means the same share.
    min_recall : float, sequence or dict, optional
        Least recall of a class on these rows, given in the same ways.
    sample_weight : array-like, optional
        Weight of each row; counts become sums of weights.
    reference : pair (y, p) or Calibrator, optional
        Labelled rows that the model was not trained on, or a fitted calibrator. `p` is
        recalibrated first, here and in `MultiClassRule.apply`.
    n_bootstrap : int, default=200
        0 leaves the interval of the score out.
    coverage : float, default=0.9
        Nominal coverage of that interval.
    cv : int, default=5
        Folds that measure the optimism; None or 0 leaves it out.
    random_state : int, Generator or None, default=0
        Seed of the search, the interval and the folds.
    min_precision, confidence, review, ask : optional
        With ``review=True`` a row is given its most probable class or left to a person:
        `ClassReviewRule`, experimental. `min_precision`, given as `max_per_class` is,
        holds for new rows with this confidence; classes without it are never given.
        `ask` is what rows for a person are called.

    Returns
    -------
    MultiClassRule, ClassReviewRule or dict
        The rule, or a dict of rules by name of the metric.

    See Also
    --------
    argmetric.tune : The threshold of one score.

    Examples
    --------
    >>> import argmetric as am
    >>> y = ["a", "b", "c", "a", "b", "a", "a"]
    >>> p = [[.5, .3, .2], [.6, .4, 0], [.5, .1, .4], [.8, .1, .1],
    ...      [.4, .5, .1], [.9, .1, 0], [.6, .3, .1]]
    >>> am.classes.tune(y, p, "f1", n_bootstrap=0, cv=None).apply([[0.5, 0.1, 0.4]])
    array(['c'], dtype='<U1')
    """
    if cost is not None and metric is not None:
        raise ValueError("pass either cost or metric, not both")
    own: dict[str, object] = {"metric": metric, "average": average, "cost": cost}
    own |= {"zero_division": zero_division, "max_per_class": max_per_class}
    own |= {"min_recall": min_recall, "sample_weight": sample_weight}
    own |= {"min_precision": min_precision, "confidence": confidence, "mean": mean}
    review = check_flag(review, "review")
    check_class_review(own, review=review, ask=ask)
    metrics = _metrics_of(metric, average, zero_division)
    settings = check_settings(
        RuleLimits(), n_bootstrap, coverage, cv=cv, random_state=random_state
    )
    given, means = require_scores("tune", p, mean), None
    if mean is not None:
        means = read_means(
            p, mean, reference, classes, labelled=y, sample_weight=sample_weight
        )
        given, reference, classes = means.p, means.reference, means.classes
    rows, names, calibrator = _labelled_rows(
        y, given, classes, reference, sample_weight
    )
    if review:
        floors = class_floors(min_precision, names)
        how: Any = {"confidence": confidence, "ask": ask, "coverage": settings.coverage}
        mapped = _calibrated_rows(rows, calibrator)
        found = tune_review(mapped.p, rows.true, names, floors, **how)
        return replace(found, calibrator=calibrator)
    _check_metrics(metrics, names, rows.true.size, in_order=classes is not None)
    goals = _goals_of(metrics, cost, len(names), absent_count=zero_division is not None)
    limits = {"max_per_class": max_per_class, "min_recall": min_recall}
    by_support = average == "weighted"
    rules = {}
    for goal in goals:
        aimed = replace(rows, objective=objective_of(goal, by_support=by_support))
        if isinstance(goal, ClassAgreement):
            _refuse_given(goal.name, **limits, average=average if by_support else None)
            rule = _tune_agreement(aimed, names, goal, settings, calibrator)
        else:
            at = _calibrated_rows(aimed, calibrator)
            rule = tune_classes(at, names, goal, settings, **limits)
            rule = replace(rule, calibrator=calibrator)
        rules[_key(goal)] = rule if means is None else _by_cuts(rule, means, aimed)
    if isinstance(metric, Sequence) and not isinstance(metric, str):
        return rules
    return next(iter(rules.values()))


def _check_metrics(
    metrics: list[Metric | ClassAgreement],
    names: ClassTuple,
    n_rows: int,
    *,
    in_order: bool,
) -> None:
    """Refuse metrics that these rows leave undefined, and classes in no order."""
    for one in metrics:
        if isinstance(one, Metric):
            require_defined(one, n_rows)
        elif not in_order:
            check_order(_key(one), names)


def _calibrated_rows(rows: ClassRows, calibrator: Calibrator | None) -> ClassRows:
    """Return the rows with calibrated probabilities."""
    if calibrator is None:
        return rows
    return replace(rows, p=mapped_scores(calibrator, rows.p))


def _labelled_rows(
    y: ArrayLike,
    p: ArrayLike,
    classes: ClassNames | None,
    reference: ReferenceLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[ClassRows, ClassTuple, Calibrator | None]:
    """Return checked rows without an objective, the classes, and the calibrator."""
    if is_sparse(p):
        raise TypeError("p must be dense: pass p.toarray()")
    refuse_column(p, "p")
    scores = check_p(p)
    if reference is None:
        warn_of_scale(scores, logits=False, given=p)
    weight = check_row_weight(sample_weight, scores.shape[0])
    true, names = class_codes(y, p, scores, classes, several=True)
    calibrator, _ = resolve_calibrator(reference, names)
    scores = check_scores(scores, "p", logits=False, hint=LOGITS)
    return ClassRows(scores, true, weight, Hits(), 1.0), names, calibrator


def _refuse_given(name: str, **options: object) -> None:
    """Refuse options that have no meaning for a metric, by its name."""
    for option, value in options.items():
        if value is not None:
            raise ValueError(f"{option} has no meaning for {name}: leave it out")


def _key(goal: Metric | ClassMetric) -> str:
    """Return the name of a metric as users write it."""
    return goal.name.replace(" ", "_") if goal is ordinal_kappa(goal) else goal.name


def _by_cuts(rule: MultiClassRule, means: MeanCall, rows: ClassRows) -> MultiClassRule:
    """Return a rule of p of means as cuts of these, with the score of its labels."""
    rule = replace(rule, **means.scores.as_cuts(rule.predicts))
    table = rows.table(rule.predicts(means.mean))
    score = float(score_confusion(rows.objective, table))
    sign = 1.0 if rule.metric.greater_is_better else -1.0
    return replace(rule, score=score, optimism=sign * (score - rule.mean))


def _goals_of(
    metrics: list[Metric | ClassAgreement],
    cost: ArrayLike | None,
    n_classes: int,
    *,
    absent_count: bool,
) -> list[Metric | ClassGain | ClassAgreement]:
    """Return the objective; absent classes may be left out, as by `decide`."""
    if cost is not None:
        gain = get_class_metric(cost=cost, n_classes=n_classes)
        assert isinstance(gain, ClassGain)
        return [gain]
    if absent_count:
        return [*metrics]
    return [
        one if isinstance(one, ClassAgreement) else one.with_zero_division(math.nan)
        for one in metrics
    ]


def _metrics_of(
    metric: MetricLike | Sequence[MetricLike] | None,
    average: ClassAverage | None,
    zero_division: float | None,
) -> list[Metric | ClassAgreement]:
    """Return the metrics that are meant, after a check that the options fit them."""
    metrics: list[Metric | ClassAgreement] = []
    if isinstance(metric, Sequence) and not isinstance(metric, str):
        others = [one for one in metric if ordinal_kappa(one) is None]
        if others or not metric:
            metrics += listed_metrics(others, zero_division)
        for i, one in enumerate(metric):
            if (kappa := ordinal_kappa(one)) is not None:
                metrics.insert(i, kappa)
    else:
        name = "f1" if metric is None else metric
        metrics = [ordinal_kappa(name) or get_metric(name, zero_division=zero_division)]
    if average is not None:
        check_choice(average, "average", ("macro", "weighted"))
    if zero_division is not None:
        refuse_ignored_absence(float(zero_division), *metrics)
    return metrics


def _tune_agreement(
    rows: ClassRows,
    classes: ClassTuple,
    metric: ClassAgreement,
    settings: Settings,
    calibrator: Calibrator | None,
) -> MultiClassRule:
    """Return the rule of a kappa of classes in order, linear or quadratic.

    Cuts tuned on few labels fit their noise. So the labels calibrate p, and the rule
    has the highest expected kappa: of the quadratic one evenly spaced cuts of the
    expected class, around its mean and the closer the lower kappa is.

    Parameters
    ----------
    rows : ClassRows
        Probabilities before the calibrator, and true classes.
    classes : tuple
    metric : ClassAgreement
    settings : Settings
    calibrator : Calibrator or None
        None: it is fitted to these rows.
    """

    def rule_of(part: ClassRows, *, strict: bool = False) -> MultiClassRule:
        fitted = calibrator
        if fitted is None:
            how: dict[str, Any] = {
                "logits": False,
                "classes": classes,
                "strict": strict,
                "draw": False,
            }
            fitted = fit_class_matrix(part.true, part.p, part.weight, **how)
        q = fitted.apply(part.p)
        free = np.full((1, len(classes)), np.inf)
        group = GroupRows(q, np.array([0, part.true.size]), free, -free)
        _, ratio = decide_agreement(group, metric, part.weight)
        mu = np.average(q, axis=0, weights=part.weight)
        slopes = agreement_rule(metric, mu, float(ratio[0]))
        how = {"offsets": slopes.offsets, "gains": slopes.gains, "calibrator": fitted}
        return MultiClassRule(classes, slopes.weights, metric, **how)

    def labels_by_folds(
        rows: ClassRows, fold: Integers, rng: np.random.Generator
    ) -> Integers:
        labels = np.empty_like(fold)
        for f in range(int(fold.max()) + 1):
            rule = rule_of(rows.take(np.flatnonzero(fold != f)))
            labels[fold == f] = rule.predicts(rows.p[fold == f])
        return labels

    rule = rule_of(rows, strict=True)
    return measure_rule(rule, rows, rule.predicts(rows.p), settings, labels_by_folds)


def tuned_class_labels(
    code: Integers,
    p: Floats,
    metric: MetricLike,
    fold: Integers,
    *,
    average: str | None = None,
    zero_division: float | None = None,
) -> Integers | None:
    """Return classes by weights tuned on other folds; None where a metric has none.

    Parameters
    ----------
    code : ndarray of shape (n_rows,)
        Column of the true class.
    p : ndarray of shape (n_rows, n_classes)
    metric, average, zero_division
        As for `tune`.
    fold : ndarray of shape (n_rows,)
        Number of the fold.
    """
    absent = math.nan if zero_division is None else zero_division
    if not isinstance(metric, str | Metric) or ordinal_kappa(metric) is not None:
        return None
    found = get_metric(metric, zero_division=absent)
    if isinstance(found, CustomMetric):
        return None
    objective = objective_of(found, by_support=average == "weighted")
    rows = ClassRows(p, code, None, objective, 1.0)
    return labels_by_folds(rows, fold, np.random.default_rng(0))
