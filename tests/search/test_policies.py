"""Mixtures of policies, what their actions cost, and search by them."""

import itertools
import math
from fractions import Fraction

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
    Task,
)
from argmetric.search._searn._beams import beam_search
from argmetric.search._searn._decisions import Situation
from argmetric.search._searn._iterate import rollout_costs
from argmetric.search._searn._policy import (
    draw,
    make_keys,
    mixture_weights,
    run,
    start_walks,
    without_first,
)
from argmetric.search._searn._reference import InitialPolicy
from searn_tasks import Faint, Fixed, words

fractions = st.fractions(0, 1)


@given(st.lists(fractions, min_size=1, max_size=6))
def test_weights_of_a_mixture_are_exact(betas):
    weights = mixture_weights(betas)
    assert sum(weights) == 1
    assert weights[0] == math.prod(1 - b for b in betas)
    for i, beta in enumerate(betas):
        assert weights[i + 1] == beta * math.prod(1 - b for b in betas[i + 1 :])


@given(st.lists(fractions, min_size=1, max_size=6))
def test_removal_of_the_initial_policy_is_exact(betas):
    weights = mixture_weights(betas)
    left = math.prod(1 - b for b in betas)
    if left == 1:
        with pytest.raises(ValueError, match="nothing left"):
            without_first(weights)
        return
    assert without_first(weights) == [w / (1 - left) for w in weights[1:]]
    assert sum(without_first(weights)) == 1


def test_constant_shares_after_removal():
    b, n = Fraction(1, 10), 7
    expected = [b * (1 - b) ** (n - i) / (1 - (1 - b) ** n) for i in range(1, n + 1)]
    assert without_first(mixture_weights([b] * n)) == expected


def test_components_are_drawn_anew_at_every_decision():
    task = SequenceLabelling("abc")
    x = "." * 12
    parts = [Fixed(task, lambda one, a=a: a) for a in range(3)]
    mixture = Mixture(None, tuple(parts), (0.5, 0.4, 0.25))
    n = 2000
    walks = start_walks(task, [x] * n)
    outputs = run(task, mixture, walks, make_keys(3, np.arange(n)))
    table = np.array([["abc".index(label) for label in one] for one in outputs])
    shares = np.bincount(table.ravel(), minlength=3) / table.size
    # four standard errors
    assert np.abs(shares - mixture.weights).max() < 4 * 0.5 / math.sqrt(table.size)
    assert [part.asked for part in parts] == np.bincount(table.ravel()).tolist()
    # neighboring decisions are independent
    both = np.mean((table[:, 1:] == 0) & (table[:, :-1] == 0))
    assert both == pytest.approx(mixture.weights[0] ** 2, abs=0.01)


def test_draws_do_not_depend_on_company():
    task = SequenceLabelling("abc")
    parts = tuple(Fixed(task, lambda one, a=a: a) for a in range(3))
    mixture = Mixture(None, parts, (0.5, 0.5, 0.5))
    X = ["." * n for n in (3, 0, 7, 5)]
    keys = make_keys(0, np.arange(4))
    together = run(task, mixture, start_walks(task, X), keys)
    alone = [
        run(task, mixture, [walk], keys[[i]])[0]
        for i, walk in enumerate(start_walks(task, X))
    ]
    assert together == alone
    draws = draw(make_keys(1, np.arange(20000)), np.full(20000, 3))
    assert draws.min() >= 0
    assert draws.max() < 1
    assert draws.mean() == pytest.approx(0.5, abs=0.01)
    assert len(np.unique(draws)) == draws.size


def test_weights_of_nought_are_never_drawn():
    task = SequenceLabelling("ab")
    parts = (Fixed(task, lambda one: 0), Fixed(task, lambda one: 1))
    mixture = Mixture(InitialPolicy(task), parts, (1.0, 0.5))
    assert mixture.weights.tolist() == [0.0, 0.5, 0.5]
    edges = np.array([0.0, 0.5, np.nextafter(1, 0)])
    assert mixture.drawn(edges).tolist() == [1, 2, 2]
    assert Mixture(None, parts, (0.5, 1.0)).drawn(edges).tolist() == [1, 1, 1]
    assert Mixture(None, parts, (0.5, 1.0)).deterministic


@given(st.lists(st.sampled_from([1, 1.0, 0.25, 0.5, 0.75]), min_size=1, max_size=6))
def test_policies_without_a_share_are_dropped(betas):
    task = SequenceLabelling("ab")
    parts = [Fixed(task, lambda one: 0) for _ in betas]
    mixture = Mixture(InitialPolicy(task))
    for part, beta in zip(parts, betas, strict=True):
        mixture = mixture.interpolate(part, beta)
    weights = mixture_weights(betas)
    assert mixture.initial_weight == weights[0]
    pairs = list(zip(mixture.learned, mixture.weights[1:], strict=True))
    assert pairs == [(p, w) for p, w in zip(parts, weights[1:], strict=True) if w]
    rest = without_first(weights)
    left = [(p, w) for p, w in zip(parts, rest, strict=True) if w]
    alone = mixture.without_initial()
    assert list(zip(alone.learned, alone.weights, strict=True)) == left


