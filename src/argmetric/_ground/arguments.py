"""Single values that users pass: numbers, counts, flags and words, checked alike.

Each check gives the value as Python's own, or says what the argument is called, what it
may be and what it was. Parts of sparse matrices must agree: compiled code looks at no
bounds.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

LARGEST_COUNT = 2**63 - 1  # what a count can be in arrays
LONGEST = 80  # characters of a value in a message
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {f"{unit}i": 1 << (10 * i) for i, unit in enumerate("kmgt", 1)}


def shown(value: object) -> str:
    """Return the text of a value: its repr, or its type if that is long or fails."""
    try:
        text = repr(value)
    except Exception:  # an int of 5,000 digits, an object of the user's own
        text = ""
    if 0 < len(text) <= LONGEST and "\n" not in text:
        return text
    return f"a value of type {type(value).__name__}"


def check_number(
    value: object,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    infinite: bool = False,
) -> float:
    """Return a number from low to high, without the ends if `strict`; refuse nan."""
    number = to_float(_number(value, name, "a number"))
    inside = low < number < high if strict else low <= number <= high
    if infinite and math.isinf(number):
        inside = low <= number <= high
    if not inside or not (infinite or math.isfinite(number)):
        wanted = _range_in_words(low, high, strict)
        raise ValueError(f"{name} must {wanted}, not {shown(value)}")
    return number


def check_count(
    value: object, name: str, *, low: int = 0, high: int = LARGEST_COUNT
) -> int:
    """Return a whole number from `low` to `high`; 3.0 counts as one."""
    wanted = f"a whole number ≥ {low}"
    if high < LARGEST_COUNT:
        wanted = f"a whole number from {low} to {high:,}"
    number = _number(value, name, wanted)
    if not isinstance(number, int):
        exact = to_float(number)
        whole = math.isfinite(exact) and number == int(number)
        number = int(number) if whole else low - 1
    if number > high and high == LARGEST_COUNT:
        wanted += ", below 2^63"
    if not low <= number <= high:
        raise ValueError(f"{name} must be {wanted}, not {shown(value)}")
    return number


def count_or_share(value: Any, name: str, n: Any) -> Any:
    """Return a number of rows from a count, or from a share of n rows such as "5%".

    A share is rounded down.

    With an array of sizes as n a share is a count for each of them.
    """
    if not isinstance(value, str):
        if isinstance(value, float) and 0.0 < value < 1.0:
            raise ValueError(
                f"{name} is a count of rows, and {value:g} is none: a share of them is "
                f'a text, "{100.0 * value:g}%"'
            )
        try:
            return check_count(value, name)
        except (TypeError, ValueError) as error:
            wanted = 'a whole number ≥ 0, or a share of the rows such as "5%"'
            message = f"{name} must be {wanted}, not {shown(value)}"
            raise type(error)(message) from None
    share = read_share(value, name)
    return n * share.numerator // share.denominator


def count_or_part(value: object, name: str) -> int | float:
    """Return a count of rows as an int, a share such as "5%" as the float 0.05."""
    if isinstance(value, str):
        return float(read_share(value, name))
    return int(count_or_share(value, name, 0))


def read_share(text: str, name: str) -> Fraction:
    """Return a share written as "5%" as an exact fraction: 29% of 100 rows are 29."""
    percent = re.fullmatch(r"\+?(\d+\.?\d*|\.\d+) ?%", text.strip(), re.ASCII)
    share = Fraction(percent[1]) / 100 if percent else Fraction(-1)
    if not 0 <= share <= 1:
        raise ValueError(
            f'{name} must be a whole number ≥ 0, or a share from "0%" to "100%" of the '
            f"rows, not {shown(text)}"
        )
    return share


def check_fraction(value: object, name: str) -> float:
    """Return a number from 0 to 1; None counts as 0."""
    return 0.0 if value is None else check_number(value, name, low=0.0, high=1.0)


def check_share(value: object, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    return check_number(value, name, low=0.0, high=1.0, strict=True)


def check_flag(value: object, name: str) -> bool:
    """Return True or False; 1 and 0 are accepted."""
    if value is True or value is False:
        return bool(value)
    plain = _plain(value)
    if isinstance(plain, bool | int) and plain in (0, 1):
        return bool(plain)
    raise TypeError(f"{name} must be True or False, not {shown(value)}")


def as_flags(**flags: object) -> list[bool]:
    """Return several flags as True or False, in their order."""
    return [check_flag(value, name) for name, value in flags.items()]


def check_choice(value: object, name: str, choices: tuple[str, ...]) -> None:
    """Refuse what is not among the words."""
    if not is_among(value, choices):
        words = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be one of {words}, not {shown(value)}")


def is_among(value: object, words: Collection[str]) -> bool:
    """Return whether a value is one of these words; arrays and frames are none."""
    return isinstance(value, str) and value in words


def check_verbose(value: object) -> bool:
    """Return whether `verbose`, a flag or a number, asks for lines."""
    flag = isinstance(value, bool | np.bool_)
    return bool(value) if flag else check_number(value, "verbose") != 0.0


def is_real(value: object) -> bool:
    """Return whether a value is a real number; numpy's timedeltas are not."""
    return isinstance(value, Real) and not isinstance(value, np.timedelta64)


