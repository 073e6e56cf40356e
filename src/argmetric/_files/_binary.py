"""Formats whose columns have types: all bytes to columns, and back again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, NoReturn

from argmetric._files._formats import DataError, Format
from argmetric._input.arguments import install

BATCH_ROWS = 1 << 17
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


def _ipc(open_: str, new: str) -> Binary:
    def read(data: bytes) -> Any:
        import pyarrow as pa

        return getattr(pa.ipc, open_)(pa.py_buffer(data)).read_all()

    def write(columns: Any, stream: IO[bytes]) -> None:
        import pyarrow as pa

        with getattr(pa.ipc, new)(stream, columns.schema) as writer:
            writer.write_table(columns)

    return Binary(read, write)


def typed_batches(
    place: Any,
    format: str,
    choose: Callable[[Any], list[str] | None],
    *,
    start: int = 0,
    rows: int = BATCH_ROWS,
    memory_map: bool = False,
) -> Iterator[Any]:
    """Record batches of a Parquet or Arrow file, from the row `start` on.

    `place` is what pyarrow opens; `choose` gets the schema and returns the columns,
    None for all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format == "parquet":
        with pq.ParquetFile(place, memory_map=memory_map) as file:
            chosen, about = choose(file.schema_arrow), file.metadata
            groups = list(range(about.num_row_groups))
            while groups and start >= about.row_group(groups[0]).num_rows:
                start -= about.row_group(groups.pop(0)).num_rows
            for batch in file.iter_batches(
                rows, row_groups=groups, columns=chosen, use_threads=False
            ):
                passed = min(start, batch.num_rows)
                start -= passed
                yield batch.slice(passed)
        return
    place = pa.memory_map(place) if memory_map else place
    open_ = pa.ipc.open_file if format == "arrow" else pa.ipc.open_stream
    with open_(place) as reader:
        chosen = choose(reader.schema)
        n = getattr(reader, "num_record_batches", None)
        for whole in reader if n is None else map(reader.get_batch, range(n)):
            part = whole if chosen is None else whole.select(chosen)
            for first in range(0, part.num_rows, rows):
                yield part.slice(first, rows)


BINARY: dict[Format, Binary] = {
    "parquet": Binary(_read_parquet, _write_parquet),
    "arrow": _ipc("open_file", "new_file"),
    "arrow-stream": _ipc("open_stream", "new_stream"),
    "xlsx": Binary(read_excel, refuse_excel),
}
