"""Sentences as flat columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_items, is_sized, shown
from argmetric._ground.types import Integers
from argmetric.search.corpus.sentences import DOCUMENT, Sentence


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences, concatenated."""

    columns: tuple[Sequence[str], ...]  # the columns of all tokens; words first
    sentences: Integers  # token numbers where sentences start, and the number of tokens
    labels: tuple[Sequence[str], ...] | None  # the labels of each tier
    given: Sequence[Any]  # the sentences as they were given
    numbers: Integers  # which of them the sentences of the corpus are

    def place(self, token: int) -> str:
        """Return sentence and token for a message, with file and line if known."""
        s = int(np.searchsorted(self.sentences, token, side="right")) - 1
        place = f"token {token - self.sentences[s]}"
        sentence = self.given[self.numbers[s]]
        if isinstance(sentence, Sentence) and sentence.file:
            return f"{sentence.file}, sentence at line {sentence.line}, {place}"
        return f"sentence {self.numbers[s]}, {place}"

    @property
    def n_tokens(self) -> int:
        return int(self.sentences[-1])

    @property
    def documents(self) -> npt.NDArray[np.bool_]:
        """Return which sentences are -DOCSTART- lines."""
        first = self.sentences[:-1]
        single = np.flatnonzero(np.diff(self.sentences) == 1)
        words = self.columns[0] if self.columns else ()
        found = np.zeros(len(first), dtype=np.bool_)
        found[single] = [words[first[s]] == DOCUMENT for s in single]
        return found

    def part(self, first: int, last: int) -> Corpus:
        """Return the sentences from `first` up to, not including, `last`."""
        a, b = int(self.sentences[first]), int(self.sentences[last])
        labels = self.labels and tuple(column[a:b] for column in self.labels)
        columns = tuple(column[a:b] for column in self.columns)
        sentences = self.sentences[first : last + 1] - a
        return Corpus(columns, sentences, labels, self.given, self.numbers[first:last])

    def only(self, keep: npt.NDArray[np.bool_]) -> Corpus:
        """Return the marked sentences."""
        if keep.all():
            return self
        lengths = np.diff(self.sentences)
        tokens = np.flatnonzero(np.repeat(keep, lengths)).tolist()

        def choose(column: Sequence[str]) -> list[str]:
            return [column[i] for i in tokens]

        labels = self.labels and tuple(map(choose, self.labels))
        return Corpus(
            tuple(map(choose, self.columns)),
            _starts(lengths[keep]),
            labels,
            self.given,
            self.numbers[keep],
        )


def _starts(lengths: Any) -> Integers:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def read_corpus(
    sentences: Sequence[Any],
    labels: Sequence[Any] | None,
    n_tiers: int,
    *,
    labelled: bool,
) -> Corpus:
    """Read sentences: lists of words, of tuples of columns, or from a file.

    Where sentences must be `labelled` and `labels` is None, the labels are the last
    `n_tiers` columns; those of a `Sentence` count as its last column.
    """
    if isinstance(sentences, str):
        sentences = [sentences]
    sentences, lengths = _lists(sentences, "sentences", "lists of tokens")
    if sentences and isinstance(sentences[0], str):
        raise ValueError(
            "sentences must be a list of sentences, each a list of tokens; for one "
            "sentence write [sentence]"
        )
    columns = _columns(sentences, labelled and labels is None)
    found: tuple[Sequence[str], ...] | None = None
    if labels is not None:
        found = _label_columns(labels, lengths, n_tiers)
    elif labelled:
        if len(columns) <= n_tiers and lengths.any():
            raise ValueError(
                f"the tokens have {len(columns)} columns: words and {n_tiers} of "
                "labels are needed, or pass labels=..."
            )
        columns, found = columns[:-n_tiers], columns[-n_tiers:]
    numbers = np.arange(len(lengths))
    return Corpus(columns, _starts(lengths), found, sentences, numbers)


def _lists(values: object, name: str, wanted: str) -> tuple[list[Any], Integers]:
    """Return the lists within a list, and their lengths."""
    lists = check_items(values, name, f"a list of {wanted}")
    try:
        return lists, np.fromiter(map(len, lists), np.int64, len(lists))
    except TypeError:
        s = next(s for s, one in enumerate(lists) if not is_sized(one))
        raise TypeError(
            f"{name} must be a list of {wanted}, not {shown(lists[s])} at position {s}"
        ) from None


