"""What is kept of labelled rows: the map that they give, and their scores in cells.

Its size does not grow with the rows, so that a rule can hold it in its file.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, check_finite
from argmetric._calibrate.reference import Reference, check_reference
from argmetric._calibrate.resolve import FittedReference
from argmetric._ground.saving import plain
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import Probabilities

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
