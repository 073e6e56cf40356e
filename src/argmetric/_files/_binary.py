"""Formats whose columns have types: all bytes to columns, and back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any, NamedTuple

from argmetric._files._excel import read_excel, refuse_excel
from argmetric._files._formats import Format


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
