"""calibration_check: what does it cost to decide with these probabilities?"""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate.calibrate import DEFAULT, calibrate_out_of_fold, choose_method
from argmetric._calibrate.fit import METHODS, Method, fit_calibrator
from argmetric._calibrate.logistic import row_blocks
from argmetric._calibrate.prior import warn_of_resampling
from argmetric._calibrate.reference import Reference, check_reference, check_score_array
from argmetric._forecast.forecast import forecast
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import check_count, check_flag, check_seed
from argmetric._ground.discrete import dot
from argmetric._ground.groups import code_groups
from argmetric._ground.labels import binary_labels
from argmetric._ground.layout import Average, lay_out
from argmetric._ground.odds import expit
from argmetric._ground.types import ArrayLike, Booleans, Floats, Label
from argmetric._ground.validation import (
    Probabilities,
    check_choice,
    check_weight,
    refuse_two_classes,
)
from argmetric._verbs.check._result import CalibrationCheck as CalibrationCheck
from argmetric._verbs.check._result import Line as Line
from argmetric._verbs.check._result import ReliabilityBins
from argmetric._verbs.check._result import calibration_line as calibration_line
from argmetric._verbs.check._result import reliability_bins as reliability_bins
from argmetric._verbs.check._result import wilson as wilson
from argmetric._verbs.check._routes import MOST_CELLS as MOST_CELLS
from argmetric._verbs.check._routes import (
    ROUTES,
    Case,
    LabelledScores,
    judge,
    loses_ranking,
    sampling_units,
    tuned_labels,
)
from argmetric._verbs.check._routes import Route as Route
from argmetric._verbs.check._routes import RouteName as RouteName
from argmetric._verbs.check._routes import RouteScores as RouteScores
from argmetric._verbs.check._routes import best_route as best_route
from argmetric._verbs.check._routes import list_routes as list_routes
from argmetric._verbs.check._verdicts import FEW_ROWS_OF_A_CLASS as FEW_ROWS_OF_A_CLASS
from argmetric._verbs.check._verdicts import MIN_P_VALUE as MIN_P_VALUE
from argmetric._verbs.check._verdicts import CheckedRoutes as CheckedRoutes
from argmetric._verbs.check._verdicts import Quality as Quality
from argmetric._verbs.check._verdicts import reword as reword
from argmetric.metrics import MetricLike, get_metric

HISTOGRAM = 40
N_FOLDS = 5
MOST_BINS_OR_SAMPLES = 100_000  # bins or samples


