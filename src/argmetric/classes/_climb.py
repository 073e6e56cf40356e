"""Labels of the highest expected metric, one class for every row.

All metrics but functions of one's own depend on the sums h, k and μ of the classes:
a climb over single rows finds the best labels for nearly all batches, and never ends
below the most probable classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from argmetric._expected import plan
from argmetric._ground.types import AnyArray, Floats, Integers
from argmetric.metrics import (
    ClassAgreement,
    ClassCorrelation,
    ClassFunction,
    ClassGain,
    ClassGMean,
    ClassMetric,
    ClassRatio,
    ratio_or,
)

PRESENCE_NODES = 24  # exact for up to 48 classes
NODES = 8  # of the quadrature: error below 1e-7
ROUNDS = 20  # most rounds for the worth of absent classes, and of a ratio
LEAST_RISE = 1e-12  # of the value of labels: less is rounding
SEARCHES = 4  # rounds of such starts, each around the best labels so far
DRAWN_FROM = 40  # seed of the true labels that labels are compared on
RARE_MOVES = 1e-5  # share of moved rows at which a climb stops
MOVES = 50  # most rounds for a function of one's own
STEP = 1e-4  # of its slope, as a share of the rows


@dataclass(frozen=True)
class GroupRows:
    """Class probabilities, rows of a group side by side, and limits of every class.

    Limits have the shape (n_groups, n_classes), and are inf and -inf for none.
    """

    p: Floats  # of shape (n_rows, n_classes)
    starts: Integers  # rows of group g: starts[g] to starts[g + 1]
    most: Floats  # rows that may be given the class
    floor: Floats  # least Σ p of the rows given the class

    @property
    def n_groups(self) -> int:
        return self.starts.size - 1

    @property
    def sizes(self) -> Floats:
        return np.diff(self.starts).astype(np.float64)

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Return the first row of every group and the one after its last."""
        return list(pairwise(self.starts.tolist()))

    @property
    def group(self) -> Integers:
        """Number of the group of every row."""
        return self.per_row(np.arange(self.n_groups))

    def per_row(self, values: AnyArray) -> AnyArray:
        """Return the values of groups for each of their rows, of shape (n_rows,)."""
        return np.repeat(values, np.diff(self.starts))


class Sums(NamedTuple):
    """Sums by group and class: Σ p, Π (1-p), and Σ p and number of its own rows."""

    mu: Floats
    none: Floats
    h: Floats
    k: Floats


