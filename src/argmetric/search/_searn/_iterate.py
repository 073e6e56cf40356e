"""Parts of an iteration of SEARN: costs, roll-in, and a check for overfitting.

A policy that hardly errs on its training inputs only meets the states of the initial
policy there: SEARN silently becomes training on the right path. A classifier trained
without some of the inputs shows how much it errs on others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args, overload

import numpy as np

from argmetric._ground.arguments import is_sized, shown
from argmetric._ground.display import Shown
from argmetric._ground.pictures import drawing
from argmetric._ground.types import Axes, Booleans, Floats, Hashes, Integers
from argmetric.search._searn._batches import follow
from argmetric.search._searn._decisions import (
    Decisions,
    Situation,
    SituationCache,
    best_actions,
    cheapest_regrets,
    describe,
)
from argmetric.search._searn._estimators import EstimatorLearner
from argmetric.search._searn._learners import (
    CostSensitiveLearner,
    LinearLearner,
    Scorer,
)
from argmetric.search._searn._policy import (
    LearnedPolicy,
    Mixture,
    Walk,
    draw,
    final_losses,
    make_keys,
    run,
    start_walks,
)
from argmetric.search._searn._reductions import AllPairs, OneAgainstAll
from argmetric.search._searn._reference import InitialPolicy, check_costs
from argmetric.search._searn._sequences import Paths, PreparedInputs, runs_in_batches
from argmetric.search._searn._task import Input, Output, Task

CostKind = Literal["optimal", "rollout", "tied"]
COSTS: tuple[str, ...] = get_args(CostKind)
_BLOCK = 20_000  # roll-outs that run together
Data = tuple[Sequence[Any], Sequence[Any]]
NO_REGRET = 1e-9  # costs that differ by less are equal
_FOLDS = 4
_MOST_SEEN = 0.1  # a policy with more mistakes has enough to learn from
_LEAST_MISTAKES = 20  # on inputs not seen; fewer are no evidence
_SMALL_RATIO = 0.25  # of mistakes on inputs seen to those on others


def rollout_costs(
    task: Task, situations: Sequence[Situation], paths: Paths
) -> list[list[float]]:
    """Return mean losses of paths that follow a policy after each action."""
    costs: list[list[float]] = []
    per_block = max(1, _BLOCK // max(1, paths.number))
    block: list[Situation] = []
    size = 0
    for number, situation in enumerate(situations):
        block.append(situation)
        size += len(situation.actions)
        if size >= per_block or number == len(situations) - 1:
            costs += _block_costs(task, block, number + 1 - len(block), paths)
            block, size = [], 0
    return costs


def _block_costs(
    task: Task, situations: Sequence[Situation], first: int, paths: Paths
) -> list[list[float]]:
    """Return the mean loss of rollouts after each action, for each situation."""
    policy, seed, n_paths, tied, once = paths
    walks: list[Walk] = []
    labels: list[tuple[int, int, int]] = []
    for number, (place, x, y, state, actions, depth, fold) in enumerate(situations):
        for a, action in enumerate(actions):
            child = task.step(x, task.copy(state), action)
            for path in range(n_paths):
                first_state = task.copy(child) if path else child
                walks.append(Walk(place, x, y, first_state, depth + 1, fold))
                labels.append((place, 0, 0) if tied else (first + number, a + 1, path))
    keys = make_keys(seed, *np.array(labels, dtype=np.int64).T)
    if once:
        states: list[Any] = [None] * len(walks)
        draws = draw(keys, np.zeros(len(walks), dtype=np.int64))
        numbers = policy.component_numbers(draws)
        for number, component in enumerate(policy.components()):
            rows = np.flatnonzero(numbers == number)
            last = run(task, component, [walks[row] for row in rows], keys[rows])
            for row, state in zip(rows, last, strict=True):
                states[row] = state
    else:
        states = run(task, policy, walks, keys)
    losses = final_losses(task, walks, states)
    means = losses.reshape(-1, n_paths).mean(axis=1)
    ends = np.cumsum([len(situation.actions) for situation in situations])
    return [
        check_costs(part, situation)
        for part, situation in zip(np.split(means, ends[:-1]), situations, strict=True)
    ]


def folds_of(n: int, n_folds: int | None, seed: int) -> Integers | None:
    """Return the fold of each input, the same in every iteration."""
    if n_folds is None:
        return None
    if n < n_folds:
        raise ValueError(f"{n} inputs make no {n_folds} folds: lower cross_validation")
    return np.asarray(np.random.default_rng(seed).permutation(n) % n_folds)


@dataclass(frozen=True, eq=False)
class Examples:
    """Decisions that a policy met on the training inputs."""

    decisions: Any  # their features
    costs: Floats  # one for each action of each decision
    places: Integers  # the number of the input of each decision
    folds: Integers  # the fold of the input of each decision, -1 where there are none
    loss: float  # mean loss of the policy
    longest: int  # decisions of the longest path

    def __len__(self) -> int:
        return len(self.decisions)

    @classmethod
    def concatenate(cls, parts: Sequence[Examples]) -> Examples:
        """Concatenate the examples of all iterations; the loss is that of the last."""
        return cls(
            type(parts[0].decisions).concatenate([part.decisions for part in parts]),
            np.concatenate([part.costs for part in parts]),
            np.concatenate([part.places for part in parts]),
            np.concatenate([part.folds for part in parts]),
            parts[-1].loss,
            max(part.longest for part in parts),
        )


class _Recorder:
    """Recorder of decisions when they are met, before steps change their states."""

    def __init__(self, task: Task, initial: InitialPolicy | None) -> None:
        self.task = task
        self.in_place = task._in_place()
        self.initial = initial  # None: costs are found later, from kept states
        self.parts: list[SituationCache] = []
        self.situations: list[Situation] = []
        self.places: list[int] = []
        self.longest = 0

    def visit(self, situations: list[Situation]) -> SituationCache:
        """Record situations that a policy meets; return their decisions and costs."""
        costs = None
        if self.initial is not None:
            costs = [self.initial.costs(one) for one in situations]
        else:
            self.situations += [
                one._replace(state=self.task.copy(one.state)) for one in situations
            ]
        known = SituationCache(lambda: describe(self.task, situations), costs)
        if self.in_place:
            _ = known.decisions
        self.parts.append(known)
        self.places += [one.place for one in situations]
        self.longest = max(self.longest, *(one.depth + 1 for one in situations))
        return known


def roll_in(
    mixture: Mixture,
    data: Data,
    folds: Integers | None,
    *,
    kind: CostKind,
    n_rollouts: int,
    seed: int,
    out: Mixture | None = None,
) -> Examples:
    """Return the decisions that a policy meets, with the costs of all actions.

    Paths of "rollout" follow `out`, sampled once per path; by default the policy.
    """
    X, Y = data
    paths = None
    if kind != "optimal":
        policy = mixture if out is None else out
        tied, once = kind == "tied", out is not None
        single = tied or once or policy.deterministic
        paths = Paths(policy, seed + 1, 1 if single else n_rollouts, tied, once)
    keys = make_keys(seed, np.arange(len(X)))
    if isinstance(X, PreparedInputs) and X.runs(mixture, paths):
        step_by_step = runs_in_batches(mixture)
        met = follow(X, mixture, keys, folds, X.gold(Y)) if step_by_step else None
        rolled: tuple[Any, ...] = X.roll_in(mixture, Y, folds, paths, keys, met=met)
    else:
        rolled = _roll_in_python(mixture, data, folds, paths, keys)
    decisions, costs, places, losses, longest = rolled
    return Examples(
        decisions,
        costs,
        places,
        np.full(places.size, -1) if folds is None else folds[places],
        float(losses.mean()) if losses.size else 0.0,
        longest,
    )


def _roll_in_python(
    mixture: Mixture,
    data: Data,
    folds: Integers | None,
    paths: Paths | None,
    keys: Hashes,
) -> tuple[Decisions, Floats, Integers, Floats, int]:
    """Roll in any task, with the results of `PreparedInputs.roll_in`."""
    task = mixture.task
    recorder = _Recorder(task, mixture.initial if paths is None else None)
    walks = start_walks(task, *data, folds)
    losses = final_losses(task, walks, run(task, mixture, walks, keys, recorder.visit))
    if paths is None:
        found = [one for part in recorder.parts for one in part.costs or ()]
    else:
        found = rollout_costs(task, recorder.situations, paths)
    return (
        Decisions.concatenate([part.decisions for part in recorder.parts]),
        np.array([cost for one in found for cost in one], dtype=np.float64),
        np.array(recorder.places, dtype=np.int64),
        losses,
        recorder.longest,
    )


def learn_policy(
    task: Task,
    learner: CostSensitiveLearner,
    examples: Examples,
    n_folds: int | None,
    rng: np.random.Generator,
) -> LearnedPolicy:
    """Train a classifier of decisions, and one without each fold."""
    scorer = learner.fit(examples.decisions, examples.costs, rng)
    folds = [
        fit_on(learner, examples, examples.folds != fold, rng)
        for fold in range(n_folds or 0)
    ]
    return LearnedPolicy(task, scorer, tuple(folds))


def fit_on(
    learner: CostSensitiveLearner,
    examples: Examples,
    taken: Booleans,
    rng: np.random.Generator,
) -> Scorer:
    """Train a classifier on some of the decisions."""
    decisions = examples.decisions
    part = decisions.take(np.flatnonzero(taken))
    return learner.fit(part, examples.costs[taken[decisions.owners]], rng)


def regrets_of(scores: Floats, examples: Examples) -> Floats:
    """Return the regret of the action of greatest score, for each decision."""
    indptr = examples.decisions.indptr
    choices = best_actions(scores, indptr)
    return np.asarray(cheapest_regrets(examples.costs, indptr)[indptr[:-1] + choices])


def same_number(X: Sequence[Input], Y: Sequence[Output], what: str = "") -> Data:
    """Raise an error if the numbers of inputs and labels differ."""
    check_sequence(X, f"{what}X")
    check_sequence(Y, f"{what}Y")
    if len(X) != len(Y):
        raise ValueError(f"{what}X has {len(X)} inputs but Y has {len(Y)}")
    return X, Y


def check_sequence(values: object, name: str) -> None:
    """Refuse what is no sequence, such as a table or a view of memory."""
    wrong = hasattr(type(values), "columns") or isinstance(values, memoryview)
    if not is_sized(values) or wrong:
        raise TypeError(f"{name} must be a sequence, not {shown(values)}")


def split(
    data: Data, dev: Data | float | None, rng: np.random.Generator
) -> tuple[Data, Data | None]:
    """Split the data into training and development inputs."""
    if dev is None:
        return data, None
    if not isinstance(dev, int | float):
        if not isinstance(dev, tuple | list) or len(dev) != 2:
            raise TypeError(f"dev must be (X, Y) or a share, not {shown(dev)}")
        found = same_number(dev[0], dev[1], "dev: ")
        if not len(found[0]):
            raise ValueError("dev holds no inputs")
        return data, found
    if not 0 < dev < 1:
        raise ValueError(
            f"dev must be (X, Y) or a share between 0 and 1, not {shown(dev)}"
        )
    X, Y = data
    n = max(1, round(dev * len(X)))
    if n >= len(X):
        raise ValueError(f"{len(X)} inputs leave none to train on beside dev={dev}")
    order = rng.permutation(len(X))
    held, rest = np.sort(order[:n]), np.sort(order[n:])
    return (
        ([X[i] for i in rest], [Y[i] for i in rest]),
        ([X[i] for i in held], [Y[i] for i in held]),
    )


def unseen_mistakes(
    learner: CostSensitiveLearner, examples: Examples, mistakes: float, seed: int
) -> float | None:
    """Return the error rate on a quarter of the inputs, after training on the others.

    Return None if it could make no difference, and for learners that another `fit`
    might change. The threshold between in-sample learning and a
    poor learner was chosen by experiment: rich features on 50 to 1,000 sentences
    (trees, chunks) show a policy 0 to 0.28 of its mistakes, poor ones 0.55 to 1.
    """
    n_inputs = np.unique(examples.places).size
    kinds = LinearLearner | AllPairs | OneAgainstAll | EstimatorLearner
    known = isinstance(learner, kinds)
    if mistakes > _MOST_SEEN or n_inputs < _FOLDS or not known:
        return None
    fold_of = folds_of(int(examples.places.max()) + 1, _FOLDS, seed)
    assert fold_of is not None
    held = fold_of[examples.places] == 0
    if np.count_nonzero(held) < _LEAST_MISTAKES:
        return None
    scorer = fit_on(learner, examples, ~held, np.random.default_rng(seed))
    regrets = regrets_of(scorer.scores(examples.decisions), examples)
    wrong = regrets[held] > NO_REGRET
    return float(wrong.mean()) if wrong.sum() >= _LEAST_MISTAKES else None


def in_sample_warning(mistakes: float, unseen: float | None) -> str | None:
    """Return the warning for a roll-in that is nearly that of the initial policy."""
    if unseen is None or mistakes >= _SMALL_RATIO * unseen:
        return None
    return (
        "the roll-in is nearly the initial policy's: a classifier is wrong in "
        f"{mistakes:.2%} of the decisions on inputs that it was trained on, but in "
        f"{unseen:.2%} on others, so that further iterations hardly learn from its "
        f"mistakes; pass cross_validation={_FOLDS}, which runs training inputs by "
        "classifiers that did not see them, or iterations=1 to do without"
    )


_COLUMNS = (
    *("iteration", " beta", "examples", "regret", "mistakes", "roll-in"),
    *("dev loss", "initial", "seconds"),
)


@dataclass(frozen=True)
class Iteration:
    """Figures of one iteration."""

    number: int  # from 1
    beta: float  # share of decisions that the new classifier got in the mixture
    examples: int  # decisions it was trained on
    regret: float  # mean regret of its choices on these (its cost-sensitive loss)
    # share of its choices on these that have a regret: under `cross_validation`, of the
    # classifiers that did not see the input
    mistakes: float
    # mean loss of the policy that the examples came from, on the training inputs
    roll_in_loss: float
    # mean loss of all learned policies, the initial one removed, on development inputs
    dev_loss: float | None
    initial_weight: float  # share of decisions still with the initial policy
    seconds: float  # time taken
    # as `mistakes`, of a classifier that did not see the input; in the first of several
    # iterations without `cross_validation`, where there are enough to count. Far more
    # of them than `mistakes` mean that the policy learns next to nothing from further
    # iterations.
    unseen_mistakes: float | None = None

    def __str__(self) -> str:
        dev = "" if self.dev_loss is None else f", dev loss {self.dev_loss:.4f}"
        return (
            f"iteration {self.number}: {self.examples} examples, regret "
            f"{self.regret:.4f}, mistakes {self.mistakes:.2%}, roll-in loss "
            f"{self.roll_in_loss:.4f}{dev}, beta {self.beta:g}, {self.seconds:.1f} s"
        )


@dataclass(frozen=True, repr=False)
class History(Shown):
    """All iterations of a fit, in order.

    Parameters
    ----------
    iterations : tuple of Iteration
        The figures of each iteration.
    best : int
        Number of the iteration whose policy was kept.
    stopped : str
        Why the fit ended.

    Examples
    --------
    >>> from argmetric.search import Searn, SequenceLabelling
    >>> searn = Searn(SequenceLabelling("cv"), beta=0.5, iterations=2)
    >>> history = searn.fit(["banana", "onion"], ["cvcvcv", "vcvvc"]).history_
    >>> len(history), history[0].examples, history.stopped
    (2, 11, 'all iterations done')
    """

    iterations: tuple[Iteration, ...]
    best: int
    stopped: str

    def __len__(self) -> int:
        return len(self.iterations)

    def __iter__(self) -> Iterator[Iteration]:
        return iter(self.iterations)

    @overload
    def __getitem__(self, index: int) -> Iteration: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Iteration, ...]: ...
    def __getitem__(self, index: int | slice) -> Iteration | tuple[Iteration, ...]:
        return self.iterations[index]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict for each iteration.

        Returns
        -------
        list of dict
            Figures by name.
        """
        return [asdict(one) for one in self.iterations]

    def _lines(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [_COLUMNS]
        for one in self.iterations:
            dev = "-" if one.dev_loss is None else f"{one.dev_loss:.4f}"
            mark = "*" if one.number == self.best else " "
            row = [f"{mark}{one.number:9d}", f"{one.beta:.3g}", f"{one.examples}"]
            row += [f"{one.regret:.4f}", f"{one.mistakes:.2%}"]
            row += [f"{one.roll_in_loss:.4f}", dev, f"{one.initial_weight:.3g}"]
            rows.append((*row, f"{one.seconds:.2f}"))
        return rows

    def _notes(self) -> tuple[str, ...]:
        unseen = [one for one in self.iterations if one.unseen_mistakes is not None]
        return (
            f"* kept; {self.stopped}",
            *(
                f"mistakes on inputs not seen in iteration {one.number}: "
                f"{one.unseen_mistakes:.2%}"
                for one in unseen
            ),
        )

    def __repr__(self) -> str:
        widths = [len(name) + 1 for name in _COLUMNS]
        rows = [
            " ".join(cell.rjust(n) for cell, n in zip(cells, widths, strict=True))
            for cells in self._lines()
        ]
        return "\n".join([*rows, *self._notes()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw loss against iterations, as in Fig. 6 of the paper.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            The axes drawn on.
        """
        numbers = [one.number for one in self.iterations]
        losses: list[Any] = [one.dev_loss for one in self.iterations]
        with drawing(ax, xlabel="iterations", ylabel="mean loss") as ax:
            if None not in losses and losses:
                ax.plot(numbers, losses, "o-", color="C0", label="learned policy, dev")
                ax.plot(self.best, losses[self.best - 1], "o", color="C3", label="kept")
            before = [number - 1 for number in numbers]  # of the policy before
            rolled, label = [one.roll_in_loss for one in self], "with initial policy"
            ax.plot(before, rolled, ".--", color="C1", label=f"{label}, training")
        return ax
