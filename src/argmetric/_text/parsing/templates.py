"""Feature templates of states: a table that people can read and extend."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Hashes, Integers
from argmetric._text.hashing import one_a_line, salt_of, template_texts

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
    # nodes, values, parts and salts, as `_kernels.parsing` takes them
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
        _integers([kind for kind, _ in nodes]),
        _integers([which for _, which in nodes]),
        _integers([node for node, _ in values]),
        _integers([column[name] for _, name in values]),
        _integers([part for parts in found.values() for part in parts]),
        np.cumsum([0, *map(len, found.values())]).astype(np.int64),
        salts,
        np.uint64(64 - hash_bits),
    )
    return Templates(tuple(found), words, tags, scheme)


def _integers(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64)
