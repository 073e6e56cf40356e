"""``argmetric summarize``: summaries of files, learned ones, and how good they are."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from argmetric._ground.display import Field, only_shown
from argmetric._ground.whole_files import DataError
from argmetric.cli import _learning as learning
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._command import ENDINGS, Arguments, add, command
from argmetric.cli._errors import gate, refuse_usage
from argmetric.cli._values import check_encoding, refuse_bad_target
from argmetric.cli.scores._rows import check
from argmetric.metrics import get_metric
from argmetric.search.corpus.files import write_text

if TYPE_CHECKING:
    from argmetric.search import Summarizer
    from argmetric.search.summaries.cluster import Cluster
    from argmetric.search.summaries.read import ClusterFiles


_HINT = "A file or folder that is called train or evaluate is ./train or ./evaluate."
_CLUSTERS = Annotated[opt.FilePath, opt.shown("FILE|FOLDER")]
_Texts = Annotated[list[str] | None, opt.shown("TEXT", negative="")]


class _References(opt.Options):
    """Summaries that are known.

    Attributes
    ----------
    references
        If the clusters are a folder: the folder of their references. For the cluster
        NAME it has a folder NAME, or files such as NAME.txt or NAME.1.txt.
    """

    references: Annotated[opt.FilePath | None, opt.shown("FOLDER")]


class _Budget(opt.Options, group=Group("Budget", sort_key=1)):
    """How long a summary may be.

    Attributes
    ----------
    words
        The largest number of words, as `wc -w` counts them. [default: what the model
        has learned, or 60]
    """

    words: opt.Positive
    chars: opt.Positive


class _Choice(opt.Options, group=Group("Choice", sort_key=2)):
    """Options that say which sentences or words a summary takes.

    Attributes
    ----------
    model
        A summarizer from `argmetric summarize train`; no code in it is run. By default
        the summary takes what many documents say, without training.
    mode
        Whole sentences, or parts of them: then documents are files .conllu or .dp with
        dependency trees. [default: sentences]
    min_words
        The least number of words of a sentence in the summary. [default: 1]
    redundancy
        The largest share of a new sentence's content words that the summary may already
        have. [default: 1]
    """

    model: Annotated[opt.FilePath | None, Parameter(alias="-m")]
    mode: Literal["sentences", "compressed"] | None
    min_words: opt.Positive
    redundancy: opt.Fraction
    must: _Texts
    never: _Texts
    query: Annotated[str | None, opt.shown("TEXT")]
    policy: Literal["weights", "dagger", "vine", "searn"] = "weights"
    iterations: Annotated[int | None, opt.bound(gte=1, lte=1000)]
    oracle_beam: Annotated[int | None, opt.bound(gte=1, lte=1024)]
    beta: Annotated[float | None, opt.bound(gt=0, lte=1)]


class _Sources(opt.Options):
    references: Annotated[opt.FilePath | None, opt.shown("FOLDER|FILE")]


class _ModelFile(opt.Options):
    model: Annotated[opt.WrittenPath, Parameter(alias=("-o", "--out"))] = opt.REQUIRED


_OWN = learning.OfTexts, _References, _Budget, _Choice, learning.Gate, opt.Text


@command(
    "model references words mode policy iterations oracle_beam beta min_words "
    "redundancy encoding json",
    *_OWN,
    _ModelFile,
    files={"data": _CLUSTERS},
    ending=ENDINGS,
)
def train(o: Arguments) -> int:
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

    Examples
    --------
    argmetric summarize train clusters.jsonl --words 60 --out model
    """
    from argmetric.search import Summarizer

    learning.refuse_target("summarizer", o.model)
    check_encoding(o.encoding)
    policy: Any = "dagger" if o.policy == "searn" else o.policy
    check("summarize-train", {policy}, o)
    how = o.with_value("iterations", "oracle_beam", "beta", "min_words", "redundancy")
    summarizer = Summarizer(o.mode or "sentences", policy=policy, **how)
    known = _read_clusters(o)

    def answer(learned: _report.Values) -> list[Field]:
        """Return the lines on a trained summarizer."""
        sizes = {
            "clusters": len(known.clusters),
            "documents": sum(len(one.documents) for one in known.clusters),
            "reference_count": sum(map(len, known.references)),
        }
        nouns = "cluster", "document", "reference"
        said = f"{', '.join(map(_report.count, sizes.values(), nouns))} of {known.name}"
        words = summarizer.words_
        return [
            Field("file", known.name, "learned", said),
            Field("references", o.references),
            *(Field(key, size) for key, size in sizes.items()),
            Field(words="mode", text=f"{summarizer.mode}, policy {policy}"),
            Field("words", words, "length", _report.count(words, "word")),
            Field("mode", summarizer.mode),
            Field("policy", policy),
            Field(words="took", text=f"{learned['seconds']:.1f} s"),
        ]

    how = o.with_value("words")
    if known.queries is not None:
        how["queries"] = known.queries
    return learning.train(
        *("summarize train", "summarizer", summarizer, o, answer),
        *(known.clusters, known.references),
        notes=known.notes,
        table=_history,
        **how,
    )


