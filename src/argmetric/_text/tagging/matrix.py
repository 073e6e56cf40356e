"""Sequences of feature vectors, such as images of letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argmetric._input.features import check_features
from argmetric._input.validation import is_sparse, to_floats, to_numpy
from argmetric._text.learning import Log
from argmetric._text.tagging._model import BeamSearch, TaggerSide, search_lists
from argmetric._text.tagging._recipes import TaggerOptions
from argmetric._text.tagging._training import Development, learn_sides
from argmetric._text.tagging.features import MatrixSource, history_salts
from argmetric._text.tagging.labels import Codec, Tier
from argmetric._text.tagging.templates import Template


@dataclass(frozen=True, eq=False)
class MatrixModel:
    """Everything that labelling of feature vectors needs."""

    codecs: tuple[Codec, ...]
    sides: tuple[TaggerSide, ...]
    templates: tuple[Template, ...]
    n_columns: int

    def predict(self, X: Any, lengths: Any, search: BeamSearch) -> npt.NDArray[Any]:
        """The label of every row."""
        source = matrix_source(X, lengths, self.templates, self.n_columns)
        labels, _ = search_lists(self.sides, source, self.codecs, search)
        return np.asarray(np.array(self.codecs[0].labels)[labels[0]])


def matrix_source(
    X: Any, lengths: Any, templates: Sequence[Template], n_columns: int | None = None
) -> MatrixSource:
    """Check a matrix and the lengths of its sequences."""
    from scipy.sparse import csr_matrix

    check_features(X)
    if not is_sparse(X):
        X = to_floats(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, not of shape {X.shape}")
    found = csr_matrix(X)
    sizes = to_numpy(lengths, "lengths")
    if sizes.size == 0:
        sizes = sizes.astype(np.int64)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise ValueError("lengths must be a list of integers that are not negative")
    sizes = sizes.astype(np.int64)
    if sizes.sum() != found.shape[0]:
        raise ValueError(
            f"lengths add up to {sizes.sum()}, but X has {found.shape[0]} rows"
        )
    if n_columns is not None and found.shape[1] != n_columns:
        raise ValueError(
            f"X has {found.shape[1]} columns, the tagger learned with {n_columns}"
        )
    if not np.isfinite(found.data).all():
        wrong = np.flatnonzero(~np.isfinite(found.data))[0]
        row = int(np.searchsorted(found.indptr, wrong, side="right")) - 1
        raise ValueError(f"row {row} of X has a value that is not finite")
    if np.abs(found.data).max(initial=0.0) > np.finfo(np.float32).max:
        raise ValueError("X has values beyond 3.4e38, the largest of 32-bit floats")
    sentences = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return MatrixSource(found, sentences, history_salts(templates))


def matrix_labels(y: Any, n: int, name: str = "y") -> npt.NDArray[Any]:
    """Check the labels of the rows of a matrix."""
    values = to_numpy(y, name)
    if values.shape != (n,):
        raise ValueError(f"{name} has the shape {values.shape}, but X has {n} rows")
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
        values = values.astype(np.str_)
    if n and values.dtype.kind not in "iubU":
        kind = type(values.flat[0]).__name__
        raise ValueError(f"{name} must hold labels, text or integers, not {kind}")
    return values


def learn_matrix(
    options: TaggerOptions,
    X: Any,
    y: Any,
    lengths: Any,
    log: Log,
    dev: tuple[Any, Any, Any] | None,
) -> MatrixModel:
    """Learn from sequences of feature vectors."""
    templates = options.tables[0]
    source = matrix_source(X, lengths, templates)
    values = matrix_labels(y, source.X.shape[0])
    if not len(values):
        raise ValueError("there is no row to learn from")
    labels = np.unique(values)
    codec = Codec(Tier("t", tuple(labels.tolist()), False))
    n_columns = source.X.shape[1]
    development = None
    if dev is not None:
        if len(dev) != 3:
            raise ValueError("dev must be a tuple (X, y, lengths)")
        other = matrix_source(dev[0], dev[2], templates, n_columns)
        right = matrix_labels(dev[1], other.X.shape[0], "y of dev")
        development = Development(other, (right.tolist(),))
    plan = replace(options, codecs=(codec,), base=n_columns)
    gold = np.searchsorted(labels, values).astype(np.int64)
    sides = learn_sides(plan, source, gold, log, development)
    return MatrixModel((codec,), sides, templates, n_columns)
