"""Daumé et al. (2009): theorems, by going through all paths, and a run of SEARN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np

from argmetric.search import WordChunking
from argmetric.sequence import read_chunks
from papers_parts.claim import Ask, Figures, at_most, declare

EXACT = 1e-12
LESS = "largest loss less its bound"
LEMMA_1, THEOREM_2 = ("Tβℓ", "½β²T²c_max"), ("2Tℓ ln T", "(1 + ln T)c_max/T")


@dataclass(frozen=True)
class Tree:
    """T binary decisions; a loss for each of the 2^T ends. A policy is, for each depth,
    the probability of action 1 at each of its states."""

    losses: np.ndarray

    @property
    def depth(self) -> int:
        return int(np.log2(self.losses.size))

    def values(self, policy: list[np.ndarray]) -> list[np.ndarray]:
        """Expected loss of every state, by depth."""
        found = [self.losses]
        for probability in reversed(policy):
            pairs = found[0].reshape(-1, 2)
            found.insert(0, (1 - probability) * pairs[:, 0] + probability * pairs[:, 1])
        return found

    def loss(self, policy: list[np.ndarray]) -> float:
        return float(self.values(policy)[0][0])

    def cost_sensitive_loss(
        self, policy: list[np.ndarray], new: list[np.ndarray]
    ) -> float:
        """Mean regret of `new` at the states of `policy`, which goes on from there."""
        values, reach, total = self.values(policy), np.ones(1), 0.0
        for depth, probability in enumerate(policy):
            pairs = values[depth + 1].reshape(-1, 2)
            chosen = (1 - new[depth]) * pairs[:, 0] + new[depth] * pairs[:, 1]
            total += float(reach @ (chosen - pairs.min(axis=1)))
            reach = np.stack(
                [reach * (1 - probability), reach * probability], axis=1
            ).ravel()
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


def _pairs(depth: int) -> Tree:
    """Two actions of 1 cost 1, and one alone nothing: single steps tell no loss."""
    ones = (np.arange(2**depth)[:, None] >> np.arange(depth) & 1).sum(axis=1)
    return Tree((ones >= 2) * 1.0)


def _needle(depth: int) -> Tree:
    """One way without loss; all others cost 1."""
    return Tree((np.arange(2**depth) > 0) * 1.0)


def less_its_bound(found: Iterable[tuple[float, dict[str, float]]]) -> Figures:
    """The largest loss less its bound, and the same with each term deleted in turn.

    `found` has the loss above the initial one, and the terms of its bound.
    """
    figures: dict[str, float] = {}
    for loss, terms in found:
        whole = loss - sum(terms.values())
        excess = {f"{LESS}, without {term}": whole + x for term, x in terms.items()}
        for name, value in ({LESS: whole} | excess).items():
            figures[name] = max(figures.get(name, -np.inf), value)
    return figures


def each_deleted(*terms: str) -> list[Ask]:
    return [at_most(f"{LESS}, without {term}", EXACT) for term in terms]


@declare("daume2009-lemma-1")
def _lemma_1(fast: bool) -> Figures:
    rng = np.random.default_rng(0)

    def found() -> Iterator[tuple[float, dict[str, float]]]:
        for i in range(100 if fast else 1_000):
            depth = int(rng.integers(2, 6))
            tree = _pairs(depth) if i % 10 == 0 else _random_tree(rng, depth)
            old = [rng.random(2**i) for i in range(depth)]
            new = [rng.integers(2, size=2**i) * 1.0 for i in range(depth)]
            if i % 10 == 0:  # from no action of 1 to all
                old, new = ([np.full_like(x, y) for x in old] for y in (0.0, 1.0))
            beta = float(rng.uniform(0, 1 / depth))
            cost, worst = tree.cost_sensitive_loss(old, new), float(tree.losses.max())
            terms = depth * beta * cost, 0.5 * beta**2 * depth**2 * worst
            more = tree.loss(_mixed(old, new, beta)) - tree.loss(old)
            yield more, dict(zip(LEMMA_1, terms, strict=True))

    return less_its_bound(found())


def iterated(
    tree: Tree,
    beta: float,
    n: int,
    rng: np.random.Generator,
    *,
    wrong: float = 0.2,
    late: bool = False,
) -> tuple[float, float]:
    """Loss without the initial policy after n iterations, and the mean ℓ.

    Classifiers choose the action of least cost, and err in a share `wrong` of the
    states; or, if `late`, always choose 0, and the last one always 1.
    """
    initial = policy = tree.best()
    costs = []
    for i in range(n):
        wanted = tree.greedy(tree.values(policy))
        new = [np.where(rng.random(w.size) < wrong, 1 - w, w) for w in wanted]
        if late:
            new = [np.full_like(w, i == n - 1) for w in wanted]
        costs.append(tree.cost_sensitive_loss(policy, new))
        policy = _mixed(policy, new, beta)
    left = (1 - beta) ** n
    last = [(a - left * b) / (1 - left) for a, b in zip(policy, initial, strict=True)]
    return tree.loss(last), float(np.mean(costs))


def cases(rng: np.random.Generator, n: int) -> Iterator[tuple[Tree, dict[str, Any]]]:
    """Trees and classifiers: random ones, always wrong ones, and one that errs last."""
    for i in range(n):
        depth = int(rng.integers(2, 5))
        if i % 10 == 0:
            yield _pairs(depth), {"late": True}
        elif i % 10 == 1:
            yield _needle(depth), {"wrong": 1.0}
        else:
            yield _random_tree(rng, depth), {"wrong": float(rng.choice((0.2, 0.8)))}


@declare("daume2009-theorem-2")
def _theorem_2(fast: bool) -> Figures:
    rng = np.random.default_rng(1)

    def found() -> Iterator[tuple[float, dict[str, float]]]:
        for tree, errors in cases(rng, 20 if fast else 200):
            T, most = tree.depth, float(tree.losses.max())
            n = ceil(2 * T**3 * log(T))
            loss, cost = iterated(tree, T**-3.0, n, rng, **errors)
            terms = 2 * T * cost * log(T), (1 + log(T)) * most / T
            more = loss - tree.loss(tree.best())
            yield more, dict(zip(THEOREM_2, terms, strict=True))

    return less_its_bound(found())


def _errors(rate: float, length: int) -> float:
    """Expected errors where each decision copies the last one, wrong at this rate."""
    wrong, total = 0.0, 0.0
    for _ in range(length):
        wrong = wrong * (1 - rate) + (1 - wrong) * rate
        total += wrong
    return total


def _printed_errors(rate: float, length: int) -> float:
    return length / 2 - (1 - (1 - 2 * rate) ** (length + 1)) / (4 * rate) + 1 / 2


@declare("daume2009-theorem-3")
def _theorem_3(fast: bool) -> Figures:
    pairs = [(rate, length) for rate in (1e-3, 0.1, 0.4) for length in (1, 10, 1_000)]
    gap = max(abs(_errors(*pair) - _printed_errors(*pair)) for pair in pairs)
    return {
        "largest difference of (14) and the recursion": gap,
        "errors over T/2, ε = 0.3, T = 1,000": _errors(0.3, 1_000) / 500,
        "errors over T/2, ε = 0.00001, T = 10": _errors(1e-5, 10) / 5,
    }


def _loss(gold: tuple[str, ...], output: tuple[str, ...]) -> float:
    right, mine = set(read_chunks(gold)), set(read_chunks(output))
    both = len(right) + len(mine)
    return 1 - 2 * len(right & mine) / both if both else 0.0


def _policy_18(gold: tuple[str, ...], state: tuple[str, ...]) -> str:
    label = gold[len(state)]
    goes_on = bool(state) and state[-1][1:] == label[1:] and state[-1][0] in "BI"
    return label if label[0] == "B" or (label[0] == "I" and goes_on) else "O"


def _never_a_chunk(gold: tuple[str, ...], state: tuple[str, ...]) -> str:
    return "O"


@declare("daume2009-equation-18", fails_on=lambda: _equation_18(True, _never_a_chunk))
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


@declare("daume2009-f1-mean")
def _mean(fast: bool) -> Figures:
    precision, recall = np.meshgrid(np.linspace(0.05, 1, 20), np.linspace(0.05, 1, 20))
    f1 = 2 * precision * recall / (precision + recall)
    return {
        "largest difference to the geometric mean": float(
            np.abs(f1 - np.sqrt(precision * recall)).max()
        )
    }
