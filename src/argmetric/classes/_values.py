"""The expected metric of labels, and what one more row of a class would bring."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from argmetric._expected import plan
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.classes._climb import (
    Rows,
    decide_gmean,
    exact_form,
    expected_table,
    gains_of,
    group_values,
    score_gmean,
    sums_of,
)
from argmetric.metrics import (
    ClassAgreement,
    ClassCorrelation,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
)

# Eight nodes are exact from so many rows on, true ones and those given to the class
# together. E[1/(k + T)], T Poisson, by them: off by 8e-14 of its value at 100, by 4e-11
# at 50; of F5, whose T counts 25-fold, by 9e-11 at 200 and by 2e-13 at 500.
SMOOTH = 200.0
SURELY_THERE = 1e-15  # chance of an absence that changes no mean
# Truths on which two labellings are compared: rows drawn for a group and for all,
# cells of the tables that are held at once, truths of a group at least and at most, and
# truths up to which all are listed
DRAWN_ROWS, DRAWN_IN_ALL, DRAWN_CELLS = 4_000_000, 200_000_000, 1 << 22
LEAST_DRAWS, MOST_DRAWS = 32, 400
ALL_TRUTHS = 1024
ROUNDING = 1e-12
COMPARED_FROM = 41  # seed: other truths than those that a G-mean is climbed on


class Expected(NamedTuple):
    """Expected metric of every group, and of every class where it is a mean of these.

    `exact` says that they are expectations to 1e-12: not the metric of the expected
    counts, nor a mean over drawn truths, nor a quadrature that may be off by more.
    """

    groups: Floats
    per_class: Floats | None
    exact: bool


def expected_metric(
    rows: Rows, metric: ClassMetric, labels: Integers, *, roughly: bool = False
) -> Expected:
    """What the labels are expected to score, group by group; `roughly` is fast."""
    if isinstance(metric, ClassRatio):
        return _expected_ratio(rows, metric, labels, roughly)
    group = np.repeat(np.arange(rows.n_groups), np.diff(rows.starts))
    places = np.arange(labels.size)
    if isinstance(metric, ClassGain):
        gains = gains_of(rows, metric)
        total = np.bincount(group, gains[places, labels], rows.n_groups)
        return Expected(total / rows.sizes, None, True)
    if isinstance(metric, ClassAgreement):
        apart = metric.disagreement(rows.p.shape[1])
        mu, _, _, k = sums_of(rows, labels)
        wrong = (rows.p @ apart)[places, labels]
        seen = np.bincount(group, wrong, rows.n_groups)
        chance = np.einsum("ga,ab,gb->g", mu, apart, k) / rows.sizes
        safe = np.where(chance > 0.0, chance, 1.0)
        return Expected(np.where(chance > 0.0, 1.0 - seen / safe, 0.0), None, False)
    if isinstance(metric, ClassGMean):
        return Expected(score_gmean(rows, labels), None, False)
    if isinstance(metric, ClassCorrelation):
        mu, _, h, k = sums_of(rows, labels)
        n = rows.sizes
        spread = (n * n - (k * k).sum(axis=1)) * (n * n - (mu * mu).sum(axis=1))
        above = n * h.sum(axis=1) - (mu * k).sum(axis=1)
        safe = np.sqrt(np.where(spread > 0.0, spread, 1.0))
        return Expected(np.where(spread > 0.0, above / safe, 0.0), None, False)
    pairs = zip(rows.starts[:-1], rows.starts[1:], strict=True)
    values = [
        float(metric.score(expected_table(rows.p[a:b], labels[a:b]))) for a, b in pairs
    ]
    return Expected(np.array(values), None, False)


def _expected_ratio(
    rows: Rows, metric: ClassRatio, labels: Integers, roughly: bool
) -> Expected:
    """By the laws of counts; a group that is too large for them by quadrature."""
    from argmetric.classes.kernels.means import ratio_means

    shape = rows.n_groups, rows.p.shape[1]
    mean, value = np.empty(shape[0]), np.empty(shape)
    known = np.zeros(shape[0], dtype=bool)
    if not roughly and (metric.b_k > 0.0 or metric.b_t > 0.0):
        ratio_means(
            rows.p, rows.starts, labels, metric.a, metric.b_tp, metric.b_k, metric.b_t,
            metric.by_support, math.nan if metric.needs_truth else metric.zero_division,
            plan.class_steps(rows.n_groups), mean, value, known,
        )  # fmt: skip
    if known.all():
        return Expected(mean, value, True)
    rest = group_values(rows, metric, labels)
    fine = exact_form(metric) and not roughly
    if fine:
        mu, none, _, k = sums_of(rows, labels)
        absent = none if metric.needs_truth else np.where(k > 0.0, 0.0, none)
        left_out = metric.needs_truth or math.isnan(metric.zero_division)
        surely = ~(left_out & (absent > SURELY_THERE)).any(axis=1)
        weights = metric.b_k * k + metric.b_t * mu
        smooth = weights >= SMOOTH * max(metric.b_k, metric.b_t)
        fine = bool((known | (surely & (smooth | (k == 0.0)).all(axis=1))).all())
    return Expected(
        np.where(known, mean, rest.mean),
        np.where(known[:, None], value, rest.per_class),
        fine,
    )


def groups_that_score_less(
    rows: Rows, metric: ClassMetric, one: Integers, other: Integers
) -> Booleans:
    """Groups in which labels score less than others on all truths, or on drawn ones."""
    from argmetric.classes.kernels.compare import truths_of_both

    count = rows.p.shape[1]
    less = np.logical_or.reduceat(one != other, rows.starts[:-1])
    moved = np.flatnonzero(less)
    if not moved.size:
        return less
    sizes = np.diff(rows.starts)[moved]
    most = np.minimum(DRAWN_ROWS // np.maximum(sizes, 1), DRAWN_IN_ALL // sizes.sum())
    n_draws = np.clip(
        np.minimum(most, DRAWN_CELLS // count**2), LEAST_DRAWS, MOST_DRAWS
    )
    width = max(ALL_TRUTHS if count ** min(sizes) <= ALL_TRUTHS else 0, *n_draws)
    step = max(1, DRAWN_CELLS // (width * count**2))
    state = np.array([COMPARED_FROM], dtype=np.uint64)
    for first in range(0, moved.size, step):
        own = slice(first, first + step)
        groups = moved[own]
        tables = np.zeros((2, groups.size, width, count, count))
        chance = np.zeros((groups.size, width))
        truths_of_both(
            rows.p, rows.starts, groups, one, other, n_draws[own], ALL_TRUTHS, state,
            tables, chance,
        )  # fmt: skip
        scores = metric.score(tables)
        weight = np.where(np.isnan(scores), 0.0, chance)
        total = weight.sum(axis=2)
        safe = np.where(total > 0.0, total, 1.0)
        means = (np.nan_to_num(scores) * weight).sum(axis=2) / safe
        # Where a labelling is undefined in every outcome, nothing is compared
        less[groups] = (total > 0.0).all(axis=0) & (means[0] < means[1] - ROUNDING)
    return less


class RowRule(NamedTuple):
    """The class with the largest weight·p + offset: what the decision amounts to."""

    weights: Floats
    offsets: Floats


def rule_of(rows: Rows, metric: ClassMetric, labels: Integers) -> RowRule | None:
    """The slopes of the metric in h and k at the decision, all rows pooled.

    None where a row needs more than one probability of a class: cost matrices,
    quadratic kappa and functions.
    """
    pooled = Rows(rows.p, np.array([0, labels.size]), rows.most[:1], rows.floor[:1])
    mu, none, h, k = (one[0] for one in sums_of(pooled, labels))
    n, count = float(labels.size), mu.size
    if isinstance(metric, ClassGain) and metric.matrix is None:
        return RowRule(np.ones(count), np.zeros(count))
    if isinstance(metric, ClassAgreement) and not metric.quadratic:
        value = expected_metric(pooled, metric, labels).groups[0]
        return RowRule(np.ones(count), -(1.0 - value) * mu / n)
    if isinstance(metric, ClassGMean):
        return RowRule(decide_gmean(pooled)[1][0], np.zeros(count))
    if isinstance(metric, ClassCorrelation):
        value = expected_metric(pooled, metric, labels).groups[0]
        free = n * n - (k * k).sum()
        spread = math.sqrt(max(free * (n * n - (mu * mu).sum()), 1e-300))
        return RowRule(np.full(count, n / spread), value * k / free - mu / spread)
    if not isinstance(metric, ClassRatio):
        return None
    share = np.ones(count)
    if metric.by_support:
        share = mu / n
    elif metric.needs_truth:
        share = group_values(pooled, metric, labels).shares[0] * (1.0 - none)
    rows_of = np.maximum(k, 1.0) if metric.b_k else k
    below = metric.b_tp * h + metric.b_k * rows_of + metric.b_t * mu
    below = np.maximum(below, 1e-12)
    weights = share * metric.a * (below - metric.b_tp * h) / below**2
    return RowRule(weights, -share * metric.a * metric.b_k * h / below**2)
