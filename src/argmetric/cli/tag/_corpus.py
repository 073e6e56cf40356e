"""Sentences to learn from, their labels checked."""

from __future__ import annotations

from dataclasses import dataclass

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.sentences import Column, ColumnFile, Sentence
from argmetric.cli.tag._file import read_tags
from argmetric.cli.tag._labels import ChunkLabels, TagTask, holds_chunks


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
