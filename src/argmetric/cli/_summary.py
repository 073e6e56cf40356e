"""What a command found, as plain values: printed as a table or as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._types import Floats
from argmetric.cli.scores._load import Batch, Groups
from argmetric.metrics import Metric

Summary = dict[str, Any]


def described(
    table: files.Table, metric: Metric, groups: Groups | None, **columns: str | None
) -> Summary:
    """Return what was asked: file, rows, columns used, groups, metric, convention."""
    zero_division = metric.zero_division
    used = {**columns, "group": None if groups is None else groups.column}
    return {
        "file": table.source,
        "format": table.format,
        "rows": table.n_rows,
        "columns": {role: name for role, name in used.items() if name is not None},
        "groups": None if groups is None else len(groups.ids),
        "average": None if groups is None else groups.average,
        "metric": metric.name,
        "greater_is_better": metric.greater_is_better,
        "zero_division": "nan" if math.isnan(zero_division) else zero_division,
        "convention": metric.convention,
    }


def forecast_values(forecast: Any) -> Summary:
    """Return the expected score of a decision, with its interval."""
    low, high = forecast.interval
    return {
        "mean": forecast.mean,
        "interval": [low, high],
        "coverage": forecast.coverage,
        "interval_given_map": forecast.interval_given_map,
        "share_of_map": forecast.share_of_map,
        "std": forecast.std,
        "probability_undefined": forecast.p_undefined,
        "assumptions": list(forecast.assumptions),
    }


def surprises(forecast: Any, real: float | None) -> list[str]:
    """Return a note where the interval does not hold the real score."""
    said = None if real is None else forecast.surprise(real)
    if said is None:
        return []
    return [said.replace("calibration_check(y, p)", "argmetric calibrate")]


def split_ties(batch: Batch, labels: npt.NDArray[Any]) -> dict[str, int]:
    """Count ties that the decision cuts through.

    Returns
    -------
    dict
        ``rows``: rows left out although they score as high as one that was chosen;
        ``groups``: how many groups they are in, 1 at most without groups.
    """
    p, groups = batch.scale, batch.groups
    chosen = np.asarray(labels) != 0
    if groups is None:
        codes, n_groups = np.zeros(p.size, dtype=np.int64), 1
    else:
        codes, n_groups = groups.codes, len(groups.ids)
    lowest = np.full(n_groups, np.inf)
    np.minimum.at(lowest, codes[chosen], p[chosen])
    left_out = ~chosen & (p == lowest[codes])
    return {"rows": int(left_out.sum()), "groups": int(np.unique(codes[left_out]).size)}


def short_threshold(p: Floats, threshold: float) -> str:
    """Return a threshold with as few digits as still cut in the same place."""
    above = p >= threshold
    low = p[~above].max(initial=-np.inf)
    high = p[above].min(initial=np.inf)
    for digits in range(2, 18):
        text = f"{threshold:.{digits}g}"
        if low < float(text) <= high:
            return text
    return repr(threshold)


def as_json(summary: Summary) -> str:
    """Return a summary as JSON, in which what is not finite is null."""
    return json.dumps(_finite(summary), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
