"""What can be added to a summary in one step: a set of words of one sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._input.types import Integers
from argmetric._text.summaries._needs import Needs
from argmetric._text.summaries.cluster import Cluster

LONGEST = 5  # words of a span: one word makes no bigram, hence brings nothing


@dataclass(frozen=True, eq=False)
class Pieces:
    """Sets of words that are added whole.

    Attributes
    ----------
    sentences : ndarray of int64
        The sentence of each piece, in order.
    starts, words : ndarray of int64
        Piece c has the words words[starts[c] : starts[c + 1]].
    """

    sentences: Integers
    starts: Integers
    words: Integers

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def arrays(self) -> tuple[Integers, Integers, Integers]:
        """What the kernels take."""
        return self.sentences, self.starts, self.words

    def words_of(self, piece: int) -> Integers:
        """The words of one piece."""
        return self.words[self.starts[piece] : self.starts[piece + 1]]


def whole_sentences(cluster: Cluster) -> Pieces:
    """Each sentence is one piece."""
    return Pieces(
        np.arange(cluster.n_sentences),
        cluster.sentence_starts,
        np.arange(cluster.n_words),
    )


def spans_and_needs(cluster: Cluster, needs: Needs) -> Pieces:
    """Spans of words with all that they need, and sentences, each set once."""
    from argmetric._text.kernels.summaries import close_spans

    nothing = np.empty(0, dtype=np.int64)
    arguments = cluster.sentence_starts, needs.starts, needs.words, LONGEST
    n_pieces, n_words = close_spans(*arguments, nothing, nothing, nothing)
    starts = np.empty(n_pieces + 1, dtype=np.int64)
    words = np.empty(n_words, dtype=np.int64)
    sentences = np.empty(n_pieces, dtype=np.int64)
    close_spans(*arguments, starts, words, sentences)
    return Pieces(sentences, starts, words)
