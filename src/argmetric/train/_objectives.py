"""Objectives of the parameters θ: value and gradient in one pass over the rows.

Smooth counts for any metric, and the exact expected F-measure of random labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_number
from argmetric._ground.labels import clear_labels, one_per_row
from argmetric._ground.odds import expit
from argmetric._ground.pictures import new_axes
from argmetric._ground.types import Axes, Floats
from argmetric._ground.validation import check_choice, check_length, place, to_floats
from argmetric.metrics import Metric, MetricLike, RatioForm, get_metric, slopes
from argmetric.train._rows import TrainingRows, map_blocks

UNDEFINED = -2.0  # below every value of an objective over its scale


class Objective(Protocol):
    """A function of θ to maximise; it is divided by `scale` before the penalty.

    θ holds a coefficient for each column, then an intercept for each of the metrics
    that it stands for, one for each operating point.
    """

    @property
    def rows(self) -> TrainingRows: ...

    @property
    def scale(self) -> float: ...

    @property
    def metrics(self) -> tuple[Metric, ...]: ...

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]: ...


@dataclass(frozen=True)
class Likelihood:
    """Mean log-likelihood of logistic regression."""

    rows: TrainingRows
    scale: ClassVar[float] = 1.0
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return Σ w·log p(y) / Σ w and its gradient."""
        sums, slopes_ = self.rows.sums(theta, 1.0, likelihood=True)
        total = self.rows.positives + self.rows.negatives
        return -float(sums.sum()) / total, -slopes_.sum(axis=0) / total


@dataclass(frozen=True)
class SoftMetric:
    """Metric at smooth counts, and its gradient (Jansche 2005, equations 5 and 6).

    With g_i = 1/(1+e^(-γ·x_i·θ)) the counts are A = Σ w·y·g, B = Σ w·y·(1-g),
    C = Σ w·(1-y)·g and D = Σ w·(1-y)·(1-g), and

        ∇U = γ·[(U_A - U_B)·Σ_{y=1} w·g(1-g)·x + (U_C - U_D)·Σ_{y=0} w·g(1-g)·x].

    One pass, O(nk) time, O(k) space. A metric that is minimised changes its sign.
    """

    rows: TrainingRows
    metric: Metric
    gamma: float = 1.0

    @cached_property
    def scale(self) -> float:
        """Return 1 for a metric within [-1, 1].

        Else its size at the corners of the table.
        """
        t, n = self.rows.positives, self.rows.positives + self.rows.negatives
        corners = self.metric.value([t, 0.0, t, 0.0], [t, 0.0, n, n - t], t, n)
        return max(1.0, float(np.nan_to_num(np.abs(corners)).max()))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric,)

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return U and its gradient at θ, intercept last."""
        (hits, alarms), by_class = self.rows.sums(theta, self.gamma)
        t, f = self.rows.positives, self.rows.negatives
        counts = min(float(hits), t), min(float(alarms), f)  # a sum may round up
        value, by_hits, by_alarms = slopes(self.metric, *counts, t, f)
        if not (math.isfinite(value) and math.isfinite(by_hits + by_alarms)):
            # Undefined counts: a value below all others, so that a search turns back.
            return UNDEFINED * self.scale, np.zeros(theta.size)
        sign = 1.0 if self.metric.greater_is_better else -1.0
        gradient = self.gamma * (by_hits * by_class[0] + by_alarms * by_class[1])
        return sign * value, sign * gradient


TABLED_WEIGHTS = 32  # up to so many distinct weights have their powers in a table


def squared_beta(metric: Metric) -> float:
    """Return β² of an F-measure, or raise an error for another metric."""
    form = metric.form
    if isinstance(form, RatioForm) and form.counts_hits_only:
        d0, d1, d2, d3 = form.d
        if d0 == d1 == 0 and d2 > 0 and d3 > 0:
            b2 = d3 / d2
            if math.isclose(form.c[1] / d2, 1.0 + b2):
                return b2
    raise ValueError(
        f'objective="expected" is exact for F-measures only, not for {metric.name}; '
        'objective="soft" takes any metric'
    )


@dataclass(frozen=True)
class GoldLabels:
    """True labels with the weights of the items, each of shape (n_items,)."""

    positive: npt.NDArray[np.bool_]
    weight: Floats

    @cached_property
    def levels(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return the distinct weights and each item's index.

        Both empty if there are many.
        """
        first = self.weight[:1]
        if (self.weight == first).all():
            return first, np.zeros(self.weight.size, dtype=np.int64)
        distinct, code = np.unique(self.weight, return_inverse=True)
        if distinct.size > TABLED_WEIGHTS:
            return np.zeros(0), np.zeros(0, dtype=np.int64)
        return distinct, code.astype(np.int64)

    @cached_property
    def total(self) -> float:
        return float(self.weight[self.positive].sum())


