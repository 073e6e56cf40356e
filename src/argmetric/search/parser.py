"""A parser that builds dependency trees by transitions, and the tags of its words."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, Literal, Protocol, get_args

import numpy as np

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_items,
    check_number,
    check_texts,
    shown,
)
from argmetric._ground.saving import Arrays
from argmetric._ground.types import Integers
from argmetric.search.corpus.tree_scores import TreeScores, score_trees
from argmetric.search.corpus.trees import Tree
from argmetric.search.learning import MOST_EPOCHS, Log, Recipe, SavedEstimator
from argmetric.search.parsing._model import (
    Model,
    Trees,
    learn_sides,
    packed,
    unpacked,
    with_relations,
)
from argmetric.search.parsing.text import (
    Text,
    projective,
    read_heads,
    read_relations,
    read_templates,
    read_text,
)
from argmetric.search.tagging.tagger import Tagger

_TAG_FOLDS = 4
_TASKS = ("pos", "label")

Words = Sequence[list[str]]
Direction = Literal["left", "right", "both"]
RollIn = Literal["static", "own"]
_SIDES = {"left": (False,), "right": (True,), "both": (False, True)}
_LARGEST_STEP = 1e6
_WIDEST = 1024
_MOST_SEED = 2**62
_TAGGER = "tagger_"  # how the names of the tagger's arrays begin


class TagsWords(Protocol):
    """Anything that gives the words of each sentence their tags."""

    def predict(self, sentences: list[list[str]]) -> Sequence[Sequence[str]]: ...


def read_tagger(tagger: Any) -> TagsWords:
    """A tagger as it is given, or that of a file."""
    if isinstance(tagger, str | os.PathLike):
        return Tagger.load(tagger)
    if not callable(getattr(tagger, "predict", None)):
        raise TypeError(
            "tagger must be a Tagger, the path of a saved one, or anything that "
            f"predicts the tags of lists of words, not {shown(tagger)}"
        )
    return tagger  # type: ignore[no-any-return]


def tags_of(tagger: TagsWords, words: Words) -> list[str]:
    """Tags of all words, sentence behind sentence."""
    there = [own for own in words if own]
    if not there:
        return []
    wanted = "a list of tags for each sentence"
    found = check_items(tagger.predict(there), "what the tagger gives", wanted)
    tags = [check_texts(own, "tags of the tagger", "a list of text") for own in found]
    if list(map(len, tags)) != list(map(len, there)):
        raise ValueError("the tagger must give each word of each sentence one tag")
    return list(chain.from_iterable(tags))


def learned_tags(
    tagger: Tagger, words: Words, tags: Words, log: Log
) -> tuple[Tagger, list[str]]:
    """A tagger that learned from all sentences, and tags by those that did not.

    Each quarter of the sentences is tagged by a tagger that learned from the others:
    what is learned from such tags expects those of a new text. An interrupt goes on to
    the caller, since nothing but a tagger is learned by then.
    """
    if tagger.task not in _TASKS:
        raise ValueError(
            f"the tagger must be one of parts of speech, Tagger('pos'), not {tagger!r}"
        )
    pairs = [pair for pair in zip(words, tags, strict=True) if pair[0]]
    texts, right = [own for own, _ in pairs], [own for _, own in pairs]
    found: list[str] = []
    edges = np.linspace(0, len(pairs), _TAG_FOLDS + 1).astype(int).tolist()
    for fold, (low, high) in enumerate(pairwise(edges), start=1):
        if len(pairs) < _TAG_FOLDS:
            break
        others = texts[:low] + texts[high:], right[:low] + right[high:]
        one = _learned_tagger(tagger, *others, log, f"tagger, fold {fold}")
        found += tags_of(one, texts[low:high])
    whole = _learned_tagger(tagger, texts, right, log, "tagger")
    return whole, found or tags_of(whole, texts)


def _learned_tagger(
    tagger: Tagger, words: Words, tags: Words, log: Log, stage: str
) -> Tagger:
    one = Tagger(**{**tagger.get_params(), "verbose": 0})

    def tell(row: dict[str, Any]) -> None:
        log.add(**{**row, "stage": f"{stage}, {row['stage']}"})

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "learning was interrupted")
        one.fit(words, tags, on_epoch=tell)
    if one.interrupted_:
        raise KeyboardInterrupt
    return one


class Parser(SavedEstimator):
    """Dependency parser that learns to choose transitions.

    Words are moved from a buffer to a stack, and get their heads there (arc-hybrid
    transitions). In training the cost of an action is the number of true arcs that it
    makes impossible. Trees are projective and have one root. If the training trees have
    relations, each arc is labelled after the tree is built.

    Parameters
    ----------
    templates : str or list of str, optional
        The table of templates, one a line, such as ``"s0.w|b0.p"``: the word on top of
        the stack, with the part of speech of the first word of the buffer.
    direction : {"left", "right", "both"}, default="both"
        The end from which sentences are read. "both" learns two policies; their beams
        vote, and Eisner's algorithm finds the tree with the most votes.
    beam : int, default=8
        Width of the beam; 1 is greedy search.
    roll_in : {"static", "own"}, default="own"
        States to learn from. "static": those of the true tree. "own": from the second
        epoch on also the policy's own.
    epochs : int, default=8
        Passes over the sentences.
    step : float, default=0.05
        Step size of AdaGrad.
    dropout : float, default=0.3
        Share of the features that are left out at random in training.
    hash_bits : int, default=22
        Features are hashed to 2**hash_bits rows of three weights.
    random_state : int, default=0
        Seed.
    verbose : int, default=0
        1 writes a line for each epoch to standard error.

    Attributes
    ----------
    history_ : list of dict
        Stage, epoch, share of wrong decisions in training, UAS of greedy search on
        `dev`, seconds.
    direction_ : {"left", "right", "both"}
        From which end sentences are read; Ctrl-C may leave one direction of two.
    n_lifted_ : int
        Training trees with crossing arcs, replaced by their nearest projective ones.
    interrupted_ : bool
        Whether Ctrl-C ended the training.
    relations_ : tuple of str
        The relations that were learned; empty if the trees had none.
    tagger_ : Tagger or None
        The tagger that `fit` was given, which predicts parts of speech.

    Examples
    --------
    >>> from argmetric.search import Parser
    >>> sentences = [
    ...     (["the", "cat", "sleeps"], ["DT", "NN", "VBZ"]),
    ...     (["dogs", "see", "a", "cat"], ["NNS", "VBP", "DT", "NN"]),
    ... ]
    >>> heads = [[2, 3, 0], [2, 0, 4, 2]]
    >>> parser = Parser(hash_bits=12).fit(sentences * 4, heads * 4)
    >>> parser.predict([(["the", "dog", "barks"], ["DT", "NN", "VBZ"])])
    [array([2, 3, 0])]
    """

    _kind = "parser"
    _model: Model
    tagger_: TagsWords | None

    def __init__(
        self,
        *,
        templates: str | Sequence[str] | None = None,
        direction: Direction = "both",
        beam: int = 8,
        roll_in: RollIn = "own",
        epochs: int = 8,
        step: float = 0.05,
        dropout: float = 0.3,
        hash_bits: int = 22,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        self.templates = templates
        self.direction = direction
        self.beam = beam
        self.roll_in = roll_in
        self.epochs = epochs
        self.step = step
        self.dropout = dropout
        self.hash_bits = hash_bits
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        sentences: Any,
        heads: Any = None,
        *,
        tagger: Any = None,
        dev: Any = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
    ) -> Parser:
        """Learn from trees.

        Parameters
        ----------
        sentences : list of sentences
            Pairs (words, tags) as tuples, lists of (word, tag), `Sentence` objects read
            from a file, or trees: anything with words, tags and heads, and relations
            if there are some. With a tagger, lists of words too.
        heads : list of lists of int, optional
            The head of each word: 0 for the root, 1 for the first word; by default
            those of the trees.
        tagger : Tagger, path, or anything that predicts tags, optional
            Its tags replace those of the sentences, here and in later calls: the parser
            keeps the tagger, and `save` writes both. An untrained `Tagger` learns from
            the tags of the sentences: each quarter is tagged by one that learned from
            the others, and one that learned from all is kept.
        dev : trees, or (sentences, heads) as a tuple, optional
            The epoch with the best UAS of greedy search on them is kept.
        on_epoch : callable, optional
            Called with every new row of `history_`.

        Returns
        -------
        Parser
            Itself. Ctrl-C ends the training, keeps the best policy so far and warns.
        """
        check_choice(self.direction, "direction", get_args(Direction))
        check_choice(self.roll_in, "roll_in", get_args(RollIn))
        self._width()
        recipe = Recipe(
            self.roll_in,
            check_count(self.epochs, "epochs", low=1, high=MOST_EPOCHS),
            check_number(self.step, "step", low=0.0, high=_LARGEST_STEP, strict=True),
            check_number(self.dropout, "dropout", low=0.0, high=0.99),
        )
        bits = check_count(self.hash_bits, "hash_bits", low=1, high=28)
        seed = check_count(self.random_state, "random_state", high=_MOST_SEED)
        templates = read_templates(self.templates, bits)
        log = Log(on_epoch, self.verbose)
        learns_tags = isinstance(tagger, Tagger) and not hasattr(tagger, "_model")
        used = None if tagger is None else read_tagger(tagger)
        tagged = learns_tags or (used is None and bool(templates.tags))
        sentences = _items(sentences)
        text = read_text(sentences, tagged=tagged)
        right = read_heads(sentences, heads, text)
        named = read_relations(sentences, text)
        if not text.words:
            raise ValueError("there is no word to learn from")
        held = None
        if dev is not None:
            given, own = dev if isinstance(dev, tuple) else (dev, None)
            given = _items(given)
            other = read_text(given, tagged=tagged and not learns_tags)
            held = other, read_heads(given, own, other)
        near, n_lifted = projective(right, text.starts)
        if n_lifted:
            warnings.warn(
                f"{n_lifted:,} of {len(text.starts) - 1:,} trees have crossing arcs: "
                "their nearest projective trees are learned from",
                UserWarning,
                stacklevel=2,
            )
        if learns_tags:
            words, tags = text.sentences(text.words), text.sentences(text.tags)
            used, found = learned_tags(tagger, words, tags, log)
            text = text.with_tags(found)
        else:
            text = _tagged(text, used)
        trees = Trees(text.codes(templates), text.starts, near)
        judges = None
        if held is not None:
            other, own = held
            codes = _tagged(other, used).codes(templates)
            judges = Trees(codes, other.starts, own)
        sides = _SIDES[self.direction]
        model = learn_sides(templates, recipe, sides, seed, trees, judges, log)
        self._model = with_relations(model, recipe, seed, text, right, named, log)
        self.n_lifted_ = n_lifted
        self.tagger_ = used
        self.history_ = log.rows
        self.interrupted_ = log.interrupted
        log.warn_of_interrupt(3)
        return self

    def _width(self) -> int:
        """Of the beam, which may be changed after the fit."""
        return check_count(self.beam, "beam", low=1, high=_WIDEST)

    def _learned_model(self) -> Model:
        if not hasattr(self, "_model"):
            raise ValueError("the parser has learned nothing yet: call fit first")
        return self._model

    @property
    def direction_(self) -> Direction:
        """From which end sentences are read; Ctrl-C may leave one direction of two."""
        first, *more = [side.reverse for side in self._learned_model().sides]
        return "both" if more else "right" if first else "left"

    @property
    def relations_(self) -> tuple[str, ...]:
        """The relations that were learned; empty if the trees had none."""
        found = self._learned_model().relations
        return () if found is None else found.labels

    def _read(self, sentences: list[Any], tagger: Any) -> tuple[Text, Text]:
        """Sentences as they are, and with the parts of speech that are to be used."""
        model = self._learned_model()
        used = self.tagger_ if tagger is None else read_tagger(tagger)
        text = read_text(sentences, tagged=used is None and bool(model.templates.tags))
        return text, _tagged(text, used)

    def parse(self, sentences: Any, *, tagger: Any = None) -> list[Tree]:
        """Trees of sentences: words, the tags that were used, heads and relations.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`; lists of words, where there is a tagger. Trees keep what they
            know of their file, so that `write_trees` writes it with the new heads.
        tagger : Tagger, path, or anything that predicts tags, optional
            Used instead of the one that `fit` was given. With a tagger, existing tags
            of the sentences are ignored.
        """
        sentences = _items(sentences)
        _, text = self._read(sentences, tagger)
        found = self._learned_model().parse(text, self._width())
        return [
            replace(item, tags=tree.tags, heads=tree.heads, relations=tree.relations)
            if isinstance(item, Tree)
            else tree
            for item, tree in zip(sentences, found, strict=True)
        ]

    def predict(self, sentences: Any, *, tagger: Any = None) -> list[Integers]:
        """Heads of the words of each sentence.

        Parameters
        ----------
        sentences : list of sentences
            As in `parse`; existing heads are ignored.
        tagger : Tagger, path, or anything that predicts tags, optional
            As in `parse`.

        Returns
        -------
        list of ndarray of int
            0 for the root, 1 for the first word.
        """
        _, text = self._read(_items(sentences), tagger)
        return self._learned_model().heads(text, self._width())

    def evaluate(
        self, sentences: Any, heads: Any = None, *, tagger: Any = None
    ) -> TreeScores:
        """Compare predicted with true trees.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        heads : list of lists of int, optional
            The true heads; by default those of the trees.
        tagger : Tagger, path, or anything that predicts tags, optional
            As in `parse`. The tags of the sentences define punctuation.
        """
        sentences = _items(sentences)
        own, text = self._read(sentences, tagger)
        named = read_relations(sentences, own)
        right = own.trees(read_heads(sentences, heads, own), named)
        return score_trees(right, self._learned_model().parse(text, self._width()))

    def score(self, sentences: Any, heads: Any = None, *, tagger: Any = None) -> float:
        """Share of all words with the right head.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        heads : list of lists of int, optional
            The true heads; by default those of the trees.
        tagger : Tagger, path, or anything that predicts tags, optional
            As in `parse`.
        """
        return self.evaluate(sentences, heads, tagger=tagger).uas

    def _pack(self) -> tuple[dict[str, Any], Arrays]:
        model, arrays = packed(self._learned_model())
        tagger, header = self.tagger_, None
        if isinstance(tagger, Tagger):
            header, own = tagger._packed()
            arrays |= {f"{_TAGGER}{name}": array for name, array in own.items()}
        elif tagger is not None:
            raise TypeError(
                f"a tagger of type {type(tagger).__name__} cannot be saved with the "
                "parser: set tagger_ to None, and name the tagger in every call"
            )
        return {"n_lifted": self.n_lifted_, "model": model, "tagger": header}, arrays

    def _unpack(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self._model = unpacked(header["model"], arrays)
        self.n_lifted_ = header["n_lifted"]
        self.tagger_ = None
        if header["tagger"] is not None:
            own = {
                name.removeprefix(_TAGGER): array
                for name, array in arrays.items()
                if name.startswith(_TAGGER)
            }
            self.tagger_ = Tagger._unpacked(header["tagger"], own)


def _items(sentences: Any) -> list[Any]:
    return check_items(sentences, "sentences", "a list of sentences")


def _tagged(text: Text, tagger: TagsWords | None) -> Text:
    if tagger is None:
        return text
    return text.with_tags(tags_of(tagger, text.sentences(text.words)))