def is_whole(value: object) -> bool:
    """Return whether a value is an integer; booleans and numpy's timedeltas are not."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def check_seed(value: object, high: int = LARGEST_COUNT) -> None:
    """Refuse what starts no generator: whole numbers do, None and generators."""
    if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
        return
    if not is_whole(value):
        wanted = "a whole number, a generator or None"
        raise TypeError(f"random_state must be {wanted}, not {shown(value)}")
    check_count(value, "random_state", high=high)


def check_label(value: object, name: str = "pos_label") -> None:
    """Refuse what is no single label: arrays, lists, and what cannot be compared."""
    try:
        hash(value)
        bool(value == value)
    except Exception:  # NA of pandas compares with nothing, and others do as they like
        pass
    else:
        if not isinstance(value, tuple | range | frozenset):
            return
    raise TypeError(f"{name} must be one label, not {shown(value)}")


def check_jobs(value: object, name: str = "n_jobs") -> int:
    """Return the number of threads: None is 1, -1 all cores, -2 all but one."""
    if value is None:
        return 1
    number = check_count(value, name, low=-4096, high=4096)
    if number == 0:
        raise ValueError(f"{name} must be a positive number, or negative, not 0")
    return number if number > 0 else max(1, (os.cpu_count() or 1) + 1 + number)


def check_items(value: object, name: str, wanted: str) -> list[Any]:
    """Return the elements of an ordered collection, such as a list; refuse text."""
    unordered = isinstance(value, str | bytes | bytearray | Mapping | Set)
    # An array of no dimension is an Iterable that cannot be iterated over
    if unordered or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}")
    try:
        return list(value)
    except (NotImplementedError, TypeError):  # some sparse matrices, and wide views
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}") from None


def is_sized(value: Any) -> bool:
    """Return whether a value has a length; an array of no dimension has none."""
    try:
        len(value)
    except TypeError:
        return False
    return True


def check_texts(value: object, name: str, wanted: str = "a list of text") -> list[str]:
    """Return the elements of a collection of text."""
    items = check_items(value, name, wanted)
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(
                f"{name} must be {wanted}, not {shown(item)} at position {position}"
            )
    return items


def check_column(value: object, name: str) -> str:
    """Return the name of a column; halves of pairs of surrogates are in no table."""
    if isinstance(value, str) and re.fullmatch("[^\ud800-\udfff]+", value, re.DOTALL):
        return value
    raise TypeError(f"{name} must be the name of a column, not {shown(value)}")


def check_path(value: Any, name: str = "path") -> str:
    """Return the name of a file."""
    try:
        path = os.fspath(value)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise TypeError(f"{name} must be the name of a file, not {shown(value)}")
    with contextlib.suppress(UnicodeEncodeError):  # half of a pair of surrogates
        if path and "\0" not in path and os.fsencode(path):
            return path
    raise ValueError(f"{name} must be the name of a file, not {shown(value)}")


def check_bytes(value: object, name: str) -> int:
    """Return a number of bytes from a number, or from text such as 2GB or 512MiB."""
    if not isinstance(value, str):
        return check_count(value, name, low=1)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", value.lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{name} must be a size such as '2GB', not {shown(value)}")
    return check_count(int(float(match[1]) * _UNITS[match[2]]), name, low=1)


def _number(value: object, name: str, wanted: str) -> Any:
    """Return a value as int or float; refuse what is no number."""
    bare = _plain(value)
    if not isinstance(bare, Real | Decimal) or isinstance(bare, bool | np.timedelta64):
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}")
    return int(bare) if isinstance(bare, Integral) else bare


def _plain(value: object) -> object:
    """Return a numpy number or 0-d array as a Python number, unless it is masked."""
    if getattr(value, "mask", False) is not False and np.ma.is_masked(value):
        return value
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        return value.item() if value.dtype.kind in "biuf" else value
    return value


def to_float(number: Any) -> float:
    """Return a number as a float; nan if it is no number or too large for a float."""
    try:
        return float(number)
    except (OverflowError, ValueError, TypeError):  # a huge int, a signalling nan
        return math.nan


def _range_in_words(low: float, high: float, strict: bool) -> str:
    """Return a range as the end of a message, such as "lie between 0 and 1"."""
    if low == -math.inf and high == math.inf:
        return "be a finite number"
    if high == math.inf:
        if low == 0.0:
            return "be a positive number" if strict else "be 0 or a positive number"
        return f"be a finite number of at least {low:g}"
    return f"lie {'strictly ' * strict}between {low:g} and {high:g}"


def renamed_keyword(value: object, old_value: object, *, old: str, new: str) -> Any:
    """Return the value of a keyword that may still be passed by its old name."""
    if old_value is None:
        return value
    if value is not None:
        raise TypeError(f"{old} is the old name of {new}: pass {new} alone")
    warnings.warn(
        f"{old} is now called {new}; the old name will go in a later release",
        FutureWarning,
        stacklevel=3,
    )
    return old_value


def refuse_given(options: Mapping[str, object], reason: str) -> None:
    """Refuse options that were passed: what is neither None nor False."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} {reason}")


