"""``argmetric tag predict``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from argmetric._corpus import ColumnFile, write_text
from argmetric._saving import DataError
from argmetric.cli import _report
from argmetric.cli._encoding import Encoding
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._options import (
    FilePath,
    JsonSummary,
    TextTarget,
)
from argmetric.cli._progress import progress, reading
from argmetric.cli._summary import SentencesAsked
from argmetric.cli.scores._rows_out import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.tag._file import read_tags

if TYPE_CHECKING:
    from argmetric.search import Tagger


class TagPredictSummary(SentencesAsked):
    """What `argmetric tag predict` prints as JSON."""

    model: str
    task: str
    columns: list[int]
    seconds: float
    output: str | None


def predict(
    model: FilePath,
    file: FilePath,
    /,
    *,
    encoding: Annotated[
        Encoding, Parameter(help="How the text is written, and will be.")
    ] = "utf-8",
    output: TextTarget = None,
    json: JsonSummary = False,
) -> int:
    """Tag sentences by a tagger of `argmetric tag train`.

    Lines come out as they went in, with the predicted tag as a last column (the tag
    and the chunk label, for a joint tagger); empty lines and those of -DOCSTART- are
    left as they are. A summary goes to standard error.

    Parameters
    ----------
    model
        The file of the tagger. Nothing in it is run.
    file
        The sentences, words first; - is standard input. Columns that the tagger does
        not read, such as right labels, may follow.
    """
    refuse_shared_output(output, json=json)
    if model == "-":
        raise UsageError("a tagger is read from a file, not from standard input")
    if output not in (None, "-"):
        refuse_bad_target(output)
    with reading(model):
        tagger = load_tagger(model)
    text = read_tags(file, encoding)
    _check_columns(text, tagger, model)
    with progress(f"tagging {text.n_sentences:,} sentences"):
        started = time.perf_counter()
        found = tagger.predict(text.objects(text.columns))
        seconds = time.perf_counter() - started
    flat = list(chain.from_iterable(found))
    joint = tagger.task == "joint"
    added: list[Sequence[str]] = list(zip(*flat, strict=True)) if joint else [flat]
    target = output if output is not None else None if json else "-"
    if target is not None:
        write_text(target, text.with_columns(added), encoding)
    summary: TagPredictSummary = {
        "file": text.name,
        "sentences": text.n_sentences,
        "tokens": text.n_tokens,
        "model": model,
        "task": tagger.task,
        "columns": list(range(text.width + 1, text.width + len(added) + 1)),
        "seconds": seconds,
        "output": target,
    }
    if json:
        _report.print_json(summary)
        if target is None:
            say("lines not written: no --output")
    else:
        _print(summary)
    return DONE


def load_tagger(path: str) -> Tagger:
    """Read a tagger of text."""
    from argmetric.search import Tagger

    tagger = Tagger.load(path)
    if tagger.task == "label":
        raise DataError(f"{path} is a tagger of another task, which Python runs")
    return tagger


def _check_columns(text: ColumnFile, tagger: Tagger, model: str) -> None:
    """Refuse a file that lacks a column which the tagger reads."""
    needed = tagger.n_columns_
    if text.width < needed:
        raise DataError(
            f"{text.name}: {model} reads {needed} columns, words first; there "
            f"{'is 1' if text.width == 1 else f'are {text.width}'}"
        )
    labels = set(tagger.labels_[-1] if tagger.task == "joint" else tagger.labels_)
    for number in range(1, needed):
        values = set(text.columns[number])
        if values <= labels and values != {"O"}:
            raise DataError(
                f"{text.name}: column {number + 1}, which {model} reads to decide, "
                "holds the labels that it should find: a column seems to be missing"
            )


def _print(summary: TagPredictSummary) -> None:
    target = _report.console(stderr=True)
    places = summary["columns"]
    where = f"column {places[0]}" if len(places) == 1 else f"columns {places[0]} and "
    where += "" if len(places) == 1 else f"{places[1]}"
    facts = [
        _report.sentences_asked(summary),
        ("model", f"{summary['model']}, task {summary['task']}"),
        ("added", where),
        ("took", f"{summary['seconds']:.1f} s"),
    ]
    _report.print_facts(target, "argmetric tag predict", facts)
    _report.print_written(target, summary["output"])
