"""``argmetric summarize evaluate``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from argmetric.cli import _report
from argmetric.cli._encoding import Encoding, check_encoding
from argmetric.cli._gate import gate
from argmetric.cli._options import FRACTION, FailUnder, FilePath, Json
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values
from argmetric.cli.summarize._shared import (
    DEFAULT_CHOOSER,
    Chooser,
    ReferencesFolder,
    Words,
    read_training,
    warnings_as_notes,
)
from argmetric.metrics import get_metric


def evaluate(
    data: Annotated[FilePath, Parameter(metavar="FILE|FOLDER")],
    /,
    *,
    references: ReferencesFolder = None,
    words: Words = None,
    chooser: Chooser = DEFAULT_CHOOSER,
    encoding: Encoding = "utf-8",
    fail_under: Annotated[
        FailUnder,
        Parameter(
            validator=FRACTION,
            help="Exit with 3 if the mean ROUGE-2 recall is under this.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Summarise clusters, and compare with summaries by people.

    ROUGE recall is the share of a reference's words (ROUGE-1) or pairs of words
    (ROUGE-2) that a summary has: lower case, no stemming. It is averaged over the
    references of a cluster, then over clusters; that of the best reference stands
    beside it. The answer goes to standard output.

    Parameters
    ----------
    data
        The clusters, as for `argmetric summarize train`; other ones than those.
    words
        The length of the summaries. [default: what the model has learned, or 60]
    """
    from argmetric.search import score_summaries

    check_encoding(encoding)
    summarizer = chooser.summarizer()
    known = read_training(data, references, encoding)
    notes = known.notes
    doing = f"summarising {len(known.clusters):,} clusters"
    with progress(doing), warnings_as_notes(notes):
        summaries = summarizer.predict(known.clusters, words=words)
    scores = score_summaries(summaries, known.references)
    summary: Values = {
        "file": known.name,
        "references": references,
        "model": chooser.model,
        "mode": summarizer.mode,
        "policy": summarizer.policy_,
        "limit": summaries[0].limit,
        **scores.to_dict(),
        "notes": notes,
    }
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return gate(
        scores.rouge_2, fail_under, get_metric("recall"), "the mean ROUGE-2 recall"
    )


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
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
    header = "cluster", "ROUGE-2", "best", "ROUGE-1", "best", "words"
    _report.print_table(target, header, rows)
    facts = [
        ("clusters", f"{len(rows):,} of {summary['file']}"),
        ("model", summary["model"] or "none"),
        ("chosen", f"{summary['mode']}, by {summary['policy']}"),
        ("budget", _report.count(summary["limit"], "word")),
        ("ROUGE-2", _in_words(summary["rouge_2"], summary["coverage"])),
        ("ROUGE-1", _in_words(summary["rouge_1"], summary["coverage"])),
        ("words", f"{summary['words']:.1f} on average"),
    ]
    _report.print_facts(target, "argmetric summarize evaluate", facts)
    _report.print_notes(target, "note", [summary["convention"], *summary["notes"]])


def _in_words(score: Values, coverage: float) -> str:
    mean, best = _report.number(score["mean"]), _report.number(score["best"])
    low, high = map(_report.number, score["interval"])
    interval = f"{100 * coverage:g} % interval {low} to {high}"
    return f"recall {mean}, {interval}, with the best reference {best}"
