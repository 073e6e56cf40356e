"""Pictures of an objective over the two parameters of a model with one feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_number
from argmetric._ground.labels import clear_labels, one_per_row
from argmetric._ground.odds import expit
from argmetric._ground.pictures import new_axes
from argmetric._ground.types import Floats
from argmetric._ground.validation import check_choice, check_length, place, to_floats
from argmetric.metrics import MetricLike, get_metric

CELLS = 2**22  # margins held at a time


@dataclass(repr=False)
class MetricSurfaceDisplay:
    """Value of an objective over a grid of (intercept, slope).

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
    >>> toy.values.round(3)  # two of three found, then all rows predicted positive
    array([[0.8  , 0.857]])
    """

    theta0: Floats
    theta1: Floats
    values: Floats
    name: str
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)
    surface_: Any = field(default=None, init=False)

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
        found = None if likelihood else get_metric(metric)

        def rows(part: Floats) -> Floats:
            with np.errstate(over="ignore"):  # an infinite margin is a sure one
                margin = gamma * (grid0[None, :, None] + part[:, None, None] * x)
            if found is None:
                signed = np.where(positive, margin, -margin)
                return np.asarray(-np.logaddexp(0.0, -signed).sum(axis=2))
            g = expit(margin)
            tp = g[..., positive].sum(axis=2)
            k = tp + g[..., ~positive].sum(axis=2)
            return found.value(tp, k, float(positive.sum()), float(x.size))

        step = max(1, CELLS // max(1, grid0.size * x.size))
        parts = [
            rows(grid1[start : start + step]) for start in range(0, grid1.size, step)
        ]
        if name is None:
            name = "log-likelihood" if found is None else found.name
        return cls(grid0, grid1, np.concatenate(parts), name)

    def plot(
        self,
        ax: Any = None,
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
            self.surface_ = ax.plot_surface(*pairs, self.values, **style | options)
        ax.set(xlabel="θ₀", ylabel="θ₁", title=self.name)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _finite(values: Any, name: str) -> Floats:
    """Numbers without nan and infinities."""
    found = to_floats(values, name)
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        at = place(int(wrong[0]), found.shape)
        raise ValueError(f"{name} is {found.flat[wrong[0]]:g} at {at}: not finite")
    return found


def _grid(values: Any, name: str, default: Floats) -> Floats:
    """Values of one parameter: a list of them, or one."""
    if values is None:
        return default
    found = _finite(values if np.iterable(values) else [values], name)
    if found.ndim != 1:
        raise ValueError(
            f"{name} must be a list of numbers, not of shape {found.shape}"
        )
    return found
