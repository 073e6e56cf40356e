"""Labels that depend on each other through one normal random effect on all log-odds."""

from __future__ import annotations

import math

import numpy as np

from argmetric._forecast.distributions import TERMS_PER_BLOCK, ScorePMF, TiltedCounts
from argmetric._ground.discrete import dot
from argmetric._ground.odds import from_log_odds, log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

MAX_EFFECT_STDS = 8.5  # half-width of a grid of effects: 2e-17 lie outside
CENTRES_PER_BLOCK = 1 << 10  # log-odds that are solved at once: they fit in cache
KNOT_SPACING = 0.01  # in log-odds: the spline between errs by less than 1e-11
NEWTON_TOLERANCE = 1e-7  # in log-odds; the last step squares it
FAR_LOG_ODDS = 300.0  # from here on expit(x) is e^x, or 1 - e^-x, to the last digit


def effect_step(deviation: float) -> float:
    """Return the spacing of effects at which sums are as accurate as integrals.

    expit(a + deviation·z) has its poles π/deviation off the real axis, so that the
    error of the sum is about exp(-2π²/(deviation·step)): below 1e-13.
    """
    return min(0.5, 0.6 / deviation)


def effects(deviation: float, step: float | None = None) -> tuple[Floats, Floats]:
    """Return equally spaced points and weights of a standard normal effect.

    A rare label owes its probability to effects around `deviation`: the grid is wider
    by it.
    """
    reach = MAX_EFFECT_STDS + deviation
    count = math.ceil(reach / (effect_step(deviation) if step is None else step))
    points = np.linspace(-reach, reach, 2 * count + 1)
    weights = np.exp(-(points**2) / 2)
    return points, weights / weights.sum()


def centre_log_odds(p: Floats, q: Floats, deviation: float) -> Floats:
    """Return the log-odds a with E[expit(a + deviation·z)] = p, z standard normal.

    The marginal probabilities thus stay p. All arrays have the shape (n_rows,).
    """
    x = log_odds(p, q)
    # Far out p ≈ E[e^(a + deviation·z)] = e^(a + deviation²/2), and so for 1-p.
    result = x + np.sign(x) * deviation**2 / 2
    near = np.flatnonzero(np.abs(x) < FAR_LOG_ODDS)
    if near.size:
        result[near] = _centres(x[near], deviation)
    return result


def _centres(target: Floats, deviation: float) -> Floats:
    """Solve for the centres of log-odds `target`; many are interpolated by a spline."""
    low, high = float(target.min()), float(target.max())
    knots = np.linspace(low, high, max(math.ceil((high - low) / KNOT_SPACING) + 1, 4))
    if target.size > 2 * knots.size and high > low:
        from scipy.interpolate import CubicSpline

        return np.asarray(
            CubicSpline(knots, _solve_in_blocks(knots, deviation))(target)
        )
    distinct, place = np.unique(target, return_inverse=True)
    return _solve_in_blocks(distinct, deviation)[place]


def _solve_in_blocks(target: Floats, deviation: float) -> Floats:
    """Solve for the centres, `CENTRES_PER_BLOCK` at a time."""
    out = np.empty(target.size)
    for first in range(0, target.size, CENTRES_PER_BLOCK):
        part = slice(first, first + CENTRES_PER_BLOCK)
        out[part] = _solve_centres(target[part], deviation)
    return out


