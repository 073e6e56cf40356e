"""From probabilities to all that a report says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._calibrate.resolve import FittedReference, resolve_reference
from argmetric._decide import Cut, Decision, without_rows
from argmetric._forecast.result import Forecast
from argmetric._input.arguments import check_flag, check_share
from argmetric._input.layout import Average
from argmetric._report._asked import Asked
from argmetric._report._curves import Family, curves_of
from argmetric._report._parts import (
    calibration_of,
    changes_of,
    groups_of,
    mass_of,
    truth_of,
)
from argmetric._report._summary import Chosen, Score, Summary
from argmetric.metrics import Metric, MetricLike, convention_in_words, get_metric

OF_ONE = (
    "every group has one row, so each is right or wrong by itself: one cut for all "
    "rows is asked for with average='pooled'"
)


def summarize(
    p: Any,
    metric: MetricLike = "f1",
    *,
    y: Any = None,
    labels: Any = None,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    pos_label: Any = None,
    coverage: float = 0.9,
) -> Summary:
    """Say all that a report says of a decision, in a size that no row adds to.

    Parameters
    ----------
    p : array-like
        Probabilities, as for `decide`.
    metric : str, Metric or callable, default="f1"
        What decisions are judged by.
    y : array-like, optional
        True labels, where they are known.
    labels : array-like of {0, 1}, optional
        Labels that were found in another way; by default those of `decide`.
    groups, average, zero_division, logits, calibrator, reference
        As for `decide`.
    min_positives, max_positives, min_precision, min_recall
        Limits, as for `decide`.
    pos_label : object, optional
        The one of `y` that counts as positive.
    coverage : float, default=0.9
        Probability that the interval contains the score.

    Returns
    -------
    Summary

    Examples
    --------
    >>> from argmetric._report import summarize
    >>> said = summarize([0.9, 0.45, 0.4, 0.1])
    >>> said.chosen.positives, round(said.score.mean, 3)
    (3, 0.69)
    >>> [(one.metric, one.positives) for one in said.choices[:3]]
    [('f1', 3), ('f2', 3), ('f0.5', 1)]
    """
    asked = asked_for(
        p,
        metric,
        y=y,
        groups=groups,
        average=average,
        zero_division=zero_division,
        logits=logits,
        calibrator=calibrator,
        reference=reference,
        pos_label=pos_label,
        coverage=coverage,
        min_positives=min_positives,
        max_positives=max_positives,
        min_precision=min_precision,
        min_recall=min_recall,
    )
    return summary_of(asked, asked.decide(), labels)


def summarize_file(
    p: Any,
    metric: MetricLike,
    *,
    names: dict[str, str],
    group_names: Any = None,
    labels: Any = None,
    checked_on: Any = None,
    **given: Any,
) -> Summary:
    """What a page shows of the scores in a file.

    Parameters
    ----------
    p, metric, labels, **given
        As for `summarize`.
    names : dict
        What to call things: "file", "score", "label", "group".
    group_names : ndarray, optional
        Names of the groups, where these are numbers from 0 on.
    checked_on : pair (y, p), optional
        Labelled rows to check the probabilities on, where the map is there already.
    """
    asked = asked_for(p, metric, **given)
    asked = replace(asked, names=names, ids=group_names)
    if checked_on is not None:
        asked = replace(asked, reference=checked_on)
    return summary_of(asked, asked.decide(), labels)


def asked_for(
    p: Any,
    metric: MetricLike,
    *,
    y: Any = None,
    groups: Any = None,
    average: Average | None = None,
    zero_division: float | None = None,
    logits: bool = False,
    calibrator: Any = None,
    reference: Any = None,
    pos_label: Any = None,
    coverage: float = 0.9,
    **limits: Any,
) -> Asked:
    """What is asked, checked as far as `decide` does not check it."""
    metric = get_metric(metric, zero_division=zero_division)
    logits = check_flag(logits, "logits")
    if groups is not None and average is None:
        average = "groups"
    fitted = resolve_reference(calibrator, reference, logits=logits)
    known = reference
    if isinstance(reference, FittedReference):  # there are no rows to check p on
        known = None
    asked = Asked(
        p=p,
        metric=metric,
        groups=groups,
        average=average,
        logits=logits,
        calibrator=fitted.calibrator,
        reference=known,
        fitted=None if fitted.rows is None else fitted,
        limits=limits,
        coverage=check_share(coverage, "coverage"),
        y=y,
        pos_label=pos_label,
    )
    asked.require_scores()
    return asked


def summary_of(asked: Asked, decision: Decision, labels: Any = None) -> Summary:
    """What a page shows of a decision; `labels` may take the place of its own."""
    asked.require_scores()
    given = labels is not None
    chosen = np.asarray(labels) if given else np.asarray(decision.labels) == 1
    forecast = asked.forecast(labels if given else chosen)
    family = Family(asked, decision)
    decision = without_rows(decision)
    # Expected scores are given the map, and so comparable; a forecast is over maps
    expected = asked.expected(labels, forecast) if given else decision.expected
    told = _told_of(decision, asked, family, forecast, expected, given=given)
    del family
    groups, notes = None, told["notes"]
    if asked.layout.ids is not None:
        groups = groups_of(asked, decision, chosen)
        if groups.of_one == groups.count:
            notes += (OF_ONE,)
    calibration, why_not = calibration_of(asked)
    cuts = told["half"].threshold, told["best_cut"].threshold
    return Summary(
        kind="labels" if given else "decision",
        metric=asked.metric.name,
        convention=convention(asked.metric),
        expected_positives=forecast.expected_positives,
        scale=asked.scale,
        greater_is_better=asked.metric.greater_is_better,
        names=asked.names,
        limits={name: x for name, x in asked.limits.items() if x},
        score=Score(
            forecast.mean,
            *forecast.interval,
            forecast.coverage,
            forecast.std,
            forecast.assumptions,
        ),
        changes=changes_of(asked, chosen),
        mass=mass_of(asked, chosen),
        truth=truth_of(asked, cuts, chosen, forecast),
        groups=groups,
        calibration=calibration,
        **told | {"notes": (*notes, *why_not)},
    )


def _told_of(
    decision: Decision,
    asked: Asked,
    family: Family,
    forecast: Forecast,
    expected: float,
    *,
    given: bool,
) -> dict[str, Any]:
    """What a summary says of the decision itself, by the names it has there."""
    curves, choices = curves_of(asked, decision, family)

    half, best = decision.cut_half, decision.best_cut
    cut = None if given else decision.threshold
    notes = (note for note in decision.notes if not _is_assumed(note, forecast))
    return {
        "n": decision.n,
        "n_groups": decision.n_groups,
        "average": decision.average,
        "notes": tuple(notes),
        "chosen": Chosen(forecast.n_positives, cut, expected, family.cut_text(cut)),
        "raw_cut": None if given else asked.raw_cut(decision.threshold_raw),
        "half": _chosen(half, f"{half.threshold:g}"),
        "best_cut": _chosen(best, family.cut_text(best.threshold)),
        "curves": curves,
        "choices": choices,
    }


def _chosen(cut: Cut, text: str | None) -> Chosen:
    return Chosen(cut.n_positives, cut.threshold, cut.expected, text)


def _is_assumed(note: str, forecast: Forecast) -> bool:
    """Whether a note is among the assumptions: that scores were recalibrated."""
    return note.startswith(forecast.assumptions)


def convention(metric: Metric) -> str:
    """What the metric is worth where no row is positive and none is called so."""
    return convention_in_words(metric.convention, metric.zero_division)
