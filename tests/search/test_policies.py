"""Mixtures of policies, what their actions cost, and search by them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import search_oracle as oracle
from argmetric.search import (
    LinearLearner,
    Mixture,
    QueueTask,
    Searn,
    SequenceLabelling,
)
from searn_tasks import Faint, Fixed, Given, Matching, TwoLetters, words

VOWELS = ["banana", "onion", "order", "yes", "bread"]
CV = ["cvcvcv", "vcvvc", "vccvc", "cvc", "ccvvc"]


@given(st.lists(st.sampled_from([1, 1.0, 0.25, 0.5, 0.75]), min_size=1, max_size=6))
def test_shares_of_a_mixture_are_products_of_betas(betas):
    """Π (1 - β_j) for the first policy, β_i Π_{j>i} (1 - β_j) for the others."""
    task = SequenceLabelling("ab")
    first, *parts = (Fixed(task, lambda one: 0) for _ in [None, *betas])
    mixture = Mixture(first)
    for part, beta in zip(parts, betas, strict=True):
        mixture = mixture.interpolate(part, beta)
    left = math.prod(1 - beta for beta in betas)
    shares = [b * math.prod(1 - c for c in betas[i + 1 :]) for i, b in enumerate(betas)]
    assert mixture.initial_weight == left
    # Policies without a share are dropped
    expected = [pair for pair in zip(parts, shares, strict=True) if pair[1]]
    assert list(zip(mixture.learned, mixture.weights[1:], strict=True)) == expected
    alone = mixture.without_initial()
    assert alone.learned == tuple(part for part, _ in expected)
    assert alone.weights.tolist() == [share / (1 - left) for _, share in expected]


def test_weights_of_nought_are_never_drawn():
    task = SequenceLabelling("ab")
    first, *parts = (Fixed(task, lambda one, a=a: a) for a in (0, 0, 1))
    mixture = Mixture(first, tuple(parts), (1.0, 0.5))
    assert mixture.weights.tolist() == [0.0, 0.5, 0.5]
    edges = np.array([0.0, 0.5, np.nextafter(1, 0)])
    assert mixture.component_numbers(edges).tolist() == [1, 2, 2]
    sure = Mixture(None, tuple(parts), (0.5, 1.0))
    assert sure.component_numbers(edges).tolist() == [1, 1, 1]
    assert sure.deterministic
    with pytest.raises(ValueError, match="nothing left"):
        Mixture(None, tuple(parts), (0.0, 0.0))


def decided_by(policy, **options):
    """A Searn whose policy is this one."""
    task = policy.task
    searn = Searn(task, iterations=1, **options).fit(["x"], [task.labels[0]])
    searn.policy_ = policy
    return searn


def test_components_are_drawn_anew_at_every_decision():
    task = SequenceLabelling("abc")
    parts = tuple(Fixed(task, lambda one, a=a: a) for a in range(3))
    mixture = Mixture(None, parts, (0.5, 0.4, 0.25))
    searn = decided_by(mixture, random_state=3)
    outputs = searn.predict(["." * 12] * 2000)
    table = np.array([["abc".index(label) for label in one] for one in outputs])
    shares = np.bincount(table.ravel(), minlength=3) / table.size
    # four standard errors
    assert np.abs(shares - mixture.weights).max() < 4 * 0.5 / math.sqrt(table.size)
    assert [part.asked for part in parts] == np.bincount(table.ravel()).tolist()
    # neighboring decisions are independent
    both = np.mean((table[:, 1:] == 0) & (table[:, :-1] == 0))
    assert both == pytest.approx(mixture.weights[0] ** 2, abs=0.01)
    # and do not depend on company
    X = ["." * n for n in (3, 0, 7, 5)]
    assert [searn.predict(X[:n])[-1] for n in (1, 2, 3, 4)] == searn.predict(X)


def test_the_mean_of_policies_decides_by_probabilities():
    task = SequenceLabelling("abc")
    parts = tuple(Fixed(task, lambda one, a=a: a) for a in range(3))
    mixture = Mixture(None, parts, (1.0, 0.3, 0.4))  # 0.42, 0.18 and 0.4
    for beam in (1, 3):
        searn = decided_by(mixture, prediction="mean", beam=beam)
        assert searn.predict(["." * 9] * 5) == [("a",) * 9] * 5


class Losses(TwoLetters):
    """Words of letters from a beginning on, with any loss: y maps outputs to losses.

    `chosen` says what is preferred behind each beginning.
    """

    def __init__(self, letters, length, chosen):
        self.letters, self.length, self.chosen = letters, length, chosen

    def start(self, x):
        return x

    def actions(self, x, state):
        return self.letters if len(state) < self.length else ""

    def action_features(self, x, state, action):
        return [("own", float(self.chosen[state] == action))]

    def loss(self, y, output):
        return y[output]

    def estimate(self, x, y, state):
        return min(v for word, v in y.items() if word.startswith(state))


def test_rollouts_estimate_the_costs_of_the_policy():
    rng = np.random.default_rng(1)
    chosen = {p: "ab"[rng.integers(2)] for n in range(3) for p in words("ab", n)}
    task = Losses("ab", 3, chosen)
    y = {word: rng.random() for word in words("ab", 3)}

    def probabilities(state):
        best = min("ab", key=lambda a: task.estimate("", y, state + a))
        return [0.6 * (chosen[state] == a) + 0.4 * (best == a) for a in "ab"]

    X, learner = ["", "b", "ba"], Given()
    options = {"costs": "rollout", "n_rollouts": 4000}
    Searn(task, learner, beta=0.6, iterations=2, **options).fit(X, [y] * 3)
    (_, first), (_, second) = learner.seen
    for i, state in enumerate(X):
        for a, action in enumerate("ab"):
            # the initial policy alone leaves nothing to probability
            least = task.estimate("", y, state + action)
            assert first[2 * i + a] == pytest.approx(least, rel=1e-12)
            exact = oracle.policy_value(task, "", y, state + action, probabilities)
            assert second[2 * i + a] == pytest.approx(exact, abs=0.02)
    assert second[4:6] == pytest.approx([y["baa"], y["bab"]], rel=1e-12)


class Twins(SequenceLabelling):
    """The labels a and b mean the same, and are preferred."""

    def step(self, x, state, action):
        return (*state, "a" if action == "b" else action)

    def action_features(self, x, state, action):
        return [("own", float(action == "a"))]


@pytest.mark.parametrize("costs", ["tied", "rollout"])
def test_tied_samples_differ_by_the_action_alone(costs):
    found = []
    for seed in range(12):
        learner = Given()
        options = {"costs": costs, "n_rollouts": 1, "random_state": seed}
        searn = Searn(Twins("abc"), learner, beta=0.5, iterations=2, **options)
        searn.fit(["." * 12], ["c" * 12])
        found.append(tuple(learner.seen[1][1][:3]))  # c by the labels, or a
    assert all(a == b for a, b, _ in found) == (costs == "tied")
    if costs == "tied":
        assert all(a - c == 1 for a, _, c in found)
    assert len(set(found)) > 3


@pytest.mark.parametrize("prediction", ["draw", "mean"])
def test_predictions_are_those_of_the_policy_that_was_learned(prediction):
    task = SequenceLabelling("cv")
    searn = Searn(task, Faint(), beta=1.0, iterations=2, prediction=prediction)
    assert searn.fit(VOWELS, CV).score(VOWELS, CV) == 1
    assert searn.history_[1].roll_in_loss == 0


@pytest.mark.parametrize("prediction", ["draw", "mean"])
def test_a_wide_beam_finds_the_best_matching(prediction):
    """Columns are taken once each: all paths have the same biases in sum."""
    X = np.random.default_rng(0).normal(size=(120, 5, 5)).tolist()
    Y = [
        max(
            itertools.permutations(range(5)),
            key=lambda columns: sum(row[c] for row, c in zip(x, columns, strict=True)),
        )
        for x in X
    ]
    options = {"beam": 120, "beam_scores": "raw", "prediction": prediction}
    searn = Searn(Matching(), beta=1.0, iterations=1, **options).fit(X[:20], Y[:20])
    assert searn.predict(X[20:]) == Y[20:]


class Garden(TwoLetters):
    """The first letter is told by the last one, which only then can be seen."""

    def features(self, x, state):
        return [f"{len(state)}{x[len(state)]}{state}"]

    def loss(self, y, output):
        return float(y != output)


def test_training_for_the_beam_keeps_both_ways_open():
    X, Y = ["?a", "?b"] * 5, ["aa", "bb"] * 5
    greedy = Searn(Garden(), beta=1.0, iterations=3).fit(X, Y)
    assert np.mean([a != b for a, b in zip(greedy.predict(X), Y, strict=True)]) == 0.5
    options = {"beta": 0.5, "iterations": 6, "prediction": "mean"}
    beam = Searn(Garden(), beam=2, train_beam=True, **options).fit(X, Y)
    assert beam.predict(X) == Y
    queue = Searn(QueueTask(Garden(), 2), **options).fit(X, Y)
    assert queue.predict(X) == Y


def test_a_queue_of_one_learns_what_greedy_search_learns():
    X, Y = ["xyzzy", "zyx", "yyx"], ["abcba", "cca", "bab"]
    task = SequenceLabelling("abc")
    plain, queue = (
        Searn(one, LinearLearner(), beta=0.5, iterations=3).fit(X, Y)
        for one in (task, QueueTask(task, 1))
    )
    for a, b in zip(plain.history_, queue.history_, strict=True):
        assert (a.examples, a.regret, a.roll_in_loss) == pytest.approx(
            (b.examples, b.regret, b.roll_in_loss)
        )
    test = ["xyz", "zzz", "yx"]
    assert queue.predict(test) == plain.predict(test)
