"""Columns of a header or an Arrow table as features and labels; Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.types import Booleans, Bytes, Floats, Integers
from argmetric.scale.files._source import (
    HEAD,
    LABEL_NAMES,
    DataError,
    Source,
    digest,
    marked,
)
from argmetric.scale.files._table import (
    Table,
    call,
    cast,
    find_column,
    flat,
    float_array,
    integer_array,
    mask_to_numpy,
    named_column,
    null_like,
    to_numpy,
)
from argmetric.scale.files._values import _NUMBER, is_numeric
from argmetric.scale.files._write import typed_batches
from argmetric.scale.files.blocks import _base
from argmetric.scale.files.blocks._base import (
    BadRowError,
    Blocks,
    Position,
    Request,
    RowBlock,
    RowFormat,
    RowLayout,
    StreamClasses,
    shown,
)

HASHED = marked("hash_bits", "18")


def known_layout(known: RowLayout, kind: RowFormat, source: str) -> RowLayout:
    """Return the layout of rows of a format with the features that were learned."""
    numbered = known.format == "svmlight", kind == "svmlight"
    if numbered[0] != numbered[1]:
        raise DataError(
            f"{source} is {kind}, but the model has learned from {known.format}: "
            "svmlight has numbers where others have names"
        )
    if not known.names and kind != known.format:
        raise DataError(
            f"{source} is {kind}, but the model has learned from hashed {known.format}"
        )
    return replace(known, format=kind, target=None, columns=())


def chosen_columns(
    names: list[str], source: str, format: RowFormat, request: Request
) -> tuple[str, tuple[str, ...]]:
    """Return the column of labels and those of features."""
    empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
    table = Table(empty, "csv" if format == "svmlight" else format, source)
    dropped = [named_column(table, name) for name in request.drop]
    target = find_column(
        table, request.target, LABEL_NAMES, what="label", role="label", taken=dropped
    )
    if target in dropped:
        raise DataError(
            f"{marked('drop')} and {marked('label')} both name column {target!r}"
        )
    features = [name for name in names if name != target and name not in dropped]
    for name in features:
        named_column(table, name)  # a name that two columns have is refused
    if not features:
        raise DataError(f"{source} has no column to learn from beside {target!r}")
    return target, tuple(features)


def with_header(
    layout: RowLayout, names: list[str], source: str, delimiter: str = ","
) -> RowLayout:
    """Return a layout whose features are found among the columns of a file."""
    empty = pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names)
    table = Table(empty, "csv", source)
    wanted = {named_column(table, name) for name in layout.names}
    found = tuple(name for name in names if name in wanted)
    return replace(layout, names=found, columns=tuple(names), delimiter=delimiter)


def label_text(value: object) -> str:
    """Return a label of a typed column as text; empty for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip()


def known_labels(
    column: pa.Array, classes: StreamClasses
) -> tuple[Bytes, StreamClasses, Callable[[int], str]]:
    """Return labels as 0 and 1, 2 for neither; classes with new ones; a row's label."""
    column = flat(column)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    missing = integer_array(np.array([-1]))[0]
    codes = to_numpy(pc.fill_null(column.indices.cast(pa.int64()), missing), np.int64)
    texts = [label_text(value) for value in column.dictionary.to_pylist()]
    if not classes.are_known:
        # In order of the rows: which of two new values comes first must not depend on
        # how the rows are cut into blocks
        new, first = np.unique(codes, return_index=True)
        for code in new[np.argsort(first)]:
            if code >= 0 and classes.of(texts[code]) is None:
                classes = classes.learn(texts[code]) or classes
    found = [classes.of(text) for text in texts]
    meaning = np.array([2 if one is None else one for one in found] + [2], np.uint8)

    def text_of(row: int) -> str:
        return texts[codes[row]] if codes[row] >= 0 else ""

    return meaning[codes], classes, text_of


