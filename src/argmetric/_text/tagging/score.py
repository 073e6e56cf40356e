"""How good predicted labels are: strict chunk F1 and accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.display import Lines, Result
from argmetric._results.pictures import bars_size, draw_bars, drawing
from argmetric._text.corpus.labels import ChunkCounts, Labels, roles_and_kinds
from argmetric._text.tagging._codec import Codec


@dataclass(frozen=True)
class Evaluation(Result):
    """What predicted labels came to.

    Attributes
    ----------
    accuracy : float
        Share of tokens with the right label.
    precision, recall, f1 : float or None
        Of whole chunks, read strictly (only B-X begins one); None where labels are no
        chunks. F1 of nothing predicted and nothing there is 1.
    unknown : int
        Tokens whose label the tagger never saw; they count as missed.
    tokens : int
        Number of tokens.
    """

    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    unknown: int
    tokens: int

    @property
    def score(self) -> float:
        """F1 of chunks, or accuracy where there are none."""
        return self.accuracy if self.f1 is None else self.f1

    def _shares(self) -> dict[str, float]:
        shares = {"accuracy": self.accuracy, "precision": self.precision}
        shares |= {"recall": self.recall, "F1": self.f1}
        return {name: value for name, value in shares.items() if value is not None}

    def _lines(self) -> Lines:
        known = [(name, f"{share:.4f}") for name, share in self._shares().items()]
        unknown = f", {self.unknown:,} of an unknown label" if self.unknown else ""
        return [*known, ("tokens", f"{self.tokens:,}{unknown}")]

    def plot(self, ax: Any = None) -> Any:
        """Draw a bar for each share.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
        """
        shares = self._shares()
        labels = {"title": f"{self.tokens:,} tokens", "xlim": (0, 1), "xlabel": "share"}
        names = [f"{name} {share:.3f}" for name, share in shares.items()]
        with drawing(ax, bars_size(len(shares)), **labels) as ax:
            draw_bars(ax, names, list(shares.values()))
        return ax


class Judge:
    """Right labels, coded once and compared many times."""

    def __init__(self, codec: Codec, labels: Sequence[str], sentences: Integers):
        self._codec = codec
        self._sentences = sentences
        self._numbers = codec.encode(labels)
        if codec.tier.spans:
            # Types that only occur here get numbers of their own: they are missed
            self._types: dict[str, int] = {}
            self._of_labels = roles_and_kinds(codec.labels, self._types)
            self._gold = Labels.read(labels, sentences, self._types).chunks()

    def evaluate(self, numbers: Integers) -> Evaluation:
        """Compare with predicted labels."""
        n = len(numbers)
        accuracy = float(np.mean(numbers == self._numbers)) if n else 1.0
        unknown = int(np.sum(self._numbers < 0))
        if not self._codec.tier.spans:
            return Evaluation(accuracy, None, None, None, unknown, n)
        roles, kinds = self._of_labels
        found = Labels(roles[numbers], kinds[numbers], self._sentences).chunks()
        each = self._gold.counts(found, len(self._types))
        counts = ChunkCounts(*each.sum(axis=0).tolist())
        return Evaluation(
            accuracy, counts.precision, counts.recall, counts.f1, unknown, n
        )
