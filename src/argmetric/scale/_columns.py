"""Columns that a run reads: found in every file, and checked batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.label_words import no_label
from argmetric._ground.labels import Labels, label_array, plain_label
from argmetric._ground.types import AnyArray, Booleans, Floats, Integers
from argmetric.classes import check_class_probabilities
from argmetric.scale import files
from argmetric.scale._sources import InputFile, batches_of

LEAST_ROWS = 1 << 10  # of a batch
MOST_VALUES = 1 << 22  # of a batch of probabilities of classes
MissingGroups = Literal["error", "own"]
ScoreKind = Literal["probabilities", "logits", "finite"]


@dataclass(frozen=True)
class WantedColumns:
    """Columns that a verb asks for, with the names that its caller gave."""

    # "score", "decision_column", "label" in the order in which they are found; None
    # stands for the one with a default name
    names: Mapping[files.Role, str | None]
    group: str | None = None
    weight: str | None = None
    classes: Sequence[str] = ()  # columns of probabilities of classes
    scores: ScoreKind = "probabilities"  # "finite" allows any number
    missing: MissingGroups = "error"  # rows without a group, or a group of their "own"
    added: str | None = None  # the column that is written, which no file may have
    may_decide: bool = False  # whether a column of decisions may be absent


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels, and the one that counts."""

    column: str
    positive: Any = None
    negative: Any = None
    spellings: tuple[Any, ...] = ()  # that mean the positive one; empty: itself
    is_decision: bool = False  # predicted: may be 0 and 1 where true ones have names

    @property
    def classes(self) -> Labels:
        """Return what the classes are called, without rows."""
        return Labels(np.zeros(0, dtype=bool), self.positive, self.negative)

    def holds(self, record: pa.RecordBatch) -> Booleans:
        """Return which rows of a record batch have the positive label."""
        labels = plain_labels(record.column(self.column))
        matches = [labels == one for one in self.spellings or (self.positive,)]
        return np.asarray(reduce(np.logical_or, matches), dtype=bool)


