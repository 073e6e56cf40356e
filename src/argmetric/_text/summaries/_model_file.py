"""Summarizers in files: one archive of arrays and JSON, nothing that is executed."""

from __future__ import annotations

import os
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from argmetric._results import archives
from argmetric._results.archives import Arrays
from argmetric._text.summaries._growth import Policy
from argmetric._text.summaries._learning import BySearn
from argmetric._text.summaries._linear import Linear
from argmetric._text.summaries._policies import ByWeights
from argmetric._text.summaries._rates import Rates
from argmetric._text.summaries._weights import Weights

if TYPE_CHECKING:
    from argmetric._text.summaries.summarizer import Summarizer

_FORMAT = "argmetric summarizer"
_VERSION = 1
_COUNTS = ("clusters", "shares", "references")


def save(summarizer: Summarizer, path: str | os.PathLike[str]) -> None:
    """Write a summarizer; the file is replaced whole or not at all."""
    if not hasattr(summarizer, "_learned"):
        raise ValueError("the summarizer has learned nothing yet: call fit first")
    name, policy = summarizer._learned
    assert isinstance(policy, ByWeights | BySearn)
    weights = policy.weights
    linear = {"tokens": weights.of_tokens, "pairs": weights.of_pairs}
    if isinstance(policy, BySearn):
        linear["pieces"] = policy.linear
    arrays: Arrays = {"names": _bytes("\n".join(weights.rates.names.tolist()).encode())}
    arrays |= {key: getattr(weights.rates, key) for key in _COUNTS}
    for key, one in linear.items():
        values = [np.atleast_1d(getattr(one, field.name)) for field in fields(one)]
        arrays[key] = np.concatenate(values)
    if summarizer.parser is not None:
        arrays["parser"] = _bytes(_parser_file(summarizer.parser))
    header = {
        "arguments": summarizer.get_params() | {"parser": None},
        "policy": name,
        "words": summarizer.words_,
        "history": summarizer.history_,
        "interrupted": summarizer.interrupted_,
        "n_clusters": weights.rates.n_clusters,
    }
    archives.write_archive(path, _FORMAT, _VERSION, header, arrays)


def load(path: str | os.PathLike[str]) -> Summarizer:
    """Read a summarizer."""
    from argmetric._text.summaries.summarizer import Summarizer

    header, arrays = archives.read_archive(path, _FORMAT, _VERSION, "summarizer")
    with archives.whole(path, "summarizer"):
        names = np.array(arrays["names"].tobytes().decode().split("\n"), dtype=str)
        counts = {key: arrays[key] for key in _COUNTS}
        if any(len(one) != len(names) for one in counts.values()):
            raise ValueError("names and counts differ")
        rates = Rates(names, n_clusters=header["n_clusters"], **counts)
        weights = Weights(rates, _linear(arrays["tokens"]), _linear(arrays["pairs"]))
        policy: Policy = ByWeights(weights)
        if header["policy"] == "searn":
            policy = BySearn(weights, _linear(arrays["pieces"]))
        summarizer = Summarizer(**header["arguments"])
        summarizer.words_ = header["words"]
        summarizer.history_ = header["history"]
        summarizer.interrupted_ = header["interrupted"]
        summarizer._learned = header["policy"], policy
        if "parser" in arrays:
            summarizer.parser = _parser(arrays["parser"].tobytes())
    return summarizer


def _linear(values: Any) -> Linear:
    means, scales, weights = values[:-1].reshape(3, -1)
    return Linear(means, scales, weights, float(values[-1]))


def _bytes(data: bytes) -> Any:
    return np.frombuffer(data, dtype=np.uint8)


def _parser_file(parser: Any) -> bytes:
    if isinstance(parser, str | os.PathLike):
        return Path(parser).read_bytes()
    if not hasattr(parser, "save"):
        raise ValueError(
            "the parser cannot be saved: pass a Parser, or set parser=None before save"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "parser"
        parser.save(file)
        return file.read_bytes()


def _parser(data: bytes) -> Any:
    from argmetric._text.parser import Parser

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "parser"
        file.write_bytes(data)
        return Parser.load(file)
