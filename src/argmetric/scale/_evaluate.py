"""evaluate, over files: pairs of labels are counted, in all rows or by group."""

from __future__ import annotations

import numpy as np

from argmetric._ground.types import Integers
from argmetric._verbs.decide import SegmentCounts
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._groups import Bucket, whole_groups
from argmetric.scale._scan import OpenedFiles, scanning
from argmetric.scale.files import DataError

PAIRS = ("tn", "fn", "fp", "tp")  # by 2·decision + label


def count_labels(
    files: OpenedFiles, pos_label: object, *, by_group: bool
) -> SegmentCounts:
    """Return the counts of labels and decisions in files; see `Verbs`."""
    wanted = WantedColumns(
        {"decision_column": files.decision_column, "label": files.label},
        group=files.group if by_group else None,
        missing=files.missing_groups,
    )
    with scanning(files, wanted, pos_label) as scan:
        if by_group:
            buckets = whole_groups(scan)
            pairs = np.concatenate(scan.map(_pairs_of_groups, buckets))
        else:
            pairs = scan.merge_batches(
                _pair_counts, lambda parts: np.sum(parts, axis=0)
            )[None]
        if pairs.sum() != scan.n:
            raise DataError(f"{scan.n:,} rows were read and {pairs.sum():,} counted")
    _, fn, fp, tp = pairs.T.astype(np.float64)
    return SegmentCounts(tp, tp + fp, tp + fn, pairs.sum(axis=1))


def _pair_counts(batch: FileBatch) -> Integers:
    """Return how many rows have every pair of labels."""
    return np.bincount(batch.values.astype(np.int64), minlength=len(PAIRS))


def _pairs_of_groups(bucket: Bucket) -> Integers:
    """Return how many rows of every group of a bucket have every pair of labels."""
    rows = bucket.read()
    groups, codes = rows.groups(), rows.values.astype(np.int64)
    size = len(PAIRS) * len(groups.ids)
    pairs = np.bincount(len(PAIRS) * groups.codes + codes, minlength=size)
    return pairs.reshape(-1, len(PAIRS))
