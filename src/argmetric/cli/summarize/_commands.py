"""``argmetric summarize``: summaries of files, and how good they are."""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.files import write_text
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError, gate
from argmetric.cli._examples import ENDINGS
from argmetric.cli._learning import command_group, warnings_in
from argmetric.cli._progress import progress
from argmetric.cli._values import check_encoding
from argmetric.cli.scores._rules import refuse_bad_target
from argmetric.cli.summarize._train import (
    CHOICE,
    DEFAULT_BUDGET,
    DEFAULT_CHOOSER,
    BudgetOptions,
    ChooserOptions,
    ReferencesFolder,
    Words,
    read_training,
    scores_of,
    train,
)
from argmetric.metrics import get_metric

if TYPE_CHECKING:
    from argmetric._text.summaries.cluster import Cluster
    from argmetric.search import Summary

_Sentences = Annotated[
    list[str] | None, Parameter(group=CHOICE, metavar="TEXT", negative="")
]


def summarize_files(
    *files: Annotated[opt.FilePath, Parameter(metavar="FOLDER|FILES")],
    budget: BudgetOptions = DEFAULT_BUDGET,
    chooser: ChooserOptions = DEFAULT_CHOOSER,
    must: _Sentences = None,
    never: _Sentences = None,
    query: Annotated[str | None, Parameter(group=CHOICE, metavar="TEXT")] = None,
    references: Annotated[
        opt.FilePath | None,
        Parameter(
            metavar="FOLDER|FILE",
            help="Summaries that people wrote, one per file, to score against.",
        ),
    ] = None,
    encoding: opt.Encoding = "utf-8",
    html: Annotated[opt.WrittenPath | None, Parameter(group=opt.OUTPUT)] = None,
    output: opt.TextTarget = None,
    json: opt.Json = False,
) -> int:
    """Summarise texts in their own words, within a word limit.

    All files, and all files in folders, are the documents of one summary. It takes
    words of the documents in their order and adds none. The summary goes to standard
    output, each part of a sentence on its own line; notes go to standard error.

    Parameters
    ----------
    files
        The documents: files of plain text, or folders of such files; - is standard
        input.
    must
        Always include sentences with this text; repeat the option for several.
    never
        Never include sentences with this text; repeat the option for several.
    query
        The topic of the summary, in words of the documents. A model must have been
        trained with queries.
    html
        Also write a page that shows which words of the documents were kept.
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
    if output is not None and output.lower().endswith((".html", ".htm")):
        raise UsageError(f"-o writes plain text: pass --html {output} for a page")
    limits = budget.arguments()
    for target in (html, output):
        if target is not None and not (target is output and target == "-"):
            refuse_bad_target(target)
    check_encoding(encoding)
    summarizer = chooser.summarizer()
    with progress("reading"):
        sources = read_sources(files, encoding=encoding, otherwise=opt.OTHER_ENCODING)
    cluster, notes = sources.clusters[0], sources.notes
    wanted = None if must is None else [_with_text(cluster, must, "must")]
    unwanted = None if never is None else [_with_text(cluster, never, "never")]
    gold = None
    if references is not None:
        found = read_sources(
            [references], encoding=encoding, otherwise=opt.OTHER_ENCODING
        ).clusters[0]
        gold = found.documents
    started = time.perf_counter()
    with progress("summarising"), warnings_in(notes):
        [summary] = summarizer.predict(
            [cluster],
            must=wanted,
            never=unwanted,
            queries=None if query is None else [query],
            **limits,
        )
    seconds = time.perf_counter() - started
    notes += _room_left(summary)
    scores = None if gold is None else scores_of(score_summaries([summary], [gold]))
    if html is not None:
        write_text(html, summary.to_html())
    target = output if output is not None else None if json else "-"
    if target is not None:
        parts = [summary.text] if summary.mode == "sentences" else summary.sentences
        write_text(target, "\n".join([*parts, ""]))
    answer: _report.Values = {
        **summary.to_dict(),
        "model": chooser.model,
        "scores": scores,
        "seconds": seconds,
        "notes": notes,
        "html": html,
        "output": target,
    }
    facts = partial(_facts, lines=summary.lines())
    return _report.tell("summarize", answer, facts, json=json, stderr=True)


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


def _facts(answer: _report.Values, lines: _report.Facts) -> _report.Facts:
    facts = [("of", answer["name"]), *lines]
    if answer["model"] is not None:
        facts.append(("model", answer["model"]))
    for name, score in (answer["scores"] or {}).items():
        what = name.upper().replace("_", "-")
        mean, best = _report.number(score["mean"]), _report.number(score["best"])
        facts.append((what, f"recall {mean}, with the best reference {best}"))
    return [*facts, ("took", f"{answer['seconds']:.1f} s")]


def evaluate(
    data: Annotated[opt.FilePath, Parameter(metavar="FILE|FOLDER")],
    /,
    *,
    references: ReferencesFolder = None,
    words: Words = None,
    chooser: ChooserOptions = DEFAULT_CHOOSER,
    encoding: opt.Encoding = "utf-8",
    fail_under: Annotated[
        opt.FailUnder,
        Parameter(
            validator=opt.FRACTION,
            help="Exit with 3 if the mean ROUGE-2 recall is under this.",
        ),
    ] = None,
    json: opt.Json = False,
) -> int:
    """Summarise documents and compare with summaries that people wrote.

    ROUGE recall is the share of a reference's words (ROUGE-1) or pairs of words
    (ROUGE-2) that the summary contains, in lower case, without stemming. It is averaged
    over the references of a cluster, then over clusters. The recall with the best
    reference is also shown. The answer goes to standard output.

    Parameters
    ----------
    data
        The clusters, in the format of `argmetric summarize train`. Use others than for
        training.
    words
        The length of the summaries. [default: what the model has learned, or 60]
    """
    from argmetric.search import score_summaries

    check_encoding(encoding)
    summarizer = chooser.summarizer()
    known = read_training(data, references, encoding)
    notes = known.notes
    doing = f"summarising {len(known.clusters):,} clusters"
    with progress(doing), warnings_in(notes):
        summaries = summarizer.predict(
            known.clusters, words=words, queries=known.queries
        )
    scores = score_summaries(summaries, known.references)
    summary: _report.Values = {
        "file": known.name,
        "references": references,
        "model": chooser.model,
        "mode": summarizer.mode,
        "policy": summarizer.policy_,
        "limit": summaries[0].limit,
        **scores.to_dict(),
        "notes": notes,
    }
    if not json:
        _report.print_table(_report.console(stderr=False), *_clusters(summary))
    told = [("note", note) for note in (summary["convention"], *notes)]
    _report.tell("summarize evaluate", summary, _evaluated, json=json, notes=told)
    return gate(
        scores.rouge_2, fail_under, get_metric("recall"), "the mean ROUGE-2 recall"
    )


def _clusters(summary: _report.Values) -> _report.Table:
    rows = [
        (
            one["name"],
            _report.number(one["rouge_2"]),
            _report.number(one["rouge_2_best"]),
            _report.number(one["rouge_1"]),
            _report.number(one["rouge_1_best"]),
            f"{one['words']:,}",
        )
        for one in summary["clusters"]
    ]
    return ("cluster", "ROUGE-2", "best", "ROUGE-1", "best", "words"), rows


def _evaluated(summary: _report.Values) -> _report.Facts:
    return [
        ("clusters", f"{len(summary['clusters']):,} of {summary['file']}"),
        ("model", summary["model"] or "none"),
        ("chosen", f"{summary['mode']}, by {summary['policy']}"),
        ("budget", _report.count(summary["limit"], "word")),
        ("ROUGE-2", _in_words(summary["rouge_2"], summary["coverage"])),
        ("ROUGE-1", _in_words(summary["rouge_1"], summary["coverage"])),
        ("words", f"{summary['words']:.1f} on average"),
    ]


def _in_words(score: _report.Values, coverage: float) -> str:
    mean, best = _report.number(score["mean"]), _report.number(score["best"])
    low, high = map(_report.number, score["interval"])
    interval = f"{100 * coverage:g} % interval {low} to {high}"
    return f"recall {mean}, {interval}, with the best reference {best}"


summarize = command_group(
    "summarize",
    "",
    ENDINGS,
    train,
    evaluate,
    default=summarize_files,
    hint="A file or folder that is called train or evaluate is ./train or ./evaluate.",
)
