"""Labels that depend on each other through one normal effect on all log-odds."""

from __future__ import annotations

import math

import numpy as np

from argmetric._forecast.distributions import TERMS_PER_BLOCK, ScorePMF, TiltedCounts
from argmetric._ground.discrete import dot
from argmetric._ground.odds import from_log_odds, log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

REACH = 8.5  # standard deviations of an effect beyond which nothing is left of it
CELLS_AT_ONCE = 1 << 10  # rows times effects that stay in cache
APART = 0.01  # log-odds between which a spline errs by less than 1e-11
GAP = 1e-7  # in log-odds; squared by the step that is then taken
FAR_LOG_ODDS = 300.0  # log-odds from which a label follows the effect like e^x


def effect_step(deviation: float) -> float:
    """Distance of equally spaced effects at which sums are as good as integrals.

    expit(a + deviation·z) has its poles π/deviation off the real axis, so that the
    error of the sum is about exp(-2π²/(deviation·step)): below 1e-13.
    """
    return min(0.5, 0.6 / deviation)


def effects(deviation: float, step: float | None = None) -> tuple[Floats, Floats]:
    """Equally spaced points and weights of a standard normal effect.

    A rare label owes its probability to effects around `deviation`: they reach beyond.
    """
    reach = REACH + deviation
    count = math.ceil(reach / (effect_step(deviation) if step is None else step))
    points = np.linspace(-reach, reach, 2 * count + 1)
    weights = np.exp(-(points**2) / 2)
    return points, weights / weights.sum()


def centre_log_odds(p: Floats, q: Floats, deviation: float) -> Floats:
    """Log-odds a with E[expit(a + deviation·z)] = p, so that margins stay as given."""
    x = log_odds(p, q)
    # There E[e^(a + deviation·z)] = e^(a + deviation²/2), and so for 1-p.
    result = x + np.sign(x) * deviation**2 / 2
    near = np.flatnonzero(np.abs(x) < FAR_LOG_ODDS)
    if near.size:
        result[near] = _margins(x[near], deviation)
    return result


def _margins(target: Floats, deviation: float) -> Floats:
    """Centres of log-odds that are not far; of many, between knots that are solved."""
    low, high = float(target.min()), float(target.max())
    knots = np.linspace(low, high, max(math.ceil((high - low) / APART) + 1, 4))
    if target.size > 2 * knots.size and high > low:
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(knots, _solved(knots, deviation))(target))
    distinct, place = np.unique(target, return_inverse=True)
    return _solved(distinct, deviation)[place]


def _solved(target: Floats, deviation: float) -> Floats:
    """Centres of all these log-odds, CELLS_AT_ONCE at a time."""
    out = np.empty(target.size)
    for first in range(0, target.size, CELLS_AT_ONCE):
        part = slice(first, first + CELLS_AT_ONCE)
        out[part] = _solve_margins(target[part], deviation)
    return out


def _solve_margins(target: Floats, deviation: float) -> Floats:
    """Newton's method for the log-odds of E[expit(a + deviation·z)].

    It starts from the logistic-normal mean, nearly (MacKay).
    """
    a = target * math.sqrt(1.0 + math.pi * deviation**2 / 8.0)
    points, weights = effects(deviation)
    factors = np.exp(deviation * points)
    for _ in range(50):
        # Odds, not log-odds: FAR_LOG_ODDS keeps them in range, and a product is cheap.
        odds = np.exp(a)[:, None] * factors
        outside = 1.0 / (1.0 + odds)
        inside = odds * outside
        mean, rest = inside @ weights, outside @ weights
        slope = (inside * outside) @ weights / (mean * rest)
        gap = log_odds(mean, rest) - target
        a = a - gap / slope
        if np.abs(gap).max() < GAP:
            break
    return a


