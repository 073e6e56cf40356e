"""Parquet: dense matrices; the offset counts rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._binary import typed_batches
from argmetric._files._formats import DataError, marked
from argmetric._files._source import HEAD, Source, digest
from argmetric._files._values import is_numeric
from argmetric._files.blocks import _base
from argmetric._files.blocks._base import (
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
from argmetric._files.blocks._columns import (
    chosen_columns,
    dense,
    known_labels,
    with_header,
)


class ParquetRows:
    """Rows of columns that have types."""

    layout: RowLayout
    position: Position

    def __init__(self, source: Source, request: Request) -> None:
        import pyarrow as pa
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
        import pyarrow as pa

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

    def _block(self, batch: Any) -> Blocks:
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
            position = position.skip(message)
        rows = self.position.rows + taken
        self.position = replace(position, rows=rows, offset=rows)
        good = np.setdiff1d(np.arange(taken), wrong)
        if good.size < n_rows:
            X, y = X[good], y[good]
        yield RowBlock(X, y, first + good, self.position)
        if problem is not None:
            raise problem
