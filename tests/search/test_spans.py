"""Compiled SEARN chunk at a time against the generic loop, which asks the task."""

import itertools

import numpy as np
import pytest

from argmetric.search import LinearLearner, Searn, SpanChunking, check_task
from argmetric.search._searn import _iterate
from argmetric.search._searn._beams import Decoder
from argmetric.search._searn._decisions import hash_name
from argmetric.search._searn._policy import LearnedPolicy, Mixture
from argmetric.search._searn._reference import InitialPolicy
from argmetric.search._searn._spans import PreparedSpans, prepare_spans
from searn_tasks import GenericSpans, Matching, chunked

LENGTH = 3


def features(x, start, stop):
    """Words of a chunk by their places, its neighbours and its length."""
    found = [(f"in {word}", 1.0) for word in x[start:stop]]
    found += [(f"at {i} {word}", 0.5) for i, word in enumerate(x[start:stop])]
    found += [f"before {x[start - 1] if start else ''}", f"length {stop - start}"]
    return [*found, f"after {''.join(x[stop : stop + 1])}"]


def sample(seed, n=30):
    """Sentences with chunks of two types, some longer than within reach."""
    X, Y = chunked(seed, n, most=4, longest=LENGTH + 1, noisy=0.4)
    return [[word.replace(" ", "") for [word] in x] for x in X], Y


class ByName:
    """A table of weights, asked chunk by chunk and name by name."""

    def __init__(self, task, table):
        self.task = task
        self.rows = {int(h): row for row, h in enumerate(table.hashes)}
        self.weights = table.weights

    def score(self, x, state, action):
        position, spans = state
        kind, length = action
        column = ["O", *self.task.types].index(kind)
        last = spans[-1][2] if spans and spans[-1][1] == position else "O"
        found = features(x, position, position + length)
        pairs = [one if isinstance(one, tuple) else (one, 1.0) for one in found]
        total = 0.0
        for name, value in [*pairs, (("the chunk before", last), 1.0)]:
            row = self.rows.get(hash_name(name))
            total += 0.0 if row is None else value * self.weights[row, column]
        return total


class AskedByName(LearnedPolicy):
    """A policy whose scores are asked of `ByName`."""

    def scores(self, situations, decisions):
        scorer = self.scorer
        return np.array(
            [
                scorer.score(one.x, one.state, action)
                for one in situations
                for action in one.actions
            ]
        )


def both(whole=False):
    options = {"features": features, "whole": whole}
    types = ["X", "Y"]
    return (
        SpanChunking(types, LENGTH, **options),
        GenericSpans(types, LENGTH, **options),
    )


def mixtures(kind, whole=False, folds=None):
    """The same mixture for kernels and for Python."""
    fast, slow = both(whole)
    learner = LinearLearner(epochs=2, hash_bits=None)
    options = {"beta": 0.5, "iterations": 2, "cross_validation": folds}
    searn = Searn(fast, learner, **options).fit(*sample(0))
    compiled = searn.policy_.learned
    named = tuple(AskedByName(slow, ByName(slow, one.scorer)) for one in compiled)
    for task, learned in ((fast, compiled), (slow, named)):
        yield (
            task,
            Mixture(
                None if kind == "learned" else InitialPolicy(task),
                () if kind == "initial" else learned,
                () if kind == "initial" else (0.5, 0.4),
            ),
        )


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("kind", "costs"),
    [
        ("initial", "optimal"),
        ("mixed", "optimal"),
        ("initial", "rollout"),
        ("mixed", "rollout"),
        ("learned", "rollout"),
        ("mixed", "tied"),
        ("mixed", "once"),
    ],
)
def test_decisions_and_costs(kind, costs, whole):
    X, Y = sample(0)
    found = []
    for task, mixture in mixtures(kind, whole):
        data = prepare_spans(task, X), Y
        assert isinstance(data[0], PreparedSpans) == (type(task) is SpanChunking)
        options = {"kind": costs, "n_rollouts": 3, "seed": 5}
        if costs == "once":
            options |= {"kind": "rollout", "out": mixture}
        found.append(_iterate.roll_in(mixture, data, None, **options))
    fast, slow = found
    np.testing.assert_allclose(fast.costs, slow.costs, atol=1e-12)
    np.testing.assert_array_equal(fast.places, slow.places)
    np.testing.assert_array_equal(fast.decisions.indptr, slow.decisions.indptr)
    assert fast.loss == pytest.approx(slow.loss)
    assert fast.longest == slow.longest


