"""Default calibrator: a smooth curve of log-odds, shrunk towards no change.

    logit p' = z + b + a·(z - z̄) + f(z) + lumps,   z = logit p

f is piecewise linear between knots that hold equal shares of the information Σ c(1-c),
and constant beyond them: the ends go on with the slope 1 + a that all rows agree on,
so distinct scores stay distinct however sure the model is. z̄ is the mean of z by
information. Scores of exactly 0 and 1 pile up in forests and votes of neighbours: such
a lump stands beyond all other scores and has a level of its own.

The prior is centred at the identity: all coefficients are about 0. How far b, a and f
may move is not chosen but averaged, by the evidence (Laplace) for each of some scales:
200 labels move the curve only where they insist. Where it falls, neighbouring points
are pooled. What is left uncertain is the normal distribution of the coefficients under
the widest scale, kept as draws: a sceptical prior decides better and forecasts worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from argmetric._calibrate.bins import LabelBins
from argmetric._calibrate.calibrator import (
    FORMAT,
    Calibrator,
    check_columns,
    check_not_negative,
)
from argmetric._calibrate.calibrators import as_draw_rows, interpolate, scale_log_odds
from argmetric._calibrate.logistic import (
    N_DRAWS,
    Mode,
    NormalPrior,
    fit_logistic,
    fit_penalised,
    round_draws,
    standard_normal,
)
from argmetric._ground.arguments import check_number
from argmetric._ground.discrete import dot
from argmetric._ground.odds import NEAREST, expit, from_log_odds, log_odds, logit
from argmetric._ground.types import Floats

N_KNOTS = 8
# Standard deviations of the prior of b and a, with the odds of each: most models need
# little, and 200 labels must insist. The widest goes as far as a straight line has to.
SCALES = ((2.0, 1.0), (0.5, 0.4), (0.1, 0.1))
SCALE_ODDS = (1.0, 2.0, 10.0)
CURVE_SCALES = (0.1, 0.3, 1.0, 3.0)  # of f from the first knot to the last, alike
LUMP_SCALE = 1.5
MAX_LEVEL = 36.0  # log-odds beyond which a probability would be 1 as a double
MIN_LEVEL = -700.0  # log-odds below which a probability would be 0


@dataclass(frozen=True, repr=False, eq=False)
class SplineCalibrator(Calibrator):
    """A non-decreasing curve of the log-odds through some points."""

    # log-odds, and what they become; straight lines between
    knots: Floats
    values: Floats
    slope: float  # beyond the first and the last knot
    # log-odds from which on scores count as 0 and as 1; None if all were finite
    ends: tuple[float, float] | None
    # what scores of 0 and of 1 become, and the least and the most that any becomes;
    # None without ends
    low: float | None
    high: float | None

    kind: ClassVar[str] = "spline"

    def _check(self) -> None:
        """Refuse parameters of wrong shapes, and curves that fall."""
        knots, values = (
            np.asarray(a, dtype=np.float64) for a in (self.knots, self.values)
        )
        if knots.ndim != 1 or knots.shape != values.shape or knots.size == 0:
            raise ValueError(
                "knots and values must be vectors of one length, 1 or more"
            )
        if not (np.isfinite(knots).all() and np.isfinite(values).all()):
            raise ValueError("knots and values must be finite")
        if not ((np.diff(knots) > 0).all() and (np.diff(values) >= 0).all()):
            raise ValueError("knots must rise, and values must not fall")
        check_number(self.slope, "slope", low=0.0)
        if not (self.ends is None) == (self.low is None) == (self.high is None):
            raise ValueError("ends, low and high go together")
        if self.ends is not None and self.low is not None:
            first, last = self.ends
            check_number(first, "the first of ends")
            check_number(last, "the second of ends", low=first)
            check_number(self.low, "low")
            check_number(self.high, "high", low=self.low)
            object.__setattr__(self, "ends", (float(first), float(last)))
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "values", values)

    def _check_draws(self, draws: Floats) -> None:
        count = self.knots.size
        columns = count + (1 if self.ends is None else 3)
        check_columns(draws, columns, "values, slope and both ends")
        check_not_negative(draws[:, count], "slope")
        ends = draws[:, count + 1 :]
        if (np.diff(draws[:, :count]) < 0.0).any() or (np.diff(ends) < 0.0).any():
            raise ValueError("draws must hold values that do not fall, and low ≤ high")

    def _draw_fields(self, row: Floats) -> dict[str, object]:
        count = self.knots.size
        low, high = row[count + 1 :] if self.ends else (None, None)
        values = as_draw_rows(row[:count])
        return {"values": values, "slope": row[count], "low": low, "high": high}

    @classmethod
    def _from_plain(cls, values: dict[str, Any]) -> Calibrator:
        if values.get("format", FORMAT) < FORMAT:  # both ends were at one distance
            reach = values.pop("reach", None)
            values["ends"] = None if reach is None else (-reach, reach)
        return super()._from_plain(values)

    def _map(self, x: Floats) -> Floats:
        """Return calibrated log-odds: of the curve, or `low` and `high` at its ends."""
        if self.ends is None or self.low is None or self.high is None:
            return self._curve(x)
        first, last = self.ends
        inner = np.clip(self._curve(np.clip(x, first, last)), self.low, self.high)
        inner = np.where(x <= first, self.low, inner)
        return np.where(x >= last, self.high, inner)

    def _curve(self, x: Floats) -> Floats:
        """Return the piecewise linear curve, with its slope beyond the outer knots."""
        below = np.minimum(x - self.knots[0], 0.0)
        above = np.maximum(x - self.knots[-1], 0.0)
        # An infinite score stays infinite only where the ends rise.
        beyond = scale_log_odds(below + above, self.slope)
        return interpolate(x, self.knots, self.values) + beyond

    def keeps_apart(self, low: float, high: float) -> bool:
        return False  # its flat parts, and scores beyond the ends, are ties

    @property
    def formula(self) -> str:
        ends = f"slope {self.slope:.3g} beyond"
        return f"logit p' through {self.knots.size} points of logit p, {ends}"


@dataclass(frozen=True)
class Basis:
    """Basis of the curve: 1, z - z̄, a ramp between adjacent knots, and end lumps."""

    knots: Floats  # log-odds at which f bends
    centre: float  # z̄, the mean of z by information
    ends: tuple[float, float] | None  # log-odds at which scores of 0 and of 1 stand
    lumps: tuple[bool, bool]  # whether scores pile up at the lower and at the upper end
    points: Floats  # the knots, and the lowest and the highest score that is in no lump
    mass: Floats  # rows in the lower lump, about each point, and in the upper lump

    @classmethod
    def from_line(cls, bins: LabelBins, line: Floats) -> Basis:
        """Place knots in the middle of equal shares of the information of a line."""
        c = expit(line[0] * bins.x + line[1])
        weight = bins.total * c * (1 - c)
        information = np.cumsum(weight)
        shares = (np.arange(N_KNOTS) + 0.5) / N_KNOTS * information[-1]
        places = np.minimum(np.searchsorted(information, shares), c.size - 1)
        knots = np.unique(bins.x[places])
        centre = dot(weight, bins.x) / max(float(information[-1]), 1e-300)
        low_end, high_end = bins.ends or (-np.inf, np.inf)
        at_ends = bins.x == low_end, bins.x == high_end
        low, high = (float(bins.total[end].sum()) for end in at_ends)
        inner = ~(at_ends[0] | at_ends[1])
        x = bins.x[inner]
        points = np.unique(np.concatenate([knots, x[:1], x[-1:]]))
        nearest = np.searchsorted((points[1:] + points[:-1]) / 2, x)
        about = np.bincount(nearest, bins.total[inner], points.size)
        mass = about if bins.ends is None else np.concatenate([[low], about, [high]])
        lumps = (low >= 2, high >= 2)
        return cls(knots, centre, bins.ends, lumps, points, np.maximum(mass, 1e-9))

    def curve(self, x: Floats) -> Floats:
        """Return the columns without the lumps (n_columns, n)."""
        first, gaps = self.knots[:-1, None], np.diff(self.knots)[:, None]
        ramps = np.minimum(np.maximum((x - first) / gaps, 0.0), 1.0)
        return np.vstack([np.ones_like(x), x - self.centre, ramps])

    def design(self, x: Floats) -> Floats:
        """Return all columns (n_coefficients, n) at log-odds x."""
        columns = list(self.curve(x))
        for end, lump in zip(self.ends or (), self.lumps, strict=False):
            if lump:
                columns.append((x == end).astype(np.float64))
        return np.stack(columns)

    def priors(self, scales: list[tuple[float, float]]) -> NormalPrior:
        """Return the priors of all scales, centred at the identity z = z̄ + 1·(z - z̄).

        Ramps are steps of a random walk: their variance is proportional to the gap.
        """
        gaps = np.diff(self.knots)
        steps = np.sqrt(gaps / max(gaps.sum(), 1e-300))
        lumps = [LUMP_SCALE] * sum(self.lumps)
        deviation = np.array(
            [
                [*scale, *(curve * steps), *lumps]
                for scale in scales
                for curve in CURVE_SCALES
            ]
        )
        mean = np.zeros(deviation.shape[1])
        mean[:2] = self.centre, 1.0
        return NormalPrior(mean, deviation**-2)

    def scales(self, line: Floats) -> list[tuple[float, float]]:
        """Return deviations of b and a; the first and widest allows for the line."""
        shift = line[0] * self.centre + line[1] - self.centre
        (b, a), *others = SCALES
        return [(max(b, abs(shift)), max(a, abs(line[0] - 1))), *others]

    def levels(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the log-odds (n_draws, n_points) of coefficients, and slopes."""
        count = self.knots.size + 1
        values = theta[:, :count] @ self.curve(self.points)
        slope = np.maximum(theta[:, 1], 0.0)
        if self.ends is None:
            return values, slope
        low = values[:, 0] + slope * (self.ends[0] - self.points[0])
        high = values[:, -1] + slope * (self.ends[1] - self.points[-1])
        lumps = iter(theta[:, count:].T)
        if self.lumps[0]:
            low = low + next(lumps)
        if self.lumps[1]:
            high = high + next(lumps)
        return np.column_stack([low, values, high]), slope

    def parameters(self, levels: Floats, slope: Floats) -> Floats:
        """Return values, slope and ends in a row for each row of levels."""
        if self.ends is None:
            return np.column_stack([levels, slope])
        levels = np.clip(levels, MIN_LEVEL, MAX_LEVEL)
        return np.column_stack([levels[:, 1:-1], slope, levels[:, 0], levels[:, -1]])


