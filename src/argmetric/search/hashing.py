"""Hashed features of words, and their weights: what every house of text does alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from argmetric._ground.archives import Arrays
from argmetric._ground.types import Integers, SingleFloats

_CACHED = 1_000_000  # values of a column whose attributes are kept


def word_shape(word: str) -> str:
    """Shape of a word with runs shortened: "EFE-1999" is "X-d"."""
    kinds = [
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        for c in word
    ]
    return "".join(kinds[:1] + [b for a, b in pairwise(kinds) if a != b])


def _case(value: str) -> str:
    if value.isupper():
        return "A." if value.endswith(".") else "A" if len(value) == 1 else "AA"
    if value[:1].isupper():
        return "Aa" if value[1:].islower() else "AaA"
    if any(c.isdigit() for c in value):
        return "0" if value.isdigit() else "0x"
    return "a" if value.isalpha() else "-" if not value.isalnum() else "ax"


_MAKERS: dict[str, Callable[[str], str]] = {
    "w": str,
    "pos": str,
    "lower": str.lower,
    "norm": lambda x: "".join("0" if c.isdigit() else c for c in x.lower()),
    "shape": word_shape,
    "case": _case,
}


def attribute_maker(attribute: str) -> Callable[[str], str | None]:
    """How an attribute is made of a value; None where the value has none."""
    if attribute in _MAKERS:
        return _MAKERS[attribute]
    if attribute.startswith("column"):
        return str
    size = int("".join(c for c in attribute if c.isdigit()))
    if attribute.startswith("suffix"):
        return lambda value: value[-size:] if len(value) > size else None
    if attribute.startswith("prefix"):
        return lambda value: value[:size] if len(value) > size else None
    return lambda value: value[:size]


class Column:
    """Attributes of the values of one column, each value looked at once."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self._makers = [attribute_maker(attribute) for attribute in attributes]
        self._numbers: dict[str, int] = {}
        self._table = np.empty((0, len(self._makers)), dtype=np.uint32)

    def codes(self, values: Sequence[str]) -> npt.NDArray[np.uint32]:
        """One row of attribute codes for each value."""
        numbers = self._numbers
        if len(numbers) > _CACHED:
            numbers.clear()
            self._table = self._table[:0]
        new = list(set(values).difference(numbers))
        if new:
            first = len(numbers)
            numbers.update({value: first + i for i, value in enumerate(new)})
            table = np.empty((len(new), len(self._makers)), dtype=np.uint32)
            for j, make in enumerate(self._makers):
                made = [make(value) for value in new]  # 32 bits of each, never zero
                table[:, j] = [
                    0 if x is None else crc32(x.encode("utf-8", "surrogatepass")) or 1
                    for x in made
                ]
            self._table = np.concatenate([self._table, table])
        found = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
        return self._table[found]


def one_a_line(table: str) -> str:
    """A table with one template a line, from one that has several between blanks."""
    lines = (
        line if line[:1] == "#" else line.replace(" ", "\n")
        for line in table.split("\n")
    )
    return "\n".join(lines)


def template_texts(table: str | Iterable[str]) -> Iterator[tuple[int, str]]:
    """Templates of a table, and their lines: one a line, or a list of them.

    Blanks and what stands behind ``#`` are left out.
    """
    lines = table.splitlines() if isinstance(table, str) else list(table)
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, str):
            raise ValueError(f"template {number} must be text, not {line!r}")
        text = "".join(line.partition("#")[0].split())
        if text:
            yield number, text


def salt_of(text: str) -> int:
    """64 bits that tell a template from the others."""
    data = text.encode()
    return crc32(data) << 32 | crc32(data[::-1])


def reversal(sentences: Integers) -> Integers:
    """Token numbers in the order of the reversed sentences."""
    lengths = np.diff(sentences)
    ends = np.repeat(sentences[1:] - 1, lengths)
    starts = np.repeat(sentences[:-1], lengths)
    return ends - (np.arange(len(ends)) - starts)


def rounded(weights: SingleFloats) -> SingleFloats:
    """Weights to the precision of half floats, in which a file holds them.

    The error, a part in 2000, is far below that of learning; a file is half as large.
    """
    with np.errstate(over="ignore"):
        half = weights.astype(np.float16)
    return half.astype(np.float32) if np.isfinite(half).all() else weights


def sparse(name: str, weights: npt.NDArray[np.floating[Any]]) -> Arrays:
    """Which weights are not zero, one bit each, and these, as half floats if exact."""
    values: npt.NDArray[Any] = weights[weights != 0]
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if np.array_equal(halves.astype(weights.dtype), values):
        values = halves
    return {f"{name}_places": np.packbits(weights != 0), f"{name}_weights": values}


def dense(name: str, arrays: Arrays, n: int, dtype: Any = np.float32) -> Any:
    weights = np.zeros(n, dtype=dtype)
    places = np.unpackbits(arrays[f"{name}_places"], count=n).view(np.bool_)
    weights[places] = arrays[f"{name}_weights"]
    return weights
