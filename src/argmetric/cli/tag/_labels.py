"""Labels of tokens: those of chunks checked, put right, and compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypedDict

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import BEGIN, CodedLabels, is_label, repaired
from argmetric._text.corpus.sentences import Column, ColumnFile
from argmetric.cli._report import count

TagTask = Literal["chunk", "ner", "pos", "joint"]


def holds_chunks(values: Column) -> bool:
    """Whether a column holds labels of chunks, and not only O."""
    kinds = set(values)
    return all(map(is_label, kinds)) and kinds != {"O"}


@dataclass(frozen=True, eq=False)
class ChunkLabels:
    """The labels of chunks in one column of a file.

    Attributes
    ----------
    text : ColumnFile
        The file.
    labels : sequence of str
        The labels of all tokens.
    coded : CodedLabels
        Their roles and types.
    """

    text: ColumnFile
    labels: Column
    coded: CodedLabels

    @classmethod
    def read(
        cls, text: ColumnFile, column: int, types: dict[str, int], hint: str
    ) -> ChunkLabels:
        """Read a column; what is no label of IOB2 is refused with its line."""
        labels = text.columns[column]
        bad = next((v for v in dict.fromkeys(labels) if not is_label(v)), None)
        if bad is not None:
            raise DataError(
                f"{text.where(labels.index(bad))}: {bad!r} in column "
                f"{column % text.width + 1} is no label of IOB2 (O, B-TYPE, "
                f"I-TYPE); {hint}"
            )
        return cls(text, labels, CodedLabels.read(labels, text.sentences, types))

    @cached_property
    def wrong(self) -> Integers:
        """Tokens whose label goes on with a chunk that is not open."""
        return self.coded.dangling()

    @property
    def is_iob1(self) -> bool:
        """Whether B-X only parts neighbors of one type, while I-X begins chunks."""
        kinds = self.coded.kinds
        before = np.concatenate([[-1], kinds[:-1]])
        before[self.text.sentences[:-1]] = -1
        begins = self.coded.roles == BEGIN
        return bool(self.wrong.size) and bool((before == kinds)[begins].all())

    def repaired(self) -> list[str]:
        """The labels in which every chunk begins with B, as conlleval reads them."""
        return repaired(self.labels, self.wrong)

    def note(self, done: str) -> list[str]:
        """What was done about labels that go on with a chunk that is not open."""
        if not self.wrong.size:
            return []
        first = int(self.wrong[0])
        said = count(self.wrong.size, "label")
        return [
            f"{self.text.name}: {said} I-X with no X open before, {done}; the first "
            f"in line {self.text.places[first] + 1}: {self.labels[first]}"
        ]

    def counts(
        self, predicted: ChunkLabels, n_types: int, *, lenient: bool
    ) -> Integers:
        """Gold, predicted and right chunks: a row for each type; self is gold.

        Gold labels of IOB1 are read as such, strict or not.
        """
        gold = self.coded.chunks(lenient=lenient or self.is_iob1)
        return gold.counts(predicted.coded.chunks(lenient=lenient), n_types)


class ChunkScores(TypedDict):
    """How many chunks were right."""

    gold: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float
