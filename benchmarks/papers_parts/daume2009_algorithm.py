"""Daumé et al. (2009): Fig. 1 line by line, and queues as states (section 3.4.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric.search import LinearLearner, QueueTask, Searn, SequenceLabelling
from argmetric.search._searn._decisions import (
    Situation,
    describe,
    hash_name,
    read_features,
)
from argmetric.search._searn._policy import draw, make_keys
from papers_parts.claim import Figures, declare

LETTERS, LABELS = "abcd", "xyz"
KINDS = ("optimal", "rollout", "tied")
N_PATHS = 3


class Recording:
    """A learner that keeps the examples of every iteration."""

    def __init__(self) -> None:
        self.own = LinearLearner("perceptron", epochs=2)
        self.examples: list[tuple[Any, np.ndarray]] = []

    def fit(self, decisions: Any, costs: Any, rng: np.random.Generator) -> Any:
        self.examples.append((decisions, np.asarray(costs)))
        return self.own.fit(decisions, costs, rng)


class Literal:
    """Fig. 1: one example, one state, one action after the other.

    The only thing that it has of `Searn` are the random numbers, by walk and depth. A
    path after an action follows the current policy to the end, n times; "tied" once,
    with the random numbers of the roll-in; "optimal" follows the initial policy.
    """

    def __init__(self, kind: str, beta: float, passes: int, *, turned: bool) -> None:
        self.task, self.kind = SequenceLabelling(LABELS, history=1), kind
        self.learned: list[Any] = []
        self.weights = [1.0]  # of the initial policy and of those learned
        learner, rng = Recording(), np.random.default_rng(0)
        share = 1 - beta if turned else beta
        for number in range(1, passes + 1):
            found = self.examples_of(7919 * number)
            costs = np.array([cost for _, own in found for cost in own])
            decisions = describe(self.task, [one for one, _ in found])
            self.learned.append(learner.fit(decisions, costs, rng))
            self.weights = [(1 - share) * w for w in self.weights] + [share]
        self.examples = learner.examples

    def act(self, x: str, y: str, state: Any, uniform: float) -> Any:
        """The action of the policy that a random number stands for."""
        part = int(np.searchsorted(np.cumsum(self.weights), uniform, side="right"))
        if part == 0:
            return y[len(state)]
        one = describe(self.task, [Situation(-1, x, y, state, tuple(LABELS))])
        return LABELS[int(np.argmax(self.learned[part - 1].scores(one)))]

    def loss(self, x: str, y: str, state: Any, key: Any) -> float:
        """The loss where the policy takes all decisions that are left."""
        while len(state) < len(x):
            uniform = float(draw(key, np.array([len(state)]))[0])
            optimal = self.kind == "optimal"
            action = y[len(state)] if optimal else self.act(x, y, state, uniform)
            state = (*state, action)
        return float(sum(a != b for a, b in zip(y, state, strict=True)))

    def examples_of(self, seed: int) -> list[tuple[Situation, list[float]]]:
        """States of the roll-in, with the cost of every action."""
        states = []
        for i, (x, y) in enumerate(zip(*DATA, strict=True)):
            state: Any = ()
            for t in range(len(x)):
                states.append((t, i, state))
                uniform = float(draw(make_keys(seed, np.array([i])), np.array([t]))[0])
                state = (*state, self.act(x, y, state, uniform))
        found = []
        for rank, (t, i, state) in enumerate(sorted(states, key=lambda one: one[:2])):
            x, y = DATA[0][i], DATA[1][i]
            costs = []
            for a, action in enumerate(LABELS):
                paths = range(N_PATHS if self.kind == "rollout" else 1)
                labels = [(rank, a + 1, n) for n in paths]
                if self.kind == "tied":
                    labels = [(i, 0, 0)]
                keys = [make_keys(seed + 1, *np.array([one]).T) for one in labels]
                ends = [self.loss(x, y, (*state, action), key) for key in keys]
                costs.append(float(np.mean(ends)))
            found.append((Situation(i, x, y, state, tuple(LABELS), t), costs))
        return found


def _words(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Words, and labels that a letter and the label before it say half of the time."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        letters = rng.integers(0, len(LETTERS), int(rng.integers(1, 6)))
        labels = np.cumsum(letters) % 3
        noise = rng.random(labels.size) < 0.3
        labels = np.where(noise, rng.integers(0, 3, labels.size), labels)
        X.append("".join(LETTERS[i] for i in letters))
        Y.append("".join(LABELS[i] for i in labels))
    return X, Y


DATA = _words(12, 0)


@declare("daume2009-figure-1", fails_on=lambda: figure_1(True, turned=True))
def figure_1(fast: bool, *, turned: bool = False) -> Figures:
    """The examples of all iterations, and the weights of the policies at the end."""
    costs, states, weights = 0.0, 0, 0.0
    for beta in (0.4,) if fast else (0.1, 0.4, 0.8, 1.0):
        for kind in KINDS:
            learner = Recording()
            task = SequenceLabelling(LABELS, history=1)
            one = Searn(
                task, learner, beta=beta, iterations=3, costs=kind, n_rollouts=N_PATHS
            ).fit(*DATA)
            literal = Literal(kind, beta, 3, turned=turned)
            pairs = zip(learner.examples, literal.examples, strict=True)
            for (given, own), (other, wanted) in pairs:
                own, wanted = own.reshape(-1, 3), wanted.reshape(-1, 3)
                least = own.min(axis=1), wanted.min(axis=1)
                regrets = own - least[0][:, None], wanted - least[1][:, None]
                costs = max(costs, float(np.abs(regrets[0] - regrets[1]).max()))
                alike = np.array_equal(given.states.hashes, other.states.hashes)
                states += not alike
            learned = np.array(literal.weights[1:])
            found = np.zeros(learned.size)  # policies without a share are dropped
            found[-len(one.policy_.weights) :] = one.policy_.weights
            weights = max(weights, float(np.abs(found - learned / learned.sum()).max()))
    return {
        "largest difference of a regret": costs,
        "iterations with other states": float(states),
        "largest difference of a weight without π": weights,
    }


class AnyScores:
    """A learner that learns nothing: the weight of a feature is a hash of its name."""

    def fit(self, decisions: Any, costs: Any, rng: np.random.Generator) -> AnyScores:
        return self

    def scores(self, decisions: Any) -> np.ndarray:
        rows = decisions.pairs
        own = rows.values * weight_of(rows.hashes)
        found: np.ndarray = np.add.reduceat(own, rows.indptr[:-1])
        return found


def weight_of(hashes: Any) -> Any:
    return (np.asarray(hashes) >> np.uint64(11)) * 2.0**-53 - 0.5


def beam_search(x: str, width: int) -> tuple[str, ...]:
    """The best path where the best `width` of each length are kept."""
    task = SequenceLabelling(LABELS, history=1)
    beam: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    for _ in x:
        children = []
        for score, path in beam:
            names = [
                "bias",
                *(name for name, _ in read_features(task.features(x, path))),
            ]
            for label in LABELS:
                hashes = [hash_name((name, label)) for name in names]
                own = weight_of(np.array(hashes, dtype=np.uint64)).sum()
                children.append((score + float(own), (*path, label)))
        beam = sorted(children, key=lambda one: -one[0])[:width]
    return beam[0][1]


WITHOUT = "outputs that differ from those without a queue"


@declare("daume2009-section-3-4-3")
def _queues(fast: bool) -> Figures:
    """Greedy search among queues, and beam search as one writes it."""
    differ, greedy, n = 0, 0, 0
    for width in (2, 5):
        words, labels = _words(20 if fast else 200, width)
        task = QueueTask(SequenceLabelling(LABELS, history=1), width)
        searn = Searn(task, AnyScores(), beta=1.0, iterations=1)
        searn.fit(words[:2], labels[:2])
        for x, found in zip(words, searn.predict(words), strict=True):
            differ += tuple(found) != beam_search(x, width)
            greedy += tuple(found) != beam_search(x, 1)
            n += 1
    return {"outputs that differ from beam search": differ / n, WITHOUT: greedy / n}
