"""What `decide`, `forecast` and `tune` accept as a reference: rows, or a map.

Maps and their fits are loaded by those who have one: most calls have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from argmetric._ground.arguments import check_share, shown
from argmetric._ground.label_words import Naming, as_keyword
from argmetric._ground.labels import (
    binary_labels,
    distinct,
    label_array,
    refuse_missing,
    usual_pair,
)
from argmetric._ground.layout import Layout
from argmetric._ground.odds import expit, logit
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import (
    is_frame_like,
    is_sparse,
    to_numpy,
    warn_of_scale,
    warn_user,
)

if TYPE_CHECKING:
    from argmetric._calibrate.bins import ScoreCells
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.prevalence import EstimatedShare
    from argmetric._calibrate.reference import Reference


_Y = "the y of reference=(y, p)"
PriorShare = float | Literal["estimate"]


class FittedReference(NamedTuple):
    """A map, and the labelled rows that it was fitted on where these are at hand.

    Passed as `reference=` it is taken as it is. A rule keeps the rows in cells.
    """

    calibrator: Calibrator | None
    rows: Reference | ScoreCells | None


def resolve_calibrator(reference: Any, *, logits: bool = False) -> Calibrator | None:
    """The map that is meant, or None; arguments as for `resolve_reference`."""
    named = _as_calibrator  # who asks for the map alone takes no pos_label
    return resolve_reference(reference, logits=logits, naming=named).calibrator


def resolve_reference(
    reference: Any, *, logits: bool = False, naming: Naming = as_keyword
) -> FittedReference:
    """The map that is meant, with the rows that it was fitted on, if they are known."""
    if reference is None:
        return FittedReference(None, None)
    if isinstance(reference, FittedReference):
        return reference
    if is_pair(reference):
        y, p = reference
        return _fitted(y, p, logits, naming)
    found = as_calibrator(reference)
    if found.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probabilities of several classes, row by row: "
            "apply it first and pass what it gives"
        )
    return FittedReference(found, None)


def is_pair(reference: Any) -> bool:
    """Whether these are labelled rows (y, p); all that is left is taken as a map."""
    pair = isinstance(reference, tuple | list) and len(reference) == 2
    return pair and not isinstance(reference, FittedReference)


def as_calibrator(reference: Any) -> Calibrator:
    """A calibrator as it is; a function, or an object with `apply`, wrapped."""
    from argmetric._calibrate.calibrator import Calibrator, FunctionMap

    if isinstance(reference, Calibrator):
        return reference
    function = getattr(reference, "apply", reference)
    frame = is_frame_like(reference)  # they have an apply too
    if isinstance(reference, type) or not callable(function) or frame:
        raise TypeError(
            "reference must be labelled rows, a pair (y, p) of labels and their "
            f"scores, or a fitted Calibrator (see calibrate), not {_shown(reference)}"
        )
    return FunctionMap(function)


def _fitted(y: Any, p: Any, logits: bool, naming: Naming) -> FittedReference:
    from argmetric._calibrate.calibrate import DEFAULT
    from argmetric._calibrate.fit import fit_map
    from argmetric._calibrate.reference import check_reference

    shape = getattr(p, "shape", ()) or to_numpy(p, "p").shape
    if len(shape) == 2 and label_array(y, _Y).ndim == 1:
        raise ValueError(
            "the reference has one label per row but a matrix of scores: labels and "
            "scores must have the same shape; for one of several classes per row call "
            "argmetric.classes.decide or argmetric.classes.forecast"
        )
    labels = binary_labels(y, name=_Y, naming=naming)
    rows = check_reference(labels.positive, p, logits=logits)
    warn_of_scale(rows.scores, logits=logits)
    return FittedReference(fit_map(rows, DEFAULT), rows)


def with_positives(reference: Any, pos_label: Any) -> Any:
    """A reference whose y says which rows are positive, for a verb with `pos_label`.

    The verb's other labels may have names where those of the reference are 0 and 1.
    """
    if not is_pair(reference) or pos_label is None:
        return reference
    y, p = reference
    array = label_array(y, _Y)
    refuse_missing(array, _Y)
    found = distinct(array)
    if pos_label not in found and usual_pair(found) is not None:
        pos_label = None
    return binary_labels(array, pos_label, name=_Y).positive, p


def check_pair(reference: Any) -> tuple[Any, Any]:
    """Labels and scores; anything else is refused."""
    if not is_pair(reference):
        raise TypeError(
            "reference must be labelled rows here, a pair (y, p) of labels and their "
            f"scores, not {_shown(reference)}"
        )
    y, p = reference
    return y, p


def _as_calibrator(*label: Any) -> str:
    return f"reference=calibrate(y, p, pos_label={shown(label[0])})"


def _shown(reference: Any) -> str:
    if isinstance(reference, tuple | list):
        return f"a {type(reference).__name__} of {len(reference)}"
    if isinstance(reference, type):
        return f"the class {reference.__name__}"
    return type(reference).__name__


def check_prior(prior: Any, *, with_rows: bool) -> PriorShare | None:
    """The argument `prior`: a share of positives, "estimate", or None."""
    if prior is None:
        return None
    if not isinstance(prior, str):
        return check_share(prior, "prior")
    if prior != "estimate":
        raise ValueError(
            'prior must be a share strictly between 0 and 1, or "estimate", not '
            f"{shown(prior)}"
        )
    if not with_rows:
        raise ValueError(
            'prior="estimate" compares the scores with those of labelled rows: pass '
            "reference=(y, p); a Calibrator alone does not keep them"
        )
    return "estimate"


def calibrated_scores(found: Calibrator, scores: Floats, *, logits: bool) -> Floats:
    """Scores on the same scale after the map; log-odds keep their tails."""
    return found._map(scores) if logits else found._map_p(scores)


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
        from argmetric._calibrate.prevalence import estimate_share, moved_note
        from argmetric._calibrate.prior import warn_of_resampling
        from argmetric._calibrate.reference import Reference

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
            "the same reference"
        )


def calibration_note(calibrator: Calibrator) -> str:
    return f"probabilities recalibrated by {calibrator.summary}"
