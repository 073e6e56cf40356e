"""``argmetric spans``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from argmetric._results.whole_files import DataError
from argmetric._text.corpus.files import HasLabels, read_sentences, write_sentences
from argmetric._text.corpus.labels import count_chunks
from argmetric._text.corpus.sentences import CorpusFormat, Sentence
from argmetric.cli import _options as opt
from argmetric.cli import _report
from argmetric.cli._errors import UsageError
from argmetric.cli._judge import metric_named
from argmetric.cli._progress import progress, reading

if TYPE_CHECKING:
    from argmetric.sequence import LinearChainCRF

_MODEL = Group("Model", sort_key=1)
ZeroDivision = Literal["0", "1"]


def spans(
    file: opt.FilePath,
    /,
    *,
    model: Annotated[opt.FilePath | None, Parameter(group=_MODEL)] = None,
    dev: Annotated[opt.FilePath | None, Parameter(group=_MODEL)] = None,
    scheme: Annotated[Literal["IOB2", "BIOES"], Parameter(group=_MODEL)] = "IOB2",
    names: Annotated[
        str | None, Parameter(group=_MODEL, metavar="LABEL,LABEL,...")
    ] = None,
    labels: Annotated[HasLabels, Parameter(group=_MODEL)] = "auto",
    metric: Annotated[
        opt.MetricName,
        Parameter(help="The F-measure: f1, f2, f0.5 (f with any beta)."),
    ] = "f1",
    zero_division: Annotated[ZeroDivision | None, Parameter(group=opt.METRIC)] = None,
    level: Annotated[
        Literal["corpus", "document"], Parameter(group=opt.METRIC)
    ] = "corpus",
    per_type: Annotated[bool, opt.Flag, Parameter(group=opt.METRIC)] = False,
    format: CorpusFormat | None = None,
    output: opt.TextTarget = None,
    output_format: Annotated[CorpusFormat | None, opt.OUTPUT_FORMAT] = None,
    json: opt.JsonSummary = False,
) -> int:
    """Choose the spans (entities, chunks) with the best expected F-measure.

    A span counts if its borders and its type are right. The output has the input
    sentences with the chosen labels as last column (or the key "predicted"). A summary
    goes to standard error.

    Parameters
    ----------
    file
        Sentences: CoNLL columns (words first, labels last if there are any), or JSONL
        with "tokens", and "features" or "probabilities" if there are any; - is
        standard input.
    model
        A crfsuite model. It must have been trained with the features in the JSONL file
        or, without them, with the standard features (see the documentation). Not needed
        if the JSONL has probabilities.
    dev
        Labelled sentences that the model has not seen: probabilities are recalibrated
        on them.
    scheme
        How labels write spans.
    names
        The labels of the columns of "probabilities", in order.
    labels
        Whether the last column holds labels; auto looks at its first value.
    zero_division
        The value of 0/0 (no true span and none chosen): 0 or 1. [default: 0]
    level
        One F-measure of the whole file, or the mean over documents.
    per_type
        Maximise the mean of the F-measures of the types instead of one F-measure of all
        spans.
    format
        The format of the input, where its name does not say it.
    """
    if json and output == "-":
        raise UsageError("--json and sentences cannot share standard output: -o FILE")
    measure = metric_named(metric, zero_division)
    options: dict[str, Any] = {"format": format, "labels": labels, "scheme": scheme}
    with reading(file):
        sentences = read_sentences(file, **options)
    with progress(f"decoding {len(sentences):,} sentences"):
        from argmetric.sequence import decode_spans, recalibrate

        chains, share = _chains(sentences, model, names, scheme, file)
        recalibration = None
        if dev is not None:
            known = read_sentences(dev, **options)
            gold = _gold(known, dev)
            dev_chains, _ = _chains(known, model, names, scheme, dev)
            recalibration = recalibrate(dev_chains, gold, scheme=scheme)
        documents = [str(s.document) for s in sentences]
        decision = decode_spans(
            chains,
            [sentence.tokens for sentence in sentences],
            measure,
            scheme=scheme,
            level=level,
            documents=documents if level == "document" else None,
            per_type=per_type,
            recalibration=recalibration,
        )
    summary: _report.Values = {
        "file": file,
        "sentences": len(sentences),
        "tokens": sum(len(sentence) for sentence in sentences),
        "known_features": share,
        "metric": measure.name,
        "scheme": scheme,
        "level": level,
        "per_type": per_type,
        "spans": decision.n_spans,
        "expected_spans": decision.expected_spans,
        "expected": decision.expected,
        "method": decision.method,
        "proven": decision.proven,
        "upper": decision.upper,
        "cut_sentences": decision.n_cut,
        "cut_length": decision.cut_length,
        "recalibration": None if recalibration is None else recalibration.to_dict(),
        "real": _real_score(sentences, decision.labels, scheme, measure),
        "output": None,
    }
    if output is not None or not json:
        target = output if output is not None else "-"
        write_sentences(
            target,
            sentences,
            decision.labels,
            spans=decision.spans,
            format=output_format or (format if target == "-" else None),
        )
        summary["output"] = target
    notes = [("note", note) for note in _cut_notes(summary)]
    return _report.tell("spans", summary, _facts, json=json, stderr=True, notes=notes)


def _chains(
    sentences: list[Sentence],
    model: str | None,
    names: str | None,
    scheme: Literal["IOB2", "BIOES"],
    file: str,
) -> tuple[list[LinearChainCRF], float | None]:
    """Return the chain of every sentence, from a model or from probabilities.

    And the share of features that the model knows.
    """
    from argmetric.sequence import LinearChainCRF, standard_features, token_model

    if model is not None:
        crf = LinearChainCRF.from_crfsuite(model)
        features = (
            s.extra["features"]
            if "features" in s.extra
            else standard_features(s.columns)
            for s in sentences
        )
        try:
            return crf.sentences_and_known(features)
        except ValueError as error:
            raise DataError(f"{file} with {model}: {error}") from None
    if names is None:
        raise UsageError("pass --model, or --names for JSONL with probabilities")
    chains = []
    for sentence in sentences:
        where = f"{file}, line {sentence.line}"
        if "probabilities" not in sentence.extra:
            raise DataError(f"{where}: no probabilities; pass --model")
        try:
            p = sentence.extra["probabilities"]
            chains.append(token_model(p, names.split(","), scheme=scheme))
        except (ValueError, TypeError) as error:
            raise DataError(f"{where}: {error}") from None
    return chains, None


def _gold(sentences: list[Sentence], file: str) -> list[list[str]]:
    gold = []
    for sentence in sentences:
        if sentence.labels is None:
            raise DataError(f"{file}, line {sentence.line}: no labels to learn from")
        gold.append(sentence.labels)
    return gold


def _real_score(
    sentences: list[Sentence],
    predicted: list[list[str]],
    scheme: Literal["IOB2", "BIOES"],
    metric: Any,
) -> float | None:
    """Return the measure of all spans together where every label is known."""
    gold = [sentence.labels for sentence in sentences if sentence.labels is not None]
    if len(gold) < len(sentences):
        return None
    there, chosen, hits = count_chunks(gold, predicted, scheme)
    return float(metric.value(hits, chosen, there, max(chosen, there)))


def _cut_notes(summary: _report.Values) -> list[str]:
    if summary["cut_length"] is None:
        return []
    many = _report.count(summary["cut_sentences"], "sentence")
    length = _report.count(summary["cut_length"], "token")
    return [
        f"{many} with too many candidates: spans of more than {length} were left out; "
        "are empty lines missing between sentences?"
    ]


def _facts(summary: _report.Values) -> _report.Facts:
    how = "one measure per type" if summary["per_type"] else "all types together"
    what = "E[F]" if summary["method"] == "exact" else "F of expected counts"
    sure = "" if summary["proven"] else f", at most {_report.number(summary['upper'])}"
    facts = [_report.sentences_asked(summary)]
    if summary["known_features"] is not None:
        share = f"{100 * summary['known_features']:.1f} %"
        facts.append(("features", f"{share} of them known to the model"))
    facts += [
        (
            "metric",
            f"{summary['metric']} of spans, {summary['scheme']} strict; {how}, "
            f"--level {summary['level']}",
        ),
        (
            "spans",
            f"{summary['spans']:,} chosen, {summary['expected_spans']:,.1f} expected",
        ),
        ("expected", f"{_report.number(summary['expected'])} ({what}{sure})"),
    ]
    if summary["recalibration"] is not None:
        fit = summary["recalibration"]
        fitted = f"slope {fit['slope']:.3f}, intercept {fit['intercept']:.3f}"
        facts.append(("recalibrated", fitted))
    if summary["real"] is not None:
        facts.append(
            ("real", f"{_report.number(summary['real'])} (all spans together)")
        )
    return facts
