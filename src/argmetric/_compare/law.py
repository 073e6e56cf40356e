"""The law of the scores of several models, and which labels would tell them apart.

Rows with the same decisions of all models are a *pattern*. One more positive of a
pattern moves the difference of scores by the same h, so positives by pattern are all
that must be known. Their chances are those of `strata.drawn_rates`: log-odds
a + b·x + u_g under each map, with an effect u_g ~ ¼·t₃ of the pattern (.7·t₃ where one
column of scores serves several systems, whose decisions tell more than it does), and a
rate of every stratum. As for a forecast, each chance of a stratum goes by the same part
of its way to 0, or to 1, as the expected share μ goes to the rate ρ, and counts are
drawn by `_forecast.truth.drawn_counts`. Without new labels no tilt is tried (a = 0,
b = 1), and strata are the patterns.

`_forecast.truth.Truth` draws chances from what the reference's own rows say of a side
of one decision. For two models its intervals held in .857 of the cases where those of
this law held in .94, so the chances are drawn here, and the counts there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from argmetric._calibrate.calibrate import DEFAULT
from argmetric._calibrate.calibrator import Calibrator
from argmetric._calibrate.fit import fit_map
from argmetric._calibrate.reference import Reference
from argmetric._compare.strata import (
    FURTHEST,
    RatePrior,
    allocation,
    drawn_rates,
    drawn_rows,
    moves_of,
    strata_of,
)
from argmetric._forecast.truth import COUNTS, DRAWS, drawn_counts
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric.metrics import Metric

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
    """Maps that a reference allows, by the weights w of the models.

    The package's map is fitted on x = Σ_j w_j·logit p_j: all models alike, each alone,
    and half-way between. A reference makes w as likely as its log-likelihood says, and
    the draws of the maps are shared out by that. Against labels of seven data sets this
    mixture has an RMSE of the difference of two models of 1.2 points, the mean log-odds
    3.5 and the mean of calibrated scores 4.9 (docs/comparing.rst).

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
    """Cell of every row, and log-odds of cells under every map, a row for each."""
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


CELLS = 15  # of a pattern, at most
MOST_CELLS = 512  # of all patterns, about
STRATA = 2  # of a pattern, at most; all together about a quarter of PLANNED
STRATA_OF_ONE = 5  # where there is one model, and so two patterns
PLANNED = 100  # labels that strata are made for
SIGMA = 0.25  # sd of the rate of a stratum around its tilted map, on the log-odds
SIGMA_OF_ONE = 0.45  # of one model, whose patterns have no effect
EFFECT = 0.25  # scale of the effect of a pattern
# Where one column of scores serves several systems, decisions tell more than it does.
# On generated data with 100 labels (`run_judge` of benchmarks/compare.py) intervals
# held in .73 with a scale of .25 (seeds 0 to 29). It was chosen on seeds 100 to 139, on
# finer grids than these: .90 with .7, .88 with 1.
EFFECT_OF_JUDGED = 0.7
DEGREES = 3.0  # of its t law
SAFETY = 1.35  # errors against those foretold before any label
FEWEST_GROUP_DRAWS, GROUP_CELLS = 96, 20_000_000  # of labels of rows in groups

_AT = np.array([-12.0, -8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8, 12])
_GRID = np.linspace(-2.4, 2.4, 9), np.linspace(0.25, 1.75, 5)
_NO_TILT = np.zeros(1), np.ones(1)


def effects_of(scale: float) -> tuple[Floats, Floats]:
    """Effects of a pattern on a grid, and the logarithm of the chance of each."""
    at = _AT if scale < 0.5 else _AT / 2  # steps of at most .35 about 0
    level = np.log(np.gradient(at)) - (DEGREES + 1) / 2 * np.log1p(at**2 / DEGREES)
    return scale * at, level - np.log(np.exp(level).sum())


@dataclass(frozen=True)
class ScoredGroups:
    """Groups whose scores are averaged."""

    code: Integers  # of every row
    size: Floats  # rows of each


