"""Distributions of binary label sequences: independent labels and Markov chains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from argmetric._ground.types import ArrayLike, Floats, Integers
from argmetric._ground.validation import check_scores, to_floats

TOLERANCE = 1e-6  # rows of 32-bit floats sum to one no better than that


@dataclass(frozen=True, eq=False)
class Chain:
    """Markov chain of any order as an array of steps: the input of all algorithms."""

    order: int  # how many labels back the next one looks
    # (n, 2**order, 2): p(y_i | history). The history of label i is the number whose
    # lowest bit is label i-1; it is 0 at the beginning, so that the first rows of the
    # first labels are the ones that matter
    steps: Floats

    @property
    def n(self) -> int:
        return int(self.steps.shape[0])

    def at_least(self, order: int) -> Chain:
        """Return the same chain, with histories of `order` labels or more."""
        if self.order >= order:
            return self
        copies = 1 << (order - self.order)
        return Chain(order, np.tile(self.steps, (1, copies, 1)))

    def histories(self) -> Floats:
        """Return the distribution of the history before each label and after the last.

        The shape is (n + 1, 2**order).
        """
        pmfs = np.zeros((self.n + 1, self.steps.shape[1]))
        pmfs[0, 0] = 1.0
        for i, step in enumerate(self.steps):
            joint = pmfs[i][:, None] * step
            half = len(joint) // 2  # (oldest label, others, new one): it is forgotten
            both = (joint[:half] + joint[half:]).ravel() if half else joint.sum(axis=1)
            pmfs[i + 1] = both
        return pmfs

    def windows(self, length: int) -> Floats:
        """Return P(the last `length` labels up to i are the bits of v) at [i, v].

        The latest label is the lowest bit; labels before the first are 0.
        """
        pmfs = self.at_least(length).histories()[1:]
        return np.asarray(pmfs.reshape(self.n, -1, 1 << length).sum(axis=1))

    def marginals(self) -> Floats:
        """Return P(y_i = 1) of every label, of shape (n,)."""
        return np.asarray((self.histories()[:-1] * self.steps[:, :, 1]).sum(axis=1))


@runtime_checkable
class SequenceModel(Protocol):
    """Model of two labels that can be written as a Markov chain."""

    def to_markov_chain(self) -> MarkovChain: ...


@dataclass(frozen=True, eq=False)
class Independent:
    """Labels that do not depend on each other.

    Parameters
    ----------
    p : array-like of shape (n,)
        Probability of a 1 at every position.

    Examples
    --------
    >>> from argmetric.sequence import Independent
    >>> Independent([0.9, 0.2]).n
    2
    """

    p: Any

    def __post_init__(self) -> None:
        p = to_floats(self.p, "p")
        if p.ndim != 1:
            raise ValueError(f"p must have one dimension, not {p.ndim}")
        if not p.size:
            raise ValueError("p is empty: a sequence has at least one label")
        object.__setattr__(self, "p", check_scores(p, "p", logits=False))

    @property
    def n(self) -> int:
        """Return the number of labels."""
        return int(self.p.size)

    def __repr__(self) -> str:
        return f"Independent({self.n} labels)"

    def chain(self) -> Chain:
        """Return the chain of order 0.

        Returns
        -------
        Chain
            The steps of all labels.
        """
        return Chain(0, np.stack([1.0 - self.p, self.p], axis=1)[:, None, :].copy())


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A Markov chain of order m: each label depends on the m labels before it.

    Parameters
    ----------
    initial : array-like of shape (2**m,)
        Distribution of the first m labels. The number of a history has the most recent
        label as its lowest bit: for m = 2 the four entries stand for the labels 00, 01,
        10 and 11, read from left to right.
    transitions : array-like of shape (n-m, 2**m, 2)
        ``transitions[i, h, y]`` is the probability that label m+i is y after the
        history h; each row sums to 1. For m = 1: (n-1, 2, 2).

    Examples
    --------
    >>> from argmetric.sequence import MarkovChain
    >>> sticky = [[0.9, 0.1], [0.2, 0.8]]
    >>> chain = MarkovChain([0.7, 0.3], [sticky] * 4)
    >>> chain
    MarkovChain(order 1, 5 labels)
    >>> chain.marginals().round(4)
    array([0.3   , 0.31  , 0.317 , 0.3219, 0.3253])
    """

    initial: Any
    transitions: Any
    order: int = field(init=False)

    def __post_init__(self) -> None:
        initial = to_floats(self.initial, "initial")
        size = initial.size
        if initial.ndim != 1 or size < 2 or size & (size - 1):
            raise ValueError(
                "initial must be the joint distribution of the first m labels, 2**m "
                f"numbers (2 for order 1, 4 for order 2), not of shape {initial.shape}"
            )
        given = [] if self.transitions is None else self.transitions
        transitions = to_floats(given, "transitions")
        if not transitions.size:
            transitions = np.zeros((0, size, 2))
        if transitions.shape[1:] != (size, 2) or transitions.ndim != 3:
            raise ValueError(
                f"transitions must have shape (n-m, {size}, 2) for an initial "
                f"distribution of {size} numbers, not {transitions.shape}"
            )
        initial = _check_rows(initial[None, :], "initial")[0]
        transitions = _check_rows(transitions, "transitions")
        object.__setattr__(self, "initial", initial)
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "order", size.bit_length() - 1)

    @property
    def n(self) -> int:
        """Return the number of labels."""
        return self.order + int(self.transitions.shape[0])

    def __repr__(self) -> str:
        return f"MarkovChain(order {self.order}, {self.n} labels)"

    def marginals(self) -> Floats:
        """Return P(y_i = 1) of every label.

        Returns
        -------
        ndarray of shape (n,)
            Probabilities.
        """
        return self.chain().marginals()

    def chain(self) -> Chain:
        """Return the steps of all labels, those of the first m from `initial`.

        Returns
        -------
        Chain
            The steps of all labels.
        """
        size = 1 << self.order
        steps = np.zeros((self.n, size, 2))
        steps[:, :, 0] = 1.0
        for i in range(self.order):
            prefix = self.initial.reshape(1 << i, 2, -1).sum(axis=2)
            mass = prefix.sum(axis=1, keepdims=True)
            reached = mass[:, 0] > 0
            steps[i, : 1 << i][reached] = prefix[reached] / mass[reached]
        steps[self.order :] = self.transitions
        return Chain(self.order, steps)


