"""decide: which class should every row get?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from argmetric._expected import plan
from argmetric._ground.arguments import check_flag, refuses
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    ReferenceLike,
    SharesLike,
)
from argmetric._ground.validation import same_kind
from argmetric.classes._calibrate import ClassBatch, read_call
from argmetric.classes._climb import (
    GroupRows,
    decide_rows,
    gains_of,
    most_probable,
    other_starts,
    sums_of,
)
from argmetric.classes._input import labels_of
from argmetric.classes._limits import best_within, keeps_limits, with_limits
from argmetric.classes._result import ClassDecision
from argmetric.classes._values import (
    expected_metric,
    groups_that_score_less,
    rule_of,
    upper_bound,
)
from argmetric.metrics import (
    ClassAgreement,
    ClassAverage,
    ClassFunction,
    ClassGain,
    ClassMetric,
    ClassRatio,
    MetricLike,
)


@refuses("sample_weight", "scoring", "max_positives", "budget")
def decide(
    p: ArrayLike | None = None,
    metric: MetricLike | None = None,
    *,
    mean: ArrayLike | None = None,
    classes: ClassNames | None = None,
    groups: ArrayLike | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: ArrayLike | None = None,
    max_per_class: SharesLike | None = None,
    min_recall: SharesLike | None = None,
    prior: SharesLike | str | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
    certificate: bool = False,
) -> ClassDecision:
    """Choose one of several classes for each row, with the highest expected metric.

    Parameters
    ----------
    p : array-like or frame
        Class probabilities, one column per class; rows sum to 1.
    metric : str, Metric or callable, default="f1"
        "f1", "jaccard", "precision" and "recall" are averaged over the classes;
        "balanced_accuracy", "gmean", "mcc", "kappa", "linear_kappa", "quadratic_kappa"
        (for classes in order) and "accuracy" have forms of their own; a function gets
        the table of counts, true classes in its rows.
    mean : array-like, optional
        In place of p, with ``reference=(y, mean)``: the mean that a regression predicts
        for each row, in the units of the classes (of names, 0, 1, 2 and so on).
    classes : sequence, optional
        The class of each column; by default the names of a frame's columns, or 0, 1, 2
        and so on.
    groups : array-like, optional
        Group of each row: the mean of the metric over groups is maximised.
    average : {"macro", "weighted"}, optional
        Every class weighs the same, the default, or as many rows as it has.
    zero_division : {0.0, 1.0, nan}, optional
        Value of a class that is neither true nor predicted: nan, the default here
        and in scikit-learn, leaves it out.
    cost : array-like, optional
        Instead of a metric: a matrix with the cost of a true class (row) that is
        predicted as another (column). The score is then the negative mean cost.
    max_per_class : int, str, sequence or dict, optional
        The largest number of rows of a class, in each group, or a share of the rows
        such as "5%": one value, one for each class, or a dict by class.
    min_recall : float, sequence or dict, optional
        The least expected recall of a class, in each group.
    prior : sequence, dict or "estimate", optional
        The current prevalence of every class. "estimate" finds them by comparing `p`
        with the probabilities of `reference`.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.
    reference : pair (y, p) or Calibrator, optional
        Labelled rows that the model was not trained on, or a fitted calibrator. `p` is
        recalibrated first. Rows are the class of each and its probabilities, as for
        `calibrate(y, p)`; a calibrator is that of `calibrate` or `adjust_prior`, or a
        function from such a matrix to another.
    certificate : bool, default=False
        Compute `bound`, which no labels can exceed.

    Returns
    -------
    ClassDecision
        The labels, with their expected score.

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
        "decide",
        p,
        metric,
        mean=mean,
        classes=classes,
        groups=groups,
        average=average,
        zero_division=zero_division,
        cost=cost,
        prior=prior,
        logits=logits,
        reference=reference,
    )
    certificate = check_flag(certificate, "certificate")
    limits = {"max_per_class": max_per_class, "min_recall": min_recall}
    decision = decide_batch(batch, found, limits, certificate=certificate)
    kind = same_kind(p if mean is None else mean)
    object.__setattr__(decision, "labels", kind(decision.labels))
    return decision


