"""Choose non-overlapping spans for F of expected counts, or for expected F."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.logistic import NormalPrior, fit_penalised
from argmetric._ground.arguments import check_items, check_texts, shown
from argmetric._ground.display import Field, Result, documented
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.pictures import draw_map
from argmetric._ground.types import Axes, Booleans, Floats, Integers
from argmetric._ground.validation import (
    check_choice,
    check_fraction,
    check_scores,
    to_floats,
)
from argmetric.search.corpus.labels import SCHEMES, Roles, SchemeName, read_chunks
from argmetric.sequence._crf import ChainBatch, LinearChainCRF, segment_sums
from argmetric.sequence._spans import SpanMarginals, span_marginals, tilt_spans

_ROUNDS = 100
_STEPS_AT_ONCE = 50_000_000  # steps between two checks for interrupts: about 0.3 s


@dataclass(frozen=True)
class SpanChoice:
    """Chosen spans (n_spans,), values of cells, and an upper bound on the mean."""

    chosen: Booleans
    values: Floats
    upper: float


def _schedule(marginals: SpanMarginals, weights: Floats) -> Booleans:
    """Return the non-overlapping spans with the largest total weight."""
    from argmetric.sequence.kernels.intervals import schedule

    chosen = np.zeros(len(marginals), dtype=np.bool_)
    schedule(
        weights, marginals.flat, marginals.span_indptr, marginals.batch.indptr, chosen
    )
    return chosen


@dataclass(frozen=True)
class SpanCounts:
    """Spans grouped into cells (documents or types), each with its own F-measure."""

    marginals: SpanMarginals
    p: Floats
    cell: Integers
    mean: Floats  # expected number of true spans in each cell
    b2: float
    least: float  # spans below this probability are not listed

    def values(self, chosen: Booleans) -> Floats:
        """Return F of expected counts of each cell; 0 for 0/0."""
        hits, size = self._sums(chosen)
        below = size + self.b2 * self.mean
        return np.divide(
            (1 + self.b2) * hits, below, out=np.zeros_like(below), where=below > 0
        )

    def _sums(self, chosen: Booleans) -> tuple[Floats, Floats]:
        """Return expected hits and number of chosen spans of each cell."""
        cells = self.cell[chosen]
        n = self.mean.size
        hits = np.bincount(cells, weights=self.p[chosen], minlength=n)
        size = np.bincount(cells, minlength=n)
        return hits.astype(np.float64), size.astype(np.float64)

    def separate(self, part: Booleans | None = None) -> SpanChoice:
        """Maximise the value of every cell, for cells that share no sentence.

        Dinkelbach: the largest ratio is the λ at which the best
        Σ((1+β²)p - λ) - λβ²μ is 0, and λ ← ratio of the best set never falls.
        """
        level = np.zeros(self.mean.size)
        chosen = np.zeros(self.p.size, dtype=np.bool_)
        for _ in range(_ROUNDS):
            weights = (1 + self.b2) * self.p - level[self.cell]
            if part is not None:
                weights = np.where(part, weights, -1.0)
            found = _schedule(self.marginals, weights)
            values = self.values(found)
            better = values > level * (1 + 4e-16)
            if not better.any():
                break
            chosen = np.where(better[self.cell], found, chosen)
            level = np.where(better, values, level)
        return SpanChoice(chosen, level, self._upper(level))

    def _upper(self, best: Floats) -> float:
        """Return a bound with unlisted spans: (a+c)/(b+d) ≤ max(a/b, c/d)."""
        reach = np.maximum(best, (1 + self.b2) * self.least)
        return float(reach.mean()) if reach.size else 0.0

    def joint(self) -> SpanChoice:
        """Maximise the mean over cells that share sentences, such as types.

        First each type is maximised alone: an upper bound, and the optimum if no two
        spans overlap. Otherwise a local search maximises the sum of ratios with weights
        ((1+β²)p - λ)/(k + β²μ), each type with its own λ and k.
        """
        kind = self.marginals.flat[:, 2]
        n_kinds = len(self.marginals.types)
        alone = [self.separate(kind == k) for k in range(n_kinds)]
        union = np.zeros(self.p.size, dtype=np.bool_)
        level = np.zeros(self.mean.size)
        for choice in alone:
            union |= choice.chosen
            level += choice.values  # 0 in the cells of other types
        upper = self._upper(level)
        spans = self.marginals.flat[union]
        order = np.argsort(spans[:, 0], kind="stable")
        if (spans[order[1:], 0] >= spans[order[:-1], 1]).all():  # none overlap
            return SpanChoice(union, level, upper)
        total = np.array([self.mean.sum()])
        pooled = replace(self, cell=np.zeros_like(self.cell), mean=total)
        starts = [pooled.separate().chosen, *(choice.chosen for choice in alone)]
        found = [self._climb(level, self._sums(union)[1])]
        found += [self._climb(self.values(z), self._sums(z)[1]) for z in starts]
        best = max(
            [*found, *starts], key=lambda chosen: float(self.values(chosen).mean())
        )
        return SpanChoice(best, self.values(best), upper)

    def _climb(self, level: Floats, size: Floats) -> Booleans:
        """Reweight and reschedule spans while the mean value rises.

        Return the best set.
        """
        best, reached = np.zeros(self.p.size, dtype=np.bool_), -1.0
        for _ in range(_ROUNDS):
            below = np.maximum(size + self.b2 * self.mean, 1e-300)
            weights = ((1 + self.b2) * self.p - level[self.cell]) / below[self.cell]
            found = _schedule(self.marginals, weights)
            level, size = self.values(found), self._sums(found)[1]
            if level.mean() <= reached * (1 + 4e-16):
                break
            best, reached = found, float(level.mean())
        return best


def exact_choice(
    marginals: SpanMarginals, documents: Integers, b2: float, empty: Floats
) -> SpanChoice:
    """Maximise E[F_β] of each document over all sets of listed spans.

    E[F_β] of k spans is the sum of their Δ = (1+β²)·E[1(span)/(k + β²t)], for any
    dependence, so that for each k the best set is a scheduling problem of size k.
    1/(k + β²t) is a sum of exponentials, and E[1(span)·uᵗ] is a marginal of the chain
    with tilted scores.

    Parameters
    ----------
    documents : ndarray of shape (n_documents + 1,)
        First sentence of each document.
    b2 : float
        β².
    empty : ndarray of shape (n_documents,)
        E[F_β] of no span.
    """
    from argmetric._expected.kernels.nodes import exponential_sum
    from argmetric.sequence.kernels.intervals import exact_sets

    tokens = marginals.batch.indptr[documents]
    spans = marginals.span_indptr[documents]
    longest = float(np.diff(tokens).max(initial=1))
    nodes, node_weights = exponential_sum(1.0, 1 + b2, (1 + b2) * max(longest, 2.0))
    document = np.repeat(np.arange(documents.size - 1), np.diff(spans))
    tilted = np.empty((len(marginals), nodes.size))
    for q, (s, w) in enumerate(zip(nodes, node_weights, strict=True)):
        probs, log_moment = tilt_spans(marginals, -s * b2)
        moment = np.exp(segment_sums(log_moment, documents))
        tilted[:, q] = (1 + b2) * w * probs * moment[document]
    chosen = np.zeros(len(marginals), dtype=np.bool_)
    values = np.empty(documents.size - 1)
    mean = segment_sums(marginals.expected.sum(axis=1), documents)
    place, power = np.zeros(2, dtype=np.int64), np.ones(nodes.size)
    decay = np.exp(-nodes)
    given = tilted, decay, marginals.flat, spans, tokens, mean, b2, empty
    while not exact_sets(*given, chosen, values, place, power, _STEPS_AT_ONCE):
        pass
    # An unlisted span adds less than (1+β²) times its probability/(k + β²)
    upper = float(values.mean()) + (1 + b2) * marginals.unlisted
    return SpanChoice(chosen, values, upper)


def exact_steps(marginals: SpanMarginals, documents: Integers, b2: float) -> float:
    """Estimate the number of steps of `exact_choice`.

    It tries sizes up to the k with (1+β²)μ/(k + β²μ) = F, F the largest F of counts.
    """
    mean = segment_sums(marginals.expected.sum(axis=1), documents)
    spans = np.diff(marginals.span_indptr[documents])
    tokens = np.diff(marginals.batch.indptr[documents])
    cell = np.repeat(np.arange(mean.size), spans)
    counts = SpanCounts(marginals, marginals.probability, cell, mean, b2, 0.0)
    values = np.maximum(counts.separate().values, 1e-300)
    largest = np.minimum(mean * ((1 + b2) / values - b2), np.minimum(spans, tokens))
    return float(((spans + tokens) * largest**2 / 2).sum())


WANTED = "a list of (start, stop, type, probability) for each sentence"


def candidate_marginals(
    candidates: object, tokens: Sequence[Sequence[str]] | None, scheme: SchemeName
) -> SpanMarginals:
    """Return the candidates (start, stop, type, probability) in the form of marginals.

    A sentence without `tokens` ends with its last candidate.
    """
    check_choice(scheme, "scheme", SCHEMES)
    sentences: list[Sequence[Any]] = [
        check_items(one, f"candidates[{g}]", "a list of spans")
        for g, one in enumerate(check_items(candidates, "candidates", WANTED))
    ]
    sizes = np.array([len(one) for one in sentences], dtype=np.int64)
    sentence = np.repeat(np.arange(sizes.size), sizes)
    rows = [span for one in sentences for span in one]
    columns: list[list[Any]] = [[], [], [], []]
    for g, row in zip(sentence.tolist(), rows, strict=True):
        try:
            start, stop, kind, p = row
            good = int(start) == start and int(stop) == stop and 0 <= start < stop
        except (TypeError, ValueError):
            good = False
        if not good:
            raise ValueError(
                f"candidates[{g}] has {shown(row)}: a span is (start, stop, type, "
                "probability), from the token `start` up to, not including, `stop`"
            )
        for column, value in zip(columns, (start, stop, kind, p), strict=True):
            column.append(value)
    p = to_floats(columns[3], "probability")
    p = check_scores(p, "probability", logits=False)
    spans = np.array(columns[:2], dtype=np.int64).T.reshape(-1, 2)
    lengths = np.zeros(sizes.size, dtype=np.int64)
    np.maximum.at(lengths, sentence, spans[:, 1])
    if tokens is not None and len(tokens) == sizes.size:
        lengths = np.maximum(lengths, [len(words) for words in tokens])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    types, kind = np.unique(np.array(columns[2], dtype=str), return_inverse=True)
    flat = np.column_stack([spans + indptr[sentence][:, None], kind])
    order = np.lexsort((flat[:, 1], flat[:, 0]))
    expected = np.zeros((sizes.size, types.size))
    np.add.at(expected, (sentence, kind), p)
    n = int(indptr[-1])
    chain = ChainBatch(
        np.zeros((n, 1)), np.zeros((1, 1, 1)), np.zeros(n, dtype=np.int64), indptr
    )
    none = np.full((types.size, 4), -1, dtype=np.int64)
    return SpanMarginals(
        scheme=scheme,
        roles=Roles(tuple(types.tolist()), none, scheme == "BIOES"),
        batch=chain,
        flat=flat[order],
        span_indptr=np.concatenate([[0], np.cumsum(sizes)]),
        probability=p[order],
        expected=expected,
        min_probability=0.0,
        reach=lengths,
        unlisted=0.0,
    )


_LEAST, _MOST = np.finfo(np.float64).tiny, 1 - 2e-16
_RIDGE = 2e-9  # keeps the fit finite on a separable development set


@dataclass(frozen=True)
class Recalibration(Result):
    """Recalibration P' = sigmoid(slope·logit(P) + intercept), Platt's on log-odds.

    Parameters
    ----------
    slope, intercept : float
        The two parameters; 1 and 0 change nothing.
    floor : float
        The least probability of the spans it was fitted on.
    missed : float
        Number of true spans in the development set, divided by the number above the
        floor; at least 1. It corrects the expected number of spans.

    Examples
    --------
    >>> from argmetric.sequence import Recalibration
    >>> reference = Recalibration(slope=0.8, intercept=0.0, floor=0.01, missed=1.0)
    >>> reference([0.5, 0.9]).round(3)
    array([0.5  , 0.853])
    """

    slope: float
    intercept: float
    floor: float
    missed: float

    def __call__(self, p: npt.ArrayLike) -> Floats:
        """Return recalibrated probabilities."""
        return expit(self.slope * _log_odds(np.asarray(p, float)) + self.intercept)

    def fields(self) -> list[Field]:
        """Return the fields of the result, in the order of its summary.

        Returns
        -------
        list of Field
            A key, a value and a text for each.
        """
        text = f"logit P' = {{:.4g}} logit P {self.intercept:+.4g}"
        return [
            self._field("slope", "calibrator", text),
            Field("intercept", self.intercept),
            self._field("floor", "fitted on spans of", "P >= {:g}"),
            self._field("missed", "true spans for each above", "{:.4g}"),
        ]

    @documented
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration curve over the diagonal."""
        drawn: Axes = draw_map(ax, "recalibration", self)
        return drawn


