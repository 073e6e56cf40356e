"""``argmetric forecast --scores``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric.cli import _report
from argmetric.cli._option_sets import Columns, Judge, Recalibration, Scores
from argmetric.cli._progress import progress
from argmetric.cli._summary import Values
from argmetric.cli.scores._apply import refuse_beside_rule
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._rules import load_wide_rule
from argmetric.cli.scores.wide._columns import (
    Wide,
    WideBatch,
    default_decisions,
    label_matrix,
    partners,
)
from argmetric.cli.scores.wide._decide import decided, load_scored, ruled
from argmetric.cli.scores.wide._told import print_wide, wide_summary
from argmetric.metrics import Metric


def forecast_wide(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: Recalibration,
    *,
    rule: str | None,
    decision_column: str | None,
    threshold: float | None,
    coverage: float,
    json: bool,
    jobs: int | None,
) -> tuple[Values, Metric]:
    """Forecast the score of decisions on several labels, and print it."""
    frozen = None
    if rule is not None:
        refuse_beside_rule(judge, recalibration)
        frozen = load_wide_rule(rule)
    batch = load_scored(file, wide, scores, columns, judge, recalibration, frozen)
    with progress(f"forecasting {batch.table.n_rows:,} rows"):
        told: dict[str, Any] = {}
        if frozen is not None:
            if not frozen.rules[0].probabilities:
                raise files.DataError(
                    f"{rule} was tuned on scores, not on probabilities: there is no "
                    "forecast"
                )
            labels, source = frozen.apply(batch.p), f"the rule of {rule}"
            told = ruled(frozen)
        elif threshold is not None:
            labels = (batch.p >= threshold).astype(np.int64)
            source = f"{wide.scores} >= {threshold:g}"
        elif pattern := decision_column or default_decisions(batch.table):
            labels = _given(batch, pattern, wide, columns)
            source = f"columns {pattern!r}"
        else:
            labels, told["notes"] = decided(batch, {}, jobs)
            source = f"optimal for {batch.metric.name}"
        summary = wide_summary(batch, source, labels, coverage, **told)
    if json:
        _report.print_json(summary)
    else:
        print_wide(summary, "argmetric forecast", stderr=False)
    assert summary["forecast"] is not None
    return summary["forecast"], batch.metric


def _given(
    batch: WideBatch, pattern: str, wide: Wide, columns: Columns
) -> npt.NDArray[np.int64]:
    assert wide.scores is not None
    option = "--decision-column"
    chosen = partners(batch.table, pattern, option, batch.scores, wide.scores)
    return label_matrix(batch.table, chosen, columns.pos_label)
