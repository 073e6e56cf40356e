"""What goes in comes out: rows counted, and a sum over them that has no order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from argmetric._files import DataError
from argmetric._input.types import Booleans, Floats, Hashes, Integers

_WORD = (1 << 64) - 1
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xBF58476D1CE4E5B9)
_THIRD = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Tally:
    """How many rows there are, and the sum of the hashes of (row, score) mod 2^64."""

    rows: int = 0
    checksum: int = 0

    def __add__(self, other: Self) -> Tally:
        total = (self.checksum + other.checksum) & _WORD
        return Tally(self.rows + other.rows, total)


def tally(rows: Integers, scores: Floats) -> Tally:
    """Tally of rows, given by their numbers in the file, with their scores."""
    with np.errstate(over="ignore"):
        word = scores.view(np.uint64) ^ _spread(rows)
        total = mixed(word).sum(dtype=np.uint64)
    return Tally(rows.size, int(total))


def tally_of(rows: Integers, values: Floats, positive: Booleans) -> Tally:
    """Tally of rows of several values and a label, each as one number."""
    factors = np.arange(1, 2 * values.shape[1] + 2, 2, dtype=np.uint64) * _SECOND
    with np.errstate(over="ignore"):
        words = values.view(np.uint64) @ factors[:-1] + positive * factors[-1]
    return tally(rows, words.view(np.float64))


def tickets(rows: Integers) -> Hashes:
    """A number for each row that no other has, without any order: a lottery."""
    with np.errstate(over="ignore"):
        return mixed(_spread(rows))


def _spread(rows: Integers) -> Hashes:
    return rows.view(np.uint64) * _FIRST + _SECOND


def mixed(word: Hashes) -> Hashes:
    """Every bit of a word spread over all others (the finish of splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * _SECOND
    word = (word ^ (word >> np.uint64(27))) * _THIRD
    return word ^ (word >> np.uint64(31))


def require_same(stage: str, file: str, before: Tally, after: Tally) -> None:
    """Refuse to go on where a stage has lost, doubled or changed rows of a file."""
    if before == after:
        return
    if before.rows != after.rows:
        what = f"{before.rows:,} rows went in and {after.rows:,} came out"
    else:
        what = "rows came out with other scores than they went in with"
    raise DataError(f"{stage}: {file}: {what}; nothing was written")


def require_read(stage: str, file: str, there: Tally, read: Tally) -> None:
    """Refuse to go on where a look has not seen all rows of a file, as they were."""
    if there.rows != read.rows:
        raise DataError(
            f"{stage}: {file}: {there.rows:,} rows were there and {read.rows:,} were "
            "read"
        )
    if there != read:
        raise DataError(f"{stage}: {file}: rows have other values than a look before")


def require_all(stage: str, rows: int, added: int) -> None:
    """Refuse to go on where rows were read that have not come to the result."""
    if rows != added:
        raise DataError(f"{stage}: {rows:,} rows were read and {added:,} are counted")
