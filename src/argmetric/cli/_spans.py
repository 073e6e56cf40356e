"""``argmetric spans``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from argmetric._ground.display import Field, only_shown
from argmetric._ground.whole_files import DataError
from argmetric.cli import _options as opt
from argmetric.cli._command import Arguments, command
from argmetric.cli._errors import UsageError
from argmetric.cli._learning import (
    metric_named,
    sizes,
    text_target,
    values_and_lines,
)
from argmetric.cli._report import count, number, print_answer, progress, reading
from argmetric.search.corpus.files import HasLabels, read_sentences, write_sentences
from argmetric.search.corpus.labels import SchemeName, count_chunks
from argmetric.search.corpus.sentences import CorpusFormat, Sentence

if TYPE_CHECKING:
    from argmetric.sequence import LinearChainCRF, Recalibration


class _Model(opt.Options, group=Group("Model", sort_key=1)):
    model: opt.FilePath | None
    dev: opt.FilePath | None
    scheme: SchemeName = "IOB2"
    label_names: Annotated[str | None, opt.shown("LABEL,LABEL,...", name="--names")]
    labels: HasLabels = "auto"


class _Measure(opt.Options, group=opt.METRIC):
    zero_division: Literal["0", "1"] | None
    level: Literal["corpus", "document"] = "corpus"
    per_type: bool


class _Form(opt.Options):
    """Formats of texts.

    Attributes
    ----------
    output_format
        The format of the output, if its name does not show it.
    """

    format: CorpusFormat | None
    output_format: Annotated[CorpusFormat | None, Parameter(group=opt.OUTPUT)]


_OWN = _Model, _Measure, _Form, opt.Text, opt.Summary


@command(
    "model dev scheme label_names labels metric zero_division level per_type format "
    "output output_format json",
    *_OWN,
    files={"file": opt.FilePath},
)
def spans(o: Arguments) -> int:
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
    label_names
        The labels of the columns of "probabilities", in order.
    labels
        Whether the last column holds labels; auto looks at its first value.
    metric
        The F-measure: f1, f2, f0.5 (f with any beta). [default: f1]
    zero_division
        The value of 0/0 (no true span and none chosen): 0 or 1. [default: 0]
    level
        One F-measure of the whole file, or the mean over documents.
    per_type
        Maximise the mean of the F-measures of the types instead of one F-measure of all
        spans.
    format
        The format of the input, where its name does not say it.

    Examples
    --------
    argmetric spans tagged.jsonl --names O,B-PER,I-PER -o chosen.jsonl
    argmetric spans text.conll --model text.crfsuite --dev dev.conll
    """
    target = text_target(o)
    metric = metric_named(o.metric, o.zero_division)
    with reading(o.file):
        sentences = read_sentences(o.file, **o.only("format", "labels", "scheme"))
    gold = [sentence.labels for sentence in sentences if sentence.labels is not None]
    documents = [str(s.document) for s in sentences] if o.level == "document" else None
    with progress(f"decoding {len(sentences):,} sentences"):
        from argmetric.sequence import decode_spans

        chains, share = _chains(sentences, o, o.file)
        fit = None if o.dev is None else _recalibration(o)
        tokens = [sentence.tokens for sentence in sentences]
        how: dict[str, Any] = {"documents": documents, "reference": fit}
        how |= o.only("scheme", "level", "per_type")
        found = decode_spans(chains, tokens, metric, **how)
        actual = None
        if len(gold) == len(sentences):
            there, chosen, hits = count_chunks(gold, found.labels, o.scheme)
            actual = float(metric.value(hits, chosen, there, max(chosen, there)))
    if target is not None:
        format = o.output_format or (o.format if target == "-" else None)
        more: Any = {"spans": found.spans, "format": format}
        write_sentences(target, sentences, found.labels, **more)
    notes = []
    if found.cut_length is not None:
        many = f"{count(found.n_cut, 'sentence')} with too many candidates"
        cut = f"spans of more than {count(found.cut_length, 'token')} were left out"
        empty = "are empty lines missing between sentences?"
        notes = [("note", f"{many}: {cut}; {empty}")]
    plain = found.to_dict()
    same = "expected_spans", "expected", "method", "proven", "bound"
    types = "one measure per type" if o.per_type else "all types together"
    known = None if share is None else f"{100 * share:.1f} % of them known to the model"
    line = (fit and f"slope {fit.slope:.3f}, intercept {fit.intercept:.3f}") or None
    together = None if actual is None else f"{number(actual)} (all spans together)"
    values, facts = values_and_lines(
        [
            *sizes(o.file, len(sentences), sum(map(len, sentences))),
            Field("known_features", share, "features", known),
            Field("metric", metric.name, "judged", f"{types}, --level {o.level}"),
            *(Field(*one) for one in o.only("scheme", "level", "per_type").items()),
            Field("spans", found.n_spans),
            *only_shown(found.lines()),
            *(Field(key, plain[key]) for key in same),
            Field("cut_sentences", found.n_cut),
            Field("cut_length", found.cut_length),
            Field("recalibration", fit and fit.to_dict(), "recalibrated", line),
            Field("real", actual, "actual", together),
            Field("output", target),
        ]
    )
    return print_answer("spans", values, facts, json=o.json, stderr=True, notes=notes)


def _recalibration(o: Arguments) -> Recalibration:
    """Fit a recalibration on labelled sentences that the model has not seen."""
    from argmetric.sequence import recalibrate

    known = read_sentences(o.dev, **o.only("format", "labels", "scheme"))
    for sentence in known:
        if sentence.labels is None:
            raise DataError(f"{o.dev}, line {sentence.line}: no labels to learn from")
    gold = [sentence.labels or [] for sentence in known]
    return recalibrate(_chains(known, o, o.dev)[0], gold, scheme=o.scheme)


def _chains(
    sentences: list[Sentence], o: Arguments, file: str
) -> tuple[list[LinearChainCRF], float | None]:
    """Return the chain of every sentence, from a model or from probabilities.

    And the share of features that the model knows.
    """
    from argmetric.sequence import LinearChainCRF, standard_features, token_model

    if o.model is not None:
        crf = LinearChainCRF.from_crfsuite(o.model)
        features = (
            s.extra["features"]
            if "features" in s.extra
            else standard_features(s.columns)
            for s in sentences
        )
        try:
            return crf.sentences_and_known(features)
        except ValueError as error:
            raise DataError(f"{file} with {o.model}: {error}") from None
    if o.label_names is None:
        raise UsageError("pass --model, or --names for JSONL with probabilities")
    chains = []
    for sentence in sentences:
        where = f"{file}, line {sentence.line}"
        if "probabilities" not in sentence.extra:
            raise DataError(f"{where}: no probabilities; pass --model")
        try:
            p = sentence.extra["probabilities"]
            chains.append(token_model(p, o.label_names.split(","), scheme=o.scheme))
        except (ValueError, TypeError) as error:
            raise DataError(f"{where}: {error}") from None
    return chains, None
