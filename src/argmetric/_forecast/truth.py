"""One posterior for every forecast with a reference: draws of what may be true.

In draw d a row with the log-odds x before the map, in the cell a of rows that were
given the same label, is positive with the chance

    p_d(x) = f_{a,d}(expit(η_d(x)))

η   is the map: one of the draws that its reference allows, each as likely as the next.
f   is what a smooth map gets wrong on a whole side of the decision. It says that a
    share s of the reference's m rows there is positive, and k of them were. Their share
    is as uncertain as these counts are,

        r ~ Beta(κ·s + k + ½, κ·(1 - s) + m - k + ½),

    where κ, the rows that the map counts for, is 20, 1 or 1/20 of the reference's
    positives, drawn by how well each fits k. Every chance goes by the same part of its
    way to 0, or to 1, as s goes to r:

        f(p) = p·r/s  for r < s,   1 - f(p) = (1 - p)·(1 - r)/(1 - s)  otherwise.

    So rows with other scores than the reference's keep what the map says of them, and
    five positives of a reference that are all above a cut leave nothing certain.

With a given share of positives a constant is added to all log-odds of the draw so that
the mean of p_d is this share. The number of positives among rows with the chances p is
Poisson-binomial; it is drawn from a binomial law with the same mean and variance:

    Bin(N, μ/N),   μ = Σ p,   N = μ²/Σ p²,

of the rarer label, N the whole number above or below it so often that variances agree.
Metrics, periods and means are functions of the counts of the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers

DRAWS = 960  # of chances: as many for every map
COUNTS = 4  # of counts for each of them
TRUST = (20.0, 1.0, 0.05)  # κ for each positive of the reference
TRUSTED = np.array([0.3, 0.5, 0.2])  # how likely each of them is
PSEUDO_ROWS = 0.5  # of each class, added to those of a side
FEW = 64  # rows up to which the label of each is drawn
NEVER = 1e-12  # a share is no nearer to 0 or 1
STEPS = 30  # of Newton's method
MOST = 160  # cells of scores, each divided by the decision
SAMPLE = 4096  # rows that bounds are taken from
FURTHEST = 800.0  # log-odds of the least double are nearer


Factors = tuple[Booleans, Floats, Floats]  # of cells: down, up by rows of maps


@dataclass(frozen=True)
class Truth:
    """Draws of what may be true of rows, given the reference of a map."""

    # A map with draws; of a chain the first was fitted on the reference
    calibrator: Calibrator

    @cached_property
    def reference(self) -> Floats:
        """Log-odds, rows and positives of the cells of the reference, in rows."""
        counts = self.calibrator.parts[0].counts
        return np.zeros((3, 0)) if counts is None else counts

    @cached_property
    def positives(self) -> float:
        """Positives of the reference."""
        fitted = self.calibrator.parts[0]
        if fitted.counts is None:
            return max(fitted.n * (fitted.prevalence or 0.0), 1.0)
        return max(float(fitted.counts[2].sum()), 1.0)

    @cached_property
    def maps(self) -> int:
        """Number of maps that the reference allows."""
        drawn = (one.draws for one in self.calibrator.parts)
        return max((len(one) for one in drawn if one is not None), default=1)

    def _odds(self, x: Floats) -> Floats:
        """Log-odds after every map, a column for each."""
        return np.atleast_2d(self.calibrator._family._map(x)).T

    @cached_property
    def _says(self) -> tuple[Floats, Floats]:
        """Chances of a positive and a negative in cells of the reference, by maps."""
        fitted = self.calibrator.parts[0]._family
        return from_log_odds(np.atleast_2d(fitted._map(self.reference[0])))

    def chances(
        self,
        cells: TruthCells,
        prior: float | None = None,
        n: int = 0,
        *,
        draws: int = DRAWS,
        shift: Floats | None = None,
        factors: list[Factors] | None = None,
    ) -> Floats:
        """Chance of a positive in every cell, a column for each draw.

        A `prior`, the share of positives of n rows, is met in every draw; `shift` is
        added to all log-odds of a draw, rows of a value for each map.
        """
        c, d = (one[:, None] for one in from_log_odds(self._odds(cells.x)))
        each = max(draws // self.maps, 1) if shift is None else len(shift)
        factors = factors or self.factors(cells, each)
        by_map = np.empty((cells.x.size, *factors[0][1].shape))
        for here, down, up in factors:
            moved = c[here] * down + d[here] * (1.0 - up)
            if shift is not None:
                moved *= np.exp(shift)
                moved /= moved + c[here] * (1.0 - down) + d[here] * up
            by_map[here] = moved
        p = by_map.reshape(cells.x.size, -1)
        return p if prior is None else matched(p, cells.rows, prior * n)

    def factors(self, cells: TruthCells, each: int) -> list[Factors]:
        """What p, and then 1-p, of cells of either label is multiplied with.

        In so many draws for each map. Periods with the same cut have the same.
        """
        called, size = self._called(cells), each * self.maps
        sides = self._sides(cells, called)
        key = called.tobytes(), each
        found = self._found_factors.get(key)
        if found is None:
            rng = np.random.default_rng(0)
            trust = self._trusts(sides, (rng.permutation(size) + 0.5) / size)
            trust = trust.reshape(each, self.maps)
            found = [one.factors(trust, rng) for one in sides]
            if all(one.rows > 0.0 for one in sides):  # else they depend on the batch
                self._found_factors[key] = found
        pairs = zip(sides, found, strict=True)
        return [(one.cells, *both) for one, both in pairs]

    @cached_property
    def _found_factors(self) -> dict[tuple[bytes, int], list[tuple[Floats, Floats]]]:
        return {}

    def _called(self, cells: TruthCells) -> Floats:
        """How often each row of the reference would be called positive."""
        x = self.reference[0]
        if not (x.size and cells.x.size):
            return np.zeros(x.size)
        near = np.searchsorted((x[1:] + x[:-1]) / 2, cells.x)
        about = np.bincount(near, cells.rows, x.size)
        there = np.flatnonzero(about)
        share = np.bincount(near, cells.rows * cells.called, x.size)
        return np.interp(np.arange(x.size), there, share[there] / about[there])

    def _sides(self, cells: TruthCells, called: Floats) -> list[_Side]:
        """The rows of the reference that would have been given either label."""
        _, rows, positives = self.reference
        sides = []
        for here, part in ((cells.called, called), (~cells.called, 1.0 - called)):
            weight = rows * part
            total, known = float(weight.sum()), float(positives @ part)
            chances = self._says
            if not total > 0.0:  # what the map says of the batch itself
                chances = from_log_odds(self._odds(cells.x[here]).T)
                weight = cells.rows[here]
            weight = weight / max(weight.sum(), 1e-300)
            says, rest = ((one * weight).sum(axis=1) for one in chances)
            sides.append(_Side(here, says, rest, total, known))
        return sides

    def _trusts(self, sides: list[_Side], level: Floats) -> Floats:
        """κ at some levels of its law, which is its prior times the evidence."""
        from scipy.special import betaln

        kappa = self.positives * np.array(TRUST)
        fit = np.zeros(())
        for one in sides:
            a = np.multiply.outer(kappa, one.says) + 1e-9
            b = np.multiply.outer(kappa, one.rest) + 1e-9
            k, miss = one.positives, one.rows - one.positives
            fit = fit + betaln(a + k, b + miss) - betaln(a, b)
        chance = TRUSTED * np.exp(fit - fit.max()).mean(axis=1)
        reached = np.cumsum(chance / chance.sum())
        return kappa[np.minimum(np.searchsorted(reached, level), len(kappa) - 1)]


class _Side(NamedTuple):
    """Cells of one predicted label, and rows of the reference that would have it."""

    cells: Booleans  # which cells they are
    # Mean chance of a positive, and of a negative, of those rows, under every map
    says: Floats
    rest: Floats
    # How many they are, and how many of them were positive
    rows: float
    positives: float

    def factors(self, trust: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """What p, and then 1-p, is multiplied with in every draw."""
        miss = self.rows - self.positives
        a = trust * self.says + self.positives + PSEUDO_ROWS
        b = trust * self.rest + miss + PSEUDO_ROWS
        from scipy.special import betaincinv

        # Levels are spread evenly over the draws.
        level = (rng.permutation(trust.size) + 0.5).reshape(trust.shape) / trust.size
        r = np.clip(betaincinv(a, b, level), NEVER, 1.0 - NEVER)
        with np.errstate(divide="ignore"):
            down = np.minimum(r / self.says, 1.0)
            up = np.minimum((1.0 - r) / self.rest, 1.0)
        return down, up


def matched(p: Floats, rows: Floats, positives: float) -> Floats:
    """Chances with one constant on the log-odds of a draw, so that Σ p is given.

    Newton's method on the logarithm of the odds ratio w, p' = w·p/(1 - p + w·p).
    """
    constant = np.zeros(p.shape[1])
    for _ in range(STEPS):
        w = np.exp(constant)
        moved = w * p / (1.0 - p + w * p)
        gap = sums(rows, moved) - positives
        slope = sums(rows, moved * (1.0 - moved))
        constant = constant - np.clip(gap / np.maximum(slope, 1e-300), -2.0, 2.0)
        if np.abs(gap).max(initial=0.0) <= 1e-9 * positives:
            break
    return np.asarray(moved)


def drawn_counts(
    p: Floats, rows: Floats, repeats: int, rng: np.random.Generator
) -> Floats:
    """Positives among `rows` of cells, a column for each draw of chances and repeat."""
    total = rows.sum(axis=-1, keepdims=True)
    if total.sum() <= FEW:  # every row by itself
        place = np.repeat(np.arange(rows.size), rows.ravel().astype(np.int64))
        group, cell = np.divmod(place, rows.shape[1])
        hit = rng.random((repeats, cell.size, p.shape[1])) < p[cell]
        found = [hit[:, group == one].sum(axis=1) for one in range(len(rows))]
        return np.stack(found, axis=1).astype(np.float64)
    q, mean = 1.0 - p, sums(rows, p)
    rare = 2.0 * mean <= total
    mean = np.where(rare, mean, sums(rows, q))
    square = np.where(rare, sums(rows, p * p), sums(rows, q * q))
    size = np.maximum(mean * mean / np.maximum(square, 1e-300), mean)
    size = np.minimum(size, total)  # by rounding it might be more
    low = np.maximum(np.floor(size), np.maximum(np.ceil(mean), 1.0))
    # 1/N must be right on average
    part = np.where(size > low, (size - low) * (low + 1.0) / np.maximum(size, 1.0), 0.0)
    shape = (repeats, *mean.shape)
    n = low + (rng.random(shape) < part)
    count = rng.binomial(n.astype(np.int64), np.minimum(mean / n, 1.0))
    found = np.where(rare, count, total - count)
    return np.asarray(found, dtype=np.float64)


def sums(rows: Floats, p: Floats) -> Floats:
    """Sums over cells, by one thread: BLAS rounds by how many there are."""
    return np.asarray(np.einsum("...c,cd->...d", rows, p))


@dataclass(frozen=True)
class TruthCells:
    """Cells of rows with neighbouring scores and equal decisions, of alike chances."""

    x: Floats  # mean log-odds of the rows of each cell, before any map
    called: Booleans  # whether they were given the positive label
    # How many there are, and how many of them have no known label
    rows: Floats
    open: Floats
    place: Integers  # the cell of every row

    @classmethod
    def of(
        cls, x: Floats, called: Booleans, known: Floats, calibrator: Calibrator
    ) -> TruthCells:
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
    def of_counts(cls, x: Floats, rows: Integers, open_: Integers) -> TruthCells:
        """Cells counted already: those called negative and positive in two rows."""
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
