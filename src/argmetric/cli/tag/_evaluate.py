"""``argmetric tag evaluate``."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter

from argmetric._input.types import Integers
from argmetric._results.whole_files import DataError
from argmetric._text.corpus.labels import ChunkCounts
from argmetric._text.corpus.sentences import Column, ColumnFile
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import gate
from argmetric.cli._progress import progress
from argmetric.cli.scores._page import require, save
from argmetric.cli.tag._labels import ChunkLabels, TagTask, holds_chunks, read_tags
from argmetric.metrics import get_metric

_HINT = "the last column is predicted, the one before it gold"
_CONVERTED = "gold: read as B-X (IOB1 becomes IOB2)"
_LOOSE = "no chunk strictly, one for conlleval"
_SHOWN = 10  # labels in a note
# The phrases of CoNLL-2000; spans of any other type are named entities
_CHUNK_TYPES = {
    *("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP")
}
_CALLED = {"chunk": "chunks", "joint": "chunks", "ner": "entities"}
_SHARES: tuple[Literal["precision", "recall", "f1"], ...] = "precision", "recall", "f1"
_COUNTS: tuple[Literal["correct", "gold", "predicted"], ...] = (
    "correct",
    "gold",
    "predicted",
)


def evaluate(
    file: opt.FilePath,
    /,
    *,
    task: TagTask | None = None,
    encoding: opt.Encoding = "utf-8",
    fail_under: Annotated[
        opt.FailUnder,
        Parameter(
            validator=opt.FRACTION,
            help='Exit with 3 if the strict F1 (or the accuracy, for "pos") is under '
            "this.",
        ),
    ] = None,
    report: opt.ReportTarget = None,
    json: opt.Json = False,
) -> int:
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
    if report is not None:
        require(report)
    text = read_tags(file, encoding)
    kind = task or _looks(text)
    least = 5 if kind == "joint" else 3
    if text.width < least:
        raise DataError(
            f"{text.name}: {text.width} columns; words, right and predicted labels are "
            f"needed, {least} for --task {kind}"
        )
    # A joint file ends in right tag, right chunk, predicted tag, predicted chunk
    gold = -3 if kind == "joint" else -2
    with progress(f"comparing {text.n_tokens:,} tokens"):
        same = _accuracy(text, gold, -1, "tag" if kind == "pos" else "label")
        chunks = None
        if kind != "pos":
            chunks, read = _chunk_scores(text, gold)
            same["notes"] = [*read, *same["notes"]]
        tag = _accuracy(text, -4, -2) if kind == "joint" else None
    summary: _report.Values = {
        "file": text.name,
        "sentences": text.n_sentences,
        "tokens": text.n_tokens,
        "task": kind,
        "guessed": task is None,
        "gold_column": text.width - (2 if kind == "joint" else 1),
        "predicted_column": text.width,
        **same,
        **(chunks or dict.fromkeys(("strict", "lenient", "types"))),
        "tag": tag,
    }
    if report is not None:
        _save_report(text, summary, gold, report)
    notes = [*summary["notes"], *([] if tag is None else tag["notes"])]
    _report.tell(
        "tag evaluate",
        summary,
        _facts,
        json=json,
        table=None if chunks is None else _types,
        notes=[("note", note) for note in notes],
    )
    if chunks is None:
        return gate(same["accuracy"], fail_under, get_metric("accuracy"), "accuracy")
    strict = chunks["strict"]["f1"]
    judged = f"the strict F1 of {_CALLED[kind]}"
    return gate(strict, fail_under, get_metric("f1"), judged)


def _save_report(
    text: ColumnFile, summary: _report.Values, gold: int, path: str
) -> None:
    from argmetric._report import report_tags

    strict, types = summary["strict"], summary["types"]
    right = f"{summary['correct']:,} of {summary['tokens']:,} labels are right"
    accuracy = ("Accuracy", _report.number(summary["accuracy"]), right)
    whole = f"{summary['sentences_correct']:,} of {summary['sentences']:,}"
    sentences = ("Sentences without a mistake", whole, "")
    facts = [accuracy, sentences]
    if strict is not None:
        called = _CALLED[summary["task"]]
        found = f"{strict['correct']:,} of {strict['gold']:,} {called} are found"
        facts.insert(0, (f"F1 of {called}", _report.number(strict["f1"]), found))
    page = report_tags(
        text,
        text.columns[gold],
        text.columns[-1],
        metric=(
            "accuracy"
            if strict is None
            else f"the strict F1 of {_CALLED[summary['task']]}"
        ),
        cards=facts,
        types=[
            (name, *_cells(scores["strict"])) for name, scores in (types or {}).items()
        ],
        chunks=strict is not None,
        notes=summary["notes"],
    )
    save(page, path)


def _cells(scores: _report.Values) -> tuple[str, ...]:
    shares = (_report.number(scores[name]) for name in _SHARES)
    return *shares, *(f"{scores[name]:,}" for name in _COUNTS)


def _looks(text: ColumnFile) -> TagTask:
    """The task that the last columns look like."""
    like = [holds_chunks(column) for column in text.columns]
    outside = set().union(*text.columns[-2:]) == {"O"}
    if text.width >= 5 and like[-4:] == [False, True, False, True]:
        return "joint"
    if not (any(like[-2:]) or outside):
        return "pos"
    labels = set().union(
        *(c for c, is_like in zip(text.columns[-2:], like[-2:], strict=True) if is_like)
    )
    types = {label.partition("-")[2] for label in labels} - {""}
    return "chunk" if types <= _CHUNK_TYPES else "ner"


def _accuracy(
    text: ColumnFile, gold: int, predicted: int, what: str = "tag"
) -> _report.Values:
    right, found = text.columns[gold], text.columns[predicted]
    same = np.fromiter(map(str.__eq__, right, found), np.bool_, text.n_tokens)
    whole = np.logical_and.reduceat(same, text.sentences[:-1])
    return {
        "accuracy": float(same.mean()),
        "correct": int(same.sum()),
        "sentences_correct": int(whole.sum()),
        "notes": _never(right, found, what),
    }


def _never(right: Column, found: Column, what: str) -> list[str]:
    """Labels that are there and were never predicted: the tagger may not know them."""
    missing = set(right) - set(found)
    if not missing:
        return []
    n = sum(label in missing for label in right)
    shown = sorted(missing)[:_SHOWN] + ["..."] * (len(missing) > _SHOWN)
    return [
        f"never predicted, so missed: {_report.count(len(missing), what)} of "
        f"{_report.count(n, 'token')} ({', '.join(shown)})"
    ]


def _chunk_scores(text: ColumnFile, gold: int) -> tuple[_report.Values, list[str]]:
    """The scores of chunks, in all and by type, and notes on their labels."""
    types: dict[str, int] = {}
    right = ChunkLabels.read(text, gold, types, _HINT)
    found = ChunkLabels.read(text, -1, types, _HINT)
    strict, lenient = (
        right.counts(found, len(types), lenient=kind) for kind in (False, True)
    )
    scores = {
        "strict": _scored(strict.sum(axis=0)),
        "lenient": _scored(lenient.sum(axis=0)),
        "types": {
            name: {"strict": _scored(strict[i]), "lenient": _scored(lenient[i])}
            for name, i in sorted(types.items())
        },
    }
    return scores, [
        *right.note(_CONVERTED if right.is_iob1 else f"gold: {_LOOSE}"),
        *found.note(f"predicted: {_LOOSE}"),
    ]


def _scored(counts: Integers) -> _report.Values:
    found = ChunkCounts(*counts.tolist())
    return {
        "gold": found.gold,
        "predicted": found.predicted,
        "correct": found.right,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
    }


def _facts(summary: _report.Values) -> _report.Facts:
    looks = ", guessed from the labels" if summary["guessed"] else ""
    facts = [
        _report.sentences_asked(summary),
        ("task", f"{summary['task']}{looks}"),
        (
            "columns",
            f"{summary['gold_column']} gold, {summary['predicted_column']} predicted",
        ),
    ]
    share = _report.number(summary["accuracy"])
    whole = _report.count(summary["sentences_correct"], "sentence")
    tag = summary["tag"]
    if tag is not None:
        facts.append(("tags", f"{_report.number(tag['accuracy'])} of the tokens"))
    name = "accuracy" if tag is None else "labels"
    facts.append((name, f"{share} of the tokens, {whole} whole"))
    return facts


def _types(summary: _report.Values) -> _report.Table:
    """A row for each type of chunks, and one for all of them."""
    header = "type", "gold", "predicted", "correct", "precision", "recall", "F1"
    cells = []
    for name, row in [*summary["types"].items(), ("all", summary)]:
        strict = row["strict"]
        sizes = strict["gold"], strict["predicted"], strict["correct"]
        shares = strict["precision"], strict["recall"], strict["f1"]
        parts = map(_report.number, (*shares, row["lenient"]["f1"]))
        cells.append([name, *(f"{size:,}" for size in sizes), *parts])
    return [*header, "conlleval F1"], cells
