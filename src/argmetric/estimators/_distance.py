"""How far the scores of a classifier lie from a rule."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from argmetric._input.odds import log_odds
from argmetric._input.types import Floats

# Log-odds of the smallest positive double are -744: beyond lie 0 and 1 alone.
LIMIT = 800.0
# The smallest number that is still positive as a 32-bit float.
TINY = float(np.finfo(np.float32).tiny)


def distance(
    scores: Floats,
    threshold: float,
    applies: npt.NDArray[np.bool_],
    *,
    probabilities: bool,
    positive: int,
) -> Floats:
    """How far a row lies inside of the second class: > 0 exactly where it is chosen.

    The log-odds of the probability minus those of the threshold; for margins the plain
    difference. At a threshold of ±∞, where all rows fall to one side, the order of the
    rows is kept by ∓log(1 + exp(∓score)).
    """
    if probabilities:
        scores = np.clip(log_odds(scores, 1.0 - scores), -LIMIT, LIMIT)
        threshold = _log_odds_of(threshold)
    if math.isinf(threshold):
        sign = math.copysign(1.0, threshold)
        away: Floats = -sign * np.logaddexp(0.0, -sign * scores)
    else:
        away = scores - threshold
    if positive == 0:
        away, applies = -away, ~applies
    # A score that equals the threshold, or differs in the last bit, has distance 0.
    return np.where(applies, np.maximum(away, TINY), np.minimum(away, 0.0))


def _log_odds_of(threshold: float) -> float:
    if threshold > 1.0:
        return math.inf
    if threshold < 0.0:
        return -math.inf
    at = np.array([threshold])
    return float(np.clip(log_odds(at, 1.0 - at), -LIMIT, LIMIT)[0])
