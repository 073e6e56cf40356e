"""decide: which labels to hand in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from argmetric._calibrate.reference import Reference
from argmetric._calibrate.resolve import (
    FittedReference,
    calibration_note,
    calibrator_at_prior,
    check_prior,
    is_pair,
    recalibrate_layout,
    remember_decision,
    resolve_reference,
    with_positives,
)
from argmetric._expected import Tables
from argmetric._ground.arguments import (
    check_flag,
    check_jobs,
    check_share,
    is_tensor,
    read_share,
    refuse_for_tensors,
    refuse_given,
    refuses,
    shown,
)
from argmetric._ground.groups import Method
from argmetric._ground.layout import Average, Layout, lay_out
from argmetric._ground.limits import Limits, check_limits, refuse_more_than_all
from argmetric._ground.types import ArrayLike, Label, ReferenceLike
from argmetric._ground.validation import warn_of_scale
from argmetric._verbs._certify import LabelledRows, Terms, certify
from argmetric._verbs.decide._one import decide_groups, decide_one
from argmetric._verbs.decide._question import Question, require_no_zeros_chosen
from argmetric._verbs.decide._result import Decision
from argmetric._verbs.guarantees import Guarantee
from argmetric.metrics import (
    Metric,
    MetricLike,
    MissedLike,
    get_metric,
    refuse_with_missed,
    require_defined,
    require_one_batch,
    require_ranking,
    with_missed,
)

# Options of `decide` that tensors do not have
FOR_ARRAYS = (
    *("budget", "per_row", "confidence", "missed"),
    *("reference", "prior", "pos_label", "n_jobs"),
)


class NeverDefinedError(ValueError):
    """Error of a metric that is undefined on all rows; it carries the `decision`.

    The decision holds if the rows are a part of many more.

    Other processes get it as a plain ValueError.
    """

    def __init__(self, metric: Metric, decision: Decision) -> None:
        super().__init__(_never_defined(metric))
        self.decision = decision

    def __reduce__(self) -> tuple[type[ValueError], tuple[object, ...]]:
        return ValueError, self.args


def refuse_never_defined(expected: float, metric: Metric) -> None:
    if math.isnan(expected):
        raise ValueError(_never_defined(metric))


def _never_defined(metric: Metric) -> str:
    return (
        f"{metric.name} is undefined for every number of positives that is allowed "
        "here; zero_division=0 or 1 gives it a value"
    )


@refuses("sample_weight", "scoring", "threshold", "cost", "max_per_class", "beta")
def decide(
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    missed: MissedLike | None = None,
    budget: tuple[ArrayLike, float] | None = None,
    per_row: int | None = None,
    confidence: float | None = None,
    reference: ReferenceLike | None = None,
    prior: float | Literal["estimate"] | None = None,
    logits: bool = False,
    pos_label: Label | None = None,
    n_jobs: int | None = None,
) -> Decision:
    """Choose the labels with the highest expected metric.

    Labels are assumed to be independent with the given probabilities. The expected
    metric is computed exactly for every number k of positives, 0 included.

    Parameters
    ----------
    p : array-like
        Probability of the positive class: one per row, or a matrix with one column per
        label (absent cells of a sparse one are never chosen). For a tensor the result
        is a `tensors.TensorDecision` on its device.
    metric : str, Metric or callable, default="f1"
        A name, an instance, or a function of (tp, k, t, n): true, predicted and actual
        positives, and size.
    groups : array-like, optional
        Group of each row: an order, a query, a document, of any kind and in any order.
    average : {"groups", "pooled", "samples", "macro", "micro"}, optional
        With groups: their mean (default), or all rows pooled. For a matrix: the mean
        over rows, the mean over columns, or all cells together.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own: 0.0. With nan such outcomes are left
        out of the expectation.
    min_positives, max_positives : int or str, optional
        Bounds on the number of predicted positives, in each segment: a count, or for
        the most of them a share such as "5%", rounded down.
    min_precision, min_recall : float, optional
        Lower limits for the expected precision and recall, in each segment.
    missed : int, float or pair, optional
        Positives that are no rows: a count, a rate per positive row (0.4), or
        counts (found, missed) of a reference; experimental.
    budget : pair (cost, most), optional
        Cost of each row, and the most that the predicted positives may cost, in
        each segment of at most 2,000 rows (500 if not linear in tp): see `gap`.
    per_row : int, optional
        For "macro": exactly so many labels in every row, for the highest expected
        score.
    confidence : float, optional
        The limits hold for new rows with this probability, which the rows of
        `reference` prove (`guarantee`), or `NotCertifiedError` is raised. See `tune`.
    reference : pair (y, p) or Calibrator, optional
        Labels and scores of rows that the model was not trained on, or a fitted
        calibrator. `p` is recalibrated first; `threshold_raw` is on raw `p`.
    prior : float or "estimate", optional
        The current prevalence: a constant is added to all log-odds to meet it.
        "estimate" finds it by `reference`, if each class has the scores it had.
    logits : bool, default=False
        Whether `p` holds log-odds.
    pos_label : object, optional
        The label that counts as positive in the y of `reference`, where it is not 0/1,
        booleans or -1/1. The labels that come back are 1 for it and 0 for the other.
    n_jobs : int, optional
        Threads for groups: None is 1, -1 all cores. No result depends on it.

    Returns
    -------
    Decision
        Labels, expected metric, threshold, and the curve over all k.

    See Also
    --------
    argmetric.classes.decide : One of several classes for each row.
    argmetric.published.decide : The same by the algorithms of the papers.

    Examples
    --------
    >>> import argmetric as am
    >>> d = am.decide([0.9, 0.45, 0.4, 0.1])
    >>> d.labels
    array([1, 1, 1, 0])
    >>> round(d.expected, 3)
    0.69
    """
    options: dict[str, Any] = {**locals()}
    del options["p"], options["metric"]
    if type(p) is not np.ndarray and is_tensor(p):
        given = {name: options.pop(name) is not None for name in FOR_ARRAYS}
        refuse_for_tensors(**given)
        from argmetric.tensors import decide as decide_tensors

        return decide_tensors(p, metric, **options)  # type: ignore[return-value]
    return decide_by(p, metric, **options)


def decide_by(
    p: object,
    metric: MetricLike = "f1",
    *,
    method: Method = "auto",
    check: bool = True,
    whole_ties: bool = False,
    groups: object = None,
    average: Average | None = None,
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    missed: object = None,
    budget: object = None,
    per_row: int | None = None,
    confidence: float | None = None,
    reference: ReferenceLike | None = None,
    prior: float | Literal["estimate"] | None = None,
    logits: bool = False,
    pos_label: Label | None = None,
    n_jobs: int | None = None,
) -> Decision:
    """Return the decision of `decide` on arrays, by one of three methods.

    "auto" are the near-linear algorithms, "windows" windowed sums with a rigorous error
    bound, "published" the quadratic and cubic ones of the papers. Without `check` the
    best top-k set is taken also where a better set may be none. With `whole_ties` rows
    of one vector with equal scores get equal labels.
    """
    metric = get_metric(metric, zero_division=zero_division)
    logits = check_flag(logits, "logits")
    n_threads = check_jobs(n_jobs)
    asked_limits: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
    }
    limits = check_limits(*asked_limits.values())
    layout = lay_out(p, groups=groups, average=average, logits=logits)
    metric = with_missed(metric, missed)
    require_one_batch(metric, layout.sizes.size)
    alone = {"min_recall": min_recall, "per_row": per_row, "confidence": confidence}
    refuse_with_missed(metric, alone)
    if pos_label is not None:
        reference = _name_positives(reference, pos_label)
    fitted = resolve_reference(reference, logits=logits)
    prior = check_prior(prior, with_rows=fitted.rows is not None)
    sparse = layout.sparse
    if limits.least and isinstance(limits.most, str):
        refuse_more_than_all(limits, int(layout.sizes.min()))
    raw = None
    if fitted.calibrator is None:
        warn_of_scale(layout.scores, logits=logits, given=p, zeros=sparse)
    guarantee = None
    if confidence is not None:
        unproven = {"min_positives": min_positives or None, "budget": budget}
        reason = "has no guarantee: leave it out, or leave out confidence"
        refuse_given(unproven | {"per_row": per_row}, reason)
        guarantee, limits = certified_limits(
            confidence, fitted, layout, metric, prior=prior, asked=asked_limits
        )
    found, prevalence, moved = calibrator_at_prior(prior, fitted, layout, logits=logits)
    if found is not None:
        raw, layout = layout.scores, recalibrate_layout(layout, found, logits=logits)
    _require_decidable(metric, layout, check=check)
    asked: dict[str, Any] = {
        "p": p,
        "groups": groups,
        "average": average,
        "logits": logits,
        "calibrator": found,
        "forecast": {"reference": found},
        "reference": reference,
        "limits": asked_limits,
        "budget": budget,
    }
    if isinstance(prior, float) and fitted.calibrator is not None:
        # Forecasts meet the prevalence with every calibrator that the reference allows
        asked["forecast"] = {"reference": fitted.calibrator, "prior": prior}
    tables = Tables(metric)
    question = Question(layout, metric, method, limits, logits, tables, asked, raw)
    question = question._replace(whole_ties=whole_ties)
    decision = _choose_labels(question, n_threads, per_row=per_row, budget=budget)
    # If no row can be positive, "none" is right, whatever its value.
    undefined = math.isnan(decision.expected) and layout.scores.max(initial=0.0) > 0.0
    if found is not None:
        note = f"{calibration_note(found)}; thresholds refer to these"
        notes = (note, *moved, *decision.notes)
        decision = replace(decision, notes=notes, prevalence=prevalence, _moved=moved)
        remember_decision(decision)
    if guarantee is not None:
        decision = _at_guarantee(decision, guarantee, raw=raw is not None)
    if undefined:
        raise NeverDefinedError(metric, decision)
    return decision


def _at_guarantee(decision: Decision, proven: Guarantee, *, raw: bool) -> Decision:
    """Return the decision with its guarantee, and the cut that is proven.

    It selects the same rows here, but not always among others.
    """
    cut = "threshold_raw" if raw else "threshold"
    changes: dict[str, Any] = {"guarantee": proven}
    if getattr(decision, cut) is not None:
        changes[cut] = proven.threshold
    return replace(decision, **changes)


def _name_positives(reference: object, pos_label: Label) -> ReferenceLike:
    """Return the reference (y, p) with y = 1 for rows of `pos_label`."""
    if not is_pair(reference):
        raise ValueError(
            f"pos_label={shown(pos_label)} names the positive class of "
            "reference=(y, p): pass these rows"
        )
    named: ReferenceLike = with_positives(reference, pos_label)
    return named


def _require_decidable(metric: Metric, layout: Layout, *, check: bool) -> None:
    """Refuse a metric that is never defined, or whose best labels are no top-k set.

    The latter only with `check`.
    """
    if getattr(metric, "_by_rows", False):
        return
    if not check:
        require_defined(metric, layout.largest)
        return
    require_ranking(metric, layout.sizes)
    if layout.sparse:
        require_no_zeros_chosen(metric, layout.largest)


def _choose_labels(
    question: Question, n_threads: int, *, per_row: int | None, budget: object
) -> Decision:
    """Return the decision on one vector, on groups, or with k labels per row."""
    if getattr(question.metric, "_by_rows", False):
        from argmetric._verbs._amounts import decide_amounts

        return decide_amounts(question, budget, per_row)
    if per_row is not None:
        from argmetric._verbs.decide._per_row import check_per_row, decide_rows

        count = check_per_row(per_row, budget, question)
        decision = decide_rows(question, count, n_threads)
    elif question.layout.ids is None:
        decision = decide_one(question)
    else:
        decision = decide_groups(question, n_threads)
    if budget is not None:
        from argmetric._verbs.decide._budget import check_budget, within_budget

        decision = within_budget(decision, question, *check_budget(budget, question))
    return decision


def certified_limits(
    confidence: float,
    fitted: FittedReference,
    layout: Layout,
    metric: Metric,
    *,
    prior: float | str | None,
    asked: dict[str, Any],
) -> tuple[Guarantee, Limits]:
    """Return the guarantee, and limits that select the rows above its threshold."""
    confidence = check_share(confidence, "confidence")
    rows = fitted.rows
    if not isinstance(rows, Reference):
        raise ValueError(
            "confidence needs the labelled rows that prove the limits: pass "
            "reference=(y, p)"
        )
    if layout.ids is not None:
        raise ValueError(
            "confidence goes with one column of scores and one threshold: for groups "
            "use tune(y, p, groups=..., confidence=...) and apply its rule"
        )
    if isinstance(prior, str):
        raise ValueError("confidence needs a known prevalence: pass prior as a number")
    scores, most = layout.scores, asked["max_positives"]
    floors = {name: asked[name] for name in ("min_precision", "min_recall")}
    limits = {name: float(x) for name, x in floors.items() if x is not None}
    words = {name: f"{name}={x:.12g}" for name, x in limits.items()}
    words["max_positives"] = f"max_positives={most}"
    if isinstance(most, str):
        limits["max_positives"] = float(read_share(most, "max_positives"))
    elif most is not None:
        limits["max_positives"] = most / scores.size
    inside = bool(rows.scores.min() >= 0.0 and rows.scores.max() <= 1.0)
    labelled = LabelledRows(rows.scores, rows.y, inside, scores)
    terms = Terms(limits, words, confidence, prior=prior)
    found = certify(labelled, terms, metric)
    count = int(np.count_nonzero(scores >= found.threshold))
    return found, check_limits(count, count, None, None)
