"""Sentences and trees as flat columns, and templates of the states of a parser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_items, check_texts, shown
from argmetric._ground.types import Booleans, Hashes, Integers
from argmetric.search.corpus.heads import Heads
from argmetric.search.corpus.sentences import Sentence
from argmetric.search.corpus.tree_scores import check_trees
from argmetric.search.corpus.trees import Tree
from argmetric.search.learning import Column, one_a_line, salt_of, template_texts

_PART = re.compile(r"([sb])([0-9])((?:\.[lr]c2?)*)\.([a-z]+\d*)")
_ATTRIBUTE = re.compile(r"w|p|lower|norm|shape|case|(?:prefix|suffix)[1-9]\d?")
_CHILD = {"lc": 2, "lc2": 3, "rc": 4, "rc2": 5}  # as the kernels number them
_TAG = "p"


def _node(node: str) -> str:
    """A node by its word, its tag, and both."""
    return f"{node}.w\n{node}.p\n{node}.w|{node}.p"


def _cross(one: str, other: str) -> str:
    """Two nodes, each by its word or by its tag."""
    return "\n".join(f"{one}.{a}|{other}.{b}" for a in "wp" for b in "wp")


def _pair(one: str, other: str) -> str:
    """Two nodes, each by its word, its tag, or both."""
    ways = ("w|{}.p", "w", "p")
    pairs = [(a, b) for a in ways for b in ways]
    return "\n".join(
        f"{one}.{a.format(one)}|{other}.{b.format(other)}" for a, b in pairs
    )


def _children(node: str, side: str) -> str:
    """A node with its outermost children on a side."""
    child = f"{node}.{side}"
    return f"""\
{node}.p|{child}.p|{child}2.p
{node}.w|{child}.p
{node}.w|{child}.w
{node}.p|{child}.w"""


TABLE = one_a_line(f"""
bias {_node("s0")} {_node("s1")} {_node("s2")} {_node("b0")} {_node("b1")}
{_node("b2")} b3.p s3.p {_pair("s0", "b0")} {_pair("s1", "s0")}
# other pairs
s1.w|s1.p|b0.w|b0.p {_cross("s1", "b0")} {_cross("s0", "b1")} {_cross("b0", "b1")}
s2.p|b0.p s2.p|s0.p s0.p|b2.p
# three and four
b0.p|b1.p|b2.p s0.p|b0.p|b1.p s0.w|b0.p|b1.p s0.p|b0.w|b1.p s0.p|b0.p|b1.w
s1.p|s0.p|b0.p s1.w|s0.p|b0.p s1.p|s0.w|b0.p s1.p|s0.p|b0.w s1.w|s0.w|b0.p
s1.p|s0.w|b0.w s1.w|s0.p|b0.w s2.p|s1.p|s0.p s2.p|s1.p|b0.p s1.p|s0.p|b0.p|b1.p
s2.p|s1.p|s0.p|b0.p s0.p|b0.p|b1.p|b2.p
# children
s0.lc.w s0.lc.p s0.rc.w s0.rc.p s1.lc.w s1.lc.p s1.rc.w s1.rc.p b0.lc.w b0.lc.p
s0.lc2.p s0.rc2.p s1.lc2.p s1.rc2.p b0.lc2.p
# children with their heads
{_children("s0", "lc")} {_children("s0", "rc")} {_children("s1", "lc")}
{_children("s1", "rc")} {_children("b0", "lc")}
# children with the other nodes
s0.p|b0.p|s0.lc.p s0.p|b0.p|s0.rc.p s0.p|b0.p|b0.lc.p s1.p|s0.p|s0.lc.p
s1.p|s0.p|s0.rc.p s1.p|s0.p|s1.lc.p s1.p|s0.p|s1.rc.p s1.p|s0.p|b0.p|s0.lc.p
s1.p|s0.p|b0.p|s0.rc.p s1.p|s0.p|b0.p|s1.lc.p s1.p|s0.p|b0.p|s1.rc.p
s1.p|s0.p|b0.p|b0.lc.p s0.w|b0.p|s0.rc.p s0.p|b0.w|s0.rc.p s0.p|b0.p|s0.rc.w
s1.w|s0.p|s1.rc.p s1.p|s0.p|s1.rc.w s0.p|b0.p|s0.lc.p|b0.lc.p
s0.p|b0.p|s0.rc.p|s0.rc2.p s0.p|s0.lc.p|s0.rc.p|b0.p s0.rc.rc.p|s0.rc.p|s0.p
""")


@dataclass(frozen=True, eq=False)
class Templates:
    """Templates as arrays for the kernels."""

    texts: tuple[str, ...]  # the templates as they were written
    words: tuple[str, ...]  # the attributes of words that they read
    tags: tuple[str, ...]  # "p" where they read parts of speech
    # nodes, values, parts and salts, as `kernels.parsing` takes them
    scheme: tuple[Any, ...]


def read_templates(table: str | Iterable[str] | None, hash_bits: int) -> Templates:
    """Templates of a table: text with one template a line, or a list of them.

    ``|`` joins parts, ``#`` starts a comment. ``s0`` is the top of the stack, ``s1``
    what is below it, ``b0`` the first node of the buffer; ``.lc`` and ``.lc2`` are
    its first and second child from the left, ``.rc`` and ``.rc2`` from the right; last
    stands what is read: ``w`` the word, ``p`` its part of speech, ``lower``, ``norm``,
    ``shape``, ``case``, ``prefixN``, ``suffixN``.
    """
    if table is None:
        table = TABLE
    nodes: dict[tuple[int, int], int] = {}
    values: dict[tuple[int, str], int] = {}
    found: dict[str, list[int]] = {}
    for number, text in template_texts(table):
        pieces = [] if text == "bias" else text.split("|")
        found[text] = [_value(p, number, nodes, values) for p in pieces]
    if not found:
        raise ValueError("there is no template")
    return _compiled(found, nodes, values, hash_bits)


def _value(
    piece: str,
    number: int,
    nodes: dict[tuple[int, int], int],
    values: dict[tuple[int, str], int],
) -> int:
    """Number of a value, which is new if need be."""
    match = _PART.fullmatch(piece)
    if match is None:
        raise ValueError(
            f"template {number}: {piece!r} is no part of a template; write for "
            "instance 's0.w', 'b0.p', 's0.p|s1.p', 's0.rc.w'"
        )
    base, which, children, attribute = match.groups()
    if not _ATTRIBUTE.fullmatch(attribute):
        raise ValueError(
            f"template {number}: there is no attribute {attribute!r}; there are w, p, "
            "lower, norm, shape, case, prefixN and suffixN"
        )
    node = nodes.setdefault(("sb".index(base), int(which)), len(nodes))
    for child in children.split(".")[1:]:
        node = nodes.setdefault((_CHILD[child], node), len(nodes))
    return values.setdefault((node, attribute), len(values))


def _compiled(
    found: dict[str, list[int]],
    nodes: dict[tuple[int, int], int],
    values: dict[tuple[int, str], int],
    hash_bits: int,
) -> Templates:
    attributes = list(dict.fromkeys(name for _, name in values))
    words = tuple(name for name in attributes if name != _TAG)
    tags = (_TAG,) if _TAG in attributes else ()
    column = {name: j for j, name in enumerate((*words, *tags))}
    salts: Hashes = np.array([salt_of(text) for text in found], dtype=np.uint64)
    scheme = (
        np.array([kind for kind, _ in nodes], dtype=np.int64),
        np.array([which for _, which in nodes], dtype=np.int64),
        np.array([node for node, _ in values], dtype=np.int64),
        np.array([column[name] for _, name in values], dtype=np.int64),
        np.array([part for parts in found.values() for part in parts], dtype=np.int64),
        np.cumsum([0, *map(len, found.values())]).astype(np.int64),
        salts,
        np.uint64(64 - hash_bits),
    )
    return Templates(tuple(found), words, tags, scheme)


_ROOT = 2  # its code; 1 is that of a node that there is not


@dataclass(frozen=True, eq=False)
class Text:
    """Sentences laid end to end."""

    # words, tags: of all words; no tags where there are none
    words: list[str]
    tags: list[str]
    # rows where the sentences start with their ROOT, and the number of rows
    starts: Integers

    @property
    def is_word(self) -> Booleans:
        """Which rows are words, not ROOT."""
        found = np.ones(int(self.starts[-1]), dtype=np.bool_)
        found[self.starts[:-1]] = False
        return found

    def codes(self, templates: Templates) -> Hashes:
        """Codes of the attributes that templates read, for every row."""
        columns = [Column(templates.words).codes(self.words)]
        if templates.tags:
            columns.append(Column(["pos"]).codes(self.tags))
        width = len(templates.words) + len(templates.tags)
        codes = np.full((int(self.starts[-1]), width), _ROOT, dtype=np.uint64)
        codes[self.is_word] = np.concatenate(columns, axis=1)
        return codes

    def sentences(self, column: list[str]) -> list[list[str]]:
        """A column of all words as a list for each sentence."""
        bounds = (self.starts - np.arange(len(self.starts))).tolist()
        return [column[a:b] for a, b in pairwise(bounds)]

    def with_tags(self, tags: list[str]) -> Text:
        """This text with other parts of speech."""
        return Text(self.words, tags, self.starts)

    def split(self, rows: Integers) -> list[Integers]:
        """Values of rows as one array for each sentence, without its ROOT."""
        return [rows[a + 1 : b] for a, b in pairwise(self.starts.tolist())]

    def part(self, low: int, high: int) -> Text:
        """The sentences from `low` up to, not including, `high`."""
        starts = self.starts[low : high + 1]
        a, b = int(starts[0]) - low, int(starts[-1]) - high
        return Text(self.words[a:b], self.tags[a:b], starts - starts[0])

    def trees(
        self, heads: Integers, relations: Sequence[list[str] | None] | None = None
    ) -> list[Tree]:
        """Sentences with the heads of their rows, and relations if there are some."""
        words, tags = self.sentences(self.words), self.sentences(self.tags)
        known = [own if any(own) else None for own in tags]
        named = [None] * len(words) if relations is None else relations
        return list(map(Tree, words, known, self.split(heads), named))

    def parts(self, size: int) -> list[tuple[int, int]]:
        """Ranges of sentences of about so many words."""
        edges = np.flatnonzero(np.diff(self.starts[1:] // size)) + 1
        bounds = [0, *edges.tolist(), len(self.starts) - 1]
        return [(low, high) for low, high in pairwise(bounds) if low < high]


def mirror(starts: Integers) -> Integers:
    """Rows in the order of the mirrored sentences: words reversed, ROOT first."""
    rows = np.arange(int(starts[-1]))
    lengths = np.diff(starts)
    back = np.repeat(starts[:-1] + starts[1:], lengths) - rows
    back[starts[:-1]] = starts[:-1]
    return back


def mirrored_heads(heads: Integers, starts: Integers) -> Integers:
    """Heads of the nodes of mirrored sentences; its own inverse."""
    found = heads[mirror(starts)]
    n_nodes = np.repeat(np.diff(starts), np.diff(starts))
    return np.where(found > 0, n_nodes - found, found)


def read_text(sentences: list[Any], *, tagged: bool) -> Text:
    """Sentences of any kind that `Parser.fit` takes, which may have to be tagged."""
    pairs = [_columns(s, item, tagged) for s, item in enumerate(sentences)]
    lengths = [len(words) + 1 for words, _ in pairs]
    return Text(
        list(chain.from_iterable(words for words, _ in pairs)),
        list(chain.from_iterable(tags for _, tags in pairs)),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
    )


def _columns(s: int, item: Any, tagged: bool) -> tuple[list[str], list[str]]:
    if hasattr(item, "words") and hasattr(item, "tags"):
        columns = [item.words, item.tags]
    elif isinstance(item, Sentence):
        columns = list(item.columns)
    elif isinstance(item, tuple):
        columns = list(item)
    elif isinstance(item, Sequence) and not isinstance(item, str):
        columns = _columns_of_tokens(s, item)
    else:
        raise TypeError(
            f"sentence {s} must be (words, tags), a list of (word, tag), or a tree, "
            f"not {shown(item)}"
        )
    if not columns:
        return [], []
    if len(columns) < 2 or columns[1] is None:
        if tagged:
            where = f"sentence {s}"
            if getattr(item, "file", ""):
                where = f"{item.file}: the sentence at line {item.line}"
            raise ValueError(
                f"{where} has no parts of speech: give them beside the words, or a "
                "tagger of them, tagger=..."
            )
        columns = [columns[0], [""] * len(columns[0])]
    words, tags = (_texts(s, column) for column in columns[:2])
    if len(words) != len(tags):
        raise ValueError(
            f"sentence {s} has {len(words)} words and {len(tags)} parts of speech"
        )
    return words, tags


def _columns_of_tokens(s: int, tokens: Sequence[Any]) -> list[Any]:
    """Columns of a list of words, or of tuples that are the same for all tokens."""
    if not tokens or all(isinstance(token, str) for token in tokens):
        return [list(tokens)] if tokens else []
    widths = {len(t) if isinstance(t, tuple | list) else 0 for t in tokens}
    if len(widths) > 1 or 0 in widths:
        raise ValueError(f"sentence {s}: its tokens have not all as many columns")
    return list(zip(*tokens, strict=True))


def _texts(s: int, column: Any) -> list[str]:
    values = check_items(column, f"a column of sentence {s}", "a list of text")
    for at, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(f"sentence {s}, token {at + 1}: a word must be text")
    return values if set(map(type, values)) <= {str} else list(map(str, values))


def read_heads(sentences: Any, heads: Any, text: Text) -> Integers:
    """Heads of all rows, -1 for ROOT; trees that are none are refused.

    Where `heads` is None, sentences have heads of their own.
    """
    own = heads is None
    if own:
        heads = [getattr(item, "heads", None) for item in sentences]
        for s, one in enumerate(heads):
            if one is None:
                raise ValueError(f"sentence {s} has no heads, and none were given")
    items = check_items(heads, "heads", "a list with the heads of each sentence")
    lengths = (np.diff(text.starts) - 1).tolist()
    if len(items) != len(lengths):
        raise ValueError(f"{len(lengths)} sentences have heads of {len(items)}")
    arrays = [_integers(s, item) for s, item in enumerate(items)]
    for s, (array, n) in enumerate(zip(arrays, lengths, strict=True)):
        if len(array) != n:
            raise ValueError(f"sentence {s} has {n} words and {len(array)} heads")
    found = np.full(int(text.starts[-1]), -1, dtype=np.int64)
    found[text.is_word] = np.concatenate([np.empty(0, np.int64), *arrays])
    is_file = own and all(isinstance(item, Tree) for item in sentences)
    check_trees(sentences if is_file else text.trees(found))  # a file names its lines
    return found


def read_relations(sentences: list[Any], text: Text) -> list[list[str] | None]:
    """Relations of the words of each sentence that has some."""
    found: list[list[str] | None] = []
    for s, (item, n) in enumerate(
        zip(sentences, np.diff(text.starts) - 1, strict=True)
    ):
        own = getattr(item, "relations", None)
        if own is not None:
            own = check_texts(own, f"relations of sentence {s}")
            if len(own) != n:
                raise ValueError(f"sentence {s} has {n} words and {len(own)} relations")
        found.append(own)
    return found


def _integers(s: int, heads: Any) -> Integers:
    values = np.asarray(check_items(heads, f"heads of sentence {s}", "a list of int"))
    if values.size == 0:
        return np.empty(0, dtype=np.int64)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise TypeError(f"heads of sentence {s} must be whole numbers")
    return values.astype(np.int64)


def projective(heads: Integers, starts: Integers) -> tuple[Integers, int]:
    """The nearest projective trees, and how many were none."""
    from argmetric.search.kernels.parsing import best_trees, nearness

    is_word = np.ones(len(heads), dtype=np.bool_)
    is_word[starts[:-1]] = False
    crossing = ~Heads(heads[is_word], starts - np.arange(len(starts))).projective()
    if not crossing.any():
        return heads, 0
    found = heads.copy()
    chosen = np.flatnonzero(crossing)
    rows = np.flatnonzero(np.repeat(crossing, np.diff(starts)))
    lengths = np.diff(starts)[chosen]
    own = np.concatenate([[0], np.cumsum(lengths)])
    matrices = np.concatenate([[0], np.cumsum(lengths**2)])
    scores = np.empty(int(matrices[-1]))
    nearness(own, heads[rows], matrices, scores)
    nearest = np.empty(len(rows), dtype=np.int64)
    best_trees(own, scores, matrices, nearest)
    found[rows] = nearest
    return found, len(chosen)