def _solve_centres(target: Floats, deviation: float) -> Floats:
    """Solve logit E[expit(a + deviation·z)] = target for a, by Newton's method.

    It starts from MacKay's approximation of the logistic-normal mean.
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
        if np.abs(gap).max() < NEWTON_TOLERANCE:
            break
    return a


LARGEST_EFFECT = 5.0  # beyond, labels are all but copies of each other
MIN_EFFECTS, MAX_EFFECTS = 101, 2001  # effects at which distributions are mixed
COARSE_STEP = 0.3  # in log-odds, between effects at which rows are summed
MAX_TABLE_PRODUCTS = 1 << 28  # multiplications of a table of all pairs of counts
MAX_TABLE_ENTRIES = 1 << 25
# Standard deviations of a count between two effects: the mixture ripples by about 1e-5.
MAX_EFFECT_SPACING = 1.25
MIN_EFFECT_WEIGHT = 1e-14  # effects that are less likely are left out
MAX_HALVINGS, MODE_TOLERANCE = 200, 1e-3  # the likeliest effect only centres a grid
FEW_ROWS = 512  # up to this many rows every distribution of counts is exact


def is_informative(centre: Floats, known: Floats) -> Booleans:
    """Return which labels are known and depend on the effect: 0 < p < 1."""
    return np.asarray(~np.isnan(known) & np.isfinite(centre))


def log_likelihood(
    centre: Floats, deviation: float, z: Floats, known: Floats
) -> Floats:
    """Return the log-probability of the known labels for every effect, (n_effects,).

    `centre` and `known` (nan where unknown) have the shape (n_rows,), z (n_effects,).
    """
    arrived = is_informative(centre, known)
    total = np.zeros(z.size)
    if arrived.any():
        sign = np.where(known[arrived] == 1.0, 1.0, -1.0)
        for i, effect in enumerate(z):
            x = sign * (centre[arrived] + deviation * effect)
            total[i] = -np.logaddexp(0.0, -x).sum()
    return total


def likeliest_effects(
    centre: Floats, deviation: float, known: Floats, group: Integers, n_groups: int
) -> Floats:
    """Return the most likely effect of every group, given its known labels.

    With s = ±1 for positive and negative labels it solves
    z = deviation·Σ s·expit(-s·(a + deviation·z)), the right side of which falls with z.
    The log-probability has a curvature of at least 1 everywhere: no likely effect is
    further off than `MAX_EFFECT_STDS`.

    Parameters
    ----------
    centre, known, group : ndarray of shape (n_rows,)
        Log-odds a at the effect 0, labels (nan where unknown), and the row's group.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    arrived = is_informative(centre, known)
    sign = np.where(known[arrived] == 1.0, 1.0, -1.0)
    x, group = centre[arrived], group[arrived]
    z = np.zeros(n_groups)
    low = -deviation * np.bincount(group, sign < 0, n_groups)
    high = deviation * np.bincount(group, sign > 0, n_groups)
    for _ in range(MAX_HALVINGS):
        p, q = from_log_odds(x + deviation * z[group])
        pull = deviation * np.bincount(group, np.where(sign > 0, q, -p), n_groups) - z
        low, high = np.where(pull > 0, z, low), np.where(pull < 0, z, high)
        is_near = np.abs(pull).max(initial=0.0) < MODE_TOLERANCE
        if is_near or (high - low < MODE_TOLERANCE).all():
            break
        step = pull / (1.0 + deviation**2 * np.bincount(group, p * q, n_groups))
        inside = (z + step > low) & (z + step < high)
        z = np.where(inside, z + step, (low + high) / 2)
    return z


def likely_effects(
    centre: Floats, deviation: float, known: Floats
) -> tuple[Floats, Floats]:
    """Return equally spaced effects and their log-posterior, given the known labels."""
    alone = np.zeros(centre.size, dtype=np.int64)
    middle = float(likeliest_effects(centre, deviation, known, alone, 1)[0])
    low, high = (
        middle - MAX_EFFECT_STDS - deviation,
        middle + MAX_EFFECT_STDS + deviation,
    )
    for _ in range(6):
        count = math.ceil(deviation * (high - low) / COARSE_STEP)
        z = np.linspace(low, high, min(max(count, MIN_EFFECTS), 3 * MIN_EFFECTS))
        level = -(z**2) / 2 + log_likelihood(centre, deviation, z, known)
        weights = np.exp(level - level.max())
        weights /= weights.sum()
        mean = float(weights @ z)
        spread = math.sqrt(float(weights @ (z - mean) ** 2)) + (z[1] - z[0]) / 2
        reach = (MAX_EFFECT_STDS + deviation * min(spread, 1.0)) * spread
        if 2 * reach > 0.5 * (high - low):
            break
        low, high = mean - reach, mean + reach
    return z, level - level.max()


