"""From columns of text to rows of features; Python runs once per word type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Integers
from argmetric._text.hashing import Column, reversal
from argmetric._text.kernels.tagging_layout import FeatureRows
from argmetric._text.tagging.templates import (
    MEMORY,
    Compiled,
    Template,
    column_of,
    compile_templates,
)

Memory = Literal["none", "past", "both"]
_WINDOW = 2000


class Extractor:
    """Features of texts by the templates of each tier, hashed to 2**hash_bits rows."""

    def __init__(self, tables: Sequence[Sequence[Template]], hash_bits: int) -> None:
        self.hash_bits = hash_bits
        names = {n: None for t in tables for x in t for n, _ in x.parts}
        self._columns: dict[int, list[str]] = {}
        for name in names:
            column = column_of(name)
            if column is not None:
                self._columns.setdefault(column, []).append(name)
        order = [name for group in self._columns.values() for name in group]
        self.uses_memory = MEMORY in names
        if self.uses_memory:
            order.append(MEMORY)
        self._makers = {c: Column(group) for c, group in self._columns.items()}
        self._static = compile_templates(
            [[x for x in t if not x.labels] for t in tables], order
        )
        self._history = compile_templates(
            [[x for x in t if x.labels] for t in tables], order
        )

    @property
    def n_columns(self) -> int:
        """How many columns of text the templates need."""
        return max(self._columns, default=0) + 1

    def attributes(
        self, columns: Sequence[Sequence[str]], n_tokens: int
    ) -> npt.NDArray[np.uint32]:
        """Codes of the attributes of every token, the memory's column last."""
        if n_tokens == 0:  # of no token, nobody knows how many columns it has
            columns = [()] * self.n_columns
        blocks = [self._makers[c].codes(columns[c]) for c in self._columns]
        memory = np.zeros((n_tokens, int(self.uses_memory)), dtype=np.uint32)
        return np.concatenate([*blocks, memory], axis=1)

    def rows(
        self, attributes: npt.NDArray[np.uint32], sentences: Integers
    ) -> FeatureRows:
        """Features of the tokens of all sentences, laid end to end."""
        from argmetric._text.kernels.tagging_features import hash_halves

        found = hashed_rows(attributes, sentences, self._static, self.hash_bits)
        shape = len(found.indptr) - 1, self._history.widest
        halves = np.zeros(shape, dtype=np.uint64)
        hash_halves(attributes, sentences, tuple(self._history), halves)
        return found._replace(halves=halves)


def hashed_rows(
    attributes: npt.NDArray[np.uint32],
    sentences: Integers,
    templates: Compiled,
    hash_bits: int,
) -> FeatureRows:
    """Static features of every decision, hashed to 2**hash_bits rows."""
    from argmetric._text.kernels.tagging_features import hash_rows

    n, n_tiers = int(sentences[-1]), len(templates.tiers) - 1
    indptr = np.zeros(n * n_tiers + 1, dtype=np.int64)
    indices = np.empty(n * len(templates.salts), dtype=np.int32)
    shift = np.uint64(64 - hash_bits)
    used = hash_rows(attributes, sentences, tuple(templates), shift, indptr, indices)
    nothing = np.empty(0, np.float32), np.empty((n * n_tiers, 0), np.uint64)
    return FeatureRows(indptr, indices[:used], *nothing, sentences * n_tiers)


@dataclass(frozen=True, eq=False)
class TextSource:
    """Attributes of the tokens of sentences, read in either direction."""

    extractor: Extractor
    attributes: npt.NDArray[np.uint32]
    sentences: Integers

    def rows(self, *, reverse: bool = False) -> FeatureRows:
        found = self.attributes
        if reverse:
            found = found[reversal(self.sentences)]
        return self.extractor.rows(found, self.sentences)

    def with_memory(self, memory: npt.NDArray[np.uint32]) -> TextSource:
        """These attributes, with the memory's column filled in."""
        attributes = self.attributes.copy()
        attributes[:, -1] = memory
        return TextSource(self.extractor, attributes, self.sentences)


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """Decisions that are given as the rows of a CSR matrix."""

    X: Any
    sentences: Integers
    salts: npt.NDArray[np.uint64]

    def rows(self, *, reverse: bool = False) -> FeatureRows:
        X = self.X[reversal(self.sentences)] if reverse else self.X
        ones = bool((X.data == 1).all())
        values = np.empty(0, np.float32) if ones else X.data.astype(np.float32)
        shape = X.shape[0], len(self.salts)
        return FeatureRows(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32),
            values,
            np.ascontiguousarray(np.broadcast_to(self.salts, shape)),
            self.sentences,
        )


Source = TextSource | MatrixSource


def history_salts(templates: Sequence[Template]) -> npt.NDArray[np.uint64]:
    """The constant halves of templates that read nothing but labels."""
    for template in templates:
        if template.parts or not template.labels:
            raise ValueError(
                f"template {template.text!r}: beside a matrix there are templates of "
                "labels only, such as 't[-1]|t[-2]'"
            )
    return compile_templates([templates], []).salts | np.uint64(1)


def word_numbers(words: Sequence[str]) -> Integers:
    """A number for each lower-cased word."""
    lower = {word: word.lower() for word in set(words)}
    numbers: dict[str, int] = {}
    number = {w: numbers.setdefault(low, len(numbers)) for w, low in lower.items()}
    return np.fromiter(map(number.__getitem__, words), np.int64, len(words))


def memory_of(
    words: Integers,
    labels: Integers,
    sentences: Integers,
    n_labels: int,
    memory: Memory,
) -> npt.NDArray[np.uint32]:
    """1 + the majority label of the same word in other sentences near by; 0 for none.

    Sentences at most 2000 tokens away count: on both sides, or the earlier ones only.
    """
    from argmetric._text.kernels.tagging_features import remembered

    owners = np.repeat(np.arange(len(sentences) - 1), np.diff(sentences))
    found = np.zeros(len(words), dtype=np.uint32)
    order = np.argsort(words, kind="stable")
    remembered(words, order, owners, labels, n_labels, _WINDOW, memory == "past", found)
    return found
