"""Rows in, the same rows out: CSV, TSV, JSON lines, Parquet and Arrow; Excel in.

Columns are found and checked here, once; pyarrow is loaded when a file is read, not
when this module is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:
    from argmetric.scale.files._arrow import float_array as float_array
    from argmetric.scale.files._arrow import integer_array as integer_array
    from argmetric.scale.files._arrow import text_array as text_array
    from argmetric.scale.files._arrow import text_bytes as text_bytes
    from argmetric.scale.files._arrow import text_scalar as text_scalar
    from argmetric.scale.files._arrow import to_numpy as to_numpy
    from argmetric.scale.files._features import Kind as Kind
    from argmetric.scale.files._features import categories as categories
    from argmetric.scale.files._features import kind_of as kind_of
    from argmetric.scale.files._features import sparse_numbers as sparse_numbers
    from argmetric.scale.files._read import read_blocks as read_blocks
    from argmetric.scale.files._read import read_table as read_table
    from argmetric.scale.files._read import read_tables as read_tables
    from argmetric.scale.files._source import DECISION_NAMES as DECISION_NAMES
    from argmetric.scale.files._source import DELIMITERS as DELIMITERS
    from argmetric.scale.files._source import FORMATS as FORMATS
    from argmetric.scale.files._source import LABEL_NAMES as LABEL_NAMES
    from argmetric.scale.files._source import LOGIT_NAMES as LOGIT_NAMES
    from argmetric.scale.files._source import ROLES as ROLES
    from argmetric.scale.files._source import SCORE_NAMES as SCORE_NAMES
    from argmetric.scale.files._source import DataError as DataError
    from argmetric.scale.files._source import Format as Format
    from argmetric.scale.files._source import Role as Role
    from argmetric.scale.files._source import Written as Written
    from argmetric.scale.files._source import marked as marked
    from argmetric.scale.files._table import Table as Table
    from argmetric.scale.files._table import default_columns as default_columns
    from argmetric.scale.files._table import find_column as find_column
    from argmetric.scale.files._table import named_column as named_column
    from argmetric.scale.files._table import repeated as repeated
    from argmetric.scale.files._values import class_names as class_names
    from argmetric.scale.files._values import classes as classes
    from argmetric.scale.files._values import groups as groups
    from argmetric.scale.files._values import is_numeric as is_numeric
    from argmetric.scale.files._values import labels as labels
    from argmetric.scale.files._values import numbers as numbers
    from argmetric.scale.files._values import probabilities as probabilities
    from argmetric.scale.files._values import read_values as read_values
    from argmetric.scale.files._values import weights as weights
    from argmetric.scale.files._write import BATCH_ROWS as BATCH_ROWS
    from argmetric.scale.files._write import output_format as output_format
    from argmetric.scale.files._write import refuse_terminal as refuse_terminal
    from argmetric.scale.files._write import typed_batches as typed_batches
    from argmetric.scale.files._write import write_table as write_table

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "_arrow": (
            "float_array",
            "integer_array",
            "text_array",
            "text_bytes",
            "text_scalar",
            "to_numpy",
        ),
        "_features": ("Kind", "categories", "kind_of", "sparse_numbers"),
        "_source": (
            "DECISION_NAMES",
            "DELIMITERS",
            "DataError",
            "FORMATS",
            "Format",
            "LABEL_NAMES",
            "LOGIT_NAMES",
            "ROLES",
            "Role",
            "SCORE_NAMES",
            "Written",
            "marked",
        ),
        "_read": ("read_blocks", "read_table", "read_tables"),
        "_table": (
            "Table",
            "default_columns",
            "find_column",
            "named_column",
            "repeated",
        ),
        "_values": (
            "class_names",
            "classes",
            "groups",
            "is_numeric",
            "labels",
            "numbers",
            "probabilities",
            "read_values",
            "weights",
        ),
        "_write": (
            "BATCH_ROWS",
            "output_format",
            "refuse_terminal",
            "typed_batches",
            "write_table",
        ),
    },
)
