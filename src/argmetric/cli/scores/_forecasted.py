"""What a forecast is, as values for JSON and as lines, and whether it is enough."""

from __future__ import annotations

from typing import Literal

from argmetric.cli import _report
from argmetric.cli._gate import gate
from argmetric.cli._summary import Values
from argmetric.metrics import Metric


def tell(
    summary: Values,
    metric: Metric,
    fail_under: float | None,
    fail_on: Literal["mean", "interval"],
    *,
    json: bool,
) -> int:
    """Print a forecast; return the exit code, which is that of the gate."""
    if json:
        _report.print_json(summary)
    else:
        _print(summary)
    return forecast_gate(summary["forecast"], metric, fail_under, fail_on)


def forecast_gate(
    forecast: Values,
    metric: Metric,
    fail_under: float | None,
    fail_on: Literal["mean", "interval"],
) -> int:
    """Return the exit code for a forecast."""
    low, high = forecast["interval"]
    worse_end = low if metric.greater_is_better else high
    judged = {"mean": forecast["mean"], "interval": worse_end}[fail_on]
    what = {"mean": "the mean", "interval": "the worse end of the interval"}[fail_on]
    return gate(judged, fail_under, metric, f"{what} of the forecast")


def _print(summary: Values) -> None:
    target = _report.console(stderr=False)
    positives = _report.count(summary["positives"], "positive")
    facts = [
        *_report.asked(summary),
        ("decision", f"{summary['decision']}, {positives}"),
        ("truth", f"{summary['expected_positives']:,.1f} positives are expected"),
    ]
    if summary["known"] is not None:
        facts.append(("known", f"{_report.count(summary['known'], 'label')} arrived"))
    forecast_ = summary["forecast"]
    facts += _report.share(forecast_)
    facts.append(("forecast", _report.expectation(forecast_["mean"], forecast_)))
    if chance := forecast_["probability_undefined"]:
        facts.append(
            ("left out", f"outcomes without a score, probability {chance:.4g}")
        )
    if summary["real"] is not None:
        facts.append(("real score", _report.number(summary["real"])))
    _report.print_facts(target, "argmetric forecast", facts)
    _report.print_notes(target, "assumes", summary["forecast"]["assumptions"])
    _report.print_notes(target, "note", summary["notes"])
