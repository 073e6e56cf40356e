"""Compiled SEARN for `SpanChunking`, chunk by chunk."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from argmetric._ground.types import Booleans, Integers
from argmetric.metrics import FBeta
from argmetric.search._searn._sequences import PreparedInputs, words_known
from argmetric.search._searn._task import Input
from argmetric.search._searn._tasks_chunks import SpanChunking
from argmetric.search.corpus.labels import write_labels

_OUT = "O"


def prepare_spans(task: Any, X: Sequence[Input]) -> Sequence[Any]:
    """Return inputs with their features read if kernels support the task."""
    spans = type(task) is SpanChunking and bool(task.types)
    known = spans and isinstance(task.metric, FBeta) and task.metric.beta == 1
    if not known and not words_known(task):
        return X
    if isinstance(X, PreparedInputs) and X.task is task:
        return X
    return PreparedSpans(task, X) if spans else PreparedInputs(task, X)


class PreparedSpans(PreparedInputs):
    """Inputs, and the hashed features of all chunks within reach.

    The chunk of one word of each token comes first, then longer ones.
    """

    @property
    def read(self) -> Any:
        return self.task._span_features

    @staticmethod
    def _features(read: Any, x: Input, start: int, stop: int) -> Any:
        return read(x, start, stop)

    @property
    def names(self) -> tuple[Any, ...]:
        return _OUT, *self.task.types

    @property
    def form(self) -> int:
        from argmetric.search.kernels.sequences import CHUNKS, SPANS

        return CHUNKS + SPANS

    @property
    def allowed_actions(self) -> Booleans:
        return np.ones((1, 1 + len(self.task.types) * self.longest), dtype=np.bool_)

    def _histories(self) -> tuple[list[Any], Integers]:
        """Return the features of the column before; "outside" before the first."""
        which = np.append(0, np.arange(len(self.names)))[:, None]
        return [("the chunk before", x) for x in self.names], which

    def outputs(self, chosen: Integers) -> list[tuple[Any, ...]]:
        """Return the labels of the chunks, input by input."""
        outputs, sizes = [], np.diff(self.firsts)
        for a, b in itertools.pairwise(self.starts.tolist()):
            begins = a + np.flatnonzero(chosen[a:b] > 0)
            kinds, more = np.divmod(chosen[begins] - 1, sizes[begins])
            chunks = [
                (first, first + size, self.task.types[kind])
                for first, size, kind in zip(begins - a, more + 1, kinds, strict=True)
            ]
            outputs.append(tuple(write_labels(chunks, b - a)))
        return outputs