def calibration_check(
    y: ArrayLike,
    p: ArrayLike,
    metric: MetricLike = "f1",
    *,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    zero_division: float | None = None,
    sample_weight: ArrayLike | None = None,
    method: Method | None = None,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    logits: bool = False,
    pos_label: Label | None = None,
    random_state: int | None = 0,
) -> CalibrationCheck:
    """Check whether probabilities are good enough to decide and to forecast with.

    Labels are chosen in four ways, none of them fitted on the rows that it labels:
    `decide` with `p` as it is, `decide` with `p` recalibrated, one tuned cut, and the
    cut at one half. All are scored on `y` with the metric itself, and forecasts of the
    score are held against it. More on the page :doc:`/calibrating`.

    Parameters
    ----------
    y : array-like
        Labels: 0/1, booleans, -1/1, or any others with `pos_label`.
    p : array-like
        Probabilities from a model that was not trained on `y`, as for `decide`.
    metric : str, Metric or callable, default="f1"
        The metric that scores the labels.
    groups, average
        As for `decide`; groups alone mean the mean over groups. Folds and bootstrap
        samples keep groups whole.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.
    sample_weight : array-like, optional
        Weights of the rows in the fit, the scores and the bins. The decision ignores
        them.
    method : str, optional
        How to recalibrate, as for `calibrate`: by default "spline".
    n_bins : int, default=10
        Bins of equal mass for the reliability table.
    n_bootstrap : int, default=200
        Samples drawn for the standard errors of the scores, the labels held fixed.
    logits : bool, default=False
        Whether `p` holds log-odds.
    pos_label : object, optional
        The label that counts as positive.
    random_state : int or None, default=0
        Seed of folds and samples.

    Returns
    -------
    CalibrationCheck
        Verdicts, the advised route, scores of all routes, and reliability.

    See Also
    --------
    argmetric.classes.check : Probabilities of several classes.

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 4, 60_000)
    >>> y = rng.random(60_000) < p
    >>> check = am.calibration_check(y, p)
    >>> check.fit_to_decide, check.fit_to_forecast
    ('yes', 'yes')
    >>> odds = p / (1 - p) / 10
    >>> check = am.calibration_check(y, odds / (1 + odds))
    >>> check.fit_to_decide, check.route, check.fit_to_forecast
    ('no', 'recalibrate', 'recalibrated')
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    n_bins = check_count(n_bins, "n_bins", low=2, high=MOST_BINS_OR_SAMPLES)
    n_bootstrap = check_count(
        n_bootstrap, "n_bootstrap", low=2, high=MOST_BINS_OR_SAMPLES
    )
    check_seed(random_state)
    logits = check_flag(logits, "logits")
    metric = get_metric(metric, zero_division=zero_division)
    if groups is not None and average is None:
        average = "groups"
    scores = check_score_array(p, logits=logits)
    refuse_two_classes(scores, "p")
    labels_ = binary_labels(y, pos_label, both=True, shape=scores.shape)
    positive = labels_.positive
    weight = check_weight(sample_weight, scores.shape)
    if weight is not None and weight.min() == weight.max() > 0.0:
        weight = None  # all rows alike
    checked = Probabilities(scores, logits)
    reference = check_reference(positive, checked, weight, logits=logits)
    coded: Any = groups
    if groups is not None and scores.ndim == 1:
        coded = code_groups(groups, scores.size)
    by: Any = average  # checked with the layout
    layout = lay_out(checked, groups=coded, average=by, logits=logits)
    is_known = isinstance(p, Probabilities) and p.scale_is_known
    problem = LabelledScores(
        scores, positive, weight, coded, layout, metric, logits, is_known
    )
    chosen = choose_method(reference, method or DEFAULT)
    mended = calibrate_out_of_fold(
        reference,
        scores,
        chosen,
        weight=weight,
        groups=np.arange(len(scores)) if scores.ndim == 2 else coded,
        random_state=random_state,
    )
    before, labels_before = problem.decide()
    ready = layout.select(mended)  # in the order in which `decide` asks for it
    after, labels_after = problem.decide(reference=lambda p: ready)
    folds = problem.folds(N_FOLDS, random_state)
    labels: dict[RouteName, Booleans | None] = {
        "recalibrate": labels_after,
        "decide": labels_before,
        "tune": tuned_labels(problem, folds),
        "half": layout.scores >= (0.0 if logits else 0.5),
    }
    called = {name: one for name in ROUTES if (one := labels[name]) is not None}
    names = tuple(called)
    units = sampling_units(layout, coded)
    truth = layout.select(positive)
    placed = None if weight is None else layout.select(weight)
    case = Case(metric, units, truth, tuple(called.values()), placed)
    judged = judge(case, n_bootstrap, np.random.default_rng(random_state))
    sign = 1.0 if metric.greater_is_better else -1.0
    # Bins and lines do not care for the order of rows, but leave out those of weight 0.
    part: Booleans | slice = slice(None) if placed is None else placed > 0
    known = truth[part], None if placed is None else placed[part]
    ordered = Reference(layout.scores[part], *known, logits)
    segmented = coded is not None or scores.ndim == 2
    cuts = segmented or loses_ranking(problem, mended, folds)
    bins = reliability_bins(ordered.p, *known, n_bins)
    clustered = units.n_units < layout.scores.size
    as_is = _quality(ordered.p, ordered, bins, ordered.scores if logits else None)
    new_bins = reliability_bins(ready[part], *known, n_bins)
    again = _quality(ready[part], ordered, new_bins)
    better = again.log_loss <= as_is.log_loss
    cut = before.threshold
    if cut is not None and logits:
        cut = float(expit(np.array(cut)))
    rows = np.histogram(ordered.p, HISTOGRAM, (0.0, 1.0), weights=ordered.weight)[0]
    score_forecast: Forecast | None = None
    if weight is None:
        # Labels by calibrators of other folds, scored with that of all rows
        found = fit_calibrator(reference, chosen, strict=False)
        how = {"reference": found, **problem.options()}
        score_forecast = forecast(problem.checked_scores(), after.labels, metric, **how)
    return CalibrationCheck(
        route=best_route(judged, names, sign, mended=better, cuts=cuts),
        routes=tuple(list_routes(judged, names, sign)),
        expected=before.expected,
        expected_recalibrated=after.expected,
        as_is=as_is,
        recalibrated=again,
        line=calibration_line(
            ordered.x,
            *known,
            units.unit[part] if clustered and units.unit is not None else None,
        ),
        bins=bins,
        positive_bins=reliability_bins(ordered.p, *known, n_bins, by_positives=True),
        threshold=cut,
        method=chosen,
        metric=metric,
        average=layout.average,
        n=ordered.n,
        n_positives=int(ordered.y.sum()),
        n_units=units.n_units if clustered else None,
        weighted=weight is not None,
        _resampled=warn_of_resampling(reference),
        histogram=np.asarray(rows, dtype=np.float64),
        forecast=score_forecast,
    )


def _quality(
    p: Floats, ordered: Reference, bins: ReliabilityBins, odds: Floats | None = None
) -> Quality:
    """Return measures of the quality of p; the log-loss uses `odds` if known."""
    squares = losses = 0.0
    wrong = 0
    for part in row_blocks(p.size):
        y, share = ordered.y[part], ordered.relative_weights(part)[0]
        if odds is None:
            with np.errstate(divide="ignore"):
                loss = -np.where(y, np.log(p[part]), np.log1p(-p[part]))
        else:
            loss = np.logaddexp(0.0, np.where(y, -1.0, 1.0) * odds[part])
        squares += dot(share, (p[part] - y) ** 2)
        losses += dot(share, loss)
        wrong += int(np.isinf(loss).sum())
    total = sum(ordered.masses) / ordered.largest_weight
    return Quality(bins.ece, squares / total, losses / total, wrong)
