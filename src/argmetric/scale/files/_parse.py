"""CSV, TSV and JSON lines: text cut into parts of whole rows, which pyarrow parses."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa

from argmetric._ground.saving import MAX_NESTING, decode_text, is_too_deep, parse_json
from argmetric._ground.types import Integers
from argmetric.scale.files._source import (
    COMMENTS,
    OTHER_ENCODING,
    PIECE,
    UTF8_MARK,
    DataError,
    has_bare_returns,
    marked,
)
from argmetric.scale.files._table import call, text_array, to_numpy

MAX_COLUMNS = 200_000  # each takes 4 kB, however few the rows
_SHOWN_CHARACTERS = 40
_THREAD_BYTES = 1 << 20  # parsed by one of several threads


@dataclass(frozen=True)
class TextPlace:
    """Place in a file of text: the number of lines and bytes before it."""

    name: str
    lines: int = 0
    offset: int = 0

    def plus(self, lines: int, size: int) -> TextPlace:
        """Return the place `lines` lines and `size` bytes later."""
        return TextPlace(self.name, self.lines + lines, self.offset + size)

    def behind(self, data: bytes) -> TextPlace:
        lines = np.count_nonzero(
            np.frombuffer(data, np.uint8) == 10
        )  # not `count`: slow
        return self.plus(int(lines), len(data))

    def text(self, data: bytes) -> str:
        """Return a piece as text; what cannot be read is told with line and byte."""
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            at = self.behind(data[: error.start])
            byte = f"byte {at.offset + 1:,} is 0x{data[error.start]:02X}"
            raise DataError(
                f"{self.name}, line {at.lines + 1}: not utf-8 text ({byte}); "
                f"{OTHER_ENCODING}"
            ) from None


def row_ends(data: bytes, delimiter: str | None) -> Integers:
    """Return the offsets behind rows; a newline between quotes ends no row."""
    text = np.frombuffer(data, np.uint8)
    lines = np.flatnonzero(text == 10) + 1
    if delimiter is None or b'"' not in data:
        return lines
    quotes = np.flatnonzero(text == 34)
    beside = np.zeros(256, bool)  # what stands before opening and behind closing quotes
    beside[[ord(delimiter), 10, 34]] = True
    opening, closing = quotes[2 if quotes[0] == 0 else 0 :: 2] - 1, quotes[1::2] + 1
    is_usual = beside.take(text.take(opening)).all()  # an eighth of beside[text[…]]
    beside[13] = True
    closing = closing[: -1 if closing.size and closing[-1] == text.size else None]
    if is_usual and beside.take(text.take(closing)).all():
        within = np.searchsorted(quotes, lines) & 1
        return lines[within == 0] if within.any() else lines
    # A quote within a cell is no quote; one that opens a cell and closes before other
    # letters has gone astray, and its row ends with the line
    mark, quoted = re.escape(delimiter.encode()), rb'"(?:[^"]|"")*'
    cell = rb'(?>%b"(?=[%b\r\n])|(?!%b"?\Z))[^%b\n]*' % (quoted, mark, quoted, mark)
    rows, found, end = re.compile(rb"%b(?:%b%b)*\n" % (cell, mark, cell)), [], 0
    while (row := rows.match(data, end)) is not None:
        end = row.end()
        found.append(end)
    return np.array(found, np.int64)


def split_rows(
    read: Callable[[int], bytes],
    delimiter: str | None,
    size: int,
    most: int,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[bytes]:
    """Yield the text in parts of whole rows.

    The last row gets a newline if it has none.

    Parameters
    ----------
    read : callable
        Reads at most so many bytes; b"" at the end.
    delimiter : str or None
        None where quotes have no meaning.
    size : int
        Bytes to read at a time.
    most : int
        Where so many bytes, or all bytes that are left, contain no end of a row, the
        first line is yielded alone, for the caller to report as an error.
    interrupted : callable
        Whether reading was interrupted: the unfinished last row is then dropped.
    """
    rest, ended = b"", False
    while rest or not ended:
        data = b"" if ended else read(size)
        if not (data or ended):
            ended = True
            if interrupted():
                return
            data = b"\n" if rest and not rest.endswith(b"\n") else b""
        rest = rest + data if rest else data
        end = rest.rfind(b"\n") + 1
        if delimiter is not None and b'"' in rest:
            ends = row_ends(rest, delimiter)
            end = int(ends[-1]) if ends.size else 0
        if not end and (ended or len(rest) > most):
            end = rest.find(b"\n") + 1 or len(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]


def delimiter_in(head: bytes, delimiter: str) -> str:
    """Return the delimiter of a header: another one if only that occurs."""
    line = head.removeprefix(UTF8_MARK).lstrip(b"\r\n").partition(b"\n")[0]
    others = [mark for mark in ",;\t" if mark.encode() in line]
    if delimiter not in others and len(others) == 1:  # never a guess
        return others[0]
    return delimiter


def header(data: bytes, delimiter: str, name: str) -> tuple[list[str], str, int]:
    """Return the columns, what separates them, and where the rows begin."""
    start = len(data) - len(data.removeprefix(UTF8_MARK).lstrip(b"\r\n"))
    end = data.find(b"\n", start)
    if has_bare_returns(data):
        raise DataError(
            f"{name}: its lines end in CR alone; tr '\\r' '\\n' makes lines that end "
            "in LF"
        )
    # The text of cells is checked by pyarrow, which does not look at the names
    decode_text(data[: end if end > 0 else None], "utf-8", name, OTHER_ENCODING)
    try:
        text = data[start : max(start + PIECE, end)].decode(errors="ignore")
        delimiter = delimiter_in(data[start:end] if end > 0 else data, delimiter)
        rows = csv.reader(StringIO(text), delimiter=delimiter, skipinitialspace=True)
        names = next(rows)
        refuse_endless(names[-1], data, f"{name}: the header line")
    except (IndexError, StopIteration, csv.Error):
        raise DataError(f"{name} has no header line") from None
    if len(names) > MAX_COLUMNS:
        raise DataError(
            f"{name} has {len(names):,} columns; at most {MAX_COLUMNS:,} are read"
        )
    stop = start
    while (stop := data.find(b"\n", stop) + 1) and data.count(b'"', start, stop) % 2:
        pass
    return [one.strip() for one in names], delimiter, stop or len(data)


def parse(
    data: bytes,
    width: int,
    delimiter: str,
    types: dict[str, Any],
    *,
    threads: bool = False,
    empty_rows: bool = False,
    on_ragged: Callable[[Any], str] | None = None,
) -> pa.Table:
    """Return columns f0, f1, … of rows without a header: those that have a type."""
    import pyarrow.csv as pc

    block = _THREAD_BYTES if threads else len(data) + 1
    return pc.read_csv(
        pa.BufferReader(pa.py_buffer(data)),
        read_options=pc.ReadOptions(
            column_names=[f"f{i}" for i in range(width)],
            block_size=block,
            use_threads=threads,
        ),
        parse_options=pc.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=len(data) >= block and b'"' in data,
            ignore_empty_lines=not empty_rows,
            invalid_row_handler=on_ragged,
        ),
        convert_options=pc.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            strings_can_be_null=False,
            null_values=[],  # every column has a copy of these words: 7 kB
            true_values=[],
            false_values=[],
        ),
    )


def text_columns(
    data: bytes, names: list[str], chosen: list[str], delimiter: str, place: TextPlace
) -> pa.Table:
    """Return every cell as the text it is; what a column means is decided later."""
    numbers = range(len(names)) if chosen == names else map(names.index, chosen)
    types = {f"f{i}": pa.large_string() for i in numbers}
    # In a file of one column an empty line is a row with an empty cell
    given = data, len(names), delimiter, types
    empty_rows = len(names) == 1
    try:
        try:
            table = parse(*given, threads=True, empty_rows=empty_rows)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):  # a row that does not fit into a block
                raise
            table = parse(*given, empty_rows=empty_rows)
    except pa.ArrowInvalid as error:
        _refuse_ragged(data, names, delimiter, place)
        if "invalid UTF8" in str(error):
            place.text(data)
        raise
    return table.rename_columns(chosen)


def columns_and_aside(
    data: bytes,
    names: list[str],
    chosen: list[str],
    delimiter: str,
    numeric: Collection[str],
) -> tuple[pa.Table, dict[int, str]]:
    """Return the cells of rows, and what is wrong with rows not among them.

    Cells are texts, and those of `numeric` columns numbers if all of them are.
    """
    aside: dict[int, str] = {}
    places = [f"f{names.index(name)}" for name in chosen]

    def count_cells(n: int, text: str) -> str:
        hint = COMMENTS if text.startswith("#") else ""
        cells = f"{n} cell{'s' * (n != 1)}"
        return f"it has {cells}, the header has {len(names)}{hint}"

    def skip(row: Any) -> str:
        aside[row.number - 1] = count_cells(row.actual_columns, row.text)
        return "skip"

    how: Any = {"empty_rows": len(names) == 1, "on_ragged": skip}
    for kind in (pa.float64(), pa.large_string()):
        types = {
            place: kind if name in numeric else pa.large_string()
            for place, name in zip(places, chosen, strict=True)
        }
        aside.clear()
        with contextlib.suppress(pa.ArrowInvalid):
            table = parse(data, len(names), delimiter, types, **how)
            known = table.num_rows + len(aside)
            if b'"' not in data or known == _count_rows(data, delimiter):
                return table.rename_columns(chosen), aside
    aside, rows = {}, []
    pieces = np.split(np.frombuffer(data, np.uint8), row_ends(data, delimiter)[:-1])
    texts = [piece.tobytes().decode(errors="replace") for piece in pieces]
    texts = [one for one in texts if len(names) == 1 or one.strip()]
    for place, text in enumerate(texts):
        try:
            cells = next(csv.reader(StringIO(text), delimiter=delimiter), [""])
        except csv.Error as error:
            aside[place] = f"it cannot be read: {error}"
            continue
        if "\n" in cells[-1] and text.count('"') % 2:
            aside[place] = "it opens a quote that never closes"
        elif len(cells) != len(names):
            aside[place] = count_cells(len(cells), text)
        else:
            rows.append(cells)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [text_array(columns[names.index(name)]) for name in chosen]
    return pa.Table.from_arrays(arrays, names=chosen), aside


def _count_rows(data: bytes, delimiter: str) -> int:
    """Return how many rows there are that are not blank."""
    sizes = np.diff(row_ends(data, delimiter), prepend=0)
    starts = np.cumsum(sizes) - sizes
    is_return = np.frombuffer(data, np.uint8)[starts] == 13
    return int(((sizes > 2) | ((sizes == 2) & ~is_return)).sum())


def _refuse_ragged(data: bytes, names: list[str], mark: str, place: TextPlace) -> None:
    """Refuse the first row with more or fewer cells than the header, by its line."""
    text = StringIO(data.decode(errors="replace"), newline="")
    rows = csv.reader(text, delimiter=mark)
    line = place.lines + 1
    with contextlib.suppress(csv.Error):
        for cells in rows:
            if cells and len(cells) != len(names):
                refuse_endless(cells[-1], data, f"{place.name}, line {line}")
                count = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
                start = mark.join(cells)[:_SHOWN_CHARACTERS]
                hint = COMMENTS if "#" in (cells[0][:1], names[0][:1]) else ""
                raise DataError(
                    f"{place.name}, line {line}: {count}, but the header has "
                    f"{len(names)}: {start!r}{hint}"
                )
            line = place.lines + rows.line_num + 1


def refuse_endless(cell: str, data: bytes, where: str) -> None:
    """Refuse a quote that is never closed: it swallows the rest of the file."""
    if "\n" in cell and data.count(b'"') % 2:
        raise DataError(f"{where} opens a quote that never closes")


def refuse_long_line(data: bytes, most: int, place: TextPlace) -> None:
    """Refuse a line that readers would copy several times over."""
    start = 0
    while len(data) - start > most:
        end = data.rfind(b"\n", start, start + most + 1)
        if end < 0:
            line = place.behind(data[:start]).lines + 1
            raise DataError(
                f"{place.name}, line {line}: longer than {most:,} bytes; if that is "
                f"right, pass {marked('max_line', 'SIZE')}"
            )
        start = end + 1


def json_columns(
    data: bytes, place: TextPlace, aside: dict[int, str] | None = None
) -> Any:
    """Return the columns of JSON lines.

    What is wrong with lines that cannot be read is put `aside`, or raised where this is
    None.
    """
    import pyarrow.compute as pc

    if aside is not None:
        data = data.decode(errors="replace").encode()
    whole = text_array([place.text(data)])
    lines = pc.split_pattern(whole, pattern="\n").values
    lines = lines.filter(pc.match_substring_regex(lines, pattern=r"\S"))
    brackets = call("count_substring_regex", lines, pattern=r"[\[{]")
    many = np.flatnonzero(to_numpy(brackets, np.int64) > MAX_NESTING).tolist()
    too_deep = any(is_too_deep(lines[i].as_py().encode()) for i in many)
    objects = pc.match_substring_regex(lines, pattern=r"^\s*\{")
    if not too_deep and pc.all(objects).as_py():  # pyarrow takes null for a row
        longest = pc.max(pc.binary_length(lines)).as_py() or 0
        with contextlib.suppress(pa.ArrowInvalid):
            columns = _plain_columns(data, max(1 << 20, 2 * longest))
            # pyarrow takes two objects on a line, and rounds whole numbers of 64 bits
            if columns.num_rows == len(lines) and not _has_rounded(columns):
                return columns
    rows = _parse_lines(lines, place, aside)
    keys = dict.fromkeys(key for row in rows for key in row)
    arrays = [_json_array([row.get(key) for row in rows]) for key in keys]
    return pa.Table.from_arrays(arrays, names=list(keys))


def _has_rounded(columns: pa.Table) -> bool:
    """Return whether floats are so large that they may stand for whole numbers."""
    floats = [one for one in columns.columns if pa.types.is_floating(one.type)]
    sizes = [call("max", call("abs", one)).as_py() or 0.0 for one in floats]
    return max(sizes, default=0.0) >= 2.0**63


def _json_array(values: list[Any]) -> pa.Array:
    """Return values as a column; what has no single type as text, judged if it is used.

    Whole numbers may have 64 bits and no sign.
    """
    for kind in (None, pa.uint64()):
        with contextlib.suppress(
            pa.ArrowException, OverflowError, ValueError, TypeError
        ):
            return pa.array(values, kind)
    return pa.array([_json_text(value) for value in values])


def _parse_lines(
    lines: pa.Array, place: TextPlace, aside: dict[int, str] | None
) -> list[dict[str, Any]]:
    """Read lines one by one; see `json_columns`."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines.to_pylist()):
        problem, row = f"not a JSON object: {line[:_SHOWN_CHARACTERS]}", None
        try:
            row = parse_json(line, rows=True)
        except ValueError as error:
            problem = f"not JSON: {error}"
        if isinstance(row, dict):
            problem = _repeated_key(line)
        if isinstance(row, dict) and not problem:
            rows.append(row)
        elif aside is None:
            line_number = place.lines + number + 1
            raise DataError(f"{place.name}, line {line_number}: {problem}")
        else:
            aside[number] = f"it is {problem}"
    return rows


