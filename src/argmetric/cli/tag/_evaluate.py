"""``argmetric tag evaluate``, and labels of files: read, checked, put right."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import (
    BEGIN,
    ChunkCounts,
    CodedLabels,
    is_label,
    repaired,
)
from argmetric._text.corpus.sentences import Column, ColumnFile, Sentence, read_columns
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import gate
from argmetric.cli._learning import OF_TEXTS, read_text_file
from argmetric.cli._progress import progress
from argmetric.cli.scores._page import require, save
from argmetric.metrics import get_metric

TagTask = Literal["chunk", "ner", "pos", "joint"]
_HINT = "the last column is predicted, the one before it gold"
_LOOSE = "no chunk strictly, one for conlleval"
_SHOWN = 10  # labels in a note
# The phrases of CoNLL-2000; spans of any other type are named entities
_CHUNK_TYPES = {
    *("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP")
}
_CALLED = {"chunk": "chunks", "joint": "chunks", "ner": "entities"}
_SHARES = "precision", "recall", "f1"


@command(
    "task encoding fail_under report json",
    files={"file": opt.FilePath},
    changed={
        **OF_TEXTS,
        "task": opt.option(TagTask | None),
        "fail_under": opt.option(float | None, opt.OUTPUT, gte=0, lte=1),
    },
)
def evaluate(o: Given) -> int:
    """Compare predicted with true labels, the last two columns of a file.

    A chunk or entity is right if its borders and its type are. The strict score lets
    only B-X begin one; conlleval's also lets I-X. Parts of speech are scored by
    accuracy. The answer goes to standard output.

    Parameters
    ----------
    file
        Sentences that `argmetric tag predict` wrote, with true labels in the column
        before (for "joint", the last four columns: true tag and chunk label, then the
        predicted ones); - is standard input.
    task
        The kind of labels. By default it is guessed from the labels.
    fail_under
        Exit with 3 if the strict F1 (or the accuracy, for "pos") is under this.
    """
    if o.report is not None:
        require(o.report)
    text: ColumnFile = read_text_file(read_columns, o.file, o.encoding)
    kind = o.task or _looks(text)
    joint, least = kind == "joint", 5 if kind == "joint" else 3
    if text.width < least:
        raise DataError(
            f"{text.name}: {text.width} columns; words, right and predicted labels are "
            f"needed, {least} for --task {kind}"
        )
    # A joint file ends in right tag, right chunk, predicted tag, predicted chunk
    gold = -3 if joint else -2
    with progress(f"comparing {text.n_tokens:,} tokens"):
        same = _accuracy(text, gold, -1, "tag" if kind == "pos" else "label")
        chunks: _report.Values = dict.fromkeys(("strict", "lenient", "types"))
        if kind != "pos":
            chunks, read = _chunk_scores(text, gold)
            same["notes"] = [*read, *same["notes"]]
        tag = _accuracy(text, -4, -2, "tag") if joint else None
    values: _report.Values = {
        "file": text.name,
        "sentences": text.n_sentences,
        "tokens": text.n_tokens,
        "task": kind,
        "guessed": o.task is None,
        "gold_column": text.width - (2 if joint else 1),
        "predicted_column": text.width,
        **same,
        **chunks,
        "tag": tag,
    }
    strict, judged = chunks["strict"], "accuracy"
    if strict is not None:
        judged = f"the strict F1 of {_CALLED[kind]}"
    if o.report is not None:
        _save_report(text, values, gold, judged, o.report)
    places = f"{values['gold_column']} gold, {text.width} predicted"
    facts = [
        _report.sentences_asked(values),
        ("task", f"{kind}{', guessed from the labels' if o.task is None else ''}"),
        ("columns", places),
    ]
    if tag is not None:
        facts.append(("tags", f"{_report.number(tag['accuracy'])} of the tokens"))
    share = f"{_report.number(same['accuracy'])} of the tokens"
    whole = _report.count(same["sentences_correct"], "sentence")
    facts.append(("labels" if joint else "accuracy", f"{share}, {whole} whole"))
    notes = [("note", n) for n in (*same["notes"], *(tag["notes"] if tag else ()))]
    table = None if strict is None else _types
    how: dict[str, Any] = {"json": o.json, "table": table, "notes": notes}
    _report.tell("tag evaluate", values, facts, **how)
    if strict is None:
        return gate(same["accuracy"], o.fail_under, get_metric("accuracy"), judged)
    return gate(strict["f1"], o.fail_under, get_metric("f1"), judged)


def _save_report(
    text: ColumnFile, values: _report.Values, gold: int, judged: str, path: str
) -> None:
    from argmetric._report import report_tags

    right = f"{values['correct']:,} of {values['tokens']:,} labels are right"
    whole = f"{values['sentences_correct']:,} of {values['sentences']:,}"
    facts = [
        ("Accuracy", _report.number(values["accuracy"]), right),
        ("Sentences without a mistake", whole, ""),
    ]
    if strict := values["strict"]:
        called = _CALLED[values["task"]]
        found = f"{strict['correct']:,} of {strict['gold']:,} {called} are found"
        facts.insert(0, (f"F1 of {called}", _report.number(strict["f1"]), found))
    page = report_tags(
        text,
        text.columns[gold],
        text.columns[-1],
        metric=judged,
        cards=facts,
        types=[
            (
                name,
                *(_report.number(scores["strict"][share]) for share in _SHARES),
                *_counts(scores["strict"], "correct", "gold", "predicted"),
            )
            for name, scores in (values["types"] or {}).items()
        ],
        chunks=bool(strict),
        notes=values["notes"],
    )
    save(page, path)


def _counts(scores: _report.Values, *names: str) -> list[str]:
    return [f"{scores[name]:,}" for name in names]


def _looks(text: ColumnFile) -> TagTask:
    """The task that the last columns look like."""
    like = [holds_chunks(column) for column in text.columns]
    if text.width >= 5 and like[-4:] == [False, True, False, True]:
        return "joint"
    last = zip(text.columns[-2:], like[-2:], strict=True)
    labels = set().union(*(column for column, is_like in last if is_like))
    if not labels and set().union(*text.columns[-2:]) != {"O"}:
        return "pos"
    types = {label.partition("-")[2] for label in labels} - {""}
    return "chunk" if types <= _CHUNK_TYPES else "ner"


def _accuracy(text: ColumnFile, gold: int, predicted: int, what: str) -> _report.Values:
    """The share of right labels, and a note of those that were never predicted."""
    right, found = text.columns[gold], text.columns[predicted]
    same = np.fromiter(map(str.__eq__, right, found), np.bool_, text.n_tokens)
    whole = np.logical_and.reduceat(same, text.sentences[:-1])
    notes, missing = [], set(right) - set(found)  # the tagger may not know them
    if missing:
        n = _report.count(sum(label in missing for label in right), "token")
        shown = sorted(missing)[:_SHOWN] + ["..."] * (len(missing) > _SHOWN)
        never = f"{_report.count(len(missing), what)} of {n} ({', '.join(shown)})"
        notes = [f"never predicted, so missed: {never}"]
    return {
        "accuracy": float(same.mean()),
        "correct": int(same.sum()),
        "sentences_correct": int(whole.sum()),
        "notes": notes,
    }


def _chunk_scores(text: ColumnFile, gold: int) -> tuple[_report.Values, list[str]]:
    """The scores of chunks, in all and by type, and notes on their labels."""
    types: dict[str, int] = {}
    right, found = (ChunkLabels(text, column, types, _HINT) for column in (gold, -1))
    counts = {
        name: right.counts(found, len(types), lenient=name == "lenient")
        for name in ("strict", "lenient")
    }
    scores: _report.Values = {
        name: _scored(each.sum(axis=0)) for name, each in counts.items()
    }
    scores["types"] = {
        kind: {name: _scored(each[i]) for name, each in counts.items()}
        for kind, i in sorted(types.items())
    }
    iob1 = "gold: read as B-X (IOB1 becomes IOB2)"
    return scores, [
        *right.note(iob1 if right.is_iob1 else f"gold: {_LOOSE}"),
        *found.note(f"predicted: {_LOOSE}"),
    ]


def _scored(counts: Integers) -> _report.Values:
    found = ChunkCounts(*counts.tolist())
    sizes = {"gold": found.gold, "predicted": found.predicted, "correct": found.right}
    return sizes | {share: getattr(found, share) for share in _SHARES}


def _types(values: _report.Values) -> _report.Table:
    """A row for each type of chunks, and one for all of them."""
    header = "type", "gold", "predicted", "correct", "precision", "recall", "F1"
    cells = []
    for name, row in [*values["types"].items(), ("all", values)]:
        strict, lenient = row["strict"], row["lenient"]["f1"]
        shares = map(_report.number, (*(strict[one] for one in _SHARES), lenient))
        cells.append([name, *_counts(strict, *header[1:4]), *shares])
    return [*header, "conlleval F1"], cells


# ------------------------------------------------------------------ labels in files


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
        said = _report.count(self.wrong.size, "label")
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
