"""Chunk at a time: problems whose decisions are whole chunks, with features of these.

The paper decides chunks so, and nothing else (section 6.1.5). A chunk has at most six
words here: 99.7 % of the chunks of CoNLL-2000 and 99.0 % of the Spanish entities.
Features met once in training, in a right chunk or a wrong one, are left out.
"""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from argmetric.search import SpanChunking
from argmetric.search._searn._decisions import HashedRows
from argmetric.search._searn._spans import PreparedSpans
from search_parts.data import chunks, gold_of, spanish
from search_parts.searn import BETA, Problem, chunk_f1

LENGTH = 6
_EDGE = ("", "", "", "", "")


def words_of(columns: Any) -> list[tuple[str, ...]]:
    """Of each word: itself in small letters, its tag, shape, suffix and prefix.

    The shape is the tag where there is none.
    """
    found = []
    for i, word in enumerate(columns[0]):
        shape = "".join("A" if c.isupper() else "0" if c.isdigit() else "a" if
                        c.isalpha() else c for c in word[:6])  # fmt: skip
        tag = columns[1][i] if len(columns) > 1 else shape
        found.append((word.lower(), tag, shape, word[-3:], word[:3]))
    return found


def phrase_features(x: Any, start: int, stop: int) -> list[str]:
    """Words and tags of a chunk, pairs of them, both ends, neighbours, all of it."""
    part = x[start:stop]
    words, tags = [t[0] for t in part], [t[1] for t in part]
    first, last, n = part[0], part[-1], len(x)
    before = x[start - 1] if start else _EDGE
    after = x[stop] if stop < n else _EDGE
    second = x[start - 2][1] if start > 1 else ""
    next_tag = x[stop + 1][1] if stop + 1 < n else ""
    around = [before[1], *tags, after[1]]
    size, whole = stop - start, "_".join(tags)
    return [
        *(f"w {word}" for word in words),
        *(f"{i} {tag}" for i, tag in enumerate(tags)),
        *(f"g {a} {b}" for a, b in itertools.pairwise(around)),
        *(f"h {a} {b}" for a, b in itertools.pairwise(words)),
        f"f {first[0]}",
        f"fh {first[2]}",
        f"fs {first[3]}",
        f"fp {first[4]}",
        f"l {last[0]}",
        f"lh {last[2]}",
        f"ls {last[3]}",
        f"lt {last[1]}",
        f"b {before[0]}",
        f"bt {before[1]}",
        f"a {after[0]}",
        f"at {after[1]}",
        f"bf {before[0]} {first[0]}",
        f"la {last[0]} {after[0]}",
        f"bb {second} {before[1]}",
        f"aa {after[1]} {next_tag}",
        f"T {whole}",
        f"TT {before[1]} {whole} {after[1]}",
        f"W {' '.join(words)}",
        f"n {size}",
        f"n {size} {tags[0]}",
    ]


def common(inputs: PreparedSpans) -> PreparedSpans:
    """Without the features that one chunk alone has."""
    rows = inputs.rows
    _, which, times = np.unique(rows.hashes, return_inverse=True, return_counts=True)
    kept = times[which] > 1
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    inputs.rows = HashedRows(ends, rows.hashes[kept], rows.values[kept])
    return inputs


@cache
def phrases(
    name: str,
    n_train: int | None = None,
    n_test: int | None = None,
    keep: Path | None = None,
) -> Problem:
    """Chunks of CoNLL-2000 or Spanish entities; `keep`: a folder for read features."""
    corpus = chunks() if name == "chunk" else spanish()
    train, test = corpus.train[:n_train], corpus.test[:n_test]
    Y = [tuple(s.labels) for s in train]
    types = sorted({label[2:] for y in Y for label in y if label != "O"})

    def task(history: int = 1, whole: bool = False) -> SpanChunking:
        return SpanChunking(types, LENGTH, features=phrase_features, whole=whole)

    def read(part: str, sentences: Any) -> PreparedSpans:
        X = [words_of(s.columns) for s in sentences]
        file = keep and keep / f"{name}-{part}-{len(X)}.npz"
        if file is not None and file.exists():
            return _kept(task(), X, file)
        found = PreparedSpans(task(), X)
        found = common(found) if part == "train" else found
        if file is not None:
            rows = found.rows
            np.savez(file, indptr=rows.indptr, hashes=rows.hashes)
        return found

    return Problem(
        "chunks" if name == "chunk" else "Spanish NER",
        "F1, %",
        task,
        1,
        read("train", train),
        Y,
        read("test", test),
        gold_of(test),
        chunk_f1,
        3,
        0.1,
        {1.0: 3, BETA: 5},
    )


def _kept(task: SpanChunking, X: Any, file: Path) -> PreparedSpans:
    """Inputs whose features, all of value 1, were read before."""
    empty = PreparedSpans(task, [])
    empty.items = X
    lengths = np.array([len(x) for x in X])
    empty.starts = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(lengths.sum()) - np.repeat(empty.starts[:-1], lengths)
    sizes = np.minimum(task.max_length, np.repeat(lengths, lengths) - within)
    empty.firsts = np.concatenate([[0], np.cumsum(sizes)])
    with np.load(file) as stored:
        indptr, hashes = stored["indptr"], stored["hashes"]
    empty.rows = HashedRows(indptr, hashes, np.ones(hashes.size))
    return empty
