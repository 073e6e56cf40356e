"""Labels of the highest sum of gains within limits of the classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._ground.arguments import shown
from argmetric._ground.types import ClassTuple, Floats, Integers, SharesLike
from argmetric.classes._climb import GroupRows, most_probable, sums_of
from argmetric.classes._input import least_recalls, one_per_class

LARGE = 4000  # rows of a group whose prices are first found on every 16th row
NEAR = 1e-9  # of a sum of gains: a bound so near to it is met
# Labels of a group that are tried, before and after a program
FIRST_STEPS, MOST_STEPS = 5_000, 300_000
PROGRAM_ROWS = 1000  # of a linear program
WHOLE_CELLS, PROGRAM_NODES = 300, 10_000  # rows times classes of an integer program
NEAR_ENOUGH = 1e-3  # of the gain of more rows, where a program is the last resort


def with_limits(
    rows: GroupRows,
    classes: ClassTuple,
    max_per_class: SharesLike | str | None = None,
    min_recall: SharesLike | None = None,
) -> GroupRows:
    """Return the rows with limits for every group and class."""
    most = np.array(
        [
            one_per_class(max_per_class, classes, "max_per_class", np.inf, n)
            for n in np.unique(rows.sizes).astype(int).tolist()
        ]
    )[np.unique(rows.sizes, return_inverse=True)[1]]
    most = np.where(most < rows.p.shape[0], np.floor(most), np.inf)  # inf: no limit
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
    """Return whether the labels are within the limits of every group and class."""
    sums = sums_of(rows, labels)
    return bool((sums.k <= rows.most).all() and (sums.h >= rows.floor).all())


def best_within(
    rows: GroupRows, classes: ClassTuple, gains: Floats
) -> tuple[Integers, Floats]:
    """Return labels of the highest sum of gains within the limits, and a bound on it.

    With budgets alone they are the best, at any size. With floors they are the best of
    small groups, and near the bound of large ones; each group has its bound. Powers of
    2 bring the gains near 1, so that no difference of them overflows and none is taken
    for rounding.

    Parameters
    ----------
    rows : GroupRows
    classes : tuple
        The class of each column.
    gains : ndarray of shape (n_rows, n_classes)

    Returns
    -------
    labels : ndarray of shape (n_rows,)
    bound : ndarray of shape (n_groups,)
    """
    from argmetric.classes.kernels import limits

    size = int(np.frexp(np.abs(gains).max())[1])
    gains = np.ldexp(np.ascontiguousarray(gains), -size)
    labels = np.empty(rows.p.shape[0], dtype=np.int64)
    price = np.zeros((rows.n_groups, len(classes)))
    bonus = np.zeros_like(price)
    for g in np.flatnonzero(rows.sizes > LARGE):
        own = gains[rows.starts[g] : rows.starts[g + 1]]
        price[g] = _sampled_prices(own, rows.most[g])
    value, bound = np.empty(rows.n_groups), np.empty(rows.n_groups)
    limits.best_within(
        gains, rows.p, rows.starts, rows.most, rows.floor, labels, price, bonus,
        FIRST_STEPS, value, bound,
    )  # fmt: skip
    # of large groups, what lies within a row for each floor of the bound is near enough
    reach = np.ptp(gains) * (rows.floor > 0.0).sum(axis=1)
    near = np.where(rows.sizes > LARGE, reach, NEAR)
    for g in np.flatnonzero(bound > value + near):
        place = slice(rows.starts[g], rows.starts[g + 1])
        # programs take less than 1e-9 for 0, and keep floors to 1e-6: powers of 2
        # bring the Σ p of each class near 1,000
        p = rows.p[place]
        unit = np.ldexp(1.0, np.frexp(p.sum(axis=0))[1] - 10)
        again = gains[place], p / unit, rows.most[g], rows.floor[g] / unit
        tried = np.empty(int(rows.sizes[g]), dtype=np.int64)
        if tried.size * len(classes) <= WHOLE_CELLS:
            found, most = _solve_program(*again, tried)
        else:
            found, most = limits.keep_floors(
                *again[:2], tried, *again[2:], *_program_prices(*again), MOST_STEPS
            )
            if max(found, value[g]) == -np.inf < most:
                # prices move equal rows together, past the limits on either side
                found, most = _solve_program(*again, tried, gap=NEAR_ENOUGH)
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
    return labels, np.ldexp(np.maximum(bound, value), size)


def _solve_program(
    gains: Floats,
    p: Floats,
    most: Floats,
    floor: Floats,
    labels: Integers,
    *,
    gap: float = 0.0,
) -> tuple[float, float]:
    """Write the labels of an integer program; return their gain, and its bound.

    The gain is -inf where it finds none. The program ends within `gap` of the bound,
    relative to it. It keeps limits to 1e-6: labels that fail them by less are found
    anew with floors that are higher by as much.

    Parameters
    ----------
    gains, p : ndarray of shape (n_rows, n_classes)
    most, floor : ndarray of shape (n_classes,)
    labels : ndarray of shape (n_rows,)
        Written.
    gap : float, default=0
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
            options={"mip_rel_gap": gap, "node_limit": PROGRAM_NODES},
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
    """Return prices and bonuses of a linear program, in which rows may be split.

    Arguments as for `_solve_program`; both answers have the shape (n_classes,).
    """
    from scipy import sparse
    from scipy.optimize import linprog

    step = -(-p.shape[0] // PROGRAM_ROWS)
    part = p[::step].sum(axis=0) / np.maximum(p.sum(axis=0), 1e-300)
    number, mass, single = _sums(p[::step])
    full, low = np.isfinite(most), floor > 0.0
    found = linprog(
        -gains[::step].ravel(),
        A_ub=sparse.vstack((number[full], -mass[low])),
        b_ub=np.concatenate((most[full] / step, -(floor * part)[low])),
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
    """Return sparse matrices that sum rows and p by class, and classes by row."""
    from scipy import sparse

    n, count = p.shape
    number = sparse.kron(np.ones((1, n)), sparse.eye(count), "csr")
    single = sparse.kron(sparse.eye(n), np.ones((1, count)), "csr")
    return number, number.multiply(p.ravel()).tocsr(), single


def _sampled_prices(gains: Floats, most: Floats) -> Floats:
    """Return prices (n_classes,) at which a sample of the rows overfills no class."""
    from argmetric.classes.kernels.transport import fill_classes

    price, n = np.zeros(most.size), gains.shape[0]
    steps = [step for step in (4096, 256, 16) if n // step >= LARGE // 16]
    for step in steps if np.isfinite(most).any() else ():
        some = np.ascontiguousarray(gains[::step])
        room = np.ceil(most / step)
        fill_classes(some, np.empty(some.shape[0], np.int64), room, price)
    return price