def _history(values: _report.Values) -> _report.Table | None:
    """Return a table with a row for each policy of the training."""
    rows = [
        (
            f"iteration {row['iteration']}" if row["iteration"] else "initial",
            *map(_report.number, (row["loss"], row["regret"])),
            f"{row['steps']:.1f}",
        )
        for row in values["history"]
    ]
    header = "policy", "loss (1 - ROUGE-2)", "regret of a step", "steps"
    return (header, rows) if rows else None


def _summarizer(o: Arguments) -> Summarizer:
    """Load the model, or make a summarizer that has learned nothing."""
    from argmetric.search import Summarizer

    limits = o.with_value("min_words", "redundancy")
    if o.model is None:
        return Summarizer(o.mode or "sentences", **limits)
    check("summarize", {"model"}, o)
    loaded: Summarizer = learning.load_learned(Summarizer, "summarizer", o.model)
    return loaded.set_params(**limits)


def _read_clusters(o: Arguments) -> ClusterFiles:
    """Read clusters with references; options that contradict the file are told."""
    from argmetric.search.summaries.read import read_labelled

    is_folder, named = os.path.isdir(o.data), o.references is not None
    wrong = {
        f"{o.data} is a folder: pass --references, that of the summaries": is_folder
        and not named,
        f"--references is about a folder of clusters; {o.data} is to have JSON lines "
        "with their references": named and not is_folder,
    }
    refuse_usage(wrong)
    how = {"encoding": o.encoding, "otherwise": opt.OTHER_ENCODING}
    with _report.progress(f"reading {o.data}"):
        return read_labelled(o.data, o.references, **how)


@command(
    "words chars model mode min_words redundancy must never query references "
    "encoding output report json",
    *_OWN,
    _Sources,
    files={"*files": Annotated[opt.FilePath, opt.shown("FOLDER|FILES")]},
    ending=f"{_HINT}\n\n{ENDINGS}",
)
def summarize(o: Arguments) -> int:
    """Summarise texts by extracting words, within a word limit.

    All files, and all files in folders, are the documents of one summary. It takes
    words of the documents in their order and adds none. The summary goes to standard
    output, each part of a sentence on its own line; notes go to standard error.

    Parameters
    ----------
    files
        The documents: files of plain text, files .conllu or .dp with dependency trees,
        or folders of such files; - is standard input.
    chars
        The largest number of characters, instead of words.
    must
        Always include sentences with this text; repeat the option for several.
    never
        Never include sentences with this text; repeat the option for several.
    query
        The topic of the summary, in words of the documents. A model must have been
        trained with queries.
    references
        Summaries that people wrote, one per file, to score against.
    report
        Also write a page (.html) that shows which words of the documents were kept.

    Examples
    --------
    argmetric summarize reviews --words 60
    argmetric summarize a.txt b.txt --chars 280 --report page.html
    """
    from argmetric.search import score_summaries
    from argmetric.search.summaries.read import read_sources

    _refuse_files(o)
    check_encoding(o.encoding)
    summarizer = _summarizer(o)
    how = {"encoding": o.encoding, "otherwise": opt.OTHER_ENCODING}
    with _report.progress("reading"):
        sources = read_sources(o.files, **how)
    cluster, notes = sources.clusters[0], sources.notes
    wanted, gold, scores = o.with_value("words"), None, None
    if o.chars is not None:
        wanted["characters"] = o.chars
    for name, texts in o.with_value("must", "never").items():
        wanted[name] = [_with_text(cluster, texts, name)]
    if o.query is not None:
        wanted["queries"] = [o.query]
    if o.references is not None:
        gold = read_sources([o.references], **how).clusters[0].documents
    with learning.warnings_in(notes):
        [summary], seconds = learning.time_call(
            "summarising", summarizer.predict, [cluster], **wanted
        )
    left = summary.limit - summary.size
    if 2 * left > summary.limit and summary.n_words < cluster.n_words:
        why = "nothing more is worth its words to the policy"
        if summary.policy == "frequency":
            why = "nothing more is said in several documents"
        notes.append(f"{left:,} of {summary.limit:,} {summary.unit} are left: {why}")
    if gold is not None:
        found = score_summaries([summary], [gold]).to_dict()
        scores = {name: found[name] for name in ("rouge_1", "rouge_2")}
    if o.report is not None:
        write_text(o.report, summary.to_html())
    target = None if o.output is None and o.json else o.output or "-"
    if target is not None:
        parts = [summary.text] if summary.mode == "sentences" else summary.sentences
        write_text(target, "\n".join([*parts, ""]))
    fields = [
        *only_shown([("of", cluster.name), *summary.lines()]),
        *(Field(key, value) for key, value in summary.to_dict().items()),
        Field("model", o.model, "model", o.model),
        *only_shown(_recall(*one) for one in (scores or {}).items()),
        Field("scores", scores),
        Field("seconds", seconds),
        Field("notes", notes),
        Field("report", o.report),
        Field("output", target),
    ]
    return learning.print_prediction("summarize", o, fields, unwritten="")


