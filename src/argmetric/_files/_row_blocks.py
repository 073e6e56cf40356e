"""Read a file in blocks of rows, so that memory does not grow with the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from argmetric._files._compression import codec_by_name, without_codec
from argmetric._files._formats import (
    DELIMITERS,
    UTF8_MARK,
    DataError,
    Format,
    format_by_name,
    marked,
)
from argmetric._files._read import (
    _explained,
    _header,
    _is_plain_file,
    read_table,
)
from argmetric._files._table import Table
from argmetric._results.saving import is_utf8, refuse_other_encodings

Choose = Callable[[Table], list[str]]  # from a table without rows to columns to read

_BLOCK_BYTES = 1 << 23
_HEAD_BYTES = 1 << 20


def read_blocks(
    source: str | os.PathLike[str],
    choose: Choose,
    format: Format | None = None,
    *,
    encoding: str = "utf-8",
    decimal: str = ".",
    **how: Any,
) -> Iterator[Table]:
    """Rows of a file of text, block by block.

    CSV and TSV in UTF-8 that are not compressed are read in blocks; other files are one
    block. A file with a header alone has none.

    Parameters
    ----------
    source : str or path
        A file as `read_table` takes it.
    choose : callable
        Which columns are read; it may raise where one is missing.
    format, encoding, decimal, **how
        As for `read_table`.
    """
    path = os.fspath(source)
    if format is None and _is_plain_file(path):
        format = format_by_name(without_codec(path), role="format")
    plain = codec_by_name(path) is None and is_utf8(encoding)
    if format not in DELIMITERS or not plain or not os.path.isfile(path):
        table = read_table(path, format, encoding=encoding, decimal=decimal, **how)
        yield replace(table, columns=table.columns.select(choose(table)), lines=None)
        return
    first = 0
    for columns, delimiter in _delimited_blocks(path, format, choose):
        yield Table(columns, format, path, delimiter, decimal=decimal, first=first)
        first += columns.num_rows


def _delimited_blocks(
    path: str, format: Format, choose: Choose
) -> Iterator[tuple[Any, str]]:
    import pyarrow as pa
    import pyarrow.csv as pc

    with open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
        if not head.strip():
            raise DataError(f"{path} is empty")
        refuse_other_encodings(head, path, f"pass {marked('encoding', 'utf-16')}")
        names, delimiter = _header(head, DELIMITERS[format], path)
        bare = head.removeprefix(UTF8_MARK)
        file.seek(len(head) - len(bare.lstrip(b"\r\n")))
        empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
        chosen = choose(Table(empty, format, path))
        places = {f"f{names.index(name)}": name for name in chosen}
        try:
            reader = pc.open_csv(
                file,
                read_options=pc.ReadOptions(
                    autogenerate_column_names=True,
                    skip_rows_after_names=1,
                    block_size=_BLOCK_BYTES,
                    use_threads=False,
                ),
                parse_options=pc.ParseOptions(
                    delimiter=delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=len(names) > 1,
                ),
                convert_options=pc.ConvertOptions(
                    column_types=dict.fromkeys(places, pa.large_string()),
                    include_columns=list(places),
                    strings_can_be_null=False,
                ),
            )
            for batch in reader:
                if batch.num_rows:
                    table = pa.Table.from_batches([batch])
                    yield table.rename_columns(chosen), delimiter
        except pa.ArrowException as error:
            raise DataError(_explained(error, format, path)) from error
