"""The parser of docs/own_task.rst: a `Task` of 60 lines, learned by `Searn`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from harness import Target, cpu_seconds, emit

from argmetric.search import LinearLearner, Searn, Tree, read_trees
from search_parts.data import data_file

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from parsing_by_search import Parsing, padded, uas

TARGETS: dict[int, Target] = {1: (">=", 86.6), 8: (">=", 87.2)}


def run(*, quick: bool) -> None:
    train, test = (pairs(name, 60 if quick else None) for name in ("train", "test"))
    n_words = sum(len(y) - 1 for y in test[1])
    learn(Parsing(), (train[0][:8], train[1][:8]), None, 0)  # compilers
    searn, spent = learn(Parsing(), train, 4, 0)
    emit("own task", "training", spent, "CPU s")
    for beam in (1, 8):
        searn.set_params(beam=beam)
        right = 100 * uas(test[1], searn.predict(test[0]))
        emit("own task", f"UAS, beam {beam}", right, "%", TARGETS[beam])
        parse = partial(searn.predict, test[0])
        speed = n_words / min(cpu_seconds(parse) for _ in range(3))
        emit("own task", f"speed, beam {beam}", speed, "words / CPU s")


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
        task, learner, beta=1.0, iterations=3, cross_validation=folds, random_state=seed
    )
    return searn, cpu_seconds(lambda: searn.fit(*train))