def _refuse_files(o: Arguments) -> None:
    """Refuse files that cannot be read or written before the work."""
    is_page = str(o.output).lower().endswith((".html", ".htm"))
    both = o.has("words") and o.has("chars")
    wrong = {
        "a folder or files are needed. See argmetric summarize --help.": not o.files,
        "standard input can be read once only": o.files.count("-") > 1,
        "--report writes a page: name it .html": not str(o.report or ".html").endswith(
            (".html", ".htm")
        ),
        f"-o writes plain text: pass --report {o.output} for a page": is_page,
        "--words and --chars exclude each other: pass one of them": both,
    }
    refuse_usage(wrong)
    refuse_bad_target(o.output, stream=True)


def _with_text(
    cluster: Cluster, texts: list[str], option: str
) -> list[tuple[int, int]]:
    """Return places of sentences with one of the texts, in upper or lower case."""
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


def _recall(name: str, score: _report.Values) -> tuple[str, str]:
    """Return the line on ROUGE recall."""
    mean, best = _report.number(score["mean"]), _report.number(score["best"])
    text = f"recall {mean}, with the best reference {best}"
    return name.upper().replace("_", "-"), text


@command(
    "references words model mode min_words redundancy encoding fail_under json",
    *_OWN,
    files={"data": _CLUSTERS},
    ending=ENDINGS,
)
def evaluate(o: Arguments) -> int:
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
    fail_under
        Exit with 3 if the mean ROUGE-2 recall is under this.

    Examples
    --------
    argmetric summarize evaluate clusters.jsonl --model model --words 60
    """
    from argmetric.search import score_summaries

    check_encoding(o.encoding)
    summarizer = _summarizer(o)
    known = _read_clusters(o)
    doing = f"summarising {len(known.clusters):,} clusters"
    with _report.progress(doing), learning.warnings_in(known.notes):
        how = {"words": o.words, "queries": known.queries}
        summaries = summarizer.predict(known.clusters, **how)
    scores = score_summaries(summaries, known.references)
    values: _report.Values = {
        "file": known.name,
        "references": o.references,
        "model": o.model,
        "mode": summarizer.mode,
        "policy": summarizer.policy_,
        "limit": summaries[0].limit,
        **scores.to_dict(),
        "notes": known.notes,
    }
    keys = "rouge_2", "rouge_2_best", "rouge_1", "rouge_1_best"
    rows = [
        (x["name"], *(_report.number(x[key]) for key in keys), f"{x['words']:,}")
        for x in values["clusters"]
    ]
    if not o.json:
        header = "cluster", "ROUGE-2", "best", "ROUGE-1", "best", "words"
        _report.print_table(_report.console(stderr=False), header, rows)
    facts = [
        ("clusters", f"{len(rows):,} of {known.name}"),
        ("model", o.model or "none"),
        ("chosen", f"{summarizer.mode}, by {summarizer.policy_}"),
        ("budget", _report.count(values["limit"], "word")),
        *scores.lines(),
    ]
    notes = [("note", note) for note in (values["convention"], *known.notes)]
    _report.print_answer("summarize evaluate", values, facts, json=o.json, notes=notes)
    recall, judged = get_metric("recall"), "the mean ROUGE-2 recall"
    return gate(scores.rouge_2, o.fail_under, recall, judged)


add(summarize, train, evaluate)
