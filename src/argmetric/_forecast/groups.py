"""Groups of independent rows, and the joint distributions of their counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from argmetric._expected import TOLERANCE, kernels
from argmetric._forecast.distributions import ScorePMF, score_pmf
from argmetric._forecast.effects import (
    centre_log_odds,
    effect_step,
    effects,
    fix_known,
    is_informative,
    likeliest_effects,
    mixture_pmf,
)
from argmetric._ground.groups import Segments
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

TABLE_LIMIT = 64  # largest group whose moments are looked up in a table of values
MAX_TILT_STDS = 6.0  # a count is tilted by at most this many standard deviations


@dataclass(frozen=True)
class MetricGroups:
    """Rows sorted by group, and the metric that scores every group.

    Attributes
    ----------
    rows : Segments
        Probabilities of the rows, group by group.
    known : ndarray of shape (n_rows,)
        True labels, nan where unknown.
    selected : ndarray of bool, shape (n_rows,)
        Rows that are predicted positive.
    deviation : float
        Standard deviation of the random effect that the rows of a group share.
    """

    metric: Metric
    rows: Segments
    known: Floats
    selected: Booleans
    deviation: float

    @property
    def size(self) -> int:
        """Number of groups."""
        return self.rows.n_segments

    def per_group(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sum values of shape (n_rows,) over the rows of every group."""
        group = np.repeat(np.arange(self.size), self.rows.lengths)
        weights = values.astype(np.float64)
        return np.bincount(group, weights, self.size).astype(np.float64)

    @cached_property
    def predictions(self) -> Integers:
        """Number of rows that are predicted positive, of shape (n_groups,)."""
        return self.per_group(self.selected).astype(np.int64)

    def is_uncertain(self) -> Booleans:
        """Return which groups have a row whose label is neither known nor certain."""
        rows = self.rows
        unsure = np.isnan(self.known) & (rows.p > 0.0) & (rows.q > 0.0)
        return self.per_group(unsure) > 0

    def take(self, chosen: Integers) -> MetricGroups:
        """Return the groups with these indices."""
        if chosen.size == self.size:
            return self
        inside = np.zeros(self.size, dtype=bool)
        inside[chosen] = True
        rows = np.repeat(inside, self.rows.lengths)
        return replace(
            self,
            rows=self.rows.take(chosen),
            known=self.known[rows],
            selected=self.selected[rows],
        )

    def fixed_values(self) -> tuple[Floats, Floats]:
        """Return the metric of groups with certain labels, and their positives."""
        labels, _ = fix_known(self.rows.p, self.rows.q, self.known)
        tp = self.per_group(labels * self.selected)
        t, k = self.per_group(labels), self.per_group(self.selected)
        return self.metric.value(tp, k, t, self.rows.sizes.astype(np.float64)), t

    def pmf(self, g: int) -> tuple[ScorePMF, float]:
        """Return the distribution of the metric in group g, and expected positives."""
        rows, deviation = self.rows.one(g), self.deviation
        part = slice(self.rows.indptr[g], self.rows.indptr[g + 1])
        known, selected = self.known[part], self.selected[part]
        n, p, q = int(rows.sizes[0]), rows.p, rows.q
        if deviation == 0.0:
            p, q = fix_known(p, q, known)
            return score_pmf(self.metric, n, p, q, selected), float(p.sum())
        centre = centre_log_odds(p, q, deviation)
        return mixture_pmf(
            self.metric, n, centre, deviation, known=known, selected=selected
        )

    def iter_tilted(self) -> Iterator[tuple[Segments, Floats, Floats]]:
        """Yield the rows at a few random effects, and tilts to the effects around.

        A shift θ of all log-odds tilts the distribution of a count t exponentially,
        P_θ(t) ∝ P_0(t)·e^(θt): distributions are computed row by row at few effects.

        Yields
        ------
        rows : Segments
            Probabilities at one effect.
        tilts : ndarray of shape (n_tilts,)
            Shifts of the log-odds to other effects; one of 0 without a random effect.
        weights : ndarray of shape (n_tilts, n_groups)
            Probabilities of these effects, given the known labels of the group.
        """
        rows, known = self.rows, self.known
        if self.deviation == 0.0:
            p, q = fix_known(rows.p, rows.q, known)
            same = Segments(p, q, rows.indptr, rows.sizes)
            yield same, np.zeros(1), np.ones((1, self.size))
            return
        group = np.repeat(np.arange(self.size), rows.lengths)
        centre = centre_log_odds(rows.p, rows.q, self.deviation)
        longest = int(rows.lengths.max(initial=1))
        step = 2.0 / (self.deviation * math.sqrt(longest))
        points, _ = effects(self.deviation, min(step, effect_step(self.deviation)))
        # Known labels move the effect of their group: its grid is centred there.
        middle = likeliest_effects(centre, self.deviation, known, group, self.size)
        middle = np.rint(middle / (points[1] - points[0])) * (points[1] - points[0])
        centre = centre + self.deviation * middle[group]
        weights = self._effect_weights(centre, points, middle)
        shifts = self.deviation * points
        # A count of n labels has a standard deviation of at most √n/2.
        max_tilt = 2.0 * MAX_TILT_STDS / math.sqrt(longest)
        number = np.rint((shifts - shifts[0]) / (2.0 * max_tilt)).astype(np.int64)
        for part in np.split(
            np.arange(shifts.size), np.flatnonzero(np.diff(number)) + 1
        ):
            anchor = float(shifts[part].mean())
            p, q = fix_known(*from_log_odds(centre + anchor), known)
            here = Segments(p, q, rows.indptr, rows.sizes)
            yield here, shifts[part] - anchor, weights[part]

    def _effect_weights(self, centre: Floats, points: Floats, middle: Floats) -> Floats:
        """Return the probability of every effect given the known labels of a group.

        Parameters
        ----------
        centre : ndarray of shape (n_rows,)
            Log-odds at the effect `middle` of the row's group.
        points : ndarray of shape (n_points,)
            Effects around the middle.
        middle : ndarray of shape (n_groups,)

        Returns
        -------
        ndarray of shape (n_points, n_groups)
        """
        level = -((points[:, None] + middle) ** 2) / 2
        arrived = is_informative(centre, self.known)
        if arrived.any():
            sign = np.where(self.known == 1.0, 1.0, -1.0)
            for i, effect in enumerate(points):
                x = sign * (centre + self.deviation * effect)
                log_likelihood = np.where(arrived, -np.logaddexp(0.0, -x), 0.0)
                level[i] += self.per_group(log_likelihood)
        weights = np.exp(level - level.max(axis=0))
        return np.asarray(weights / weights.sum(axis=0))


