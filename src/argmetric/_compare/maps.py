"""One probability a row from the scores of several models: maps of their log-odds.

For some weights w the package's map is fitted on x = Σ_j w_j·logit p_j: all models
alike, each alone, and half-way between. A reference makes w as likely as its
log-likelihood says, and the draws of the maps are shared out by that. Against labels of
seven data sets this mixture has an RMSE of the difference of two models of 1.2 points,
the mean log-odds 3.5 and the mean of calibrated scores 4.9 (docs/comparing.rst).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import fit_map
from argmetric._calibrate.reference import Reference
from argmetric._compare.strata import FURTHEST
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers

CUT = 8.0  # log-odds of a model among several go no further: one would outweigh all
DRAWN_MAPS = 48  # shared out among the weights


class JointMap(NamedTuple):
    """A way from the log-odds of all models to those of a row."""

    weights: Floats
    calibrator: Calibrator | None  # None: as they are
    draws: tuple[Calibrator | None, ...]  # equally likely maps

    def odds(self, scores: Floats, one: Calibrator | None) -> Floats:
        """Log-odds of rows under a map; `scores`: log-odds, a row for each model."""
        reach = CUT if len(scores) > 1 else FURTHEST
        x = self.weights @ np.clip(scores, -reach, reach)
        return x if one is None else one._map(x)


def weights_tried(models: int) -> Floats:
    """Weights of the models: all alike, each alone, half-way between."""
    if models == 1:
        return np.ones((1, 1))
    mean, alone = np.full(models, 1.0 / models), np.eye(models)
    return np.vstack([mean, alone, (alone + mean) / 2])


def joint_maps(y: Booleans, scores: Floats) -> list[JointMap]:
    """Maps that a reference allows, by the weights of the models.

    `scores`: log-odds of its rows, a row for each model.
    """
    fits, levels = [], []
    for weights in weights_tried(len(scores)):
        bare = JointMap(weights, None, ())
        x = bare.odds(scores, None)
        if x.min() == x.max():  # it tells nothing
            continue
        fitted = fit_map(Reference(x, y, None, True), DEFAULT)
        p, q = from_log_odds(fitted._map(x))
        fits.append(bare._replace(calibrator=fitted))
        levels.append(np.log(np.maximum(np.where(y, p, q), 1e-9)).sum())
    part = np.exp(np.array(levels) - max(levels))
    counts = np.floor(DRAWN_MAPS * part / part.sum() + 0.5).astype(np.int64).tolist()
    return [
        one._replace(draws=_spread(one.calibrator, count))
        for one, count in zip(fits, counts, strict=True)
        if count
    ]


def _spread(fitted: Calibrator | None, count: int) -> tuple[Calibrator | None, ...]:
    """So many of the maps that a reference allows, or the map itself."""
    others = () if fitted is None else fitted.alternatives
    if not others:
        return (fitted,)
    return others[:: max(1, len(others) // count)][:count]


def given_map(calibrator: Calibrator | None, models: int) -> list[JointMap]:
    """The one map that is given, or none: scores are probabilities as they are."""
    weights = np.full(models, 1.0 / models)
    return [JointMap(weights, calibrator, _spread(calibrator, DRAWN_MAPS))]


def cells_along(
    maps: list[JointMap], scores: Floats, pattern: Integers, most: int
) -> tuple[Integers, Floats]:
    """Cell of every row, and log-odds of cells under every map, a row for each.

    Each pattern is cut into at most `most` cells of equal count along the log-odds. The
    log-odds of a cell are those of the mean chance of its rows.
    """
    order = np.zeros(pattern.size)
    for one in maps:
        order += len(one.draws) * one.odds(scores, one.calibrator)
    rank = np.lexsort((order, pattern))
    rows = np.bincount(pattern[rank])
    count = np.minimum(most, rows)
    within = np.arange(rank.size) - np.repeat(np.cumsum(rows) - rows, rows)
    inside = within * np.repeat(count, rows) // np.repeat(np.maximum(rows, 1), rows)
    cell = np.empty(pattern.size, dtype=np.int64)
    cell[rank] = np.repeat(np.cumsum(count) - count, rows) + inside
    size = np.bincount(cell)
    odds = []
    for one in maps:
        for drawn in one.draws:
            both = from_log_odds(one.odds(scores, drawn))
            p, q = (np.bincount(cell, x, size.size) / size for x in both)
            with np.errstate(divide="ignore"):
                odds.append(np.log(p) - np.log(q))
    return cell, np.clip(np.array(odds), -FURTHEST, FURTHEST)
