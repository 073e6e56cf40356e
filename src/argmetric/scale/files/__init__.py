"""Rows in, the same rows out: CSV, TSV, JSON lines, Parquet and Arrow.

Columns are found and checked here, once; pyarrow is loaded when a file is read, not
when this module is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from argmetric._ground.lazy import lazy_names

if TYPE_CHECKING:  # which are those of _NAMES
    from argmetric.scale.files._features import *  # noqa: F403
    from argmetric.scale.files._read import *  # noqa: F403
    from argmetric.scale.files._source import *  # noqa: F403
    from argmetric.scale.files._table import *  # noqa: F403
    from argmetric.scale.files._values import *  # noqa: F403
    from argmetric.scale.files._write import *  # noqa: F403

_NAMES = {
    "_source": "DECISION_NAMES DELIMITERS DataError FORMATS Format LABEL_NAMES "
    "LOGIT_NAMES ROLES Role SCORE_NAMES marked",
    "_read": "read_blocks read_table read_tables",
    "_table": "Table default_columns find_column float_array integer_array "
    "name_twice named_column text_array text_bytes text_scalar to_numpy",
    "_features": "Kind categories kind_of sparse_numbers",
    "_values": "COUNTED EMPTY class_names classes groups is_numeric labels numbers "
    "probabilities read_values refuse_rows weights",
    "_write": "BATCH_ROWS output_format refuse_terminal typed_batches write_table",
}
__getattr__, __dir__, __all__ = lazy_names(
    __name__, {module: (*names.split(),) for module, names in _NAMES.items()}
)
