"""Relations of words to their heads: a label for each arc, once the tree is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Booleans, Integers, SingleFloats
from argmetric._text.hashing import Column, one_a_line, template_texts
from argmetric._text.kernels.tagging_layout import Choices, FeatureRows
from argmetric._text.learning import Epoch, Recipe
from argmetric._text.parsing.text import Text
from argmetric._text.tagging._model import TaggerPolicy, static_of
from argmetric._text.tagging._training import make_learning
from argmetric._text.tagging.features import hashed_rows
from argmetric._text.tagging.labels import Tier, make_choices
from argmetric._text.tagging.templates import Compiled, Template, compile_templates

MOST_BITS = 18  # of hashed features, each with a weight for every relation
_ABSENT, _ROOT = 1, 2  # codes of a node that there is not, and of ROOT
_FAR = 6  # words; farther is all the same
_PART = re.compile(r"([a-z0-9.]+)(?:\[([+-]\d)\])?")

# c is the word, h its head, g the head of that; lc and rc are the word's outermost
# children, s the next child of the head between them; d is how far the head is, and on
# which side
_TABLE = one_a_line("""
bias c.w c.p h.w h.p d c.w|d c.p|d h.p|d h.p|c.p h.w|c.w h.w|c.p h.p|c.w h.p|c.p|d
h.w|c.p|d h.p|c.w|d c.suffix3|c.p|h.p h.suffix3|c.p|h.p g.p|h.p|c.p g.w|h.p|c.w
c.p[-1]|c.p c.p|c.p[+1] c.p[-1]|c.p|c.p[+1] c.p[-1]|h.p|c.p h.p|c.p|c.p[+1]
lc.p|c.p|h.p lc.w|c.p|h.p lc.w|c.p|h.w rc.p|c.p|h.p rc.w|c.p|h.p s.p|c.p|h.p
s.p|c.p|h.w s.p|c.p|h.p|d
""")


@cache
def _templates() -> tuple[list[str], Compiled]:
    """The attributes of arcs that templates read, and the templates as arrays."""
    texts = [text for _, text in template_texts(_TABLE)]
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


def _rows(text: Text, heads: Integers, hash_bits: int) -> FeatureRows:
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
        scores = static_of(policy, _rows(text, heads, self.hash_bits))
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
    report: Callable[[Epoch], None],
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
    rows = _rows(text, heads, bits)._replace(sentences=alone)
    own = replace(recipe, roll_in="own")
    learning = make_learning(_choices(labels, bits), own, rows, gold, seed, known)
    weights, interrupted = learning.run(report=report)
    places = np.zeros((2, len(labels)), dtype=np.bool_)
    below_root = heads[text.is_word] == 0
    places[below_root[known].astype(np.int64), gold[known]] = True
    places[~places.any(axis=1)] = True  # nothing is known of such arcs
    return Relations(tuple(labels), places, bits, weights), interrupted