def true_spans(
    marginals: SpanMarginals, gold: Sequence[Sequence[str]]
) -> tuple[npt.NDArray[np.bool_], int]:
    """Return which listed spans are in the gold labels, and the number of these."""
    n = marginals.batch.n_sentences
    gold = check_items(gold, "gold", "a list of labels for each sentence")
    if len(gold) != n:
        raise ValueError(f"gold has {len(gold)} sentences but the model has {n}")
    starts = marginals.batch.indptr
    kinds = {kind: i for i, kind in enumerate(marginals.types)}
    there: set[tuple[int, int, int]] = set()
    n_gold = 0
    for g, labels in enumerate(gold):
        labels = check_texts(labels, f"gold[{g}]")
        length = int(starts[g + 1] - starts[g])
        if len(labels) != length:
            raise ValueError(
                f"sentence {g}: gold has {len(labels)} labels but the model has "
                f"{length} tokens"
            )
        try:
            chunks = read_chunks(labels, marginals.scheme)
        except ValueError as error:
            raise ValueError(f"gold[{g}]: {error}") from None
        for start, stop, kind in chunks:
            n_gold += 1
            at = int(starts[g])
            there.add((at + start, at + stop, kinds.get(kind, -1)))
    found = [tuple(span) in there for span in marginals.flat.tolist()]
    return np.array(found, dtype=bool), n_gold


