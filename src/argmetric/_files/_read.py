"""Read a file, standard input, or several files into a `Table`."""

from __future__ import annotations

import contextlib
import csv
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from io import StringIO
from typing import Any, get_args

from argmetric._files._binary import BINARY
from argmetric._files._compression import unpacked, without_codec
from argmetric._files._formats import (
    DELIMITERS,
    FORMATS,
    MAX_LINE_BYTES,
    OTHER_ENCODING,
    STANDARD_STREAM,
    UTF8_MARK,
    DataError,
    Format,
    binary_format,
    format_by_name,
    marked,
    sniff,
)
from argmetric._files._table import Table
from argmetric._results.saving import decoded, is_utf8, refuse_other_encodings
from argmetric._results.whole_files import read_whole

_CSV_BLOCK_BYTES = 1 << 23
_SHOWN_CHARACTERS = 40
MAX_COLUMNS = 200_000  # each takes 4 kB, however few the rows


def read_table(
    source: str | os.PathLike[str],
    format: Format | None = None,
    *,
    encoding: str = "utf-8",
    max_line: int = MAX_LINE_BYTES,
    decimal: str = ".",
) -> Table:
    """Read rows from a file, or from standard input for ``"-"``.

    Parameters
    ----------
    source : str or path
        CSV, TSV, JSONL, Parquet, Arrow IPC (Feather) or Excel, the first three also
        compressed by gzip or zstd; ``"-"`` is standard input.
    format : str, optional
        The format, where the extension does not say it. Standard input and pipes are
        recognised by their first bytes.
    encoding : str, optional
        How the text of CSV, TSV and JSONL is written.
    max_line : int, optional
        The longest line of text in bytes.
    decimal : str, optional
        The sign before the decimals of numbers in text: a point or a comma.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file is missing, empty, damaged or of an unknown kind.
    """
    path = os.fspath(source)
    if format is not None and format not in FORMATS:
        known = ", ".join(get_args(Format))
        raise DataError(f"unknown format {format!r}; known: {known}")
    name = "standard input" if path == STANDARD_STREAM else path
    is_plain = _is_plain_file(path)
    if format is None and is_plain:
        format = format_by_name(without_codec(path), role="format")
    data = unpacked(_all_bytes(path), name)
    if not data.strip():
        raise DataError(f"{name} is empty")
    format = _agreed_format(name, format, data)
    if format not in BINARY:
        data = _as_utf8(data, encoding, name)
        _refuse_long_line(data, max_line, name)
    table = _parse(data, format, name)
    if table.n_rows == 0:
        raise DataError(f"{name} has no rows")
    return replace(table, decimal=decimal)


def _as_utf8(data: bytes, encoding: str, name: str) -> bytes:
    """Return text in UTF-8; whether it is that, pyarrow finds out as it reads."""
    if not is_utf8(encoding):
        return decoded(data, encoding, name, OTHER_ENCODING).encode()
    refuse_other_encodings(data, name, f"pass {marked('encoding', 'utf-16')}")
    return data


def _refuse_long_line(data: bytes, most: int, name: str) -> None:
    """Refuse a line that readers would copy several times over."""
    start = 0
    while len(data) - start > most:
        end = data.rfind(b"\n", start, start + most + 1)
        if end < 0:
            line = data.count(b"\n", 0, start) + 1
            raise DataError(
                f"{name}, line {line}: longer than {most:,} bytes; if that is right, "
                f"pass {marked('max_line', 'SIZE')}"
            )
        start = end + 1


def _is_plain_file(path: str) -> bool:
    """Tell files, which have names to go by, from standard input and pipes."""
    if path == STANDARD_STREAM:
        return False
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file{_similar_file(path)}") from None
    except OSError:
        return True


def _all_bytes(path: str) -> bytes:
    try:
        if path == STANDARD_STREAM:
            if sys.stdin is None:
                raise DataError("standard input is closed")
            return sys.stdin.buffer.read()
        return read_whole(path)
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; pass a file") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


