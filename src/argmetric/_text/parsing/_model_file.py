"""Models of parsers as a header and arrays, as files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argmetric._results.archives import Arrays
from argmetric._text.hashing import dense, sparse
from argmetric._text.parsing._learning import Policy
from argmetric._text.parsing._model import Model, Side
from argmetric._text.parsing._relations import Relations
from argmetric._text.parsing._templates import read_templates


def packed(model: Model) -> tuple[dict[str, Any], Arrays]:
    """A model as a header and arrays."""
    arrays: Arrays = {}
    for number, side in enumerate(model.sides):
        arrays |= sparse(f"side{number}", side.policy.weights)
    header: dict[str, Any] = {
        "templates": list(model.templates.texts),
        "hash_bits": 64 - int(model.templates.scheme[-1]),
        "reverse": [side.reverse for side in model.sides],
    }
    if model.relations is not None:
        arrays |= sparse("relations", model.relations.weights)
        arrays["relation_places"] = model.relations.places
        header["relations"] = list(model.relations.labels)
        header["relation_bits"] = model.relations.hash_bits
    return header, arrays


def unpacked(header: Mapping[str, Any], arrays: Arrays) -> Model:
    """The model that `packed` took apart."""
    templates = read_templates(header["templates"], header["hash_bits"])
    n = 3 << header["hash_bits"]
    sides = tuple(
        Side(reverse, Policy(templates.scheme, dense(f"side{number}", arrays, n)))
        for number, reverse in enumerate(header["reverse"])
    )
    relations = None
    if "relations" in header:
        labels, bits = tuple(header["relations"]), header["relation_bits"]
        weights = dense("relations", arrays, len(labels) << bits)
        relations = Relations(labels, arrays["relation_places"], bits, weights)
    return Model(templates, sides, relations)
