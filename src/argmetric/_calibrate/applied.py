"""Scores that pass through a calibrator before anything is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from argmetric._ground.layout import Layout
from argmetric._ground.likely_slips import warn_user
from argmetric._ground.odds import expit, logit
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import is_sparse, to_numpy

if TYPE_CHECKING:
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.resolve import FittedReference, PriorShare
    from argmetric._calibrate.share import EstimatedShare

# Decisions that went through a map and are still held, by the id of their labels
_MAPPED: WeakValueDictionary[int, Any] = WeakValueDictionary()


class AtShare(NamedTuple):
    """The map for a share of positives, the share if estimated, and notes on it."""

    calibrator: Calibrator | None
    share: EstimatedShare | None
    notes: tuple[str, ...]


def at_share(
    prior: PriorShare | None,
    fitted: FittedReference,
    layout: Layout,
    *,
    logits: bool,
    coverage: float = 0.9,
) -> AtShare:
    """The map that scores go through so that their mean is the asked share.

    Without a prior it is the map as it was fitted, and a warning and a note say where
    the scores moved since. Where scores of the reference look as after sampling,
    others say so, unless the share is given.
    """
    found, rows = fitted
    n = int(layout.sizes.sum())
    notes: tuple[str, ...] = ()
    if prior is None and (found is None or rows is None):
        return AtShare(found, None, ())
    if rows is not None and prior in (None, "estimate"):
        from argmetric._calibrate.reference import Reference
        from argmetric._calibrate.share import estimate_share, moved_note
        from argmetric._calibrate.undo import warn_of_resampling

        assert found is not None  # it was fitted on the rows
        if isinstance(rows, Reference):
            notes = tuple(filter(None, [warn_of_resampling(rows)]))
        scores = layout.scores
        if rows.logits != logits:  # of a rule, which may know the other scale
            scores = expit(scores) if logits else logit(scores)
        if prior == "estimate":
            shift, share = estimate_share(found, rows, scores, n, coverage)
            return AtShare(found.then(shift), share, notes)
        note = moved_note(found, rows, scores, n, _belonging(layout))
        if note is not None:
            warn_user(note)
            notes = (note, *notes)
        return AtShare(found, None, notes)
    assert isinstance(prior, float)  # `check_prior` asks for a reference otherwise
    from argmetric._calibrate.prior import shift_to_share
    from argmetric._calibrate.resolve import calibrated_scores

    if found is None:
        return AtShare(shift_to_share(layout.scores, prior, n, logits=logits), None, ())
    scores = calibrated_scores(found, layout.scores, logits=logits)
    shift = shift_to_share(scores, prior, n, logits=logits)
    return AtShare(found.then(shift), None, ())


def _belonging(layout: Layout) -> Integers | None:
    """Number of the group, or of the row of a matrix, of every item; None: of none."""
    if layout.coded is not None:
        return layout.coded.codes
    if len(layout.shape) == 1 or layout.sparse:
        return None
    rows, columns = layout.shape
    row = np.repeat(np.arange(rows), columns).reshape(layout.shape)
    return np.asarray(layout.select(row))


def recalibrated(layout: Layout, calibrator: Calibrator, *, logits: bool) -> Layout:
    """A layout with calibrated scores in place of those given.

    Only explicit items are mapped: an absent cell stays a certain negative. A map with
    steps makes ties, in which the higher score before the map goes first.
    """
    from argmetric._calibrate.resolve import calibrated_scores

    scores = calibrated_scores(calibrator, layout.scores, logits=logits)
    if _keeps_order(calibrator, layout.scores, logits=logits):
        return layout._replace(scores=scores)
    rows = layout.segment_rows(0, layout.indptr.size - 1)
    segment = np.repeat(np.arange(layout.indptr.size - 1), np.diff(layout.indptr))
    order = rows[np.lexsort((-layout.scores[rows], segment))]
    return layout._replace(scores=scores, rows=order)


def _keeps_order(calibrator: Calibrator, scores: Floats, *, logits: bool) -> bool:
    if not scores.size:
        return True
    ends = np.array([scores.min(), scores.max()])
    return calibrator.keeps_apart(*(ends if logits else logit(ends)).tolist())


def remember_map(decision: Any) -> None:
    """So that `warn_of_lost_map` knows the labels of this decision."""
    _MAPPED[id(decision.labels)] = decision


def warn_of_lost_map(p: Any, labels: Any) -> None:
    """Warn of labels that were decided on these scores through a map, now without it.

    Known are the very labels of a decision that is still held: a copy of them is not.
    """
    decision = _MAPPED.get(id(labels))
    if decision is None or decision.labels is not labels:
        return
    given = decision._asked["p"]
    same = p is given
    if not same and not is_sparse(p):
        same = np.array_equal(to_numpy(p, "p"), to_numpy(given, "p"))
    if same:
        warn_user(
            "these labels were decided with recalibrated probabilities, and the "
            "forecast takes p as it stands: call forecast() of the decision, or pass "
            "the same calibrator or reference"
        )


def calibration_note(calibrator: Calibrator) -> str:
    return f"probabilities recalibrated by {calibrator.summary}"