def dense(columns: list[Any], n_rows: int) -> tuple[Floats, Booleans]:
    """Return columns side by side, and which cells cannot be used."""
    X = np.empty((n_rows, len(columns)))
    nothing = float_array(np.array([np.nan]))[0]
    for j, column in enumerate(columns):
        column = flat(column)
        if column.type != pa.float64():
            column = pc.cast(column, pa.float64(), safe=False)
        if column.null_count:
            column = pc.fill_null(column, nothing)
        X[:, j] = to_numpy(column, np.float64)
    return X, ~np.isfinite(X)


# 1 for bytes that are in no number, and in no pair index:value
_ODD = bytes(byte not in b"0123456789+-.eE: \t\r\n" for byte in range(256))


def odd_bytes(text: Bytes) -> Integers:
    """Return the places of bytes that are in no number."""
    return np.flatnonzero(np.frombuffer(text.tobytes().translate(_ODD), bool))


def numbers_in(
    text: Bytes, starts: Integers, ends: Integers, odd: Integers
) -> tuple[Floats, Any]:
    """Return the numbers between offsets of a text, and which are none.

    `odd` are the places of `odd_bytes`. Every second value of `spans` is a number.
    """
    if not starts.size:
        return np.empty(0), np.zeros(0, bool)
    bad = ends <= starts
    cell = np.searchsorted(starts, odd, "right") - 1
    bad[cell[(cell >= 0) & (odd < ends[cell])]] = True
    column = spans(text, starts, ends, ~bad)
    try:
        values = cast(column, pa.float64())
    except pa.ArrowInvalid:
        column = call("utf8_trim_whitespace", column)
        legible = call("match_substring_regex", column, pattern=_NUMBER)
        bad |= ~mask_to_numpy(legible)[::2]
        column = call("if_else", legible, column, null_like(column))
        values = cast(column, pa.float64())
    X = to_numpy(values, np.float64)[::2]
    return X, bad | ~np.isfinite(X)


def spans(text: Bytes, starts: Integers, ends: Integers, wanted: Booleans) -> pa.Array:
    """Return spans of a text as an Arrow column without a copy, nulls between."""
    offsets, present = np.empty(2 * starts.size, np.int64), np.zeros(2 * starts.size)
    offsets[::2], offsets[1::2] = starts, ends
    present[::2] = wanted
    valid = np.packbits(present[:-1] > 0, bitorder="little")
    buffers = [pa.py_buffer(one) for one in (valid, offsets, text)]
    return pa.Array.from_buffers(pa.large_string(), 2 * starts.size - 1, buffers)


def usable_rows(
    X: Any, labels: pa.Array | None, good: Booleans, usable: Booleans
) -> tuple[Any, pa.Array | None, Booleans]:
    """Return the usable ones of the parsed rows, and update `good`."""
    if not usable.all():
        good[good] = usable
        kept = integer_array(np.flatnonzero(usable))
        X, labels = X[usable], None if labels is None else flat(labels).take(kept)
    return X, labels, good


def chosen_rows(piece: bytes, starts: Integers, chosen: Booleans) -> bytes:
    """Return the bytes of some rows of a piece."""
    sizes = np.diff(starts, append=len(piece))
    text = np.frombuffer(piece, np.uint8)[starts[0] :]
    return text[np.repeat(chosen, sizes)].tobytes()


def csr(
    rows: Integers, places: Integers, values: Floats, shape: tuple[int, int]
) -> Any:
    """Return a CSR matrix of values sorted by row."""
    from scipy.sparse import csr_matrix

    indptr = np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    return csr_matrix((values, places.astype(np.int32), indptr), shape=shape)


def sparse_rows(rows: list[list[tuple[int, float]]], width: int) -> Any:
    """Return rows of columns and values as a CSR matrix, sorted by column."""
    pairs = [(i, *pair) for i, row in enumerate(rows) for pair in sorted(row)]
    columns = list(zip(*pairs, strict=True)) or [(), (), ()]
    of_row, places = (np.array(one, np.int64) for one in columns[:2])
    return csr(of_row, places, np.array(columns[2], np.float64), (len(rows), width))


