"""Changes to the probabilities before a forecast: effects that rows share."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from argmetric._expected import compiled, runs_in_numpy
from argmetric._input.odds import log_odds
from argmetric._input.types import Floats

REACH = 8.5  # standard deviations of an effect beyond which nothing is left of it
ROWS = 1 << 10  # rows times effects that stay in cache
APART = 0.01  # log-odds between which a spline errs by less than 1e-11
GAP = 1e-7  # in log-odds; squared by the step that is then taken
FAR = 300.0  # log-odds from which a label follows the effect like e^x

Solver = Callable[[Floats, float], Floats]


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


def centre_log_odds(
    p: Floats, q: Floats, deviation: float, *, loaded: bool = False
) -> Floats:
    """Log-odds a with E[expit(a + deviation·z)] = p, so that margins stay as given.

    Few rows are solved in numpy, unless the kernels are loaded for what follows.
    """
    x = log_odds(p, q)
    # There E[e^(a + deviation·z)] = e^(a + deviation²/2), and so for 1-p.
    result = x + np.sign(x) * deviation**2 / 2
    near = np.flatnonzero(np.abs(x) < FAR)
    if near.size:
        plain = runs_in_numpy(near.size) and not loaded
        solve = _solve_in_numpy if plain else _solve_compiled
        result[near] = _margins(x[near], deviation, solve)
    return result


def _margins(target: Floats, deviation: float, solve: Solver) -> Floats:
    """The same for some log-odds; many lie between knots at which they are solved."""
    low, high = float(target.min()), float(target.max())
    knots = np.linspace(low, high, max(math.ceil((high - low) / APART) + 1, 4))
    if target.size > 2 * knots.size and high > low:
        from scipy.interpolate import CubicSpline

        return np.asarray(CubicSpline(knots, solve(knots, deviation))(target))
    distinct, place = np.unique(target, return_inverse=True)
    return solve(distinct, deviation)[place]


def _first_guess(target: Floats, deviation: float) -> Floats:
    """The start of Newton's method: the logistic-normal mean, nearly (MacKay)."""
    return np.asarray(target * math.sqrt(1.0 + math.pi * deviation**2 / 8.0))


def _solve_compiled(target: Floats, deviation: float) -> Floats:
    """For ascending log-odds."""
    points, weights = effects(deviation)
    result, factors = _first_guess(target, deviation), np.exp(deviation * points)
    compiled().solve_margins(target, factors, weights, GAP, result)
    return result


def _solve_in_numpy(target: Floats, deviation: float) -> Floats:
    """The same without the kernel."""
    out = np.empty(target.size)
    for first in range(0, target.size, ROWS):
        part = slice(first, first + ROWS)
        out[part] = _solve_margins(target[part], deviation)
    return out


def _solve_margins(target: Floats, deviation: float) -> Floats:
    """Newton's method for the log-odds of E[expit(a + deviation·z)]."""
    a = _first_guess(target, deviation)
    points, weights = effects(deviation)
    factors = np.exp(deviation * points)
    for _ in range(50):
        # Odds, not log-odds: what is FAR keeps them in range, and a product is cheap.
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
