"""Whether trees are trees, and how good predicted heads are."""

from __future__ import annotations

import operator
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from argmetric._ground.arguments import check_items, shown
from argmetric._ground.display import Field, Headline, Result, documented, only_shown
from argmetric._ground.pictures import drawing
from argmetric._ground.types import Axes, Booleans, Integers
from argmetric._ground.validation import check_choice
from argmetric._ground.whole_files import DataError
from argmetric.search.corpus.heads import NO_HEAD, Heads, check_heads
from argmetric.search.corpus.trees import Tree, place_of

Roots = Literal["one", "any"]
PUNCTUATION_TAGS = frozenset([",", ".", ":", "``", "''", "PUNCT"])
N_WORST = 10
_BOUNDS = (10, 20, 30, 40)  # longest sentences of all bins but the last
_BINS = ("1-10", "11-20", "21-30", "31-40", ">40")


def check_trees(trees: Sequence[Tree], *, roots: Roots = "one") -> None:
    """Refuse a head that is unknown or outside of the sentence, a cycle, a second root.

    `roots` says whether a sentence may have several words whose head is the root.
    """
    check_choice(roots, "roots", get_args(Roots))
    trees = tree_list(trees, "trees")
    heads = heads_of_trees(trees)
    check_inside(trees, heads)
    unrooted = heads.unrooted()
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
        refuse_token(trees, number, cycle[0] - 1, what)
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


class ShareRight(NamedTuple):
    """How many of how many are right; nothing of nothing is all of it."""

    right: int
    total: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.right / self.total if self.total else 1.0

    def __str__(self) -> str:
        return f"{self.value:.2%} ({self.right:,} of {self.total:,})"


class LengthScores(NamedTuple):
    """Sentences of some lengths: heads right, and sentences without an error."""

    length: str
    heads: ShareRight
    sentences: ShareRight


