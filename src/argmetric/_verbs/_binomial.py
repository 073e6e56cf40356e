"""Exact binomial tests of cuts, one after the other.

Rows are independent draws from the population. Among the k rows that a cut selects,
the wrong ones are Bin(k, 1 - precision), given all rows below the cut. A cut passes
where so few errors are rare under a precision at the floor:

    P(Bin(k, 1 - floor) <= errors) <= delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argmetric._ground.types import Booleans, Floats, Integers

# Where to begin, measured on pools of real models: labels of the k/2 rows just below a
# cut, at least and at most so many, and the next lower score with a weight in rows
# estimate the precision above it; the climb ends where the test would pass with POWER,
# inside of a tie with more of it, for the cut of the whole tie must pass as well.
FEWEST_BELOW, MOST_BELOW = 20, 200
SCORE_WEIGHT = 20.0
POWER, POWER_IN_TIE = 0.1, 0.8
AIMED_POWER = 0.8  # of a plan for how many labels are needed
MOST_PLANNED = 20_000  # selected rows that a plan looks at
FLOORS_OF_F = 200  # 1/200, 2/200, …: tested one after the other


def binomial_cdf(
    count: npt.ArrayLike, n: npt.ArrayLike, share: npt.ArrayLike
) -> Floats:
    """Return P(Bin(n, q) <= c) = I(n - c, c + 1; 1 - q), I of the beta distribution."""
    from scipy.special import betainc

    left = np.maximum(np.subtract(n, count), 1.0)
    found = betainc(left, np.add(count, 1.0), np.subtract(1.0, share))
    return np.where(np.greater_equal(count, n), 1.0, found)


def allowed_errors(rows: object, floor: float, delta: float) -> Integers:
    """Return the most errors among k rows that prove the floor, -1 if none does.

    c(k) = max {c : P(Bin(k, 1 - floor) <= c) <= delta}.
    """
    from scipy.special import ndtri

    wrong = 1.0 - floor
    k = np.asarray(rows, dtype=np.float64)
    z, spread = ndtri(delta), np.sqrt(k * wrong * floor)
    guess = k * wrong + z * spread + (z * z - 1.0) * (1.0 - 2.0 * wrong) / 6.0 - 0.5
    c = np.clip(np.floor(guess), -1.0, k - 1.0)
    while True:  # the expansion is near: settle on the exact integer
        above = (c >= 0.0) & (binomial_cdf(np.maximum(c, 0.0), k, wrong) > delta)
        more = binomial_cdf(np.minimum(c + 1.0, k), k, wrong) <= delta
        step = np.where(above, -1.0, np.where((c + 1.0 < k) & more, 1.0, 0.0))
        if not step.any():
            return np.asarray(c, dtype=np.int64)
        c += step


def fewest_rows(floor: float, delta: float) -> int | None:
    """Return the fewest rows that prove the floor if all are right; None: no number.

    min {k : floor^k <= delta}.
    """
    if floor >= 1.0:
        return None
    k = 1 if floor <= delta else math.ceil(math.log(delta) / math.log(floor))
    # rounding of the logarithms: the test itself decides
    near = np.arange(max(k - 1, 1), k + 2)
    return int(near[np.argmax(allowed_errors(near, floor, delta) >= 0)])


@dataclass(frozen=True)
class RankedCuts:
    """Cuts between distinct scores, best rows first: k of them are selected."""

    floor: float
    delta: float
    scores: Floats  # of the last row that is selected
    k: Integers
    errors: Integers
    allowed: Integers
    rows: Floats  # all scores, best first, ties in random order
    right: Booleans  # whether a row is right where it is selected


def rank_cuts(
    scores: Floats,
    right: Booleans,
    floor: float,
    delta: float,
    *,
    order: Floats | None = None,
) -> RankedCuts:
    """Return the cuts between distinct scores, with the errors above each of them.

    Tied rows are put into a random order that does not depend on their labels. `order`
    of shape (n_rows,) ranks the rows where `scores` are rounded; they never fall as it
    rises.
    """
    keys = scores if order is None else order
    shuffled = np.random.default_rng(0).permutation(scores.size)
    ranks = shuffled[np.argsort(-keys[shuffled], kind="stable")]
    rows, right, keys = scores[ranks], right[ranks], keys[ranks]
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True))
    errors = np.cumsum(~right, dtype=np.int64)[last]
    allowed = allowed_errors(last + 1, floor, delta)
    return RankedCuts(floor, delta, rows[last], last + 1, errors, allowed, rows, right)


def most_powerful_cut(scores: Floats, n: int, floor: float, delta: float) -> float:
    """Return the score from which n labelled rows are forecast to pass most probably.

    The k largest of m unlabelled probabilities have the mean e_k. Of the labelled rows
    r = k n / m are as high, and pass with
    P(Bin(r, max(1 - e_k, 1 / (r + 2))) <= allowed_errors(r)). The highest score among
    equals; the lowest one where no number of rows can pass.
    """
    u = np.sort(scores)[::-1]
    k = np.flatnonzero(np.append(np.diff(u) != 0.0, True)) + 1  # cuts between scores
    mean = np.cumsum(u)[k - 1] / k
    rows = np.clip(np.round(k * n / u.size).astype(np.int64), 1, n)
    c = allowed_errors(rows, floor, delta)
    wrong = np.clip(1.0 - mean, 1.0 / (rows + 2.0), 1.0)
    power = np.where(c >= 0, binomial_cdf(np.maximum(c, 0), rows, wrong), 0.0)
    if not power.max() > 0.0:
        return float(u[-1])
    return float(u[k[np.argmax(power >= power.max() - 1e-9)] - 1])


def climbed_start(cuts: RankedCuts, *, probabilities: bool) -> int:
    """Return the number of best rows to test first, chosen from rows below them only.

    Rows are read from the lowest score upwards, those that tie in random order. The
    precision of the k others is estimated from the next lower score u and from the
    m = clip(k/2, 20, 200) rows just below, missing rows counting as negatives:

        g = (positives + 20 u) / (m + 20), or positives / m without probabilities.

    The climb ends where P(Bin(k, 1 - g) <= c(k)) >= POWER, inside of a tie
    POWER_IN_TIE; at the latest where the fewest rows that can pass are left, or those
    of p >= 1.
    """
    n = cuts.rows.size
    least = fewest_rows(cuts.floor, cuts.delta) or n
    if probabilities:
        least = max(least, int(np.count_nonzero(cuts.rows >= 1.0)))
    k = np.arange(min(least, n), n + 1)
    window = np.clip(k // 2, FEWEST_BELOW, MOST_BELOW)
    sums = np.append(0, np.cumsum(cuts.right))
    positives = (sums[np.minimum(k + window, n)] - sums[k]).astype(np.float64)
    guess = positives / window
    if probabilities:
        under = np.append(cuts.rows, 0.0)[k]
        guess = (positives + SCORE_WEIGHT * under) / (window + SCORE_WEIGHT)
    allowed = allowed_errors(k, cuts.floor, cuts.delta)
    power = binomial_cdf(np.maximum(allowed, 0), k, 1.0 - guess)
    in_tie = np.append(cuts.rows, np.nan)[k] == cuts.rows[k - 1]
    enough = power >= np.where(in_tie, POWER_IN_TIE, POWER)
    ends = np.flatnonzero((allowed >= 0) & enough)
    return int(k[ends[-1]] if ends.size else k[0])


def passed_chain(cuts: RankedCuts, start: int) -> tuple[int, int] | None:
    """Return the first and the last cut that pass the tests in a row, or None.

    The `start` best rows are tested, which may end inside of a tie, and then every cut
    from there downwards to the first failure.
    """
    most = allowed_errors(start, cuts.floor, cuts.delta)
    if start < 1 or np.count_nonzero(~cuts.right[:start]) > most:
        return None
    first = int(np.searchsorted(cuts.k, start))
    fails = np.flatnonzero(cuts.errors[first:] > cuts.allowed[first:])
    last = first + int(fails[0]) - 1 if fails.size else cuts.k.size - 1
    return (first, last) if last >= first else None


def least_passed(scores: Floats, share: float, delta: float) -> tuple[float, int]:
    """Return the score below which at most `share` of the rows lie, and its rank.

    The statement is about the population, at level delta.

    With c = max {c : P(Bin(m, share) <= c) <= delta} it is the (c+1)-th lowest of m
    independent scores: more than `share` lies below it only if at most c of m draws
    of that probability came. -inf, and -1, where nothing is proven.
    """
    if not scores.size:
        return -np.inf, -1
    c = int(allowed_errors(scores.size, 1.0 - share, delta))
    if c < 0:
        return -np.inf, -1
    return float(np.partition(scores, c)[c]), c


def labels_needed(scores: Floats, floor: float, delta: float) -> int | None:
    """Return how many labels a cut needs to pass with power `AIMED_POWER`.

    The scores are taken as calibrated.
    """
    u = np.sort(scores)[::-1]
    ranks = np.unique(np.geomspace(1, u.size, 60).astype(np.int64))
    mean = np.cumsum(u)[ranks - 1] / ranks
    k = np.unique(np.geomspace(1, MOST_PLANNED, 400).astype(np.int64))
    allowed = allowed_errors(k, floor, delta)
    k, allowed = k[allowed >= 0], allowed[allowed >= 0]
    above = mean > floor
    if not above.any() or not k.size:
        return None
    enough = binomial_cdf(allowed, k, 1.0 - mean[above, None]) >= AIMED_POWER
    first = np.where(enough.any(axis=1), k[enough.argmax(axis=1)], math.inf)
    least = (first * u.size / ranks[above]).min()
    return math.ceil(least) if math.isfinite(least) else None


def f_rejects(tp: int, fp: int, fn: int, floor: float, beta: float) -> float:
    """Return the p-value of "F-beta is below the floor" at a cut fixed beforehand.

    beta = 1: given m = tp + fp + fn the errors are Bin(m, 1 - J), J = F / (2 - F), so
    P(Bin(m, 1 - floor / (2 - floor)) <= fp + fn), exact. Otherwise F >= f where the
    mean of z is not below 0: z = (1 + β²)(1 - f) for a hit, -f for a false alarm,
    -f β² for a miss. Hoeffding and Bentkus bound the mean of the m terms:
    min(exp(-m KL(r, r0)), e P(Bin(m, r0) <= ⌈m r⌉)).
    """
    m = tp + fp + fn
    if m == 0:
        return 1.0
    if beta == 1.0:
        return float(binomial_cdf(fp + fn, m, 1.0 - floor / (2.0 - floor)))
    b = beta * beta
    high, low = (1.0 + b) * (1.0 - floor), -floor * max(1.0, b)
    worth = np.array([high, -floor, -floor * b])
    r0 = high / (high - low)
    r = float(((high - worth) / (high - low)) @ [tp, fp, fn]) / m
    if r >= r0:
        return 1.0
    gain = (r * np.log(r / r0) if r > 0.0 else 0.0) + (1.0 - r) * np.log(
        (1.0 - r) / (1.0 - r0)
    )
    tail = binomial_cdf(np.ceil(m * r - 1e-9), m, r0)
    return float(min(np.exp(-m * gain), math.e * tail))


def f_chain(
    scores: Floats, positive: Booleans, beta: float, delta: float
) -> list[tuple[float, float, int, int, int]]:
    """Return floors of F-beta that pass, lowest first: floor, cut, tp, fp, fn.

    F = f is best reached at the cut f / (1 + β²) of calibrated probabilities. The
    floors .005, .01, … are tested upwards, each at its own cut, to the first failure.
    """
    order = np.argsort(scores, kind="stable")
    rows = scores[order]
    sums = np.append(0, np.cumsum(positive[order]))
    floors = np.arange(1, FLOORS_OF_F) / FLOORS_OF_F
    cuts = floors / (1.0 + beta * beta)
    below = np.searchsorted(rows, cuts, side="left")
    found = []
    for floor, cut, first in zip(floors, cuts, below, strict=True):
        fn = int(sums[first])
        tp = int(sums[-1]) - fn
        fp = rows.size - int(first) - tp
        if f_rejects(tp, fp, fn, float(floor), beta) > delta:
            break
        found.append((float(floor), float(cut), tp, fp, fn))
    return found
