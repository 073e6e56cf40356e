"""The law of a mean over groups."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from argmetric._expected import Tables
from argmetric._forecast.groups import TABLE_LIMIT, JudgedGroups
from argmetric._forecast.laws import (
    MAX_ATOMS,
    NOTHING,
    ValueLaw,
    combine,
    compress,
    law_of_atoms,
)
from argmetric._forecast.parts import (
    GroupCells,
    Parts,
    divisions_of,
    laws_on_grid,
    parts_of,
    placed,
)
from argmetric._forecast.shares import (
    CERTAIN,
    NORMAL,
    Moments,
    central_moments,
    fixed_of,
    moments_of_ratio,
    transforms_of,
)
from argmetric._forecast.sums import GridLaws, Spectrum, added, total
from argmetric._input.types import Floats

FEW_GROUPS = 16  # up to so many open groups their laws are made one by one
# A number of defined groups that varies by more counts, and yet by a smaller share,
# makes the mean a ratio of sums.
FEW_COUNTS, STEADY = 3.0, 0.03
RARELY = 1e-9  # any value is left out so rarely that their number does not vary
# Ranges of a group in a deviation from which a ratio has the law of its sum, moved to
# its own mean and deviation: chances are off by .0015 at most, and by .001 as normals.
BROAD = 1.5
LUMP = 0.01  # a probability that stands out of a smooth law
GRID, PERIOD = 1 << 14, 1 << 16  # cells of sums, and of those that are transformed
GRID_OF_COUNTS = 1 << 17  # cells of all likely counts together
# Cells of the largest range, with many divisors: common fractions fall on them.
DIVISIONS = (27720, 5040, 2520, 840, 420, 120, 60, 24, 12)
# Cells per standard deviation: at 96 steps of .02 deviations are seen and are not taken
# for a smooth law; the others have cells on which common fractions fall.
FINE, FINER = 96.0, 128.0
FIRST = 128  # groups at least whose transforms are multiplied at once
WORK = 1 << 23  # products of masses and roots of unity that are not too many
BLOCK = 1 << 19  # cells of groups that are laid out at once
TAIL = 32.0  # e^-32 is beyond the grid


def law_of_mean(groups: JudgedGroups) -> tuple[ValueLaw, float]:
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
    few = rest.size <= FEW_GROUPS and _pairs_of_two(rest) <= MAX_ATOMS
    if rest.size == 1 or few:
        found, more = convolved(rest, sure, count)
        if found is not None:
            return found, mean_positives + more
    parts, more = parts_of(rest, tables)
    sure, count, kept = fixed_of(parts, sure, count)
    rest, parts = rest.take(kept), parts.take(kept)
    return _Sum(rest, parts, tables, sure, count).law(), mean_positives + more


def _pairs_of_two(groups: JudgedGroups) -> float:
    """Pairs of counts that are likely in the widest group, times those of the next."""
    spread = groups.rows.p * groups.rows.q * np.isnan(groups.known)
    if groups.deviation:
        spread = np.ones_like(spread)
    hits, misses = (
        1.0 + 6.0 * np.sqrt(groups.per_group(spread * side))
        for side in (groups.selected, ~groups.selected)
    )
    return float(np.sort(hits * misses)[-2:].prod())


def convolved(
    groups: JudgedGroups, sure: float, count: int
) -> tuple[ValueLaw | None, float]:
    """Law of the mean over the groups that are defined, and the expected positives.

    Sums are kept apart by how many values went in. None where they are too many.
    """
    by_count = {count: (np.array([sure]), np.ones(1))}
    positives = 0.0
    for g in range(groups.size):
        law, mean = groups.law(g)
        positives += mean
        parts: dict[int, list[tuple[Floats, Floats]]] = {}
        have = sum(sums.size for sums, _ in by_count.values())
        if have * law.values.size > MAX_ATOMS:
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


class _Sum(Moments):
    """The sum over open groups, beside `count` sure values that add up to `sure`."""

    def __init__(
        self,
        groups: JudgedGroups,
        parts: Parts,
        tables: Tables,
        sure: float,
        count: int,
    ) -> None:
        self.groups, self.parts, self.tables = groups, parts, tables
        self.sure, self.count = sure, count
        share, first = parts.raw[:, 0], parts.raw[:, 1]
        weight = float(share.sum()) + count
        mean = (float(first.sum()) + sure) / max(weight, 1e-300)
        self._central = central_moments(parts.raw, mean)
        _, d1, d2, d3 = self._central
        variance = max(float((d2 - d1**2).sum()), 0.0)
        skew = float((d3 - 3 * d1 * d2 + 2 * d1**3).sum())
        undefined, self.missing = 0.0, np.maximum(1.0 - share, 0.0)
        if not count:
            with np.errstate(divide="ignore"):  # none of them can be left out
                undefined = float(np.exp(np.log(self.missing).sum()))
        ratio = 0.0, math.sqrt(variance) / max(weight, 1e-300)
        if self.missing.sum() >= RARELY and undefined < 1.0:
            transforms = transforms_of(share, d1, d2, weight)
            rest = sure - mean * count
            ratio = moments_of_ratio(transforms, weight, rest, count, undefined)
        super().__init__(mean, weight, variance, skew, undefined, ratio)
        # Whether sums are kept apart by how many values went in.
        spread = math.sqrt(float((share * self.missing).sum()))
        steady = spread > FEW_COUNTS and spread <= STEADY * self.weight
        self.apart = float(self.missing.sum()) >= RARELY and not steady

    def law(self) -> ValueLaw:
        if self.weight <= 0.0:
            return NOTHING
        if not self.groups.size:
            return law_of_atoms(np.array([self.mean]), np.ones(1), 0.0)
        low, high = self.parts.low, self.parts.high
        if self.missing.max() >= CERTAIN:
            low, high = np.minimum(low, self.mean), np.maximum(high, self.mean)
        widths = high - low
        width, deviation = float(widths.max()), math.sqrt(self.variance)
        if width <= 1e-12 * max(1.0, abs(self.mean)) or deviation <= 1e-9 * width:
            return law_of_atoms(np.array([self.mean]), np.ones(1), self.undefined)
        if deviation >= NORMAL * width:
            return self.normal(deviation)
        law = self._from_spectrum(width, float(widths.sum()), deviation)
        if law is not None:
            return law
        lowest = None
        if self.apart:
            lowest, width = float(low.min()), float(high.max() - low.min())
        # Wide cells show how far sums reach, and how many counts are likely.
        wide = self._cells(width, DIVISIONS[-1], lowest)
        _, counts, reach = self._on_grid(wide).mass.shape
        most = min(GRID, GRID_OF_COUNTS / counts) * (wide.count - 1) / reach
        enough = FINER * width / deviation
        enough = next((d for d in DIVISIONS[::-1] if d >= enough), DIVISIONS[0])
        cells = self._cells(width, min(most, enough), lowest)
        if self.apart:
            lattice = divisions_of(self.groups, self.tables, width, lowest)
            if lattice is not None and lattice < cells.count:
                cells = GroupCells(width / lattice, lattice + 1, None, lowest)
        return self._of_grid(self._on_grid(cells), cells)

    def _cells(self, width: float, most: float, lowest: float | None) -> GroupCells:
        """At most so many cells of a range, and at least a few."""
        count = next((d for d in DIVISIONS if d <= most), DIVISIONS[-1])
        filled = None if self.apart else self.mean
        return GroupCells(width / count, count + 1, filled, lowest)

    def _range(self, width: float, support: float) -> float:
        """Likely range of the sum of values in so wide ranges (Bernstein)."""
        bound = TAIL * width / 3
        reach = bound + math.sqrt(bound**2 + 2 * TAIL * self.variance)
        return min(2 * reach, support)

    def _from_spectrum(
        self, width: float, support: float, deviation: float
    ) -> ValueLaw | None:
        """The law of a sum that is smooth, or has no lumps, or a lattice; else None."""
        if self.missing.max() < CERTAIN:
            lattice = divisions_of(self.groups, self.tables, width, None)
            cells = GroupCells(width / (lattice or 1), (lattice or 1) + 1)
            reach = self._range(cells.step * cells.count, support)
            spectrum = self._spectrum(cells, reach) if lattice else None
            if spectrum is not None:
                steps, weights = spectrum.law(finest=1)
                sums = float(self.parts.low.sum()) + cells.step * steps + self.sure
                return law_of_atoms(sums / self.weight, weights, self.undefined)
        short = int(self.groups.rows.lengths.max()) <= TABLE_LIMIT
        for fine in (FINE, FINER) if short and not self.apart else (FINE,):
            count = max(math.ceil(fine * width / deviation), DIVISIONS[-1])
            if fine == FINER:
                count = next((d for d in DIVISIONS[::-1] if d >= count), count)
            cells = GroupCells(width / count, count + 1, self.mean)
            spectrum = self._spectrum(cells, self._range(width, support))
            if spectrum is None:
                return None
            if self.apart and not (spectrum.smooth and deviation >= BROAD * width):
                return None
            values, weights = spectrum.law()
            if spectrum.smooth or (fine == FINER and weights.max() < LUMP):
                return self.fitted(values, weights)
        return None

    def _spectrum(self, cells: GroupCells, reach: float) -> Spectrum | None:
        """That of the sum; None where it would take too long."""
        period = 1 << math.ceil(math.log2(reach / cells.step + cells.count))
        if period > PERIOD:
            return None
        spectrum, size = Spectrum(period), max(FIRST, BLOCK // cells.count)
        for first in range(0, self.groups.size, size):
            chosen = np.arange(first, min(first + size, self.groups.size))
            part = self.groups.take(chosen)
            mass, _ = placed(part, first, self.parts, cells, self.tables)
            if not spectrum.add(mass[:, :-1], WORK):
                return None
        return spectrum

    def _on_grid(self, cells: GroupCells) -> GridLaws:
        block = max(2, BLOCK // (2 * cells.count * (2 if self.apart else 1)))
        result = None
        for first in range(0, self.groups.size, block):
            chosen = np.arange(first, min(first + block, self.groups.size))
            part = self.groups.take(chosen)
            laws = total(laws_on_grid(part, first, self.parts, cells, self.tables))
            result = laws if result is None else added(result, laws)
        assert result is not None
        return result

    def _of_grid(self, laws: GridLaws, cells: GroupCells) -> ValueLaw:
        """Every sum over the number of values that went in.

        That is the expected number where nearly all go in, or always as many.
        """
        parts, total_mass = [], float(laws.mass.sum())
        filled = self.mean * (self.groups.size + self.count - self.weight)
        for more, (mass, moment) in enumerate(
            zip(laws.mass[0], laws.moment[0], strict=True), start=laws.first
        ):
            used = mass > 0
            sums = cells.step * (np.flatnonzero(used) - laws.origin)
            sums = self.sure + sums + moment[used] / mass[used]
            if not self.apart:
                values = (sums - filled) / self.weight
            elif self.count + more:
                values = sums / (self.count + more)
            else:
                values = np.full(sums.size, math.nan)
            parts.append((values, mass[used] / total_mass))
        law = combine(parts)
        if law.probabilities.max() < LUMP:
            return self.fitted(law.values, law.probabilities)
        return replace(law, p_undefined=self.undefined)  # what stands out stays
