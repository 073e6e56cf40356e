"""Rows as they were read, and how a column is found: by its name, or a default one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric.scale.files._arrow import (
    call,
    column_array,
    json_values,
    text_scalar,
    to_numpy,
)
from argmetric.scale.files._source import DELIMITERS, DataError, Format, Role, marked


@dataclass(frozen=True)
class Table:
    """The rows of one file.

    Columns of CSV and TSV are text, cell by cell as in the file, so that ids such as
    ``007`` survive.
    """

    columns: Any  # pyarrow.Table
    format: Format
    source: str  # the name of the file, for messages
    delimiter: str = ","  # between the cells of CSV and TSV
    lines: Any = None  # of JSONL, so that each can be written back unchanged
    parts: tuple[tuple[str, int], ...] = ()  # of several files: name, number of rows
    decimal: str = "."  # of numbers in text: a point or a comma
    first: int = 0  # rows of the file before these, where they are a block of it

    @property
    def names(self) -> list[str]:
        return list(self.columns.column_names)

    @property
    def n_rows(self) -> int:
        return int(self.columns.num_rows)

    def place_of(self, row: int) -> tuple[str, int]:
        """Return the file of a row, and the number of the row in it; both from 0."""
        for source, n_rows in self.parts:
            if row < n_rows:
                return source, row
            row -= n_rows
        return self.source, row + self.first

    def with_column(self, name: str, values: npt.ArrayLike) -> Table:
        """Return the table with one column more, of a free name, at its end."""
        if name in self.names:
            raise DataError(f"{self.source} already has a column {name!r}")
        array = column_array(np.asarray(values))
        if len(array) != self.n_rows:
            raise DataError(f"{len(array)} values for {self.n_rows} rows")
        columns = self.columns.append_column(name, array)
        lines = None if self.lines is None else _with_key(self.lines, name, array)
        return replace(self, columns=columns, lines=lines)


def _with_key(lines: Any, name: str, values: Any) -> Any:
    """Add a key to the end of JSON objects, one on a line, in the spacing they have."""
    import json

    spaced = '": ' in lines[0].as_py()
    key = json.dumps(name) + (": " if spaced else ":")
    opened = call(
        "replace_substring_regex", lines, pattern=r"\s*\}\s*$", replacement=""
    )
    has_keys = call("invert", call("match_substring_regex", opened, pattern=r"^\s*\{$"))
    comma = text_scalar(", " if spaced else ",")
    nothing = text_scalar("")
    return call(
        "binary_join_element_wise",
        opened,
        call("if_else", has_keys, comma, nothing),
        text_scalar(key),
        json_values(values),
        text_scalar("}"),
        nothing,
    )


_SHOWN_COLUMNS = 12


def named_column(table: Table, name: str) -> str:
    """Return a name that the user gave, if one column has it; else offer near ones."""
    count = table.names.count(name)
    if count == 1:
        _refuse_repeated_key(table, name)
        return name
    if count > 1:
        raise DataError(repeated(table, name))
    lowered = {known.lower(): known for known in table.names}
    near = [lowered[low] for low in get_close_matches(name.lower(), lowered, n=3)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise DataError(f"no column {name!r} in {table.source}{hint} {_listed(table)}")


def default_columns(
    table: Table, defaults: Iterable[str], *, taken: Iterable[str] = ()
) -> list[str]:
    """Return the columns with a default name, in any case, that are not taken."""
    known, used = set(defaults), set(taken)
    return [n for n in table.names if n.lower() in known and n not in used]


def find_column(
    table: Table,
    name: str | None,
    defaults: Iterable[str],
    *,
    what: str,
    role: Role,
    taken: Iterable[str] = (),
) -> str:
    """Return the column that was named, else the only one with a default name.

    Messages say `what` it holds, such as a "score", and by which `role` the user names
    it; columns that are `taken` serve another purpose.
    """
    if name is not None:
        return named_column(table, name)
    defaults = tuple(defaults)
    found = default_columns(table, defaults, taken=taken)
    if found and len(set(found)) == 1:
        return named_column(table, found[0])
    if found:
        raise DataError(
            f"{table.source}: which column is the {what}? Candidates: "
            f"{', '.join(map(repr, found))}; choose with {marked(role)}"
        )
    looked_for = ", ".join(defaults)
    raise DataError(
        f"{table.source} has no {what} column (looked for {looked_for}); "
        f"pass {marked(role, 'COLUMN')} {_listed(table)}{_header_hint(table)}"
    )


def repeated(table: Table, name: str) -> str:
    """Say which columns have the same name."""
    places = [str(i) for i, known in enumerate(table.names, 1) if known == name]
    return (
        f"{table.source} has {len(places)} columns named {name!r}: columns "
        f"{', '.join(places[:-1])} and {places[-1]}; rename one"
    )


def _refuse_repeated_key(table: Table, name: str) -> None:
    """Refuse a key that one line of JSON has twice: which of them counts?"""
    if table.lines is None:
        return
    import json
    import re

    pattern = re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:"
    often = call("count_substring_regex", table.lines, pattern=pattern)
    for line in np.flatnonzero(to_numpy(often, np.int64) > 1).tolist():
        # It may be the key of an object within the object
        pairs = json.loads(table.lines[line].as_py(), object_pairs_hook=list)
        if sum(key == name for key, _ in pairs) > 1:
            row = table.place_of(line)[1] + 1
            raise DataError(f"{table.source}, row {row}: the key {name!r} twice")


def _listed(table: Table) -> str:
    names = table.names
    more = f", … {len(names)} in all" if len(names) > _SHOWN_COLUMNS else ""
    return f"(columns: {', '.join(names[:_SHOWN_COLUMNS])}{more})"


def _header_hint(table: Table) -> str:
    """Point out names that are all numbers: the first row was taken for a header."""

    def is_number(text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return False
        return True

    if table.format in DELIMITERS and all(is_number(name) for name in table.names):
        return "; the first line looks like data: the file needs a header line"
    return ""
