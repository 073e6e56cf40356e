"""3b. Costs that follow F1 beside 0/1 costs.

Here `Searn` calls Python for every decision, and therefore on samples: three blocks of
200 sentences. Differences below a point may be noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from harness import emit

from argmetric.search import LinearLearner, Searn, WordChunking, default_templates
from search_parts import peers
from search_parts.data import chunks, gold_of, mean_and_error, strict_f1, timed

SENTENCES, TEST_SENTENCES, BLOCKS = 200, 300, 3


class ZeroOneChunking(WordChunking):
    """Chunks learned label by label: every label but the right one costs 1."""

    def costs(self, x: Any, y: Any, state: Any) -> Sequence[float]:
        right = y[len(state)]
        return [float(label != right) for label in self.actions(x, state)]


def own_row(x: Any, i: int) -> Any:
    """The features of token i, as they are given."""
    return x[i]


def run(*, quick: bool) -> None:
    corpus = chunks()
    attributes = peers.TemplateAttributes(default_templates("chunk"))
    labels = {label for s in corpus.train for label in s.labels}
    types = sorted({label[2:] for label in labels if label != "O"})
    n = 20 if quick else SENTENCES

    def part(sentences: list[Any]) -> tuple[list[Any], list[Any]]:
        X = [attributes(s.columns) for s in sentences]
        return X, [tuple(y) for y in gold_of(sentences)]

    tests = part([s for s in corpus.test if "I-LST" not in s.labels][:TEST_SENTENCES])
    blocks = range(1 if quick else BLOCKS)
    samples = [(*part(corpus.train[b * n : (b + 1) * n]), *tests) for b in blocks]
    tasks = {
        "0/1 costs": lambda: ZeroOneChunking(types, features=own_row),
        "F1 regrets": lambda: WordChunking(types, features=own_row),
    }
    base: list[float] = []
    for (costs, task), iterations in product(tasks.items(), (1, 3)):
        scores, seconds = [], 0.0
        for X, Y, X_test, Y_test in samples:
            options: dict[str, Any] = {"beta": 1.0, "iterations": iterations}
            searn = Searn(task(), LinearLearner(epochs=6), **options)
            seconds += timed(partial(searn.fit, X, Y))[1] / len(samples)
            labels = [list(y) for y in searn.predict(X_test)]
            scores.append(strict_f1([list(y) for y in Y_test], labels))
        base = base or scores
        mean, spread = mean_and_error(scores)
        gain, error = mean_and_error(np.subtract(scores, base))
        emit(
            "controls", f"chunks, {n} sentences: {costs}, {iterations} iterations",
            mean, "F1, %", spread=spread, over_first=gain, spread_over_first=error,
            train_cpu_seconds=seconds,
        )  # fmt: skip
