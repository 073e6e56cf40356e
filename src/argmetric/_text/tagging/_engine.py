"""Policies in compiled form: search over rows of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Integers, SingleFloats
from argmetric._text.kernels.tagging_layout import Choices, Rows

BeamScores = Literal["log", "raw"]


@dataclass(frozen=True, eq=False)
class Policy:
    """What may be decided, and the weights that decide it."""

    choices: Choices
    weights: SingleFloats

    def on(self, rows: Rows) -> tuple[tuple[Any, ...], tuple[Any, ...], SingleFloats]:
        """The first arguments of every search."""
        return tuple(rows), tuple(self.choices), self.weights


def static_of(policy: Policy, rows: Rows) -> SingleFloats:
    """Scores of the static features of every decision."""
    from argmetric._text.kernels.tagging import static_scores

    shape = int(rows.sentences[-1]), int(policy.choices.n_labels.max())
    scores = np.empty(shape, dtype=np.float32)
    static_scores(*policy.on(rows), scores)
    return scores


def greedy(policy: Policy, rows: Rows) -> Integers:
    """The label of every decision, by greedy search."""
    from argmetric._text.kernels.tagging import greedy as run

    labels = np.empty(int(rows.sentences[-1]), dtype=np.int64)
    run(*policy.on(rows), static_of(policy, rows), labels)
    return labels


@dataclass(frozen=True, eq=False)
class Lists:
    """The best label sequences of every sentence.

    Attributes
    ----------
    labels : ndarray of shape (candidates, decisions)
        The r-th best labels of the sentence at each place.
    totals : ndarray of shape (sentences, candidates)
        Their scores, -inf where a sentence has fewer candidates.
    static : ndarray
        Scores of the static features, to be used again.
    """

    labels: Integers
    totals: npt.NDArray[np.float64]
    static: SingleFloats


def beam(
    policy: Policy, rows: Rows, width: int, n_best: int = 1, scores: BeamScores = "log"
) -> Lists:
    """The `n_best` sequences that a beam search finds, the best first."""
    from argmetric._text.kernels.tagging import beam as run

    static = static_of(policy, rows)
    labels = np.empty((n_best, int(rows.sentences[-1])), dtype=np.int64)
    totals = np.empty((len(rows.sentences) - 1, n_best))
    run(*policy.on(rows), static, width, scores == "log", labels, totals)
    return Lists(labels, totals, static)


def score_candidates(
    policy: Policy,
    rows: Rows,
    static: SingleFloats,
    candidates: Integers,
    totals: npt.NDArray[np.float64],
    known: npt.NDArray[np.bool_],
) -> npt.NDArray[np.float64]:
    """Log probabilities of given sequences; those that are `known` stay."""
    from argmetric._text.kernels.tagging import forced

    totals = totals.copy()
    forced(*policy.on(rows), static, candidates, known, totals)
    return totals
