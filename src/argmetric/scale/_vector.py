"""One vector that is larger than memory: a few passes over all scores, and no sort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.resolve import calibrated_scores, calibration_note
from argmetric._expected import (
    FIRST_BINS,
    Array,
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
from argmetric.scale._parts import SUMS
from argmetric.scale._scan import Scan
from argmetric.scale.files import DataError, marked

SCORES_SORTED_HERE = 1 << 21  # scores near the cut that are held at once
MOST_DISTINCT = 1 << 22  # values near the cut that are held at once
MOST_COUNTS = 1 << 23  # numbers of positives that are looked at one by one

Part = TypeVar("Part")
BinSums = tuple[Integers, int, float]  # sums, values above 0, the smallest value


@dataclass(frozen=True)
class Reading:
    """How scores of files become probabilities."""

    calibrator: Any = None
    logits: bool = False
    least: float | None = None  # score as it is in a file below which rows are left out

    def probabilities(self, scores: Floats) -> Floats:
        """Return probabilities from checked scores as they are in a file."""
        p = scores if self.least is None else scores[scores >= self.least]
        if self.calibrator is None:
            return p
        p = calibrated_scores(self.calibrator, p, logits=self.logits)
        return check_scores(p, "p after calibration", logits=self.logits)


class PassItems(Items):
    """Probabilities in files; every method is a pass over all of them.

    Parameters
    ----------
    scan : Scan
        The files and their scores.
    reading : Reading
        How scores become probabilities.
    """

    def __init__(self, scan: Scan, reading: Reading) -> None:
        self.scan, self.size, self.reading = scan, scan.n, reading
        self.n_passes = 0
        self._sums: dict[tuple[float, float, int], Integers] = {}
        self._half: PassItems | None = None
        self._possible, self._smallest = 0, np.inf

    def merge(
        self, work: Callable[[Floats], Part], merge: Callable[[list[Part]], Part]
    ) -> Part:
        """Return `work` of the probabilities of each batch, merged."""
        self.n_passes += 1
        read = self.reading.probabilities
        return self.scan.merge_batches(lambda batch: work(read(batch.values)), merge)

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        """Return exact sums within bins; see `Items`."""

        def of_batch(p: Floats) -> BinSums:
            ends = int(np.count_nonzero(p)), float(p.min(initial=np.inf))
            return sums_in_bins(p, low, scale, bins), *ends

        def merge(parts: list[BinSums]) -> BinSums:
            total = sums_in_bins(np.empty(0), low, scale, bins)
            for sums, _, _ in parts:
                total += sums
                carry(total)
            _, possible, smallest = zip(*parts, (total, 0, np.inf), strict=True)
            return total, sum(possible), min(smallest)

        if (low, scale, bins) not in self._sums:
            total, self._possible, self._smallest = self.merge(of_batch, merge)
            self._sums = {(low, scale, bins): total}
        return self._sums[low, scale, bins]

    def within(self, low: float, high: float, count: int) -> Items:
        """Return the values of a range, or all where too many are in it."""
        if count > SCORES_SORTED_HERE:
            return self  # sums leave out what is outside of their bins
        return Array(self.counted(low, high, count).part(0, count))

    def counted(self, low: float, high: float, count: int) -> RankedItems:
        """Return the distinct values of a range, and how often each is there."""
        return RankedItems.of(
            *self.merge(
                lambda p: np.unique(p[(p >= low) & (p < high)], return_counts=True),
                _merge_counts,
            )
        )

    def largest_below(self, edge: float) -> float:
        """Return the largest value below an edge."""
        return self.merge(
            lambda p: float(p[p < edge].max(initial=-np.inf)),
            lambda parts: float(max(parts, default=-np.inf)),
        )

    def smallest(self) -> float:
        """Return the smallest value."""
        return float(self._smallest)

    def n_possible(self) -> int:
        """Return the number of probabilities that are not 0."""
        if not self._sums:
            self.sums(*FIRST_BINS)
        return self._possible

    def from_half(self) -> PassItems | None:
        """Return the items with a raw score of at least 1/2; None if p is raw."""
        if self.reading.calibrator is None:
            return None
        self._half = PassItems(self.scan, replace(self.reading, least=0.5))
        return self._half

    @property
    def passes_done(self) -> int:
        """Return the number of passes, also of scores from one half on."""
        return self.n_passes + (0 if self._half is None else self._half.n_passes)


def decide_vector(
    scan: Scan, reading: Reading, metric: Metric, limits: Limits
) -> tuple[dict[str, Any], npt.NDArray[np.int8] | None, int]:
    """Return the best cut of scores that are read in passes, and how many these were.

    That is what the decision says, and the labels of all rows where the cut splits a
    tie: the first rows of it are positive.
    """
    items = PassItems(scan, reading)
    if reading.logits:
        raise _too_many(items, "logits cannot be decided in pieces", "probabilities")
    choice = decide_items(items, metric, limits, most=MOST_COUNTS)
    if choice is None:
        why = f"{metric.name} with these limits and scores takes all of them at once"
        raise _too_many(items, why, "another metric, or no floors")
    calibrator, notes, labels = reading.calibrator, [], None
    threshold, tie = cut_between(choice.upper, choice.lower), choice.lower
    if calibrator is not None:
        notes.append(f"{calibration_note(calibrator)}; thresholds refer to these")
    if threshold is None:
        if calibrator is not None and not calibrator.keeps_apart(*_ends(scan)):
            # in memory the higher score before the calibrator goes first
            instead = "a calibrator without steps"
            raise _too_many(items, "the calibrator makes ties", instead)
        above, tied = items.merge(
            lambda p: np.array([np.sum(p > tie), np.sum(p == tie)]),
            lambda parts: np.sum(parts, axis=0),
        ).tolist()
        notes.append(tie_note(tied, tie, "the first in order"))
        labels, left = np.zeros(scan.n, np.int8), choice.best - above
        for batch in scan.batches():
            p = reading.probabilities(batch.values)
            part = labels[batch.start : batch.start + batch.size]
            part[p > tie] = 1
            first = np.flatnonzero(p == tie)[:left]
            part[first] = 1
            left -= first.size
    sums = scan.n, 1, choice.best, choice.expected, 1, choice.error
    said = dict(zip(SUMS, (*sums, choice.at_half, choice.n_half), strict=True))
    notes += error_note(choice.error)
    cut = {"likely": True, "threshold": threshold, "notes": notes}
    return {**said, **cut}, labels, items.passes_done


def _too_many(items: Items, why: str, instead: str) -> DataError:
    return DataError(
        f"{items.size:,} rows have to be decided at once, more than memory allows: "
        f"{why}; raise {marked('memory')}, take fewer workers, or take {instead}"
    )


def _ends(scan: Scan) -> list[float]:
    """Return the log-odds of the smallest and the largest score in the files."""
    low, high = scan.merge_batches(
        lambda batch: (
            batch.values.min(initial=np.inf),
            batch.values.max(initial=-np.inf),
        ),
        lambda parts: (min(low for low, _ in parts), max(high for _, high in parts)),
    )
    return list(logit(np.array([low, high])))


def _merge_counts(parts: list[tuple[Floats, Integers]]) -> tuple[Floats, Integers]:
    """Return distinct values of all parts in ascending order, and their numbers."""
    whole = [np.unique(np.empty(0), return_counts=True), *parts]
    given, counts = map(np.concatenate, zip(*whole, strict=True))
    values, place = np.unique(given, return_inverse=True)
    if values.size > MOST_DISTINCT:
        raise DataError(
            f"more than {MOST_DISTINCT:,} distinct scores are as good a cut as the "
            "best one: round them, or decide in memory"
        )
    return values, np.bincount(place, counts, values.size).astype(np.int64)
