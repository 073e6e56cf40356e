"""Chunks decided whole, one after the other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from argmetric._validation import check_choice
from argmetric.search._common import RollIn
from argmetric.search._tagging._codec import Codec, codec_of
from argmetric.search._tagging._corpus import read_corpus
from argmetric.search._tagging._model import label_lists
from argmetric.search._tagging._model_file import (
    dense,
    read_archive,
    sparse,
    whole_archive,
    write_archive,
)
from argmetric.search._tagging._recipes import check_numbers
from argmetric.search._tagging._scheme import Stream
from argmetric.search._tagging._score import Evaluation, Judge
from argmetric.search._tagging._segment_model import (
    SegmentModel,
    SegmentRecipe,
    learn_segments,
)
from argmetric.search._tagging._segment_templates import (
    SEGMENT_TEMPLATES,
    template_lines,
)

_ARGUMENTS = (
    "max_length",
    "templates",
    "beam",
    "roll_in",
    "epochs",
    "step",
    "dropout",
    "hash_bits",
    "random_state",
)
_FORMAT = "argmetric segment tagger"


class SegmentTagger:
    """Chunk text by deciding type and length of one chunk after the other.

    Features may read a chunk as a whole. The recipe and the results are close to those
    of ``Tagger("chunk")``, which decides word by word and is faster.

    Parameters
    ----------
    max_length : int, default=8
        Longest chunk; longer ones cannot be found.
    templates : str or list of str, optional
        Templates: ``w[s]``, ``pos[e+1]`` (first and last token), ``pos[*]`` (all),
        ``w[+]`` (each), ``length``, ``t[-1]`` (type of the chunk before).
    beam : int, default=5
        Ways to reach a token that are kept; 1 is greedy search.
    roll_in : {"mixed", "gold", "own"}, default="mixed"
        See `Tagger`.
    epochs, step, dropout, hash_bits, random_state
        See `Tagger`.

    Attributes
    ----------
    history_ : list of dict
        Epoch and share of wrong decisions in training.
    interrupted_ : bool
        Whether an interrupt ended the learning.

    Examples
    --------
    >>> from argmetric.search import SegmentTagger
    >>> sentence = [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")]
    >>> tagger = SegmentTagger(hash_bits=12)
    >>> _ = tagger.fit([sentence] * 5, [["B-NP", "I-NP", "B-VP"]] * 5)
    >>> tagger.predict([sentence])
    [['B-NP', 'I-NP', 'B-VP']]
    """

    def __init__(
        self,
        *,
        max_length: int = 8,
        templates: str | Sequence[str] | None = None,
        beam: int = 5,
        roll_in: RollIn = "mixed",
        epochs: int = 6,
        step: float = 0.07,
        dropout: float = 0.25,
        hash_bits: int = 20,
        random_state: int = 0,
    ) -> None:
        self.max_length = max_length
        self.templates = templates
        self.beam = beam
        self.roll_in = roll_in
        self.epochs = epochs
        self.step = step
        self.dropout = dropout
        self.hash_bits = hash_bits
        self.random_state = random_state

    def get_params(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {name: getattr(self, name) for name in _ARGUMENTS}

    def fit(
        self, sentences: Sequence[Any], tags: Sequence[Any] | None = None
    ) -> SegmentTagger:
        """Learn from sentences with labels of IOB2; see `Tagger.fit`."""
        numbers = check_numbers(self.get_params())
        check_choice(self.roll_in, "roll_in", get_args(RollIn)[:3])
        corpus = read_corpus(sentences, tags, 1, labels=True)
        corpus = corpus.only(~corpus.documents)
        if corpus.labels is None or not corpus.n_tokens:
            raise ValueError("there is no token to learn from")
        codec, gold = codec_of("t", corpus.labels[0], corpus.sentences, spans=True)
        given = SEGMENT_TEMPLATES if self.templates is None else self.templates
        none = np.empty(0, dtype=np.float32)
        table = tuple(template_lines(given))
        shape = numbers["hash_bits"], numbers["max_length"]
        model = SegmentModel(codec, table, *shape, none)
        names = "epochs", "step", "dropout", "random_state"
        recipe = SegmentRecipe(self.roll_in, **{name: numbers[name] for name in names})
        self.history_: list[dict[str, Any]] = []
        self._model, self.interrupted_ = learn_segments(
            model, corpus, gold, recipe, self.history_.append
        )
        if self.interrupted_:
            warnings.warn(
                "learning was interrupted: the policy so far is kept",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _learned(self) -> SegmentModel:
        if not hasattr(self, "_model"):
            raise ValueError("the tagger has learned nothing yet: call fit first")
        return self._model

    def predict(self, sentences: Sequence[Any]) -> list[list[str]]:
        """Labels of IOB2 for each sentence."""
        model = self._learned()
        corpus = read_corpus(sentences, None, 1, labels=False)
        numbers = model.numbers(corpus, self.beam)
        return label_lists(numbers, [model.codec], corpus.sentences)

    def evaluate(
        self, sentences: Sequence[Any], tags: Sequence[Any] | None = None
    ) -> Evaluation:
        """Compare predicted with right labels."""
        model = self._learned()
        corpus = read_corpus(sentences, tags, 1, labels=True)
        corpus = corpus.only(~corpus.documents)
        right = corpus.labels[0] if corpus.labels else ()
        judge = Judge(model.codec, right, corpus.sentences)
        return judge.evaluate(model.numbers(corpus, self.beam))

    def score(
        self, sentences: Sequence[Any], tags: Sequence[Any] | None = None
    ) -> float:
        """Strict F1 of chunks."""
        return self.evaluate(sentences, tags).score

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tagger to one file: JSON and arrays, nothing that is executed."""
        model = self._learned()
        header = {
            "arguments": self.get_params(),
            "history": self.history_,
            "interrupted": self.interrupted_,
            "labels": model.codec.labels,
            "table": model.table,
            "hash_bits": model.hash_bits,
            "max_length": model.max_length,
        }
        write_archive(path, _FORMAT, header, sparse("all", model.weights))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SegmentTagger:
        """Read a tagger that `save` wrote; it tags exactly alike."""
        header, arrays = read_archive(path, _FORMAT)
        with whole_archive(path):
            tagger = cls(**header["arguments"])
            codec = Codec(Stream("t", tuple(header["labels"]), True))
            shape = header["hash_bits"], header["max_length"]
            empty = np.empty(0, dtype=np.float32)
            model = SegmentModel(codec, tuple(header["table"]), *shape, empty)
            weights = dense("all", arrays, model.size)
            tagger._model = SegmentModel(codec, model.table, *shape, weights)
            tagger.history_ = header["history"]
            tagger.interrupted_ = header["interrupted"]
        return tagger
