"""The metric that options name, and how it is averaged; what cannot be is refused."""

from __future__ import annotations

import math
from typing import Any, get_args

from argmetric.cli import _options as opt
from argmetric.cli._errors import UsageError
from argmetric.metrics import (
    ClassMetric,
    Metric,
    averaged_name,
    get_class_metric,
    get_metric,
)

_ROUNDING = 1e-12  # 29% of 100 rows are 29, though 0.29 * 100 is a little less


def metric_named(
    name: str | None, zero_division: str | None, *, several: bool = False
) -> Metric:
    """Return a metric with its convention; an unknown name is wrong usage.

    `several` says whether the command takes rows with several labels.
    """
    name = name or "f1"
    if averaged := averaged_name(name):
        metric, average = averaged
        message = f"--metric {name}: pass --metric {metric}"
        if average in get_args(opt.WideAverage):
            message += (
                f" --average {average}, with --scores 'p_*' for a column per label"
                if several
                else f"; with one label there is no {average} average"
            )
        elif average == "weighted":
            message += "; there is no weighted average"
        raise UsageError(message)
    try:
        chosen = get_metric(name)
        if zero_division is None:
            return chosen
        return chosen.with_zero_division(float(zero_division))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def class_metric(
    name: str | None,
    average: str | None,
    zero_division: str | None,
    n_classes: int = 2,
) -> ClassMetric:
    """Return the metric of one label per row, with its convention."""
    given = name or "f1"
    name = given
    if averaged := averaged_name(given):
        name, average = averaged
        if average in get_args(opt.ClassAverage):
            raise UsageError(
                f"--metric {given}: pass --metric {name} --average {average}"
            )
    if average not in (None, *get_args(opt.ClassAverage)):
        raise UsageError(
            f"--average {average}: with --one-label it is macro or weighted"
        )
    try:
        return get_class_metric(
            name,
            average=average,
            zero_division=None if zero_division is None else float(zero_division),
            n_classes=n_classes,
        )
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def average_of(average: str | None, group: str | None, *, wide: bool = False) -> Any:
    """Return how groups or several labels are averaged, None where there are none."""
    if average == "weighted":
        raise UsageError(
            "--average weighted is for one label per row: pass --one-label"
        )
    over_groups = average in get_args(opt.Average)
    if wide and over_groups:
        raise UsageError(
            f"--average {average} is for groups; for several labels, pass macro, micro "
            "or samples"
        )
    if wide:
        return average or "macro"
    if average is not None and not over_groups:
        raise UsageError(
            f"--average {average} needs several labels: pass --scores 'p_*'"
        )
    if group is None and average is not None:
        raise UsageError(f"--average {average} needs groups: pass --group COLUMN too")
    return None if group is None else average or "groups"


def as_count(most: float | None, rows: int, average: str | None) -> int | None:
    """Return a limit as a number of rows: 5% is that share of them, rounded down."""
    if not isinstance(most, float):
        return most
    if average is not None and average != "pooled":
        part = "group" if average == "groups" else "label"
        raise UsageError(
            f"--max-positives {100 * most:g}% is a share of all rows; with --{part} it "
            f"is a number of rows in each {part}"
            if part == "group"
            else f"--max-positives {100 * most:g}%: a decision on several labels takes "
            "a whole number of rows"
        )
    return math.floor(most * rows * (1 + _ROUNDING))
