"""Expected metric of labels, and the gain of one more row of a class."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from argmetric._expected import plan
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.classes._climb import (
    GroupRows,
    decide_gmean,
    exact_form,
    expected_table,
    gains_of,
    group_values,
    nodes,
    score_gmean,
    sums_of,
    unit_nodes,
)
from argmetric.metrics import (
    ClassAgreement,
    ClassCorrelation,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
    ratio_or,
)

# Eight nodes are exact from so many rows on, true ones and those given to the class
# together. E[1/(k + T)], T Poisson, by them: off by 8e-14 of its value at 100, by 4e-11
# at 50; of F5, whose T counts 25-fold, by 9e-11 at 200 and by 2e-13 at 500.
SMOOTH = 200.0
SURELY_THERE = 1e-15  # probability of an absence that changes no mean
# True labels on which two labellings are compared: rows drawn for a group and for all,
# cells of the tables that are held at once, draws of a group at least and at most, and
# outcomes up to which all are listed
DRAWN_ROWS, DRAWN_IN_ALL, DRAWN_CELLS = 4_000_000, 200_000_000, 1 << 22
LEAST_DRAWS, MOST_DRAWS = 32, 400
ALL_OUTCOMES = 1024
ROUNDING = 1e-12
COMPARED_FROM = 41  # seed: other draws than those that a G-mean is climbed on


class ExpectedScore(NamedTuple):
    """Expected metric of every group, and of every class where it is a mean of these.

    `exact` says that they are expectations to 1e-12: not the metric of the expected
    counts, nor a mean over drawn labels, nor a quadrature that may be off by more.
    """

    groups: Floats
    per_class: Floats | None
    exact: bool


def expected_metric(
    rows: GroupRows, metric: ClassMetric, labels: Integers, *, roughly: bool = False
) -> ExpectedScore:
    """Return the expected metric of the labels, group by group; `roughly` is fast."""
    if isinstance(metric, ClassRatio):
        return _expected_ratio(rows, metric, labels, roughly)
    group = rows.group
    places = np.arange(labels.size)
    if isinstance(metric, ClassGain):
        gains = gains_of(rows, metric)
        total = np.bincount(group, gains[places, labels], rows.n_groups)
        return ExpectedScore(total / rows.sizes, None, True)
    if isinstance(metric, ClassAgreement):
        apart = metric.disagreement(rows.p.shape[1])
        mu, _, _, k = sums_of(rows, labels)
        wrong = (rows.p @ apart)[places, labels]
        seen = np.bincount(group, wrong, rows.n_groups)
        random = np.einsum("ga,ab,gb->g", mu, apart, k) / rows.sizes
        return ExpectedScore(1.0 - ratio_or(seen, random, 1.0), None, False)
    if isinstance(metric, ClassGMean):
        return ExpectedScore(score_gmean(rows, labels), None, False)
    if isinstance(metric, ClassCorrelation):
        mu, _, h, k = sums_of(rows, labels)
        n = rows.sizes
        spread = (n * n - (k * k).sum(axis=1)) * (n * n - (mu * mu).sum(axis=1))
        above = n * h.sum(axis=1) - (mu * k).sum(axis=1)
        spread = np.sqrt(np.maximum(spread, 0.0))
        return ExpectedScore(ratio_or(above, spread, 0.0), None, False)
    values = [
        float(metric.score(expected_table(rows.p[a:b], labels[a:b])))
        for a, b in rows.ends
    ]
    return ExpectedScore(np.array(values), None, False)


def _expected_ratio(
    rows: GroupRows, metric: ClassRatio, labels: Integers, roughly: bool
) -> ExpectedScore:
    """Sum over distributions of counts; large groups are left to a quadrature."""
    from argmetric.classes.kernels.exact import ratio_means

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
        return ExpectedScore(mean, value, True)
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
    return ExpectedScore(
        np.where(known, mean, rest.mean),
        np.where(known[:, None], value, rest.per_class),
        fine,
    )


def groups_that_score_less(
    rows: GroupRows, metric: ClassMetric, one: Integers, other: Integers
) -> Booleans:
    """Return the groups in which labels `one` score less than `other`, (n_groups,).

    They are scored on all true labels that can be, or on drawn ones.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    one, other : ndarray of shape (n_rows,)
    """
    from argmetric.classes.kernels.draws import tables_of_both

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
    width = max(ALL_OUTCOMES if count ** min(sizes) <= ALL_OUTCOMES else 0, *n_draws)
    step = max(1, DRAWN_CELLS // (width * count**2))
    state = np.array([COMPARED_FROM], dtype=np.uint64)
    for first in range(0, moved.size, step):
        own = slice(first, first + step)
        groups = moved[own]
        tables = np.zeros((2, groups.size, width, count, count))
        probability = np.zeros((groups.size, width))
        tables_of_both(
            rows.p, rows.starts, groups, one, other, n_draws[own], ALL_OUTCOMES, state,
            tables, probability,
        )  # fmt: skip
        scores = metric.score(tables)
        weight = np.where(np.isnan(scores), 0.0, probability)
        total = weight.sum(axis=2)
        means = ratio_or((np.nan_to_num(scores) * weight).sum(axis=2), total, 0.0)
        # Where a labelling is undefined in every outcome, nothing is compared
        less[groups] = (total > 0.0).all(axis=0) & (means[0] < means[1] - ROUNDING)
    return less


class RowRule(NamedTuple):
    """Rule for one row: the class with the largest weight·p + offset, or p·gains."""

    weights: Floats
    offsets: Floats
    gains: Floats | None = None  # by true class (row) and label, in place of weights


def agreement_rule(metric: ClassAgreement, mu: Floats, ratio: float) -> RowRule:
    """Return the rule of a kappa of classes in order, whose value is 1 - ratio.

    It has the largest ratio·Σ_a μ_a·w_ab - Σ_a p_a·w_ab, μ the prevalences. With
    w = (a-b)² this is half of it, less what all classes share: b·(m - c_b) summed, m
    the expected class and c_b the cut between b-1 and b, which are evenly spaced:

        c_b = (b - ½)·(1 - ratio) + ratio·Σ_a a·μ_a.

    Parameters
    ----------
    metric : ClassAgreement
    mu : ndarray of shape (n_classes,)
    ratio : float
        Of seen to random disagreement.
    """
    steps, ones = np.arange(mu.size), np.ones(mu.size)
    if metric.power == 2:
        cuts = (steps - 0.5) * (1.0 - ratio) + ratio * float(steps @ mu)
        cuts[0] = 0.0
        return RowRule(ones, -np.cumsum(cuts), np.outer(steps, steps).astype(float))
    apart = metric.disagreement(mu.size)
    return RowRule(ones, ratio * (mu @ apart), -apart)


def rule_of(rows: GroupRows, metric: ClassMetric, labels: Integers) -> RowRule | None:
    """Return the slopes of the metric in h and k at the decision, all rows pooled.

    None for functions of one's own.
    """
    pooled = GroupRows(
        rows.p, np.array([0, labels.size]), rows.most[:1], rows.floor[:1]
    )
    mu, none, h, k = (one[0] for one in sums_of(pooled, labels))
    n, count = float(labels.size), mu.size
    if isinstance(metric, ClassGain):
        return RowRule(np.ones(count), np.zeros(count), metric.matrix)
    if isinstance(metric, ClassAgreement):
        ratio = 1.0 - float(expected_metric(pooled, metric, labels).groups[0])
        if metric.power:
            return agreement_rule(metric, mu / n, ratio)
        return RowRule(np.ones(count), -ratio * mu / n)
    if isinstance(metric, ClassGMean):
        return RowRule(decide_gmean(pooled)[1][0], np.zeros(count))
    if isinstance(metric, ClassCorrelation):
        # (n·Σh - Σμk) / √(free·spread): its slopes in h and k, times √(free·spread)/n.
        # With all rows in one class free is 0, and so is the value: only the slopes of
        # the numerator are left.
        value = expected_metric(pooled, metric, labels).groups[0]
        free, spread = n * n - (k * k).sum(), n * n - (mu * mu).sum()
        ratio = math.sqrt(max(spread, 0.0) / free) if free > 0.0 else 0.0
        return RowRule(np.ones(count), (value * ratio * k - mu) / n)
    if not isinstance(metric, ClassRatio):
        return None
    factor = np.ones(count)
    if metric.by_support:
        factor = mu / n
    elif metric.needs_truth:
        factor = group_values(pooled, metric, labels).weights[0] * (1.0 - none)
    rows_of = np.maximum(k, 1.0) if metric.b_k else k
    below = metric.b_tp * h + metric.b_k * rows_of + metric.b_t * mu
    below = np.maximum(below, 1e-12)
    weights = factor * metric.a * (below - metric.b_tp * h) / below**2
    return RowRule(weights, -factor * metric.a * metric.b_k * h / below**2)


MOST_STEPS = 40  # numbers of rows at which a class is bounded exactly
NEAR = 1e-7  # of a bound: nearer is the error of the quadrature


def upper_bound(rows: GroupRows, metric: ClassMetric, labels: Integers) -> float:
    """Return a value that the expected metric of no labels exceeds; nan without one.

    It bounds the exact expectation. Where absent classes are left out it is wider by
    the expected share of classes without true rows. Limits only lower what labels can
    reach.
    """
    if isinstance(metric, ClassGain | ClassAgreement):
        return math.nan  # found exactly: there is nothing to bound
    if rows.n_groups != 1 or rows.p.shape[0] == 0:
        return math.nan
    if isinstance(metric, ClassGMean):
        return _bound_recalls(rows, labels, geometric=True)
    if not isinstance(metric, ClassRatio) or not exact_form(metric):
        return math.nan
    if metric.needs_truth:
        return metric.a / metric.b_t * _bound_recalls(rows, labels, geometric=False)
    p = rows.p
    sums = tuple(one[0] for one in sums_of(rows, labels))
    mu, _, h, k = sums
    below = metric.b_tp * h + metric.b_k * np.maximum(k, 1.0) + metric.b_t * mu
    value = np.where(k > 0.0, metric.a * h / below, 0.0)
    fall = metric.b_k * value
    if metric.b_tp != 0.0:  # one more row leaves the probability of the k-th behind
        fall = fall * [1.0 - _kth_largest(p[:, c], k[c]) for c in range(k.size)]
    slopes = (metric.a * p - fall) / below
    prices = [slopes.max(axis=1)]
    if (k == 0.0).any():  # classes that are better left empty need not set the price
        prices.append(slopes[:, k > 0.0].max(axis=1))
    return min(_bound_at(one, rows, metric, sums) for one in prices)


def _bound_recalls(rows: GroupRows, labels: Integers, *, geometric: bool) -> float:
    """Return a bound on the mean of the recalls of the classes that have true rows.

    The expected recall r_c, 0 where class c is absent, is a sum over its rows of
    p_i·E[1/(1 + T_-i)], T_-i the other true rows. Let S be the classes that are there
    with a probability of one half or more, or the likeliest. Where exactly these are
    there, the mean is Σ r_c over S by their number, and a geometric mean is at most the
    mean of a_c·r_c for all a with a product of 1; elsewhere both are at most 1. An
    arithmetic mean over N of C classes is also at most Σ r_c / C + (C - N) / C. The
    geometric mean is below it.
    """
    mu, none, h, _ = (one[0] for one in sums_of(rows, labels))
    worth = np.empty_like(rows.p)
    for c in range(mu.size):
        worth[:, c] = _recall_parts(np.ascontiguousarray(rows.p[:, c]), mu[c])
    bound = (worth.max(axis=1).sum() + none.sum()) / mu.size
    often = none <= max(0.5, float(none.min()))
    other = none[often].sum() + (1.0 - none[~often]).sum()
    factors = [np.ones(int(often.sum()))]
    if geometric:  # factors of a product of 1 that make all recalls equal
        logs = np.log(mu[often]) - np.log(np.maximum(h, 1e-3 * mu)[often])
        factors.append(np.exp(logs - logs.mean()))
    for factor in factors:
        best = (worth[:, often] * factor).max(axis=1).sum() / factor.size
        bound = min(bound, best + other)
    return float(min(bound + NEAR, 1.0))


def _recall_parts(p: Floats, mu: float) -> Floats:
    """Return p_i·E[1/(1 + T_-i)] = p_i·∫₀¹ Π_{j≠i} (1 - p_j(1-s)) ds of every row.

    The product falls as e^(-μ(1-s)): up to μ = 100, 64 nodes of Gauss and Legendre give
    the integral to 1e-12, above 8 of Laguerre to 1e-7.
    """
    at, scale = None, 1.0 + mu
    if mu <= 100.0:
        s, w = unit_nodes(64)
        at = -scale * np.log(s), w * scale / s
    return _weights(p, 0.0, mu, (1.0, 0.0, 1.0), at)


def _kth_largest(p: Floats, k: float) -> float:
    place = p.size - max(int(k), 1)
    return float(np.partition(p, place)[place])


def _bound_at(
    price: Floats, rows: GroupRows, metric: ClassRatio, sums: tuple[Floats, ...]
) -> float:
    """Return a bound: the prices of all rows, and the most that classes have above.

    Parameters
    ----------
    price : ndarray of shape (n_rows,)
        Price of a row, the same for every class.
    rows : GroupRows
        One group.
    metric : ClassRatio
    sums : Sums
        Sums of the classes, each of shape (n_classes,).
    """
    mu, none, _, k = sums
    n_classes = rows.p.shape[1]
    columns = np.ascontiguousarray(rows.p.T)
    most = np.array(
        [_most(columns[c], price, metric, mu[c], int(k[c])) for c in range(n_classes)]
    )
    total = float(price.sum())
    if math.isnan(metric.zero_division):
        # F_c summed over N classes that are there is at most N, so that leaving the
        # others out adds at most (C - N)/C to the mean over all of them
        bound = (total + np.maximum(most, 0.0).sum() + none.sum()) / n_classes
        return float(min(bound, 1.0))
    worth = metric.zero_division * none
    return float((total + np.maximum(most, worth).sum()) / n_classes)


def _most(p: Floats, price: Floats, metric: ClassRatio, mu: float, k: int) -> float:
    """Return the most of E F − Σ price over all rows that a class can be given.

    At some k it is the sum of the k largest parts, exactly. The span between two of
    them whose bound is highest is halved until no span matters, or after 40 steps.
    """
    jaccard, n = metric.b_tp != 0.0, p.size
    falling = np.sort(p)[::-1] if jaccard else p

    def value_at(k: int) -> tuple[int, float, float]:
        """Return k, the sum of the k largest weights less prices, and the least."""
        if jaccard:
            # E[1/(k + fn)], fn the true rows among the others; as of a row surely true.
            others = falling[k:]
            found = _weights(np.append(others, 1.0), k - 1, others.sum())
            weights = p * float(found[-1])
        else:
            weights = _weights(p, k, mu, (metric.a, metric.b_k, metric.b_t))
        parts = np.partition(weights - price, n - k)[n - k :]
        return k, float(parts.sum()), float(parts[0])

    known = [value_at(one) for one in sorted({1, min(max(k, 1), n), n})]
    best = max(one[1] for one in known)
    spans = [(_most_between(*ends, jaccard), *ends) for ends in pairwise(known)]
    for _ in range(MOST_STEPS):
        if not spans or max(spans)[0] <= best + NEAR / 10:
            break
        bound, low, high = max(spans)
        spans.remove((bound, low, high))
        middle = value_at((low[0] + high[0]) // 2)
        best = max(best, middle[1])
        for ends in ((low, middle), (middle, high)):
            spans.append((_most_between(*ends, jaccard), *ends))
    return max(best, max((one[0] for one in spans), default=best))


def _most_between(
    low: tuple[int, float, float], high: tuple[int, float, float], jaccard: bool
) -> float:
    """Return a bound on the value for all k between two values a < b of k.

    low, high : (k, sum of the k largest parts, the least of them)
        For k = a and k = b. For k between, the sum is at most that of a plus (k - a)
        times the least part of a, and at most that of b less (b - k) times the least
        part of b. The weights of an F-score are convex in k, so that they lie below
        the chord; those of Jaccard fall.
    """
    (a, top, least), (b, high_top, high_least) = low, high
    if b - a < 2:
        return -math.inf
    between = np.arange(a + 1, b)
    left = top + (between - a) * least
    if jaccard:
        return float(left.max())
    part = (between - a) / (b - a)
    right = high_top - (b - between) * high_least
    return float(((1.0 - part) * left + part * right).max())


def _weights(
    p: Floats,
    k: float,
    mu: float,
    form: tuple[float, float, float] = (1.0, 1.0, 1.0),
    at: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Return a·p_i·E[1/(b_k·k + b_t·(1 + T_-i))] of every row, of shape (n_rows,).

    T_-i is the number of the other true rows, and `mu` the sum of all p. The form is
    (a, b_k, b_t); `at` are nodes and weights of another quadrature.
    """
    from argmetric.classes.kernels.exact import weights_at

    found = np.empty(p.size)
    weights_at(p, float(k), *form, mu, *(at or nodes()), found)
    return found
