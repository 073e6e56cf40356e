"""Policies of one or both directions, how they are learned and how they parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from argmetric._input.types import Floats, Hashes, Integers, SingleFloats
from argmetric._results.archives import Arrays
from argmetric._text.corpus.trees import UNKNOWN, Tree
from argmetric._text.hashing import dense, sparse
from argmetric._text.learning import Learning, Log, Recipe, gold_share, learn_directions
from argmetric._text.parsing._relations import Relations, learn_relations
from argmetric._text.parsing.templates import Templates, read_templates
from argmetric._text.parsing.text import Text, mirror, mirrored_heads

_BLOCK = 50_000  # words parsed at a time


@dataclass(frozen=True, eq=False)
class Trees:
    """Sentences in the order in which they are read, and their right heads."""

    codes: Hashes
    starts: Integers
    heads: Integers

    @property
    def text(self) -> tuple[Hashes, Integers]:
        return self.codes, self.starts


@dataclass(frozen=True, eq=False)
class TreePolicy:
    """Templates and the weights of their features."""

    scheme: tuple[Any, ...]
    weights: SingleFloats

    def greedy(self, trees: Trees) -> Integers:
        from argmetric._text.kernels.parsing import parse_greedily

        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        parse_greedily(trees.text, self.scheme, self.weights, heads)
        return heads


def make_learning(
    scheme: tuple[Any, ...], recipe: Recipe, trees: Trees, seed: int
) -> Learning:
    """The learning of a policy that builds trees, before its first epoch."""
    from argmetric._text.kernels.parsing import learn_trees

    sizes = 2 * (np.diff(trees.starts) - 1)  # each word is shifted, and gets its head

    def step(block: Integers, learning: Learning, growth: float) -> tuple[Any, ...]:
        kind = "gold" if recipe.roll_in == "static" else "mixed"
        share = gold_share(kind, learning.epoch)
        settings = recipe.step, recipe.dropout, share, growth
        state = learning.arrays, learning.time, learning.seed
        known = settings, trees.heads, block
        wrong, time = learn_trees(trees.text, scheme, *known, *state)
        return wrong, sizes[block].sum(), time

    n_weights = 3 << 64 - int(scheme[-1])
    return Learning(n_weights, seed, recipe.epochs, step, sizes)


@dataclass(frozen=True, eq=False)
class ParserSide:
    """A policy that reads from the left, or from the right (reverse)."""

    reverse: bool
    policy: TreePolicy

    def votes(
        self, trees: Trees, width: int, votes: Floats, matrices: Integers
    ) -> Integers:
        """Heads of all rows by beam search; adds to the votes of arcs."""
        from argmetric._text.kernels.parsing import parse_beams

        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        policy = self.policy.scheme, self.policy.weights
        own = width, self.reverse, heads, votes, matrices
        parse_beams(trees.text, *policy, *own)
        return heads


@dataclass(frozen=True, eq=False)
class Model:
    """Templates, sides, and the relations of words to heads where they are known."""

    templates: Templates
    sides: tuple[ParserSide, ...]
    relations: Relations | None = None

    def heads(self, text: Text, width: int) -> list[Integers]:
        """The heads of the words of each sentence."""
        parts = self._parts(text, width)
        return list(chain.from_iterable(part.split(heads) for part, heads in parts))

    def parse(self, text: Text, width: int) -> list[Tree]:
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
        """Heads by the only side, or the trees that have most votes of all sides."""
        if len(self.sides) > 1:
            return self._agreed(trees, width)
        (side,) = self.sides
        own = turned(trees) if side.reverse else trees
        if width == 1:
            heads = side.policy.greedy(own)
        else:
            heads = side.votes(own, width, np.empty(0), np.empty(0, np.int64))
        return mirrored_heads(heads, trees.starts) if side.reverse else heads

    def _agreed(self, trees: Trees, width: int) -> Integers:
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
    scheme = templates.scheme

    def side(reverse: bool) -> ParserSide:
        own = turned(trees) if reverse else trees
        held = turned(dev) if reverse and dev is not None else dev
        stage, seed = "right" if reverse else "left", random_state + int(reverse)
        learning = make_learning(scheme, recipe, own, seed)
        score = None if held is None else _scorer(held, scheme)
        weights, interrupted = learning.run(score, log.hear(stage))
        log.interrupted |= interrupted
        return ParserSide(reverse, TreePolicy(scheme, weights))

    return Model(templates, tuple(learn_directions(directions, side, log)))


def _scorer(dev: Trees, scheme: tuple[Any, ...]) -> Callable[[SingleFloats], float]:
    words = dev.heads >= 0

    def score(weights: SingleFloats) -> float:
        hits = TreePolicy(scheme, weights).greedy(dev) == dev.heads
        return float(hits[words].mean()) if words.any() else 1.0

    return score


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


def packed(model: Model) -> tuple[dict[str, Any], Arrays]:
    """A model as a header and arrays."""
    arrays: Arrays = {}
    for number, side in enumerate(model.sides):
        arrays |= sparse(f"side{number}", side.policy.weights)
    header: dict[str, Any] = {
        "templates": list(model.templates.texts),
        "hash_bits": 64 - int(model.templates.scheme[-1]),
        "reverse": [side.reverse for side in model.sides],
    }
    if model.relations is not None:
        arrays |= sparse("relations", model.relations.weights)
        arrays["relation_places"] = model.relations.places
        header["relations"] = list(model.relations.labels)
        header["relation_bits"] = model.relations.hash_bits
    return header, arrays


def unpacked(header: Mapping[str, Any], arrays: Arrays) -> Model:
    templates = read_templates(header["templates"], header["hash_bits"])
    n = 3 << header["hash_bits"]
    sides = tuple(
        ParserSide(
            reverse, TreePolicy(templates.scheme, dense(f"side{number}", arrays, n))
        )
        for number, reverse in enumerate(header["reverse"])
    )
    relations = None
    if "relations" in header:
        labels, bits = tuple(header["relations"]), header["relation_bits"]
        weights = dense("relations", arrays, len(labels) << bits)
        relations = Relations(labels, arrays["relation_places"], bits, weights)
    return Model(templates, sides, relations)
