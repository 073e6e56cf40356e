"""What a command found, as plain values: printed as a table or as JSON.

docs/json.rst lists the keys of every command with their types and meanings; a test
holds what is printed to it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._input.types import Floats
from argmetric._results.display import shortest_cut
from argmetric.cli.scores._load import Batch, Groups
from argmetric.metrics import Metric

if TYPE_CHECKING:
    from argmetric import Forecast

Values = dict[str, Any]  # what a command found, by the keys of docs/json.rst


def rows_described(table: files.Table, **columns: str | None) -> Values:
    """Return which rows, and the columns used."""
    return {
        "file": table.source,
        "format": table.format,
        "rows": table.n_rows,
        "columns": {role: name for role, name in columns.items() if name is not None},
    }


def described(
    table: files.Table, metric: Metric, groups: Groups | None, **columns: str | None
) -> Values:
    """Return what was asked: file, rows, columns used, groups, metric, convention."""
    used = {**columns, "group": None if groups is None else groups.column}
    return {
        **rows_described(table, **used),
        "groups": None if groups is None else len(groups.ids),
        "average": None if groups is None else groups.average,
        **metric_described(metric),
    }


def metric_described(metric: Metric) -> Values:
    """Return the metric and its convention."""
    zero_division = metric.zero_division
    return {
        "metric": metric.name,
        "greater_is_better": metric.greater_is_better,
        "zero_division": "nan" if math.isnan(zero_division) else zero_division,
        "convention": metric.convention,
    }


def batch_described(batch: Batch) -> Values:
    """Return what was asked of scored rows."""
    label = batch.labels.column
    return described(
        batch.table, batch.metric, batch.groups, score=batch.score, label=label
    )


def forecast_values(forecast: Forecast) -> Values:
    """Return the expected score of a decision, with its interval."""
    share = None if forecast.share is None else forecast.share._asdict()
    return {
        "mean": forecast.mean,
        "interval": forecast.interval,
        "coverage": forecast.coverage,
        "interval_given_map": forecast.interval_given_map,
        "share_of_map": forecast.share_of_map,
        "std": forecast.std,
        "probability_undefined": forecast.p_undefined,
        "share": share,
        "assumptions": list(forecast.assumptions),
    }


def confusion(true: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> Values:
    """Count rows, or cells, by what they are (0 or 1) and were called."""
    positive, chosen = true != 0, predicted != 0
    return {
        "tp": int((positive & chosen).sum()),
        "fp": int((~positive & chosen).sum()),
        "fn": int((positive & ~chosen).sum()),
        "tn": int((~positive & ~chosen).sum()),
    }


def surprises(forecast: Forecast, real: float | None) -> list[str]:
    """Return a note where the interval does not hold the real score."""
    said = None if real is None else forecast.surprise(real)
    if said is None:
        return []
    return [said.replace("calibration_check(y, p)", "argmetric calibrate")]


def as_flags(notes: Iterable[str]) -> list[str]:
    """Return notes in which an argument is the flag that stands for it."""
    return [note.replace('prior="estimate"', "--prior estimate") for note in notes]


def split_ties(batch: Batch, labels: npt.NDArray[Any]) -> Values:
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
    return {
        "rows": int(left_out.sum()),
        "groups": int(np.count_nonzero(np.bincount(codes[left_out]))),
    }


def short_threshold(p: Floats, threshold: float) -> str:
    """Return a threshold with as few digits as still cut in the same place."""
    above = p >= threshold
    low = p[~above].max(initial=-np.inf)
    high = p[above].min(initial=np.inf)
    return shortest_cut(threshold, float(low), float(high))


def as_json(summary: Mapping[str, object] | list[Any]) -> str:
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