def is_tensor(values: object) -> bool:
    """Return whether values are a torch tensor or another array of the array API."""
    if isinstance(values, np.ndarray | list | np.generic):
        return False
    kind = getattr(sys.modules.get("torch"), "Tensor", ())
    return isinstance(values, kind) or hasattr(values, "__array_namespace__")


def refuse_for_tensors(**given: bool) -> None:
    """Refuse options that were set but work for arrays only."""
    names = [name for name, is_set in given.items() if is_set]
    if names:
        raise ValueError(
            f"{' and '.join(names)} cannot be used with tensors: pass arrays, such as "
            "p.cpu().numpy()"
        )


P = ParamSpec("P")
R = TypeVar("R")
# Words that users try and that a verb cannot have: why, and what to do instead
REFUSED = {
    "sample_weight": (
        "the distribution of the metric is that of whole rows, each counted once. A "
        "weight that is a number of rows alike: repeat them, np.repeat(p, weight). "
        "Errors that weigh differently: metric=Utility(...). Weights of labelled rows: "
        "tune(..., sample_weight=...) for a threshold, evaluate(..., "
        "sample_weight=...) for the score"
    ),
    "scoring": "the metric is named by metric, as in metric='f1'",
    "threshold": (
        "it chooses the threshold. The score of one of your own is "
        "forecast(p, threshold, metric) or evaluate(y, p >= threshold, metric)"
    ),
    **dict.fromkeys(
        ("max_positives", "budget"),
        "each class has its own limit, max_per_class={'name': 10}",
    ),
    "cost": (
        "costs are a metric: metric=Utility(tp=0, fp=-1, fn=-4) where a false alarm "
        "costs 1 and a miss 4; argmetric.classes.tune has cost= for several classes"
    ),
    "choice": (
        "the best threshold is chosen. For fewer positives set a limit, such as "
        "max_positives='5%' or min_precision=0.8"
    ),
    "mean": (
        "what a regression predicts takes the place of p in classes.decide, tune, "
        "forecast and monitor, which recalibrate it on reference=(y, mean)"
    ),
    "for_rows": "the number of the next rows is new_rows=200",
    "unlabelled": "the scores of new rows are new_rows=scores",
    "prefit": "a model that is fitted is FrozenEstimator(model) of sklearn.frozen",
    "max_per_class": "one label a row is argmetric.classes.decide",
    "beta": "it belongs to the metric: 'f2', or FBeta(1.5)",
    "parity": (
        "its thresholds need the group of each row, here and in apply. Pass scores in "
        "memory: argmetric.tune(y, p, metric, parity=('recall', groups, 0.05))"
    ),
}


CALLED = {  # by other names, which look like those of other parameters
    "by_group": "groups",
    "group_id": "groups",
    "k": "per_row",
    "top_k": "per_row",
    "n_positives": "max_positives",
    "limits": "max_per_class",
    **dict.fromkeys(("y", "y_true"), "known"),
    **dict.fromkeys(("freq", "period"), "every"),
    "alpha": "confidence",
    "calibrator": "reference",
    "positive_class": "pos_label",
    "n_threads": "n_jobs",
    "min_sensitivity": "min_recall",
    "min_tpr": "min_recall",
    "max_fnr": "min_recall",
    "min_ppv": "min_precision",
    "max_fdr": "min_precision",
    "min_tnr": "min_specificity",
    "max_fpr": "min_specificity",
}


