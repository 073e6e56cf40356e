"""Class probabilities as they come in, calibrated on labels or for new prevalences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, FunctionCalibrator
from argmetric._calibrate.resolve import as_calibrator, is_pair
from argmetric._ground.arguments import check_choice, check_flag, refuses, shown
from argmetric._ground.display import Lines
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.label_words import list_labels
from argmetric._ground.types import (
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    ReferenceLike,
    SharesLike,
)
from argmetric._ground.validation import warn_of_scale
from argmetric.classes._calibrators import (
    SHOWN,
    ClassCalibrator,
    ClassFunctionCalibrator,
    check_class_columns,
    finite_array,
    log_softmax,
)
from argmetric.classes._climb import GroupRows
from argmetric.classes._fit import (
    MOST_CLASSES_WITH_MATRIX,
    fit_class_matrix,
    fit_class_temperature,
)
from argmetric.classes._held_out import LabelledRows, fit_reference
from argmetric.classes._input import (
    check_class_probabilities,
    check_prevalences,
    class_codes,
    class_names,
    first_texts,
)
from argmetric.classes._means import MeanScores, read_means, require_scores
from argmetric.metrics import (
    ClassAverage,
    ClassMetric,
    MetricLike,
    check_order,
    get_class_metric,
)

METHODS = ("matrix", "temperature")
ROUNDS = 2000  # most of them, of estimated prevalences
SETTLED = 1e-10  # change of a prevalence at which rounds end


def at_prevalences(p: Floats, prevalences: Floats) -> Floats:
    """Return rows proportional to p times a factor per class, of these means.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    prevalences : ndarray of shape (n_classes,)
        They sum to 1.
    """
    if (p.sum(axis=0)[prevalences > 0.0] == 0.0).any():
        raise ValueError(
            "prior gives a prevalence to a class that has p = 0 in every row"
        )
    factor = np.where(prevalences > 0.0, 1.0, 0.0)
    for _ in range(ROUNDS):
        moved = p * factor
        total = moved.sum(axis=1, keepdims=True)
        if (total == 0.0).any():
            row = int(np.argmin(total))
            raise ValueError(_ONLY_ABSENT.format(row))
        moved /= total
        mean = moved.mean(axis=0)
        if np.abs(mean - prevalences).max() < SETTLED:
            break
        rise = prevalences / np.maximum(mean, 1e-300)
        factor = factor * np.where(prevalences > 0.0, rise, 0.0)
        factor /= factor.max()
    return np.asarray(moved)


def estimate_prevalences(p: Floats, reference: Floats) -> Floats:
    """Return the likeliest prevalences, if classes look as they did in the reference.

    Expectation and maximisation (Saerens et al. 2002): p was right at the prevalences
    of the reference; each round takes the mean of p at those of the round before. A
    class without rows in the reference counts as frequent there as p says.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    reference : ndarray of shape (n_classes,)
        Prevalences where p was calibrated.
    """
    now = p.mean(axis=0)
    safe = np.where(reference > 0.0, reference, np.maximum(now, 1e-300))
    for _ in range(ROUNDS):
        moved = p * (now / safe)
        moved /= moved.sum(axis=1, keepdims=True)
        before, now = now, moved.mean(axis=0)
        if np.abs(now - before).max() < SETTLED:
            break
    return np.asarray(now)


_ONLY_ABSENT = "row {} has probability only in classes of prevalence 0"


@dataclass(frozen=True, repr=False, eq=False)
class ClassPriorShift(ClassCalibrator):
    """Correct p for new prevalences π' by Bayes' rule: rows proportional to p·π'/π.

    `n` is the number of unlabelled rows from which π' was estimated; 0 if it was known.
    """

    prevalences: Floats  # π', which hold now
    reference_prevalences: Floats  # π, where the probabilities were calibrated
    classes: ClassTuple | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "class_prior_shift"

    def _check(self) -> None:
        """Check the prevalences, and keep them as arrays."""
        size = (np.size(self.prevalences),)
        for name in ("prevalences", "reference_prevalences"):
            value = finite_array(getattr(self, name), name, size)
            object.__setattr__(self, name, value)
        if (self.prevalences < 0.0).any() or (self.reference_prevalences <= 0.0).any():
            raise ValueError(
                "prevalences must be 0 or more, reference prevalences more than 0"
            )
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))

    def _map(self, x: Floats) -> Floats:
        """Return log-probabilities x + log(π'/π), normalised to sum to 1 in each row.

        x : ndarray of shape (n_rows, n_classes)
        """
        check_class_columns(x, self.prevalences.size)
        with np.errstate(divide="ignore"):
            moved = x + np.log(self.prevalences / self.reference_prevalences)
        if np.isneginf(moved.max(axis=1)).any():
            raise ValueError(_ONLY_ABSENT.format(int(np.argmin(moved.max(axis=1)))))
        return log_softmax(moved)

    @property
    def summary(self) -> str:
        found = f", found on {self.n:,} unlabelled rows" if self.n else ""
        return f"a prior shift of {self.prevalences.size} classes{found}"

    @property
    def formula(self) -> str:
        return f"p' ∝ p · new / old prevalence, {self.prevalences.size} classes"

    def _source(self) -> Lines:
        names = range(self.prevalences.size) if self.classes is None else self.classes
        pairs = self.reference_prevalences, self.prevalences
        rows = zip(names, *pairs, strict=True)
        words = [f"{name} {old:.3g} → {new:.3g}" for name, old, new in rows]
        how = f"found on {self.n:,} unlabelled rows" if self.n else "known"
        return [
            ("prevalences", first_texts(words, SHOWN)),
            ("new prevalences", how),
        ]


@refuses("mean")
def calibrate(
    y: ArrayLike,
    p: ArrayLike,
    method: Literal["matrix", "temperature"] | None = None,
    *,
    classes: ClassNames | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
) -> Calibrator:
    """Fit a calibrator of class probabilities to labelled rows.

    The model that gave the scores must not have been trained on these rows.

    Parameters
    ----------
    y : array-like
        The class of each row.
    p : array-like or frame
        Class probabilities, one column per class; rows sum to 1.
    method : {"matrix", "temperature"}, optional
        "matrix", the default: a slope, a bias for each class and weights between
        classes, all pulled towards no change (no weights above 60 classes).
        "temperature": slope only.
    classes : sequence, optional
        The class of each column; needed where a class does not occur in `y`. By default
        the names of the columns, where these are the classes, or else the sorted
        labels.
    sample_weight : array-like, optional
        Weights of the rows.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.

    Returns
    -------
    Calibrator
        Its `draws` are other calibrators that fit these labels; that of a matrix has
        the `prevalences` of the classes among them.

    Examples
    --------
    >>> import argmetric as am
    >>> y = ["ant", "bee", "cow", "bee", "cow", "cow"]
    >>> P = [[0.6, 0.3, 0.1], [0.4, 0.5, 0.1], [0.2, 0.4, 0.4]] * 2
    >>> am.classes.calibrate(y, P).apply([[0.5, 0.3, 0.2]]).round(2)
    array([[0.37, 0.31, 0.33]])
    >>> len(am.classes.calibrate(y, P).alternatives)
    16
    """
    if method is not None:
        check_choice(method, "method", METHODS)
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    if scores.size == 0:
        raise ValueError("p is empty: there is nothing to calibrate on")
    warn_of_scale(scores, logits=logits)
    code, names = class_codes(y, p, scores, classes, several=True, numbered=True)
    if method == "temperature":
        return fit_class_temperature(code, scores, sample_weight, logits=logits)
    return fit_class_matrix(code, scores, sample_weight, logits=logits, classes=names)


def adjust_prior(
    p: ArrayLike,
    *,
    prevalence: SharesLike | None = None,
    reference_prevalence: SharesLike,
    classes: ClassNames | None = None,
    logits: bool = False,
) -> ClassPriorShift:
    """Correct calibrated class probabilities for prevalences that have changed.

    It is assumed that only the prevalences of the classes changed, not what their rows
    look like. `prior=` of `decide` and `forecast` does something else: it moves the
    probabilities until their mean over the rows equals the prevalences.

    Experimental: may change in any release.

    Parameters
    ----------
    p : array-like or frame
        Class probabilities of the rows at hand, calibrated for the old prevalences.
    prevalence : sequence, dict or "estimate", optional
        The prevalence of every class that holds now; by default those that make `p`
        most likely, by the EM iteration of Saerens et al. (2002).
    reference_prevalence : sequence or dict
        The prevalence of every class where `p` was calibrated.
    classes : sequence, optional
        The class of each column, as for `decide`.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.

    Returns
    -------
    Calibrator
        `apply` corrects probabilities; `prevalences` are the new ones.

    Examples
    --------
    >>> import argmetric as am
    >>> shift = am.classes.adjust_prior([[0.6, 0.3, 0.1]], prevalence=[0.2, 0.2, 0.6],
    ...                                 reference_prevalence=[0.5, 0.3, 0.2])
    >>> shift.apply([[0.6, 0.3, 0.1]]).round(3)
    array([[0.324, 0.27 , 0.405]])
    """
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    names = class_names(p, scores.shape[1], classes)
    old = check_prevalences(reference_prevalence, names, "reference_prevalence")
    if (old == 0.0).any():
        raise ValueError(
            f"reference_prevalence is 0 for the class {shown(names[int(old.argmin())])}"
            ": p cannot have been calibrated on it; give it a small prevalence"
        )
    if prevalence is not None and not isinstance(prevalence, str):
        new = check_prevalences(prevalence, names, "prevalence")
        return ClassPriorShift(new, old, classes=names)
    if prevalence is not None:
        _check_estimate(prevalence, "prevalence")
    if scores.shape[0] == 0:
        raise ValueError("p is empty: no prevalence can be found from it")
    p = np.exp(log_softmax(scores)) if logits else scores
    new = estimate_prevalences(p, old)
    return ClassPriorShift(new, old, classes=names, n=scores.shape[0])


def _check_estimate(value: str, name: str) -> None:
    """Refuse text other than "estimate" for prevalences."""
    if value != "estimate":
        raise ValueError(
            f'{name} must be a prevalence for each class, or "estimate", not '
            f"{shown(value)}"
        )


@dataclass(frozen=True)
class ClassBatch:
    """Rows that are to be decided or forecast together."""

    p: Floats  # calibrated probabilities, in the order of the input
    classes: ClassTuple  # the class of each column
    groups: Groups | None  # which rows belong together
    calibrator: Any = None  # what p was calibrated with
    notes: tuple[str, ...] = ()  # what was done to p
    # gives the probabilities by another calibrator
    recalibrate: Callable[[Any], Floats] | None = None
    # the reference, where forecasts learn from it what labels like these hit, and the
    # column of the largest score of each row before the calibrator
    labelled: LabelledRows | None = None
    most_probable: Integers | None = None
    means: MeanScores | None = None  # how p came from predicted means

    def alternatives(self) -> Iterator[Floats]:
        """Yield class probabilities by each alternative of the calibrator."""
        if self.recalibrate is not None:
            yield from map(self.recalibrate, self.calibrator.alternatives)

    def rows(self) -> GroupRows:
        """Return the rows of a group side by side, without limits."""
        p, starts = self.p, np.array([0, self.p.shape[0]])
        if self.groups is not None:
            starts = np.asarray(self.groups.indptr, dtype=np.int64)
            order = self.groups.rows
            p = p if order is None else p[order]
        shape = starts.size - 1, p.shape[1]
        none = np.full(shape, np.inf)
        return GroupRows(np.ascontiguousarray(p), starts, none, -none)

    def in_order(self, values: Integers) -> Integers:
        """Return values (n_rows,) of grouped rows in the order of the input."""
        if self.groups is None or self.groups.rows is None:
            return values
        result = np.empty_like(values)
        result[self.groups.rows] = values
        return result

    def by_group(self, values: Integers) -> Integers:
        """Return values in the order that `rows` has, of shape (n_rows,)."""
        if self.groups is None or self.groups.rows is None:
            return values
        return np.asarray(values[self.groups.rows])


def read_batch(
    p: ArrayLike,
    *,
    classes: ClassNames | None = None,
    groups: ArrayLike | Groups | None = None,
    logits: bool = False,
    reference: ReferenceLike | None = None,
    prior: SharesLike | str | None = None,
) -> ClassBatch:
    """Check class probabilities, and calibrate them on what is known of them."""
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    names = class_names(p, scores.shape[1], classes)
    coded = None if groups is None else code_groups(groups, scores.shape[0])
    if reference is None:
        if logits:
            scores = np.exp(log_softmax(scores))
        if prior is None:
            return ClassBatch(scores, names, coded)
        moved, note = _with_prior(scores, prior, names, None)
        return ClassBatch(moved, names, coded, notes=(note,))
    labelled = prevalences = None
    if is_pair(reference):
        labelled = fit_reference(reference, names, logits=logits)
        counts = np.bincount(labelled.code, minlength=len(names))
        prevalences = counts / labelled.code.size
        calibrator: Calibrator | None = labelled.calibrator
    else:
        calibrator, _ = resolve_calibrator(reference, names, logits=logits)

    def apply(one: Any) -> tuple[Floats, list[str]]:
        """Return class probabilities by one calibrator, at the prior; and notes."""
        q = one.apply(scores, logits=logits)
        q = check_class_probabilities(q, "calibrated p")
        if prior is None:
            return q, []
        q, note = _with_prior(q, prior, names, prevalences)
        return q, [note]

    q, prior_notes = apply(calibrator)
    notes = ["p was recalibrated first", *prior_notes]
    if prior is not None or len(names) > MOST_CLASSES_WITH_MATRIX:
        labelled = None
    if labelled is not None:
        notes[0] += "; expected scores take it as exact, forecasts do not"
    return ClassBatch(
        q,
        names,
        coded,
        calibrator,
        tuple(notes),
        recalibrate=lambda one: apply(one)[0],
        labelled=labelled,
        most_probable=np.asarray(scores.argmax(axis=1)),
    )


def resolve_calibrator(
    reference: ReferenceLike | None, names: ClassTuple, *, logits: bool = False
) -> tuple[Calibrator | None, Integers | None]:
    """Return the calibrator of a reference, and the columns of its labels.

    Parameters
    ----------
    reference : None, pair (y, p), Calibrator or callable
    names : tuple
        The class of each column.
    logits : bool, default=False
        Whether the p of the pair are scores before the softmax.

    Returns
    -------
    calibrator : Calibrator or None
    code : ndarray of shape (n_labelled,) or None
        Column of the label of each row of a pair.
    """
    if reference is None:
        return None, None
    if is_pair(reference):
        labelled = fit_reference(reference, names, logits=logits)
        return labelled.calibrator, labelled.code
    calibrator = as_calibrator(reference)
    if isinstance(calibrator, FunctionCalibrator) and not isinstance(
        reference, Calibrator
    ):
        calibrator = ClassFunctionCalibrator(calibrator.function)
    if not calibrator.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probability of one class: with several classes "
            "pass one that argmetric.classes.calibrate(y, p) made"
        )
    classes = getattr(calibrator.parts[0], "classes", None)
    if classes is not None and names != classes:
        raise ValueError(
            f"the calibrator was fitted to the classes {list_labels(classes)}, not to "
            f"{list_labels(names)}: they must be the same, in the same order"
        )
    return calibrator, None


def read_call(
    verb: str,
    p: ArrayLike | None,
    metric: MetricLike | None,
    *,
    mean: ArrayLike | None,
    average: ClassAverage | None,
    zero_division: float | None,
    cost: ArrayLike | None,
    **how: Any,
) -> tuple[ClassBatch, ClassMetric]:
    """Return the rows and the metric of a call; `how` is for `read_batch`."""
    given, means = require_scores(verb, p, mean), None
    if mean is not None:
        known = (how[name] for name in ("reference", "classes"))
        call = read_means(p, mean, *known, logits=how["logits"])
        given, means = call.p, call.scores
        how |= {"reference": call.reference, "classes": call.classes}
    batch = replace(read_batch(given, **how), means=means)
    if how.get("classes") is None:
        check_order(metric, batch.classes)
    options: Any = {"average": average, "zero_division": zero_division, "cost": cost}
    return batch, get_class_metric(metric, n_classes=len(batch.classes), **options)


def _with_prior(
    p: Floats, prior: SharesLike | str, names: ClassTuple, reference: Floats | None
) -> tuple[Floats, str]:
    """Return probabilities with prevalences that are known or estimated, and a note.

    Parameters
    ----------
    p : ndarray of shape (n_rows, n_classes)
    prior : sequence, dict or "estimate"
    names : tuple
        The class of each column.
    reference : ndarray of shape (n_classes,) or None
        Prevalences in the reference.
    """
    if isinstance(prior, str):
        _check_estimate(prior, "prior")
        if reference is None:
            raise ValueError(
                'prior="estimate" compares p with labelled rows: pass reference=(y, p)'
            )
        new = estimate_prevalences(p, reference)
        moved = p * np.where(reference > 0, new / np.maximum(reference, 1e-12), 1.0)
        moved /= moved.sum(axis=1, keepdims=True)
    else:
        new = check_prevalences(prior, names, "prior")
        moved = at_prevalences(p, new)
    pairs = zip(names[:8], new, strict=False)
    listing = ", ".join(f"{name} {one:.3g}" for name, one in pairs)
    return moved, f"prevalences of the classes: {listing}"
