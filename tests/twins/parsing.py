"""Plain Python twins of the kernels of parsing: slow, obvious, the tests' oracle."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from twins.tagging import mix

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
SHIFT, LEFT, RIGHT = range(3)


@dataclass
class State:
    """Stack, first of the buffer, heads by node."""

    n: int
    stack: list[int] = field(default_factory=lambda: [0])
    first: int = 1
    heads: dict[int, int] = field(default_factory=dict)

    def legal(self) -> list[int]:
        found = []
        if self.first <= self.n:
            found.append(SHIFT)
            if len(self.stack) > 1:
                found.append(LEFT)
        if len(self.stack) > 2 or (len(self.stack) == 2 and self.first > self.n):
            found.append(RIGHT)
        return found

    def after(self, action: int) -> State:
        stack, heads = self.stack[:], dict(self.heads)
        if action == SHIFT:
            return State(self.n, [*stack, self.first], self.first + 1, heads)
        node = stack.pop()
        heads[node] = self.first if action == LEFT else stack[-1]
        return State(self.n, stack, self.first, heads)

    def child(self, kind: int, node: int) -> int:
        """First or second child from the left (2, 3), or from the right (4, 5)."""
        own = sorted(c for c, h in self.heads.items() if h == node)
        if kind < 4:
            own = [c for c in own if c < node]
        else:
            own = [c for c in own if c > node][::-1]
        place = kind % 2
        return own[place] if place < len(own) else -1

    def as_array(self) -> Any:
        """As the kernels keep it."""
        found = np.full((7, self.n + 3), -1, dtype=np.int64)
        found[0, : len(self.stack)] = self.stack
        for node, head in self.heads.items():
            found[1, node] = head
        for kind, node in product(range(2, 6), range(self.n + 1)):
            found[kind, node] = self.child(kind, node)
        found[6, :2] = len(self.stack) - 1, self.first
        return found


def least_loss(state: State, gold: list[int]) -> int:
    """Fewest wrong heads of all trees that can still be built; gold[0] is not used."""
    legal = state.legal()
    if not legal:
        return sum(gold[v] != state.heads[v] for v in range(1, state.n + 1))
    return min(least_loss(state.after(a), gold) for a in legal)


def costs(state: State, gold: list[int]) -> dict[int, int]:
    """Regrets of the legal actions, by enumeration of all completions."""
    losses = {a: least_loss(state.after(a), gold) for a in state.legal()}
    return {a: loss - min(losses.values()) for a, loss in losses.items()}


def rows_of(state: State, codes: Any, scheme: Any) -> list[int]:
    """Rows of the features of a state; codes[node] are those of a node's attributes."""
    kinds, which, nodes, columns, parts, bounds, salts, shift = scheme
    found: list[int] = []
    for kind, w in zip(kinds.tolist(), which.tolist(), strict=True):
        if kind == 0:
            found.append(state.stack[-1 - w] if w < len(state.stack) else -1)
        elif kind == 1:
            found.append(state.first + w if state.first + w <= state.n else -1)
        else:
            found.append(state.child(kind, found[w]) if found[w] >= 0 else -1)
    values = [
        int(codes[found[node], column]) if found[node] >= 0 else 1
        for node, column in zip(nodes, columns, strict=True)
    ]
    rows = []
    for j, salt in enumerate(salts.tolist()):
        h = salt
        for part in parts[bounds[j] : bounds[j + 1]]:
            h = (h ^ values[part]) * _GOLDEN & _WORD
            h ^= h >> 29
        rows.append(mix(h) >> int(shift))
    return rows


def scores_of(weights: Any, rows: list[int], scale: float = 1.0) -> list[float]:
    return [scale * sum(float(weights[3 * row + k]) for row in rows) for k in range(3)]


def chances_of(scores: list[float], legal: list[int]) -> dict[int, float]:
    top = max(scores[a] for a in legal)
    total = sum(math.exp(scores[a] - top) for a in legal)
    return {a: math.exp(scores[a] - top) / total for a in legal}


