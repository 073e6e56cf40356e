"""Stage 2: decide whole buckets, one label a row, in the order of their pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._decide import decide, part_of_a_whole
from argmetric._files import DataError
from argmetric._input.groups import Groups, code_groups
from argmetric._input.likely_slips import scores_of_a_model
from argmetric._input.types import Floats
from argmetric._input.validation import Probabilities
from argmetric._results.saving import replaced_whole
from argmetric.metrics import Metric
from argmetric.scale._columns import Used
from argmetric.scale._conservation import Tally, tally
from argmetric.scale._pieces import Piece, Rows, read_piece, rows_and_scores
from argmetric.scale._scan import Reading
from argmetric.scale._tasks import Found
from argmetric.scale._vector import VectorFound


@dataclass(frozen=True)
class Asked:
    """What is asked of every bucket: the metric, and what `decide` takes besides."""

    metric: Metric
    used: Used
    options: dict[str, Any]

    @property
    def reading(self) -> Reading:
        """How scores become probabilities."""
        return Reading(self.used, self.options["calibrator"])


@dataclass(frozen=True)
class BucketTask:
    """A bucket, and where its labels go."""

    pieces: tuple[Piece, ...]
    asked: Asked
    labels: str


@dataclass(frozen=True)
class CutTask:
    """A group that is larger than memory, how it is cut, and where its labels go."""

    pieces: tuple[Piece, ...]
    found: VectorFound
    labels: str


def decide_bucket(task: BucketTask) -> Found:
    """Write the labels of a bucket; found: what it adds to the whole."""
    parts = [read_piece(piece, task.asked.used) for piece in task.pieces]
    if task.asked.used.group is None:
        groups: dict[str, Any] = {}
    else:
        groups = {"groups": coded(parts, task.asked.used), "average": "groups"}
    scores = np.concatenate([part.scores for part in parts])
    # a bucket may be all 0 and 1, or never defined, where the whole is not
    with scores_of_a_model(), part_of_a_whole():
        decision = decide(
            Probabilities(scores, task.asked.used.logits),
            task.asked.metric,
            logits=task.asked.used.logits,
            **groups,
            **task.asked.options,
        )
    write_labels(task.labels, decision.labels.astype(np.int8))
    expected = decision.group_expected
    if expected is None:
        expected = np.array([decision.expected])
    return {
        **counted(task.pieces, [part.tally for part in parts]),
        "groups": expected.size,
        "positives": decision.n_positives,
        **defined_sum("expected", expected),
        "error": decision.error * expected.size,
        "half": decision.cut_half.expected * expected.size,
        "half_positives": decision.cut_half.n_positives,
        "likely": bool(scores.max(initial=0.0) > 0.0),
        "threshold": decision.threshold,
        "notes": [] if groups else list(decision.notes),
    }


def cut_bucket(task: CutTask) -> Found:
    """Write the labels of a group whose cut is known, piece by piece."""
    tallies, cut, positives = [], task.found.cut, 0
    with replaced_whole(task.labels) as file:
        for piece in task.pieces:
            rows, scores = rows_and_scores(piece)
            labels, cut = cut.labels(scores)
            positives += int(labels.sum())
            tallies.append(tally(rows, scores))
            file.write(labels.tobytes())
    found = task.found.found()
    if positives != found["positives"]:
        raise DataError(f"decide: {task.labels}: {positives:,} rows are above the cut")
    return {**counted(task.pieces, tallies), **found}


def coded(parts: list[Rows], used: Used) -> Groups:
    """Groups by number, in the order of first appearance; null is one of them."""
    import pyarrow as pa

    ids = pa.chunked_array([chunk for part in parts for chunk in part.ids.chunks])
    if pa.types.is_integer(ids.type) and not ids.null_count:
        return code_groups(ids.to_numpy(), len(ids))
    whole = ids.combine_chunks().dictionary_encode(null_encoding="encode")
    codes = whole.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Groups(codes, whole.dictionary.to_numpy(zero_copy_only=False))


def write_labels(path: str, labels: Any) -> None:
    """One byte a row."""
    with replaced_whole(path) as file:
        file.write(memoryview(labels))


def counted(pieces: tuple[Piece, ...], tallies: list[Tally]) -> Found:
    """Which rows of which file a bucket has, in the order of its labels."""
    return {
        "files": [piece.file for piece in pieces],
        "rows": [one.rows for one in tallies],
        "checksums": [one.checksum for one in tallies],
    }


def defined_sum(name: str, values: Floats) -> Found:
    """Sum of the values that are defined, and their number."""
    known = values[~np.isnan(values)]
    return {name: math.fsum(known), f"{name}_defined": known.size}
