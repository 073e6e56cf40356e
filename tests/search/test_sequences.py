"""Compiled SEARN on sequences against the generic loop, which asks the task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from argmetric.search import LinearLearner, Searn, SequenceLabelling, WordChunking
from argmetric.search._searn import _iterate
from argmetric.search._searn._learners import TableScorer
from argmetric.search._searn._policy import Mixture
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._sequences import PreparedInputs
from argmetric.search._searn._spans import prepared


class GenericLabelling(SequenceLabelling):
    """Not known to the kernels, since a subclass may do anything."""


class GenericChunking(WordChunking):
    """Not known to the kernels, since a subclass may do anything."""


def labelled(seed: int, n: int = 40) -> tuple[list[Any], list[Any]]:
    """Letters whose label leans on the letter and on the label before."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x, y, last = [], [], 0
        for _ in range(int(rng.integers(0, 8))):
            last = int((last + rng.integers(0, 2)) % 3)
            noisy = last if rng.random() < 0.7 else int(rng.integers(0, 3))
            x.append([(f"letter {noisy}", 1.0), ("size", float(rng.random()))])
            y.append("abc"[last])
        X.append(x)
        Y.append(tuple(y))
    return X, Y


def chunked(seed: int, n: int = 40) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x: list[Any] = []
        y: list[str] = []
        for _ in range(int(rng.integers(0, 4))):
            kind = ("X", "Y", None)[rng.integers(3)]
            size = int(rng.integers(1, 4)) if kind else 1
            y += [f"B-{kind}"] + [f"I-{kind}"] * (size - 1) if kind else ["O"]
            noise = rng.integers(0, 3, size) * (rng.random(size) < 0.3)
            x += [[f"{kind} {i == 0} {e}"] for i, e in enumerate(noise)]
        X.append(x)
        Y.append(tuple(y))
    return X, Y


def own(x: Any, i: int) -> Any:
    return x[i]


def pairs(history: int = 2) -> dict[str, Any]:
    return {
        "labels": (
            SequenceLabelling("abc", features=own, history=history),
            GenericLabelling("abc", features=own, history=history),
            labelled,
        ),
        "chunks": (
            WordChunking(["X", "Y"], features=own, history=history),
            GenericChunking(["X", "Y"], features=own, history=history),
            chunked,
        ),
    }


@pytest.mark.parametrize("which", ["labels", "chunks"])
@pytest.mark.parametrize(
    ("kind", "costs"),
    [
        ("initial", "optimal"),
        ("mixed", "optimal"),
        ("initial", "rollout"),
        ("mixed", "rollout"),
        ("learned", "rollout"),
        ("mixed", "tied"),
        ("learned", "tied"),
    ],
)
def test_roll_in_and_costs(which: str, kind: str, costs: Any) -> None:
    compiled, generic, sample = pairs()[which]
    X, Y = sample(0)
    learner = LinearLearner(epochs=2, hash_bits=None)
    searn = Searn(compiled, learner, beta=0.5, iterations=2).fit(X, Y)
    found = []
    for task in (compiled, generic):
        learned = tuple(
            _iterate.LearnedPolicy(task, one.scorer) for one in searn.policy_.learned
        )
        mixture = Mixture(
            None if kind == "learned" else InitialPolicy(task),
            () if kind == "initial" else learned,
            () if kind == "initial" else (0.5, 0.5),
        )
        data = prepared(task, X), Y
        assert isinstance(data[0], PreparedInputs) == (task is compiled)
        options = {"kind": costs, "n_rollouts": 3, "seed": 5}
        found.append(_iterate.roll_in(mixture, data, None, **options))
    fast, slow = found
    np.testing.assert_allclose(fast.costs, slow.costs, atol=1e-12)
    np.testing.assert_array_equal(fast.places, slow.places)
    np.testing.assert_array_equal(fast.decisions.indptr, slow.decisions.indptr)
    assert fast.loss == pytest.approx(slow.loss)
    assert fast.longest == slow.longest
    scorer = searn.policy_.learned[0].scorer
    np.testing.assert_allclose(
        scorer.scores(fast.decisions), scorer.scores(slow.decisions), atol=1e-12
    )


