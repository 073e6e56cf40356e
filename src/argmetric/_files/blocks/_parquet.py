"""Parquet: batches of the row groups; the offset counts rows."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from argmetric._files._formats import DataError, marked
from argmetric._files.blocks._base import (
    MOST_ROWS,
    BadRowError,
    Blocks,
    Position,
    Request,
    RowBlock,
    RowLayout,
    room,
    shown,
)
from argmetric._files.blocks._columns import dense, known_labels, with_header
from argmetric._files.blocks._delimited import chosen_columns
from argmetric._files.blocks._text import HEAD, ByteSource, digest


class ParquetSource:
    """A Parquet file, opened; rows take the place of bytes."""

    def __init__(self, source: ByteSource) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.name, self.path, self.interrupted = source.name, source.path, False
        if not source.regular:
            raise DataError(
                f"Parquet cannot be read from {source.name}, its end comes first; pass "
                "the file"
            )
        self.size = source.size
        source.close()
        try:
            self.file = pq.ParquetFile(self.path, memory_map=True)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(
                f"{self.name} is not a whole parquet file, perhaps cut short: {reason}"
            ) from None

    def mark(self, offset: int, tail: bytes) -> dict[str, Any]:
        """Return what the file is recognised by: its end tells of all its pages."""
        with open(self.path, "rb") as file:
            file.seek(-min(HEAD, self.size or 0), os.SEEK_END)
            return {"size": self.size, "end": digest(file.read())}

    def skip_to(self, offset: int, mark: dict[str, Any]) -> None:
        """Refuse another file; readers go to the row themselves."""
        if self.mark(offset, b"") != mark:
            raise DataError(
                f"{self.name} is another file than the one of the checkpoint"
            )

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def parquet_layout(
    source: ParquetSource, request: Request, known: RowLayout | None = None
) -> RowLayout:
    """Take features and target from the schema."""
    import pyarrow as pa

    schema = source.file.schema_arrow
    if known is None:
        target, features = chosen_columns(schema.names, source.name, "parquet", request)
    else:
        target, features = None, with_header(known, schema.names, source.name).names
    for name in features:
        kind = schema.field(name).type
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_decimal(kind)
        ):
            raise DataError(
                f"{source.name}: column {name!r} holds {kind}, not numbers; pass "
                f"{marked('drop', name)}"
            )
    return RowLayout("parquet", len(features), features, target)


class ParquetReader:
    """Blocks of dense matrices."""

    def __init__(
        self,
        source: ParquetSource,
        layout: RowLayout,
        request: Request,
        start: Position,
    ) -> None:
        self.source, self.layout, self.request = source, layout, request
        self._position = start

    def blocks(self) -> Blocks:
        """Yield blocks until the file ends; a bad row is skipped, or raised."""
        for batch in self._batches():
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, room(self._position, self.request.every))
                start += part.num_rows
                block, problem = self._block(part)
                yield block
                if problem is not None:
                    raise problem

    def _batches(self) -> Any:
        """Yield record batches from the position on."""
        import pyarrow as pa

        file, skipped = self.source.file, self._position.offset
        groups = list(range(file.num_row_groups))
        while groups and skipped >= file.metadata.row_group(groups[0]).num_rows:
            skipped -= file.metadata.row_group(groups.pop(0)).num_rows
        columns = list(self.layout.names)
        if self.layout.target is not None:
            columns.append(self.layout.target)
        try:
            for batch in file.iter_batches(
                MOST_ROWS, row_groups=groups, columns=columns, use_threads=False
            ):
                passed = min(skipped, batch.num_rows)
                skipped -= passed
                yield batch.slice(passed)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{self.source.name} is damaged: {reason}") from None

    def _block(self, batch: Any) -> tuple[RowBlock, BadRowError | None]:
        n_rows, names = batch.num_rows, self.layout.names
        classes, y = self._position.classes, np.zeros(n_rows, np.uint8)
        if self.layout.target is not None:
            target = batch.column(self.layout.target)
            y, classes, text_of = known_labels(target, classes)
        X, bad = dense([batch.column(name) for name in names], n_rows)
        wrong = np.flatnonzero(bad.any(axis=1) | (y == 2))
        first = self._position.rows + 1
        self._position = replace(self._position, classes=classes)
        taken, problem = n_rows, None
        for row in wrong.tolist():
            message = f"{self.source.name}, row {first + row}: "
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
            self._position = replace(
                self._position.skip(message), rows=self._position.rows
            )
        rows = self._position.rows + taken
        self._position = replace(self._position, rows=rows, offset=rows)
        good = np.setdiff1d(np.arange(taken), wrong)
        if good.size == n_rows:
            return RowBlock(X, y, first + good, self._position), problem
        return RowBlock(X[good], y[good], first + good, self._position), problem
