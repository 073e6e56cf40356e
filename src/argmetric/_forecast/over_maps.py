"""The law of the score over all maps that a calibrator's reference allows.

A map that was fitted on few labels is not known well, and on real models half of the
width of an honest interval is the map's. Given a map the law is exact; here it is mixed
over the map's alternatives, each as likely as the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.prior import match_prevalence
from argmetric._calibrate.resolve import calibrated_scores
from argmetric._expected import Tables, by_size
from argmetric._forecast.effects import settle
from argmetric._forecast.groups import TABLE_LIMIT
from argmetric._forecast.laws import ValueLaw, combine
from argmetric._forecast.parts import table_moments
from argmetric._forecast.sides import (
    ATOMS,
    NEARLY_NORMAL,
    Nudge,
    both_sides,
    law_of_count,
    reduced,
)
from argmetric._input.layout import Layout
from argmetric._input.odds import from_log_odds, logit
from argmetric._input.segments import Segments
from argmetric._input.types import Booleans, Floats
from argmetric._results.discrete import dot
from argmetric.metrics import Metric

SHORT, LONG = 2000, 32  # segments that are looked at under every map


def law_of_positives(p: Floats, q: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Number of positives among cells of rows: at most ATOMS values, and chances."""
    spread = count * p * q
    mean, variance = dot(count, p), float(spread.sum())
    if variance < NEARLY_NORMAL:
        return reduced(*_by_fourier(p, count, mean, variance))
    skew = dot(spread, q - p) / variance**1.5
    values, chances = _nearly_normal(mean, variance, skew)
    return np.clip(values, 0.0, count.sum()), chances


def _nearly_normal(mean: float, variance: float, skew: float) -> tuple[Floats, Floats]:
    """Quantiles of a normal law, bent by the skewness (Cornish and Fisher)."""
    from scipy.special import ndtri

    z = ndtri((np.arange(ATOMS) + 0.5) / ATOMS)
    z = z / np.sqrt(np.mean(z**2))
    values = mean + np.sqrt(variance) * (z + skew * (z**2 - 1) / 6)
    return values, np.full(ATOMS, 1 / ATOMS)


def _by_fourier(
    p: Floats, count: Floats, mean: float, variance: float
) -> tuple[Floats, Floats]:
    """The law of a small count, from its characteristic function.

    On mean ± (10 sd + 20), beyond which the chance is below 1e-16 or so.
    """
    half = int(10 * np.sqrt(variance)) + 20
    low = max(0, int(mean) - half)
    size = min(int(mean) + half, int(count.sum())) - low + 1
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    turn = np.exp(1j * angles) - 1.0
    with np.errstate(divide="ignore"):  # a certain row turns by -1 at most
        level = np.log1p(p[:, None] * turn)
    values = np.exp(count @ level - 1j * angles * low)
    chances = np.maximum(np.fft.irfft(values.conj(), size), 0.0)
    return low + np.arange(size, dtype=np.float64), chances / chances.sum()


@dataclass(frozen=True)
class MappedBatch:
    """Scores as they were before the map, and all that a forecast is given besides."""

    metric: Metric
    layout: Layout
    known: Floats
    selected: Booleans
    prior: float | None
    deviation: float
    logits: bool

    @property
    def unknown(self) -> Booleans:
        return np.isnan(self.known)

    @property
    def odds(self) -> Floats:
        scores = self.layout.scores
        return scores if self.logits else logit(scores)

    def mapped(
        self, calibrator: Calibrator, nudge: Nudge | None = None
    ) -> tuple[Floats, Floats]:
        """P and 1-p of every item under a map, and with the shares of a nudge."""
        scores = calibrated_scores(calibrator, self.layout.scores, logits=self.logits)
        p, q = from_log_odds(scores) if self.logits else (scores, 1.0 - scores)
        if nudge is not None:
            p, q = nudge.applied(p, q, self.selected)
        if self.prior is not None:
            # An implicit cell stays a certain negative under any prevalence.
            p, q = match_prevalence(p, q, self.prior, int(self.layout.sizes.sum()))
        return p, q


def law_over_maps(
    base: ValueLaw, batch: MappedBatch, calibrator: Calibrator
) -> ValueLaw:
    """The law of the score, mixed over the calibrator's alternatives.

    Under every map the share of positives among the rows of either label is as
    uncertain as the reference leaves it. Counts of one segment have their law under
    every map. Otherwise the law `base` under the map itself moves as its mean does.
    """
    others = calibrator.alternatives
    if batch.layout.single and batch.prior is None and not batch.deviation:
        parts = list(_laws_of_one(batch, calibrator, others))
    else:
        parts = list(_moved_laws(base, batch, calibrator, others))
    return combine([(values, weights / len(others)) for values, weights in parts])


