"""Rows of a reference in cells of neighbouring scores, so that cost does not grow."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._calibrate.calibrator import Calibrator, check_finite
from argmetric._calibrate.reference import (
    Reference,
    check_reference,
    furthest,
    row_count,
)
from argmetric._calibrate.resolve import FittedReference
from argmetric._ground.saving import plain
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._ground.validation import Probabilities


@dataclass(frozen=True)
class CountedScores(Reference):
    """Sums over rows of one class and about the same score, by rising score.

    `scores` and `known_odds` are means of the rows, `weight` is the sum of theirs.
    """

    rows: Integers = field(kw_only=True)  # how many each stands for
    squares: Floats = field(kw_only=True)  # sum of the squares of their weights
    # low, high: lowest and highest of their scores
    low: Floats = field(kw_only=True)
    high: Floats = field(kw_only=True)

    @property
    def n(self) -> int:
        return int(self.rows.sum())

    @property
    def odds(self) -> Floats:
        return self.scores if self.known_odds is None else self.known_odds

    def shares(self, part: slice) -> tuple[Floats, Floats]:
        most = self.largest_weight
        return self.weights[part] / most, self.squares[part] / most**2

    def _row_count(self, part: Booleans) -> float:
        return row_count(self.weights[part], self.squares[part])

    @property
    def _furthest(self) -> float | None:
        return furthest(np.concatenate([self.low, self.high]))

    @property
    def _least_distance(self) -> float:
        distance = np.concatenate([self.low, 1.0 - self.high])
        return float(distance.min(initial=0.5, where=distance > 0.0))

    @property
    def _usual_distances(self) -> tuple[float, float]:
        positive = self._middle(self.scores, self.y)
        return positive, self._middle(1.0 - self.scores, ~self.y)

    def _middle(self, values: Floats, part: Booleans) -> float:
        """The median of the rows of a class, whose values rise or fall."""
        last = np.cumsum(self.rows[part])
        middle = [(last[-1] - 1) // 2, last[-1] // 2]
        return float(values[part][np.searchsorted(last, middle, side="right")].mean())


MOST_CELLS = 4096
MOST_COUNTED = 128  # cells that are kept with a map


@dataclass(frozen=True)
class MapCells:
    """Rows with nearly the same score, from low to high."""

    # Mean log-odds, and mean score as given, of each cell
    x: Floats
    score: Floats
    # Positive rows and all rows; weights count rows here
    positive: Floats
    total: Floats
    ends: tuple[float, float] | None  # log-odds at which scores of 0 and of 1 stand


def cells_of(reference: Reference, most: int = MOST_CELLS) -> MapCells:
    """One cell for each distinct score; about `most` of equal mass if there are more.

    Equal scores stay in one cell: a lump at 0 or 1 has one of its own.
    """
    reference = reference.rising()
    x, ends = reference.axis
    w, unit = reference.weight, reference.weight_of_a_row
    first = first_of_equals(x)
    if first.size > most:
        number = cell_numbers(_mass(w, first, x.size), most)  # whatever a row weighs
        opens = np.empty(number.size, dtype=bool)
        np.greater(number[1:], number[:-1], out=opens[1:])
        opens[[0, 1, -1]] = True  # or a lump that is smaller than a cell would drown
        first = first[opens]
    total = _mass(w, first, x.size)
    lowest = x[first]
    # The mean of equal scores must be that score to the last digit: a lump is known by
    # standing at one of the ends.
    off = np.repeat(lowest, np.diff(first, append=x.size))
    np.subtract(x, off, out=off)
    return MapCells(
        lowest + _sums(w, first, off) / total,
        _sums(w, first, reference.scores) / total,
        _sums(w, first, reference.y) / unit,
        total / unit,
        ends,
    )


def first_of_equals(x: npt.NDArray[Any]) -> Integers:
    """Where each distinct value of an ascending array is for the first time."""
    apart = np.empty(x.size, dtype=bool)
    apart[0] = True
    np.not_equal(x[1:], x[:-1], out=apart[1:])
    return np.flatnonzero(apart)


def cell_numbers(mass: Floats, most: int) -> npt.NDArray[np.int32]:
    """Cell of every distinct score, of `most` with equal mass, which is used up."""
    total, middle = mass.sum(), np.cumsum(mass)
    mass /= 2
    middle -= mass
    del mass
    middle *= most
    middle /= total
    return middle.astype(np.int32)


def _mass(w: Floats | None, first: Integers, n: int) -> Floats:
    """Weight of every cell of n rows."""
    if w is None:
        return np.diff(first, append=n).astype(np.float64)
    return np.add.reduceat(w, first)


def _sums(w: Floats | None, first: Integers, values: Floats | Booleans) -> Floats:
    """Weighted sum of the values of every cell."""
    weighted = values if w is None else w * values
    return np.add.reduceat(weighted, first, dtype=np.float64)


def counted_cells(cells: MapCells, x: Floats | None = None) -> Floats:
    """Mean log-odds, rows and positives of at most MOST_COUNTED cells, in rows."""
    x = cells.x if x is None else x
    share = np.cumsum(cells.total) / cells.total.sum()
    share += np.cumsum(cells.positive) / cells.positive.sum()
    number = np.minimum((MOST_COUNTED * share / 2).astype(np.int64), MOST_COUNTED - 1)
    # Scores of 0 and of 1e-300 have the same bounded log-odds, and share a cell
    opens = np.append(True, (number[1:] > number[:-1]) & (x[1:] > x[:-1]))
    first = np.flatnonzero(opens)
    table = np.stack([x * cells.total, cells.total, cells.positive])
    table = np.add.reduceat(table, first, axis=1)
    table[0] /= table[1]
    return table


EDGES_OF_A_CLASS = 64  # quantiles of each class of the reference that bound cells
LARGEST_LOGIT = 700.0  # log-odds that are as good as infinite


@dataclass(frozen=True)
class ScoreCells:
    """Scores of labelled rows, counted between quantiles of either class."""

    # Where a new cell begins, rising; the first cell lies below all of them
    edges: Floats
    # Rows of each cell, and the sum of their distances from where it begins
    count: Floats
    above: Floats
    prevalence: float  # share of positives
    logits: bool  # whether scores are log-odds

    @classmethod
    def of(cls, rows: Reference | ScoreCells) -> ScoreCells:
        if isinstance(rows, ScoreCells):
            return rows
        quantiles = []
        for part in (rows.y, ~rows.y):
            scores = np.sort(rows.scores[part])
            place = np.arange(EDGES_OF_A_CLASS) * scores.size - 1
            quantiles.append(scores[np.maximum(place // EDGES_OF_A_CLASS, 0)])
        edges = np.unique(np.concatenate(quantiles))
        nothing = np.zeros(edges.size + 1)
        empty = cls(edges, nothing, nothing, rows.prevalence, rows.logits)
        count, above = empty.counted(rows.scores)
        return cls(edges, count, above, rows.prevalence, rows.logits)

    @property
    def base(self) -> Floats:
        """Where each cell begins; equal scores have themselves as their mean."""
        return finite(np.concatenate([self.edges[:1], self.edges]))

    def counted(self, scores: Floats) -> tuple[Floats, Floats]:
        """Other scores in the same cells: their `count` and `above`."""
        cell, base = np.searchsorted(self.edges, scores, side="right"), self.base
        count = np.bincount(cell, minlength=base.size).astype(np.float64)
        above = np.bincount(cell, finite(scores) - base[cell], base.size)
        return count, above.astype(np.float64, copy=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: plain(value, name) for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ScoreCells:
        """What `to_dict` described, checked."""
        names = ("edges", "count", "above")
        edges, count, above = (np.array(values[one], dtype=np.float64) for one in names)
        if edges.ndim != 1 or not edges.size or not (np.diff(edges) > 0).all():
            raise ValueError("the edges of the reference must rise")
        for name, one in (("count", count), ("sum", above)):
            if one.shape != (edges.size + 1,) or not np.isfinite(one).all():
                raise ValueError(f"the reference needs a {name} for each cell")
        if (count < 0).any() or not count.any():
            raise ValueError("the reference has no rows, or fewer than none")
        check_finite("the prevalence of the reference", values["prevalence"], 0)
        if not isinstance(values["logits"], bool):
            raise ValueError("logits of the reference must be true or false")
        return cls(edges, count, above, values["prevalence"], values["logits"])


def finite(scores: Floats) -> Floats:
    """Log-odds without infinities."""
    return np.clip(scores, -LARGEST_LOGIT, LARGEST_LOGIT)


class KeptReference:
    """Labelled rows until somebody asks for what is kept of them.

    The map takes as long as tuning does, and many rules are never asked.
    """

    def __init__(
        self, y: Booleans, p: Floats, weight: Floats | None, *, logits: bool
    ) -> None:
        self._rows: tuple[Any, ...] | None = (y, p, weight, logits)
        self._fitted: FittedReference | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> KeptReference:
        """What `to_dict` described."""
        calibrator = Calibrator.from_dict(values["calibrator"])
        cells = ScoreCells.from_dict(values["cells"])
        return cls._of(FittedReference(calibrator, cells))

    @classmethod
    def _of(cls, fitted: FittedReference | None) -> KeptReference:
        found = object.__new__(cls)
        found._rows, found._fitted = None, fitted
        return found

    @property
    def fitted(self) -> FittedReference | None:
        """The map and the cells; None where the rows give no map."""
        if self._rows is not None:
            self._fitted, self._rows = _fit(*self._rows), None
        return self._fitted

    def to_dict(self) -> dict[str, Any] | None:
        """Plain values for JSON; None where the rows give no map."""
        fitted = self.fitted
        if fitted is None:
            return None
        assert fitted.calibrator is not None
        assert isinstance(fitted.rows, ScoreCells)
        return {
            "calibrator": fitted.calibrator.to_dict(),
            "cells": fitted.rows.to_dict(),
        }

    def __reduce__(self) -> Any:
        return KeptReference._of, (self.fitted,)


def _fit(
    y: Booleans, p: Floats, weight: Floats | None, logits: bool
) -> FittedReference | None:
    """The map that `reference=(y, p)` gives; None where it is refused there."""
    from argmetric._calibrate.calibrate import DEFAULT
    from argmetric._calibrate.fit import fit_map

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checked = Probabilities(p, logits)  # by `tune`
            rows = check_reference(y, checked, weight, logits=logits)
            return FittedReference(fit_map(rows, DEFAULT), ScoreCells.of(rows))
        except (ValueError, ArithmeticError):
            return None
