"""Daumé et al. (2009): theorems, by going through all paths, and a run of SEARN."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np

from argmetric.search import WordChunking
from papers_parts.claim import Claim, Figures, at_most, within

EXACT = 1e-12
TREES = "1,000 random trees (fast: 100)"


@dataclass(frozen=True)
class Tree:
    """T binary decisions; a loss for each of the 2^T ends. A policy is, for each depth,
    the chance of action 1 at each of its states."""

    losses: np.ndarray

    @property
    def depth(self) -> int:
        return int(np.log2(self.losses.size))

    def values(self, policy: list[np.ndarray]) -> list[np.ndarray]:
        """Expected loss of every state, by depth."""
        found = [self.losses]
        for chance in reversed(policy):
            pairs = found[0].reshape(-1, 2)
            found.insert(0, (1 - chance) * pairs[:, 0] + chance * pairs[:, 1])
        return found

    def loss(self, policy: list[np.ndarray]) -> float:
        return float(self.values(policy)[0][0])

    def cost_sensitive_loss(
        self, policy: list[np.ndarray], new: list[np.ndarray]
    ) -> float:
        """Mean regret of `new` at the states of `policy`, which goes on from there."""
        values, reach, total = self.values(policy), np.ones(1), 0.0
        for depth, chance in enumerate(policy):
            pairs = values[depth + 1].reshape(-1, 2)
            chosen = (1 - new[depth]) * pairs[:, 0] + new[depth] * pairs[:, 1]
            total += float(reach @ (chosen - pairs.min(axis=1)))
            reach = np.stack([reach * (1 - chance), reach * chance], axis=1).ravel()
        return total / self.depth

    def best(self) -> list[np.ndarray]:
        """The initial policy: the way to the least loss."""
        values = [self.losses]
        for _ in range(self.depth):
            values.insert(0, values[0].reshape(-1, 2).min(axis=1))
        return self.greedy(values)

    def greedy(self, values: list[np.ndarray]) -> list[np.ndarray]:
        return [
            (np.argmin(after.reshape(-1, 2), axis=1)).astype(np.float64)
            for after in values[1:]
        ]


def _mixed(one: list[np.ndarray], other: list[np.ndarray], share: float) -> Any:
    return [(1 - share) * a + share * b for a, b in zip(one, other, strict=True)]


def _random_tree(rng: np.random.Generator, depth: int) -> Tree:
    return Tree(rng.random(2**depth) ** 2)


def _lemma_1(fast: bool, weight: float = 1.0) -> Figures:
    """`weight` of the term Tβℓ: the bound needs all of it."""
    rng = np.random.default_rng(0)
    excess = -np.inf
    for _ in range(100 if fast else 1_000):
        depth = int(rng.integers(2, 6))
        tree = _random_tree(rng, depth)
        old = [rng.random(2**i) for i in range(depth)]
        new = [rng.integers(2, size=2**i) * 1.0 for i in range(depth)]
        beta = float(rng.uniform(0, 1 / depth))
        cost = tree.cost_sensitive_loss(old, new)
        bound = tree.loss(old) + weight * depth * beta * cost
        bound += 0.5 * beta**2 * depth**2 * float(tree.losses.max())
        excess = max(excess, tree.loss(_mixed(old, new, beta)) - bound)
    return {"largest loss less its bound": float(excess)}


def _theorem_2(fast: bool) -> Figures:
    """Classifiers choose the action of least cost, and err in a fifth of the states."""
    rng = np.random.default_rng(1)
    excess, closest = -np.inf, 0.0
    for _ in range(10 if fast else 200):
        depth = int(rng.integers(2, 5))
        tree = _random_tree(rng, depth)
        beta = depth**-3.0
        initial = policy = tree.best()
        costs = []
        n = ceil(2 * depth**3 * log(depth))
        for _ in range(n):
            wanted = tree.greedy(tree.values(policy))
            new = [np.where(rng.random(w.size) < 0.2, 1 - w, w) for w in wanted]
            costs.append(tree.cost_sensitive_loss(policy, new))
            policy = _mixed(policy, new, beta)
        left = (1 - beta) ** n  # of the initial policy, which is removed
        last = [
            (a - left * b) / (1 - left) for a, b in zip(policy, initial, strict=True)
        ]
        worst = float(tree.losses.max())
        bound = tree.loss(initial) + 2 * depth * float(np.mean(costs)) * log(depth)
        bound += (1 + log(depth)) * worst / depth
        excess = max(excess, tree.loss(last) - bound)
        closest = max(closest, tree.loss(last) / bound)
    return {
        "largest loss less its bound": float(excess),
        "largest loss over its bound": float(closest),
    }


def _errors(rate: float, length: int) -> float:
    """Expected errors where each decision copies the last one, wrong at this rate."""
    wrong, total = 0.0, 0.0
    for _ in range(length):
        wrong = wrong * (1 - rate) + (1 - wrong) * rate
        total += wrong
    return total


def _printed_errors(rate: float, length: int) -> float:
    return length / 2 - (1 - (1 - 2 * rate) ** (length + 1)) / (4 * rate) + 1 / 2


def _theorem_3(fast: bool) -> Figures:
    pairs = [(rate, length) for rate in (1e-3, 0.1, 0.4) for length in (1, 10, 1_000)]
    gap = max(abs(_errors(*pair) - _printed_errors(*pair)) for pair in pairs)
    return {
        "largest difference of (14) and the recursion": gap,
        "errors over T/2, ε = 0.3, T = 1,000": _errors(0.3, 1_000) / 500,
        "errors over T/2, ε = 0.00001, T = 10": _errors(1e-5, 10) / 5,
    }


def _chunks(labels: tuple[str, ...]) -> set[tuple[int, int, str]]:
    """Chunks of well-formed labels."""
    starts = [i for i, label in enumerate(labels) if label[0] == "B"]
    found = set()
    for start in starts:
        stop = start + 1
        while stop < len(labels) and labels[stop][0] == "I":
            stop += 1
        found.add((start, stop, labels[start][2:]))
    return found


def _loss(gold: tuple[str, ...], output: tuple[str, ...]) -> float:
    right, mine = _chunks(gold), _chunks(output)
    both = len(right) + len(mine)
    return 1 - 2 * len(right & mine) / both if both else 0.0


def _policy_18(gold: tuple[str, ...], state: tuple[str, ...]) -> str:
    label = gold[len(state)]
    goes_on = bool(state) and state[-1][1:] == label[1:] and state[-1][0] in "BI"
    return label if label[0] == "B" or (label[0] == "I" and goes_on) else "O"


def _never_a_chunk(gold: tuple[str, ...], state: tuple[str, ...]) -> str:
    return "O"


def _equation_18(fast: bool, policy: Any = _policy_18) -> Figures:
    task = WordChunking(["X"] if fast else ["X", "Y"])
    words = ["w"] * (3 if fast else 4)
    outputs: list[tuple[str, ...]] = []

    def grow(state: tuple[str, ...]) -> None:
        if len(state) == len(words):
            outputs.append(state)
        for action in task.actions(words, state):
            grow((*state, action))

    grow(())
    prefixes = {one[:i] for one in outputs for i in range(len(words))}
    cost, regret = 0.0, 0.0
    for gold in outputs:
        least: dict[tuple[str, ...], float] = {}
        for one in outputs:
            loss = _loss(gold, one)
            for i in range(len(words) + 1):
                least[one[:i]] = min(least.get(one[:i], 2.0), loss)
        for state in prefixes:
            actions = task.actions(words, state)
            wanted = [least[(*state, action)] for action in actions]
            found = task.costs(words, gold, state)
            cost = max(cost, float(np.abs(np.subtract(wanted, found)).max()))
            chosen = least[(*state, policy(gold, state))]
            regret = max(regret, chosen - min(wanted))
    return {
        "prefixes and right answers": float(len(prefixes) * len(outputs)),
        "largest regret of the policy": regret,
        "largest error of a cost": cost,
    }


def _mean(fast: bool) -> Figures:
    precision, recall = np.meshgrid(np.linspace(0.05, 1, 20), np.linspace(0.05, 1, 20))
    f1 = 2 * precision * recall / (precision + recall)
    return {
        "largest difference to the geometric mean": float(
            np.abs(f1 - np.sqrt(precision * recall)).max()
        )
    }


CLAIMS = (
    Claim(
        "daume2009-lemma-1",
        "Lemma 1",
        "One iteration adds to the loss at most Tβℓ + ½β²T²c_max.",
        _lemma_1,
        [at_most("largest loss less its bound", EXACT)],
        data="generated: binary decisions, exact losses of all paths",
        seeds=TREES,
        fails_on=lambda: _lemma_1(True, weight=0.0),
    ),
    Claim(
        "daume2009-theorem-2",
        "Theorem 2",
        "With β = 1/T³ and 2T³ ln T iterations the loss is at most that of the initial "
        "policy + 2Tℓ ln T + (1 + ln T)c_max/T.",
        _theorem_2,
        [at_most("largest loss less its bound", EXACT)],
        data="generated: binary decisions, exact losses of all paths",
        seeds="200 random trees (fast: 10)",
    ),
    Claim(
        "daume2009-theorem-3",
        "Theorem 3, equation (14)",
        "Trained on right histories to error ε, a classifier makes T/2 − (1 − (1 − "
        "2ε)^(T+1))/(4ε) + ½ errors, about T/2 for small ε or large T.",
        _theorem_3,
        [
            at_most("largest difference of (14) and the recursion", 1e-9),
            within("errors over T/2, ε = 0.3, T = 1,000", 0.95, 1.05),
            within("errors over T/2, ε = 0.00001, T = 10", 0.95, 1.05),
        ],
        data="nine pairs of ε and T",
        remark="For small ε it is about εT(T + 1)/2 (erratum 36).",
    ),
    Claim(
        "daume2009-equation-18",
        "Equation (18)",
        "The policy for chunks is optimal from every prefix, and its costs are those "
        "of the best way to go on.",
        _equation_18,
        [
            at_most("largest regret of the policy", EXACT),
            at_most("largest error of a cost", EXACT),
        ],
        data="all labels of 4 words with 2 types (fast: 3 and 1)",
        fails_on=lambda: _equation_18(True, _never_a_chunk),
    ),
    Claim(
        "daume2009-f1-mean",
        "Equation (17)",
        "F1 is the geometric mean of precision and recall.",
        _mean,
        [at_most("largest difference to the geometric mean", EXACT)],
        data="a grid of precision and recall",
        remark="It is the harmonic mean (erratum 32).",
    ),
)
