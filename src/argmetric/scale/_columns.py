"""The columns that a run uses: the same in every file, checked batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argmetric._files import (
    LOGIT_NAMES,
    SCORE_NAMES,
    DataError,
    Table,
    find_column,
    marked,
    named_column,
)
from argmetric._input.types import Floats
from argmetric._input.validation import check_scores
from argmetric.scale._sources import BATCH_ROWS, Source, batches_of

MissingGroups = Literal["error", "own"]


@dataclass(frozen=True)
class Used:
    """Which columns are read, and how.

    Attributes
    ----------
    score : str
        The column of probabilities or logits.
    group : str or None
        The column of group ids.
    kind : str
        What ids are in the pieces: of all types only their equality matters.
    missing : str
        What becomes of rows without a group.
    """

    score: str
    logits: bool
    group: str | None = None
    kind: str = ""
    missing: MissingGroups = "error"

    @property
    def columns(self) -> list[str]:
        """Columns that the value of a row is read from."""
        return [self.score]

    def values(self, batch: Any, source: Source, first: int) -> Floats:
        """The value of every row: its score, checked to be a probability or logit."""
        values = as_floats(batch.column(self.score))
        try:
            check_scores(
                values,
                f"{source.path}: column {self.score!r}",
                logits=self.logits,
                where=lambda i: f"row {first + i}",
            )
        except ValueError as error:
            raise DataError(str(error)) from None
        return values

    def in_range(self, values: Floats) -> Floats:
        """Checked scores without what rounding has put outside of 0 to 1."""
        return values if self.logits else np.clip(values, 0.0, 1.0)


def find_used(
    source: Source,
    schema: Any,
    score: str | None,
    group: str | None,
    decision: str,
    *,
    logits: bool,
    missing: MissingGroups,
) -> Used:
    """The columns to use, found in one file."""
    table = Table(schema.empty_table(), "parquet", source.path)
    defaults = SCORE_NAMES + (LOGIT_NAMES if logits else ())
    taken = [] if group is None else [group]
    name = find_column(table, score, defaults, what="score", role="score", taken=taken)
    if decision in schema.names or decision in source.keys:
        raise DataError(
            f"{source.path} already has a column {decision!r}; name the new one with "
            f"{marked('decision_column')}"
        )
    require_numbers(source, schema, name)
    if group is None:
        return Used(name, logits)
    if group == name:
        raise DataError(f"group and score both name column {name!r}")
    return Used(name, logits, group, kind_of_group(source, schema, group), missing)


def require_numbers(source: Source, schema: Any, name: str) -> None:
    """Refuse a column of anything else."""
    kind = schema.field(name).type
    if not _is_number(kind):
        raise DataError(f"{source.path}: column {name!r} holds {kind}, not numbers")


def kind_of_group(source: Source, schema: Any, group: str) -> str:
    """What ids of a column, or of a folder, are in the pieces."""
    if group in source.keys:
        return "text"
    named_column(Table(schema.empty_table(), "parquet", source.path), group)
    kind = _kind_of_ids(schema.field(group).type)
    if not kind:
        raise DataError(
            f"{source.path}: column {group!r} holds {schema.field(group).type}; group "
            "ids are numbers, text, bytes or times"
        )
    return kind


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    known = pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean
    return any(check(kind) for check in known) or pa.types.is_decimal(kind)


def _kind_of_ids(kind: Any) -> str:
    """What ids of an Arrow type are in the pieces; empty for what cannot be an id."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return _kind_of_ids(kind.value_type)
    if types.is_uint64(kind):
        return "whole numbers without a sign"
    if types.is_integer(kind):
        return "whole numbers"
    if types.is_floating(kind):
        return "fractions"
    if types.is_boolean(kind):
        return "truth values"
    if types.is_binary(kind) or types.is_large_binary(kind) or "binary" in str(kind):
        return "bytes"
    if "string" in str(kind) and not types.is_nested(kind):
        return "text"
    if types.is_temporal(kind) and not types.is_interval(kind):
        return f"times ({kind})"
    return f"decimals ({kind})" if types.is_decimal(kind) else ""


def arrow_type(kind: str) -> Any:
    """The Arrow type of ids of a kind."""
    import pyarrow as pa

    plain = {
        "whole numbers without a sign": pa.uint64(),
        "fractions": pa.float64(),
        "truth values": pa.bool_(),
        "bytes": pa.large_binary(),
        "text": pa.large_string(),
    }
    if kind.startswith("decimals"):
        return pa.large_string()
    return plain.get(kind, pa.int64())  # times are numbers of their unit


def plain_ids(column: Any, kind: str) -> Any:
    """Ids in the type that they have in pieces; nan is missing, and 0 has no sign."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_temporal(column.type):
        width = column.type.bit_width
        column = column.view(pa.int32() if width == 32 else pa.int64())
    if column.type != arrow_type(kind):
        column = column.cast(arrow_type(kind))
    if pa.types.is_floating(column.type):
        nothing = pa.scalar(None, pa.float64())
        column = pc.if_else(pc.is_nan(column), nothing, pc.add(column, 0.0))
    return column


def scores_and_ids(
    source: Source, used: Used, rows: int = BATCH_ROWS
) -> Iterator[tuple[int, Floats, Any]]:
    """First row, values, and ids (None without groups) of every batch."""
    import pyarrow as pa

    in_file = used.group is not None and used.group not in source.keys
    columns = [*used.columns, *([str(used.group)] if in_file else [])]
    first = 0
    for batch in batches_of(source, columns, rows):
        values = used.values(batch, source, first)
        ids = None
        if in_file:
            ids = plain_ids(batch.column(str(used.group)), used.kind)
        elif used.group is not None:
            key = pa.scalar(source.keys[used.group], arrow_type(used.kind))
            ids = pa.repeat(key, batch.num_rows)
        if ids is not None and ids.null_count and used.missing == "error":
            row = first + int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(
                f"{source.path}: column {used.group!r} is missing at row {row}; "
                f"{marked('missing_groups', 'own')} makes such rows one group"
            )
        yield first, values, ids
        first += batch.num_rows


def as_floats(column: Any) -> Floats:
    """Numbers of any type as 64-bit floats, nan where missing."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
