"""What users ask of a summary: how long it is, what must be in, what must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from argmetric._input.arguments import check_count, check_items, shown
from argmetric._text.summaries._growth import Growth
from argmetric._text.summaries._material import Budget, Material
from argmetric._text.summaries.cluster import Cluster


def numbers_of(given: Any, clusters: Sequence[Cluster], name: str) -> list[list[int]]:
    """Numbers of sentences from pairs (document, sentence), each once, by cluster."""
    if given is None:
        return [[] for _ in clusters]
    wanted = "a list for each cluster of pairs (document, sentence)"
    items = check_items(given, name, wanted)
    if len(items) != len(clusters):
        raise ValueError(
            f"{name} is {wanted}: {len(items)} lists for {len(clusters)} clusters"
        )
    pairs = [check_items([] if own is None else own, name, wanted) for own in items]
    return [
        list(dict.fromkeys(_number(pair, cluster, name) for pair in own))
        for own, cluster in zip(pairs, clusters, strict=True)
    ]


def _number(pair: Any, cluster: Cluster, name: str) -> int:
    try:
        document, sentence = map(index, pair)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: a sentence of {cluster.name} is named by a pair (document, "
            f"sentence), not {shown(pair)}"
        ) from None
    if not 0 <= document < len(cluster.documents):
        raise ValueError(
            f"{name}: {cluster.name} has no document {document}; they are counted "
            f"from 0 to {len(cluster.documents) - 1}"
        )
    first, end = cluster.document_starts[document : document + 2].tolist()
    if not 0 <= sentence < end - first:
        raise ValueError(
            f"{name}: document {document} of {cluster.name} has no sentence "
            f"{sentence}; they are counted from 0 to {end - first - 1}"
        )
    return int(first + sentence)


def take_whole(growth: Growth, sentence: int) -> None:
    """Add a sentence, or say that it does not fit."""
    pieces, cluster = growth.material.pieces, growth.material.cluster
    own = np.flatnonzero(pieces.sentences == sentence)
    whole = int(own[np.diff(pieces.starts)[own].argmax()])
    growth.measure()
    is_known = growth.budget.count is None  # and not only when it is tried
    is_long = is_known and growth.cost_of(whole) > growth.room
    if is_long or not growth.take(whole, 0.0):
        raise ValueError(
            f"{cluster.name}: the sentences that must be in do not fit the budget of "
            f"{growth.budget.limit:,} {growth.budget.unit}"
        )


def refuse_tight(growth: Growth) -> None:
    """A budget that no sentence or part of one fits is a slip."""
    if growth.gains:
        return
    cluster, budget, shortest = growth.material.cluster, growth.budget, growth.shortest
    if shortest is None:
        raise ValueError(
            f"{cluster.name}: there is nothing to take; never and min_words leave no "
            "sentence"
        )
    if shortest > budget.limit:
        raise ValueError(
            f"{cluster.name}: the shortest piece that can be taken has {shortest:,} "
            f"{budget.unit}, more than the budget of {budget.limit:,}"
        )


def refuse_unknown(material: Material) -> None:
    """Text without a token has nothing to choose by."""
    if not material.grams.types:
        raise ValueError(
            f"{material.cluster.name} has no letter of a-z and no digit: words are "
            "compared as ROUGE does, which knows no others"
        )


def read_budget(
    words: int | None,
    characters: int | None,
    budget: int | None,
    count: Callable[[str], int] | None,
    usual: int,
) -> Budget:
    """The one budget that was named; `usual` words where none was."""
    given = {"words": words, "characters": characters, "budget": budget}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise ValueError(f"pass one of {' and '.join(named)}: one budget is kept")
    if (budget is None) != (count is None):
        missing = "budget, its limit" if budget is None else "count, a function"
        raise ValueError(f"budget and count go together: pass {missing}")
    if count is not None and not callable(count):
        raise TypeError(f"count must be a function of a text, not {shown(count)}")
    if characters is not None:
        return Budget(check_count(characters, "characters", low=1), "characters")
    if budget is not None:
        return Budget(check_count(budget, "budget", low=1), "units", count)
    if words is None:
        words = usual
    return Budget(check_count(words, "words", low=1), "words")
