"""Files with a line for each token, as the commands of tagging take them."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from argmetric._corpus import ColumnFile, read_columns
from argmetric.cli._errors import UsageError
from argmetric.cli._progress import reading

Encoding = Annotated[str, Parameter(metavar="NAME", help="How the text is written.")]


OTHER_ENCODING = "pass --encoding, for instance latin-1"


def read_tags(path: str, encoding: str) -> ColumnFile:
    """Read a file of tokens; what is wrong with it is told with the line."""
    check_encoding(encoding)
    with reading(path):
        return read_columns(path, encoding=encoding, otherwise=OTHER_ENCODING)


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that nobody knows."""
    try:
        "a".encode(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding}: there is no such encoding") from None
