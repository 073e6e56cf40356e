"""Turn a `reference` argument, labelled rows or a calibrator, into a calibrator.

Calibrators and their fits are loaded where there is one: most calls have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard
from weakref import WeakValueDictionary

import numpy as np

from argmetric._ground.arguments import check_label, check_share, shown
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
from argmetric._ground.types import (
    ArrayLike,
    Floats,
    Integers,
    Label,
    ReferenceLike,
    WithLabels,
)
from argmetric._ground.validation import (
    is_frame_like,
    is_sparse,
    to_numpy,
    warn_of_scale,
    warn_user,
)

if TYPE_CHECKING:
    from argmetric._calibrate.bins import ReferenceBins
    from argmetric._calibrate.calibrator import Calibrator
    from argmetric._calibrate.prevalence import EstimatedPrevalence
    from argmetric._calibrate.reference import Reference


_Y = "the y of reference=(y, p)"
PriorOption = float | Literal["estimate"]


class FittedReference(NamedTuple):
    """A calibrator, and the labelled rows that it was fitted on, if they are known.

    Passed as `reference=` it is taken as it is. A rule keeps the rows in bins.
    """

    calibrator: Calibrator | None
    rows: Reference | ReferenceBins | None


def resolve_calibrator(
    reference: ReferenceLike | None, *, logits: bool = False
) -> Calibrator | None:
    """Return the calibrator alone, or None; arguments as for `resolve_reference`."""
    return resolve_reference(reference, logits=logits, naming=_as_calibrator).calibrator


def resolve_reference(
    reference: ReferenceLike | FittedReference | None,
    *,
    logits: bool = False,
    naming: Naming = as_keyword,
) -> FittedReference:
    """Return the calibrator of a reference, with the rows that it was fitted on."""
    if reference is None:
        return FittedReference(None, None)
    if isinstance(reference, FittedReference):
        return reference
    if is_pair(reference):
        y, p = reference
        return _fit_pair(y, p, logits, naming)
    calibrator = as_calibrator(reference)
    if calibrator.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probabilities of several classes, row by row: "
            "apply it first and pass what it gives"
        )
    return FittedReference(calibrator, None)


def is_pair(reference: object) -> TypeGuard[tuple[ArrayLike, ArrayLike]]:
    """Return whether these are labelled rows (y, p), and no calibrator."""
    pair = isinstance(reference, tuple | list) and len(reference) == 2
    return pair and not isinstance(reference, FittedReference)


def as_calibrator(reference: object) -> Calibrator:
    """Return a calibrator; wrap a function, or an object with `apply`."""
    from argmetric._calibrate.calibrator import Calibrator, FunctionCalibrator

    if isinstance(reference, Calibrator):
        return reference
    function = getattr(reference, "apply", reference)
    frame = is_frame_like(reference)  # they have an apply too
    if isinstance(reference, type) or not callable(function) or frame:
        raise TypeError(
            "reference must be labelled rows, a pair (y, p) of labels and their "
            "scores, or a fitted Calibrator (see calibrate), not "
            f"{_describe(reference)}"
        )
    return FunctionCalibrator(function)


def _fit_pair(
    y: ArrayLike, p: ArrayLike, logits: bool, naming: Naming
) -> FittedReference:
    """Fit the default calibrator to labels and scores."""
    from argmetric._calibrate.fit import DEFAULT, fit_calibrator
    from argmetric._calibrate.reference import check_reference

    shape = getattr(p, "shape", ()) or to_numpy(p, "the p of reference=(y, p)").shape
    if len(shape) == 2 and label_array(y, _Y).ndim == 1:
        raise ValueError(
            "the reference has one label per row but a matrix of scores: labels and "
            "scores must have the same shape; for one of several classes per row call "
            "argmetric.classes.decide or argmetric.classes.forecast"
        )
    labels = binary_labels(y, name=_Y, naming=naming)
    rows = check_reference(labels.positive, p, logits=logits)
    warn_of_scale(rows.scores, logits=logits)
    return FittedReference(fit_calibrator(rows, DEFAULT), rows)


def with_positives(reference: Any, pos_label: Label | None) -> Any:
    """Return a reference whose y is boolean, where a verb has a `pos_label`.

    The verb's other labels may have names where those of the reference are 0 and 1.
    """
    if not is_pair(reference) or pos_label is None:
        return reference
    check_label(pos_label)
    y, p = reference
    array = label_array(y, _Y)
    refuse_missing(array, _Y)
    labels = distinct(array)
    if pos_label not in labels and usual_pair(labels) is not None:
        pos_label = None
    return binary_labels(array, pos_label, name=_Y).positive, p


def check_pair(reference: object) -> tuple[ArrayLike, ArrayLike]:
    """Return labels and scores; refuse anything else."""
    if not is_pair(reference):
        raise TypeError(
            "reference must be labelled rows here, a pair (y, p) of labels and their "
            f"scores, not {_describe(reference)}"
        )
    y, p = reference
    return y, p


def _as_calibrator(*label: object) -> str:
    return f"reference=calibrate(y, p, pos_label={shown(label[0])})"


def _describe(reference: object) -> str:
    """Return the type of an argument in words, for a message."""
    if isinstance(reference, tuple | list):
        return f"a {type(reference).__name__} of {len(reference)}"
    if isinstance(reference, type):
        return f"the class {reference.__name__}"
    return type(reference).__name__


def check_prior(prior: object, *, with_rows: bool) -> PriorOption | None:
    """Return the argument `prior`: a prevalence, "estimate", or None."""
    if prior is None:
        return None
    if not isinstance(prior, str):
        return check_share(prior, "prior")
    if prior != "estimate":
        raise ValueError(
            'prior must be a prevalence strictly between 0 and 1, or "estimate", not '
            f"{shown(prior)}"
        )
    if not with_rows:
        raise ValueError(
            'prior="estimate" compares the scores with those of labelled rows: pass '
            "reference=(y, p); a Calibrator alone does not keep them"
        )
    return "estimate"


def calibrated_scores(
    calibrator: Calibrator, scores: Floats, *, logits: bool
) -> Floats:
    """Return scores on the same scale after a calibrator; log-odds keep their tails."""
    return calibrator._map_scores(scores, logits=logits)


# Decisions by a calibrator that are still held, by the id of their labels
_CALIBRATED: WeakValueDictionary[int, Any] = WeakValueDictionary()


class CalibratorAtPrior(NamedTuple):
    """Calibrator for a prevalence, the estimate of it if there is one, and notes."""

    calibrator: Calibrator | None
    prevalence: EstimatedPrevalence | None
    notes: tuple[str, ...]


def calibrator_at_prior(
    prior: PriorOption | None,
    fitted: FittedReference,
    layout: Layout,
    *,
    logits: bool,
    coverage: float = 0.9,
) -> CalibratorAtPrior:
    """Return the calibrator under which the mean of the scores is the prior.

    Without a prior it is the calibrator as it was fitted, and a warning and a note say
    where the scores moved since. Where scores of the reference look as after sampling,
    others say so, unless the prevalence is known.
    """
    calibrator, rows = fitted
    n = int(layout.sizes.sum())
    notes: tuple[str, ...] = ()
    if prior is None and (calibrator is None or rows is None):
        return CalibratorAtPrior(calibrator, None, ())
    if rows is not None and prior in (None, "estimate"):
        from argmetric._calibrate.prevalence import estimate_prevalence, shift_note
        from argmetric._calibrate.prior import warn_of_resampling
        from argmetric._calibrate.reference import Reference

        assert calibrator is not None  # it was fitted on the rows
        if isinstance(rows, Reference):
            notes = tuple(filter(None, [warn_of_resampling(rows)]))
        scores = layout.scores
        if rows.logits != logits:  # of a rule, which may know the other scale
            scores = expit(scores) if logits else logit(scores)
        if prior == "estimate":
            shift, estimate = estimate_prevalence(calibrator, rows, scores, n, coverage)
            return CalibratorAtPrior(calibrator.then(shift), estimate, notes)
        note = shift_note(calibrator, rows, scores, n, _unit_numbers(layout))
        if note is not None:
            warn_user(note)
            notes = (note, *notes)
        return CalibratorAtPrior(calibrator, None, notes)
    assert isinstance(prior, float)  # `check_prior` asks for a reference otherwise
    from argmetric._calibrate.prior import shift_to_prevalence

    scores = layout.scores
    if calibrator is not None:
        scores = calibrator._map_scores(scores, logits=logits)
    last: Calibrator = shift_to_prevalence(scores, prior, n, logits=logits)
    chain = last if calibrator is None else calibrator.then(last)
    return CalibratorAtPrior(chain, None, ())


def _unit_numbers(layout: Layout) -> Integers | None:
    """Return the group, or matrix row, of every item; None without either."""
    if layout.coded is not None:
        return layout.coded.codes
    if len(layout.shape) == 1 or layout.sparse:
        return None
    rows, columns = layout.shape
    row = np.repeat(np.arange(rows), columns).reshape(layout.shape)
    return np.asarray(layout.select(row))


def recalibrate_layout(
    layout: Layout, calibrator: Calibrator, *, logits: bool
) -> Layout:
    """Return a layout with calibrated scores in place of its own.

    Only explicit items are calibrated: an absent cell stays a certain negative. Steps
    make ties, in which the higher score before the calibration goes first.
    """
    scores = calibrator._map_scores(layout.scores, logits=logits)
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


def remember_decision(decision: WithLabels) -> None:
    """Remember a decision, so that `warn_of_lost_calibrator` knows its labels."""
    _CALIBRATED[id(decision.labels)] = decision


def warn_of_lost_calibrator(p: ArrayLike, labels: object) -> None:
    """Warn of labels that were decided with a calibrator, now used without it.

    Known are the very labels of a decision that is still held: a copy of them is not.
    """
    decision = _CALIBRATED.get(id(labels))
    if decision is None or decision.labels is not labels:
        return
    own = decision._asked["p"]
    same = p is own
    if not same and not is_sparse(p):
        same = np.array_equal(to_numpy(p, "p"), to_numpy(own, "p"))
    if same:
        warn_user(
            "these labels were decided with recalibrated probabilities, and the "
            "forecast takes p as it stands: call forecast() of the decision, or pass "
            "the same reference"
        )


def calibration_note(calibrator: Calibrator) -> str:
    return f"probabilities recalibrated by {calibrator.summary}"