class ParquetRows:
    """Rows of columns that have types."""

    layout: RowLayout
    position: Position

    def __init__(self, source: Source, request: Request) -> None:
        import pyarrow.parquet as pq

        self.name, self.path, self.size = source.name, source.path, source.size
        self.request, self.close = request, source.close
        if not source.regular or source.codec:
            raise DataError(
                f"Parquet cannot be read from {source.name}, its end comes first; pass "
                "the file"
            )
        try:
            self._schema = pq.read_schema(source.path)
        except (pa.ArrowException, OSError) as error:
            raise DataError(
                f"{self.name} is not a whole parquet file, perhaps cut short: "
                f"{str(error).splitlines()[0]}"
            ) from None

    def mark(self, offset: int, tail: bytes) -> dict[str, Any]:
        """Return what the file is recognised by: its end tells of all its pages."""
        with open(self.path, "rb") as file:
            file.seek(-min(HEAD, self.size or 0), os.SEEK_END)
            return {"size": self.size, "end": digest(file.read())}

    def skip_to(self, offset: int, mark: dict[str, Any]) -> None:
        """Refuse another file; `blocks` goes to the row itself."""
        if self.mark(offset, b"") != mark:
            raise DataError(
                f"{self.name} is another file than the one of the checkpoint"
            )

    def begin(
        self, kind: RowFormat, known: RowLayout | None, classes: StreamClasses
    ) -> None:
        """Take features and target from the schema."""
        names, target = self._schema.names, None
        if known is None:
            target, found = chosen_columns(names, self.name, kind, self.request)
        else:
            found = with_header(known, names, self.name).names
        for name in found:
            type_ = self._schema.field(name).type
            if not is_numeric(type_):
                raise DataError(
                    f"{self.name}: column {name!r} holds {type_}, not numbers; pass "
                    f"{marked('drop', name)}"
                )
        self.layout = RowLayout(kind, len(found), found, target)
        self.position = Position(classes=classes)

    def blocks(self) -> Blocks:
        """Yield blocks until the file ends; a bad row is skipped, or raised."""
        names = [*self.layout.names, *filter(None, [self.layout.target])]
        try:
            for batch in typed_batches(
                self.path,
                "parquet",
                lambda schema: names,
                start=self.position.offset,
                rows=_base.MOST_ROWS,
                memory_map=True,
            ):
                start = 0
                while start < batch.num_rows:
                    room = _base.room(self.position, self.request.every)
                    part = batch.slice(start, room)
                    start += part.num_rows
                    yield from self._block(part)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{self.name} is damaged: {reason}") from None

    def _block(self, batch: pa.RecordBatch) -> Blocks:
        """Return the features and labels of a batch, and what is wrong in its rows."""
        n_rows, names, first = batch.num_rows, self.layout.names, self.position.rows + 1
        y, classes = np.zeros(n_rows, np.uint8), self.position.classes
        if self.layout.target is not None:
            target = batch.column(self.layout.target)
            y, classes, text_of = known_labels(target, classes)
        X, bad = dense([batch.column(name) for name in names], n_rows)
        wrong = np.flatnonzero(bad.any(axis=1) | (y == 2))
        position = replace(self.position, classes=classes)
        taken, problem = n_rows, None
        for row in wrong.tolist():
            message = f"{self.name}, row {first + row}: "
            if bad[row].any():
                name = names[int(np.flatnonzero(bad[row])[0])]
                cell = batch.column(name)[row].as_py()
                what = "is empty" if cell is None else f"is {shown(str(cell))}"
                drop = marked("drop")
                message += f"column {name!r} {what}; fill it in, or pass {drop}"
            else:
                message += classes.complaint(text_of(row))
            if self.request.on_error == "stop":
                taken, problem = row, BadRowError(message)
                break
            position = position.skip([message])
        rows = self.position.rows + taken
        self.position = replace(position, rows=rows, offset=rows)
        good = np.setdiff1d(np.arange(taken), wrong)
        if good.size < n_rows:
            X, y = X[good], y[good]
        yield RowBlock(X, y, first + good, self.position)
        if problem is not None:
            raise problem