def _columns(sentences: Sequence[Any], with_labels: bool) -> tuple[Sequence[str], ...]:
    """Return the columns of all tokens, one after another; refuse uneven tokens."""
    if any(isinstance(sentence, Sentence) for sentence in sentences):
        return _columns_of_file(sentences, with_labels)
    tokens = list(chain.from_iterable(sentences))
    if not tokens:
        return ((),) * (3 if with_labels else 1)
    if _is_text(tokens):
        return (tokens,)
    kinds = set(map(type, tokens))
    if any(issubclass(kind, str) or not hasattr(kind, "__len__") for kind in kinds):
        _refuse_uneven(sentences)
    if len(set(map(len, tokens))) > 1:
        _refuse_uneven(sentences)
    columns = tuple(zip(*tokens, strict=True))
    for number, column in enumerate(columns):
        if not _is_text(column):
            bad = next(value for value in column if not isinstance(value, str))
            raise ValueError(
                f"column {number} of the tokens holds {shown(bad)}, not text"
            )
    return columns


def _is_text(values: Sequence[Any]) -> bool:
    """Return whether all values are text, also numpy's."""
    return all(issubclass(kind, str) for kind in set(map(type, values)))


def _columns_of_file(
    sentences: Sequence[Any], with_labels: bool
) -> tuple[Sequence[str], ...]:
    """Return the columns of sentences read from a file, the labels last if wanted."""
    widths = set()
    for sentence in sentences:
        if not isinstance(sentence, Sentence):
            raise ValueError("sentences must be all Sentence objects, or none of them")
        if with_labels and sentence.labels is None:
            raise ValueError(f"{_place_of(sentence)} has no labels")
        widths.add(len(sentence.columns))
        if len(widths) > 1:
            raise ValueError(
                f"{_place_of(sentence)} has {len(sentence.columns)} columns, the "
                "sentences before it have another number"
            )
    n = next(iter(widths), 1)
    columns = [
        list(chain.from_iterable(sentence.columns[c] for sentence in sentences))
        for c in range(n)
    ]
    if with_labels:
        columns.append(list(chain.from_iterable(s.labels for s in sentences)))
    return tuple(columns)


def _place_of(sentence: Sentence) -> str:
    file = f"{sentence.file}: " if sentence.file else ""
    return f"{file}the sentence at line {sentence.line}"


def _refuse_uneven(sentences: Sequence[Any]) -> None:
    """Raise the error of tokens that have different numbers of columns."""

    def width(token: object) -> int:
        """Return the number of columns of a token."""
        if not isinstance(token, str) and not hasattr(token, "__len__"):
            raise ValueError(
                f"a token must be text or a tuple of columns, not {shown(token)}"
            )
        return 1 if isinstance(token, str) else len(token)

    first = width(next(token for sentence in sentences for token in sentence))
    for s, sentence in enumerate(sentences):
        for i, token in enumerate(sentence):
            if width(token) != first:
                raise ValueError(
                    f"sentence {s}, token {i}: {width(token)} columns, but the first "
                    f"token has {first}: {shown(token)}"
                )
    raise ValueError("write every token in one way: as text or as a tuple of columns")


def _label_columns(
    labels: Sequence[Any], lengths: Integers, n_tiers: int
) -> tuple[Sequence[str], ...]:
    """Return the labels of all tokens, one sequence for each tier."""
    labels, own = _lists(labels, "labels", "labels for each sentence")
    if len(labels) != len(lengths):
        raise ValueError(f"{len(labels)} lists of labels for {len(lengths)} sentences")
    wrong = np.flatnonzero(own != lengths)
    if wrong.size:
        s = wrong[0]
        raise ValueError(f"sentence {s} has {lengths[s]} tokens but {own[s]} labels")
    flat = list(chain.from_iterable(labels))
    if n_tiers == 1:
        if not _is_text(flat):
            bad = next(label for label in flat if not isinstance(label, str))
            raise ValueError(f"a label must be text, not {shown(bad)}")
        return (list(map(str, flat)),)
    if not flat:
        return ((),) * n_tiers

    def fits(some: Sequence[Any]) -> bool:
        """Return whether labels are tuples of `n_tiers` texts."""
        pairs = all(issubclass(kind, tuple | list) for kind in set(map(type, some)))
        return (
            pairs
            and set(map(len, some)) == {n_tiers}
            and _is_text(list(chain.from_iterable(some)))
        )

    if not fits(flat):
        bad = next(label for label in flat if not fits([label]))
        raise ValueError(
            f"a joint label must be a tuple of {n_tiers} texts, not {shown(bad)}"
        )
    return tuple(zip(*flat, strict=True))


def read_labelled(
    sentences: Sequence[Any], labels: Sequence[Any] | None, n_tiers: int
) -> tuple[Corpus, tuple[Sequence[str], ...]]:
    """Return sentences without the -DOCSTART- lines, and their labels."""
    corpus = read_corpus(sentences, labels, n_tiers, labelled=True)
    corpus = corpus.only(~corpus.documents)
    return corpus, corpus.labels or ()
