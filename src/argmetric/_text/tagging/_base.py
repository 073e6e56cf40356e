"""What taggers of text have in common, whatever they decide at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from argmetric._input.arguments import renamed
from argmetric._input.types import Integers
from argmetric._text.learning import SavedEstimator
from argmetric._text.tagging._model import label_lists
from argmetric._text.tagging.labels import Codec, Evaluation, RightLabels, codec_of
from argmetric._text.tagging.sentences import Corpus, read_corpus

_BLOCK = 200_000  # tokens labelled at a time


class TextTagger(SavedEstimator):
    """A tagger of sentences: it labels them, and is judged by their labels.

    A subclass tells its tiers of labels and labels the tokens of a corpus.
    """

    _model: Any

    def _learned_model(self) -> Any:
        if not hasattr(self, "_model"):
            raise ValueError("the tagger has learned nothing yet: call fit first")
        return self._model

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels, or one tuple for each of the two tiers of the joint task."""
        found = tuple(codec.labels for codec in self._learned_model().codecs)
        return found[0] if len(found) == 1 else found

    def _codecs(self) -> tuple[Codec, ...]:
        """The tiers of labels that text is given."""
        raise NotImplementedError

    def _numbers(self, corpus: Corpus) -> Integers:
        """Numbers of the labels of all tokens; those of a token side by side."""
        raise NotImplementedError

    def _needs_all(self) -> bool:
        """Whether the labels of a sentence depend on the other sentences."""
        return False

    def predict(self, sentences: Sequence[Any]) -> list[list[Any]]:
        """Labels of the tokens of each sentence.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`; columns beyond those that the templates read are ignored. A
            line of -DOCSTART- is outside of every chunk.

        Returns
        -------
        list of lists of str
            For the joint task, of pairs of labels.
        """
        found: list[list[Any]] = []
        for part in self._parts(sentences):
            found += label_lists(self._numbers(part), self._codecs(), part.sentences)
        return found

    def _parts(self, sentences: Sequence[Any]) -> Iterator[Corpus]:
        """Sentences in portions, or all of them at once where that is needed."""
        corpus = read_corpus(sentences, None, len(self._codecs()), labelled=False)
        if self._needs_all():
            yield corpus
            return
        edges = np.flatnonzero(np.diff(corpus.sentences[1:] // _BLOCK)) + 1
        bounds = [0, *edges.tolist(), len(corpus.sentences) - 1]
        for low, high in pairwise(bounds):
            if low < high:
                yield corpus.part(low, high)

    def evaluate(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        tags: Sequence[Any] | None = None,
    ) -> dict[str, Evaluation]:
        """Compare predicted with right labels, tier by tier.

        Labels that the tagger never saw count as missed.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        labels : list of lists, optional
            The right labels; by default the last column (the last two).
        tags : list of lists, optional
            The old name of `labels`.

        Returns
        -------
        dict of str to Evaluation
            "tag" and "chunk" for the joint task; one tier, "t", for all others.
        """
        labels = renamed(labels, tags, old="tags", new="labels")
        return self._evaluate(sentences, labels)

    def _evaluate(
        self, sentences: Sequence[Any], labels: Sequence[Any] | None
    ) -> dict[str, Evaluation]:
        codecs = self._codecs()
        corpus, right = read_labelled(sentences, labels, len(codecs))
        split = self._numbers(corpus).reshape(-1, len(codecs))
        return {
            codec.tier.name: RightLabels(codec, own, corpus.sentences).evaluate(
                split[:, s]
            )
            for s, (codec, own) in enumerate(zip(codecs, right, strict=True))
        }

    def score(
        self,
        sentences: Sequence[Any],
        labels: Sequence[Any] | None = None,
        *,
        tags: Sequence[Any] | None = None,
    ) -> float:
        """Strict F1 of chunks, or accuracy where labels are no chunks.

        The joint task is scored by the F1 of its chunks; `evaluate` has the rest.

        Parameters
        ----------
        sentences : list of sentences
            As in `fit`.
        labels : list of lists, optional
            The right labels; by default the last column (the last two).
        tags : list of lists, optional
            The old name of `labels`.
        """
        labels = renamed(labels, tags, old="tags", new="labels")
        return list(self._evaluate(sentences, labels).values())[-1].score


def read_labelled(
    sentences: Sequence[Any], labels: Sequence[Any] | None, n_tiers: int
) -> tuple[Corpus, tuple[Sequence[str], ...]]:
    """Sentences without the -DOCSTART- lines, and their labels."""
    corpus = read_corpus(sentences, labels, n_tiers, labelled=True)
    corpus = corpus.only(~corpus.documents)
    return corpus, corpus.labels or ()


def read_training(
    sentences: Sequence[Any],
    labels: Sequence[Any] | None,
    tiers: Sequence[tuple[str, bool]],
) -> tuple[Corpus, tuple[Codec, ...], Integers]:
    """Sentences to learn from, the codecs of their labels, and these as numbers.

    Each tier has a name, and whether its labels are those of chunks.
    """
    corpus, right = read_labelled(sentences, labels, len(tiers))
    if not corpus.n_tokens:
        raise ValueError("there is no token to learn from")
    codecs, columns = [], []
    # No comprehension: `codec_of` warns the caller of `fit`, so many frames away
    for (name, spans), own in zip(tiers, right, strict=True):
        codec, numbers = codec_of(name, own, corpus, spans=spans)
        codecs.append(codec)
        columns.append(numbers)
    return corpus, tuple(codecs), np.stack(columns, axis=1).ravel()


def read_dev(dev: Any, n_tiers: int) -> Corpus | None:
    """Sentences to be judged by: sentences, or (sentences, labels) as a tuple."""
    if dev is None:
        return None
    text, right = dev if isinstance(dev, tuple) else (dev, None)
    return read_labelled(text, right, n_tiers)[0]
