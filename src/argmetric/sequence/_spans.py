"""Compute exact probabilities of spans under a chain of labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_flag, check_items, check_texts, shown
from argmetric._ground.display import Lines, Shown
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import (
    check_choice,
    check_fraction,
    check_scores,
    to_floats,
)
from argmetric.search.corpus.labels import (
    SCHEMES,
    Roles,
    SchemeName,
    roles_of,
    well_formed,
)
from argmetric.sequence._crf import ChainBatch, LinearChainCRF, build_batch
from argmetric.sequence._subwords import (
    Subwords,
    Words,
    label_names,
    on_host,
    read_words,
)

MOST_SPANS = 200_000  # per sentence


@dataclass(frozen=True, eq=False)
class SpanMarginals(Shown):
    """Spans above a minimum probability, with their exact probabilities.

    Parameters
    ----------
    scheme : {"IOB2", "BIOES"}
        How labels write spans.
    roles : Roles
        Types, and the labels that begin, continue and end a span of each.
    batch : ChainBatch
        The chains of the sentences.
    flat : ndarray of int, shape (n_spans, 3)
        First token, token after the last (both counted over all sentences), and type.
    span_indptr : ndarray of int, shape (sentences + 1,)
        Where the spans of each sentence begin.
    probability : ndarray
        Probability that a span with these borders and this type is true.
    expected : ndarray of shape (sentences, types)
        Expected number of spans, the unlisted ones included.
    min_probability : float
        Less probable spans are not listed.
    reach : ndarray of int
        For each sentence the length up to which spans are listed: the whole sentence,
        unless there were too many spans.
    unlisted : float
        The largest probability that a span which is not listed can have.

    Examples
    --------
    >>> from argmetric.sequence import span_marginals, token_model
    >>> model = token_model([[0.2, 0.8], [0.9, 0.1]], ["O", "B-X"])
    >>> span_marginals(model).probability
    array([0.8, 0.1])
    """

    scheme: SchemeName
    roles: Roles
    batch: ChainBatch
    flat: Integers  # first token, past the last token (of the batch), type
    span_indptr: Integers
    probability: Floats
    expected: Floats
    min_probability: float
    reach: Integers
    unlisted: float

    @property
    def cut(self) -> npt.NDArray[np.bool_]:
        """Return which sentences have spans longer than those that are listed."""
        return self.reach < np.diff(self.batch.indptr)

    @property
    def types(self) -> tuple[str, ...]:
        """Return the names of the types."""
        return self.roles.types

    @cached_property
    def sentence(self) -> Integers:
        """Return the sentence of every span."""
        return np.repeat(np.arange(self.batch.n_sentences), np.diff(self.span_indptr))

    @property
    def start(self) -> Integers:
        """Return the first token of every span, within its sentence."""
        return self.flat[:, 0] - self.batch.indptr[self.sentence]

    @property
    def stop(self) -> Integers:
        """Return the token after the last one of every span, within its sentence."""
        return self.flat[:, 1] - self.batch.indptr[self.sentence]

    @property
    def type(self) -> npt.NDArray[Any]:
        """Return the type of every span."""
        return np.array(self.types, dtype=object)[self.flat[:, 2]]

    def __len__(self) -> int:
        return int(self.probability.size)

    def _lines(self) -> Lines:
        counts = zip(self.types, self.expected.sum(axis=0), strict=True)
        return [
            ("sentences", f"{self.batch.n_sentences:,}"),
            ("listed", f"{len(self):,} spans"),
            *((f"{name} expected", f"{count:,.1f}") for name, count in counts),
        ]

    def __repr__(self) -> str:
        return (
            f"SpanMarginals({len(self):,} spans of {len(self.types)} types in "
            f"{self.batch.n_sentences:,} sentences, "
            f"{self.expected.sum():.1f} expected)"
        )


def token_model(
    p: object,
    labels: Sequence[str] | dict[Any, str],
    *,
    scheme: SchemeName = "IOB2",
    well_formed_only: bool = True,
    logits: bool = False,
    word_ids: object = None,
    mask: object = None,
    subwords: Subwords = "first",
) -> Any:
    """Build a chain from label probabilities of tokens, such as a tagger's softmax.

    Parameters
    ----------
    p : array or tensor of shape (n, labels) or (batch, n, labels)
        Probability of every label at every token, of one sentence or of several.
    labels : sequence of str, or dict
        Names of the columns; also numbers with their names, as in `id2label`.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How labels write spans.
    well_formed_only : bool, default=True
        Whether to exclude label sequences that are not well-formed (I-X without B-X
        before it). Apart from that, tokens are independent.
    logits : bool, default=False
        Whether `p` holds logits: their softmax is taken.
    word_ids : sequence, optional
        The word of every token, None for tokens that belong to no word; the chain is
        then one of words. Tokenizers give it as `encoding.word_ids()`.
    mask : array-like, optional
        Whether a token counts, such as an attention mask.
    subwords : {"first", "mean"}, default="first"
        With `word_ids`, take the probabilities of the first token of a word, or the
        mean over its tokens.

    Returns
    -------
    LinearChainCRF, or a list with one for each sentence of a batch
        The chain.

    Examples
    --------
    >>> from argmetric.sequence import token_model
    >>> model = token_model([[0.2, 0.7, 0.1], [0.6, 0.1, 0.3]], ["O", "B-X", "I-X"])
    >>> model.marginals.round(2)
    array([[0.17, 0.83, 0.  ],
           [0.64, 0.11, 0.25]])
    """
    names = check_texts(label_names(labels), "labels", "a list of names")
    check_choice(scheme, "scheme", SCHEMES)
    well_formed_only = check_flag(well_formed_only, "well_formed_only")
    logits = check_flag(logits, "logits")
    values = to_floats(on_host(p), "p")
    if values.shape == (0,):  # a sentence without tokens
        values = values.reshape(0, len(names))
    single = values.ndim == 2
    if single and (word_ids is not None or mask is not None):
        word_ids, mask = (None if x is None else [x] for x in (word_ids, mask))
    if single and values.shape[1] != len(names):
        raise ValueError(
            f"p has shape {values.shape}, not (n, {len(names)}), as there are "
            f"{len(names)} labels"
        )
    if single and not logits:
        check_scores(values, "p", logits=False)
    words = read_words(
        values[None] if single else values,
        len(names),
        logits=logits,
        word_ids=word_ids,
        mask=mask,
        subwords=subwords,
        single=single,
    )
    models = build_models(words, names, scheme, well_formed_only=well_formed_only)
    return models[0] if single else models


def build_models(
    words: Words, labels: list[str], scheme: SchemeName, *, well_formed_only: bool
) -> list[LinearChainCRF]:
    """Return the chain of every sentence; all share one table of transitions."""
    with np.errstate(divide="ignore"):
        unary = np.log(words.p)
    pairwise = np.zeros((len(labels), len(labels)))
    if well_formed_only and len(unary):
        first, follow, last = well_formed(labels, scheme)
        there = np.diff(words.indptr) > 0
        unary[np.ix_(words.indptr[:-1][there], ~first)] = -np.inf
        unary[np.ix_(words.indptr[1:][there] - 1, ~last)] = -np.inf
        pairwise[~follow] = -np.inf
    bounds = itertools.pairwise(words.indptr.tolist())
    return [LinearChainCRF(unary[a:b], pairwise, labels) for a, b in bounds]


def span_marginals(
    model: LinearChainCRF | Sequence[LinearChainCRF],
    *,
    scheme: SchemeName = "IOB2",
    min_probability: float = 1e-6,
) -> SpanMarginals:
    """Return the exact probability of every span, with its borders and its type.

    Parameters
    ----------
    model : LinearChainCRF or sequence of them
        One for each sentence, all with the same names of labels.
    scheme : {"IOB2", "BIOES"}, default="IOB2"
        How labels write spans.
    min_probability : float, default=1e-6
        Less probable spans are not listed; they still count in `expected`. If a
        sentence has more than 200,000 spans, the longest are not listed either.

    Returns
    -------
    SpanMarginals
        Spans and their probabilities.

    Examples
    --------
    >>> from argmetric.sequence import span_marginals, token_model
    >>> model = token_model([[0.2, 0.7, 0.1], [0.6, 0.1, 0.3]], ["O", "B-X", "I-X"])
    >>> spans = span_marginals(model)
    >>> spans.start, spans.stop, spans.probability.round(3)
    (array([0, 0, 1]), array([1, 2, 2]), array([0.583, 0.25 , 0.107]))
    """
    from argmetric.sequence.kernels import chains

    least = check_fraction(min_probability, "min_probability")
    models = check_models(model)
    for number, one in enumerate(models):
        if one.labels != models[0].labels:
            raise ValueError(f"sentence {number} has other labels than sentence 0")
    roles = roles_of(models[0].labels if models else ("O",), scheme)
    batch = build_batch(models)
    prob, other = batch.link_probs(*roles.links)
    span_indptr = np.empty(batch.n_sentences + 1, dtype=np.int64)
    inputs = batch.marginals, batch.indptr, roles.table, roles.closed, prob
    reach = np.empty(batch.n_sentences, dtype=np.int64)
    chains.reaches(
        batch.marginals, batch.indptr, roles.table, prob, least, MOST_SPANS, reach
    )
    unlisted = np.array([least])
    room = 4 * batch.unary.shape[0] + 64
    while True:
        flat, probability = np.empty((room, 3), dtype=np.int64), np.empty(room)
        n = chains.list_spans(
            *inputs, other, least, reach, flat, probability, span_indptr, unlisted
        )
        if n <= room:
            break
        room = n
    expected = np.empty((batch.n_sentences, len(roles.types)))
    chains.expected_spans(*inputs, expected)
    return SpanMarginals(
        scheme,
        roles,
        batch,
        flat[:n].copy(),
        span_indptr,
        probability[:n].copy(),
        expected,
        least,
        reach + int(roles.closed),  # which takes one token more for the end
        float(unlisted[0]),
    )


def check_models(model: object) -> list[LinearChainCRF]:
    """Return one or several models as a list; refuse other types."""
    if isinstance(model, LinearChainCRF):
        return [model]
    wanted = "a LinearChainCRF or a list of them"
    models = check_items(model, "model", wanted)
    for number, one in enumerate(models):
        if not isinstance(one, LinearChainCRF):
            raise TypeError(
                f"model must be {wanted}, not {shown(one)} at position {number}"
            )
    return models


def tilt_spans(marginals: SpanMarginals, tilt: float) -> tuple[Floats, Floats]:
    """Return E[1(span) u^t] / E[u^t] of listed spans, and log E[u^t] of sentences."""
    from argmetric.sequence.kernels import chains

    roles, batch, counting = counting_labels(marginals.roles, marginals.batch)
    unary = batch.unary.copy()
    unary[:, counting] += tilt
    tilted = replace(batch, unary=unary)
    prob, other = tilted.link_probs(*roles.links)
    out = np.empty(len(marginals))
    chains.span_probs(
        tilted.marginals, roles.table, roles.closed, prob, other, marginals.flat, out
    )
    return out, tilted.messages[0] - marginals.batch.messages[0]


def log_p_empty(marginals: SpanMarginals, kinds: Sequence[int]) -> Floats:
    """Return log P(a sentence has no span of these types)."""
    from argmetric.sequence.kernels import chains

    _, batch, counting = counting_labels(marginals.roles, marginals.batch, kinds)
    unary = batch.unary.copy()
    unary[:, counting] = -np.inf
    log_z = np.empty(batch.n_sentences)
    forward, backward = np.empty_like(unary), np.empty_like(unary)
    chains.forward_backward(
        unary, batch.pair_of, batch.pairs, batch.indptr, log_z, forward, backward
    )
    return log_z - marginals.batch.messages[0]


def counting_labels(
    roles: Roles, batch: ChainBatch, kinds: Sequence[int] | None = None
) -> tuple[Roles, ChainBatch, Integers]:
    """Return a chain some of whose labels occur once per span, and those labels.

    In IOB2 they are the B-X. In BIOES a B-X may lead nowhere; an E-X that ends a span
    is counted, so that I-X and E-X are doubled: inside and outside of a span.
    """
    chosen = slice(None) if kinds is None else np.asarray(kinds, dtype=np.int64)
    if not roles.closed:
        begins = roles.table[chosen, 0]
        return roles, batch, begins[begins >= 0]
    n_labels = batch.unary.shape[1]
    inner = roles.table[:, 1:3].ravel()
    kind_of_inner = np.repeat(np.arange(len(roles.types)), 2)[inner >= 0]
    inner = inner[inner >= 0]  # these become "in a span"; their copies are astray
    source = np.concatenate([np.arange(n_labels), inner])
    opener = np.zeros((source.size, len(roles.types)), dtype=bool)
    for kind, (begin, inside, _, _) in enumerate(roles.table):
        for label in (begin, inside):
            if label >= 0:
                opener[label, kind] = True
    allowed = np.ones((source.size, source.size), dtype=bool)
    allowed[:, inner] = opener[:, kind_of_inner]
    allowed[:, n_labels:] = ~opener[:, kind_of_inner]
    pairs = np.where(allowed, batch.pairs[:, source[:, None], source], -np.inf)
    unary = batch.unary[:, source]
    firsts = batch.indptr[:-1][np.diff(batch.indptr) > 0]
    unary[np.ix_(firsts, inner)] = -np.inf
    ends = roles.table[chosen][:, [2, 3]].ravel()
    doubled = replace(batch, unary=unary, pairs=np.ascontiguousarray(pairs))
    return roles, doubled, ends[ends >= 0]
