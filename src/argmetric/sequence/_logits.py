"""Decode the logits of a token classifier into spans of a text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._ground.arguments import check_flag, check_items, check_texts, shown
from argmetric._ground.types import ArrayLike, Floats, Integers
from argmetric._ground.validation import to_floats
from argmetric.metrics import Metric
from argmetric.search.corpus.labels import SchemeName
from argmetric.sequence._choose import Recalibration, recalibrate
from argmetric.sequence._decode_spans import Level, Method, SpanDecision, decode_spans
from argmetric.sequence._spans import build_models
from argmetric.sequence._subwords import (
    Subwords,
    Words,
    label_names,
    on_host,
    read_words,
)


def decode_logits(
    logits: ArrayLike,
    labels: Sequence[str] | dict[Any, str],
    metric: str | Metric = "f1",
    *,
    word_ids: object = None,
    mask: object = None,
    offsets: object = None,
    text: Sequence[str] | None = None,
    subwords: Subwords = "first",
    probabilities: bool = False,
    scheme: SchemeName | None = None,
    reference: object = None,
    level: Level = "corpus",
    documents: Sequence[Any] | None = None,
    method: Method = "auto",
) -> SpanDecision:
    """Choose the spans with the best expected F-measure from a network's logits.

    Parameters
    ----------
    logits : array or tensor of shape (batch, tokens, labels)
        Outputs of a token classifier, on any device.
    labels : sequence of str, or dict
        Names of the columns; also numbers with their names, as in `id2label`.
    metric : str or FBeta, default="f1"
        "f1", "f2" or any F-measure.
    word_ids : sequence, optional
        The word of every token, None for tokens that belong to no word, as
        `encoding.word_ids()` gives it: a list for each sentence. By default every
        token is a word.
    mask : array-like, optional
        Whether a token counts, such as the attention mask.
    offsets : array-like of shape (batch, tokens, 2), optional
        First character of every token and the one after its last, as tokenizers give
        with `return_offsets_mapping`. A token without characters does not count. The
        result has the characters of every span as `offsets`.
    text : sequence of str, optional
        The texts, for `Span.text`; goes with `offsets`.
    subwords : {"first", "mean"}, default="first"
        Take the probabilities of the first token of a word, or the mean over its
        tokens. "first" suits networks that were trained on first tokens.
    probabilities : bool, default=False
        Whether `logits` and the reference hold probabilities instead.
    scheme : {"IOB2", "BIOES"}, optional
        How labels write spans; by default BIOES if a label begins with E- or S-.
    reference : pair (gold, logits) or Recalibration, optional
        Labelled sentences that the network was not trained on. `gold` holds the number
        of the label of every token; a negative one, such as -100, for tokens that do
        not count. Probabilities of spans are recalibrated on them. Networks are
        overconfident: `expected` is too high without a reference. Also a result of
        `recalibrate`.
    level, documents, method
        As for `decode_spans`.

    Returns
    -------
    SpanDecision
        Its `start` and `stop` count words.

    Examples
    --------
    >>> from argmetric.sequence import decode_logits
    >>> logits = [[[9.0, 0, 0], [0.2, 0.1, -9], [0.3, -9, 0.1], [3, 0, 0]]]
    >>> offsets = [[[0, 0], [0, 3], [4, 7], [8, 12]]]
    >>> decision = decode_logits(logits, ["O", "B-PER", "I-PER"], offsets=offsets,
    ...                          text=["Ana Luz vino"])
    >>> decision.offsets, decision.spans[0][0].text
    ([[(0, 3)]], 'Ana')
    """
    names = check_texts(label_names(labels), "labels", "a list of names")
    is_logits = not check_flag(probabilities, "probabilities")
    if scheme is None:
        closed = any(name[:2] in ("E-", "S-") for name in names)
        scheme = "BIOES" if closed else "IOB2"
    places = None
    if offsets is not None:
        places = to_floats(on_host(offsets), "offsets")
        if places.ndim != 3 or places.shape[2] != 2:
            raise ValueError(
                f"offsets has shape {places.shape}, not (batch, tokens, 2): the first "
                "character of every token, and the one after its last"
            )
        there = places[..., 1] > places[..., 0]
        mask = there if mask is None else there & (to_floats(on_host(mask), "mask") > 0)
    elif text is not None:
        raise ValueError("text goes with offsets: the characters of every token")
    words = read_words(
        logits,
        len(names),
        logits=is_logits,
        word_ids=word_ids,
        mask=mask,
        subwords=subwords,
    )
    if places is not None and places.shape[:2] != np.shape(logits)[:2]:
        raise ValueError(
            f"offsets has shape {places.shape}, but logits has {np.shape(logits)}"
        )
    if not isinstance(reference, Recalibration | None):
        reference = _fit_reference(reference, names, scheme, logits=is_logits)
    models = build_models(words, names, scheme, well_formed_only=True)
    found = decode_spans(
        models,
        metric=metric,
        scheme=scheme,
        level=level,
        documents=documents,
        reference=reference,
        method=method,
    )
    return found if places is None else _add_offsets(found, words, places, text)


def _fit_reference(
    reference: object, names: list[str], scheme: SchemeName, *, logits: bool
) -> Recalibration:
    """Fit a recalibration on labelled sentences (gold, logits).

    Parameters
    ----------
    names : list of str
        Labels, in the order of the columns.
    logits : bool
        Whether the second element holds logits, not probabilities.
    """
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise TypeError(
            "reference must be a pair (gold, logits), or a Recalibration, not "
            f"{shown(reference)}"
        )
    gold = to_floats(on_host(reference[0]), "gold")
    counts = gold >= 0
    wrong = np.argwhere(counts & ((gold >= len(names)) | (gold % 1 != 0)))
    if wrong.size:
        g, t = wrong[0].tolist()
        raise ValueError(
            f"gold is {gold[g, t]:g} at sentence {g}, token {t}, but labels are "
            f"numbered 0 to {len(names) - 1}"
        )
    words = read_words(reference[1], len(names), logits=logits, mask=counts)
    numbers: Integers = gold[counts].astype(np.int64)
    flat = np.array(names, dtype=object)[numbers].tolist()
    sentences = [flat[a:b] for a, b in itertools.pairwise(words.indptr.tolist())]
    models = build_models(words, names, scheme, well_formed_only=True)
    return recalibrate(models, sentences, scheme=scheme)


def _add_offsets(
    found: SpanDecision, words: Words, places: Floats, text: Sequence[str] | None
) -> SpanDecision:
    """Add the characters of every span, and its text, to the decision."""
    flat = places.reshape(-1, 2).astype(np.int64)
    begins, ends = flat[words.first, 0].tolist(), flat[words.last, 1].tolist()
    if text is not None:
        text = check_items(text, "text", "a text for each sentence")
        if len(text) != len(found.spans):
            raise ValueError(
                f"text has {len(text)} texts, but there are {len(found.spans)} "
                "sentences"
            )
    offsets, spans = [], []
    for g, chosen in enumerate(found.spans):
        at = int(words.indptr[g])
        where = [(begins[at + s.start], ends[at + s.stop - 1]) for s in chosen]
        offsets.append(where)
        if text is not None:
            pairs = zip(chosen, where, strict=True)
            chosen = [s._replace(text=text[g][a:b]) for s, (a, b) in pairs]
        spans.append(chosen)
    return replace(found, spans=spans, offsets=offsets)
