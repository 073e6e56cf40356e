"""5. Fig. 6 and section 6.1.8 of the paper: iterations, and the order of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import emit

from argmetric.search import (
    LearnedOrder,
    LinearLearner,
    Searn,
    SequenceLabelling,
)
from argmetric.sequence import read_chunks
from search_parts import figure_six, searn
from search_parts.controls import letter_task, own_row, pixel_words
from search_parts.data import chunks, simple_table, spanish

RESAMPLES = 1000


def run(*, quick: bool, figures: Path | None) -> str:
    """Measure, draw, and return the tables."""
    tables = [_order(quick), _learned_order(quick)]
    figure_six.run(quick=quick, figures=figures)
    return "\n\n".join(tables)


def _order(quick: bool) -> str:
    """6.1.8: from the left or from the right, with an interval for the difference."""
    rows = []
    for task, name in (("ner", spanish().name), ("chunk", chunks().name)):
        for learner in ("perceptron", "logistic"):
            found = both_orders(task, learner, 200 if quick else None)
            scores, tokens = found.scores, found.tokens
            low, high = found.interval
            emit(
                "paper",
                f"6.1.8: {name}, {learner}: right less left",
                scores[1] - scores[0],
                "F1, %",
                left=scores[0],
                right=scores[1],
                interval_95=[low, high],
                token_accuracy=tokens,
            )
            cells = [f"{score:.2f}" for score in scores]
            accuracy = " / ".join(f"{value:.2f}" for value in tokens)
            interval = f"{scores[1] - scores[0]:+.2f} ({low:+.2f} to {high:+.2f})"
            rows.append((name, learner, *cells, interval, accuracy))
    head = ("corpus", "learner", "left", "right", "difference (95 %)", "token accuracy")
    return simple_table(head, rows)


@dataclass(frozen=True)
class Orders:
    """F1 and token accuracy from the left and the right; of F1 the difference."""

    scores: list[float]
    tokens: list[float]
    interval: tuple[float, float]


def both_orders(task: str, learner: str, n: int | None) -> Orders:
    """SEARN from the left and from the right, learned from the same sentences."""
    left = searn.text(task, n, n)
    right = searn.text(task, n, n, mirrored=True)
    options: dict[str, Any] = {"kind": learner, "beta": 1.0, "iterations": 2}
    gold = left.gold
    found = [
        searn.decoded(searn.fitted(one, **options), one, beam=searn.BEAM)
        for one in (left, right)
    ]
    found[1] = list(map(right.task(2).mirrored, found[1]))
    return Orders(
        [searn.chunk_f1(gold, one) for one in found],
        [_token_accuracy(gold, one) for one in found],
        _interval(gold, *found),
    )


def _token_accuracy(gold: Sequence[Any], found: Sequence[Any]) -> float:
    n = sum(map(len, gold))
    pairs = zip(gold, found, strict=True)
    return 100.0 * sum(x == y for a, b in pairs for x, y in zip(a, b, strict=True)) / n


def _interval(gold: Sequence[Any], left: Any, right: Any) -> tuple[float, float]:
    """Of the difference in F1, sentences resampled."""

    def counts(found: Any) -> np.ndarray:
        rows = []
        for a, b in zip(gold, found, strict=True):
            true, mine = set(read_chunks(a)), set(read_chunks(b))
            rows.append((2 * len(true & mine), len(true) + len(mine)))
        return np.array(rows)

    one, two = counts(left), counts(right)
    draws = np.random.default_rng(0).integers(len(one), size=(RESAMPLES, len(one)))
    gaps = []
    for rows in draws:
        a, b = one[rows].sum(axis=0), two[rows].sum(axis=0)
        gaps.append(100.0 * (b[0] / b[1] - a[0] / a[1]))
    low, high = np.quantile(gaps, (0.025, 0.975))
    return float(low), float(high)


def _learned_order(quick: bool) -> str:
    """6.1.8: let the policy choose where to go on; every step offers 26 n actions."""
    X, Y = pixel_words(0, 20 if quick else 200)
    X_test, Y_test = pixel_words(1, 20 if quick else 300)
    tasks = {
        "from the left": letter_task(1),
        "from the right": SequenceLabelling(
            range(26), features=own_row, history=1, order="right"
        ),
        "learned": LearnedOrder(range(26), features=own_row),
    }
    rows = []
    for name, task in tasks.items():
        learner = LinearLearner(epochs=6, target=task.target)
        searn = Searn(task, learner, beta=1.0, iterations=2).fit(X, Y)
        score = 100.0 * searn.score(X_test, Y_test)
        emit("paper", f"6.1.8: letters, 200 words, order {name}", score, "letters, %")
        rows.append((name, f"{score:.1f}"))
    return simple_table(("order, letters of 200 words", "letters, %"), rows)
