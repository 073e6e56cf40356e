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
from argmetric._ground.types import Booleans, Floats
from argmetric._ground.validation import Probabilities
from argmetric._verbs.decide import NeverDefinedError
from argmetric._verbs.decide import decide as decide_rows
from argmetric.metrics import Metric
from argmetric.scale._groups import Bucket, GroupedRows, load, save, whole_groups
from argmetric.scale._memory import fits
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
    results: list[BucketResult]
    plan: str
    labels: RowLabels | None
    threshold: Any = None  # of probabilities, where there are no labels

    def is_positive(self, start: int, scores: Floats) -> Booleans:
        """Return which rows are positive, from row `start` of all files on."""
        if self.labels is None:
            p = self.question.reading.probabilities(scores)
            return np.asarray(p >= self.threshold)
        labels = self.labels[start : start + scores.size]
        if (left := int((labels == 0).sum())) or labels.size != scores.size:
            raise DataError(f"{left:,} of {scores.size:,} rows have no decision")
        return np.asarray(labels == 2)

    def total(self, name: str) -> float:
        """Return the sum of what the buckets have found."""
        return math.fsum(result[name] for result in self.results)

    @property
    def expected(self) -> float:
        """Return the expected metric, or its mean over groups where it is defined."""
        n_defined = self.total("n_defined")
        return self.total("expected") / n_defined if n_defined else math.nan


def decide_all(scan: Scan, question: Question) -> RowDecision:
    """Return the decision about all rows of a scan.

    What was found in buckets is kept in the folder of the scan, for a run that goes on.
    """
    if scan.columns.group is not None:
        return _decide_groups(scan, question)
    if fits(scan.n, scan.division[1]):
        rows = Bucket(scan.n, scan=scan, values=lambda batch: batch.values).read()
        labels, result = _decide_rows(rows, question)
        return RowDecision(question, [result], "one vector, 1 bucket", labels + 1)

    result, row_labels, n_passes = decide_vector(
        scan, question.reading, question.metric, question.limits
    )
    plan = f"one vector, {n_passes} passes"
    if row_labels is not None:
        row_labels += 1
    return RowDecision(question, [result], plan, row_labels, result["threshold"])


def _decide_groups(scan: Scan, question: Question) -> RowDecision:
    """Return the decision about groups, each by itself, in buckets."""
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
        result |= {"n": bucket.n}
        save(path, result)
        return result

    n = len(buckets)
    results = scan.map(decide_bucket, range(n))
    plan = f"by group, {n:,} bucket{'s' * (n != 1)}"
    return RowDecision(question, results, plan, labels)


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
    logits = question.reading.logits
    p = Probabilities(rows.values, logits, scale_is_known=True)
    # a bucket may be all 0 and 1, or never defined, where the whole is not
    try:
        decision = decide_rows(p, question.metric, **groups, **question.options)
    except NeverDefinedError as refused:
        decision = refused.decision
    expected = decision.group_expected
    if expected is None:
        expected = np.array([decision.expected])
    defined = expected[~np.isnan(expected)]
    return decision.labels.astype(np.int8), {
        "groups": expected.size,
        "positives": decision.n_positives,
        "expected": math.fsum(defined),
        "n_defined": defined.size,
        "error": decision.error * expected.size,
        "half": decision.cut_half.expected * expected.size,
        "n_half": decision.cut_half.n_positives,
        "likely": bool(rows.values.max(initial=0.0) > 0.0),
        "threshold": decision.threshold,
        "notes": [] if groups else list(decision.notes),
    }
