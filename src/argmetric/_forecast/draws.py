"""Posterior draws of the probabilities of rows, for all forecasts with a reference.

In draw d a row with the log-odds x before calibration and the predicted label a is
positive with the probability

    p_d(x) = f_{a,d}(expit(η_d(x)))

η   is a calibrator: one of the posterior draws given its reference, all equally likely.
f   corrects what a smooth calibrator gets wrong for all rows with one predicted label.
    Of the m reference rows with this label the calibrator expects the share s to be
    positive, and k of them are. Their prevalence has the posterior

        r ~ Beta(κ·s + k + ½, κ·(1 - s) + m - k + ½),

    where κ, the number of rows that the calibrator counts for, is 20, 1 or 1/20 times
    the positives of the reference, drawn by how well each fits k. Probabilities move
    towards 0, or towards 1, by the same factor as s moves to r:

        f(p) = p·r/s  for r < s,   1 - f(p) = (1 - p)·(1 - r)/(1 - s)  otherwise.

    Rows with other scores than those of the reference thus keep the order that the
    calibrator gives them, and a reference whose five positives are all above the
    threshold does not make that certain.

Where the prevalence is given, a constant is added to all log-odds of a draw so that the
mean of p_d equals it. The number of positives among rows with the probabilities p is
Poisson binomial; it is drawn from a binomial distribution with equal mean and variance:

    Bin(N, μ/N),   μ = Σ p,   N = μ²/Σ p²,

for the rarer label, with N rounded up or down at random so that variances agree.
All metrics, periods and means are functions of the counts of the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.calibrator import Calibrator
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers

DRAWS = 960  # draws of probabilities, equally many for every calibrator
COUNTS = 4  # draws of counts for each draw of probabilities
KAPPA_PER_POSITIVE = (20.0, 1.0, 0.05)  # κ divided by the positives of the reference
KAPPA_PRIOR = np.array([0.3, 0.5, 0.2])  # prior probabilities of these κ
PSEUDO_ROWS = 0.5  # added to the reference rows of either class (Jeffreys)
MAX_SINGLE_ROWS = 64  # up to this many rows, the label of each is drawn
MIN_PREVALENCE = 1e-12  # a drawn prevalence is no nearer to 0 or 1
NEWTON_STEPS = 30
MAX_BINS = 160  # bins of scores, each divided by the predicted label
BIN_SAMPLE = 4096  # rows that the edges of bins are taken from
MAX_LOG_ODDS = 800.0  # above the log-odds of any double


# Mask of bins, and factors of p and of 1-p, each of shape (draws, calibrators)
Factors = tuple[Booleans, Floats, Floats]


@dataclass(frozen=True)
class Posterior:
    """Posterior draws of the probabilities of rows, given the reference."""

    # With posterior draws; the first of a chain was fitted on the reference
    calibrator: Calibrator

    @cached_property
    def reference(self) -> Floats:
        """Log-odds, rows and positives of reference bins, of shape (3, n_bins)."""
        counts = self.calibrator.parts[0].counts
        return np.zeros((3, 0)) if counts is None else counts

    @cached_property
    def positives(self) -> float:
        """Number of positives of the reference."""
        fitted = self.calibrator.parts[0]
        if fitted.counts is None:
            return max(fitted.n * (fitted.prevalence or 0.0), 1.0)
        return max(float(fitted.counts[2].sum()), 1.0)

    @cached_property
    def n_calibrators(self) -> int:
        """Number of posterior draws of the calibrator."""
        draws = (one.draws for one in self.calibrator.parts)
        return max((len(one) for one in draws if one is not None), default=1)

    def _odds(self, x: Floats) -> Floats:
        """Return calibrated log-odds of shape (n, n_calibrators)."""
        return np.atleast_2d(self.calibrator._family._map(x)).T

    @cached_property
    def _reference_probabilities(self) -> tuple[Floats, Floats]:
        """P(positive) and P(negative) of reference bins, (n_calibrators, n_bins)."""
        fitted = self.calibrator.parts[0]._family
        return from_log_odds(np.atleast_2d(fitted._map(self.reference[0])))

    def probabilities(
        self,
        bins: ScoreBins,
        prior: float | None = None,
        n: int = 0,
        *,
        draws: int = DRAWS,
        shift: Floats | None = None,
        factors: list[Factors] | None = None,
    ) -> Floats:
        """Draw the probability of a positive in every bin.

        Parameters
        ----------
        bins : ScoreBins
        prior : float, optional
            Prevalence among n rows that every draw is matched to.
        draws : int
            Number of draws, unless `shift` is given.
        shift : ndarray of shape (n_draws_each, n_calibrators), optional
            Added to all log-odds of a draw.
        factors : list, optional
            As `factors` returns them.

        Returns
        -------
        ndarray of shape (n_bins, n_draws)
        """
        c, d = (one[:, None] for one in from_log_odds(self._odds(bins.x)))
        each = max(draws // self.n_calibrators, 1) if shift is None else len(shift)
        factors = factors or self.factors(bins, each)
        by_draw = np.empty((bins.x.size, *factors[0][1].shape))
        for here, down, up in factors:
            moved = c[here] * down + d[here] * (1.0 - up)
            if shift is not None:
                moved *= np.exp(shift)
                moved /= moved + c[here] * (1.0 - down) + d[here] * up
            by_draw[here] = moved
        p = by_draw.reshape(bins.x.size, -1)
        return p if prior is None else match_total(p, bins.rows, prior * n)

    def factors(self, bins: ScoreBins, each: int) -> list[Factors]:
        """Draw factors of p and of 1-p for the bins of either predicted label.

        There are `each` draws for each calibrator. Bins with the same threshold get the
        same factors.
        """
        called, size = self._p_called(bins), each * self.n_calibrators
        sides = self._sides(bins, called)
        key = called.tobytes(), each
        factors = self._factor_cache.get(key)
        if factors is None:
            rng = np.random.default_rng(0)
            kappa = self._draw_kappa(sides, (rng.permutation(size) + 0.5) / size)
            kappa = kappa.reshape(each, self.n_calibrators)
            factors = [one.factors(kappa, rng) for one in sides]
            if all(one.rows > 0.0 for one in sides):  # else they depend on the batch
                self._factor_cache[key] = factors
        pairs = zip(sides, factors, strict=True)
        return [(one.bins, *both) for one, both in pairs]

    @cached_property
    def _factor_cache(self) -> dict[tuple[bytes, int], list[tuple[Floats, Floats]]]:
        return {}

    def _p_called(self, bins: ScoreBins) -> Floats:
        """Return the share of each reference bin that would be predicted positive."""
        x = self.reference[0]
        if not (x.size and bins.x.size):
            return np.zeros(x.size)
        near = np.searchsorted((x[1:] + x[:-1]) / 2, bins.x)
        about = np.bincount(near, bins.rows, x.size)
        there = np.flatnonzero(about)
        share = np.bincount(near, bins.rows * bins.called, x.size)
        return np.interp(np.arange(x.size), there, share[there] / about[there])

    def _sides(self, bins: ScoreBins, called: Floats) -> list[_Side]:
        """Return bins and reference rows of predicted positives, and of negatives."""
        _, rows, positives = self.reference
        sides = []
        for here, part in ((bins.called, called), (~bins.called, 1.0 - called)):
            weight = rows * part
            total, known = float(weight.sum()), float(positives @ part)
            both = self._reference_probabilities
            if not total > 0.0:  # no such row in the reference: take the batch itself
                both = from_log_odds(self._odds(bins.x[here]).T)
                weight = bins.rows[here]
            weight = weight / max(weight.sum(), 1e-300)
            p, q = ((one * weight).sum(axis=1) for one in both)
            sides.append(_Side(here, p, q, total, known))
        return sides

    def _draw_kappa(self, sides: list[_Side], level: Floats) -> Floats:
        """Return quantiles of κ at these levels; P(κ) ∝ prior × evidence.

        Given κ, k of m rows are positive with the Beta-binomial probability
        ∝ B(κ·s + k, κ·(1 - s) + m - k)/B(κ·s, κ·(1 - s)).
        """
        from scipy.special import betaln

        kappa = self.positives * np.array(KAPPA_PER_POSITIVE)
        fit = np.zeros(())
        for one in sides:
            a = np.multiply.outer(kappa, one.p) + 1e-9
            b = np.multiply.outer(kappa, one.q) + 1e-9
            k, miss = one.positives, one.rows - one.positives
            fit = fit + betaln(a + k, b + miss) - betaln(a, b)
        weight = KAPPA_PRIOR * np.exp(fit - fit.max()).mean(axis=1)
        up_to = np.cumsum(weight / weight.sum())
        return kappa[np.minimum(np.searchsorted(up_to, level), len(kappa) - 1)]


class _Side(NamedTuple):
    """Bins with one predicted label, and the reference rows that would have it.

    Attributes
    ----------
    bins : ndarray of bool, shape (n_bins,)
        Which bins they are.
    p, q : ndarray of shape (n_calibrators,)
        Mean probability of a positive and of a negative among those reference rows.
    rows, positives : float
        Number of those reference rows, and of the positives among them.
    """

    bins: Booleans
    p: Floats
    q: Floats
    rows: float
    positives: float

    def factors(self, kappa: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw min(r/s, 1) and min((1-r)/(1-s), 1), of the shape of `kappa`."""
        negatives = self.rows - self.positives
        a = kappa * self.p + self.positives + PSEUDO_ROWS
        b = kappa * self.q + negatives + PSEUDO_ROWS
        from scipy.special import betaincinv

        # Levels are spread evenly over the draws.
        level = (rng.permutation(kappa.size) + 0.5).reshape(kappa.shape) / kappa.size
        r = np.clip(betaincinv(a, b, level), MIN_PREVALENCE, 1.0 - MIN_PREVALENCE)
        with np.errstate(divide="ignore"):
            down = np.minimum(r / self.p, 1.0)
            up = np.minimum((1.0 - r) / self.q, 1.0)
        return down, up


