"""Refuse heads that form no tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NoReturn, get_args

import numpy as np

from argmetric._ground.arguments import check_items, shown
from argmetric._ground.validation import check_choice
from argmetric._ground.whole_files import DataError
from argmetric.search.corpus.heads import NO_HEAD, Heads
from argmetric.search.corpus.trees import Tree, place_of

Roots = Literal["one", "any"]


def check_trees(trees: Sequence[Tree], *, roots: Roots = "one") -> None:
    """Refuse a head that is unknown or outside of the sentence, a cycle, a second root.

    `roots` says whether a sentence may have several words whose head is the root.
    """
    check_choice(roots, "roots", get_args(Roots))
    trees = _tree_list(trees)
    heads = Heads.of([tree.heads for tree in trees])
    _check_inside(trees, heads)
    unrooted = heads.words_off_root()
    if unrooted.size:
        number, token = _place(heads, unrooted[0])
        at, steps = token + 1, list[int]()
        while at not in steps:
            steps.append(at)
            at = int(trees[number].heads[at - 1])
        cycle = steps[steps.index(at) :]
        start = cycle.index(min(cycle))
        cycle = cycle[start:] + cycle[:start]
        more = ["..."] * (len(cycle) > 10)
        way = " → ".join(map(str, [*cycle[:10], *more, cycle[0]]))
        what = f"its heads go round: {way}" if cycle[1:] else "it is its own head"
        _refuse_token(trees, number, cycle[0] - 1, what)
    several = np.flatnonzero(heads.roots() > 1)
    if roots == "one" and several.size:
        number = int(several[0])
        first, second = np.flatnonzero(trees[number].heads == 0)[:2].tolist()
        what = f"a second root, after token {first + 1}"
        _refuse_token(trees, number, second, what)


def _check_inside(trees: Sequence[Tree], heads: Heads) -> None:
    """Refuse heads below 0, or behind the end of the sentence."""
    for word in heads.outside()[:1]:
        number, token = _place(heads, word)
        head, n = int(heads.values[word]), len(trees[number])
        what = f"head {head} is outside of the sentence of {n} tokens"
        what = "it has no head" if head == NO_HEAD else what
        _refuse_token(trees, number, token, what)


def _refuse_token(
    trees: Sequence[Tree], number: int, token: int, what: str
) -> NoReturn:
    """Raise an error that says where."""
    raise DataError(f"{place_of(trees[number], number, token)}: {what}")


def _tree_list(given: object) -> list[Tree]:
    """Return the argument `trees` as a list; refuse what is no Tree."""
    name = "trees"
    wanted = "a list of Tree"
    trees = check_items(given, name, wanted)
    for i, tree in enumerate(trees):
        if not isinstance(tree, Tree):
            raise TypeError(
                f"{name} must be {wanted}, not {shown(tree)} at position {i}"
            )
    return trees


def _place(heads: Heads, word: Any) -> tuple[int, int]:
    number = int(np.searchsorted(heads.sentences, word, side="right")) - 1
    return number, int(word - heads.sentences[number])
