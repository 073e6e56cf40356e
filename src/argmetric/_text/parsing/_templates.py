"""Feature templates of states: a table that people can read and extend."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Hashes, Integers
from argmetric._text.hashing import salt_of
from argmetric._text.parsing._defaults import TABLE

_PART = re.compile(r"([sb])([0-9])((?:\.[lr]c2?)*)\.([a-z]+\d*)")
_ATTRIBUTE = re.compile(r"w|p|lower|norm|shape|case|(?:prefix|suffix)[1-9]\d?")
_CHILD = {"lc": 2, "lc2": 3, "rc": 4, "rc2": 5}  # as the kernels number them
_TAG = "p"


@dataclass(frozen=True, eq=False)
class Templates:
    """Templates as arrays for the kernels.

    Attributes
    ----------
    texts : tuple of str
        The templates as they were written.
    words : tuple of str
        The attributes of words that they read.
    tags : tuple of str
        "p" where they read parts of speech.
    scheme : tuple
        Nodes, values, parts and salts, as `_kernels.parsing` takes them.
    """

    texts: tuple[str, ...]
    words: tuple[str, ...]
    tags: tuple[str, ...]
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
    lines = table.splitlines() if isinstance(table, str) else list(table)
    nodes: dict[tuple[int, int], int] = {}
    values: dict[tuple[int, str], int] = {}
    found: dict[str, list[int]] = {}
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(f"template {number} must be text, not {line!r}")
        text = "".join(line.partition("#")[0].split())
        if text:
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