@dataclass(frozen=True, repr=False)
class TreeScores(Result):
    """Scores of predicted dependency heads, with their counts.

    Attributes
    ----------
    heads : ShareRight
        Words with the right head, of all words.
    without_punctuation : ShareRight
        The same without punctuation, which is what has one of the tags ``,``, ``.``,
        ``:``, two opening or two closing quotes, and ``PUNCT``; in a text where no tag
        is one of these, words without a letter or digit.
    labelled : ShareRight or None
        Words with the right head and the right relation to it, subtypes included; None
        where gold or predicted trees have no relations.
    sentences : ShareRight
        Sentences with all heads right, punctuation included.
    roots : ShareRight
        Sentences in which the words under the root are the right ones.
    by_length : tuple of LengthScores
        By number of words: 1-10, 11-20, 21-30, 31-40, >40.
    worst : tuple of int
        The ten sentences, counted from 0, with most wrong heads, worst first; none that
        is right.
    """

    heads: ShareRight
    without_punctuation: ShareRight
    labelled: ShareRight | None
    sentences: ShareRight
    roots: ShareRight
    by_length: tuple[LengthScores, ...]
    worst: tuple[int, ...]

    @property
    def uas(self) -> float:
        """Unlabelled attachment score: share of words with the right head."""
        return self.heads.value

    @property
    def uas_without_punctuation(self) -> float:
        """Unlabelled attachment score of words that are no punctuation."""
        return self.without_punctuation.value

    @property
    def las(self) -> float | None:
        """Labelled attachment score: head and relation right."""
        return None if self.labelled is None else self.labelled.value

    @property
    def exact_match(self) -> float:
        """Share of sentences with all heads right."""
        return self.sentences.value

    @property
    def root_accuracy(self) -> float:
        """Share of sentences with the right root."""
        return self.roots.value

    _told = ("UAS",)

    def _columns(self) -> dict[str, Any]:
        return {
            "length": [one.length for one in self.by_length],
            "uas": [one.heads.value for one in self.by_length],
            "exact_match": [one.sentences.value for one in self.by_length],
            "sentences": [one.sentences.total for one in self.by_length],
        }

    def _headline(self) -> Headline:
        return Headline("right heads (UAS)", str(self.heads))

    def fields(self) -> list[Field]:
        lengths = [one for one in self.by_length if one.heads.total]
        return [
            self._field("heads", "UAS"),
            self._field("without_punctuation", "UAS without punctuation"),
            self._field("labelled", "LAS"),
            self._field("sentences", "exact match"),
            self._field("roots", "roots"),
            *only_shown((f"UAS of {x.length} words", str(x.heads)) for x in lengths),
            *self._keys("by_length", "worst"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the shares of right heads and right sentences by sentence length."""
        there = [one for one in self.by_length if one.heads.total]
        labels: dict[str, Any] = {"xlabel": "words of a sentence", "ylim": (0.0, 1.0)}
        with drawing(ax, ylabel="share right", **labels) as ax:
            ticks = [f"{one.length}\n({one.sentences.total:,})" for one in there]
            at = np.arange(len(there))
            heads = [one.heads.value for one in there]
            ax.bar(at - 0.2, heads, 0.4, color="C0", label="heads (UAS)")
            exact = [one.sentences.value for one in there]
            ax.bar(at + 0.2, exact, 0.4, color="C1", label="whole sentences")
            ax.set_xticks(at, ticks)
        return ax


def score_trees(gold: Sequence[Tree], predicted: Sequence[Any]) -> TreeScores:
    """Compare predicted heads, and relations if there are any, with the true ones.

    Parameters
    ----------
    gold : sequence of Tree
        The true trees, which may have several roots.
    predicted : sequence of Tree, or of arrays of int
        Trees over the same words, or heads alone. They need not be trees; an unknown
        head (-1) is a wrong one.

    Returns
    -------
    TreeScores

    Examples
    --------
    >>> from argmetric.search import Tree, score_trees
    >>> gold = Tree(["She", "sleeps", "well", "."], None, [2, 0, 2, 2])
    >>> score_trees([gold], [[2, 0, 2, 3]])
    TreeScores: right heads (UAS) 75.00% (3 of 4)
      UAS without punctuation  100.00% (3 of 3)
      exact match              0.00% (0 of 1)
      roots                    100.00% (1 of 1)
      UAS of 1-10 words        75.00% (3 of 4)
    """
    trees = tree_list(gold, "gold")
    if not trees:
        raise ValueError("gold has no sentences")
    check_trees(trees, roots="any")
    wanted = "a list of Tree, or of heads for each sentence"
    guesses = check_items(predicted, "predicted", wanted)
    right, found = heads_of_trees(trees), _predicted(guesses, trees)
    hits = right.values == found.values
    wrong = right.sizes - _counts(right, hits)
    kept = ~_is_punctuation(trees)
    named = [tree.relations for tree in trees]
    guessed = [getattr(one, "relations", None) for one in guesses]
    labelled = None
    if None not in named and None not in guessed:
        every = chain.from_iterable
        same = map(operator.eq, every(named), every(guessed))  # type: ignore[arg-type]
        labelled = _share(hits & np.fromiter(same, np.bool_, len(hits)))
    roots_differ = (right.values == 0) != (found.values == 0)
    worst = np.argsort(-wrong, kind="stable")[:N_WORST]
    of = np.searchsorted(_BOUNDS, right.sizes)

    def sums(values: Any) -> list[int]:
        each = np.bincount(of, weights=values, minlength=len(_BINS))
        return each.astype(np.int64).tolist()  # type: ignore[no-any-return]

    heads = map(ShareRight, sums(right.sizes - wrong), sums(right.sizes))
    whole = map(ShareRight, sums(wrong == 0), sums(np.ones(len(right.sizes))))
    return TreeScores(
        _share(hits),
        _share(hits[kept]),
        labelled,
        _share(wrong == 0),
        _share(_counts(right, roots_differ) == 0),
        tuple(map(LengthScores, _BINS, heads, whole)),
        tuple(worst[wrong[worst] > 0].tolist()),
    )


def _share(hits: Booleans) -> ShareRight:
    return ShareRight(int(hits.sum()), len(hits))


def _counts(heads: Heads, marked: Booleans) -> Integers:
    """Marked words of each sentence."""
    where = heads.sentence_of_words()[marked]
    return np.bincount(where, minlength=len(heads.sizes))


def _predicted(found: Sequence[Any], trees: Sequence[Tree]) -> Heads:
    if len(found) != len(trees):
        raise ValueError(
            f"predicted has {len(found)} sentences but gold has {len(trees)}"
        )
    heads = [
        check_heads(getattr(one, "heads", one), f"predicted[{i}]")
        for i, one in enumerate(found)
    ]
    for i, (one, tree, own) in enumerate(zip(found, trees, heads, strict=True)):
        if len(own) != len(tree):
            raise ValueError(
                f"predicted[{i}] has {len(own)} heads, but gold has {len(tree)} words"
            )
        if isinstance(one, Tree) and list(one.words) != list(tree.words):
            pairs = zip(one.words, tree.words, strict=True)
            token = next(t for t, (a, b) in enumerate(pairs) if a != b)
            raise ValueError(
                f"predicted has {shown(one.words[token])} where gold has "
                f"{shown(tree.words[token])}: sentence {i}, token {token + 1}"
            )
    flat = Heads.of(heads)
    # What is outside of a file that was predicted is said of that file
    places = [one if isinstance(one, Tree) else trees[i] for i, one in enumerate(found)]
    check_inside(places, flat, NO_HEAD, "predicted: ")
    return flat


def _is_punctuation(trees: Sequence[Tree]) -> Booleans:
    each = (tree.tags or repeat("", len(tree)) for tree in trees)
    tags = list(chain.from_iterable(each))
    if not PUNCTUATION_TAGS.isdisjoint(tags):
        return _among(tags, PUNCTUATION_TAGS)
    words = list(chain.from_iterable(tree.words for tree in trees))
    marks = {word for word in set(words) if not any(map(str.isalnum, word))}
    return _among(words, marks)


def _among(texts: Sequence[str], some: Set[str]) -> Booleans:
    return np.fromiter(map(some.__contains__, texts), np.bool_, len(texts))