class Losses(Task):
    """Words of T letters with any loss at all: y maps outputs to losses."""

    def __init__(self, letters, length):
        self.letters = letters
        self.length = length

    def start(self, x):
        return ""

    def actions(self, x, state):
        return self.letters if len(state) < self.length else ""

    def step(self, x, state, action):
        return state + action

    def features(self, x, state):
        return [f"at {state}"]

    def output(self, x, state):
        return state

    def loss(self, y, output):
        return y[output]

    def estimate(self, x, y, state):
        least = [v for word, v in y.items() if word.startswith(state)]
        return min(least)


def random_policy(rng, letters, length, sharp):
    """Probabilities of letters for every prefix."""
    prefixes = [word for n in range(length) for word in words(letters, n)]
    return {p: rng.dirichlet(np.full(len(letters), sharp)) for p in prefixes}


def reach(policy, letters, prefix):
    """Probability that a policy comes past a prefix."""
    chances = (policy[prefix[:i]][letters.index(c)] for i, c in enumerate(prefix))
    return math.prod(chances)


@pytest.mark.parametrize("seed", range(6))
def test_lemma_1_bounds_one_interpolation(seed):
    """L(new) ≤ L(h) + T β ℓ + T² β² max c / 2, all expectations exact."""
    rng = np.random.default_rng(seed)
    letters, length = "abc"[: 2 + seed % 2], 3 + seed % 2
    task = Losses(letters, length)
    tightest = math.inf
    for _ in range(8):
        y = {w: rng.random() ** rng.integers(1, 6) for w in words(letters, length)}
        h = random_policy(rng, letters, length, rng.choice([0.05, 1.0]))
        new = random_policy(rng, letters, length, rng.choice([0.05, 1.0]))

        def value(state, policy, y=y):
            return oracle.policy_value(task, "", y, state, policy.__getitem__)

        regret = 0.0
        for prefix in h:
            costs = np.array([value(prefix + a, h) for a in letters])
            share = reach(h, letters, prefix) / length
            regret += share * (new[prefix] @ costs - costs.min())
        for beta in (0.01, 0.1, 0.9 / length):
            mixed = {p: beta * new[p] + (1 - beta) * h[p] for p in h}
            bound = (
                value("", h)
                + length * beta * regret
                + length**2 * beta**2 * max(y.values()) / 2
            )
            tightest = min(tightest, bound - value("", mixed))
    assert tightest >= 0
    assert tightest < 0.1  # the bound says something


def test_rollouts_estimate_the_costs_of_the_policy():
    rng = np.random.default_rng(1)
    task = Losses("ab", 3)
    y = {word: rng.random() for word in words("ab", 3)}
    chosen = {p: int(rng.integers(2)) for n in range(3) for p in words("ab", n)}
    learned = Fixed(task, lambda one: chosen[one.state])
    initial = InitialPolicy(task)
    mixture = Mixture(initial, (learned,), (0.6,))

    def chances(state):
        best = initial.best(Situation(0, "", y, state, ("a", "b")))
        return [0.6 * (chosen[state] == a) + 0.4 * (best == a) for a in range(2)]

    situations = [Situation(0, "", y, s, ("a", "b"), len(s)) for s in ("", "b", "ba")]
    found = rollout_costs(
        task, mixture, situations, n_rollouts=4000, tied=False, seed=5
    )
    for situation, costs in zip(situations, found, strict=True):
        for action, cost in zip("ab", costs, strict=True):
            child = situation.state + action
            exact = oracle.policy_value(task, "", y, child, chances)
            assert cost == pytest.approx(exact, abs=0.02)
    assert found[2] == pytest.approx([y["baa"], y["bab"]], rel=1e-12)
    # the initial policy alone leaves nothing to chance
    alone = rollout_costs(
        task, Mixture(initial), situations, n_rollouts=9, tied=False, seed=0
    )
    exact = [initial.costs(situation) for situation in situations]
    np.testing.assert_allclose(alone, exact, rtol=1e-12)


class Twins(SequenceLabelling):
    """The labels a and b mean the same."""

    def step(self, x, state, action):
        return (*state, "a" if action == "b" else action)