def expected_f(
    p: Floats,
    q: Floats,
    gold: GoldLabels,
    b2: float,
    *,
    undefined: float = 0.0,
    n_threads: int = 1,
) -> tuple[float, Floats]:
    """Return E[F] of random labels against the true ones, and ∂E[F]/∂p_i.

    E[F] has a relative error of about 1e-13, in O(nQ) with Q about 20 to 70 nodes. The
    result does not depend on the number of threads.

    Parameters
    ----------
    p, q : ndarray of shape (n_items,)
        Probabilities that an item is predicted positive, and 1 - p with all digits.
    gold : GoldLabels
        True labels and weights.
    b2 : float
        β² of the F-measure.
    undefined : float
        Value of 0/0: no item is positive, and none is predicted so.

    Returns
    -------
    value : float
    slopes : ndarray of shape (n_items,)
    """
    from argmetric._expected.kernels.nodes import exponential_sum
    from argmetric.train.kernels import logistic as kernels

    if gold.total == 0:  # 0/0 when nothing is predicted, 0 otherwise
        certain, slopes = np.flatnonzero(q == 0), np.zeros(p.size)
        with np.errstate(divide="ignore"):
            logs = np.where(p <= 0.5, np.log1p(-p), np.log(q))
        if certain.size == 0:
            value = undefined * math.exp(float(logs.sum()))
            return value, -value / q
        if certain.size == 1:
            others = float(np.delete(logs, certain).sum())
            slopes[certain] = -undefined * math.exp(others)
        return 0.0, slopes
    least = float(gold.weight[gold.positive].min())
    base = b2 * gold.total
    s, w = exponential_sum(1.0, base + least, base + float(gold.weight.sum()))
    distinct, code = gold.levels
    drops = -np.expm1(-np.outer(distinct, s))
    known = p, q, gold.positive, gold.weight, code, drops

    def sums(start: int, stop: int) -> Floats:
        out = np.zeros((2, s.size))
        kernels.expected_sums(*known, start, stop, s, out[0], out[1])
        return out

    levels, hits = np.sum(map_blocks(sums, p.size, n_threads), axis=0)
    heights = (1.0 + b2) * w * np.exp(levels - s * base)
    slopes = np.empty(p.size)

    def finish(start: int, stop: int) -> None:
        kernels.expected_slopes(*known, start, stop, s, heights, hits, slopes)

    map_blocks(finish, p.size, n_threads)
    return float(heights @ hits), slopes


