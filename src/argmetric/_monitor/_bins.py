"""Bins of the score, and rows counted in them: all that is kept of a period.

A table has the shape (predicted label, what is known of the row, bin). Tables of parts
of a period add up to the table of the period, in any order.

Three readings of a period whose scores moved are weighed by their evidence: nothing
happened; covariate shift, under which a row of a given score is as likely to be
positive as before; or prevalence shift, under which each class looks as before. The
evidence is in g, the log of rows now over rows then in each of 20 bins of the score:

    g_b = log((new_b + ν)/(old_b + ω)) - log(n/m),   V_b = 1/(new_b + ν) + 1/(old_b + ω)

ν = ½·max(1, n/m) and ω = ½·max(1, m/n): half a row of the smaller sample, and as much
of the larger one. Half a row of both would raise g where rows are few in a short
period, which looks like a prevalence shift.
With S = diag(V) + 1, the 1 for a constant that is free:

    nothing           N(g; 0, S)
    covariate shift   mean over σ, λ of N(g; 0, S + σ²·exp(-(u - u')²/2λ²)),
                      u = (b + ½)/20
    prevalence shift  mean over calibrators and θ ~ N(0, 1) of
                      N(g; log(1 - c_b + c_b·e^θ), S)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from argmetric._calibrate.bins import BinEdges, bound_logits
from argmetric._calibrate.reference import Reference
from argmetric._ground.display import PERIOD, PeriodVerdict
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.types import Booleans, Floats, Integers

UNKNOWN, NEGATIVE, POSITIVE = range(3)  # the second axis of a table
N_ROW_EDGES, N_POSITIVE_EDGES = 62, 44  # quantiles that bound bins
N_EVEN_EDGES = 62  # bounds at even steps of the log-odds
MIN_PROBABILITY = 1e-9  # below which steps end
ROWS_PER_BLOCK = 1 << 17  # they stay in cache


@dataclass(frozen=True)
class PeriodBins(BinEdges):
    """Bins of neighbouring scores; the first and the last lie beyond the reference.

    scores : ndarray of shape (n_bins,)
        The score that stands for each bin: the mean of the reference's rows in it.
    """

    scores: Floats

    @classmethod
    def from_reference(cls, reference: Reference, cut: float | None) -> PeriodBins:
        """Place edges at quantiles of all rows and of the positives, and at the cut.

        A score that many rows have makes several quantiles, and so fewer bins. Edges
        at even steps of the log-odds divide bins that are wide because few rows of the
        reference are there: inside of those the probability of a positive differs, and
        the expected score would be too low.
        """
        s, logits = reference.scores, reference.logits
        bounds = [
            np.quantile(part, np.arange(k) / k, method="inverted_cdf")
            for part, k in ((s, N_ROW_EDGES), (s[reference.y], N_POSITIVE_EDGES))
        ]
        low, high = s.min(), s.max()
        margin = MIN_PROBABILITY
        x = bound_logits(s) if logits else bounded_logit(s, margin, 1.0 - margin)
        steps = np.linspace(x.min(), x.max(), N_EVEN_EDGES + 2)[1:-1]
        steps = steps if logits else expit(steps)
        inside = steps[(steps > low) & (steps < high)]
        bounds += [inside, np.array([np.nextafter(high, np.inf)])]
        if cut is not None and low < cut <= high:
            bounds.append(np.array([cut]))
        edges = np.unique(np.concatenate(bounds))
        bins = BinEdges(edges, logits)
        count, above = bins.sums(s)
        # Equal scores have themselves as their mean, to the last digit.
        half = np.diff(bound_logits(edges), prepend=edges[:1], append=edges[-1:]) / 2
        scores = bins.base + np.where(count > 0, above / np.maximum(count, 1), half)
        scores[-1] = bound_logits(high)
        return cls(edges, logits, scores)

    def count(
        self,
        scores: Floats,
        selected: Booleans,
        known: Floats | None = None,
        part: Integers | None = None,
        n_parts: int = 1,
    ) -> Integers:
        """Return a table (n_parts, 2, 3, n_bins) of rows.

        known : ndarray of shape (n_rows,) or None
            True labels, nan where unknown.
        part : ndarray of shape (n_rows,) or None
            The part that a row belongs to.
        """
        shape = (n_parts, 2, 3, self.size)
        total = np.zeros(shape, dtype=np.int64).ravel()
        for begin in range(0, scores.size, ROWS_PER_BLOCK):
            rows = slice(begin, begin + ROWS_PER_BLOCK)
            there = None if known is None else known[rows]
            code = self.places(scores[rows], selected[rows], there)
            if part is not None:
                code += 6 * self.size * part[rows]
            total += np.bincount(code, minlength=total.size)
        return total.reshape(shape)

    def places(
        self, scores: Floats, selected: Booleans, known: Floats | None
    ) -> Integers:
        """Return the place of every row in a flat table."""
        code = 3 * selected.astype(np.int64)
        if known is not None:
            there = ~np.isnan(known)
            code[there] += 1 + known[there].astype(np.int64)
        code *= self.size
        code += self.assign(scores)
        return code

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PeriodBins:
        """Return the bins that `to_dict` described, checked."""
        edges, scores = cls.read_arrays(values, "scores")
        return cls(edges, values["logits"], scores)


def rows_of(table: Integers) -> Floats:
    """Return the rows of each bin, whatever their labels."""
    return np.asarray(table.sum(axis=(0, 1)), dtype=np.float64)


def n_outside(table: Integers) -> int:
    """Return the number of rows whose scores lie outside the range of the reference."""
    return int(table[..., 0].sum() + table[..., -1].sum())


VERDICTS: tuple[PeriodVerdict, ...] = tuple(PERIOD)  # from good to bad
NO_SHIFT, NO_ALARM, KNOWN, PREVALENCE_SHIFT, CANNOT_SAY, BELOW = VERDICTS
BINS = 20
PRIOR = np.array([0.4, 0.2, 0.4])  # of the three readings
SIZES = (0.25, 0.5, 1.0)  # σ of a smooth change of density
LENGTHS = (0.15, 0.4, 1.0)  # λ, in parts of all bins
THETAS = np.linspace(-3.0, 3.0, 61)
MIN_NO_SHIFT_PROBABILITY = 0.1
MIN_SHIFT_PROBABILITY = 0.8  # of a prevalence shift among the two shifts


class Readings(NamedTuple):
    """Probabilities of the three readings; they sum to 1."""

    nothing: float
    covariate_shift: float
    prevalence_shift: float

    def verdict(self, n_segments: int = 1, *, alarmed: bool = False) -> PeriodVerdict:
        """Return the verdict on a period that is one of `n_segments` segments.

        The odds of no shift are multiplied by the number of segments, as a level is
        divided by the number of tests. A period that raised an alarm on movement has
        shifted.
        """
        nothing = n_segments * self.nothing
        moved = self.prevalence_shift + self.covariate_shift
        if not alarmed and nothing >= MIN_NO_SHIFT_PROBABILITY * (nothing + moved):
            return NO_SHIFT
        likely = self.prevalence_shift >= MIN_SHIFT_PROBABILITY * moved
        return PREVALENCE_SHIFT if likely else CANNOT_SAY


def weigh_readings(old: Floats, new: Floats, probabilities: Floats) -> Readings:
    """Return the probabilities of the readings.

    old, new : ndarray of shape (n_bins,)
        Rows of the reference and of the period.
    probabilities : ndarray of shape (n_calibrators, n_bins)
        Probability of a positive in each bin.
    """
    g, variance, binned = binned_change(old, new, probabilities)
    u = (np.arange(g.size) + 0.5) / g.size
    apart = (u[:, None] - u) ** 2
    free = np.diag(variance) + 1.0
    levels = [
        log_normal(g, free + size**2 * np.exp(-apart / (2.0 * length**2)))
        for size in SIZES
        for length in LENGTHS
    ]
    level = np.array(
        [
            log_normal(g, np.diag(variance) + 1.0),
            float(log_sum(np.array(levels)) - np.log(len(levels))),
            _shift_evidence(g, variance, binned),
        ]
    )
    weight = PRIOR * np.exp(level - level.max())
    return Readings(*(weight / weight.sum()).tolist())


def binned_change(
    old: Floats, new: Floats, probabilities: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return g, V, and mean probabilities (n_calibrators, BINS), in 20 coarse bins.

    These hold equal sums of rows and of expected positives of both samples, all scaled.
    """
    mean = probabilities.mean(axis=0)
    mass = np.zeros(old.size)
    for rows in (old, new):
        for part in (rows, rows * mean):
            mass += part / max(part.sum(), 1e-300)
    middle = np.cumsum(mass) - mass / 2
    number = np.minimum((BINS * middle / mass.sum()).astype(np.int64), BINS - 1)
    number = np.unique(number, return_inverse=True)[1]
    in_bin = (number == np.arange(number.max() + 1)[:, None]).astype(np.float64)
    then, now = in_bin @ old, in_bin @ new
    ratio = new.sum() / old.sum()
    now, then = now + 0.5 * max(1.0, ratio), then + 0.5 * max(1.0, 1.0 / ratio)
    g = np.log(now / then) - np.log(ratio)
    # Label shift multiplies the rows of a bin by the mean of h over the rows then.
    weight = in_bin * np.where((in_bin @ old)[:, None] > 0.0, old, old + new)
    binned = probabilities @ weight.T / np.maximum(weight.sum(axis=1), 1e-300)
    return g, 1.0 / now + 1.0 / then, binned


