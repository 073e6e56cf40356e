"""Rows of any file, batch by batch; a table is all of them.

Text is cut into parts of whole rows, which pyarrow parses: so compressed and piped
text is read as plain files are, and memory does not grow with the file.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple, get_args

import pyarrow as pa

from argmetric._ground.saving import decode_text, is_utf8, refuse_utf16_and_zero_bytes
from argmetric.scale.files._parse import (
    TextPlace,
    columns_and_aside,
    delimiter_in,
    header,
    json_columns,
    refuse_endless,
    refuse_long_line,
    split_rows,
    text_columns,
)
from argmetric.scale.files._source import (
    DELIMITERS,
    FORMATS,
    MAX_LINE_BYTES,
    OTHER_ENCODING,
    PIECE,
    UTF8_MARK,
    DataError,
    Format,
    Source,
    binary_format,
    format_by_name,
    has_bare_returns,
    marked,
    sniff,
    without_codec,
)
from argmetric.scale.files._table import Table
from argmetric.scale.files._write import BINARY, read_typed, typed_batches

Choose = Callable[[Table], list[str]]  # from a table without rows to columns to read

BLOCK_BYTES = 1 << 22  # of text in a batch; 2^23 take a fifth longer


class TextForm(NamedTuple):
    """Options of `read_blocks` for text."""

    encoding: str
    max_line: int
    set_aside: Callable[[], Collection[str]] | None

    @property
    def block(self) -> int:
        """Return bytes that are parsed at a time."""
        return BLOCK_BYTES if self.set_aside is None else min(BLOCK_BYTES, PIECE)


def read_table(
    source: str | os.PathLike[str], format: Format | None = None, **how: Any
) -> Table:
    """Read all rows of a file, as `read_blocks` takes it; there must be some."""
    tables = list(_batches(os.fspath(source), format, None, **how))
    first = tables[0]
    if len(tables) > 1:
        first = replace(first, columns=pa.concat_tables([t.columns for t in tables]))
    if first.n_rows == 0:
        raise DataError(f"{first.source} has no rows")
    return first


def read_blocks(
    source: str | os.PathLike[str],
    choose: Choose,
    format: Format | None = None,
    **how: Any,
) -> Generator[Table]:
    """Rows of a file, block by block; none of a header alone.

    Parameters
    ----------
    source : str or path
        CSV, TSV, JSONL, Parquet or Arrow IPC (Feather), the first three also compressed
        by gzip or zstd; ``"-"`` is standard input. Text that is not in UTF-8, and
        columns with types that are compressed or piped, are one block.
    choose : callable
        Which columns are read; it may raise where one is missing.
    format : str, optional
        Where the extension does not say it; pipes are known by their first bytes.
    encoding, max_line, decimal : optional
        How text is written, its longest line in bytes, and its decimal sign.
    set_aside, stopped : optional
        With `set_aside`, which names columns of numbers, a row of text that cannot be
        parsed is listed in `Table.aside` and does not end the reading, and blocks come
        as soon as a pipe has rows. `stopped` is called while it has none: True ends it.
    """
    tables = _batches(os.fspath(source), format, choose, **how)
    return (table for table in tables if table.n_rows or table.aside)


def _batches(
    path: str,
    format: Format | None,
    choose: Choose | None,
    *,
    encoding: str = "utf-8",
    max_line: int = MAX_LINE_BYTES,
    decimal: str = ".",
    set_aside: Callable[[], Collection[str]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Table]:
    """Yield rows in their order; text and chosen columns in blocks."""
    if format is not None and format not in FORMATS:
        known = ", ".join(get_args(Format))
        raise DataError(f"unknown format {format!r}; known: {known}")
    source = Source(path, stopped)
    try:
        if format is None and source.regular:
            format = format_by_name(without_codec(path), role="format")
        if not source.head.strip() and len(source.head) < PIECE:
            raise DataError(f"{source.name} is empty")
        format = _agreed_format(source.name, format, source.head)
        if format in BINARY:
            tables = _typed_tables(source, format, choose)
        else:
            read = _json_tables if format == "jsonl" else _delimited_tables
            tables = read(
                source, format, TextForm(encoding, max_line, set_aside), choose
            )
        first = 0
        for table in tables:
            yield replace(table, decimal=decimal, first=first)
            first += table.n_rows + len(table.aside)
    except (pa.ArrowException, OSError) as error:
        # pyarrow reports damaged compressed pages as an OSError without a number
        reason = str(error).splitlines()[0].strip() if str(error) else repr(error)
        said = f" is not a whole {format} file, perhaps cut short: {reason}"
        if format in DELIMITERS or format == "jsonl":
            said = f": {re.sub('^(CSV|JSON) parse error: ', '', reason)}"
        raise DataError(f"{source.name}{said}") from error
    finally:
        source.close()


def _agreed_format(name: str, format: Format | None, head: bytes) -> Format:
    """Return the format of a file; refuse one that its bytes contradict."""
    shown = binary_format(head)
    if format is None:
        format = sniff(head)
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


def _select(table: Table, choose: Choose | None) -> Table:
    names = table.names if choose is None else choose(table)
    if names == table.names:
        return table
    return replace(table, columns=table.columns.select(names))


def _typed_tables(
    source: Source, format: Format, choose: Choose | None
) -> Iterator[Table]:
    if choose is None or not source.regular or source.codec:
        columns = read_typed(source.all(), format)
        yield _select(Table(columns, format, source.name), choose)
        return

    def names(schema: pa.Schema) -> list[str]:
        empty = pa.Table.from_batches([], schema)  # empty_table() imports pandas
        return choose(Table(empty, format, source.name))

    for batch in typed_batches(source.path, format, names, memory_map=True):
        yield Table(pa.Table.from_batches([batch]), format, source.name)


def _text(
    source: Source, how: TextForm, delimiter: str | None, size: int
) -> Iterator[tuple[bytes, TextPlace]]:
    """Pieces of whole rows in UTF-8, one if `size` is 0, and where they begin."""
    encoding, max_line, _ = how
    name, head, utf8 = source.name, source.head, is_utf8(encoding)
    if utf8:
        refuse_utf16_and_zero_bytes(head, name, f"pass {marked('encoding', 'utf-16')}")
    else:
        head = decode_text(source.all(), encoding, name, OTHER_ENCODING).encode()
    bare_returns = has_bare_returns(head)

    def lines(data: bytes) -> bytes:
        return data.replace(b"\r", b"\n") if bare_returns else data

    parts: Iterable[bytes]
    if size:
        mark = delimiter and delimiter_in(lines(head), delimiter)
        patient = partial(source.read, at_once=how.set_aside is not None)
        read: Callable[[int], bytes] = patient if utf8 else BytesIO(head).read
        most = max(max_line, MAX_LINE_BYTES)
        parts = split_rows(
            *(lambda count: lines(read(count)), mark, size, most),
            interrupted=lambda: source.interrupted,
        )
    else:
        parts = [lines(source.all() if utf8 else head)]
    place = TextPlace(name)
    for piece in parts:
        refuse_long_line(piece, max_line, place)
        yield piece, place
        place = place.behind(piece)


def _delimited_tables(
    source: Source, format: Format, how: TextForm, choose: Choose | None
) -> Iterator[Table]:
    """Yield tables of a CSV or TSV file, block by block, of the chosen columns."""
    name, mark = source.name, DELIMITERS[format]
    names: list[str] = []
    rows, aside = 0, dict[int, str]()
    for data, place in _text(source, how, mark, how.block):
        if not names:
            names, mark, start = header(data, mark, name)
            cells = [pa.nulls(0, pa.large_string())] * len(names)
            nothing = pa.Table.from_arrays(cells, names=names)
            nothing = _select(Table(nothing, format, name), choose).columns
            chosen = nothing.column_names
            place, data = place.behind(data[:start]), data[start:]
        if data and how.set_aside is not None:
            given = data, names, chosen, mark
            columns, aside = columns_and_aside(*given, how.set_aside())
        elif data:
            columns = text_columns(data, names, chosen, mark, place)
            rows += columns.num_rows
        else:
            columns = nothing
        if columns.num_rows and how.set_aside is None:
            last = columns.column(columns.num_columns - 1)[-1].as_py()
            refuse_endless(last, data, f"{name}: row {rows}")
        yield Table(columns, format, name, delimiter=mark, aside=aside)


def _json_tables(
    source: Source, format: Format, how: TextForm, choose: Choose | None
) -> Iterator[Table]:
    """Yield tables of a file of JSON lines, block by block."""
    size = 0 if choose is None else how.block
    for data, place in _text(source, how, None, size):
        if not place.lines:
            data = data.removeprefix(UTF8_MARK)
            if data.lstrip().startswith(b"["):
                raise DataError(
                    f"{source.name} holds a JSON array; one object on each line is "
                    "needed (jq -c '.[]' makes them)"
                )
        aside: dict[int, str] | None = None if how.set_aside is None else {}
        columns = json_columns(data, place, aside)
        table = Table(columns, format, source.name, aside=aside or {})
        yield _select(table, choose)


def read_tables(
    sources: Sequence[str], format: Format | None = None, *, name: str, **how: Any
) -> Table:
    """Read files with the same columns into one table that messages call `name`."""
    tables = [read_table(one, format, **how) for one in sources]
    first = tables[0]
    aligned = [_align(table, first) for table in tables]
    try:
        columns = pa.concat_tables(aligned, promote_options="permissive")
    except pa.ArrowException:
        raise DataError(_clash(tables)) from None
    parts = tuple((table.source, table.n_rows) for table in tables)
    return replace(first, columns=columns, source=name, parts=parts)


def _align(table: Table, first: Table) -> pa.Table:
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
    """Return a message on a column that has different types in two files."""
    first, *others = tables
    for table, name in itertools.product(others, first.names):
        known, kind = (one.columns.schema.field(name).type for one in (first, table))
        pair = pa.schema([(name, known)]), pa.schema([(name, kind)])
        try:
            pa.unify_schemas(pair, promote_options="permissive")
        except pa.ArrowException:
            return (
                f"{table.source}: column {name!r} holds {kind}, but that of "
                f"{first.source} {known}"
            )
    return f"the columns of {first.source} and {others[-1].source} differ"
