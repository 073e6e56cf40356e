"""``argmetric tag evaluate``."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import ChunkCounts
from argmetric._text.corpus.sentences import ColumnFile, read_columns
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import Given, command
from argmetric.cli._errors import gate
from argmetric.cli._learning import OF_TEXTS, read_text_file
from argmetric.cli._progress import progress
from argmetric.cli.scores._page import require, save
from argmetric.cli.tag._labels import ChunkLabels, TagTask, holds_chunks
from argmetric.metrics import get_metric

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
        "task": opt.option(TagTask | None, None),
        "fail_under": opt.gated(
            'Exit with 3 if the strict F1 (or the accuracy, for "pos") is under this.'
        ),
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
    from argmetric._report import Report, summarize_tags

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
    page = summarize_tags(
        text,
        text.columns[gold],
        text.columns[-1],
        metric=judged,
        facts=facts,
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
    save(Report(page), path)


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
