"""Cost-sensitive learners: kernels against twins, reductions against their bounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import search_oracle as oracle
from argmetric.search import AllPairs, Costing, LinearLearner, OneAgainstAll
from argmetric.search._searn._decisions import (
    Decisions,
    HashedRows,
    best_actions,
    cheapest_regrets,
)
from argmetric.search._searn._learners import flat, importance_scale, with_products
from argmetric.search._searn._reductions import (
    FeatureColumns,
    all_pairs_values,
    joint_rows,
    log_odds_of_zero,
    pairs_of,
)


def rows_of(lists):
    ends = np.cumsum([0, *map(len, lists)])
    flat_list = [pair for one in lists for pair in one]
    hashes = np.array([h for h, _ in flat_list], dtype=np.uint64)
    return HashedRows(ends, hashes, np.array([v for _, v in flat_list], dtype=float))


def decisions_of(examples):
    """Examples are (features, [(action, its features)], costs)."""
    ends = np.cumsum([0, *(len(example[1]) for example in examples)])
    actions = [action for example in examples for action in example[1]]
    decisions = Decisions(
        rows_of([example[0] for example in examples]),
        ends,
        np.array([code for code, _ in actions], dtype=np.uint64),
        rows_of([own for _, own in actions]),
    )
    return decisions, np.array([c for e in examples for c in e[2]], dtype=float)


def random_examples(rng, n, pairs, n_actions=4):
    examples = []
    for _ in range(n):
        features = [(int(h), rng.normal()) for h in rng.integers(0, 12, 3)]
        codes = rng.permutation(6)[: rng.integers(1, n_actions + 1)]
        own = [
            [(int(h) + 99, 1.0) for h in rng.integers(0, 5, 2 if pairs else 0)]
            for _ in codes
        ]
        costs = rng.integers(0, 3, len(codes)) / 2
        actions = [(int(c), o) for c, o in zip(codes, own, strict=True)]
        examples.append((features, actions, costs - costs.min()))
    return examples


class FixedOrders:
    def __init__(self, orders):
        self.orders = iter(orders)

    def permutation(self, n):
        return np.array(next(self.orders))


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    ("kind", "target"),
    [
        ("perceptron", "cheapest"),
        ("logistic", "cheapest"),
        ("logistic", "reward"),
        ("svm", "cheapest"),
    ],
)
def test_linear_learners_equal_their_twin(kind, target, pairs):
    rng = np.random.default_rng(3)
    examples = random_examples(rng, 40, pairs)
    decisions, costs = decisions_of(examples)
    orders = [rng.permutation(40) for _ in range(3)]
    scale = importance_scale(costs, decisions)
    expected = oracle.learn(examples, orders, 8, kind, target, 0.3, scale)
    learner = LinearLearner(kind, epochs=3, step=0.3, target=target, hash_bits=8)
    scorer = learner.fit(decisions, costs, FixedOrders(orders))
    dense = np.array([expected.get(i, 0.0) for i in range(256)])
    assert np.abs(dense).max() > 0.1
    np.testing.assert_allclose(scorer.weights, dense, rtol=1e-9, atol=1e-12)
    scores = [s for one in examples for s in oracle.action_scores(one, 8, expected)]
    np.testing.assert_allclose(scorer.scores(decisions), scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["logistic", "perceptron", "svm"])
def test_linear_learners_separate_what_can_be_separated(kind):
    rng = np.random.default_rng(0)
    examples = []
    for _ in range(200):
        x = rng.normal(size=3)
        best = int(np.argmax(x))
        costs = 0.01 * np.abs(np.arange(3) - best)
        features = [(i, x[i]) for i in range(3)]
        examples.append((features, [(a, []) for a in range(3)], costs))
    decisions, costs = decisions_of(examples)
    scorer = LinearLearner(kind, epochs=50).fit(decisions, costs, rng)
    choices = best_actions(scorer.scores(decisions), decisions.indptr)
    assert costs[decisions.indptr[:-1] + choices].mean() < 0.0005


def noisy_decisions():
    """One state: action 0 is right most often, action 1 is never bad."""
    cases = [(3, [0, 1, 9]), (2, [9, 1, 0])]
    examples = [
        ([(7, 1.0)], [(a, []) for a in range(3)], np.array(c, dtype=float))
        for n, c in cases
        for _ in range(n)
    ]
    return decisions_of(examples)


def test_reward_targets_find_the_least_expected_cost():
    decisions, costs = noisy_decisions()
    choices = {}
    for target in ("cheapest", "reward"):
        learner = LinearLearner(target=target, epochs=300)
        scorer = learner.fit(decisions, costs, np.random.default_rng(0))
        choices[target] = set(best_actions(scorer.scores(decisions), decisions.indptr))
    assert choices == {"cheapest": {0}, "reward": {1}}


def test_regression_finds_the_least_expected_cost():
    decisions, costs = noisy_decisions()
    for estimator in (LinearRegression(), DecisionTreeClassifier()):
        model = OneAgainstAll(estimator).fit(decisions, costs, np.random.default_rng(0))
        mean = costs.reshape(-1, 3).mean(axis=0)
        expected = -mean
        if isinstance(estimator, DecisionTreeClassifier):
            expected = np.log((9 - mean) / mean)
        scores = model.scores(decisions)
        np.testing.assert_allclose(scores, np.tile(expected, 5), atol=1e-12)


@pytest.mark.parametrize("pairs", [False, True])
def test_costs_three_times_as_large_count_as_three_decisions(pairs):
    """Importance, not a target of its own: small costs keep their contrast."""
    own = [[(50 + a, 1.0)] if pairs else [] for a in range(3)]
    actions = list(enumerate(own))

    def scores(cases):
        examples = [([(7, 1.0)], actions, costs) for costs in cases]
        model = OneAgainstAll(DecisionTreeClassifier()).fit(
            *decisions_of(examples), np.random.default_rng(0)
        )
        return model.scores(decisions_of(examples[:1])[0])

    small, other = [0.0, 0.1, 0.4], [0.3, 0.0, 0.1]
    large = [3 * cost for cost in small]
    thrice = scores([small, small, small, other])
    np.testing.assert_allclose(scores([large, other]), thrice, atol=1e-12)
    # E[c] / E[m], label 1 against the rest
    np.testing.assert_allclose(thrice, np.log([1.2 / 0.3, 1.2 / 0.3, 0.2 / 1.3]))


def test_small_regrets_are_learned_beside_large_ones():
    """SGD takes steps by single rows: costs near 0 beside the largest are noise."""
    rng = np.random.default_rng(0)
    examples = []
    for n in range(120):
        right = n % 3
        features = [(int(h), 1.0) for h in 10 * right + rng.permutation(10)[:6]]
        costs = np.full(3, 1.0 if n < 3 else 0.1)
        costs[(right + 1) % 3] /= 2
        costs[right] = 0.0
        examples.append((features, [(a, []) for a in range(3)], costs))
    decisions, costs = decisions_of(examples)
    sgd = SGDClassifier("log_loss", alpha=1e-5, max_iter=8, tol=None, random_state=0)
    model = OneAgainstAll(sgd).fit(decisions, costs, rng)
    choices = best_actions(model.scores(decisions), decisions.indptr)
    assert np.mean(costs[decisions.indptr[:-1] + choices] == 0) > 0.95


def test_log_odds_tell_sure_chances_apart():
    chances = np.array([0.0, 1e-20, 1e-17, 0.25, 0.5, 1.0])
    odds = log_odds_of_zero(chances)
    assert np.isfinite(odds).all()
    assert (np.diff(odds) < 0).all()
    expected = [20 * np.log(10), 17 * np.log(10), np.log(3), 0.0]
    np.testing.assert_allclose(odds[1:5], expected, atol=1e-12)


costs_lists = st.lists(st.integers(0, 6), min_size=1, max_size=6)


@given(st.lists(costs_lists, max_size=5))
def test_all_pairs_values_are_the_integral(lists):
    indptr = np.cumsum([0, *map(len, lists)])
    costs = np.array([c for one in lists for c in one], dtype=float)
    expected = [float(v) for one in lists for v in oracle.pair_values(one)]
    np.testing.assert_allclose(
        all_pairs_values(costs, indptr), expected, atol=1e-12, rtol=0
    )


def test_regret_is_at_most_twice_the_importance_of_wrong_pairs():
    """All tournaments on up to four actions, ties of wins broken as badly as can be."""
    largest = Fraction(0)
    vectors = {
        2: [(0, 1)],
        3: [(0, a, b) for a in range(3) for b in range(a, 4)],
        4: [(0, a, b, c) for a in range(2) for b in range(a, 3) for c in range(b, 4)],
    }
    for k, lists in vectors.items():
        pairs = list(itertools.combinations(range(k), 2))
        for costs in lists:
            values = all_pairs_values(np.array(costs, dtype=float), np.array([0, k]))
            for winners in itertools.product((0, 1), repeat=len(pairs)):
                wins, wrong = [0] * k, 0.0
                for (i, j), second in zip(pairs, winners, strict=True):
                    winner, loser = (j, i) if second else (i, j)
                    wins[winner] += 1
                    wrong += max(0.0, values[winner] - values[loser])
                regret = max(costs[a] for a in range(k) if wins[a] == max(wins))
                assert regret <= 2 * wrong + 1e-12
                if wrong:
                    largest = max(largest, regret / wrong)
    assert largest == pytest.approx(2.0)


class Recorder(DecisionTreeClassifier):
    fits: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.fits.append((X.toarray(), np.asarray(y), np.asarray(sample_weight)))
        return super().fit(X, y, sample_weight=sample_weight)


def test_all_pairs_hands_over_importances():
    examples = [
        ([(5, 1.0)], [(0, []), (1, []), (2, [])], [0.0, 1.0, 3.0]),
        ([(6, 1.0)], [(0, []), (1, [])], [2.0, 0.0]),
        ([(8, 1.0)], [(1, [])], [0.0]),
    ]
    decisions, costs = decisions_of(examples)
    Recorder.fits.clear()
    model = AllPairs(Recorder()).fit(decisions, costs, None)
    # v = (0, 1, 2) in the first example, (2, 0) in the second
    assert len(Recorder.fits) == 1  # other pairs have one label only
    _, labels, weights = Recorder.fits[0]
    assert labels.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(weights, np.array([1, 2]) / 1.5)
    assert model.scores(decisions).tolist() == [2, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    "learner",
    [
        AllPairs(DecisionTreeClassifier(random_state=0)),
        OneAgainstAll(DecisionTreeRegressor(random_state=0)),
        OneAgainstAll(DecisionTreeClassifier(random_state=0)),
        AllPairs(Costing(KNeighborsClassifier(1), n_draws=40)),
    ],
    ids=["pairs", "regression", "probabilities", "costing"],
)
def test_reductions_to_learners_by_heart_make_no_mistakes(learner, pairs):
    rng = np.random.default_rng(2)
    examples = random_examples(rng, 40, pairs)
    decisions, costs = decisions_of(examples)
    model = learner.fit(decisions, costs, rng)
    choices = best_actions(model.scores(decisions), decisions.indptr)
    assert cheapest_regrets(costs, decisions.indptr).mean() > 0.2
    chosen = costs[decisions.indptr[:-1] + choices]
    assert chosen.mean() <= (0.1 if isinstance(learner.estimator, Costing) else 0.0)


def test_learners_without_weights_are_refused_with_a_way_out():
    decisions, costs = noisy_decisions()
    with pytest.raises(TypeError, match=r"wrap it in Costing\(\)"):
        AllPairs(KNeighborsClassifier()).fit(decisions, costs, None)


def test_reductions_of_nothing_and_of_one_action():
    nothing, no_costs = decisions_of([])
    one, costs = decisions_of([([(1, 1.0)], [(0, [])], [0.0])])
    for learner in (
        LinearLearner(),
        AllPairs(LogisticRegression()),
        OneAgainstAll(LinearRegression()),
    ):
        rng = np.random.default_rng(0)
        model = learner.fit(nothing, no_costs, rng)
        assert model.scores(nothing).size == 0
        assert best_actions(model.scores(one), one.indptr).tolist() == [0]
        assert learner.fit(one, costs, rng).scores(one).shape == (1,)


def test_unknown_actions_and_features_at_prediction():
    decisions, costs = noisy_decisions()
    other, _ = decisions_of([([(1234, 1.0)], [(77, []), (0, [])], [0, 0])])
    for learner in (AllPairs(LogisticRegression()), OneAgainstAll(LinearRegression())):
        model = learner.fit(decisions, costs, np.random.default_rng(0))
        scores = model.scores(other)
        assert scores.shape == (2,)
        assert scores[0] <= scores[1]


def test_costing_keeps_rows_in_proportion_to_their_weight():
    X, y = np.eye(3), np.array([0.0, 1.0, 1.0])
    seen = []

    class Count(DummyClassifier):
        def fit(self, X, y):
            seen.append(X.argmax(axis=1))
            return super().fit(X, y)

    costing = Costing(Count(), n_draws=2000, random_state=1)
    costing.fit(X, y, sample_weight=[4.0, 1.0, 2.0])
    # Row 0, of greatest weight, is always kept; alone it makes a constant
    n_fits = len(seen)
    assert n_fits / 2000 == pytest.approx(1 - 0.75 * 0.5, abs=0.03)
    kept = np.bincount(np.concatenate(seen), minlength=3) / 2000
    assert kept[1:] == pytest.approx([0.25, 0.5], abs=0.03)
    proba = costing.predict_proba(X)
    assert proba.shape == (3, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="positive sample_weight"):
        Costing(Perceptron()).fit(X, y, sample_weight=np.zeros(3))


def test_costing_identity():
    """E[w 1(wrong)] = E[w] P(wrong | kept), for every classifier."""
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 9, 6).tolist()
    total = sum(weights)
    for wrong in itertools.product((0, 1), repeat=6):
        kept = [Fraction(w, max(weights)) for w in weights]
        chance = sum(a * b for a, b in zip(kept, wrong, strict=True)) / sum(kept)
        assert chance * total == sum(w * e for w, e in zip(weights, wrong, strict=True))


def test_products_of_features():
    rows = rows_of([[(3, 1.0), (4, 2.0)], [], [(3, 0.5)]])
    found = with_products(rows)
    assert np.diff(found.indptr).tolist() == [4, 0, 2]
    assert found.values.tolist() == [1, 2, 2, 4, 0.5, 0.25]
    expected = [3, 4, oracle.scattered(7), oracle.scattered(8), 3, oracle.scattered(6)]
    assert found.hashes.tolist() == expected
    swapped = with_products(rows_of([[(4, 2.0), (3, 1.0)]]))
    one = dict(zip(found.hashes[:4].tolist(), found.values[:4], strict=True))
    assert one == dict(zip(swapped.hashes.tolist(), swapped.values, strict=True))


@pytest.mark.parametrize("quadratic", [False, True])
def test_quadratic_features_learn_exclusive_or(quadratic):
    examples = []
    for a, b in itertools.product((0, 1), repeat=2):
        features = [(10 + a, 1.0), (20 + b, 1.0)]
        right = a ^ b
        examples.append((features, [(0, []), (1, [])], [float(right), 1.0 - right]))
    decisions, costs = decisions_of(examples)
    wrong = {}
    for learner in (
        LinearLearner(epochs=100, quadratic=quadratic),
        AllPairs(LogisticRegression(C=100.0), quadratic=quadratic),
        OneAgainstAll(LinearRegression(), quadratic=quadratic),
    ):
        model = learner.fit(decisions, costs, np.random.default_rng(0))
        choices = best_actions(model.scores(decisions), decisions.indptr)
        wrong[type(learner)] = costs[decisions.indptr[:-1] + choices].sum()
    if quadratic:
        assert set(wrong.values()) == {0.0}
    else:
        assert min(wrong.values()) >= 1


def test_joint_rows_and_matrices():
    examples = [([(3, 2.0)], [(1, [(50, 1.0)]), (2, [])], [0, 1])]
    decisions, _ = decisions_of(examples)
    joint = joint_rows(decisions)
    golden = 0x9E3779B97F4A7C15
    code = [oracle.scattered((3 + a * golden) & oracle.MASK) for a in (1, 2)]
    assert joint.hashes.tolist() == [code[0], oracle.scattered(50), code[1]]
    assert joint.values.tolist() == [2, 1, 2]
    assert joint.indptr.tolist() == [0, 2, 3]
    matrix = FeatureColumns.of(rows_of([[(5, 1.0)], [(9, 1.0)]])).matrix(
        rows_of([[(9, 2.0), (7, 1.0), (9, 1.0)], []])
    )
    assert matrix.toarray().tolist() == [[0, 3], [0, 0]]
    assert len(flat(decisions)) == 8


def test_parts_of_decisions():
    rng = np.random.default_rng(1)
    examples = random_examples(rng, 12, True)
    decisions, _ = decisions_of(examples)
    picks = np.array([7, 2, 2, 11])
    part = decisions.take(picks)
    expected, _ = decisions_of([examples[i] for i in picks])
    for a, b in zip(flat(part), flat(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    i, j = pairs_of(decisions.indptr)
    found = {(int(a), int(b)) for a, b in zip(i, j, strict=True)}
    every = [range(a, b) for a, b in itertools.pairwise(decisions.indptr)]
    assert found == {p for one in every for p in itertools.combinations(one, 2)}


def test_options_are_checked():
    for options, words in [
        ({"kind": "forest"}, "kind must be one of"),
        ({"target": "none"}, "target must be one of"),
        ({"epochs": 0}, "epochs"),
        ({"step": 0.0}, "step"),
        ({"hash_bits": 40}, "hash_bits"),
    ]:
        with pytest.raises(ValueError, match=words):
            LinearLearner(**options)


def test_what_cannot_be_trained_is_refused():
    X = np.array([[0.0], [1.0]])
    for wrong in (None, "svm", LogisticRegression):
        with pytest.raises(TypeError, match="estimator must be a classifier or regr"):
            Costing(wrong).fit(X, [0, 1])
    with pytest.raises(ValueError, match="n_draws must be a whole number from 1 to"):
        Costing(LogisticRegression(), n_draws=10**12).fit(X, [0, 1])
    with pytest.raises(ValueError, match="sample_weight is -1 at row 1"):
        Costing(LogisticRegression()).fit(X, [0, 1], [1, -1])
    with pytest.raises(ValueError, match=r"y has shape \(3,\) but X has 2 rows"):
        Costing(LogisticRegression()).fit(X, [0, 1, 1])
