"""Sentences that users name by document and number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argmetric._arguments import check_items, shown
from argmetric.search._summaries._cluster import Cluster


def numbers_of(given: Any, clusters: Sequence[Cluster], name: str) -> list[list[int]]:
    """Numbers of sentences from pairs (document, sentence), for each cluster."""
    if given is None:
        return [[] for _ in clusters]
    wanted = "a list for each cluster of pairs (document, sentence)"
    items = check_items(given, name, wanted)
    if len(items) != len(clusters):
        raise ValueError(
            f"{name} is {wanted}: {len(items)} lists for {len(clusters)} clusters"
        )
    return [
        [
            _number(pair, cluster, name)
            for pair in check_items(own if own is not None else [], name, wanted)
        ]
        for own, cluster in zip(items, clusters, strict=True)
    ]


def _number(pair: Any, cluster: Cluster, name: str) -> int:
    try:
        document, sentence = map(int, pair)
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
