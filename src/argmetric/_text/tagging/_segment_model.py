"""A learned chunker that decides chunks whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Integers
from argmetric._text.common import RollIn, gold_share
from argmetric._text.corpus.labels import Labels, roles_and_kinds
from argmetric._text.hashing import Column, rounded
from argmetric._text.kernels.tagging_layout import SpanPlan
from argmetric._text.tagging._codec import Codec
from argmetric._text.tagging._corpus import Corpus
from argmetric._text.tagging._segment_templates import read_span_templates
from argmetric._text.tagging.templates import column_of

_PASS = 2_000  # sentences between two looks at the keyboard
_FIRST_SQUARE = 0.01


@dataclass(frozen=True, eq=False)
class SegmentModel:
    """Codec, templates and weights of a chunker."""

    codec: Codec
    table: tuple[str, ...]
    hash_bits: int
    max_length: int
    weights: npt.NDArray[np.float32]

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec, as the one tier of labels."""
        return (self.codec,)

    @cached_property
    def types(self) -> list[str]:
        """Types of chunks."""
        return sorted({label[2:] for label in self.codec.labels if label != "O"})

    @property
    def n_actions(self) -> int:
        """Types, and outside."""
        return len(self.types) + 1

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.n_actions << self.hash_bits

    @cached_property
    def _templates(self) -> tuple[SpanPlan, list[tuple[int, Column]]]:
        plan, names = read_span_templates(self.table, self.hash_bits)
        return plan, [(column_of(name) or 0, Column([name])) for name in names]

    @property
    def plan(self) -> tuple[Any, ...]:
        """Templates as the kernels take them."""
        return tuple(self._templates[0])

    def text(self, corpus: Corpus) -> npt.NDArray[np.uint32]:
        """Attributes of every token."""
        parts = [np.empty((corpus.n_tokens, 0), dtype=np.uint32)]
        for number, column in self._templates[1] if corpus.n_tokens else ():
            if number >= len(corpus.columns):
                raise ValueError(
                    f"the templates read {number + 1} columns (words first), but the "
                    f"tokens have {len(corpus.columns)}"
                )
            parts.append(column.codes(corpus.columns[number]))
        if len(parts) == 1:
            n = len(self._templates[1])
            return np.zeros((corpus.n_tokens, n), dtype=np.uint32)
        return np.concatenate(parts, axis=1)

    def numbers(self, corpus: Corpus, width: int) -> Integers:
        """Numbers of the labels of all tokens."""
        from argmetric._text.kernels.tagging_segments import search

        starts = np.full(corpus.n_tokens, -1, dtype=np.int64)
        search(
            self.text(corpus),
            corpus.sentences,
            self.plan,
            self.weights,
            self.n_actions,
            self.max_length,
            width,
            starts,
            np.empty(len(corpus.sentences) - 1),
        )
        labels = _labels(starts, self.types, self.codec.labels)
        documents = corpus.sentences[:-1][corpus.documents]
        labels[documents] = self.codec.labels.index("O")
        return labels


@dataclass(frozen=True)
class SegmentRecipe:
    """How a chunker is learned."""

    roll_in: RollIn
    epochs: int
    step: float
    dropout: float
    random_state: int


def learn_segments(
    model: SegmentModel,
    corpus: Corpus,
    numbers: Integers,
    recipe: SegmentRecipe,
    listen: Callable[[dict[str, Any]], None],
    score: Callable[[SegmentModel], float] | None = None,
) -> tuple[SegmentModel, bool]:
    """Learn weights; an interrupt keeps what is learned. Returns model, interrupted.

    With `score`, the weights of the epoch with the highest score are kept.
    """
    from argmetric._text.kernels.tagging_segments import train

    K = model.n_actions
    gold = _starts(model.types, model.codec.labels, numbers, corpus.sentences)
    text = model.text(corpus)
    weights, sums = np.zeros((2, model.size), dtype=np.float32)
    squares = np.full(model.size, _FIRST_SQUARE, dtype=np.float32)
    state = np.array([recipe.random_state], dtype=np.uint64)
    rng = np.random.default_rng(recipe.random_state)
    growth = 1.0 / corpus.n_tokens / max(recipe.epochs - 1, 1)
    when, interrupted = 0.0, False
    best: tuple[float, SegmentModel] | None = None

    def learned() -> SegmentModel:
        average = weights - sums / np.float32(when) if when > 0.0 else weights
        return replace(model, weights=rounded(average))

    try:
        for epoch in range(recipe.epochs):
            averaged = epoch >= 1 or recipe.epochs == 1
            share = gold_share(recipe.roll_in, epoch)
            settings = recipe.step, recipe.dropout, share, growth if averaged else 0.0
            order = rng.permutation(len(corpus.sentences) - 1)
            wrong = total = 0
            for first in range(0, len(order), _PASS):
                found = train(
                    text,
                    corpus.sentences,
                    model.plan,
                    settings,
                    gold,
                    order[first : first + _PASS],
                    (weights, squares, sums),
                    when,
                    state,
                    K,
                    model.max_length,
                )
                wrong, total, when = wrong + found[0], total + found[1], found[2]
            row = {"epoch": epoch + 1, "error": wrong / max(total, 1)}
            if score is not None:
                now = learned()
                row["score"] = score(now)
                if best is None or row["score"] > best[0]:
                    best = row["score"], now
            listen(row)
    except KeyboardInterrupt:
        if not weights.any():
            raise
        interrupted = True
    return learned() if best is None else best[1], interrupted


def _starts(
    types: Sequence[str], labels: Sequence[str], numbers: Integers, sentences: Integers
) -> Integers:
    """Code each start of a chunk as length * K + type, other tokens as -1."""
    K = len(types) + 1
    roles, kinds = roles_and_kinds(labels, {name: n for n, name in enumerate(types)})
    chunks = Labels(roles[numbers], kinds[numbers], sentences).chunks()
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[chunks.start] = (chunks.stop - chunks.start) * K + chunks.kind
    return found


def _labels(starts: Integers, types: Sequence[str], labels: Sequence[str]) -> Integers:
    """Labels of IOB2 of decided chunks."""
    K = len(types) + 1
    number = {label: n for n, label in enumerate(labels)}
    outside = number["O"]
    begins = np.array([number[f"B-{t}"] for t in types] + [outside])
    inside = np.array([number.get(f"I-{t}", outside) for t in types] + [outside])
    decided = np.flatnonzero(starts >= 0)
    kinds, lengths = starts[decided] % K, starts[decided] // K
    found = np.repeat(inside[kinds], lengths)
    found[decided] = begins[kinds]
    return found
