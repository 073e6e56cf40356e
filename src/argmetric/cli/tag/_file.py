"""Files with a line for each token, as the commands of tagging take them."""

from __future__ import annotations

from argmetric._text.corpus.sentences import ColumnFile, read_columns
from argmetric.cli._encoding import OTHER_ENCODING, check_encoding
from argmetric.cli._progress import reading


def read_tags(path: str, encoding: str) -> ColumnFile:
    """Read a file of tokens; what is wrong with it is told with the line."""
    check_encoding(encoding)
    with reading(path):
        return read_columns(path, encoding=encoding, otherwise=OTHER_ENCODING)
