"""Policies that build trees, and relations of words: learned, and parsing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.saving import Arrays
from argmetric._ground.types import Booleans, Floats, Hashes, Integers, SingleFloats
from argmetric.search.corpus.trees import UNKNOWN, Tree
from argmetric.search.kernels.tagging_features import Choices, FeatureRows
from argmetric.search.learning import (
    Column,
    Learning,
    Log,
    Recipe,
    Report,
    dense,
    gold_share,
    learn_directions,
    one_a_line,
    sparse,
    template_texts,
)
from argmetric.search.parsing.text import (
    Templates,
    Text,
    mirror,
    mirrored_heads,
    read_templates,
)
from argmetric.search.tagging._model import TaggerPolicy, static_of
from argmetric.search.tagging._training import make_learning as make_label_learning
from argmetric.search.tagging.labels import Tier, make_choices
from argmetric.search.tagging.templates import (
    Compiled,
    Template,
    compile_templates,
    hashed_rows,
)

MOST_BITS = 18  # of hashed features, each with a weight for every relation
_ABSENT, _ROOT = 1, 2  # codes of a node that there is not, and of ROOT
_FAR = 6  # words; farther is all the same
_PART = re.compile(r"([a-z0-9.]+)(?:\[([+-]\d)\])?")

# c is the word, h its head, g the head of that; lc and rc are the word's outermost
# children, s the next child of the head between them; d is how far the head is, and on
# which side
_RELATION_TABLE = one_a_line("""
bias c.w c.p h.w h.p d c.w|d c.p|d h.p|d h.p|c.p h.w|c.w h.w|c.p h.p|c.w h.p|c.p|d
h.w|c.p|d h.p|c.w|d c.suffix3|c.p|h.p h.suffix3|c.p|h.p g.p|h.p|c.p g.w|h.p|c.w
c.p[-1]|c.p c.p|c.p[+1] c.p[-1]|c.p|c.p[+1] c.p[-1]|h.p|c.p h.p|c.p|c.p[+1]
lc.p|c.p|h.p lc.w|c.p|h.p lc.w|c.p|h.w rc.p|c.p|h.p rc.w|c.p|h.p s.p|c.p|h.p
s.p|c.p|h.w s.p|c.p|h.p|d
""")


@cache
def _templates() -> tuple[list[str], Compiled]:
    """The attributes of arcs that templates read, and the templates as arrays."""
    texts = [text for _, text in template_texts(_RELATION_TABLE)]
    pieces = [_PART.findall(text) if text != "bias" else [] for text in texts]
    parts = [[(name, int(offset or 0)) for name, offset in own] for own in pieces]
    names = list(dict.fromkeys(name for own in parts for name, _ in own))
    pairs = zip(texts, parts, strict=True)
    table = [Template(text, tuple(own), ()) for text, own in pairs]
    return names, compile_templates([table], names)


def _nodes(text: Text, heads: Integers) -> dict[str, Integers]:
    """Rows of what templates read of each word's arc; -1 where it is not there."""
    starts, n = text.starts, int(text.starts[-1])
    rows = np.flatnonzero(text.is_word)
    above = np.full(n, -1, dtype=np.int64)
    above[rows] = heads[rows] + np.repeat(starts[:-1], np.diff(starts) - 1)
    head = above[rows]
    first, last = np.full(n, n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    np.minimum.at(first, head, rows)
    np.maximum.at(last, head, rows)
    # A child on the other side is none
    first[first >= np.arange(n)] = -1
    last[last <= np.arange(n)] = -1
    # Children of a head on the same side of it stand beside each other
    order = np.lexsort((rows, rows > head, head))
    one, other = order[:-1], order[1:]
    beside = (head[one] == head[other]) & ((rows > head)[one] == (rows > head)[other])
    inner = np.full(len(rows), -1, dtype=np.int64)
    rightward = beside & (rows > head)[one]
    inner[other[rightward]] = rows[one[rightward]]
    leftward = beside & (rows < head)[one]
    inner[one[leftward]] = rows[other[leftward]]
    return {
        "c": rows,
        "h": head,
        "g": above[head],
        "lc": first[rows],
        "rc": last[rows],
        "s": inner,
    }


def _attributes(text: Text, heads: Integers) -> npt.NDArray[np.uint32]:
    """Codes of the attributes of every word's arc."""
    names, _ = _templates()
    nodes, is_word = _nodes(text, heads), text.is_word
    kinds = dict.fromkeys(name.partition(".")[2] for name in names)
    codes = {}  # of all rows, and last that of a node that there is not
    for kind in filter(None, kinds):
        values = text.tags if kind == "p" else text.words
        own = Column(["pos" if kind == "p" else kind]).codes(values)[:, 0]
        codes[kind] = np.full(len(is_word) + 1, _ROOT, dtype=np.uint32)
        codes[kind][:-1][is_word] = own
        codes[kind][-1] = _ABSENT
    found = np.empty((len(text.words), len(names)), dtype=np.uint32)
    for j, name in enumerate(names):
        node, _, kind = name.partition(".")
        if kind:
            found[:, j] = codes[kind][nodes[node]]
        else:
            away = np.clip(nodes["h"] - nodes["c"], -_FAR, _FAR)
            found[:, j] = np.where(is_word[nodes["h"]], away + 2 * _FAR, _ROOT)
    return found


def _relation_rows(text: Text, heads: Integers, hash_bits: int) -> FeatureRows:
    """Hashed features of every word's arc."""
    sentences = text.starts - np.arange(len(text.starts))
    _, templates = _templates()
    return hashed_rows(_attributes(text, heads), sentences, templates, hash_bits)


def _choices(labels: Sequence[str], hash_bits: int) -> Choices:
    """Any relation at any word, whatever the one before it is."""
    tier = Tier("relation", tuple(labels), spans=False)
    return make_choices([tier], [()], hash_bits=hash_bits)


@dataclass(frozen=True, eq=False)
class Relations:
    """Labels of arcs, and the weights that choose among them."""

    labels: tuple[str, ...]  # the relations
    # which of them may be those of words below a word, and of words below ROOT
    places: Booleans
    hash_bits: int  # features are hashed to 2**hash_bits rows of weights
    weights: SingleFloats  # one for each row and label

    def of(self, text: Text, heads: Integers) -> list[str]:
        """The relation of every word to its head."""
        policy = TaggerPolicy(_choices(self.labels, self.hash_bits), self.weights)
        scores = static_of(policy, _relation_rows(text, heads, self.hash_bits))
        below_root = heads[text.is_word] == 0
        scores[~self.places[below_root.astype(np.int64)]] = -np.inf
        best = scores.argmax(axis=1)
        return np.array(self.labels, dtype=object)[best].tolist()  # type: ignore[no-any-return]


def learn_relations(
    text: Text,
    heads: Integers,
    relations: Sequence[str | None],
    recipe: Recipe,
    hash_bits: int,
    seed: int,
    report: Report,
) -> tuple[Relations, bool]:
    """Learn from right trees; returns what is learned, and whether it is unfinished.

    Words whose relation is None teach nothing; there is one that has a relation.
    """
    labels = sorted({name for name in relations if name is not None})
    number: dict[str | None, int] = {name: i for i, name in enumerate(labels)}
    codes = (number.get(name, -1) for name in relations)
    gold = np.fromiter(codes, np.int64, len(relations))
    known = np.flatnonzero(gold >= 0)
    bits = min(hash_bits, MOST_BITS)
    alone = np.arange(len(gold) + 1)  # every word is decided by itself
    rows = _relation_rows(text, heads, bits)._replace(sentences=alone)
    own = replace(recipe, roll_in="own")
    learning = make_label_learning(_choices(labels, bits), own, rows, gold, seed, known)
    weights, interrupted = learning.run(report=report)
    places = np.zeros((2, len(labels)), dtype=np.bool_)
    below_root = heads[text.is_word] == 0
    places[below_root[known].astype(np.int64), gold[known]] = True
    places[~places.any(axis=1)] = True  # nothing is known of such arcs
    return Relations(tuple(labels), places, bits, weights), interrupted


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


def make_learning(
    scheme: tuple[Any, ...], recipe: Recipe, trees: Trees, seed: int
) -> Learning:
    """The learning of a policy that builds trees, before its first epoch."""
    from argmetric.search.kernels.parsing import learn_trees

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
    """Weights of the features of templates, to read from the left or the right."""

    reverse: bool
    scheme: tuple[Any, ...]
    weights: SingleFloats

    def greedy(self, trees: Trees) -> Integers:
        from argmetric.search.kernels.parsing import parse_greedily

        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        parse_greedily(trees.text, self.scheme, self.weights, heads)
        return heads

    def votes(
        self, trees: Trees, width: int, votes: Floats, matrices: Integers
    ) -> Integers:
        """Heads of all rows by beam search; adds to the votes of arcs."""
        from argmetric.search.kernels.parsing import parse_beams

        heads = np.empty(int(trees.starts[-1]), dtype=np.int64)
        own = width, self.reverse, heads, votes, matrices
        parse_beams(trees.text, self.scheme, self.weights, *own)
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
            heads = side.greedy(own)
        else:
            heads = side.votes(own, width, np.empty(0), np.empty(0, np.int64))
        return mirrored_heads(heads, trees.starts) if side.reverse else heads

    def _agreed(self, trees: Trees, width: int) -> Integers:
        from argmetric.search.kernels.parsing import best_trees

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

        def score(weights: SingleFloats, held: Trees) -> float:
            words = held.heads >= 0
            hits = ParserSide(reverse, scheme, weights).greedy(held) == held.heads
            return float(hits[words].mean()) if words.any() else 1.0

        judge = None if held is None else partial(score, held=held)
        weights, interrupted = learning.run(judge, partial(log.add, stage))
        log.interrupted |= interrupted
        return ParserSide(reverse, scheme, weights)

    return Model(templates, tuple(learn_directions(directions, side, log)))


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
            text, heads, flat, recipe, bits, seed, partial(log.add, "relations")
        )
    except KeyboardInterrupt:
        log.interrupted = True
        return model
    return replace(model, relations=found)


def packed(model: Model) -> tuple[dict[str, Any], Arrays]:
    """A model as a header and arrays."""
    arrays: Arrays = {}
    for number, side in enumerate(model.sides):
        arrays |= sparse(f"side{number}", side.weights)
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
        ParserSide(reverse, templates.scheme, dense(f"side{number}", arrays, n))
        for number, reverse in enumerate(header["reverse"])
    )
    relations = None
    if "relations" in header:
        labels, bits = tuple(header["relations"]), header["relation_bits"]
        weights = dense("relations", arrays, len(labels) << bits)
        relations = Relations(labels, arrays["relation_places"], bits, weights)
    return Model(templates, sides, relations)
