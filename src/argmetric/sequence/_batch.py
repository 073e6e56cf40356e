"""Sentences as one flat batch: what the compiled passes run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from argmetric._input.types import Floats, Integers

if TYPE_CHECKING:
    from argmetric.sequence._crf import LinearChainCRF


@dataclass(frozen=True, eq=False)
class Batch:
    """Linear chains behind each other.

    Parameters
    ----------
    unary : ndarray of shape (tokens, labels)
        Log scores.
    pairs : ndarray of shape (tables, labels, labels)
        Log scores of a label and its successor.
    pair_of : ndarray of shape (tokens,)
        Which table leads to the token from the one before.
    indptr : ndarray of shape (sentences + 1,)
        Where sentences begin and end.
    """

    unary: Floats
    pairs: Floats
    pair_of: Integers
    indptr: Integers

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return int(self.indptr.size - 1)

    @cached_property
    def messages(self) -> tuple[Floats, Floats, Floats]:
        """Log partitions, forward and backward messages."""
        from argmetric.sequence.kernels.chains import forward_backward

        log_z = np.empty(self.n_sentences)
        forward, backward = np.empty_like(self.unary), np.empty_like(self.unary)
        forward_backward(
            self.unary,
            self.pair_of,
            self.pairs,
            self.indptr,
            log_z,
            forward,
            backward,
        )
        _check_possible(log_z)
        return log_z, forward, backward

    @cached_property
    def marginals(self) -> Floats:
        """P(y_t = y)."""
        from argmetric.sequence.kernels.chains import label_marginals

        log_z, forward, backward = self.messages
        out = np.empty_like(self.unary)
        label_marginals(self.indptr, log_z, forward, backward, out)
        return out

    def pair_marginals(self) -> Floats:
        """P(y_{t-1} = x, y_t = y) at row t."""
        from argmetric.sequence.kernels.chains import pair_marginals

        n_labels = self.unary.shape[1]
        out = np.empty((self.unary.shape[0], n_labels, n_labels))
        pair_marginals(
            self.unary, self.pair_of, self.pairs, self.indptr, *self.messages, out
        )
        return out

    def viterbi(self) -> tuple[Integers, Floats]:
        """Most probable labels, and the log score of each sentence."""
        from argmetric.sequence.kernels.chains import viterbi

        labels = np.zeros(self.unary.shape[0], dtype=np.int64)
        scores = np.empty(self.n_sentences)
        viterbi(self.unary, self.pair_of, self.pairs, self.indptr, labels, scores)
        _check_possible(scores)
        return labels, scores

    def link_chances(self, sources: Integers, targets: Integers) -> tuple[Floats, ...]:
        """P(next is target | source) at every token, and its complement."""
        from argmetric.sequence.kernels.chains import link_chances

        chance = np.empty((self.unary.shape[0], sources.size))
        other = np.empty_like(chance)
        link_chances(
            self.unary,
            self.pair_of,
            self.pairs,
            self.indptr,
            self.messages[2],
            sources,
            targets,
            chance,
            other,
        )
        return chance, other


def _check_possible(scores: Floats) -> None:
    """Refuse sentences whose best, or total, score is that of nothing."""
    wrong = np.flatnonzero(~np.isfinite(scores))
    if wrong.size:
        raise ValueError(
            f"sentence {int(wrong[0])}: no sequence of labels is possible; look for a "
            "token or a transition that forbids them all"
        )


def batch_of(models: Sequence[LinearChainCRF]) -> Batch:
    """One batch of many sentences with the same labels."""
    lengths = np.array([len(model) for model in models], dtype=np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_labels = models[0].n_labels if models else 1
    tables: list[Floats] = []
    first_table: dict[int, int] = {}
    pair_of = np.zeros(int(indptr[-1]), dtype=np.int64)
    n_tables = 0
    for model, start in zip(models, indptr, strict=False):
        pairwise = model.pairwise
        if id(pairwise) not in first_table:
            first_table[id(pairwise)] = n_tables
            tables.append(pairwise.reshape(-1, n_labels, n_labels))
            n_tables += tables[-1].shape[0]
        at = first_table[id(pairwise)]
        stop = start + len(model)
        if pairwise.ndim == 2:
            pair_of[start:stop] = at
        else:
            pair_of[start + 1 : stop] = np.arange(at, at + len(model) - 1)
    unary = (
        np.concatenate([model.unary for model in models])
        if models
        else np.empty((0, n_labels))
    )
    if not n_tables:
        tables = [np.zeros((1, n_labels, n_labels))]
    pairs = np.ascontiguousarray(np.concatenate(tables))
    return Batch(np.ascontiguousarray(unary), pairs, pair_of, indptr)


def segment_sums(values: Floats, indptr: Integers) -> Floats:
    """Sums over the rows of each segment; a segment without rows is the only one."""
    if not values.shape[0]:
        return np.zeros((indptr.size - 1, *values.shape[1:]))
    return np.add.reduceat(values, indptr[:-1], axis=0)
