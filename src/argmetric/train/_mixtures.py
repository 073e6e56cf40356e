"""The best mixture of classifiers within limits, from their confusion matrices.

A table has the true class in rows and the predicted class in columns; tables of several
groups of rows are stacked. The table of a mixture is the mean of its members' tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_number, is_real, shown
from argmetric._ground.labels import plain_label
from argmetric._ground.types import AnyArray, ClassTuple, Floats, SharesLike
from argmetric._ground.validation import check_choice
from argmetric.classes import least_recalls
from argmetric.metrics import MetricLike, RatioForm, get_class_metric, get_metric

Value = Callable[[Floats], Floats]
RATES = ("recall", "selection_rate")
STEP = 1e-6  # of a row of the table, moved to another column for a slope
KEPT = 1e-7  # by which a limit may be missed, as a rate
SMALLEST = 1e-6  # weights of members below it are 0


def gain_of(
    metric: MetricLike,
    zero_division: float | None,
    n_classes: int,
    positive: int | None,
) -> tuple[Value, tuple[Floats, Floats] | None]:
    """Return the gain of tables, and A, B if it is the ratio ⟨A, C⟩/⟨B, C⟩.

    Larger is better: a metric that is minimised is negated. B is nowhere negative, and
    A is 0 where B is.
    """
    if positive is None:
        several = get_class_metric(
            metric, zero_division=zero_division, n_classes=n_classes
        )
        return several.score, None
    two = get_metric(metric, zero_division=zero_division)
    sign = 1.0 if two.greater_is_better else -1.0
    p = positive

    def gain(tables: Floats) -> Floats:
        t, k = tables[..., p, :].sum(axis=-1), tables[..., :, p].sum(axis=-1)
        n = tables.sum(axis=(-2, -1))
        return np.asarray(sign * two.value(tables[..., p, p], k, t, n))

    form = two.form
    if not isinstance(form, RatioForm):
        return gain, None
    cells = np.zeros((4, 2, 2))
    cells[0], cells[1, p, p], cells[2, :, p], cells[3, p, :] = 1.0, 1.0, 1.0, 1.0
    above = sign * np.tensordot(form.c, cells, 1)
    below = np.tensordot(form.d, cells, 1)
    proper = (below >= 0.0).all() and not above[below == 0.0].any()
    return gain, (above, below) if proper else None


def slopes_of(gain: Value, table: Floats) -> Floats:
    """Return the slope of the gain in each cell of a table of fixed row sums.

    Cell (i, j): rows of true class i move from where they are to the prediction j.
    """
    slopes = np.zeros_like(table)
    at = gain(table)
    for i, size in enumerate(table.sum(axis=1)):
        if size > 0.0:
            moved = np.repeat(table[None], len(table), axis=0)
            moved[:, i] = (1.0 - STEP) * table[i] + STEP * size * np.eye(len(table))
            slopes[i] = (gain(moved) - at) / (STEP * size)
    return np.nan_to_num(slopes)


@dataclass(frozen=True)
class Limits:
    """Limits ⟨coefficients, tables⟩ ≥ 0, in units of a rate, and their names."""

    coefficients: Floats  # (n_limits, n_groups, n_classes, n_classes)
    names: tuple[str, ...]

    def of(self, tables: Floats) -> Floats:
        """Return by how much tables keep each limit, (n_tables, n_limits)."""
        return np.tensordot(tables, self.coefficients, ((1, 2, 3), (1, 2, 3)))

    def price(self, prices: Floats) -> Floats:
        """Return the gains of cells that prices of the limits amount to."""
        return np.tensordot(prices, self.coefficients, 1)


def read_limits(
    options: Mapping[str, Any],
    true: Floats,
    classes: ClassTuple,
    positive: int | None,
    groups: AnyArray | None,
) -> Limits:
    """Return the limits of `min_recall`, `min_precision` and `parity`.

    Parameters
    ----------
    options : dict
        Among others these three, as the user passed them.
    true : ndarray of shape (n_groups, n_classes)
        Weight of the true rows of each group and class.
    groups : ndarray of shape (n_groups,) or None
        Names of the groups.
    """
    shape = (len(true), len(classes), len(classes))
    rows: list[Floats] = []
    names: list[str] = []
    total = true.sum(axis=0)
    for name in ("min_recall", "min_precision"):
        floors = _floors(options[name], name, classes, positive)
        for c in np.flatnonzero(floors).tolist():
            cells = np.zeros(shape)
            part = cells[:, c] if name == "min_recall" else cells[:, :, c]
            part -= floors[c]
            cells[:, c, c] += 1.0
            rows.append(cells / total[c])
            names.append(f"{name}={floors[c]:g} of class {shown(classes[c])}")
    if options["parity"] is not None:
        rate, gap = _parity(options["parity"])
        if groups is None:
            raise ValueError("parity needs groups: fit(X, y, groups=...)")
        for c in range(len(classes)) if positive is None else (positive,):
            sizes = true[:, c] if rate == "recall" else true.sum(axis=1)
            if not sizes.all():
                raise ValueError(
                    f"groups has {shown(plain_label(groups[np.argmin(sizes)]))} with "
                    f"no row of class {shown(classes[c])}, and so with no {rate}: "
                    "leave that group out"
                )
            own = np.zeros((len(true), *shape))
            for g, weight in enumerate(sizes):
                own[g, g, c if rate == "recall" else slice(None), c] = 1.0 / weight
            for a, b in np.argwhere(~np.eye(len(true), dtype=bool)):
                rows.append(gap / true.sum() - own[a] + own[b])
                names.append(f"parity of {rate} within {gap:g}")
    return Limits(np.array(rows).reshape(-1, *shape), tuple(names))


def _floors(
    value: SharesLike | None, name: str, classes: ClassTuple, positive: int | None
) -> Floats:
    """Return the floor of each class; a number is of the positive one of two."""
    if positive is not None and is_real(value):
        value = {classes[positive]: float(value)}  # type: ignore[arg-type]
    return least_recalls(value, classes, name)


def _parity(value: object) -> tuple[str, float]:
    """Return the rate and the gap of ``parity=(rate, gap)``."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(
            "parity must be a rate and a gap, such as ('recall', 0.1), not "
            f"{shown(value)}; groups go to fit"
        )
    check_choice(value[0], "rate of parity", RATES)
    return value[0], check_number(value[1], "gap of parity", low=0.0, high=1.0)


