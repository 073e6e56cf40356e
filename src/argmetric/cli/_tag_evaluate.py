"""``argmetric tag evaluate``, and labels of files: read, checked, put right."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from argmetric._ground.display import Field
from argmetric._ground.types import Integers
from argmetric._ground.whole_files import DataError
from argmetric.cli import _learning as learning
from argmetric.cli import _options as opt
from argmetric.cli._command import TRAINING_ENDINGS, Arguments, command
from argmetric.cli._errors import gate
from argmetric.cli._report import Table, Values, count, number, print_answer, progress
from argmetric.cli.scores._lines import save
from argmetric.metrics import get_metric
from argmetric.search.corpus import labels as chunked
from argmetric.search.corpus.sentences import Column, ColumnFile, Sentence, read_columns

TagTask = Literal["chunk", "ner", "pos", "joint"]
_HINT = "the last column is predicted, the one before it gold"
_LOOSE = "no chunk strictly, one for conlleval"
_SHOWN = 10  # labels in a note
# The phrases of CoNLL-2000; spans of any other type are named entities
_CHUNK_TYPES = {
    *("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP")
}
_SIZES = "gold", "predicted", "correct"
_SHARES = "precision", "recall", "f1"


class _Task(opt.Options):
    task: TagTask | None


@command(
    "task encoding fail_under report json",
    _Task,
    learning.OfTexts,
    learning.Gate,
    files={"file": opt.FilePath},
    ending=TRAINING_ENDINGS,
)
def evaluate(o: Arguments) -> int:
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

    Examples
    --------
    argmetric tag evaluate tagged.txt --fail-under 0.9
    """
    text: ColumnFile = learning.read_text_file(read_columns, o.file, o.encoding)
    kind = o.task or _guessed_task(text)
    joint, least = kind == "joint", 5 if kind == "joint" else 3
    if text.width < least:
        raise DataError(
            f"{text.name}: {text.width} columns; words, right and predicted labels are "
            f"needed, {least} for --task {kind}"
        )
    n = text.width  # the right tag and chunk come before the predicted ones
    places = n - 3 if joint else n - 2, n - 1
    chunks: Values = dict.fromkeys(("strict", "lenient", "types"))
    tag = None
    with progress(f"comparing {text.n_tokens:,} tokens"):
        what = "tag" if kind == "pos" else "label"
        same = _accuracy(text, *places, what)
        if kind != "pos":
            chunks, notes = _chunk_scores(text, *places)
            same["notes"] = [*notes, *same["notes"]]
        if joint:
            tag = _accuracy(text, n - 4, n - 2, "tag")
    place, strict, judged = places[0] + 1, chunks["strict"], "accuracy"
    if strict is not None:
        judged = f"the strict F1 of {_noun_of(kind)}"
    task = f"{kind}{', guessed from the labels' * (o.task is None)}"
    whole = count(same["sentences_correct"], "sentence")
    share = f"{number(same['accuracy'])} of the tokens, {whole} whole"
    tags = f"{number(tag['accuracy'])} of the tokens" if tag else ""
    values, facts = learning.values_and_lines(
        [
            *learning.sizes(text.name, text.n_sentences, text.n_tokens),
            Field("task", kind, "task", task),
            Field("guessed", o.task is None),
            Field("gold_column", place),
            Field("predicted_column", n, "columns", f"{place} gold, {n} predicted"),
            Field(words="tags", text=tags),
            Field(words="labels" if tag else "accuracy", text=share),
        ]
    )
    values |= {**same, **chunks, "tag": tag}
    if o.report is not None:
        both = [text.columns[one] for one in places]
        _save_report(text, values, both, judged, o.report)
    said = [("note", n) for n in (*same["notes"], *(tag["notes"] if tag else ()))]
    how: dict[str, Any] = {"table": strict and _types(values), "notes": said}
    print_answer("tag evaluate", values, facts, json=o.json, **how)
    score, name = (same, "accuracy") if strict is None else (strict, "f1")
    return gate(score[name], o.fail_under, get_metric(name), judged)


