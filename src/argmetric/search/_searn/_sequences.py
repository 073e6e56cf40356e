"""Compiled loop of SEARN on sequences, used if task and learner allow.

Features are read once (`PreparedInputs`); then roll-in, costs and decoding are kernels.
All decisions equal those of the generic loop, which calls the task in Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from argmetric._ground.types import Booleans, Floats, Hashes, Integers
from argmetric.metrics import FBeta
from argmetric.search._searn._decisions import (
    BIAS,
    HashedRows,
    RowGatherer,
    hash_name,
    take_rows,
)
from argmetric.search._searn._learners import (
    Scorer,
    StateScorer,
    TableDecisions,
    TableScorer,
)
from argmetric.search._searn._policy import Mixture
from argmetric.search._searn._task import Input, Output
from argmetric.search._searn._tasks import SequenceLabelling, check_tokens, same_length
from argmetric.search._searn._tasks_chunks import WordChunking, gold_chunks

_MOST_HISTORIES = 2**19


def words_known(task: Any) -> bool:
    """Return whether kernels support a task: token by token, with a known loss."""
    known = type(task) is SequenceLabelling and task.order == "left"
    if type(task) is WordChunking:
        f1 = isinstance(task.metric, FBeta) and task.metric.beta == 1
        known = f1 and task.dangling == "forbid" and task.history > 0
    n = len(task.labels) if known else 0
    return n > 1 and (n + 1) ** task.history <= _MOST_HISTORIES


def scorers_of(mixture: Mixture) -> list[Scorer]:
    """Return the scorers of all learned policies, those of folds too."""
    return [one for policy in mixture.learned for one in (policy.scorer, *policy.folds)]


def runs_in_batches(mixture: Mixture) -> bool:
    """Return whether all inputs of a mixture take each step together, without kernels.

    Its scorers take any features by arrays.
    """
    known = [isinstance(one, StateScorer) for one in scorers_of(mixture)]
    return bool(known) and all(known)


class Paths(NamedTuple):
    """Paths whose mean loss at the end is the cost of their first action."""

    policy: Mixture  # which takes their decisions
    seed: int
    number: int  # of paths for each action
    # Pegasus: draws at a depth are the same for all actions and states of an input, so
    # that costs differ by the actions alone
    tied: bool
    once: bool  # whether a path draws its policy once, and not at every decision


class PreparedInputs(Sequence[Any]):
    """Inputs of a sequence task, with the hashed features of all their tokens."""

    starts: Integers  # where the tokens of each input begin
    firsts: Integers  # the first row of features of each token, and their number
    rows: HashedRows
    longest: int  # words that a decision may be about

    def __init__(self, task: Any, X: Sequence[Input]) -> None:
        self.task = task
        self.items = X
        self.longest = getattr(task, "max_length", 1)
        if type(X) is type(self):
            self.items = X.items
            if (X.longest, X.read) == (self.longest, self.read):
                self.starts, self.firsts, self.rows = X.starts, X.firsts, X.rows
                return
        gatherer, lengths, sizes = RowGatherer(), [], []
        add, features, read = gatherer.add, self._features, self.read
        for place, x in enumerate(self.items):
            n = check_tokens(x)
            lengths.append(n)
            try:
                for start in range(n):
                    size = min(self.longest, n - start)
                    sizes.append(size)
                    for stop in range(start + 1, start + size + 1):
                        add(features(read, x, start, stop))
            except (TypeError, ValueError) as error:
                error.add_note(f"at input {place}")
                raise
        self.starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self.firsts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.rows = gatherer.rows()

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, where: int) -> Any: ...
    @overload
    def __getitem__(self, where: slice) -> Sequence[Any]: ...
    def __getitem__(self, where: int | slice) -> Any:
        return self.items[where]

    @property
    def read(self) -> Any:
        """Return the function that reads features, called by `_features`."""
        return self.task._token_features

    @staticmethod
    def _features(read: Any, x: Input, start: int, stop: int) -> Any:
        return read(x, start)

    @property
    def names(self) -> tuple[Any, ...]:
        """Return the meaning of the columns of a table of weights."""
        return tuple(self.task.labels)

    @property
    def form(self) -> int:
        """Return the number of the loss in the kernels."""
        from argmetric.search.kernels.sequences import CHUNKS

        return CHUNKS * isinstance(self.task, WordChunking)

    @cached_property
    def allowed_actions(self) -> Booleans:
        """Return which actions may follow each last label; one row if all may."""
        labels = self.task.labels
        if not isinstance(self.task, WordChunking):
            return np.ones((1, len(labels)), dtype=np.bool_)
        states = [(), *((label,) for label in labels)]
        after = [self.task.actions((0,) * 9, state) for state in states]
        return np.array([[label in own for label in labels] for own in after])

    def _histories(self) -> tuple[list[Any], Integers]:
        """Return names of history features, and those that each history has.

        A constant is the last of them, as every state has it.
        """
        labels, length = self.task.labels, self.task.history
        base = len(labels) + 1
        names: list[Any] = []
        which = np.full((base**length, length + 1), -1, dtype=np.int64)
        for n in range(1, length + 1):
            for digits in itertools.product(range(len(labels)), repeat=n):
                code = 0
                for digit in digits:
                    code = code * base + digit + 1
                which[code :: base**n, n - 1] = len(names)
                names.append(("last", *(labels[digit] for digit in digits)))
        which[:, length] = len(names)
        return [*names, BIAS], which

    def outputs(self, chosen: Integers) -> list[tuple[Any, ...]]:
        """Return labels by name, input by input."""
        names = self.task.labels
        edges = itertools.pairwise(self.starts.tolist())
        flat = chosen.tolist()
        return [tuple([names[label] for label in flat[a:b]]) for a, b in edges]

    @cached_property
    def owners(self) -> Integers:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def places(self) -> Integers:
        """Return where the actions of each token begin in the concatenated list."""
        sizes = 1 + (self.codes.size - 1) * np.diff(self.firsts)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def codes(self) -> Hashes:
        """Return the columns of a table of weights."""
        return np.array([hash_name(x) for x in self.names], dtype=np.uint64)

    @cached_property
    def _index(self) -> tuple[Hashes, tuple[Any, ...], Integers]:
        """Return all features of decisions, and the rows of tokens and of histories."""
        names, which = self._histories()
        own = np.array([hash_name(name) for name in names], dtype=np.uint64)
        every = np.concatenate([self.rows.hashes, own])
        vocabulary, where = np.unique(every, return_inverse=True)
        tokens, last = np.split(where, [self.rows.hashes.size])
        features = self.rows.indptr, tokens.astype(np.int32), self.rows.values
        return vocabulary, features, np.append(last, -1)[which]

    @property
    def vocabulary(self) -> tuple[Hashes, Hashes]:
        """Return all features of decisions, and the columns."""
        return self._index[0], self.codes

    def history_after(self, histories: Integers, columns: Integers) -> Integers:
        """Return histories with one more column each, as `sequences.after_column`."""
        longer = histories * (self.codes.size + 1) + columns + 1
        return np.asarray(longer % self._index[2].shape[0])

    def gold(self, Y: Sequence[Output]) -> tuple[Integers, ...]:
        """Return right labels and right chunks, as kernels take them."""
        n = int(self.starts[-1])
        for x, y in zip(self.items, Y, strict=True):
            same_length(x, y)
        labels, kinds, stops = np.full((3, n), -1, dtype=np.int64)
        future, totals = np.zeros((2, n), dtype=np.int64)
        if type(self.task) is SequenceLabelling:
            numbers = {label: number for number, label in enumerate(self.task.labels)}
            flat = [label for y in Y for label in y]
            labels[:] = [numbers.get(label, -1) for label in flat]
            if (labels < 0).any():
                wrong = next(label for label in flat if label not in numbers)
                known = self.task.labels
                raise ValueError(f"Y: label {wrong!r} is not among {known!r}")
            return labels, kinds, stops, future, totals
        types = {kind: number for number, kind in enumerate(self.task.types)}
        most = getattr(self.task, "max_length", n)
        for first, y in zip(self.starts.tolist(), Y, strict=False):
            chunks = gold_chunks(tuple(y), self.task.dangling)
            for start, stop, kind in chunks:
                kinds[first + start] = types.get(kind, -2)
                stops[first + start] = first + stop
                if stop - start <= most:
                    future[first : first + start + 1] += 1
            totals[first : first + len(y)] = len(chunks)
        return labels, kinds, stops, future, totals

    def runs(self, mixture: Mixture, paths: Paths | None = None) -> bool:
        """Return whether a mixture can be run over these inputs, by kernels or steps.

        Kernels alone follow `paths`.
        """
        if mixture.task is not self.task:
            return False
        if runs_in_batches(mixture):
            return self.longest == 1 and (paths is None or not paths.policy.learned)
        return all(
            isinstance(one, TableScorer) and np.array_equal(one.codes, self.codes)
            for one in scorers_of(mixture)
        )

    def _scheme_and_text(self) -> tuple[Any, ...]:
        """Return scheme and text, as kernels take them."""
        from argmetric.search.kernels.sequences import WHOLE

        form = self.form + WHOLE * self.task.whole
        scheme = form, self.longest, self.allowed_actions, self._index[2]
        return scheme, (self.starts, self.firsts)

    def _voters(
        self, mixture: Mixture, folds: Integers | None, keys: Hashes
    ) -> tuple[Any, ...]:
        """Return features, weights of policies, and how policies are sampled.

        With folds, each policy has a table for each of them.
        """
        parts: list[Any] = [
            [policy.scorer] if folds is None else policy.folds
            for policy in mixture.learned
        ]
        tables = [one.table(*self.vocabulary) for part in parts for one in part]
        none = np.zeros((0, 0, self.codes.size))
        weights = np.stack(tables) if tables else none
        own = np.zeros(len(self), dtype=np.int64) if folds is None else folds
        first = int(mixture.initial is not None), mixture._edges, keys
        draws = *first, len(parts[0]) if parts else 1, own
        return (self._index[1], weights), draws

    def follow(
        self, voters: tuple[Any, ...], gold: object, rows: Integers | None = None
    ) -> tuple[Any, ...]:
        """Return actions of a policy, and the states that it visits.

        See `sequences.walk`. `rows` are the rows of weights of each history.
        """
        from argmetric.search.kernels.sequences import walk

        n, known = int(self.starts[-1]), gold is not None
        chosen, depths = np.full((2, n), -1, dtype=np.int64)
        histories, states = np.zeros(n, np.int64), np.zeros((n, 4), np.int64)
        costs, losses = np.empty(self.places[-1] if known else 0), np.zeros(len(self))
        out = chosen, histories, depths, states, self.places, costs, losses
        (scheme, text), (policies, draws) = self._scheme_and_text(), voters
        scheme = scheme if rows is None else (*scheme[:3], rows)
        walk(scheme, text, gold or (chosen,) * 5, policies, draws, known, out)
        return out

    def roll_in(
        self,
        mixture: Mixture,
        Y: Sequence[Output],
        folds: Integers | None,
        paths: Paths | None,
        keys: Hashes,
        *,
        met: tuple[Any, ...] | None = None,
    ) -> tuple[SequenceDecisions, Floats, Integers, Floats, int]:
        """Return the decisions that a policy meets, and the cost of each action.

        `met` is what `follow` returned, where a policy is not run by kernels. Also
        return the number of the input of each decision, the losses of the inputs,
        and the number of decisions of the longest path.
        """
        from argmetric.search.kernels.sequences import roll_out

        gold = self.gold(Y)
        if met is None:
            met = self.follow(self._voters(mixture, folds, keys), gold)
        _, histories, depths, _, _, costs, losses = met
        tokens = np.flatnonzero(depths >= 0)
        order = np.lexsort((self.owners[tokens], depths[tokens]))
        if paths is not None:
            numbers = np.empty_like(order)
            numbers[order] = np.arange(order.size)
            scheme, text = self._scheme_and_text()
            policies, draws = self._voters(paths.policy, folds, keys)
            path = tokens, numbers, self.owners, *met[1:5]
            how = tuple(paths[1:])
            roll_out(scheme, text, gold, policies, draws, how, path, costs)
        tokens = tokens[order]
        decisions = SequenceDecisions(self, tokens, histories[tokens])
        found = costs[self.places[tokens][decisions.owners] + decisions.numbers]
        longest = int(depths.max(initial=-1)) + 1
        return decisions, found, self.owners[tokens], losses, longest

    def decode(
        self, mixture: Mixture, *, width: int, logs: bool, keys: Hashes
    ) -> list[tuple[Any, ...]]:
        """Return the outputs of a mixture without the initial policy."""
        from argmetric.search.kernels.sequences import search_beams

        voters = self._voters(mixture, None, keys)
        if width == 1:
            return self.outputs(self.follow(voters, None)[0])
        chosen = np.full(int(self.starts[-1]), -1, dtype=np.int64)
        (scheme, text), (policies, draws) = self._scheme_and_text(), voters
        search_beams(scheme, text, policies, draws, width, logs, chosen)
        return self.outputs(chosen)


@dataclass(frozen=True, eq=False)
class SequenceDecisions(TableDecisions):
    """Decisions at some tokens of sequences, each after a history of labels."""

    inputs: PreparedInputs
    tokens: Integers
    histories: Integers

    @classmethod
    def concatenate(cls, parts: Sequence[SequenceDecisions]) -> SequenceDecisions:
        """Concatenate the decisions of all parts."""
        tokens = np.concatenate([part.tokens for part in parts])
        histories = np.concatenate([part.histories for part in parts])
        return cls(parts[0].inputs, tokens, histories)

    def take(self, rows: Integers) -> SequenceDecisions:
        return SequenceDecisions(self.inputs, self.tokens[rows], self.histories[rows])

    @property
    def _legal(self) -> Booleans | None:
        """Return which actions each decision has; None for all that its token has."""
        allowed = self.inputs.allowed_actions
        return allowed[self.histories % len(allowed)] if len(allowed) > 1 else None

    @cached_property
    def indptr(self) -> Integers:  # type: ignore[override]
        legal, sizes = self._legal, np.diff(self.inputs.places)[self.tokens]
        return np.append(0, np.cumsum(sizes if legal is None else legal.sum(axis=1)))

    @property
    def numbers(self) -> Integers:
        """Return the number of each action among those of its token."""
        if self._legal is not None:
            # Columns of one array: numba 0.60 takes them for contiguous in a long tuple
            return np.ascontiguousarray(np.nonzero(self._legal)[1])
        first = np.repeat(self.indptr[:-1], np.diff(self.indptr))
        return np.arange(self.indptr[-1]) - first

    @cached_property
    def states(self) -> HashedRows:
        """Return the features of each state: of its token, of its history, a constant.

        With `codes` and `pairs` these are `Decisions` of any task; for words, not
        spans.
        """
        vocabulary, (indptr, tokens, values), rows = self.inputs._index
        ends, where = take_rows(indptr, self.tokens)
        own = rows[self.histories]
        of_own, which = np.nonzero(own >= 0)
        found = np.concatenate([tokens[where], own[of_own, which]])
        every = np.concatenate([values[where], np.ones(of_own.size)])
        owners = np.concatenate(
            [np.repeat(np.arange(len(self)), np.diff(ends)), of_own]
        )
        order = np.argsort(owners, kind="stable")
        ends = ends + np.append(0, np.cumsum((own >= 0).sum(axis=1)))
        return HashedRows(ends, vocabulary[found[order]], every[order])

    @property
    def codes(self) -> Hashes:
        """Return the hash of each action."""
        return self.inputs.codes[self.numbers]

    @property
    def pairs(self) -> HashedRows:
        """Return that no action has features of its own."""
        ends = np.zeros(self.indptr[-1] + 1, dtype=np.int64)
        return HashedRows(ends, np.zeros(0, dtype=np.uint64), np.zeros(0))

    @property
    def vocabulary(self) -> tuple[Hashes, Hashes]:
        return self.inputs.vocabulary

    def kernel_arrays(self) -> tuple[Any, ...]:
        """Return features, tokens, sizes, histories and labels for the kernels."""
        _, features, rows = self.inputs._index
        firsts = self.inputs.firsts
        sizes = np.diff(firsts)[self.tokens]
        own = firsts[self.tokens], sizes, rows[self.histories]
        return features, (*own, self.indptr, self.numbers)
