"""Cells of the score, and rows counted in them: all that is kept of a period.

A table has the shape (predicted label, what is known of the row, cell). Tables of parts
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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from argmetric._calibrate.bins import finite
from argmetric._calibrate.reference import Reference
from argmetric._ground.display import PERIOD, PeriodVerdict
from argmetric._ground.odds import bounded_logit, expit
from argmetric._ground.saving import plain
from argmetric._ground.types import Booleans, Floats, Integers

UNKNOWN, NEGATIVE, POSITIVE = range(3)  # the second axis of a table
EDGES_OF_ROWS, EDGES_OF_POSITIVES = 62, 44  # quantiles that bound cells
EVEN_EDGES = 62  # bounds at even steps of the log-odds
SURE = 1e-9  # probability below which steps end
BLOCK = 1 << 17  # rows that are counted at once: they stay in cache
BUCKETS = 1 << 16  # even steps of the score, most of which lie within one cell


@dataclass(frozen=True)
class MonitorCells:
    """Cells of neighbouring scores; the first and the last lie beyond the reference."""

    edges: Floats  # rising bounds; cell i holds edges[i-1] <= score < edges[i]
    # The score that stands for each cell: the mean of the reference's rows in it
    scores: Floats
    logits: bool  # whether scores are log-odds

    @classmethod
    def of(cls, reference: Reference, cut: float | None) -> MonitorCells:
        """Cells between quantiles of all rows and of the positives; the cut is a bound.

        A score that many rows have makes several quantiles, and so fewer cells. Bounds
        at even steps of the log-odds divide cells that are wide because few rows of the
        reference are there: inside of those the chance of a positive differs, and the
        expected score would be too low.
        """
        s = reference.scores
        bounds = [
            np.quantile(part, np.arange(k) / k, method="inverted_cdf")
            for part, k in ((s, EDGES_OF_ROWS), (s[reference.y], EDGES_OF_POSITIVES))
        ]
        # Scores between the least and the largest one, at even steps of the log-odds.
        x = finite(s) if reference.logits else bounded_logit(s, SURE, 1.0 - SURE)
        steps = np.linspace(x.min(), x.max(), EVEN_EDGES + 2)[1:-1]
        steps = steps if reference.logits else expit(steps)
        bounds.append(np.asarray(steps[(steps > s.min()) & (steps < s.max())]))
        bounds.append(np.nextafter(s.max(keepdims=True), np.inf))
        if cut is not None and s.min() < cut <= s.max():
            bounds.append(np.array([cut]))
        edges = np.unique(np.concatenate(bounds))
        base = finite(np.concatenate([edges[:1], edges[:-1], s.max(keepdims=True)]))
        cell = np.searchsorted(edges, s, side="right")
        count = np.bincount(cell, minlength=base.size)
        # Equal scores have themselves as their mean, to the last digit.
        above = np.bincount(cell, finite(s) - base[cell], base.size)
        half = np.diff(finite(edges), prepend=edges[:1], append=edges[-1:]) / 2
        above = np.where(count > 0, above / np.maximum(count, 1), half)
        return cls(edges, base + above, reference.logits)

    @property
    def size(self) -> int:
        return int(self.scores.size)

    def count(
        self,
        scores: Floats,
        selected: Booleans,
        known: Floats | None = None,
        part: Integers | None = None,
        n_parts: int = 1,
    ) -> Integers:
        """A table for every part."""
        shape = (n_parts, 2, 3, self.size)
        total = np.zeros(shape, dtype=np.int64).ravel()
        for begin in range(0, scores.size, BLOCK):
            rows = slice(begin, begin + BLOCK)
            there = None if known is None else known[rows]
            code = self.places(scores[rows], selected[rows], there)
            if part is not None:
                code += 6 * self.size * part[rows]
            total += np.bincount(code, minlength=total.size)
        return total.reshape(shape)

    def places(
        self, scores: Floats, selected: Booleans, known: Floats | None
    ) -> Integers:
        """The place of every row in a flat table."""
        code = 3 * selected.astype(np.int64)
        if known is not None:
            there = ~np.isnan(known)
            code[there] += 1 + known[there].astype(np.int64)
        code *= self.size
        code += self.of_scores(scores)
        return code

    def of_scores(self, scores: Floats) -> Integers:
        """The cell of every score: that of its bucket, or by search where it has two.

        Rounding keeps the order: no score in a bucket below that of an edge reaches it.
        """
        if scores.size < BUCKETS:
            return np.searchsorted(self.edges, scores, side="right")
        first, several = self._buckets
        bucket = self._bucket(scores)
        cell = first[bucket]
        unsure = np.flatnonzero(several[bucket])
        cell[unsure] = np.searchsorted(self.edges, scores[unsure], side="right")
        return cell

    def _bucket(self, scores: Floats) -> Integers:
        low, high = finite(self.edges[[0, -1]])
        with np.errstate(over="ignore"):
            place = (scores - low) * ((BUCKETS - 3) / max(high - low, 1e-300)) + 1.0
        place = np.minimum(np.maximum(place, 0.0), BUCKETS - 1.0)
        return np.asarray(place.astype(np.int64))

    @cached_property
    def _buckets(self) -> tuple[Integers, Booleans]:
        """Cell of the first score of every bucket, and whether an edge lies in it."""
        edges = np.bincount(self._bucket(self.edges), minlength=BUCKETS)
        return np.cumsum(edges) - edges, edges > 0

    def to_dict(self) -> dict[str, Any]:
        known = {"edges": self.edges, "scores": self.scores, "logits": self.logits}
        return plain(known)  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> MonitorCells:
        edges, scores = (
            np.array([float(x) for x in values[name]]) for name in ("edges", "scores")
        )
        if scores.size != edges.size + 1 or not (np.diff(edges) > 0).all():
            raise ValueError("cells must have rising edges and one score more")
        return cls(edges, scores, bool(values["logits"]))


def rows_of(table: Integers) -> Floats:
    """Rows of each cell, whatever their labels."""
    return np.asarray(table.sum(axis=(0, 1)), dtype=np.float64)


def outside(table: Integers) -> int:
    """Rows whose scores lie outside of those of the reference."""
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


def weigh_readings(old: Floats, new: Floats, chances: Floats) -> Readings:
    """Probabilities of the readings, from rows in cells."""
    g, variance, binned = binned_change(old, new, chances)
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
    old: Floats, new: Floats, chances: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return g, V, and the mean chance in every bin under every map.

    Bins hold equal sums of rows and of expected positives of both samples, all scaled.
    """
    usual = chances.mean(axis=0)
    mass = np.zeros(old.size)
    for rows in (old, new):
        for part in (rows, rows * usual):
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
    binned = chances @ weight.T / np.maximum(weight.sum(axis=1), 1e-300)
    return g, 1.0 / now + 1.0 / then, binned


def log_normal(g: Floats, covariance: Floats) -> float:
    """Log-density of N(0, covariance) at g."""
    factor = np.linalg.cholesky(covariance)
    x = np.linalg.solve(factor, g)
    size = g.size * np.log(2.0 * np.pi)
    return float(-0.5 * (x @ x + size) - np.log(np.diag(factor)).sum())


def _shift_evidence(g: Floats, variance: Floats, binned: Floats) -> float:
    """All maps and θ share S, whose inverse and determinant are closed forms.

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
    """Logarithm of the sum of exp(levels), over the last axis."""
    top = levels.max(axis=-1)
    total = np.exp(levels - top[..., None]).sum(axis=-1)
    return np.asarray(top + np.log(total))
