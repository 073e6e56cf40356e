"""One label per row: classes of columns, rows of probabilities, limits of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from argmetric._expected import TIE
from argmetric._ground.arguments import (
    check_items,
    check_number,
    count_or_share,
    is_sparse,
    shown,
)
from argmetric._ground.label_words import list_labels, one_class
from argmetric._ground.labels import (
    label_array,
    missing_labels,
    one_per_row,
    plain_label,
    refuse_missing,
)
from argmetric._ground.layout import column_names
from argmetric._ground.types import (
    AnyArray,
    ArrayLike,
    ClassNames,
    ClassTuple,
    Floats,
    Integers,
    Label,
    SharesLike,
)
from argmetric._ground.validation import (
    SUM_TOLERANCE,
    check_length,
    count_dimensions,
    read_scores,
)

SUM_ROUNDING = 1e-14  # sums this close to 1 are left as they are


def class_codes(
    y: ArrayLike,
    p: ArrayLike,
    scores: Floats,
    given: ClassNames | None = None,
    *,
    several: bool = False,
    numbered: bool = False,
) -> tuple[Integers, ClassTuple]:
    """Return the column of every label, and the class of each column.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    p : array-like or frame
        Its columns name the classes where `given` does not; without names the columns
        are in the order of the sorted labels.
    scores : ndarray of shape (n_rows, n_classes)
        The values of `p`.
    given : sequence, optional
        The class of each column.
    several : bool, default=False
        Refuse labels of a single class.
    numbered : bool, default=False
        Take whole numbers from 0 that do not cover all columns as their numbers.

    Returns
    -------
    code : ndarray of shape (n_rows,)
    classes : tuple
    """
    array = one_per_row(label_array(y), "y")
    refuse_missing(array, "y")
    check_length(array, "y", scores.shape[0])
    if array.dtype.kind == "O":
        kinds = {type(value).__name__ for value in array}
        if len(kinds) > 1:
            raise TypeError(f"y mixes labels of different types: {sorted(kinds)}")
        array = np.array(array.tolist())
    found, code = np.unique(array, return_inverse=True)
    classes = tuple(plain_label(value) for value in found)
    if several and len(classes) == 1:
        raise one_class(classes[0], "y")
    count = scores.shape[1]
    names = column_names(p) if given is None else given_classes(given, count)
    columns = {} if names is None else {plain_label(x): i for i, x in enumerate(names)}
    if given is None:
        columns = _without_prefix(columns, classes)
    if set(classes) <= set(columns) and len(columns) == count:
        if given is not None:
            _refuse_other_order(tuple(columns), column_names(p))
        place = np.array([columns[name] for name in classes], dtype=np.int64)
        return place[code], tuple(columns)
    if given is not None:
        odd = next(one for one in classes if one not in columns)
        raise ValueError(
            f"y has the label {shown(odd)}, which is not among classes "
            f"({list_labels(tuple(columns))})"
        )
    if len(classes) == count:
        return code.astype(np.int64), classes
    whole = array.dtype.kind in "iu"
    if numbered and whole and classes and classes[0] >= 0 and classes[-1] < count:
        return array.astype(np.int64), tuple(range(count))
    raise ValueError(
        f"p has {count} columns but y has {len(classes)} classes "
        f"({list_labels(classes)}): one column per class is needed, in sorted order; "
        "where a class does not occur in y, pass classes=, the class of each column, "
        "or a frame whose columns are named like the classes"
    )


def _without_prefix(columns: dict[Any, int], classes: ClassTuple) -> dict[Any, int]:
    """Return columns such as p_A under the names of the classes, if all begin alike."""
    if len(classes) != len(columns) or not all(isinstance(x, str) for x in columns):
        return columns
    first = next(iter(columns))
    for one in classes:
        prefix = first.removesuffix(str(one))
        named = {f"{prefix}{name}": name for name in classes}
        if prefix != first and set(named) == set(columns):
            return {named[name]: place for name, place in columns.items()}
    return columns


def class_names(p: ArrayLike, count: int, given: ClassNames | None) -> ClassTuple:
    """Return the class of each column: as given, as a frame names it, or its number."""
    if given is not None:
        return given_classes(given, count)
    names = column_names(p)
    return tuple(range(count)) if names is None else tuple(map(plain_label, names))


def given_classes(given: ClassNames, count: int | None = None) -> tuple[Any, ...]:
    """Return the classes, each named once, for `count` columns where that is known."""
    array = label_array(given, "classes")
    refuse_missing(array, "classes")
    if count is None:
        array = one_per_row(array, "classes")
    names = tuple(map(plain_label, array.tolist()))
    if count is not None and (array.ndim != 1 or len(names) != count):
        raise ValueError(
            f"classes must name the {count} columns of p, one by one, not "
            f"{shown(given)}"
        )
    seen: set[Label] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"classes has {shown(name)} twice: each column is a class")
        seen.add(name)
    return names


def _refuse_other_order(classes: ClassTuple, names: AnyArray | None) -> None:
    """Refuse a frame whose columns have the names of the classes in another order."""
    columns = () if names is None else tuple(map(plain_label, names))
    if columns != classes and set(columns) == set(classes):
        i = next(i for i, one in enumerate(columns) if one != classes[i])
        raise ValueError(
            f"column {i} of p is {shown(columns[i])} but classes has "
            f"{shown(classes[i])} there: bring them into the same order, as by "
            "p[classes]"
        )


def check_class_probabilities(
    scores: ArrayLike, name: str = "p", *, logits: bool = False, first: int = 0
) -> Floats:
    """Return class probabilities whose rows sum to 1, or refuse them.

    A row that misses 1 by at most 0.001 is divided by its sum. With `logits` the
    scores before the softmax come back as they are; they must be finite. `first` is the
    row of a file at which the array begins, for messages.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
    """
    if is_sparse(scores):
        raise TypeError(f"{name} must be dense: pass {name}.toarray()")
    refuse_column(scores, name)
    values = read_scores(scores, name, logits=logits, first=first)
    if values.shape[1] < 2:
        raise ValueError(
            f"{name} has {values.shape[1]} column, one class only: one column for each "
            "of two classes or more is needed"
        )
    if logits:
        odd = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if odd.size:
            raise ValueError(
                f"{name} has infinite scores in row {first + odd[0]}: the softmax "
                "needs finite ones"
            )
        return values
    total = values.sum(axis=1)
    off = np.abs(total - 1.0)
    wrong = np.flatnonzero(off > SUM_TOLERANCE)
    if wrong.size:
        raise ValueError(_wrong_sum(total, wrong, name, first))
    if off.max(initial=0.0) <= SUM_ROUNDING:
        return values
    return np.asarray(values / total[:, None])


def refuse_column(scores: Any, name: str) -> None:
    """Refuse a name, or one value per row, where a matrix is needed."""
    ndim = count_dimensions(scores)
    if ndim != 2:
        raise ValueError(
            f"{name} must be a matrix with one column per class, not have {ndim} "
            f"dimension{'s' * (ndim != 1)}: are {name} and another argument swapped? "
            "Scores of one class go to the functions of argmetric itself"
        )


def _wrong_sum(total: Floats, wrong: Integers, name: str, first: int) -> str:
    """Return a guess at what rows that do not sum to 1 are, and the fix.

    Parameters
    ----------
    total : ndarray of shape (n_rows,)
        Sums of the rows.
    wrong : ndarray of int
        The rows that miss 1.
    name : str
    first : int
        The number of row 0.
    """
    row = int(wrong[0])
    if total[row] == 0.0:
        return (
            f"{name} is 0 for every class in row {first + row}: each row needs a class "
            "that is possible; drop the row or fill it in"
        )
    others = f" ({wrong.size:,} of {total.size:,} rows miss 1)"
    return (
        f"{name} sums to {total[row]:.4g} in row {first + row}, not to 1{others}: with "
        "one label per row the columns are the probabilities of its class. These look "
        f"like one-vs-rest scores: divide each row by its sum, as {name} / "
        f"{name}.sum(axis=1, keepdims=True). For several labels per row, y is a matrix "
        "of 0 and 1; for scores before a softmax, pass logits=True"
    )


def one_per_class(
    value: SharesLike | str | None,
    classes: ClassTuple,
    name: str,
    otherwise: float,
    n: int | None = None,
) -> Floats:
    """Return one number per class, from a number, a sequence, or a dict by class.

    `otherwise` is that of classes that the dict does not name. Where n rows are given,
    a share of them such as "5%" is a number too.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    count = len(classes)
    if value is None:
        return np.full(count, otherwise)
    if isinstance(value, Mapping):
        found = np.full(count, otherwise)
        place = {one: i for i, one in enumerate(classes)}
        for key, one in value.items():
            label = plain_label(key)
            if label not in place:
                raise ValueError(
                    f"{name} names the class {shown(label)}, which is not among "
                    f"{list_labels(classes)}"
                )
            found[place[label]] = _number(one, name, n)
        return found
    if isinstance(value, Real) or (n is not None and isinstance(value, str)):
        return np.full(count, _number(value, name, n))
    values = check_items(
        value, name, "a number, one for each class, or a dict by class"
    )
    if len(values) != count:
        raise ValueError(
            f"{name} must have one value for each of the {count} classes, not "
            f"{len(values)}"
        )
    return np.array([_number(one, name, n) for one in values])


