"""Parsers in files: one archive of arrays and JSON, nothing that is executed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from argmetric._results import archives
from argmetric._text.parsing._model_file import packed, unpacked
from argmetric._text.tagging import _model_file as taggers
from argmetric._text.tagging.tagger import Tagger

if TYPE_CHECKING:
    from argmetric._text.parser import Parser

_FORMAT = "argmetric parser"
_VERSION = 1
_TAGGER = "tagger_"  # how the names of the tagger's arrays begin


def save(parser: Parser, path: str | os.PathLike[str]) -> None:
    """Write a parser and its tagger; the file is replaced whole or not at all."""
    model, arrays = packed(parser._learned_model())
    tagger, header = parser.tagger_, None
    if isinstance(tagger, Tagger):
        header, own = taggers.packed(tagger)
        arrays |= {f"{_TAGGER}{name}": array for name, array in own.items()}
    elif tagger is not None:
        raise TypeError(
            f"a tagger of type {type(tagger).__name__} cannot be saved with the "
            "parser: set tagger_ to None, and name the tagger in every call"
        )
    said = {
        "arguments": parser.get_params(),
        "history": parser.history_,
        "interrupted": parser.interrupted_,
        "n_lifted": parser.n_lifted_,
        "model": model,
        "tagger": header,
    }
    archives.write_archive(path, _FORMAT, _VERSION, said, arrays)


def load(path: str | os.PathLike[str]) -> Parser:
    """Read a parser."""
    from argmetric._text.parser import Parser

    header, arrays = archives.read_archive(path, _FORMAT, _VERSION, "parser")
    with archives.whole(path, "parser"):
        parser = Parser(**header["arguments"])
        parser._model = unpacked(header["model"], arrays)
        parser.history_ = header["history"]
        parser.interrupted_ = header["interrupted"]
        parser.n_lifted_ = header["n_lifted"]
        parser.tagger_ = None
        if header["tagger"] is not None:
            own = {
                name.removeprefix(_TAGGER): array
                for name, array in arrays.items()
                if name.startswith(_TAGGER)
            }
            parser.tagger_ = taggers.unpacked(header["tagger"], own)
    return parser
