"""Reports of results that were made already."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._calibrate.resolve import FittedReference
from argmetric._calibration_check import CalibrationCheck
from argmetric._decide import Decision
from argmetric._input.arguments import check_share
from argmetric._report._asked import Asked
from argmetric._report._knots import candidates, choose_knots
from argmetric._report._numbers import number, percent, scores, share, threshold
from argmetric._report._parts import described
from argmetric._report._report import Report
from argmetric._report._summarize import convention, summary_of
from argmetric._report._summary import Summary, Thresholds
from argmetric._report._verdicts import VERDICTS, verdicts
from argmetric._results.display import metric_title
from argmetric._tune import Rule

if TYPE_CHECKING:
    from argmetric._input.types import Floats


def report_decision(
    decision: Decision,
    y: Any = None,
    *,
    pos_label: Any = None,
    coverage: float = 0.9,
    reference: Any = None,
    names: dict[str, str] | None = None,
    group_names: Any = None,
) -> Report:
    """A report of a decision, and of what came true where that is known."""
    asked = decision._asked
    if not asked:
        raise ValueError(
            "a decision that was pickled or copied has no report: it needs the input "
            "again: decide once more"
        )
    if reference is not None:
        asked = asked | {"reference": reference}
    elif isinstance(asked["reference"], FittedReference):  # of a rule: without rows
        asked = asked | {"reference": None}
    question = Asked(
        metric=decision.metric,
        coverage=check_share(coverage, "coverage"),
        y=y,
        pos_label=pos_label,
        names=names or {},
        ids=group_names,
        **asked,
    )
    return Report(summary_of(question, decision))


def report_rule(rule: Rule) -> Report:
    """A report of a rule that was tuned."""
    sign = {">=": "≥", "<": "<"}[rule.operator]
    name = metric_title(rule.metric.name)
    cut = f"{rule._scale} {sign} {threshold(rule.threshold)}"
    first = [
        (
            "Threshold",
            cut,
            f"{share(rule.positive_rate, 1.0)} of the rows are predicted positive",
        )
    ]
    if rule.n:
        tuned = "on the rows that the threshold was tuned on"
        first.append((f"Actual {name} on these rows", number(rule.score), tuned))
    new = "" if rule.score_interval is None else _on_new_rows(rule)
    if not math.isnan(rule.out_of_fold_score):
        held = "each fold by a threshold tuned on others"
        text = f"{held}; {new}" if new else held
        first.append((f"Cross-validated {name}", number(rule.out_of_fold_score), text))
    return Report(
        Summary(
            kind="rule",
            metric=rule.metric.name,
            convention=convention(rule.metric),
            n=rule.n,
            average=rule.average,
            scale=rule._scale,
            greater_is_better=rule.metric.greater_is_better,
            facts=tuple(first),
            lines=tuple(rule.lines()),
            notes=rule.notes,
            thresholds=_thresholds(rule),
        )
    )


def _on_new_rows(rule: Rule) -> str:
    assert rule.score_interval is not None
    low, high = rule.score_interval
    wide = f"{percent(rule.coverage)} interval for as many new rows"
    return f"{wide}: {scores(low, high)}"


def _thresholds(rule: Rule) -> Thresholds | None:
    if rule.thresholds is None or rule.scores is None:
        return None
    x, values = rule.thresholds[::-1], rule.scores[::-1]
    finite = np.isfinite(x) & np.isfinite(values)
    x, values = x[finite], values[finite]
    if x.size < 2:
        return None
    kept = _kept(x, values)
    return Thresholds(
        thresholds=tuple(x[kept].tolist()),
        scores=tuple(values[kept].tolist()),
        threshold=rule.threshold,
        score=rule.score,
        same=rule.plateau,
        interval=rule.threshold_interval,
    )


def _kept(x: Floats, values: Floats) -> Any:
    places = candidates(values.size - 1, None)
    best = int(np.nanargmax(values[places]))
    height = max(float(np.ptp(values)), 1e-9)
    curve = values[None, places] / height
    found = choose_knots(x[places], curve, np.array([best]))
    return places[found]


def report_check(check: CalibrationCheck) -> Report:
    """A report of what the errors of probabilities cost."""
    said = Summary(
        kind="check",
        metric=check.metric.name,
        convention=convention(check.metric),
        n=check.n,
        average=check.average,
        notes=check.notes,
        calibration=described(check, "these rows"),
    )
    names = "Reliable for decisions?", "Reliable for forecasts?"
    found = (
        VERDICTS.get(one, one) for one in (check.fit_to_decide, check.fit_to_forecast)
    )
    facts = tuple(zip(names, found, verdicts(said), strict=True))
    return Report(replace(said, facts=facts))
