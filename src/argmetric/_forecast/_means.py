"""The law of a mean over groups."""

from __future__ import annotations

import math

import numpy as np

from argmetric._expected import Tables
from argmetric._forecast._grid import GridLaws, added, total
from argmetric._forecast._groups import Groups
from argmetric._forecast._laws import (
    MAX_ATOMS,
    ValueLaw,
    combine,
    compress,
    law_of_atoms,
)
from argmetric._forecast._parts import (
    Cells,
    Parts,
    laws_on_grid,
    parts_of,
)
from argmetric._types import Floats

FEW_GROUPS = 256  # up to so many open groups their laws are made one by one
FEW_MIXTURES = 24  # the same where each is a mixture
# A sum of this many times the largest range of a group has a skewness below 1/40, and
# no lattice of values is coarser than that: it is normal with its skewness.
NORMAL = 40.0
# A number of defined groups that varies by more counts, and yet by a smaller share,
# makes the mean a ratio of sums.
FEW_COUNTS, STEADY = 3.0, 0.03
CERTAIN = 1e-14  # a value is left out so rarely that it is not
LUMP = 0.01  # a probability that stands out of a smooth law
GRID = 1 << 14
GRID_OF_COUNTS = 1 << 11
# Cells of the largest range, with many divisors: common fractions fall on them.
DIVISIONS = (27720, 5040, 2520, 840, 420, 120, 60, 24, 12)
BLOCK = 1 << 19  # cells of groups that are laid out at once
TAIL = 32.0  # e^-32 is beyond the grid


def law_of_mean(groups: Groups) -> tuple[ValueLaw, float]:
    """Law of the mean over the groups that are defined, and the expected positives."""
    unsure = groups.open()
    values, positives = groups.take(np.flatnonzero(~unsure)).settled()
    known = ~np.isnan(values)
    sure, count = float(values[known].sum()), int(known.sum())
    mean_positives = float(positives.sum())
    if not unsure.any():
        weights = np.ones(1)
        return combine([(np.array([sure / count if count else math.nan]), weights)]), (
            mean_positives
        )
    rest, tables = groups.take(np.flatnonzero(unsure)), Tables(groups.metric)
    if rest.size <= (FEW_MIXTURES if groups.deviation else FEW_GROUPS):
        law, more = convolved(rest, sure, count)
        if law is not None:
            return law, mean_positives + more
    parts, more = parts_of(rest, tables)
    return _Sum(rest, parts, tables, sure, count).law(), mean_positives + more


def convolved(groups: Groups, sure: float, count: int) -> tuple[ValueLaw | None, float]:
    """Law of the mean over the groups that are defined, and the expected positives.

    Sums are kept apart by how many values went in. None where they are too many.
    """
    by_count = {count: (np.array([sure]), np.ones(1))}
    positives = 0.0
    for g in range(groups.size):
        law, mean = groups.law(g)
        positives += mean
        parts: dict[int, list[tuple[Floats, Floats]]] = {}
        if sum(sums.size for sums, _ in by_count.values()) * law.values.size > (
            MAX_ATOMS
        ):
            return None, 0.0
        for have, (sums, weights) in by_count.items():
            if law.p_undefined > 0:
                parts.setdefault(have, []).append((sums, weights * law.p_undefined))
            if law.values.size:
                chances = (1 - law.p_undefined) * law.probabilities
                parts.setdefault(have + 1, []).append(
                    (
                        (sums[:, None] + law.values).ravel(),
                        (weights[:, None] * chances).ravel(),
                    )
                )
        by_count = {have: compress(part) for have, part in parts.items()}
    law = combine(
        [
            (sums / have if have else np.full_like(sums, math.nan), weights)
            for have, (sums, weights) in by_count.items()
        ]
    )
    return law, positives


