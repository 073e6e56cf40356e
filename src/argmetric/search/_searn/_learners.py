"""Cost-sensitive learners of our own: linear, on hashed sparse features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np

from argmetric._input.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_number,
)
from argmetric._input.types import Floats
from argmetric._results.display import Shown
from argmetric._text.common import MOST_EPOCHS
from argmetric.search._searn._decisions import (
    Decisions,
    Rows,
    cheapest_regrets,
    largest_regrets,
)
from argmetric.search._searn._task import TARGETS, Target

Kind = Literal["logistic", "perceptron", "svm"]
KINDS: tuple[str, ...] = get_args(Kind)
_CODES = {"perceptron": 0, "logistic": 1, "svm": 2}


class Scorer(Protocol):
    """What a learner returns: scores of actions, greater is better."""

    def scores(self, decisions: Decisions) -> Floats:
        """One score for each action of each decision."""
        ...


class CostSensitiveLearner(Protocol):
    """Anything that learns scores of actions from their costs."""

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> Scorer:
        """Learn from decisions and the cost of each action."""
        ...


def with_products(rows: Rows) -> Rows:
    """Rows with the products of every two of their features."""
    from argmetric.search.kernels.cost_sensitive import count_products, fill_products

    indptr = np.empty_like(rows.indptr)
    count_products(rows.indptr, rows.values, indptr)
    hashes = np.empty(indptr[-1], dtype=np.uint64)
    values = np.empty(indptr[-1])
    fill_products(rows.indptr, rows.hashes, rows.values, hashes, values)
    return Rows(indptr, hashes, values)


def expanded(decisions: Decisions, quadratic: bool) -> Decisions:
    """The same decisions, where asked for with products of features."""
    if not quadratic:
        return decisions
    return Decisions(
        with_products(decisions.states),
        decisions.indptr,
        decisions.codes,
        with_products(decisions.pairs),
    )


def flat(decisions: Decisions) -> tuple[Any, ...]:
    """The arrays, as kernels take them."""
    states, pairs = decisions.states, decisions.pairs
    return (
        states.indptr,
        states.hashes,
        states.values,
        decisions.indptr,
        decisions.codes,
        pairs.indptr,
        pairs.hashes,
        pairs.values,
    )


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """Weights of hashed features."""

    weights: Floats
    shift: np.uint64
    quadratic: bool

    def scores(self, decisions: Decisions) -> Floats:
        """One score for each action of each decision."""
        from argmetric.search.kernels.cost_sensitive import score_actions

        out = np.empty(decisions.codes.size)
        rows = flat(expanded(decisions, self.quadratic))
        score_actions(rows, self.shift, self.weights, out)
        return out


@dataclass(frozen=True)
class LinearLearner(Shown):
    """A linear classifier that knows what each mistake costs.

    The score of an action is a sum of weights, one for each feature of the state with
    the action and one for each feature of the action itself. Weights are averaged over
    all updates.

    Parameters
    ----------
    kind : {"logistic", "perceptron", "svm"}, default="logistic"
        Multinomial logistic regression and margins as wide as the regret (both by
        AdaGrad), or the averaged perceptron with updates as large as the regret.
    epochs : int, default=10
        Passes over the decisions, in a new order each.
    step : float, default=0.1
        Step size of AdaGrad; the perceptron has none.
    target : {"cheapest", "reward"}, default="cheapest"
        What logistic regression learns: -m log P(cheapest actions), m the mean regret
        of the others; or -Σ (max c - c_a) log p_a, which in the limit puts the action
        of least expected cost first whatever the noise. See the notes.
    hash_bits : int, default=18
        Weights are hashed to 2**hash_bits places.
    quadratic : bool, default=False
        Whether products of two features are features too.

    Notes
    -----
    Where several actions are cheapest, one of them being likely is enough for
    "cheapest". Under costs of 0 and 1, "reward" wants each of them as likely as it is
    right, so that scores of decisions that could wait are learned too (`LearnedOrder`).
    Under graded costs such as regrets of F1 it also makes middling actions likely: a
    missed chunk costs half of a wrong one, so that "outside" is to have a third of the
    probability at every chunk, and wins wherever the evidence is thin. On 200 sentences
    of CoNLL-2000 chunks came out at an F1 of 49 %, against 86 % for "cheapest".

    Examples
    --------
    >>> from argmetric.search import LinearLearner
    >>> LinearLearner("svm", epochs=5)
    LinearLearner(kind='svm', epochs=5, step=0.1, target='cheapest', hash_bits=18,
    quadratic=False)
    """

    kind: Kind = "logistic"
    epochs: int = 10
    step: float = 0.1
    target: Target = "cheapest"
    hash_bits: int = 18
    quadratic: bool = False

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", KINDS)
        check_choice(self.target, "target", TARGETS)
        check_count(self.epochs, "epochs", low=1, high=MOST_EPOCHS)
        check_number(self.step, "step", low=0.0, strict=True)
        check_count(self.hash_bits, "hash_bits", low=1, high=30)
        check_flag(self.quadratic, "quadratic")

    def fit(
        self, decisions: Decisions, costs: Floats, rng: np.random.Generator
    ) -> LinearScorer:
        """Learn from decisions and the cost of each action.

        Parameters
        ----------
        decisions : Decisions
            What to learn from.
        costs : ndarray
            One cost for each action.
        rng : numpy.random.Generator
            For the order of the decisions.
        """
        from argmetric.search.kernels.cost_sensitive import FIRST_SQUARE, learn

        size = 2**self.hash_bits
        shift = np.uint64(64 - self.hash_bits)
        weights, squares = np.zeros(size), np.full(size, FIRST_SQUARE)
        lags, clock = np.zeros(size), np.zeros(1)
        regrets = cheapest_regrets(
            np.asarray(costs, dtype=np.float64), decisions.indptr
        )
        rows = flat(expanded(decisions, self.quadratic))
        scale = importance_scale(regrets, decisions)
        code, target = _CODES[self.kind], TARGETS.index(self.target)
        state = (weights, squares, lags, clock)
        for _ in range(self.epochs if len(decisions) else 0):
            order = rng.permutation(len(decisions))
            learn(rows, regrets, order, shift, code, target, self.step, scale, state)
        if clock[0]:
            weights -= lags / clock[0]
        return LinearScorer(weights, shift, self.quadratic)


def importance_scale(regrets: Floats, decisions: Decisions) -> float:
    """One over the mean of the largest regrets, where there is one."""
    largest = largest_regrets(regrets, decisions.indptr)
    return float(1.0 / largest[largest > 0].mean()) if largest.any() else 1.0
