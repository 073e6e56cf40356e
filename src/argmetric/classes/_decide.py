"""decide: which class should every row get?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_flag
from argmetric._ground.types import Integers
from argmetric._ground.validation import same_kind
from argmetric.classes._bound import upper_bound
from argmetric.classes._climb import (
    Rows,
    decide_rows,
    gains_of,
    most_probable,
    sums_of,
)
from argmetric.classes._input import named
from argmetric.classes._limits import best_within, keeps_limits, with_limits
from argmetric.classes._prepare import ClassBatch, read_call
from argmetric.classes._result import ClassDecision
from argmetric.classes._values import expected_metric, groups_that_score_less, rule_of
from argmetric.metrics import (
    ClassAgreement,
    ClassAverage,
    ClassFunction,
    ClassGain,
    ClassMetric,
    MetricLike,
)


def decide(
    p: Any,
    metric: MetricLike = "f1",
    *,
    classes: Any = None,
    groups: Any = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: Any = None,
    max_per_class: Any = None,
    min_recall: Any = None,
    prior: Any = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    certificate: bool = False,
) -> ClassDecision:
    """Choose one of several classes for each row, with the highest expected metric.

    Parameters
    ----------
    p : array-like or frame
        Class probabilities, one column per class; rows sum to 1.
    metric : str, Metric or callable, default="f1"
        "f1", "jaccard", "precision" and "recall" are averaged over the classes;
        "balanced_accuracy", "gmean", "mcc", "kappa", "quadratic_kappa" (for classes in
        order) and "accuracy" have forms of their own; a function gets the table of
        counts, true classes in its rows.
    classes : sequence, optional
        The class of each column; by default the names of a frame's columns, or 0, 1, 2
        and so on.
    groups : array-like, optional
        Group of each row: the mean of the metric over groups is maximised.
    average : {"macro", "weighted"}, optional
        Every class weighs the same, the default, or as many rows as it has.
    zero_division : {0.0, 1.0, nan}, optional
        What a class counts that is neither true nor predicted: nan, the default here
        and in scikit-learn, leaves it out.
    cost : array-like, optional
        In place of a metric: a matrix with the cost of a true class (row) that is
        predicted as another (column). The score is then the negative mean cost.
    max_per_class : int, sequence or dict, optional
        The largest number of rows of a class, in each group: one value, one for each
        class, or a dict by class.
    min_recall : float, sequence or dict, optional
        The least expected recall of a class, in each group.
    prior : sequence, dict or "estimate", optional
        The current share of every class. "estimate" finds the shares by comparing `p`
        with the probabilities of `reference`.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.
    calibrator : Calibrator or callable, optional
        Applied to `p` first: the result of `calibrate` or `adjust_prior`, or a function
        from such a matrix to another.
    reference : pair (y, p), optional
        Labelled rows that the model was not trained on: the class of each row, and the
        probabilities. `p` is recalibrated as by `calibrate(y, p)`.
    certificate : bool, default=False
        Compute `upper_bound`, which no labels can exceed.

    Returns
    -------
    ClassDecision

    See Also
    --------
    argmetric.decide : Which rows are positive.

    Examples
    --------
    >>> import argmetric as am
    >>> p = [[.6, .3, .1], [.5, .2, .3], [.7, .2, .1], [.5, .45, .05]]
    >>> am.classes.decide(p, "f1", classes=["a", "b", "c"]).labels
    array(['a', 'a', 'a', 'b'], dtype='<U1')
    """
    batch, found = read_call(
        p,
        metric,
        classes=classes,
        groups=groups,
        average=average,
        zero_division=zero_division,
        cost=cost,
        prior=prior,
        logits=logits,
        calibrator=calibrator,
        reference=reference,
    )
    certificate = check_flag(certificate, "certificate")
    limits = {"max_per_class": max_per_class, "min_recall": min_recall}
    decision = decide_batch(batch, found, limits, certificate=certificate)
    object.__setattr__(decision, "labels", same_kind(p)(decision.labels))
    return decision


def decide_batch(
    batch: ClassBatch,
    metric: ClassMetric,
    limits: dict[str, Any],
    *,
    certificate: bool = False,
) -> ClassDecision:
    """Decide rows that were checked."""
    rows = batch.rows()
    if rows.p.shape[0] == 0:
        raise ValueError("p has no rows: there is nothing to decide")
    given = {name: value for name, value in limits.items() if value is not None}
    labels, bound = _no_worse(rows, metric, decide_rows(rows, metric)), math.nan
    if given:
        if isinstance(metric, ClassAgreement | ClassFunction):
            limited = " and ".join(given)
            raise ValueError(f"{limited} cannot be kept for {metric.name}")
        rows = with_limits(rows, batch.classes, **given)
        if not keeps_limits(rows, labels):
            labels, bound = _within(rows, batch.classes, metric, labels)
            if keeps_limits(rows, most_probable(rows.p)):
                labels = _no_worse(rows, metric, labels)
    if certificate and math.isnan(bound):
        bound = upper_bound(rows, metric, labels)
    return _decision_of(
        batch, rows, metric, labels, bound if certificate else math.nan, given
    )


def _no_worse(rows: Rows, metric: ClassMetric, labels: Integers) -> Integers:
    """The labels, or the most probable classes in groups where these score more.

    Scores are expectations, or means over the same drawn truths where the expectation
    is not exact: the search has climbed on the counts, or on truths of its own.
    """
    plain = most_probable(rows.p)
    found = expected_metric(rows, metric, labels)
    if found.exact:
        worse = found.groups < expected_metric(rows, metric, plain).groups
    else:
        worse = groups_that_score_less(rows, metric, labels, plain)
    return np.where(np.repeat(worse, np.diff(rows.starts)), plain, labels)


def _within(
    rows: Rows, classes: tuple[Any, ...], metric: ClassMetric, free: Integers
) -> tuple[Integers, float]:
    """Labels that keep limits which the best labels without them do not.

    Gains are maximised themselves, and have a bound. Other metrics are climbed from the
    labels that are best to first order.
    """
    if isinstance(metric, ClassGain):
        labels, most = best_within(rows, classes, gains_of(rows, metric))
        return labels, float((most / rows.sizes).mean())
    found = rule_of(rows, metric, free)
    worth = rows.p if found is None else rows.p * found.weights + found.offsets
    start, _ = best_within(rows, classes, worth)
    return decide_rows(rows, metric, start), math.nan


def _decision_of(
    batch: ClassBatch,
    rows: Rows,
    metric: ClassMetric,
    labels: Integers,
    bound: float,
    given: dict[str, Any],
) -> ClassDecision:
    expected = expected_metric(rows, metric, labels)
    usual = expected_metric(rows, metric, most_probable(rows.p))
    score = float(expected.groups.mean())
    notes = list(batch.notes)
    mu, _, _, k = sums_of(rows, labels)
    codes = batch.in_order(labels)
    if given:
        notes.append("limits: " + ", ".join(f"{a}={b}" for a, b in given.items()))
    empty = [
        str(one)
        for one, mass in zip(batch.classes, mu.sum(axis=0), strict=True)
        if mass == 0.0
    ]
    if empty:
        notes.append(f"no row can be of class {', '.join(empty[:5])}: its p is 0")
    return ClassDecision(
        labels=named(codes, batch.classes),
        codes=codes,
        classes=batch.classes,
        expected=score,
        is_exact=expected.exact,
        most_probable=float(usual.groups.mean()),
        upper_bound=math.nan if math.isnan(bound) else max(bound, score),
        metric=metric,
        counts=k.sum(axis=0).astype(np.int64),
        expected_counts=mu.sum(axis=0),
        per_class=_mean_of_groups(expected.per_class),
        per_class_most_probable=_mean_of_groups(usual.per_class),
        n=rows.p.shape[0],
        group_ids=None if batch.groups is None else batch.groups.ids,
        group_expected=None if batch.groups is None else expected.groups,
        notes=tuple(notes),
        _batch=batch,
    )


def _mean_of_groups(values: Any) -> Any:
    return None if values is None else values.mean(axis=0)
