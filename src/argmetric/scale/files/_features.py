"""Features of a model: columns of numbers, and columns of categories."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.label_words import NO_LABEL as MISSING
from argmetric._ground.label_words import TRUTHS
from argmetric.scale.files._table import Table, mask_to_numpy, text_scalar, to_numpy
from argmetric.scale.files._values import (
    NUMBER,
    encode,
    is_numeric,
    number_cells,
    number_problem,
    refuse_rows,
)

Kind = Literal["number", "category", "other", "empty"]


def kind_of(table: Table, name: str) -> Kind:
    """Return what a model can make of a column.

    "number" where every cell is a number, true, false or missing; "category" for other
    text; "other" for dates, lists and the like; "empty" where no cell has a value.
    """
    column = number_cells(table, name)
    if column.null_count == len(column):
        return "empty"
    if is_numeric(column.type):
        return "number"
    if not pa.types.is_large_string(column.type):
        return "other"
    is_number, is_missing = _legible(column)
    if is_missing.all():
        return "empty"
    return "number" if (is_number | is_missing).all() else "category"


def sparse_numbers(table: Table, name: str) -> npt.NDArray[np.float64]:
    """Return a column as floats, NaN where a cell is empty, na, nan, null or none."""
    column = number_cells(table, name)
    is_missing = mask_to_numpy(pc.is_null(column, nan_is_null=True))
    if pa.types.is_large_string(column.type):
        is_number, is_missing = _legible(column)
        bad = ~(is_number | is_missing)
        if bad.any():
            first = column[int(np.argmax(bad))].as_py()
            refuse_rows(table, name, bad, number_problem(str(first)))
        column = pc.fill_null(pc.utf8_trim_whitespace(column), text_scalar("nan"))
        words = {"true": f"{TRUTHS['true']:g}", "false": f"{TRUTHS['false']:g}"}
        for word, number in {**words, "|".join(sorted(MISSING)): "nan"}.items():
            column = pc.replace_substring_regex(column, f"(?i)^({word})$", number)
    elif not is_numeric(column.type):
        refuse_rows(table, name, np.ones(len(column), dtype=bool), "is not a number")
    values = to_numpy(pc.cast(column, pa.float64(), safe=False), np.float64)
    values = np.where(is_missing, np.nan, values)
    refuse_rows(table, name, np.isinf(values), "is not a finite number")
    return values


def categories(table: Table, name: str) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the place of every row's text, -1 without one, in sorted texts, and these.

    Texts have no space around them; truth values are true and false.
    """
    coded = encode(table, name)
    known = [_text(value) for value in coded.values]
    texts = sorted({text for text in known if text is not None})
    place = {text: i for i, text in enumerate(texts)}
    of_value = np.array([place.get(text or "", -1) for text in known], dtype=np.int64)
    return coded.spread(of_value, of_null=-1), texts


def _text(value: object) -> str | None:
    """Return a category as text; None where it is missing."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isnan(value):
        return None
    text = str(value).strip()
    return None if text.lower() in MISSING else text


def _legible(column: pa.Array) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Tell numbers and missing values among texts."""
    trimmed = pc.utf8_trim_whitespace(column)
    gaps = "|".join(sorted(MISSING))
    missing = pc.match_substring_regex(trimmed, pattern=f"(?i)^({gaps})$")
    is_missing = mask_to_numpy(pc.is_null(column)) | mask_to_numpy(missing)
    pattern = f"{NUMBER}|(?i)^(true|false)$"
    is_number = mask_to_numpy(pc.match_substring_regex(trimmed, pattern=pattern))
    return is_number & ~is_missing, is_missing
