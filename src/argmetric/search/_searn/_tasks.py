"""Built-in tasks: labels of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set, Sized
from typing import Any, Literal, get_args

import numpy as np

from argmetric._ground.arguments import check_count, check_flag, check_items, is_sized
from argmetric._ground.validation import check_choice
from argmetric.search._searn._decisions import read_features
from argmetric.search._searn._task import (
    Action,
    Features,
    Input,
    Named,
    Output,
    State,
    Task,
    quote,
)
from argmetric.search.learning import complete_docstrings

Order = Literal["left", "right"]
ORDERS: tuple[str, ...] = get_args(Order)
TokenFeatures = Callable[[Any, int], Features]


def own_features(token: object) -> Named:
    """Return the features of a single token: word, vector, mapping or list."""
    if isinstance(token, str):
        return [(("is", token), 1.0), (("ends", token[-3:].lower()), 1.0)]
    if isinstance(token, np.ndarray):
        if token.ndim != 1:
            raise ValueError(
                f"features of a token must have one dimension, not {token.ndim}"
            )
        if token.dtype.kind not in "biuf":
            raise TypeError(f"features of a token must be numbers, not {quote(token)}")
        return [(int(i), float(token[i])) for i in np.flatnonzero(token)]
    if isinstance(token, Mapping | list | tuple):
        return list(read_features(token))
    return [(("is", token), 1.0)]


def check_tokens(x: Input) -> int:
    """Return the number of tokens of an input."""
    sized = isinstance(x, Sized) and getattr(x, "ndim", 1) > 0
    # A table, a sparse matrix, a series of pandas, whose x[i] is the row named i
    other = any(hasattr(type(x), name) for name in ("columns", "tocsr", "iloc"))
    if not sized or isinstance(x, Mapping | Set) or other:
        raise TypeError(f"x must be a sequence of tokens, a list, not {quote(x)}")
    return len(x)


def distinct_labels(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return all labels of a task; a text stands for its letters."""
    text = isinstance(labels, str)
    found = tuple(labels if text else check_items(labels, "labels", "a list of labels"))
    for position, label in enumerate(found):
        try:
            hash(label)
        except TypeError:
            raise TypeError(
                f"labels must be hashable, not {quote(label)} at position {position}"
            ) from None
    if not found or len(set(found)) < len(found):
        raise ValueError(f"labels must be distinct and not empty: {quote(labels)}")
    return found


