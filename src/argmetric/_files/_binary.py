"""Formats whose columns have types: all bytes to columns, and back again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import IO, Any, NamedTuple, NoReturn

from argmetric._files._formats import DataError, Format
from argmetric._input.extras import install

INSTALL = f"Excel files need openpyxl: {install('excel')}"


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


class Binary(NamedTuple):
    """How a binary format is read and written."""

    read: Callable[[bytes], Any]
    write: Callable[[Any, IO[bytes]], None]


def _read_parquet(data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.py_buffer(data)).read(use_pandas_metadata=False)


def _write_parquet(columns: Any, stream: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(columns, stream)


def _read_arrow(data: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.py_buffer(data)).read_all()


def _write_arrow(columns: Any, stream: IO[bytes]) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(stream, columns.schema) as writer:
        writer.write_table(columns)


def _read_arrow_stream(data: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def _write_arrow_stream(columns: Any, stream: IO[bytes]) -> None:
    import pyarrow as pa

    with pa.ipc.new_stream(stream, columns.schema) as writer:
        writer.write_table(columns)


BINARY: dict[Format, Binary] = {
    "parquet": Binary(_read_parquet, _write_parquet),
    "arrow": Binary(_read_arrow, _write_arrow),
    "arrow-stream": Binary(_read_arrow_stream, _write_arrow_stream),
    "xlsx": Binary(read_excel, refuse_excel),
}
