"""Class probabilities as they come in: checked, recalibrated, sorted by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._calibrate.calibrator import Calibrator, FunctionMap
from argmetric._calibrate.resolve import as_calibrator, is_pair
from argmetric._ground.arguments import check_flag, shown
from argmetric._ground.groups import Groups, code_groups
from argmetric._ground.label_words import listed
from argmetric._ground.types import Floats, Integers
from argmetric._ground.validation import warn_of_scale
from argmetric.classes._calibrate import at_shares, estimated_shares
from argmetric.classes._climb import GroupRows
from argmetric.classes._fit import fit_class_matrix
from argmetric.classes._input import (
    check_class_probabilities,
    check_shares,
    class_codes,
    class_names,
)
from argmetric.classes._maps import ClassFunctionMap, log_softmax
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
    """Check class probabilities and bring them to what is known of them.

    Parameters are those of `decide`.
    """
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
    found, code = resolve_map(reference, names, logits=logits)
    shares = None
    if code is not None:
        shares = np.bincount(code, minlength=len(names)) / code.size
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


def resolve_map(
    reference: Any, names: tuple[Any, ...], *, logits: bool = False
) -> tuple[Calibrator | None, Integers | None]:
    """The map that is meant, and the columns of the labels that it was fitted on."""
    if reference is None:
        return None, None
    if is_pair(reference):
        y, p = reference
        name = "the p of reference=(y, p)"
        scores = check_class_probabilities(p, name, logits=logits)
        if scores.size == 0:
            raise ValueError("the reference is empty: there is nothing to calibrate on")
        warn_of_scale(scores, logits=logits)
        given = list(names)
        code, known = class_codes(y, p, scores, given, several=True, numbered=True)
        return fit_class_matrix(code, scores, logits=logits, classes=known), code
    found = as_calibrator(reference)
    if isinstance(found, FunctionMap) and not isinstance(reference, Calibrator):
        found = ClassFunctionMap(found.function)
    if not found.parts[0]._of_classes:
        raise ValueError(
            "this calibrator is for the probability of one class: with several classes "
            "pass one that argmetric.classes.calibrate(y, p) made"
        )
    of_map = getattr(found.parts[0], "classes", None)
    if of_map is not None and names != of_map:
        raise ValueError(
            f"the calibrator was fitted to the classes {listed(of_map)}, not to "
            f"{listed(names)}: they must be the same, in the same order"
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
