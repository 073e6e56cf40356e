"""Labels: which values are valid, and which of two classes is the positive one.

The one answer for functions, estimators, streams and files. The verdict depends on the
distinct labels alone (`classes_of`); every refusal has its words in `label_words`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argmetric._ground.arguments import (
    check_label,
    check_number,
    check_structure,
    is_real,
    is_sparse,
    is_tensor,
    shown,
)
from argmetric._ground.label_words import (
    Naming,
    absent,
    as_comparison,
    as_keyword,
    no_label,
    one_class,
    too_many,
    unclear,
)
from argmetric._ground.types import AnyArray, Booleans, Floats
from argmetric._ground.validation import is_frame_like, is_missing, place, to_numpy

# Pairs whose second label is the positive one, whoever wrote them.
USUAL_PAIRS = ((0, 1), (-1, 1))
# What takes one label per row beside a matrix, by what the labels are called
OF_SEVERAL_CLASSES = {
    "y": "argmetric.classes.calibrate or argmetric.classes.check",
    "labels": "argmetric.classes.forecast",
}
EVALUATE = "argmetric.classes.evaluate"


@dataclass(frozen=True)
class Classes:
    """Negative and positive class; `negative` is None if all labels are positive."""

    negative: Any
    positive: Any


def usual_pair(found: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return (0, 1), (False, True) or (-1, 1) if it has all labels, else None."""
    if found and all(isinstance(label, bool) for label in found):
        return False, True
    for pair in USUAL_PAIRS:
        if all(label in pair for label in found):
            return pair
    return None


def classes_of(
    found: Sequence[Any],
    name: str,
    pos_label: object = None,
    *,
    both: bool = False,
    where: Callable[[Any], str] | None = None,
    naming: Naming = as_keyword,
) -> Classes:
    """Return the negative and the positive class of distinct labels, or raise an error.

    `both` must be there to learn from; else a batch may lack the one of `pos_label`.
    `where` tells the place of a label, `naming` how messages name `pos_label`.
    """
    if pos_label is None:
        if len(found) > 2:
            raise too_many(found, name, hint=_odd_one(found, where))
        if both and len(found) == 1:
            raise one_class(found[0], name)
        pair = usual_pair(found)
        if pair is None:
            raise unclear(found, name, naming)
        return Classes(*pair)
    if isinstance(pos_label, np.floating):  # a short one overflows beside a long label
        pos_label = pos_label.item()
    others = [label for label in found if label != pos_label]
    is_there = len(others) < len(found)
    if not is_there:
        folded = {one.strip().lower() for one in found if isinstance(one, str)}
        # Alone, one that differs in case is rather a slip than a day without positives
        slip = isinstance(pos_label, str) and pos_label.strip().lower() in folded
        if len(found) > 1 or slip:
            raise absent(pos_label, found, name, naming)
    if len(found) > 2:
        raise too_many(found, name, pos_label)
    if both and len(found) == 1:
        raise one_class(found[0], name)
    positive = next((label for label in found if label == pos_label), pos_label)
    return Classes(others[0] if others else None, positive)


def _odd_one(found: Sequence[Any], where: Callable[[Any], str] | None) -> str:
    """Return the text for the place of the first label that is neither 0 nor 1."""
    if where is None or not (0 in found and 1 in found):
        return ""
    odd = next(label for label in found if label not in (0, 1))
    return f" ({shown(odd)} at {where(odd)})"


PLAIN_TYPES = frozenset({str, bytes, int, bool})


def label_array(values: Any, name: str = "y") -> AnyArray:
    """Return labels of any kind as an array; absent entries (sparse) are 0."""
    if is_sparse(values):
        check_structure(values, name)
        return np.asarray(values.toarray())
    array = to_numpy(values, name, "an array of labels")
    if array.dtype.kind in "US" and isinstance(values, list | tuple):
        # numpy makes text of all for one, and "nan" of what is missing
        array = np.array(values, dtype=object)
    if array.dtype.kind == "O":
        _refuse_unhashable(array, name)
    return array.astype(object) if array.dtype.kind == "T" else array