def greedy(codes: Any, n: int, scheme: Any, weights: Any) -> Any:
    """Heads by node."""
    state = State(n)
    while legal := state.legal():
        scores = scores_of(weights, rows_of(state, codes, scheme))
        state = state.after(max(legal, key=lambda a: (scores[a], -a)))
    return state.heads


def beam(codes: Any, n: int, scheme: Any, weights: Any, width: int) -> tuple[Any, Any]:
    """Heads of the best tree, and votes[head, node] of all trees in the beam."""
    alive = [(0.0, State(n), dict[int, float]())]
    for _ in range(2 * n):
        candidates = []
        for total, state, made in alive:
            legal = state.legal()
            scores = scores_of(weights, rows_of(state, codes, scheme))
            chances = chances_of(scores, legal)
            for a in legal:
                node = {} if a == SHIFT else {state.stack[-1]: chances[a]}
                new = total + math.log(chances[a])
                candidates.append((new, state.after(a), made | node))
        alive = sorted(candidates, key=lambda c: -c[0])[:width]
    norm = sum(math.exp(total) for total, *_ in alive)
    votes = np.zeros((n + 1, n + 1))
    for total, state, made in alive:
        for node, head in state.heads.items():
            votes[head, node] += math.exp(total) / norm * made[node]
    return alive[0][1].heads, votes


class Random:
    """The generator of the kernels."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def bits(self) -> int:
        self.state = (self.state + _GOLDEN) & _WORD
        return mix(self.state)

    def unit(self) -> float:
        return (self.bits() >> 11) / (1 << 53)

    def kept(self, rows: list[int], dropout: float) -> list[int]:
        limit, bits, found = int(dropout * 65536), 0, []
        if limit == 0:
            return rows
        for j, row in enumerate(rows):
            if j % 4 == 0:
                bits = self.bits()
            if bits & 0xFFFF >= limit:
                found.append(row)
            bits >>= 16
        return found


def learn(
    sentences: list[tuple[Any, list[int]]],
    scheme: Any,
    settings: Any,
    learned: tuple[Any, Any, Any],
    seed: int,
) -> tuple[int, float]:
    """One pass over (codes, gold heads); changes weights in place."""
    step, dropout, share, averaging = settings
    weights, squares, sums = learned
    random, wrong, when, scale = Random(seed), 0, 0.0, 1.0 / (1.0 - dropout)
    for codes, gold in sentences:
        state = State(len(gold) - 1)
        random.unit()  # decides nothing
        while legal := state.legal():
            regrets = costs(state, gold)
            targets = [a for a in legal if regrets[a] == 0]
            rows = random.kept(rows_of(state, codes, scheme), dropout)
            scores = scores_of(weights, rows, scale)
            own = max(legal, key=lambda a: (scores[a], -a))
            reference = max(targets, key=lambda a: (scores[a], -a))
            wrong += own not in targets
            chances = chances_of(scores, legal)
            right = sum(chances[a] for a in targets)
            when += averaging
            if 1.0 - right >= 0.01:
                for row, a in product(rows, legal):
                    slope = chances[a] - (a in targets) * chances[a] / right
                    slope *= scale
                    if slope == 0.0:
                        continue
                    place = 3 * row + a
                    square = float(squares[place]) + slope * slope
                    change = -step * slope / math.sqrt(square)
                    squares[place] = square
                    weights[place] += np.float32(change)
                    sums[place] += np.float32(change * when)
            follows = random.unit() < share
            state = state.after(reference if follows else own)
    return wrong, when


def projective_trees(n: int) -> list[list[int]]:
    """All projective trees of n words with one root; place 0 is -1."""
    found = []
    for heads in product(range(n + 1), repeat=n):
        tree = [-1, *heads]
        if heads.count(0) == 1 and is_tree(tree) and not crosses(tree):
            found.append(tree)
    return found


def is_tree(heads: list[int]) -> bool:
    for v in range(1, len(heads)):
        node = v
        for _ in heads:
            node = heads[node] if node > 0 else 0
        if node:
            return False
    return True


def crosses(heads: list[int]) -> bool:
    arcs = [(min(v, h), max(v, h)) for v, h in enumerate(heads) if v]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)
