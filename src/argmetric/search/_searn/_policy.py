"""Policies, their stochastic mixture, and the walks that they decide."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from argmetric._ground.display import Shown
from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._decisions import (
    Decisions,
    Situation,
    SituationCache,
    best_actions,
    describe,
)
from argmetric.search._searn._learners import Scorer
from argmetric.search._searn._reference import InitialPolicy, endless, final_loss
from argmetric.search._searn._task import Input, Output, State, Task, moves

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
BeamScores = Literal["log", "raw"]


class ActionPolicy(Protocol):
    """Policy that chooses actions."""

    def choose(
        self,
        situations: list[Situation],
        draws: Floats,
        known: SituationCache | None = None,
    ) -> Integers:
        """Return the number of an action for each situation; `draws` are in [0, 1)."""
        ...


@dataclass
class Walk:
    """Path through the states of an input, from `state` on."""

    place: int
    x: Input
    y: Output
    state: State
    depth: int = 0
    fold: int = -1


def scatter(keys: Hashes) -> Hashes:
    """Return pseudo-random words of 64 bits for keys (splitmix64)."""
    keys = keys + _GOLDEN
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def make_keys(seed: int, *parts: object) -> Hashes:
    """Return keys of walks from a seed and arrays of numbers.

    Random numbers depend on the key and the depth alone: neither on the order in which
    walks are run nor on how many run together. Equal keys tie the numbers of several
    walks.
    """
    first = np.asarray(parts[0]) if parts else np.zeros(1)
    keys = scatter(np.full(first.shape, seed, dtype=np.uint64))
    for part in parts:
        keys = scatter(keys ^ scatter(np.asarray(part).astype(np.uint64)))
    return keys


def draw(keys: Hashes, depths: Integers) -> Floats:
    """Return random numbers in [0, 1), one for each key and depth."""
    bits = scatter(keys ^ scatter(depths.astype(np.uint64)))
    return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def run(
    task: Task,
    policy: ActionPolicy,
    walks: Sequence[Walk],
    keys: Hashes,
    visit: Callable[[list[Situation]], SituationCache] | None = None,
) -> list[Any]:
    """Return the final states of walks under a policy; first states are used up.

    `visit` is called with every decision between two actions or more, before it is
    taken, and returns what it computed for the policy. A single action is taken
    without a call.
    """
    states = [walk.state for walk in walks]
    active = list(range(len(walks)))
    limits = [task.most_steps(walk.x) for walk in walks]
    for steps in itertools.count():
        situations: list[Situation] = []
        asked: list[int] = []
        going: list[int] = []
        for i in active:
            walk = walks[i]
            legal = moves(task, walk.x, states[i])
            if not legal:
                continue
            if steps >= limits[i]:
                raise ValueError(endless(task, walk.place, walk.x, states[i]))
            going.append(i)
            if len(legal) == 1:
                states[i] = task.step(walk.x, states[i], legal[0])
                continue
            depth = walk.depth + steps
            asked.append(i)
            situations.append(
                Situation(
                    walk.place, walk.x, walk.y, states[i], legal, depth, walk.fold
                )
            )
        if not going:
            break
        if situations:
            known = () if visit is None else (visit(situations),)
            depths = np.array([situation.depth for situation in situations])
            draws = draw(keys[asked], depths)
            choices = policy.choose(situations, draws, *known)
            for i, one, choice in zip(asked, situations, choices, strict=True):
                states[i] = task.step(one.x, one.state, one.actions[choice])
        active = going
    return states


def start_walks(
    task: Task,
    X: Sequence[Input],
    Y: Sequence[Output] | None = None,
    folds: Integers | None = None,
) -> list[Walk]:
    """Return walks from the first state of every input."""
    return [
        Walk(
            place,
            x,
            None if Y is None else Y[place],
            task.start(x),
            0,
            -1 if folds is None else int(folds[place]),
        )
        for place, x in enumerate(X)
    ]


def final_losses(task: Task, walks: Sequence[Walk], states: Sequence[Any]) -> Floats:
    """Return losses at the end of walks; refuse non-finite ones with their input."""
    losses = np.empty(len(walks))
    for i, (walk, state) in enumerate(zip(walks, states, strict=True)):
        losses[i] = final_loss(task, walk.place, walk.x, walk.y, state)
    return losses


def mixture_weights(betas: Sequence[Any]) -> list[Any]:
    """Return the weights of the initial and of each learned policy.

    h ← βh' + (1 - β)h: the initial policy is left with Π_j (1 - β_j), classifier i with
    β_i Π_{j>i} (1 - β_j). Exact for fractions.
    """
    weights: list[Any] = [1]
    for beta in betas:
        weights = [*(weight * (1 - beta) for weight in weights), beta]
    return weights


def without_first(weights: Sequence[Any]) -> list[Any]:
    """Return the weights without the first, renormalized."""
    rest = sum(weights[1:])
    if not rest > 0:
        raise ValueError(
            "without the initial policy there is nothing left: all β are 0"
        )
    return [weight / rest for weight in weights[1:]]


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """A classifier of situations.

    In cross-validation, training inputs are decided by the classifier that was trained
    without them (section 7), all others by the one trained on everything.
    """

    task: Task
    scorer: Scorer
    folds: tuple[Scorer, ...] = ()

    def scores(self, situations: Sequence[Situation], decisions: Decisions) -> Floats:
        """Return scores of all actions of situations, greater is better."""
        return self.fold_scores(decisions, [one.fold for one in situations])

    def fold_scores(self, decisions: Decisions, folds: npt.ArrayLike) -> Floats:
        """Return scores of all actions, by the classifiers of the folds."""
        if not self.folds:
            return self.scorer.scores(decisions)
        fold_of = np.array(folds, dtype=np.int64)
        out = np.empty(decisions.indptr[-1])
        owners = fold_of[decisions.owners]
        for fold in np.unique(fold_of):
            scorer = self.scorer if fold < 0 else self.folds[fold]
            part = decisions.take(np.flatnonzero(fold_of == fold))
            out[owners == fold] = scorer.scores(part)
        return out

    def choose(
        self,
        situations: list[Situation],
        draws: Floats,
        known: SituationCache | None = None,
    ) -> Integers:
        """Return the action of greatest score, the first of equals."""
        decisions = known.decisions if known else describe(self.task, situations)
        return best_actions(self.scores(situations, decisions), decisions.indptr)


@dataclass(frozen=True, eq=False)
class Mixture(Shown):
    """Mixture of policies: each decision is taken by one of them at random.

    Parameters
    ----------
    initial : InitialPolicy or None
        The policy made from the labels, None after its removal.
    learned : tuple of LearnedPolicy, default=()
        In the order in which they were learned, those before a β of 1 left out.
    betas : tuple of float, default=()
        The interpolation that brought each of them in.

    Attributes
    ----------
    weights : ndarray
        Probabilities: of the initial policy, if there is one, then of the others.

    Examples
    --------
    >>> from argmetric.search import Searn, SequenceLabelling
    >>> searn = Searn(SequenceLabelling("cv"), beta=0.5, iterations=2)
    >>> searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).policy_
    Mixture(weights=[0.333, 0.667])
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
        """Return the share of decisions that the initial policy takes."""
        return 0.0 if self.initial is None else float(self.weights[0])

    @property
    def deterministic(self) -> bool:
        """Return whether one policy takes all decisions."""
        return bool(self.weights.max() == 1.0)

    def interpolate(self, policy: LearnedPolicy, beta: float) -> Mixture:
        """Return the mixture of a new policy, with weight β, and this one, with 1 - β.

        Parameters
        ----------
        policy : LearnedPolicy
            The new policy.
        beta : float
            Its share of decisions, above 0 and at most 1.

        Returns
        -------
        Mixture
            The next mixture.
        """
        if beta == 1:
            return Mixture(self.initial, (policy,), (beta,))
        return Mixture(self.initial, (*self.learned, policy), (*self.betas, beta))

    def without_initial(self) -> Mixture:
        """Return the learned policies alone, weights divided by 1 - Π(1 - β_j).

        Returns
        -------
        Mixture
            The mixture without its initial policy.
        """
        return Mixture(None, self.learned, self.betas)

    def components(self) -> list[Any]:
        """Return all policies, in the order of the weights.

        Returns
        -------
        list
            The initial policy, if there is one, then the learned ones.
        """
        first = [] if self.initial is None else [self.initial]
        return [*first, *self.learned]

    @property
    def _edges(self) -> Floats:
        """Return the cumulative weights, infinite from the last policy on."""
        edges = np.cumsum(self.weights)
        edges[np.flatnonzero(self.weights)[-1] :] = np.inf
        return edges

    def component_numbers(self, draws: Floats) -> Integers:
        """Return the component for each random number.

        Parameters
        ----------
        draws : ndarray of shape (n,)
            Random numbers in [0, 1).

        Returns
        -------
        ndarray of int, shape (n,)
            Indices of `components()`.
        """
        return np.searchsorted(self._edges, draws, side="right")

    def choose(
        self,
        situations: list[Situation],
        draws: Floats,
        known: SituationCache | None = None,
    ) -> Integers:
        """Return the actions of randomly chosen policies.

        Parameters
        ----------
        situations : list of Situation
            Inputs, states and legal actions.
        draws : ndarray of shape (n_situations,)
            Random numbers in [0, 1), which choose the policies.
        known : SituationCache, optional
            Features and costs that are known already.

        Returns
        -------
        ndarray of int, shape (n_situations,)
            Index of an action among the legal ones.
        """
        numbers = self.component_numbers(draws)
        components = self.components()
        if known is not None and (numbers == numbers[0]).all():
            return np.asarray(components[numbers[0]].choose(situations, draws, known))
        choices = np.zeros(len(situations), dtype=np.int64)
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            asked = [situations[row] for row in rows]
            more = () if known is None else (known.take(rows),)
            choices[rows] = components[number].choose(asked, draws[rows], *more)
        return choices

    def action_scores(
        self, situations: Sequence[Situation], draws: Floats | None, form: BeamScores
    ) -> tuple[Floats, Integers]:
        """Return scores that add up along a path, and the first of each situation.

        Parameters
        ----------
        situations : sequence of Situation
            Inputs, states and legal actions.
        draws : ndarray of shape (n_situations,) or None
            Random numbers in [0, 1), each of which chooses one policy; None for the
            mean of all policies.
        form : {"log", "raw"}
            Whether scores are log probabilities.

        Returns
        -------
        scores : ndarray
            One score for each action of each situation.
        indptr : ndarray of shape (n_situations + 1,)
            Where the actions of each situation begin.
        """
        decisions = describe(self.task, situations)

        def ask(policy: LearnedPolicy, rows: Integers, part: Decisions) -> Floats:
            return policy.scores([situations[row] for row in rows.tolist()], part)

        return self._sum_scores(decisions, draws, form, ask), decisions.indptr

    def _sum_scores(
        self,
        decisions: Decisions,
        draws: Floats | None,
        form: BeamScores,
        ask: Callable[[LearnedPolicy, Integers, Decisions], Floats],
    ) -> Floats:
        """Return the scores of `action_scores` for known features.

        `ask` takes a policy, numbers of decisions, and these decisions; it returns the
        score of each of their actions.
        """
        total = np.zeros(decisions.indptr[-1])
        if draws is None:
            rows = np.arange(len(decisions))
            for weight, policy in zip(self.weights, self.components(), strict=True):
                if weight:
                    scores = ask(policy, rows, decisions)
                    total += weight * _in_form(scores, decisions.indptr, form)
        else:
            numbers = self.component_numbers(draws)
            for number in np.unique(numbers):
                rows = np.flatnonzero(numbers == number)
                part = decisions.take(rows)
                scores = ask(self.components()[number], rows, part)
                inside = numbers[decisions.owners] == number
                total[inside] = _in_form(scores, part.indptr, form)
        if form == "log":
            total = np.log(np.maximum(total, 1e-300))
        return total

    @property
    def task(self) -> Task:
        """Return the task of the policies."""
        task: Task = self.components()[0].task
        return task


def _in_form(scores: Floats, indptr: Integers, form: BeamScores) -> Floats:
    """Return raw scores, or their softmax within each decision."""
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