def _number(value: object, name: str, n: int | None) -> float:
    if n is not None and isinstance(value, str):
        return float(count_or_share(value, name, n))
    number = check_number(value, name, low=0.0, infinite=True)
    if n is not None and 0.0 < number < 1.0:
        raise ValueError(
            f"{name} has {number:g}: pass a number of rows, or {100 * number:g}% as "
            "text for a fraction of them"
        )
    return number


def check_prevalences(value: SharesLike, classes: ClassTuple, name: str) -> Floats:
    """Return the prevalence of every class, from a sequence or a dict by class."""
    prevalences = one_per_class(value, classes, name, 0.0)
    total = prevalences.sum()
    if not abs(total - 1.0) <= 1e-6:
        raise ValueError(
            f"{name} sums to {total:.4g}, not to 1: it is the prevalence of every class"
        )
    return prevalences


def codes_of(
    labels: ArrayLike,
    classes: ClassTuple,
    n: int,
    name: str,
    *,
    partial: bool = False,
) -> Integers:
    """Return the column of every label; -1 for a missing one where `partial`.

    Parameters
    ----------
    labels : array-like of shape (n,)
    classes : tuple
        The class of each column.
    n : int
        Number of rows.
    name : str
        Name of the labels, for messages.
    partial : bool, default=False

    Returns
    -------
    ndarray of int, shape (n,)
    """
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
                f"the classes ({list_labels(classes)})"
            )
        columns.append(place[label])
    result = np.full(n, -1, dtype=np.int64)
    if columns:
        result[~missing] = np.array(columns, dtype=np.int64)[code]
    return result


