"""How good predicted trees are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._display import Lines, Result
from argmetric._types import Booleans, Integers
from argmetric.search._parsing._text import Text

_MARKS = ("``", "''", ",", ".", ":", "PUNCT")  # tags of punctuation


@dataclass(frozen=True, repr=False)
class ParseEvaluation(Result):
    """What predicted trees came to.

    Attributes
    ----------
    uas : float
        Share of all words with the right head (unlabelled attachment score).
    uas_without_punctuation : float
        The same without punctuation: words whose part of speech is two backquotes, two
        quotes, a comma, a full stop, a colon or PUNCT.
    exact : float
        Share of sentences whose heads are all right.
    words, sentences : int
        How many there are.
    """

    uas: float
    uas_without_punctuation: float
    exact: float
    words: int
    sentences: int

    def _lines(self) -> Lines:
        return [
            ("UAS", f"{self.uas:.4f}"),
            ("without punctuation", f"{self.uas_without_punctuation:.4f}"),
            ("whole trees", f"{self.exact:.4f}"),
            ("words", f"{self.words:,} in {self.sentences:,} sentences"),
        ]


def judged(text: Text, right: Integers, found: Integers) -> ParseEvaluation:
    """Compare heads of all rows; shares of nothing are 1."""
    hits: Booleans = right == found
    words = text.is_word
    marks = np.zeros(len(right), dtype=np.bool_)
    marks[words] = np.isin(np.array(text.tags, dtype=object), _MARKS)
    n_sentences = len(text.starts) - 1
    whole = np.ones(n_sentences, dtype=np.bool_)
    if n_sentences:
        whole = np.logical_and.reduceat(hits, text.starts[:-1])
    return ParseEvaluation(
        _share(hits[words]),
        _share(hits[words & ~marks]),
        _share(whole),
        int(words.sum()),
        n_sentences,
    )


def _share(hits: Booleans) -> float:
    return float(hits.mean()) if hits.size else 1.0
