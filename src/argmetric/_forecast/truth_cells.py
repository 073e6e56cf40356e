"""Rows in cells of neighbouring scores and equal decisions: their chances are alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._input.odds import from_log_odds
from argmetric._input.types import Booleans, Floats, Integers

MOST = 160  # cells of scores, each divided by the decision
SAMPLE = 4096  # rows that bounds are taken from
FURTHEST = 800.0  # log-odds of the least double are nearer


@dataclass(frozen=True)
class Cells:
    """Cells of rows."""

    x: Floats  # mean log-odds of the rows of each cell, before any map
    called: Booleans  # whether they were given the positive label
    # How many there are, and how many of them have no known label
    rows: Floats
    open: Floats
    place: Integers  # the cell of every row

    @classmethod
    def of(
        cls, x: Floats, called: Booleans, known: Floats, calibrator: Calibrator
    ) -> Cells:
        """Cells of rows with these log-odds, decisions and labels (nan: unknown)."""
        far = np.abs(x).max(initial=FURTHEST, where=np.isfinite(x))
        x = np.clip(x, -far, far)
        bounds = _bounds(x, far, calibrator)
        code = 2 * np.searchsorted(bounds, x, side="right") + called
        rows = np.bincount(code, minlength=2 * bounds.size + 2)
        used = np.flatnonzero(rows)
        # Equal scores have themselves as their mean, to the last digit.
        base = np.concatenate([[-far], bounds])[used // 2]
        place = np.cumsum(rows > 0)[code] - 1
        count = rows[used].astype(np.float64)
        above = np.bincount(place, x - base[place], used.size) / count
        open_ = np.bincount(place, np.isnan(known), used.size)
        return cls(base + above, used % 2 == 1, count, open_.astype(np.float64), place)

    @classmethod
    def of_counts(cls, x: Floats, rows: Integers, open_: Integers) -> Cells:
        """Cells that are counted already.

        `x`: Log-odds of cells of the score; `rows` and `open_`: how many rows each has,
        and how many without a label: those called negative and those called positive in
        two rows. `place` is for their places in these.
        """
        far = np.abs(x).max(initial=FURTHEST, where=np.isfinite(x))
        used = np.flatnonzero(rows.ravel())
        place = np.cumsum(rows.ravel() > 0) - 1
        count, rest = (one.ravel()[used].astype(np.float64) for one in (rows, open_))
        odds = np.clip(x, -far, far)[used % x.size]
        return cls(odds, used >= x.size, count, rest, place)


def _bounds(x: Floats, far: float, calibrator: Calibrator) -> Floats:
    """Rising bounds of cells: a cell for each score, or MOST where there are more.

    These hold equal shares of the rows and of the information √(p·(1-p)), half and
    half. Scores of 0 and 1 have cells of their own.
    """
    some = x
    if x.size > SAMPLE:
        some = x[np.linspace(0, x.size - 1, SAMPLE).astype(np.int64)]
    some, count = np.unique(some, return_counts=True)
    if some.size > MOST:
        p, q = from_log_odds(calibrator._map(some))
        share = np.cumsum(count) / count.sum()
        weight = np.cumsum(count * np.sqrt(p * q))
        if weight[-1] > 0.0:
            share = (share + weight / weight[-1]) / 2
        number = np.minimum((MOST * share).astype(np.int64), MOST - 1)
        some = some[np.flatnonzero(np.diff(number, prepend=-1))]
    some = some[(some > -far) & (some < far)]
    return np.concatenate([[np.nextafter(-far, 0.0)], some, [far]])
