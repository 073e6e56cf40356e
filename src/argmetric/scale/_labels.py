"""Labels with the highest expected metric, bucket by bucket or by one cut."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.limits import Limits
from argmetric._ground.types import Booleans
from argmetric._ground.validation import Probabilities
from argmetric.metrics import Metric
from argmetric.scale._columns import FileBatch
from argmetric.scale._groups import (
    Bucket,
    GroupedRows,
    as_read,
    load,
    save,
    whole_groups,
)
from argmetric.scale._memory import fits
from argmetric.scale._parts import SUMS, decide_part, decision_on_all, sums_of
from argmetric.scale._scan import Scan
from argmetric.scale._vector import Reading, decide_vector
from argmetric.scale.files import DataError

BucketResult = dict[str, Any]  # what a bucket adds to the whole, as plain values
RowLabels = npt.NDArray[np.int8]  # of rows of all files: 0, or 1 more than the label


@dataclass(frozen=True)
class Question:
    """Problem of a decision: the metric to maximise, its limits, and options."""

    metric: Metric
    limits: Limits
    options: dict[str, Any]  # of `argmetric.decide`; the reference is a calibrator

    @property
    def reading(self) -> Reading:
        """Return how scores become probabilities."""
        return Reading(self.options.get("reference"), self.options["logits"])


@dataclass(frozen=True)
class RowDecision:
    """Decision about all rows: a label for each, or one cut."""

    question: Question
    fields: dict[str, Any]  # of the result: numbers, threshold, notes and plan
    labels: RowLabels | None
    likely: bool  # whether some row may be positive

    def is_positive(self, batch: FileBatch) -> Booleans:
        """Return which rows of a batch are positive."""
        if self.labels is None:
            p = self.question.reading.probabilities(batch.values)
            return np.asarray(p >= self.fields["threshold"])
        labels = self.labels[batch.start : batch.start + batch.size]
        if (left := int((labels == 0).sum())) or labels.size != batch.size:
            raise DataError(f"{left:,} of {batch.size:,} rows have no decision")
        return np.asarray(labels == 2)


def decide_all(scan: Scan, question: Question) -> RowDecision:
    """Return the decision about all rows of a scan.

    What was found in buckets is kept in the folder of the scan, for a run that goes on.
    """
    grouped, labels = scan.columns.group is not None, None
    if grouped:
        results, labels = _decide_groups(scan, question)
        n = len(results)
        plan = f"by group, {n:,} bucket{'s' * (n != 1)}"
    elif fits(scan.n, scan.division[1]):
        rows = Bucket(scan.n, scan=scan, values=as_read).read()
        found, result = _decide_rows(rows, question)
        results, labels, plan = [result], found + 1, "one vector, 1 bucket"
    else:
        result, labels, n_passes = decide_vector(
            scan, question.reading, question.metric, question.limits
        )
        if labels is not None:
            labels += 1
        results, plan = [result], f"one vector, {n_passes} passes"
    fields = decision_on_all(
        {name: math.fsum(result[name] for result in results) for name in SUMS},
        question.metric,
        grouped=grouped,
    )
    cut: dict[str, Any] = {"threshold": None, "notes": ()}
    cut = cut if grouped else results[0]
    fields |= {"threshold": cut["threshold"], "notes": tuple(cut["notes"])}
    likely = any(result["likely"] for result in results)
    return RowDecision(question, fields | {"plan": plan}, labels, likely)


def _decide_groups(
    scan: Scan, question: Question
) -> tuple[list[BucketResult], RowLabels]:
    """Return the decisions about groups, each by itself, in buckets."""
    buckets = whole_groups(scan)
    labels, done = _row_labels(scan)

    def decide_bucket(b: int) -> BucketResult:
        bucket, path = buckets[b], os.path.join(done, f"{b:06d}")
        known = load(path)
        if known is not None and known.get("n") == bucket.n:
            return dict(known)
        rows = bucket.read()
        labels_of_rows, result = _decide_rows(rows, question)
        labels[rows.rows] = labels_of_rows + 1
        save(path, result)
        return result

    return scan.map(decide_bucket, range(len(buckets))), labels


def _row_labels(scan: Scan) -> tuple[RowLabels, str]:
    """Return labels in a file, and the folder of buckets that are decided.

    Both are those of a run that goes on, or have nothing in them.
    """
    path, done = os.path.join(scan.work, "labels"), os.path.join(scan.work, "done")
    if not (os.path.exists(path) and os.path.getsize(path) == scan.n):
        shutil.rmtree(done, ignore_errors=True)
        with open(path, "wb") as file:
            file.truncate(scan.n)
    os.makedirs(done, exist_ok=True)
    return np.memmap(path, np.int8, "r+", shape=scan.n), done


def _decide_rows(
    rows: GroupedRows, question: Question
) -> tuple[npt.NDArray[np.int8], BucketResult]:
    """Return the labels of rows of whole groups, and sums of their scores."""
    groups: dict[str, Any] = {}
    if rows.ids is not None:
        groups = {"groups": rows.groups(), "average": "groups"}
    p = Probabilities(rows.values, question.reading.logits, scale_is_known=True)
    # a bucket may be all 0 and 1, or never defined, where the whole is not
    decision = decide_part(p, question.metric, groups | question.options)
    return decision.labels.astype(np.int8), {
        **sums_of(decision),
        "likely": bool(rows.values.max(initial=0.0) > 0.0),
        "threshold": decision.threshold,
        "notes": [] if groups else list(decision.notes),
    }
