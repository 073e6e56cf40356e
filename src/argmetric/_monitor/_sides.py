"""What the counts of the reference leave open on either side of the cut.

A law that is mixed over maps is narrow where all maps agree; and they agree that no row
below a cut is positive where five positives of a reference all lie above it. `forecast`
has the share of positives on each side as uncertain as the reference's counts are
(`_forecast/sides.py`, which has the formula). Here is that law, from a table of counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._forecast.sides import (
    ATOMS,
    GOLDEN,
    NEARLY_NORMAL,
    PSEUDO_ROWS,
    ROWS_PER_POSITIVE,
    BetaShare,
    law_given_share,
    moved_share,
)
from argmetric._input.odds import from_log_odds, logit
from argmetric._input.types import Floats, Integers
from argmetric._monitor._cells import POSITIVE, UNKNOWN, Cells, rows_of
from argmetric._results.discrete import central_interval
from argmetric.metrics import Metric

THIN = 4  # atoms of misses of which one is paired with every atom of hits
NEARLY_BETA = 100.0  # parameters from which three cumulants give a beta law's quantiles


@dataclass(frozen=True)
class Sides:
    """Maps as they were drawn, and the counts of the reference behind them.

    Attributes
    ----------
    maps : ndarray
        Chance of a positive in each cell of the score, a row for every map.
    place : ndarray
        Of each of these cells the nearest one of the reference's counts.
    rows, positives : ndarray
        These counts.
    says : ndarray
        Chance of a positive at each of them, a row for every map.
    trust : float
        Rows that a map counts for.
    """

    maps: Floats
    place: Integers
    rows: Floats
    positives: Floats
    says: Floats
    trust: float

    @classmethod
    def of(cls, calibrator: Calibrator, cells: Cells) -> Sides:
        maps = calibrator.alternatives or (calibrator,)
        counts, n = calibrator.counts, len(maps)
        if counts is None:
            counts = np.zeros((3, 1))
            positives = calibrator.n * (calibrator.prevalence or 0.0)
        else:
            positives = float(counts[2].sum())
        x = cells.scores if cells.logits else logit(cells.scores)
        middle = (counts[0][1:] + counts[0][:-1]) / 2
        says = [from_log_odds(one._map(counts[0]))[0] for one in maps]
        return cls(
            cells.chances(maps),
            np.searchsorted(middle, x),
            counts[1],
            counts[2],
            np.stack(says).reshape(n, -1),
            ROWS_PER_POSITIVE * max(positives, 1.0),
        )

    def interval(
        self, table: Integers, metric: Metric, coverage: float, theta: float = 0.0
    ) -> tuple[float, float]:
        """Interval of the score of a period whose odds have moved by e^θ.

        Parameters
        ----------
        table : ndarray
            Counts of the period.
        metric, coverage
            As for `monitor`.
        theta : float
            Of all rows.
        """
        missed, hits = self._counts(table[:, UNKNOWN].astype(np.float64), table, theta)
        if np.ptp(missed[1]) == 0.0:  # many equal atoms: a part of them under each map
            turn = np.arange(len(self.maps))[:, None] % THIN
            some = turn + np.arange(0, ATOMS, THIN)
            values, weights = missed
            missed = (
                np.take_along_axis(values, some, axis=1),
                np.take_along_axis(weights, some, axis=1),
            )
        known = table[:, POSITIVE].sum(axis=1)
        hit = known[1] + hits[0][:, :, None]
        positive = hit + known[0] + missed[0][:, None]
        value = metric.value(hit, float(table[1].sum()), positive, float(table.sum()))
        chances = hits[1][:, :, None] * missed[1][:, None]
        there = np.isfinite(value) & (chances > 0.0)
        if not there.any():
            return math.nan, math.nan
        value, chances = value[there], chances[there]
        order = np.argsort(value)
        weight = chances[order] / chances.sum()
        return central_interval(value[order], weight, coverage)

    def _counts(
        self, open_: Floats, table: Integers, theta: float
    ) -> list[tuple[Floats, Floats]]:
        """Laws of the number of positives on the negative and on the positive side."""
        n, odds = open_.sum(axis=1), math.exp(theta)
        q = self.maps * odds / (1.0 - self.maps + self.maps * odds)
        size = np.maximum(n, 1.0)
        chance, spread = q @ open_.T / size, (q * (1.0 - q)) @ open_.T / size
        part = spread / np.maximum(chance * (1.0 - chance), 1e-300)
        part = np.where((chance > 0.0) & (chance < 1.0), part, 1.0)
        called = self._called(table)
        sides = np.stack([1.0 - called, called])
        seen, positives = sides @ self.rows, sides @ self.positives
        says = (self.says * self.rows) @ sides.T / np.maximum(seen, 1e-300)
        says = np.where(seen > 0.0, says, chance)
        weight = self.trust + seen + 2.0 * PSEUDO_ROWS
        share = (self.trust * says + positives + PSEUDO_ROWS) / weight
        mean = np.vectorize(moved_share, otypes=[float])(chance, says, share)
        return [
            laws_of_count(n[i], mean[:, i], float(weight[i]), part[:, i])
            for i in (0, 1)
        ]

    def _called(self, table: Integers) -> Floats:
        """Share of the period's rows about each count that are called positive."""
        k = self.rows.size
        total = np.bincount(self.place, rows_of(table), k)
        there = np.flatnonzero(total)
        called = np.bincount(self.place, table[1].sum(axis=0), k)
        return np.interp(np.arange(k), there, called[there] / total[there])


def laws_of_count(
    n: float, mean: Floats, weight: float, part: Floats
) -> tuple[Floats, Floats]:
    """Numbers of positives among n rows and their chances, a row for every map.

    Parameters
    ----------
    n : float
        Rows of a side.
    mean, weight
        Means of the beta laws of the share of positives, and their weight.
    part : ndarray
        As for `BetaShare`.
    """
    both = mean * (1.0 - mean)
    variance = both / (weight + 1.0)
    total = n * both + n * (n - 1.0) * variance
    least = np.minimum(mean, 1.0 - mean) * weight
    if n > 0.0 and (total >= NEARLY_NORMAL).all() and (least >= NEARLY_BETA).all():
        z, noise = _lattice(mean.size)
        skew = 2.0 * (1.0 - 2.0 * mean) / (weight + 2.0)
        bend = skew[:, None] * (z**2 - 1.0) / 6.0
        share = mean[:, None] + np.sqrt(variance)[:, None] * z + bend
        share = np.clip(share, 0.0, 1.0)
        apart = np.sqrt(part[:, None] * n * share * (1.0 - share))
        return np.clip(n * share + noise * apart, 0.0, n), np.full(
            share.shape, 1.0 / ATOMS
        )
    values, chances = np.zeros((2, mean.size, ATOMS))
    for i in range(mean.size):
        law = BetaShare(mean[i], mean[i], weight, part[i])
        atoms, weights = law_given_share(law, n, i)
        values[i, : atoms.size], chances[i, : atoms.size] = atoms, weights
    return values, chances


@lru_cache(maxsize=8)
def _lattice(n_maps: int) -> tuple[Floats, Floats]:
    """Normal quantiles of shares, and of chance given the share for every map."""
    from scipy.special import ndtri

    numbers = np.arange(ATOMS)
    turn = np.arange(n_maps)[:, None] * GOLDEN
    noise = ndtri(((numbers + turn) * GOLDEN + 0.5 / ATOMS) % 1.0)
    return ndtri((numbers + 0.5) / ATOMS), noise