def _refuse_unhashable(array: AnyArray, name: str) -> None:
    """Refuse lists, sets and dicts in the place of labels."""
    flat = array.ravel()
    if all(kind.__hash__ is not None for kind in set(map(type, flat))):
        return
    i = next(i for i, label in enumerate(flat) if type(label).__hash__ is None)
    raise TypeError(f"{name} has no label at {place(i, array.shape)}: {shown(flat[i])}")


def one_per_row(array: AnyArray, name: str) -> AnyArray:
    """Return labels of one dimension; refuse a matrix and say what to do."""
    if array.ndim == 1:
        return array
    is_column = array.shape == (array.size, 1)
    way_out = f"; pass {name} as one column, np.ravel({name})" * is_column
    raise ValueError(
        f"{name} must hold one label for each row, not be of shape {array.shape}"
        f"{way_out}"
    )


def missing_labels(array: AnyArray) -> Booleans:
    """Return where a label is missing: nan, None and the like."""
    if array.dtype.kind in "fc":
        return np.asarray(np.isnan(array))
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    if array.dtype.kind == "O":
        flat = array.ravel()
        if not PLAIN_TYPES.issuperset(map(type, flat)):
            gaps = [is_missing(label) for label in flat]
            return np.array(gaps, dtype=bool).reshape(array.shape)
    return np.zeros(array.shape, dtype=bool)


def refuse_missing(array: AnyArray, name: str) -> None:
    """Refuse NaN, None and their like, with the row."""
    gaps = np.flatnonzero(missing_labels(array).ravel())
    if gaps.size:
        raise no_label(name, place(int(gaps[0]), array.shape))