class _Sum:
    """The sum over open groups, beside `count` sure values that add up to `sure`."""

    def __init__(
        self, groups: Groups, parts: Parts, tables: Tables, sure: float, count: int
    ) -> None:
        self.groups, self.parts, self.tables = groups, parts, tables
        self.sure, self.count = sure, count
        share, first, second, third = parts.raw.T
        self.weight = float(share.sum()) + count
        self.mean = (float(first.sum()) + sure) / max(self.weight, 1e-300)
        # Raw moments of (value - mean)·1(defined), then the cumulants of their sum.
        mean = self.mean
        d1 = first - mean * share
        d2 = second - 2 * mean * first + mean**2 * share
        d3 = third - 3 * mean * second + 3 * mean**2 * first - mean**3 * share
        self.variance = max(float((d2 - d1**2).sum()), 0.0)
        self.skew = float((d3 - 3 * d1 * d2 + 2 * d1**3).sum())
        self.missing = np.maximum(1.0 - share, 0.0)
        # Whether sums are kept apart by how many values went in.
        spread = math.sqrt(float((share * self.missing).sum()))
        steady = spread > FEW_COUNTS and spread <= STEADY * self.weight
        self.apart = bool(self.missing.max() >= CERTAIN) and not steady
        self.undefined = 0.0
        if not count:
            with np.errstate(divide="ignore"):  # none of them can be left out
                self.undefined = float(np.exp(np.log(self.missing).sum()))

    def law(self) -> ValueLaw:
        if self.weight <= 0.0:
            return combine([(np.array([math.nan]), np.ones(1))])
        low, high = self.parts.low, self.parts.high
        if self.apart:
            low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
        elif self.missing.max() >= CERTAIN:
            low, high = np.minimum(low, self.mean), np.maximum(high, self.mean)
        width, support = float((high - low).max()), float((high - low).sum())
        deviation = math.sqrt(self.variance)
        if width <= 1e-12 * max(1.0, abs(self.mean)) or deviation <= 1e-9 * width:
            return law_of_atoms(np.array([self.mean]), np.ones(1), self.undefined)
        if deviation >= NORMAL * width:
            return self._normal(deviation)
        cells = self._cells(width, support, float(low.min()))
        laws = self._on_grid(cells)
        return self._of_counts(laws, cells) if self.apart else self._ratio(laws, cells)

    def _cells(self, width: float, support: float, lowest: float) -> Cells:
        """As fine as the likely range of the sum allows (Bernstein's inequality)."""
        bound = TAIL * width / 3
        reach = bound + math.sqrt(bound**2 + 2 * TAIL * self.variance)
        grid = GRID_OF_COUNTS if self.apart else GRID
        most = grid * width / min(2 * reach, support)
        count = next((d for d in DIVISIONS if d <= most), DIVISIONS[-1])
        if self.apart:
            return Cells(width / count, count + 1, base=lowest)
        return Cells(width / count, count + 1, filled=self.mean)

    def _on_grid(self, cells: Cells) -> GridLaws:
        block = max(2, BLOCK // (2 * cells.count * (2 if self.apart else 1)))
        result = None
        for first in range(0, self.groups.size, block):
            chosen = np.arange(first, min(first + block, self.groups.size))
            part = self.groups.take(chosen)
            laws = total(laws_on_grid(part, first, self.parts, cells, self.tables))
            result = laws if result is None else added(result, laws)
        assert result is not None
        return result

    def _ratio(self, laws: GridLaws, cells: Cells) -> ValueLaw:
        """The sum over the expected number of values: nearly all, or always as many."""
        used = laws.mass[0, 0] > 0
        weights = laws.mass[0, 0, used]
        sums = cells.step * (np.flatnonzero(used) - laws.origin)
        sums = sums + laws.moment[0, 0, used] / weights
        weights = weights / weights.sum()
        if weights.max() < LUMP:
            return self._fitted(sums, weights)
        # Values that stand out keep their places.
        rest = self.mean * (self.groups.size + self.count - self.weight)
        values, weights = compress([((sums + self.sure - rest) / self.weight, weights)])
        return law_of_atoms(values, weights, self.undefined)

    def _of_counts(self, laws: GridLaws, cells: Cells) -> ValueLaw:
        """Every sum over the number of values that went in."""
        parts = []
        for more, (mass, moment) in enumerate(
            zip(laws.mass[0], laws.moment[0], strict=True)
        ):
            used, count = mass > 0, self.count + more
            sums = cells.step * (np.flatnonzero(used) - laws.origin)
            sums = self.sure + sums + moment[used] / mass[used]
            values = sums / count if count else np.full(sums.size, math.nan)
            parts.append((values, mass[used] / laws.mass.sum()))
        return combine(parts)

    def _normal(self, deviation: float) -> ValueLaw:
        """Normal with a correction for skewness."""
        z = np.linspace(-6.0, 6.0, 2401)
        skew = self.skew / deviation**3
        density = np.exp(-(z**2) / 2) * (1 + skew / 6 * (z**3 - 3 * z))
        density = np.maximum(density, 0.0)
        return self._fitted(z, density / density.sum())

    def _fitted(self, values: Floats, probabilities: Floats) -> ValueLaw:
        """Values moved and scaled to the mean and the variance of the moments."""
        around = values - probabilities @ values
        spread = math.sqrt(float(probabilities @ around**2))
        scale = math.sqrt(self.variance) / spread / self.weight
        values, weights = compress([(self.mean + scale * around, probabilities)])
        return law_of_atoms(values, weights, self.undefined)