def match_total(p: Floats, rows: Floats, positives: float) -> Floats:
    """Add one constant to the log-odds of each draw so that Σ rows·p = positives.

    Newton's method on the logarithm of the odds ratio w, p' = w·p/(1 - p + w·p).

    Parameters
    ----------
    p : ndarray of shape (n_bins, n_draws)
    rows : ndarray of shape (n_bins,)
    positives : float
    """
    constant = np.zeros(p.shape[1])
    for _ in range(NEWTON_STEPS):
        w = np.exp(constant)
        moved = w * p / (1.0 - p + w * p)
        gap = sums(rows, moved) - positives
        slope = sums(rows, moved * (1.0 - moved))
        constant = constant - np.clip(gap / np.maximum(slope, 1e-300), -2.0, 2.0)
        if np.abs(gap).max(initial=0.0) <= 1e-9 * positives:
            break
    return np.asarray(moved)


def draw_counts(
    p: Floats, rows: Floats, repeats: int, rng: np.random.Generator
) -> Floats:
    """Draw numbers of positives, `repeats` times for every draw of probabilities.

    Parameters
    ----------
    p : ndarray of shape (n_bins, n_draws)
    rows : ndarray of shape (n_sets, n_bins)
        Rows of each bin, in several sets of rows.
    repeats : int
        Draws of counts for each draw of probabilities.

    Returns
    -------
    ndarray of shape (repeats, n_sets, n_draws)
    """
    total = rows.sum(axis=-1, keepdims=True)
    if total.sum() <= MAX_SINGLE_ROWS:
        place = np.repeat(np.arange(rows.size), rows.ravel().astype(np.int64))
        group, index = np.divmod(place, rows.shape[1])
        hit = rng.random((repeats, index.size, p.shape[1])) < p[index]
        counts = [hit[:, group == one].sum(axis=1) for one in range(len(rows))]
        return np.stack(counts, axis=1).astype(np.float64)
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
    positives = np.where(rare, count, total - count)
    return np.asarray(positives, dtype=np.float64)