ROWS_PER_BLOCK = 1 << 15
TILT_TOLERANCE = 1e-60  # tilting can make very unlikely counts likely: keep them
PAIRS_PER_CALL = 1 << 14  # pairs of counts per metric call: they fit in cache
# Largest group in a block, without and with a random effect.
MAX_BLOCK_GROUP, MAX_BLOCK_GROUP_MIXED = 20_000, 2_000


@dataclass(frozen=True)
class JointCounts:
    """Joint distributions of true positives and false negatives, for many groups.

    With `a` true positives and `r` false negatives above the smallest likely ones,
    group g has the probability ``probabilities[i + di·a + r]`` and the metric
    ``values[j + dj·a + r]``, where ``i, di, j, dj = offsets[g]``.

    Attributes
    ----------
    box : ndarray of int, shape (n_groups, 4)
        Smallest number of true positives and how many numbers are likely; the same of
        false negatives.
    probabilities : ndarray
        All groups one after the other.
    values : ndarray
        Groups of one size with as many predicted positives share their values.
    offsets : ndarray of int, shape (n_groups, 4)
    """

    box: Integers
    probabilities: Floats
    values: Floats
    offsets: Integers

    def take(self, kept: Booleans) -> JointCounts:
        """Return the groups where the mask `kept`, of shape (n_groups,), is True."""
        return replace(self, box=self.box[kept], offsets=self.offsets[kept])

    def moments(self, tail: float) -> tuple[Floats, Floats, Floats, float]:
        """Return moments and range of every group, and the positives of all groups.

        Returns
        -------
        raw : ndarray of shape (n_groups, 4)
            P(defined), and E[value^j; defined] for j = 1, 2, 3.
        low, high : ndarray of shape (n_groups,)
            Smallest and largest value, without tails of the probability `tail`.
        expected_positives : float
        """
        n_groups = self.box.shape[0]
        raw, low, high = np.zeros((n_groups, 4)), *np.zeros((2, n_groups))
        grids = self.values, self.probabilities, self.box, self.offsets
        positives = kernels.cell_moments(*grids, tail, raw, low, high)
        return raw, low, high, float(positives)

    def on_grid(
        self, origin: Floats, step: float, n_bins: int, fill_value: float
    ) -> tuple[Floats, Floats]:
        """Return probability mass and remainder of every bin, as `bin_groups` does.

        Parameters
        ----------
        origin : ndarray of shape (n_groups,)
            Left edge of the first bin.
        step : float
            Width of a bin.
        fill_value : float
            Value of an undefined metric; nan keeps its probability apart.
        """
        mass, remainder = np.zeros((2, self.box.shape[0], n_bins + 1))
        grids = self.values, self.probabilities, self.box, self.offsets
        kernels.place_cells(*grids, origin, step, n_bins, fill_value, mass, remainder)
        return mass, remainder


def fits_in_block(groups: MetricGroups) -> Booleans:
    """Return which groups are short enough to be computed many at a time."""
    longest = MAX_BLOCK_GROUP_MIXED if groups.deviation else MAX_BLOCK_GROUP
    return groups.rows.lengths <= longest


