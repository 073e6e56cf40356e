"""Four ways from scores to labels, compared on rows that none of them has seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from argmetric._calibrate.calibrate import fold_numbers
from argmetric._calibration_check._judge import Judged
from argmetric._decide import decide
from argmetric._input.groups import Groups
from argmetric._input.layout import Layout
from argmetric._input.likely_slips import scores_of_a_model
from argmetric._input.types import Booleans, Floats, Integers
from argmetric._input.validation import Probabilities
from argmetric._tune import tune
from argmetric.metrics import Metric

RouteName = Literal["recalibrate", "decide", "tune", "half"]
# The first is best where nothing else is known; another one has to show it.
ROUTES: tuple[RouteName, ...] = ("recalibrate", "decide", "tune", "half")
IN_WORDS: dict[RouteName, str] = {
    "recalibrate": "decide, recalibrated",
    "decide": "decide, as it stands",
    "tune": "one tuned cut",
    "half": "cut at 0.5",
}

CLEARLY = 2.0  # standard errors
RANKING_LOST = 0.005  # of the AUC, from which a map has destroyed some of the ranking


@dataclass(frozen=True)
class Route:
    """One way from scores to labels.

    Attributes
    ----------
    name : {"recalibrate", "decide", "tune", "half"}
        `decide` with recalibrated scores, or with the scores as they stand; a cut that
        was tuned; the cut at one half. What is fitted was fitted on other rows.
    score, standard_error : float
        What its labels score.
    gain, gain_standard_error : float
        How much better that is than `decide` with the scores as they stand.
    """

    name: RouteName
    score: float
    standard_error: float
    gain: float
    gain_standard_error: float

    @property
    def words(self) -> str:
        return IN_WORDS[self.name]


@dataclass(frozen=True)
class Problem:
    """Labelled scores in the shape they were given in, and how they are judged."""

    scores: Floats
    y: Booleans
    weight: Floats | None
    groups: Groups | None
    layout: Layout
    metric: Metric
    logits: bool

    def folds(self, n_folds: int, seed: int | None) -> Integers:
        """Number of the fold of every row: whole groups, and rows of a matrix, whole.

        Rows of weight 0 are dealt too: they are judged by nothing.
        """
        if self.scores.ndim == 1:
            return fold_numbers(self.y, n_folds, self.groups, seed)
        rows, columns = self.scores.shape
        row = np.repeat(np.arange(rows), columns)
        return fold_numbers(self.y.ravel(), n_folds, row, seed)[::columns]

    def checked(self, rows: Booleans | slice = slice(None)) -> Probabilities:
        """Scores of some rows, which nobody has to check again."""
        return Probabilities(self.scores[rows], self.logits)

    def options(self) -> dict[str, Any]:
        """How `decide` lays these scores out."""
        average = self.layout.average
        return {"groups": self.groups, "average": average, "logits": self.logits}


class Decided(NamedTuple):
    """Labels of `decide`, item by item and as given, and what it expected of them."""

    labels: Booleans
    given: Any
    expected: float
    threshold: float | None


def decisions(problem: Problem, mended: Floats) -> tuple[Decided, Decided]:
    """`decide` with the scores as they stand, and with those mended out of fold."""
    ready = problem.layout.select(mended)  # in the order in which `decide` asks for it
    return _decided(problem), _decided(problem, calibrator=lambda p: ready)


def _decided(problem: Problem, **given: Any) -> Decided:
    found = decide(problem.checked(), problem.metric, **problem.options(), **given)
    labels = problem.layout.select(np.asarray(found.labels)) == 1
    return Decided(labels, found.labels, found.expected, found.threshold)


def tuned_labels(problem: Problem, folds: Integers) -> Booleans | None:
    """Labels by cuts that were tuned on the other folds, item by item.

    None where a label of a matrix has one class only and so no cut.
    """
    labels = np.zeros(problem.scores.shape, dtype=bool)
    # What is odd about the scores is said of all of them, not of every fold.
    with scores_of_a_model(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(int(folds.max()) + 1):
            inside = folds == number
            try:  # a rule has all its cuts: none is kept while the next is sought
                rule = tuned_rule(problem, ~inside)
                labels[inside] = rule.applies(problem.checked(inside))
            except ValueError:
                return None
    return problem.layout.select(labels)


def tuned_rule(problem: Problem, rows: Booleans) -> Any:
    """The best cut on some rows, without its uncertainty."""
    weight = None if problem.weight is None else problem.weight[rows]
    if weight is not None and weight.ndim == 2:
        weight = None  # rules of matrices weigh rows, not cells
    return tune(
        problem.y[rows],
        problem.checked(rows),
        problem.metric,
        sample_weight=weight,
        groups=None if problem.groups is None else problem.groups.take(rows),
        average=problem.layout.average,  # type: ignore[arg-type]
        n_bootstrap=0,
        cv=None,
    )


def routes_of(judged: Judged, names: tuple[RouteName, ...], sign: float) -> list[Route]:
    """Scores of the routes, and what each gains over `decide` as it stands."""
    base = names.index("decide")
    return [
        Route(
            name,
            float(judged.scores[i]),
            judged.error(i),
            sign * float(judged.scores[i] - judged.scores[base]),
            judged.difference_error(i, base),
        )
        for i, name in enumerate(names)
    ]


def best_route(
    judged: Judged,
    names: tuple[RouteName, ...],
    sign: float,
    *,
    mended: bool,
    cuts: bool,
) -> RouteName:
    """The route to take.

    On new rows nothing does measurably better than recalibrating, so that is the route
    wherever it lowered the log-loss out of fold (`mended`). A tuned cut is advised only
    where `cuts` are allowed, and where it did clearly better: with groups, whose rows
    may depend on each other, or where the map lost some of the ranking.
    """
    best = names.index("recalibrate" if mended else "decide")
    if cuts and "tune" in names:
        tune, score = names.index("tune"), sign * judged.scores
        if score[tune] - score[best] > CLEARLY * judged.difference_error(tune, best):
            best = tune
    return names[best]


def loses_ranking(problem: Problem, mended: Floats, folds: Integers) -> bool:
    """Whether maps that were fitted on other folds lower the AUC within the folds."""
    lost = []
    for number in range(int(folds.max()) + 1):
        inside = folds == number
        y = problem.y[inside]
        if y.any() and not y.all():
            before, after = (one[inside] for one in (problem.scores, mended))
            lost.append(_auc(y, before) - _auc(y, after))
    return bool(lost) and float(np.mean(lost)) > RANKING_LOST


def _auc(y: Booleans, scores: Floats) -> float:
    """Chance that a positive scores higher than a negative; ties count one half."""
    negatives = np.sort(scores[~y])
    below = np.searchsorted(negatives, scores[y])
    not_above = np.searchsorted(negatives, scores[y], side="right")
    return float((below + not_above).mean() / (2 * negatives.size))