@pytest.mark.parametrize("beam", [1, 2, 4])
@pytest.mark.parametrize("form", ["log", "raw"])
def test_outputs_of_beams(beam, form):
    X, _ = sample(1, 40)
    found = [
        Decoder(task, beam, form, "draw", 3).outputs(mixture, prepare_spans(task, X))
        for task, mixture in mixtures("learned")
    ]
    assert found[0] == found[1]
    assert any(label != "O" for y in found[0] for label in y)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("kind", ["perceptron", "svm", "logistic"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_whole_fit_is_that_of_hashed_weights(beam, kind, whole):
    fits = []
    for task, bits in zip(both(whole), (None, 20), strict=True):
        learner = LinearLearner(kind, epochs=3, hash_bits=bits)
        one = Searn(task, learner, beam=beam, beta=0.5, iterations=3)
        fits.append(one.fit(*sample(0)))
    # Slopes below NEGLIGIBLE are left out of a table; logistic regression has such
    exact = kind != "logistic"
    for fast, slow in zip(fits[0].history_, fits[1].history_, strict=True):
        assert fast.initial_weight == slow.initial_weight
        if exact:
            assert fast.examples == slow.examples
            assert fast.regret == pytest.approx(slow.regret, abs=1e-9)
    X, Y = sample(1, 40)
    same = [a == b for a, b in zip(*(one.predict(X) for one in fits), strict=True)]
    assert all(same) if exact else np.mean(same) > 0.9
    if exact:
        assert fits[0].score(X, Y) == fits[1].score(X, Y)


def test_cross_validation_asks_the_classifier_that_did_not_see_the_input():
    fits = []
    for task, bits in zip(both(), (None, 20), strict=True):
        learner = LinearLearner("svm", epochs=2, hash_bits=bits)
        options = {"beta": 1.0, "iterations": 3, "cross_validation": 3}
        fits.append(Searn(task, learner, **options).fit(*sample(0)))
    for fast, slow in zip(fits[0].history_, fits[1].history_, strict=True):
        assert fast.examples == slow.examples
        assert fast.mistakes == slow.mistakes
        assert fast.roll_in_loss == pytest.approx(slow.roll_in_loss)


def test_costs_of_the_whole_sentence_by_enumeration():
    task = SpanChunking(["X"], 2, whole=True)
    x, gold = "abc", ("B-X", "I-X", "O")
    X = [x] * 2
    assert check_task(task, X, [gold, ("O", "O", "B-X")]).ok

    def ends(state):
        actions = task.actions(x, state)
        if not actions:
            return [task.loss(gold, task.output(x, state))]
        return [e for a in actions for e in ends(task.step(x, state, a))]

    states = [task.start(x)]
    for state in states:
        for action in task.actions(x, state):
            states.append(task.step(x, state, action))
        if task.actions(x, state):
            wanted = [min(ends(task.step(x, state, a))) for a in task.actions(x, state)]
            assert task.costs(x, gold, state) == wanted
    assert {cost for s in states for cost in ends(s)} == {0.0, 1.0}
    outputs = [gold, ("O", "O", "O")]
    assert task.score([gold, gold], outputs) == 0.5


def test_features_are_read_once_for_tasks_that_share_them():
    read = []

    def counted(x, start, stop):
        read.append((start, stop))
        return features(x, start, stop)

    X, Y = sample(0)
    first = prepare_spans(SpanChunking(["X", "Y"], LENGTH, features=counted), X)
    n = len(read)
    lengths = [len(x) for x in X]
    assert n == sum(min(LENGTH, m - i) for m in lengths for i in range(m))
    task = SpanChunking(["X", "Y"], LENGTH, features=counted, whole=True)
    learner = LinearLearner(hash_bits=None)
    searn = Searn(task, learner, beta=1.0, iterations=1).fit(first, Y)
    assert len(read) == n
    assert searn.predict(first) == searn.predict(X)


def test_policies_of_other_inputs_share_a_table():
    """Policies that were trained on different inputs, whose tables differ."""
    fast, _ = both()
    learner = LinearLearner("svm", epochs=2, hash_bits=None)
    fits = [Searn(fast, learner, iterations=1).fit(*sample(seed)) for seed in (0, 2)]
    learned = tuple(one.policy_.learned[0] for one in fits)
    X, _ = sample(1)
    keys = Decoder(fast, 1, "log", "draw", 0)
    found = keys.outputs(Mixture(None, learned, (0.5, 0.5)), prepare_spans(fast, X))
    alone = [
        keys.outputs(Mixture(None, (p,), (1.0,)), prepare_spans(fast, X))
        for p in learned
    ]
    for y, *others in zip(found, *alone, strict=True):
        if others[0] == others[1]:
            assert y == others[0]


def test_an_error_in_features_names_the_input():
    def failing(x, start, stop):
        raise ValueError("no such chunk")

    task = SpanChunking(["X"], features=failing)
    with pytest.raises(ValueError, match="no such chunk") as caught:
        Searn(task, LinearLearner(hash_bits=None)).fit(["ab"], [("O", "O")])
    assert caught.value.__notes__ == ["at input 0"]


class GuidedMatching(Matching):
    """A matching that knows what to do: the right column, if it is free."""

    def reference(self, x, y, state):
        return (
            y[len(state)] if y[len(state)] not in state else self.actions(x, state)[0]
        )


def test_an_exhaustive_beam_of_raw_scores_is_the_best_matching():
    """Forced steps count: the last row of a matching has one column left."""
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(20, 5, 5)))
    ways = list(itertools.permutations(range(5)))
    best = [max(ways, key=lambda way: x[range(5), way].sum()) for x in X]
    options = {"beam": len(ways), "beam_scores": "raw"}
    searn = Searn(GuidedMatching(), "perceptron", iterations=1, beta=1.0, **options)
    searn.fit(X, best)
    (weight,) = set(searn.policy_.learned[0].scorer.weights) - {0.0}
    assert weight > 0
    assert searn.predict(X) == best
