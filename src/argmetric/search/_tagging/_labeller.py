"""What a tagger that has learned can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric.search._tagging._corpus import Corpus, read_corpus
from argmetric.search._tagging._matrix import MatrixModel, matrix_labels
from argmetric.search._tagging._model import Search, TextModel, label_lists
from argmetric.search._tagging._recipes import Options
from argmetric.search._tagging._score import Evaluation, Judge

_BLOCK = 200_000  # tokens tagged at a time


class Labeller:
    """The half of a `Tagger` that labels, scores and is saved."""

    _options: Options
    _model: TextModel | MatrixModel

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels, or one tuple for each of the two streams of the joint task."""
        found = tuple(codec.labels for codec in self._learned_model().codecs)
        return found[0] if len(found) == 1 else found

    def _learned_model(self) -> TextModel | MatrixModel:
        if not hasattr(self, "_model"):
            raise ValueError("the tagger has learned nothing yet: call fit first")
        return self._model

    def _text_model(self) -> TextModel:
        model = self._learned_model()
        if not isinstance(model, TextModel):
            raise ValueError("the tagger learned from a matrix: call predict_matrix")
        return model

    def _search(self) -> Search:
        # Where an interrupt left one side, `combine` and so the weight play no part
        options = self._options
        weight = options.defaults.right_weight
        return Search(options.beam, options.beam_scores, weight)

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
        model = self._text_model()
        found: list[list[Any]] = []
        for part in self._parts(sentences):
            labels, _ = model.lists(part, self._search())
            found += label_lists(labels[0], model.codecs, part.sentences)
        return found

    def predict_nbest(
        self, sentences: Sequence[Any], n: int = 5
    ) -> list[list[tuple[list[Any], float]]]:
        """The best label sequences of each sentence with their scores.

        Parameters
        ----------
        sentences : list of sentences
            As in `predict`.
        n : int, default=5
            How many; fewer where a sentence has fewer.

        Returns
        -------
        list of lists of (labels, score)
            Scores are log probabilities, sums of them for two directions, or sums of
            raw scores.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1, not {n}")
        model = self._text_model()
        found: list[list[tuple[list[Any], float]]] = []
        for part in self._parts(sentences):
            # An n of 1 asks for a score too, which greedy search alone does not give
            labels, totals = model.lists(part, self._search(), max(n, 2))
            ranks = [label_lists(row, model.codecs, part.sentences) for row in labels]
            # Of a line of -DOCSTART-, all are made alike
            most = np.where(part.documents, 1, n).tolist()
            for s, scores in enumerate(totals.tolist()):
                pairs = zip([rank[s] for rank in ranks], scores, strict=True)
                found.append([p for p in pairs if p[1] > -np.inf][: most[s]])
        return found

    def _parts(self, sentences: Sequence[Any]) -> Iterator[Corpus]:
        """Sentences in portions; all of them at once where words are remembered."""
        corpus = read_corpus(
            sentences, None, len(self._text_model().codecs), labels=False
        )
        if self._text_model().first is not None:
            yield corpus
            return
        edges = np.flatnonzero(np.diff(corpus.sentences[1:] // _BLOCK)) + 1
        bounds = [0, *edges.tolist(), len(corpus.sentences) - 1]
        for low, high in pairwise(bounds):
            if low < high:
                yield corpus.part(low, high)

    def predict_matrix(self, X: Any, lengths: Any) -> npt.NDArray[Any]:
        """Labels of sequences of feature vectors, in the order of the rows of X."""
        model = self._learned_model()
        if not isinstance(model, MatrixModel):
            raise ValueError("the tagger learned from text: call predict")
        return model.predict(X, lengths, self._search())

    def evaluate(
        self, sentences: Sequence[Any], tags: Sequence[Any] | None = None
    ) -> dict[str, Evaluation]:
        """Compare predicted with right labels, stream by stream.

        Labels that the tagger never saw count as missed.
        """
        model = self._text_model()
        n_streams = len(model.codecs)
        corpus = read_corpus(sentences, tags, n_streams, labels=True)
        keep = ~corpus.documents
        corpus = corpus.only(keep)
        labels, _ = model.lists(corpus, self._search())
        split = labels[0].reshape(-1, n_streams)
        return {
            codec.stream.name: Judge(codec, right, corpus.sentences).evaluate(
                split[:, s]
            )
            for s, (codec, right) in enumerate(
                zip(model.codecs, corpus.labels or (), strict=True)
            )
        }

    def score(
        self, sentences: Sequence[Any], tags: Sequence[Any] | None = None
    ) -> float:
        """Strict F1 of chunks, or accuracy where labels are no chunks.

        The joint task is scored by the F1 of its chunks; `evaluate` has the rest.
        """
        return list(self.evaluate(sentences, tags).values())[-1].score

    def score_matrix(self, X: Any, y: Any, lengths: Any) -> float:
        """Accuracy on sequences of feature vectors."""
        found = self.predict_matrix(X, lengths)
        right = matrix_labels(y, len(found))
        return float(np.mean(found == right)) if len(found) else 1.0