def _check_rows(rows: Floats, name: str) -> Floats:
    """Normalise rows of probabilities, or raise an error that locates a wrong one."""

    def at(index: tuple[Any, ...]) -> str:
        places = [int(i) for i in (index if name == "transitions" else index[1:])]
        return f"{name}{places}" if places else name

    wrong = np.argwhere(~(rows >= 0.0))
    if wrong.size:
        index = tuple(wrong[0])
        raise ValueError(f"{at(index)} is {rows[index]:g}: probabilities are needed")
    totals = rows.sum(axis=-1)
    wrong = np.argwhere(np.abs(totals - 1.0) > TOLERANCE)
    if wrong.size:
        index = tuple(wrong[0])
        raise ValueError(f"{at(index)} sums to {totals[index]:g}, not to 1")
    return np.asarray(rows / totals[..., None])


Model: TypeAlias = Chain | Independent | MarkovChain | SequenceModel


def as_chain(model: Model) -> Chain:
    """Return the steps of a model of labels 0 and 1."""
    if isinstance(model, Chain):
        return model
    if isinstance(model, Independent | MarkovChain):
        return model.chain()
    if isinstance(model, SequenceModel):
        return model.to_markov_chain().chain()
    raise TypeError(
        "model must be Independent, MarkovChain or a LinearChainCRF of two labels, "
        f"not {type(model).__name__}"
    )


def check_sequence(values: ArrayLike, name: str, n: int, other: str) -> Integers:
    """Return 0/1 labels, checked to be as many as there are positions."""
    array = to_floats(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    if array.size != n:
        raise ValueError(f"{name} has {array.size} labels but {other} has {n}")
    wrong = np.flatnonzero(~((array == 0) | (array == 1)))
    if wrong.size:
        i = int(wrong[0])
        raise ValueError(
            f"{name} has the label {array[i]:g} at position {i}, which the model does "
            "not know: labels are 0 and 1"
        )
    return array.astype(np.int64)
