"""Distribution of a score given a reference, from posterior draws (`Posterior`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._expected import Tables, by_size, kernels
from argmetric._forecast.batch import Batch
from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.draws import (
    COUNTS,
    DRAWS,
    Posterior,
    ScoreBins,
    draw_counts,
    match_total,
)
from argmetric._forecast.effects import fix_known
from argmetric._forecast.groups import TABLE_LIMIT
from argmetric._ground.groups import Segments
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

# Groups of up to TABLE_LIMIT rows, and longer ones, that are scored in each draw.
MAX_SHORT_GROUPS, MAX_LONG_GROUPS = 2000, 32
QUANTILES = 32  # of the true positives and of the false negatives of a long group
MAX_WHOLE_VARIANCE = 25.0  # variance of a count below which quantiles are whole numbers
MOVES = 96  # posterior draws by which a mean over segments is shifted


def posterior_pmf(
    batch: Batch, calibrator: Calibrator
) -> tuple[ScorePMF, ScorePMF, float]:
    """Return two distributions of the score, and the expected positives.

    The first is over all posterior draws, the second under the fitted calibrator. One
    segment is scored by its drawn counts. For a mean over segments, or with a random
    effect, the second is shifted as its mean is in each draw.
    """
    bins = ScoreBins.of(batch.odds, batch.selected, batch.known, calibrator)
    if batch.layout.single and not batch.deviation:
        drawn_p = Posterior(calibrator).probabilities(bins, batch.prior, batch.n)
        fitted_p = fitted_probabilities(batch, bins, calibrator)
        draws, fitted = (
            distribution_of_draws(batch, bins, p) for p in (drawn_p, fitted_p)
        )
        return draws, fitted, float(fix_known(batch.p, batch.q, batch.known)[0].sum())
    base, positives = batch.score_pmf()
    if not base.values.size:
        return base, base, positives
    p = Posterior(calibrator).probabilities(bins, batch.prior, batch.n, draws=MOVES)
    layout = batch.layout
    rows = layout.segment_rows(0, layout.sizes.size)
    arrays = bins.place[rows], batch.selected[rows], batch.known[rows]
    sample = GroupSample(batch.metric, *arrays, (layout.indptr, layout.sizes))
    centre = sample.moments(fitted_probabilities(batch, bins, calibrator)[:, 0])[0]
    moves = [sample.moments(column)[0] - centre for column in p.T]
    return _mix_shifted(base, moves, sample.ends()), base, positives


def shifted_total(
    batch: Batch, calibrator: Calibrator, base: ScorePMF, weight: Floats
) -> ScorePMF:
    """Return the distribution of Σ weight·Y, shifted as its mean is in each draw.

    Of all draws `MOVES` quantiles are taken, with their mean and variance: as many
    draws alone made intervals 4 % narrower.
    """
    bins = ScoreBins.of(batch.odds, batch.selected, batch.known, calibrator)
    p = Posterior(calibrator).probabilities(bins, batch.prior, batch.n)
    open_weight = np.where(np.isnan(batch.known), weight, 0.0)
    total = np.bincount(bins.place, open_weight, len(p))
    every = total @ (p - fitted_probabilities(batch, bins, calibrator))
    moves = np.quantile(every, (np.arange(MOVES) + 0.5) / MOVES)
    wide = float(every.std()) / max(float(moves.std()), 1e-300)
    moves = every.mean() + wide * (moves - moves.mean())
    return _mix_shifted(base, moves.tolist(), (-math.inf, math.inf))


def fitted_probabilities(
    batch: Batch, bins: ScoreBins, calibrator: Calibrator
) -> Floats:
    """Return the probabilities of bins under the fitted calibrator, (n_bins, 1)."""
    p = from_log_odds(calibrator._map(bins.x))[0][:, None]
    return (
        p if batch.prior is None else match_total(p, bins.rows, batch.prior * batch.n)
    )


def distribution_of_draws(batch: Batch, bins: ScoreBins, p: Floats) -> ScorePMF:
    """Return the distribution of the score over drawn numbers of hits and of misses.

    Parameters
    ----------
    p : ndarray of shape (n_bins, n_draws)
        Probabilities of a positive.
    """
    positive, selected = batch.known == 1.0, batch.selected
    rows = bins.open * np.stack([bins.called, ~bins.called])
    repeats = COUNTS * max(DRAWS // p.shape[1], 1)
    counts = draw_counts(p, rows, repeats, np.random.default_rng(1))
    known = np.count_nonzero(positive & selected)
    hits = counts[:, 0] + known
    positives = hits + counts[:, 1] + (np.count_nonzero(positive) - known)
    k = np.count_nonzero(selected)
    k_, n = (np.broadcast_to(np.float64(x), hits.shape) for x in (k, batch.n))
    rng = np.random.default_rng(2)
    metric: Any = batch.metric
    if isinstance(getattr(metric, "missed", None), int):  # a count of this very batch
        values = metric.value(hits, k_, positives, n).ravel()
    else:
        values = metric._new_value(hits, k_, positives, n, rng).ravel()
    return ScorePMF.from_atoms([(values, np.full(values.size, 1.0 / values.size))])


def _mix_shifted(
    base: ScorePMF, moves: list[float], ends: tuple[float, float]
) -> ScorePMF:
    """Return the mixture of shifted copies of a distribution.

    Values are clipped to `ends` (smallest, largest), or to those of `base` if wider.
    """
    low, high = min(ends[0], base.values[0]), max(ends[1], base.values[-1])
    weights = base.probabilities * ((1.0 - base.p_undefined) / len(moves))
    parts = [(np.clip(base.values + move, low, high), weights) for move in moves]
    return ScorePMF.from_atoms(
        [*parts, (np.full(1, math.nan), np.full(1, base.p_undefined))]
    )


class GroupSample:
    """Random sample of groups, to estimate the mean over all groups in many draws.

    Parameters
    ----------
    place : ndarray of int, shape (n_rows,)
        Bin of every row, group by group.
    selected : ndarray of bool, shape (n_rows,)
        Rows that are predicted positive.
    known : ndarray of shape (n_rows,)
        True labels, nan where unknown.
    segments : tuple (indptr, sizes)
        Where each group begins, of shape (n_groups + 1,), and its number of rows with
        the absent ones of a sparse matrix, of shape (n_groups,).
    """

    def __init__(
        self,
        metric: Metric,
        place: Integers,
        selected: Booleans,
        known: Floats,
        segments: tuple[Integers, Integers],
    ) -> None:
        indptr, sizes = segments
        lengths, rng = np.diff(indptr), np.random.default_rng(0)
        chosen, weight = [], []
        is_short = lengths <= TABLE_LIMIT
        for kind, most in ((is_short, MAX_SHORT_GROUPS), (~is_short, MAX_LONG_GROUPS)):
            members = np.flatnonzero(kind)
            taken = np.sort(rng.permutation(members)[:most])
            chosen.append(taken)
            weight.append(np.full(taken.size, members.size / max(taken.size, 1)))
        groups = np.concatenate(chosen)
        lengths = lengths[groups]
        self.indptr = np.concatenate([[0], np.cumsum(lengths)])
        first = np.repeat(indptr[groups] - self.indptr[:-1], lengths)
        rows = np.arange(self.indptr[-1]) + first
        self.weight = np.concatenate(weight)  # number of groups that each represents
        self.n_short, self.sizes = chosen[0].size, sizes[groups]
        self.place, self.known = place[rows], known[rows]
        self.selected, self.metric = selected[rows], metric
        self.tables = Tables(metric)

    def moments(self, probabilities: Floats) -> tuple[float, float]:
        """Return the expected mean over all groups, and its standard deviation.

        The probabilities are those of a positive in each bin, of shape (n_bins,).
        """
        known = ~np.isnan(self.known)
        p = np.where(known, self.known, probabilities[self.place])
        rows = Segments(p, 1.0 - p, self.indptr, self.sizes)
        raw = table_moments(self.tables, rows, self.selected)[:, :3]
        if self.n_short < self.sizes.size:
            raw[self.n_short :] = self._long_group_moments(p)
        p_defined, first, second = raw.T
        total = float(self.weight @ p_defined)
        if not total > 0.0:
            return 0.0, 0.0
        mean = float(self.weight @ first) / total
        d1 = first - mean * p_defined
        variance = second - 2.0 * mean * first + mean**2 * p_defined - d1**2
        return mean, math.sqrt(max(float(self.weight @ variance), 0.0)) / total

    def _long_group_moments(self, p: Floats) -> Floats:
        """Return P(defined), E[value; defined] and E[value²; defined], (n_long, 3).

        The numbers of true positives and of false negatives are replaced by quantiles
        from their first three cumulants (Cornish-Fisher expansion). This is accurate
        enough because only differences between draws are used.
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
        counts = np.where(variance < MAX_WHOLE_VARIANCE, np.rint(counts), counts)
        counts = np.clip(counts, 0.0, rows)
        missed, hits = np.moveaxis(counts, 1, 0)
        hits = hits[:, :, None]
        size = sizes[:, None, None].astype(np.float64)
        value = self.metric.value(hits, rows[:, 1:], hits + missed[:, None], size)
        there = ~np.isnan(value)
        value = np.where(there, value, 0.0)
        return np.stack([one.mean(axis=(1, 2)) for one in (there, value, value**2)], 1)

    def ends(self) -> tuple[float, float]:
        """Return the smallest and the largest mean that any labels can give.

        Extremes are looked for where all unknown labels with one prediction are equal.
        """
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
    """Return P(defined) and E[value^j; defined] for j = 1, 2, 3 of short segments.

    The result has the shape (n_segments, 4); segments of more than `TABLE_LIMIT` rows
    have zeros. `selected`, of shape (n_rows,), are the predicted positives.
    """
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