def plain_label(value: object) -> Any:
    """Return a label as a Python value; an exact whole number as an int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


def distinct(array: AnyArray) -> list[Any]:
    """Return the distinct labels as Python values, sorted where they can be."""
    flat = array.ravel()
    if flat.size == 0:
        return []
    if flat.dtype.kind in "biuf":
        low, high = flat.min(), flat.max()
        if ((flat == low) | (flat == high)).all():
            return list(dict.fromkeys((plain_label(low), plain_label(high))))
        return [plain_label(value) for value in np.unique(flat)]
    found = {plain_label(value) for value in set(flat.tolist())}
    try:
        return sorted(found, key=lambda value: (type(value).__name__, value))
    except TypeError:  # objects of the user's own
        return list(dict.fromkeys(map(plain_label, flat.tolist())))


@dataclass(frozen=True)
class Labels:
    """Which rows are positive, and what the two classes are called."""

    positive: Booleans
    pos_label: Any
    neg_label: Any


def binary_labels(
    y: object,
    pos_label: object = None,
    *,
    name: str = "y",
    both: bool = False,
    shape: tuple[int, ...] | None = None,
    other: str = "p",
    naming: Naming = as_keyword,
) -> Labels:
    """Return labels of two classes, of any kind, in the shape of `other`."""
    _check_pos_label(pos_label, {name: y})
    array = _check_shape(label_array(y, name), name, shape, other)
    refuse_missing(array, name)
    found, where = distinct(array), _first_place(array)
    classes = classes_of(found, name, pos_label, both=both, where=where, naming=naming)
    positive = np.asarray(array == classes.positive, dtype=bool)
    return Labels(positive, classes.positive, classes.negative)


def clear_labels(
    y: object,
    name: str = "y",
    *,
    shape: tuple[int, ...] | None = None,
    other: str = "p",
) -> Booleans:
    """Return which labels are positive without a `pos_label`: 0/1 and the like."""
    naming = as_comparison(name)
    return binary_labels(y, name=name, shape=shape, other=other, naming=naming).positive


def read_together(
    pos_label: object = None,
    *,
    shape: tuple[int, ...] | None = None,
    other: str = "p",
    missing: str = "",
    **labels: object,
) -> list[Floats]:
    """Return the labels of several named arrays; the one named `missing` may have gaps.

    With `pos_label` it is all arrays together that hold two labels: one of them may
    well lack a class. Without, each is read for itself, 0/1 beside -1/1.
    """
    _check_pos_label(pos_label, labels)
    arrays, gaps, seen = {}, {}, {}
    for name, values in labels.items():
        array = _check_shape(label_array(values, name), name, shape, other)
        if name != missing:
            refuse_missing(array, name)
        arrays[name], gaps[name] = array, missing_labels(array)
        seen[name] = distinct(array[~gaps[name]])
        if shape is None:
            shape, other = array.shape, name
    together = None
    if pos_label is not None:
        union = list(dict.fromkeys(label for found in seen.values() for label in found))
        together = classes_of(union, " and ".join(labels), pos_label)
    read = []
    for name, array in arrays.items():
        where = _first_place(array)
        classes = together or classes_of(seen[name], name, where=where)
        numbers = np.full(array.shape, np.nan)
        there = ~gaps[name]
        numbers[there] = array[there] == classes.positive
        read.append(numbers)
    return read


def _refuse_other_rules(labels: object) -> None:
    """Refuse rules that do not label every row by its scores alone."""
    way = ""
    if hasattr(labels, "ask"):
        way = "it leaves rows to a person, and here every row needs a label. monitor "
        way += "takes it; of the rows that it decides pass rule.apply(p)"
    elif hasattr(labels, "apply") and hasattr(labels, "gap"):
        way = "pass the labels that it gives, rule.apply(p, groups)"
    if way:
        raise TypeError(f"labels is a {type(labels).__name__}: {way}")


def predicted_labels(
    labels: Any, p: Any = None, *, logits: bool = False
) -> tuple[Any, bool]:
    """Return predicted labels, and whether they are booleans for positive rows.

    Labels pass as they are. A decision has some; a rule or a threshold makes them of
    the scores `p`, log-odds if `logits`. The other labels may have names of their own.
    """
    if isinstance(labels, np.ndarray | list | tuple) or is_frame_like(labels):
        return labels, False
    if hasattr(labels, "labels") and hasattr(labels, "expected"):  # a decision
        return labels.labels, hasattr(labels, "n_positives")
    is_rule = hasattr(labels, "applies") or hasattr(labels, "predicts")
    _refuse_other_rules(labels)
    if not is_rule and (isinstance(labels, bool) or not is_real(labels)):
        return labels, False
    if p is None:
        kind, way = type(labels).__name__, "rule.predict(p)"
        if not is_rule:
            cut = check_number(labels, "labels", infinite=True)
            kind, way = f"the threshold {cut:g}", f"p >= {cut:g}"
        raise TypeError(f"labels is {kind}, and there are no scores here: pass {way}")
    if not is_rule:
        cut = check_threshold(labels, logits=logits)
        return (p if is_tensor(p) else label_array(p, "p")) >= cut, True
    if hasattr(labels, "predicts"):
        if logits:
            raise ValueError("a rule of classes takes probabilities, not logits")
        return labels.apply(p), False
    check_scale_of_rule(labels, logits=logits)
    return labels.applies(p), True


def scoring_metric(metric: object, labels: object) -> Any:
    """Return the metric: by default that of a rule or a decision, else "f1"."""
    if metric is not None:
        return metric
    own = None if is_frame_like(labels) else getattr(labels, "metric", None)
    return "f1" if own is None else own


def check_threshold(value: object, *, logits: bool) -> float:
    """Return `labels` that is a threshold; probabilities need one in [0, 1]."""
    cut = check_number(value, "labels")
    if not logits and not 0.0 <= cut <= 1.0:
        raise ValueError(
            f"labels is the threshold {cut:g}: probabilities need one from 0 to 1"
        )
    return cut


def check_scale_of_rule(rule: Any, *, logits: bool) -> None:
    """Refuse a rule that was tuned on other scores than `p` holds."""
    inside = all(one.probabilities for one in getattr(rule, "rules", (rule,)))
    if inside == logits:
        was, now = ("probabilities", "log-odds") if logits else ("scores", "p")
        raise ValueError(
            f"the rule was tuned on {was} and cannot label {now} of another scale: "
            f"pass logits={not logits} with the scores that it was tuned on"
        )


def read_predictions(
    labels: object,
    p: object,
    pos_label: object = None,
    *,
    logits: bool = False,
    missing: str = "",
    shape: tuple[int, ...] | None = None,
    **others: Any,
) -> list[Floats]:
    """Return predicted labels as 0 and 1, followed by the checked `others`."""
    found, flags = predicted_labels(labels, p, logits=logits)
    how: Any = {"shape": shape, "missing": missing}
    if not flags:
        return read_together(pos_label, **how, labels=found, **others)
    read = read_together(**how, labels=found)
    return [*read, *read_together(pos_label, **how, **others)] if others else read


def refuse_sparse_pos_label(pos_label: object, **labels: object) -> None:
    """Refuse another positive label than the 1 of sparse matrices."""
    sparse = [name for name, values in labels.items() if is_sparse(values)]
    if sparse and pos_label is not None and pos_label != 1:
        raise ValueError(
            f"pos_label={shown(pos_label)} goes with dense labels: those of a sparse "
            f"matrix such as {sparse[0]} are 0 and 1"
        )


def _check_pos_label(pos_label: object, labels: Mapping[str, object]) -> None:
    """Refuse a `pos_label` that is not one label, or is missing."""
    if pos_label is not None:
        check_label(pos_label)
        if is_missing(pos_label):
            raise TypeError(f"pos_label must be one label, not {shown(pos_label)}")
        refuse_sparse_pos_label(pos_label, **labels)


def _check_shape(
    array: AnyArray, name: str, shape: tuple[int, ...] | None, other: str
) -> AnyArray:
    """Return the array; refuse it if its shape is not that of the other one."""
    if shape is not None and array.shape != shape:
        hint = ""
        if 1 in (array.shape[1:] or shape[1:]) and array.size == np.prod(shape):
            matrix = name if array.ndim > 1 else other
            hint = f"; pass {matrix} as one column, np.ravel({matrix})"
        elif array.shape == shape[:1] and name in OF_SEVERAL_CLASSES:
            verbs = EVALUATE if other == "y" else OF_SEVERAL_CLASSES[name]
            hint = f"; for one of several classes per row call {verbs}"
        raise ValueError(
            f"{name} has shape {array.shape} but {other} has shape {shape}{hint}"
        )
    return array


def _first_place(array: AnyArray) -> Callable[[Any], str]:
    """Return a function that says in words where a label stands first."""

    def label_place(label: object) -> str:
        # numpy would drop the zeros that a text ends with
        return place(array.ravel().tolist().index(label), array.shape)

    return label_place


def refuse_swapped(scores: list[Any], labels: list[Any], order: str) -> None:
    """Refuse labels that are fractions where no scores of as many rows are.

    Parameters
    ----------
    scores, labels : list
        Columns as they were passed; only arrays, lists and frames are looked at.
    order : str
        The call with its arguments in the right order.
    """
    rows = {_n_fractions(one) for one in labels}
    if None not in rows and not rows & {_n_fractions(one) for one in scores}:
        raise ValueError(
            "labels look like probabilities and p like labels: did you swap them? "
            f"The order is {order}"
        )


def _n_fractions(values: object) -> int | None:
    """Return the number of rows of an array that has fractions, else None."""
    if not (isinstance(values, np.ndarray | list | tuple) or is_frame_like(values)):
        return None
    try:
        array = to_numpy(values, "labels")
    except (TypeError, ValueError):
        return None  # who reads it says what is wrong
    if array.dtype.kind != "f" or not (np.mod(array[np.isfinite(array)], 1) > 0).any():
        return None
    return len(array)
