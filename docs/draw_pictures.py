"""Draw the pictures of README and of these pages into docs/_static.

    python docs/draw_pictures.py

All but the decision tree show what `plot` of a result draws.
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
        rows.text(10.5, 0.515, "0.5 cut-off", ha="right", color="C7")
        rows.axhline(found.threshold, color="C3")
        text = f"best for F1: p ≥ {found.threshold:.2f}"
        rows.text(10.5, found.threshold + 0.015, text, ha="right", color="C3")
        rows.set(xlabel="row", ylabel="probability", title="Which rows to select")
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


def guarantee() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.25, 0.5, 1000)
    y = rng.random(1000) < p
    with picture("guarantee", 5.6) as ax:
        am.tune(y, p, "precision", min_precision=0.8, confidence=0.95).plot(ax)
        ax.axhline(0.8, color="C7", linestyle="--")


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


# The decision tree: where a box is, what it says, and what leads to it.
BOXES = {
    "labels": (0.0, 1.5, "Do you have labelled rows\nthat the model has not seen?"),
    "trust": (1.35, 2.5, "Do you need one threshold,\nor row-by-row labels?"),
    "new": (1.35, 0.5, "Are rows scored in groups\nor as one batch?"),
    "tune": (2.7, 3.0, "tune, MetricClassifier"),
    "check": (2.7, 2.0, "calibration_check, then\ndecide(..., reference=(y, p))"),
    "groups": (2.7, 1.0, 'decide(..., groups=g,\naverage="groups")'),
    "batch": (2.7, 0.0, "decide, then forecast"),
}
ARROWS = (
    ("labels", "trust", "yes"),
    ("labels", "new", "no"),
    ("trust", "tune", "yes"),
    ("trust", "check", "no"),
    ("new", "groups", "groups"),
    ("new", "batch", "one batch"),
)


def which() -> None:
    """The decision tree of the page "Which function?"."""
    with picture("which", 8.4) as ax:
        ax.figure.set_figheight(3.6)
        for start, end, answer in ARROWS:
            (x, y, _), (u, v, _) = BOXES[start], BOXES[end]
            arrow = {"arrowstyle": "->", "color": "C7"}
            ax.annotate("", (u - 0.5, v), (x + 0.5, y), arrowprops=arrow)
            middle = (x + u) / 2, (y + v) / 2
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            ax.text(*middle, answer, ha="center", va="center", color="C7", bbox=box)
        for x, y, text in BOXES.values():
            call = x > 2
            box = {
                "boxstyle": "round,pad=0.5",
                "facecolor": "#e8f0f8" if call else "white",
                "edgecolor": "C0" if call else "C7",
            }
            family = "monospace" if call else "sans-serif"
            style: dict[str, Any] = {"family": family, "fontsize": 8}
            ax.text(x, y, text, ha="center", va="center", bbox=box, **style)
        ax.set(xlim=(-0.55, 3.35), ylim=(-0.45, 3.45))
        ax.axis("off")


PICTURES: tuple[Callable[[], None], ...] = (
    *(decision, which, forecast, reliability, threshold, guarantee, stream),
)

if __name__ == "__main__":
    for draw in PICTURES:
        draw()