def _repeated_key(line: str) -> str:
    """Return what is wrong with a JSON object that has a key twice: which counts?"""
    keys = [key for key, _ in json.loads(line, object_pairs_hook=list)]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    return "" if twice is None else f"an object with the key {twice!r} twice"


def _plain_columns(data: bytes, block_bytes: int) -> pa.Table:
    """Read with the types that pyarrow infers, but keep text that looks like a date."""
    import pyarrow.json as pj

    def read(schema: pa.Schema) -> pa.Table:
        """Read JSON lines with pyarrow, by this schema."""
        return pj.read_json(
            pa.BufferReader(pa.py_buffer(data)),
            read_options=pj.ReadOptions(block_size=block_bytes),
            parse_options=pj.ParseOptions(explicit_schema=schema),
        )

    table = read(None)
    schema = pa.schema(
        [field.with_type(_as_text(field.type)) for field in table.schema]
    )
    return table if schema.equals(table.schema) else read(schema)


def _as_text(type_: pa.DataType) -> pa.DataType:
    """Return a type with every timestamp in it, however deep, as text."""
    if pa.types.is_timestamp(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(_as_text(type_.value_type))
    if pa.types.is_struct(type_):
        fields = [type_.field(i) for i in range(type_.num_fields)]
        return pa.struct([field.with_type(_as_text(field.type)) for field in fields])
    return type_


def _json_text(value: Any) -> str | None:
    """Return a JSON value as the text of a cell; None for null."""
    if isinstance(value, str):  # half of a surrogate pair is no text
        return value.encode(errors="backslashreplace").decode()
    if value is None:
        return None
    return plain_id(value) if isinstance(value, bool) else json.dumps(plain_id(value))


def plain_id(value: Any) -> Any:
    """Return what a value is called whatever stands in other rows: 1.0 is 1.

    pyarrow reads 1 as 1.0 where 1.5 is near, and a truth value as text where there is
    text.
    """
    if isinstance(value, bool):
        return json.dumps(value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_whole else value
