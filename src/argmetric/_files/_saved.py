"""Objects in JSON files: written whole or not at all, and read with care."""

from __future__ import annotations

import json
import os
from typing import Any

from argmetric._files._json import parsed
from argmetric._files._write import replaced_whole


def save_json(path: str | os.PathLike[str], values: dict[str, Any]) -> None:
    """Write plain values; a file that is there is replaced whole or not at all.

    Parameters
    ----------
    path : str or path
        The file.
    values : dict
        What JSON can hold; nan and infinities are refused.
    """
    text = json.dumps(values, indent=1, allow_nan=False, ensure_ascii=False)
    with replaced_whole(os.fspath(path)) as stream:
        stream.write(f"{text}\n".encode())


def load_json(path: str | os.PathLike[str], what: str) -> Any:
    """Read plain values; a message names the file where it is damaged.

    Parameters
    ----------
    path : str or path
        The file.
    what : str
        What it should hold, for the message.
    """
    with open(path, "rb") as stream:
        content = stream.read()
    try:
        return parsed(content.decode())
    except ValueError as error:
        name = os.fspath(path)
        raise ValueError(f"{name} is no {what}, or was cut short: {error}") from None
