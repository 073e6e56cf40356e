"""The parser of compressed summaries, and the negations of the sources by its trees."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from argmetric.search._summaries._cluster import Cluster, read_cluster
from argmetric.search._summaries._pieces import cut
from trees_parts.data import read

from argmetric.search import Parser, Summary, Tagger
from summaries_parts.data import clusters

# fmt: off
NEGATIONS = frozenset((
    "not", "n't", "never", "no", "nor", "neither", "none", "nothing", "nobody",
    "nowhere", "without", "hardly", "scarcely", "barely", "seldom", "rarely",
))
# fmt: on


@cache
def parser(*, quick: bool) -> Parser:
    """Learned from deptb with predicted tags; kept in a file, which may be deleted."""
    path = parser_file(quick=quick)
    if not path.exists():
        trees = read("train", 100 if quick else None)
        fitted = Parser().fit(trees, tagger=Tagger("pos"))
        part = path.with_suffix(f".{os.getpid()}")
        fitted.save(part)
        part.replace(path)
    return Parser.load(path)


def parser_file(*, quick: bool) -> Path:
    folder = Path(tempfile.gettempdir()) / "argmetric-summaries"
    folder.mkdir(exist_ok=True)
    return folder / ("quick.parser" if quick else "deptb.parser")


def negations(
    name: str, summaries: Sequence[Summary], *, quick: bool
) -> tuple[int, int]:
    """Negations with a kept head, and how many of them were dropped."""
    kept_heads, dropped = 0, 0
    for pairs, summary in zip(_negated(name, quick=quick), summaries, strict=True):
        has_head = summary.is_kept[pairs[:, 1]]
        kept_heads += int(has_head.sum())
        dropped += int((has_head & ~summary.is_kept[pairs[:, 0]]).sum())
    return kept_heads, dropped


@cache
def _negated(name: str, *, quick: bool) -> list[np.ndarray]:
    """Words (negation, head) of every judged cluster."""
    own = clusters(name, quick=quick)
    read_in = [read_cluster(own.documents[i], "cluster") for i in own.judged]
    return [_pairs(cluster, parser(quick=quick)) for cluster in read_in]


def _pairs(cluster: Cluster, parsed_by: Parser) -> np.ndarray:
    pieces = [cut(word) for word in cluster.words]
    sentences = [
        list(chain.from_iterable(pieces[a:b]))
        for a, b in pairwise(cluster.sentence_starts.tolist())
    ]
    heads = parsed_by.predict(sentences)
    sizes = np.array([len(own) for own in pieces])
    word = np.repeat(np.arange(sizes.size), sizes)
    starts = np.repeat(
        np.cumsum([0, *map(len, sentences[:-1])]), [len(own) for own in sentences]
    )
    head = np.concatenate(heads)
    flat = chain.from_iterable(sentences)
    negates = np.array([piece.lower() in NEGATIONS for piece in flat]) & (head > 0)
    return np.stack([word, word[starts + head - 1]], axis=1)[negates]