LARGEST_EFFECT = 5.0  # beyond, labels are all but copies of each other
FEWEST, MOST = 101, 2001  # effects at which laws are mixed
COARSE = 0.3  # distance on the log-odds between effects at which rows are summed
TABLE_CELLS = 1 << 28  # multiplications of a table of all pairs of counts
TABLE_ENTRIES = 1 << 25
# Deviations of a law between two effects: the mixture ripples by about 1e-5.
OVERLAP = 1.25
UNLIKELY = 1e-14  # effects that are left out
MOST_HALVINGS, NEAR_ENOUGH = 200, 1e-3  # of the likeliest effect: it centres a grid
FEW_ROWS = 512  # up to so many every law of counts is exact

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def tells_of_effect(centre: Floats, known: Floats) -> Booleans:
    """Known labels that an effect makes likelier; those of p = 0 or 1 are not."""
    return np.asarray(~np.isnan(known) & np.isfinite(centre))


def log_likelihood(
    centre: Floats, deviation: float, z: Floats, known: Floats
) -> Floats:
    """Log-probability of the known labels for every value z of the effect."""
    arrived = tells_of_effect(centre, known)
    total = np.zeros(z.size)
    if arrived.any():
        sign = np.where(known[arrived] == 1.0, 1.0, -1.0)
        for i, effect in enumerate(z):
            x = sign * (centre[arrived] + deviation * effect)
            total[i] = -np.logaddexp(0.0, -x).sum()
    return total


def likeliest_effects(
    centre: Floats, deviation: float, known: Floats, group: Integers, groups: int
) -> Floats:
    """For every group the effect that is most likely, given its known labels.

    With s = ±1 for positive and negative labels it solves
    z = deviation·Σ s·expit(-s·(a + deviation·z)), the right side of which falls with z.
    Log-probabilities bend by 1 or more everywhere: nothing lies further than REACH off.
    """
    arrived = tells_of_effect(centre, known)
    sign = np.where(known[arrived] == 1.0, 1.0, -1.0)
    x, group = centre[arrived], group[arrived]
    z = np.zeros(groups)
    low = -deviation * np.bincount(group, sign < 0, groups)
    high = deviation * np.bincount(group, sign > 0, groups)
    for _ in range(MOST_HALVINGS):
        p, q = from_log_odds(x + deviation * z[group])
        pull = deviation * np.bincount(group, np.where(sign > 0, q, -p), groups) - z
        low, high = np.where(pull > 0, z, low), np.where(pull < 0, z, high)
        if (
            np.abs(pull).max(initial=0.0) < NEAR_ENOUGH
            or (high - low < NEAR_ENOUGH).all()
        ):
            break
        step = pull / (1.0 + deviation**2 * np.bincount(group, p * q, groups))
        inside = (z + step > low) & (z + step < high)
        z = np.where(inside, z + step, (low + high) / 2)
    return z


def likely_effects(
    centre: Floats, deviation: float, known: Floats
) -> tuple[Floats, Floats]:
    """Equally spaced effects and their log-probabilities, given the known labels."""
    alone = np.zeros(centre.size, dtype=np.int64)
    middle = float(likeliest_effects(centre, deviation, known, alone, 1)[0])
    low, high = middle - REACH - deviation, middle + REACH + deviation
    for _ in range(6):
        count = math.ceil(deviation * (high - low) / COARSE)
        z = np.linspace(low, high, min(max(count, FEWEST), 3 * FEWEST))
        level = -(z**2) / 2 + log_likelihood(centre, deviation, z, known)
        weights = np.exp(level - level.max())
        weights /= weights.sum()
        mean = float(weights @ z)
        spread = math.sqrt(float(weights @ (z - mean) ** 2)) + (z[1] - z[0]) / 2
        reach = (REACH + deviation * min(spread, 1.0)) * spread
        if 2 * reach > 0.5 * (high - low):
            break
        low, high = mean - reach, mean + reach
    return z, level - level.max()


