"""Choose the spans with the best F of expected counts, or the best expected F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from argmetric._ground.arguments import check_flag, check_items, check_texts, shown
from argmetric._ground.display import (
    Field,
    Headline,
    Result,
    counted,
    documented,
    metric_fields,
    metric_title,
    number,
)
from argmetric._ground.groups import code_groups
from argmetric._ground.pictures import drawing
from argmetric._ground.types import Axes, Floats, Integers
from argmetric._ground.validation import check_choice
from argmetric.metrics import FBeta, Metric, get_metric
from argmetric.search.corpus.labels import SchemeName, Span, write_labels
from argmetric.sequence._choose import (
    Recalibration,
    SpanChoice,
    SpanCounts,
    candidate_marginals,
    exact_choice,
    exact_steps,
)
from argmetric.sequence._crf import LinearChainCRF, segment_sums
from argmetric.sequence._spans import (
    SpanMarginals,
    check_models,
    log_p_empty,
    span_marginals,
)


@dataclass(frozen=True, eq=False, repr=False)
class SpanDecision(Result):
    """Chosen spans and their expected score.

    Parameters
    ----------
    spans : list of lists of Span
        For every sentence; one list if one sentence was given.
    labels : list of lists of str
        The spans as labels of tokens, in the scheme of the model.
    expected : float
        The maximum reached: E[F] with method "exact", F of the expected counts with
        method "counts"; a mean over documents and types where there are several.
    bound : float
        No choice has a higher expected score.
    proven : bool
        Whether `expected` is the optimum: `bound` within rounding of it, or within
        what spans below `min_probability` could add.
    method : {"exact", "counts"}
        What was maximised.
    n_spans : int
        Number of chosen spans.
    expected_spans : float
        Expected number of true spans.
    cell_expected : ndarray
        `expected` for every document, type, or both (documents by types).
    metric : Metric
        The F-measure.
    scheme : {"IOB2", "BIOES"}
        How labels write spans.
    n_cut : int
        Number of sentences with more candidates than can be looked at, so that long
        ones were left out. `bound` allows for them.
    cut_length : int or None
        The length in tokens up to which all are candidates, the least of these
        sentences; None without one.
    offsets : list of lists of pairs, or None
        From `decode_logits`: the first character of every span, and the one after its
        last.

    Examples
    --------
    >>> from argmetric.sequence import decode_spans, token_model
    >>> model = token_model([[0.2, 0.8], [0.9, 0.1]], ["O", "B-X"])
    >>> decision = decode_spans(model)
    >>> decision.labels, decision.n_spans
    (['B-X', 'O'], 1)
    """

    spans: list[Any]
    labels: list[Any]
    expected: float
    bound: float
    proven: bool
    method: str
    n_spans: int
    expected_spans: float
    cell_expected: Floats
    metric: Metric
    scheme: SchemeName
    n_cut: int = 0
    cut_length: int | None = None
    offsets: list[Any] | None = None

    _told = ("chosen",)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions behind `expected`."""
        return ("spans follow the model",)

    def _columns(self) -> dict[str, Any]:
        one = bool(self.spans) and isinstance(self.spans[0], Span)
        sentences = [self.spans] if one else self.spans
        rows = [(i, *span) for i, spans in enumerate(sentences) for span in spans]
        names = ("sentence", *Span._fields)
        return {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def _headline(self) -> Headline:
        name = f"expected {metric_title(self.metric.name)} of spans"
        return Headline(name, number(self.expected), counted(self.n_spans, "span"))

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        what = "E[F]" if self.method == "exact" else "F of expected counts"
        known = "proven best" if self.proven else f"at most {number(self.bound)}"
        metric = f"{self.metric.name} of spans ({self.scheme}, strict)"
        return [
            *metric_fields(self.metric, metric),
            self._field("n_spans", "chosen", lambda n: counted(n, "span")),
            self._field("expected_spans", "true", "{:,.1f} spans expected"),
            self._field(
                "expected", "expected", lambda x: f"{number(x)} ({what}, {known})"
            ),
            *self._keys("bound", "proven", "method", "n_cut", "cut_length"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how probable the chosen spans are, type by type."""
        spans = [
            span
            for one in self.spans
            for span in ([one] if isinstance(one, Span) else one)
        ]
        types = sorted({span.type for span in spans})
        each = [[span.probability for span in spans if span.type == t] for t in types]
        labels = {"xlabel": "probability of a span", "ylabel": "chosen spans"}
        score = f"expected {self.metric.name} {self.expected:.3f}"
        title = f"{self.n_spans:,} spans, {score}"
        with drawing(ax, (6.4, 3.8), title=title, **labels) as ax:
            if spans:
                ax.hist(each, bins=20, range=(0, 1), stacked=True, label=types)
        return ax


Level = Literal["corpus", "document"]
Method = Literal["auto", "exact", "counts"]
_EXACT_MEAN = 60.0  # expected spans of a document up to which "auto" is exact
_EXACT_TOKENS = 20_000
_EXACT_STEPS = 3e9  # some seconds
_PROOF = 1e-12


def decode_spans(
    model: LinearChainCRF | Sequence[LinearChainCRF] | SpanMarginals | None = None,
    tokens: Sequence[Any] | None = None,
    metric: str | Metric = "f1",
    *,
    candidates: object = None,
    scheme: SchemeName = "IOB2",
    level: Level = "corpus",
    documents: Sequence[Any] | None = None,
    per_type: bool = False,
    reference: Recalibration | None = None,
    method: Method = "auto",
    min_probability: float = 1e-6,
) -> SpanDecision:
    """Choose the non-overlapping spans with the best expected F-measure of entities.

    A span is right if its borders and its type are. The most probable labels are not
    the best spans: they drop a span of probability 0.45, although it would raise the
    expected F1.

    Parameters
    ----------
    model : LinearChainCRF, sequence of them, or SpanMarginals
        The sentences; None with `candidates`.
    tokens : sequence, optional
        Their words, for `Span.text`: a list for each sentence.
    metric : str or FBeta, default="f1"
        "f1", "f2" or any F-measure.
    candidates : sequence of lists, optional
        Instead of a model: for every sentence the spans that a network proposes, as
        (start, stop, type, probability), which may overlap. F of the
        expected counts is maximised; the probabilities of all candidates add up to
        the expected number of true spans.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How labels write spans.
    level : {"corpus", "document"}, default="corpus"
        One F-measure of all sentences, or the mean over documents.
    documents : sequence, optional
        With level="document" the document of every sentence; by default each sentence
        is one.
    per_type : bool, default=False
        The mean of the F-measures of types (macro) instead of one of all spans (micro).
        Exact, and `proven`, where the best spans of the types do not overlap; elsewhere
        a local search, never below the best pooled spans, with `bound` as the bound.
    reference : Recalibration, optional
        Corrects probabilities first: what `recalibrate` fitted on labelled sentences.
    method : {"auto", "exact", "counts"}, default="auto"
        "exact" maximises E[F]; "counts" maximises F of expected counts, which differs
        by O(1/n) and is quick for any size. "auto" is exact for short documents without
        `per_type` and `reference`, unless that would take long.
    min_probability : float, default=1e-6
        Less probable spans are not candidates. In a sentence of thousands of tokens
        very long ones may not be either: see `SpanDecision.n_cut`.

    Returns
    -------
    SpanDecision
        With `spans`, `labels` and `expected`.

    Examples
    --------
    >>> from argmetric.sequence import decode_spans, token_model
    >>> p = [[0.55, 0.45, 0.0], [0.6, 0.0, 0.4], [0.9, 0.1, 0.0]]
    >>> model = token_model(p, ["O", "B-PER", "I-PER"])
    >>> [model.labels[y] for y in model.viterbi()]
    ['O', 'O', 'O']
    >>> decode_spans(model, ["Ana", "Luz", "vino"], "f1").spans
    [Span(start=0, stop=1, type='PER', probability=0.346..., text='Ana')]
    """
    f_measure = _check_f_measure(metric)
    _check_options(level, method, reference, documents)
    per_type = check_flag(per_type, "per_type")
    if candidates is not None:
        _refuse_with_candidates(model, documents, method, f_measure)
        method = "counts"
        model = candidate_marginals(candidates, tokens, scheme)
    elif model is None:
        raise TypeError("pass a model, or candidates=[...]")
    single = isinstance(model, LinearChainCRF)
    if not isinstance(model, SpanMarginals):
        model = check_models(model)
    if tokens is not None:
        tokens = _check_tokens([tokens] if single else tokens)
    order, first = None, None  # of sentences by document, and where documents begin
    if documents is not None:
        model, tokens, order, first = _sort_by_document(model, tokens, documents)
    if not isinstance(model, SpanMarginals):
        model = span_marginals(model, scheme=scheme, min_probability=min_probability)
    if first is None:
        n = model.batch.n_sentences
        first = np.array([0, n]) if level == "corpus" else np.arange(n + 1)
    how: Any = {"per_type": per_type, "recalibration": reference, "method": method}
    decision = _decide(model, tokens, f_measure, first, **how)
    if single:
        return replace(decision, spans=decision.spans[0], labels=decision.labels[0])
    back = range(len(decision.spans)) if order is None else np.argsort(order)
    return replace(
        decision,
        spans=[decision.spans[i] for i in back],
        labels=[decision.labels[i] for i in back],
    )


def _check_f_measure(metric: str | Metric) -> FBeta:
    """Return the metric; refuse one that is not defined for every set of spans."""
    metric = get_metric(metric)
    if not isinstance(metric, FBeta):
        raise ValueError(
            f"metric must be an F-measure for spans, not {metric.name!r}: "
            "there are no true negatives among spans"
        )
    if math.isnan(metric.zero_division):
        raise ValueError(
            "metric must have a zero_division of 0 or 1 for spans, not nan"
        )
    return metric


def _check_options(
    level: str, method: str, reference: object, documents: object
) -> None:
    """Refuse options that are unknown, and documents without level="document"."""
    check_choice(level, "level", ("corpus", "document"))
    check_choice(method, "method", ("auto", "exact", "counts"))
    if not isinstance(reference, Recalibration | None):
        raise TypeError(f"reference must be a Recalibration, not {shown(reference)}")
    if documents is not None and level != "document":
        raise ValueError("documents are for level='document'")


def _refuse_with_candidates(
    model: object, documents: object, method: str, metric: FBeta
) -> None:
    """Refuse what needs a model, where spans are given as candidates."""
    if model is not None or documents is not None:
        raise ValueError("pass either candidates, or a model and documents")
    if method == "exact" or metric.zero_division == 1.0:
        raise ValueError(
            "the number of spans has no distribution with candidates: "
            "method='exact' and zero_division=1 need a model"
        )


def _check_tokens(tokens: object) -> list[list[str]]:
    """Return the words of each sentence."""
    sentences = check_items(tokens, "tokens", "a list of words for each sentence")
    return [
        check_texts(words, f"tokens[{number}]", "a list of words")
        for number, words in enumerate(sentences)
    ]


def _sort_by_document(
    models: Sequence[LinearChainCRF] | SpanMarginals,
    tokens: Sequence[Any] | None,
    documents: Sequence[Any],
) -> tuple[Sequence[LinearChainCRF], Sequence[Any] | None, Integers, Integers]:
    """Bring the sentences of each document together.

    Returns
    -------
    models, tokens : lists
        Those of the sentences, document by document.
    order : ndarray of shape (n_sentences,)
        The sentences in this order.
    first : ndarray of shape (n_documents + 1,)
        Where each document begins.
    """
    if isinstance(models, SpanMarginals):
        raise ValueError("documents need the models themselves, not SpanMarginals")
    if tokens is not None and len(tokens) != len(models):
        raise ValueError(
            f"tokens has {len(tokens)} sentences but the model has {len(models)}"
        )
    groups = code_groups(documents, len(models), "model", "documents")
    order = np.arange(len(models)) if groups.rows is None else groups.rows
    models = [models[i] for i in order.tolist()]
    tokens = None if tokens is None else [tokens[i] for i in order.tolist()]
    return models, tokens, order, groups.indptr


def _decide(
    marginals: SpanMarginals,
    tokens: Sequence[Any] | None,
    metric: FBeta,
    documents: Integers,
    *,
    per_type: bool,
    recalibration: Recalibration | None,
    method: str,
) -> SpanDecision:
    """Choose the spans and build the result.

    Parameters
    ----------
    tokens : sequence of lists of str, or None
        Words of each sentence.
    documents : ndarray of shape (n_documents + 1,)
        First sentence of each document.
    """
    mean = segment_sums(marginals.expected.sum(axis=1), documents)
    plain = recalibration is None and not per_type
    if method == "exact" and not plain:
        raise ValueError(
            "method='exact' needs the distribution of the model: pass neither "
            "reference nor per_type=True"
        )
    square = metric.coefficients[1][3]  # β²
    if method == "auto":
        few = mean.max(initial=0.0) <= _EXACT_MEAN
        small = marginals.batch.unary.shape[0] <= _EXACT_TOKENS
        short = plain and few and small
        short = short and (exact_steps(marginals, documents, square) <= _EXACT_STEPS)
        method = "exact" if short else "counts"
    if method == "exact":
        empty = _empty_values(marginals, metric, documents, None)[:, 0]
        choice = exact_choice(marginals, documents, square, empty)
        probs = marginals.probability
    else:
        choice, probs, mean = _by_counts(
            marginals, metric, documents, per_type, recalibration
        )
    least = marginals.min_probability
    slack = (1 + square) * float(
        least if recalibration is None else recalibration(least)
    )
    expected = float(choice.values.mean()) if choice.values.size else 0.0
    spans = _chosen_spans(marginals, choice, probs, tokens)
    lengths = np.diff(marginals.batch.indptr).tolist()
    labels = [
        write_labels(found, n, marginals.scheme)
        for found, n in zip(spans, lengths, strict=True)
    ]
    return SpanDecision(
        spans=spans,
        labels=labels,
        expected=expected,
        bound=max(choice.upper, expected),
        proven=choice.upper <= expected + slack + _PROOF,
        method=method,
        n_spans=int(choice.chosen.sum()),
        expected_spans=float(mean.sum()),
        cell_expected=choice.values,
        metric=metric,
        scheme=marginals.scheme,
        n_cut=int(marginals.cut.sum()),
        cut_length=min(marginals.reach[marginals.cut].tolist(), default=None),
    )


def _by_counts(
    marginals: SpanMarginals,
    metric: FBeta,
    documents: Integers,
    per_type: bool,
    recalibration: Recalibration | None,
) -> tuple[SpanChoice, Floats, Floats]:
    """Maximise F of expected counts; return choice, probabilities, expected spans."""
    n_documents, n_types = documents.size - 1, len(marginals.types)
    document = np.repeat(
        np.arange(n_documents), np.diff(marginals.span_indptr[documents])
    )
    kind = marginals.flat[:, 2]
    p = marginals.probability
    by_type = segment_sums(marginals.expected, documents)
    if recalibration is not None:
        p = recalibration(p)
        part = marginals.probability >= recalibration.floor
        counted = np.bincount(
            (document * n_types + kind)[part],
            weights=p[part],
            minlength=n_documents * n_types,
        )
        by_type = counted.astype(float).reshape(n_documents, -1) * recalibration.missed
    if per_type:
        cell, mean = document * n_types + kind, by_type.ravel()
    else:
        cell, mean = document, by_type.sum(axis=1)
    least = marginals.unlisted
    if recalibration is not None:
        least = float(recalibration(least))
    counts = SpanCounts(marginals, p, cell, mean, metric.coefficients[1][3], least)
    choice = counts.joint() if per_type else counts.separate()
    if metric.zero_division == 1.0:
        kinds = range(n_types) if per_type else None
        empty = _empty_values(marginals, metric, documents, kinds).ravel()
        better = empty > choice.values
        values = np.where(better, empty, choice.values)
        upper = max(choice.upper, float(values.mean())) if values.size else 0.0
        upper = upper if not per_type else 1.0
        choice = SpanChoice(choice.chosen & ~better[cell], values, upper)
    return choice, p, mean


def _empty_values(
    marginals: SpanMarginals,
    metric: FBeta,
    documents: Integers,
    kinds: Sequence[int] | None,
) -> Floats:
    """Return E[F] of no span, for documents (rows) and types, or all types."""
    every = range(len(marginals.types))
    groups = [list(every)] if kinds is None else [[kind] for kind in kinds]
    if metric.zero_division != 1.0 or not groups:
        return np.zeros((documents.size - 1, len(groups)))
    logs = np.stack([log_p_empty(marginals, group) for group in groups], axis=1)
    return np.exp(segment_sums(logs, documents))


def _chosen_spans(
    marginals: SpanMarginals,
    choice: SpanChoice,
    probs: Floats,
    tokens: Sequence[Any] | None,
) -> list[list[Span]]:
    """Return the chosen spans of each sentence, with their words if these are known."""
    n = marginals.batch.n_sentences
    lengths = np.diff(marginals.batch.indptr)
    if tokens is not None:
        given = np.array([len(words) for words in tokens])
        if given.size != n:
            raise ValueError(f"tokens has {given.size} sentences but the model has {n}")
        wrong = np.flatnonzero(given != lengths)
        if wrong.size:
            g = int(wrong[0])
            raise ValueError(
                f"sentence {g}: {given[g]} tokens but the model has {lengths[g]}"
            )
    spans: list[list[Span]] = [[] for _ in range(n)]
    at = np.flatnonzero(choice.chosen)
    columns = (marginals.sentence, marginals.start, marginals.stop)
    rows = (column[at].tolist() for column in (*columns, marginals.type, probs))
    for g, start, stop, kind, p in zip(*rows, strict=True):
        text = None if tokens is None else " ".join(tokens[g][start:stop])
        spans[g].append(Span(start, stop, kind, p, text))
    return spans
