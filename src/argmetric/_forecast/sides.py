"""How many positives there may be among the rows of either predicted label.

A map says that a share e of the reference rows on a side (those that would have been
given that label) is positive; k of the m rows were. What the map gets wrong on a whole
side is seen in those counts only, so their share r is as uncertain as they are:

    r ~ Beta(κ·e + k + ½, κ·(1 - e) + m - k + ½),   κ = 20·(positives of the reference)

The rows of the batch have the mean chance μ under the map. Their share moves from μ as
r moves from e: by the same part of the way to 0, or of the way to 1. So rows with other
scores than the reference's keep what the map says of them, and five positives of a
reference that are all above a cut leave no interval of width 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._input.odds import from_log_odds
from argmetric._input.types import Booleans, Floats
from argmetric._results.discrete import dot

ROWS_PER_POSITIVE = 20.0  # that a map counts for
PSEUDO_ROWS = 0.5  # of each class, added to those of a side
LEAST_FACTOR = 1e-9  # of a chance that a share is moved by
LEAST_SHARE = 1e-290  # of positives that is not none
GOLDEN = (5.0**0.5 - 1.0) / 2.0  # steps of it spread evenly over [0, 1)
ATOMS = 48  # of the law of a count, for every map
CELLS = 512
FURTHEST = 800.0  # log-odds of the least double are nearer
NEARLY_NORMAL = 25.0  # variance of a count from which chance is a normal law


@dataclass(frozen=True)
class Rows:
    """Rows as cells of neighbouring log-odds."""

    x: Floats
    count: Floats

    @classmethod
    def of(cls, x: Floats, calibrator: Calibrator) -> Rows:
        """One cell for each distinct score, or CELLS of them where there are more.

        Those hold equal shares of rows and of the positives that the map expects.
        """
        far = np.abs(x).max(initial=FURTHEST, where=np.isfinite(x))
        values, counts = np.unique(np.clip(x, -far, far), return_counts=True)
        count = counts.astype(np.float64)
        if values.size <= CELLS:
            return cls(values, count)
        mass = count * from_log_odds(calibrator._map(values))[0]
        share = np.cumsum(count) / count.sum()
        if mass.sum() > 0.0:
            share = (share + np.cumsum(mass) / mass.sum()) / 2
        number = np.minimum((CELLS * share).astype(np.int64), CELLS - 1)
        first = np.flatnonzero(np.diff(number, prepend=-1))
        total = np.add.reduceat(count, first)
        return cls(np.add.reduceat(count * values, first) / total, total)

    @property
    def total(self) -> float:
        return float(self.count.sum())

    def chances(self, calibrator: Calibrator) -> tuple[float, float]:
        """Means of the chance p of a row under a map, and of p·(1-p)."""
        if self.total == 0.0:
            return 0.0, 0.0
        p, q = from_log_odds(calibrator._map(self.x))
        return dot(self.count, p) / self.total, dot(self.count, p * q) / self.total


@dataclass(frozen=True)
class Side:
    """Rows of one predicted label, and those of the reference that would have it.

    Attributes
    ----------
    rows : Rows
        Rows of the batch whose labels are not known.
    reference : Rows
        Rows of the reference.
    positives : float
        How many of those were positive.
    trust : float
        Rows that a map counts for.
    """

    rows: Rows
    reference: Rows
    positives: float
    trust: float

    def share(self, calibrator: Calibrator) -> BetaShare:
        """The law of the share of positives among the rows, under a map."""
        chance, spread = self.rows.chances(calibrator)
        known = self.reference.total
        # Of a chain the first map is the one that was fitted on the reference.
        says = self.reference.chances(calibrator.parts[0])[0] if known else chance
        weight = self.trust + known + 2.0 * PSEUDO_ROWS
        seen = (self.trust * says + self.positives + PSEUDO_ROWS) / weight
        part = spread / (chance * (1.0 - chance)) if 0.0 < chance < 1.0 else 1.0
        mean = moved_share(chance, says, seen)
        return BetaShare(chance, mean, weight, part)


class BetaShare(NamedTuple):
    """A beta law of a share of positives.

    Attributes
    ----------
    chance : float
        The mean chance of the rows under the map.
    mean, weight : float
        Mean of the law, and the sum of its two parameters.
    part : float
        Variance of a count given the share, in parts of a binomial's: less than 1
        where the map tells rows apart.
    """

    chance: float
    mean: float
    weight: float
    part: float

    def at(self, probability: Floats | float) -> Floats:
        """Quantiles."""
        from scipy.special import betaincinv

        a, b = self.mean * self.weight, (1.0 - self.mean) * self.weight
        if min(a, b) <= 0.0:
            return np.full(np.shape(probability), self.mean)
        return np.asarray(betaincinv(a, b, probability))


def _factors(before: float, after: float) -> tuple[float, float]:
    """What p, and then 1-p, is multiplied with where a share of them moves.

    Never 0: a share that rounds to 0 or 1 makes no row certain.
    """
    if after < before:
        return max(after / before, LEAST_FACTOR), 1.0
    if before < 1.0:
        return 1.0, max((1.0 - after) / (1.0 - before), LEAST_FACTOR)
    return 1.0, 1.0


def moved_share(chance: float, before: float, after: float) -> float:
    """A share that moves from `chance` as `after` moved from `before`."""
    down, up = _factors(before, after)
    return chance * down + (1.0 - chance) * (1.0 - up)


@dataclass(frozen=True)
class Nudge:
    """Factors of p and of 1-p for the rows called positive, and for the others."""

    positive: tuple[float, float]
    negative: tuple[float, float]

    @classmethod
    def pair(
        cls, sides: tuple[Side, Side], calibrator: Calibrator, turn: int
    ) -> tuple[Nudge, Nudge]:
        """Shares that the reference allows under a map, and their mirror images.

        One point of a lattice for every map; mirrored, it moves no mean.
        """
        shares = [side.share(calibrator) for side in sides]
        places = np.array([0.5 + turn * GOLDEN, 0.5 + turn * GOLDEN**2]) % 1.0
        first, second = (
            cls(
                *(
                    _factors(share.chance, float(share.at(place)))
                    for share, place in zip(shares, there, strict=True)
                )
            )
            for there in (places, 1.0 - places)
        )
        return first, second

    def applied(
        self, p: Floats, q: Floats, selected: Booleans
    ) -> tuple[Floats, Floats]:
        pairs = zip(self.positive, self.negative, strict=True)
        down, up = (np.where(selected, *pair) for pair in pairs)
        return p * down + q * (1.0 - up), q * up + p * (1.0 - down)


def both_sides(
    x: Floats, selected: Booleans, unknown: Booleans, calibrator: Calibrator
) -> tuple[Side, Side]:
    """The sides of the rows that were called positive, and of the others.

    A reference row is on a side as often as rows of the batch with its score are.
    """
    fitted = calibrator.parts[0]
    counts = fitted.counts
    if counts is None:
        positives = fitted.n * (fitted.prevalence or 0.0)
        counts = np.zeros((3, 0))
    else:
        positives = float(counts[2].sum())
    called = _share_called(x, selected, counts[0])
    sides = []
    for mask, part in ((selected, called), (~selected, 1.0 - called)):
        sides.append(
            Side(
                Rows.of(x[mask & unknown], calibrator),
                Rows(counts[0], counts[1] * part),
                dot(counts[2], part),
                ROWS_PER_POSITIVE * max(positives, 1.0),
            )
        )
    return sides[0], sides[1]


def _share_called(x: Floats, selected: Booleans, cells: Floats) -> Floats:
    """Share of the batch's rows about each cell that was called positive."""
    if not cells.size:
        return np.zeros(0)
    cell = np.searchsorted((cells[1:] + cells[:-1]) / 2, x)
    total = np.bincount(cell, minlength=cells.size)
    there = np.flatnonzero(total)
    share = np.bincount(cell, selected, cells.size)[there] / total[there]
    return np.interp(np.arange(cells.size), there, share)


