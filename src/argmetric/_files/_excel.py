"""Excel: the first sheet, its first row the names of the columns."""

from __future__ import annotations

import io
import zipfile
from typing import Any, NoReturn

from argmetric._files._formats import DataError

INSTALL = "Excel files need openpyxl: pip install 'argmetric[excel]'"


def read_excel(data: bytes) -> Any:
    """Return the columns of the first sheet.

    A column of numbers, of truth values or of texts keeps its type; one that mixes
    them is text.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise DataError(INSTALL) from None
    import pyarrow as pa

    try:
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [row for row in sheet.values if any(cell is not None for cell in row)]
        title = sheet.title
        book.close()
    except (InvalidFileException, zipfile.BadZipFile, KeyError, IndexError) as error:
        raise pa.ArrowInvalid(str(error)) from None
    if not rows:
        raise DataError(f"the sheet {title!r} is empty")
    columns = list(zip(*rows, strict=True))
    kept = [cells for cells in columns if any(cell is not None for cell in cells)]
    for place, cells in enumerate(kept, start=1):
        if cells[0] is None:
            raise DataError(f"column {place} of the sheet {title!r} has no name")
    names = [str(cells[0]) for cells in kept]
    return pa.Table.from_arrays([_column(cells[1:]) for cells in kept], names=names)


def _column(cells: tuple[Any, ...]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def refuse_excel(*asked: Any) -> NoReturn:
    """Refuse to write what is only read."""
    raise DataError("Excel files are read, not written: write .csv or .parquet")