def plain_labels(column: pa.Array) -> AnyArray:
    """Return labels of a batch as an array; missing ones are None or nan."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    labels: AnyArray = column.to_numpy(zero_copy_only=False)
    return labels


@dataclass(frozen=True)
class UsedColumns:
    """Which columns are read, and how; an empty name where there is none."""

    score: str = ""
    scores: ScoreKind = "probabilities"
    group: str | None = None
    kind: str = ""  # of ids in buckets: of all types only their equality matters
    missing: MissingGroups = "error"  # what becomes of rows without a group
    label: LabelColumn | None = None
    decision: LabelColumn | None = None
    weight: str = ""
    classes: tuple[str, ...] = ()  # columns of probabilities of classes

    @property
    def logits(self) -> bool:
        """Return whether the scores are log-odds."""
        return self.scores == "logits"

    @property
    def batch_rows(self) -> int:
        """Return how many rows are read at a time."""
        rows = MOST_VALUES // max(len(self.classes), 1)
        return min(files.BATCH_ROWS, max(rows, LEAST_ROWS))

    @property
    def truth(self) -> LabelColumn:
        """Return the column of true labels, of a verb that reads them."""
        assert self.label is not None
        return self.label

    @property
    def of_labels(self) -> tuple[LabelColumn, ...]:
        """Return the columns of true labels and of decisions that there are."""
        return tuple(one for one in (self.label, self.decision) if one is not None)

    def names(self) -> list[str]:
        """Return what is read of a file."""
        labels = [one.column for one in self.of_labels]
        names = [self.score, *labels, self.weight, *self.classes, self.group]
        return [name for name in names if name]


def label_codes(batch: FileBatch, name: str) -> tuple[list[Any], Integers]:
    """Return the distinct labels of a batch, and the index of the label of each row."""
    labels = batch.record.column(name)
    if pa.types.is_dictionary(labels.type):  # one may have names that no row has
        labels = labels.dictionary_decode()
    gaps = labels.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if gaps.any():
        why = no_label(name, f"row {batch.first + int(np.argmax(gaps)) + 1}")
        raise files.DataError(f"{batch.source.path}: {why}")
    coded = labels.dictionary_encode()
    names = label_array(plain_labels(coded.dictionary), name).tolist()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return list(map(plain_label, names)), codes


def negate_if(p: Floats, chosen: Booleans) -> Floats:
    """Return probabilities with a minus where a row is predicted positive."""
    return np.where(chosen, -p, p)


def find_names(table: files.Table, wanted: WantedColumns) -> dict[str, str]:
    """Return the name of the column of each role in a file."""
    logits = () if wanted.scores == "probabilities" else files.LOGIT_NAMES
    defaults = {
        "score": files.SCORE_NAMES + logits,
        "decision_column": files.DECISION_NAMES,
        "label": files.LABEL_NAMES,
    }
    given = {"group": wanted.group, "weight": wanted.weight}
    names = {role: name for role, name in given.items() if name is not None}
    for role, asked in wanted.names.items():
        usual = files.default_columns(table, defaults[role], taken=names.values())
        if role == "decision_column" and wanted.may_decide and not (asked or usual):
            continue
        names[role] = files.find_column(
            table,
            asked,
            defaults[role],
            what=role.removesuffix("_column"),
            role=role,
            taken=names.values(),
        )
    return names


def find_columns(source: InputFile, wanted: WantedColumns) -> UsedColumns:
    """Return the columns of one file that a verb asked for."""
    schema = source.schema
    table = files.Table(schema.empty_table(), "parquet", source.path)
    names = find_names(table, wanted)
    if wanted.added in schema.names:
        raise files.DataError(
            f"{source.path} already has a column {wanted.added!r}; name the new one "
            f"with {files.marked('decision_column')}"
        )
    if wanted.weight is not None:
        files.named_column(table, wanted.weight)
    classes = tuple(files.named_column(table, name) for name in wanted.classes)
    roles = [(name, "scores") for name in classes]
    roles += [(name, role) for role, name in names.items()]
    seen: dict[str, str] = {}
    for name, what in roles:
        if seen.setdefault(name, what) != what:
            raise files.DataError(f"{seen[name]} and {what} both name column {name!r}")
    numeric = [names[role] for role in ("score", "weight") if role in names]
    for name in (*numeric, *classes):
        kind = schema.field(name).type
        if not files.is_numeric(kind):
            raise files.DataError(
                f"{source.path}: column {name!r} holds {kind}, not numbers"
            )
    ids = ""
    if wanted.group is not None:
        kind = schema.field(files.named_column(table, wanted.group)).type
        if not (ids := _kind_of_ids(kind)):
            raise files.DataError(
                f"{source.path}: column {wanted.group!r} holds {kind}; group ids are "
                "numbers, text, bytes or times"
            )
    label, decision = names.get("label"), names.get("decision_column")
    return UsedColumns(
        score=names.get("score", ""),
        scores=wanted.scores,
        group=wanted.group,
        kind=ids,
        missing=wanted.missing,
        label=None if label is None else LabelColumn(label),
        decision=None if decision is None else LabelColumn(decision, is_decision=True),
        weight=wanted.weight or "",
        classes=classes,
    )


# What ids are in buckets, which Arrow types are such ids, and as which they are kept:
# of times the number of their unit
_IDS: dict[str, tuple[Callable[[pa.DataType], bool], pa.DataType]] = {
    "whole numbers without a sign": (pa.types.is_uint64, pa.uint64()),
    "whole numbers": (pa.types.is_integer, pa.int64()),
    "fractions": (pa.types.is_floating, pa.float64()),
    "truth values": (pa.types.is_boolean, pa.bool_()),
    "bytes": (lambda kind: "binary" in str(kind), pa.large_binary()),
    "text": (lambda kind: "string" in str(kind), pa.large_string()),
    "times": (pa.types.is_temporal, pa.int64()),
    "decimals": (pa.types.is_decimal, pa.large_string()),
}


def _kind_of_ids(kind: pa.DataType) -> str:
    """Return the type of ids of an Arrow type; empty if it cannot be ids."""
    if pa.types.is_dictionary(kind):
        return _kind_of_ids(kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return ""
    name = next((name for name, (is_it, _) in _IDS.items() if is_it(kind)), "")
    return f"{name} ({kind})" if name in ("times", "decimals") else name


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of ids in buckets."""
    return _IDS[kind.partition(" (")[0]][1]