@dataclass(frozen=True)
class Mixture:
    """Weights of members, gain of their mixture, and what a new member is worth."""

    weights: Floats  # (n_members,)
    gain: float
    slopes: Floats  # of the gain at the mixture's table, (n_classes, n_classes)
    prices: Floats  # of the limits
    miss: float  # largest of the missed limits; 0 where all are kept


def best_mixture(
    gain: Value, tables: Floats, limits: Limits, last: Mixture | None
) -> Mixture:
    """Return the mixture of the highest gain within limits.

    Where no mixture keeps the limits, it is the one of the least sum of misses, and the
    prices are those of the limits alone.

    Parameters
    ----------
    tables : ndarray of shape (n_members, n_groups, n_classes, n_classes)
    last : Mixture or None
        The best one of the first members; the search starts there, too.
    """
    pooled, kept = tables.sum(axis=1), limits.of(tables)
    known = np.nan_to_num(gain(pooled), nan=-np.inf)
    inside = (kept >= -KEPT).all(axis=1)
    vertices = np.eye(len(tables))
    starts = [vertices[np.argmax(known)]]  # may miss limits, which the climb mends
    if kept.shape[1] and not inside.any():
        weights, prices, missed = _least_missed(kept)
        if missed > KEPT:
            zero = np.zeros(pooled.shape[1:])
            miss = float(-(weights @ kept).min())
            return Mixture(weights, -np.inf, zero, prices, miss)
        starts.append(weights)
    if inside.any():
        within = vertices[np.argmax(np.where(inside, known, -np.inf))]
        # not quite at the corner, where slopes may be infinite
        starts += [within, 0.98 * within + 0.02 * inside / inside.sum()]
    if last is not None and not last.miss:
        starts.append(np.pad(last.weights, (0, len(tables) - last.weights.size)))
    best: tuple[float, Floats] = (-np.inf, starts[-1])
    for start in starts:
        for weights in (start, _climb(gain, pooled, kept, start)):
            value = float(gain(np.tensordot(weights, pooled, 1)))
            if (weights @ kept >= -KEPT).all() and value > best[0]:
                best = value, weights
    value, weights = best
    slopes = slopes_of(gain, np.tensordot(weights, pooled, 1))
    prices = _prices(np.tensordot(pooled, slopes, 2), kept)
    return Mixture(weights, value, slopes, prices, 0.0)


def _climb(gain: Value, pooled: Floats, kept: Floats, start: Floats) -> Floats:
    """Return weights of a higher gain, by sequential quadratic programs."""
    from scipy.optimize import minimize

    values = gain(pooled)
    finite = values[np.isfinite(values)]
    size = (float(np.ptp(finite)) if finite.size else 0.0) or 1.0

    def table(w: Floats) -> Floats:
        return np.tensordot(np.maximum(w, 0.0), pooled, 1)

    sums: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like}
    ]
    if kept.size:
        sums.append(
            {"type": "ineq", "fun": lambda w: w @ kept, "jac": lambda _: kept.T}
        )
    with np.errstate(all="ignore"):
        found = minimize(
            lambda w: -float(gain(table(w))) / size,
            start,
            jac=lambda w: -np.tensordot(pooled, slopes_of(gain, table(w)), 2) / size,
            bounds=[(0.0, 1.0)] * start.size,
            constraints=sums,
            method="SLSQP",
            options={"maxiter": 100, "ftol": 1e-12},
        ).x
    weights = np.where(found > SMALLEST, found, 0.0)
    return weights / weights.sum() if weights.sum() > 0.5 else start


def _least_missed(kept: Floats) -> tuple[Floats, Floats, float]:
    """Return weights of the least sum of misses, prices, and the sum."""
    n, count = kept.shape
    worth = np.concatenate([np.zeros(n), np.ones(count)])
    result = _program(worth, np.hstack([kept.T, np.eye(count)]), n)
    weights = np.maximum(result.x[:n], 0.0)
    return weights / weights.sum(), -result.ineqlin.marginals, float(result.fun)


def _prices(worth: Floats, kept: Floats) -> Floats:
    """Return what loosening each limit is worth, at slopes of the gain."""
    if not kept.shape[1]:
        return np.zeros(0)
    size = float(np.abs(worth).max()) or 1.0
    # limits that the best mixture meets to rounding are met
    result = _program(-worth / size, kept.T, worth.size)
    return np.asarray(-result.ineqlin.marginals * size)


def _program(worth: Floats, kept: Floats, n: int) -> Any:
    """Minimise ⟨worth, x⟩ over weights x of sum 1, where kept @ x ≥ 0."""
    from scipy.optimize import linprog

    sums = (np.arange(worth.size) < n).astype(float)[None]
    return linprog(worth, -kept, np.full(len(kept), KEPT), sums, [1.0], method="highs")
