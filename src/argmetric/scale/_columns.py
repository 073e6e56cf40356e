"""Columns that a run reads: found in every file, and checked batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from argmetric._ground.labels import Labels
from argmetric._ground.types import Booleans, Floats, Integers
from argmetric._ground.validation import check_scores
from argmetric.classes import check_class_probabilities
from argmetric.scale._sources import InputFile, batches_of
from argmetric.scale._tasks import Tally, tally, tally_of
from argmetric.scale.files import (
    BATCH_ROWS,
    DECISION_NAMES,
    LABEL_NAMES,
    LOGIT_NAMES,
    SCORE_NAMES,
    DataError,
    Role,
    Table,
    find_column,
    is_numeric,
    marked,
    named_column,
)

LEAST_ROWS = 1 << 10  # of a batch
MOST_CELLS = 1 << 22
MissingGroups = Literal["error", "own"]
ScoreKind = Literal["probabilities", "logits", "finite", "classes"]


@dataclass(frozen=True)
class WantedColumns:
    """Columns that a verb asks for, with the names that its caller gave."""

    # "score", "decision_column", "label" in the order in which they are found; None
    # stands for the one with a default name
    names: Mapping[Role, str | None]
    group: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = ()  # to train on; None: all but the label
    scores: ScoreKind = "probabilities"  # "finite" allows any number
    missing: MissingGroups = "error"  # rows without a group, or a group of their "own"
    added: str | None = None  # the column that is written, which no file may have


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
        """What the classes are called, without rows."""
        return Labels(np.zeros(0, dtype=bool), self.positive, self.negative)

    def holds(self, record: Any) -> Booleans:
        labels = plain_labels(record.column(self.column))
        found = [labels == one for one in self.spellings or (self.positive,)]
        return np.asarray(reduce(np.logical_or, found), dtype=bool)


def plain_labels(column: Any) -> Any:
    """Labels of a batch as an array; missing ones are None or nan."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.to_numpy(zero_copy_only=False)


@dataclass(frozen=True)
class UsedColumns:
    """Which columns are read, and how; an empty name where there is none."""

    score: str = ""
    scores: ScoreKind = "probabilities"
    group: str | None = None
    kind: str = ""  # of ids in the pieces: of all types only their equality matters
    missing: MissingGroups = "error"  # what becomes of rows without a group
    label: LabelColumn | None = None
    decision: LabelColumn | None = None
    weight: str = ""
    features: tuple[str, ...] = ()  # columns of numbers to train on

    @property
    def logits(self) -> bool:
        return self.scores == "logits"

    @property
    def batch_rows(self) -> int:
        cells = MOST_CELLS // max(len(self.features), 1)
        return min(BATCH_ROWS, max(cells, LEAST_ROWS))

    @property
    def truth(self) -> LabelColumn:
        """True labels, of a verb that reads them."""
        assert self.label is not None
        return self.label

    @property
    def of_labels(self) -> tuple[LabelColumn, ...]:
        return tuple(one for one in (self.label, self.decision) if one is not None)

    def names(self, source: InputFile) -> list[str]:
        """What is read of a file: folders such as day=3 are no columns of it."""
        labels = [one.column for one in self.of_labels]
        group = [] if self.group in source.keys else [self.group]
        found = [self.score, *labels, self.weight, *self.features, *group]
        return [name for name in found if name]

    def values(self, record: Any, source: InputFile, first: int) -> Floats:
        """What a run needs of every row, checked.

        That is the features, or probabilities of classes; or the score, with a minus
        where there is a decision and it is positive; or, without a score,
        2·decision + label.
        """
        if self.features:
            X = np.empty((record.num_rows, len(self.features)))
            for j, name in enumerate(self.features):
                X[:, j] = as_floats(record.column(name))
            if self.scores == "classes":
                return check_class_probabilities(
                    X, f"{source.path}: scores", first=first
                )
            wrong = ~np.isfinite(X).all(axis=1)
            if wrong.any():
                row = first + int(np.argmax(wrong))
                raise DataError(f"{source.path}: a feature is missing at row {row}")
            return X
        if not self.score:
            truth, decision = (one.holds(record) for one in self.of_labels)
            return np.asarray(2.0 * decision + truth, dtype=np.float64)
        scores = as_floats(record.column(self.score))
        place = f"{source.path}: column {self.score!r}"
        if self.scores == "finite":
            require(np.isfinite(scores), scores, place, first, "scores must be finite")
            return scores + 0.0
        try:
            check_scores(
                scores, place, logits=self.logits, where=lambda i: f"row {first + i}"
            )
        except ValueError as error:
            raise DataError(str(error)) from None
        if self.decision is None:
            return scores
        p = np.clip(scores, 0.0, 1.0)
        return np.where(self.decision.holds(record), -p, p)

    def in_range(self, values: Floats) -> Floats:
        """Checked values; probabilities without what rounding put outside of 0 to 1."""
        plain = self.score and self.scores == "probabilities" and self.decision is None
        return np.clip(values, 0.0, 1.0) if plain else values


def require(right: Booleans, values: Floats, place: str, first: int, rule: str) -> None:
    """Refuse the first of some values that is not right."""
    if not right.all():
        i = int(np.argmin(right))
        raise DataError(f"{place} is {values[i]:g} at row {first + i}: {rule}")