def sums_of(rows: GroupRows, labels: Integers) -> Sums:
    """Return sums over the rows of every group, of shape (n_groups, n_classes)."""
    from argmetric.classes.kernels import climb

    shape = rows.n_groups, rows.p.shape[1]
    sums = Sums(*(np.empty(shape) for _ in range(4)))
    climb.sums_of(rows.p, rows.starts, labels, *sums)
    return sums


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return the nodes x of Gauss and Laguerre, and their weights w·e^x."""
    x, w = np.polynomial.laguerre.laggauss(NODES)
    return x, w * np.exp(x)


@lru_cache(maxsize=2)
def unit_nodes(count: int) -> tuple[Floats, Floats]:
    """Return nodes of Gauss and Legendre from 0 to 1, and their weights."""
    x, w = np.polynomial.legendre.leggauss(count)
    return (x + 1.0) / 2.0, w / 2.0


def most_probable(p: Floats) -> Integers:
    return np.asarray(p.argmax(axis=1), dtype=np.int64)


def gains_of(rows: GroupRows, metric: ClassGain) -> Floats:
    """Return the expected gain of each class of each row, (n_rows, n_classes)."""
    return rows.p if metric.matrix is None else rows.p @ metric.matrix


def decide_rows(
    rows: GroupRows, metric: ClassMetric, start: Integers | None = None
) -> Integers:
    """Return the best labels found, as columns: of every group by itself.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassMetric
    start : ndarray of shape (n_rows,), optional
        Labels to climb from; by default the most probable classes and others.
    """
    if isinstance(metric, ClassFunction):
        return np.concatenate([_decide_own(rows.p[a:b], metric) for a, b in rows.ends])
    if isinstance(metric, ClassAgreement):
        return decide_agreement(rows, metric)[0]
    if isinstance(metric, ClassGain):
        return most_probable(gains_of(rows, metric))
    begin = most_probable(rows.p) if start is None else start
    if start is None and isinstance(metric, ClassGMean):
        return decide_gmean(rows)[0]
    if not isinstance(metric, ClassRatio):
        labels = begin.copy()
        _climb_rows(rows, metric, labels, None)
        return labels
    return _decide_ratio(rows, metric, begin, other=start is None)


def decide_gmean(rows: GroupRows) -> tuple[Integers, Floats]:
    """Return labels of a high G-mean over drawn true classes, and weights near them.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_groups, n_classes)
    """
    from argmetric.classes.kernels.gmean import decide_groups

    labels = np.empty(rows.p.shape[0], dtype=np.int64)
    weights = np.empty((rows.n_groups, rows.p.shape[1]))
    free = np.full_like(weights, np.inf)
    few = int(RARE_MOVES * labels.size)
    decide_groups(rows.p, rows.starts, few, free, -free, DRAWN_FROM, labels, weights)
    return labels, weights


def score_gmean(rows: GroupRows, labels: Integers) -> Floats:
    """Return the mean G-mean of every group over the draws of `decide_gmean`."""
    from argmetric.classes.kernels.gmean import score_groups

    scores = np.empty(rows.n_groups)
    score_groups(rows.p, rows.starts, labels, DRAWN_FROM, scores)
    return scores


def _decide_ratio(
    rows: GroupRows, metric: ClassRatio, begin: Integers, *, other: bool
) -> Integers:
    """Climb from the most probable classes; small batches from other places too."""
    best = begin.copy()
    value = _climb_worth(rows, metric, best)
    small = plan.searches_classes(rows.p.size)
    if not other or not (small or plan.climbs_exactly(rows.sizes.max(initial=0.0))):
        return best
    # The class whose probability stands out most from its prevalence in the group.
    mu = np.add.reduceat(rows.p, rows.starts[:-1], axis=0) if rows.n_groups else rows.p
    starts = [most_probable(rows.p / np.maximum(mu, 1e-300)[rows.group])]
    for search in range(SEARCHES):
        rose = False
        for start in starts:
            found = _climb_worth(rows, metric, start)
            better = found > value + LEAST_RISE
            rose |= bool(better.any())
            value = np.where(better, found, value)
            best = np.where(rows.per_row(better), start, best)
        if not small or (search and not rose):
            break
        starts = list(other_starts(rows, best))
    return best


def other_starts(rows: GroupRows, labels: Integers) -> Iterator[Integers]:
    """Yield starting labels: a class removed, its likeliest row added, a swap."""
    for c in range(rows.p.shape[1]):
        others = rows.p.copy()
        others[:, c] = -1.0
        yield np.where(labels == c, most_probable(others), labels)
        likeliest = np.maximum.reduceat(rows.p[:, c], rows.starts[:-1])
        top = rows.p[:, c] == rows.per_row(likeliest)
        yield np.where(top, c, labels)
    if rows.n_groups == 1:
        yield from _swaps(rows.p, labels)


def _swaps(p: Floats, labels: Integers) -> Iterator[Integers]:
    """Yield labels with two rows of different classes swapped: the 4C likeliest."""
    change = p[:, labels] - p[np.arange(labels.size), labels][:, None]
    likely = np.where(labels[:, None] < labels, change + change.T, -np.inf)
    first = np.argsort(-likely, axis=None, kind="stable")[: 4 * p.shape[1]]
    for i, j in np.column_stack(np.unravel_index(first, likely.shape)):
        if likely[i, j] > -np.inf:
            swapped = labels.copy()
            swapped[[i, j]] = labels[[j, i]]
            yield swapped


def _climb_worth(rows: GroupRows, metric: ClassRatio, labels: Integers) -> Floats:
    """Climb in place; where absent classes are left out, until their worth settles.

    Leaving a class out is as good as counting it the mean of the others, so that the
    climb counts it the value that the labels have by now. Returns the values, of shape
    (n_groups,).
    """
    counts_nothing = metric.needs_truth or metric.by_support
    if counts_nothing or not math.isnan(metric.zero_division):
        worth = np.full(rows.n_groups, metric.zero_division)
        _climb_rows(rows, metric, labels, None if counts_nothing else worth)
        return group_values(rows, metric, labels).mean
    value = group_values(rows, metric, labels).mean
    for _ in range(ROUNDS):
        tried = labels.copy()
        _climb_rows(rows, metric, tried, np.nan_to_num(value))
        found = group_values(rows, metric, tried).mean
        better = found > value + LEAST_RISE
        if not better.any():
            break
        labels[:] = np.where(rows.per_row(better), tried, labels)
        value = np.where(better, found, value)
    return value


class GroupValues(NamedTuple):
    """Expected metric of every group: Σ of weight times value of its classes.

    `mean` has a number for each group, the others one for each group and class.
    """

    mean: Floats
    per_class: Floats
    weights: Floats


def exact_form(metric: ClassRatio) -> bool:
    """Return whether the expectation has an integral: b_tp = 0, or Jaccard."""
    jaccard = metric.b_tp == -1.0 and metric.b_k == metric.b_t == 1.0
    return (metric.b_tp == 0.0 or jaccard) and not metric.by_support


def group_values(rows: GroupRows, metric: ClassRatio, labels: Integers) -> GroupValues:
    """Return the expected metric: exact where it has a form, else of the sums.

    A mean that leaves classes out takes their presence as independent: its error is
    below 0.003 from 20 rows on (`benchmarks/classes.py`).
    """
    sums = sums_of(rows, labels)
    mu, none, h, k = sums
    seen = 1.0 - none  # probability that the class has a true row
    if metric.needs_truth:
        per_class = metric.a * h * seen / np.maximum(metric.b_t * mu, 1e-300)
    else:
        below = metric.b_tp * h + metric.b_k * k + metric.b_t * mu
        per_class = np.where(k > 0.0, ratio_or(metric.a * h, below, metric.a * h), 0.0)
    if exact_form(metric):
        from argmetric.classes.kernels.exact import exact_values

        exact_values(
            rows.p, rows.starts, labels, metric.b_tp != 0.0, metric.a, metric.b_k,
            metric.b_t, mu, *nodes(), h, k, per_class,
        )  # fmt: skip
    if metric.by_support:
        weights = mu / np.maximum(rows.sizes[:, None], 1.0)
        return GroupValues((weights * per_class).sum(axis=1), per_class, weights)
    absent = np.where(k > 0.0, 0.0, none)
    if metric.needs_truth or math.isnan(metric.zero_division):
        weights = presence_weights(none if metric.needs_truth else absent)
    else:
        per_class = per_class + metric.zero_division * absent
        weights = np.full_like(mu, 1.0 / mu.shape[1])
    return GroupValues((weights * per_class).sum(axis=1), per_class, weights)


def presence_weights(absent: Floats) -> Floats:
    """Return the weight of each class in the mean over the present ones.

    Parameters
    ----------
    absent : ndarray of shape (n_groups, n_classes)
        Probability that the class is not there.
    """
    from argmetric.classes.kernels import climb

    if not absent.any():
        return np.full_like(absent, 1.0 / absent.shape[1])
    weights = np.empty_like(absent)
    climb.presence_weights(absent, *unit_nodes(PRESENCE_NODES), weights)
    return weights


def _climb_rows(
    rows: GroupRows, metric: ClassMetric, labels: Integers, worth: Floats | None
) -> None:
    """Improve labels in place; a class absent from a group has the value `worth`."""
    from argmetric.classes.kernels import climb, exact

    mu, none, h, k = sums_of(rows, labels)
    few = int(RARE_MOVES * labels.size)
    ones = np.ones_like(mu)
    if isinstance(metric, ClassCorrelation | ClassGMean):
        product = isinstance(metric, ClassGMean)
        form = climb.PRODUCT if product else climb.CORRELATION
        climb.climb(
            rows.p, rows.starts, labels, form, 0.0, 0.0, 1.0 - none, mu, ones,
            rows.most, rows.floor, few, h, k,
        )  # fmt: skip
        return
    assert isinstance(metric, ClassRatio)
    empty = np.zeros_like(mu) if worth is None else worth[:, None] * none
    small = plan.climbs_exactly(rows.sizes.max(initial=0.0))
    if small and metric.b_t > 0.0 and exact_form(metric):
        weight = presence_weights(none) if metric.needs_truth else ones
        exact.climb_exact(
            rows.p, rows.starts, labels, metric.b_tp != 0.0, metric.a, metric.b_k,
            metric.b_t, mu, weight, empty, rows.most, rows.floor, *nodes(), h, k,
        )  # fmt: skip
        return
    above, truth = metric.a * ones, metric.b_t * mu
    if metric.by_support:
        above = above * mu / np.maximum(rows.sizes[:, None], 1.0)
    if metric.needs_truth:  # tp/t, where there is a t
        above = above * (1.0 - none) * presence_weights(none)
        truth = np.maximum(truth, 1e-300)
    climb.climb(
        rows.p, rows.starts, labels, climb.RATIO, metric.b_tp, metric.b_k, above, truth,
        empty, rows.most, rows.floor, few, h, k,
    )  # fmt: skip


def decide_agreement(
    rows: GroupRows, metric: ClassAgreement, weight: Floats | None = None
) -> tuple[Integers, Floats]:
    """Minimise the ratio λ of seen to random disagreement by Dinkelbach's rounds.

    A round finds the labels of the least seen - λ·random disagreement.

    Parameters
    ----------
    rows : GroupRows
    metric : ClassAgreement
    weight : ndarray of shape (n_rows,), optional
        Weight of each row.

    Returns
    -------
    labels : ndarray of shape (n_rows,)
    ratio : ndarray of shape (n_groups,)
        λ of these labels: 1 - kappa.
    """
    apart = metric.disagreement(rows.p.shape[1])
    wrong = rows.p @ apart  # expected disagreement of a row with every class
    group = rows.group
    w = np.ones(group.size) if weight is None else weight
    sizes = np.bincount(group, w, rows.n_groups)[:, None]
    mu = np.zeros((rows.n_groups, rows.p.shape[1]))
    np.add.at(mu, group, rows.p * w[:, None])
    random = ratio_or(mu @ apart, sizes, 0.0)
    labels = most_probable(-wrong)
    places = np.arange(labels.size)
    ratio = np.full(rows.n_groups, math.inf)
    for _ in range(ROUNDS):
        seen = np.bincount(group, w * wrong[places, labels], rows.n_groups)
        expected = np.bincount(group, w * random[group, labels], rows.n_groups)
        found = ratio_or(seen, expected, 1.0)
        if not (found < ratio - 1e-13).any():
            break
        ratio = np.minimum(found, ratio)
        labels = most_probable(ratio[group, None] * random[group] - wrong)
    return labels, ratio


def expected_table(p: Floats, labels: Integers) -> Floats:
    """Return expected counts by true class (rows) and predicted class (columns).

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    labels : ndarray of shape (n_rows,)
    """
    chosen = np.zeros_like(p)
    chosen[np.arange(labels.size), labels] = 1.0
    return np.asarray(p.T @ chosen)


def _decide_own(p: Floats, metric: ClassFunction) -> Integers:
    """Decide for a function of the table of counts that a user wrote.

    It is taken of the expected table M, M_ab = Σ p_ia over the rows given b. Start at
    the most probable classes. The slopes of the function at M say what moving a row is
    worth to first order; of the rows that gain, as many move as raise the score most.
    """
    labels = most_probable(p)
    table = expected_table(p, labels)
    value = metric.finite_score(table)
    for _ in range(MOVES):
        gains = p @ slopes_of(metric, table)
        rows = np.arange(labels.size)
        target = gains.argmax(axis=1)
        rise = gains[rows, target] - gains[rows, labels]
        movers = np.flatnonzero((target != labels) & (rise > 0.0))
        movers = movers[np.argsort(-rise[movers], kind="stable")]
        best, tried = None, movers.size
        while tried:
            moved = labels.copy()
            moved[movers[:tried]] = target[movers[:tried]]
            found = expected_table(p, moved)
            score = float(metric.score(found))
            if score > value + 1e-12:
                best, table, value = moved, found, score
            elif best is not None:
                break
            tried //= 2
        if best is None:
            break
        labels = best
    return labels


def slopes_of(metric: ClassFunction, table: Floats) -> Floats:
    """Return central differences of the metric in every cell of the table."""
    step = STEP * max(float(table.sum()), 1.0)
    count = table.size
    moves = np.zeros((count, count))
    np.fill_diagonal(moves, step)
    moves = moves.reshape(count, *table.shape)
    above = metric.score(table + moves)
    below = metric.score(np.maximum(table - moves, 0.0))
    width = step + np.minimum(step, table.ravel())
    return np.nan_to_num((above - below) / width).reshape(table.shape)
