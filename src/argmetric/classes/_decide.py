"""decide: which class should every row get?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_flag, refuses, shown
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
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
    sums_of,
)
from argmetric.classes._input import least_recalls, named, of_each_class
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
    MetricLike,
)

LARGE = 4000  # rows of a group whose prices are first found on every 16th row
NEAR = 1e-9  # of a sum of gains: a bound so near to it is met
FIRST_LOOKS, LOOKS = 5_000, 300_000  # at labels of a group, before and after a program
PROGRAM_ROWS = 1000  # of a linear program
WHOLE_CELLS, PROGRAM_NODES = 300, 10_000  # rows times classes of an integer program


def with_limits(
    rows: GroupRows,
    classes: tuple[Any, ...],
    max_per_class: Any = None,
    min_recall: Any = None,
) -> GroupRows:
    """The rows with limits for every group and class."""
    most = np.array(
        [
            of_each_class(max_per_class, classes, "max_per_class", np.inf, n)
            for n in np.unique(rows.sizes).astype(int).tolist()
        ]
    )[np.unique(rows.sizes, return_inverse=True)[1]]
    most = np.where(most < rows.p.shape[0], most, np.inf)  # no limit at all
    recall = least_recalls(min_recall, classes)
    shape = rows.n_groups, len(classes)
    floor = np.full(shape, -np.inf)
    if recall.any():
        mu = sums_of(rows, most_probable(rows.p)).mu
        floor = np.where(recall > 0.0, recall * mu * (1.0 - 1e-12), -np.inf)
    limited = replace(rows, most=most, floor=floor)
    short = limited.sizes - limited.most.sum(axis=1)
    if short.max(initial=0.0) > 0.0:
        g = int(np.argmax(short))
        raise ValueError(
            f"max_per_class leaves room for {limited.most[g].sum():g} rows, but there "
            f"are {limited.sizes[g]:g}: raise it"
        )
    return limited


def keeps_limits(rows: GroupRows, labels: Integers) -> bool:
    """Whether the labels are within the limits of every group and class."""
    sums = sums_of(rows, labels)
    return bool((sums.k <= rows.most).all() and (sums.h >= rows.floor).all())


def best_within(
    rows: GroupRows, classes: tuple[Any, ...], gains: Floats
) -> tuple[Integers, Floats]:
    """Labels of the highest sum of gains within the limits, and a bound on it.

    With budgets alone they are the best, at any size. With floors they are the best of
    small groups, and near the bound of large ones; each group has its bound. `gains`
    are what each class (column) of each row brings.
    """
    from argmetric.classes.kernels import limits

    gains = np.ascontiguousarray(gains)
    labels = np.empty(rows.p.shape[0], dtype=np.int64)
    price = np.zeros((rows.n_groups, len(classes)))
    bonus = np.zeros_like(price)
    for g in np.flatnonzero(rows.sizes > LARGE):
        own = gains[rows.starts[g] : rows.starts[g + 1]]
        price[g] = _sampled_prices(own, rows.most[g])
    value, bound = np.empty(rows.n_groups), np.empty(rows.n_groups)
    limits.best_within(
        gains, rows.p, rows.starts, rows.most, rows.floor, labels, price, bonus,
        FIRST_LOOKS, value, bound,
    )  # fmt: skip
    # of large groups, what lies within a row for each floor of the bound is near enough
    reach = np.ptp(gains) * (rows.floor > 0.0).sum(axis=1)
    near = np.where(rows.sizes > LARGE, reach, NEAR)
    for g in np.flatnonzero(bound > value + near):
        place = slice(rows.starts[g], rows.starts[g + 1])
        again = gains[place], rows.p[place], rows.most[g], rows.floor[g]
        tried = np.empty(int(rows.sizes[g]), dtype=np.int64)
        if tried.size * len(classes) <= WHOLE_CELLS:
            found, most = _whole_program(*again, tried)
        else:
            found, most = limits.keep_floors(
                *again[:2], tried, 0, *again[2:], *_program_prices(*again), LOOKS
            )
        bound[g] = min(bound[g], most)
        if found > value[g]:
            labels[place], value[g] = tried, found
    if np.isneginf(value).any():
        worst = int(np.argmin(value))
        mu, _, h, k = sums_of(rows, labels)
        c = int(
            np.argmax((k[worst] > rows.most[worst]) | (h[worst] < rows.floor[worst]))
        )
        raise ValueError(
            f"the limits cannot be kept together: class {shown(classes[c])} is left "
            f"with {k[worst, c]:g} rows and an expected recall of "
            f"{h[worst, c] / mu[worst, c]:.3g}; lower min_recall or raise max_per_class"
        )
    return labels, np.maximum(bound, value)


def _whole_program(
    gains: Floats, p: Floats, most: Floats, floor: Floats, labels: Integers
) -> tuple[float, float]:
    """Write the labels of an integer program; their gain, and its bound.

    The gain is -inf where it finds none. It keeps limits to 1e-6: labels that fail them
    by less are found anew with floors that are higher by as much.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    number, mass, single = _sums(p)
    bound, places = np.inf, np.arange(labels.size)
    for higher in (0.0, 2e-6):
        found = milp(
            -gains.ravel(),
            integrality=np.ones(gains.size),
            bounds=Bounds(0.0, 1.0),
            constraints=[
                LinearConstraint(number, -np.inf, most),
                LinearConstraint(mass, floor + higher, np.inf),
                LinearConstraint(single, 1.0, 1.0),
            ],
            options={"mip_rel_gap": 0.0, "node_limit": PROGRAM_NODES},
        )
        if found.x is None:
            return -np.inf, -np.inf if found.status == 2 and not higher else bound
        bound = min(bound, -found.mip_dual_bound) if not higher else bound
        labels[:] = found.x.reshape(p.shape).argmax(axis=1)
        if (np.bincount(labels, p[places, labels], floor.size) >= floor).all():
            return float(gains[places, labels].sum()), bound
    return -np.inf, bound