def iter_blocks(
    groups: MetricGroups, chosen: Integers
) -> Iterator[tuple[Integers, JointCounts]]:
    """Yield indices of some `chosen` groups and their distributions, block by block."""
    ends = np.cumsum(groups.rows.lengths[chosen])
    block = (ends - 1) // ROWS_PER_BLOCK
    for part in np.split(chosen, np.flatnonzero(np.diff(block)) + 1):
        if part.size:
            yield part, joint_counts(groups.take(part))


def joint_counts(groups: MetricGroups) -> JointCounts:
    """Return the joint distributions of all groups, mixed over the random effect."""
    rows, selected = groups.rows, groups.selected
    tolerance = TILT_TOLERANCE if groups.deviation else TOLERANCE
    at_effects = []
    for here, tilts, weights in groups.iter_tilted():
        own_box = np.empty((groups.size, 4), dtype=np.int64)
        pmfs = np.empty(rows.p.size + 2 * groups.size)
        kernels.fill_pmfs(
            here.p, here.q, rows.indptr, selected, tolerance, own_box, pmfs
        )
        at_effects.append((own_box, pmfs, tilts, weights))
    # A larger effect means more positives: the first and the last bound all boxes.
    first, last = at_effects[0][0], at_effects[-1][0]
    box = first.copy()
    for side in (0, 2):
        box[:, side] = np.minimum(first[:, side], last[:, side])
        ends = np.maximum(*(one[:, side] + one[:, side + 1] for one in (first, last)))
        box[:, side + 1] = ends - box[:, side]
    starts = np.concatenate([[0], np.cumsum(box[:, 1] * box[:, 3])])
    joint = np.zeros(starts[-1])
    for at_effect in at_effects:
        kernels.add_cells(rows.indptr, selected, *at_effect, box, starts, joint)
    offsets = np.stack([starts[:-1], box[:, 3]], axis=1)
    if groups.deviation:  # what was likely under another tilt need not be so here
        kernels.trim_boxes(rows.indptr, TOLERANCE, joint, box, offsets)
    values, sheets = _values_by_size(groups.metric, box, groups.predictions, rows.sizes)
    return JointCounts(box, joint, values, np.concatenate([offsets, sheets], axis=1))


def _values_by_size(
    metric: Metric, box: Integers, k: Integers, n: Integers
) -> tuple[Floats, Integers]:
    """Return the metric of all pairs of counts, once for groups of equal k and n.

    Parameters
    ----------
    box : ndarray of int, shape (n_groups, 4)
        Ranges of the counts, as in `JointCounts`.
    k, n : ndarray of int, shape (n_groups,)
        Predicted positives and rows of each group.

    Returns
    -------
    values : ndarray
    offsets : ndarray of int, shape (n_groups, 2)
        Where the values of a group begin, and how far apart its rows are.
    """
    _, sheet = np.unique(n * (k.max() + 1) + k, return_inverse=True)
    sheets = _bounding_boxes(box, sheet)
    # Counts may differ so much that boxes of their own are smaller than a common one.
    apart = (_n_pairs(sheets) > np.bincount(sheet, _n_pairs(box)))[sheet]
    if apart.any():
        own = np.where(apart, sheet.size + np.arange(sheet.size), sheet)
        _, sheet = np.unique(own, return_inverse=True)
        sheets = _bounding_boxes(box, sheet)
    starts = np.concatenate([[0], np.cumsum(_n_pairs(sheets))])
    sheet_k, sheet_n = np.empty((2, sheets.shape[0]))
    sheet_k[sheet], sheet_n[sheet] = k, n
    values = np.empty(starts[-1])
    for first in range(0, values.size, PAIRS_PER_CALL):
        part = values[first : first + PAIRS_PER_CALL]
        used = np.empty((4, part.size))
        kernels.fill_counts(sheets, starts, sheet_k, sheet_n, first, used)
        part[:] = metric.value(*used)
    width = sheets[sheet, 3]
    above = (box[:, 0] - sheets[sheet, 0]) * width + box[:, 2] - sheets[sheet, 2]
    return values, np.stack([starts[sheet] + above, width], axis=1)


def _n_pairs(box: Integers) -> Integers:
    """Return the number of pairs of counts in each box."""
    return np.asarray(box[:, 1] * box[:, 3])


def _bounding_boxes(box: Integers, sheet: Integers) -> Integers:
    """Return the smallest box around all boxes of a sheet, for sheets 0, 1, …"""
    order = np.argsort(sheet, kind="stable")
    first = np.flatnonzero(np.diff(sheet[order], prepend=-1))
    low, size = box[order, ::2], box[order, 1::2]
    least = np.minimum.reduceat(low, first)
    above = np.maximum.reduceat(low + size, first)
    return np.stack([least, above - least], axis=2).reshape(-1, 4)
