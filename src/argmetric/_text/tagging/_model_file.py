"""Taggers in files: one archive of arrays and JSON, nothing that is executed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from argmetric._results import archives
from argmetric._results.archives import Arrays
from argmetric._text.hashing import dense, sparse
from argmetric._text.tagging._choices import Tier, make_choices, size_of
from argmetric._text.tagging._codec import Codec
from argmetric._text.tagging._engine import Policy
from argmetric._text.tagging._features import Extractor
from argmetric._text.tagging._learning import Recipe
from argmetric._text.tagging._matrix import MatrixModel
from argmetric._text.tagging._model import Side, TextModel
from argmetric._text.tagging._recipes import DEFAULTS, Options
from argmetric._text.tagging._training import without_memory
from argmetric._text.tagging.templates import Template, read_templates

if TYPE_CHECKING:
    from argmetric._text.tagging.tagger import Tagger

_FORMAT = "argmetric tagger"
_VERSION = 1


def save(tagger: Tagger, path: str | os.PathLike[str]) -> None:
    """Write a tagger; the file is replaced whole or not at all."""
    write_archive(path, _FORMAT, *packed(tagger))


def packed(tagger: Tagger) -> tuple[dict[str, Any], Arrays]:
    """A tagger as a header and arrays."""
    model = tagger._learned_model()
    options = tagger._options
    arrays: Arrays = {}
    sides = list(model.sides)
    first = model.first[1] if isinstance(model, TextModel) and model.first else None
    for number, side in enumerate([*sides, *([first] if first else [])]):
        arrays |= sparse(f"side{number}", side.policy.weights)
    header = {
        "arguments": tagger.get_params(),
        "history": tagger.history_,
        "interrupted": tagger.interrupted_,
        "streams": [asdict(codec.tier) for codec in model.codecs],
        "tables": [[template.text for template in t] for t in options.tables],
        "options": {
            name: getattr(options, name)
            for name in (
                "hash_bits",
                "memory",
                "beam",
                "beam_scores",
                "history_value",
                "random_state",
            )
        },
        "right_weight": options.defaults.right_weight,
        "recipe": asdict(options.recipe),
        "reverse": [side.reverse for side in sides],
        "first_pass": first is not None,
        "n_columns": model.n_columns if isinstance(model, MatrixModel) else None,
    }
    return header, arrays


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Arrays
) -> None:
    """Write a tagger as a header and arrays."""
    archives.write_archive(path, kind, _VERSION, header, arrays)


def load(path: str | os.PathLike[str]) -> Tagger:
    """Read a tagger."""
    header, arrays = read_archive(path, _FORMAT)
    with whole_archive(path):
        return unpacked(header, arrays)


def unpacked(header: Mapping[str, Any], arrays: Arrays) -> Tagger:
    """The tagger that `packed` took apart."""
    from argmetric._text.tagging.tagger import Tagger

    tiers = [Tier(s["name"], tuple(s["labels"]), s["spans"]) for s in header["streams"]]
    names = [tier.name for tier in tiers]
    tables = tuple(read_templates(table, names) for table in header["tables"])
    recipe = Recipe(**header["recipe"])
    arguments = header["arguments"]
    defaults = replace(
        DEFAULTS[arguments["task"]],
        tiers=tuple(names),
        spans=tuple(tier.spans for tier in tiers),
        right_weight=header["right_weight"],
    )
    options = Options(
        defaults, recipe, tables, tuple(header["reverse"]), **header["options"]
    )
    tagger = Tagger(**arguments)
    tagger._options = options
    tagger._model = _model(header, arrays, tiers, options)
    tagger.history_ = header["history"]
    tagger.interrupted_ = header["interrupted"]
    return tagger


def read_archive(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a kind of tagger."""
    return archives.read_archive(path, kind, _VERSION, "tagger")


def whole_archive(path: str | os.PathLike[str]) -> AbstractContextManager[None]:
    """Whatever a damaged tagger makes fail, as one error."""
    return archives.whole(path, "tagger")


def _model(
    header: Mapping[str, Any],
    arrays: Arrays,
    tiers: list[Tier],
    options: Options,
) -> TextModel | MatrixModel:
    codecs = tuple(Codec(tier) for tier in tiers)
    base = header["n_columns"] or 0
    tables, plain = options.tables, without_memory(options.tables)
    if header["n_columns"] is None and not header["first_pass"]:
        tables = plain

    def side(number: int, reverse: bool, own: tuple[tuple[Template, ...], ...]) -> Side:
        choices = make_choices(
            tiers,
            own,
            hash_bits=options.hash_bits,
            base=base,
            value=options.history_value,
        )
        weights = dense(f"side{number}", arrays, size_of(choices))
        return Side(reverse, Policy(choices, weights))

    sides = tuple(side(n, r, tables) for n, r in enumerate(header["reverse"]))
    if header["n_columns"] is not None:
        return MatrixModel(codecs, sides, options.tables[0], base)
    extractor = Extractor(tables, options.hash_bits)
    if not header["first_pass"]:
        return TextModel(codecs, extractor, sides)
    first = Extractor(plain, options.hash_bits), side(len(sides), False, plain)
    return TextModel(codecs, extractor, sides, options.memory, first)
