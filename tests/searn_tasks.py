"""Tasks and learners that SEARN is tested on."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from argmetric.search import (
    LinearLearner,
    Searn,
    SequenceLabelling,
    SpanChunking,
    Task,
    WordChunking,
)


class GenericLabelling(SequenceLabelling):
    """Not known to the kernels, since a subclass may do anything."""


class GenericChunking(WordChunking):
    """Not known to the kernels, since a subclass may do anything."""


class GenericSpans(SpanChunking):
    """Not known to the kernels, since a subclass may do anything."""


class Fixed:
    """A policy that looks its answers up, and counts how often it is asked."""

    def __init__(self, task, table):
        self.task = task
        self.table = table
        self.asked = 0

    def choose(self, situations, draws):
        self.asked += len(situations)
        return np.array([self.table(one) for one in situations])

    def scores(self, situations, decisions):
        out = np.zeros(decisions.codes.size)
        chosen = [self.table(one) for one in situations]
        out[decisions.indptr[:-1] + chosen] = 1.0
        return out


def words(letters, length):
    return ["".join(one) for one in itertools.product(letters, repeat=length)]


class Faint:
    """A learner whose scores lie closer together than probabilities can."""

    def fit(self, decisions, costs, rng):
        self.scorer = LinearLearner().fit(decisions, costs, rng)
        return self

    def scores(self, decisions):
        return 1e-30 * self.scorer.scores(decisions)


class Given:
    """Scores are the action's own feature; what there was to learn from is kept."""

    def __init__(self):
        self.seen = []

    def fit(self, decisions, costs, rng):
        self.seen.append((decisions, costs))
        return self

    def scores(self, decisions):
        rows, n = decisions.pairs, decisions.codes.size
        owners = np.repeat(np.arange(n), np.diff(rows.indptr))
        return np.bincount(owners, rows.values, n)


@dataclass(frozen=True)
class Kept(LinearLearner):
    """A linear learner that keeps what there was to learn from."""

    seen: list = field(default_factory=list, compare=False)

    def fit(self, decisions, costs, rng):
        self.seen.append((decisions, costs))
        return super().fit(decisions, costs, rng)


class Begun(Task):
    """Another task from any of its states on: inputs are (x, state)."""

    def __init__(self, task):
        self.task = task

    def start(self, x):
        return x[1]

    def actions(self, x, state):
        return self.task.actions(x[0], state)

    def final(self, x, state):
        return self.task.final(x[0], state)

    def step(self, x, state, action):
        return self.task.step(x[0], state, action)

    def output(self, x, state):
        return self.task.output(x[0], state)

    def loss(self, y, output):
        return self.task.loss(y, output)

    def costs(self, x, y, state):
        return self.task.costs(x[0], y, state)

    def reference(self, x, y, state):
        return self.task.reference(x[0], y, state)

    def estimate(self, x, y, state):
        return self.task.estimate(x[0], y, state)

    def features(self, x, state):
        return ["none"]


def initial_costs(task, x, y, states, **options):
    """Costs that SEARN finds at states, and the mean loss of its initial policy."""
    learner = Given()
    searn = Searn(Begun(task), learner, beta=1.0, iterations=1, **options)
    searn.fit([(x, state) for state in states], [y] * len(states))
    sizes = [len(task.actions(x, state)) for state in states]
    costs = np.split(learner.seen[0][1][: sum(sizes)], np.cumsum(sizes)[:-1])
    return costs, searn.history_[0].roll_in_loss


class Rows(Task):
    """One decision for each input: (features, [(action, its features)], costs)."""

    def start(self, x):
        return None

    def actions(self, x, state):
        return [action for action, _ in x[1]] if state is None else ()

    def step(self, x, state, action):
        return (action,)

    def features(self, x, state):
        return x[0]

    def action_features(self, x, state, action):
        return dict(x[1])[action]

    def costs(self, x, y, state):
        return x[2]

    def output(self, x, state):
        return state

    def loss(self, y, output):
        return 0.0


def decisions_of(examples):
    """Decisions and costs of rows, as SEARN hands them to its learner."""
    learner = Given()
    Searn(Rows(), learner, beta=1.0, iterations=1).fit(examples, [None] * len(examples))
    return learner.seen[0]


class TwoLetters(Task):
    """Words of two letters, a or b."""

    def start(self, x):
        return ""

    def actions(self, x, state):
        return "ab" if len(state) < 2 else ""

    def step(self, x, state, action):
        return state + action

    def output(self, x, state):
        return state


class Matching(Task):
    """Each row of a square takes a column of its own; the last one is forced."""

    def start(self, x):
        return ()

    def actions(self, x, state):
        return [column for column in range(len(x)) if column not in state]

    def step(self, x, state, action):
        return (*state, action)

    def action_features(self, x, state, action):
        return {"score": float(x[len(state)][action])}

    def output(self, x, state):
        return state

    def loss(self, y, output):
        return float(sum(a != b for a, b in zip(y, output, strict=False)))


def labelled(seed, n=40):
    """Letters whose label leans on the letter and on the label before."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x, y, last = [], [], 0
        for _ in range(int(rng.integers(0, 8))):
            last = int((last + rng.integers(0, 2)) % 3)
            noisy = last if rng.random() < 0.7 else int(rng.integers(0, 3))
            x.append([(f"letter {noisy}", 1.0), ("size", float(rng.random()))])
            y.append("abc"[last])
        X.append(x)
        Y.append(tuple(y))
    return X, Y


def chunked(seed, n=40, *, most=3, longest=3, noisy=0.3):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x, y = [], []
        for _ in range(int(rng.integers(0, most + 1))):
            kind = ("X", "Y", None)[rng.integers(3)]
            size = int(rng.integers(1, longest + 1)) if kind else 1
            y += [f"B-{kind}"] + [f"I-{kind}"] * (size - 1) if kind else ["O"]
            noise = rng.integers(0, 3, size) * (rng.random(size) < noisy)
            x += [[f"{kind} {i == 0} {e}"] for i, e in enumerate(noise)]
        X.append(x)
        Y.append(tuple(y))
    return X, Y


def own(x, i):
    return x[i]


def pairs(history=2):
    return {
        "labels": (
            SequenceLabelling("abc", features=own, history=history),
            GenericLabelling("abc", features=own, history=history),
            labelled,
        ),
        "chunks": (
            WordChunking(["X", "Y"], features=own, history=history),
            GenericChunking(["X", "Y"], features=own, history=history),
            chunked,
        ),
    }
