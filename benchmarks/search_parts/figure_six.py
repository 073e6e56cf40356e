"""Fig. 6 of the paper: test scores by iteration, β = 1, the initial policy removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from harness import emit

from search_parts import searn
from search_parts.searn import Problem

ITERATIONS = 15


def run(*, quick: bool, figures: Path | None) -> None:
    """The curves of four tasks at full size, with logistic regression."""
    cut, step = (100, 8) if quick else (None, 1)
    n = 2 if quick else ITERATIONS
    problems = (
        searn.handwriting("small", 0, step),
        searn.text("ner", cut, cut),
        searn.text("chunk", cut, cut),
        searn.joint(cut, cut),
    )
    found = {}
    for problem in problems:
        scores = curve(problem, 0, n)
        found[problem.name] = problem.unit, scores
        emit(
            "paper",
            f"Fig. 6: {problem.name}: last iteration",
            scores[-1],
            problem.unit,
            first=scores[0],
            scores=scores,
        )
    if figures is not None:
        _draw(found, figures)


def curve(problem: Problem, seed: int, n: int, **options: Any) -> list[float]:
    """Scores of greedy search on the test inputs after each iteration."""
    one = searn.fitted(problem, seed, beta=1.0, iterations=n, **options)
    return [problem.score(searn.decoded(one, problem, i)) for i in range(n)]


def _draw(found: dict[str, tuple[str, list[float]]], figures: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for ax, (title, (unit, scores)) in zip(axes.flat, found.items(), strict=True):
        ax.plot(np.arange(1, len(scores) + 1), scores, ".-")
        ax.set(title=title, xlabel="iterations", ylabel=unit)
    figure.savefig(figures / "search_figure6.svg")
    pyplot.close(figure)