def sums(rows: Floats, p: Floats) -> Floats:
    """Return rows @ p, the sums over bins, with one thread.

    The rounding of BLAS depends on the number of threads.
    """
    return np.asarray(np.einsum("...c,cd->...d", rows, p))


@dataclass(frozen=True)
class ScoreBins:
    """Bins of rows with neighbouring scores and equal predicted labels.

    Attributes
    ----------
    x : ndarray of shape (n_bins,)
        Mean log-odds before calibration.
    called : ndarray of bool, shape (n_bins,)
        Whether the rows are predicted positive.
    rows, open : ndarray of shape (n_bins,)
        Number of rows, and of rows whose label is unknown.
    place : ndarray of int, shape (n_rows,)
        The bin of every row.
    """

    x: Floats
    called: Booleans
    rows: Floats
    open: Floats
    place: Integers

    @classmethod
    def of(
        cls, x: Floats, called: Booleans, known: Floats, calibrator: Calibrator
    ) -> ScoreBins:
        """Bin rows by log-odds and predicted label.

        Parameters
        ----------
        x, called, known : ndarray of shape (n_rows,)
            Log-odds, whether the row is predicted positive, and true labels (nan where
            unknown).
        calibrator : Calibrator
            Bins are narrower where its probabilities are less certain.
        """
        far = np.abs(x).max(initial=MAX_LOG_ODDS, where=np.isfinite(x))
        x = np.clip(x, -far, far)
        edges = _bin_edges(x, far, calibrator)
        code = 2 * np.searchsorted(edges, x, side="right") + called
        rows = np.bincount(code, minlength=2 * edges.size + 2)
        used = np.flatnonzero(rows)
        # Equal scores have themselves as their mean, to the last digit.
        base = np.concatenate([[-far], edges])[used // 2]
        place = np.cumsum(rows > 0)[code] - 1
        count = rows[used].astype(np.float64)
        above = np.bincount(place, x - base[place], used.size) / count
        open_ = np.bincount(place, np.isnan(known), used.size)
        return cls(base + above, used % 2 == 1, count, open_.astype(np.float64), place)

    @classmethod
    def of_counts(cls, x: Floats, rows: Integers, open_: Integers) -> ScoreBins:
        """Return bins that are counted already.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Log-odds of the bins.
        rows, open_ : ndarray of int, shape (2, n)
            Rows, and rows with unknown labels, of predicted negatives and positives.
        """
        far = np.abs(x).max(initial=MAX_LOG_ODDS, where=np.isfinite(x))
        used = np.flatnonzero(rows.ravel())
        place = np.cumsum(rows.ravel() > 0) - 1
        count, rest = (one.ravel()[used].astype(np.float64) for one in (rows, open_))
        odds = np.clip(x, -far, far)[used % x.size]
        return cls(odds, used >= x.size, count, rest, place)


def _bin_edges(x: Floats, far: float, calibrator: Calibrator) -> Floats:
    """Return ascending edges: a bin for each score, or `MAX_BINS` if there are more.

    The latter hold equal shares of the rows and of the information √(p·(1-p)), half and
    half. Scores of 0 and 1 have bins of their own.
    """
    some = x
    if x.size > BIN_SAMPLE:
        some = x[np.linspace(0, x.size - 1, BIN_SAMPLE).astype(np.int64)]
    some, count = np.unique(some, return_counts=True)
    if some.size > MAX_BINS:
        p, q = from_log_odds(calibrator._map(some))
        share = np.cumsum(count) / count.sum()
        weight = np.cumsum(count * np.sqrt(p * q))
        if weight[-1] > 0.0:
            share = (share + weight / weight[-1]) / 2
        number = np.minimum((MAX_BINS * share).astype(np.int64), MAX_BINS - 1)
        some = some[np.flatnonzero(np.diff(number, prepend=-1))]
    some = some[(some > -far) & (some < far)]
    return np.concatenate([[np.nextafter(-far, 0.0)], some, [far]])
