"""Cells of the score, and rows counted in them: all that is kept of a period.

A table has the shape (predicted label, what is known of the row, cell). Tables of parts
of a period add up to the table of the period, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._calibrate.cells import finite
from argmetric._calibrate.reference import Reference
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.types import Booleans, Floats, Integers

UNKNOWN, NEGATIVE, POSITIVE = range(3)  # the second axis of a table
EDGES_OF_ROWS, EDGES_OF_POSITIVES = 62, 44  # quantiles that bound cells
EVEN_EDGES = 62  # bounds at even steps of the log-odds
SURE = 1e-9  # probability below which steps end
BLOCK = 1 << 17  # rows that are counted at once: they stay in cache
BUCKETS = 1 << 16  # even steps of the score, most of which lie within one cell


@dataclass(frozen=True)
class MonitorCells:
    """Cells of neighbouring scores, from low to high.

    The first and the last one lie outside of the scores of the reference.
    """

    edges: Floats  # rising bounds; cell i holds edges[i-1] <= score < edges[i]
    # The score that stands for each cell: the mean of the reference's rows in it
    scores: Floats
    logits: bool  # whether scores are log-odds

    @classmethod
    def of(cls, reference: Reference, cut: float | None) -> MonitorCells:
        """Cells between quantiles of all rows and of the positives; the cut is a bound.

        A score that many rows have makes several quantiles, and so fewer cells. Bounds
        at even steps of the log-odds divide cells that are wide because few rows of the
        reference are there: inside of those the chance of a positive differs, and the
        expected score would be too low.
        """
        s = reference.scores
        bounds = [
            np.quantile(part, np.arange(k) / k, method="inverted_cdf")
            for part, k in ((s, EDGES_OF_ROWS), (s[reference.y], EDGES_OF_POSITIVES))
        ]
        # Scores between the least and the largest one, at even steps of the log-odds.
        x = finite(s) if reference.logits else bounded_logit(s, SURE, 1.0 - SURE)
        steps = np.linspace(x.min(), x.max(), EVEN_EDGES + 2)[1:-1]
        steps = steps if reference.logits else expit(steps)
        bounds.append(np.asarray(steps[(steps > s.min()) & (steps < s.max())]))
        bounds.append(np.nextafter(s.max(keepdims=True), np.inf))
        if cut is not None and s.min() < cut <= s.max():
            bounds.append(np.array([cut]))
        edges = np.unique(np.concatenate(bounds))
        base = finite(np.concatenate([edges[:1], edges[:-1], s.max(keepdims=True)]))
        cell = np.searchsorted(edges, s, side="right")
        count = np.bincount(cell, minlength=base.size)
        # Equal scores have themselves as their mean, to the last digit.
        above = np.bincount(cell, finite(s) - base[cell], base.size)
        half = np.diff(finite(edges), prepend=edges[:1], append=edges[-1:]) / 2
        above = np.where(count > 0, above / np.maximum(count, 1), half)
        return cls(edges, base + above, reference.logits)

    @property
    def size(self) -> int:
        return int(self.scores.size)

    def count(
        self,
        scores: Floats,
        selected: Booleans,
        known: Floats | None = None,
        part: Integers | None = None,
        n_parts: int = 1,
    ) -> Integers:
        """A table for every part.

        `scores`: scores of rows; `selected`: whether the row was predicted positive;
        `known`: 1 or 0 where the true label is known, nan elsewhere; `part`: number of
        the part, or period, of each row; `n_parts`: how many parts there are.
        """
        shape = (n_parts, 2, 3, self.size)
        total = np.zeros(shape, dtype=np.int64).ravel()
        for begin in range(0, scores.size, BLOCK):
            rows = slice(begin, begin + BLOCK)
            there = None if known is None else known[rows]
            code = self.places(scores[rows], selected[rows], there)
            if part is not None:
                code += 6 * self.size * part[rows]
            total += np.bincount(code, minlength=total.size)
        return total.reshape(shape)

    def places(
        self, scores: Floats, selected: Booleans, known: Floats | None
    ) -> Integers:
        """The place of every row in a flat table."""
        code = 3 * selected.astype(np.int64)
        if known is not None:
            there = ~np.isnan(known)
            code[there] += 1 + known[there].astype(np.int64)
        code *= self.size
        code += self.of_scores(scores)
        return code

    def of_scores(self, scores: Floats) -> Integers:
        """The cell of every score: that of its bucket, or by search where it has two.

        Rounding keeps the order: no score in a bucket below that of an edge reaches it.
        """
        if scores.size < BUCKETS:
            return np.searchsorted(self.edges, scores, side="right")
        first, several = self._buckets
        bucket = self._bucket(scores)
        cell = first[bucket]
        unsure = np.flatnonzero(several[bucket])
        cell[unsure] = np.searchsorted(self.edges, scores[unsure], side="right")
        return cell

    def _bucket(self, scores: Floats) -> Integers:
        low, high = finite(self.edges[[0, -1]])
        with np.errstate(over="ignore"):
            place = (scores - low) * ((BUCKETS - 3) / max(high - low, 1e-300)) + 1.0
        place = np.minimum(np.maximum(place, 0.0), BUCKETS - 1.0)
        return np.asarray(place.astype(np.int64))

    @cached_property
    def _buckets(self) -> tuple[Integers, Booleans]:
        """Cell of the first score of every bucket, and whether an edge lies in it."""
        edges = np.bincount(self._bucket(self.edges), minlength=BUCKETS)
        return np.cumsum(edges) - edges, edges > 0

    def to_dict(self) -> dict[str, Any]:
        return {"edges": self.edges, "scores": self.scores, "logits": self.logits}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> MonitorCells:
        edges, scores = (
            np.array([float(x) for x in values[name]]) for name in ("edges", "scores")
        )
        if scores.size != edges.size + 1 or not (np.diff(edges) > 0).all():
            raise ValueError("cells must have rising edges and one score more")
        return cls(edges, scores, bool(values["logits"]))


def rows_of(table: Integers) -> Floats:
    """Rows of each cell, whatever their labels."""
    return np.asarray(table.sum(axis=(0, 1)), dtype=np.float64)


def outside(table: Integers) -> int:
    """Rows whose scores lie outside of those of the reference."""
    return int(table[..., 0].sum() + table[..., -1].sum())