def log_normal(g: Floats, covariance: Floats) -> float:
    """Return the log-density of N(0, covariance) at g."""
    factor = np.linalg.cholesky(covariance)
    x = np.linalg.solve(factor, g)
    size = g.size * np.log(2.0 * np.pi)
    return float(-0.5 * (x @ x + size) - np.log(np.diag(factor)).sum())


def _shift_evidence(g: Floats, variance: Floats, binned: Floats) -> float:
    """Return the log-evidence of prevalence shift, averaged over a grid of θ.

    (D + 11ᵀ)⁻¹ = D⁻¹ - D⁻¹11ᵀD⁻¹/(1 + 1ᵀD⁻¹1), |D + 11ᵀ| = |D|·(1 + 1ᵀD⁻¹1).
    """
    c = binned[:, None]
    rest = g - np.log(1.0 - c + c * np.exp(THETAS)[:, None])
    scaled = rest / variance
    total = 1.0 + (1.0 / variance).sum()
    square = (rest * scaled).sum(axis=2) - scaled.sum(axis=2) ** 2 / total
    size = g.size * np.log(2.0 * np.pi) + np.log(variance).sum() + np.log(total)
    prior = -(THETAS**2) / 2 - log_sum(-(THETAS**2) / 2) - np.log(len(binned))
    return float(log_sum((prior - 0.5 * (square + size)).ravel()))


def log_sum(levels: Floats) -> Floats:
    """Return the logarithm of the sum of exp(levels), over the last axis."""
    top = levels.max(axis=-1)
    total = np.exp(levels - top[..., None]).sum(axis=-1)
    return np.asarray(top + np.log(total))