def pool_falling(x: Floats, mass: Floats) -> Floats:
    """Give neighbouring log-odds that fall, in a row, their mean probability."""
    falls = np.flatnonzero((x[:, 1:] < x[:, :-1]).any(axis=1))
    weights, means, points = mass.tolist(), [], []
    for row in expit(x[falls]).tolist():
        pools: list[tuple[float, float, int]] = []  # mean probability, mass, points
        for pool in zip(row, weights, [1] * len(row), strict=True):
            while pools and pools[-1][0] >= pool[0]:
                last = pools.pop()
                total = last[1] + pool[1]
                mean = (last[0] * last[1] + pool[0] * pool[1]) / total
                pool = (mean, total, last[2] + pool[2])
            pools.append(pool)
        means += [pool[0] for pool in pools]
        points += [pool[2] for pool in pools]
    x = x.copy()
    pooled = logit(np.clip(means, 1e-300, 1.0 - NEAREST))
    x[falls] = np.repeat(pooled, points).reshape(falls.size, mass.size)
    return x


def fit_spline(
    bins: LabelBins, *, draw: bool = True, **described: Any
) -> SplineCalibrator:
    """Average the likeliest curves over the scales, by their evidence."""
    # Mean of Platt's targets in every bin: no line separates them.
    positive, all_ = float(bins.positive.sum()), float(bins.total.sum())
    most, least = (positive + 1) / (positive + 2), 1 / (all_ - positive + 2)
    target = least + (most - least) * bins.positive / bins.total
    line = fit_logistic([bins.x], target, bins.total).coefficients
    basis = Basis.from_line(bins, line)
    design, rate = basis.design(bins.x), bins.positive / bins.total
    # From the line: at a slope of 1 margins of a large scale are all saturated.
    start = np.zeros(len(design))
    start[:2] = line[0] * basis.centre + line[1], line[0]
    prior = basis.priors(basis.scales(line))
    modes = fit_penalised(design, rate, bins.total, start, prior)
    odds = np.log(np.repeat(SCALE_ODDS, len(CURVE_SCALES)))
    evidence = modes.evidence(prior) + odds
    centre = _posterior_weights(evidence) @ modes.theta
    levels, slope = basis.levels(centre[None])
    if draw:
        wide = len(CURVE_SCALES)  # the first of them have the widest scale
        widest = Mode(*(one[:wide] for one in vars(modes).values()))
        others, slopes = _draw_curves(
            basis, widest, _posterior_weights(evidence[:wide])
        )
        levels, slope = np.vstack([levels, others]), np.append(slope, slopes)
    rows = basis.parameters(pool_falling(levels, basis.mass), slope)
    count = basis.points.size
    low, high = rows[0, count + 1 :].tolist() or [None, None]
    return SplineCalibrator(
        basis.points,
        rows[0, :count],
        float(rows[0, count]),
        basis.ends,
        low,
        high,
        draws=round_draws(rows[1:]) if draw else None,
        **described,
    )


