"""One vector that is larger than memory: a few looks at all scores, and no sort."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.resolve import calibrated_scores, calibration_note
from argmetric._expected import (
    FIRST_BINS,
    Array,
    BestCount,
    Items,
    RankedItems,
    carry,
    sums_in_bins,
)
from argmetric._ground.limits import Limits
from argmetric._ground.odds import logit
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import check_scores
from argmetric._verbs.decide import cut_between, decide_items, error_note, tie_note
from argmetric.metrics import Metric
from argmetric.scale._columns import UsedColumns
from argmetric.scale._pieces import Piece, PieceReader
from argmetric.scale._run import PieceTuple, Run, n_rows, task_of
from argmetric.scale._tasks import Found, Tally, require_same
from argmetric.scale.files import DataError, marked

SCORES_SORTED_HERE = 1 << 21  # scores near the cut that are looked at in this process
MOST_DISTINCT = 1 << 22  # values near the cut that are held at once
MOST_COUNTS = 1 << 23  # numbers of positives that are looked at one by one


@dataclass(frozen=True)
class Reading:
    """How scores of files become probabilities."""

    columns: UsedColumns
    calibrator: Any = None
    least: float | None = None  # score as it is in a file below which rows are left out

    def probabilities(self, scores: Floats) -> Floats:
        """Probabilities from checked scores as they are in a file."""
        p = self.columns.in_range(scores)
        if self.least is not None:
            p = p[p >= self.least]
        if self.calibrator is None:
            return p
        p = calibrated_scores(self.calibrator, p, logits=self.columns.logits)
        return check_scores(p, "p after calibration", logits=self.columns.logits)


@dataclass(frozen=True)
class VectorCut:
    """Which rows of a vector are chosen."""

    reading: Reading
    threshold: float | None  # `p >= threshold` are chosen; None where a tie is split
    tied: float  # the score of that tie: all above it are chosen
    quota: int  # how many of those that share it are chosen, the first in order

    def labels(self, scores: Floats) -> tuple[npt.NDArray[np.int8], VectorCut]:
        """Labels of the next rows, and the cut for those that follow."""
        p = self.reading.probabilities(scores)
        if self.threshold is not None:
            return (p >= self.threshold).astype(np.int8), self
        labels = (p > self.tied).astype(np.int8)
        first = np.flatnonzero(p == self.tied)[: self.quota]
        labels[first] = 1
        return labels, replace(self, quota=self.quota - first.size)


@dataclass(frozen=True)
class VectorFound:
    """The best cut of a vector, and what a decision tells besides."""

    choice: BestCount
    cut: VectorCut
    quotas: tuple[int, ...]  # of the pieces in order
    tallies: tuple[Tally, ...]
    n_passes: int
    notes: tuple[str, ...]

    def found(self) -> Found:
        """What a bucket that was decided tells."""
        return {
            "groups": 1,
            "positives": self.choice.best,
            "expected": self.choice.expected,
            "expected_defined": 1,
            "error": self.choice.error,
            "half": self.choice.at_half,
            "half_positives": self.choice.n_half,
            "likely": True,
            "threshold": self.cut.threshold,
            "notes": list(self.notes),
        }


class PieceItems(Items):
    """Probabilities in files; every question about them is a look at all of them."""

    def __init__(
        self, run: Run, name: str, pieces: PieceTuple, reading: Reading
    ) -> None:
        self.run, self.pieces, self.reading = run, pieces, reading
        self.name = name
        self.size = n_rows(pieces)
        self.n_passes = 0
        self.tallies: tuple[Tally, ...] = ()
        self._first: list[Found] = []
        self._known: dict[tuple[float, float, int], Integers] = {}
        self._half: PieceItems | None = None

    def look(self, stage: str, collect: Collect) -> list[Found]:
        """What every piece answers, all rows of each of them read."""
        folder = self.run.places.made("passes", self.name, f"{self.n_passes:02d}")
        work = partial(scan, reading=self.reading, collect=collect)
        tasks = [task_of(work, piece, folder) for piece in self.pieces]
        results = self.run.stage(stage, tasks)
        self.n_passes += 1
        tallies = tuple(Tally(found["rows"], found["checksum"]) for found in results)
        before = self.tallies or tuple(
            Tally(piece.rows, one.checksum)
            for piece, one in zip(self.pieces, tallies, strict=True)
        )
        for piece, old, new in zip(self.pieces, before, tallies, strict=True):
            require_same(stage, piece.path, old, new)
        self.tallies = tallies
        return results

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        if (low, scale, bins) in self._known:
            return self._known[low, scale, bins]
        results = self.look("scan", partial(sums_of, low=low, scale=scale, bins=bins))
        self._first = self._first or results
        total = sums_in_bins(np.empty(0), low, scale, bins)
        for found in results:
            total += unpacked(found["sums"], np.int64).reshape(total.shape)
            carry(total)
        self._known = {(low, scale, bins): total}
        return total

    def within(self, low: float, high: float, count: int) -> Items:
        if count > SCORES_SORTED_HERE:
            return self  # sums leave out what is outside of their bins
        return Array(self.counted(low, high, count).part(0, count))

    def counted(self, low: float, high: float, count: int) -> RankedItems:
        results = self.look("narrow", partial(counts_within, low=low, high=high))
        parts = [
            (unpacked(found["values"], float), unpacked(found["counts"], np.int64))
            for found in results
        ]
        return RankedItems.of(*merged(parts))

    def largest_below(self, edge: float) -> float:
        results = self.look("narrow", partial(counts_within, low=edge, high=edge))
        return max(float(found["below"]) for found in results)

    def smallest(self) -> float:
        return min(float(found["smallest"]) for found in self._first)

    def n_possible(self) -> int:
        if not self._first:
            self.sums(*FIRST_BINS)
        return sum(int(found["possible"]) for found in self._first)

    def from_half(self) -> PieceItems | None:
        if self.reading.calibrator is None:
            return None
        given = replace(self.reading, least=0.5)
        self._half = PieceItems(self.run, f"{self.name}-half", self.pieces, given)
        return self._half

    def ends(self) -> tuple[float, float]:
        """The smallest and the largest score as they are in the files."""
        low, high = zip(*(found["ends"] for found in self._first), strict=True)
        return min(low), max(high)


def decide_vector(
    run: Run,
    name: str,
    pieces: PieceTuple,
    reading: Reading,
    metric: Metric,
    limits: Limits,
) -> VectorFound:
    """The best cut of all rows of some pieces."""
    items = PieceItems(run, name, pieces, reading)
    if reading.columns.logits:
        raise _too_many(items, "logits cannot be decided in pieces", "probabilities")
    choice = decide_items(items, metric, limits, most=MOST_COUNTS)
    if choice is None:
        why = f"{metric.name} with these limits and scores takes all of them at once"
        raise _too_many(items, why, "another metric, or no floors")
    calibrator = reading.calibrator
    threshold = cut_between(choice.upper, choice.lower)
    if threshold is None and calibrator is not None:
        ends = logit(np.array(items.ends())).tolist()
        if not calibrator.keeps_apart(*ends):
            # in memory the higher score before the map goes first
            raise _too_many(items, "the calibrator makes ties", "a map without steps")
    cut = VectorCut(reading, threshold, choice.lower, 0)
    quotas, notes = tuple(0 for _ in pieces), []
    if calibrator is not None:
        notes.append(f"{calibration_note(calibrator)}; thresholds refer to these")
    if threshold is None:
        results = items.look("ties", partial(ties_at, at=choice.lower))
        left = choice.best - sum(found["above"] for found in results)
        cut = replace(cut, quota=left)
        before = np.cumsum([0, *(found["tied"] for found in results)])
        quotas = tuple(np.diff(np.minimum(before, left)).tolist())
        tied = int(before[-1])
        notes.append(tie_note(tied, choice.lower, "the first in order"))
    notes += error_note(choice.error)
    tallies, passes = items.tallies, items.n_passes
    passes += 0 if items._half is None else items._half.n_passes
    return VectorFound(choice, cut, quotas, tallies, passes, tuple(notes))


def _too_many(items: Items, why: str, instead: str) -> DataError:
    return DataError(
        f"{items.size:,} rows have to be decided at once, more than memory allows: "
        f"{why}; raise {marked('memory')}, take fewer workers, or take {instead}"
    )


# -- one look at all scores: what a piece adds, in any order of its rows -------------

Collect = Callable[[Iterator[Floats]], Found]


def scan(piece: Piece, reading: Reading, collect: Collect) -> Found:
    """Read a piece; found: its rows, and what is wanted of their probabilities."""
    reader, ends = PieceReader(piece, reading.columns), [np.inf, -np.inf]

    def batches() -> Iterator[Floats]:
        for batch in reader:
            scores = batch.values
            if scores.size:
                ends[:] = min(ends[0], scores.min()), max(ends[1], scores.max())
            yield reading.probabilities(scores)

    found = collect(batches())
    return {**found, **vars(reader.read), "ends": [float(end) for end in ends]}


def sums_of(batches: Iterator[Floats], low: float, scale: float, bins: int) -> Found:
    """Exact sums within bins, how many are not 0, and the smallest."""
    sums = sums_in_bins(np.empty(0), low, scale, bins)
    possible, smallest = 0, np.inf
    for p in batches:
        sums += sums_in_bins(p, low, scale, bins)
        carry(sums)
        possible += int(np.count_nonzero(p))
        smallest = min(smallest, p.min(initial=np.inf))
    return {"sums": packed(sums), "possible": possible, "smallest": float(smallest)}


def counts_within(batches: Iterator[Floats], low: float, high: float) -> Found:
    """Distinct values with low ≤ p < high, their numbers, and the largest below."""
    parts, size, below = [counts_of(np.empty(0))], 0, -np.inf
    for p in batches:
        parts.append(counts_of(p[(p >= low) & (p < high)]))
        size += parts[-1][0].size
        below = max(below, p[p < low].max(initial=-np.inf))
        if size > MOST_DISTINCT:
            parts = [merged(parts)]
            size = parts[0][0].size
        if size > MOST_DISTINCT:
            raise DataError(
                f"more than {MOST_DISTINCT:,} distinct scores are as good a cut as "
                "the best one: round them, or decide in memory"
            )
    values, counts = merged(parts)
    return {"values": packed(values), "counts": packed(counts), "below": float(below)}


def ties_at(batches: Iterator[Floats], at: float) -> Found:
    """How many are above a score, and how many share it."""
    above = tied = 0
    for p in batches:
        above += int(np.count_nonzero(p > at))
        tied += int(np.count_nonzero(p == at))
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
