"""Daumé et al. (2009): Table 1, Fig. 6 and section 6.1.8, on what is at hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from search_parts import figure_six, table_one
from search_parts import paper as orders
from search_parts.data import spanish

from papers_parts.claim import (
    Ask,
    Claim,
    Estimate,
    Figures,
    at_least,
    at_most,
    within,
)

LEARNERS = table_one.LEARNERS
SMALL, LARGE, NER_300, NER, CHUNKS, JOINT = (
    "letters, small",
    "letters, large",
    "NER, 300",
    "NER",
    "chunks",
    "chunks + tags",
)
FAST_TASKS = (SMALL, LARGE, NER_300, CHUNKS)  # of those a fast run has time for
FAST_PEERS = (SMALL, NER_300, CHUNKS)
PEERS = (SMALL, LARGE, NER_300, NER, CHUNKS)
CRF, PERCEPTRON = "CRF (crfsuite)", "structured perceptron (crfsuite)"
TASKS_DATA = (
    "the paper's sets, with features of ours, chunks decided word by word (fast: a "
    "third of the letters, 300 sentences, fewer tasks)"
)
ONCE = "one seed"


@cache
def _tasks(fast: bool) -> Any:
    return table_one.tasks(*((3, 300) if fast else (1, None)))


@cache
def _score(task: str, way: str, fast: bool) -> float:
    """Of a learner alone or with SEARN, or of a peer, in percent."""
    measure, peer = _tasks(fast)[task]
    learner, _, how = way.partition(", ")
    if not how:
        return float(peer(way)[0])
    return float(measure(learner, "none" if how == "alone" else "mixed")[0])


def _those(tasks: tuple[str, ...], few: tuple[str, ...], fast: bool) -> tuple[str, ...]:
    return tuple(task for task in tasks if not fast or task in few)


def _asks(figure: str, bound: float, tasks: tuple[str, ...], few: Any) -> list[Ask]:
    return [
        at_least(figure.format(task), bound, full_only=task not in few)
        for task in tasks
    ]


ALL = (SMALL, LARGE, NER_300, NER, CHUNKS, JOINT)


def _searn_helps(fast: bool) -> Figures:
    return {
        f"{learner}, {task}": _score(task, f"{learner}, SEARN", fast)
        - _score(task, f"{learner}, alone", fast)
        for task in _those(ALL, FAST_TASKS, fast)
        for learner in LEARNERS
    }


def _structure_helps(fast: bool) -> Figures:
    figures = {}
    for task in _those(PEERS, FAST_PEERS, fast):
        pairs = ((CRF, "logistic"), (PERCEPTRON, "perceptron"))
        for peer, learner in pairs:
            figures[f"{peer} over {learner}, {task}"] = _score(
                task, peer, fast
            ) - _score(task, f"{learner}, alone", fast)
    return figures


def _more_data(fast: bool) -> Figures:
    pairs = {"letters": (LARGE, SMALL)} | ({} if fast else {"NER": (NER, NER_300)})
    return {
        f"{learner}, {how}, {name}": _score(large, f"{learner}, {how}", fast)
        - _score(small, f"{learner}, {how}", fast)
        for name, (large, small) in pairs.items()
        for learner in LEARNERS
        for how in ("alone", "SEARN")
    }


def _simple_on_large(fast: bool) -> Figures:
    figures = {
        "svm alone, large letters, over CRF, small": _score(LARGE, "svm, alone", fast)
        - _score(SMALL, CRF, fast)
    }
    if not fast:
        figures["logistic alone, NER, over CRF, 300 sentences"] = _score(
            NER, "logistic, alone", fast
        ) - _score(NER_300, CRF, fast)
    return figures


def _comparable(fast: bool) -> Figures:
    return {
        f"best SEARN over CRF, {task}": max(
            _score(task, f"{learner}, SEARN", fast) for learner in LEARNERS
        )
        - _score(task, CRF, fast)
        for task in _those(PEERS, FAST_PEERS, fast)
    }


def _logistic_on_top(fast: bool) -> Figures:
    text = (NER_300, NER, CHUNKS, JOINT)
    figures = {
        f"logistic less the best SEARN, {task}": _score(task, "logistic, SEARN", fast)
        - max(_score(task, f"{learner}, SEARN", fast) for learner in LEARNERS)
        for task in _those(text, FAST_TASKS, fast)
    }
    for task in (SMALL, LARGE):
        figures[f"svm over logistic, {task}"] = _score(
            task, "svm, SEARN", fast
        ) - _score(task, "logistic, SEARN", fast)
    return figures


@cache
def _iterations(fast: bool) -> dict[str, list[float]]:
    problems = figure_six.small_tasks(30 if fast else figure_six.SMALL)
    kinds = ("logistic",) if fast else LEARNERS
    return {
        f"{kind}, {title}": figure_six.losses_by_iteration(
            problem, kind, figure_six.ITERATIONS
        )
        for title, problem in problems.items()
        for kind in kinds
    }


FIGURE_SIX = ("handwriting", "Spanish NER", "chunking", "chunking + tagging")


def _figure_6(fast: bool) -> Figures:
    figures = {}
    for name, losses in _iterations(fast).items():
        figures[f"best iteration, {name}"] = float(np.argmin(losses) + 1)
        figures[f"loss of the first over the best, {name}"] = losses[0] / min(losses)
    return figures


def _order(fast: bool) -> Figures:
    figures: dict[str, float | Estimate] = {}
    significant = 0
    for learner in ("perceptron", "logistic"):
        cut = slice(0, 400 if fast else None)
        found = orders.both_orders("ner", spanish(), learner, cut)
        low, high = found.interval
        left, right = found.scores
        figures[f"right less left, F1, {learner}"] = Estimate(right - left, low, high)
        figures[f"right less left, token accuracy, {learner}"] = (
            found.tokens[1] - found.tokens[0]
        )
        significant += low > 0 or high < 0
    return {**figures, "differences that are significant": float(significant)}


CLAIMS = (
    Claim(
        "daume2009-table-1-searn-helps",
        "Table 1",
        "For all classifiers, adding SEARN improves the score.",
        _searn_helps,
        [
            ask
            for learner in LEARNERS
            for ask in _asks(f"{learner}, {{}}", 0, ALL, FAST_TASKS)
        ],
        data=TASKS_DATA,
        seeds=ONCE,
    ),
    Claim(
        "daume2009-table-1-structure-helps",
        "Table 1",
        "Structured techniques outperform their classification counterparts.",
        _structure_helps,
        [
            *_asks(f"{CRF} over logistic, {{}}", 0, PEERS, FAST_PEERS),
            *_asks(f"{PERCEPTRON} over perceptron, {{}}", 0, PEERS, FAST_PEERS),
        ],
        data=TASKS_DATA,
        seeds=ONCE,
    ),
    Claim(
        "daume2009-table-1-more-data",
        "Table 1",
        "Whatever the algorithm, the large set gives better scores than the small one.",
        _more_data,
        [
            at_least(f"{learner}, {how}, {name}", 0, full_only=name == "NER")
            for name in ("letters", "NER")
            for learner in LEARNERS
            for how in ("alone", "SEARN")
        ],
        data=TASKS_DATA,
        seeds=ONCE,
    ),
    Claim(
        "daume2009-table-1-simple-on-large",
        "Table 1",
        "Simple techniques on large sets outperform complicated ones on small sets.",
        _simple_on_large,
        [
            at_least("svm alone, large letters, over CRF, small", 0),
            at_least("logistic alone, NER, over CRF, 300 sentences", 0, full_only=True),
        ],
        data=TASKS_DATA,
        seeds=ONCE,
    ),
    Claim(
        "daume2009-table-1-comparable",
        "Table 1",
        "SEARN performs comparably to structured techniques or better.",
        _comparable,
        _asks("best SEARN over CRF, {}", -0.5, PEERS, FAST_PEERS),
        data=TASKS_DATA,
        seeds=ONCE,
        printed={"chunks, F1 of SEARN and CRF": "94.47 and 94.77"},
        remark="Half a point counts as comparable.",
    ),
    Claim(
        "daume2009-table-1-logistic",
        "Table 1",
        "Except on handwriting, SEARN with logistic regression is at the top; there "
        "the SVM is better.",
        _logistic_on_top,
        [
            *_asks(
                "logistic less the best SEARN, {}",
                -0.5,
                (NER_300, NER, CHUNKS, JOINT),
                FAST_TASKS,
            ),
            *_asks("svm over logistic, {}", 0, (SMALL, LARGE), FAST_TASKS),
        ],
        data=TASKS_DATA,
        seeds=ONCE,
        remark="Half a point below the best counts as the top.",
    ),
    Claim(
        "daume2009-section-6-1-8",
        "Section 6.1.8",
        "On Spanish entities, from the right is slightly worse than from the left, and "
        "not significantly.",
        _order,
        [
            at_most("right less left, F1, perceptron", 0),
            at_most("right less left, F1, logistic", 0),
            at_most("differences that are significant", 0),
        ],
        data="CoNLL-2002, Spanish (fast: 400 sentences)",
        seeds="one seed; intervals by resampling sentences",
        printed={
            "right less left, token accuracy, perceptron": "97.40 − 97.67",
            "right less left, token accuracy, logistic": "97.98 − 98.17",
        },
    ),
    Claim(
        "daume2009-figure-6",
        "Fig. 6, section 6.1.9",
        "With β = 1 an optimum is reached in 5 to 15 iterations.",
        _figure_6,
        [
            within(
                f"best iteration, {kind}, {title}", 5, 15, full_only=kind != "logistic"
            )
            for title in FIGURE_SIX
            for kind in LEARNERS
        ],
        data="300 inputs of each of four tasks, ten iterations (fast: 30, one learner)",
        seeds=ONCE,
    ),
)
