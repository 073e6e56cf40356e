"""Policies of one or both directions, how they are learned and how they parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from argmetric._input.types import Floats, Integers
from argmetric._text._epochs import Log, learn_directions
from argmetric._text.corpus.trees import UNKNOWN, Tree
from argmetric._text.parsing._learning import (
    FOLDS,
    Learning,
    Policy,
    Recipe,
    Trees,
    learn_epochs,
)
from argmetric._text.parsing._relations import Relations, learn_relations
from argmetric._text.parsing._templates import Templates
from argmetric._text.parsing._text import Text, mirror, mirrored_heads

_BLOCK = 50_000  # words parsed at a time


@dataclass(frozen=True, eq=False)
class Side:
    """A policy that reads from the left, or from the right (reverse)."""

    reverse: bool
    policy: Policy

    def votes(
        self, trees: Trees, width: int, votes: Floats, matrices: Integers
    ) -> Integers:
        """Heads of all rows by beam search; adds to the votes of arcs."""
        from argmetric._text.kernels.parsing import parse_beams

        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        parse_beams(
            trees.text,
            self.policy.scheme,
            self.policy.weights,
            width,
            self.reverse,
            heads,
            votes,
            matrices,
        )
        return heads


@dataclass(frozen=True, eq=False)
class Model:
    """Templates, sides, and the relations of words to heads where they are known."""

    templates: Templates
    sides: tuple[Side, ...]
    relations: Relations | None = None

    def heads(self, text: Text, width: int) -> list[Integers]:
        """The heads of the words of each sentence."""
        parts = self._parts(text, width)
        return list(chain.from_iterable(part.split(heads) for part, heads in parts))

    def parse(self, text: Text, width: int) -> list[Tree]:
        """The trees of sentences."""
        found: list[Tree] = []
        for part, heads in self._parts(text, width):
            named = None
            if self.relations is not None:
                named = part.sentences(self.relations.of(part, heads))
            found += part.trees(heads, named)
        return found

    def _parts(self, text: Text, width: int) -> Iterator[tuple[Text, Integers]]:
        """Sentences in portions, and the heads of their rows, -1 for ROOT."""
        for low, high in text.parts(_BLOCK):
            part = text.part(low, high)
            nothing = np.full(int(part.starts[-1]), -1, dtype=np.int64)
            trees = Trees(part.codes(self.templates), part.starts, nothing)
            yield part, self._parse(trees, width)

    def _parse(self, trees: Trees, width: int) -> Integers:
        if len(self.sides) > 1:
            return self._agreed(trees, width)
        (side,) = self.sides
        own = turned(trees) if side.reverse else trees
        if width == 1:
            heads, _ = side.policy.greedy(own)
        else:
            heads = side.votes(own, width, np.empty(0), np.empty(0, np.int64))
        return mirrored_heads(heads, trees.starts) if side.reverse else heads

    def _agreed(self, trees: Trees, width: int) -> Integers:
        """The trees that have most votes of all sides."""
        from argmetric._text.kernels.parsing_trees import best_trees

        lengths = np.diff(trees.starts)
        matrices = np.concatenate([[0], np.cumsum(lengths**2)])
        votes = np.zeros(int(matrices[-1]))
        for side in self.sides:
            own = turned(trees) if side.reverse else trees
            side.votes(own, width, votes, matrices)
        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        best_trees(trees.starts, votes, matrices, heads)
        return heads


def turned(trees: Trees) -> Trees:
    """Mirrored sentences."""
    heads = mirrored_heads(trees.heads, trees.starts)
    return Trees(trees.codes[mirror(trees.starts)], trees.starts, heads)


def learn_sides(
    templates: Templates,
    recipe: Recipe,
    directions: tuple[bool, ...],
    random_state: int,
    trees: Trees,
    dev: Trees | None,
    log: Log,
) -> Model:
    """Learn every side; an interrupt ends the one and leaves out the others."""

    def side(reverse: bool) -> Side:
        own = turned(trees) if reverse else trees
        held = turned(dev) if reverse and dev is not None else dev
        stage, seed = "right" if reverse else "left", random_state + int(reverse)
        return Side(reverse, _learn(templates, recipe, seed, own, held, log, stage))

    return Model(templates, tuple(learn_directions(directions, side, log)))


def _learn(
    templates: Templates,
    recipe: Recipe,
    seed: int,
    trees: Trees,
    dev: Trees | None,
    log: Log,
    stage: str,
) -> Policy:
    n = len(trees.starts) - 1
    if recipe.roll_in == "cross" and n < FOLDS:
        recipe = replace(recipe, roll_in="own")  # too few to be split
    paths = np.empty(0, dtype=np.int64)
    if recipe.roll_in == "cross":
        unfinished, paths = _unseen_paths(templates, recipe, seed, trees, log, stage)
        if log.interrupted:
            return unfinished
    policy, interrupted = learn_epochs(
        Learning(templates.scheme, recipe, seed),
        trees,
        seed,
        paths=paths,
        score=None if dev is None else _scorer(dev),
        report=log.hear(stage),
    )
    log.interrupted |= interrupted
    return policy


def _scorer(dev: Trees) -> Callable[[Policy], float]:
    words = dev.heads >= 0

    def score(policy: Policy) -> float:
        hits = policy.greedy(dev)[0] == dev.heads
        return float(hits[words].mean()) if words.any() else 1.0

    return score


def _unseen_paths(
    templates: Templates, recipe: Recipe, seed: int, trees: Trees, log: Log, stage: str
) -> tuple[Policy, Integers]:
    """Actions of policies on sentences that they have not seen.

    Half the epochs are enough for them. An interrupt leaves the paths unfinished; the
    first policy is what is learned by then.
    """
    n = len(trees.starts) - 1
    edges = np.linspace(0, n, FOLDS + 1).astype(int).tolist()
    short = replace(recipe, roll_in="static", epochs=(recipe.epochs + 1) // 2)
    first: Policy | None = None
    paths: list[Integers] = []
    for fold in range(FOLDS):
        low, high = edges[fold], edges[fold + 1]
        try:
            policy, log.interrupted = learn_epochs(
                Learning(templates.scheme, short, seed),
                trees,
                seed,
                chosen=np.concatenate([np.arange(low), np.arange(high, n)]),
                report=log.hear(f"{stage}, fold {fold + 1}"),
            )
            first = first or policy
            if log.interrupted:
                break
            paths.append(policy.greedy(trees.part(low, high))[1])
        except KeyboardInterrupt:
            if first is None:
                raise
            log.interrupted = True
            break
    assert first is not None
    return first, np.concatenate([np.empty(0, np.int64), *paths])


def with_relations(
    model: Model,
    recipe: Recipe,
    seed: int,
    text: Text,
    heads: Integers,
    relations: Sequence[list[str] | None],
    log: Log,
) -> Model:
    """The model with relations learned, where there are some and no interrupt is."""
    lengths = (np.diff(text.starts) - 1).tolist()
    nothing = [[None] * n for n in lengths]
    each = (own or none for own, none in zip(relations, nothing, strict=True))
    flat = [None if name == UNKNOWN else name for name in chain.from_iterable(each)]
    if log.interrupted or flat.count(None) == len(flat):
        return model
    bits = 64 - int(model.templates.scheme[-1])
    try:
        found, log.interrupted = learn_relations(
            text, heads, flat, recipe, bits, seed, log.hear("relations")
        )
    except KeyboardInterrupt:
        log.interrupted = True
        return model
    return replace(model, relations=found)
