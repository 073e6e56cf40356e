"""How far the scores of a classifier lie from a rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from argmetric._ground.arguments import shown
from argmetric._ground.features import Method, response_method, scores_of
from argmetric._ground.groups import factorize
from argmetric._ground.odds import log_odds
from argmetric._ground.types import AnyArray, Floats, Integers
from argmetric._ground.validation import Probabilities, check_scores
from argmetric.train._estimator_rows import take_parameters, take_rows

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
    """Distance of a row from the threshold; > 0 exactly if the second class is chosen.

    The log-odds of the probability minus those of the threshold; for margins the plain
    difference. At a threshold of ±∞, where all rows fall to one side, the order of the
    rows is kept by ∓log(1 + exp(∓score)).
    """
    if probabilities:
        scores = np.clip(log_odds(scores, 1.0 - scores), -LIMIT, LIMIT)
        if 0.0 <= threshold <= 1.0:
            at = np.array([threshold])
            threshold = float(np.clip(log_odds(at, 1.0 - at), -LIMIT, LIMIT)[0])
        else:
            threshold = math.copysign(math.inf, threshold)
    if math.isinf(threshold):
        sign = math.copysign(1.0, threshold)
        away: Floats = -sign * np.logaddexp(0.0, -sign * scores)
    else:
        away = scores - threshold
    if positive == 0:
        away, applies = -away, ~applies
    # A score that equals the threshold, or differs in the last bit, has distance 0.
    return np.where(applies, np.maximum(away, TINY), np.minimum(away, 0.0))


Split = tuple[Integers, Integers]


@dataclass(frozen=True)
class Problem:
    """The labelled rows, and which class is positive (None: more than two)."""

    X: Any
    y: AnyArray
    classes: AnyArray
    codes: Integers
    positive: int | None
    weights: Floats | None
    groups: AnyArray | None

    def part(self, rows: Integers) -> dict[str, Any]:
        """Weights and groups of some rows."""
        return {
            "sample_weight": None if self.weights is None else self.weights[rows],
            "groups": None if self.groups is None else self.groups[rows],
        }


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models fitted without them.

    A row occurs as often as the splitter tests it: never in the first part of a time
    series, several times in repeated folds. The order is that of the rows. `refitted`
    says that another model, which also learns from these rows, scores new rows.
    """

    rows: Integers
    fold: Integers
    scores: Floats
    method: Method
    refitted: bool

    @property
    def margins(self) -> bool:
        return self.method == "decision_function"

    @property
    def checked(self) -> Probabilities:
        """Refuse NaN among the scores, and return them."""
        scores = check_scores(self.scores, "p", logits=self.margins)
        return Probabilities(scores, self.margins, scale_is_known=True)


def split_rows(
    cv: Any, problem: Problem, split_parameters: dict[str, Any]
) -> list[Split]:
    """Training and test rows of every fold."""
    if cv is None or isinstance(cv, Integral):
        folds = 5 if cv is None else int(cv)
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, not {folds}")
        return stratified(problem.codes, problem.classes, problem.groups, folds)
    if hasattr(cv, "split") and not isinstance(cv, str | bytes | bytearray):
        return list(cv.split(problem.X, problem.y, **split_parameters))
    rows = np.arange(problem.y.size)
    try:
        splits = [(rows[train], rows[test]) for train, test in cv]
    except (TypeError, ValueError, IndexError):
        splits = []
    if not splits or not all(part.ndim == 1 for pair in splits for part in pair):
        raise TypeError(
            "cv must be a number of folds, a splitter, or pairs of training and test "
            f"rows, not {shown(cv)}"
        )
    return splits


def stratified(
    codes: Integers, classes: AnyArray, groups: Any, folds: int, seed: int | None = None
) -> list[Split]:
    """Folds with the same shares of the classes, of whole groups if there are any.

    They are shuffled if there is a seed, and fewer than asked for if the rarest class
    has fewer rows or there are fewer groups.
    """
    counts = np.bincount(codes)
    counts = np.where(counts == 0, codes.size, counts)
    rarest = int(np.argmin(counts))
    if counts[rarest] < 2:
        raise ValueError(
            f"class {classes.tolist()[rarest]!r} has one row only, which cannot be "
            "both learned from and tested on: add rows of it, or leave it out"
        )
    folds = min(folds, int(counts[rarest]))
    options = {"shuffle": seed is not None, "random_state": seed}
    if groups is None:
        return list(StratifiedKFold(folds, **options).split(codes, codes))
    numbers, ids = factorize(groups)
    if ids.size < 2:
        raise ValueError("groups holds one group only: whole groups make up the folds")
    whole = StratifiedGroupKFold(min(folds, ids.size), **options)
    return list(whole.split(codes, codes, groups=numbers))


def out_of_fold(
    estimator: Any,
    problem: Problem,
    splits: list[Split],
    fit_parameters: dict[str, Any],
    n_jobs: int | None,
) -> HeldOut:
    """Fit a clone on the training part of every fold and score its test part."""
    for number, (train, _) in enumerate(splits):
        codes = problem.codes[train]
        if problem.weights is not None:
            codes = codes[problem.weights[train] > 0.0]
        rows = np.bincount(codes, minlength=problem.classes.size)
        if not rows.all():
            name = problem.classes.tolist()[int(np.argmin(rows > 0))]
            raise ValueError(
                f"the training part of fold {number} has no row of class {name!r}; "
                "pass fewer or stratified folds as cv, or leave that class out"
            )
    jobs = (
        delayed(_fit_and_score)(clone(estimator), problem, train, test, fit_parameters)
        for train, test in splits
    )
    parts = Parallel(n_jobs=n_jobs)(jobs)
    rows = np.concatenate([test for _, test in splits])
    fold = np.repeat(np.arange(len(splits)), [test.size for _, test in splits])
    scores = np.concatenate([scores for scores, _ in parts])
    order = np.argsort(rows, kind="stable")
    return HeldOut(rows[order], fold[order], scores[order], parts[0][1], True)


def _fit_and_score(
    estimator: Any,
    problem: Problem,
    train: Integers,
    test: Integers,
    fit_parameters: dict[str, Any],
) -> tuple[Floats, Method]:
    parameters = take_parameters(fit_parameters, train, problem.y.size)
    estimator.fit(take_rows(problem.X, train), problem.y[train], **parameters)
    method = response_method(estimator)
    X = take_rows(problem.X, test)
    return scores_of(estimator, X, problem.classes, problem.positive, method), method


def score_all(estimator: Any, problem: Problem) -> HeldOut:
    """Scores of a fitted estimator on rows that it has not seen."""
    method = response_method(estimator)
    scores = scores_of(estimator, problem.X, problem.classes, problem.positive, method)
    rows = np.arange(problem.y.size)
    return HeldOut(rows, np.zeros_like(rows), scores, method, False)
