"""Scores of several sets of labels, and standard errors of their differences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argmetric._calibrate.calibrate import fold_numbers
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.layout import Layout
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._ground.validation import Probabilities
from argmetric._verbs.decide import Decision, decide
from argmetric._verbs.tune import tune
from argmetric.metrics import Metric

MOST_BLOCKS = 1024  # units are drawn in this many blocks, or one by one if fewer
MOST_CELLS = 1 << 23


@dataclass(frozen=True)
class Units:
    """Units of the bootstrap: rows, or whole groups."""

    unit: Integers | None  # number of the unit of every item; None: each is one
    # number of the segment whose counts the item enters; None: one for all
    segment: Integers | None
    # n_units, n_segments: how many there are
    n_units: int
    n_segments: int
    # whether every unit has a score of its own, and the mean of them counts
    per_unit: bool


def sampling_units(layout: Layout, groups: object) -> Units:
    """Return the units that the bootstrap draws: rows of a matrix, groups, or rows.

    With average="macro" each column has counts of its own (a segment).
    """
    n = layout.scores.size
    if len(layout.shape) == 2:
        rows, columns = layout.shape
        row, column = map(layout.select, np.indices(layout.shape))
        if layout.average == "macro":
            return Units(row, column, rows, columns, False)
        return Units(row, None, rows, 1, layout.average == "samples")
    if groups is None:
        return Units(None, None, n, 1, False)
    coded = code_groups(groups, n)
    return Units(coded.codes, None, coded.count, 1, layout.average == "groups")


@dataclass(frozen=True)
class Case:
    """Sets of predicted labels, true labels, metric and units; one entry per item."""

    metric: Metric
    units: Units
    y: Booleans
    labels: tuple[Booleans, ...]
    weight: Floats | None

    def sums(self, code: Integers, size: int) -> Floats:
        """Return sums of weights by code, of shape (columns, size).

        Columns are positives and size, then hits and predictions of each set of labels.
        """
        masks = [self.y, np.ones_like(self.y)]
        for labels in self.labels:
            masks += [labels & self.y, labels]
        weight = 1.0 if self.weight is None else self.weight
        return np.array([np.bincount(code, mask * weight, size) for mask in masks])

    def values(self, sums: Floats) -> Iterator[tuple[Floats, Booleans]]:
        """Yield the metric of each way from sums of `sums`, and where it is defined.

        It is 0 where it is not, as in a unit or segment of weight 0.
        """
        t, n, *parts = sums
        for tp, k in zip(parts[::2], parts[1::2], strict=True):
            values = self.metric.value(tp, k, t, n)
            defined = ~np.isnan(values) & (n > 0)
            yield np.where(defined, values, 0.0), defined


@dataclass(frozen=True)
class RouteScores:
    """Scores of the sets of labels, and of bootstrap samples of the units."""

    scores: Floats
    samples: Floats

    def error(self, i: int, j: int | None = None) -> float:
        """Return the standard error of a score, or of a paired difference."""
        values = self.samples[:, i] - (0.0 if j is None else self.samples[:, j])
        values = values[np.isfinite(values)]
        return float(values.std(ddof=1)) if values.size > 1 else math.nan


def judge(case: Case, n_bootstrap: int, rng: np.random.Generator) -> RouteScores:
    """Bootstrap units and score fixed sets of labels."""
    block, n_blocks = _blocks(case, rng)
    sums = _scores if case.units.per_unit else _counts
    table = sums(case, block, n_blocks)
    drawn = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), n_bootstrap)
    again = np.tensordot(drawn.astype(np.float64), table, axes=1)
    return RouteScores(
        _score_all(case, table.sum(axis=0)[None])[0], _score_all(case, again)
    )


def _blocks(case: Case, rng: np.random.Generator) -> tuple[Integers, int]:
    """Return the bootstrap block of every unit, and the number of blocks."""
    units, columns = case.units, 2 * len(case.labels) + 2
    most = max(32, min(MOST_BLOCKS, MOST_CELLS // (columns * units.n_segments)))
    if units.n_units <= most:
        return np.arange(units.n_units), units.n_units
    block = rng.permutation(units.n_units)
    block %= most
    return block.astype(np.int16), most  # most is at most MOST_BLOCKS


def _counts(case: Case, block: Integers, n_blocks: int) -> Floats:
    """Return counts as blocks × segments × columns.

    Columns are positives and size, then hits and predictions of each set of labels.
    """
    units = case.units
    code = block if units.unit is None else block[units.unit]
    if units.segment is not None:
        code = code.astype(np.int64) * units.n_segments + units.segment
    size = n_blocks * units.n_segments
    table = case.sums(code, size).T
    return table.reshape(n_blocks, units.n_segments, table.shape[1])


def _scores(case: Case, block: Integers, n_blocks: int) -> Floats:
    """Return sum and number of defined unit scores: blocks × 1 × columns."""
    assert case.units.unit is not None
    sums = case.sums(case.units.unit, case.units.n_units)
    columns = (one for pair in case.values(sums) for one in pair)
    table = [np.bincount(block, one, n_blocks) for one in columns]
    return np.stack(table, axis=-1, dtype=np.float64)[:, None, :]


def _score_all(case: Case, table: Floats) -> Floats:
    """Return the scores of all labels from samples × segments × columns."""
    cells = np.moveaxis(table, -1, 0)
    if case.units.per_unit:
        with np.errstate(invalid="ignore"):
            return np.asarray((cells[::2] / cells[1::2])[:, :, 0].T)
    with np.errstate(invalid="ignore"):
        means = [
            values.sum(axis=1) / defined.sum(axis=1)
            for values, defined in case.values(cells)
        ]
    return np.stack(means, axis=1)


RouteName = Literal["recalibrate", "decide", "tune", "half", "weights", "most_probable"]
# The first is best where nothing else is known; another one has to show it.
ROUTES: tuple[RouteName, ...] = ("recalibrate", "decide", "tune", "half")
TUNED: tuple[RouteName, ...] = ("tune", "weights")
IN_WORDS: dict[RouteName, str] = {
    "recalibrate": "decide, recalibrated",
    "decide": "decide, as it stands",
    "tune": "one tuned cut",
    "half": "cut at 0.5",
    "weights": "tuned weights",
    "most_probable": "most probable class",
}

CLEARLY = 2.0  # standard errors
RANKING_LOST = 0.005  # loss of AUC from which a calibrator has destroyed ranking


@dataclass(frozen=True)
class Route:
    """One way from scores to labels."""

    # `decide` with recalibrated scores, or with the scores as they stand; a cut that
    # was tuned; the cut at one half; of several classes, weights that were tuned, or
    # the most probable class. What is fitted was fitted on other rows.
    name: RouteName
    # score, standard_error: what its labels score
    score: float
    standard_error: float
    # gain, gain_standard_error: how much better that is than `decide` with the scores
    # as they stand
    gain: float
    gain_standard_error: float

    @property
    def words(self) -> str:
        return IN_WORDS[self.name]


@dataclass(frozen=True)
class LabelledScores:
    """Labelled scores in the shape they were given in, and how they are judged."""

    scores: Floats
    y: Booleans
    weight: Floats | None
    groups: Groups | None
    layout: Layout
    metric: Metric
    logits: bool
    scale_is_known: bool

    def folds(self, n_folds: int, seed: int | None) -> Integers:
        """Return the fold of every row; groups and matrix rows stay together."""
        if self.scores.ndim == 1:
            return fold_numbers(self.y, n_folds, self.groups, seed)
        rows, columns = self.scores.shape
        row = np.repeat(np.arange(rows), columns)
        return fold_numbers(self.y.ravel(), n_folds, row, seed)[::columns]

    def checked_scores(self, rows: Booleans | slice = slice(None)) -> Probabilities:
        """Return the scores of some rows, marked as already checked."""
        return Probabilities(self.scores[rows], self.logits, self.scale_is_known)

    def options(self) -> dict[str, Any]:
        """Return the layout options that `decide` takes for these scores."""
        average = self.layout.average
        return {"groups": self.groups, "average": average, "logits": self.logits}

    def decide(self, **given: Any) -> tuple[Decision, Booleans]:
        """Return the decision of `decide` on the scores, and its labels by item."""
        found = decide(self.checked_scores(), self.metric, **self.options(), **given)
        return found, self.layout.select(np.asarray(found.labels)) == 1


def tuned_labels(problem: LabelledScores, folds: Integers) -> Booleans | None:
    """Return labels by cuts tuned on the other folds; None if one has no cut."""
    scores = problem.scores
    labels = np.zeros(scores.shape, dtype=bool)
    if not (math.isfinite(scores.min()) and math.isfinite(scores.max())):
        return None
    # What is odd about the scores is said of all of them, not of every fold.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(int(folds.max()) + 1):
            inside = folds == number
            rows = ~inside
            how: dict[str, Any] = {"average": problem.layout.average}
            if problem.weight is not None and scores.ndim == 1:  # of rows, not of cells
                how["sample_weight"] = problem.weight[rows]
            if problem.groups is not None:
                how["groups"] = problem.groups.take(rows)
            given = problem.y[rows], problem.checked_scores(rows), problem.metric
            try:
                rule = tune(*given, n_bootstrap=0, cv=None, **how)
                labels[inside] = rule.applies(problem.checked_scores(inside))
            except ValueError:
                return None
    return problem.layout.select(labels)


def list_routes(
    judged: RouteScores, names: tuple[RouteName, ...], sign: float
) -> list[Route]:
    """Return the scores of the routes, and their gains over plain `decide`."""
    base = names.index("decide")
    return [
        Route(
            name,
            float(judged.scores[i]),
            judged.error(i),
            sign * float(judged.scores[i] - judged.scores[base]),
            judged.error(i, base),
        )
        for i, name in enumerate(names)
    ]


def best_route(
    judged: RouteScores,
    names: tuple[RouteName, ...],
    sign: float,
    *,
    mended: bool,
    cuts: bool,
) -> RouteName:
    """Return the recommended route.

    On new rows nothing does measurably better than recalibrating, so that is the route
    wherever it lowered the log-loss out of fold (`mended`). A tuned cut is advised only
    where `cuts` are allowed, and where it did clearly better: with groups, whose rows
    may depend on each other, or where the calibrator lost some of the ranking.
    """
    best = names.index("recalibrate" if mended else "decide")
    tuned = [one for one in TUNED if one in names]
    if cuts and tuned:
        tune, score = names.index(tuned[0]), sign * judged.scores
        if score[tune] - score[best] > CLEARLY * judged.error(tune, best):
            best = tune
    return names[best]


def loses_ranking(problem: LabelledScores, mended: Floats, folds: Integers) -> bool:
    """Return whether out-of-fold calibration lowers the AUC within the folds."""
    lost = []
    for number in range(int(folds.max()) + 1):
        inside = folds == number
        y = problem.y[inside]
        if not y.any() or y.all():
            continue
        # AUC: P(a positive scores higher than a negative), ties count one half
        auc = []
        for scores in (problem.scores[inside], mended[inside]):
            negatives, own = np.sort(scores[~y]), scores[y]
            below = np.searchsorted(negatives, own)
            not_above = np.searchsorted(negatives, own, side="right")
            auc.append(float((below + not_above).mean() / (2 * negatives.size)))
        lost.append(auc[0] - auc[1])
    return bool(lost) and float(np.mean(lost)) > RANKING_LOST
