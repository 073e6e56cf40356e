"""3b. What the paper is about: costs, reductions, mixing, cross-fitted roll-in.

Here `Searn` calls Python for every decision, and therefore on samples: three blocks of
200 sentences. Differences below a point may be noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import emit

from argmetric.search import (
    AllPairs,
    LinearLearner,
    OneAgainstAll,
    Searn,
    WordChunking,
    default_templates,
)
from search_parts import peers
from search_parts.data import (
    chunks,
    gold_of,
    mean_and_error,
    strict_f1,
    timed,
)

SENTENCES, TEST_SENTENCES, BLOCKS = 200, 300, 3
Sample = tuple[list[Any], list[Any], list[Any], list[Any]]


@dataclass(frozen=True)
class Trial:
    """One way to train, and where it stands in the table."""

    name: str
    learner: Any
    options: dict[str, Any]
    task: str = "task"


class ZeroOneChunking(WordChunking):
    """Chunks learned label by label: every label but the right one costs 1."""

    def costs(self, x: Any, y: Any, state: Any) -> Sequence[float]:
        right = y[len(state)]
        return [float(label != right) for label in self.actions(x, state)]


def own_row(x: Any, i: int) -> Any:
    """The features of token i, as they are given."""
    return x[i]


def sgd() -> Any:
    """The same weighted binary classifier for both reductions."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        "log_loss", alpha=1e-5, max_iter=8, tol=None, average=True, random_state=0
    )


_TWICE: dict[str, Any] = {"beta": 1.0, "iterations": 2}


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
    linear = LinearLearner(epochs=6)
    tasks = {
        "F1": lambda: WordChunking(types, features=own_row),
        "0/1": lambda: ZeroOneChunking(types, features=own_row),
    }
    trials = [
        Trial(
            "0/1 costs, β = 1, 1 iteration", linear, {**_TWICE, "iterations": 1}, "0/1"
        ),
        Trial("0/1 costs, β = 1, 3 iterations", linear, _THRICE, "0/1"),
        Trial(
            "F1 regrets, β = 1, 1 iteration", linear, {**_TWICE, "iterations": 1}, "F1"
        ),
        Trial("F1 regrets, β = 1, 3 iterations", linear, _THRICE, "F1"),
        Trial(
            "F1 regrets, target reward, β = 1, 3 iterations",
            LinearLearner(epochs=6, target="reward"),
            _THRICE,
            "F1",
        ),
        Trial(
            "F1 regrets, β = 0.3, 6 iterations",
            linear,
            {"beta": 0.3, "iterations": 6},
            "F1",
        ),
        Trial(
            "F1 regrets, β = 1, 3 iterations, 5-fold roll-in",
            linear,
            {**_THRICE, "cross_validation": 5},
            "F1",
        ),
        Trial("F1 regrets, weighted all pairs", AllPairs(sgd()), _TWICE, "F1"),
        Trial("F1 regrets, one against all", OneAgainstAll(sgd()), _TWICE, "F1"),
        Trial("0/1 costs, weighted all pairs", AllPairs(sgd()), _TWICE, "0/1"),
        Trial("0/1 costs, one against all", OneAgainstAll(sgd()), _TWICE, "0/1"),
    ]

    def score(searn: Searn, X: list[Any], Y: list[Any]) -> float:
        return strict_f1([list(y) for y in Y], [list(y) for y in searn.predict(X)])

    _emit_trials(f"chunks, {n} sentences", "F1, %", trials, tasks, samples, score)


_THRICE: dict[str, Any] = {"beta": 1.0, "iterations": 3}


def _emit_trials(
    title: str,
    unit: str,
    trials: Sequence[Trial],
    tasks: dict[str, Any],
    samples: Sequence[Sample],
    score: Callable[[Searn, list[Any], list[Any]], float],
) -> str:
    base: list[float] = []
    for trial in trials:
        scores, seconds, agreement = [], 0.0, 0.0
        for X, Y, X_test, Y_test in samples:
            searn = Searn(tasks[trial.task](), trial.learner, **trial.options)
            _, spent = timed(lambda s=searn, a=X, b=Y: s.fit(a, b))
            scores.append(score(searn, X_test, Y_test))
            seconds += spent / len(samples)
            agreement += searn.history_[-1].roll_in_loss / len(samples)
        base = base or scores
        mean, spread = mean_and_error(scores)
        gain, error = mean_and_error(np.subtract(scores, base))
        emit(
            "controls",
            f"{title}: {trial.name}",
            mean,
            unit,
            spread=spread,
            over_first=gain,
            spread_over_first=error,
            runs=scores,
            train_cpu_seconds=seconds,
            last_roll_in_loss=agreement,
        )
