"""SEARN's loop on sequences, compiled: what `Searn` runs where task and learner allow.

Tokens are read once (`PreparedInputs`); then roll-in, costs and decoding are kernels.
All decisions are those of the generic way, which asks the task in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from argmetric._ground.types import Booleans, Floats, Hashes, Integers
from argmetric.metrics import FBeta
from argmetric.search._searn._decisions import BIAS, HashedRows, RowGatherer, hash_name
from argmetric.search._searn._learners import IndexedDecisions, TableScorer, rows_of
from argmetric.search._searn._policy import Mixture, draw, make_keys
from argmetric.search._searn._tasks import SequenceLabelling, same_length
from argmetric.search._searn._tasks_chunks import WordChunking, gold_chunks

_MOST_HISTORIES = 2**19


def prepared(task: Any, X: Sequence[Any]) -> Sequence[Any]:
    """Inputs with their features read, or the inputs as they are.

    They are read of a task that labels token after token, under a loss that kernels
    know.
    """
    known = type(task) is SequenceLabelling and task.order == "left"
    if type(task) is WordChunking:
        f1 = isinstance(task.metric, FBeta) and task.metric.beta == 1
        known = f1 and task.dangling == "forbid" and task.history > 0
    n = len(task.labels) if known else 0
    if n < 2 or (n + 1) ** task.history > _MOST_HISTORIES:
        return X
    if isinstance(X, PreparedInputs) and X.task is task:
        return X
    return PreparedInputs(task, X)


class PreparedInputs(Sequence[Any]):
    """Inputs of a sequence task and the hashed features of all their tokens."""

    starts: Integers  # where the tokens of each input begin
    rows: HashedRows  # features of the tokens

    def __init__(self, task: SequenceLabelling, X: Sequence[Any]) -> None:
        known = X if isinstance(X, PreparedInputs) else None
        self.task = task
        self.items: Sequence[Any] = X if known is None else known.items
        self._index: tuple[Any, ...] = (None,)
        if known is not None and known.task._token_features is task._token_features:
            self.starts, self.rows = known.starts, known.rows
        else:
            self.starts, self.rows = _read_tokens(task, self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, where: int) -> Any: ...
    @overload
    def __getitem__(self, where: slice) -> Sequence[Any]: ...
    def __getitem__(self, where: int | slice) -> Any:
        return self.items[where]

    @cached_property
    def owners(self) -> Integers:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def depths(self) -> Integers:
        """The number of tokens before each token."""
        return np.asarray(np.arange(self.starts[-1]) - self.starts[self.owners])

    @cached_property
    def order(self) -> Integers:
        """Tokens in the order in which walks that advance together meet them."""
        return np.lexsort((self.owners, self.depths))

    @cached_property
    def label_codes(self) -> Hashes:
        return np.array([hash_name(x) for x in self.task.labels], dtype=np.uint64)

    @cached_property
    def history_hashes(self) -> tuple[Hashes, Integers]:
        """Hashes of all names of last labels, and which of them each history has.

        A constant is the last of them, as every state has it.
        """
        labels, length = self.task.labels, self.task.history
        base = len(labels) + 1
        names: list[int] = []
        which = np.full((base**length, length + 1), -1, dtype=np.int64)
        for n in range(1, length + 1):
            for digits in itertools.product(range(len(labels)), repeat=n):
                code = 0
                for digit in digits:
                    code = code * base + digit + 1
                which[code :: base**n, n - 1] = len(names)
                names.append(hash_name(("last", *(labels[digit] for digit in digits))))
        which[:, length] = len(names)
        names.append(hash_name(BIAS))
        return np.array(names, dtype=np.uint64), which

    @cached_property
    def vocabulary(self) -> Hashes:
        """All features that decisions can have."""
        return np.unique(np.concatenate([self.rows.hashes, self.history_hashes[0]]))

    def indexed(self, hashes: Hashes) -> tuple[tuple[Any, ...], Integers]:
        """Rows of token features among these, and rows of each history."""
        if self._index[0] is not hashes:
            names, which = self.history_hashes
            rows = np.append(rows_of(hashes, names), -1)[which]
            where = rows_of(hashes, self.rows.hashes)
            features = self.rows.indptr, where, self.rows.values
            self._index = hashes, features, rows
        return self._index[1], self._index[2]

    def legal(self, histories: Integers) -> Booleans:
        """Which labels may follow each history."""
        labels = self.task.labels
        after = np.array(
            [
                [label in self.task.actions((0,) * 9, state) for label in labels]
                for state in [(), *((label,) for label in labels)]
            ]
        )
        base = len(labels) + 1 if self.task.history else 1
        return np.asarray(after[histories % base])

    def outputs(self, labels: Integers) -> list[tuple[Any, ...]]:
        """Labels by name, input by input."""
        names = self.task.labels
        edges = itertools.pairwise(self.starts.tolist())
        flat = labels.tolist()
        return [tuple([names[label] for label in flat[a:b]]) for a, b in edges]

    def gold(self, Y: Sequence[Any]) -> tuple[Any, ...]:
        """Right labels of tokens, and the chunks among them by their first token."""
        n = int(self.starts[-1])
        for x, y in zip(self.items, Y, strict=True):
            same_length(x, y)
        numbers = {label: number for number, label in enumerate(self.task.labels)}
        flat = [label for y in Y for label in y]
        labels = np.array([numbers.get(label, -1) for label in flat], dtype=np.int64)
        # Gold labels of chunks may be out of reach
        if not isinstance(self.task, WordChunking) and (labels < 0).any():
            wrong = next(label for label in flat if label not in numbers)
            raise ValueError(f"label {wrong!r} is not among {self.task.labels!r}")
        kinds, stops = np.full((2, n), -1, dtype=np.int64)
        future, totals = np.zeros((2, n), dtype=np.int64)
        if isinstance(self.task, WordChunking):
            types = {kind: number for number, kind in enumerate(self.task.types)}
            for first, y in zip(self.starts.tolist(), Y, strict=False):
                chunks = gold_chunks(tuple(y), self.task.dangling)
                for start, stop, kind in chunks:
                    kinds[first + start] = types.get(kind, -2)
                    stops[first + start] = first + stop
                    future[first : first + start + 1] += 1
                totals[first : first + len(y)] = len(chunks)
        return labels, kinds, stops, future, totals


def _read_tokens(
    task: SequenceLabelling, X: Sequence[Any]
) -> tuple[Integers, HashedRows]:
    """Where the tokens of each input begin, and the features of all tokens."""
    gatherer = RowGatherer()
    lengths = []
    for place, x in enumerate(X):
        lengths.append(len(x) if task.actions(x, ()) else 0)
        try:
            for i in range(lengths[-1]):
                gatherer.add(task._token_features(x, i))
        except (TypeError, ValueError) as error:
            error.add_note(f"at input {place}")
            raise
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return starts, gatherer.rows()


@dataclass(frozen=True, eq=False)
class SequenceDecisions:
    """Decisions at some tokens, each after a history."""

    inputs: PreparedInputs
    tokens: Integers
    histories: Integers

    def __len__(self) -> int:
        return self.tokens.size

    @cached_property
    def _legal(self) -> Booleans:
        return self.inputs.legal(self.histories)

    @cached_property
    def indptr(self) -> Integers:
        """Where the actions of each decision begin."""
        return np.concatenate([[0], np.cumsum(self._legal.sum(axis=1))])

    @property
    def owners(self) -> Integers:
        return np.nonzero(self._legal)[0]

    def take(self, rows: Integers) -> SequenceDecisions:
        return SequenceDecisions(self.inputs, self.tokens[rows], self.histories[rows])

    def vocabulary(self) -> tuple[Hashes, Hashes]:
        """Features of all tokens and histories; the labels."""
        return self.inputs.vocabulary, self.inputs.label_codes

    def indexed(self, hashes: Hashes, codes: Hashes) -> IndexedDecisions:
        """The decisions by the numbers of their features and labels."""
        features, rows = self.inputs.indexed(hashes)
        extra = rows[self.histories]
        return IndexedDecisions(features, self.tokens, extra, *np.nonzero(self._legal))


@dataclass(frozen=True, eq=False)
class _Arrays:
    """A mixture on inputs, as kernels take it."""

    drawn: Integers
    static: Floats
    weights: Floats
    rows: Integers

    @classmethod
    def of(cls, inputs: PreparedInputs, mixture: Mixture, keys: Hashes) -> _Arrays:
        """Scores of the policy that is drawn for each token."""
        drawn = mixture.drawn(draw(keys[inputs.owners], inputs.depths))
        drawn = drawn - (mixture.initial is not None)
        static = np.zeros((drawn.size, len(inputs.task.labels)))
        for number in np.unique(drawn[drawn >= 0]):
            tokens = np.flatnonzero(drawn == number)
            static[tokens] = _static(inputs, mixture, int(number), tokens)
        return cls(drawn, static, *_history_weights(inputs, mixture))


def _static(
    inputs: PreparedInputs, mixture: Mixture, number: int, tokens: Integers
) -> Floats:
    """Scores of tokens by their own features, under one of the policies."""
    scorer = mixture.learned[number].scorer
    assert isinstance(scorer, TableScorer)
    none = np.zeros((tokens.size, 0), dtype=np.int64)
    return scorer.matrix(inputs.indexed(scorer.hashes)[0], tokens, none)


def _history_weights(
    inputs: PreparedInputs, mixture: Mixture
) -> tuple[Floats, Integers]:
    """Weights of last labels of each policy, and which of them each history has."""
    names, which = inputs.history_hashes
    weights = np.zeros((len(mixture.learned), names.size, len(inputs.task.labels)))
    for number, policy in enumerate(mixture.learned):
        scorer = policy.scorer
        assert isinstance(scorer, TableScorer)
        rows = rows_of(scorer.hashes, names)
        weights[number, rows >= 0] = scorer.weights[rows[rows >= 0]]
    return weights, which


def is_compiled(mixture: Mixture, X: Sequence[Any]) -> bool:
    """Whether kernels can run a mixture over inputs."""
    return (
        isinstance(X, PreparedInputs)
        and mixture.task is X.task
        and all(
            isinstance(one.scorer, TableScorer)
            and not one.folds
            and np.array_equal(one.scorer.codes, X.label_codes)
            for one in mixture.learned
        )
    )


def roll_in_sequences(
    mixture: Mixture,
    inputs: PreparedInputs,
    Y: Sequence[Any],
    *,
    kind: str,
    n_rollouts: int,
    seed: int,
) -> tuple[SequenceDecisions, Floats, Floats]:
    """Decisions met on the way, the cost of each action, and the losses of inputs."""
    from argmetric.search.kernels.sequences import roll_out, walk

    gold = inputs.gold(Y)
    chunks = isinstance(inputs.task, WordChunking)
    arrays = _Arrays.of(inputs, mixture, make_keys(seed, np.arange(len(inputs))))
    n, n_labels = arrays.static.shape
    labels, histories = np.empty((2, n), dtype=np.int64)
    costs, losses = np.empty((n, n_labels)), np.zeros(len(inputs))
    walk(
        chunks, inputs.starts, gold, arrays.drawn, arrays.static, arrays.weights,
        arrays.rows, True, (labels, histories, costs, losses),
    )  # fmt: skip
    if kind != "optimal":
        tokens = np.arange(n)
        every = range(len(mixture.learned))
        static = [_static(inputs, mixture, number, tokens) for number in every]
        edges = np.cumsum(mixture.weights)
        edges[np.flatnonzero(mixture.weights)[-1] :] = np.inf
        tied = kind == "tied"
        policies = (
            int(mixture.initial is not None),
            edges,
            np.stack(static) if static else np.zeros((0, n, n_labels)),
            arrays.weights,
            arrays.rows,
            seed + 1,
            1 if tied or mixture.deterministic else n_rollouts,
            tied,
        )
        path = labels, histories, inputs.owners
        roll_out(chunks, inputs.starts, gold, path, policies, inputs.order, costs)
    order = inputs.order
    decisions = SequenceDecisions(inputs, order, histories[order])
    flat = costs[order][decisions._legal]
    return decisions, flat, losses


def decode_sequences(
    mixture: Mixture, inputs: PreparedInputs, *, width: int, logs: bool, seed: int
) -> list[tuple[Any, ...]]:
    """Outputs of a mixture without the initial policy, greedily or by a beam."""
    from argmetric.search.kernels.sequences import search_beams, walk

    arrays = _Arrays.of(inputs, mixture, make_keys(seed, np.arange(len(inputs))))
    chunks = isinstance(inputs.task, WordChunking)
    labels, histories = np.empty((2, arrays.drawn.size), dtype=np.int64)
    policy = arrays.drawn, arrays.static, arrays.weights, arrays.rows
    if width > 1:
        search_beams(chunks, inputs.starts, *policy, width, logs, labels)
    else:
        none, unknown = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
        out = labels, histories, unknown, np.zeros(0)
        walk(chunks, inputs.starts, (none,) * 5, *policy, False, out)
    return inputs.outputs(labels)
