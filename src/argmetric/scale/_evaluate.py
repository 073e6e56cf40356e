"""evaluate, over files: pairs of labels are counted, in all rows or by group."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from argmetric._ground.arguments import check_choice
from argmetric._ground.types import Floats, Integers, Label
from argmetric.metrics import Metric, MetricLike, get_metric, require_defined
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._groups import Bucket, whole_groups
from argmetric.scale._result import ScaledScore
from argmetric.scale._scan import OpenedFiles, scanning
from argmetric.scale.files import DataError

PAIRS = ("tn", "fn", "fp", "tp")  # by 2·decision + label


def evaluate(
    files: OpenedFiles,
    metric: MetricLike = "f1",
    *,
    average: Literal["groups", "pooled"] = "groups",
    zero_division: float | None = None,
    pos_label: Label | None = None,
) -> ScaledScore:
    r"""Return the actual score of a column of decisions, for files of any size.

    The score is that of `argmetric.evaluate` on all rows at once.

    Parameters
    ----------
    files : Files
        The files, of which this is a method.
    metric : str, Metric or callable, default="f1"
        What to compute.
    average : {"groups", "pooled"}, default="groups"
        With groups: their mean (default), or all rows pooled.
    zero_division, pos_label
        See `argmetric.evaluate`.

    Returns
    -------
    ScaledScore
        The score and the counts of right and wrong labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from argmetric import scale
    >>> path = Path(tempfile.mkdtemp(), "scores.csv")
    >>> size = path.write_text("label,decision\n1,1\n0,1\n1,0\n")
    >>> scale.open(path).evaluate("f1").counts
    {'tp': 1, 'fp': 1, 'fn': 1, 'tn': 0}
    """
    metric = get_metric(metric, zero_division=zero_division)
    check_choice(average, "average", ("groups", "pooled"))
    wanted = WantedColumns(
        {"decision_column": files.decision_column, "label": files.label},
        group=files.group if average == "groups" else None,
        missing=files.missing_groups,
    )
    n_groups = n_empty = None
    with scanning(files, wanted, pos_label) as scan:
        if wanted.group is None:
            require_defined(metric, scan.n)
            counts = scan.merge_batches(
                _pair_counts, lambda parts: np.sum(parts, axis=0)
            )
            _, fn, fp, tp = counts.tolist()
            score = float(metric.value(tp, tp + fp, tp + fn, scan.n))
        else:
            small, large = whole_groups(scan)
            parts = scan.map(lambda one: _score_groups(one, metric), small + large)
            values = np.concatenate([one for one, _ in parts])
            pairs = np.concatenate([one for _, one in parts])
            defined, counts = values[~np.isnan(values)], pairs.sum(axis=0)
            score = math.fsum(defined) / defined.size if defined.size else math.nan
            n_groups, n_empty = (
                values.size,
                int((pairs[:, 1::2].sum(axis=1) == 0).sum()),
            )
        if counts.sum() != scan.n:
            raise DataError(f"{scan.n:,} rows were read and {counts.sum():,} counted")
    if math.isnan(score):
        raise DataError(
            f"{metric.name} is undefined (0/0) on these labels; zero_division=0 or 1 "
            "gives it a value"
        )
    label, decision = scan.columns.of_labels
    return ScaledScore(
        score=score,
        metric=metric,
        label=label.column,
        decision=decision.column,
        group=wanted.group,
        n=scan.n,
        n_files=len(scan.sources),
        n_groups=n_groups,
        n_groups_without_positives=n_empty,
        counts=dict(zip(PAIRS[::-1], map(int, counts[::-1]), strict=True)),
        skipped=scan.skipped,
    )


def _pair_counts(batch: FileBatch) -> Integers:
    """Return how many rows have every pair of labels."""
    return np.bincount(batch.values.astype(np.int64), minlength=len(PAIRS))


def _score_groups(bucket: Bucket, metric: Metric) -> tuple[Floats, Integers]:
    """Return the score of every group of a bucket, and its pairs (groups, 4)."""
    rows = bucket.read()
    groups, codes = rows.groups(), rows.values.astype(np.int64)
    size = len(PAIRS) * len(groups.ids)
    pairs = np.bincount(len(PAIRS) * groups.codes + codes, minlength=size)
    pairs = pairs.reshape(-1, len(PAIRS))
    tn, fn, fp, tp = pairs.T.astype(np.float64)
    require_defined(metric, int(pairs.sum(axis=1).max()))
    values = metric.value(tp, tp + fp, tp + fn, tn + fn + fp + tp)
    return np.atleast_1d(values), pairs
