"""decide for one label per row: which class should every row get?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._classes._bound import upper_bound
from argmetric._classes._climb import Rows, decide_rows, most_probable, sums_of
from argmetric._classes._limits import labels_within, with_limits
from argmetric._classes._prepare import ClassBatch, named, read_call
from argmetric._classes._result import ClassDecision
from argmetric._classes._values import expected_metric, rule_of
from argmetric._input.arguments import check_flag
from argmetric._input.types import Integers
from argmetric._input.validation import same_kind
from argmetric.metrics import (
    ClassAgreement,
    ClassFunction,
    ClassGain,
    ClassMetric,
    MetricLike,
)


def decide_classes(
    p: Any,
    metric: MetricLike,
    *,
    max_per_class: Any = None,
    min_recall: Any = None,
    certificate: bool = False,
    **how: Any,
) -> ClassDecision:
    """Choose one class per row; parameters as for `decide` with `one_label=True`."""
    batch, found = read_call(p, metric, **how)
    certificate = check_flag(certificate, "certificate")
    limits = {"max_per_class": max_per_class, "min_recall": min_recall}
    decision = decide_batch(batch, found, limits, certificate=certificate)
    object.__setattr__(decision, "labels", same_row_kind(p, decision.labels))
    return decision


def same_row_kind(p: Any, labels: Any) -> Any:
    """Labels as a series where p is a frame."""
    return same_kind(p)(labels)


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
    start = None
    given = {name: value for name, value in limits.items() if value is not None}
    if given:
        _refuse_limits(metric, given)
        free = decide_rows(rows, metric)
        found = rule_of(rows, metric, free)
        worth = rows.p if found is None else rows.p * found.weights + found.offsets
        rows = with_limits(rows, batch.classes, **limits)
        start = labels_within(rows, batch.classes, free, worth)
    labels = decide_rows(rows, metric, start)
    bound = upper_bound(rows, metric, labels) if certificate else np.nan
    return _told(batch, rows, metric, labels, bound, given)


def _refuse_limits(metric: ClassMetric, given: dict[str, Any]) -> None:
    named_limits = " and ".join(given)
    if isinstance(metric, ClassAgreement | ClassFunction):
        raise ValueError(f"{named_limits} cannot be kept for {metric.name}")
    of_cost = isinstance(metric, ClassGain) and metric.matrix is not None
    if of_cost and "min_recall" in given:
        raise ValueError("min_recall cannot be kept with a cost matrix")


def _told(
    batch: ClassBatch,
    rows: Rows,
    metric: ClassMetric,
    labels: Integers,
    bound: float,
    given: dict[str, Any],
) -> ClassDecision:
    plain = most_probable(rows.p)
    expected = expected_metric(rows, metric, labels)
    usual = expected_metric(rows, metric, plain)
    score = float(expected.groups.mean())
    notes = list(batch.notes)
    if not given and expected.groups.mean() < usual.groups.mean():
        # the search has climbed on the counts, the expectation says otherwise
        labels, expected, score = plain, usual, float(usual.groups.mean())
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