@dataclass(frozen=True)
class ExpectedMetric:
    """Expected F when row i is predicted positive with probability 1/(1+e^(-γ·x·θ)).

    Its maximisers tend to certain labels. It takes two passes over the rows besides the
    O(nQ) of `expected_f`.
    """

    rows: TrainingRows
    metric: Metric
    gamma: float = 1.0
    scale: ClassVar[float] = 1.0

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric,)

    @cached_property
    def b2(self) -> float:
        return squared_beta(self.metric)

    @cached_property
    def gold(self) -> GoldLabels:
        """Return the true labels with weights of mean 1: F depends on ratios only."""
        weight = self.rows.weight / self.rows.weight.mean()
        return GoldLabels(self.rows.positive, weight)

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return E[F] and its gradient at θ, intercept last."""
        from argmetric.train.kernels.logistic import logistic_pairs

        rows = self.rows
        margins, p, q = rows.margins(theta), np.empty(rows.n), np.empty(rows.n)

        def pairs(start: int, stop: int) -> None:
            logistic_pairs(margins, start, stop, self.gamma, p, q)

        map_blocks(pairs, rows.n, rows.n_threads)
        value, slopes = expected_f(p, q, self.gold, self.b2, n_threads=rows.n_threads)
        return value, rows.combine(self.gamma * slopes * (p * q))


@dataclass(frozen=True)
class OperatingPoints:
    """Mean of several metrics: shared coefficients, an intercept for each metric.

    Jansche (2005), section 8, leaves it to future research to "optimize several such
    operating points simultaneously". Here the mean of the metrics is maximised,

        U(θ, b) = 1/M · Σ_m U_m(θ, b_m).
    """

    goals: tuple[Objective, ...]
    scale: ClassVar[float] = 1.0

    @property
    def rows(self) -> TrainingRows:
        return self.goals[0].rows

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(metric for goal in self.goals for metric in goal.metrics)

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the mean value, and its gradient in coefficients and intercepts."""
        k, share = self.rows.k, 1.0 / len(self.goals)
        total, gradient = 0.0, np.zeros(theta.size)
        for at, goal in enumerate(self.goals, start=k):
            value, slopes_ = goal.value_and_gradient(np.append(theta[:k], theta[at]))
            if value <= UNDEFINED * goal.scale:
                return UNDEFINED, np.zeros(theta.size)
            total += share * value / goal.scale
            gradient[:k] += share * slopes_[:-1] / goal.scale
            gradient[at] = share * slopes_[-1] / goal.scale
        return total, gradient


CELLS = 2**22  # margins held in memory at a time


