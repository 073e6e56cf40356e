"""How a plain text is laid out: what is markup, and where blocks of text begin.

Headings, tables, fenced code and rules are no sentences. The marks of lists, quotes,
emphasis and links are no part of words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from argmetric._input.types import Booleans, Integers

_QUOTE = re.compile(r"\s*(?:>\s?)+")
_BULLET = re.compile(r"\s*[-*+•‣◦]\s+(?:\[[ xX]\]\s+)?")
_NUMBER = re.compile(r"\s*[0-9]{1,3}[.)]\s+")
_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*\Z")
_RULE = re.compile(r"([-=*_~^+#\"])\1{2,}\Z")
_BORDER = re.compile(r"(?=.*[-=]{2})[-=+|:\s]{3,}\Z")
_DEFINITION = re.compile(r"\[[^\]]+\]:\s+\S+")
_SENTENCE = re.compile(r"[.!?…][\"')\]}»”’*_]*\Z")

# What is hidden of inline markup: all but the second group
_INLINE = tuple(
    map(
        re.compile,
        (
            r"(!\[[^\[\]]*\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\))()()",
            r"(\[)([^\[\]]+)(\](?:\([^()\s]*(?:\s+\"[^\"\n]*\")?\)|\[[^\[\]\n]*\]))",
            r"(?<![\w`])(`{1,2})(?=[^\s`])([^`\n]*[^\s`])(\1)(?![\w`])",
            r"(?<![\w*])(\*{1,3})(?=[^\s*])((?:[^*\n]|\n(?!\s))*[^\s*])(\1)(?![\w*])",
            r"(?<!\w)(_{1,3})(?=[^\s_])((?:[^_\n]|\n(?!\s))*[^\s_])(\1)(?!\w)",
        ),
    )
)


@dataclass(frozen=True, eq=False)
class Layout:
    """The layout of a text.

    Attributes
    ----------
    hidden : ndarray of bool
        Which characters are markup, or of lines that are no sentences.
    lines : ndarray of int64
        The first character of each line.
    blocks : ndarray of int64
        The block of each line: a paragraph, or an item of a list.
    is_item : ndarray of bool
        Which lines begin an item of a list, or go on with one.
    is_indented : ndarray of bool
        Which lines go on with an item of a list, because they are indented.
    """

    hidden: Booleans
    lines: Integers
    blocks: Integers
    is_item: Booleans
    is_indented: Booleans


def plain_layout(text: str) -> Layout:
    """The layout of a text without markup: empty lines part its blocks."""
    lines = text.split("\n")
    filled = np.array([bool(line.strip()) for line in lines])
    none = np.zeros(len(lines), dtype=np.bool_)
    hidden = np.zeros(len(text), dtype=np.bool_)
    return Layout(
        hidden, _firsts(lines), np.cumsum(~filled, dtype=np.int64), none, none
    )


def read_layout(text: str) -> Layout:
    """The layout of a text that may have marks of Markdown."""
    lines = text.split("\n")
    quotes = [_length(_QUOTE.match(line)) for line in lines]
    bodies = [line[n:].strip() for line, n in zip(lines, quotes, strict=True)]
    out = _left_out(bodies)
    filled = np.array([bool(body) for body in bodies]) & ~out
    numbered = [_length(_NUMBER.match(line)) for line in lines]
    if np.count_nonzero(numbered) < 2:  # one number makes no list
        numbered = [0] * len(lines)
    marks = np.array(
        [
            n + (_length(_BULLET.match(line, n)) or number)
            for line, n, number in zip(lines, quotes, numbered, strict=True)
        ]
    )
    begins = filled & (marks > quotes)
    blocks = np.cumsum(~filled | begins, dtype=np.int64)
    of_items = np.isin(blocks, blocks[begins]) & filled
    is_indented = of_items & ~begins & np.array([line[:1].isspace() for line in lines])
    firsts = _firsts(lines)
    sizes = np.array([len(line) for line in lines])
    behind = firsts + np.where(out, sizes, np.where(filled, marks, 0))
    inline = [m for one in _INLINE for m in one.finditer(text)]
    edges = np.zeros(len(text) + 1, dtype=np.int64)
    np.add.at(edges, [*firsts, *(m.start(i) for m in inline for i in (1, 3))], 1)
    np.add.at(edges, [*behind, *(m.end(i) for m in inline for i in (1, 3))], -1)
    hidden = np.cumsum(edges[:-1]) > 0
    return Layout(hidden, firsts, blocks, begins | is_indented, is_indented)


def _firsts(lines: list[str]) -> Integers:
    sizes = (len(line) + 1 for line in lines[:-1])
    return np.array([0, *accumulate(sizes)], dtype=np.int64)


def _length(found: re.Match[str] | None) -> int:
    return 0 if found is None else found.end() - found.start()


def _left_out(bodies: list[str]) -> Booleans:
    """Lines of headings, tables, fenced code, rules, and definitions of links."""
    out = np.array(
        [
            any(one.match(body) for one in (_HEADING, _RULE, _BORDER, _DEFINITION))
            or (body.startswith("|") and body.count("|") > 1)
            for body in bodies
        ]
    )
    fence, opened, in_table = "", 0, False
    for i, body in enumerate(bodies):
        if out[i] and i and _RULE.match(body):  # a title stands alone, no sentence
            alone = i == 1 or not bodies[i - 2] or out[i - 2]
            out[i - 1] |= alone and _SENTENCE.search(bodies[i - 1]) is None
        if "|" not in body:
            in_table = False
        elif out[i] and _BORDER.match(body):  # rows need no bars at their ends
            out[i - 1] |= i > 0 and "|" in bodies[i - 1]
            in_table = True
        out[i] |= in_table
        if fence and body.startswith(fence) and not body.strip(fence[0]):
            out[opened : i + 1] = True
            fence = ""
        elif not fence and (found := _FENCE.match(body)):
            fence, opened = found[1], i
            out[i] = True
    return out