def _noun_of(task: str) -> str:
    return "entities" if task == "ner" else "chunks"


def _save_report(
    text: ColumnFile, values: Values, both: list[Column], judged: str, path: str
) -> None:
    """Write the page with scores by type and the most frequent confusions."""
    from argmetric._report import report_tags

    right = f"{values['correct']:,} of {values['tokens']:,} labels are right"
    whole = f"{values['sentences_correct']:,} of {values['sentences']:,}"
    cards = [
        ("Accuracy", number(values["accuracy"]), right),
        ("Sentences without a mistake", whole, ""),
    ]
    if strict := values["strict"]:
        called = _noun_of(values["task"])
        found = f"{strict['correct']:,} of {strict['gold']:,} {called} are found"
        cards.insert(0, (f"F1 of {called}", number(strict["f1"]), found))
    types = []
    for name, scores in (values["types"] or {}).items():
        shares, counts = _cells(scores["strict"], "correct", "gold", "predicted")
        types.append((name, *shares, *counts))
    page = report_tags(
        text,
        *both,
        metric=judged,
        cards=cards,
        types=types,
        chunks=bool(strict),
        notes=values["notes"],
    )
    save(page, path)


def _cells(scores: Values, *names: str) -> tuple[list[str], list[str]]:
    """Return shares and counts as text."""
    shares = [number(scores[share]) for share in _SHARES]
    return shares, [f"{scores[name]:,}" for name in names]


def _guessed_task(text: ColumnFile) -> TagTask:
    """Return the task that the labels in the last columns suggest."""
    like = [holds_chunks(column) for column in text.columns]
    if text.width >= 5 and like[-4:] == [False, True, False, True]:
        return "joint"
    last = zip(text.columns[-2:], like[-2:], strict=True)
    labels = set().union(*(column for column, is_like in last if is_like))
    if not labels and set().union(*text.columns[-2:]) != {"O"}:
        return "pos"
    types = {label.partition("-")[2] for label in labels} - {""}
    return "chunk" if types <= _CHUNK_TYPES else "ner"


def _accuracy(text: ColumnFile, gold: int, predicted: int, what: str) -> Values:
    """Return the share of right labels, and a note of those never predicted."""
    right, found = text.columns[gold], text.columns[predicted]
    same = np.fromiter(map(str.__eq__, right, found), np.bool_, text.n_tokens)
    whole = np.logical_and.reduceat(same, text.sentences[:-1])
    notes, missing = [], set(right) - set(found)  # the tagger may not know them
    if missing:
        n = count(sum(label in missing for label in right), "token")
        shown = sorted(missing)[:_SHOWN] + ["..."] * (len(missing) > _SHOWN)
        never = f"{count(len(missing), what)} of {n} ({', '.join(shown)})"
        notes = [f"never predicted, so missed: {never}"]
    return {
        "accuracy": float(same.mean()),
        "correct": int(same.sum()),
        "sentences_correct": int(whole.sum()),
        "notes": notes,
    }


def _chunk_scores(text: ColumnFile, *both: int) -> tuple[Values, list[str]]:
    """Return the scores of chunks, in all and by type, and notes on their labels."""
    types: dict[str, int] = {}
    right, found = (ChunkLabels(text, column, types, _HINT) for column in both)
    each = {
        name: right.counts(found, len(types), lenient=name == "lenient")
        for name in ("strict", "lenient")
    }
    scores: Values = {name: _chunk_values(n.sum(axis=0)) for name, n in each.items()}
    scores["types"] = {
        kind: {name: _chunk_values(n[i]) for name, n in each.items()}
        for kind, i in sorted(types.items())
    }
    iob1 = "gold: read as B-X (IOB1 becomes IOB2)"
    return scores, [
        *right.note(iob1 if right.is_iob1 else f"gold: {_LOOSE}"),
        *found.note(f"predicted: {_LOOSE}"),
    ]