def finer(z: Floats, level: Floats, step: float) -> tuple[Floats, Floats]:
    """Effects at most so far apart, as long as they are not too many, and weights."""
    from scipy.interpolate import CubicSpline

    count = math.ceil((z[-1] - z[0]) / step) + 1
    fine = np.linspace(z[0], z[-1], min(max(count, z.size), MOST))
    level = CubicSpline(z, level)(fine)
    weights = np.exp(level - level.max())
    return fine, weights / weights.sum()


def settle(p: Floats, q: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Known labels are certain."""
    unknown = np.isnan(known)
    if unknown.all():
        return p, q
    return np.where(unknown, p, known), np.where(unknown, q, 1.0 - known)


def mixed_law(
    metric: Metric,
    n: int,
    centre: Floats,
    deviation: float,
    known: Floats,
    selected: Mask,
) -> tuple[ScorePMF, float]:
    """Law of the score and the expected positives, the effect integrated out.

    Effects lie so close that the laws given two neighbours overlap: nothing of the
    grid is seen in the mixture.
    """
    z, level = likely_effects(centre, deviation, known)
    unknown = np.isnan(known)
    hits, misses = (
        TiltedCounts(
            centre[side & unknown], int((known[side] == 1.0).sum()), deviation * z
        )
        for side in (selected, ~selected)
    )
    variance = (hits.variance + misses.variance)[level > math.log(1e-10)].max()
    step = OVERLAP / (deviation * math.sqrt(max(variance, 1e-300)))
    z, weights = finer(z, level, min(step, effect_step(deviation)))
    pairs = hits.n_likely_counts * misses.n_likely_counts
    entries = z.size * (hits.n_likely_counts + misses.n_likely_counts)
    few = centre.size <= FEW_ROWS or variance < TiltedCounts.MIN_EDGEWORTH_VARIANCE
    k, shifts = int(selected.sum()), deviation * z
    if few and z.size * pairs <= TABLE_CELLS and entries <= TABLE_ENTRIES:
        # All pairs of counts with their probabilities, and the metric once of each.
        hit_low, hit_laws = hits.pmf_table(shifts)
        miss_low, miss_laws = misses.pmf_table(shifts)
        joint = (weights[:, None] * hit_laws).T @ miss_laws
        tp = hit_low + np.arange(joint.shape[0], dtype=np.float64)[:, None]
        r = miss_low + np.arange(joint.shape[1], dtype=np.float64)
        positives = float(((tp + r) * joint).sum())
        values = metric.value(tp, k, tp + r, n)
        return ScorePMF.from_atoms([(values.ravel(), joint.ravel())]), positives
    # Some counts of either side for every effect, all of them where these are few.
    (tp, tp_weights), (r, r_weights) = (
        hits.support_points(shifts),
        misses.support_points(shifts),
    )
    means = (tp * tp_weights).sum(axis=1) + (r * r_weights).sum(axis=1)
    parts = []
    # Effects that count, a handful at a time, of about TERMS_PER_BLOCK pairs of counts.
    used = np.flatnonzero(weights > UNLIKELY)
    sides = (np.count_nonzero(part[used], axis=1) for part in (tp_weights, r_weights))
    block = np.cumsum(math.prod(sides)) // TERMS_PER_BLOCK
    for rows in np.split(used, np.flatnonzero(np.diff(block)) + 1):
        hit_cells, miss_cells = (
            np.flatnonzero(side[rows].any(axis=0)) for side in (tp_weights, r_weights)
        )
        hit = tp[rows][:, hit_cells, None]
        values = metric.value(hit, k, hit + r[rows][:, None, miss_cells], n)
        chances = (weights[rows, None] * tp_weights[rows])[:, hit_cells, None]
        chances = chances * r_weights[rows][:, None, miss_cells]
        possible = chances > 0.0
        parts.append((values[possible], chances[possible]))
    return ScorePMF.from_atoms(parts), dot(weights, means)
