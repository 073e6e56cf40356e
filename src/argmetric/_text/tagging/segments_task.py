"""Chunks decided whole, one after the other."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np

from argmetric._input.arguments import renamed
from argmetric._input.types import Integers
from argmetric._input.validation import check_choice
from argmetric._text.common import RollIn
from argmetric._text.hashing import dense, sparse
from argmetric._text.tagging._base import TextTagger, read_dev, read_training
from argmetric._text.tagging._choices import Tier
from argmetric._text.tagging._codec import Codec
from argmetric._text.tagging._corpus import Corpus
from argmetric._text.tagging._model_file import (
    read_archive,
    whole_archive,
    write_archive,
)
from argmetric._text.tagging._recipes import check_numbers
from argmetric._text.tagging._segment_model import (
    SegmentModel,
    SegmentRecipe,
    learn_segments,
)
from argmetric._text.tagging._segment_templates import (
    SEGMENT_TEMPLATES,
    template_lines,
)
from argmetric._text.tagging.score import Judge

_FORMAT = "argmetric segment tagger"


class SegmentTagger(TextTagger):
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
        Epoch, share of wrong decisions in training, and score on `dev` if there is one.
    labels_ : tuple
        The labels.
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

    def fit(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        dev: Any = None,
        on_epoch: Callable[[dict[str, Any]], None] | None = None,
        tags: Sequence[Any] | None = None,
    ) -> SegmentTagger:
        """Learn from sentences with labels of IOB2; all as in `Tagger.fit`.

        Parameters
        ----------
        sentences : list of sentences
            Lists of words, of tuples of columns, or `Sentence` objects read from a
            file; lines of -DOCSTART- are left out.
        labels : list of lists, optional
            A label for each token; by default the last column.
        dev : sentences, or (sentences, labels) as a tuple, optional
            The epoch with the best score on them is kept.
        on_epoch : callable, optional
            Called with every new row of `history_`.
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        SegmentTagger
            Itself. An interrupt ends the learning with the policy so far and a warning.
        """
        labels = renamed(labels, tags, old="tags", new="labels")
        numbers = check_numbers(self.get_params())
        check_choice(self.roll_in, "roll_in", get_args(RollIn)[:3])
        corpus, (codec,), gold = read_training(sentences, labels, [("t", True)])
        given = SEGMENT_TEMPLATES if self.templates is None else self.templates
        none = np.empty(0, dtype=np.float32)
        table = tuple(template_lines(given))
        shape = numbers["hash_bits"], numbers["max_length"]
        model = SegmentModel(codec, table, *shape, none)
        names = "epochs", "step", "dropout", "random_state"
        recipe = SegmentRecipe(self.roll_in, **{name: numbers[name] for name in names})
        history: list[dict[str, Any]] = []

        def listen(row: dict[str, Any]) -> None:
            history.append(row)
            if on_epoch is not None:
                on_epoch(row)

        score = self._scorer(dev, codec)
        self._model, self.interrupted_ = learn_segments(
            model, corpus, gold, recipe, listen, score
        )
        self.history_ = history
        if self.interrupted_:
            warnings.warn(
                "learning was interrupted: the policy so far is kept",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _scorer(self, dev: Any, codec: Codec) -> Callable[[SegmentModel], float] | None:
        held = read_dev(dev, 1)
        if held is None or held.labels is None:
            return None
        judge = Judge(codec, held.labels[0], held.sentences)
        return lambda model: judge.evaluate(model.numbers(held, self.beam)).score

    def _codecs(self) -> tuple[Codec, ...]:
        return (self._learned_model().codec,)

    def _numbers(self, corpus: Corpus) -> Integers:
        model: SegmentModel = self._learned_model()
        return model.numbers(corpus, self.beam)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tagger to one file: JSON and arrays, nothing that is executed."""
        model = self._learned_model()
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
            codec = Codec(Tier("t", tuple(header["labels"]), True))
            shape = header["hash_bits"], header["max_length"]
            empty = np.empty(0, dtype=np.float32)
            model = SegmentModel(codec, tuple(header["table"]), *shape, empty)
            weights = dense("all", arrays, model.size)
            tagger._model = SegmentModel(codec, model.table, *shape, weights)
            tagger.history_ = header["history"]
            tagger.interrupted_ = header["interrupted"]
        return tagger
