"""Labelled rows in bins of neighbouring scores, so that cost does not grow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import check_number
from argmetric._ground.saving import plain
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers

MAX_BINS = 4096
MAX_KEPT_BINS = 128  # bins that are kept with a calibrator


@dataclass(frozen=True)
class LabelBins:
    """Rows with nearly the same score, by rising score; weights count rows here.

    x, score : ndarray of shape (n_bins,)
        Mean log-odds, and mean score on the scale of the reference.
    positive, total : ndarray of shape (n_bins,)
        Positive rows, and all rows.
    ends : tuple of two floats or None
        Log-odds at which scores of 0 and of 1 stand.
    """

    x: Floats
    score: Floats
    positive: Floats
    total: Floats
    ends: tuple[float, float] | None

    @classmethod
    def from_reference(cls, reference: Reference, most: int = MAX_BINS) -> LabelBins:
        """Return a bin for each distinct score, or about `most` of equal mass.

        Equal scores stay in one bin: a lump at 0 or 1 has one of its own.
        """
        reference = reference.rising()
        x, ends = reference.axis
        w, unit = reference.weight, reference.weight_of_a_row
        first = first_of_equals(x)
        if first.size > most:
            number = equal_mass_bins(_sum_bins(w, first, x.size), most)
            opens = np.empty(number.size, dtype=bool)
            np.greater(number[1:], number[:-1], out=opens[1:])
            opens[[0, 1, -1]] = True  # or a lump smaller than a bin would drown
            first = first[opens]
        total = _sum_bins(w, first, x.size)
        lowest = x[first]
        # The mean of equal scores must be that score to the last digit: a lump is known
        # by standing at one of the ends.
        off = np.repeat(lowest, np.diff(first, append=x.size))
        np.subtract(x, off, out=off)
        return cls(
            lowest + _sum_bins(w, first, x.size, off) / total,
            _sum_bins(w, first, x.size, reference.scores) / total,
            _sum_bins(w, first, x.size, reference.y) / unit,
            total / unit,
            ends,
        )

    def condense(self, x: Floats | None = None) -> Floats:
        """Return mean log-odds, rows and positives of at most MAX_KEPT_BINS bins.

        x : ndarray of shape (n_bins,)
            Other log-odds of the bins.
        table : ndarray of shape (3, n_kept)
        """
        x = self.x if x is None else x
        share = np.cumsum(self.total) / self.total.sum()
        share += np.cumsum(self.positive) / self.positive.sum()
        number = (MAX_KEPT_BINS * share / 2).astype(np.int64)
        number = np.minimum(number, MAX_KEPT_BINS - 1)
        # Scores of 0 and of 1e-300 have the same bounded log-odds, and share a bin
        opens = np.append(True, (number[1:] > number[:-1]) & (x[1:] > x[:-1]))
        table = np.stack([x * self.total, self.total, self.positive])
        table = np.add.reduceat(table, np.flatnonzero(opens), axis=1)
        table[0] /= table[1]
        return table


def first_of_equals(x: AnyArray) -> Integers:
    """Return the index of the first of each run of equals in an ascending array."""
    apart = np.empty(x.size, dtype=bool)
    apart[0] = True
    np.not_equal(x[1:], x[:-1], out=apart[1:])
    return np.flatnonzero(apart)


def equal_mass_bins(mass: Floats, most: int) -> npt.NDArray[np.int32]:
    """Return the bin, of `most` with equal mass, of every value; `mass` is used up."""
    total, middle = mass.sum(), np.cumsum(mass)
    mass /= 2
    middle -= mass
    del mass
    middle *= most
    middle /= total
    return middle.astype(np.int32)


def _sum_bins(
    w: Floats | None, first: Integers, n: int, values: Floats | Booleans | None = None
) -> Floats:
    """Return the weighted sum of `values`, or of ones, over every bin of n rows."""
    if values is None:
        if w is None:
            return np.diff(first, append=n).astype(np.float64)
        return np.add.reduceat(w, first)
    weighted = values if w is None else w * values
    return np.add.reduceat(weighted, first, dtype=np.float64)


EDGES_PER_CLASS = 64  # quantiles of each class of the reference that bound bins
MAX_LOGIT = 700.0  # log-odds that are as good as infinite
N_BUCKETS = 1 << 16  # even steps of the score, most of which lie within one bin


@dataclass(frozen=True)
class BinEdges:
    """Bins of neighbouring scores: bin i holds edges[i-1] <= score < edges[i].

    edges : ndarray of shape (n_bins - 1,)
        Rising; the first bin lies below all of them.
    logits : bool
        Whether scores are log-odds.
    """

    edges: Floats
    logits: bool

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.edges.size + 1

    @property
    def base(self) -> Floats:
        """Where each bin begins; equal scores have themselves as their mean."""
        return bound_logits(np.concatenate([self.edges[:1], self.edges]))

    def sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return for every bin its rows and the sum of score - `base`."""
        place, base = np.searchsorted(self.edges, scores, side="right"), self.base
        count = np.bincount(place, minlength=base.size).astype(np.float64)
        above = np.bincount(place, bound_logits(scores) - base[place], base.size)
        return count, above.astype(np.float64, copy=False)

    def assign(self, scores: Floats) -> Integers:
        """Return the bin of every score: that of its bucket, or by search.

        A bucket in which an edge lies has several bins. Rounding keeps the order: no
        score in a bucket below that of an edge reaches it.
        """
        if scores.size < N_BUCKETS:
            return np.searchsorted(self.edges, scores, side="right")
        first, has_edge = self._buckets
        bucket = self._bucket(scores)
        place = first[bucket]
        unsure = np.flatnonzero(has_edge[bucket])
        place[unsure] = np.searchsorted(self.edges, scores[unsure], side="right")
        return place

    def _bucket(self, scores: Floats) -> Integers:
        """Return the bucket of each score: of equal width, one beyond either end."""
        low, high = bound_logits(self.edges[[0, -1]])
        with np.errstate(over="ignore"):
            place = (scores - low) * ((N_BUCKETS - 3) / max(high - low, 1e-300)) + 1.0
        place = np.minimum(np.maximum(place, 0.0), N_BUCKETS - 1.0)
        return np.asarray(place.astype(np.int64))

    @cached_property
    def _buckets(self) -> tuple[Integers, Booleans]:
        """Bin of the first score of every bucket, and whether an edge lies in it."""
        edges = np.bincount(self._bucket(self.edges), minlength=N_BUCKETS)
        return np.cumsum(edges) - edges, edges > 0

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            name: plain(value, name)
            for name, value in vars(self).items()
            if not name.startswith("_")
        }

    @staticmethod
    def read_arrays(values: dict[str, Any], *names: str) -> list[Floats]:
        """Return saved edges, and arrays of these names with a value for each bin."""
        arrays = [np.array(values[one], dtype=np.float64) for one in ("edges", *names)]
        edges = arrays[0]
        if edges.ndim != 1 or not edges.size or not (np.diff(edges) > 0).all():
            raise ValueError("the edges of the reference must rise")
        for name, one in zip(names, arrays[1:], strict=True):
            if one.shape != (edges.size + 1,) or not np.isfinite(one).all():
                raise ValueError(f"the reference needs `{name}` for each bin")
        if not isinstance(values["logits"], bool):
            raise ValueError("logits of the reference must be true or false")
        return arrays


