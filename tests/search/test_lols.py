"""LOLS and AggreVaTe against their algorithms as published, decision by decision."""

import numpy as np
import pytest

from argmetric.search import (
    LinearLearner,
    Searn,
    SequenceLabelling,
    SpanChunking,
    WordChunking,
)
from argmetric.search._searn._decisions import Situation, describe
from argmetric.search._searn._policy import draw, make_keys
from argmetric.search._searn._reference import InitialPolicy
from searn_tasks import GenericChunking, GenericLabelling, GenericSpans

X = ["banana", "onion", "yes", "order", "", "bread", "tree", "sky"]
Y = ["cvcvcv", "vcvvc", "cvc", "vccvc", "", "ccvvc", "ccvv", "ccv"]
BRACKETS = [["B-X" if c == "v" else "O" for c in y] for y in Y]


class Recording:
    """A learner that keeps what it is given."""

    def __init__(self, epochs=2):
        self.own = LinearLearner("perceptron", epochs=epochs)
        self.given = []

    def fit(self, decisions, costs, rng):
        self.given.append((decisions, np.asarray(costs)))
        return self.own.fit(decisions, costs, rng)


class Literal:
    """The loop of either algorithm, one state after the other.

    Every pass rolls in, tries all actions at all states, and learns from all examples
    so far. Draws are those of `Searn`, by the number of the input and the depth. With
    `coin` LOLS draws who rolls out; without, it has the expected loss over the draw.
    """

    def __init__(self, task, algorithm, beta, passes, *, coin=False):
        self.task, self.algorithm, self.beta, self.coin = task, algorithm, beta, coin
        self.expert = InitialPolicy(task)
        self.scorer = None
        learner, rng = Recording(), np.random.default_rng(0)
        found = []
        for number in range(1, passes + 1):
            found += self.examples(number)
            situations = [one for one, _ in found]
            costs = np.array([c for _, costs in found for c in costs])
            self.scorer = learner.fit(describe(task, situations), costs, rng)
        self.given = learner.given

    def act(self, x, y, state, expert):
        """The action of the expert, or of the last classifier."""
        actions = tuple(self.task.actions(x, state))
        one = Situation(-1, x, y, state, actions)
        if expert:
            return actions[self.expert.best(one)]
        return actions[int(np.argmax(self.scorer.scores(describe(self.task, [one]))))]

    def to_the_end(self, x, y, state, expert):
        """The loss if one policy takes all decisions that are left."""
        while self.task.actions(x, state):
            state = self.task.step(x, state, self.act(x, y, state, expert))
        return float(self.task.loss(y, self.task.output(x, state)))

    def examples(self, number):
        """States of the roll-in, those at one depth of all inputs together."""
        task, seed = self.task, 7919 * number
        keys = make_keys(seed, np.arange(len(X)))
        # AggreVaTe: a share β_i of the expert, 1 at first; LOLS: none of it
        share = (1 - self.beta) ** (number - 1) if self.algorithm != "lols" else 0.0
        met = []
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            state, depth = task.start(x), 0
            while task.actions(x, state):
                met.append((depth, i, state))
                uniform = float(draw(keys[[i]], np.array([depth]))[0])
                expert = self.scorer is None or uniform < share
                state = task.step(x, state, self.act(x, y, state, expert))
                depth += 1
        met.sort(key=lambda one: one[:2])
        found = []
        for rank, (depth, i, state) in enumerate(met):
            actions = tuple(task.actions(X[i], state))
            costs = []
            for a, action in enumerate(actions):
                expert, lols = True, self.algorithm == "lols" and self.scorer
                if lols and not self.coin:
                    after = task.step(X[i], state, action)
                    both = [
                        self.to_the_end(X[i], Y[i], after, who) for who in (True, False)
                    ]
                    costs.append(self.beta * both[0] + (1 - self.beta) * both[1])
                    continue
                if lols:
                    parts = np.array([rank]), np.array([a + 1]), np.array([0])
                    key = make_keys(seed + 1, *parts)
                    expert = float(draw(key, np.array([0]))[0]) < self.beta
                after = task.step(X[i], state, action)
                costs.append(self.to_the_end(X[i], Y[i], after, expert))
            found.append((Situation(i, X[i], Y[i], state, actions, depth), costs))
        return found


def regrets(decisions, costs):
    parts = np.split(costs, decisions.indptr[1:-1])
    return [(part - part.min()).tolist() for part in parts]


@pytest.mark.parametrize(
    ("algorithm", "beta", "coin"),
    [
        ("aggrevate", 1.0, False),
        ("aggrevate", 0.4, False),
        ("lols", 0.5, True),
        ("lols", 0.1, True),
        ("lols", 0.5, False),
        ("lols", 0.1, False),
    ],
)
def test_the_algorithm_as_published(algorithm, beta, coin):
    task = SequenceLabelling("cv", history=1)
    learner = Recording()
    options = {"algorithm": algorithm, "beta": beta, "iterations": 4}
    if coin:
        options["costs"] = "rollout"
    searn = Searn(task, learner, **options).fit(X, Y)
    literal = Literal(task, algorithm, beta, 4, coin=coin)
    assert len(learner.given) == len(literal.given) == 4
    for one, other in zip(learner.given, literal.given, strict=True):
        for a, b in zip(regrets(*one), regrets(*other), strict=True):
            assert a == pytest.approx(b)
        np.testing.assert_array_equal(one[0].states.hashes, other[0].states.hashes)
    words = ["canoe", "rhythm", "aeiou", "noon"]
    outputs = []
    for x in words:
        state = task.start(x)
        while task.actions(x, state):
            state = task.step(x, state, literal.act(x, None, state, expert=False))
        outputs.append(state)
    assert searn.predict(words) == outputs
    assert searn.policy_.weights.tolist() == [1.0]


