"""Parts of speech by a tagger: one that is given, or one that is learned beside."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, Protocol

import numpy as np

from argmetric._input.arguments import check_items, check_texts, shown
from argmetric._text._epochs import Log
from argmetric._text.tagging.tagger import Tagger

_FOLDS = 4
_TASKS = ("pos", "label")

Words = Sequence[list[str]]


class TagsWords(Protocol):
    """Anything that gives the words of each sentence their tags."""

    def predict(self, sentences: list[list[str]]) -> Sequence[Sequence[str]]:
        """A tag for each word."""
        ...


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


def is_to_learn(tagger: Any) -> bool:
    """Whether a tagger is one of ours that has learned nothing yet."""
    return isinstance(tagger, Tagger) and not hasattr(tagger, "_model")


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
    edges = np.linspace(0, len(pairs), _FOLDS + 1).astype(int).tolist()
    for fold, (low, high) in enumerate(pairwise(edges), start=1):
        if len(pairs) < _FOLDS:
            break
        others = texts[:low] + texts[high:], right[:low] + right[high:]
        one = _learned(tagger, *others, log, f"tagger, fold {fold}")
        found += tags_of(one, texts[low:high])
    whole = _learned(tagger, texts, right, log, "tagger")
    return whole, found or tags_of(whole, texts)


def _learned(tagger: Tagger, words: Words, tags: Words, log: Log, stage: str) -> Tagger:
    one = Tagger(**{**tagger.get_params(), "verbose": 0})

    def tell(row: dict[str, Any]) -> None:
        log.add({**row, "stage": f"{stage}, {row['stage']}"})

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "learning was interrupted")
        one.fit(words, tags, on_epoch=tell)
    if one.interrupted_:
        raise KeyboardInterrupt
    return one
