"""``argmetric summarize FOLDER|FILES``."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.files import write_text
from argmetric.cli import _report
from argmetric.cli._encoding import OTHER_ENCODING, Encoding, check_encoding
from argmetric.cli._errors import DONE, UsageError
from argmetric.cli._options import OUTPUT, FilePath, Json, TextTarget, WrittenPath
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.summarize._shared import (
    CHOICE,
    DEFAULT_BUDGET,
    DEFAULT_CHOOSER,
    Budget,
    Chooser,
    scores_of,
    warnings_as_notes,
)

if TYPE_CHECKING:
    from argmetric._text.summaries.cluster import Cluster
    from argmetric.search import Summary

_Sentences = Annotated[
    list[str] | None, Parameter(group=CHOICE, metavar="TEXT", negative="")
]


def summarize(
    *files: Annotated[FilePath, Parameter(metavar="FOLDER|FILES")],
    budget: Budget = DEFAULT_BUDGET,
    chooser: Chooser = DEFAULT_CHOOSER,
    must: _Sentences = None,
    never: _Sentences = None,
    references: Annotated[
        FilePath | None,
        Parameter(
            metavar="FOLDER|FILE",
            help="Summaries by people, each a file, to score this one by.",
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    html: Annotated[WrittenPath | None, Parameter(group=OUTPUT)] = None,
    output: TextTarget = None,
    json: Json = False,
) -> int:
    """Summarise texts: words of the sources, within a budget.

    All files given, and all files of folders, are the documents of one summary. It is
    made of their own words in their own order; nothing is invented. The summary goes
    to standard output, parts of sentences a line each, and what is to be told about it
    to standard error.

    Parameters
    ----------
    files
        The documents: files of plain text, or folders of such files; - is standard
        input.
    must
        Sentences that have this text are in, whatever it costs; repeat it for several.
    never
        Sentences that have this text are out; repeat it for several.
    html
        A page to write: the sources with what was kept and what was dropped.
    """
    from argmetric._text.summaries.read import read_sources
    from argmetric.search import score_summaries

    if not files:
        raise UsageError(
            "a folder or files are needed. See argmetric summarize --help."
        )
    if files.count("-") > 1:
        raise UsageError("standard input can be read once only")
    if html == "-":
        raise UsageError("a page is written to a file, not to standard output")
    limits = budget.arguments()
    for target in (html, output):
        if target is not None and not (target is output and target == "-"):
            refuse_bad_target(target)
    check_encoding(encoding)
    summarizer = chooser.summarizer()
    with progress("reading"):
        sources = read_sources(files, encoding=encoding, otherwise=OTHER_ENCODING)
    cluster, notes = sources.clusters[0], sources.notes
    wanted = None if must is None else [_with_text(cluster, must, "must")]
    unwanted = None if never is None else [_with_text(cluster, never, "never")]
    gold = None
    if references is not None:
        found = read_sources(
            [references], encoding=encoding, otherwise=OTHER_ENCODING
        ).clusters[0]
        gold = found.documents
    started = time.perf_counter()
    with progress("summarising"), warnings_as_notes(notes):
        [summary] = summarizer.predict([cluster], must=wanted, never=unwanted, **limits)
    seconds = time.perf_counter() - started
    notes += _room_left(summary)
    scores = None if gold is None else scores_of(score_summaries([summary], [gold]))
    if html is not None:
        write_text(html, summary.to_html())
    target = output if output is not None else None if json else "-"
    if target is not None:
        parts = [summary.text] if summary.mode == "sentences" else summary.sentences
        write_text(target, "\n".join([*parts, ""]))
    answer: Values = {
        **summary.to_dict(),
        "model": chooser.model,
        "scores": scores,
        "seconds": seconds,
        "notes": notes,
        "html": html,
        "output": target,
    }
    if json:
        _report.print_json(answer)
    else:
        _print(summary, answer)
    return DONE


def _room_left(summary: Summary) -> list[str]:
    """Why a summary is much shorter than it may be, though there is more to say."""
    left = summary.limit - summary.size
    if 2 * left <= summary.limit or summary.n_words == summary.cluster.n_words:
        return []
    why = "nothing more is worth its words to the policy"
    if summary.policy == "frequency":
        why = "nothing more is said in several documents"
    return [f"{left:,} of {summary.limit:,} {summary.unit} are left: {why}"]


def _with_text(
    cluster: Cluster, texts: list[str], option: str
) -> list[tuple[int, int]]:
    """Documents and sentences that have one of the texts, in upper or lower case."""
    bounds = pairwise(cluster.sentence_starts.tolist())
    bodies = [" ".join(cluster.words[a:b]).casefold() for a, b in bounds]
    found: set[int] = set()
    for text in texts:
        wanted = " ".join(text.split()).casefold()
        own = {i for i, body in enumerate(bodies) if wanted and wanted in body}
        if not own:
            raise DataError(f"--{option} {text!r}: no sentence of the sources has it")
        found |= own
    documents = cluster.sentence_documents.tolist()
    first = cluster.document_starts.tolist()
    return [(documents[i], i - first[documents[i]]) for i in sorted(found)]


def _print(summary: Summary, answer: Values) -> None:
    target = _report.console(stderr=True)
    facts = [("of", answer["name"]), *summary._lines()]
    if answer["model"] is not None:
        facts.append(("model", answer["model"]))
    for name, score in (answer["scores"] or {}).items():
        what = name.upper().replace("_", "-")
        mean, best = _report.number(score["mean"]), _report.number(score["best"])
        facts.append((what, f"recall {mean}, with the best reference {best}"))
    facts.append(("took", f"{answer['seconds']:.1f} s"))
    _report.print_facts(target, "argmetric summarize", facts)
    _report.print_notes(target, "note", answer["notes"])
    _report.print_written(target, answer["output"])
    _report.print_written(target, answer["html"])
