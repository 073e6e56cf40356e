"""The law of a score with a reference, from draws of what may be true (`Truth`)."""

from __future__ import annotations

import math

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._expected import Tables, by_size
from argmetric._forecast.batch import Batch
from argmetric._forecast.effects import settle
from argmetric._forecast.groups import TABLE_LIMIT
from argmetric._forecast.laws import ValueLaw, combine
from argmetric._forecast.parts import table_moments
from argmetric._input.odds import from_log_odds
from argmetric._input.segments import Segments
from argmetric._input.types import Floats
from argmetric._truth.cells import Cells
from argmetric._truth.truth import COUNTS, DRAWS, Truth, drawn_counts, matched

SHORT, LONG = 2000, 32  # segments that are looked at in every draw
QUANTILES = 32  # of hits and of misses of a long segment
WHOLE = 25.0  # variance of a count below which its quantiles are whole numbers
MOVES = 96  # draws that a mean over segments is moved by


def law_over_truth(
    batch: Batch, calibrator: Calibrator
) -> tuple[ValueLaw, ValueLaw, float]:
    """Law of the score, the law that is left given the map, and expected positives.

    One segment has the law of its drawn counts. For a mean over segments, or with an
    effect that rows share, the law given the map moves as its mean does in each draw.
    """
    cells = Cells.of(batch.odds, batch.selected, batch.known, calibrator)
    if batch.layout.single and not batch.deviation:
        p = Truth(calibrator).chances(cells, batch.prior, batch.n)
        laws = _law(batch, cells, p), _law(batch, cells, _own(batch, cells, calibrator))
        return *laws, float(settle(batch.p, batch.q, batch.known)[0].sum())
    law, positives = batch.law()
    if not law.values.size:
        return law, law, positives
    p = Truth(calibrator).chances(cells, batch.prior, batch.n, draws=MOVES)
    sample = _Sample(batch, cells)
    centre = sample.mean(_own(batch, cells, calibrator)[:, 0])
    moves = [sample.mean(column) - centre for column in p.T]
    return _moved(law, moves, sample.range()), law, positives


def _own(batch: Batch, cells: Cells, calibrator: Calibrator) -> Floats:
    """Chances under the map itself, in one column."""
    p = from_log_odds(calibrator._map(cells.x))[0][:, None]
    return p if batch.prior is None else matched(p, cells.rows, batch.prior * batch.n)


def _law(batch: Batch, cells: Cells, p: Floats) -> ValueLaw:
    """The law over drawn counts of hits and of misses."""
    known, selected = batch.known, batch.selected
    rows = cells.open * np.stack([cells.called, ~cells.called])
    repeats = COUNTS * max(DRAWS // p.shape[1], 1)
    drawn = drawn_counts(p, rows, repeats, np.random.default_rng(1))
    hits = drawn[:, 0] + float(np.nansum(known[selected]))
    positives = hits + drawn[:, 1] + float(np.nansum(known[~selected]))
    values = batch.metric.value(hits, int(selected.sum()), positives, batch.n).ravel()
    return combine([(values, np.full(values.size, 1.0 / values.size))])


def _moved(base: ValueLaw, moves: list[float], ends: tuple[float, float]) -> ValueLaw:
    """Mixture of a law that is moved, between these ends or its own."""
    low, high = min(ends[0], base.values[0]), max(ends[1], base.values[-1])
    chances = base.probabilities * ((1.0 - base.p_undefined) / len(moves))
    parts = [(np.clip(base.values + move, low, high), chances) for move in moves]
    return combine([*parts, (np.full(1, math.nan), np.full(1, base.p_undefined))])


class _Sample:
    """Some segments: what a draw does to a mean over all shows on them."""

    def __init__(self, batch: Batch, cells: Cells) -> None:
        layout, rng = batch.layout, np.random.default_rng(0)
        lengths = np.diff(layout.indptr)
        chosen, weight = [], []
        for kind, most in (
            (lengths <= TABLE_LIMIT, SHORT),
            (lengths > TABLE_LIMIT, LONG),
        ):
            members = np.flatnonzero(kind)
            taken = rng.permutation(members)[:most]
            chosen.append(taken)
            weight.append(np.full(taken.size, members.size / max(taken.size, 1)))
        segments = np.concatenate(chosen)
        lengths = lengths[segments]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        first = np.repeat(layout.indptr[segments] - indptr[:-1], lengths)
        rows = layout.segment_rows(0, layout.sizes.size)[np.arange(indptr[-1]) + first]
        self.weight = np.concatenate(weight)  # segments that each stands for
        self.n_short = chosen[0].size
        self.indptr, self.sizes = indptr, layout.sizes[segments]
        self.place, self.known = cells.place[rows], batch.known[rows]
        self.selected, self.metric = batch.selected[rows], batch.metric
        self.tables = Tables(batch.metric)

    def mean(self, chances: Floats) -> float:
        """Expected mean over all segments, from the chance in every cell."""
        known = ~np.isnan(self.known)
        p = np.where(known, self.known, chances[self.place])
        rows = Segments(p, 1.0 - p, self.indptr, self.sizes)
        sizes = by_size(rows, TABLE_LIMIT)
        moments = table_moments(self.tables, rows, self.selected, sizes)[:, :2]
        if self.n_short < self.sizes.size:
            moments[self.n_short :] = self._moments_of_long(p)
        share, first = self.weight @ moments
        return float(first / share) if share > 0.0 else 0.0

    def _moments_of_long(self, p: Floats) -> Floats:
        """Per long segment P(defined) and E[value; defined].

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
        values = self.metric.value(hits, rows[:, 1:], hits + missed[:, None], size)
        there = ~np.isnan(values)
        values = np.where(there, values, 0.0)
        return np.stack([one.mean(axis=(1, 2)) for one in (there, values)], axis=1)

    def range(self) -> tuple[float, float]:
        """Least and largest mean that counts at the ends of their ranges give."""
        lengths = np.diff(self.indptr)
        segment = np.repeat(np.arange(lengths.size), lengths)
        k = np.bincount(segment, self.selected, lengths.size)
        values = np.stack(
            [
                self.metric.value(a * k, k, a * k + r * (lengths - k), self.sizes)
                for a in (0.0, 1.0)
                for r in (0.0, 1.0)
            ]
        )
        low, high = (
            np.where(np.isnan(values), other, values) for other in (math.inf, -math.inf)
        )
        low, high = low.min(axis=0), high.max(axis=0)
        defined = np.isfinite(low)
        if not defined.any():
            return math.inf, -math.inf
        return float(low[defined].mean()), float(high[defined].mean())
