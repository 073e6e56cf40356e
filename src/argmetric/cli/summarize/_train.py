"""``argmetric summarize train``, and what the commands of summaries share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import DONE, INTERRUPTED, UsageError
from argmetric.cli._learning import Training, load_learned
from argmetric.cli._progress import progress
from argmetric.cli._values import check_encoding

if TYPE_CHECKING:
    from argmetric._text.summaries.read import ClusterFiles
    from argmetric.search import Summarizer, SummaryScores

Mode = Literal["sentences", "compressed"]

BUDGET = Group("Budget", sort_key=1)
CHOICE = Group("Choice", sort_key=2)
_AT_LEAST_ONE = Number(gte=1)

ReferencesFolder = Annotated[
    opt.FilePath | None,
    Parameter(
        metavar="FOLDER",
        help="If the clusters are a folder: the folder of their references. For the "
        "cluster NAME it has a folder NAME, or files such as NAME.txt or NAME.1.txt.",
    ),
]
Words = Annotated[int | None, Parameter(group=BUDGET, validator=_AT_LEAST_ONE)]
ModeOption = Annotated[Mode | None, Parameter(group=CHOICE)]
MinWords = Annotated[
    int | None,
    Parameter(
        group=CHOICE,
        validator=_AT_LEAST_ONE,
        help="The least number of words of a sentence in the summary. [default: 1]",
    ),
]
Redundancy = Annotated[
    float | None,
    Parameter(
        group=CHOICE,
        validator=opt.FRACTION,
        help="The largest share of a new sentence's content words "
        "that the summary may already have. [default: 1]",
    ),
]
ParserFile = Annotated[
    opt.FilePath | None,
    Parameter(
        group=CHOICE,
        help="A parser from `argmetric parse train`; compressed summaries need one.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """How long a summary may be.

    Parameters
    ----------
    words
        The largest number of words, as `wc -w` counts them. [default: what the model
        has learned, or 60]
    chars
        The largest number of characters, instead of words.
    """

    words: Words = None
    chars: Annotated[int | None, Parameter(group=BUDGET, validator=_AT_LEAST_ONE)] = (
        None
    )

    def arguments(self) -> dict[str, Any]:
        """What `Summarizer.predict` is to be called with."""
        if self.chars is None:
            return {} if self.words is None else {"words": self.words}
        if self.words is not None:
            raise UsageError("--words and --chars exclude each other: pass one of them")
        return {"characters": self.chars}


DEFAULT_BUDGET = BudgetOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ChooserOptions:
    """What chooses the words.

    Parameters
    ----------
    model
        A summarizer from `argmetric summarize train`; no code in it is run. By default
        the summary takes what many documents say, without training.
    mode
        Whole sentences, or parts of them. [default: sentences]
    """

    model: Annotated[opt.FilePath | None, Parameter(group=CHOICE, alias="-m")] = None
    mode: ModeOption = None
    parser: ParserFile = None
    min_words: MinWords = None
    redundancy: Redundancy = None

    def summarizer(self) -> Summarizer:
        """Load the model, or make a summarizer that has learned nothing."""
        from argmetric.search import Summarizer

        if self.model is None:
            return new_summarizer(self.mode, self.parser, **self._given())
        for option in ("mode", "parser"):
            if getattr(self, option) is not None:
                raise UsageError(f"--{option} is part of the model: leave it out")
        loaded: Summarizer = load_learned(Summarizer, "summarizer", self.model)
        return loaded.set_params(**self._given())

    def _given(self) -> dict[str, Any]:
        options = {"min_words": self.min_words, "redundancy": self.redundancy}
        return {name: value for name, value in options.items() if value is not None}


DEFAULT_CHOOSER = ChooserOptions()


def new_summarizer(mode: Mode | None, parser: str | None, **options: Any) -> Summarizer:
    """Make a summarizer that has learned nothing."""
    from argmetric.search import Parser, Summarizer

    if mode == "compressed" and parser is None:
        raise UsageError(
            "--mode compressed cuts sentences along their parses: pass --parser, a "
            "file of argmetric parse train"
        )
    if parser is not None and mode != "compressed":
        raise UsageError("--parser is about --mode compressed: pass that too")
    loaded = None if parser is None else load_learned(Parser, "parser", parser)
    return Summarizer(mode or "sentences", parser=loaded, **options)


def read_training(path: str, references: str | None, encoding: str) -> ClusterFiles:
    """Read clusters with references; options that contradict the file are told."""
    from argmetric._text.summaries.read import read_labelled

    is_folder = path != "-" and os.path.isdir(path)
    if is_folder and references is None:
        raise UsageError(
            f"{path} is a folder: pass --references, that of the summaries"
        )
    if not is_folder and references is not None:
        raise UsageError(
            f"--references is about a folder of clusters; {path} is to have JSON lines "
            "with their references"
        )
    with progress(f"reading {path}"):
        return read_labelled(
            path, references, encoding=encoding, otherwise=opt.OTHER_ENCODING
        )


def scores_of(scores: SummaryScores) -> dict[str, _report.Values]:
    """ROUGE-1 and ROUGE-2, by name."""
    found = scores.to_dict()
    return {name: found[name] for name in ("rouge_1", "rouge_2")}


def train(
    data: Annotated[opt.FilePath, Parameter(metavar="FILE|FOLDER")],
    /,
    *,
    model: Annotated[opt.WrittenPath, Parameter(alias=("-o", "--out"))],
    references: ReferencesFolder = None,
    words: Words = None,
    mode: ModeOption = None,
    parser: ParserFile = None,
    policy: Annotated[
        Literal["weights", "dagger", "vine", "searn"], Parameter(group=CHOICE)
    ] = "weights",
    iterations: Annotated[
        int | None, Parameter(group=CHOICE, validator=Number(gte=1, lte=1000))
    ] = None,
    oracle_beam: Annotated[
        int | None, Parameter(group=CHOICE, validator=Number(gte=1, lte=1024))
    ] = None,
    beta: Annotated[
        float | None, Parameter(group=CHOICE, validator=Number(gt=0, lte=1))
    ] = None,
    min_words: MinWords = None,
    redundancy: Redundancy = None,
    encoding: opt.Encoding = "utf-8",
    json: opt.Json = False,
) -> int:
    """Train a summarizer on documents with summaries that people wrote.

    The answer goes to standard output. Ctrl-C ends the training of "dagger" and "vine"
    and keeps the policy so far (exit code 130). If all JSON lines have the key query,
    the model learns summaries of that topic.

    Parameters
    ----------
    data
        The clusters: JSON lines with the keys documents, references and, optionally,
        name and query; or a folder with a subfolder of documents, or one document, for
        each cluster. - is standard input.
    model
        The file for the summarizer, replaced whole or not at all.
    words
        The length of the summaries to learn. [default: 60]
    mode
        Whole sentences, or parts of them. [default: sentences]
    policy
        "weights" learns which pairs of words the references contain, "dagger" also uses
        the summary so far, "vine" is SEARN as published. "searn" is an old name of
        "dagger".
    iterations
        Iterations of "dagger" and "vine". [default: 3]
    oracle_beam
        The width of their beam search for good summaries to learn from. [default: 1, of
        "vine" 20]
    beta
        The share of decisions that a new policy of "vine" gets. [default: 0.5]
    """
    training = Training("summarizer", model)
    check_encoding(encoding)
    if policy == "searn":
        policy = "dagger"
    both = {"iterations": iterations, "oracle_beam": oracle_beam}
    for name, value in both.items():
        if value is not None and policy == "weights":
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag} is about --policy dagger or vine: pass one of them too"
            )
    if beta is not None and policy != "vine":
        raise UsageError("--beta is about --policy vine: pass that too")
    options = both | {"beta": beta} | {"min_words": min_words, "redundancy": redundancy}
    given = {name: value for name, value in options.items() if value is not None}
    summarizer = new_summarizer(mode, parser, policy=policy, **given)
    known = read_training(data, references, encoding)
    length: dict[str, Any] = {} if words is None else {"words": words}
    if known.queries is not None:
        length["queries"] = known.queries
    doing = f"{len(known.clusters):,} clusters"
    labelled = known.clusters, known.references
    learned = training.fit(summarizer, doing, known.notes, *labelled, **length)
    if learned is None:
        return INTERRUPTED
    summary: _report.Values = {
        "file": known.name,
        "references": references,
        "clusters": len(known.clusters),
        "documents": sum(len(one.documents) for one in known.clusters),
        "reference_count": sum(map(len, known.references)),
        "words": summarizer.words_,
        "mode": summarizer.mode,
        "policy": policy,
        "parser": parser,
        **learned,
    }
    table = _history if summary["history"] else None
    _report.tell("summarize train", summary, _facts, json=json, table=table)
    return INTERRUPTED if summarizer.interrupted_ else DONE


def _facts(summary: _report.Values) -> _report.Facts:
    sizes = [
        _report.count(summary["clusters"], "cluster"),
        _report.count(summary["documents"], "document"),
        _report.count(summary["reference_count"], "reference"),
    ]
    return [
        ("learned", f"{', '.join(sizes)} of {summary['file']}"),
        ("mode", f"{summary['mode']}, policy {summary['policy']}"),
        ("length", _report.count(summary["words"], "word")),
        ("took", f"{summary['seconds']:.1f} s"),
    ]


def _history(summary: _report.Values) -> _report.Table:
    """A row for each policy of the training."""
    rows = [
        (
            f"iteration {row['iteration']}" if row["iteration"] else "initial",
            *map(_report.number, (row["loss"], row["regret"])),
            f"{row['steps']:.1f}",
        )
        for row in summary["history"]
    ]
    return ("policy", "loss (1 - ROUGE-2)", "regret of a step", "steps"), rows