def _similar_file(path: str) -> str:
    try:
        siblings = os.listdir(os.path.dirname(path) or ".")
    except OSError:
        return ""
    # Without the ending, which makes any two files look alike
    stems = {os.path.splitext(name)[0]: name for name in sorted(siblings)}
    stem = os.path.splitext(os.path.basename(path))[0]
    similar = get_close_matches(stem, stems, n=1, cutoff=0.75)
    return f"; did you mean {stems[similar[0]]!r}?" if similar else ""


def _agreed_format(name: str, format: Format | None, data: bytes) -> Format:
    """Settle the format; what is announced and what the bytes show must not differ."""
    shown = binary_format(data)
    if format is None:
        format = sniff(data)
        if format is None:
            known = ", ".join(FORMATS)
            raise DataError(
                f"cannot tell the format of {name}; pass {marked('format')} with one "
                f"of {known}"
            )
    if format in ("arrow", "arrow-stream") and shown in ("arrow", "arrow-stream"):
        return shown
    if shown is not None and shown != format:
        raise DataError(
            f"{name} is read as {format} but holds {shown}; pass {marked('format')}"
        )
    return format


def _parse(data: bytes, format: Format, name: str) -> Table:
    import pyarrow as pa

    try:
        if format in BINARY:
            return Table(BINARY[format].read(data), format, name)
        if format == "jsonl":
            from argmetric._files._jsonl import read_jsonl

            columns, lines = read_jsonl(data, name)
            return Table(columns, format, name, lines=lines)
        columns, delimiter = _delimited(data, DELIMITERS[format], name)
        return Table(columns, format, name, delimiter=delimiter)
    except pa.ArrowException as error:
        if "invalid UTF8" in str(error):
            decoded(data, "utf-8", name, OTHER_ENCODING)
        raise DataError(_explained(error, format, name)) from error
    except OSError as error:
        # pyarrow reports damaged compressed pages as an OSError without a number
        raise DataError(_explained(error, format, name)) from error


def _explained(error: Exception, format: Format, name: str) -> str:
    """Return pyarrow's complaint as one line that says what to do."""
    reason = str(error).splitlines()[0].strip() if str(error) else repr(error)
    if format in DELIMITERS:
        return f"{name}: {reason.removeprefix('CSV parse error: ')}"
    if format == "jsonl":
        return f"{name}: {reason.removeprefix('JSON parse error: ')}"
    return f"{name} is not a whole {format} file, perhaps cut short: {reason}"


def _delimited(data: bytes, delimiter: str, name: str) -> tuple[Any, str]:
    """Read every cell as the text it is; what a column means is decided later."""
    import pyarrow as pa
    import pyarrow.csv as pc

    # The text of cells is checked by pyarrow, which does not look at the names
    start = len(data) - len(_from_header(data))
    end = data.find(b"\n", start)
    decoded(data[: end if end > 0 else None], "utf-8", name, OTHER_ENCODING)
    header, delimiter = _header(data, delimiter, name)
    # Names are attached afterwards, because a header may repeat one
    types = {f"f{i}": pa.large_string() for i in range(len(header))}
    try:
        table = pc.read_csv(
            pa.BufferReader(pa.py_buffer(_from_header(data))),
            read_options=pc.ReadOptions(
                autogenerate_column_names=True,
                # Not sliced off: before 24, pyarrow's if_else spoils text of a slice
                skip_rows_after_names=1,
                block_size=_CSV_BLOCK_BYTES,
            ),
            parse_options=pc.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                # In a file of one column an empty line is a row with an empty cell
                ignore_empty_lines=len(header) > 1,
            ),
            convert_options=pc.ConvertOptions(
                column_types=types,
                strings_can_be_null=False,
                # Every column has a copy of these words: 7 kB
                null_values=[],
                true_values=[],
                false_values=[],
            ),
        )
    except pa.ArrowInvalid:
        _refuse_ragged(data, len(header), delimiter, name)
        raise
    table = table.rename_columns(header)
    _refuse_open_quote(data, table, name)
    return table, delimiter


def _from_header(data: bytes) -> bytes:
    return data.removeprefix(UTF8_MARK).lstrip(b"\r\n")


