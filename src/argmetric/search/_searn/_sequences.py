"""SEARN's loop on sequences, compiled: what `Searn` runs where task and learner allow.

Tokens are read once (`PreparedInputs`); then roll-in, costs and decoding are kernels.
All decisions are those of the generic way, which asks the task in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._ground.types import Booleans, Floats, Hashes, Integers
from argmetric.metrics import FBeta
from argmetric.search._searn._compiled import CompiledInputs, Costs, Rolled, Voters
from argmetric.search._searn._decisions import BIAS, HashedRows, RowGatherer, hash_name
from argmetric.search._searn._learners import (
    IndexedDecisions,
    TableDecisions,
    TableScorer,
    rows_of,
)
from argmetric.search._searn._policy import Mixture, draw
from argmetric.search._searn._tasks import SequenceLabelling, same_length
from argmetric.search._searn._tasks_chunks import WordChunking, gold_chunks

_MOST_HISTORIES = 2**19


def words_known(task: Any) -> bool:
    """Whether kernels know a task: token after token, under a loss that they know."""
    known = type(task) is SequenceLabelling and task.order == "left"
    if type(task) is WordChunking:
        f1 = isinstance(task.metric, FBeta) and task.metric.beta == 1
        known = f1 and task.dangling == "forbid" and task.history > 0
    n = len(task.labels) if known else 0
    return n > 1 and (n + 1) ** task.history <= _MOST_HISTORIES


class PreparedInputs(CompiledInputs):
    """Inputs of a sequence task and the hashed features of all their tokens."""

    rows: HashedRows  # features of the tokens

    def __init__(self, task: SequenceLabelling, X: Sequence[Any]) -> None:
        known = X if isinstance(X, PreparedInputs) else None
        self.task = task
        self.items = X if known is None else known.items
        self._index: tuple[Any, ...] = (None,)
        if known is not None and known.task._token_features is task._token_features:
            self.starts, self.rows = known.starts, known.rows
        else:
            self.starts, self.rows = _read_tokens(task, self.items)

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
    def codes(self) -> Hashes:
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

    @property
    def _form(self) -> int:
        """The loss, as kernels know it."""
        from argmetric.search.kernels.sequences import CHUNKS, WHOLE

        chunks = CHUNKS * isinstance(self.task, WordChunking)
        return int(chunks + WHOLE * self.task.whole)

    def roll_in(
        self,
        mixture: Mixture,
        Y: Sequence[Any],
        folds: Integers | None,
        costs: Costs,
        keys: Hashes,
    ) -> Rolled:
        from argmetric.search.kernels.sequences import roll_out, walk

        gold = self.gold(Y)
        policies = _drawn_policies(self, Voters.of(mixture, len(self), folds), keys)
        n, n_labels = policies[1].shape
        labels, histories = np.empty((2, n), dtype=np.int64)
        found, losses = np.empty((n, n_labels)), np.zeros(len(self))
        out = labels, histories, found, losses
        walk(self._form, self.starts, gold, *policies, True, out)
        if costs.kind != "optimal":
            after = mixture if costs.out is None else costs.out
            voters = Voters.of(after, len(self), folds)
            weights, rows = _drawn_policies(self, voters, keys)[2:]
            tokens = np.arange(n)
            every = [_static(self, scorer, tokens) for scorer in voters.scorers]
            static = np.stack(every) if every else np.zeros((0, n, n_labels))
            first = voters.has_initial, voters.edges, static, weights, rows
            path = labels, histories, self.owners
            roll_out(
                self._form, self.starts, gold, path,
                (*first, voters.n_folds, voters.folds), costs.how(after), self.order,
                found,
            )  # fmt: skip
        order = self.order
        decisions = SequenceDecisions(self, order, histories[order])
        longest = int(np.diff(self.starts).max(initial=0))
        flat = found[order][decisions._legal]
        return Rolled(decisions, flat, self.owners[order], losses, longest)

    def decode(
        self, mixture: Mixture, *, width: int, logs: bool, keys: Hashes
    ) -> list[tuple[Any, ...]]:
        from argmetric.search.kernels.sequences import search_beams, walk

        policy = _drawn_policies(self, Voters.of(mixture, len(self), None), keys)
        labels, histories = np.empty((2, policy[0].size), dtype=np.int64)
        if width > 1:
            search_beams(self._form, self.starts, *policy, width, logs, labels)
        else:
            none, unknown = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
            out = labels, histories, unknown, np.zeros(0)
            walk(self._form, self.starts, (none,) * 5, *policy, False, out)
        return self.outputs(labels)


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
class SequenceDecisions(TableDecisions):
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

    @classmethod
    def joined(cls, parts: Sequence[SequenceDecisions]) -> SequenceDecisions:
        """The decisions of all parts, one part behind the other."""
        tokens = np.concatenate([part.tokens for part in parts])
        histories = np.concatenate([part.histories for part in parts])
        return cls(parts[0].inputs, tokens, histories)

    def take(self, rows: Integers) -> SequenceDecisions:
        return SequenceDecisions(self.inputs, self.tokens[rows], self.histories[rows])

    def vocabulary(self) -> tuple[Hashes, Hashes]:
        """Features of all tokens and histories; the labels."""
        return self.inputs.vocabulary, self.inputs.codes

    def indexed(self, hashes: Hashes, codes: Hashes) -> IndexedDecisions:
        """The decisions by the numbers of their features and labels."""
        features, rows = self.inputs.indexed(hashes)
        extra = rows[self.histories]
        return IndexedDecisions(features, self.tokens, extra, *np.nonzero(self._legal))


def _static(inputs: PreparedInputs, scorer: TableScorer, tokens: Integers) -> Floats:
    """Scores of tokens by their own features, under one of the policies."""
    none = np.zeros((tokens.size, 0), dtype=np.int64)
    return scorer.matrix(inputs.indexed(scorer.hashes)[0], tokens, none)


def _drawn_policies(
    inputs: PreparedInputs, voters: Voters, keys: Hashes
) -> tuple[Integers, Floats, Floats, Integers]:
    """The policy of each token, its scores, and weights of histories of every policy.

    Last, which of these weights each history has.
    """
    owners = inputs.owners
    drawn = voters.mixture.drawn(draw(keys[owners], inputs.depths)) - voters.has_initial
    drawn = np.where(drawn < 0, -1, drawn * voters.n_folds + voters.folds[owners])
    static = np.zeros((drawn.size, len(inputs.task.labels)))
    for number in np.unique(drawn[drawn >= 0]):
        tokens = np.flatnonzero(drawn == number)
        static[tokens] = _static(inputs, voters.scorers[number], tokens)
    names, which = inputs.history_hashes
    weights = np.zeros((len(voters.scorers), names.size, len(inputs.task.labels)))
    for number, scorer in enumerate(voters.scorers):
        rows = rows_of(scorer.hashes, names)
        weights[number, rows >= 0] = scorer.weights[rows[rows >= 0]]
    return drawn, static, weights, which
