"""Draw the pictures of README and of these pages into docs/_static.

    python docs/draw_pictures.py

All but "decision" and "which" show what `plot` of a result draws.
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
def picture(
    name: str, width: float = 4.8, height: float = 2.9, columns: int = 1
) -> Iterator[Any]:
    from conf import plot_rcparams  # beside this script when it is run

    with mpl.rc_context(plot_rcparams):
        figure, axes = plt.subplots(
            1, columns, figsize=(width, height), layout="constrained"
        )
        yield axes
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


def decision() -> None:
    """Ten rows of the first example: which are chosen, and what that gains."""
    found = am.decide(P, "f1")
    best, half = found.expected, found.cut_half
    with picture("decision") as ax:
        colors = np.where(found.labels == 1, "C0", "#a9b8c8")
        ax.bar(np.arange(1, len(P) + 1), P, color=colors)
        cuts = (
            (0.5, "0.35", "--", f"0.5 cut-off: 1 row, expected F1 {half.expected:.3f}"),
            (found.threshold, "C3", "-", f"argmetric: 5 rows,\nexpected F1 {best:.3f}"),
        )
        for cut, color, line, text in cuts:
            ax.axhline(cut, color=color, linestyle=line)
            ax.text(10.5, cut + 0.015, text, ha="right", color=color, fontsize=10)
        ax.set(xlabel="row", ylabel="probability")
        ax.set_xticks(range(1, len(P) + 1))
    write_dark("decision")


def write_dark(name: str) -> None:
    """The same picture for README on a dark page; docs turn their pictures by CSS."""
    light = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    turn = "svg { filter: invert(1) hue-rotate(180deg) }"
    clear = "#patch_1, #patch_2 { display: none }"  # the white of figure and axes
    style = f" <style>{turn} {clear}</style>\n"
    dark = light.replace(" <defs>", f"{style} <defs>", 1)
    (FOLDER / f"{name}_dark.svg").write_text(dark, encoding="utf-8")


def curve() -> None:
    """What `plot` draws of the same decision: why no more and no fewer rows."""
    with picture("curve") as ax:
        am.decide(P, "f1").plot(ax)


def forecast() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 4, 2000)
    with picture("forecast") as ax:
        am.forecast(p, am.decide(p).labels).plot(ax)


def reliability() -> None:
    """The first example of the page on calibrating: odds ten times too large."""
    rng = np.random.default_rng(1)
    x = rng.normal(-2, 1.5, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-x))
    p = 1 / (1 + np.exp(-(x + np.log(10))))
    with picture("reliability", height=3.9) as ax:
        am.calibration_check(y, p, "f1").plot(ax)


def threshold() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 4, 1500)
    with picture("threshold") as ax:
        am.tune(rng.random(1500) < p, p, "f1").plot(ax)


def guarantee() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.25, 0.5, 1000)
    y = rng.random(1000) < p
    with picture("guarantee") as ax:
        am.tune(y, p, "f1", min_precision=0.8, confidence=0.95).plot(ax)
        precision = am.tune(y, p, "precision", n_bootstrap=0, cv=None)
        curve = precision.thresholds, precision.scores
        ax.step(*curve, where="pre", color="C1", label="Precision")
        ax.axhline(0.8, color="C1", linestyle="--")
        ax.set(ylabel="Actual score", ylim=(0.0, 1.03))
        ax.legend(loc="lower left")


def stream() -> None:
    """A stream whose positives change sides half-way, followed by two learners."""
    rng = np.random.default_rng(0)
    n, change = 30_000, 15_000
    X = rng.normal(size=(n, 5))
    side = np.where(np.arange(n) < change, 1, -1)
    y = rng.random(n) < 1 / (1 + np.exp(5 - 3 * side * X[:, 0]))
    with picture("stream", 8.4, columns=2) as axes:
        for ax, learner in zip(axes, ("mixture", "sgd"), strict=True):
            model = OnlineClassifier("f1", learner=learner)
            model.progressive(X, y)
            StreamDisplay.from_estimator(model, ax=ax)
            ax.axvline(change, color="C3", linestyle=":")
            ax.set(title=f'learner="{learner}"', ylim=(-0.03, 0.8))
            ax.legend(loc="lower right")
        axes[1].get_legend().remove()


# The picture of "Which function?": what people want, and the calls that give it.
WANTED = {
    "Labels for these rows": {
        "one score for all rows": 'decide(p, "f1")',
        "each order or query is scored on its own": 'decide(p, "f1", groups=order)',
        "several labels per row": 'decide(P, "f1", average="macro")',
        "one of several classes per row": 'classes.decide(P, "f1")',
    },
    "One threshold for later rows": {
        "labelled rows": 'tune(y, p, "f1")',
        "a scikit-learn classifier": 'MetricClassifier(model, "f1")',
    },
    "The score of labels": {
        "the true labels are known": 'evaluate(y, labels, "f1")',
        "they are not known yet": 'forecast(p, labels, "f1")',
        "every week, before they are known": "monitor(p, rule, reference=(y, p_val))",
        "which of two models is better": 'compare(p, [labels_a, labels_b], "f1")',
    },
    "Can I trust the probabilities?": {
        "ask labelled rows": 'calibration_check(y, p, "f1")',
        "they are wrong: repair them": 'decide(p, "f1", reference=(y, p_val))',
    },
}


def which() -> None:
    """A tree as narrow as a phone: its text has 12 pixels there, as on the page."""
    rows = sum(1.7 + 2.35 * len(calls) for calls in WANTED.values())
    with picture("which", 3.7, rows * 0.19) as ax:
        ax.set(xlim=(0, 1), ylim=(rows, 0))
        ax.axis("off")
        top = 0.0
        for want, calls in WANTED.items():
            ax.text(0.01, top + 0.75, want, va="center", weight="bold", fontsize=10)
            for i, (case, call) in enumerate(calls.items()):
                y = top + 2.1 + 2.35 * i
                ax.plot([0.03, 0.03, 0.07], [top + 1.4, y, y], color="C7", lw=1)
                ax.text(0.09, y, case, va="center", fontsize=9)
                style = {"family": "monospace", "color": "C0", "fontsize": 9}
                ax.text(0.09, y + 1.0, call, va="center", **style)
            top += 1.7 + 2.35 * len(calls)


PICTURES: tuple[Callable[[], None], ...] = (
    *(decision, curve, which, forecast, reliability, threshold, guarantee, stream),
)

if __name__ == "__main__":
    for draw in PICTURES:
        draw()
