"""Liu et al. (2018): Figs. 1 to 4 and the tables of test scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from stream_parts import paper
from stream_parts.paper import FOFO, LR, METHODS, OFO, OMCSL, STAMP, Found

from papers_parts.claim import Ask, Claim, Estimate, Figures, at_least, at_most

COVTYPE = ("covtype",)
EXACT_SETS = ("a9a", "ijcnn1", "w8a")
STAND_INS = tuple(name for group in paper.STAND_INS.values() for name in group)
OTHERS = (OFO, LR, STAMP, OMCSL)
FAST_ROWS, FAST_SHUFFLES = 24_000, 5
SHUFFLES = "10 shuffles (fast: 5, of 24,000 rows)"
SETS = (
    "a9a, ijcnn1 and w8a (its training file) of the paper; for webspam, protein and "
    "sensorless, which are not to be had, others stand in (fast: not run)"
)


@cache
def _found(names: tuple[str, ...], fast: bool) -> list[Found]:
    tasks = [task for name in names for task in paper.tasks_named(name)]
    if fast:
        chosen = np.random.default_rng(0)
        rows = [chosen.permutation(task.n)[:FAST_ROWS] for task in tasks]
        tasks = [
            replace(task, X=task.X[mine], y=task.y[mine])
            for task, mine in zip(tasks, rows, strict=True)
        ]
    return [
        paper.measure(task, FAST_SHUFFLES if fast else paper.SHUFFLES) for task in tasks
    ]


def _all(sets: Sequence[tuple[str, ...]], fast: bool) -> list[Found]:
    return [one for names in sets for one in _found(names, fast)]


def _others(fast: bool) -> list[tuple[str, ...]]:
    return [(name,) for name in (EXACT_SETS if fast else EXACT_SETS + STAND_INS)]


def _leads(found: Sequence[Found], kind: str) -> Figures:
    """Of FOFO over the others: shuffle by shuffle, the mean over tasks."""
    scores = np.array([getattr(one, kind) for one in found])  # task, shuffle, method
    by = {name: scores[:, :, METHODS.index(name)] for name in METHODS}
    figures = {}
    for other in OTHERS:
        gain = by[FOFO] - by[other]
        figures[f"FOFO over {other}, points of {kind} F1"] = Estimate.of(
            gain.mean(axis=0)
        )
        figures[f"tasks with FOFO above {other}, %"] = 100.0 * float(
            np.mean(gain.mean(axis=1) > 0)
        )
    return figures


def _figure_1(fast: bool) -> Figures:
    found = _found(COVTYPE, fast)
    order = np.argsort([float(one.task.y.mean()) for one in found])
    online = np.array([one.online for one in found])[order]
    lead = online[:, :, METHODS.index(FOFO)] - online[:, :, METHODS.index(OFO)]
    growth = lead[:3].mean(axis=0) - lead[-3:].mean(axis=0)
    return {
        **_leads(found, "online"),
        "lead over OFO, three rarest classes less three commonest": Estimate.of(growth),
    }


def _figure_2(fast: bool) -> Figures:
    return _leads(_all(_others(fast), fast), "online")


def _test_scores(fast: bool) -> Figures:
    return _leads(_all([COVTYPE, *_others(fast)], fast), "test")


def _times(fast: bool) -> Figures:
    found = _all([COVTYPE, *_others(fast)], fast)
    seconds = np.array([one.seconds for one in found])
    by = {name: seconds[:, METHODS.index(name)] for name in METHODS}
    return {
        f"time of a row, FOFO over {other}": float(np.median(by[FOFO] / by[other]))
        for other in OTHERS
    }


def _above(kind: str) -> list[Ask]:
    return [at_least(f"FOFO over {other}, points of {kind} F1", 0) for other in OTHERS]


CLAIMS = (
    Claim(
        "liu2018-figure-1",
        "Fig. 1",
        "Online on covtype, a class against the rest, FOFO is above OFO, LR, STAMP and "
        "OMCSL, and its lead grows as positives become rare.",
        _figure_1,
        [
            *_above("online"),
            at_least("lead over OFO, three rarest classes less three commonest", 0),
        ],
        data="covtype, seven tasks",
        seeds=SHUFFLES,
        remark="θ⁰ = 0 as printed calls nearly every row positive at first.",
    ),
    Claim(
        "liu2018-figure-2",
        "Fig. 2",
        "Online on the other sets FOFO is above OFO, LR, STAMP and OMCSL.",
        _figure_2,
        _above("online"),
        data=SETS,
        seeds=SHUFFLES,
    ),
    Claim(
        "liu2018-figures-3-4",
        "Figs. 3 and 4",
        "In running time FOFO is the most efficient.",
        _times,
        [
            at_most("time of a row, FOFO over OFO", 1.1),
            at_most("time of a row, FOFO over LR", 1.1),
            at_most("time of a row, FOFO over STAMP", 1),
            at_most("time of a row, FOFO over OMCSL", 1),
        ],
        data=f"covtype, seven tasks; {SETS}",
        seeds="best of three runs of the first shuffle",
        remark="Within a tenth counts as alike: the learner is the same.",
    ),
    Claim(
        "liu2018-test-scores",
        "Section 6, supplement",
        "On test rows FOFO is above OFO, LR, STAMP and OMCSL.",
        _test_scores,
        _above("test"),
        data=f"covtype, seven tasks; {SETS}",
        seeds=SHUFFLES,
    ),
)