def refuses(
    *names: str, limits: type | None = None, **reasons: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function explain why it does not take these keywords.

    `limits` is the TypedDict of its ``**limits``; it refuses all other keywords. The
    `reasons` of a function of its own come before those of the table.
    """
    reasons = {name: REFUSED[name] for name in names} | reasons
    own = () if limits is None else tuple(limits.__annotations__)

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        known = (*own, *keywords_of(function))
        called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, reason in reasons.items():
                if kwargs.pop(name, None) is not None:
                    raise TypeError(f"{called} takes no {name}: {reason}")
            for name in kwargs:
                if name not in known:
                    raise TypeError(_unknown(name, called, known, own))
            return function(*args, **kwargs)

        vars(wrapper)["limits"] = own
        return wrapper

    return wrap


def _unknown(
    name: str, verb: str, known: Collection[str], limits: Collection[str]
) -> str:
    """Return the message for a keyword that a verb does not know."""
    from difflib import get_close_matches

    least = 0.65 if name.startswith(("min_", "max_")) else 0.6  # min_f1 is no min_npv
    named = CALLED.get(name)
    close = [named] if named in known else get_close_matches(name, known, 1, least)
    near = "".join(f": is {x} meant?" for x in close)
    rest = f" Its limits are {', '.join(limits)}" if limits else ""
    end = near + rest if near else rest and "." + rest
    return f"{verb}() got an unexpected keyword argument {name!r}{end}"


def keywords_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the names of all parameters of a verb, and of its limits."""
    names = (x for x in signature(function).parameters if x != "limits")
    return *names, *getattr(function, "limits", ())


def install(extra: str) -> str:
    """Return the command that installs the libraries of an extra."""
    return f"pip install 'argmetric[{extra}]'"


def is_sparse(values: object) -> bool:
    """Return whether values are a scipy sparse array, without importing scipy."""
    return type(values).__module__.startswith("scipy.sparse")


def check_structure(matrix: Any, name: str) -> None:
    """Refuse a sparse matrix with entries outside of it, or with wrong indices."""
    if not is_sparse(matrix):
        return
    if len(matrix.shape) != 2:  # a vector: who needs a matrix refuses it
        return
    if matrix.format == "coo":
        for axis, numbers in (("row", matrix.row), ("column", matrix.col)):
            _check_inside(numbers, matrix.shape[axis == "column"], name, axis)
        if not matrix.row.size == matrix.col.size == matrix.data.size:
            raise ValueError(
                f"{name} has {matrix.row.size} rows, {matrix.col.size} columns and "
                f"{matrix.data.size} values of its entries"
            )
    elif matrix.format in ("csr", "csc", "bsr"):
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        rows, columns = (
            length // size for length, size in zip(matrix.shape, block, strict=True)
        )
        by_column = matrix.format == "csc"
        count, width = (columns, rows) if by_column else (rows, columns)
        ends, size = matrix.indptr, len(matrix.data)
        if ends.shape != (count + 1,) or matrix.indices.shape != (size,):
            raise ValueError(
                f"{name} has {ends.size} values in indptr and {matrix.indices.size} in "
                f"indices; {count + 1} and {size} are needed"
            )
        if ends[0] != 0 or ends[-1] > size or (ends[1:] < ends[:-1]).any():
            raise ValueError(
                f"{name} has an indptr that does not rise from 0 to its {size} stored "
                "values"
            )
        axes = ("column", "row") if by_column else ("row", "column")
        stored = matrix.indices[: ends[-1]]
        _check_inside(stored, width, name, axes[1], other=axes[0], ends=ends)


def entry_place(matrix: Any, entry: int) -> str:
    """Return the text for row and column of a stored value of a compressed matrix."""
    major = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
    minor = int(matrix.indices[entry])
    row, column = (minor, major) if matrix.format == "csc" else (major, minor)
    return f"row {row}, column {column}"


def _check_inside(
    numbers: npt.NDArray[Any],
    width: int,
    name: str,
    axis: str,
    *,
    other: str = "entry",
    ends: npt.NDArray[Any] | None = None,
) -> None:
    """Refuse numbers of rows or columns (`axis`) that are not in 0 … width - 1.

    `ends` are where the entries of each row or column (`other`) end.
    """
    if not numbers.size or (numbers.min() >= 0 and numbers.max() < width):
        return
    wrong = int(np.flatnonzero((numbers < 0) | (numbers >= width))[0])
    at = wrong if ends is None else int(np.searchsorted(ends, wrong, side="right")) - 1
    raise ValueError(
        f"{name} has {axis} {numbers[wrong]} at {other} {at}, but {width} {axis}s"
    )