@dataclass(frozen=True)
class PatternTable:
    """Rows by pattern of decisions, in cells, with the labels that are there."""

    decisions: Booleans  # (models, patterns)
    pattern: Integers  # of every row
    cell: Integers  # of every row
    odds: Floats  # (maps, cells) log-odds
    y: Floats  # labels, nan where unknown
    metric: Metric
    effect: float  # scale of the effect of a pattern; 0: patterns have none
    groups: ScoredGroups | None = None

    @classmethod
    def of(
        cls,
        labels: Booleans,
        scores: Floats,
        maps: list[JointMap],
        known: Floats,
        metric: Metric,
        groups: ScoredGroups | None = None,
    ) -> PatternTable:
        """Count rows; `labels`: (models, rows), `scores`: log-odds, `known`: labels."""
        models, columns = len(labels), len(scores)
        effect = 0.0
        if models > 1:
            effect = EFFECT if columns == models else EFFECT_OF_JUDGED
        decisions, pattern = np.unique(labels, axis=1, return_inverse=True)
        pattern = pattern.ravel()
        most = int(np.clip(MOST_CELLS // decisions.shape[1], 1, CELLS))
        cell, odds = cells_along(maps, scores, pattern, most)
        return cls(decisions, pattern, cell, odds, known, metric, effect, groups)

    @property
    def n_models(self) -> int:
        return len(self.decisions)

    @cached_property
    def size(self) -> Integers:
        """Rows of every cell, labelled or not."""
        return np.bincount(self.cell, minlength=self.odds.shape[1])

    @cached_property
    def group(self) -> Integers:
        """Pattern of every cell."""
        found = np.zeros(self.size.size, dtype=np.int64)
        found[self.cell] = self.pattern
        return found

    @cached_property
    def chance(self) -> Floats:
        """Chance of a positive in every cell, the mean over the maps."""
        return np.asarray(from_log_odds(self.odds)[0].mean(axis=0))

    @cached_property
    def labelled(self) -> Booleans:
        """Rows whose label has come."""
        return ~np.isnan(self.y)

    @cached_property
    def moves(self) -> Floats:
        """(models, patterns, groups): h of the score of each model."""
        code, size = np.zeros(self.y.size, np.int64), np.array([float(self.y.size)])
        if self.groups is not None:
            code, size = self.groups.code, self.groups.size
        p, called = self.chance[self.cell], self.decisions[:, self.pattern]
        tp, k = (
            np.array([np.bincount(code, a * x, size.size) for a in called], dtype=float)
            for x in (p, np.ones(p.size))
        )
        t = np.bincount(code, p, size.size).astype(np.float64)
        return moves_of(self.metric, tp, k, t, size, self.decisions.astype(float))

    def influence(self, contrasts: Floats) -> Floats:
        """√Σ h² of every cell over the contrasts of models, in rows."""
        moved = np.einsum("cm,mpg->cpg", np.atleast_2d(contrasts), self.moves)
        square = (moved**2).sum(axis=0)
        if self.groups is None:
            return np.asarray(np.sqrt(square[self.group, 0]))
        of_row = square[self.pattern, self.groups.code]
        total = np.bincount(self.cell, of_row, self.size.size)
        return np.asarray(np.sqrt(total / self.size) / self.groups.size.size)

    def first_contrasts(self) -> Floats:
        """What models are compared by before anything is known."""
        count = self.n_models
        if count <= 2:
            return np.array([[1.0, -1.0][:count]])
        return np.eye(count) - 1.0 / count

    @cached_property
    def member(self) -> Integers:
        """Stratum of every cell."""
        sizes = self.influence(self.first_contrasts())
        mass = self.size * (sizes * np.sqrt(self.chance * (1 - self.chance)) + 1e-12)
        per, cells = np.bincount(self.group, mass), np.bincount(self.group)
        room = max(PLANNED // 4 - per.size, 0)
        most = STRATA if self.n_models > 1 else STRATA_OF_ONE
        count = 1 + np.floor(room * per / per.sum() + 0.5)
        count = np.clip(count, 1, np.minimum(most, cells)).astype(np.int64)
        return strata_of(self.group, mass, count)

    def _labels_in(self, member: Integers) -> tuple[Integers, Integers, Integers]:
        """Rows, labels and positives of every stratum."""
        count = int(member.max()) + 1
        total = np.bincount(member, self.size, count).astype(np.int64)
        stratum = member[self.cell[self.labelled]]
        drawn = np.bincount(stratum, minlength=count)
        found = np.bincount(stratum, self.y[self.labelled], count).astype(np.int64)
        return total, drawn, found

    @property
    def _sigma(self) -> float:
        return SIGMA if self.n_models > 1 else SIGMA_OF_ONE

    def _weights(self, contrasts: Floats) -> Floats:
        """Neyman's weights of the strata, at the rates as they are known by now."""
        total, drawn, found = self._labels_in(self.member)
        c, count = self.chance, total.size
        sizes = self.size * self.influence(contrasts) * np.sqrt(c * (1 - c))
        weight = np.bincount(self.member, sizes, count)
        mu = np.bincount(self.member, self.size * c, count) / total
        before = np.maximum(mu * (1 - mu), 1e-6)
        kappa = 1.0 / (self._sigma**2 * before)
        rate = (kappa * mu + found) / (kappa + drawn)
        now = np.maximum(rate * (1 - rate), 1e-6)
        return np.asarray(weight * np.sqrt(now / before))

    def next_rows(self, n: int, contrasts: Floats, seed: object) -> Integers:
        """Rows to label next, in rising order."""
        total, drawn, _ = self._labels_in(self.member)
        open_ = np.flatnonzero(~self.labelled)
        wanted = allocation(n, total, self._weights(contrasts), drawn)
        return drawn_rows(self.member[self.cell[open_]], wanted, open_, seed)

    @cached_property
    def drawn_scores(self) -> Floats:
        """(models, draws): draws of the scores."""
        rng, p, called = np.random.default_rng(1), self._chances(), self.decisions * 1.0
        if self.groups is not None:
            return self._means_over_groups(self.groups, p, rng)
        cells, count = np.arange(self.size.size), called.shape[1]
        rows = np.zeros((count, cells.size))
        labelled = np.bincount(self.cell[self.labelled], minlength=cells.size)
        rows[self.group, cells] = self.size - labelled
        known = np.bincount(self.pattern, np.nan_to_num(self.y), count)
        positives = drawn_counts(p, rows, COUNTS, rng) + known[:, None]
        tp = np.einsum("mp,rpd->mrd", called, positives)
        k = called @ np.bincount(self.pattern, minlength=count)
        t, n = positives.sum(axis=1), float(self.y.size)
        return self.metric.value(tp, k[:, None, None], t, n).reshape(self.n_models, -1)

    def _chances(self) -> Floats:
        """(cells, draws): chances of a positive in every cell."""
        learnt = bool(self.labelled.any())
        member = self.member if learnt else self.group
        total, drawn, found = self._labels_in(member)
        shares = np.zeros((total.size, self.size.size))
        shares[member, np.arange(self.size.size)] = self.size / total[member]
        group = np.zeros(total.size, np.int64)
        group[member] = self.group
        effects = effects_of(self.effect) if self.effect else ()
        grid = _GRID if learnt else _NO_TILT
        prior = RatePrior(*grid, None, self._sigma, *effects)
        rng, each = np.random.default_rng(0), max(DRAWS // len(self.odds), 1)
        given = drawn.astype(np.float64), found.astype(np.float64), prior, each, rng
        parts = []
        for x in self.odds:
            one = drawn_rates(x, shares, group, *given)
            eta = one.level[:, None] + one.slope[:, None] * x
            p, q = from_log_odds(eta + one.effect[:, self.group])
            mu, rest = p @ shares.T, q @ shares.T
            down = np.minimum(one.rate / mu, 1.0)[:, member]
            up = np.minimum((1.0 - one.rate) / rest, 1.0)[:, member]
            parts.append(np.where(down < 1.0, p * down, 1.0 - q * up))
        return np.concatenate(parts).T

    def _means_over_groups(
        self, groups: ScoredGroups, p: Floats, rng: np.random.Generator
    ) -> Floats:
        """Means over groups of the scores: labels of all rows, draw by draw."""
        order = np.argsort(groups.code, kind="stable")
        first = np.searchsorted(groups.code[order], np.arange(groups.size.size))
        called, cell = self.decisions[:, self.pattern[order]] * 1.0, self.cell[order]
        k, label = np.add.reduceat(called, first, axis=1), self.y[order]
        count = int(np.clip(GROUP_CELLS // self.y.size, FEWEST_GROUP_DRAWS, p.shape[1]))
        found = []
        for column in p.T[np.linspace(0, p.shape[1] - 1, count).astype(np.int64)]:
            hit = rng.random(cell.size) < column[cell]
            y = np.where(np.isnan(label), hit, label)
            t, tp = (
                np.add.reduceat(y, first),
                np.add.reduceat(y * called, first, axis=1),
            )
            values = self.metric.value(tp, k, t, groups.size)
            there = ~np.isnan(values)
            total = np.where(there, values, 0.0).sum(axis=1)
            with np.errstate(invalid="ignore"):
                found.append(total / there.sum(axis=1))
        return np.array(found).T

    def foretold_sd(self, m: int, contrasts: Floats) -> float:
        """Sd of a contrast that m chosen labels leave, told before they come.

        sd² = Σ h²·[(N - m)²·v/(κ + m) + (N - m)·v] over strata, v = μ·(1 - μ).
        """
        total, drawn, _ = self._labels_in(self.member)
        c, count = self.chance, total.size
        mu = np.bincount(self.member, self.size * c, count) / total
        v = np.maximum(mu * (1 - mu), 1e-6)
        labels = drawn + allocation(m, total, self._weights(contrasts), drawn)
        square = self.size * self.influence(contrasts) ** 2
        square = np.bincount(self.member, square, count) / total
        spread = self._sigma**2 + 2 * self.effect**2
        kappa, left = 1.0 / (spread * v), total - labels
        whole = square * (left**2 * v / (kappa + labels) + left * v)
        return float(np.sqrt(whole.sum()))
