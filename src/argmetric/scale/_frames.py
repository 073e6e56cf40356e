"""Dask collections: every partition is a piece, computed where its task runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from argmetric._files import DataError
from argmetric.scale._executors import load_extra


class Partition(NamedTuple):
    """Rows of a Dask collection, which may be computed as often as they are read."""

    path: str  # what messages call it
    name: str  # what the file of the output is called
    parts: tuple[bytes, ...]  # what computes a frame; or features, and labels
    schema: Any  # the columns of the rows

    def table(self) -> Any:
        """The rows themselves, computed in this thread."""
        import numpy as np
        import pyarrow as pa

        frame, *labels = map(_computed, self.parts)
        if not labels:
            return pa.Table.from_pandas(frame, self.schema, preserve_index=False)
        columns = [*np.asarray(frame, dtype=np.float64).T, np.asarray(labels[0])]
        return pa.table(dict(zip(self.schema.names, columns, strict=True)))


def is_frame(data: Any) -> bool:
    """Whether this is a Dask DataFrame; Dask is not loaded to tell."""
    return type(data).__module__.startswith("dask.dataframe") and hasattr(
        data, "to_delayed"
    )


def is_array(data: Any) -> bool:
    """Whether this is a Dask array."""
    return type(data).__module__.startswith("dask.array") and hasattr(
        data, "to_delayed"
    )


def partitions_of(frame: Any) -> list[Partition]:
    """The partitions of a Dask DataFrame in their order."""
    import pyarrow as pa

    schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    schema = schema.remove_metadata()
    return [_partition(frame, i, (one,), schema) for i, one in _numbered(frame)]


def blocks_of(X: Any, y: Any) -> list[Partition]:
    """Blocks of rows of a Dask array of features beside one of labels."""
    import pyarrow as pa

    if not (is_array(y) and X.ndim == 2 and y.ndim == 1):
        raise DataError(
            "a Dask array of features has two dimensions, and goes with one of labels, "
            "which has one: (X, y)"
        )
    X = X.rechunk({1: -1})
    if X.chunks[0] != y.chunks[0]:
        try:
            y = y.rechunk((X.chunks[0],))
        except ValueError as error:
            raise DataError(f"X and y: {error}") from None
    fields = [(f"x{j}", pa.float64()) for j in range(X.shape[1])]
    schema = pa.schema([*fields, ("label", pa.from_numpy_dtype(y.dtype))])
    pairs = zip(_numbered(X), _numbered(y), strict=True)
    return [
        _partition(X, i, (rows, labels), schema) for (i, rows), (_, labels) in pairs
    ]


def _numbered(collection: Any) -> list[tuple[int, bytes]]:
    delayed = collection.to_delayed()
    parts = getattr(delayed, "flat", delayed)
    return [(i, _recipe(one)) for i, one in enumerate(parts)]


def _recipe(delayed: Any) -> bytes:
    """What one partition alone is computed from, for any process."""
    cloudpickle = load_extra("cloudpickle", "dask")
    graph = dict(delayed.__dask_graph__().cull({delayed.key}))
    if any(type(one).__module__.startswith("distributed") for one in graph.values()):
        raise DataError(
            "files: this collection is held by the workers of a cluster, where tasks "
            "cannot reach it: pass it as it was before persist()"
        )
    recipe: bytes = cloudpickle.dumps((graph, delayed.key))
    return recipe


def _computed(recipe: bytes) -> Any:
    """A partition, in this thread: a task must not wait for the scheduler's others."""
    graph, key = load_extra("cloudpickle", "dask").loads(recipe)
    return load_extra("dask", "dask").get(graph, key)


def _partition(data: Any, i: int, parts: tuple[bytes, ...], schema: Any) -> Partition:
    name = getattr(data, "_name", "") or data.name
    return Partition(f"{name}[{i}]", f"part-{i:05d}.parquet", parts, schema)