def _header(data: bytes, delimiter: str, name: str) -> tuple[list[str], str]:
    try:
        whole = _from_header(data)
        end = max(1 << 20, whole.find(b"\n"))
        text = whole[:end].decode(errors="ignore")
        line = text.splitlines()[0]
        if delimiter not in line:
            # Only where a single other delimiter is possible: never a guess
            others = [mark for mark in ",;\t" if mark in line]
            delimiter = others[0] if len(others) == 1 else delimiter
        names = next(csv.reader(StringIO(text), delimiter=delimiter))
        _refuse_endless(names[-1], data, f"{name}: the header line")
        if len(names) > MAX_COLUMNS:
            raise DataError(
                f"{name} has {len(names):,} columns; at most {MAX_COLUMNS:,} are read"
            )
        return names, delimiter
    except (IndexError, StopIteration, csv.Error):
        raise DataError(f"{name} has no header line") from None


def _refuse_ragged(data: bytes, width: int, delimiter: str, name: str) -> None:
    """Refuse the first row with more or fewer cells than the header, by its line."""
    text = data.removeprefix(UTF8_MARK).decode(errors="replace")
    rows = csv.reader(StringIO(text, newline=""), delimiter=delimiter)
    line = 1
    with contextlib.suppress(csv.Error):
        for cells in rows:
            if cells and len(cells) != width:
                _refuse_endless(cells[-1], data, f"{name}, line {line}")
                count = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
                start = delimiter.join(cells)[:_SHOWN_CHARACTERS]
                raise DataError(
                    f"{name}, line {line}: {count}, but the header has {width}: "
                    f"{start!r}"
                )
            line = rows.line_num + 1


def _refuse_open_quote(data: bytes, table: Any, name: str) -> None:
    """Refuse a quote that is never closed: it swallows the rest of the file."""
    if not table.num_rows:
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    _refuse_endless(last, data, f"{name}: row {table.num_rows}")


def _refuse_endless(cell: str, data: bytes, where: str) -> None:
    if "\n" in cell and data.count(b'"') % 2:
        raise DataError(f"{where} opens a quote that never closes")


def read_tables(
    sources: Sequence[str],
    format: Format | None = None,
    *,
    encoding: str = "utf-8",
    max_line: int = MAX_LINE_BYTES,
    decimal: str = ".",
    name: str,
) -> Table:
    """Read files with the same columns into one table.

    Parameters
    ----------
    sources : sequence of str
        The files, in the order of their rows.
    format, encoding, max_line, decimal : optional
        As for `read_table`.
    name : str
        What messages call all of them.

    Raises
    ------
    DataError
        If a file has other columns than the first one; it names both.
    """
    import pyarrow as pa

    tables = [
        read_table(one, format, encoding=encoding, max_line=max_line, decimal=decimal)
        for one in sources
    ]
    first = tables[0]
    aligned = [_aligned(table, first) for table in tables]
    try:
        columns = pa.concat_tables(aligned, promote_options="permissive")
    except pa.ArrowException:
        raise DataError(_clash(tables)) from None
    lines = None
    if first.lines is not None:
        lines = pa.concat_arrays([table.lines for table in tables])
    parts = tuple((table.source, table.n_rows) for table in tables)
    return replace(first, columns=columns, source=name, lines=lines, parts=parts)


def _aligned(table: Table, first: Table) -> Any:
    """Return columns in the order of the first file; other ones are refused."""
    if table.format != first.format:
        raise DataError(
            f"{table.source} is {table.format}, but {first.source} is {first.format}"
        )
    if table.names == first.names:
        return table.columns
    for one, other in ((first, table), (table, first)):
        for name in one.names:
            if one.names.count(name) != other.names.count(name):
                raise DataError(
                    f"{other.source} lacks the column {name!r} that {one.source} has"
                )
    return table.columns.select(first.names)


def _clash(tables: list[Table]) -> str:
    """Say which column has one type here and another one there."""
    import pyarrow as pa

    first, *others = tables
    for table in others:
        for name in first.names:
            types = [one.columns.schema.field(name).type for one in (first, table)]
            schemas = [pa.schema([(name, type_)]) for type_ in types]
            try:
                pa.unify_schemas(schemas, promote_options="permissive")
            except pa.ArrowException:
                return (
                    f"{table.source}: column {name!r} holds {types[1]}, but that of "
                    f"{first.source} {types[0]}"
                )
    return f"the columns of {first.source} and {others[-1].source} differ"
