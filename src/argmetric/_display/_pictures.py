"""Axes, and pictures that several rooms draw."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from argmetric._types import Floats


@contextlib.contextmanager
def drawing(
    ax: Any, size: tuple[float, float] = (6.4, 3.8), **labels: Any
) -> Iterator[Any]:
    """Axes to draw on: the given ones, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None for a new figure.
    size : (float, float)
        Of a new figure.
    **labels
        What ``ax.set`` takes, such as xlabel, ylabel, title; there is a legend where
        something drawn has a label.
    """
    ax = new_axes(ax, size)
    yield ax
    ax.set(**labels)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()


def new_axes(ax: Any, size: tuple[float, float] = (6.4, 3.8), **options: Any) -> Any:
    """The given axes, or those of a new figure with these options."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'argmetric[plot]'"
        ) from error
    return plt.subplots(figsize=size, layout="constrained", **options)[1]


def draw_law(
    ax: Any,
    name: str,
    law: Any,
    interval: tuple[float, float],
    coverage: float,
) -> Any:
    """Draw the law of a score with its mean and an interval."""
    with drawing(ax, xlabel=name, ylabel="probability") as ax:
        if not law.values.size:
            ax.text(0.5, 0.5, "never defined", ha="center", transform=ax.transAxes)
            return ax
        bins = np.linspace(law.values[0], law.values[-1], 61)
        ax.hist(law.values, bins=bins, weights=law.probabilities, color="C0")
        ax.axvspan(*interval, color="C1", alpha=0.25, label=f"{coverage:.0%} interval")
        ax.axvline(law.mean, color="C3", label=f"mean {law.mean:.3f}")
    return ax


def draw_map(ax: Any, name: str, apply: Callable[[Floats], Floats]) -> Any:
    """Draw a map of probabilities over the diagonal."""
    whole = (-0.02, 1.02)
    labels = {"xlabel": "p as given", "ylabel": "p calibrated"}
    with drawing(ax, (4.4, 4.2), **labels, xlim=whole, ylim=whole) as ax:
        p = np.linspace(0.0, 1.0, 1001)
        ax.plot([0, 1], [0, 1], color="C7", linestyle=":", label="unchanged")
        ax.plot(p, apply(p), color="C0", label=name)
    return ax


@contextlib.contextmanager
def curve_drawing(ax: Any, curve: Floats, name: str, which: str) -> Iterator[Any]:
    """Axes with what is expected for every number of positives."""
    label = f"expected {name}"
    with drawing(ax, xlabel="k, items predicted positive", ylabel=label) as ax:
        k = np.arange(curve.size)
        ax.plot(k, curve, color="C0", label=f"{label} of {which}")
        yield ax