def refine_effects(z: Floats, level: Floats, step: float) -> tuple[Floats, Floats]:
    """Return effects at most `step` apart, up to `MAX_EFFECTS`, and their weights.

    `level` is the log-posterior at the effects z, both of shape (n_effects,).
    """
    from scipy.interpolate import CubicSpline

    count = math.ceil((z[-1] - z[0]) / step) + 1
    fine = np.linspace(z[0], z[-1], min(max(count, z.size), MAX_EFFECTS))
    level = CubicSpline(z, level)(fine)
    weights = np.exp(level - level.max())
    return fine, weights / weights.sum()


def fix_known(p: Floats, q: Floats, known: Floats) -> tuple[Floats, Floats]:
    """Return p and q with 1 and 0 for known labels (nan: unknown), all (n_rows,)."""
    unknown = np.isnan(known)
    if unknown.all():
        return p, q
    return np.where(unknown, p, known), np.where(unknown, q, 1.0 - known)


def mixture_pmf(
    metric: Metric,
    n: int,
    centre: Floats,
    deviation: float,
    *,
    known: Floats,
    selected: Booleans,
) -> tuple[ScorePMF, float]:
    """Return the distribution of the score and the expected positives over the effect.

    Effects are so close that the distributions given two neighbours overlap: the grid
    does not show in the mixture.

    Parameters
    ----------
    n : int
        Rows, with the absent ones of a sparse matrix.
    centre, known, selected : ndarray of shape (n_rows,)
        Log-odds at the effect 0, true labels (nan where unknown), and whether the row
        is predicted positive.
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
    step = MAX_EFFECT_SPACING / max(deviation * math.sqrt(variance), 1e-300)
    z, weights = refine_effects(z, level, min(step, effect_step(deviation)))
    pairs = hits.n_likely_counts * misses.n_likely_counts
    entries = z.size * (hits.n_likely_counts + misses.n_likely_counts)
    few = centre.size <= FEW_ROWS or variance < TiltedCounts.MIN_EDGEWORTH_VARIANCE
    k, shifts = int(selected.sum()), deviation * z
    if few and z.size * pairs <= MAX_TABLE_PRODUCTS and entries <= MAX_TABLE_ENTRIES:
        # All pairs of counts with their probabilities, and the metric once of each.
        hit_low, hit_pmfs = hits.pmf_table(shifts)
        miss_low, miss_pmfs = misses.pmf_table(shifts)
        joint = (weights[:, None] * hit_pmfs).T @ miss_pmfs
        tp = hit_low + np.arange(joint.shape[0], dtype=np.float64)[:, None]
        r = miss_low + np.arange(joint.shape[1], dtype=np.float64)
        positives = float(((tp + r) * joint).sum())
        values = metric.value(tp, k, tp + r, n)
        return ScorePMF.from_atoms([(values.ravel(), joint.ravel())]), positives
    # Support points of both counts at every effect.
    (tp, tp_weights), (r, r_weights) = (
        hits.support_points(shifts),
        misses.support_points(shifts),
    )
    means = (tp * tp_weights).sum(axis=1) + (r * r_weights).sum(axis=1)
    parts = []
    # Likely effects, in blocks of about TERMS_PER_BLOCK pairs of counts.
    used = np.flatnonzero(weights > MIN_EFFECT_WEIGHT)
    sides = (np.count_nonzero(part[used], axis=1) for part in (tp_weights, r_weights))
    block = np.cumsum(math.prod(sides)) // TERMS_PER_BLOCK
    for rows in np.split(used, np.flatnonzero(np.diff(block)) + 1):
        hit_points, miss_points = (
            np.flatnonzero(side[rows].any(axis=0)) for side in (tp_weights, r_weights)
        )
        hit = tp[rows][:, hit_points, None]
        values = metric.value(hit, k, hit + r[rows][:, None, miss_points], n)
        joint = (weights[rows, None] * tp_weights[rows])[:, hit_points, None]
        joint = joint * r_weights[rows][:, None, miss_points]
        possible = joint > 0.0
        parts.append((values[possible], joint[possible]))
    return ScorePMF.from_atoms(parts), dot(weights, means)