def _distinct(array: AnyArray) -> tuple[list[Label], Integers]:
    """Return the labels of any kinds, each once, and the number of each row's."""
    if array.dtype.kind != "O":
        values, code = np.unique(array, return_inverse=True)
        return values.tolist(), np.asarray(code, dtype=np.int64)
    numbers: dict[Label, int] = {}
    rows = [numbers.setdefault(plain_label(one), len(numbers)) for one in array]
    return list(numbers), np.array(rows, dtype=np.int64)


def first_texts(texts: Sequence[str], most: int) -> str:
    """Return the first texts of some, with dots where there are more."""
    return ", ".join([*texts[:most], *["..."] * (len(texts) > most)])


def labels_of(codes: Integers, classes: ClassTuple) -> AnyArray:
    """Return the class of each row by its column, of shape (n_rows,)."""
    if len({type(one) for one in classes}) == 1:
        return np.array(classes)[codes]
    return np.fromiter(classes, dtype=object, count=len(classes))[codes]


@dataclass(frozen=True)
class ClassLimits:
    """Limits on the rows that weights are tuned on, one number for every class."""

    most: Floats  # largest share of all rows that is given the class; inf: no limit
    recall: Floats  # least recall; 0: no limit

    def excess(
        self, tp: Floats, k: Floats, t: Floats, n: float, c: Integers | int | slice
    ) -> Floats:
        """Return rows by which classes c miss: (k - most·n)₊ + (recall·t - tp)₊.

        Parameters
        ----------
        tp, k, t : ndarray of shape (..., n_of_c)
            True positives, rows given the class and rows of the class.
        n : float or array
            All rows.
        c : ndarray of int, int or slice
        """
        over = k - self.most[c] * n * (1.0 + TIE)
        short = self.recall[c] * t * (1.0 - TIE) - tp
        return np.asarray(np.maximum(over, 0.0) + np.maximum(short, 0.0))

    def of_table(self, table: Floats) -> Floats:
        """Return the excess of every class in a table of counts."""
        tp, k, t = np.diagonal(table), table.sum(axis=0), table.sum(axis=1)
        return self.excess(tp, k, t, t.sum(), slice(None))

    def refuse(self, table: Floats, classes: ClassTuple) -> NoReturn:
        """Raise an error that names the class furthest from its limits in the table."""
        c = int(np.argmax(self.of_table(table)))
        tp, k, t = table[c, c], table[:, c].sum(), table[c].sum()
        text = f"class {shown(classes[c])} is left with {k:g} rows"
        most = self.most[c] * table.sum()
        if k > most * (1.0 + TIE):
            text += f", {k - most:.4g} more than max_per_class={most:.4g}"
        if tp < self.recall[c] * t * (1.0 - TIE):
            text += (
                f" and a recall of {tp / t:.3g} ({tp:g} of {t:g}) where min_recall "
                f"asks for {self.recall[c]:g}"
            )
        raise ValueError(
            "no weights were found that keep the limits together on these rows: "
            f"{text}; lower min_recall or raise max_per_class"
        )


