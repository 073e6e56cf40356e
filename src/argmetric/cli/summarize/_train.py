"""``argmetric summarize train``."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from argmetric.cli import _report
from argmetric.cli._encoding import Encoding, check_encoding
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError, say
from argmetric.cli._options import FilePath, Json, WrittenPath
from argmetric.cli._progress import progress
from argmetric.cli._stop import ends_in_order
from argmetric.cli._summary import Values
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.summarize._shared import (
    CHOICE,
    MinWords,
    ModeOption,
    ParserFile,
    Redundancy,
    ReferencesFolder,
    Words,
    new_summarizer,
    read_training,
    warnings_as_notes,
)

if TYPE_CHECKING:
    from rich.console import Console


def train(
    data: Annotated[FilePath, Parameter(metavar="FILE|FOLDER")],
    /,
    *,
    model: Annotated[WrittenPath, Parameter(alias=("-o", "--out"))],
    references: ReferencesFolder = None,
    words: Words = None,
    mode: ModeOption = None,
    parser: ParserFile = None,
    policy: Annotated[Literal["weights", "searn"], Parameter(group=CHOICE)] = "weights",
    iterations: Annotated[
        int | None, Parameter(group=CHOICE, validator=Number(gte=1, lte=1000))
    ] = None,
    oracle_beam: Annotated[
        int | None, Parameter(group=CHOICE, validator=Number(gte=1, lte=1024))
    ] = None,
    min_words: MinWords = None,
    redundancy: Redundancy = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> int:
    """Train a summarizer on clusters with summaries by people, and keep it in a file.

    The answer goes to standard output. Ctrl-C ends the training of "searn" and keeps
    the policy so far (exit code 130).

    Parameters
    ----------
    data
        The clusters: JSON lines with the keys documents, references and, if wanted,
        name; or a folder with a folder of documents, or one document, for each
        cluster. - is standard input.
    model
        The file for the summarizer, replaced whole or not at all.
    words
        The length of the summaries to learn. [default: 60]
    mode
        Whole sentences, or parts of them. [default: sentences]
    policy
        Learn which pairs of words references take up ("weights"), or also how to go on
        from what a summary has so far ("searn").
    iterations
        Iterations of "searn". [default: 3]
    oracle_beam
        The width of the beam by which "searn" finds what to learn from. [default: 1]
    """
    if model == "-":
        raise UsageError("a summarizer is written to a file, not to standard output")
    refuse_bad_target(model)
    check_encoding(encoding)
    of_searn = {"iterations": iterations, "oracle_beam": oracle_beam}
    for name, value in of_searn.items():
        if value is not None and policy != "searn":
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is about --policy searn: pass that too")
    options = of_searn | {"min_words": min_words, "redundancy": redundancy}
    given = {name: value for name, value in options.items() if value is not None}
    summarizer = new_summarizer(mode, parser, policy=policy, **given)
    known = read_training(data, references, encoding)
    notes = known.notes
    length = {} if words is None else {"words": words}
    started = time.perf_counter()
    with ends_in_order(signal.SIGINT):
        try:
            doing = f"training on {len(known.clusters):,} clusters"
            with progress(doing), warnings_as_notes(notes):
                summarizer.fit(known.clusters, known.references, **length)
        except KeyboardInterrupt:
            say("interrupted before anything was learned: no summarizer is written")
            return INTERRUPTED
        seconds = time.perf_counter() - started
        summarizer.save(model)
    summary: Values = {
        "file": known.name,
        "references": references,
        "clusters": len(known.clusters),
        "documents": sum(len(one.documents) for one in known.clusters),
        "reference_count": sum(map(len, known.references)),
        "words": summarizer.words_,
        "mode": summarizer.mode,
        "policy": policy,
        "parser": parser,
        "history": summarizer.history_,
        "interrupted": summarizer.interrupted_,
        "seconds": seconds,
        "notes": notes,
        "model": model,
        "bytes": os.stat(model).st_size,
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return INTERRUPTED if summarizer.interrupted_ else DONE


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    sizes = [
        _report.count(summary["clusters"], "cluster"),
        _report.count(summary["documents"], "document"),
        _report.count(summary["reference_count"], "reference"),
    ]
    facts = [
        ("learned", f"{', '.join(sizes)} of {summary['file']}"),
        ("mode", f"{summary['mode']}, policy {summary['policy']}"),
        ("length", _report.count(summary["words"], "word")),
        ("took", f"{summary['seconds']:.1f} s"),
    ]
    _report.print_facts(target, "argmetric summarize train", facts)
    if summary["history"]:
        _print_history(target, summary["history"])
    _report.print_notes(target, "note", summary["notes"])
    size = f"{summary['model']} ({summary['bytes'] / 1e6:.1f} MB)"
    _report.print_notes(target, "written", [size])


def _print_history(target: Console, history: list[Values]) -> None:
    rows = [
        (
            f"iteration {row['iteration']}" if row["iteration"] else "initial",
            *map(_report.number, (row["loss"], row["regret"])),
            f"{row['steps']:.1f}",
        )
        for row in history
    ]
    header = "policy", "loss (1 - ROUGE-2)", "regret of a step", "steps"
    _report.print_table(target, header, rows)
