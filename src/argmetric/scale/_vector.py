"""One vector that is larger than memory: a few looks at all scores, and no sort."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric._decide import (
    Limits,
    calibration_note,
    cut_between,
    decide_items,
    error_note,
    tie_note,
)
from argmetric._expected import (
    FIRST_BINS,
    Array,
    BestCount,
    Items,
    Ranked,
    carry,
    sums_in_bins,
)
from argmetric._files import DataError, marked
from argmetric._input.odds import logit
from argmetric._input.types import Floats, Integers
from argmetric.metrics import Metric
from argmetric.scale._conservation import Tally, require_same
from argmetric.scale._pieces import Piece
from argmetric.scale._scan import (
    Collector,
    Counted,
    InBins,
    Reading,
    ScanTask,
    Ties,
    merged,
    scan,
    unpacked,
)
from argmetric.scale._tasks import Found, Task

if TYPE_CHECKING:
    from argmetric.scale._run import Run

FEW = 1 << 21  # scores near the cut that are looked at in this process
MOST_COUNTS = 1 << 23  # numbers of positives that are looked at one by one


@dataclass(frozen=True)
class VectorCut:
    """Which rows of a vector are chosen.

    Attributes
    ----------
    threshold : float or None
        `p >= threshold` are chosen; None where a tie is split.
    tied : float
        The score of that tie: all above it are chosen.
    quota : int
        How many of those that share it are chosen, the first in order.
    """

    reading: Reading
    threshold: float | None
    tied: float
    quota: int

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
        """The same as a bucket that was decided."""
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


class Pieces(Items):
    """Probabilities in files; every question about them is a look at all of them."""

    def __init__(
        self, run: Run, name: str, pieces: tuple[Piece, ...], reading: Reading
    ) -> None:
        self.run, self.pieces, self.reading = run, pieces, reading
        self.folder = run.places.inside("passes", name)
        self.size = sum(piece.rows for piece in pieces)
        self.n_passes = 0
        self.tallies: tuple[Tally, ...] = ()
        self._first: list[Found] = []
        self._known: dict[tuple[float, float, int], Integers] = {}

    def look(self, stage: str, collector: Collector) -> list[Found]:
        """What every piece answers, all rows of each of them read."""
        folder = os.path.join(self.folder, f"{self.n_passes:02d}")
        os.makedirs(folder, exist_ok=True)
        tasks = [
            Task(
                scan,
                ScanTask(piece, self.reading, collector),
                os.path.join(folder, f"file-{piece.file:06d}.json"),
                piece.rows,
            )
            for piece in self.pieces
        ]
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
        results = self.look("scan", InBins(low, scale, bins))
        self._first = self._first or results
        total = sums_in_bins(np.empty(0), low, scale, bins)
        for found in results:
            total += unpacked(found["sums"], np.int64).reshape(total.shape)
            carry(total)
        self._known = {(low, scale, bins): total}
        return total

    def within(self, low: float, high: float, count: int) -> Items:
        if count > FEW:
            return self  # sums leave out what is outside of their bins
        return Array(self.counted(low, high, count).part(0, count))

    def counted(self, low: float, high: float, count: int) -> Ranked:
        results = self.look("narrow", Counted(low, high))
        parts = [
            (unpacked(found["values"], float), unpacked(found["counts"], np.int64))
            for found in results
        ]
        return Ranked.of(*merged(parts))

    def largest_below(self, edge: float) -> float:
        results = self.look("narrow", Counted(edge, edge))
        return max(float(found["below"]) for found in results)

    def smallest(self) -> float:
        return min(float(found["smallest"]) for found in self._first)

    def n_possible(self) -> int:
        if not self._first:
            self.sums(*FIRST_BINS)
        return sum(int(found["possible"]) for found in self._first)

    def ends(self) -> tuple[float, float]:
        """The smallest and the largest score as they are in the files."""
        low, high = zip(*(found["ends"] for found in self._first), strict=True)
        return min(low), max(high)


def decide_vector(
    run: Run,
    name: str,
    pieces: tuple[Piece, ...],
    reading: Reading,
    metric: Metric,
    limits: Limits,
) -> VectorFound:
    """The best cut of all rows of some pieces."""
    items = Pieces(run, name, pieces, reading)
    if reading.used.logits:
        raise _too_many(items, "logits cannot be decided in pieces", "probabilities")
    choice = decide_items(items, metric, limits, most=MOST_COUNTS)
    if choice is None:
        why = f"{metric.name} with these limits and scores takes all of them at once"
        raise _too_many(items, why, "another metric, or no floors")
    calibrator = reading.calibrator
    threshold = cut_between(choice.upper, choice.lower)
    if threshold is None and not _keeps_apart(calibrator, items):
        # in memory the higher score before the map goes first
        raise _too_many(items, "the calibrator makes ties", "a map without steps")
    cut = VectorCut(reading, threshold, choice.lower, 0)
    quotas, notes = tuple(0 for _ in pieces), []
    if calibrator is not None:
        notes.append(f"{calibration_note(calibrator)}; thresholds refer to these")
    if threshold is None:
        results = items.look("ties", Ties(choice.lower))
        left = choice.best - sum(found["above"] for found in results)
        cut = replace(cut, quota=left)
        quotas = _shared_out(left, [found["tied"] for found in results])
        tied = sum(found["tied"] for found in results)
        notes.append(tie_note(tied, choice.lower, "the first in order"))
    notes += error_note(choice.error)
    tallies, passes = items.tallies, items.n_passes
    return VectorFound(choice, cut, quotas, tallies, passes, tuple(notes))


def _keeps_apart(calibrator: Any, items: Pieces) -> bool:
    if calibrator is None:
        return True
    ends = logit(np.array(items.ends())).tolist()
    return bool(calibrator.keeps_apart(*ends))


def _shared_out(quota: int, tied: list[int]) -> tuple[int, ...]:
    """How many of those that share the score at the cut every piece has to choose."""
    before = np.concatenate([[0], np.cumsum(tied)])
    return tuple(np.diff(np.minimum(before, quota)).tolist())


def _too_many(items: Items, why: str, instead: str) -> DataError:
    return DataError(
        f"{items.size:,} rows have to be decided at once, more than memory allows: "
        f"{why}; raise {marked('memory')}, take fewer workers, or take {instead}"
    )