def recalibrate(
    model: LinearChainCRF | Sequence[LinearChainCRF] | SpanMarginals,
    gold: Sequence[Sequence[str]],
    *,
    scheme: SchemeName = "IOB2",
    floor: float = 0.01,
) -> Recalibration:
    """Fit a recalibration on a development set, by maximum likelihood.

    Parameters
    ----------
    model : LinearChainCRF, sequence of them, or SpanMarginals
        The sentences of the development set, which the model was not trained on.
    gold : sequence of sequences of str
        Their true labels. Spans of a type unknown to the model count as missed.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How labels write spans.
    floor : float, default=0.01
        Less probable spans are ignored: they are many, and no metric of interest would
        choose them.

    Returns
    -------
    Recalibration
        For `decode_spans(reference=)`.

    Examples
    --------
    >>> from argmetric.sequence import recalibrate, token_model
    >>> model = token_model([[0.4, 0.6], [0.7, 0.3], [0.2, 0.8]], ["O", "B-X"])
    >>> recalibrate([model] * 2, [["B-X", "O", "B-X"], ["O", "B-X", "B-X"]]).slope > 0
    True
    """
    floor = check_fraction(floor, "floor")
    if not isinstance(model, SpanMarginals):
        model = span_marginals(model, scheme=scheme, min_probability=floor)
    truth, n_gold = true_spans(model, gold)
    part = model.probability >= floor
    y = truth[part].astype(np.float64)
    if not 0 < y.sum() < y.size:
        raise ValueError(
            "the development set must have true and false spans above the floor; it "
            f"has {int(y.sum())} true ones of {y.size}"
        )
    x = _log_odds(model.probability[part])
    design, start = np.stack([x, np.ones_like(x)]), np.array([1.0, 0.0])
    ridge = NormalPrior(np.zeros(2), np.full(2, _RIDGE))
    found = fit_penalised(design, y, np.ones_like(x), start, ridge).theta
    slope, intercept = float(found[0]), float(found[1])
    if slope <= 0:
        raise ValueError(
            f"slope {slope:.3g} above floor={floor:g}: on the development set more "
            "probable spans are true less often; these are not the labels of these "
            "sentences"
        )
    return Recalibration(slope, intercept, floor, n_gold / float(y.sum()))


def _log_odds(p: Floats) -> Floats:
    return bounded_logit(p, _LEAST, _MOST)