@pytest.mark.parametrize("tied", [True, False])
def test_tied_samples_differ_by_the_action_alone(tied):
    task = Twins("abc")
    x, y = "." * 30, "c" * 30
    parts = (Fixed(task, lambda one: 0), Fixed(task, lambda one: 2))
    mixture = Mixture(None, parts, (1.0, 0.5))
    situations = [Situation(0, x, y, (), ("a", "b", "c"))]
    found = [
        rollout_costs(task, mixture, situations, n_rollouts=1, tied=tied, seed=seed)
        for seed in range(20)
    ]
    same = [costs[0] == costs[1] for (costs,) in found]
    assert all(same) == tied
    if tied:
        assert all(costs[0] - costs[2] == 1 for (costs,) in found)
    assert len({tuple(costs) for (costs,) in found}) > 3


def score_policy(task, seed):
    """A learned policy with weights at random."""
    X, Y = ["xyzzy", "zyx", "yyx"], ["abcba", "cca", "bab"]
    learner = LinearLearner(epochs=1, step=0.05 + seed)
    return Searn(task, learner, beta=1.0, iterations=1).fit(X, Y).policy_


def test_a_beam_of_width_one_is_greedy():
    task = SequenceLabelling("abc")
    mixture = score_policy(task, 0)
    X = ["xyz", "", "zzzzzz", "x"]
    greedy = run(task, mixture, start_walks(task, X), make_keys(0, np.arange(4)))
    assert beam_search(mixture, X, width=1) == greedy
    assert beam_search(mixture, X, width=1, form="raw") == greedy


@pytest.mark.parametrize("prediction", ["draw", "mean"])
def test_predictions_are_those_of_the_policy_that_was_learned(prediction):
    X = ["banana", "onion", "order", "yes", "bread"]
    Y = ["cvcvcv", "vcvvc", "vccvc", "cvc", "ccvvc"]
    task = SequenceLabelling("cv")
    searn = Searn(task, Faint(), beta=1.0, iterations=2, prediction=prediction)
    assert searn.fit(X, Y).score(X, Y) == 1
    assert searn.history_[1].roll_in_loss == 0


@pytest.mark.parametrize("form", ["log", "raw"])
def test_a_wide_beam_finds_the_best_path_of_all(form):
    task = SequenceLabelling("abc")
    mixture = score_policy(task, 1)
    x = "xzyx"
    totals = {}
    for path in itertools.product("abc", repeat=4):
        total = 0.0
        for t, label in enumerate(path):
            one = Situation(0, x, None, path[:t], tuple("abc"))
            scores, _ = mixture.action_scores([one], None, form)
            total += scores["abc".index(label)]
        totals[path] = total
    best = max(totals, key=totals.__getitem__)
    assert beam_search(mixture, [x], width=81, form=form) == [best]
    found = [beam_search(mixture, [x], width=w, form=form)[0] for w in (1, 2, 4)]
    assert [totals[path] <= totals[best] for path in found] == [True] * 3


class Matching(Task):
    """Each row of a square takes a column of its own; the last one is forced."""

    def start(self, x):
        return ()

    def actions(self, x, state):
        return [column for column in range(len(x)) if column not in state]

    def step(self, x, state, action):
        return (*state, action)

    def action_features(self, x, state, action):
        return [("gain", x[len(state)][action])]

    def output(self, x, state):
        return state

    def loss(self, y, output):
        return sum(a != b for a, b in zip(y, output, strict=False))


def best_matching(x):
    return max(
        itertools.permutations(range(len(x))),
        key=lambda columns: sum(row[c] for row, c in zip(x, columns, strict=True)),
    )


@pytest.mark.parametrize("prediction", ["draw", "mean"])
def test_a_forced_step_has_its_raw_score(prediction):
    X = np.random.default_rng(0).normal(size=(120, 5, 5)).tolist()
    Y = [best_matching(x) for x in X]
    searn = Searn(
        Matching(),
        beta=1.0,
        iterations=1,
        beam=120,
        beam_scores="raw",
        prediction=prediction,
    ).fit(X[:20], Y[:20])
    # Columns are taken once each: all paths have the same biases in sum.
    assert searn.predict(X[20:]) == Y[20:]


class Garden(Task):
    """The first letter is told by the last one, which only then can be seen."""

    def start(self, x):
        return ""

    def actions(self, x, state):
        return "ab" if len(state) < 2 else ""

    def step(self, x, state, action):
        return state + action

    def features(self, x, state):
        return [f"{len(state)}{x[len(state)]}{state}"]

    def output(self, x, state):
        return state

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
    plain = Searn(task, beta=0.5, iterations=3).fit(X, Y)
    queue = Searn(QueueTask(task, 1), beta=0.5, iterations=3).fit(X, Y)
    for a, b in zip(plain.history_, queue.history_, strict=True):
        assert (a.examples, a.regret, a.roll_in_loss) == pytest.approx(
            (b.examples, b.regret, b.roll_in_loss)
        )
    test = ["xyz", "zzz", "yx"]
    assert queue.predict(test) == plain.predict(test)
