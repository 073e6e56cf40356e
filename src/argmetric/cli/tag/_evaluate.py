"""``argmetric tag evaluate``."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from cyclopts import Parameter

from argmetric._files import DataError
from argmetric._types import Integers
from argmetric.cli import _report
from argmetric.cli._gate import gate
from argmetric.cli._options import FRACTION, FailUnder, FilePath, Json
from argmetric.cli._progress import progress
from argmetric.cli._summary import Summary
from argmetric.cli.tag._file import Column, Encoding, TagFile, read_tags
from argmetric.cli.tag._labels import (
    ChunkLabels,
    TagTask,
    chunk_counts,
    holds_chunks,
    scores,
)
from argmetric.metrics import get_metric

_HINT = "the last column is predicted, the one before it gold"
_CONVERTED = "gold: read as B-X (IOB1 becomes IOB2)"
_LOOSE = "no chunk strictly, one for conlleval"
_SHOWN = 10  # labels in a note


def evaluate(
    file: FilePath,
    /,
    *,
    task: TagTask | None = None,
    encoding: Encoding = "utf-8",
    fail_under: Annotated[
        FailUnder,
        Parameter(
            validator=FRACTION,
            help='Exit with 3 if the strict F1 (or the accuracy, for "pos") is under '
            "this.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Compare predicted with right labels, the last two columns of a file.

    Chunks and entities are right if borders and type are. Strictly, only B-X begins
    one; conlleval lets an I-X do so as well. Parts of speech are judged by accuracy.
    The answer goes to standard output.

    Parameters
    ----------
    file
        Sentences that `argmetric tag predict` wrote, with right labels in the column
        before (for "joint", the last four columns: right tag and chunk label, then
        predicted ones); - is standard input.
    task
        What the labels are. By default what they look like.
    """
    text = read_tags(file, encoding)
    kind = task or _looks(text)
    least = 5 if kind == "joint" else 3
    if text.width < least:
        raise DataError(
            f"{text.name}: {text.width} columns; words, right and predicted labels are "
            f"needed, {least} for --task {kind}"
        )
    summary: Summary = {
        "file": text.name,
        "sentences": text.n_sentences,
        "tokens": text.n_tokens,
        "task": kind,
        "guessed": task is None,
        "gold_column": text.width - (2 if kind == "joint" else 1),
        "predicted_column": text.width,
    }
    # A joint file ends in right tag, right chunk, predicted tag, predicted chunk
    gold = -3 if kind == "joint" else -2
    with progress(f"comparing {text.n_tokens:,} tokens"):
        if kind == "pos":
            summary |= _accuracy(text, gold, -1)
        else:
            summary |= _chunk_scores(text, gold)
        if kind == "joint":
            summary["tag"] = _accuracy(text, -4, -2)
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    if kind == "pos":
        return gate(summary["accuracy"], fail_under, get_metric("accuracy"), "accuracy")
    strict = summary["strict"]["f1"]
    return gate(strict, fail_under, get_metric("f1"), "the strict F1 of chunks")


def _looks(text: TagFile) -> TagTask:
    """The task that the last columns look like."""
    like = [holds_chunks(column) for column in text.columns]
    outside = set().union(*text.columns[-2:]) == {"O"}
    if text.width >= 5 and like[-4:] == [False, True, False, True]:
        return "joint"
    return "chunk" if any(like[-2:]) or outside else "pos"


def _accuracy(text: TagFile, gold: int, predicted: int, what: str = "tag") -> Summary:
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


def _chunk_scores(text: TagFile, gold: int) -> Summary:
    types: dict[str, int] = {}
    right = ChunkLabels.read(text, gold, types, _HINT)
    found = ChunkLabels.read(text, -1, types, _HINT)
    names = sorted(types)
    order = [types[name] for name in names]
    strict, lenient = (
        chunk_counts(right, found, len(types), lenient=kind) for kind in (False, True)
    )
    rows = {
        name: {"strict": _scored(strict[i]), "lenient": _scored(lenient[i])}
        for name, i in zip(names, order, strict=True)
    }
    both = _accuracy(text, gold, -1, "label")
    notes = [
        *right.note(_CONVERTED if right.is_iob1 else f"gold: {_LOOSE}"),
        *found.note(f"predicted: {_LOOSE}"),
        *both["notes"],
    ]
    return {
        **both,
        "strict": _scored(strict.sum(axis=0)),
        "lenient": _scored(lenient.sum(axis=0)),
        "types": rows,
        "notes": notes,
    }


def _scored(counts: Integers) -> Summary:
    return scores(*counts.tolist())


def _print(summary: Summary) -> None:
    target = _report.console(stderr=False)
    looks = ", by the look of the labels" if summary["guessed"] else ""
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
    if "tag" in summary:
        tags = _report.number(summary["tag"]["accuracy"])
        facts.append(("tags", f"{tags} of the tokens"))
    name = "labels" if "tag" in summary else "accuracy"
    facts.append((name, f"{share} of the tokens, {whole} whole"))
    _report.print_facts(target, "argmetric tag evaluate", facts)
    if "strict" in summary:
        _print_types(summary)
    notes = [*summary["notes"], *summary.get("tag", {}).get("notes", [])]
    _report.print_notes(target, "note", notes)


def _print_types(summary: Summary) -> None:
    header = "type", "gold", "predicted", "correct", "precision", "recall", "F1"
    rows = [(name, row) for name, row in summary["types"].items()]
    rows.append(("all", {name: summary[name] for name in ("strict", "lenient")}))
    cells = []
    for name, row in rows:
        strict = row["strict"]
        sizes = [f"{strict[key]:,}" for key in ("gold", "predicted", "correct")]
        parts = [_report.number(strict[key]) for key in ("precision", "recall", "f1")]
        cells.append([name, *sizes, *parts, _report.number(row["lenient"]["f1"])])
    _report.print_table(_report.console(stderr=False), [*header, "conlleval F1"], cells)
