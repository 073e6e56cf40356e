"""forecast: what score will these labels get?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from argmetric._calibrate.resolve import (
    AtShare,
    at_share,
    calibrated_scores,
    calibration_note,
    check_prior,
    resolve_reference,
    warn_of_lost_map,
)
from argmetric._forecast.effects import LARGEST_EFFECT
from argmetric._forecast.groups import Batch
from argmetric._forecast.laws import ValueLaw
from argmetric._forecast.result import Forecast
from argmetric._ground.arguments import (
    check_flag,
    check_number,
    check_share,
    is_tensor,
    refuse_for_tensors,
)
from argmetric._ground.discrete import central_interval
from argmetric._ground.labels import read_together
from argmetric._ground.layout import Average, Layout, lay_out
from argmetric._ground.odds import from_log_odds
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import is_sparse, warn_of_scale
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.resolve import PriorShare


def forecast(
    p: Any,
    labels: Any,
    metric: MetricLike = "f1",
    coverage: float = 0.9,
    *,
    groups: Any = None,
    average: Average | None = None,
    known: Any = None,
    prior: float | Literal["estimate"] | None = None,
    overdispersion: float = 0.0,
    zero_division: float | None = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    pos_label: Any = None,
) -> Forecast:
    """Forecast the score of given labels before the true labels are known.

    Parameters
    ----------
    p : array-like
        Probabilities, as for `decide`; for a tensor the result is a
        `tensors.TensorForecast` on its device.
    labels : array-like
        The labels to score, however they were chosen: 0/1, booleans, -1/1, or any
        others with `pos_label`. If a `Decision` used a calibrator, pass it here too;
        `Decision.forecast` does so.
    metric : str, Metric or callable, default="f1"
        The metric that scores the labels.
    coverage : float, default=0.9
        Probability that the interval contains the score.
    groups, average
        As for `decide`; groups alone mean the mean over groups.
    known : array-like, optional
        True labels that have arrived already; nan or None for the others.
    prior : float or "estimate", optional
        The current share of positives: one constant is added to all log-odds so that
        the mean of p equals it. (`adjust_prior` instead adds the constant that Bayes'
        rule gives for a change of prevalence.) "estimate" estimates the share by
        comparing the scores with those of `reference`; the result has it as `share`,
        and the interval includes its uncertainty. The estimate assumes that each class
        still has the scores it had in the reference. Without `prior` a warning and a
        note say if the scores moved.
    overdispersion : float, default=0.0
        Standard deviation, at most 5, of a normal effect on the log-odds that all rows
        share (all rows of a group, where there are groups). It widens the interval;
        the probability of each row stays as given, unless known labels inform about
        the effect.
    zero_division : {0.0, 1.0, nan}, optional
        Value of 0/0, by default the metric's own. With nan the forecast is for the
        outcomes in which the metric is defined.
    logits : bool, default=False
        Whether `p` holds log-odds.
    calibrator, reference
        Recalibrate `p` first, as for `decide`.
    pos_label : object, optional
        The one of `labels` and `known` that counts as positive.

    Returns
    -------
    Forecast

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
            calibrator=calibrator is not None,
            reference=reference is not None,
            pos_label=pos_label is not None,
        )
        from argmetric.tensors import forecast as forecast_tensors

        return forecast_tensors(  # type: ignore[return-value]
            p,
            labels,
            metric,
            coverage,
            groups=groups,
            average=average,
            zero_division=zero_division,
            logits=logits,
        )
    metric = get_metric(metric, zero_division=zero_division)
    coverage = check_share(coverage, "coverage")
    high = LARGEST_EFFECT
    overdispersion = check_number(overdispersion, "overdispersion", low=0.0, high=high)
    prior = check_prior(prior, with_reference=reference is not None)
    logits = check_flag(logits, "logits")
    if groups is not None and average is None:
        average = "groups"
    layout = lay_out(p, groups=groups, average=average, logits=logits)
    fitted = resolve_reference(calibrator, reference, logits=logits)
    if fitted.calibrator is None:
        zeros = layout.sparse
        warn_of_scale(layout.scores, logits=logits, given=p, zeros=zeros)
        if prior is None:
            warn_of_lost_map(p, labels)
    known_share = None if prior == "estimate" else prior
    at = AtShare(fitted.calibrator, None, ())
    if known_share is None:
        at = at_share(prior, fitted, layout, logits=logits, coverage=coverage)
    scores, found = layout.scores, at.calibrator
    if found is not None:
        scores = calibrated_scores(found, scores, logits=logits)
    chosen, known = _read_labels(labels, known, pos_label, layout.shape)
    selected = layout.select(chosen)
    if layout.sparse and selected.sum() != chosen.sum():
        raise ValueError("a label is 1 where the sparse p has no entry")
    p_, q = from_log_odds(scores) if logits else (scores, 1.0 - scores)
    if known_share is not None:
        from argmetric._calibrate.prior import match_prevalence

        # An implicit cell stays a certain negative under any prevalence.
        p_, q = match_prevalence(p_, q, known_share, int(layout.sizes.sum()))
    require_defined(metric, layout.largest)
    known_ = _arrived(known, layout)
    how = overdispersion, known_share, logits
    batch = Batch(metric, layout, p_, q, known_, selected, *how)
    given_map = None
    if found is not None and found._uncertain:
        from argmetric._forecast.over_truth import law_over_truth

        law, alone, positives = law_over_truth(batch, found)
        given_map = central_interval(alone.values, alone.probabilities, coverage)
    else:
        law, positives = batch.law()
        refuse_undefined(law, metric)
    return forecast_of(
        law,
        metric,
        coverage,
        interval_given_map=given_map,
        n=int(layout.sizes.sum()),
        n_positives=int(selected.sum()),
        n_groups=None if layout.single else int(layout.sizes.size),
        expected_positives=positives,
        assumptions=assumptions_of(prior, overdispersion, known_, found),
        share=at.share,
        notes=at.notes,
    )


