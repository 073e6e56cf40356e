"""Whether trees are trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from argmetric._input.arguments import check_items, shown
from argmetric._input.types import Integers
from argmetric._input.validation import check_choice
from argmetric._results.saving import DataError
from argmetric._text.corpus._heads import Heads
from argmetric._text.corpus._trees import NO_HEAD, Tree, place_of

Roots = Literal["one", "any"]


def check_trees(trees: Sequence[Tree], *, roots: Roots = "one") -> None:
    """Refuse sentences whose heads are no tree.

    Parameters
    ----------
    trees : sequence of Tree
        All sentences are looked at together.
    roots : {"one", "any"}, default="one"
        Whether a sentence may have several words whose head is the root.

    Raises
    ------
    DataError
        With file, line, sentence and token: a head that is unknown or outside of the
        sentence, a cycle, a second root.
    """
    check_choice(roots, "roots", get_args(Roots))
    trees = tree_list(trees, "trees")
    heads = heads_of_trees(trees)
    check_inside(trees, heads)
    unrooted = heads.unrooted()
    if unrooted.size:
        number, token = _place(heads, unrooted[0])
        cycle = _cycle(trees[number].heads, token)
        refuse_token(trees, number, cycle[0] - 1, _cycle_in_words(cycle))
    several = np.flatnonzero(heads.roots() > 1)
    if roots == "one" and several.size:
        number = int(several[0])
        first, second = np.flatnonzero(trees[number].heads == 0)[:2].tolist()
        what = f"a second root, after token {first + 1}"
        refuse_token(trees, number, second, what)


def check_inside(
    trees: Sequence[Tree], heads: Heads, lowest: int = 0, before: str = ""
) -> None:
    """Refuse heads that are less than `lowest`, or behind the end of the sentence."""
    for word in heads.outside(lowest)[:1]:
        number, token = _place(heads, word)
        head, n = int(heads.values[word]), len(trees[number])
        what = f"head {head} is outside of the sentence of {n} tokens"
        what = "it has no head" if head == NO_HEAD else what
        refuse_token(trees, number, token, what, before)


def refuse_token(
    trees: Sequence[Tree], number: int, token: int, what: str, before: str = ""
) -> None:
    """Raise an error that says where."""
    raise DataError(f"{before}{place_of(trees[number], number, token)}: {what}")


def tree_list(given: Any, name: str) -> list[Tree]:
    """A list of trees."""
    wanted = "a list of Tree"
    trees = check_items(given, name, wanted)
    for i, tree in enumerate(trees):
        if not isinstance(tree, Tree):
            raise TypeError(
                f"{name} must be {wanted}, not {shown(tree)} at position {i}"
            )
    return trees


def heads_of_trees(trees: Sequence[Tree]) -> Heads:
    """The heads of all sentences, behind each other."""
    return Heads.of([tree.heads for tree in trees])


def _place(heads: Heads, word: Any) -> tuple[int, int]:
    number = int(np.searchsorted(heads.sentences, word, side="right")) - 1
    return number, int(word - heads.sentences[number])


def _cycle(heads: Integers, token: int) -> list[int]:
    """The words of the cycle that a word leads to, the first one first."""
    way: list[int] = []
    at = token + 1
    while at not in way:
        way.append(at)
        at = int(heads[at - 1])
    cycle = way[way.index(at) :]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _cycle_in_words(cycle: list[int]) -> str:
    if len(cycle) == 1:
        return "it is its own head"
    way = " → ".join(map(str, [*cycle[:10], *["..."] * (len(cycle) > 10), cycle[0]]))
    return f"its heads go round: {way}"
