"""Forecast the score of labels before the true labels are known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._calibrate.resolve import (
    CalibratorAtPrior,
    calibrated_scores,
    calibration_note,
    calibrator_at_prior,
    check_prior,
    resolve_reference,
    warn_of_lost_calibrator,
    with_positives,
)
from argmetric._forecast.batch import Batch
from argmetric._forecast.distributions import ScorePMF
from argmetric._forecast.effects import LARGEST_EFFECT, fix_known
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import (
    check_flag,
    check_number,
    check_share,
    is_tensor,
    refuse_for_tensors,
    refuses,
)
from argmetric._ground.discrete import central_interval
from argmetric._ground.labels import (
    predicted_labels,
    read_predictions,
    refuse_swapped,
    scoring_metric,
)
from argmetric._ground.layout import Average, Layout, lay_out
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import (
    ArrayLike,
    Booleans,
    Floats,
    Interval,
    Label,
    LabelsLike,
    ReferenceLike,
)
from argmetric._ground.validation import is_sparse, warn_of_scale
from argmetric.metrics import (
    AMOUNTS_ASSUMPTION,
    Metric,
    MetricLike,
    MissedLike,
    Utility,
    get_metric,
    refuse_for_amounts,
    require_defined,
    require_one_batch,
    with_missed,
)

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.resolve import PriorOption


@refuses("sample_weight")
def forecast(
    p: ArrayLike,
    labels: LabelsLike,
    metric: MetricLike | None = None,
    coverage: float = 0.9,
    *,
    groups: ArrayLike | None = None,
    average: Average | None = None,
    known: ArrayLike | None = None,
    prior: float | Literal["estimate"] | None = None,
    overdispersion: float = 0.0,
    zero_division: float | None = None,
    missed: MissedLike | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
    pos_label: Label | None = None,
) -> Forecast:
    """Forecast the score of given labels before the true labels are known.

    Parameters
    ----------
    p : array-like
        Probabilities, as for `decide`; for a tensor the result is a
        `tensors.TensorForecast` on its device.
    labels : array-like, Rule, float or Decision
        Predictions: labels, however they were chosen (0/1, booleans, -1/1, or any
        others with `pos_label`), a rule, a threshold on `p`, or a decision. If a
        `Decision` used a `reference`, pass it here too; `Decision.forecast` does so.
    metric : str, Metric or callable, optional
        The metric that scores the labels; by default that of a rule or a decision, or
        "f1".
    coverage : float, default=0.9
        Probability that the interval contains the score.
    groups, average
        As for `decide`; groups alone are the mean over groups.
    known : array-like, optional
        True labels that have arrived; nan or None for the others.
    prior : float or "estimate", optional
        The current prevalence: one constant is added to all log-odds so that the mean
        of p equals it. "estimate" compares the scores with those of
        `reference`, where each class must still have the scores it had; the interval
        includes the uncertainty of `share`.
    overdispersion : float, default=0.0
        Standard deviation, at most 5, of a normal effect on the log-odds that all rows
        (of a group) share. It widens the interval.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own. With nan the forecast is for the
        outcomes in which the metric is defined.
    missed : int, float or pair, optional
        Positives that are no rows, as for `decide`; experimental.
    logits : bool, default=False
        Whether `p` holds log-odds.
    reference : pair (y, p) or Calibrator, optional
        Labels and scores of rows that the model was not trained on, or a fitted
        calibrator. `p` is recalibrated first, as by `decide`.
    pos_label : object, optional
        The label that counts as positive, in `labels`, `known` and the y of
        `reference`.

    Returns
    -------
    Forecast
        Mean, interval and distribution of the score.

    See Also
    --------
    argmetric.classes.forecast : Labels of several classes.

    Examples
    --------
    >>> import argmetric as am
    >>> f = am.forecast([0.9, 0.6, 0.2, 0.1], [1, 1, 0, 0])
    >>> round(f.mean, 3), [round(x, 3) for x in f.interval]
    (0.768, [0.5, 1.0])
    """
    if type(p) is not np.ndarray and is_tensor(p):
        refuse_for_tensors(
            known=known is not None,
            prior=prior is not None,
            overdispersion=overdispersion != 0.0,
            missed=missed is not None,
            reference=reference is not None,
            pos_label=pos_label is not None,
        )
        from argmetric.tensors import forecast as forecast_tensors

        return forecast_tensors(  # type: ignore[return-value]
            p,
            predicted_labels(labels, p, logits=logits)[0],
            scoring_metric(metric, labels),
            coverage,
            groups=groups,
            average=average,
            zero_division=zero_division,
            logits=logits,
        )
    metric = get_metric(scoring_metric(metric, labels), zero_division=zero_division)
    if pos_label is None:
        refuse_swapped([p], [labels], "forecast(p, labels, metric)")
    coverage = check_share(coverage, "coverage")
    high = LARGEST_EFFECT
    overdispersion = check_number(overdispersion, "overdispersion", low=0.0, high=high)
    logits = check_flag(logits, "logits")
    layout = lay_out(p, groups=groups, average=average, logits=logits)
    metric = with_missed(metric, missed)
    require_one_batch(metric, layout.sizes.size)
    reference = with_positives(reference, pos_label)
    fitted = resolve_reference(reference, logits=logits)
    prior = check_prior(prior, with_rows=fitted.rows is not None)
    if fitted.calibrator is None:
        zeros = layout.sparse
        warn_of_scale(layout.scores, logits=logits, given=p, zeros=zeros)
        if prior is None:
            warn_of_lost_calibrator(p, getattr(labels, "labels", labels))
    known_share = None if prior == "estimate" else prior
    at = CalibratorAtPrior(fitted.calibrator, None, ())
    if known_share is None:
        at = calibrator_at_prior(
            prior, fitted, layout, logits=logits, coverage=coverage
        )
    scores, calibrator = layout.scores, at.calibrator
    if calibrator is not None:
        scores = calibrated_scores(calibrator, scores, logits=logits)
    how: Any = {"shape": layout.shape, "logits": logits}
    chosen, known = _read_labels(labels, p, known, pos_label, **how)
    selected = layout.select(chosen)
    if layout.sparse and selected.sum() != chosen.sum():
        raise ValueError("a label is 1 where the sparse p has no entry")
    p_, q = from_log_odds(scores) if logits else (scores, 1.0 - scores)
    if known_share is not None:
        from argmetric._calibrate.prior import match_prevalence

        # An implicit entry stays a certain negative under any prevalence.
        p_, q = match_prevalence(p_, q, known_share, int(layout.sizes.sum()))
    by_rows = bool(getattr(metric, "_by_rows", False))
    if not by_rows:
        require_defined(metric, layout.largest)
    known_ = _known_values(known, layout)
    batch = Batch(
        metric, layout, p_, q, known_, selected, overdispersion, known_share, logits
    )
    pmf, positives, given_calibrator, notes = _distribution(batch, calibrator, coverage)
    assumptions = conditions(prior, overdispersion, known_, calibrator)
    assumptions += (AMOUNTS_ASSUMPTION,) * by_rows
    return build_forecast(
        pmf,
        metric,
        coverage,
        interval_given_calibrator=given_calibrator,
        n=int(layout.sizes.sum()),
        n_positives=int(selected.sum()),
        n_groups=None if layout.single else int(layout.sizes.size),
        expected_positives=positives,
        assumptions=assumptions,
        prevalence=at.prevalence,
        notes=(*at.notes, *notes),
    )


def _distribution(
    batch: Batch, calibrator: Calibrator | None, coverage: float
) -> tuple[ScorePMF, float, Interval | None, tuple[str, ...]]:
    """Return the distribution of the score, expected positives, and what to note.

    With an uncertain calibrator also the interval under the fitted one.
    """
    uncertain = calibrator is not None and calibrator._uncertain
    if isinstance(batch.metric, Utility) and batch.metric._by_rows:
        from argmetric._forecast.amounts import amounts_pmf

        one = batch.layout.ids is None and len(batch.layout.shape) == 1
        refuse_for_amounts(
            {"groups": not one, "overdispersion": batch.deviation or None}
        )
        p, q = fix_known(batch.p, batch.q, batch.known)
        pmf, error = amounts_pmf(batch.metric, p, q, batch.selected)
        notes: tuple[str, ...] = ()
        if error > 0.0:
            notes = (f"the distribution's probabilities err by at most {error:.2g}",)
        given = None
        if calibrator is not None and uncertain:
            from argmetric._forecast.posterior_score import shifted_total

            given = central_interval(pmf.values, pmf.probabilities, coverage)
            weight = batch.metric._weights(batch.selected)
            pmf = shifted_total(batch, calibrator, pmf, weight)
        return pmf, float(p.sum()), given, notes
    if calibrator is not None and uncertain:
        from argmetric._forecast.posterior_score import posterior_pmf

        pmf, fitted_pmf, positives = posterior_pmf(batch, calibrator)
        values, probabilities = fitted_pmf.values, fitted_pmf.probabilities
        return pmf, positives, central_interval(values, probabilities, coverage), ()
    pmf, positives = batch.score_pmf()
    refuse_undefined(pmf.values, batch.metric)
    return pmf, positives, None, ()


def build_forecast(
    pmf: ScorePMF, metric: Metric, coverage: float, **known: Any
) -> Forecast:
    """Return the forecast with this distribution of the score.

    `known` are the other fields of `Forecast`.
    """
    return Forecast(
        mean=pmf.mean,
        interval=central_interval(pmf.values, pmf.probabilities, coverage),
        coverage=coverage,
        std=math.sqrt(max(pmf.variance, 0.0)),
        values=pmf.values,
        probabilities=pmf.probabilities,
        p_undefined=pmf.p_undefined,
        metric=metric,
        **known,
    )


def refuse_undefined(values: Floats, metric: Metric) -> None:
    """Raise an error if the metric has no value: 0/0 for all possible true labels."""
    if not values.size:
        raise ValueError(
            f"{metric.name} is undefined (0/0) for these labels, whatever the true "
            "labels are; zero_division=0 or 1 gives it a value"
        )


def conditions(
    prior: PriorOption | None,
    overdispersion: float,
    known: Floats,
    calibrator: Calibrator | None,
) -> tuple[str, ...]:
    """Return the conditions under which a forecast is valid, as texts.

    `known` are true labels, nan where unknown.
    """
    lines = ["calibrated probabilities"]
    since = "training"
    if calibrator is not None:
        lines, since = [calibration_note(calibrator)], "calibration"
    if prior is None:
        lines.append(f"no shift since {since}")
    elif prior == "estimate":
        lines.append(f"only the prevalence changed since {since}")
    else:
        lines.append(f"prevalence is {prior:g}, all else as in {since}")
    if overdispersion:
        lines.append(
            f"labels depend on each other through one normal random effect of sd "
            f"{overdispersion:g} on the log-odds"
        )
    else:
        lines.append("labels independent given the scores")
    if calibrator is not None and not calibrator._uncertain:
        lines.append(
            "the calibrator is taken as exact; the interval is conditional on it"
        )
    arrived = int((~np.isnan(known)).sum())
    return (*lines, f"{arrived:,} labels are known") if arrived else tuple(lines)


def _read_labels(
    labels: LabelsLike,
    p: ArrayLike,
    known: ArrayLike | None,
    pos_label: Label | None,
    **how: Any,
) -> tuple[Booleans, Floats | None]:
    """Return which labels are positive, and known labels as numbers (nan: unknown)."""
    if is_sparse(known):
        raise TypeError(
            "known must be dense: an array with nan where a label has not arrived"
        )
    others: dict[str, Any] = {} if known is None else {"known": known}
    read = read_predictions(labels, p, pos_label, missing="known", **others, **how)
    return read[0] == 1.0, None if known is None else read[1]


def _known_values(values: Floats | None, layout: Layout) -> Floats:
    """Return the known label of every explicit entry, nan where unknown."""
    if values is None:
        return np.full(layout.scores.size, math.nan)
    explicit = np.asarray(layout.select(values), dtype=np.float64)
    if layout.sparse and np.nansum(values) != np.nansum(explicit):
        raise ValueError("known is 1 where the sparse p has no entry")
    return explicit
