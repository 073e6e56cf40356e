"""SEARN: alternate search and learning."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np

from argmetric._ground.arguments import (
    check_choice,
    check_count,
    check_verbose,
    is_real,
    shown,
    to_float,
)
from argmetric._ground.types import Estimator, Integers
from argmetric.search._searn._beams import Decoder, Prediction, QueueTask, best_share
from argmetric.search._searn._estimators import EstimatorLearner, is_estimator
from argmetric.search._searn._iterate import (
    COSTS,
    NO_REGRET,
    CostKind,
    Data,
    Examples,
    History,
    Iteration,
    check_sequence,
    folds_of,
    in_sample_warning,
    learn_policy,
    regrets_of,
    roll_in,
    same_number,
    split,
    unseen_mistakes,
)
from argmetric.search._searn._learners import (
    KINDS,
    CostSensitiveLearner,
    Kind,
    LinearLearner,
)
from argmetric.search._searn._policy import BeamScores, Mixture
from argmetric.search._searn._reductions import AllPairs, OneAgainstAll
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._sequences import words_known
from argmetric.search._searn._spans import prepare_spans
from argmetric.search._searn._task import Input, Output, Task, check_is_task
from argmetric.search._searn._tasks_chunks import SpanChunking
from argmetric.search.learning import Parameters

_LEAST = dict.fromkeys(("iterations", "beam", "patience", "n_rollouts"), 1)
_LEAST |= {"search_width": 1, "cross_validation": 2, "random_state": 0}
_MOST = {"iterations": 100_000, "n_rollouts": 100_000}
Algorithm = Literal["searn", "lols", "aggrevate"]
_CHOICES = {
    "algorithm": get_args(Algorithm),
    "costs": COSTS,
    "prediction": ("draw", "mean"),
    "beam_scores": ("log", "raw"),
}
_NEGLIGIBLE = 0.05  # probability that the initial policy still decides on a path
_MOST_ITERATIONS = 10_000


def check_options(options: Mapping[str, Any]) -> None:
    """Check all arguments of the constructor."""
    check_is_task(options["task"])
    _check_learner(options["learner"])
    for name, choices in _CHOICES.items():
        check_choice(options[name], name, choices)
    beta = options["beta"]
    if isinstance(beta, str):
        check_choice(beta, "beta", ("search",))
    elif not is_real(beta) or not 0 < to_float(beta) <= 1:
        raise ValueError(f"beta must be above 0 and at most 1, not {shown(beta)}")
    if options["iterations"] is None and beta in ("search", 1):
        raise ValueError("iterations=None needs a fixed beta below 1")
    of_searn = {
        "costs": options["costs"] != "optimal",
        "beta": beta == "search",
        "iterations": options["iterations"] is None,
    }
    if options["algorithm"] == "lols" and options["costs"] == "rollout":
        del of_searn["costs"]
    for name, alone in of_searn.items():
        if alone and options["algorithm"] != "searn":
            raise ValueError(
                f"{name}={options[name]!r} belongs to algorithm='searn', not to "
                f"{options['algorithm']!r}"
            )
    _check_counts(options)
    check_verbose(options["verbose"])


def _check_learner(learner: object) -> None:
    """Refuse a learner that is no known name and has no method fit."""
    if isinstance(learner, str):
        check_choice(learner, "learner", KINDS)
    elif not hasattr(learner, "fit"):
        raise TypeError(
            "learner must have a method fit(decisions, costs, rng), or be a classifier "
            f"or regressor with fit(X, y), not {shown(learner)}"
        )


def _check_counts(options: Mapping[str, Any]) -> None:
    """Refuse options that are no whole numbers, or too small."""
    for name, least in _LEAST.items():
        value = options[name]
        if value is None and name in ("iterations", "cross_validation"):
            continue
        if not isinstance(value, Integral) or value < least:
            raise ValueError(
                f"{name} must be an integer of at least {least}, not {shown(value)}"
            )
        check_count(value, name, high=_MOST.get(name, 2**63 - 1))


@dataclass(frozen=True, eq=False)
class _Best:
    """Mixture to keep, and the iteration that it came from."""

    mixture: Mixture
    number: int
    loss: float


@dataclass(eq=False, repr=False)
class Searn(Parameters):
    """Learn a policy that builds structured outputs step by step, with low loss.

    SEARN (Daumé, Langford and Marcu 2009, Fig. 1): the current policy is run over the
    training inputs; at each state it meets, every action is given its regret; a
    cost-sensitive classifier is trained on these, and gets a share β of all decisions
    in the next policy. The first policy knows the labels; it is removed at the end.

    Parameters
    ----------
    task : Task
        The problem.
    learner : {"logistic", "perceptron", "svm"}, learner or estimator
        `LinearLearner` of this kind, by default "logistic"; a classifier or regressor
        (see `EstimatorLearner`); or any object with `fit(decisions, costs, rng)`.
    costs : {"optimal", "rollout", "tied"}, default="optimal"
        Cost of an action: the loss if the initial policy takes over (exact where the
        task gives costs); the mean loss of `n_rollouts` paths under the current policy;
        the loss of one path, with the same draws for all actions.
    beta : float or "search", default=0.3
        Share of a new classifier. 1 is pure policy iteration: the last classifier
        alone. "search": the share of least loss on development inputs.
    iterations : int or None, default=10
        Number of iterations. None: until T (1 - β)^i, a bound on the probability that
        the initial policy takes any of T decisions, is below 0.05 (Lemma 2).
    beam : int, default=1
        Width of the beam at prediction; 1 is greedy.
    train_beam : bool, default=False
        Whether to train for the beam, by search among queues (see `QueueTask`).
    cross_validation : int, optional
        Number of folds (section 7): classifiers that have not seen a training input run
        it, because a policy makes fewer mistakes on inputs it was trained on. Without
        it `fit` warns if it makes so few that there is little to learn from.
    patience : int, default=5
        Iterations without a better loss on development inputs before the fit stops.
    n_rollouts : int, default=5
        Paths for each action if `costs="rollout"`.
    prediction : {"draw", "mean"}, default="draw"
        "draw": each decision is taken by one policy, drawn as in training (draws depend
        on `random_state` and the row of X). "mean": the mean of the policies'
        probabilities decides. Training did not learn from the mistakes of this mean:
        compare both on development inputs.
    beam_scores : {"log", "raw"}, default="log"
        The sum that ranks a path: of log probabilities, or of raw scores.
    algorithm : {"searn", "lols", "aggrevate"}, default="searn"
        The others roll in by the last classifier, learn from the examples of all
        iterations and keep the last classifier. Costs of "aggrevate" are "optimal";
        the initial policy has (1 - β)^(i - 1) of roll-in i. Costs of "lols" are
        β · "optimal" + (1 - β) · the loss if the last classifier takes over: what the
        paper's coin for each action, ``costs="rollout"``, is on average.
    search_width : int, default=10
        Width of the search for the initial policy where the task gives neither costs
        nor a reference.
    random_state : int, default=0
        Seed; equal seeds give equal policies.
    verbose : int, default=0
        1 writes a line for each iteration to standard error.

    Attributes
    ----------
    policy_ : Mixture
        The learned policies and their weights, which sum to 1.
    history_ : History
        Loss, β, examples and seconds of each iteration; `history_.plot()`.

    Notes
    -----
    An interrupt (Ctrl-C) keeps the best policy so far.

    "aggrevate" is Ross and Bagnell (2014), with all decisions and actions where the
    paper draws one; "lols" is Chang et al. (2015), with a classifier of all examples
    after each pass where the paper has an online learner. The initial policy rolls in
    first.

    Examples
    --------
    >>> from argmetric.search import Searn, SequenceLabelling
    >>> X = ["banana", "onion", "order", "yes", "bread"]
    >>> Y = ["cvcvcv", "vcvvc", "vccvc", "cvc", "ccvvc"]
    >>> searn = Searn(SequenceLabelling("cv"), beta=0.5, iterations=3).fit(X, Y)
    >>> searn.predict(["bard", ""])
    [('c', 'v', 'c', 'c'), ()]
    >>> searn.policy_
    Mixture(weights=[0.143, 0.286, 0.571])
    """

    task: Task
    learner: Kind | CostSensitiveLearner | Estimator = "logistic"
    _: KW_ONLY
    costs: CostKind = "optimal"
    beta: float | Literal["search"] = 0.3
    iterations: int | None = 10
    beam: int = 1
    train_beam: bool = False
    cross_validation: int | None = None
    patience: int = 5
    n_rollouts: int = 5
    prediction: Prediction = "draw"
    beam_scores: BeamScores = "log"
    algorithm: Algorithm = "searn"
    search_width: int = 10
    random_state: int = 0
    verbose: int = 0

    def __repr__(self) -> str:
        parameters = self._parameters()
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if name != "task" and value != parameters[name].default
        ]
        return f"Searn({', '.join([type(self.task).__name__, *shown])})"

    def fit(
        self, X: Sequence[Input], Y: Sequence[Output], dev: Data | float | None = None
    ) -> Searn:
        """Learn a policy.

        Parameters
        ----------
        X : sequence
            Inputs.
        Y : sequence
            What `task.loss` compares outputs with, one for each input.
        dev : (X, Y) or float, optional
            Development inputs, or the share of the inputs to take for it. Their loss
            decides which iteration is kept, when to stop, and β with `beta="search"`.

        Returns
        -------
        Searn
            Itself.
        """
        self._start()
        rng = np.random.default_rng(self.random_state)
        data, dev_data = split(same_number(X, Y), dev, rng)
        if self.beta == "search" and dev_data is None:
            raise ValueError('beta="search" needs development inputs: pass dev=(X, Y)')
        data = self._prepare(data[0]), data[1]
        if dev_data is not None:
            dev_data = self._prepare(dev_data[0]), dev_data[1]
        self._loop(data, dev_data, rng)
        return self

    def _start(self) -> Self:
        """Check the options, and build the task whose decisions are learned."""
        check_options(self.get_params())
        self._search_task: Task = self.task
        if self.train_beam:
            width = int(self.search_width)
            self._search_task = QueueTask(self.task, int(self.beam), search_width=width)
        return self

    def _prepare(self, X: Sequence[Input]) -> Sequence[Any]:
        """Return inputs as kernels take them, if learner and task allow."""
        learner, task = self._learner(), self._search_task
        if isinstance(learner, AllPairs | EstimatorLearner | OneAgainstAll):
            # Rollouts ask states one by one, and LOLS keeps those of all iterations
            known = words_known(task) and self.algorithm != "lols"
            return prepare_spans(task, X) if known else [*X]
        # Kernels know no mean of policies, and a table knows chunks only by kernels
        mean = self.prediction == "mean" and isinstance(task, SpanChunking)
        if isinstance(learner, LinearLearner) and learner.hash_bits is None:
            return X if mean else prepare_spans(task, X)
        return X

    def _learner(self) -> CostSensitiveLearner:
        """Return the learner that the argument names or wraps."""
        learner: Any = self.learner
        if isinstance(learner, str):
            return LinearLearner(learner, target=self._search_task.target)  # type: ignore[arg-type]
        return EstimatorLearner(learner) if is_estimator(learner) else learner

    def _fitted_policy(self) -> Mixture:
        if not hasattr(self, "policy_"):
            raise ValueError("this Searn is not fitted yet: call fit(X, Y) first")
        return self.policy_

    def _decoder(self) -> Decoder:
        beam = 1 if self.train_beam else int(self.beam)  # a queue is a beam by itself
        form, prediction, seed = self.beam_scores, self.prediction, self.random_state
        return Decoder(self._search_task, beam, form, prediction, seed)

    def _loop(self, data: Data, dev: Data | None, rng: np.random.Generator) -> None:
        """Run Fig. 1 until the iterations are done or the losses stop falling."""
        initial = InitialPolicy(self._search_task, int(self.search_width))
        mixture = Mixture(initial)
        self._gathered: list[Examples] = []
        rows: list[Iteration] = []
        best: _Best | None = None
        stopped = "all iterations done"
        try:
            for number in range(1, int(self.iterations or _MOST_ITERATIONS) + 1):
                mixture, row, longest = self._iterate(number, mixture, data, dev, rng)
                rows.append(row)
                if self.verbose:
                    sys.stderr.write(f"{row}\n")
                message = in_sample_warning(row.mistakes, row.unseen_mistakes)
                if message is not None:
                    warnings.warn(message, UserWarning, stacklevel=3)
                value = math.inf if row.dev_loss is None else row.dev_loss
                if best is None or dev is None or value < best.loss:
                    best = _Best(mixture, number, value)
                elif number - best.number >= self.patience:
                    stopped = f"no better loss in {self.patience} iterations"
                    break
                left = longest * row.initial_weight
                if self.iterations is None and left < _NEGLIGIBLE:
                    stopped = "the initial policy has hardly a say any more"
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            stopped = "interrupted"
        assert best is not None
        self._gathered.clear()
        self.policy_ = best.mixture.without_initial()
        self.history_ = History(tuple(rows), best.number, stopped)

    def _examples(
        self, mixture: Mixture, data: Data, folds: Integers | None, seed: int
    ) -> Examples:
        """Return the decisions that the mixture meets, with the costs of actions."""
        gather = partial(
            roll_in, mixture, data, folds, n_rollouts=int(self.n_rollouts), seed=seed
        )
        if self.algorithm == "searn":
            return gather(kind=self.costs)
        lols, beta = self.algorithm == "lols" and mixture.learned, float(self.beta)
        if lols and self.costs == "rollout":
            coin = Mixture(mixture.initial, mixture.learned, (1.0 - beta,))
            return gather(kind="rollout", out=coin)
        examples = gather(kind="optimal")
        if lols:
            last = gather(kind="rollout", out=mixture).costs
            examples = replace(
                examples, costs=beta * examples.costs + (1.0 - beta) * last
            )
        return examples

    def _iterate(
        self,
        number: int,
        mixture: Mixture,
        data: Data,
        dev: Data | None,
        rng: np.random.Generator,
    ) -> tuple[Mixture, Iteration, int]:
        """Return the next mixture, its figures, and the longest path."""
        begin = time.perf_counter()
        task, n_folds = self._search_task, self.cross_validation
        initial = mixture.initial
        assert initial is not None
        initial.forget()
        seed = int(self.random_state) + 7919 * number
        folds = folds_of(len(data[0]), n_folds, self.random_state)
        examples = self._examples(mixture, data, folds, seed)
        if self.algorithm != "searn":
            self._gathered.append(examples)
            examples = Examples.concatenate(self._gathered)
        learner = self._learner()
        policy = learn_policy(task, learner, examples, n_folds, rng)
        scores = policy.fold_scores(examples.decisions, examples.folds)
        regrets = regrets_of(scores, examples)
        mistakes = float((regrets > NO_REGRET).mean()) if len(examples) else 0.0
        unseen = None
        if number == 1 and self.iterations != 1 and n_folds is None:
            unseen = unseen_mistakes(learner, examples, mistakes, self.random_state)
        if self.algorithm == "searn":
            decoder, share = self._decoder(), self.beta
            beta, dev_loss = best_share(share, decoder, mixture, policy, dev)
            mixture = mixture.interpolate(policy, beta)
        else:
            beta = float(self.beta)
            _, dev_loss = best_share(1.0, self._decoder(), mixture, policy, dev)
            left = (1.0 - beta) ** number if self.algorithm == "aggrevate" else 0.0
            mixture = Mixture(initial, (policy,), (1.0 - left,))
        seconds = time.perf_counter() - begin
        row = Iteration(
            number,
            beta,
            len(examples),
            float(regrets.mean()) if len(examples) else 0.0,
            mistakes,
            examples.loss,
            dev_loss,
            mixture.initial_weight,
            seconds,
            unseen,
        )
        return mixture, row, examples.longest

    def predict(self, X: Sequence[Input]) -> list[Any]:
        """Return outputs for inputs.

        Parameters
        ----------
        X : sequence
            Inputs.

        Returns
        -------
        list
            One output for each input.
        """
        policy = self._fitted_policy()
        check_sequence(X, "X")
        return self._decoder().outputs(policy, self._prepare(X))

    def score(self, X: Sequence[Input], Y: Sequence[Output]) -> float:
        """Return `task.score` of the predictions; by default minus the mean loss.

        Parameters
        ----------
        X, Y : sequence
            Inputs, and what outputs are compared with.

        Returns
        -------
        float
            The score; greater is better.
        """
        X, Y = same_number(X, Y)
        return float(self.task.score(Y, self.predict(X)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the learned weights to one file: JSON and arrays, no code.

        The task is code and is not saved; pass it to `load` again. Only a
        `LinearLearner` with hashed weights (not `hash_bits=None`) can be saved.

        Parameters
        ----------
        path : str or path
            The file.
        """
        from argmetric.search._searn._model_file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], task: Task) -> Searn:
        """Load what `save` wrote; the predictions are the same.

        Parameters
        ----------
        path : str or path
            The file.
        task : Task
            The task of the fit. Another class, or other constructor arguments, are
            refused; functions are not compared.
        """
        from argmetric.search._searn._model_file import load

        return load(cls, path, task)
