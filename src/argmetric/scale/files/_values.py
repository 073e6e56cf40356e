"""Values of a column: numbers, probabilities, weights, groups or labels."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from argmetric._ground.label_words import (
    EVERY_ROW,
    LabelError,
    is_spelled_missing,
    list_labels,
    same_spelling,
    spelled_label,
)
from argmetric._ground.labels import Classes, classes_of
from argmetric._ground.validation import check_scores
from argmetric.scale.files._parse import plain_id
from argmetric.scale.files._source import DataError, marked
from argmetric.scale.files._table import (
    Table,
    call,
    cast,
    flat,
    mask_to_numpy,
    to_numpy,
    with_decimal_points,
)

NUMBER = r"(?i)^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)$"
_SHOWN_CHARACTERS = 40
COUNTED = "rows are counted from 1, without the header"
EMPTY = "is empty; fill it in or remove the row"
_MEND = "write one, or remove the row"
_PERCENTAGE = r"^[+-]?\d+([.,]\d+)?\s*%$"
_DECIMAL_COMMA = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"
_GAPS = r"(?i)^(na|n/a|#n/a|null|none|-|\?)$"


def numbers(table: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers, or of text that reads as such, as finite floats."""
    column = number_cells(table, name)
    if column.null_count:
        refuse_rows(table, name, mask_to_numpy(call("is_null", column)), EMPTY)
    if pa.types.is_large_string(column.type):
        column = call("utf8_trim_whitespace", column)
        numeric = call("match_substring_regex", column, pattern=NUMBER)
        legible = mask_to_numpy(numeric)
        if not legible.all():
            first = column[int(np.argmin(legible))].as_py()
            refuse_rows(table, name, ~legible, number_problem(str(first)))
    elif not is_numeric(column.type):
        raise DataError(f"{_place(table, name)} holds {column.type}, not numbers")
    # float64 by way of text would be exact for no type but text itself
    values = to_numpy(cast(column, pa.float64(), safe=False), np.float64)
    refuse_rows(table, name, ~np.isfinite(values), f"is not a finite number; {_MEND}")
    return values


def number_problem(text: str) -> str:
    """Return a message why a cell is no number, and what to do."""
    if not text:
        return EMPTY
    if re.match(_PERCENTAGE, text):
        share = float(text.rstrip("% ").replace(",", ".")) / 100
        return f"is a percentage; write it as {share:g}"
    if re.match(_DECIMAL_COMMA, text):
        return f"has a decimal comma; pass {marked('decimal', ',')}"
    if re.match(_GAPS, text):
        return "is a missing value; fill it in or remove the row"
    return f"is not a number; {_MEND}"


def probabilities(
    table: Table, name: str, *, logits: bool = False
) -> npt.NDArray[np.float64]:
    """Return a column of probabilities, or of logits: any finite numbers."""
    hint = f"looks like logits: pass {marked('logits')}"

    def row_name(index: int) -> str:
        source, row = table.place_of(index)
        return f"row {row + 1}" + f" of {source}" * (source != table.source)

    values, column = numbers(table, name), _place(table, name)
    try:
        return check_scores(values, column, logits=logits, hint=hint, where=row_name)
    except ValueError as error:
        raise DataError(f"{error}; {COUNTED}") from None


def weights(table: Table, name: str, *, some: bool = True) -> npt.NDArray[np.float64]:
    """Return a column of weights: finite, none below 0, and `some` above it."""
    values = numbers(table, name)
    refuse_rows(table, name, values < 0, "is below 0; a weight is not")
    if some and not values.any():
        raise DataError(f"{_place(table, name)} holds no weight above 0")
    return values


def groups(table: Table, name: str) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Return the number of every row's group, by first appearance, and their ids."""
    coded = encode(table, name)
    gaps = np.array([_is_gap(value) for value in coded.values], dtype=np.bool_)
    empty = coded.spread(gaps, of_null=True)
    refuse_rows(table, name, empty, "is empty; every row needs a group")
    ids = coded.values
    if table.format == "jsonl":
        ids = [plain_id(value) for value in ids]
    return coded.codes, ids


@dataclass(frozen=True)
class CodedColumn:
    """Rows as numbers of distinct values; -1 for null."""

    codes: npt.NDArray[np.int64]
    values: list[Any]

    @classmethod
    def of(cls, column: pa.Array) -> CodedColumn:
        """Return the codes of a column by first appearance."""
        encoded = flat(call("dictionary_encode", column))
        codes = to_numpy(cast(encoded.indices, pa.int64()), np.int64)
        if column.null_count:
            codes = np.where(mask_to_numpy(call("is_null", column)), -1, codes)
        return cls(codes, encoded.dictionary.to_pylist())

    def spread(self, worth: npt.NDArray[Any], *, of_null: Any) -> npt.NDArray[Any]:
        """Return for each row the entry of `worth` for its value."""
        return np.append(worth, of_null)[self.codes]


def encode(table: Table, name: str) -> CodedColumn:
    """Return a column as codes; refuse one whose values are no keys."""
    column = plain_column(table, name)
    try:
        return CodedColumn.of(column)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"{_place(table, name)} holds {column.type}, which cannot be told apart"
        ) from None


def plain_column(table: Table, name: str) -> pa.Array:
    """Return a column with text as large_string and dictionaries decoded."""
    column = flat(table.columns.column(table.names.index(name)))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = cast(column, pa.large_string())
    return column


def number_cells(table: Table, name: str) -> pa.Array:
    """Return a plain column; decimal commas are points where they are announced."""
    column = plain_column(table, name)
    if table.decimal == "," and pa.types.is_large_string(column.type):
        column = with_decimal_points(column)
    return column


