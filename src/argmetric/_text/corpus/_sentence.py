"""A sentence as a file has it, and which files hold sentences."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, get_args

from argmetric._input.validation import check_choice

CorpusFormat = Literal["conll", "jsonl"]

_JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class Sentence:
    """A sentence as a file has it.

    Attributes
    ----------
    columns : tuple of lists of str
        The columns without that of the labels; words first.
    labels : list of str or None
        The labels, where there are some.
    line : int
        The line of the file that it starts at.
    document : int
        The number of its document (``-DOCSTART-`` lines, or the key "document").
    extra : dict
        The other keys of a JSON line, such as "features" or "probabilities".
    file : str
        What messages call the file; it plays no part in comparisons.
    """

    columns: tuple[list[str], ...]
    labels: list[str] | None = None
    line: int = 1
    document: Any = 0
    extra: dict[str, Any] = field(default_factory=dict)
    file: str = field(default="", compare=False)

    @property
    def tokens(self) -> list[str]:
        """The words."""
        return self.columns[0]

    def __len__(self) -> int:
        return len(self.columns[0])


def corpus_format(
    path: str | os.PathLike[str], given: CorpusFormat | None = None
) -> CorpusFormat:
    """The format that is given, or else what the name says: JSON lines, or columns."""
    if given is not None:
        check_choice(given, "format", get_args(CorpusFormat))
        return given
    extension = PurePath(path).suffix.lower()
    return "jsonl" if extension in _JSON_EXTENSIONS else "conll"
