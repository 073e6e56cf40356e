"""Read models of crfsuite from their files, and compute features of tokens.

`Tagger.info()` of python-crfsuite prints weights with six decimals; the file has all of
them, and reading it needs no crfsuite.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from typing import Any

import numpy as np

from argmetric._ground.arguments import (
    check_items,
    check_path,
    check_texts,
    shown,
    to_float,
)
from argmetric._ground.types import Floats
from argmetric._ground.whole_files import DataError, read_whole
from argmetric.search.learning import word_shape

_NEIGHBOURS = (-2, -1, 1, 2)
_AFFIXES = (1, 2, 3, 4)
_EDGE = "<edge>"


def standard_features(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the attributes of every token of a sentence, as crfsuite takes them.

    They are word, affixes up to four letters, shape and further columns (part of
    speech) of the token; word, shape and further columns of its neighbours up to two
    places away; and one pair of neighbouring columns at each side.

    Parameters
    ----------
    columns : sequence of sequences of str
        The columns of the sentence without that of the labels: words first.

    Returns
    -------
    list of lists of str
        One list of attributes for each token.

    Examples
    --------
    >>> standard_features([["Hola", "Ana"], ["I", "NP"]])[1][:5]
    ['bias', 'w=Ana', 'lower=ana', 'shape=Xx', 'tag1=NP']
    """
    wanted = "a list of columns, words first"
    found = [
        check_texts(column, f"columns[{number}]")
        for number, column in enumerate(check_items(columns, "columns", wanted))
    ]
    if not found:
        raise ValueError(f"columns must be {wanted}; there is none")
    for number, column in enumerate(found):
        if len(column) != len(found[0]):
            raise ValueError(
                f"columns[{number}] has {len(column)} values for {len(found[0])} words"
            )
    words, *tags = found
    n = len(words)
    lower = [word.lower() for word in words]
    shapes = [word_shape(word) for word in words]
    result = []
    for i, word in enumerate(words):
        row = ["bias", f"w={word}", f"lower={lower[i]}", f"shape={shapes[i]}"]
        row += [f"tag{j}={tag[i]}" for j, tag in enumerate(tags, start=1)]
        row += [f"prefix={lower[i][:k]}" for k in _AFFIXES if k < len(word)]
        row += [f"suffix={lower[i][-k:]}" for k in _AFFIXES if k < len(word)]
        for step in _NEIGHBOURS:
            there = i + step
            if not 0 <= there < n:
                row.append(f"{step}:{_EDGE}")
                continue
            row += [f"{step}:lower={lower[there]}", f"{step}:shape={shapes[there]}"]
            row += [f"{step}:tag{j}={tag[there]}" for j, tag in enumerate(tags, 1)]
        for side in (-1, 1):
            if 0 <= i + side < n:
                row += [
                    f"{side}:tags{j}={tag[i + side]}|{tag[i]}"
                    for j, tag in enumerate(tags, start=1)
                ]
        result.append(row)
    return result


_HEADER = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4sII")
_FEATURE = np.dtype([("type", "<u4"), ("src", "<u4"), ("dst", "<u4"), ("w", "<f8")])
_NAMES = struct.Struct("<4s5I")
_NAME = struct.Struct("<II")
_STATE, _TRANSITION = 0, 1
# Where features are those of the model, half of them and more are known, even after
# strong L1 regularisation; a few tokens may all be new words
_LEAST_KNOWN, _FEW = 0.1, 50
_COMPARED = 2_000