@dataclass(frozen=True)
class ReferenceBins(BinEdges):
    """Labelled rows counted in bins, between quantiles of the scores of either class.

    count, above : ndarray of shape (n_bins,)
        Rows of each bin, and the sum of their distances from where it begins.
    prevalence : float
        Prevalence of the reference.
    """

    count: Floats
    above: Floats
    prevalence: float

    @classmethod
    def from_rows(cls, rows: Reference | ReferenceBins) -> ReferenceBins:
        """Count the rows of a reference, unless they are counted already."""
        if isinstance(rows, ReferenceBins):
            return rows
        quantiles = []
        for part in (rows.y, ~rows.y):
            scores = np.sort(rows.scores[part])
            place = np.arange(EDGES_PER_CLASS) * scores.size - 1
            quantiles.append(scores[np.maximum(place // EDGES_PER_CLASS, 0)])
        bins = BinEdges(np.unique(np.concatenate(quantiles)), rows.logits)
        sums = bins.sums(rows.scores)
        return cls(bins.edges, rows.logits, *sums, rows.prevalence)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ReferenceBins:
        """Return the bins that `to_dict` described, checked."""
        edges, count, above = cls.read_arrays(values, "count", "above")
        if (count < 0).any() or not count.any():
            raise ValueError("the reference has no rows, or negative counts")
        check_number(values["prevalence"], "the prevalence of the reference", low=0.0)
        return cls(edges, values["logits"], count, above, values["prevalence"])


def bound_logits(scores: Floats) -> Floats:
    """Return log-odds without infinities."""
    return np.clip(scores, -MAX_LOGIT, MAX_LOGIT)
