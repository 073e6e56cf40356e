"""Class probabilities as they come in, and maps to labels and to shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, FunctionCalibrator
from argmetric._calibrate.resolve import as_calibrator, is_pair
from argmetric._ground.arguments import check_choice, check_flag, shown
from argmetric._ground.display import Lines
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.label_words import list_labels
from argmetric._ground.types import ArrayLike, ClassNames, Floats, Integers, SharesLike
from argmetric._ground.validation import warn_of_scale
from argmetric.classes._calibrators import (
    SHOWN,
    ClassFunctionMap,
    ClassMap,
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
    check_shares,
    class_codes,
    class_names,
)
from argmetric.metrics import ClassMetric, MetricLike, get_class_metric

METHODS = ("matrix", "temperature")
ROUNDS = 2000  # most of them, of estimated shares
SETTLED = 1e-10  # change of a share at which rounds end


def at_shares(p: Floats, shares: Floats) -> Floats:
    """Rows proportional to p times a factor per class; means are the shares."""
    if (p.sum(axis=0)[shares > 0.0] == 0.0).any():
        raise ValueError("prior gives a share to a class that has p = 0 in every row")
    factor = np.where(shares > 0.0, 1.0, 0.0)
    for _ in range(ROUNDS):
        moved = p * factor
        total = moved.sum(axis=1, keepdims=True)
        if (total == 0.0).any():
            row = int(np.argmin(total))
            raise ValueError(f"row {row} has probability only in classes of share 0")
        moved /= total
        mean = moved.mean(axis=0)
        if np.abs(mean - shares).max() < SETTLED:
            break
        factor = factor * np.where(shares > 0.0, shares / np.maximum(mean, 1e-300), 0.0)
        factor /= factor.max()
    return np.asarray(moved)


def estimated_shares(p: Floats, reference: Floats) -> Floats:
    """The likeliest shares, if every class still looks as it did in the reference.

    Expectation and maximisation (Saerens et al. 2002): p was right at the shares of the
    reference; each round takes the mean of p at the shares of the round before. A class
    without rows in the reference counts as frequent there as p says.
    """
    shares = p.mean(axis=0)
    safe = np.where(reference > 0.0, reference, np.maximum(shares, 1e-300))
    for _ in range(ROUNDS):
        moved = p * (shares / safe)
        moved /= moved.sum(axis=1, keepdims=True)
        found = moved.mean(axis=0)
        done = np.abs(found - shares).max() < SETTLED
        shares = found
        if done:
            break
    return np.asarray(shares)


@dataclass(frozen=True, repr=False, eq=False)
class ClassPriorShift(ClassMap):
    """Rows proportional to p times π'/π of each class, Bayes' rule for new shares π'.

    `n` is the number of unlabelled rows that π' was found on; 0 where it was known.
    """

    shares: Floats  # π', which holds now
    reference_shares: Floats  # π, where the probabilities were calibrated
    classes: tuple[Any, ...] | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "class_prior_shift"

    def _check(self) -> None:
        for name in ("shares", "reference_shares"):
            value = finite_array(getattr(self, name), name, (np.size(self.shares),))
            object.__setattr__(self, name, value)
        if (self.shares < 0.0).any() or (self.reference_shares <= 0.0).any():
            raise ValueError("shares must be 0 or more, reference shares more than 0")
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))

    def _map(self, x: Floats) -> Floats:
        check_class_columns(x, self.shares.size)
        with np.errstate(divide="ignore"):
            moved = x + np.log(self.shares / self.reference_shares)
        if np.isneginf(moved.max(axis=1)).any():
            row = int(np.argmin(moved.max(axis=1)))
            raise ValueError(f"row {row} has probability only in classes of share 0")
        return log_softmax(moved)

    @property
    def summary(self) -> str:
        found = f", found on {self.n:,} unlabelled rows" if self.n else ""
        return f"a prior shift of {self.shares.size} classes{found}"

    @property
    def formula(self) -> str:
        return f"p' ∝ p · new share / old share, {self.shares.size} classes"

    def _source(self) -> Lines:
        names = range(self.shares.size) if self.classes is None else self.classes
        rows = list(zip(names, self.reference_shares, self.shares, strict=True))
        words = [f"{name} {old:.3g} → {new:.3g}" for name, old, new in rows[:SHOWN]]
        more = ", ..." if len(rows) > SHOWN else ""
        how = f"found on {self.n:,} unlabelled rows" if self.n else "known"
        return [("shares", ", ".join(words) + more), ("new shares", how)]


def calibrate(
    y: ArrayLike,
    p: ArrayLike,
    method: Literal["matrix", "temperature"] | None = None,
    *,
    classes: ClassNames | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
) -> Calibrator:
    """Fit a map that recalibrates class probabilities, on labelled rows.

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
        Its `draws` are other maps that fit these labels; that of a matrix has the
        `shares` of the classes among them.

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
    """Correct calibrated class probabilities for shares that have changed.

    It is assumed that only the shares of the classes changed, not what their rows look
    like. `prior=` of `decide` and `forecast` does something else: it moves the
    probabilities until the mean of the given rows equals the shares.

    Parameters
    ----------
    p : array-like or frame
        Class probabilities of the rows at hand, calibrated for the old shares.
    prevalence : sequence, dict or "estimate", optional
        The share of every class that holds now; by default the shares that make `p`
        most likely, by the EM iteration of Saerens et al. (2002).
    reference_prevalence : sequence or dict
        The share of every class where `p` was calibrated.
    classes : sequence, optional
        The class of each column, as for `decide`.
    logits : bool, default=False
        Whether `p` holds scores before the softmax.

    Returns
    -------
    Calibrator
        `apply` corrects probabilities; `shares` is what was found.

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
    old = check_shares(reference_prevalence, names, "reference_prevalence")
    if (old == 0.0).any():
        raise ValueError(
            f"reference_prevalence is 0 for the class {shown(names[int(old.argmin())])}"
            ": p cannot have been calibrated on it; give it a small share"
        )
    if prevalence is not None and not isinstance(prevalence, str):
        new = check_shares(prevalence, names, "prevalence")
        return ClassPriorShift(new, old, classes=names)
    if prevalence not in (None, "estimate"):
        raise ValueError(
            'prevalence must be a share for each class, or "estimate", not '
            f"{shown(prevalence)}"
        )
    if scores.shape[0] == 0:
        raise ValueError("p is empty: no prevalence can be found from it")
    found = estimated_shares(np.exp(log_softmax(scores)) if logits else scores, old)
    return ClassPriorShift(found, old, classes=names, n=scores.shape[0])


@dataclass(frozen=True)
class ClassBatch:
    """Rows that are to be decided or forecast together."""

    p: Floats  # probabilities after the map, in the order of the input
    classes: tuple[Any, ...]  # the class of each column
    groups: Groups | None  # which rows belong together
    calibrator: Any = None  # the map that p went through
    notes: tuple[str, ...] = ()  # what was done to p
    # gives the probabilities that another map in place of the calibrator makes
    through: Callable[[Any], Floats] | None = None
    # the reference, where forecasts learn from it what labels like these hit, and the
    # column of the largest score of each row before the calibrator
    labelled: LabelledRows | None = None
    most_probable: Integers | None = None

    def alternatives(self) -> Iterator[Floats]:
        """The probabilities under other maps that fit the reference as well."""
        if self.through is not None:
            yield from map(self.through, self.calibrator.alternatives)

    def rows(self) -> GroupRows:
        """Rows of a group side by side, without limits."""
        p, starts = self.p, np.array([0, self.p.shape[0]])
        if self.groups is not None:
            starts = np.asarray(self.groups.indptr, dtype=np.int64)
            order = self.groups.rows
            p = p if order is None else p[order]
        shape = starts.size - 1, p.shape[1]
        none = np.full(shape, np.inf)
        return GroupRows(np.ascontiguousarray(p), starts, none, -none)

    def in_order(self, values: Integers) -> Integers:
        """Values of grouped rows, in the order of the input."""
        if self.groups is None or self.groups.rows is None:
            return values
        result = np.empty_like(values)
        result[self.groups.rows] = values
        return result

    def grouped(self, values: Integers) -> Integers:
        """Values in the order of the input, as `rows` has them."""
        if self.groups is None or self.groups.rows is None:
            return values
        return np.asarray(values[self.groups.rows])


def read_batch(
    p: Any,
    *,
    classes: Any = None,
    groups: Any = None,
    logits: bool = False,
    reference: Any = None,
    prior: Any = None,
) -> ClassBatch:
    """Check class probabilities and bring them to what is known of them."""
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    names = class_names(p, scores.shape[1], classes)
    coded = None if groups is None else code_groups(groups, scores.shape[0])
    if reference is None:
        if logits:
            scores = np.exp(log_softmax(scores))
        if prior is None:
            return ClassBatch(scores, names, coded)
        moved, note = _at_shares(scores, prior, names, None)
        return ClassBatch(moved, names, coded, notes=(note,))
    labelled = shares = None
    if is_pair(reference):
        labelled = fit_reference(reference, names, logits=logits)
        shares = np.bincount(labelled.code, minlength=len(names)) / labelled.code.size
        found: Calibrator | None = labelled.calibrator
    else:
        found, _ = resolve_map(reference, names, logits=logits)
    notes = ["p was recalibrated first"]
    mapped = _mapped(found, scores, logits)
    if prior is None:

        def through(one: Any) -> Floats:
            return _mapped(one, scores, logits)

    else:
        mapped, note = _at_shares(mapped, prior, names, shares)
        notes.append(note)

        def through(one: Any) -> Floats:
            return _at_shares(_mapped(one, scores, logits), prior, names, shares)[0]

    if prior is not None or len(names) > MOST_CLASSES_WITH_MATRIX:
        labelled = None
    if labelled is not None:
        notes[0] += "; expected scores take it as exact, forecasts do not"
    most_probable = np.asarray(scores.argmax(axis=1))
    return ClassBatch(
        mapped, names, coded, found, tuple(notes), through, labelled, most_probable
    )


def resolve_map(
    reference: Any, names: tuple[Any, ...], *, logits: bool = False
) -> tuple[Calibrator | None, Integers | None]:
    """The map that is meant, and the columns of the labels that it was fitted on."""
    if reference is None:
        return None, None
    if is_pair(reference):
        labelled = fit_reference(reference, names, logits=logits)
        return labelled.calibrator, labelled.code
    found = as_calibrator(reference)
    if isinstance(found, FunctionCalibrator) and not isinstance(reference, Calibrator):
        found = ClassFunctionMap(found.function)
    if not found.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probability of one class: with several classes "
            "pass one that argmetric.classes.calibrate(y, p) made"
        )
    of_map = getattr(found.parts[0], "classes", None)
    if of_map is not None and names != of_map:
        raise ValueError(
            f"the calibrator was fitted to the classes {list_labels(of_map)}, not to "
            f"{list_labels(names)}: they must be the same, in the same order"
        )
    return found, None


def read_call(
    p: Any,
    metric: MetricLike | None,
    *,
    average: Any = None,
    zero_division: float | None = None,
    cost: Any = None,
    **how: Any,
) -> tuple[ClassBatch, ClassMetric]:
    """The rows and the metric of a call; `how` is for `read_batch`."""
    batch = read_batch(p, **how)
    found = get_class_metric(
        metric,
        average=average,
        zero_division=zero_division,
        cost=cost,
        n_classes=len(batch.classes),
    )
    return batch, found


def _at_shares(
    p: Floats, prior: Any, names: tuple[Any, ...], reference: Floats | None
) -> tuple[Floats, str]:
    """Probabilities whose classes have the shares that are known or estimated."""
    if isinstance(prior, str):
        if prior != "estimate":
            raise ValueError(
                'prior must be a share for each class, or "estimate", not '
                f"{shown(prior)}"
            )
        if reference is None:
            raise ValueError(
                'prior="estimate" compares p with labelled rows: pass reference=(y, p)'
            )
        shares = estimated_shares(p, reference)
        moved = p * np.where(reference > 0, shares / np.maximum(reference, 1e-12), 1.0)
        moved /= moved.sum(axis=1, keepdims=True)
    else:
        shares = check_shares(prior, names, "prior")
        moved = at_shares(p, shares)
    pairs = zip(names[:8], shares, strict=False)
    listing = ", ".join(f"{name} {share:.3g}" for name, share in pairs)
    return moved, f"shares of the classes: {listing}"


def _mapped(found: Any, scores: Floats, logits: bool) -> Floats:
    return check_class_probabilities(found.apply(scores, logits=logits), "calibrated p")
