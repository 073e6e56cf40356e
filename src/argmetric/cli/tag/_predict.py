"""``argmetric tag predict``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.files import write_text
from argmetric._text.corpus.sentences import ColumnFile, Sentence
from argmetric.cli import _report
from argmetric.cli._encoding import Encoding
from argmetric.cli._errors import DONE, UsageError, say
from argmetric.cli._options import (
    OUTPUT,
    FilePath,
    Flag,
    JsonSummary,
    TextTarget,
)
from argmetric.cli._progress import progress, reading
from argmetric.cli._summary import Values
from argmetric.cli.scores._rows_out import refuse_shared_output
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.tag._file import read_tags
from argmetric.cli.tag._raw import (
    Marked,
    RawFormat,
    raw_format,
    read_plain,
    refuse_other_columns,
)

if TYPE_CHECKING:
    from argmetric.search import Tagger


def predict(
    model: FilePath,
    file: FilePath,
    /,
    *,
    encoding: Annotated[
        Encoding, Parameter(help="How the text is written, and will be.")
    ] = "utf-8",
    raw: Annotated[bool, Flag] = False,
    output: TextTarget = None,
    output_format: Annotated[RawFormat | None, Parameter(group=OUTPUT)] = None,
    json: JsonSummary = False,
) -> int:
    """Tag sentences by a tagger of `argmetric tag train`.

    Lines come out as they went in, with the predicted tag as a last column (the tag
    and the chunk label, for a joint tagger); empty lines and those of -DOCSTART- are
    left as they are. A summary goes to standard error.

    With --raw the file is plain text. It comes out with its entities in brackets, as
    in [PER Ana] (with its tags, as in Ana/NNP), or as JSON lines: an object for each
    sentence, with its "text", and the type, "start" and "end" of each of its
    "entities", such that text[start:end] is the entity.

    Parameters
    ----------
    model
        The file of the tagger. Nothing in it is run.
    file
        The sentences, words first; - is standard input. Columns that the tagger does
        not read, such as right labels, may follow.
    raw
        The file is plain text, not a token on each line; sentences end with lines and
        with full stops. For a tagger that was trained on words and labels alone.
    output_format
        With --raw: "text", or "jsonl" for JSON lines. By default the ending of --output
        tells it; on standard output it is text.
    """
    refuse_shared_output(output, json=json)
    if output_format is not None and not raw:
        raise UsageError("--output-format is about --raw: pass it too")
    if model == "-":
        raise UsageError("a tagger is read from a file, not from standard input")
    if output not in (None, "-"):
        refuse_bad_target(output)
    with reading(model):
        tagger = load_tagger(model)
    read = _of_plain_text if raw else _of_columns
    tagged = read(file, encoding, tagger, model)
    target = output if output is not None else None if json else "-"
    if target is not None:
        write_text(target, tagged.written(raw_format(output, output_format)), encoding)
    summary: Values = {
        "file": tagged.name,
        "sentences": tagged.n_sentences,
        "tokens": tagged.n_tokens,
        "model": model,
        "task": tagger.task,
        "columns": tagged.columns,
        "entities": tagged.entities,
        "seconds": tagged.seconds,
        "output": target,
    }
    if json:
        _report.print_json(summary)
        if target is None:
            say("lines not written: no --output")
    else:
        _print(summary)
    return DONE


@dataclass(frozen=True)
class _Tagged:
    """Sentences that were tagged; `written` gives the text of the output."""

    name: str
    n_sentences: int
    n_tokens: int
    columns: list[int]
    entities: int | None
    seconds: float
    written: Callable[[RawFormat], str]


def _of_columns(file: str, encoding: str, tagger: Tagger, model: str) -> _Tagged:
    text = read_tags(file, encoding)
    _check_columns(text, tagger, model)
    added, seconds = _labels(tagger, text.objects(text.columns))
    return _Tagged(
        text.name,
        text.n_sentences,
        text.n_tokens,
        list(range(text.width + 1, text.width + len(added) + 1)),
        None,
        seconds,
        lambda _: text.with_columns(added),
    )


def _of_plain_text(file: str, encoding: str, tagger: Tagger, model: str) -> _Tagged:
    refuse_other_columns(tagger, model)
    text = read_plain(file, encoding)
    added, seconds = _labels(tagger, text.objects())
    tags = list(added[0]) if tagger.task in ("pos", "joint") else None
    labels = None if tagger.task == "pos" else list(added[-1])
    marked = Marked(text, labels, tags)
    return _Tagged(
        text.name,
        text.n_sentences,
        len(text.tokens),
        [],
        None if labels is None else len(marked.types),
        seconds,
        lambda form: marked.as_lines() if form == "jsonl" else marked.as_text(),
    )


def _labels(
    tagger: Tagger, sentences: list[Sentence]
) -> tuple[list[Sequence[str]], float]:
    """Return columns of labels, one or in the joint task two, and the seconds."""
    with progress(f"tagging {len(sentences):,} sentences"):
        started = time.perf_counter()
        found = tagger.predict(sentences)
        seconds = time.perf_counter() - started
    flat = list(chain.from_iterable(found))
    joint = tagger.task == "joint"
    return list(zip(*flat, strict=True)) if joint else [flat], seconds


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


def _print(summary: Values) -> None:
    target = _report.console(stderr=True)
    facts = [
        _report.sentences_asked(summary),
        ("model", f"{summary['model']}, task {summary['task']}"),
    ]
    if places := summary["columns"]:
        columns = "column" if len(places) == 1 else "columns"
        facts.append(("added", f"{columns} {' and '.join(map(str, places))}"))
    if summary["entities"] is not None:
        facts.append(("found", f"{summary['entities']:,} entities"))
    facts.append(("took", f"{summary['seconds']:.1f} s"))
    _report.print_facts(target, "argmetric tag predict", facts)
    _report.print_written(target, summary["output"])
