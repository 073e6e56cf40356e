"""Cost-sensitive learners: kernels against twins, reductions against their bounds."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import search_oracle as oracle
from argmetric.search import AllPairs, Costing, LinearLearner, OneAgainstAll
from searn_tasks import decisions_of


def chosen_costs(scores, decisions, costs):
    """The cost of the action of greatest score, for each decision."""
    parts = (np.split(one, decisions.indptr[1:-1]) for one in (scores, costs))
    return np.array([own[np.argmax(score)] for score, own in zip(*parts, strict=True)])


def hashed(decisions, costs):
    """Examples of the twin: features and actions by their hashes."""

    def row(rows, i):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        pairs = zip(rows.hashes[part].tolist(), rows.values[part], strict=True)
        return list(pairs)

    found = []
    for i, (a, b) in enumerate(itertools.pairwise(decisions.indptr.tolist())):
        actions = [
            (int(decisions.codes[k]), row(decisions.pairs, k)) for k in range(a, b)
        ]
        found.append((row(decisions.states, i), actions, costs[a:b]))
    return found


def random_examples(rng, n, pairs, n_actions=4):
    examples = []
    for _ in range(n):
        features = [(int(h), rng.normal()) for h in rng.integers(0, 12, 3)]
        codes = rng.permutation(6)[: rng.integers(2, n_actions + 1)]
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


def with_products(features):
    """Features and products of two of them, each with itself too."""
    more = []
    for i, (h, v) in enumerate(features):
        for g, w in features[i + (v in (0.0, 1.0)) :]:  # which are their own squares
            more.append((oracle.scattered((h + g) & oracle.MASK), v * w))
    return [*features, *more]


def check_twin(decisions, costs, examples, kind, target, **options):
    rng = np.random.default_rng(3)
    orders = [rng.permutation(len(examples)) for _ in range(3)]
    regrets = [one[2] - one[2].min() for one in examples]
    top = np.mean([one.max() for one in regrets if one.max() > 0])
    examples = [(*one[:2], own) for one, own in zip(examples, regrets, strict=True)]
    expected = oracle.learn(examples, orders, 8, kind, target, 0.3, 1 / top)
    learner = LinearLearner(
        kind, epochs=3, step=0.3, target=target, hash_bits=8, **options
    )
    scorer = learner.fit(decisions, costs, FixedOrders(orders))
    dense = np.array([expected.get(i, 0.0) for i in range(256)])
    assert np.abs(dense).max() > 0.1
    np.testing.assert_allclose(scorer.weights, dense, rtol=1e-9, atol=1e-12)
    scores = [s for one in examples for s in oracle.action_scores(one, 8, expected)]
    np.testing.assert_allclose(scorer.scores(decisions), scores, rtol=1e-9, atol=1e-12)


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
    decisions, costs = decisions_of(random_examples(rng, 40, pairs))
    check_twin(decisions, costs, hashed(decisions, costs), kind, target)


def test_products_of_features():
    rng = np.random.default_rng(4)
    decisions, costs = decisions_of(random_examples(rng, 40, True))
    examples = [
        (with_products(features), [(a, with_products(own)) for a, own in actions], own)
        for features, actions, own in hashed(decisions, costs)
    ]
    check_twin(decisions, costs, examples, "logistic", "cheapest", quadratic=True)


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
    assert chosen_costs(scorer.scores(decisions), decisions, costs).mean() < 0.0005


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
    for target, mean in (("cheapest", 3.6), ("reward", 1.0)):
        learner = LinearLearner(target=target, epochs=300)
        scorer = learner.fit(decisions, costs, np.random.default_rng(0))
        assert chosen_costs(scorer.scores(decisions), decisions, costs).mean() == mean


def test_regression_finds_the_least_expected_cost():
    decisions, costs = noisy_decisions()
    mean = costs.reshape(-1, 3).mean(axis=0)
    for estimator, expected in (
        (Ridge(), -mean),
        (DecisionTreeClassifier(), np.log((9 - mean) / mean)),
    ):
        model = OneAgainstAll(estimator).fit(decisions, costs, np.random.default_rng(0))
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
    chosen = chosen_costs(model.scores(decisions), decisions, costs)
    assert np.mean(chosen == 0) > 0.95


class Product(DummyClassifier):
    """The probability of the second class is the product of all features."""

    def predict_proba(self, X):
        probability = X.toarray().prod(axis=1)
        return np.column_stack([1 - probability, probability])


def test_log_odds_tell_sure_probabilities_apart():
    probabilities = [0.0, 1e-20, 1e-17, 0.25, 0.5, 1.0]
    rows = [([("p", p)], [(0, []), (1, [])], [0.0, 1.0]) for p in probabilities]
    rows += [(*row[:2], [1.0, 0.0]) for row in rows]
    decisions, costs = decisions_of(rows)
    model = OneAgainstAll(Product()).fit(decisions, costs, np.random.default_rng(0))
    odds = model.scores(decisions)[:12:2]
    assert np.isfinite(odds).all()
    assert (np.diff(odds) < 0).all()
    expected = [20 * np.log(10), 17 * np.log(10), np.log(3), 0.0]
    np.testing.assert_allclose(odds[1:5], expected, atol=1e-12)


class Recorder(DecisionTreeClassifier):
    fits: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.fits.append((np.asarray(y), np.asarray(sample_weight)))
        return super().fit(X, y, sample_weight=sample_weight)


COSTS = st.integers(2, 4).flatmap(
    lambda k: st.tuples(*[st.lists(st.integers(0, 6), min_size=k, max_size=k)] * 2)
)


@given(COSTS)
def test_importances_of_pairs_are_differences_of_the_integral(costs):
    """v_i = ∫ dt / |{j : c_j ≤ t}|; nothing is fitted where one is never cheaper."""
    k = len(costs[0])
    actions = [(a, []) for a in range(k)]
    decisions, flat = decisions_of(
        [([(n, 1.0)], actions, c) for n, c in enumerate(costs)]
    )
    values = [oracle.pair_values(one) for one in costs]
    Recorder.fits.clear()
    model = AllPairs(Recorder()).fit(decisions, flat, None)
    expected = []
    for i, j in itertools.combinations(range(k), 2):
        gaps = [float(v[i] - v[j]) for v in values]
        if min(gaps) < 0 < max(gaps):
            expected.append(sorted(np.abs(gaps) / np.mean(np.abs(gaps))))
    found = [sorted(weights) for labels, weights in Recorder.fits]
    assert all(sorted(labels) == [0.0, 1.0] for labels, _ in Recorder.fits)
    np.testing.assert_allclose(sorted(found), sorted(expected), rtol=1e-12)
    assert (chosen_costs(model.scores(decisions), decisions, flat) <= [6, 6]).all()


def test_all_pairs_counts_wins():
    examples = [
        ([(5, 1.0)], [(0, []), (1, []), (2, [])], [0.0, 1.0, 3.0]),
        ([(6, 1.0)], [(0, []), (1, [])], [2.0, 0.0]),
    ]
    decisions, costs = decisions_of(examples)
    model = AllPairs(DecisionTreeClassifier()).fit(decisions, costs, None)
    assert model.scores(decisions).tolist() == [2, 1, 0, 0, 1]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize(
    "learner",
    [
        AllPairs(DecisionTreeClassifier(random_state=0)),
        OneAgainstAll(DecisionTreeRegressor(random_state=0)),
        OneAgainstAll(DecisionTreeClassifier(random_state=0)),
        AllPairs(Costing(KNeighborsClassifier(1), n_draws=60)),
    ],
    ids=["pairs", "regression", "probabilities", "costing"],
)
def test_reductions_to_learners_by_heart_make_no_mistakes(learner, pairs):
    rng = np.random.default_rng(2)
    decisions, costs = decisions_of(random_examples(rng, 40, pairs))
    scores = learner.fit(decisions, costs, rng).scores(decisions)
    assert costs.mean() > 0.2
    chosen = chosen_costs(scores, decisions, costs)
    assert chosen.mean() <= (0.1 if isinstance(learner.estimator, Costing) else 0.0)


def test_unknown_actions_and_features_at_prediction():
    decisions, costs = noisy_decisions()
    other, _ = decisions_of([([(1234, 1.0)], [(77, []), (0, [])], [0, 0])])
    for learner in (AllPairs(LogisticRegression()), OneAgainstAll(LinearRegression())):
        scores = learner.fit(decisions, costs, np.random.default_rng(0)).scores(other)
        assert scores[0] <= scores[1]


def test_reductions_of_nothing():
    nothing, no_costs = decisions_of([])
    one, costs = noisy_decisions()
    for learner in (
        LinearLearner(),
        AllPairs(LogisticRegression()),
        OneAgainstAll(LinearRegression()),
    ):
        rng = np.random.default_rng(0)
        model = learner.fit(nothing, no_costs, rng)
        assert model.scores(nothing).size == 0
        assert model.scores(one).shape == costs.shape
    with pytest.raises(TypeError, match=r"wrap it in Costing\(\)"):
        AllPairs(KNeighborsClassifier()).fit(one, costs, None)


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


@pytest.mark.parametrize("quadratic", [False, True])
def test_quadratic_features_learn_exclusive_or(quadratic):
    examples = []
    for a, b in itertools.product((0, 1), repeat=2):
        features = [(10 + a, 1.0), (20 + b, 1.0)]
        right = a ^ b
        examples.append((features, [(0, []), (1, [])], [float(right), 1.0 - right]))
    decisions, costs = decisions_of(examples)
    for learner in (
        LinearLearner(epochs=100, quadratic=quadratic),
        AllPairs(LogisticRegression(C=100.0), quadratic=quadratic),
        OneAgainstAll(LinearRegression(), quadratic=quadratic),
    ):
        scores = learner.fit(decisions, costs, np.random.default_rng(0)).scores
        wrong = chosen_costs(scores(decisions), decisions, costs).sum()
        assert wrong == 0 if quadratic else wrong >= 1


def test_joint_rows_and_matrices():
    """Actions with features of their own: one row each, products with its code."""
    examples = [([(3, 2.0)], [(1, [(50, 1.0)]), (2, [])], [0.0, 1.0])]
    decisions, costs = decisions_of(examples)
    seen = []

    class Seen(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.toarray())
            return super().fit(X, y, sample_weight=sample_weight)

    OneAgainstAll(Seen()).fit(decisions, costs, np.random.default_rng(0))
    [(features, actions, _)] = hashed(decisions, costs)
    golden = 0x9E3779B97F4A7C15
    rows = [
        {oracle.scattered((h + a * golden) & oracle.MASK): v for h, v in features}
        | {oracle.scattered(h): v for h, v in own}
        for a, own in actions
    ]
    columns = sorted(set().union(*rows))
    assert seen[0].tolist() == [[row.get(c, 0.0) for c in columns] for row in rows]


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
