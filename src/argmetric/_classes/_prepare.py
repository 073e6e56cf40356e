"""Class probabilities as they come in: checked, recalibrated, sorted by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._classes._climb import Rows
from argmetric._input.arguments import check_flag, shown
from argmetric._input.classes import (
    check_class_probabilities,
    check_shares,
    class_names,
)
from argmetric._input.groups import Groups, code_groups
from argmetric._input.label_words import listed
from argmetric._input.labels import (
    label_array,
    missing_labels,
    one_per_row,
    plain_label,
)
from argmetric._input.types import AnyArray, Floats, Integers
from argmetric._input.validation import check_length
from argmetric.metrics import ClassMetric, MetricLike, get_class_metric


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

    def alternatives(self) -> Iterator[Floats]:
        """The probabilities under other maps that fit the reference as well."""
        if self.through is not None:
            yield from map(self.through, self.calibrator.alternatives)

    def rows(self) -> Rows:
        """Rows of a group side by side, without limits."""
        p, starts = self.p, np.array([0, self.p.shape[0]])
        if self.groups is not None:
            starts = np.asarray(self.groups.indptr, dtype=np.int64)
            order = self.groups.rows
            p = p if order is None else p[order]
        shape = starts.size - 1, p.shape[1]
        none = np.full(shape, np.inf)
        return Rows(np.ascontiguousarray(p), starts, none, -none)

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
    calibrator: Any = None,
    reference: Any = None,
    prior: Any = None,
) -> ClassBatch:
    """Check class probabilities and bring them to what is known of them.

    Parameters are those of `decide` with `one_label=True`.
    """
    logits = check_flag(logits, "logits")
    scores = check_class_probabilities(p, logits=logits)
    names = class_names(p, scores.shape[1], classes)
    coded = None if groups is None else code_groups(groups, scores.shape[0])
    if calibrator is None and reference is None:
        if logits:
            from argmetric._calibrate.class_maps import log_softmax

            scores = np.exp(log_softmax(scores))
        if prior is None:
            return ClassBatch(scores, names, coded)
        moved, note = _at_shares(scores, prior, names, None)
        return ClassBatch(moved, names, coded, notes=(note,))
    from argmetric._calibrate.resolve import resolve_class_reference

    fitted = resolve_class_reference(calibrator, reference, names, logits=logits)
    found, shares = fitted.calibrator, None
    if fitted.code is not None:
        shares = np.bincount(fitted.code, minlength=len(names)) / fitted.code.size
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

    return ClassBatch(mapped, names, coded, found, tuple(notes), through)


def read_call(
    p: Any,
    metric: MetricLike,
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
    from argmetric._calibrate.class_shares import at_shares, estimated_shares

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


def codes_of(
    labels: Any, classes: tuple[Any, ...], n: int, name: str, *, partial: bool = False
) -> Integers:
    """The column of every label; -1 for a missing one where `partial`."""
    array = one_per_row(label_array(labels, name), name)
    check_length(array, name, n)
    missing = missing_labels(array)
    if missing.any() and not partial:
        raise ValueError(f"{name} is missing in row {int(np.argmax(missing))}")
    place = {one: i for i, one in enumerate(classes)}
    found, code = _distinct(array[~missing])
    columns: list[int] = []
    for value in found:
        label = plain_label(value)
        if isinstance(label, float) and label.is_integer() and label not in place:
            label = int(label)
        if label not in place:
            row = int(np.flatnonzero(~missing)[np.argmax(code == len(columns))])
            raise ValueError(
                f"{name} has the label {shown(label)} in row {row}, which is not among "
                f"the classes ({listed(classes)})"
            )
        columns.append(place[label])
    result = np.full(n, -1, dtype=np.int64)
    if columns:
        result[~missing] = np.array(columns, dtype=np.int64)[code]
    return result


def _distinct(array: AnyArray) -> tuple[list[Any], Integers]:
    """Labels of any kinds, each once, and the number of each row's."""
    if array.dtype.kind != "O":
        values, code = np.unique(array, return_inverse=True)
        return values.tolist(), np.asarray(code, dtype=np.int64)
    numbers: dict[Any, int] = {}
    rows = [numbers.setdefault(plain_label(one), len(numbers)) for one in array]
    return list(numbers), np.array(rows, dtype=np.int64)


def named(codes: Integers, classes: tuple[Any, ...]) -> AnyArray:
    """Labels in the user's names."""
    if len({type(one) for one in classes}) == 1:
        return np.array(classes)[codes]
    return np.fromiter(classes, dtype=object, count=len(classes))[codes]
