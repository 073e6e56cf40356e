"""One vector that is larger than memory: a few passes over all scores, and no sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
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
from argmetric.scale._scan import Scan
from argmetric.scale.files import DataError, marked

SCORES_SORTED_HERE = 1 << 21  # scores near the cut that are held at once
MOST_DISTINCT = 1 << 22  # values near the cut that are held at once
MOST_COUNTS = 1 << 23  # numbers of positives that are looked at one by one

Part = TypeVar("Part")


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

    def collect(self, work: Callable[[Iterator[Floats]], Part]) -> list[Part]:
        """Return `work` of the probabilities of each part."""
        self.n_passes += 1
        read = self.reading.probabilities
        return self.scan.each(lambda batches: work(read(x.values) for x in batches))

    def sums(self, low: float, scale: float, bins: int) -> Integers:
        """Return exact sums within bins; see `Items`."""
        if (low, scale, bins) not in self._sums:
            parts = self.collect(partial(_sums, low=low, scale=scale, bins=bins))
            total = sums_in_bins(np.empty(0), low, scale, bins)
            for sums, _, _ in parts:
                total += sums
                carry(total)
            self._possible = sum(possible for _, possible, _ in parts)
            self._smallest = min(smallest for _, _, smallest in parts)
            self._sums = {(low, scale, bins): total}
        return self._sums[low, scale, bins]

    def within(self, low: float, high: float, count: int) -> Items:
        """Return the values of a range, or all where too many are in it."""
        if count > SCORES_SORTED_HERE:
            return self  # sums leave out what is outside of their bins
        return Array(self.counted(low, high, count).part(0, count))

    def counted(self, low: float, high: float, count: int) -> RankedItems:
        """Return the distinct values of a range, and how often each is there."""
        counts = partial(_counts, low=low, high=high)
        return RankedItems.of(*_merge_counts(self.collect(counts)))

    def largest_below(self, edge: float) -> float:
        """Return the largest value below an edge."""
        return max(
            self.collect(
                lambda batches: max(
                    (p[p < edge].max(initial=-np.inf) for p in batches),
                    default=-np.inf,
                )
            )
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
        above, tied = np.sum(items.collect(partial(_ties, at=tie)), axis=0).tolist()
        notes.append(tie_note(tied, tie, "the first in order"))
        labels, left = np.zeros(scan.n, np.int8), choice.best - above
        for batch in scan.batches():
            p = reading.probabilities(batch.values)
            part = labels[batch.start : batch.start + batch.size]
            part[p > tie] = 1
            first = np.flatnonzero(p == tie)[:left]
            part[first] = 1
            left -= first.size
    said = {
        **{"groups": 1, "positives": choice.best, "likely": True},
        **{"expected": choice.expected, "n_defined": 1, "error": choice.error},
        **{"half": choice.at_half, "n_half": choice.n_half, "threshold": threshold},
        "notes": [*notes, *error_note(choice.error)],
    }
    return said, labels, items.passes_done


def _too_many(items: Items, why: str, instead: str) -> DataError:
    return DataError(
        f"{items.size:,} rows have to be decided at once, more than memory allows: "
        f"{why}; raise {marked('memory')}, take fewer workers, or take {instead}"
    )


def _ends(scan: Scan) -> list[float]:
    """Return the log-odds of the smallest and the largest score in the files."""
    parts = scan.each(
        lambda batches: [(x.values.min(), x.values.max()) for x in batches if x.size]
    )
    low, high = zip(*itertools.chain.from_iterable(parts), strict=True)
    return list(logit(np.array([min(low), max(high)])))


# -- one pass: what a part adds, in any order of its rows ------------------------------


def _sums(
    batches: Iterator[Floats], low: float, scale: float, bins: int
) -> tuple[Integers, int, float]:
    """Return sums within bins, the number of values above 0, and the smallest."""
    sums = sums_in_bins(np.empty(0), low, scale, bins)
    possible, smallest = 0, np.inf
    for p in batches:
        sums += sums_in_bins(p, low, scale, bins)
        carry(sums)
        possible += int(np.count_nonzero(p))
        smallest = min(smallest, p.min(initial=np.inf))
    return sums, possible, float(smallest)


def _counts(
    batches: Iterator[Floats], low: float, high: float
) -> tuple[Floats, Integers]:
    """Return the distinct values with low ≤ p < high, and their numbers."""
    parts, size = [np.unique(np.empty(0), return_counts=True)], 0
    for p in batches:
        parts.append(np.unique(p[(p >= low) & (p < high)], return_counts=True))
        size += parts[-1][0].size
        if size > MOST_DISTINCT:
            parts = [_merge_counts(parts)]
            size = parts[0][0].size
        if size > MOST_DISTINCT:
            raise DataError(
                f"more than {MOST_DISTINCT:,} distinct scores are as good a cut as "
                "the best one: round them, or decide in memory"
            )
    return _merge_counts(parts)


def _ties(batches: Iterator[Floats], at: float) -> tuple[int, int]:
    """Return the number of values above `at`, and the number equal to it."""
    above = tied = 0
    for p in batches:
        above += int(np.count_nonzero(p > at))
        tied += int(np.count_nonzero(p == at))
    return above, tied


def _merge_counts(parts: list[tuple[Floats, Integers]]) -> tuple[Floats, Integers]:
    """Return distinct values of all parts in ascending order, and their numbers."""
    values, place = np.unique(
        np.concatenate([values for values, _ in parts]), return_inverse=True
    )
    counts = np.zeros(values.size, dtype=np.int64)
    np.add.at(counts, place, np.concatenate([counts for _, counts in parts]))
    return values, counts