def least_recalls(
    min_recall: SharesLike | None, classes: ClassTuple, name: str = "min_recall"
) -> Floats:
    """Return the least recall, or other rate, of each class; 0 without a limit."""
    recall = one_per_class(min_recall, classes, name, 0.0)
    if (recall > 1.0).any():
        raise ValueError(f"{name} must lie from 0 to 1, not at {recall.max():g}")
    return recall


def check_class_limits(
    max_per_class: SharesLike | str | None,
    min_recall: SharesLike | None,
    classes: ClassTuple,
    true: Floats | Integers,
) -> ClassLimits | None:
    """Return the limits of each class, given as for `decide`.

    `true` has the rows of each class, of shape (n_classes,).
    """
    if max_per_class is None and min_recall is None:
        return None
    n = float(true.sum())
    most = one_per_class(max_per_class, classes, "max_per_class", np.inf, int(n))
    recall = least_recalls(min_recall, classes)
    if most.sum() < n * (1.0 - TIE):
        raise ValueError(
            f"max_per_class leaves room for {most.sum():g} rows, but there are {n:g}: "
            "raise it"
        )
    few = np.flatnonzero(most * (1.0 + TIE) < recall * true)
    if few.size:
        c = int(few[0])
        raise ValueError(
            f"class {shown(classes[c])} has {true[c]:g} rows: a recall of "
            f"{recall[c]:g} needs {recall[c] * true[c]:.4g} of them, and max_per_class "
            f"leaves {most[c]:g}"
        )
    return ClassLimits(np.where(most < n, most / n, np.inf), recall)


def limits_note(
    max_per_class: SharesLike | str | None, min_recall: SharesLike | None
) -> str:
    """Return the limits in words."""
    limits = {"max_per_class": max_per_class, "min_recall": min_recall}
    words = (f"{name}={one}" for name, one in limits.items() if one is not None)
    return "limits hold on these rows: " + ", ".join(words)
