"""decide, over files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from argmetric._calibrate.resolve import resolve_calibrator
from argmetric._ground.arguments import as_flags, check_choice, shown
from argmetric._ground.limits import check_limits
from argmetric._ground.odds import expit
from argmetric._ground.types import Booleans, Floats, Path, ReferenceLike
from argmetric._verbs.decide import refuse_never_defined
from argmetric._verbs.tune import Rule
from argmetric.metrics import MetricLike, get_metric
from argmetric.scale._columns import FileBatch, ScoreKind, WantedColumns, negate_if
from argmetric.scale._forecast import beside, forecast_scan
from argmetric.scale._labels import Question, decide_all
from argmetric.scale._output import Writer, writing
from argmetric.scale._result import ScaledDecision
from argmetric.scale._scan import OpenedFiles, Scan
from argmetric.scale._vector import Reading
from argmetric.scale.files import DataError

COVERAGE = 0.9  # of a forecast of which only the mean is used


def decide(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    output: Path,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    min_positives: int = 0,
    max_positives: int | str | None = None,
    min_precision: float | None = None,
    min_recall: float | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
    rule: Rule | None = None,
    resume: bool = False,
) -> ScaledDecision:
    r"""Choose the labels with the highest expected metric.

    The labels are those of `argmetric.decide` on all rows at once, whatever the number
    of files, workers and buckets. The output has the same files, rows, order and
    columns, as Parquet, plus the decisions. It appears when it is complete.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    metric : str, Metric or callable, default="f1"
        See `argmetric.decide`.
    output : str or path
        The folder to write. One of an earlier run is replaced.
    average : {"groups", "pooled"}, default="groups"
        With groups: their mean (default), or all rows pooled. Groups are a column, and
        each is decided by itself.
    zero_division, min_positives, max_positives, min_precision, min_recall, logits
        See `argmetric.decide`.
    reference : pair (y, p) or Calibrator, optional
        See `argmetric.decide`.
    rule : Rule, optional
        The rule to apply, such as that of `tune`, with its metric: each row is decided
        by itself.
    resume : bool, default=False
        Continue a run that was interrupted.

    Returns
    -------
    ScaledDecision
        Where the labels are, and the expected score.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> folder = Path(tempfile.mkdtemp())
    >>> path = folder / "scores.csv"
    >>> size = path.write_text("score\n0.9\n0.6\n0.1\n")
    >>> decision = scale.open(path).decide("f1", output=folder / "out")
    >>> decision.n_positives, round(decision.expected, 3)
    (2, 0.802)
    >>> [file.name for file in (folder / "out").iterdir()]
    ['scores.parquet']
    """
    check_choice(average, "average", ("groups", "pooled"))
    logits, resume = as_flags(logits=logits, resume=resume)
    limits = check_limits(min_positives, max_positives, min_precision, min_recall)
    calibrator: Any = resolve_calibrator(reference, logits=logits)
    if rule is None:
        metric = get_metric(metric, zero_division=zero_division)
    elif not isinstance(rule, Rule):
        raise TypeError(f"rule must be a Rule, not {shown(rule)}")
    else:
        if not limits.none:
            raise ValueError("a rule takes no limits: leave out one of them")
        metric = rule.metric
        kept = rule.reference.calibrator if rule.reference is not None else None
        calibrator = calibrator or kept or rule.calibrator
    scores: ScoreKind = "logits" if logits else "probabilities"
    if rule is not None and not (rule.probabilities or calibrator or logits):
        scores = "finite"
    added = files.decision_column or "decision"
    wanted = WantedColumns(
        {"score": files.score},
        group=files.group if average == "groups" else None,
        scores=scores,
        missing=files.missing_groups,
        added=added,
    )
    options: dict[str, Any] = {
        "min_positives": min_positives,
        "max_positives": max_positives,
        "min_precision": min_precision,
        "min_recall": min_recall,
        "logits": logits,
        "reference": calibrator,
    }
    with writing(files, output, wanted, resume=resume) as writer:
        scan = writer.settle(
            {
                "metric": name_of(metric),
                "options": {name: name_of(value) for name, value in options.items()},
                "columns": [name_of(writer.scan.columns), added],
                "rule": name_of(rule and (rule.threshold, rule.pos_label)),
            }
        )
        if rule is None:
            question = Question(metric, limits, options)
            result = _decide_best(writer, scan, question, added)
        else:
            reading = Reading(calibrator, logits)
            result = _decide_by_rule(writer, scan, rule, reading, added)
    return result


def _decide_best(
    writer: Writer, scan: Scan, question: Question, added: str
) -> ScaledDecision:
    """Write the best labels of all rows."""
    decision = decide_all(scan, question)
    n_positives = _append(writer, added, decision.is_positive, [0, 1])
    if n_positives != decision.fields["n_positives"]:
        raise DataError("other positives were written than were decided")
    if decision.likely:
        refuse_never_defined(decision.fields["expected"], question.metric)
    return ScaledDecision(
        **_about(writer, scan),
        **decision.fields,
        metric=question.metric,
        scale="score" if question.reading.calibrator is None else "calibrated score",
    )


def _decide_by_rule(
    writer: Writer, scan: Scan, rule: Rule, reading: Reading, added: str
) -> ScaledDecision:
    """Write the labels of a rule."""
    names = [rule.neg_label, rule.pos_label]
    n_positives = _append(
        writer, added, lambda batch: rule.applies(batch.values), names
    )

    def values(batch: FileBatch) -> Floats:
        p = reading.probabilities(batch.values)
        return negate_if(expit(p) if reading.logits else p, rule.applies(batch.values))

    expected, n_groups = math.nan, None
    notes: tuple[str, ...] = ()
    if scan.columns.scores == "finite":
        notes = ("no forecast: the rule was tuned on scores, not on probabilities",)
    else:
        forecast = forecast_scan(
            beside(scan, "forecast"), rule.metric, COVERAGE, values
        )
        expected, n_groups = forecast.mean, forecast.n_groups
    return ScaledDecision(
        **_about(writer, scan),
        n_groups=n_groups,
        n_positives=n_positives,
        threshold=rule.threshold,
        expected=expected,
        error=0.0,
        expected_half=None,
        n_half=0,
        metric=rule.metric,
        plan="by a rule",
        notes=notes,
        scale="score" if rule.calibrator is None else "calibrated score",
    )


def _about(writer: Writer, scan: Scan) -> dict[str, Any]:
    """Return fields on files and columns that all decisions share."""
    return {
        "output": writer.folders.output,
        "score": scan.columns.score,
        "group": scan.columns.group,
        "n": scan.n,
        "n_files": len(scan.sources),
        "skipped": scan.skipped,
    }


def _append(
    writer: Writer,
    column: str,
    chosen: Callable[[FileBatch], Booleans],
    names: list[Any],
) -> int:
    """Write the labels of all rows, and return how many are positive.

    `names` are what the negative and the positive label are called.
    """
    labels = pa.array(names)

    def label(batch: FileBatch) -> tuple[pa.Array, list[Any]]:
        positive = chosen(batch)
        found = labels.take(pa.array(positive.astype(np.int64)))
        return found, [np.count_nonzero(positive)]

    (n_positives,) = writer.append(column, labels.type, label)
    return int(n_positives)


def name_of(value: object) -> str:
    """Return a description of a value that is equal in all processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
