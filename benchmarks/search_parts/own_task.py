"""The parser of docs/own_task.rst: a `Task` of 60 lines, learned by `Searn`."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from harness import Target, cpu_seconds, emit

from argmetric.search import LinearLearner, Searn, Tree, read_trees
from search_parts.data import data_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from parsing_by_search import Parsing, padded, uas

TARGETS: dict[int, Target] = {1: (">=", 86.6), 8: (">=", 87.2)}
SAME, CROSS = "in-sample roll-in", "cross-fitted roll-in"


class Values(Parsing):
    """The same parser, whose every step makes a new state."""

    def copy(self, state: Any) -> Any:
        return state

    def _in_place(self) -> bool:
        return False

    def step(self, x: Any, state: Any, action: str) -> Any:
        return super().step(x, super().copy(state), action)


def run(*, quick: bool) -> str:
    train, test = (pairs(name, 60 if quick else None) for name in ("train", "test"))
    n_words = sum(len(y) - 1 for y in test[1])
    learn(Parsing(), (train[0][:8], train[1][:8]), None, 0)  # compilers
    for name, folds in ((SAME, None), (CROSS, 4)):
        searn, spent = learn(Parsing(), train, folds, 0)
        emit("own task", f"training, {name}", spent, "CPU s")
        losses = [row.roll_in_loss for row in searn.history_]
        unseen = searn.history_[0].unseen_mistakes
        emit(
            "own task",
            f"mistakes on training inputs, {name}",
            100 * searn.history_[0].mistakes,
            "%",
            on_inputs_not_seen=unseen and 100 * unseen,
            roll_in_losses=losses,
        )
        for beam in (1, 8):
            searn.set_params(beam=beam)
            right = 100 * uas(test[1], searn.predict(test[0]))
            target = TARGETS[beam] if name == CROSS else None
            emit("own task", f"UAS, {name}, beam {beam}", right, "%", target)
    for beam in (1, 8):
        searn.set_params(beam=beam)
        found = searn.predict(test[0])
        for name, task in (
            ("in place", Parsing()),
            ("that copy", Values()),
        ):
            with_task(searn, task)
            parse = partial(searn.predict, test[0])
            speed = n_words / min(cpu_seconds(parse) for _ in range(3))
            same = searn.predict(test[0]) == found
            what = f"speed, steps {name}, beam {beam}"
            emit("own task", what, speed, "words / CPU s", same_trees=same)
    return ""


def read(name: str, most: int | None = None) -> list[Tree]:
    """Return the first trees of a file of deptb."""
    return read_trees(data_file(f"deptb/{name}.dp"))[:most]


def pairs(name: str, most: int | None) -> tuple[list[Any], list[Any]]:
    trees = read(name, most)
    X = [padded(tree.words, tree.tags) for tree in trees]
    return X, [[-1, *tree.heads.tolist()] for tree in trees]


def learn(
    task: Parsing, train: Any, folds: int | None, seed: int
) -> tuple[Searn, float]:
    learner = LinearLearner(epochs=8, hash_bits=20)
    searn = Searn(
        task,
        learner,
        beta=1.0,
        iterations=3,
        cross_validation=folds,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows say it
        spent = cpu_seconds(lambda: searn.fit(*train))
    return searn, spent


def with_task(searn: Searn, task: Parsing) -> None:
    """What was learned, for another task with the same features."""
    searn._search_task = task
    learned = tuple(replace(one, task=task) for one in searn.policy_.learned)
    searn.policy_ = replace(searn.policy_, learned=learned)
