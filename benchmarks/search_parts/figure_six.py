"""Fig. 6 of the paper: loss on test inputs by iteration, on samples of four tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit

from argmetric.search import (
    JointTask,
    LinearLearner,
    Searn,
    SequenceLabelling,
    WordChunking,
    default_templates,
)
from search_parts.controls import letter_task, own_row, pixel_words
from search_parts.data import chunks, spanish
from search_parts.peers import TemplateAttributes
from search_parts.table_one import LEARNERS, SMALL

ITERATIONS = 10


def run(*, quick: bool, figures: Path | None) -> None:
    """Loss on test inputs by iteration, β = 1, the initial policy removed."""
    n = 2 if quick else ITERATIONS
    curves: dict[str, dict[str, list[float]]] = {}
    for title, problem in small_tasks(20 if quick else SMALL).items():
        for kind in LEARNERS:
            losses = losses_by_iteration(problem, kind, n)
            curves.setdefault(title, {})[kind] = losses
            emit(
                "paper",
                f"Fig. 6: {title}, {kind}: best iteration",
                int(np.argmin(losses)) + 1,
                "iteration",
                first=losses[0],
                best=min(losses),
                last=losses[-1],
                losses=losses,
            )
    if figures is not None:
        _draw(curves, figures)


def losses_by_iteration(problem: Any, kind: str, n: int) -> list[float]:
    """On the test inputs, which are looked at for nothing else."""
    task, train, test = problem
    learner = LinearLearner(kind, epochs=6)
    searn = Searn(task(), learner, beta=1.0, iterations=n, patience=n)
    searn.fit(*train, dev=test)
    return [float(one.dev_loss) for one in searn.history_]


def small_tasks(n: int) -> dict[str, Any]:
    """A task with n inputs to learn from and n to test on, by name."""
    m = n
    en, es = chunks(), spanish()

    def text(corpus: Any, task: str) -> tuple[Any, Any]:
        attributes = TemplateAttributes(default_templates(task))
        known = {x for s in corpus.train[:n] for x in s.labels}
        test = [s for s in corpus.test if known.issuperset(s.labels)][:m]
        return tuple(
            ([attributes(s.columns) for s in part], [tuple(s.labels) for s in part])
            for part in (corpus.train[:n], test)
        )

    def types(corpus: Any) -> list[str]:
        labels = {x for s in corpus.train[:n] for x in s.labels}
        return sorted({x[2:] for x in labels if x != "O"})

    plain = TemplateAttributes(default_templates("pos"))
    tags = sorted({x for s in en.train for x in s.columns[1]})

    def both(sentences: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return (
            [plain(s.columns) for s in sentences],
            [(tuple(s.columns[1]), tuple(s.labels)) for s in sentences],
        )

    known = {x for s in en.train[:n] for x in s.labels}
    fit = [s for s in en.test if known.issuperset(s.labels)][: m // 2]
    return {
        "handwriting": (
            lambda: letter_task(1),
            pixel_words(0, n),
            pixel_words(1, m),
        ),
        "Spanish NER": (
            lambda: WordChunking(types(es), features=own_row),
            *text(es, "ner"),
        ),
        "chunking": (
            lambda: WordChunking(types(en), features=own_row),
            *text(en, "chunk"),
        ),
        "chunking + tagging": (
            lambda: JointTask(
                SequenceLabelling(tags, features=own_row),
                WordChunking(types(en), features=own_row),
            ),
            both(en.train[: n // 2]),
            both(fit),
        ),
    }


def _draw(curves: dict[str, dict[str, list[float]]], figures: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for ax, (title, lines) in zip(axes.flat, curves.items(), strict=True):
        for kind, losses in lines.items():
            ax.plot(range(1, len(losses) + 1), losses, ".-", label=kind)
        ax.set(title=title, xlabel="iterations", ylabel="mean loss on test inputs")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    figure.savefig(figures / "search_figure6.svg")
    pyplot.close(figure)
