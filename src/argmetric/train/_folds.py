"""Folds of a classifier, and out-of-fold scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import assert_all_finite, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed

from argmetric._ground.arguments import REFUSED, is_among, is_whole, shown
from argmetric._ground.features import (
    Method,
    check_features,
    estimator_labels,
    response_method,
    scores_of,
)
from argmetric._ground.groups import factorize
from argmetric._ground.label_words import one_class
from argmetric._ground.labels import plain_label
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    Floats,
    Folds,
    Integers,
)
from argmetric._ground.validation import (
    Probabilities,
    check_scores,
    check_weight,
    is_frame_like,
)


def check_rows(X: Any, y: Any, owner: str) -> tuple[Any, AnyArray]:
    """Return X in a form that can be indexed by row, and the labels as an array."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None")
    if getattr(X, "ndim", None) == 2 and X.shape[1] == 0:
        raise ValueError(
            f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
        )
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.asarray(y).shape
        except ValueError as error:
            raise ValueError(
                "y must hold one label for each row, not lists of several lengths: "
                "pass a flat list or an array"
            ) from error
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y has {shape[1]} columns; {owner} takes one. Wrap it in "
            "OneVsRestClassifier or MultiOutputClassifier: each label gets its own rule"
        )
    y = column_or_1d(estimator_labels(y), warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    check_features(X)
    X, y = indexable(X, y)
    return X, y


def code_classes(
    y: AnyArray, known: AnyArray | None = None
) -> tuple[AnyArray, Integers]:
    """Return the sorted classes, and the index of each row's class, shape (n_rows,)."""
    if y.size == 0:
        raise ValueError("y is empty: there is nothing to learn from")
    classes, codes = np.unique(y, return_inverse=True)
    if known is not None:
        foreign = classes[~np.isin(classes, known)]
        if foreign.size:
            raise ValueError(
                f"y has the class {foreign.tolist()[0]!r}, which the frozen estimator "
                f"has not seen; its classes are {known.tolist()}"
            )
        classes = known
        codes = np.searchsorted(known, y)
    if (codes == codes[0]).all():
        raise one_class(plain_label(classes[codes[0]]), "y")
    return classes, codes.astype(np.int64)


def check_weights(
    values: ArrayLike | None, codes: Integers, classes: AnyArray
) -> Floats | None:
    """Check that weights are at least 0, with a positive weight in two classes."""
    weights = check_weight(values, codes.shape, "y")
    if weights is None:
        return None
    present = np.unique(codes[weights > 0.0])
    if present.size == 0:
        raise ValueError("sample_weight is zero in every row")
    if present.size == 1:
        label = plain_label(classes[present[0]])
        raise one_class(label, "y", "label of positive weight")
    return weights


def take_rows(values: Any, rows: Integers) -> Any:
    """Return some rows of an array, a sparse matrix, a frame, a series or a list."""
    if is_frame_like(values):
        import narwhals as nw

        try:
            frame = nw.from_native(values, eager_only=True, allow_series=True)
        except TypeError:  # an array of lists, say
            raise TypeError(
                f"X must be rows of features, not {shown(values)}"
            ) from None
        return nw.to_native(frame[rows])
    if isinstance(values, list | tuple):
        return [values[i] for i in rows.tolist()]
    return values[rows]


Split = tuple[Integers, Integers]


@dataclass(frozen=True)
class Problem:
    """Labelled rows of a classifier; `positive` is None with more than two classes."""

    X: Any
    y: AnyArray
    classes: AnyArray
    codes: Integers
    positive: int | None
    weights: Floats | None
    groups: AnyArray | None

    def part(self, rows: Integers) -> dict[str, Any]:
        """Return weights and groups of some rows."""
        return {
            "sample_weight": None if self.weights is None else self.weights[rows],
            "groups": None if self.groups is None else self.groups[rows],
        }


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models that were fitted without them.

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
    def probabilities(self) -> Probabilities:
        """Return the scores, or raise an error if one is NaN."""
        scores = check_scores(self.scores, "p", logits=self.margins)
        return Probabilities(scores, self.margins, scale_is_known=True)


def split_rows(
    cv: Folds | None, problem: Problem, split_parameters: dict[str, object]
) -> list[Split]:
    """Return training and test rows of every fold."""
    if cv is None or isinstance(cv, int) or is_whole(cv):
        folds = 5 if cv is None else int(cv)  # type: ignore[arg-type]
        if folds < 2:
            raise ValueError(f"cv must be at least 2 folds, not {folds}")
        return stratify_folds(problem.codes, problem.classes, problem.groups, folds)
    if hasattr(cv, "split") and not isinstance(cv, str | bytes | bytearray):
        return list(cv.split(problem.X, problem.y, **split_parameters))
    rows = np.arange(problem.y.size)
    try:
        splits = [(rows[train], rows[test]) for train, test in cv]
    except (TypeError, ValueError, IndexError):
        splits = []
    if not splits or not all(part.ndim == 1 for pair in splits for part in pair):
        hint = f"; {REFUSED['prefit']}" * is_among(cv, ("prefit",))
        raise TypeError(
            "cv must be a number of folds, a splitter, or pairs of training and test "
            f"rows, not {shown(cv)}{hint}"
        )
    return splits


def stratify_folds(
    codes: Integers, classes: AnyArray, groups: AnyArray | None, folds: int
) -> list[Split]:
    """Return stratified folds, which keep groups whole if there are any.

    There are fewer than `folds` if the rarest class has fewer rows, or if there are
    fewer groups.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Index of the class of each row.
    classes : ndarray of shape (n_classes,)
    groups : array-like of shape (n_rows,) or None
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
    if groups is None:
        return list(StratifiedKFold(folds).split(codes, codes))
    numbers, ids = factorize(groups)
    if ids.size < 2:
        raise ValueError("groups holds one group only: whole groups make up the folds")
    whole = StratifiedGroupKFold(min(folds, ids.size))
    return list(whole.split(codes, codes, groups=numbers))


def refuse_absent_class(problem: Problem, splits: list[Split]) -> None:
    """Refuse folds whose training part has no row of a class."""
    weighted = problem.weights is not None
    for number, (train, _) in enumerate(splits):
        codes = problem.codes[train]
        if problem.weights is not None:
            codes = codes[problem.weights[train] > 0.0]
        rows = np.bincount(codes, minlength=problem.classes.size)
        if not rows.all():
            name = problem.classes.tolist()[int(np.argmin(rows > 0))]
            raise ValueError(
                f"the training part of fold {number} has no row of class {name!r}"
                f"{' with a positive weight' * weighted}; pass fewer or stratified "
                "folds as cv, or leave that class out"
            )


def out_of_fold(
    estimator: Any,
    problem: Problem,
    splits: list[Split],
    fit_parameters: dict[str, object],
    n_jobs: int | None,
) -> HeldOut:
    """Fit a clone on the training part of every fold and score its test part."""
    refuse_absent_class(problem, splits)
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
    fit_parameters: dict[str, object],
) -> tuple[Floats, Method]:
    """Fit an estimator on the rows `train`, and score the rows `test`."""
    parameters = {}
    for name, value in fit_parameters.items():
        shape = getattr(value, "shape", None)
        if not shape:
            shape = (len(value),) if isinstance(value, list | tuple) else (None,)
        parameters[name] = (
            take_rows(value, train) if shape[0] == problem.y.size else value
        )
    estimator.fit(take_rows(problem.X, train), problem.y[train], **parameters)
    method = response_method(estimator)
    X = take_rows(problem.X, test)
    return scores_of(estimator, X, problem.classes, problem.positive, method), method


def score_rows(estimator: Any, problem: Problem) -> HeldOut:
    """Return the scores of a fitted estimator on rows that it has not seen."""
    method = response_method(estimator)
    scores = scores_of(estimator, problem.X, problem.classes, problem.positive, method)
    rows = np.arange(problem.y.size)
    return HeldOut(rows, np.zeros_like(rows), scores, method, False)
