"""Groups of a lazy table: its engine brings the rows of each together.

Every engine adds columns to a table of whole groups by a function of Arrow tables:
labels to the user's table, and sums over groups to two of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.lazy import load_module
from argmetric._verbs.decide import Decision
from argmetric.metrics import Metric
from argmetric.scale._parts import SUMS, decide_part, sums_of

BATCH_ROWS = 1 << 17  # that DuckDB hands out at a time


@dataclass(frozen=True)
class GroupWork:
    """Decide Arrow tables of whole groups."""

    score: str
    group: str
    metric: Metric
    options: dict[str, Any]
    output: str | None = None  # the column of labels; without it there are sums

    @property
    def names(self) -> list[str]:
        """Columns that are added: 8-bit labels, or sums as doubles."""
        return list(SUMS) if self.output is None else [self.output]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64 if self.output is None else np.int8)

    def __call__(self, table: pa.Table) -> list[Any]:
        """Return the new columns of a table; sums stand in the first row."""
        if self.output is not None:
            labels = self.decide(table).labels if len(table) else np.zeros(0)
            return [labels.astype(np.int8)]
        sums = np.zeros((len(SUMS), len(table)))
        if len(table):
            sums[:, 0] = list(sums_of(self.decide(table)).values())
        return list(sums)

    def decide(self, table: pa.Table) -> Decision:
        """Return the decision on whole groups of a table; none need be defined."""
        p = table[self.score].cast("float64").to_numpy()
        how = {"groups": table[self.group], "average": "groups", **self.options}
        return decide_part(p, self.metric, how)

    def add_columns(self, table: pa.Table) -> pa.Table:
        """Return an Arrow table with the new columns."""
        for name, values in zip(self.names, self(table), strict=True):
            table = table.append_column(name, [values])
        return table


def on_polars(table: Any, work: GroupWork) -> Any:
    """Decide all rows at once: two columns are in memory. Rows keep their order."""
    import polars as pl

    def add(rows: Any) -> Any:
        columns = work(rows.struct.unnest().to_arrow())
        return pl.DataFrame(dict(zip(work.names, columns, strict=True))).to_struct("")

    kind = pl.Int8 if work.output is not None else pl.Float64
    types = pl.Struct(dict.fromkeys(work.names, kind))
    rows = pl.struct([work.score, work.group])
    found = rows.map_batches(add, return_dtype=types)
    fields = [found.struct.field(name) for name in work.names]
    return table.with_columns(fields)


def on_duckdb(table: Any, work: GroupWork) -> Any:
    """Decide rows in the order of groups, which DuckDB sorts within its memory."""
    return load_module("duckdb").connect().from_arrow(Stream(table, work))


@dataclass(frozen=True)
class Stream:
    """Rows of a DuckDB relation with new columns, read anew at each request."""

    table: Any
    work: GroupWork

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a stream that sorts the rows once its first batch is wanted."""
        schema = self.work.add_columns(self.table.limit(0).to_arrow_table()).schema

        def batches() -> Iterator[Any]:
            for rows in self.whole_groups():
                yield from self.work.add_columns(rows).cast(schema).to_batches()

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        return reader.__arrow_c_stream__(requested_schema)

    def whole_groups(self) -> Iterator[Any]:
        """Yield tables of whole groups, in the order of the group column."""
        quoted = self.work.group.replace('"', '""')
        rest: list[Any] = []
        rows = self.table.order(f'"{quoted}"')
        newer = getattr(rows, "to_arrow_reader", None)  # DuckDB 1.4 has another name
        for batch in (newer or rows.fetch_record_batch)(BATCH_ROWS):
            rows = pa.Table.from_batches([*rest, batch])
            ids = rows[self.work.group]
            start = len(rows) - pc.sum(pc.equal(ids, ids[-1])).as_py() if rows else 0
            if start:
                yield rows.slice(0, start)
            rest = rows.slice(start).to_batches()
        if rest:
            yield pa.Table.from_batches(rest)


def on_spark(table: Any, work: GroupWork) -> Any:
    """Decide a partition of whole groups at a time in the memory of a worker."""
    types = load_module("pyspark.sql.types")

    def add(batches: Iterator[Any]) -> Iterator[Any]:
        rows = [batch for batch in batches if batch.num_rows]
        if rows:  # batches end anywhere: groups are whole in the partition alone
            yield from work.add_columns(pa.Table.from_batches(rows)).to_batches()

    kind = types.ByteType() if work.dtype == np.int8 else types.DoubleType()
    fields = [types.StructField(name, kind) for name in work.names]
    schema = types.StructType([*table.schema.fields, *fields])
    return table.repartition(f"`{work.group}`").mapInArrow(add, schema)


def on_dask(table: Any, work: GroupWork) -> Any:
    """Decide a partition of whole groups at a time in the memory of a worker."""
    columns = [work.score, work.group]

    def add(rows: Any) -> Any:
        found = work(pa.Table.from_pandas(rows[columns], preserve_index=False))
        return rows.assign(**dict(zip(work.names, found, strict=True)))

    new = dict.fromkeys(work.names, np.zeros(0, work.dtype))
    meta = table._meta.assign(**new)
    return table.shuffle(on=work.group).map_partitions(add, meta=meta)


GROUPINGS: dict[str, Callable[[Any, GroupWork], Any]] = {
    "polars": on_polars,
    "duckdb": on_duckdb,
    "pyspark": on_spark,
    "dask": on_dask,
}


def decide_groups(frame: Any, work: GroupWork) -> Any:
    """Return a narwhals frame with new columns of its groups."""
    import narwhals.stable.v2 as nw

    engine = frame.implementation.name.lower()
    if engine not in GROUPINGS:
        raise TypeError(
            f"groups of a table of {engine} are not brought together here: "
            f"{', '.join(GROUPINGS)} do; integrations.decide_table takes any tables "
            "of whole groups"
        )
    return nw.from_native(GROUPINGS[engine](frame.to_native(), work)).lazy()