def law_of_count(
    side: Side, calibrator: Calibrator, turn: int
) -> tuple[Floats, Floats]:
    """Number of positives on a side under a map: at most ATOMS values, and chances."""
    return law_given_share(side.share(calibrator), side.rows.total, turn)


def law_given_share(share: BetaShare, n: float, turn: int) -> tuple[Floats, Floats]:
    """Number of positives among n rows whose share has a beta law."""
    mean, weight = share.mean, share.weight
    if n == 0.0 or not LEAST_SHARE < mean < 1.0:
        return np.full(1, n * mean), np.ones(1)
    variance = n * mean * (1.0 - mean) * (1.0 + (n - 1.0) / (weight + 1.0))
    if variance < NEARLY_NORMAL:
        return _beta_binomial(n, mean * weight, (1.0 - mean) * weight, variance)
    from scipy.special import ndtri

    # A lattice: every share of equal mass with a normal quantile of its own.
    numbers = np.arange(ATOMS)
    shares = share.at((numbers + 0.5) / ATOMS)
    z = ndtri(((numbers + turn * GOLDEN) * GOLDEN + 0.5 / ATOMS) % 1.0)
    values = n * shares + z * np.sqrt(share.part * n * shares * (1.0 - shares))
    return np.sort(np.clip(values, 0.0, n)), np.full(ATOMS, 1.0 / ATOMS)


def _beta_binomial(
    n: float, a: float, b: float, variance: float
) -> tuple[Floats, Floats]:
    """Chances of every count within 12 standard deviations."""
    from scipy.special import betaln, gammaln

    mean, half = n * a / (a + b), 12.0 * np.sqrt(variance) + 20.0
    x = np.arange(max(0.0, np.floor(mean - half)), min(n, mean + half) + 1.0)
    ways = gammaln(n + 1.0) - gammaln(x + 1.0) - gammaln(n - x + 1.0)
    log = ways + betaln(x + a, n - x + b)
    chances = np.exp(log - log.max())
    return reduced(x, chances / chances.sum())


def reduced(values: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """At most ATOMS values: means over neighbours of about equal mass."""
    if values.size <= ATOMS:
        return values, chances
    middle = np.cumsum(chances) - chances / 2
    number = (ATOMS * middle / chances.sum()).astype(np.int64)
    mass = np.bincount(number, chances, ATOMS)
    mean = np.bincount(number, chances * values, ATOMS)
    used = mass > 0
    return mean[used] / mass[used], np.asarray(mass[used], dtype=np.float64)
