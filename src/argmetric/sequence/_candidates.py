"""Spans that a network proposes, with their probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._ground.arguments import check_items, shown
from argmetric._ground.validation import check_choice, check_scores, to_floats
from argmetric.search.corpus.labels import SCHEMES, Roles, SchemeName
from argmetric.sequence._crf import ChainBatch
from argmetric.sequence._spans import SpanMarginals

WANTED = "a list of (start, stop, type, probability) for each sentence"


def candidate_marginals(
    candidates: Any, tokens: Any, scheme: SchemeName
) -> SpanMarginals:
    """The candidates (start, stop, type, probability), as if a chain had listed them.

    Without tokens, the words of every sentence, it ends with its last candidate.
    """
    check_choice(scheme, "scheme", SCHEMES)
    sentences = [
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
