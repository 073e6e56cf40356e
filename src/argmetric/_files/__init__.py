"""Rows in, the same rows out: CSV, TSV, JSON lines, Parquet and Arrow; Excel in.

Columns are found and checked here, once; pyarrow is loaded when a file is read, not
when this module is imported.
"""

from argmetric._files._arrow import (
    float_array,
    integer_array,
    text_array,
    text_bytes,
    text_scalar,
)
from argmetric._files._columns import (
    DECISION_NAMES,
    LABEL_NAMES,
    LOGIT_NAMES,
    SCORE_NAMES,
    default_columns,
    find_column,
    named_column,
    repeated,
)
from argmetric._files._features import Kind, categories, kind_of, sparse_numbers
from argmetric._files._formats import (
    DELIMITERS,
    FORMATS,
    ROLES,
    DataError,
    Format,
    Role,
    Written,
    marked,
)
from argmetric._files._labels import classes, labels, read_values
from argmetric._files._read import read_table
from argmetric._files._several import read_tables
from argmetric._files._table import Table
from argmetric._files._values import groups, numbers, probabilities, weights
from argmetric._files._write import (
    output_format,
    refuse_terminal,
    write_table,
)

__all__ = [
    "DECISION_NAMES",
    "DELIMITERS",
    "FORMATS",
    "LABEL_NAMES",
    "LOGIT_NAMES",
    "ROLES",
    "SCORE_NAMES",
    "DataError",
    "Format",
    "Kind",
    "Role",
    "Table",
    "Written",
    "categories",
    "classes",
    "default_columns",
    "find_column",
    "float_array",
    "groups",
    "integer_array",
    "kind_of",
    "labels",
    "marked",
    "named_column",
    "numbers",
    "output_format",
    "probabilities",
    "read_table",
    "read_tables",
    "read_values",
    "refuse_terminal",
    "repeated",
    "sparse_numbers",
    "text_array",
    "text_bytes",
    "text_scalar",
    "weights",
    "write_table",
]