def find_columns(source: InputFile, schema: Any, wanted: WantedColumns) -> UsedColumns:
    """The columns of one file that a verb asked for."""
    table = Table(schema.empty_table(), "parquet", source.path)
    defaults = {
        "score": SCORE_NAMES
        + (() if wanted.scores == "probabilities" else LOGIT_NAMES),
        "decision_column": DECISION_NAMES,
        "label": LABEL_NAMES,
    }
    given = {"group": wanted.group, "weight": wanted.weight}
    found = {what: name for what, name in given.items() if name is not None}
    for role, asked in wanted.names.items():
        found[role] = find_column(
            table,
            asked,
            defaults[role],
            what=role.removesuffix("_column"),
            role=role,
            taken=found.values(),
        )
    if wanted.added in {*schema.names, *source.keys}:
        raise DataError(
            f"{source.path} already has a column {wanted.added!r}; name the new one "
            f"with {marked('decision_column')}"
        )
    if wanted.weight is not None:
        named_column(table, wanted.weight)
    features = tuple(named_column(table, name) for name in wanted.features or ())
    if wanted.features is None:
        features = tuple(name for name in schema.names if name != found["label"])
    if wanted.names.keys() == {"label"} and not features:
        raise DataError(f"{source.path}: there are no features besides the label")
    roles = [(name, "features") for name in features]
    roles += [(name, role) for role, name in found.items()]
    seen: dict[str, str] = {}
    for name, what in roles:
        if seen.setdefault(name, what) != what:
            raise DataError(f"{seen[name]} and {what} both name column {name!r}")
    numbers = [found[role] for role in ("score", "weight") if role in found]
    for name in (*numbers, *features):
        kind = schema.field(name).type
        if not is_numeric(kind):
            raise DataError(f"{source.path}: column {name!r} holds {kind}, not numbers")
    label, decision = found.get("label"), found.get("decision_column")
    return UsedColumns(
        score=found.get("score", ""),
        scores=wanted.scores,
        group=wanted.group,
        kind=""
        if wanted.group is None
        else kind_of_group(source, schema, wanted.group),
        missing=wanted.missing,
        label=None if label is None else LabelColumn(label),
        decision=None if decision is None else LabelColumn(decision, is_decision=True),
        weight=wanted.weight or "",
        features=features,
    )


def kind_of_group(source: InputFile, schema: Any, group: str) -> str:
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


def _kind_of_ids(kind: Any) -> str:
    """What ids of an Arrow type are in the pieces; empty for what cannot be an id."""
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


@dataclass(frozen=True)
class FileBatch:
    """Rows of a file that are read together."""

    rows: Integers  # their numbers in the file
    values: Floats  # what `UsedColumns.values` makes of them
    ids: Any = None  # their groups, an Arrow array
    record: Any = None  # what labels and weights are read from when they are asked for
    columns: UsedColumns = UsedColumns()
    source: InputFile | None = None

    @cached_property
    def positive(self) -> Booleans:
        """Which rows have the positive label; none where there are no labels."""
        if self.columns.label is None:
            return np.zeros(self.rows.size, dtype=bool)
        return self.columns.label.holds(self.record)

    @property
    def weight(self) -> Floats:
        """The weight of every row, checked; 1 where there is no such column."""
        name = self.columns.weight
        if not name:
            return np.ones(self.rows.size)
        weights = as_floats(self.record.column(name))
        right = np.isfinite(weights) & (weights >= 0.0)
        place = f"{self.source.path if self.source else ''}: column {name!r}"
        rule = "weights are finite and not negative"
        require(right, weights, place, int(self.rows[0]) if right.size else 0, rule)
        return weights

    @property
    def plain_groups(self) -> Any:
        """The group of every row as it stands in the file, or in the folder's name."""
        assert self.source is not None
        group = str(self.columns.group)
        if group in self.source.keys:
            return np.full(self.rows.size, self.source.keys[group], object)
        return plain_labels(self.record.column(group))

    @property
    def tally(self) -> Tally:
        """How many rows there are, and a checksum of what is read of them."""
        if self.columns.features:
            return tally_of(self.rows, self.values, self.positive)
        return tally(self.rows, self.values)


def read_batches(
    source: InputFile, columns: UsedColumns, rows: int
) -> Iterator[FileBatch]:
    """All rows of a file, in their order."""
    first = 0
    for record in batches_of(source, columns.names(source), rows):
        values = columns.values(record, source, first)
        ids = None
        if columns.group in source.keys:
            key = pa.scalar(source.keys[columns.group], arrow_type(columns.kind))
            ids = pa.repeat(key, record.num_rows)
        elif columns.group is not None:
            column = record.column(columns.group)
            # Ids in the type that they have in pieces; nan is missing, and 0 has no
            # sign.
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if pa.types.is_temporal(column.type):
                width = column.type.bit_width
                column = column.view(pa.int32() if width == 32 else pa.int64())
            if column.type != arrow_type(columns.kind):
                column = column.cast(arrow_type(columns.kind))
            if pa.types.is_floating(column.type):
                nothing = pa.scalar(None, pa.float64())
                column = pc.if_else(pc.is_nan(column), nothing, pc.add(column, 0.0))
            ids = column
        if ids is not None and ids.null_count and columns.missing == "error":
            row = first + int(np.argmax(ids.is_null().to_numpy(zero_copy_only=False)))
            raise DataError(
                f"{source.path}: column {columns.group!r} is missing at row {row}; "
                f"{marked('missing_groups', 'own')} makes such rows one group"
            )
        numbers = np.arange(first, first + record.num_rows)
        yield FileBatch(numbers, values, ids, record, columns, source)
        first += record.num_rows


def as_floats(column: Any) -> Floats:
    """Numbers of any type as 64-bit floats, nan where missing."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