def _draw_curves(basis: Basis, modes: Mode, weights: Floats) -> tuple[Floats, Floats]:
    """Draw curves from the posterior: their log-odds at the points, and their slopes.

    The draws are moved so that their mean probabilities are those of the average curve.

    modes : Mode
        Posterior mode of the coefficients for each scale.
    weights : ndarray of shape (n_scales,)
        Posterior probabilities of the scales.

    Returns
    -------
    levels : ndarray of shape (n_draws, n_points)
    slopes : ndarray of shape (n_draws,)
    """
    theta = np.vstack([weights @ modes.theta, _draw_coefficients(modes, weights)])
    levels, slopes = basis.levels(theta)
    (average,) = pool_falling(levels[:1], basis.mass)
    return centre_draws(levels[1:], average), slopes[1:]


def _posterior_weights(evidence: Floats) -> Floats:
    """Return posterior probabilities of hypotheses from log-evidence."""
    weights = np.exp(evidence - evidence.max())
    return np.asarray(weights / weights.sum())


def centre_draws(draws: Floats, centre: Floats) -> Floats:
    """Shift draws (n_draws, n_points) so that mean probabilities equal the centre.

    A normal distribution of log-odds has a long tail of probabilities: where few labels
    are positive its mean would promise too many of them. Probabilities of a point are
    multiplied by one factor, or their distances from 1 are.
    """
    ends = MIN_LEVEL, -MIN_LEVEL  # beyond them one of p and 1-p is 0
    (p, q), (c, d) = (from_log_odds(np.clip(x, *ends)) for x in (draws, centre))
    mean, rest = p.mean(axis=0), q.mean(axis=0)
    down = np.maximum(mean - c, 0.0) / mean  # part of each probability that is moved
    up = np.maximum(rest - d, 0.0) / rest
    moved = log_odds(p * (1.0 - down) + q * up, q * (1.0 - up) + p * down)
    return np.clip(moved, *ends)


def _draw_coefficients(modes: Mode, share: Floats) -> Floats:
    """Draw coefficients from the mixture of normal distributions around the modes."""
    normal = standard_normal(N_DRAWS, modes.theta.shape[1])
    which = np.searchsorted(np.cumsum(share), (np.arange(N_DRAWS) + 0.5) / N_DRAWS)
    order = np.argsort(np.random.default_rng(0).permutation(N_DRAWS))
    which = np.minimum(which, share.size - 1)[order]
    roots = np.swapaxes(np.linalg.cholesky(modes.curvature), 1, 2)
    return np.asarray(
        modes.theta[which] + np.linalg.solve(roots[which], normal[..., None])[..., 0]
    )
