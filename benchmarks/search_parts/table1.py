"""6. Table 1 of the paper, repeated: SEARN itself, its first iteration and others.

MEMM is SEARN's first iteration. No iteration is chosen by its score: rows show the
last. Errors are those of the mean over folds of handwriting, else over seeds; peers run
once for each fold, and once for text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import emit

from search_parts import searn
from search_parts.data import simple_table
from search_parts.searn import Problem, Result

SEEDS = (0, 1, 2)
FEW_SEEDS = (0, 1)  # where a run takes minutes
TASKS = ("handwriting, small", "handwriting, large", "NER", "chunks", "joint")


def problems(task: str, *, quick: bool) -> list[Problem]:
    """One problem for each fold or seed."""
    step, cut = (8, 150) if quick else (1, None)
    folds = SEEDS if task.endswith("small") else FEW_SEEDS
    if task.startswith("handwriting"):
        size = task.split(", ")[1]
        return [
            searn.handwriting(size, fold, step) for fold in folds[: 2 if quick else 9]
        ]
    if task == "joint":
        return [searn.joint(cut, cut)] * len(FEW_SEEDS)
    name = "chunk" if task == "chunks" else "ner"
    return [searn.text(name, cut, cut)] * len(FEW_SEEDS)


def run(*, quick: bool, figures: Path | None) -> str:
    """Measure every system on every task, and return the table."""
    rows: dict[str, dict[str, str]] = {}
    for task in TASKS:
        for name, result in measured(task, quick=quick).items():
            mean, error = mean_and_standard_error(result.scores)
            cell = f"{mean:.2f}" + (f" ± {error:.2f}" if error else "")
            rows.setdefault(name, {})[task] = cell
    lines = [[name, *(row.get(t, "") for t in TASKS)] for name, row in rows.items()]
    return simple_table(["F1 or accuracy, %", *TASKS], lines)


def measured(task: str, *, quick: bool) -> dict[str, Result]:
    """All rows of a task, printed as they are had."""
    many = problems(task, quick=quick)
    few = many if task.startswith("handwriting") else many[:1]
    more = task == "handwriting, small"  # stacking learns five models more
    found = searn.systems(many, SEEDS[: len(many)], more=more)
    tell(task, many[0], found)
    others = searn.peer_rows(few, slow=not task.endswith("large"))
    tell(task, many[0], others)
    return found | others


def tell(task: str, problem: Problem, found: dict[str, Result]) -> None:
    for name, result in found.items():
        mean, error = mean_and_standard_error(result.scores)
        emit(
            "table1",
            f"{task}: {name}",
            mean,
            problem.unit,
            task=task,
            system=name,
            standard_error=error,
            seeds=len(result.scores),
            scores=result.scores,
            cpu_seconds=result.seconds,
        )


def mean_and_standard_error(scores: Sequence[float]) -> tuple[float, float | None]:
    """Mean of scores, and its standard error where there are several."""
    n = len(scores)
    error = float(np.std(scores, ddof=1)) / n**0.5 if n > 1 else None
    return float(np.mean(scores)), error