@pytest.mark.parametrize("which", ["labels", "chunks"])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"beta": 1.0, "iterations": 3},
        {"beta": 0.4, "iterations": 3},
        {"beta": 0.4, "iterations": 2, "costs": "rollout", "n_rollouts": 2},
        {"beta": 0.4, "iterations": 2, "costs": "tied", "random_state": 3},
        {"beta": 1.0, "iterations": 1, "beam_scores": "raw"},
    ],
)
def test_a_whole_fit(which: str, beam: int, options: dict[str, Any]) -> None:
    compiled, generic, sample = pairs()[which]
    learner = LinearLearner(epochs=3, hash_bits=None)
    fast = Searn(compiled, learner, beam=beam, **options).fit(*sample(0))
    slow = Searn(generic, learner, beam=beam, **options).fit(*sample(0))
    for one, other in zip(fast.history_, slow.history_, strict=True):
        assert one.examples == other.examples
        assert one.regret == pytest.approx(other.regret, abs=1e-9)
        assert one.initial_weight == other.initial_weight
    X, Y = sample(1, 60)
    assert fast.predict(X) == slow.predict(X)
    assert fast.score(X, Y) == slow.score(X, Y)


@pytest.mark.parametrize("kind", ["perceptron", "svm", "logistic"])
@pytest.mark.parametrize("history", [0, 1, 3])
def test_learners_and_lengths_of_history(kind: Any, history: int) -> None:
    compiled, generic, sample = pairs(history)["labels"]
    learner = LinearLearner(kind, epochs=3, hash_bits=None)
    options: dict[str, Any] = {"beta": "search", "iterations": 3}
    (X, Y), dev = sample(0), sample(1)
    fast = Searn(compiled, learner, **options).fit(X, Y, dev=dev)
    slow = Searn(generic, learner, **options).fit(X, Y, dev=dev)
    assert [one.beta for one in fast.history_] == [one.beta for one in slow.history_]
    assert [x.dev_loss for x in fast.history_] == [x.dev_loss for x in slow.history_]
    assert fast.predict(dev[0]) == slow.predict(dev[0])


def test_a_table_learns_as_hashed_weights_do_without_collisions() -> None:
    X, Y = labelled(0)
    task = SequenceLabelling("abc", features=own)
    tables = Searn(task, LinearLearner(hash_bits=None), iterations=1, beta=1.0)
    hashed = Searn(task, LinearLearner(hash_bits=24), iterations=1, beta=1.0)
    decisions = _iterate.roll_in(
        Mixture(InitialPolicy(task)), (X, Y), None, kind="optimal", n_rollouts=1, seed=0
    ).decisions
    found = [one.fit(X, Y).policy_.learned[0].scorer for one in (tables, hashed)]
    assert isinstance(found[0], TableScorer)
    one, other = (scorer.scores(decisions) for scorer in found)
    # Slopes below NEGLIGIBLE are left out of the table
    np.testing.assert_allclose(one, other, atol=2e-2)


def test_labels_out_of_reach_and_unknown_ones() -> None:
    X, Y = chunked(0)
    task = WordChunking(["X"], features=own)
    slow = GenericChunking(["X"], features=own)
    learner = LinearLearner(hash_bits=None, epochs=2)
    fits = [Searn(one, learner, iterations=2).fit(X, Y) for one in (task, slow)]
    assert fits[0].predict(X) == fits[1].predict(X)
    letters = SequenceLabelling("ab", features=own)
    with pytest.raises(ValueError, match="label 'c' is not among"):
        Searn(letters, learner).fit(*labelled(0))


def test_what_a_table_refuses() -> None:
    with pytest.raises(ValueError, match="knows no products"):
        LinearLearner(hash_bits=None, quadratic=True)
    from argmetric.search import SpanChunking

    X, Y = chunked(0)
    words = [[" ".join(token) for token in x] for x in X]
    learner = LinearLearner(hash_bits=None)
    searn = Searn(SpanChunking(["X", "Y"]), learner, prediction="mean")
    with pytest.raises(ValueError, match="no features of their own"):
        searn.fit(words, Y)


def test_features_are_read_once_for_tasks_that_share_them() -> None:
    read = []

    def counted(x: Any, i: int) -> Any:
        read.append(i)
        return x[i]

    X, Y = labelled(0)
    first = prepared(SequenceLabelling("abc", features=counted, history=1), X)
    n = len(read)
    assert n == sum(map(len, X))
    task = SequenceLabelling("abc", features=counted, history=2)
    learner = LinearLearner(hash_bits=None)
    searn = Searn(task, learner, beta=1.0, iterations=1).fit(first, Y)
    assert len(read) == n
    assert searn.predict(first) == searn.predict(X)
    assert list(first) == X
    assert first[1:3] == X[1:3]
