"""How text is written, where that is not UTF-8."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from argmetric.cli._errors import UsageError

Encoding = Annotated[str, Parameter(metavar="NAME", help="How the text is written.")]
OTHER_ENCODING = "pass --encoding, for instance latin-1"


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that nobody knows."""
    try:
        "a".encode(encoding)
    except LookupError:
        raise UsageError(f"--encoding {encoding}: there is no such encoding") from None
