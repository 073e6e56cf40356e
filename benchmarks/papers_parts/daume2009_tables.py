"""Daumé et al. (2009): Table 1, Fig. 6 and section 6.1.8, by SEARN as published."""

from __future__ import annotations

from collections.abc import Sequence

from search_parts import paper as orders
from search_parts import searn

from papers_parts import daume2009_searn
from papers_parts.claim import Ask, Estimate, Figures, at_least, at_most, declare
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


def _searn_helps(fast: bool) -> Figures:
    return {
        f"{kind}, {task}": gain(
            scores(task, f"{kind}, SEARN", fast), scores(task, f"{kind}, alone", fast)
        )
        for task in _those(ALL, fast)
        for kind in LEARNERS
    }


def _structure_helps(fast: bool) -> Figures:
    return {
        f"{tool} over {kind}, {task}": gain(
            peer_scores(task, tool, fast), scores(task, f"{kind}, alone", fast)
        )
        for task in _those(PEERS, fast)
        for tool, kind in ((CRF, "logistic"), (PERCEPTRON, "perceptron"))
    }


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


def _comparable(fast: bool) -> Figures:
    return {
        f"SEARN over CRF, {task}": gain(
            scores(task, "logistic, SEARN", fast), peer_scores(task, CRF, fast)
        )
        for task in _those(PEERS, fast)
    }


def _logistic_on_top(fast: bool) -> Figures:
    figures = {
        f"logistic over {kind}, {task}": gain(
            scores(task, "logistic, SEARN", fast), scores(task, f"{kind}, SEARN", fast)
        )
        for task in _those((NER_300, NER, CHUNKS, JOINT), fast)
        for kind in ("perceptron", "svm")
    }
    for task in _those((SMALL, LARGE), fast):
        figures[f"svm over logistic, {task}"] = gain(
            scores(task, "svm, SEARN", fast), scores(task, "logistic, SEARN", fast)
        )
    return figures


def _figure_6(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    for task in _those(FIGURE_TASKS, fast):
        first, early, last = (judged(task, fast, n) for n in (1, EARLY, ITERATIONS))
        figures[f"iteration 5 over 1, {task}"] = gain(early, first)
        figures[f"iteration 15 over 5, {task}"] = gain(last, early)
    return figures


def _order(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    significant = 0
    for learner in ("perceptron", "logistic"):
        found = orders.both_orders("ner", learner, 400 if fast else None)
        low, high = found.interval
        left, right = found.scores
        figures[f"right less left, F1, {learner}"] = Estimate(right - left, low, high)
        figures[f"right less left, token accuracy, {learner}"] = (
            found.tokens[1] - found.tokens[0]
        )
        significant += low > 0 or high < 0
    return {**figures, "differences that are significant": float(significant)}


CLAIMS = (
    declare(
        "daume2009-table-1-searn-helps",
        _searn_helps,
        [ask for kind in LEARNERS for ask in _asks(f"{kind}, {{}}", 0, ALL)],
    ),
    declare(
        "daume2009-table-1-structure-helps",
        _structure_helps,
        [
            *_asks(f"{CRF} over logistic, {{}}", 0, PEERS),
            *_asks(f"{PERCEPTRON} over perceptron, {{}}", 0, PEERS),
        ],
    ),
    declare(
        "daume2009-table-1-more-data",
        _more_data,
        [
            at_least(f"{kind}, {how}, {name}", 0, full_only=True)
            for name in ("letters", "NER")
            for kind in LEARNERS
            for how in ("alone", "SEARN")
        ],
    ),
    declare(
        "daume2009-table-1-simple-on-large",
        _simple_on_large,
        [at_least("logistic alone, NER, over CRF, 300 sentences", 0, full_only=True)],
    ),
    declare(
        "daume2009-table-1-simple-on-large-m3n",
        _simple_on_large,
        [at_least("svm alone, large letters, over CRF, small", 0, full_only=True)],
    ),
    declare(
        "daume2009-table-1-comparable",
        _comparable,
        _asks("SEARN over CRF, {}", -0.5, PEERS),
    ),
    declare(
        "daume2009-table-1-logistic",
        _logistic_on_top,
        [
            *(
                ask
                for kind in ("perceptron", "svm")
                for ask in _asks(
                    f"logistic over {kind}, {{}}", -0.5, (NER_300, NER, CHUNKS, JOINT)
                )
            ),
            *_asks("svm over logistic, {}", 0, (SMALL, LARGE)),
        ],
    ),
    declare(
        "daume2009-section-6-1-8",
        _order,
        [
            at_most("right less left, F1, perceptron", 0),
            at_most("right less left, F1, logistic", 0),
            at_most("differences that are significant", 0),
        ],
    ),
    declare(
        "daume2009-figure-6",
        _figure_6,
        [
            *_asks("iteration 5 over 1, {}", 0, FIGURE_TASKS),
            *(
                at_most(f"iteration 15 over 5, {task}", 0.5, full_only=task not in FAST)
                for task in FIGURE_TASKS
            ),
        ],
    ),
    *daume2009_searn.CLAIMS,
)
