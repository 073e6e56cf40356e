"""Liu et al. (2018): Figs. 1 to 4 and the scores on test rows."""

from __future__ import annotations

from functools import cache
from itertools import chain

import numpy as np
from stream_parts import paper
from stream_parts.paper import FOFO, LR, METHODS, OFO, OMCSL, STAMP, Found

from papers_parts.claim import Ask, Estimate, Figures, at_least, declare, within

CLASSES = (2, 1, 3, 7, 6, 5)  # of covtype, by falling share: the panels of Fig. 1
COMMON, RARE = (2, 1), (6, 5)  # those of which section 6 speaks
FAST_CLASSES = (2, 6)
EXACT_SETS = ("a9a", "ijcnn1", "w8a")  # by falling share
STAND_INS = tuple(chain.from_iterable(paper.STAND_INS.values()))
OTHERS = (OFO, LR, STAMP, OMCSL)
ALIKE = 1.0  # points of F1 that count as a small difference
FAR = 10.0  # and as "extremely worse"


@cache
def _found(name: str, fast: bool) -> dict[str, Found]:
    """The tasks of a set, all rows, by their names."""
    tasks = list(paper.tasks_named(name))
    if fast and name == "covtype":
        tasks = [task for task in tasks if int(task.name[-1]) in FAST_CLASSES]
    shuffles = 3 if fast else paper.SHUFFLES
    return {task.name: paper.measure(task, shuffles) for task in tasks}


def _by(found: Found, kind: str) -> dict[str, np.ndarray]:
    """Scores of every method, a shuffle each."""
    return dict(zip(METHODS, getattr(found, kind).T, strict=True))


def _by_class(kind: str, fast: bool) -> dict[int, dict[str, np.ndarray]]:
    return {
        int(name[-1]): _by(one, kind) for name, one in _found("covtype", fast).items()
    }


GROWTH = "lead of FOFO over OFO, classes 6 and 5 less 2 and 1"


def _lead(one: str, other: str, c: int) -> str:
    return f"{one} over {other}, class {c}"


def _figure_1_asks() -> list[Ask]:
    def left_out(c: int) -> bool:
        return c not in FAST_CLASSES

    return [
        *(
            within(_lead(FOFO, OFO, c), -ALIKE, ALIKE, full_only=left_out(c))
            for c in COMMON
        ),
        *(
            at_least(_lead(one, other, c), 0, full_only=left_out(c))
            for c in COMMON
            for one in (FOFO, OFO)
            for other in OTHERS[1:]
        ),
        *(at_least(_lead(FOFO, LR, c), FAR, full_only=left_out(c)) for c in RARE),
        *(at_least(_lead(FOFO, OFO, c), 0, full_only=left_out(c)) for c in RARE),
        at_least(GROWTH, 0, full_only=True),
    ]


def _above(*groups: str) -> list[Ask]:
    return [
        at_least(f"FOFO over {other}, {group}", 0, full_only=group == "stand-ins")
        for group in groups
        for other in OTHERS
    ]


@declare("liu2018-figure-1", asks=_figure_1_asks())
def _figure_1(fast: bool) -> Figures:
    by = _by_class("online", fast)
    figures: dict[str, float | Estimate] = {}
    for c in [c for c in (*CLASSES, 4) if c in by]:
        for method in (OFO, FOFO):
            figures[f"online F1 of {method}, class {c}"] = float(by[c][method].mean())
        for other in OTHERS:
            figures[_lead(FOFO, other, c)] = Estimate.of(by[c][FOFO] - by[c][other])
        if c in COMMON:
            for other in OTHERS[1:]:
                figures[_lead(OFO, other, c)] = Estimate.of(by[c][OFO] - by[c][other])
    if not fast:
        lead = {c: by[c][FOFO] - by[c][OFO] for c in by}
        figures[GROWTH] = Estimate.of(sum(lead[c] for c in RARE) / 2.0
                                      - sum(lead[c] for c in COMMON) / 2.0)  # fmt: skip
    return figures


def _groups(fast: bool) -> dict[str, list[Found]]:
    """What is averaged: the classes of covtype, each exact set, all stand-ins."""
    groups = {"covtype": list(_found("covtype", fast).values())}
    groups |= {name: list(_found(name, fast).values()) for name in EXACT_SETS}
    if not fast:
        found = (_found(name, fast).values() for name in STAND_INS)
        groups["stand-ins"] = list(chain.from_iterable(found))
    return groups


def _leads(groups: dict[str, list[Found]], kind: str) -> Figures:
    """Of FOFO over the others: shuffle by shuffle, the mean over the tasks."""
    figures = {}
    for name, found in groups.items():
        by = [_by(one, kind) for one in found]
        for other in OTHERS:
            gain = np.mean([one[FOFO] - one[other] for one in by], axis=0)
            figures[f"FOFO over {other}, {name}"] = Estimate.of(gain)
    return figures


@declare(
    "liu2018-figure-2",
    asks=[
        *_above(*EXACT_SETS, "stand-ins"),
        at_least("lead of FOFO over OFO, w8a less a9a", 0),
    ],
)
def _figure_2(fast: bool) -> Figures:
    groups = _groups(fast)
    del groups["covtype"]
    lead = {
        name: (lambda by: by[FOFO] - by[OFO])(_by(groups[name][0], "online"))
        for name in EXACT_SETS
    }
    return {
        **_leads(groups, "online"),
        "lead of FOFO over OFO, w8a less a9a": Estimate.of(lead["w8a"] - lead["a9a"]),
    }


@declare("liu2018-test-scores", asks=_above("covtype", *EXACT_SETS, "stand-ins"))
def _test_scores(fast: bool) -> Figures:
    return _leads(_groups(fast), "test")


def lead_in_time(found: Found, other: str) -> np.ndarray:
    """F1 of FOFO less that of another at the same CPU time, the mean over the time.

    Every shuffle by itself. The time runs to the end of FOFO; a method that is done by
    then keeps its last F1, and one that has not yet decided a row has 0.
    """
    i, j = METHODS.index(FOFO), METHODS.index(other)
    times = found.ticks * found.seconds[i]
    theirs = found.ticks * found.seconds[j]
    return np.array(
        [
            np.mean(curves[i] - np.interp(times, theirs, curves[j], left=0.0))
            for curves in found.curves
        ]
    )


@declare("liu2018-figures-3-4", asks=_above("covtype", *EXACT_SETS, "stand-ins"))
def _figures_3_4(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    groups = _groups(fast)
    for name, found in groups.items():
        for other in OTHERS:
            gain = np.mean([lead_in_time(one, other) for one in found], axis=0)
            figures[f"FOFO over {other}, {name}"] = Estimate.of(gain)
    return figures