def _laws_of_one(
    batch: MappedBatch, calibrator: Calibrator, others: tuple[Calibrator, ...]
) -> Iterator[tuple[Floats, Floats]]:
    """Values and chances under every map, from the laws of hits and misses."""
    known, selected, k = batch.known, batch.selected, int(batch.selected.sum())
    hits, misses = both_sides(batch.odds, selected, batch.unknown, calibrator)
    tp, fn = float(np.nansum(known[selected])), float(np.nansum(known[~selected]))
    n = int(batch.layout.sizes[0])
    for turn, other in enumerate(others):
        (a, chance_a), (r, chance_r) = (
            law_of_count(side, other, turn) for side in (hits, misses)
        )
        hit, missed = tp + a[:, None], fn + r
        weight = chance_a[:, None] * chance_r
        yield batch.metric.value(hit, k, hit + missed, n).ravel(), weight.ravel()


def _moved_laws(
    base: ValueLaw,
    batch: MappedBatch,
    calibrator: Calibrator,
    others: tuple[Calibrator, ...],
) -> Iterator[tuple[Floats, Floats]]:
    """The law under the map itself, moved by what every other map does to its mean."""
    sample = Sample.of(batch)
    centre = sample.mean(calibrator)
    low, high = sample.range()
    low, high = min(low, float(base.values[0])), max(high, float(base.values[-1]))
    chances = base.probabilities * (1.0 - base.p_undefined)
    sides = both_sides(batch.odds, batch.selected, batch.unknown, calibrator)
    for turn, other in enumerate(others):
        for nudge in Nudge.pair(sides, other, turn):
            move = sample.mean(other, nudge) - centre
            yield np.clip(base.values + move, low, high), chances / 2
        if base.p_undefined > 0.0:
            yield np.full(1, math.nan), np.full(1, base.p_undefined)


@dataclass(frozen=True)
class Sample:
    """Some segments: what a map does to a mean over all shows on them.

    `weight` is how many segments each of them stands for.
    """

    batch: MappedBatch
    weight: Floats
    tables: Tables

    @classmethod
    def of(cls, batch: MappedBatch) -> Sample:
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
        part = layout._replace(
            scores=layout.scores[rows],
            indptr=indptr,
            sizes=layout.sizes[segments],
            rows=None,
        )
        known, selected = batch.known[rows], batch.selected[rows]
        batch = replace(batch, layout=part, known=known, selected=selected)
        return cls(batch, np.concatenate(weight), Tables(batch.metric))

    def mean(self, calibrator: Calibrator, nudge: Nudge | None = None) -> float:
        """Expected mean over all segments under a map."""
        batch, layout = self.batch, self.batch.layout
        p, q = settle(*batch.mapped(calibrator, nudge), batch.known)
        rows = Segments(p, q, layout.indptr, layout.sizes)
        sizes = by_size(rows, TABLE_LIMIT)
        moments = table_moments(self.tables, rows, batch.selected, sizes)
        for g in np.flatnonzero(rows.lengths > TABLE_LIMIT).tolist():
            part = slice(rows.indptr[g], rows.indptr[g + 1])
            size = int(layout.sizes[g])
            moments[g, :2] = self._mean_of_one(p[part], q[part], part, size)
        share, first = self.weight @ moments[:, 0], self.weight @ moments[:, 1]
        return float(first / share) if share > 0.0 else 0.0

    def _mean_of_one(
        self, p: Floats, q: Floats, part: slice, size: int
    ) -> tuple[float, float]:
        """P(defined) and E[value; defined] of one segment."""
        chosen = self.batch.selected[part]
        a, chance_a = law_of_positives(p[chosen], q[chosen], np.ones(chosen.sum()))
        r, chance_r = law_of_positives(p[~chosen], q[~chosen], np.ones((~chosen).sum()))
        hit, weight = a[:, None], chance_a[:, None] * chance_r
        values = self.batch.metric.value(hit, int(chosen.sum()), hit + r, size)
        defined = ~np.isnan(values)
        return float(weight[defined].sum()), float(
            (weight * np.nan_to_num(values)).sum()
        )

    def range(self) -> tuple[float, float]:
        """Least and largest mean that counts at the ends of their ranges give."""
        layout = self.batch.layout
        lengths = np.diff(layout.indptr)
        segment = np.repeat(np.arange(lengths.size), lengths)
        k = np.bincount(segment, self.batch.selected, lengths.size)
        value = self.batch.metric.value
        values = np.stack(
            [
                value(a * k, k, a * k + r * (lengths - k), layout.sizes)
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
