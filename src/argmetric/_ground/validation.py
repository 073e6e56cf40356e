"""Input is checked once, here, at the public edge."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._ground.arguments import check_choice as check_choice
from argmetric._ground.arguments import check_fraction as check_fraction
from argmetric._ground.arguments import is_real, is_sized, shown
from argmetric._ground.arguments import is_sparse as is_sparse
from argmetric._ground.types import Floats

# 32-bit floats round at 1.2e-7, and a softmax in them adds up a few of that.
ROUNDING = 1e-6
SUM_TOLERANCE = 1e-3  # by which a row of class probabilities may miss 1
ONE_BITS = np.float64(1.0).view(np.uint64)
PERCENT = 10.0  # from here to 100 the largest of many numbers is no odds and no count
MOST_APART = 1e100  # the heaviest row and the lightest; weights are squared
VALUES_READ_BY_PYTHON = 32  # values that Python looks through while numpy would set out
_NOT_A_NUMBER = (str, bytes, complex, np.complexfloating)


def is_frame_like(values: object) -> bool:
    """Return whether values are a series, frame or table of another library."""
    library = type(values).__module__.partition(".")[0]
    return library in {"pandas", "polars", "pyarrow", "modin", "cudf", "narwhals"}


def column_names(frame: object) -> npt.NDArray[Any] | None:
    """Return the column names unchanged, whatever their type; None without names."""
    names = getattr(frame, "column_names", None)  # pyarrow: `columns` are the data
    if names is None:
        names = getattr(frame, "columns", None)
    if names is None:
        return None
    return np.fromiter(names, dtype=object, count=len(names))


def is_masked(values: object) -> bool:
    """Return whether values are a masked array, without importing `numpy.ma`."""
    return "numpy.ma" in sys.modules and np.ma.isMaskedArray(values)


def to_numpy(values: object, name: str, kind: str = "an array") -> npt.NDArray[Any]:
    """Return values of a sequence, series or frame; masked ones are nan or None."""
    given = values
    if is_masked(values):
        values = _fill_masked(values)
    elif is_frame_like(values):
        values = _frame_values(values, name, kind)
    elif isinstance(values, list | tuple):
        _refuse_matrices(values, name)
        if "numpy.ma" in sys.modules:
            values = _without_masks(values)
    elif isinstance(values, bytearray):
        raise TypeError(f"{name} must be {kind}, not bytearray")
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal lengths make no array
        raise ValueError(f"{name} is ragged: {_uneven_row(values)}") from None
    except (TypeError, RuntimeError) as error:  # a tensor that is still being trained
        raise TypeError(f"{name} makes no array: {error}") from None
    if array.ndim == 0:
        raise TypeError(_no_array(given, name, kind))
    if array.dtype.names is not None:
        field = array.dtype.names[0]
        raise TypeError(
            f"{name} must be {kind}, not of records: pass a field, {name}[{field!r}]"
        )
    return array


def count_dimensions(values: object) -> int:
    """Return the number of dimensions of an array, or of lists within lists; 3 or more
    count as 3.
    """
    depth = 0
    while isinstance(values, list | tuple) and len(values) and depth < 3:
        values, depth = values[0], depth + 1
    return depth if depth == 3 else depth + np.ndim(values)  # type: ignore[arg-type]


def _refuse_matrices(values: list[Any] | tuple[Any, ...], name: str) -> None:
    """Refuse a list of matrices, as `predict_proba` of several outputs returns."""
    matrices = [one for one in values if isinstance(one, np.ndarray) and one.ndim == 2]
    if not values or len(matrices) < len(values):
        return
    way_out = "pass one matrix"
    if all(one.shape[1] == 2 for one in values):
        way_out = f"pass np.column_stack([a[:, 1] for a in {name}])"
    raise ValueError(
        f"{name} is a list of {len(values)} matrices, as predict_proba of a "
        f"model with several outputs gives: {way_out}"
    )


def _fill_masked(values: Any) -> npt.NDArray[Any]:
    """Return a masked array as a plain one, with nan or None where masked."""
    if values.dtype.kind == "f":
        return np.asarray(values.filled(np.nan))
    array = np.asarray(values.data)
    if np.ma.is_masked(values):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    return array


def _without_masks(values: Iterable[object], depth: int = 2) -> object:
    """Return a list with None for masked values, or nan in rows of floats."""
    kinds = set(map(type, values))
    odd = {np.ma.MaskedArray, type(np.ma.masked)} & kinds
    rows = {list, tuple} & kinds if depth > 1 else set()
    if not odd and not rows:
        return values

    def plain(one: Any) -> object:
        if one is np.ma.masked:
            return None
        if isinstance(one, np.ma.MaskedArray):
            return _fill_masked(one)
        return _without_masks(one, depth - 1) if type(one) in rows else one

    return [plain(one) for one in values]


def _frame_values(values: object, name: str, kind: str) -> npt.NDArray[Any]:
    """Return the values of a frame or column of pandas, polars, pyarrow or narwhals."""
    library = type(values).__module__.partition(".")[0]
    if library == "narwhals" and hasattr(values, "to_native"):
        values = values.to_native()
    if library == "pyarrow":
        if hasattr(values, "columns") and hasattr(values, "num_columns"):
            columns = [np.asarray(column) for column in values.columns]
            return np.stack(columns, axis=1)
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy(zero_copy_only=False))
    elif hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    raise TypeError(_no_array(values, name, kind))


def _no_array(values: object, name: str, kind: str) -> str:
    """Return the message for a value that is no array, with what to do."""
    type_name = "None" if values is None else type(values).__name__
    if isinstance(values, Mapping):
        way_out = f"; pass list({name}.values())"
    elif isinstance(values, Set) and not isinstance(values, MappingView):
        way_out = ", which has no order; pass a list"
    elif isinstance(values, Iterator | MappingView):
        way_out = f"; pass list({name})"
    elif is_real(values) and name == "p":
        way_out = "; a threshold comes after p, as in monitor(p, labels)"
    elif hasattr(values, "collect"):
        way_out = f"; pass {name}.collect()"
    else:
        way_out = ""
    return f"{name} must be {kind}, not {type_name}{way_out}"


def _uneven_row(rows: Any) -> str:
    """Return the text for the first row whose length differs from that of row 0."""
    lengths = [len(row) if is_sized(row) else 1 for row in rows]
    uneven = [i for i, length in enumerate(lengths) if length != lengths[0]]
    if not uneven:
        return "its rows have different lengths, or lists lie too deep"
    i = next((i for i, row in enumerate(rows) if is_missing(row)), uneven[0])
    if is_missing(rows[i]):
        return f"row {i} is missing or masked; drop or fill it first"
    return f"row {i} has {lengths[i]} values but row 0 has {lengths[0]}"


def is_missing(value: object) -> bool:
    """Return whether a value is None, nan, NaT or NA of any library."""
    if value is None or (is_masked(value) and value is np.ma.masked):
        return True
    try:
        return bool(value != value)
    except ArithmeticError:  # a signalling nan compares with nothing
        return True
    except (TypeError, ValueError):  # pandas.NA has no truth value, nor has an array
        return type(value).__name__ == "NAType"


def to_floats(values: Any, name: str) -> Floats:
    """Return values as 64-bit floats, nan where missing; refuse text with its place."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.ndim:
        return np.ascontiguousarray(values)  # the commonest case at once
    if is_masked(values) and values.dtype.kind in "iub":
        values = values.astype(np.float64)
    array = to_numpy(values, name, "an array of numbers")
    if array.dtype.kind in "fiub":
        with np.errstate(over="ignore"):  # longer floats than 64 bits become infinite
            return np.ascontiguousarray(array, dtype=np.float64)
    if array.dtype.kind in "USc" and isinstance(values, list | tuple):
        array = np.asarray(values, dtype=object)  # numpy makes text of all for one
    flat = array.ravel()
    result = np.empty(flat.size)
    is_number = array.dtype.kind == "O"
    for i, item in enumerate(flat):  # only for objects and text, to name the culprit
        try:
            if not is_number or isinstance(item, _NOT_A_NUMBER):
                raise TypeError
            result[i] = np.nan if is_missing(item) else float(item)
        except (TypeError, ValueError, OverflowError):
            plain = item.item() if isinstance(item, np.generic) else item
            raise TypeError(
                f"{name} is not a number at {place(i, array.shape)}: {shown(plain)}"
                f"{_number_column(values, name, array, i)}"
            ) from None
    return result.reshape(array.shape)


