"""The law of a score with a reference, from draws of what may be true (`Truth`)."""

from __future__ import annotations

import math

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._expected import Tables, by_size, kernels
from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.effects import settle
from argmetric._forecast.groups import TABLE_LIMIT, Batch
from argmetric._forecast.truth import (
    COUNTS,
    DRAWS,
    Truth,
    TruthCells,
    drawn_counts,
    matched,
)
from argmetric._ground.groups import Segments
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

SHORT, LONG = 2000, 32  # groups of up to 64 rows, and longer, looked at in each draw
QUANTILES = 32  # of hits and of misses of a long segment
WHOLE = 25.0  # variance of a count below which its quantiles are whole numbers
MOVES = 96  # draws that a mean over segments is moved by


def law_over_truth(
    batch: Batch, calibrator: Calibrator
) -> tuple[ScorePMF, ScorePMF, float]:
    """Law of the score, the law that is left given the map, and expected positives.

    One segment has the law of its drawn counts. For a mean over segments, or with an
    effect that rows share, the law given the map moves as its mean does in each draw.
    """
    cells = TruthCells.of(batch.odds, batch.selected, batch.known, calibrator)
    if batch.layout.single and not batch.deviation:
        p = Truth(calibrator).chances(cells, batch.prior, batch.n)
        laws = (
            distribution_of_draws(batch, cells, p),
            distribution_of_draws(
                batch, cells, fitted_probabilities(batch, cells, calibrator)
            ),
        )
        return *laws, float(settle(batch.p, batch.q, batch.known)[0].sum())
    law, positives = batch.law()
    if not law.values.size:
        return law, law, positives
    p = Truth(calibrator).chances(cells, batch.prior, batch.n, draws=MOVES)
    layout = batch.layout
    rows = layout.segment_rows(0, layout.sizes.size)
    given = cells.place[rows], batch.selected[rows], batch.known[rows]
    sample = GroupSample(batch.metric, *given, layout.indptr, layout.sizes)
    centre = sample.moments(fitted_probabilities(batch, cells, calibrator)[:, 0])[0]
    moves = [sample.moments(column)[0] - centre for column in p.T]
    return _moved(law, moves, sample.ends()), law, positives


def fitted_probabilities(
    batch: Batch, cells: TruthCells, calibrator: Calibrator
) -> Floats:
    """Chances under the map itself, in one column."""
    p = from_log_odds(calibrator._map(cells.x))[0][:, None]
    return p if batch.prior is None else matched(p, cells.rows, batch.prior * batch.n)


