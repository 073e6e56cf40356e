"""Policies: learned ones, and the stochastic mixture of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from argmetric._input.types import Floats, Integers
from argmetric._results.display import Shown
from argmetric.search._searn._decisions import (
    Decisions,
    Known,
    Situation,
    best_actions,
    describe,
)
from argmetric.search._searn._learners import Scorer
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._task import Task

BeamScores = Literal["log", "raw"]


def mixture_weights(betas: Sequence[Any]) -> list[Any]:
    """Weights of the initial policy and of each learned one after interpolations.

    h ← βh' + (1 - β)h: the initial policy is left with Π_j (1 - β_j), classifier i with
    β_i Π_{j>i} (1 - β_j). Exact for fractions.
    """
    weights: list[Any] = [1]
    for beta in betas:
        weights = [*(weight * (1 - beta) for weight in weights), beta]
    return weights


def without_first(weights: Sequence[Any]) -> list[Any]:
    """The weights that are left without the first, renormalized."""
    rest = sum(weights[1:])
    if not rest > 0:
        raise ValueError(
            "without the initial policy there is nothing left: all β are 0"
        )
    return [weight / rest for weight in weights[1:]]


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A classifier of situations.

    In cross-validation, inputs of the training set are answered by the classifier that
    did not see them (section 7), all others by the one trained on everything.
    """

    task: Task
    scorer: Scorer
    folds: tuple[Scorer, ...] = ()

    def scores(self, situations: Sequence[Situation], decisions: Decisions) -> Floats:
        """Scores of all actions of situations, greater is better."""
        return self.fold_scores(decisions, [one.fold for one in situations])

    def fold_scores(self, decisions: Decisions, folds: npt.ArrayLike) -> Floats:
        """Scores of all actions of decisions, by the classifiers of their folds."""
        if not self.folds:
            return self.scorer.scores(decisions)
        fold_of = np.array(folds, dtype=np.int64)
        out = np.empty(decisions.codes.size)
        owners = fold_of[decisions.owners]
        for fold in np.unique(fold_of):
            scorer = self.scorer if fold < 0 else self.folds[fold]
            part = decisions.take(np.flatnonzero(fold_of == fold))
            out[owners == fold] = scorer.scores(part)
        return out

    def choose(
        self, situations: list[Situation], draws: Floats, known: Known | None = None
    ) -> Integers:
        """The action of greatest score, the first of equals."""
        decisions = known.decisions if known else describe(self.task, situations)
        return best_actions(self.scores(situations, decisions), decisions.indptr)


@dataclass(frozen=True, eq=False)
class Mixture(Shown):
    """At every decision, one of several policies is drawn anew and asked.

    Attributes
    ----------
    initial : InitialPolicy or None
        The policy made from the labels, None after its removal.
    learned : tuple of LearnedPolicy
        In the order in which they were learned, those before a β of 1 left out.
    betas : tuple of float
        The interpolation that brought each of them in.
    weights : ndarray
        Probabilities: of the initial policy, if there is one, then of the others.
    """

    initial: InitialPolicy | None
    learned: tuple[LearnedPolicy, ...] = ()
    betas: tuple[float, ...] = ()
    weights: Floats = field(init=False)

    def __post_init__(self) -> None:
        weights = mixture_weights(self.betas)
        if self.initial is None:
            weights = without_first(weights)
        object.__setattr__(self, "weights", np.array(weights, dtype=np.float64))

    def __repr__(self) -> str:
        shares = ", ".join(f"{weight:.3g}" for weight in self.weights)
        what = "" if self.initial is None else ", the first initial"
        return f"Mixture(weights=[{shares}]{what})"

    @property
    def initial_weight(self) -> float:
        """Share of decisions that the initial policy takes."""
        return 0.0 if self.initial is None else float(self.weights[0])

    @property
    def deterministic(self) -> bool:
        """Whether one policy takes all decisions."""
        return bool(self.weights.max() == 1.0)

    def interpolate(self, policy: LearnedPolicy, beta: float) -> Mixture:
        """β of the new policy and 1 - β of this mixture; β = 1 leaves no others."""
        if beta == 1:
            return Mixture(self.initial, (policy,), (beta,))
        return Mixture(self.initial, (*self.learned, policy), (*self.betas, beta))

    def without_initial(self) -> Mixture:
        """The learned policies alone, their weights divided by 1 - Π(1 - β_j)."""
        return Mixture(None, self.learned, self.betas)

    def components(self) -> list[Any]:
        """All policies, in the order of the weights."""
        first = [] if self.initial is None else [self.initial]
        return [*first, *self.learned]

    def drawn(self, draws: Floats) -> Integers:
        """The component that each draw from [0, 1) stands for."""
        edges = np.cumsum(self.weights)
        last = int(np.flatnonzero(self.weights)[-1])
        return np.minimum(np.searchsorted(edges, draws, side="right"), last)

    def choose(
        self, situations: list[Situation], draws: Floats, known: Known | None = None
    ) -> Integers:
        """Actions of the policies that are drawn."""
        drawn = self.drawn(draws)
        components = self.components()
        if known is not None and (drawn == drawn[0]).all():
            return np.asarray(components[drawn[0]].choose(situations, draws, known))
        choices = np.zeros(len(situations), dtype=np.int64)
        for number in np.unique(drawn):
            rows = np.flatnonzero(drawn == number)
            asked = [situations[row] for row in rows]
            more = () if known is None else (known.take(rows),)
            choices[rows] = components[number].choose(asked, draws[rows], *more)
        return choices

    def action_scores(
        self,
        situations: Sequence[Situation],
        draws: Floats | None,
        form: BeamScores,
    ) -> tuple[Floats, Integers]:
        """Scores that add up along a path, and where those of each situation begin.

        Without draws, of the mean of the policies; else of the one that is drawn.
        """
        decisions = describe(self.task, situations)
        if draws is None:
            total = np.zeros(decisions.codes.size)
            for weight, policy in zip(self.weights, self.components(), strict=True):
                if weight:
                    scores = policy.scores(situations, decisions)
                    total += weight * _in_form(scores, decisions.indptr, form)
        else:
            drawn = self.drawn(draws)
            total = np.empty(decisions.codes.size)
            for number in np.unique(drawn):
                rows = np.flatnonzero(drawn == number)
                part = decisions.take(rows)
                asked = [situations[int(row)] for row in rows]
                scores = self.components()[number].scores(asked, part)
                inside = drawn[decisions.owners] == number
                total[inside] = _in_form(scores, part.indptr, form)
        if form == "log":
            total = np.log(np.maximum(total, 1e-300))
        return total, decisions.indptr

    @property
    def task(self) -> Task:
        """The task of its policies."""
        task: Task = self.components()[0].task
        return task


def _in_form(scores: Floats, indptr: Integers, form: BeamScores) -> Floats:
    """Raw scores, or their softmax within each decision."""
    if form == "raw":
        return scores
    sizes = np.diff(indptr)
    top = np.maximum.reduceat(scores, indptr[:-1])
    top = np.where(np.isfinite(top), top, 0.0)
    odds = np.exp(scores - np.repeat(top, sizes))
    norm = np.add.reduceat(odds, indptr[:-1])
    share = np.divide(
        odds,
        np.repeat(norm, sizes),
        where=np.repeat(norm, sizes) > 0,
        out=np.repeat(1.0 / sizes, sizes),
    )
    return np.asarray(share)
