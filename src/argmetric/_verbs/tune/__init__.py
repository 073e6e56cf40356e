"""tune: which threshold is best for the metric, given labelled rows?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Unpack, overload

import numpy as np

from argmetric._calibrate.resolve import resolve_reference, with_positives
from argmetric._ground.arguments import check_flag, check_label, refuses
from argmetric._ground.labels import binary_labels
from argmetric._ground.types import ArrayLike, Floats, Label, ReferenceLike
from argmetric._ground.validation import is_sparse, read_scores, warn_of_scale
from argmetric._verbs._binomial import binomial_cdf as binomial_cdf
from argmetric._verbs._binomial import fewest_rows as fewest_rows
from argmetric._verbs._certify import NOT_FITTED as NOT_FITTED
from argmetric._verbs._certify import ONE_CROSSING as ONE_CROSSING
from argmetric._verbs._certify import LabelledRows as LabelledRows
from argmetric._verbs._certify import Terms as Terms
from argmetric._verbs._certify import certify_limit as certify_limit
from argmetric._verbs._certify import population_words as population_words
from argmetric._verbs._parity import gap_interval as gap_interval
from argmetric._verbs._parity import gap_within as gap_within
from argmetric._verbs.tune._arguments import LOGITS as LOGITS
from argmetric._verbs.tune._arguments import (
    check_group,
    column_of_labels,
    population_scores,
)
from argmetric._verbs.tune._arguments import check_p as check_p
from argmetric._verbs.tune._arguments import check_row_weight as check_row_weight
from argmetric._verbs.tune._arguments import check_settings as check_settings
from argmetric._verbs.tune._arguments import listed_metrics as listed_metrics
from argmetric._verbs.tune._arguments import mapped_scores as mapped_scores
from argmetric._verbs.tune._binary import FEW_ROWS as FEW_ROWS
from argmetric._verbs.tune._binary import Settings as Settings
from argmetric._verbs.tune._binary import can_hold_the_best as can_hold_the_best
from argmetric._verbs.tune._binary import tune_cuts as tune_cuts
from argmetric._verbs.tune._binary import within_range as within_range
from argmetric._verbs.tune._matrix import MultiLabelRule as MultiLabelRule
from argmetric._verbs.tune._matrix import tune_matrix
from argmetric._verbs.tune._other_rules import (
    Column,
    TuneProblem,
    as_ratio,
    check_terms,
    tune_population,
)
from argmetric._verbs.tune._other_rules import check_rows as check_rows
from argmetric._verbs.tune._parity_rule import RATES as RATES
from argmetric._verbs.tune._parity_rule import ParityRule as ParityRule
from argmetric._verbs.tune._parity_search import read_parity, tune_parity
from argmetric._verbs.tune._portable import LEAST_EXPONENT as LEAST_EXPONENT
from argmetric._verbs.tune._portable import STEP as STEP
from argmetric._verbs.tune._portable import ClassLogits as ClassLogits
from argmetric._verbs.tune._portable import PortableRule as PortableRule
from argmetric._verbs.tune._portable import portable_cut as portable_cut
from argmetric._verbs.tune._review import AskingRule as AskingRule
from argmetric._verbs.tune._review import ReviewRule as ReviewRule
from argmetric._verbs.tune._review import check_ask as check_ask
from argmetric._verbs.tune._review import check_review
from argmetric._verbs.tune._review import proportion_interval as proportion_interval
from argmetric._verbs.tune._review import rows_text as rows_text
from argmetric._verbs.tune._rule import Rule as Rule
from argmetric._verbs.tune._scan import CutLimits as CutLimits
from argmetric._verbs.tune._scan import Cuts as Cuts
from argmetric._verbs.tune._scan import RuleLimits as RuleLimits
from argmetric._verbs.tune._scan import TuneLimits
from argmetric._verbs.tune._scan import check_tune_limits as check_tune_limits
from argmetric._verbs.tune._scan import count_cuts as count_cuts
from argmetric._verbs.tune._scan import curve_of as curve_of
from argmetric._verbs.tune._scan import means as means
from argmetric._verbs.tune._scan import sort_rows as sort_rows
from argmetric._verbs.tune._uncertainty import N_DRAWS as N_DRAWS
from argmetric._verbs.tune._uncertainty import mean_worth as mean_worth
from argmetric._verbs.tune._uncertainty import new_tables as new_tables
from argmetric._verbs.tune._uncertainty import quantiles as quantiles
from argmetric._verbs.tune.files import SavedRule as SavedRule
from argmetric.metrics import (
    Metric,
    MetricLike,
    MissedLike,
    get_metric,
    is_listed,
    refuse_with_missed,
    require_defined,
    require_one_batch,
    with_missed,
)

Tuned = Rule | MultiLabelRule
RuleAverage = Literal["groups", "pooled", "macro", "micro", "samples"]


class TuneOptions(CutLimits, total=False):
    """Options of `tune` that do not decide what it returns."""

    budget: tuple[ArrayLike, float] | None
    groups: ArrayLike | None
    zero_division: float | None
    missed: MissedLike | list[int] | None
    sample_weight: ArrayLike | None
    confidence: float | None
    new_rows: int | ArrayLike | None
    prior: float | None
    reference: ReferenceLike | None
    coverage: float
    n_bootstrap: int
    cv: int | None
    random_state: int | np.random.Generator | None
    pos_label: Label | None


@overload
def tune(
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    review: Literal[True],
    ask: Label = -1,
    **options: Unpack[TuneOptions],
) -> ReviewRule: ...
@overload
def tune(  # type: ignore[overload-overlap] # a text is a sequence of texts
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    average: Literal["groups", "pooled"],
    **options: Unpack[TuneOptions],
) -> Rule: ...
@overload
def tune(  # type: ignore[overload-overlap] # a text is a sequence of texts
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    average: Literal["macro", "micro", "samples"],
    **options: Unpack[TuneOptions],
) -> MultiLabelRule: ...
@overload
def tune(  # type: ignore[overload-overlap] # a text is a sequence of texts
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    average: None = None,
    **options: Unpack[TuneOptions],
) -> Tuned: ...
@overload
def tune(
    y: ArrayLike,
    p: ArrayLike,
    metric: Sequence[MetricLike],
    *,
    average: RuleAverage | None = None,
    **options: Unpack[TuneOptions],
) -> dict[str, Tuned]: ...
@overload
def tune(
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    parity: tuple[str, ArrayLike, float],
    **options: Unpack[TuneOptions],
) -> ParityRule: ...
@overload
def tune(*, normal: ArrayLike, **options: Unpack[TuneOptions]) -> Rule: ...
@refuses("scoring", "cost", "choice", "for_rows", "unlabelled", limits=TuneLimits)
def tune(
    y: ArrayLike | None = None,
    p: ArrayLike | None = None,
    metric: MetricLike | Sequence[MetricLike] = "f1",
    *,
    groups: ArrayLike | None = None,
    average: RuleAverage | None = None,
    zero_division: float | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float | None = None,
    new_rows: int | ArrayLike | None = None,
    prior: float | None = None,
    reference: ReferenceLike | None = None,
    coverage: float = 0.9,
    n_bootstrap: int = 200,
    cv: int | None = 5,
    random_state: int | np.random.Generator | None = 0,
    pos_label: Label | None = None,
    review: bool = False,
    ask: Label = -1,
    normal: ArrayLike | None = None,
    **limits: Unpack[TuneLimits],
) -> Tuned | ReviewRule | ParityRule | dict[str, Tuned]:
    """Find the threshold with the best score on labelled rows.

    Every cut between distinct scores is tried. Ties go to fewer positives. More on the
    page :doc:`/tuning`.

    Parameters
    ----------
    y : array-like or None
        True labels: 0/1, booleans, two values with `pos_label`, or a 0/1 matrix. None:
        the best threshold for a population with these probabilities.
    p : array-like
        Scores, the larger the more positive. A matrix has one column per label.
    metric : str, Metric, callable, or a list of them, default="f1"
        Metric to optimise; a list gives a dict of rules, with one sort for all.
    groups : array-like, optional
        Group of each row: the mean of the metric over groups is optimised.
    average : {"groups", "pooled", "macro", "micro", "samples"}, optional
        With groups: their mean (default), or all rows pooled. For a matrix: a rule per
        label (default), or one for all cells or for the mean over rows.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own; with nan such cuts are left out.
    sample_weight : array-like, optional
        Weight of each row; counts become sums of weights.
    confidence : float, optional
        The limits, or the metric, hold for new rows with this probability: see
        `Rule.guarantee`. Raises `NotCertifiedError` where these rows prove nothing.
    new_rows : int or array-like, optional
        With `confidence`: the limits hold for the next so many rows, not for the
        population; or the scores of new rows, which choose where the test begins.
    prior : float, optional
        With `confidence`: the prevalence among new rows.
    reference : pair (y, p) or Calibrator, optional
        Labels and scores of rows that the model was not trained on, or a fitted
        calibrator. `p` is recalibrated first, here and in `Rule.apply`.
    coverage : float, default=0.9
        Nominal coverage of both intervals.
    n_bootstrap : int, default=200
        Samples behind the intervals; 0 leaves them out.
    cv : int, default=5
        Folds that measure the optimism; None or 0 leaves it out.
    random_state : int, Generator or None, default=0
        Seed of bootstrap samples and folds; no threshold depends on it.
    pos_label : object, optional
        The label that counts as positive, if not of 0/1, -1/1 or booleans.
    review, ask : bool, object, default=False, -1
        Accept, reject, or ask a person: `ReviewRule`, experimental.
    normal : array-like, optional
        Normal rows instead of y and p; experimental.
    **limits : float, int, str or tuple, optional
        What the threshold must keep on these rows:

        - ``min_precision=0.9``, ``min_recall``, ``min_specificity``, ``min_npv``;
        - ``max_positives="5%"``, ``min_positives``: a count, or a share of the rows;
        - ``budget=(cost, most)``: of each row, and of all predicted positives;
        - ``parity=("recall", groups, gap)``: a `ParityRule`, experimental;
        - ``missed``: positives that are no rows, as for `decide`, or one a label.

    Returns
    -------
    Rule, MultiLabelRule, ReviewRule, ParityRule, or a dict by name of the metric
        The threshold, how sure it is, and `apply` for new scores.

    See Also
    --------
    argmetric.classes.tune : Weights of several classes, one label per row.

    Examples
    --------
    >>> import argmetric as am
    >>> y = [0, 0, 1, 0, 1, 1, 0, 1]
    >>> p = [0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 0.35, 0.8]
    >>> rule = am.tune(y, p, "f1")
    >>> rule.threshold
    0.5
    >>> rule.apply([0.2, 0.7])
    array([0, 1])
    """
    check_label(pos_label)
    review = check_flag(review, "review")
    check_ask(ask, review=review)
    kept: dict[str, Any] = {**limits}
    missed = kept.pop("missed", None)
    y, p = _rows_to_tune(y, p, normal, confidence, kept)
    metrics = _read_metrics(metric, zero_division)
    budget, parity = kept.pop("budget", None), kept.pop("parity", None)
    settings = check_settings(
        check_tune_limits(kept), n_bootstrap, coverage, cv=cv, random_state=random_state
    )
    if is_sparse(p):
        raise TypeError("p must be dense: pass p.toarray()")
    terms = check_terms(
        confidence,
        new_rows=new_rows,
        prior=prior,
        limits=settings.limits,
        sample_weight=sample_weight,
        y=y,
    )
    calibrator = resolve_reference(with_positives(reference, pos_label)).calibrator
    scores = check_p(p, logits=calibrator is None)
    if calibrator is not None:
        scores = mapped_scores(calibrator, scores)
        if terms is not None and terms.unlabelled is not None:
            mapped = mapped_scores(calibrator, terms.unlabelled)
            terms = replace(terms, unlabelled=mapped)
    warn_of_scale(scores, logits=False, given=p)
    weight = check_row_weight(sample_weight, scores.shape[0])
    for one in metrics:
        if not getattr(one, "_by_rows", False):
            require_defined(one, scores.shape[0])
    if budget is not None:
        _refuse_budget(y, scores, confidence)
        paid = settings.limits.paid_for(budget, scores, weight)
        settings = replace(settings, limits=paid)
    problem = TuneProblem(metrics, settings, weight, calibrator, terms)
    options: Any = {"groups": groups, "pos_label": pos_label, "average": average}
    alone = {name: limits.get(name) for name in ("min_recall", "min_npv", "parity")}
    alone |= {"confidence": confidence, "review": review, "normal": normal}
    problem = _with_missed(problem, missed, y, scores.shape, options | alone)
    if parity is not None:
        alone = {**kept, "budget": budget, "review": review, "prior": prior}
        alone |= {"new_rows": new_rows, "groups": groups, "average": average}
        alone["sample_weight"] = sample_weight
        return _tune_parity(y, scores, problem, (parity, pos_label, confidence), alone)
    if review:
        check_review(metric, terms, settings.limits, scores, average)
        options["ask"] = ask
    rules: list[Tuned] = _tune_rules(y, p, scores, problem, options)
    if isinstance(metric, Sequence) and not isinstance(metric, str):
        return {one.name: rule for one, rule in zip(metrics, rules, strict=True)}
    return rules[0]


def _with_missed(
    problem: TuneProblem,
    missed: object,
    y: object,
    shape: tuple[int, ...],
    options: dict[str, Any],
) -> TuneProblem:
    """Return the problem with missed positives, of each label where it is a list."""
    if missed is None:  # of metrics that have them already
        missed = getattr(problem.metrics[0], "missed", None)
    if missed is None:
        return problem
    if y is None:
        raise ValueError(
            "missed needs labels in tune(), and y is None: decide() takes it as well"
        )
    each: Any = missed if is_listed(missed) else [missed]
    own = [[with_missed(metric, one) for metric in problem.metrics] for one in each]
    known = ("groups", "pos_label", "average")
    alone = {name: value for name, value in options.items() if name not in known}
    refuse_with_missed(own[0][0], alone)
    if problem.weight is not None and isinstance(getattr(own[0][0], "missed", 0), int):
        raise ValueError(
            "missed as a count has no weights: pass a rate per found positive, or "
            "leave sample_weight out"
        )
    if is_listed(missed):
        if len(shape) == 1:
            raise TypeError(
                "missed is a list, one a label, and p is one column: pass a count, a "
                "rate, or a pair (found, missed) as a tuple"
            )
        return replace(problem, by_label=own)
    average = options["average"]
    grouped = options["groups"] is not None and average != "pooled"
    if grouped or average == "samples":
        require_one_batch(own[0][0], 2)
    return replace(problem, metrics=own[0])


def _tune_parity(
    y: ArrayLike | None,
    scores: Floats,
    problem: TuneProblem,
    how: tuple[Any, ...],
    alone: dict[str, object],
) -> ParityRule:
    """Tune a threshold for each group; options without a meaning are refused."""
    parity, pos_label, confidence = how
    if y is None or scores.ndim != 1 or len(problem.metrics) > 1:
        raise ValueError("parity goes with labels, one column of scores and one metric")
    rng = np.random.default_rng(problem.settings.seeds().samples)
    terms = read_parity(parity, scores.size, confidence, rng, alone)
    labels = binary_labels(column_of_labels(y, scores.size), pos_label, both=True)
    (metric,), n = problem.metrics, float(scores.size)
    try:
        ratio = as_ratio(metric, float(labels.positive.sum()), n)
    except ValueError:
        raise ValueError(
            f"parity is for F-beta, Jaccard and the like, not for {metric.name}: with "
            "fixed prevalence the metric must be a ratio of linear functions"
        ) from None
    rule = tune_parity(scores, labels, metric, ratio, terms)
    rules = (replace(x, calibrator=problem.calibrator) for x in rule.rules)
    return replace(rule, rules=tuple(rules))


def _tune_rules(
    y: ArrayLike | None,
    p: ArrayLike,
    scores: Floats,
    problem: TuneProblem,
    options: dict[str, Any],
) -> list[Any]:
    """Return a rule per metric: for a population, a column of scores or a matrix."""
    if y is None:
        named = options["groups"], options["pos_label"]
        scores = population_scores(problem.settings, *named, scores)
        found = tune_population(
            scores, problem.metrics, problem.weight, problem.settings
        )
        return [replace(rule, calibrator=problem.calibrator) for rule in found]
    if scores.ndim == 1:
        return _tune_column(y, scores, problem, **options)
    return [*tune_matrix(y, p, scores, problem, **options)]


def _rows_to_tune(
    y: ArrayLike | None,
    p: ArrayLike | None,
    normal: ArrayLike | None,
    confidence: object,
    limits: dict[str, Any],
) -> tuple[ArrayLike | None, ArrayLike]:
    """Return labels and scores; those of normal rows are all negative."""
    if normal is None:
        if p is None:
            raise TypeError("tune() needs labels y and scores p, or normal=")
        return y, p
    if y is not None or p is not None:
        raise ValueError("pass either normal or y and p, not both")
    named = {name for name, value in limits.items() if value is not None}
    if confidence is None or named != {"min_specificity"}:
        raise ValueError(
            "normal goes with min_specificity and confidence, as in min_specificity="
            "0.99, confidence=0.95: normal rows alone say nothing of other limits"
        )
    scores = read_scores(normal, "normal", logits=True)
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"normal must be one column of scores, not {scores.shape}")
    return np.zeros(scores.size), scores


def _read_metrics(
    metric: MetricLike | Sequence[MetricLike], zero_division: float | None
) -> list[Metric]:
    """Return the metrics of a name, a metric or a list of them."""
    if isinstance(metric, Sequence) and not isinstance(metric, str):
        return listed_metrics(metric, zero_division)
    return [get_metric(metric, zero_division=zero_division)]


def _tune_column(
    y: ArrayLike,
    scores: Floats,
    problem: TuneProblem,
    *,
    groups: ArrayLike | None,
    pos_label: Label | None,
    average: RuleAverage | None,
    ask: Label | None = None,
) -> list[Any]:
    """Tune a rule per metric for one column of scores, of shape (n_rows,).

    With `ask` it is one of two cuts.
    """
    column = column_of_labels(y, scores.size)
    labels = binary_labels(column, pos_label, both=problem.terms is None)
    group = check_group(groups, scores.size, average)
    rows = Column(scores, labels, group)
    if ask is not None:
        return [problem.review_rule(rows, ask=ask)]
    inside = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    known: dict[str, object] = {
        "pos_label": labels.pos_label,
        "neg_label": labels.neg_label,
        "probabilities": inside,
        "average": None if group is None else average or "groups",
    }
    if problem.calibrator is None:
        from argmetric._calibrate.kept_reference import KeptReference

        given = labels.positive, scores, problem.weight
        known["_kept"] = KeptReference(*given, logits=not inside)
    return problem.rules(rows, known)


def _refuse_budget(y: object, scores: Floats, confidence: object) -> None:
    """Refuse a budget unless it is for one column of labelled rows."""
    if y is None:
        raise ValueError("budget needs labels in tune(), and y is None")
    if scores.ndim != 1:
        raise ValueError("budget goes with one column of scores, not with a matrix")
    if confidence is not None:
        raise ValueError(
            "budget has no guarantee: costs of new rows are not known; pass "
            "max_positives as a share with confidence"
        )