@dataclass(repr=False)
class MetricSurfaceDisplay:
    """Value of an objective over a grid of (intercept, slope).

    Experimental: may change in any release.

    Parameters
    ----------
    theta0, theta1 : ndarray
        The intercepts and the slopes of the grid.
    values : ndarray of shape (len(theta1), len(theta0))
        Value at each pair.
    name : str
        Name of the objective.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    surface_ : matplotlib artist
        The contours or the surface.

    Examples
    --------
    >>> import argmetric as am
    >>> toy = am.MetricSurfaceDisplay.from_data(
    ...     [0, 1, 2, 3], [1, 0, 1, 1], "f1", theta0=[-40, 40], theta1=[30]
    ... )
    >>> toy.values.round(3)  # two of three hits, then all rows predicted positive
    array([[0.8  , 0.857]])
    """

    theta0: Floats
    theta1: Floats
    values: Floats
    name: str
    ax_: Axes | None = field(default=None, init=False)
    figure_: object = field(default=None, init=False)
    surface_: object = field(default=None, init=False)

    def __repr__(self) -> str:
        grid = f"{np.size(self.theta0)} by {np.size(self.theta1)}"
        return f"MetricSurfaceDisplay({self.name}, {grid} points)"

    @classmethod
    def from_data(
        cls,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        metric: MetricLike | Literal["log_likelihood"] = "f1",
        *,
        theta0: npt.ArrayLike | None = None,
        theta1: npt.ArrayLike | None = None,
        gamma: float = 1.0,
        name: str | None = None,
    ) -> Self:
        """Compute the surface of the metric of smooth counts, or of the likelihood.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, 1)
            The one feature.
        y : array-like of shape (n,)
            Labels, 0 or 1.
        metric : str, Metric or callable, default="f1"
            The metric, or "log_likelihood" for the sum of log p(y).
        theta0, theta1 : array-like, optional
            Intercepts and slopes; by default 101 of each, from -25 to 15 and from
            -20 to 20, as in Jansche's figures.
        gamma : float, default=1.0
            Steepness of the smooth counts.
        name : str, optional
            Title; by default the name of the metric.

        Returns
        -------
        MetricSurfaceDisplay
            The display, not drawn yet.
        """
        x = _finite(X, "X")
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        if x.ndim != 1:
            raise ValueError(f"X must be one feature, not of shape {x.shape}")
        positive = one_per_row(clear_labels(y), "y")
        check_length(positive, "y", x.size, "X")
        gamma = check_number(gamma, "gamma", low=0.0, strict=True)
        grid0 = _grid(theta0, "theta0", np.linspace(-25, 15, 101))
        grid1 = _grid(theta1, "theta1", np.linspace(-20, 20, 101))
        likelihood = isinstance(metric, str) and metric == "log_likelihood"
        result = None if likelihood else get_metric(metric)

        def rows(part: Floats) -> Floats:
            """Return the surface at all intercepts and some of the slopes."""
            with np.errstate(over="ignore"):  # an infinite margin is a sure one
                margin = gamma * (grid0[None, :, None] + part[:, None, None] * x)
            if result is None:
                signed = np.where(positive, margin, -margin)
                return np.asarray(-np.logaddexp(0.0, -signed).sum(axis=2))
            g = expit(margin)
            tp = g[..., positive].sum(axis=2)
            k = tp + g[..., ~positive].sum(axis=2)
            return result.value(tp, k, float(positive.sum()), float(x.size))

        step = max(1, CELLS // max(1, grid0.size * x.size))
        parts = [
            rows(grid1[start : start + step]) for start in range(0, grid1.size, step)
        ]
        if name is None:
            name = "log-likelihood" if result is None else result.name
        return cls(grid0, grid1, np.concatenate(parts), name)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["contour", "surface"] = "contour",
        **options: Any,
    ) -> Self:
        """Draw the surface.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; three-dimensional for a surface. By default a new figure.
        kind : {"contour", "surface"}, default="contour"
            Filled contours, or a surface in three dimensions.
        **options
            Passed on to ``contourf`` or ``plot_surface``.

        Returns
        -------
        MetricSurfaceDisplay
            The display, with its artists as attributes.
        """
        check_choice(kind, "kind", ("contour", "surface"))
        if kind == "contour":
            ax = new_axes(ax)
            self.surface_ = ax.contourf(
                self.theta0, self.theta1, self.values, **{"levels": 20} | options
            )
            ax.figure.colorbar(self.surface_, ax=ax, label=self.name)
        else:
            if ax is None:
                ax = new_axes(None, subplot_kw={"projection": "3d"})
            elif getattr(ax, "name", "") != "3d":
                raise ValueError('kind="surface" needs axes made with projection="3d"')
            pairs = np.meshgrid(self.theta0, self.theta1)
            style = {"cmap": "viridis", "rcount": 101, "ccount": 101}
            style |= {"linewidth": 0, "antialiased": False}  # no seams between cells
            solid: Any = ax
            self.surface_ = solid.plot_surface(*pairs, self.values, **style | options)
        ax.set(xlabel="θ₀", ylabel="θ₁", title=self.name)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _finite(values: object, name: str) -> Floats:
    """Return the values as floats; raise an error if one is not finite."""
    result = to_floats(values, name)
    wrong = np.flatnonzero(~np.isfinite(result))
    if wrong.size:
        at = place(int(wrong[0]), result.shape)
        raise ValueError(f"{name} is {result.flat[wrong[0]]:g} at {at}: not finite")
    return result


def _grid(values: object, name: str, default: Floats) -> Floats:
    """Return the grid values of one parameter; `default` if there are none."""
    if values is None:
        return default
    result = _finite(values if np.iterable(values) else [values], name)
    if result.ndim != 1:
        raise ValueError(
            f"{name} must be a list of numbers, not of shape {result.shape}"
        )
    return result