class CrfsuiteWeights:
    """Weights of a crfsuite model, read from its file.

    Parameters
    ----------
    path : str or path-like
        The file that crfsuite wrote.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        name = check_path(path)
        try:
            data = read_whole(name)
        except OSError as error:
            raise DataError(f"cannot read {name}: {error.strerror}") from None
        try:
            header = _HEADER.unpack_from(data)
            if header[0] != b"lCRF" or header[2] != b"FOMC":
                raise ValueError
            offsets = header[7:]
            _, _, n_features = _CHUNK.unpack_from(data, offsets[0])
            features = np.frombuffer(
                data, _FEATURE, n_features, offsets[0] + _CHUNK.size
            )
            self.labels = tuple(_names(data, offsets[1]))
            attributes = _names(data, offsets[2])
        except (struct.error, ValueError, UnicodeDecodeError):
            raise ValueError(f"{name} is not a model of crfsuite") from None
        n_labels = len(self.labels)
        self.transitions: Floats = np.zeros((n_labels, n_labels))
        moves = features[features["type"] == _TRANSITION]
        self.transitions[moves["src"], moves["dst"]] = moves["w"]
        states = features[features["type"] == _STATE]
        order = np.argsort(states["src"], kind="stable")
        self._weights = states["w"][order].astype(np.float64)
        self._labels = states["dst"][order].astype(np.int64)
        counts = np.bincount(states["src"], minlength=len(attributes))
        self._indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._attributes = {attribute: i for i, attribute in enumerate(attributes)}

    def _unary_scores(
        self, sentences: Iterable[Sequence[Any]]
    ) -> tuple[list[Floats], float]:
        """Return the scores of the labels of many sentences, and known features.

        Parameters
        ----------
        sentences : iterable of sequences
            The features of each sentence, with an element for each token.

        Returns
        -------
        scores : list of ndarray of shape (n_tokens, n_labels)
        share : float
            Share of the features that the model knows.
        """
        from argmetric.sequence.kernels.chains import state_scores

        numbers: list[int] = []  # of the features, -1 for unknown ones
        unknown = ""
        values: dict[int, float] = {}  # the few that are not 1
        ends: list[int] = []
        lengths: list[int] = []
        for i, sentence in enumerate(sentences):
            where = f"sentence {i}"
            features = check_items(
                sentence, f"{where}: features", "a list with an element for each token"
            )
            for token in features:
                unknown = self._add_token(token, where, numbers, values) or unknown
                ends.append(len(numbers))
            lengths.append(len(features))
        found = np.array(numbers, dtype=np.int64)
        share = float((found >= 0).mean()) if found.size else 1.0
        if share < _LEAST_KNOWN and found.size >= _FEW:
            some = list(self._attributes)[:_COMPARED]
            near = get_close_matches(unknown, some, n=1, cutoff=0.0)
            beside = f" and of the model {near[0]!r}" if near else ""
            raise ValueError(
                f"the model knows {100 * share:.1f} % of the features: it was trained "
                f"with others. One of the input is {unknown!r}{beside}"
            )
        amounts = np.ones(found.size)
        amounts[list(values)] = list(values.values())
        unary = np.zeros((len(ends), len(self.labels)))
        starts = np.array([0, *ends], dtype=np.int64)
        known_weights = self._indptr, self._labels, self._weights
        state_scores(found, amounts, starts, *known_weights, unary)
        return np.split(unary, np.cumsum(lengths)[:-1]) if lengths else [], share

    def _add_token(
        self, token: Any, where: str, numbers: list[int], values: dict[int, float]
    ) -> str:
        """Append the features of a token; return one that the model does not know.

        Parameters
        ----------
        token : dict or iterable of str
        where : str
            The sentence, for messages.
        numbers : list of int
            Numbers of the features so far, -1 for unknown ones.
        values : dict of int to float
            Values that are not 1, by place in `numbers`.
        """
        known, unknown = self._attributes.get, ""
        if isinstance(token, Mapping):
            for name, value in _flat(token, where):
                if value != 1.0:
                    values[len(numbers)] = value
                numbers.append(known(name, -1))
                if numbers[-1] < 0:
                    unknown = name
            return unknown
        single = isinstance(token, str) or getattr(token, "ndim", 1) == 0
        if single or not isinstance(token, Iterable):
            raise ValueError(
                f"{where}: the features of a token are a list or a dict, not "
                f"{shown(token)}"
            )
        names = list(token)
        try:
            numbers.extend([known(name, -1) for name in names])
        except TypeError:  # what is no text may not be hashable
            raise ValueError(
                f"{where}: the features of a token are names, not {shown(names)}"
            ) from None
        return str(names[-1]) if names and numbers[-1] < 0 else ""


def _flat(features: Mapping[str, Any], where: str) -> Iterable[tuple[str, float]]:
    """Yield attributes and values of a dict, by the rules of python-crfsuite."""
    for key, value in features.items():
        if isinstance(value, Mapping):
            for name, inner in _flat(value, where):
                yield f"{key}:{name}", inner
        elif isinstance(value, str):
            yield f"{key}:{value}", 1.0
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                yield f"{key}:{item}", 1.0
        else:
            amount = to_float(value)
            if not math.isfinite(amount):
                raise ValueError(
                    f"{where}: features: the value of {key!r} must be a finite number, "
                    f"text, a list of text or a dict, not {shown(value)}"
                )
            yield key, amount


def _names(data: bytes, offset: int) -> list[str]:
    """Return names by number, from one of the file's constant databases."""
    mark, _, _, _, n_names, backward = _NAMES.unpack_from(data, offset)
    if mark != b"CQDB":
        raise ValueError
    places = np.frombuffer(data, "<u4", n_names, offset + backward)
    names = []
    for place in places.tolist():
        _, size = _NAME.unpack_from(data, offset + place)
        start = offset + place + _NAME.size
        names.append(data[start : start + size - 1].decode())  # the last is a NUL
    return names