def distribution_of_draws(batch: Batch, cells: TruthCells, p: Floats) -> ScorePMF:
    """The law over drawn counts of hits and of misses."""
    found, selected = batch.known == 1.0, batch.selected
    rows = cells.open * np.stack([cells.called, ~cells.called])
    repeats = COUNTS * max(DRAWS // p.shape[1], 1)
    drawn = drawn_counts(p, rows, repeats, np.random.default_rng(1))
    known = np.count_nonzero(found & selected)
    hits = drawn[:, 0] + known
    positives = hits + drawn[:, 1] + (np.count_nonzero(found) - known)
    k = np.count_nonzero(selected)
    values = batch.metric.value(hits, k, positives, batch.n).ravel()
    return ScorePMF.from_atoms([(values, np.full(values.size, 1.0 / values.size))])


def _moved(base: ScorePMF, moves: list[float], ends: tuple[float, float]) -> ScorePMF:
    """Mixture of a law that is moved, between these ends or its own."""
    low, high = min(ends[0], base.values[0]), max(ends[1], base.values[-1])
    chances = base.probabilities * ((1.0 - base.p_undefined) / len(moves))
    parts = [(np.clip(base.values + move, low, high), chances) for move in moves]
    return ScorePMF.from_atoms(
        [*parts, (np.full(1, math.nan), np.full(1, base.p_undefined))]
    )


class GroupSample:
    """Some groups: what a draw does to the mean over all of them shows on these."""

    def __init__(
        self,
        metric: Metric,
        place: Integers,
        selected: Booleans,
        known: Floats,
        indptr: Integers,
        sizes: Integers,
    ) -> None:
        lengths, rng = np.diff(indptr), np.random.default_rng(0)
        chosen, weight = [], []
        for kind, most in (
            (lengths <= TABLE_LIMIT, SHORT),
            (lengths > TABLE_LIMIT, LONG),
        ):
            members = np.flatnonzero(kind)
            taken = np.sort(rng.permutation(members)[:most])
            chosen.append(taken)
            weight.append(np.full(taken.size, members.size / max(taken.size, 1)))
        groups = np.concatenate(chosen)
        lengths = lengths[groups]
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        first = np.repeat(indptr[groups] - self.indptr[:-1], lengths)
        rows = np.arange(self.indptr[-1]) + first
        self.weight = np.concatenate(weight)  # groups that each stands for
        self.n_short, self.sizes = chosen[0].size, sizes[groups]
        self.place, self.known = place[rows], known[rows]
        self.selected, self.metric = selected[rows], metric
        self.tables = Tables(metric)

    def moments(self, chances: Floats) -> tuple[float, float]:
        """Expected mean over all groups, from the chance in every cell; and its sd."""
        known = ~np.isnan(self.known)
        p = np.where(known, self.known, chances[self.place])
        rows = Segments(p, 1.0 - p, self.indptr, self.sizes)
        raw = table_moments(self.tables, rows, self.selected)[:, :3]
        if self.n_short < self.sizes.size:
            raw[self.n_short :] = self._moments_of_long(p)
        share, first, second = raw.T
        total = float(self.weight @ share)
        if not total > 0.0:
            return 0.0, 0.0
        mean = float(self.weight @ first) / total
        apart = first - mean * share
        square = second - 2.0 * mean * first + mean**2 * share - apart**2
        return mean, math.sqrt(max(float(self.weight @ square), 0.0)) / total

    def _moments_of_long(self, p: Floats) -> Floats:
        """Per long group P(defined), E[value] and E[value²] where it is defined.

        From quantiles of hits and of misses by three cumulants, the series of Cornish
        and Fisher: only differences between draws are used.
        """
        from scipy.special import ndtri

        first, sizes = self.indptr[self.n_short], self.sizes[self.n_short :]
        lengths, n = np.diff(self.indptr[self.n_short :]), sizes.size
        p, code = p[first:], 2 * np.repeat(np.arange(n), lengths)
        code += self.selected[first:]
        q, ones = 1.0 - p, np.ones(p.size)
        mean, variance, third, rows = (
            np.bincount(code, one, 2 * n).reshape(n, 2, 1).astype(np.float64)
            for one in (p, p * q, p * q * (q - p), ones)
        )
        z = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
        skew = third / np.maximum(variance, 1e-12) ** 1.5
        bend = np.clip(skew, -2.0, 2.0) * (z**2 - 1.0) / 6.0
        counts = mean + np.sqrt(variance) * (z + bend)
        counts = np.where(variance < WHOLE, np.rint(counts), counts)
        counts = np.clip(counts, 0.0, rows)
        missed, hits = np.moveaxis(counts, 1, 0)
        hits = hits[:, :, None]
        size = sizes[:, None, None].astype(np.float64)
        value = self.metric.value(hits, rows[:, 1:], hits + missed[:, None], size)
        there = ~np.isnan(value)
        value = np.where(there, value, 0.0)
        return np.stack([one.mean(axis=(1, 2)) for one in (there, value, value**2)], 1)

    def ends(self) -> tuple[float, float]:
        """Least and largest mean, at the ends of what the counts can be."""
        group = np.repeat(np.arange(self.sizes.size), np.diff(self.indptr))
        open_, n = np.isnan(self.known), self.sizes.size
        k = np.bincount(group, self.selected, n)
        values = []
        for hit, miss in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
            labels = np.where(self.selected, hit, miss)
            labels = np.where(open_, labels, self.known)
            hits = np.bincount(group, labels * self.selected, n)
            t = np.bincount(group, labels, n)
            values.append(self.metric.value(hits, k, t, self.sizes.astype(np.float64)))
        low = np.where(np.isnan(values), math.inf, values).min(axis=0)
        high = np.where(np.isnan(values), -math.inf, values).max(axis=0)
        there = np.isfinite(low)
        if not there.any():
            return math.inf, -math.inf
        weight = self.weight[there] / self.weight[there].sum()
        return float(weight @ low[there]), float(weight @ high[there])


def table_moments(tables: Tables, rows: Segments, selected: Booleans) -> Floats:
    """Per short segment P(defined) and E[value^j; defined], j = 1, 2, 3."""
    moments, raw = np.zeros((rows.n_segments, 4)), np.zeros((rows.n_segments, 3))
    for m, n, chosen in by_size(rows, TABLE_LIMIT):
        table, defined = tables.of(m, n)
        arguments = (rows.p, rows.q, rows.indptr, chosen, selected)
        kernels.table_moments(*arguments, table, raw)
        moments[chosen, 1:] = raw[chosen]
        moments[chosen, 0] = 1.0
        if defined is not None:
            kernels.table_moments(*arguments, defined, raw)
            moments[chosen, 0] = raw[chosen, 0]
    return moments
