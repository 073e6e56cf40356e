"""One threshold for the mean of the metric over groups.

Every row, as it enters the prediction, changes the value of its own group alone; the
changes, added up in the order of the scores, are the curve. O(n log n) for all cuts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from argmetric._ground.groups import narrow_integers
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._verbs.tune._scan import Cuts, SortedRows, means
from argmetric._verbs.tune._uncertainty import SPLITS, SampleSums, some_cuts
from argmetric.metrics import Metric

UNITS = 512  # groups up to which each is drawn for itself; beyond, random bundles
CUTS = 1024  # cuts at which the samples of groups are counted
ROWS_AT_ONCE = 1 << 16  # rows whose groups are evaluated at a time
BLOCK = 1024  # sums are added in blocks, which keeps their rounding small


@dataclass(frozen=True)
class GroupedRows:
    """Sorted rows with the number of their group, and where they lie by group.

    `place` lists the sorted rows group by group, each by descending score; `indptr`
    says where each group begins there.
    """

    rows: SortedRows
    code: Integers
    place: Integers
    indptr: Integers

    @property
    def n_groups(self) -> int:
        return self.indptr.size - 1


def group_rows(rows: SortedRows, code: Integers, n_groups: int) -> GroupedRows:
    """Lay sorted rows out by group; `code` is in the order of the input."""
    assert rows.order is not None
    narrow = narrow_integers(code.size)
    code = code.astype(narrow)[rows.order]
    counts = np.bincount(code, minlength=n_groups)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    rows = replace(rows, order=None)  # has done its work
    return GroupedRows(rows, code, stable_order(code, n_groups).astype(narrow), indptr)


def stable_order(code: Integers, count: int) -> Integers:
    """Return a stable argsort of numbers below `count`: radix sort by 16 bits."""
    order = np.argsort((code & 0xFFFF).astype(np.uint16), kind="stable")
    shift = 16
    while count > 1 << shift:
        digit = (code[order] >> shift) & 0xFFFF
        order = order[np.argsort(digit.astype(np.uint16), kind="stable")]
        shift += 16
    return order


@dataclass(frozen=True)
class Steps:
    """Change of value and of definedness as each row enters, and where groups begin.

    `start` and `start_defined` hold one number per group, the empty prediction;
    an undefined value counts as 0 and is not counted in `defined`.
    """

    start: Floats
    start_defined: Floats
    value: Floats
    defined: npt.NDArray[np.int8]


def steps_of(grouped: GroupedRows, metric: Metric) -> Steps:
    """Return the change of the metric of every group at each of its rows."""
    rows, size, groups = grouped.rows, grouped.place.size, grouped.n_groups
    defined = np.empty(size, dtype=np.int8)  # it changes by one at most
    steps = Steps(np.empty(groups), np.empty(groups), np.empty(size), defined)
    blocks = np.arange(ROWS_AT_ONCE, size + ROWS_AT_ONCE, ROWS_AT_ONCE)
    ends = np.unique(np.minimum(np.searchsorted(grouped.indptr, blocks), groups))
    for first, last in pairwise([0, *ends.tolist()]):
        indptr = grouped.indptr[first : last + 1]
        place = grouped.place[indptr[0] : indptr[-1]]
        indptr = indptr - indptr[0]
        weight = None if rows.weight is None else rows.weight[place]
        positive, lengths = rows.positive[place], np.diff(indptr)
        tp = within_groups(positive, weight, indptr)
        k = tp + within_groups(~positive, weight, indptr)
        t, n = tp[indptr[1:] - 1], k[indptr[1:] - 1]
        after = metric.value(tp, k, np.repeat(t, lengths), np.repeat(n, lengths))
        start = metric.value(np.zeros(t.size), np.zeros(t.size), t, n)
        steps.start[first:last] = np.nan_to_num(start)
        steps.start_defined[first:last] = ~np.isnan(start)
        for values, begins, changes in (
            (np.nan_to_num(after), steps.start, steps.value),
            (~np.isnan(after) * 1.0, steps.start_defined, steps.defined),
        ):
            before = np.empty(values.size)
            before[1:] = values[:-1]
            before[indptr[:-1]] = begins[first:last]
            changes[place] = values - before
    return steps


def within_groups(chosen: Booleans, weight: Floats | None, indptr: Integers) -> Floats:
    """Return the running weight of the chosen rows, restarted in every group."""
    added = np.cumsum(chosen)
    before = np.concatenate([[0], added[indptr[1:-1] - 1]])
    count = added - np.repeat(before, np.diff(indptr))
    if weight is None:
        return np.asarray(count, dtype=np.float64)
    # Each group first takes off the sum of the one before it: a difference of two
    # large running sums would lose digits.
    parts = np.where(chosen, weight, 0.0)
    parts[indptr[1:-1]] -= np.add.reduceat(parts, indptr[:-1])[:-1]
    return np.where(count > 0, np.maximum(np.cumsum(parts), 0.0), 0.0)


def running_sum(values: Floats | npt.NDArray[np.int8]) -> Floats:
    """Return cumulative sums in blocks: one rounding error per block."""
    padded = np.zeros(-(-values.size // BLOCK) * BLOCK)
    padded[: values.size] = values
    table = padded.reshape(-1, BLOCK)
    np.cumsum(table, axis=1, out=table)
    table[1:] += np.cumsum(table[:-1, -1])[:, None]
    return table.ravel()[: values.size]


def mean_curve(grouped: GroupedRows, steps: Steps) -> Floats:
    """Return the mean over groups at every cut; nan where none is defined."""
    total = _at_cuts(grouped, steps.start, steps.value)
    share = steps.start_defined.sum()[None]  # and so it stays, for most metrics
    if steps.defined.any():
        share = _at_cuts(grouped, steps.start_defined, steps.defined)
    return means(total, share)


def _at_cuts(
    grouped: GroupedRows, start: Floats, change: Floats | npt.NDArray[np.int8]
) -> Floats:
    """Return the sum over the groups at every cut."""
    ends, sums = grouped.rows.ends, running_sum(change)
    if ends.size < sums.size:
        sums = sums[ends - 1]
    result = np.empty(ends.size + 1)
    result[0], result[1:] = 0.0, sums
    result += start.sum()
    return result


@dataclass(frozen=True)
class GroupSampler:
    """Draws whole groups. `parts` are the sums of every unit at the cuts."""

    cuts: Integers
    parts: SampleSums

    @property
    def n_units(self) -> int:
        """Groups, or bundles of them."""
        return next(len(part) for part in vars(self.parts).values() if part is not None)

    def bootstrap(self, rng: np.random.Generator, size: int) -> SampleSums:
        """Draw as many units as there are, with replacement."""
        units = self.n_units
        return self._mix(rng.multinomial(units, np.full(units, 1 / units), size=size))

    def deal(self, rng: np.random.Generator, folds: int) -> Integers:
        """Return the fold of every unit, for several splits."""
        return np.stack([rng.permutation(self.n_units) % folds for _ in range(SPLITS)])

    def splits(self, rng: np.random.Generator, folds: int) -> SampleSums:
        """Deal units to folds at random, several times, by one product."""
        held = self.deal(rng, folds)[:, None, :] == np.arange(folds)[:, None]
        return self._mix(held.reshape(-1, self.n_units))

    def new_scores(
        self, metric: Metric, cuts: Integers, size: int, rng: np.random.Generator
    ) -> Floats:
        """Draw means of as many new groups or bundles, each sample at its own cut.

        How likely each unit is to come again is known from the units seen only
        (Dirichlet), and the new ones are drawn by these shares.
        """
        shares = rng.standard_exponential((size, self.n_units))
        shares /= shares.sum(axis=1, keepdims=True)
        times = rng.multinomial(self.n_units, shares)
        drawn = GroupSampler(self.cuts, self.parts.pick(cuts))._mix(times)
        return drawn.score(metric)[:, 0]

    def _mix(self, times: Integers | Booleans) -> SampleSums:
        weight = times.astype(np.float64)
        return self.parts.map_arrays(lambda part: weight @ part)


def group_sampler(
    grouped: GroupedRows,
    cuts: Cuts,
    keep: Integers,
    steps: Steps | None,
    *,
    counts: bool,
    rng: np.random.Generator,
) -> GroupSampler:
    """Return sums of every unit, groups or random bundles, at some of the cuts."""
    index = some_cuts(cuts, keep, CUTS)
    groups = grouped.n_groups
    unit = np.arange(groups)
    if groups > UNITS:
        unit = rng.permutation(groups) % UNITS
    units = int(unit.max()) + 1
    rows = grouped.rows
    ends = rows.ends_of(index)
    slot = np.repeat(np.arange(1, ends.size), np.diff(ends))
    slot += (unit * index.size)[grouped.code]

    def matrix(
        change: Floats | Booleans | npt.NDArray[np.int8], start: Floats | None = None
    ) -> Floats:
        """Return sums of changes up to every kept cut, (n_units, n_cuts)."""
        table = np.bincount(slot, weights=change, minlength=units * index.size)
        table = table.reshape(units, index.size)
        if start is not None:
            table[:, 0] += np.bincount(unit, weights=start, minlength=units)
        return np.asarray(np.cumsum(table, axis=1, out=table))

    tp = fp = value = defined = None
    if counts:
        tp, fp = (matrix(rows.worth(one)) for one in (rows.positive, ~rows.positive))
    if steps is not None:
        value = matrix(steps.value, steps.start)
        if steps.defined.any():
            defined = matrix(steps.defined, steps.start_defined)
        else:  # defined groups stay so at every cut: one column serves for all
            count = np.bincount(unit, weights=steps.start_defined, minlength=units)
            defined = np.asarray(count, dtype=np.float64)[:, None]
    return GroupSampler(index, SampleSums(tp, fp, value, defined))
