"""SEARN chunk at a time, compiled: `SpanChunking` at the size of whole corpora.

The features of all chunks within reach are read once; a table of weights has a row for
each of them and a column for each type, "outside" first. All decisions are those of the
generic way, which asks the task in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.metrics import FBeta
from argmetric.search._searn._compiled import CompiledInputs, Costs, Rolled, Voters
from argmetric.search._searn._decisions import HashedRows, RowGatherer, hash_name
from argmetric.search._searn._learners import TableDecisions, TableScorer, rows_of
from argmetric.search._searn._policy import Mixture
from argmetric.search._searn._sequences import PreparedInputs, words_known
from argmetric.search._searn._tasks import check_tokens, same_length
from argmetric.search._searn._tasks_chunks import SpanChunking, gold_chunks
from argmetric.search.corpus.labels import write_labels

_OUT = "O"


def prepared(task: Any, X: Sequence[Any]) -> Sequence[Any]:
    """Inputs with their features read where kernels know the task, else as they are."""
    spans = type(task) is SpanChunking and bool(task.types)
    known = spans and isinstance(task.metric, FBeta) and task.metric.beta == 1
    if not known and not words_known(task):
        return X
    if isinstance(X, CompiledInputs) and X.task is task:
        return X
    return PreparedSpans(task, X) if spans else PreparedInputs(task, X)


class PreparedSpans(CompiledInputs):
    """Inputs, and the hashed features of all chunks within reach.

    The chunk of one word of each token comes first, then longer ones.
    """

    rows: HashedRows
    firsts: Integers  # the row of the chunk of one word of each token, and their number

    def __init__(self, task: SpanChunking, X: Sequence[Any]) -> None:
        known = X if isinstance(X, PreparedSpans) else None
        self.task = task
        self.items = X if known is None else known.items
        self._index: tuple[Any, ...] = (None,)
        if known is not None and _read_alike(known.task, task):
            self.starts, self.firsts, self.rows = known.starts, known.firsts, known.rows
            return
        gatherer, lengths, sizes = RowGatherer(), [], []
        for place, x in enumerate(self.items):
            n = check_tokens(x)
            lengths.append(n)
            try:
                for start in range(n):
                    sizes.append(min(task.max_length, n - start))
                    for stop in range(start + 1, start + sizes[-1] + 1):
                        gatherer.add(task._span_features(x, start, stop))
            except (TypeError, ValueError) as error:
                error.add_note(f"at input {place}")
                raise
        self.starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.firsts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.rows = gatherer.rows()

    @cached_property
    def codes(self) -> Hashes:
        names = [_OUT, *self.task.types]
        return np.array([hash_name(x) for x in names], dtype=np.uint64)

    @cached_property
    def owners(self) -> Integers:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def places(self) -> Integers:
        """Where the actions of each token begin, all laid end to end."""
        sizes = 1 + len(self.task.types) * np.diff(self.firsts)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def befores(self) -> Hashes:
        """Hashes of the columns before, which are features too."""
        names = [("the chunk before", x) for x in (_OUT, *self.task.types)]
        return np.array([hash_name(name) for name in names], dtype=np.uint64)

    @cached_property
    def vocabulary(self) -> Hashes:
        """All features that decisions can have."""
        return np.union1d(self.rows.hashes, self.befores)

    @property
    def text(self) -> tuple[Integers, Integers]:
        """Where sequences start, and the chunks of tokens."""
        return self.starts, self.firsts

    def indexed(self, hashes: Hashes) -> tuple[Any, ...]:
        """Rows of the features of chunks among these."""
        if self._index[0] is not hashes:
            where = rows_of(hashes, self.rows.hashes).astype(np.int32)
            self._index = hashes, (self.rows.indptr, where, self.rows.values)
        found: tuple[Any, ...] = self._index[1]
        return found

    def policies(self, scorers: Sequence[TableScorer]) -> tuple[Any, ...]:
        """Features, weights of policies, and those of columns before."""
        n = self.codes.size
        if not scorers:  # the initial policy alone
            none = np.zeros((0, 0, n))
            return self.indexed(self.befores[:0]), none, np.zeros((0, n, n))
        first = scorers[0].hashes
        if all(one.hashes is first for one in scorers):
            every = [one.weights for one in scorers]
            weights = every[0][None] if len(every) == 1 else np.stack(every)
        else:  # trained on other inputs each: one table of all rows
            first = np.unique(np.concatenate([one.hashes for one in scorers]))
            weights = np.zeros((len(scorers), first.size, n))
            for number, one in enumerate(scorers):
                weights[number, rows_of(first, one.hashes)] = one.weights
        where = rows_of(first, self.befores)
        known = np.where(where[:, None] >= 0, weights[:, where], 0.0)
        return self.indexed(first), weights, known

    def gold(self, Y: Sequence[Any]) -> tuple[Integers, ...]:
        """Right chunks: column and stop by the first token; how many, from where on."""
        n = int(self.starts[-1])
        kinds, stops = np.full((2, n), -1, dtype=np.int64)
        future, totals = np.zeros((2, n), dtype=np.int64)
        columns = {kind: number + 1 for number, kind in enumerate(self.task.types)}
        for first, x, y in zip(self.starts.tolist(), self.items, Y, strict=False):
            same_length(x, y)
            chunks = gold_chunks(tuple(y), self.task.dangling)
            for start, stop, kind in chunks:
                kinds[first + start] = columns.get(kind, -2)
                stops[first + start] = first + stop
                if stop - start <= self.task.max_length:
                    future[first : first + start + 1] += 1
            totals[first : first + len(y)] = len(chunks)
        return kinds, stops, future, totals

    def _draws(self, voters: Voters, keys: Hashes) -> tuple[Any, ...]:
        first = voters.has_initial, voters.edges, keys
        return *first, voters.n_folds, voters.folds

    def roll_in(
        self,
        mixture: Mixture,
        Y: Sequence[Any],
        folds: Integers | None,
        costs: Costs,
        keys: Hashes,
    ) -> Rolled:
        from argmetric.search.kernels.spans import roll_out_spans, walk_spans

        gold, whole, length = self.gold(Y), self.task.whole, self.task.max_length
        voters = Voters.of(mixture, len(self), folds)
        policies, draws = self.policies(voters.scorers), self._draws(voters, keys)
        n = int(self.starts[-1])
        chosen, befores = np.zeros((2, n), dtype=np.int64)
        depths, founds = np.full(n, -1), np.zeros((n, 2), dtype=np.int64)
        found, losses = np.empty(self.places[-1]), np.zeros(len(self))
        out = chosen, befores, depths, founds, self.places, found, losses
        walk_spans(whole, self.text, gold, policies, draws, length, True, out)
        tokens = np.flatnonzero(depths >= 0)
        order = np.lexsort((self.owners[tokens], depths[tokens]))
        if costs.kind != "optimal":
            after = mixture if costs.out is None else costs.out
            voters = Voters.of(after, len(self), folds)
            policies, draws = self.policies(voters.scorers), self._draws(voters, keys)
            numbers = np.empty_like(order)
            numbers[order] = np.arange(order.size)
            path = tokens, numbers, self.owners, befores, depths, founds, self.places
            roll_out_spans(
                whole, self.text, gold, policies, draws, length, costs.how(after), path,
                found,
            )  # fmt: skip
        tokens = tokens[order]
        decisions = SpanDecisions(self, tokens, befores[tokens])
        longest = int(depths.max(initial=-1)) + 1
        flat = found[decisions.actions]
        return Rolled(decisions, flat, self.owners[tokens], losses, longest)

    def decode(
        self, mixture: Mixture, *, width: int, logs: bool, keys: Hashes
    ) -> list[tuple[Any, ...]]:
        from argmetric.search.kernels.spans import search_span_beams, walk_spans

        voters, text = Voters.of(mixture, len(self), None), self.text
        policies, draws = self.policies(voters.scorers), self._draws(voters, keys)
        n, length = int(self.starts[-1]), self.task.max_length
        columns, stops = np.full((2, n), -1, dtype=np.int64)
        if width > 1:
            path = columns, stops
            search_span_beams(text, policies, draws, length, width, logs, path)
        else:
            none = np.zeros((2, n), dtype=np.int64)
            out = stops, none[0], columns, np.zeros((n, 2), dtype=np.int64)
            gold = (none[0],) * 4
            more = self.places, np.zeros(0), np.zeros(0)
            walk_spans(False, text, gold, policies, draws, length, False, (*out, *more))
            here = np.flatnonzero(columns >= 0)
            sizes = np.diff(self.firsts)[here]
            number = stops[here] - 1
            columns[here] = np.where(number < 0, 0, number // sizes + 1)
            stops[here] = here + np.where(number < 0, 1, number % sizes + 1)
        outputs = []
        names = ["", *self.task.types]
        for a, b in itertools.pairwise(self.starts.tolist()):
            begins = a + np.flatnonzero(columns[a:b] > 0)
            chunks = [(i - a, int(stops[i]) - a, names[columns[i]]) for i in begins]
            outputs.append(tuple(write_labels(chunks, b - a)))
        return outputs


def _read_alike(one: SpanChunking, other: SpanChunking) -> bool:
    """Whether the features of one task are those of the other."""
    same = one._span_features is other._span_features
    return same and one.max_length == other.max_length


@dataclass(frozen=True, eq=False)
class SpanDecisions(TableDecisions):
    """Decisions at some tokens, each after a column."""

    inputs: PreparedSpans
    tokens: Integers
    befores: Integers

    def __len__(self) -> int:
        return self.tokens.size

    @classmethod
    def joined(cls, parts: Sequence[SpanDecisions]) -> SpanDecisions:
        """The decisions of all parts, one part behind the other."""
        tokens = np.concatenate([part.tokens for part in parts])
        befores = np.concatenate([part.befores for part in parts])
        return cls(parts[0].inputs, tokens, befores)

    @cached_property
    def indptr(self) -> Integers:
        sizes = np.diff(self.inputs.places)[self.tokens]
        return np.concatenate([[0], np.cumsum(sizes)])

    @property
    def owners(self) -> Integers:
        """The decision that each action belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @property
    def actions(self) -> Integers:
        """The actions, among those of all tokens."""
        shift = self.inputs.places[self.tokens] - self.indptr[:-1]
        return np.arange(self.indptr[-1]) + np.repeat(shift, np.diff(self.indptr))

    def take(self, rows: Integers) -> SpanDecisions:
        return SpanDecisions(self.inputs, self.tokens[rows], self.befores[rows])

    def vocabulary(self) -> tuple[Hashes, Hashes]:
        return self.inputs.vocabulary, self.inputs.codes

    def scored(self, scorer: TableScorer) -> Floats:
        from argmetric.search.kernels.spans import score_spans

        inputs, out = self.inputs, np.empty(self.indptr[-1])
        policies = inputs.policies([scorer])
        parts = self.tokens, self.befores, self.indptr
        score_spans(inputs.text, policies, *parts, inputs.task.max_length, out)
        return out

    def learn(
        self,
        vocabulary: tuple[Hashes, Hashes],
        regrets: Floats,
        orders: Any,
        options: tuple[Any, ...],
        state: tuple[Any, ...],
    ) -> None:
        from argmetric.search.kernels.spans import learn_spans

        inputs, (hashes, _) = self.inputs, vocabulary
        rows = rows_of(hashes, inputs.befores)
        features = inputs.indexed(hashes)
        decisions = self.tokens, self.befores, self.indptr, rows
        length = inputs.task.max_length
        for order in orders:
            learn_spans(
                features, inputs.text, decisions, regrets, order, length, options, state
            )
