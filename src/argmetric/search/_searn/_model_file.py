"""Save policies in files: one archive of arrays and JSON, nothing that is executed.

A task is code and stays out. The file names it, with those arguments of its constructor
that JSON can hold, so that loading refuses another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._ground import saving
from argmetric._ground.saving import Arrays
from argmetric._ground.whole_files import DataError
from argmetric.metrics import Metric, metric_to_dict
from argmetric.search._searn._iterate import History, Iteration
from argmetric.search._searn._learners import LinearLearner, LinearScorer
from argmetric.search._searn._policy import LearnedPolicy, Mixture
from argmetric.search._searn._task import Task, check_is_task, quote
from argmetric.search.learning import dense, sparse

if TYPE_CHECKING:
    from argmetric.search._searn._searn import Searn

_FORMAT = "argmetric searn"
_VERSION = 1
_WHAT = "Searn"
_MOST_BITS = 30
_MOST_NUMBERS = 10_000  # of an array that is compared


def save(searn: Searn, path: str | os.PathLike[str]) -> None:
    """Write a fitted Searn; the file is replaced whole or not at all."""
    policy, history = searn._fitted_policy(), searn.history_
    arguments = searn.get_params()
    task, learner = arguments.pop("task"), arguments.pop("learner")
    scorers = [_linear(one.scorer, learner) for one in policy.learned]
    arrays: Arrays = {}
    for number, scorer in enumerate(scorers):
        arrays |= sparse(f"policy{number}", scorer.weights)
    header = {
        "task": facts(task),
        "arguments": arguments,
        "learner": learner if isinstance(learner, str) else asdict(learner),
        "betas": policy.betas,
        "policies": [
            {"hash_bits": 64 - int(one.shift), "quadratic": one.quadratic}
            for one in scorers
        ],
        "history": history.to_dict(),
        "best": history.best,
        "stopped": history.stopped,
    }
    saving.write_archive(path, _FORMAT, _VERSION, header, arrays)


def load(kind: type[Searn], path: str | os.PathLike[str], task: Task) -> Searn:
    """Read a Searn for the task that it was fitted to."""
    check_is_task(task)
    header, arrays = saving.read_archive(path, _FORMAT, _VERSION, _WHAT)
    with saving.whole(path, _WHAT):
        _check_same_task(path, header["task"], facts(task))
        learner = header["learner"]
        if not isinstance(learner, str):
            learner = LinearLearner(**learner)
        searn = kind(task, learner, **header["arguments"])._start()
        learned = tuple(
            LearnedPolicy(searn._search_task, _scorer(f"policy{number}", arrays, **one))
            for number, one in enumerate(header["policies"])
        )
        betas = tuple(map(float, header["betas"]))
        if len(betas) != len(learned):
            raise ValueError(f"{len(betas)} betas of {len(learned)} policies")
        searn.policy_ = Mixture(None, learned, betas)
        restored = saving.restore_values
        rows = tuple(
            Iteration(**{name: restored(value) for name, value in row.items()})
            for row in header["history"]
        )
        searn.history_ = History(rows, header["best"], header["stopped"])
    return searn


def _linear(scorer: object, learner: object) -> LinearScorer:
    """Return the scorer if it is linear: only such models can be saved."""
    known = isinstance(learner, str) or type(learner) is LinearLearner
    if known and isinstance(scorer, LinearScorer):
        return scorer
    raise TypeError(
        f"a Searn with the learner {quote(learner)} cannot be saved: a file holds "
        "numbers and nothing that is run, that is hashed weights of LinearLearner; fit "
        'it with LinearLearner(), "logistic", "perceptron" or "svm", or pickle it'
    )


def _scorer(name: str, arrays: Arrays, hash_bits: int, quadratic: bool) -> LinearScorer:
    if not 1 <= hash_bits <= _MOST_BITS:
        raise ValueError(f"hash_bits={hash_bits}")
    weights = dense(name, arrays, 2**hash_bits, np.float64)
    return LinearScorer(weights, np.uint64(64 - hash_bits), bool(quadratic))


def facts(task: Task) -> dict[str, Any]:
    """Return the name and the arguments of a task, as JSON can hold them."""
    found: dict[str, Any] = {"name": type(task).__name__}
    for name, value in vars(task).items():
        if isinstance(value, Task):
            found[name] = facts(value)
        elif isinstance(value, tuple) and any(isinstance(one, Task) for one in value):
            found[name] = [facts(one) for one in value if isinstance(one, Task)]
        elif name in signature(type(task)).parameters:
            text = _text(value)
            if text is not None:
                found[name] = json.loads(text)
    return found


def _text(value: object) -> str | None:
    """Return a value as JSON, or None if JSON cannot hold it."""
    if isinstance(value, np.ndarray) and value.size > _MOST_NUMBERS:
        return None
    try:
        known = metric_to_dict(value) if isinstance(value, Metric) else value
        return json.dumps(saving.plain(known))
    except (TypeError, ValueError):  # a function, say
        return None


def _check_same_task(
    path: str | os.PathLike[str], saved: Mapping[str, Any], given: Mapping[str, Any]
) -> None:
    """Raise an error if the task or one of its arguments differs from the saved one."""
    if saved["name"] != given["name"]:
        raise DataError(
            f"{path} was saved for the task {saved['name']}, not for {given['name']}"
        )
    for name in saved.keys() | given.keys():
        if saved.get(name) != given.get(name):
            raise DataError(
                f"{path} was saved for {saved['name']} with {name}="
                f"{quote(saved.get(name))}, but here it is {quote(given.get(name))}"
            )
