"""Labels of tokens: those of chunks checked, put right, and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from argmetric._saving import DataError
from argmetric._types import Integers
from argmetric.cli._report import count
from argmetric.cli.tag._file import Column, TagFile
from argmetric.search._tagging._codec import dangling, roles_and_kinds
from argmetric.sequence._schemes import split_label

TagTask = Literal["chunk", "ner", "pos", "joint"]
_BEGIN, _INSIDE = 1, 2


def holds_chunks(values: Column) -> bool:
    """Whether a column holds labels of chunks, and not only O."""
    kinds = set(values)
    return all(map(_is_label, kinds)) and kinds != {"O"}


def _is_label(value: str) -> bool:
    try:
        split_label(value, "IOB2")
    except ValueError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class ChunkLabels:
    """The labels of chunks in one column of a file.

    Attributes
    ----------
    text : TagFile
        The file.
    labels : sequence of str
        The labels of all tokens.
    roles, kinds : ndarray of int64
        0 outside, 1 begin, 2 inside; the number of the type, -1 for none.
    wrong : ndarray of int64
        Tokens whose label goes on with a chunk that is not open.
    """

    text: TagFile
    labels: Column
    roles: Integers
    kinds: Integers
    wrong: Integers

    @classmethod
    def read(
        cls, text: TagFile, column: int, types: dict[str, int], hint: str
    ) -> ChunkLabels:
        """Read a column; what is no label of IOB2 is refused with its line."""
        labels = text.columns[column]
        names = sorted(set(labels))
        bad = {name for name in names if not _is_label(name)}
        if bad:
            token = next(i for i, label in enumerate(labels) if label in bad)
            raise DataError(
                f"{text.where(token)}: {labels[token]!r} in column "
                f"{column % text.width + 1} is no label of IOB2 (O, B-TYPE, "
                f"I-TYPE); {hint}"
            )
        roles, kinds = roles_and_kinds(names, types)
        place = {name: i for i, name in enumerate(names)}
        numbers = np.fromiter(map(place.__getitem__, labels), np.int64, len(labels))
        role, kind = roles[numbers], kinds[numbers]
        return cls(text, labels, role, kind, dangling(role, kind, text.sentences))

    @property
    def is_iob1(self) -> bool:
        """Whether B-X only parts neighbors of one type, while I-X begins chunks."""
        before = np.concatenate([[-1], self.kinds[:-1]])
        before[self.text.sentences[:-1]] = -1
        begins = self.roles == _BEGIN
        return bool(self.wrong.size) and bool((before == self.kinds)[begins].all())

    def repaired(self) -> list[str]:
        """The labels in which every chunk begins with B, as conlleval reads them."""
        labels = list(self.labels)
        for token in self.wrong.tolist():
            labels[token] = f"B-{labels[token][2:]}"
        return labels

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

    def chunks(self, *, lenient: bool) -> tuple[Integers, Integers, Integers]:
        """Starts, ends and types; strictly, only B-X begins a chunk."""
        heads = self.roles != _INSIDE
        heads[self.wrong] = True
        start = np.flatnonzero(heads)
        stop = np.append(start[1:], len(heads))
        first = self.roles[start]
        opens = (first == _BEGIN) | ((first == _INSIDE) & lenient)
        return start[opens], stop[opens], self.kinds[start[opens]]


def chunk_counts(
    gold: ChunkLabels, predicted: ChunkLabels, n_types: int, *, lenient: bool
) -> Integers:
    """Chunks there, predicted and right: a row for each type.

    Gold labels of IOB1 are read as such, strict or not.
    """
    start, stop, kind = gold.chunks(lenient=lenient or gold.is_iob1)
    stops, kinds = np.full((2, len(gold.labels)), -1, dtype=np.int64)
    stops[start], kinds[start] = stop, kind
    begin, end, found = predicted.chunks(lenient=lenient)
    right = found[(stops[begin] == end) & (kinds[begin] == found)]
    return np.stack(
        [np.bincount(k, minlength=n_types) for k in (kind, found, right)], axis=1
    )


class ChunkScores(TypedDict):
    """How many chunks were right."""

    gold: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float


def scores(gold: int, predicted: int, right: int) -> ChunkScores:
    """Counts with precision, recall and F1; 1 where nothing is and nothing is found."""
    both = gold + predicted
    return {
        "gold": gold,
        "predicted": predicted,
        "correct": right,
        "precision": right / predicted if predicted else float(not gold),
        "recall": right / gold if gold else float(not predicted),
        "f1": 2 * right / both if both else 1.0,
    }
