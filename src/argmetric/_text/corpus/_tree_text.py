"""A dependency tree as text: a line for each word, its head to the left of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count, check_texts
from argmetric._text.corpus._heads import Heads, check_heads
from argmetric._text.corpus._trees import NO_HEAD

_LEAST_WIDTH = 20
_STEP = 2  # columns for a level


def draw_tree(
    words: Sequence[str],
    heads: Any,
    relations: Sequence[str] | None = None,
    gold_heads: Any = None,
    *,
    width: int = 80,
) -> str:
    """Draw a tree as text: a line for each word, farther right the deeper it lies.

    Words stand in their order. The line from a word goes left, and then up or down to
    the column in which its head begins. An arc that spans words which are not below its
    head is not drawn: the head is named behind the word. Where `gold_heads` differ, a
    cross stands behind the word, and the right head.

    Parameters
    ----------
    words : sequence of str
        The words of one sentence.
    heads : array-like of int
        The number of each word's head, counted from 1; 0 is the root, -1 unknown.
    relations : sequence of str, optional
        Shown behind the words.
    gold_heads : array-like of int, optional
        The right heads.
    width : int, default=80
        Most columns of a line; what is longer is cut.

    Examples
    --------
    >>> words = "a big dog barks at the cat".split()
    >>> print(draw_tree(words, [3, 3, 4, 0, 4, 7, 5], gold_heads=[2, 3, 4, 0, 4, 7, 5]))
    1   ┌ a      ✗ 2 big
    2   ├ big
    3 ┌ dog
    4 barks
    5 └ at
    6   │ ┌ the
    7   └ cat
    """
    words = check_texts(words, "words")
    width = check_count(width, "width", low=_LEAST_WIDTH, high=100_000)
    own = _sized(check_heads(heads, "heads"), "heads", words)
    named = [""] * len(words)
    if relations is not None:
        named = check_texts(relations, "relations")
        _sized(named, "relations", words)
    gold = None
    if gold_heads is not None:
        gold = _sized(check_heads(gold_heads, "gold_heads"), "gold_heads", words)
        gold = gold.tolist()
    tree = Heads.of([np.where(own == NO_HEAD, 0, own)])
    if tree.outside().size or tree.unrooted().size:
        raise ValueError("heads must be those of a tree: one is outside, or in a cycle")
    branches = _branches(tree, room=width // 2)
    digits = len(str(len(words)))
    lefts = [
        f"{i:>{digits}} {branch}{_clean(word)}{' ' * bool(name)}{_clean(name)}"
        for i, (branch, word, name) in enumerate(
            zip(branches, words, named, strict=True), start=1
        )
    ]
    notes = _notes(own.tolist(), set(tree.broken().tolist()), gold, words)
    noted = [len(left) for left, note in zip(lefts, notes, strict=True) if note]
    column = min(max(noted, default=0), width // 2)
    lines = [
        f"{left:<{column}}  {note}" if note else left
        for left, note in zip(lefts, notes, strict=True)
    ]
    return "\n".join(_cut(line, width) for line in lines)


def _sized(given: Any, name: str, words: Sequence[str]) -> Any:
    if len(given) != len(words):
        raise ValueError(f"{name} has {len(given)} values for {len(words)} words")
    return given


def _branches(tree: Heads, room: int) -> list[str]:
    """What stands before each word."""
    heads = tree.values.tolist()
    n = len(heads)
    first, last = list(range(n)), list(range(n))  # lines that the trunk of a word spans
    broken = set(tree.broken().tolist())
    for i, head in enumerate(heads):
        if head and i not in broken:
            first[head - 1] = min(first[head - 1], i)
            last[head - 1] = max(last[head - 1], i)

    def branch(i: int) -> str:
        parts: list[str] = []
        child, at = i, heads[i] - 1
        while at >= 0:
            if child == i:
                corner = "┌" if i == first[at] else "└" if i == last[at] else "├"
                parts.append("╌" if i in broken else corner)
            else:
                parts.append("│" if first[at] < i < last[at] else " ")
            child, at = at, heads[at] - 1
        text = "".join(f"{part:<{_STEP}}" for part in reversed(parts))
        return text if len(text) <= room else "…" + text[len(text) - room + 1 :]

    return [branch(i) for i in range(n)]


def _notes(
    heads: list[int], broken: set[int], gold: list[int] | None, words: Sequence[str]
) -> list[str]:
    """What stands behind each word: heads that are not drawn, and right ones."""

    def name(head: int) -> str:
        if head == 0:
            return "root"
        inside = 0 < head <= len(words)
        return f"{head} {_clean(words[head - 1])}" if inside else "no head"

    notes = []
    for i, head in enumerate(heads):
        undrawn = i in broken or head == NO_HEAD
        parts = [f"← {name(head)}"] if undrawn else []
        if gold is not None and gold[i] != head:
            parts.append(f"✗ {name(gold[i])}")
        notes.append("  ".join(parts))
    return notes


def _clean(text: str) -> str:
    """Text that moves no cursor."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
