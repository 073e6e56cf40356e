"""``argmetric decide --scores``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from argmetric import _files as files
from argmetric._files import Format
from argmetric.cli._errors import DONE
from argmetric.cli._option_sets import Columns, Judge, Recalibration, Scores
from argmetric.cli._progress import progress
from argmetric.cli.scores._apply import refuse_beside_rule
from argmetric.cli.scores._inputs import Input
from argmetric.cli.scores._recalibrate import read_calibrator
from argmetric.cli.scores._rows_out import rows_out
from argmetric.cli.scores._rules import load_wide_rule
from argmetric.cli.scores.wide._columns import (
    Wide,
    WideBatch,
    load_wide,
    named_after,
    refuse_beside_wide,
)
from argmetric.cli.scores.wide._told import print_wide, wide_summary

if TYPE_CHECKING:
    from argmetric import MultiLabelRule


def decide_wide(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: Recalibration,
    limits: dict[str, Any],
    *,
    rule: str | None,
    coverage: float,
    output: str | None,
    output_format: Format | None,
    decision_column: str,
    json: bool,
    jobs: int | None,
) -> int:
    """Decide about all labels of all rows."""
    frozen = None
    if rule is not None:
        refuse_beside_rule(judge, recalibration, limits)
        frozen = load_wide_rule(rule)
    batch = load_scored(file, wide, scores, columns, judge, recalibration, frozen)
    new = [named_after(decision_column, name) for name in batch.names]
    named = dict.fromkeys(new, "--decision-column")
    out = rows_out(batch.table, output, output_format, json=json, new=named)
    with progress(f"deciding {batch.table.n_rows:,} rows"):
        told: dict[str, Any] = {"output": out.target}
        if frozen is None:
            labels, told["notes"] = decided(batch, limits, jobs)
            source = f"optimal for {batch.metric.name}"
        else:
            labels, source = frozen.apply(batch.p), f"the rule of {rule}"
            told |= ruled(frozen)
        summary = wide_summary(batch, source, labels, coverage, **told)
    added = {name: labels[:, j] for j, name in enumerate(new)}
    out.write(batch.table, added, numeric=frozenset(batch.scores.values()))
    if json:
        out.print_json(summary)
    else:
        print_wide(summary, "argmetric decide", stderr=True)
    return DONE


def load_scored(
    file: Input,
    wide: Wide,
    scores: Scores,
    columns: Columns,
    judge: Judge,
    recalibration: Recalibration,
    rule: MultiLabelRule | None,
) -> WideBatch:
    """Read rows with several scores, in the order of the rule where there is one."""
    refuse_beside_wide(
        score=scores.score is not None,
        label=columns.label is not None,
        group=columns.group is not None,
        reference=recalibration.reference is not None,
    )
    if rule is None:
        batch = load_wide(file, wide, columns, judge, logits=scores.logits)
    else:
        refuse_beside_wide(logits=scores.logits)
        average: Any = rule.average
        judge = replace(judge, average=average)
        numbers = not rule.rules[0].probabilities
        batch = load_wide(
            file,
            wide,
            columns,
            judge,
            logits=False,
            any_numbers=numbers,
            metric=rule.metric,
        )
        batch = _in_order_of(batch, [str(name) for name in rule.names])
    if recalibration.calibrator is None:
        return batch
    return replace(batch, calibrator=read_calibrator(recalibration.calibrator))


def _in_order_of(batch: WideBatch, names: list[str]) -> WideBatch:
    """Return the rows with their labels as a rule has them."""
    for one, others, where in (
        (names, batch.names, "these rows"),
        (batch.names, names, "the rule"),
    ):
        for name in one:
            if name not in others:
                source = batch.table.source
                raise files.DataError(
                    f"{source}: label {name!r} is not among those of {where}"
                )
    order = [batch.names.index(name) for name in names]
    return replace(
        batch,
        names=names,
        scores={name: batch.scores[name] for name in names},
        p=np.ascontiguousarray(batch.p[:, order]),
        y=None if batch.y is None else batch.y[:, order],
    )


def decided(
    batch: WideBatch, limits: dict[str, Any], jobs: int | None
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Return the labels with the highest expected score, and notes."""
    from argmetric import decide

    decision = decide(
        batch.p,
        batch.metric,
        average=batch.average,
        **batch.scoring,
        **limits,
        n_jobs=jobs,
    )
    return np.asarray(decision.labels), decision.notes


def ruled(rule: MultiLabelRule) -> dict[str, Any]:
    """Return what is known of labels that a rule decides."""
    return {
        "thresholds": rule.thresholds.tolist(),
        "is_probability": rule.rules[0].probabilities,
    }
