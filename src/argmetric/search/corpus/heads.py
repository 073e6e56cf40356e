"""Heads of words: which are trees, which are projective, and a tree drawn as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_count, check_items, check_texts, shown
from argmetric._ground.types import AnyArray, Booleans, Integers

NO_HEAD = -1
_LEAST_WIDTH = 20
_STEP = 2  # columns for a level


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of all words of a text, sentence behind sentence."""

    # numbers of heads within their sentence, counted from 1; 0 is the root
    values: Integers
    sentences: Integers  # word numbers where sentences start, and the number of words

    @classmethod
    def of(cls, heads: Sequence[AnyArray]) -> Heads:
        """Lay the heads of sentences behind each other."""
        sizes = np.fromiter(map(len, heads), np.int64, len(heads))
        values = np.concatenate([np.zeros(0, np.int64), *heads], dtype=np.int64)
        return cls(values, np.append(0, np.cumsum(sizes)))

    @property
    def sizes(self) -> Integers:
        """Number of words of each sentence."""
        return np.diff(self.sentences)

    def sentence_of_words(self) -> Integers:
        """The number of each word's sentence."""
        return np.repeat(np.arange(len(self.sentences) - 1), self.sizes)

    def outside(self, lowest: int = 0) -> Integers:
        """Words whose head is no word of the sentence, and not the root."""
        sizes = np.repeat(self.sizes, self.sizes)
        return np.flatnonzero((self.values < lowest) | (self.values > sizes))

    def roots(self) -> Integers:
        """Number of roots of each sentence."""
        where = self.sentence_of_words()[self.values == 0]
        return np.bincount(where, minlength=len(self.sentences) - 1)

    def unrooted(self) -> Integers:
        """Words from which heads do not lead to the root: in a cycle, or below one."""
        ahead, root = self._with_roots()
        for _ in range(self._doublings()):
            ahead = ahead[ahead]
        return np.flatnonzero(ahead[self._slots()] != np.repeat(root, self.sizes))

    def projective(self) -> Booleans:
        """Which sentences have no two arcs that cross, the one from the root included.

        Arcs (l, r) and (a, b) cross where l < a < r < b: where, among arcs that start
        strictly inside of (l, r), the farthest end lies behind r.
        """
        above, root = self._with_roots()
        slots = self._slots()
        left = np.minimum(slots, above[slots])
        right = np.maximum(slots, above[slots])
        farthest = np.zeros(len(above), dtype=np.int64)
        np.maximum.at(farthest, left, right)
        reach = self._highest_inside(farthest, left, right)
        crossed = self.sentence_of_words()[reach > right]
        found = np.ones(len(root), dtype=np.bool_)
        found[crossed] = False
        return found

    def _highest_inside(
        self, values: Integers, left: Integers, right: Integers
    ) -> Integers:
        """The highest value strictly between two slots, 0 where there is no slot.

        It is the higher one over two ranges of 1, 2, 4, ... slots that cover all.
        """
        found = np.zeros(len(left), dtype=np.int64)
        inside = right - left - 1
        for level in range(self._doublings() + 1):
            size = 1 << level
            now = (inside >= size) & (inside < 2 * size)
            first, last = left[now] + 1, right[now] - size
            found[now] = np.maximum(values[first], values[last])
            values = values.copy()
            values[:-size] = np.maximum(values[:-size], values[size:])
        return found

    def broken(self) -> Integers:
        """Words whose arc spans a word that is not below their head; of trees only.

        In preorder, what is below a word has the numbers that follow its own.
        """
        above, _ = self._with_roots()
        slots = self._slots()
        heads = above[slots]
        left, right = np.minimum(slots, heads), np.maximum(slots, heads)
        entry, size = self._preorder(above)
        n = len(above)
        last = self._highest_inside(entry + 1, left, right) - 1
        first = n - self._highest_inside(n - entry, left, right)
        outside = (first < entry[heads]) | (last >= entry[heads] + size[heads])
        return np.flatnonzero(outside & (right - left > 1))

    def _preorder(self, above: Integers) -> tuple[Integers, Integers]:
        """A number for each slot, and how many slots are below it and at it.

        Numbers start at 0 in every sentence. That of a word is the sum, along the way
        to the root, of 1 and the sizes of the children of the same head before it.
        """
        n = len(above)
        depth, ahead = (above != np.arange(n)).astype(np.int64), above
        for _ in range(self._doublings()):
            depth, ahead = depth + depth[ahead], ahead[ahead]
        size = np.ones(n, dtype=np.int64)
        levels = np.argsort(depth, kind="stable")
        cuts = np.flatnonzero(np.diff(depth[levels])) + 1
        for level in reversed(np.split(levels, cuts)[1:]):
            np.add.at(size, above[level], size[level])
        order = np.lexsort((np.arange(n), above))
        order = order[above[order] != order]  # a root is a child of none
        before = np.cumsum(size[order]) - size[order]
        is_first = np.diff(above[order], prepend=-1) != 0
        group = np.cumsum(is_first) - 1
        entry, ahead = np.zeros(n, dtype=np.int64), above
        entry[order] = 1 + before - before[is_first][group]
        for _ in range(self._doublings()):
            entry, ahead = entry + entry[ahead], ahead[ahead]
        return entry, size

    def _slots(self) -> Integers:
        """Places of words where each sentence has one more, for the root, before it."""
        return np.arange(len(self.values)) + self.sentence_of_words() + 1

    def _with_roots(self) -> tuple[Integers, Integers]:
        """The slot of each slot's head (a root is its own), and the slots of roots."""
        root = self.sentences[:-1] + np.arange(len(self.sentences) - 1)
        above = np.empty(len(self.values) + len(root), dtype=np.int64)
        above[root] = root
        above[self._slots()] = self.values + np.repeat(root, self.sizes)
        return above, root

    def _doublings(self) -> int:
        return int(self.sizes.max(initial=0)).bit_length()


def check_heads(value: Any, name: str) -> Integers:
    """Heads of one sentence as an array."""
    wanted = "a list of whole numbers"
    items = value if isinstance(value, np.ndarray) else check_items(value, name, wanted)
    try:
        heads = np.asarray(items)
    except ValueError:  # lists of different lengths
        heads = np.zeros((1, 1))
    if heads.ndim == 1 and not heads.size:
        return np.zeros(0, dtype=np.int64)
    if heads.ndim != 1 or heads.dtype.kind not in "iu":
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}")
    return heads.astype(np.int64, copy=False)


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
    cross stands behind the word, and the right head. Relations stand behind the words.
    Heads are counted from 1; 0 is the root, -1 unknown. Longer lines than `width` are
    cut.

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
    cut = (line if len(line) <= width else f"{line[: width - 1]}…" for line in lines)
    return "\n".join(cut)


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
