"""Sentences with a line for each token, and their labels: read, checked, compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import BEGIN, CodedLabels, is_label, repaired
from argmetric._text.corpus.sentences import Column, ColumnFile, Sentence, read_columns
from argmetric.cli._options import OTHER_ENCODING
from argmetric.cli._progress import reading
from argmetric.cli._report import count
from argmetric.cli._values import check_encoding

TagTask = Literal["chunk", "ner", "pos", "joint"]


def read_tags(path: str, encoding: str) -> ColumnFile:
    """Read a file of tokens; what is wrong with it is told with the line."""
    check_encoding(encoding)
    with reading(path):
        return read_columns(path, encoding=encoding, otherwise=OTHER_ENCODING)


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


@dataclass(frozen=True, eq=False)
class Labelled:
    """Sentences with labels that are known to be good."""

    text: ColumnFile
    sentences: list[Sentence]
    labels: tuple[set[str], ...]
    notes: list[str]


def labelled(text: ColumnFile, task: TagTask, *, judged: bool = False) -> Labelled:
    """Check the columns of labels, and put chunks right.

    Where they are `judged` by, the same labels count as in `argmetric tag evaluate`.
    """
    n_labels = 2 if task == "joint" else 1
    if text.width <= n_labels:
        needed = "words, tags and chunk labels" if n_labels == 2 else "words and labels"
        raise DataError(
            f"{text.name}: --task {task} needs {needed}, {n_labels + 1} columns or "
            f"more; there {'is 1' if text.width == 1 else f'are {text.width}'}"
        )
    tags = {"pos": -1, "joint": -2}.get(task)
    if tags is not None and holds_chunks(text.columns[tags]):
        place = text.width + tags + 1
        raise DataError(
            f"{text.name}: column {place}, where --task {task} has its tags, holds "
            f"labels of chunks ({_typed(text.columns[tags])}): choose another task, or "
            "leave the column out"
        )
    labels, notes = list(text.columns[-1]), []
    if task != "pos":
        hint = f"--task {task} needs them in the last column"
        chunks = ChunkLabels.read(text, -1, {}, hint)
        if judged and not chunks.is_iob1:
            notes = chunks.note("no chunk strictly")
        else:
            iob1 = " (IOB1 becomes IOB2)" if chunks.is_iob1 else ", as conlleval does"
            labels, notes = chunks.repaired(), chunks.note(f"read as B-X{iob1}")
    found: tuple[set[str], ...] = (set(labels),)
    if task == "joint":
        found = (set(text.columns[-2]), *found)
    sentences = text.objects(text.columns[:-1], labels)
    return Labelled(text, sentences, found, notes)


def _typed(values: Column) -> str:
    return next(value for value in values if value != "O")


def development(path: str, encoding: str, known: Labelled, task: TagTask) -> Labelled:
    """Read sentences to be judged by; labels that training lacks are told."""
    text = read_tags(path, encoding)
    if text.width != known.text.width:
        raise DataError(
            f"{text.name} has {text.width} columns, but {known.text.name} has "
            f"{known.text.width}"
        )
    held = labelled(text, task, judged=True)
    for own, seen in zip(held.labels, known.labels, strict=True):
        new = sorted(own - seen)
        if new:
            held.notes.append(
                f"{text.name}: not in {known.text.name}, so always missed: "
                f"{', '.join(new)}"
            )
    return held