def is_numeric(type_: pa.DataType) -> bool:
    """Return whether a type of pyarrow holds numbers or booleans."""
    kinds = pa.types
    numbers = kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean
    return any(is_kind(type_) for is_kind in numbers)


def _is_gap(value: object) -> bool:
    """Return whether a value is missing: an empty cell or NaN."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or (isinstance(value, str) and not value.strip())


def refuse_rows(
    table: Table, name: str, bad: npt.NDArray[np.bool_], problem: str
) -> None:
    """Raise for the first bad row, with its column and value; return if none is."""
    if not bad.any():
        return
    row = int(np.argmax(bad))
    value = table.columns.column(table.names.index(name))[row].as_py()
    text = repr(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    shown = "" if value is None or value == "" else f": {text}"
    count = int(bad.sum())
    more = f" ({count} such rows)" if count > 1 else ""
    source, row = table.place_of(row)
    raise DataError(
        f"{source}: column {name!r}, row {row + 1}{shown} {problem}{more}; {COUNTED}"
    )


def _place(table: Table, name: str) -> str:
    return f"{table.source}: column {name!r}"


_TWO_OF_THEM = (
    "make a column with two of them first; commands take several classes with "
    f"{marked('one_label')}"
)

_SWAPPED = "are the columns of scores and labels swapped? If not, "


def labels(
    table: Table, name: str, *, pos_label: str | None = None, missing: bool = False
) -> npt.NDArray[np.float64]:
    """Return a column of labels as 0 and 1; NaN where cells may be `missing`, and are.

    The column has 0 and 1, -1 and 1, true and false, or any two values, of which
    `pos_label` means 1; it may be absent where all rows have one other value.
    """
    return _read(table, name, pos_label, missing=missing)[0]


def classes(
    table: Table, name: str, pos_label: str | None, *, both: bool = True
) -> tuple[npt.NDArray[Any], Any]:
    """Return labels of both classes as the values that a rule learns and gives back.

    These are 0 and 1 without `pos_label` (then None is second), else the values that
    are in the file, and the positive one of them. Without `both` a class may be absent.
    """
    rows, found = _read(table, name, pos_label, both=both)
    is_positive = rows == 1
    if pos_label is None:
        return is_positive.astype(np.int64), None
    return np.where(is_positive, found.positive, found.negative), found.positive


def class_names(
    table: Table,
    name: str,
    among: Collection[str] | None = None,
    *,
    missing: bool = False,
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the number of every row's class, and the names of classes.

    A whole number has the name without decimals: 2.0 is "2". Classes that are not
    `among` the known ones are refused. Classes that may be `missing` are "", or have
    the number -1.
    """
    coded = encode(table, name)
    gaps = np.array([_is_gap(value) for value in coded.values], dtype=np.bool_)
    if not missing:
        refuse_rows(
            table, name, coded.spread(gaps, of_null=True), f"is empty; {EVERY_ROW}"
        )
    texts = [str(value).strip() for value in coded.values]
    whole = r"(-?\d+)\.0+"
    names = [re.sub(f"^{whole}$", r"\1", text) for text in texts]
    if among is not None:
        odd = np.array([one not in among for one in names], dtype=np.bool_) & ~gaps
        problem = f"is none of the classes ({list_labels(tuple(among))})"
        refuse_rows(table, name, coded.spread(odd, of_null=not missing), problem)
    return coded.codes, names


def _read(
    table: Table,
    name: str,
    pos_label: str | None,
    *,
    missing: bool = False,
    both: bool = False,
) -> tuple[npt.NDArray[np.float64], Classes]:
    """Return labels as 0, 1 or NaN for each row, and the two classes."""
    coded = encode(table, name)
    gaps = np.array([is_spelled_missing(value) for value in coded.values], dtype=bool)
    if not missing:
        empty = coded.spread(gaps, of_null=True)
        refuse_rows(table, name, empty, f"is empty; {EVERY_ROW}")
    present = [v for v, gap in zip(coded.values, gaps, strict=True) if not gap]
    meant, known = read_values(present, _place(table, name), pos_label, both=both)
    labels = [meant.get(value) for value in coded.values]
    worth = [math.nan if x is None else float(x == known.positive) for x in labels]
    return coded.spread(np.array(worth), of_null=math.nan), known


def read_values(
    values: Sequence[Any], place: str, pos_label: str | None, *, both: bool = False
) -> tuple[dict[Any, Any], Classes]:
    """Return the label that each distinct value spells, and the classes.

    `place` is what messages call the column; `pos_label` means "positive" in any
    spelling; with `both` both classes must be there.
    """
    if pos_label is None:
        meant, positive = {value: spelled_label(value) for value in values}, None
    else:
        same = [value for value in values if _is_same(value, pos_label)]
        positive = _strip(same[0]) if same else pos_label
        meant = {value: _strip(value) for value in values}
        meant |= dict.fromkeys(same, positive)
    found = list(dict.fromkeys(meant.values()))
    try:
        known = classes_of(found, place, positive, both=both, naming=_naming)
    except LabelError as error:
        way_out = _TWO_OF_THEM if error.kind == "many" else error.way_out
        if error.kind == "many" and any(isinstance(one, float) for one in found):
            way_out = f"{_SWAPPED}{way_out}"
        raise DataError(f"{error.problem}; {way_out}") from None
    return meant, known


def _naming(*value: object) -> str:
    return marked("pos_label", str(value[0]) if value else None)


def _strip(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def _is_same(value: object, text: str) -> bool:
    """Return whether a value of a column is what the user typed."""
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, str):
        return same_spelling(value.strip(), text)
    try:
        return bool(value == float(text))
    except (TypeError, ValueError):
        return str(value) == text