@dataclass(frozen=True)
class FileBatch:
    """Rows of a file that are read together; columns are checked when asked for."""

    first: int  # the number of the first row, in the file
    start: int  # and in all files
    record: Any
    columns: UsedColumns
    source: InputFile

    @property
    def size(self) -> int:
        """Return how many rows there are."""
        return int(self.record.num_rows)

    @property
    def table(self) -> files.Table:
        """Return the rows as a table that knows their place."""
        columns = pa.Table.from_batches([self.record])
        return files.Table(columns, "parquet", self.source.path, first=self.first)

    @cached_property
    def values(self) -> Floats:
        """Return the checked values of every row that a run needs.

        That is probabilities of classes, of shape (rows, columns); or the score, with a
        minus where there is a decision and it is positive; or, without a score,
        2·decision + label.
        """
        columns, table = self.columns, self.table
        if columns.classes:
            P = np.empty((self.size, len(columns.classes)))
            for j, name in enumerate(columns.classes):
                P[:, j] = files.numbers(table, name)
            place = f"{self.source.path}: scores"
            return check_class_probabilities(P, place, first=self.first + 1)
        if not columns.score:
            truth, decision = (one.holds(self.record) for one in columns.of_labels)
            return np.asarray(2.0 * decision + truth, dtype=np.float64)
        if columns.scores == "finite":
            return files.numbers(table, columns.score) + 0.0
        p = files.probabilities(table, columns.score, logits=columns.logits)
        p = p if columns.logits else np.clip(p, 0.0, 1.0)
        if columns.decision is None:
            return p
        return negate_if(p, columns.decision.holds(self.record))

    @cached_property
    def ids(self) -> Any:
        """Return groups in the type of buckets; nan is missing, and 0 has no sign.

        None where there are no groups.
        """
        if self.columns.group is None:
            return None
        group, kind = self.columns.group, arrow_type(self.columns.kind)
        ids = self.record.column(group)
        if pa.types.is_dictionary(ids.type):
            ids = ids.dictionary_decode()
        if pa.types.is_temporal(ids.type):
            ids = ids.view(pa.int32() if ids.type.bit_width == 32 else pa.int64())
        if ids.type != kind:
            ids = ids.cast(kind)
        if pa.types.is_floating(kind):
            nothing = pa.scalar(None, kind)
            ids = pc.if_else(pc.is_nan(ids), nothing, pc.add(ids, 0.0))
        if ids.null_count and self.columns.missing == "error":
            own = files.marked("missing_groups", "own")
            why = f"is missing; {own} makes such rows one group"
            missing = ids.is_null().to_numpy(zero_copy_only=False)
            files.refuse_rows(self.table, group, missing, why)
        return ids

    @cached_property
    def positive(self) -> Booleans:
        """Return which rows have the positive label; none without labels."""
        if self.columns.label is None:
            return np.zeros(self.size, dtype=bool)
        return self.columns.label.holds(self.record)

    @property
    def weight(self) -> Floats:
        """Return the weight of every row, checked; 1 where there is no such column."""
        name = self.columns.weight
        return (
            files.weights(self.table, name, some=False) if name else np.ones(self.size)
        )

    @property
    def plain_groups(self) -> AnyArray:
        """Return the group of every row as the file has it."""
        return plain_labels(self.record.column(self.columns.group))


def read_batches(
    source: InputFile,
    columns: UsedColumns,
    rows: int,
    start: int = 0,
    *,
    whole: bool = False,
) -> Iterator[FileBatch]:
    """Yield all rows of a file, in their order; `start` rows are in files before it.

    They have the columns that are used, or all columns of the `whole` file.
    """
    first = 0
    for record in batches_of(source, None if whole else columns.names(), rows):
        yield FileBatch(first, start + first, record, columns, source)
        first += record.num_rows
