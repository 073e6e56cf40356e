"""What kernels take of inputs and of a mixture: the same for words and for chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from argmetric._ground.types import Floats, Hashes, Integers
from argmetric.search._searn._learners import TableScorer
from argmetric.search._searn._policy import Mixture


class Rolled(NamedTuple):
    """What a policy met on its way over inputs."""

    decisions: Any
    costs: Floats  # one for each action of each decision
    places: Integers  # the number of the input of each decision
    losses: Floats  # of the inputs
    longest: int  # decisions of the longest path


@dataclass(frozen=True)
class Costs:
    """How costs are found: by the initial policy, or at the end of paths."""

    kind: str  # "optimal", "rollout" or "tied"
    n_rollouts: int
    seed: int
    # What paths follow, drawn once for each; None: the policy of the roll-in, drawn for
    # each decision
    out: Mixture | None = None

    def how(self, mixture: Mixture) -> tuple[int, int, bool, bool]:
        """Seed and number of paths, whether draws are tied, and whether drawn once."""
        tied, once = self.kind == "tied", self.out is not None
        single = tied or once or mixture.deterministic
        return self.seed, 1 if single else self.n_rollouts, tied, once


class CompiledInputs(Sequence[Any]):
    """Inputs whose features are read, so that kernels can run policies over them."""

    task: Any
    items: Sequence[Any]
    starts: Integers  # where the tokens of each input begin

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, where: int) -> Any: ...
    @overload
    def __getitem__(self, where: slice) -> Sequence[Any]: ...
    def __getitem__(self, where: int | slice) -> Any:
        return self.items[where]

    @property
    def codes(self) -> Hashes:
        """The columns of a table of weights."""
        raise NotImplementedError

    def runs(self, mixture: Mixture) -> bool:
        """Whether kernels can run a mixture over these inputs."""
        return mixture.task is self.task and all(
            isinstance(one, TableScorer) and np.array_equal(one.codes, self.codes)
            for policy in mixture.learned
            for one in (policy.scorer, *policy.folds)
        )

    def roll_in(
        self,
        mixture: Mixture,
        Y: Sequence[Any],
        folds: Integers | None,
        costs: Costs,
        keys: Hashes,
    ) -> Rolled:
        """Decisions that a policy meets on its way, and the cost of each action."""
        raise NotImplementedError

    def decode(
        self, mixture: Mixture, *, width: int, logs: bool, keys: Hashes
    ) -> list[tuple[Any, ...]]:
        """Outputs of a mixture without the initial policy, greedily or by a beam."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Voters:
    """Classifiers of a mixture: one for each policy, or one for each fold of each."""

    mixture: Mixture
    scorers: tuple[TableScorer, ...]
    n_folds: int
    folds: Integers  # of each input

    @classmethod
    def of(cls, mixture: Mixture, n_inputs: int, folds: Integers | None) -> Voters:
        """Those that decide on inputs of these folds."""
        parts = [
            (policy.scorer,) if folds is None else policy.folds
            for policy in mixture.learned
        ]
        scorers: tuple[Any, ...] = tuple(one for part in parts for one in part)
        n_folds = len(parts[0]) if parts else 1
        if folds is None:
            folds = np.zeros(n_inputs, dtype=np.int64)
        return cls(mixture, scorers, n_folds, folds)

    @property
    def has_initial(self) -> int:
        """1 if the first policy is the initial one, else 0."""
        return int(self.mixture.initial is not None)

    @property
    def edges(self) -> Floats:
        """Cumulated weights of the policies."""
        edges = np.cumsum(self.mixture.weights)
        edges[np.flatnonzero(self.mixture.weights)[-1] :] = np.inf
        return edges
