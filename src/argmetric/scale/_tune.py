"""tune, over files: labelled scores in bins, by passes over all rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import numpy as np

from argmetric.scale._calibrate import ScoreSums, keys_of
from argmetric.scale._columns import FileBatch, WantedColumns
from argmetric.scale._memory import rows_held
from argmetric.scale._scan import OpenedFiles, Scan, scanning
from argmetric.scale._verbs import LabelBins, LabelledScores, too_many_cuts
from argmetric.scale.files import DataError

ROWS_SCANNED_WHOLE = 1 << 22  # rows whose scores are all looked at, if memory allows
BIN_BYTES = 160  # of a score with a bin of its own, while bins are merged
MOST_BINS = 1 << 18  # with rows in them, into which a range is divided at a time


@contextlib.contextmanager
def labelled_scores(files: OpenedFiles, pos_label: object) -> Iterator[LabelledScores]:
    """Yield the labelled scores of files; see `Verbs`."""
    wanted = WantedColumns(
        {"score": files.score, "label": files.label}, scores="finite"
    )
    with scanning(files, wanted, pos_label, both=True) as scan:
        few = min(ROWS_SCANNED_WHOLE, rows_held(scan.memory, BIN_BYTES))
        whole = np.array([[-np.inf, np.inf, scan.n, 0.0]])
        labels = scan.columns.truth.classes
        yield LabelledScores(whole, partial(_count, scan), few, labels)


def _count(
    scan: Scan, low: float, high: float, n_rows: float, exactly: bool
) -> LabelBins:
    """Return bins of the rows between two scores; see `LabelledScores`.

    A score is known by its bits, in an order in which whole numbers stand for doubles,
    so that bins of any width down to one double can be counted and merged.
    """
    start, end = keys_of(np.array([low, high]))
    most = MOST_BINS.bit_length() - 1
    shift = np.uint64(0 if exactly else max(int(end - start).bit_length() - most, 0))

    def of_batch(batch: FileBatch) -> ScoreSums:
        """Return bin, score and label of the rows whose keys are in the range."""
        keys = keys_of(batch.values)
        inside = (keys >= start) & (keys <= end)
        scores, positive = batch.values[inside], batch.positive[inside]
        sums = np.stack([np.ones(scores.size), positive])
        return ScoreSums((keys[inside] - start) >> shift, scores, scores, sums)

    def merge(parts: list[ScoreSums]) -> ScoreSums:
        """Add up rows and positives of each bin, with its lowest and highest score."""
        nothing = np.zeros(0)
        empty = ScoreSums(np.zeros(0, np.uint64), nothing, nothing, np.zeros((2, 0)))
        merged = ScoreSums.merge([empty, *parts])
        if merged.number.size > max(MOST_BINS, ROWS_SCANNED_WHOLE):
            raise too_many_cuts(n_rows)
        return merged

    _, lows, highs, sums = merge([scan.merge_batches(of_batch, merge)])
    bins = np.stack([lows, highs, *sums], axis=1)
    if (counted := int(bins[:, 2].sum())) != n_rows:
        raise DataError(f"{n_rows:,.0f} rows were read and {counted:,} are counted")
    return bins
