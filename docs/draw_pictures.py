"""Draw the pictures of README and of these pages into docs/_static.

    python docs/draw_pictures.py

Nothing in them is drawn by hand: each is what `plot` of a result shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
import numpy as np

import argmetric as am
from argmetric.stream import OnlineClassifier, StreamDisplay

FOLDER = Path(__file__).parent / "_static"
P = [0.62, 0.48, 0.41, 0.35, 0.30, 0.22, 0.18, 0.12, 0.07, 0.04]


@contextmanager
def picture(name: str, width: float, columns: int = 1) -> Iterator[Any]:
    from conf import plot_rcparams  # beside this script when it is run

    with mpl.rc_context(plot_rcparams):
        figure, axes = plt.subplots(
            1, columns, figsize=(width, 2.9), layout="constrained"
        )
        yield axes
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


def decision() -> None:
    """Ten rows of the first example: which are chosen, and why no more of them."""
    found = am.decide(P, "f1")
    with picture("decision", 8.4, 2) as (rows, curve):
        colors = np.where(found.labels == 1, "C0", "#c9d3de")
        rows.bar(np.arange(1, len(P) + 1), P, color=colors)
        rows.axhline(0.5, color="C7", linestyle="--")
        rows.text(10.5, 0.515, "cut at 0.5", ha="right", color="C7")
        rows.axhline(found.threshold, color="C3")
        text = f"best for F1: p ≥ {found.threshold:.2f}"
        rows.text(10.5, found.threshold + 0.015, text, ha="right", color="C3")
        rows.set(xlabel="row", ylabel="probability", title="Which rows to hand in")
        rows.set_xticks(range(1, len(P) + 1))
        found.plot(curve)
        curve.set_title("What score to expect")


def forecast() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 4, 2000)
    with picture("forecast", 5.6) as ax:
        am.forecast(p, am.decide(p).labels).plot(ax)


def reliability() -> None:
    """The first example of the page on calibrating: odds ten times too large."""
    rng = np.random.default_rng(1)
    x = rng.normal(-2, 1.5, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-x))
    p = 1 / (1 + np.exp(-(x + np.log(10))))
    with picture("reliability", 5.6) as ax:
        ax.figure.set_figheight(3.9)
        am.calibration_check(y, p, "f1").plot(ax)


def threshold() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 4, 1500)
    with picture("threshold", 5.6) as ax:
        am.tune(rng.random(1500) < p, p, "f1").plot(ax)


def stream() -> None:
    """A stream whose positives change sides half-way, followed by two learners."""
    rng = np.random.default_rng(0)
    n, change = 30_000, 15_000
    X = rng.normal(size=(n, 5))
    side = np.where(np.arange(n) < change, 1, -1)
    y = rng.random(n) < 1 / (1 + np.exp(5 - 3 * side * X[:, 0]))
    with picture("stream", 8.4, 2) as axes:
        for ax, learner in zip(axes, ("mixture", "sgd"), strict=True):
            model = OnlineClassifier("f1", learner=learner)
            model.progressive(X, y)
            StreamDisplay.from_estimator(model, ax=ax)
            ax.axvline(change, color="C3", linestyle=":")
            ax.set(title=f'learner="{learner}"', ylim=(-0.03, 0.8))
            ax.legend(loc="lower right")
        axes[1].get_legend().remove()


PICTURES: tuple[Callable[[], None], ...] = (
    *(decision, forecast, reliability, threshold, stream),
)

if __name__ == "__main__":
    for draw in PICTURES:
        draw()
