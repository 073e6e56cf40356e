"""check: are the probabilities of classes reliable, and what does it cost?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from argmetric._calibrate.calibrate import deal
from argmetric._calibrate.reference import Reference
from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
    refuses,
)
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.types import (
    ArrayLike,
    Booleans,
    ClassNames,
    Floats,
    Integers,
    Interval,
    Label,
)
from argmetric._verbs.check import (
    FEW_ROWS_OF_A_CLASS,
    MOST_BINS_OR_SAMPLES,
    MOST_CELLS,
    Line,
    Quality,
    RouteName,
    RouteScores,
    best_route,
    calibration_line,
    list_routes,
    reliability_bins,
    wilson,
)
from argmetric.classes._calibrate import METHODS, ClassBatch, read_batch
from argmetric.classes._calibrators import ClassCalibrator, log_softmax
from argmetric.classes._check_result import ClassCalibrationCheck, ClassReliability
from argmetric.classes._climb import most_probable
from argmetric.classes._decide import decide_batch
from argmetric.classes._evaluate import group_scores
from argmetric.classes._fit import fit_class_matrix, fit_class_temperature
from argmetric.classes._forecast import forecast_batch
from argmetric.classes._input import check_class_probabilities, class_codes
from argmetric.classes._tune import tuned_class_labels
from argmetric.metrics import ClassAverage, ClassMetric, MetricLike, get_class_metric

N_FOLDS = 5
MOST_CLASSES_TUNED = 30  # for more, tuning takes longer than all else


@refuses("mean")
def check(
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike | None = None,
    *,
    classes: ClassNames | None = None,
    groups: ArrayLike | None = None,
    average: ClassAverage | None = None,
    zero_division: float | None = None,
    cost: ArrayLike | None = None,
    method: Literal["matrix", "temperature"] | None = None,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    random_state: int | None = 0,
    logits: bool = False,
) -> ClassCalibrationCheck:
    """Check whether class probabilities are good enough to decide and to forecast with.

    Labels are chosen in four ways, none of them fitted on the rows that it labels:
    `decide` with `p` as it is, `decide` with `p` recalibrated, weights of `tune` (up to
    30 classes), and the most probable class. All are scored on `y` with the metric
    itself. Every class has a verdict of its own.

    Parameters
    ----------
    y : array-like
        The class of each row.
    p : array-like or frame
        Class probabilities from a model that was not trained on `y`.
    metric : str, Metric or callable, default="f1"
        The metric that scores the labels, as for `decide`.
    classes, groups, average, zero_division, cost
        As for `decide`. Folds and bootstrap samples keep groups whole.
    method : {"matrix", "temperature"}, optional
        How to recalibrate, as for `calibrate`.
    n_bins : int, default=10
        Bins of equal mass for the calibration error.
    n_bootstrap : int, default=200
        Samples drawn for the standard errors of the scores, the labels held fixed.
    random_state : int, optional
        Seed of folds and samples.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.

    Returns
    -------
    ClassCalibrationCheck
        Verdicts for the metric and for each class.

    See Also
    --------
    argmetric.calibration_check : Probabilities of positives.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 2_000)
    >>> y = (rng.random((2_000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> am.classes.check(y, p).fit_to_decide
    'yes'
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    n_bins = check_count(n_bins, "n_bins", low=2, high=MOST_BINS_OR_SAMPLES)
    n_bootstrap = check_count(
        n_bootstrap, "n_bootstrap", low=2, high=MOST_BINS_OR_SAMPLES
    )
    check_seed(random_state)
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    if scores.shape[0] == 0:
        raise ValueError("p is empty: there is nothing to check")
    code, names = class_codes(y, p, scores, classes, several=True, numbered=True)
    coded = None if groups is None else code_groups(groups, code.size)
    options: Any = {"average": average, "zero_division": zero_division, "cost": cost}
    found = get_class_metric(metric, n_classes=len(names), **options)
    fold = _folds(code, coded, random_state)
    plain_p = np.exp(log_softmax(scores)) if logits else scores
    mended = np.empty(scores.shape)
    fit: Callable[..., ClassCalibrator]
    quick: Callable[..., ClassCalibrator]
    fit = quick = partial(fit_class_temperature, logits=logits, strict=False)
    if method != "temperature":
        fit = partial(fit_class_matrix, logits=logits, strict=False, classes=names)
        quick = partial(fit, draw=False)
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        fitted = quick(code[~inside], scores[~inside])
        held = scores[inside]
        mended[inside] = np.exp(fitted._map(held)) if logits else fitted._map_p(held)
    before = decide_batch(ClassBatch(plain_p, names, coded), found, {})
    after = decide_batch(ClassBatch(mended, names, coded), found, {})
    tuned = None
    if cost is None and len(names) <= MOST_CLASSES_TUNED:
        goal: MetricLike = "f1" if metric is None else metric
        tuned = tuned_class_labels(
            code, plain_p, goal, fold, average=average, zero_division=zero_division
        )
    by_route: dict[RouteName, Integers | None] = {
        "recalibrate": after.codes,
        "decide": before.codes,
        "weights": tuned,
        "most_probable": most_probable(plain_p),
    }
    labels = {name: one for name, one in by_route.items() if one is not None}
    routes, rng = tuple(labels), np.random.default_rng(random_state)
    judged = judge_classes(
        found, code, [*labels.values()], len(names), coded, rng=rng, n=n_bootstrap
    )
    as_is = _quality(plain_p, code, n_bins)
    again = _quality(mended, code, n_bins)
    better = again.log_loss <= as_is.log_loss
    whole = fit(code, scores)
    batch = read_batch(p, classes=names, groups=coded, logits=logits, reference=whole)
    return ClassCalibrationCheck(
        route=best_route(judged, routes, 1.0, mended=better, cuts=True),
        routes=tuple(list_routes(judged, routes, 1.0)),
        expected=before.expected,
        expected_recalibrated=after.expected,
        as_is=as_is,
        recalibrated=again,
        per_class=tuple(
            _reliability(name, plain_p[:, c], code == c, len(names), n_bins)
            for c, name in enumerate(names)
        ),
        method=whole.method,
        metric=found,
        n=code.size,
        n_groups=None if coded is None else coded.count,
        forecast=forecast_batch(batch, after.codes, found),
    )


def _folds(code: Integers, groups: Groups | None, seed: int | None) -> Integers:
    """Return the fold (n_rows,) of every row: classes dealt evenly, or groups kept."""
    rng = np.random.default_rng(seed)
    if groups is None:
        return deal(rng, code, min(N_FOLDS, code.size))
    if groups.count < 2:
        raise ValueError("out-of-fold calibration needs two groups or more")
    dealt = deal(
        rng, np.zeros(groups.count, dtype=np.int64), min(N_FOLDS, groups.count)
    )
    return np.asarray(dealt[groups.codes])


def judge_classes(
    metric: ClassMetric,
    true: Integers,
    labels: list[Integers],
    count: int,
    groups: Groups | None,
    *,
    rng: np.random.Generator,
    n: int,
) -> RouteScores:
    """Return scores of sets of labels, fixed while rows or groups are drawn again.

    Rows with the same true class and the same labels are drawn together: how many of
    each kind come is multinomial.

    Parameters
    ----------
    metric : ClassMetric
    true : ndarray of shape (n_rows,)
        Column of the true class.
    labels : list of ndarray of shape (n_rows,)
    count : int
        Number of classes.
    groups : Groups or None
    rng : Generator
    n : int
        Number of bootstrap samples.
    """
    cells = [true * count + one for one in labels]
    if groups is not None:
        each = [group_scores(metric, one, groups, count) for one in cells]
        values = np.stack(each, axis=1)
        defined = ~np.isnan(values)
        values = np.where(defined, values, 0.0)
        drawn = rng.multinomial(
            groups.count, np.full(groups.count, 1 / groups.count), n
        )
        with np.errstate(invalid="ignore"):
            samples = (drawn @ values) / (drawn @ defined)
            return RouteScores(values.sum(axis=0) / defined.sum(axis=0), samples)
    kind = true
    for one in labels:
        kind = np.unique(kind * count + one, return_inverse=True)[1]
    sizes = np.bincount(kind)
    first = np.empty(sizes.size, dtype=np.int64)
    first[kind] = np.arange(kind.size)
    scores = _table_scores(metric, sizes[None], cells, first, count)[0]
    step = max(1, MOST_CELLS // max(count * count, sizes.size))
    parts = []
    for begin in range(0, n, step):
        here = min(step, n - begin)
        drawn = rng.multinomial(true.size, sizes / true.size, here)
        parts.append(_table_scores(metric, drawn, cells, first, count))
    return RouteScores(scores, np.concatenate(parts))


def _table_scores(
    metric: ClassMetric,
    drawn: Integers,
    cells: list[Integers],
    first: Integers,
    count: int,
) -> Floats:
    """Return scores by sample and set of labels.

    Parameters
    ----------
    metric : ClassMetric
    drawn : ndarray of shape (n_samples, n_kinds)
        How often each kind of row was drawn.
    cells : list of ndarray of shape (n_rows,)
        Cell of each row in the flat table of counts, for each set of labels.
    first : ndarray of shape (n_kinds,)
        A row of each kind.
    count : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_sets)
    """
    samples, size = drawn.shape[0], count * count
    offset = np.arange(samples)[:, None] * size
    columns = []
    for one in cells:
        where = (offset + one[first]).ravel()
        tables = np.bincount(where, drawn.ravel(), samples * size)
        stack = tables.reshape(samples, count, count).astype(np.float64, copy=False)
        columns.append(metric.score(stack))
    return np.stack(columns, axis=1)


def _quality(p: Floats, code: Integers, n_bins: int) -> Quality:
    """Return losses of probabilities (n_rows, n_classes) of true classes (n_rows,)."""
    own = p[np.arange(code.size), code]
    with np.errstate(divide="ignore"):
        loss = float(-np.log(own).mean())
    brier = float((p * p).sum(axis=1).mean() - 2.0 * own.mean() + 1.0)
    ece = [
        reliability_bins(p[:, c], code == c, None, n_bins).ece
        for c in range(p.shape[1])
    ]
    return Quality(float(np.mean(ece)), brier, loss, int((own == 0.0).sum()))


def _reliability(
    name: Label, p: Floats, is_true: Booleans, n_classes: int, n_bins: int
) -> ClassReliability:
    """Check prevalence and log-odds of one class; with few rows, only the former.

    Parameters
    ----------
    name : label
    p : ndarray of shape (n_rows,)
        Probability of the class.
    is_true : ndarray of bool, shape (n_rows,)
    n_classes, n_bins : int
    """
    n, count = p.size, int(is_true.sum())
    few = min(count, n - count) < FEW_ROWS_OF_A_CLASS
    line = Line(math.nan, math.nan, math.nan, math.nan, math.nan)
    if not few:
        rows = Reference(p, is_true, None, False)
        line = calibration_line(rows.x, rows.y, None, None)
    p_value = line.p_value
    if math.isnan(p_value):
        from scipy.special import pdtr, pdtrc

        # Probability of a count this far from what was expected, on both sides. That of
        # Poisson is wider than that of independent rows: this errs on the safe side.
        expected = float(p.sum())
        above = pdtrc(count - 1, expected) if count else 1.0
        p_value = float(min(1.0, 2.0 * min(pdtr(count, expected), above)))
    low, high = wilson(np.array([count / n]), np.array([float(n)]))
    return ClassReliability(
        name=name,
        n=count,
        forecast_prevalence=float(p.mean()),
        prevalence=count / n,
        prevalence_interval=Interval(float(low[0]), float(high[0])),
        slope=line.slope,
        ece=reliability_bins(p, is_true, None, n_bins).ece,
        p_value=min(1.0, n_classes * p_value),
        few=few,
    )