def decide_batch(
    batch: ClassBatch,
    metric: ClassMetric,
    limits: dict[str, SharesLike | None],
    *,
    certificate: bool = False,
) -> ClassDecision:
    """Decide rows that were checked, within limits by name."""
    rows = batch.rows()
    if rows.p.shape[0] == 0:
        raise ValueError("p has no rows: there is nothing to decide")
    limits = {name: value for name, value in limits.items() if value is not None}
    labels, bound = decide_rows(rows, metric), math.nan
    labels = _better_labels(rows, metric, labels, most_probable(rows.p))
    if limits:
        if isinstance(metric, ClassAgreement | ClassFunction):
            names = " and ".join(limits)
            raise ValueError(f"{names} cannot be kept for {metric.name}")
        rows = with_limits(rows, batch.classes, **limits)
        if not keeps_limits(rows, labels):
            labels, bound = _labels_within(rows, batch.classes, metric, labels)
    if certificate and math.isnan(bound):
        bound = upper_bound(rows, metric, labels)
    bound = bound if certificate else math.nan
    expected = expected_metric(rows, metric, labels)
    usual = expected_metric(rows, metric, most_probable(rows.p))
    score = float(expected.groups.mean())
    notes = list(batch.notes)
    mu, _, _, k = sums_of(rows, labels)
    codes = batch.in_order(labels)
    if limits:
        notes.append("limits: " + ", ".join(f"{a}={b}" for a, b in limits.items()))
    empty = [
        str(one)
        for one, mass in zip(batch.classes, mu.sum(axis=0), strict=True)
        if mass == 0.0
    ]
    if empty:
        notes.append(f"no row can be of class {', '.join(empty[:5])}: its p is 0")
    return ClassDecision(
        labels=labels_of(codes, batch.classes),
        codes=codes,
        classes=batch.classes,
        expected=score,
        is_exact=expected.exact,
        most_probable=float(usual.groups.mean()),
        bound=math.nan if math.isnan(bound) else max(bound, score),
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


def _better_labels(
    rows: GroupRows, metric: ClassMetric, labels: Integers, other: Integers
) -> Integers:
    """Return the labels, or the other ones in groups where these score more.

    Scores are expectations, or means over the same drawn classes where the expectation
    is not exact: the search has climbed on the counts, or on draws of its own.
    """
    found = expected_metric(rows, metric, labels)
    if found.exact:
        worse = found.groups < expected_metric(rows, metric, other).groups
    else:
        worse = groups_that_score_less(rows, metric, labels, other)
    return np.where(rows.per_row(worse), other, labels)


def _labels_within(
    rows: GroupRows, classes: ClassTuple, metric: ClassMetric, free: Integers
) -> tuple[Integers, float]:
    """Return labels within the limits; gains have a bound, other metrics are climbed.

    The climbs begin at the decision without limits and at the most probable classes,
    both brought within the limits, and end below neither.
    """
    if isinstance(metric, ClassGain):
        labels, most = best_within(rows, classes, gains_of(rows, metric))
        return labels, float((most / rows.sizes).mean())
    rule = rule_of(rows, metric, free)
    assert rule is not None
    starts = [best_within(rows, classes, rows.p * rule.weights + rule.offsets)[0]]
    starts += _most_probable_within(rows, classes)
    labels = starts[0]
    for start in starts:
        for other in (decide_rows(rows, metric, start), start):
            labels = _better_labels(rows, metric, labels, other)
    if isinstance(metric, ClassRatio) and plan.searches_classes(rows.p.size):
        for start in other_starts(rows, labels):
            if keeps_limits(rows, start):
                other = decide_rows(rows, metric, start)
                labels = _better_labels(rows, metric, labels, other)
    return labels, math.nan


def _most_probable_within(rows: GroupRows, classes: ClassTuple) -> Iterator[Integers]:
    """Yield the most probable classes brought within the limits, in two ways.

    By the highest sum of probabilities; and the surest rows first, each by its most
    probable class with room, where that keeps the limits.
    """
    from argmetric.classes.kernels.transport import fill_greedily

    plain = most_probable(rows.p)
    if keeps_limits(rows, plain):
        yield plain
        return
    yield best_within(rows, classes, rows.p)[0]
    order = np.lexsort((-rows.p.max(axis=1), rows.group))
    fill_greedily(rows.p, rows.starts, order, rows.most, plain)
    if keeps_limits(rows, plain):
        yield plain


def _mean_of_groups(values: Floats | None) -> Floats | None:
    """Return means of the classes (n_classes,) over groups."""
    return None if values is None else values.mean(axis=0)