def check_callable(value: object, name: str) -> None:
    """Raise an error if the value is neither a function nor None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a function or None, not {quote(value)}")


def token_features(x: Sequence[Any], i: int) -> Features:
    """Return the features of token i and of its neighbors.

    Parameters
    ----------
    x : sequence
        Tokens: words, mappings or lists of features, or vectors.
    i : int
        Which one.

    Returns
    -------
    list of tuple
        Names and values.

    Examples
    --------
    >>> from argmetric.search import token_features
    >>> token_features(["a", "cat"], 1)[:2]
    [(('is', 'cat'), 1.0), (('ends', 'cat'), 1.0)]
    """
    n = check_tokens(x)
    i = check_count(i, "i")
    if i >= n:
        raise ValueError(f"i={i} is not within the {n} tokens of x")
    found = own_features(x[i])
    for offset in (-1, 1):
        if 0 <= i + offset < n:
            near = own_features(x[i + offset])
            found += [((offset, name), value) for name, value in near]
        else:
            found.append(((offset, "end"), 1.0))
    return found


def history_features(labels: Sequence[Any], length: int) -> Named:
    """Return the last labels: one, two, up to `length` of them."""
    tail = tuple(labels[-length:]) if length else ()
    return [(("last", *tail[-n:]), 1.0) for n in range(1, len(tail) + 1)]


@complete_docstrings
class SequenceLabelling(Task):
    """One label for each token of a sequence; the loss is the number of wrong ones.

    Costs are exact: an action costs 1 if it is wrong, whatever came before.

    Parameters
    ----------
    labels : sequence
        All labels.
    features : callable, optional
        `features(x, i)` of token i; by default `token_features`. The last labels are
        added.
    history : int, default=2
        How many labels decided before are looked at: the last one, the last two, ...
    order : {"left", "right"}, default="left"
        The end of the sequence that is labelled first. See also `LearnedOrder`.
    whole : bool, default=False
        Whether only the whole sequence counts: the loss is 1 if any label is wrong.

    Examples
    --------
    >>> from argmetric.search import Searn, SequenceLabelling
    >>> X = [["the", "cat", "sleeps"], ["a", "dog", "sleeps"]]
    >>> Y = [["D", "N", "V"], ["D", "N", "V"]]
    >>> searn = Searn(SequenceLabelling("DNV"), beta=1.0, iterations=1).fit(X, Y)
    >>> searn.predict([["the", "dog", "sleeps"], []])
    [('D', 'N', 'V'), ()]
    """

    def __init__(
        self,
        labels: Sequence[Any],
        *,
        features: TokenFeatures | None = None,
        history: int = 2,
        order: Order = "left",
        whole: bool = False,
    ) -> None:
        check_choice(order, "order", ORDERS)
        self.whole = check_flag(whole, "whole")
        check_callable(features, "features")
        self.labels = distinct_labels(labels)
        self.history = check_count(history, "history")
        self.order = order
        self._token_features = features or token_features

    def start(self, x: object) -> State:
        """Return a state without labels."""
        return ()

    def position(self, x: Input, state: State) -> int:
        """Return the token that is labelled next.

        Parameters
        ----------
        x : sequence
            Tokens.
        state : tuple
            The labels so far.

        Returns
        -------
        int
            Its index in x.
        """
        return len(state) if self.order == "left" else len(x) - 1 - len(state)

    def actions(self, x: Input, state: State) -> Sequence[Action]:
        """Return all labels."""
        return self.labels if len(state) < check_tokens(x) else ()

    def step(self, x: Input, state: State, action: Action) -> State:
        """Append one label."""
        return (*state, action)

    def features(self, x: Input, state: State) -> Features:
        """Return the features of the token, and the last labels."""
        found = self._token_features(x, self.position(x, state))
        return [*read_features(found), *history_features(state, self.history)]

    def output(self, x: Input, state: State) -> Output:
        """Return the labels, in the order of the tokens."""
        return state if self.order == "left" else state[::-1]

    def loss(self, y: Output, output: Output) -> float:
        """Return the number of wrong labels, or whether any is.

        Missing ones do not count.
        """
        check_labels(y)
        wrong = sum(a != b for a, b in zip(y, output, strict=False))
        return float(min(wrong, 1) if self.whole else wrong)

    def costs(self, x: Input, y: Output, state: State) -> Sequence[float]:
        """Return 1 for wrong labels, 0 for the right one.

        All 1 if the whole is lost.
        """
        same_length(x, y)
        right = y[self.position(x, state)]
        if right not in self.labels:
            known = quote(self.labels)
            raise ValueError(f"y: label {quote(right)} is not among {known}")
        before = y if self.order == "left" else y[::-1]
        lost = self.whole and tuple(before[: len(state)]) != tuple(state)
        return [float(lost or label != right) for label in self.labels]

    def score(self, Y: Sequence[Output], outputs: Sequence[Output]) -> float:
        """Return the accuracy over all tokens, or over whole sequences."""
        n = len(Y) if self.whole else sum(map(check_labels, Y))
        wrong = sum(self.loss(y, o) for y, o in zip(Y, outputs, strict=True))
        return 1.0 - wrong / n if n else 1.0


def same_length(x: Input, y: Output) -> None:
    """Raise an error if there is not one label for each token."""
    if len(x) != check_labels(y):
        raise ValueError(f"{len(x)} tokens of x have {len(y)} labels in y")


def check_labels(y: Output) -> int:
    """Return the number of labels of a sequence."""
    if not is_sized(y):
        raise TypeError(f"y must be a sequence of labels, not {quote(y)}")
    return len(y)
