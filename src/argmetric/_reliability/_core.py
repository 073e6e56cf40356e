"""calibration_check: what does it cost to decide with these probabilities?"""

from __future__ import annotations

from typing import Any

import numpy as np

from argmetric._calibrate import (
    Reference,
    binary_labels,
    calibrate_out_of_fold,
    check_reference,
    check_score_array,
    choose_method,
)
from argmetric._decide import Decision, decide
from argmetric._layout import Average, Layout, lay_out
from argmetric._reliability._bins import ReliabilityBins, reliability_bins
from argmetric._reliability._judge import Case, judge, units_of
from argmetric._reliability._result import CalibrationCheck, Quality
from argmetric._reliability._slope import calibration_line
from argmetric._segments import Floats
from argmetric._validation import check_weight
from argmetric.metrics import Metric, MetricLike, get_metric

HISTOGRAM = 40


def calibration_check(
    y: Any,
    p: Any,
    metric: MetricLike = "f1",
    *,
    groups: Any = None,
    average: Average | None = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    n_bins: int = 10,
    n_bootstrap: int = 200,
    random_state: int | None = 0,
    logits: bool = False,
    zero_division: float | None = None,
) -> CalibrationCheck:
    """Say what deciding with these probabilities costs, in the metric itself.

    Labels are decided twice, with `p` as it stands and with `p` recalibrated out of
    fold, and both are judged on `y`. The difference is what a recalibration is worth
    here: many errors of calibration do not change a decision, and some change it much.

    Parameters
    ----------
    y : array-like
        Labels: 0/1, booleans, -1/1, or any others with `pos_label`.
    p : array-like
        Probabilities that were given without knowledge of `y`, as for `decide`.
    metric : str, Metric or callable, default="f1"
        What the labels are judged by.
    groups, average
        As for `decide`; groups alone mean the mean over groups. Whole groups make
        the folds and are drawn again for the standard errors.
    sample_weight : array-like, optional
        Weights of the rows in the fit, the scores and the bins. The decision itself
        does not know them.
    pos_label : object, optional
        The label that counts as positive.
    n_bins : int, default=10
        Bins of equal mass for the reliability table.
    n_bootstrap : int, default=200
        Samples drawn for the standard errors of the scores, the labels held fixed.
    random_state : int, optional
        Seed of folds and samples.
    logits : bool, default=False
        Whether `p` holds log-odds.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own.

    Returns
    -------
    CalibrationCheck

    Examples
    --------
    >>> import argmetric as am, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 4, 4000)
    >>> y = rng.random(4000) < p
    >>> am.calibration_check(y, p).verdict
    'calibrated'
    >>> odds = 10 * p / (1 - p)
    >>> check = am.calibration_check(y, odds / (1 + odds))
    >>> check.verdict, round(check.loss, 2)
    ('recalibrate', 0.11)
    """
    metric = get_metric(metric, zero_division=zero_division)
    _check_counts(n_bins=n_bins, n_bootstrap=n_bootstrap)
    if groups is not None and average is None:
        average = "groups"
    scores = check_score_array(p, logits=logits)
    positive = binary_labels(y, "y", pos_label, scores.shape)
    weight = check_weight(sample_weight, scores.shape)
    reference = check_reference(positive, scores, weight, logits=logits)
    layout = lay_out(scores, groups=groups, average=average, logits=logits)
    method = choose_method(reference, "auto")
    mended = calibrate_out_of_fold(
        positive,
        scores,
        method,
        groups=np.arange(len(scores)) if scores.ndim == 2 else groups,
        sample_weight=weight,
        random_state=random_state,
        logits=logits,
    )
    before, after = _decisions(scores, metric, layout, groups, logits, mended)
    units = units_of(layout, groups)
    truth = layout.select(positive)
    placed = None if weight is None else layout.select(weight)
    labels = (layout.select(before.labels) == 1, layout.select(after.labels) == 1)
    case = Case(metric, units, truth, labels, placed)
    judged = judge(case, int(n_bootstrap), np.random.default_rng(random_state))
    # Bins and lines do not care for the order of rows, but leave out those of weight 0.
    part: Any = slice(None) if placed is None else placed > 0
    ordered = Reference(
        layout.scores[part],
        truth[part],
        None if placed is None else placed[part],
        logits,
    )
    mended = layout.select(mended)[part]
    bins = _binned(ordered.p, ordered, n_bins)
    sign = 1.0 if metric.greater_is_better else -1.0
    clustered = units.n_units < layout.scores.size
    return CalibrationCheck(
        loss=sign * (judged.recalibrated - judged.as_is),
        loss_standard_error=judged.difference_error,
        score_as_is=judged.as_is,
        score_recalibrated=judged.recalibrated,
        score_standard_error=judged.as_is_error,
        expected=before.expected,
        expected_recalibrated=after.expected,
        as_is=_quality(ordered.p, _own_losses(ordered), ordered, bins),
        recalibrated=_quality(
            mended,
            _log_losses(mended, ordered),
            ordered,
            _binned(mended, ordered, n_bins),
        ),
        line=calibration_line(
            ordered.x,
            ordered.y,
            ordered.weight,
            units.unit[part] if clustered else None,
        ),
        bins=bins,
        method=method,
        metric=metric,
        average=layout.average,
        n=ordered.n,
        n_positives=int(ordered.y.sum()),
        n_units=units.n_units if clustered else None,
        weighted=weight is not None,
        histogram=_histogram(ordered),
    )


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or value != int(value) or value < 2:
            raise ValueError(f"{name} must be a whole number ≥ 2, not {value!r}")


def _decisions(
    scores: Floats,
    metric: Metric,
    layout: Layout,
    groups: Any,
    logits: bool,
    mended: Floats,
) -> tuple[Decision, Decision]:
    """With the scores as they stand, and with what was found out of fold instead."""
    options: dict[str, Any] = {
        "groups": groups,
        "average": layout.average,
        "logits": logits,
    }
    ready = layout.select(mended)  # in the order in which `decide` asks for it
    return (
        decide(scores, metric, **options),
        decide(scores, metric, **options, calibrator=lambda p: ready),
    )


def _binned(p: Floats, ordered: Reference, n_bins: int) -> ReliabilityBins:
    y = ordered.y.astype(np.float64)
    return reliability_bins(p, y, ordered.weights, int(n_bins))


def _own_losses(ordered: Reference) -> Floats:
    """Log-loss of every row as it stands, from log-odds where there are some."""
    if not ordered.logits:
        return _log_losses(ordered.scores, ordered)
    return np.logaddexp(0.0, np.where(ordered.y, -1.0, 1.0) * ordered.scores)


def _log_losses(p: Floats, ordered: Reference) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.where(ordered.y, np.log(p), np.log1p(-p))


def _quality(
    p: Floats, losses: Floats, ordered: Reference, bins: ReliabilityBins
) -> Quality:
    share = ordered.weights / ordered.weights.sum()
    return Quality(
        ece=bins.ece,
        brier=float(share @ (p - ordered.y) ** 2),
        log_loss=float(share @ losses),
        n_certain_and_wrong=int(np.isinf(losses).sum()),
    )


def _histogram(ordered: Reference) -> Floats:
    counts = np.histogram(ordered.p, HISTOGRAM, (0.0, 1.0), weights=ordered.weights)[0]
    return np.asarray(counts, dtype=np.float64)