def forecast_of(
    law: ValueLaw, metric: Metric, coverage: float, **known: Any
) -> Forecast:
    """What is told of a law."""
    return Forecast(
        mean=law.mean,
        interval=central_interval(law.values, law.probabilities, coverage),
        coverage=coverage,
        std=math.sqrt(max(law.variance, 0.0)),
        values=law.values,
        probabilities=law.probabilities,
        p_undefined=law.p_undefined,
        metric=metric,
        **known,
    )


def refuse_undefined(law: ValueLaw, metric: Metric) -> None:
    if not law.values.size:
        raise ValueError(
            f"{metric.name} is undefined (0/0) for these labels, whatever the truth; "
            "zero_division=0 or 1 gives it a value"
        )


def assumptions_of(
    prior: PriorShare | None,
    overdispersion: float,
    known: Floats,
    found: Calibrator | None,
) -> tuple[str, ...]:
    lines = ["calibrated probabilities"]
    since = "training"
    if found is not None:
        lines, since = [calibration_note(found)], "calibration"
    if prior is None:
        lines.append(f"no shift since {since}")
    elif prior == "estimate":
        lines.append(f"only the share of positives moved since {since}")
    else:
        lines.append(f"prevalence is {prior:g}, all else as in {since}")
    if overdispersion:
        lines.append(
            f"labels depend on each other through one normal effect of sd "
            f"{overdispersion:g} on the log-odds"
        )
    else:
        lines.append("labels independent given the scores")
    if found is not None and not found._uncertain:
        lines.append("the map is certain: the interval is given the map")
    arrived = int((~np.isnan(known)).sum())
    return (*lines, f"{arrived:,} labels are known") if arrived else tuple(lines)


def _read_labels(
    labels: Any, known: Any, pos_label: Any, shape: tuple[int, ...]
) -> tuple[Booleans, Floats | None]:
    """Which labels are positive; the known ones as numbers, nan where unknown."""
    if is_sparse(known):
        raise TypeError(
            "known must be dense: an array with nan where a label has not arrived"
        )
    given = {"labels": labels} | ({} if known is None else {"known": known})
    read = read_together(pos_label, shape=shape, missing="known", **given)
    return read[0] == 1.0, None if known is None else read[1]


def _arrived(values: Floats | None, layout: Layout) -> Floats:
    """Known labels per explicit item, nan where unknown."""
    if values is None:
        return np.full(layout.scores.size, math.nan)
    explicit = np.asarray(layout.select(values), dtype=np.float64)
    if layout.sparse and np.nansum(values) != np.nansum(explicit):
        raise ValueError("known is 1 where the sparse p has no entry")
    return explicit