def test_paths_of_lols_differ_from_those_of_searn():
    """The costs see the learned policy, which errs; those of AggreVaTe do not."""
    given = {}
    for algorithm in ("lols", "aggrevate"):
        learner = Recording(epochs=1)
        task = SequenceLabelling("cv", history=1, features=lambda x, i: ["same"])
        options = {"algorithm": algorithm, "beta": 0.5}
        Searn(task, learner, iterations=3, **options).fit(X, Y)
        given[algorithm] = np.concatenate(regrets(*learner.given[-1]))
    assert set(given["aggrevate"]) <= {0.0, 1.0}
    assert set(given["lols"]) - {0.0, 1.0}


TASKS = {
    "labels": (SequenceLabelling("cv"), GenericLabelling("cv"), Y),
    "chunks": (WordChunking(["X"]), GenericChunking(["X"]), BRACKETS),
    "spans": (SpanChunking(["X"], 2), GenericSpans(["X"], 2), BRACKETS),
}


@pytest.mark.parametrize("which", TASKS)
@pytest.mark.parametrize(
    ("algorithm", "costs"),
    [("lols", "optimal"), ("lols", "rollout"), ("aggrevate", "optimal")],
)
def test_kernels_do_the_same(which, algorithm, costs):
    fast, slow, labels = TASKS[which]
    options = {"algorithm": algorithm, "costs": costs, "beta": 0.5, "iterations": 3}
    fits = []
    for task, bits in ((fast, None), (slow, 20)):
        learner = LinearLearner("perceptron", epochs=2, hash_bits=bits)
        fits.append(Searn(task, learner, **options).fit(X, labels))
    for one, other in zip(fits[0].history_, fits[1].history_, strict=True):
        assert one.examples == other.examples
        assert one.regret == pytest.approx(other.regret, abs=1e-12)
        assert one.roll_in_loss == pytest.approx(other.roll_in_loss)
    assert fits[0].predict(X) == fits[1].predict(X)
    n = fits[0].history_[0].examples
    assert [one.examples >= n * one.number * 0.5 for one in fits[0].history_] == [
        True
    ] * 3


def test_the_kept_iteration_is_that_of_the_least_loss():
    task = SequenceLabelling("cv", history=1)
    options = {"algorithm": "aggrevate", "beta": 1.0, "iterations": 3}
    history = Searn(task, **options).fit(X, Y, dev=(X, Y)).history_
    losses = [one.dev_loss for one in history]
    assert None not in losses
    assert losses[history.best - 1] == min(losses)
    assert [one.initial_weight for one in history] == [0.0] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": "search"}, "beta='search' belongs to algorithm='searn'"),
        ({"iterations": None}, "iterations=None belongs to algorithm='searn'"),
        ({"costs": "tied"}, "costs='tied' belongs to algorithm='searn'"),
        (
            {"costs": "rollout", "algorithm": "aggrevate"},
            "costs='rollout' belongs to algorithm='searn', not to 'aggrevate'",
        ),
    ],
)
def test_options_of_searn_alone(options, message):
    task = SequenceLabelling("cv")
    with pytest.raises(ValueError, match=message):
        Searn(task, **{"algorithm": "lols", **options}).fit(X, Y)
    with pytest.raises(ValueError, match="algorithm must be"):
        Searn(task, algorithm="dagger").fit(X, Y)


@pytest.mark.parametrize("kind", ["labels", "chunks"])
@pytest.mark.parametrize("costs", ["optimal", "rollout"])
def test_the_loss_of_whole_sequences(kind, costs):
    """Kernels against Python; after an error nothing is left to win."""
    options = {"whole": True}
    fast, slow, labels = {
        "labels": (
            SequenceLabelling("cv", **options),
            GenericLabelling("cv", **options),
            Y,
        ),
        "chunks": (
            WordChunking(["X"], **options),
            GenericChunking(["X"], **options),
            BRACKETS,
        ),
    }[kind]
    fits = []
    for task in (fast, slow):
        learner = LinearLearner(epochs=2, hash_bits=None)
        one = Searn(task, learner, beta=0.5, iterations=3, costs=costs)
        fits.append(one.fit(X, labels))
    for one, other in zip(fits[0].history_, fits[1].history_, strict=True):
        assert one.regret == pytest.approx(other.regret, abs=1e-12)
        assert one.roll_in_loss == pytest.approx(other.roll_in_loss)
    found = fits[0].predict(X)
    assert found == fits[1].predict(X)
    pairs = zip(labels, found, strict=True)
    right = [tuple(a) == tuple(b) for a, b in pairs]
    assert fits[0].score(X, labels) == pytest.approx(np.mean(right))
    wrong = ("v",) if kind == "labels" else ("B-X",)
    gold = "cvc" if kind == "labels" else ["O", "B-X", "O"]
    assert set(slow.costs("yes", gold, wrong)) == {1.0}
    assert min(slow.costs("yes", gold, ())) == 0.0


def test_the_whole_from_the_right():
    task = SequenceLabelling("cv", order="right", whole=True)
    assert task.costs("yes", "cvc", ("c",)) == [1.0, 0.0]
    assert task.costs("yes", "cvc", ("v",)) == [1.0, 1.0]
    assert task.loss("cvc", "vvv") == 1.0
    assert task.score(["cvc", "cv"], ["cvv", "cv"]) == 0.5
