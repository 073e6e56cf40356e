"""``argmetric summarize train``."""

from __future__ import annotations

import os
import time
from typing import Annotated, TypedDict

from cyclopts import Parameter

from argmetric.cli import _report
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._options import FilePath, Json, Seed
from argmetric.cli._progress import progress
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.summarize._shared import (
    DEFAULT_WORDS,
    ModeOption,
    ParserFile,
    PolicyOption,
    ReferencesFolder,
    Words,
    new_summarizer,
    read_training,
    warnings_as_notes,
)
from argmetric.cli.tag._file import Encoding, check_encoding


class SummarizeTrainSummary(TypedDict):
    """What `argmetric summarize train` prints as JSON."""

    file: str
    references: str | None
    clusters: int
    documents: int
    reference_count: int
    words: int
    mode: str
    policy: str
    parser: str | None
    seed: int
    seconds: float
    notes: list[str]
    model: str
    bytes: int


def train(
    data: Annotated[FilePath, Parameter(metavar="FILE|FOLDER")],
    /,
    *,
    model: Annotated[FilePath, Parameter(alias=("-o", "--out"))],
    references: ReferencesFolder = None,
    words: Words = DEFAULT_WORDS,
    mode: ModeOption = None,
    policy: PolicyOption = None,
    parser: ParserFile = None,
    encoding: Encoding = "utf-8",
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Train a summarizer on clusters with summaries by people, and keep it in a file.

    Parameters
    ----------
    data
        The clusters: JSON lines with the keys documents, references and, if wanted,
        name; or a folder with a folder of documents, or one document, for each
        cluster. - is standard input.
    model
        The file for the summarizer, replaced whole or not at all.
    words
        The length of the summaries to learn.
    mode
        Whole sentences, or parts of them. [default: sentences]
    policy
        What is learned.
    """
    if model == "-":
        raise UsageError("a summarizer is written to a file, not to standard output")
    refuse_bad_target(model)
    check_encoding(encoding)
    summarizer = new_summarizer(mode, policy, parser, random_state=seed)
    known = read_training(data, references, encoding)
    notes = known.notes
    started = time.perf_counter()
    doing = f"training on {len(known.clusters):,} clusters"
    with progress(doing), warnings_as_notes(notes):
        summarizer.fit(known.clusters, known.references, words=words)
    seconds = time.perf_counter() - started
    summarizer.save(model)
    summary: SummarizeTrainSummary = {
        "file": known.name,
        "references": references,
        "clusters": len(known.clusters),
        "documents": sum(len(one.documents) for one in known.clusters),
        "reference_count": sum(map(len, known.references)),
        "words": words,
        "mode": summarizer.mode,
        "policy": summarizer.policy_,
        "parser": parser,
        "seed": seed,
        "seconds": seconds,
        "notes": notes,
        "model": model,
        "bytes": os.stat(model).st_size,
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return DONE


def _print(summary: SummarizeTrainSummary) -> None:
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
    _report.print_notes(target, "note", summary["notes"])
    size = f"{summary['model']} ({summary['bytes'] / 1e6:.1f} MB)"
    _report.print_notes(target, "written", [size])