def _chunk_values(counts: Integers) -> Values:
    found = chunked.ChunkCounts(*counts.tolist())
    values = dict(zip(_SIZES, found, strict=True))
    return values | {share: getattr(found, share) for share in _SHARES}


def _types(values: Values) -> Table:
    """Return a table with a row for each type of chunks, and one for all of them."""
    cells = []
    for name, row in [*values["types"].items(), ("all", values)]:
        shares, counts = _cells(row["strict"], *_SIZES)
        cells.append([name, *counts, *shares, number(row["lenient"]["f1"])])
    return ["type", *_SIZES, "precision", "recall", "F1", "conlleval F1"], cells


# ------------------------------------------------------------------ labels in files


def holds_chunks(values: Column) -> bool:
    """Return whether a column holds labels of chunks, and not only O."""
    kinds = set(values)
    return all(map(chunked.is_label, kinds)) and kinds != {"O"}


class ChunkLabels:
    """Labels of chunks in one column; any other text than labels of IOB2 is refused.

    `column` counts from 0, -1 is the last. `wrong` are tokens whose label goes on with
    a chunk that is not open. In IOB1, B-X only parts neighbors of one type, while I-X
    begins chunks.
    """

    def __init__(
        self, text: ColumnFile, column: int, types: dict[str, int], hint: str
    ) -> None:
        self.text, self.labels = text, text.columns[column]
        bad = next(
            (v for v in dict.fromkeys(self.labels) if not chunked.is_label(v)), None
        )
        if bad is not None:
            raise DataError(
                f"{text.place(self.labels.index(bad))}: {bad!r} in column "
                f"{column % text.width + 1} is no label of IOB2 (O, B-TYPE, "
                f"I-TYPE); {hint}"
            )
        self.coded = chunked.CodedLabels.read(self.labels, text.sentences, types)
        self.wrong = self.coded.dangling()
        before = np.concatenate([[-1], self.coded.kinds[:-1]])
        before[text.sentences[:-1]] = -1
        same = (before == self.coded.kinds)[self.coded.roles == chunked.BEGIN]
        self.is_iob1 = bool(self.wrong.size) and bool(same.all())

    def note(self, done: str) -> list[str]:
        """Return a note on labels that go on with a chunk that is not open."""
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
        """Return gold, predicted and right chunks, a row for each type; self is gold.

        Gold labels of IOB1 are read as such, strict or not.
        """
        gold = self.coded.chunks(lenient=lenient or self.is_iob1)
        return gold.counts(predicted.coded.chunks(lenient=lenient), n_types)


class LabelledText(NamedTuple):
    """Sentences with labels that are known to be good."""

    text: ColumnFile
    sentences: list[Sentence]
    labels: tuple[set[str], ...]
    notes: list[str]


def read_labelled(
    path: str, encoding: str, task: TagTask, known: LabelledText | None = None
) -> LabelledText:
    """Read sentences with good labels; those of chunks are put right.

    Where they are to judge what was `known` in training, the same labels count as in
    `argmetric tag evaluate`, and labels that training lacks are told.
    """
    text: ColumnFile = learning.read_text_file(read_columns, path, encoding)
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
            labels = chunked.repair_chunks(chunks.labels, chunks.wrong)
            notes = chunks.note(f"read as B-X{iob1}")
    kinds = (*([set(text.columns[-2])] if task == "joint" else []), set(labels))
    for own, seen in zip(kinds, () if known is None else known.labels, strict=False):
        if known is not None and own - seen:
            notes.append(
                f"{text.name}: not in {known.text.name}, so always missed: "
                f"{', '.join(sorted(own - seen))}"
            )
    return LabelledText(text, text.objects(text.columns[:-1], labels), kinds, notes)