def _program_prices(
    gains: Floats, p: Floats, most: Floats, floor: Floats
) -> tuple[Floats, Floats]:
    """Prices and bonuses of a linear program, in which rows may be split."""
    from scipy import sparse
    from scipy.optimize import linprog

    step = -(-p.shape[0] // PROGRAM_ROWS)
    share = p[::step].sum(axis=0) / np.maximum(p.sum(axis=0), 1e-300)
    number, mass, single = _sums(p[::step])
    full, low = np.isfinite(most), floor > 0.0
    found = linprog(
        -gains[::step].ravel(),
        A_ub=sparse.vstack((number[full], -mass[low])),
        b_ub=np.concatenate((most[full] / step, -(floor * share)[low])),
        A_eq=single,
        b_eq=np.ones(single.shape[0]),
        method="highs",
    )
    price, bonus = np.zeros(most.size), np.zeros(most.size)
    if found.status == 0:
        dual = np.maximum(-found.ineqlin.marginals, 0.0)
        price[full], bonus[low] = dual[: full.sum()], dual[full.sum() :]
    return price, bonus


def _sums(p: Floats) -> tuple[Any, Any, Any]:
    """Matrices that give the rows and the Σ p of classes, and the classes of rows."""
    from scipy import sparse

    n, count = p.shape
    number = sparse.kron(np.ones((1, n)), sparse.eye(count), "csr")
    single = sparse.kron(sparse.eye(n), np.ones((1, count)), "csr")
    return number, number.multiply(p.ravel()).tocsr(), single


def _sampled_prices(gains: Floats, most: Floats) -> Floats:
    """Prices at which fewer and fewer left-out rows overfill no class."""
    from argmetric.classes.kernels.transport import fill_classes

    price, n = np.zeros(most.size), gains.shape[0]
    steps = [step for step in (4096, 256, 16) if n // step >= LARGE // 16]
    for step in steps if np.isfinite(most).any() else ():
        some = np.ascontiguousarray(gains[::step])
        room = np.ceil(most / step)
        fill_classes(some, 0, np.empty(some.shape[0], np.int64), room, price)
    return price


@refuses("sample_weight")
def decide(
    p: ArrayLike,
    metric: MetricLike | None = None,
    *,
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
    max_per_class : int, str, sequence or dict, optional
        The largest number of rows of a class, in each group, or a share of the rows
        such as "5%": one value, one for each class, or a dict by class.
    min_recall : float, sequence or dict, optional
        The least expected recall of a class, in each group.
    prior : sequence, dict or "estimate", optional
        The current share of every class. "estimate" finds the shares by comparing `p`
        with the probabilities of `reference`.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.
    reference : pair (y, p) or Calibrator, optional
        What is known of these scores: labelled rows that the model was not trained on,
        or a fitted map. `p` is recalibrated first. Rows are the class of each and its
        probabilities, as for `calibrate(y, p)`; a map is that of `calibrate` or
        `adjust_prior`, or a function from such a matrix to another.
    certificate : bool, default=False
        Compute `bound`, which no labels can exceed.

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
    bound = bound if certificate else math.nan
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


def _no_worse(rows: GroupRows, metric: ClassMetric, labels: Integers) -> Integers:
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
    rows: GroupRows, classes: tuple[Any, ...], metric: ClassMetric, free: Integers
) -> tuple[Integers, float]:
    """Labels within the limits; gains have a bound, other metrics are climbed."""
    if isinstance(metric, ClassGain):
        labels, most = best_within(rows, classes, gains_of(rows, metric))
        return labels, float((most / rows.sizes).mean())
    found = rule_of(rows, metric, free)
    worth = rows.p if found is None else rows.p * found.weights + found.offsets
    start, _ = best_within(rows, classes, worth)
    return decide_rows(rows, metric, start), math.nan


def _mean_of_groups(values: Any) -> Any:
    return None if values is None else values.mean(axis=0)
