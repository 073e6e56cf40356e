"""One look at all scores of a vector: what a file adds to it, in any order of rows."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from argmetric._calibrate import calibrated_scores
from argmetric._expected import carry, sums_in_bins
from argmetric._files import DataError
from argmetric._input.types import Floats, Integers
from argmetric._input.validation import check_scores
from argmetric.scale._columns import Used
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._pieces import Piece, batches_of_piece
from argmetric.scale._sources import Source
from argmetric.scale._tasks import Found

MOST_DISTINCT = 1 << 22  # values near the cut that are held at once


@dataclass(frozen=True)
class Reading:
    """How scores of files become probabilities."""

    used: Used
    calibrator: Any = None

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities from checked scores as they are in a file."""
        p = self.used.in_range(scores)
        if self.calibrator is None:
            return p
        p = calibrated_scores(self.calibrator, p, logits=self.used.logits)
        return check_scores(p, "p after calibration", logits=self.used.logits)


class Collector(Protocol):
    """What is wanted of the probabilities of a piece."""

    def collect(self, batches: Iterator[Floats]) -> Found:
        """What it is, as plain values; their order does not matter."""


@dataclass(frozen=True)
class ScanTask:
    """A piece, how it is read, and what is wanted of it."""

    piece: Piece
    reading: Reading
    collector: Collector

    @property
    def source(self) -> Source | None:
        return self.piece.source


def scan(task: ScanTask) -> Found:
    """Read a piece; found: its rows, and what was wanted."""
    counted, ends = Tally(), [np.inf, -np.inf]

    def batches() -> Iterator[Floats]:
        nonlocal counted
        for rows, scores in batches_of_piece(task.piece, task.reading.used):
            counted += tally(rows, scores)
            if scores.size:
                ends[:] = min(ends[0], scores.min()), max(ends[1], scores.max())
            yield task.reading.probabilities(scores)

    found = task.collector.collect(batches())
    return {
        **found,
        **vars(counted),
        "ends": [float(end) for end in ends],
    }


@dataclass(frozen=True)
class InBins:
    """Exact sums within bins, how many are not 0, and the smallest."""

    low: float
    scale: float
    bins: int

    def collect(self, batches: Iterator[Floats]) -> Found:
        sums = sums_in_bins(np.empty(0), self.low, self.scale, self.bins)
        possible, smallest = 0, np.inf
        for p in batches:
            sums += sums_in_bins(p, self.low, self.scale, self.bins)
            carry(sums)
            possible += int(np.count_nonzero(p))
            smallest = min(smallest, p.min(initial=np.inf))
        return {"sums": packed(sums), "possible": possible, "smallest": float(smallest)}


@dataclass(frozen=True)
class Counted:
    """Distinct values with low ≤ p < high, their numbers, and the largest below."""

    low: float
    high: float

    def collect(self, batches: Iterator[Floats]) -> Found:
        parts, size, below = [counts_of(np.empty(0))], 0, -np.inf
        for p in batches:
            parts.append(counts_of(p[(p >= self.low) & (p < self.high)]))
            size += parts[-1][0].size
            below = max(below, p[p < self.low].max(initial=-np.inf))
            if size > MOST_DISTINCT:
                parts = [merged(parts)]
                size = parts[0][0].size
            if size > MOST_DISTINCT:
                raise DataError(
                    f"more than {MOST_DISTINCT:,} distinct scores are as good a cut as "
                    "the best one: round them, or decide in memory"
                )
        values, counts = merged(parts)
        return {
            "values": packed(values),
            "counts": packed(counts),
            "below": float(below),
        }


@dataclass(frozen=True)
class Ties:
    """How many are above a score, and how many share it."""

    at: float

    def collect(self, batches: Iterator[Floats]) -> Found:
        above = tied = 0
        for p in batches:
            above += int(np.count_nonzero(p > self.at))
            tied += int(np.count_nonzero(p == self.at))
        return {"above": above, "tied": tied}


def counts_of(values: Floats) -> tuple[Floats, Integers]:
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts


def merged(parts: list[tuple[Floats, Integers]]) -> tuple[Floats, Integers]:
    """Distinct values of all parts in ascending order, and their numbers."""
    values, place = np.unique(
        np.concatenate([values for values, _ in parts]), return_inverse=True
    )
    counts = np.zeros(values.size, dtype=np.int64)
    np.add.at(counts, place, np.concatenate([counts for _, counts in parts]))
    return values, counts


def packed(array: Any) -> str:
    """An array as text; its type is known to who unpacks it."""
    return base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()


def unpacked(text: str, kind: type) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)
