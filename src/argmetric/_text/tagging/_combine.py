"""Two directions of reading: the product of their sequence probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Floats, Integers
from argmetric._text.kernels.tagging_layout import Rows
from argmetric._text.tagging._engine import Lists, Policy, score_candidates

Recode = Callable[[Integers], Integers]


def combine(
    left: tuple[Policy, Rows, Lists],
    right: tuple[Policy, Rows, Lists],
    recode: Recode,
    weight: float,
) -> tuple[Integers, Floats]:
    """Candidates of both lists with their scores, the best first.

    score(y) = log P_left(y) + weight · log P_right(y) over the union of both lists.
    A candidate in both lists has both scores already; the others are scored by force.

    Parameters
    ----------
    left, right : tuples
        Policies with their rows and lists; those on the right are mirrored.
    recode : callable
        Makes mirrored labels of labels and the other way round.
    weight : float
        Weight of the right one.
    """
    left = left[0], left[1], _filled(left[2])
    right = right[0], right[1], _filled(right[2])
    n_left = len(left[2].labels)
    theirs = recode(right[2].labels)
    candidates = np.concatenate([left[2].labels, theirs])
    mirrored = np.concatenate([recode(left[2].labels), right[2].labels])
    sentences = left[1].sentences
    shape = left[2].totals.shape[0], len(candidates)
    forward = np.full(shape, -np.inf)
    backward = np.full(shape, -np.inf)
    forward[:, :n_left] = left[2].totals
    backward[:, n_left:] = right[2].totals
    missing = np.isneginf(np.maximum(forward, backward))
    twice = np.zeros(shape, dtype=np.bool_)
    has_twin = np.zeros(shape, dtype=np.bool_)
    for i in range(n_left):
        for j in range(n_left, len(candidates)):
            same = _same(candidates[i], candidates[j], sentences)
            same &= ~missing[:, i] & ~missing[:, j]
            backward[same, i] = backward[same, j]
            has_twin[same, i] = True
            twice[same, j] = True
    known = missing | twice | has_twin
    known_left, known_right = known.copy(), known.copy()
    known_left[:, :n_left] = True
    known_right[:, n_left:] = True
    forward = score_candidates(
        left[0], left[1], left[2].static, candidates, forward, known_left
    )
    backward = score_candidates(
        right[0], right[1], right[2].static, mirrored, backward, known_right
    )
    totals = np.where(missing | twice, -np.inf, forward + weight * backward)
    return _ranked(candidates, totals, sentences)


def _filled(lists: Lists) -> Lists:
    """The lists without the ranks that no sentence has sequences for."""
    n = int((lists.totals > -np.inf).sum(axis=1).max(initial=1))
    return replace(lists, labels=lists.labels[:n], totals=lists.totals[:, :n])


def _same(a: Integers, b: Integers, sentences: Integers) -> npt.NDArray[np.bool_]:
    """Which sentences have the same labels in both."""
    differences = np.concatenate([[0], np.cumsum(a != b)])
    return np.asarray(differences[sentences[1:]] == differences[sentences[:-1]])


def _ranked(
    candidates: Integers, totals: Floats, sentences: Integers
) -> tuple[Integers, Floats]:
    order = np.argsort(-totals, axis=1, kind="stable")
    per_token = np.repeat(order, np.diff(sentences), axis=0)
    ranked = np.take_along_axis(candidates.T, per_token, axis=1).T
    return ranked, np.take_along_axis(totals, order, axis=1)
