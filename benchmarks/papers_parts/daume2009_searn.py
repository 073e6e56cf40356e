"""Daumé et al. (2009): costs, first iteration, stacking, β, noise, and Lemma 2."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, exp
from typing import Any

import numpy as np
from search_parts import searn
from search_parts.phrases import phrases

from argmetric.search import LinearLearner, Searn, Task
from papers_parts.claim import Estimate, Figures, declare
from papers_parts.daume2009 import cases, iterated, less_its_bound
from papers_parts.daume2009_runs import (
    CHUNKS,
    LARGE,
    NER,
    PART,
    SMALL,
    Judged,
    counts,
    gain,
    judged,
    problems,
)

LETTERS = "handwriting, small (fast: every third word)"
MEMM_TASKS = (SMALL, LARGE, NER, CHUNKS)


@declare("daume2009-section-3-2-2-costs")
def _cost_estimates(fast: bool) -> Figures:
    figures = {}
    for task in (SMALL,) if fast else (SMALL, PART):
        found = {
            costs: judged(task, fast, 5, beta=0.3, costs=costs)
            for costs in ("optimal", "rollout", "tied")
        }
        for name, costs in (("Monte Carlo", "rollout"), ("single sample", "tied")):
            figures[f"approximation over {name}, {task}"] = gain(
                found["optimal"], found[costs]
            )
    return figures


@declare("daume2009-section-5-2-memm")
def _over_memm(fast: bool) -> Figures:
    return {
        f"{OVER}, {how}, {task}": gain(
            judged(task, fast, 3, beam=beam), judged(task, fast, 1, beam=beam)
        )
        for task in MEMM_TASKS[: 1 if fast else None]
        for beam, how in ((1, "greedy"), (searn.BEAM, "beam 10"))
    }


@declare("daume2009-section-5-2-stacking")
def _stacking(fast: bool) -> Figures:
    found = judged(SMALL, fast, 3).scores[:3]
    first = judged(SMALL, fast, 1).scores[:3]
    figures = {FIRST: Estimate.of(first - found)}
    other = [
        problem.score(searn.stacked(problem, seed, (0,)))
        for problem, seed in problems(SMALL, fast)[:3]
    ]
    figures["stacking over SEARN, labels before"] = Estimate.of(other - found)
    return figures


FIRST = "the first iteration alone, over SEARN"
SMALL_BETA, MANY = 0.1, 45  # of the initial policy .9^45 = 0.9 % are left


@declare("daume2009-section-5-2-independent")
def _independent(fast: bool) -> Figures:
    """Without other labels among the features: what further iterations change."""
    changed, gains = [], []
    for problem, seed in problems(SMALL, fast):
        one = searn.fitted(problem, seed, beta=1.0, iterations=3, history=0)
        first, last = (searn.decoded(one, problem, number) for number in (0, 2))
        changed.append(100.0 - searn.accuracy(first, last))
        gains.append(problem.judge(problem.gold, last))
        gains[-1] -= problem.judge(problem.gold, first)
    return {
        "third iteration over the first": Estimate.of(np.array(gains)),
        "labels that differ, %": float(np.mean(changed)),
    }


@declare("daume2009-section-4-line-search")
def _line_search(fast: bool) -> Figures:
    found = [
        counts(one, searn.searched(one, seed)) for one, seed in problems(SMALL, fast)
    ]
    return {
        "β searched, over β = 1": gain(
            Judged(tuple(found)), judged(SMALL, fast, 5, beam=searn.BEAM)
        )
    }


@declare("daume2009-section-6-1-5")
def _chunk_at_a_time(fast: bool) -> Figures:
    figures = {}
    n, few = (150, 150) if fast else (1_000, None)
    for name in ("chunk", "ner"):
        ways = []
        for problem in (phrases(name, n, few), searn.text(name, n, few)):
            one = searn.fitted(problem, 0, beta=1.0, iterations=2)
            labels = searn.decoded(one, problem, beam=searn.BEAM)
            ways.append(Judged((counts(problem, labels),)))
        figures[f"chunk over word at a time, {name}"] = gain(*ways)
    return figures


@declare("daume2009-section-4-beta")
def _small_beta(fast: bool) -> Figures:
    small = judged(SMALL, fast, MANY, beta=SMALL_BETA)
    return {
        "β = 1 over β = 0.1": gain(judged(SMALL, fast, 5), small),
        FIRST: gain(judged(SMALL, fast, 1), small),
    }


LEMMA_2 = "CTℓ", "½CT²βc_max", "T exp(−C)c_max"


@declare("daume2009-lemma-2")
def _lemma_2(fast: bool) -> Figures:
    rng = np.random.default_rng(2)

    def found() -> Iterator[tuple[float, dict[str, float]]]:
        for tree, errors in cases(rng, 20 if fast else 300):
            T, most = tree.depth, float(tree.losses.max())
            C, beta = float(rng.uniform(0.05, 4)), float(rng.uniform(0.001, 1))
            if errors.get("late"):  # many and large steps, so that β counts
                C, beta = 4.0, 1.0
            beta *= min(1 / T, C)
            loss, cost = iterated(tree, beta, ceil(C / beta), rng, **errors)
            terms = C * T * cost, C * T**2 * beta / 2 * most, T * exp(-C) * most
            more = loss - tree.loss(tree.best())
            yield more, dict(zip(LEMMA_2, terms, strict=True))

    return less_its_bound(found())


class SafeOrNoise(Task):
    """Footnote 7: T labels that are coin flips, or the safe answer at every step.

    The output costs 0.25 if it is safe throughout, 0 if every coin is guessed, else 1:
    one safe step alone ruins the way of the noisy optimum.
    """

    T = 4

    def start(self, x: Any) -> Any:
        return ()

    def actions(self, x: Any, state: Any) -> Any:
        return "hts" if len(state) < self.T else ""

    def step(self, x: Any, state: Any, action: Any) -> Any:
        return (*state, action)

    def features(self, x: Any, state: Any) -> Any:
        return [f"after {state[-1:]}", f"all safe {set(state) <= {'s'}}"]

    def output(self, x: Any, state: Any) -> Any:
        return state

    def loss(self, y: Any, output: Any) -> float:
        if set(output) == {"s"}:
            return 0.25
        return float(tuple(output) != tuple(y))

    def costs(self, x: Any, y: Any, state: Any) -> Any:
        """Least loss in reach: on the way of the coins, safe so far, or neither."""
        ends = [(*state, action) for action in self.actions(x, state)]
        safe = [0.25 if set(end) == {"s"} else 1.0 for end in ends]
        return [
            0.0 if end == tuple(y[: len(end)]) else cost
            for end, cost in zip(ends, safe, strict=True)
        ]


class RowByRow(Task):
    """A matching from the left: every row gets one of the columns that are free.

    x is a matrix of noisy scores, y the right column of each row.
    """

    def start(self, x: Any) -> Any:
        return ()

    def actions(self, x: Any, state: Any) -> Any:
        free = len(state) < len(x)
        return [j for j in range(len(x)) if j not in state] if free else []

    def step(self, x: Any, state: Any, action: Any) -> Any:
        return (*state, action)

    def action_features(self, x: Any, state: Any, action: Any) -> Any:
        return {"score": x[len(state)][action]}

    def output(self, x: Any, state: Any) -> Any:
        return state

    def loss(self, y: Any, output: Any) -> float:
        return float(sum(a != b for a, b in zip(y, output, strict=False)))

    def costs(self, x: Any, y: Any, state: Any) -> Any:
        wanted = y[len(state)]
        taken = wanted in state
        return [0.0 if taken else float(j != wanted) for j in self.actions(x, state)]


class HillClimbing(RowByRow):
    """The matching from row i to column i, bettered by swaps, n of them at most.

    Its initial policy is the search of section 3.4.2: the swap of least loss.
    """

    def start(self, x: Any) -> Any:
        return tuple(range(len(x))), 0

    def actions(self, x: Any, state: Any) -> Any:
        columns, steps = state
        if steps >= len(x):
            return []
        n = len(columns)
        return ["stop", *((i, k) for i in range(n) for k in range(i + 1, n))]

    def step(self, x: Any, state: Any, action: Any) -> Any:
        columns, steps = state
        if action == "stop":
            return columns, len(x)
        return _swapped(columns, action), steps + 1

    def action_features(self, x: Any, state: Any, action: Any) -> Any:
        if action == "stop":
            return {"stop": 1.0}
        after = _swapped(state[0], action)
        gains = [x[i][after[i]] - x[i][state[0][i]] for i in action]
        return {"gain": sum(gains), "swap": 1.0}

    def output(self, x: Any, state: Any) -> Any:
        return state[0]

    def costs(self, x: Any, y: Any, state: Any) -> Any:
        ends = [self.step(x, state, action)[0] for action in self.actions(x, state)]
        return [self.loss(y, columns) for columns in ends]


def _swapped(columns: Any, action: Any) -> Any:
    found = list(columns)
    i, k = action
    found[i], found[k] = found[k], found[i]
    return tuple(found)


def matching_accuracy(
    task: Task, seed: int, noise: float = 0.5, beam: int = 1
) -> float:
    """Right columns of 100 matchings of five rows, learned from as many, in percent.

    A beam adds up the scores of all rows.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        Y = [tuple(rng.permutation(5).tolist()) for _ in range(100)]
        X = [(np.eye(5)[list(y)] + rng.normal(0, noise, (5, 5))).tolist() for y in Y]
        parts.append((X, Y))
    learner = LinearLearner(epochs=5)
    one = Searn(
        task, learner, beta=1.0, iterations=2, beam=beam, beam_scores="raw",
        random_state=seed,
    )  # fmt: skip
    found = one.fit(*parts[0]).predict(parts[1][0])
    wrong = [task.loss(y, z) for y, z in zip(parts[1][1], found, strict=True)]
    return 100.0 * (1 - float(np.mean(wrong)) / 5)


