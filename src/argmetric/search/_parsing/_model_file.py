"""Parsers in files: one archive of arrays and JSON, nothing that is executed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from argmetric import _saving
from argmetric._saving import Arrays
from argmetric.search._hashing import dense, sparse
from argmetric.search._parsing._learning import Policy
from argmetric.search._parsing._model import Model, Side
from argmetric.search._parsing._templates import read_templates

if TYPE_CHECKING:
    from argmetric.search._parsing._parser import Parser

_FORMAT = "argmetric parser"
_VERSION = 1


def save(parser: Parser, path: str | os.PathLike[str]) -> None:
    """Write a parser; the file is replaced whole or not at all."""
    model = parser._learned_model()
    arrays: Arrays = {}
    for number, side in enumerate(model.sides):
        arrays |= sparse(f"side{number}", side.policy.weights)
    header = {
        "arguments": parser.get_params(),
        "history": parser.history_,
        "interrupted": parser.interrupted_,
        "n_lifted": parser.n_lifted_,
        "templates": list(model.templates.texts),
        "hash_bits": 64 - int(model.templates.scheme[-1]),
        "reverse": [side.reverse for side in model.sides],
    }
    _saving.write_archive(path, _FORMAT, _VERSION, header, arrays)


def load(path: str | os.PathLike[str]) -> Parser:
    """Read a parser."""
    from argmetric.search._parsing._parser import Parser

    header, arrays = _saving.read_archive(path, _FORMAT, _VERSION, "parser")
    with _saving.whole(path, "parser"):
        templates = read_templates(header["templates"], header["hash_bits"])
        n = 3 << header["hash_bits"]
        sides = tuple(
            Side(reverse, Policy(templates.scheme, dense(f"side{number}", arrays, n)))
            for number, reverse in enumerate(header["reverse"])
        )
        parser = Parser(**header["arguments"])
        parser._model = Model(templates, sides)
        parser.history_ = header["history"]
        parser.interrupted_ = header["interrupted"]
        parser.n_lifted_ = header["n_lifted"]
    return parser
