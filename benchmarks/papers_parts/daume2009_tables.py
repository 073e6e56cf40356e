"""Daumé et al. (2009): Table 1, Fig. 6 and section 6.1.8, by SEARN as published."""

from __future__ import annotations

from collections.abc import Sequence

from search_parts import paper as orders
from search_parts import searn

from papers_parts.claim import Ask, Estimate, Figures, at_least, declare
from papers_parts.daume2009_runs import (
    CHUNKS,
    FAST,
    FIGURE_TASKS,
    ITERATIONS,
    JOINT,
    LARGE,
    NER,
    NER_300,
    RUNS,
    SMALL,
    Judged,
    alone,
    gain,
    judged,
    peer,
)

LEARNERS = ("perceptron", "logistic", "svm")
ALL = (SMALL, LARGE, NER_300, NER, CHUNKS, JOINT)
PEERS = (SMALL, NER_300, NER, CHUNKS)
LETTERS, TEXTS = (SMALL, LARGE), (NER_300, NER, CHUNKS, JOINT)
CRF, PERCEPTRON = "CRF (crfsuite)", "structured perceptron (crfsuite)"
ALGORITHMS = {CRF: "lbfgs", PERCEPTRON: "averaged-perceptron"}
SEARN_ITERATIONS = 2  # further ones change little (Fig. 6)
EARLY = 5


def scores(task: str, way: str, fast: bool) -> Judged:
    """Of a learner alone or with SEARN."""
    kind, _, how = way.partition(", ")
    if how == "alone":
        return alone(task, fast, kind)
    return judged(task, fast, SEARN_ITERATIONS, kind=kind, beam=searn.BEAM)


def peer_scores(task: str, tool: str, fast: bool) -> Judged:
    return peer(task, ALGORITHMS[tool], fast)


def _those(tasks: Sequence[str], fast: bool) -> list[str]:
    return [task for task in tasks if not fast or task in FAST]


def _asks(figure: str, bound: float, tasks: Sequence[str]) -> list[Ask]:
    return [
        at_least(figure.format(task), bound, full_only=task not in FAST)
        for task in tasks
    ]


@declare(
    "daume2009-table-1-searn-helps",
    asks=[ask for kind in LEARNERS for ask in _asks(f"{kind}, {{}}", 0, ALL)],
)
def _searn_helps(fast: bool) -> Figures:
    return {
        f"{kind}, {task}": gain(
            scores(task, f"{kind}, SEARN", fast), scores(task, f"{kind}, alone", fast)
        )
        for task in _those(ALL, fast)
        for kind in LEARNERS
    }


@declare("daume2009-table-1-structure-helps")
def _structure_helps(fast: bool) -> Figures:
    return {
        f"{tool} over {kind}, {task}": gain(
            peer_scores(task, tool, fast), scores(task, f"{kind}, alone", fast)
        )
        for task in _those(PEERS, fast)
        for tool, kind in ((CRF, "logistic"), (PERCEPTRON, "perceptron"))
    }


@declare(
    "daume2009-table-1-more-data",
    asks=[
        at_least(f"{kind}, {how}, {name}", 0, full_only=True)
        for name in ("letters", "NER")
        for kind in LEARNERS
        for how in ("alone", "SEARN")
    ],
)
def _more_data(fast: bool) -> Figures:
    pairs = {} if fast else {"letters": (LARGE, SMALL), "NER": (NER, NER_300)}
    return {
        f"{kind}, {how}, {name}": gain(
            scores(large, f"{kind}, {how}", fast),
            scores(small, f"{kind}, {how}", fast).first(RUNS[LARGE]),
        )
        for name, (large, small) in pairs.items()
        for kind in LEARNERS
        for how in ("alone", "SEARN")
    }


@declare("daume2009-table-1-simple-on-large")
@declare("daume2009-table-1-simple-on-large-m3n")
def _simple_on_large(fast: bool) -> Figures:
    if fast:
        return {}
    return {
        "svm alone, large letters, over CRF, small": gain(
            scores(LARGE, "svm, alone", fast),
            peer_scores(SMALL, CRF, fast).first(RUNS[LARGE]),
        ),
        "logistic alone, NER, over CRF, 300 sentences": gain(
            scores(NER, "logistic, alone", fast), peer_scores(NER_300, CRF, fast)
        ),
    }


@declare("daume2009-table-1-comparable")
def _comparable(fast: bool) -> Figures:
    return {
        f"SEARN over CRF, {task}": gain(
            scores(task, "logistic, SEARN", fast), peer_scores(task, CRF, fast)
        )
        for task in _those(PEERS, fast)
    }


@declare(
    "daume2009-table-1-logistic",
    asks=[
        *_asks("logistic over perceptron, {}", -0.5, TEXTS),
        *_asks("logistic over svm, {}", -0.5, TEXTS),
        *_asks("svm over logistic, {}", 0, LETTERS),
    ],
)
def _logistic_on_top(fast: bool) -> Figures:
    figures = {
        f"logistic over {kind}, {task}": gain(
            scores(task, "logistic, SEARN", fast), scores(task, f"{kind}, SEARN", fast)
        )
        for task in _those(TEXTS, fast)
        for kind in ("perceptron", "svm")
    }
    for task in _those(LETTERS, fast):
        figures[f"svm over logistic, {task}"] = gain(
            scores(task, "svm, SEARN", fast), scores(task, "logistic, SEARN", fast)
        )
    return figures


@declare("daume2009-figure-6")
def _figure_6(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for task in _those(FIGURE_TASKS, fast):
        first, early, last = (judged(task, fast, n) for n in (1, EARLY, ITERATIONS))
        figures[f"iteration 5 over 1, {task}"] = gain(early, first)
        figures[f"iteration 15 over 5, {task}"] = gain(last, early)
    return figures


@declare("daume2009-section-6-1-8")
def _order(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    significant = 0
    for learner in ("perceptron", "logistic"):
        found = orders.both_orders("ner", learner, 400 if fast else None)
        low, high = found.interval
        left, right = found.scores
        figures[f"right less left, F1, {learner}"] = Estimate(right - left, low, high)
        significant += low > 0 or high < 0
    return {**figures, "differences that are significant": float(significant)}