@declare("daume2009-section-3-4-hill-climbing")
def _hill_climbing(fast: bool) -> Figures:
    seeds = range(3 if fast else 10)
    climbed = np.array([matching_accuracy(HillClimbing(), seed) for seed in seeds])
    figures = {}
    for beam in BEAMS:
        rows = [matching_accuracy(RowByRow(), seed, beam=beam) for seed in seeds]
        figures[_over_beam(beam)] = Estimate.of(climbed - rows)
    return figures


BEAMS = (10, 20)


def _over_beam(width: int) -> str:
    return f"hill climbing over beam {width} from the left"


@declare("daume2009-footnote-7")
def _noise(fast: bool) -> Figures:
    gaps = []
    for seed in range(3 if fast else 10):
        rng = np.random.default_rng(seed)
        X = list(range(100))
        train, test = (
            [tuple("ht"[c] for c in row) for row in rng.integers(0, 2, (100, 4))]
            for _ in range(2)
        )
        searn_ = Searn(
            SafeOrNoise(), LinearLearner(epochs=3), beta=0.3, iterations=6,
            random_state=seed,
        )  # fmt: skip
        found = searn_.fit(X, train).predict(X)
        task = searn_.task
        losses = [task.loss(y, z) for y, z in zip(test, found, strict=True)]
        gaps.append(float(np.mean(losses)) - 0.25)
    return {"loss of SEARN over that of the safe policy": Estimate.of(gaps)}


OVER = "SEARN over its first iteration"