def _number_column(values: Any, name: str, array: npt.NDArray[Any], i: int) -> str:
    """Return the hint to pass a column of a frame that is not all numbers."""
    names = column_names(values)
    pairs = () if names is None else zip(names, array[i // len(names)], strict=True)
    some = [column for column, item in pairs if is_real(item)]
    return f"; pass one column, such as {name}[{some[0]!r}]" if some else ""


def place(index: int, shape: tuple[int, ...], first: int = 0) -> str:
    """Return the text for the place of a flat index; rows are counted from `first`."""
    if len(shape) == 1:
        return f"row {first + index}"
    row, *rest = np.unravel_index(index, shape)
    return ", column ".join([f"row {first + row}", *map(str, rest)])


def check_scores(
    values: Floats,
    name: str,
    *,
    logits: bool,
    hint: str = "looks like logits: pass logits=True",
    where: Callable[[int], str] | None = None,
    first: int = 0,
) -> Floats:
    """Return scores without NaN; probabilities in [0, 1], clipped if rounding left it.

    `hint` says what to do with values that are log-odds, and `where` the place of the
    value with a number, if that is not its row, counted from `first`.
    """
    if values.size == 0:
        return values
    few = values.ravel().tolist() if values.size <= VALUES_READ_BY_PYTHON else None
    plain = few is None and not logits and values.dtype == np.float64
    # As whole numbers the bits of NaN and of negative floats are above those of 1
    if plain and values.view(np.uint64).max() <= ONE_BITS:
        return values
    if few is not None and not math.isnan(sum(few)):
        low, high = min(few), max(few)
    else:
        low, high = float(values.min()), float(values.max())
    if (logits and not math.isnan(low)) or (low >= 0.0 and high <= 1.0):
        return values
    where = where or partial(place, shape=values.shape, first=first)
    if math.isnan(low):
        index = int(np.flatnonzero(np.isnan(values.ravel()))[0])
        raise ValueError(f"{name} has NaN at {where(index)}; drop or fill it first")
    if low >= -ROUNDING and high <= 1.0 + ROUNDING:
        return np.clip(values, 0.0, 1.0)
    flat = values.ravel()
    index = int(np.flatnonzero((flat < -ROUNDING) | (flat > 1.0 + ROUNDING))[0])
    raise ValueError(
        f"{name} is {flat[index]:.7g} at {where(index)}, outside of [0, 1] "
        f"(range seen: {low:g} to {high:g}); {_advice(low, high, hint)}"
    )


def _advice(low: float, high: float, hint: str) -> str:
    """Return a guess at what the values are instead, on strong evidence only."""
    if low < 0.0 and math.isfinite(high - low) and (low <= -1.0 or high >= 2.0):
        return hint
    if low >= 0.0 and PERCENT <= high <= 100.0:
        return "looks like percentages: divide by 100"
    return "probabilities are needed"


def check_length(values: npt.NDArray[Any], name: str, n: int, other: str = "p") -> None:
    """Refuse unequal lengths."""
    if values.shape[:1] != (n,):
        rows = values.shape[0] if values.ndim else 0
        raise ValueError(f"{name} has {rows} rows but {other} has {n}")


def check_weight(
    sample_weight: object, shape: tuple[int, ...], other: str = "p"
) -> Floats | None:
    """Return finite weights ≥ 0 of all entries, from one per row or one per entry."""
    if sample_weight is None:
        return None
    weight = to_floats(sample_weight, "sample_weight")
    if weight.shape == shape[:1] and len(shape) == 2:
        weight = np.repeat(weight, shape[1]).reshape(shape)
    if weight.shape != shape:
        raise ValueError(
            f"sample_weight has shape {weight.shape} but {other} has shape {shape}"
        )
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    words = "finite and not negative"
    largest = weight.max(initial=0.0)
    if not wrong.size and largest > 0.0:
        low = largest / MOST_APART
        wrong = np.flatnonzero((weight > 0) & (weight < low) | (weight > MOST_APART))
        words = f"at most {MOST_APART:g}, and so many times lighter than others"
    if wrong.size:
        row = int(wrong[0]) // (weight.size // weight.shape[0])
        raise ValueError(
            f"sample_weight is {weight.flat[wrong[0]]:g} at row {row}; weights are "
            f"{words}"
        )
    # Their squares must not vanish. They stay far below 1, and count no rows
    small = 0.0 < largest < 1 / MOST_APART
    return np.ldexp(weight, -150 - math.frexp(largest)[1]) if small else weight


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Scores that were checked where they came in, and are not checked again."""

    values: Floats  # finite; between 0 and 1 unless they are log-odds
    logits: bool = False  # whether they are
    # whether nobody has to ask if they are labels, even where all are 0 or 1: a tree
    # gave them, or they are a part of more rows
    scale_is_known: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return np.asarray(self.values, dtype=dtype)


def read_scores(values: object, name: str, *, logits: bool, **words: Any) -> Floats:
    """Return scores as `check_scores` does, of any input; results are checked once."""
    if isinstance(values, Probabilities) and (logits or not values.logits):
        return values.values
    return check_scores(to_floats(values, name), name, logits=logits, **words)


def same_kind(template: Any) -> Callable[[npt.NDArray[Any]], Any]:
    """Return a function that converts an array to the type of the template."""
    if not is_frame_like(template):
        return _identity
    library = type(template).__module__.partition(".")[0]
    module = sys.modules[library]

    def convert(array: npt.NDArray[Any]) -> object:
        if library == "pyarrow":
            if array.ndim == 2:
                columns = [module.array(column) for column in array.T]
                return module.table(columns, names=template.column_names)
            if isinstance(template, module.ChunkedArray):
                return module.chunked_array([array])
            return module.array(array)
        if library == "polars":
            if array.ndim == 2:
                return module.DataFrame(array, schema=template.columns, orient="row")
            return module.Series("decision", array)
        if not hasattr(template, "index"):  # an Index, or an array of pandas' own
            return array
        if array.ndim == 2:
            return module.DataFrame(
                array, index=template.index, columns=template.columns
            )
        return module.Series(array, index=template.index, name="decision")

    return convert if library in {"pandas", "polars", "pyarrow"} else _identity


def _identity(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array


VALUES_TO_JUDGE_BY = 20  # values of which none is a fraction by accident
MAJORITY = 0.7  # share of the rows from which a class is plainly the common one
# Names that say themselves that they are the positive class.
_POSITIVE = frozenset({"1", "t", "true", "y", "yes", "p", "pos", "positive"})
ENOUGH_ROWS = 3  # rows of two columns that do not sum to 1 by accident
_PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str) -> None:
    """Warn with the line outside of the package that caused it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def refuse_two_classes(scores: Floats, name: str) -> None:
    """Refuse both columns of `predict_proba` as labels: they sum to 1 in every row."""
    if scores.ndim != 2 or scores.shape[1] != 2 or scores.shape[0] < ENOUGH_ROWS:
        return
    first = scores[:, 0]
    if (np.abs(first + scores[:, 1] - 1.0) > ROUNDING).any():
        return
    inside = first[(first > 0.0) & (first < 1.0)]
    if inside.size and (inside != inside[0]).any():
        raise ValueError(
            f"{name} has two columns that sum to 1 in all {scores.shape[0]:,} rows, as "
            f"predict_proba gives them: pass {name}[:, 1], the probability of the "
            "positive class"
        )


def warn_of_classes(scores: Floats) -> None:
    """Warn of a matrix of labels whose rows all sum to 1, as those of classes do."""
    n, columns = scores.shape
    off = np.abs(scores.sum(axis=1) - 1.0) > SUM_TOLERANCE
    if n >= VALUES_TO_JUDGE_BY and columns > 2 and not off.any():
        warn_user(
            f"the {columns} columns of p sum to 1 in all {n:,} rows: if each row has "
            "one of several classes, call argmetric.classes.decide"
        )


def warn_of_scale(
    scores: Floats,
    *,
    logits: bool,
    given: object = None,
    zeros: bool = False,
    rows: int | None = None,
) -> None:
    """Warn of labels among probabilities, and of probabilities among log-odds.

    `given` may know its scale; `zeros` lie besides the scores, as in a sparse matrix;
    `rows` is their number where the scores are distinct.
    """
    n = scores.size if rows is None else rows
    is_known = isinstance(given, Probabilities) and given.scale_is_known
    if is_known or n < VALUES_TO_JUDGE_BY:
        return
    # A few tell of nearly all scores that nothing is wrong
    few = scores.ravel()[:VALUES_TO_JUDGE_BY]
    if few.min() < 0.0 or few.max() > 1.0 or not (logits or np.isin(few, (0, 1)).all()):
        return
    if scores.min() < 0.0 or scores.max() > 1.0:
        return
    if logits:
        warn_user(
            f"logits=True, but all {n:,} values of p lie between 0 and 1: if they are "
            "probabilities, leave logits=True out"
        )
        return
    ones = scores == 1.0
    both = ones.any() and (zeros or not ones.all())
    if both and (ones | (scores == 0.0)).all():
        warn_user(
            f"p has {n:,} values, all of them 0 or 1: are these predicted labels? They "
            "are taken for certain; pass predict_proba(X)[:, 1] instead, and calibrate "
            "a model that gives no other probabilities"
        )


def warn_of_common_class(
    classes: npt.NDArray[Any], positive: int, y: npt.NDArray[Any]
) -> None:
    """Warn of a positive class that only the alphabet chose, and most rows have."""
    names = classes.tolist()
    chosen, other = names[positive], names[1 - positive]
    if not isinstance(chosen, str) or chosen.strip().lower() in _POSITIVE:
        return
    share = float(np.mean(y == classes[positive]))
    if y.size >= VALUES_TO_JUDGE_BY and share >= MAJORITY:
        warn_user(
            f"the positive class is {chosen!r}, the last in sorted order, and "
            f"{share:.0%} of the rows have it: pass pos_label={other!r} if that is the "
            f"class to find, or pos_label={chosen!r} if not"
        )
