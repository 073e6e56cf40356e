"""Labels in a file with a line for each token: read, checked, put right."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import BEGIN, CodedLabels, is_label, repaired
from argmetric._text.corpus.sentences import Column, ColumnFile, Sentence, read_columns
from argmetric.cli._learning import read_text_file
from argmetric.cli._report import count

TagTask = Literal["chunk", "ner", "pos", "joint"]


def holds_chunks(values: Column) -> bool:
    """Whether a column holds labels of chunks, and not only O."""
    kinds = set(values)
    return all(map(is_label, kinds)) and kinds != {"O"}


class ChunkLabels:
    """The labels of chunks in one column; what is no label of IOB2 is refused.

    `wrong` are tokens whose label goes on with a chunk that is not open. In IOB1, B-X
    only parts neighbors of one type, while I-X begins chunks.
    """

    def __init__(
        self, text: ColumnFile, column: int, types: dict[str, int], hint: str
    ) -> None:
        self.text, self.labels = text, text.columns[column]
        bad = next((v for v in dict.fromkeys(self.labels) if not is_label(v)), None)
        if bad is not None:
            raise DataError(
                f"{text.where(self.labels.index(bad))}: {bad!r} in column "
                f"{column % text.width + 1} is no label of IOB2 (O, B-TYPE, "
                f"I-TYPE); {hint}"
            )
        self.coded = CodedLabels.read(self.labels, text.sentences, types)
        self.wrong = self.coded.dangling()
        before = np.concatenate([[-1], self.coded.kinds[:-1]])
        before[text.sentences[:-1]] = -1
        same = (before == self.coded.kinds)[self.coded.roles == BEGIN]
        self.is_iob1 = bool(self.wrong.size) and bool(same.all())

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


class Labelled(NamedTuple):
    """Sentences with labels that are known to be good."""

    text: ColumnFile
    sentences: list[Sentence]
    labels: tuple[set[str], ...]
    notes: list[str]


def labelled(
    path: str, encoding: str, task: TagTask, known: Labelled | None = None
) -> Labelled:
    """Read sentences with good labels; those of chunks are put right.

    Where they are to judge what was `known` in training, the same labels count as in
    `argmetric tag evaluate`, and labels that training lacks are told.
    """
    text: ColumnFile = read_text_file(read_columns, path, encoding)
    if known is not None and text.width != known.text.width:
        raise DataError(
            f"{text.name} has {text.width} columns, but {known.text.name} has "
            f"{known.text.width}"
        )
    n_labels = 2 if task == "joint" else 1
    if text.width <= n_labels:
        needed = "words, tags and chunk labels" if n_labels == 2 else "words and labels"
        raise DataError(
            f"{text.name}: --task {task} needs {needed}, {n_labels + 1} columns or "
            f"more; there {'is 1' if text.width == 1 else f'are {text.width}'}"
        )
    tags = {"pos": -1, "joint": -2}.get(task)
    if tags is not None and holds_chunks(text.columns[tags]):
        label = next(value for value in text.columns[tags] if value != "O")
        raise DataError(
            f"{text.name}: column {text.width + tags + 1}, where --task {task} has its "
            f"tags, holds labels of chunks ({label}): choose another task, or leave "
            "the column out"
        )
    labels, notes = list(text.columns[-1]), []
    if task != "pos":
        chunks = ChunkLabels(
            text, -1, {}, f"--task {task} needs them in the last column"
        )
        if known is not None and not chunks.is_iob1:
            notes = chunks.note("no chunk strictly")
        else:
            iob1 = " (IOB1 becomes IOB2)" if chunks.is_iob1 else ", as conlleval does"
            labels = repaired(chunks.labels, chunks.wrong)
            notes = chunks.note(f"read as B-X{iob1}")
    kinds = (*([set(text.columns[-2])] if task == "joint" else []), set(labels))
    for own, seen in zip(kinds, () if known is None else known.labels, strict=False):
        if known is not None and own - seen:
            notes.append(
                f"{text.name}: not in {known.text.name}, so always missed: "
                f"{', '.join(sorted(own - seen))}"
            )
    return Labelled(text, text.objects(text.columns[:-1], labels), kinds, notes)
