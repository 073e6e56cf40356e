"""Budgets and floors of the classes, and the labels of the highest gain within them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.types import Floats, Integers
from argmetric.classes._climb import Rows, most_probable, sums_of
from argmetric.classes._input import of_each_class

LARGE = 4000  # rows of a group whose prices are first found on every 16th row
NEAR = 1e-9  # of a sum of gains: a bound so near to it is met
FIRST_LOOKS, LOOKS = 5_000, 300_000  # at labels of a group, before and after a program
PROGRAM_ROWS = 1000  # of a linear program
WHOLE_CELLS, PROGRAM_NODES = 300, 10_000  # rows times classes of an integer program


def with_limits(
    rows: Rows,
    classes: tuple[Any, ...],
    max_per_class: Any = None,
    min_recall: Any = None,
) -> Rows:
    """The rows with limits for every group and class."""
    most = of_each_class(max_per_class, classes, "max_per_class", np.inf)
    most = np.where(most < rows.p.shape[0], most, np.inf)  # no limit at all
    recall = of_each_class(min_recall, classes, "min_recall", 0.0)
    if (recall > 1.0).any():
        raise ValueError(f"min_recall must lie from 0 to 1, not at {recall.max():g}")
    shape = rows.n_groups, len(classes)
    floor = np.full(shape, -np.inf)
    if recall.any():
        mu = sums_of(rows, most_probable(rows.p)).mu
        floor = np.where(recall > 0.0, recall * mu * (1.0 - 1e-12), -np.inf)
    limited = replace(rows, most=np.broadcast_to(most, shape).copy(), floor=floor)
    short = limited.sizes - limited.most.sum(axis=1)
    if short.max(initial=0.0) > 0.0:
        g = int(np.argmax(short))
        raise ValueError(
            f"max_per_class leaves room for {limited.most[g].sum():g} rows, but there "
            f"are {limited.sizes[g]:g}: raise it"
        )
    return limited


def keeps_limits(rows: Rows, labels: Integers) -> bool:
    """Whether the labels are within the limits of every group and class."""
    sums = sums_of(rows, labels)
    return bool((sums.k <= rows.most).all() and (sums.h >= rows.floor).all())


def best_within(
    rows: Rows, classes: tuple[Any, ...], gains: Floats
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
        _refuse(rows, classes, labels, int(np.argmin(value)))
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
    """Prices and bonuses of a linear program, in which rows may be split.

    More than 1,000 rows are too many for it: it then has every second one, or fewer.
    """
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


def _refuse(rows: Rows, classes: tuple[Any, ...], labels: Integers, g: int) -> None:
    mu, _, h, k = sums_of(rows, labels)
    c = int(np.argmax((k[g] > rows.most[g]) | (h[g] < rows.floor[g])))
    raise ValueError(
        f"the limits cannot be kept together: class {shown(classes[c])} is left with "
        f"{k[g, c]:g} rows and an expected recall of {h[g, c] / mu[g, c]:.3g}; lower "
        "min_recall or raise max_per_class"
    )
