"""Classifiers and regressors of any library inside SEARN, in batches and one by one."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from argmetric.search import (
    AllPairs,
    EstimatorLearner,
    OneAgainstAll,
    QueueTask,
    Searn,
    SequenceLabelling,
    WordChunking,
)
from argmetric.search._searn import _batches, _estimators
from argmetric.search._searn._decisions import Situation, describe
from refusing import refuses
from searn_tasks import (
    GenericChunking,
    GenericLabelling,
    chunked,
    decisions_of,
    labelled,
    own,
    pairs,
)


class Seen:
    """Keeps what it learns from; scores are small whole numbers, so that many tie."""

    def __init__(self, n_values=3):
        self.n_values = n_values

    def fit(self, X, y, sample_weight=None):
        self.X, self.y, self.weight = X, y, sample_weight
        rng = np.random.default_rng(len(y))
        self.table = rng.integers(0, 9, (X.shape[1], len(np.unique(y))))
        return self

    def decision_function(self, X):
        return np.rint(X @ self.table) % self.n_values


class Costs:
    """A regressor that keeps what it learns from and predicts the mean."""

    def fit(self, X, y):
        self.X, self.y = X, y  # and returns nothing

    def predict(self, X):
        return np.tile(self.y.mean(axis=0), (len(X), 1))


def examples(seed, n=30):
    """Decisions among some of six actions, whose costs often tie."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        codes = rng.permutation(6)[: rng.integers(2, 5)].tolist()
        features = [(int(h), float(rng.integers(1, 4))) for h in rng.integers(0, 8, 2)]
        costs = rng.integers(0, 3, len(codes)) / 4
        found.append((features, [(code, []) for code in codes], costs))
    return found


def test_a_classifier_gets_the_cheapest_action_and_its_advantage():
    rows = examples(0)
    learner = EstimatorLearner(Seen())
    decisions, costs = decisions_of(rows)
    scorer = learner.fit(decisions, costs, None)
    wanted = []
    for i, (_, actions, own_costs) in enumerate(rows):
        regrets = [c - min(own_costs) for c in own_costs]
        above = [r for r in regrets if r > 0]
        if above:
            first = regrets.index(0.0)
            code = decisions.codes[decisions.indptr[i] + first]
            wanted.append((code, sum(above) / len(above)))
        assert len(actions) == len(own_costs)
    assert 0 < len(wanted) < len(rows)  # some decisions are indifferent
    labels = scorer.classes[scorer.model.y]
    assert labels.tolist() == [code for code, _ in wanted]
    mean = math.fsum(weight for _, weight in wanted) / len(wanted)
    expected = [weight / mean for _, weight in wanted]
    np.testing.assert_allclose(scorer.model.weight, expected, rtol=1e-12)
    assert scorer.model.X.shape == (len(wanted), 8)  # the constant is left out


def test_a_regressor_gets_the_regrets_of_all_actions():
    rows = examples(1)
    decisions, costs = decisions_of(rows)
    scorer = EstimatorLearner(Costs()).fit(decisions, costs, None)
    column = {code: k for k, code in enumerate(scorer.classes.tolist())}
    for i, (_, actions, own_costs) in enumerate(rows):
        regrets = own_costs - min(own_costs)
        wanted = np.full(6, regrets.max())  # those that are not legal
        for a in range(len(actions)):
            code = int(decisions.codes[decisions.indptr[i] + a])
            wanted[column[code]] = regrets[a]
        np.testing.assert_allclose(scorer.model.y[i], wanted)
    means = scorer.model.y.mean(axis=0)
    found = scorer.scores(decisions)
    expected = [-means[column[code]] for code in decisions.codes.tolist()]
    np.testing.assert_allclose(found, expected)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), k=st.sampled_from([2, 4]))
def test_estimators_that_know_every_state_choose_the_least_total_cost(seed, n, k):
    """A tree of all states is exact: of labels with two actions, of costs with any."""
    rng, rows = np.random.default_rng(seed), []
    for state in rng.integers(0, 4, n).tolist():
        costs = rng.integers(0, 5, k) / 4
        rows.append(([(state, 1.0)], [(code, []) for code in range(k)], costs))
    decisions, costs = decisions_of(rows)
    states = np.array([features[0][0] for features, _, _ in rows])
    for tree in (DecisionTreeRegressor(), DecisionTreeClassifier())[: 3 - k // 2]:
        scores = EstimatorLearner(tree).fit(decisions, costs, None).scores(decisions)
        chosen = scores.reshape(n, k).argmax(axis=1)
        for i, state in enumerate(states):
            total = costs.reshape(n, k)[states == state].sum(axis=0)
            assert total[chosen[i]] == total.min()


def test_what_has_no_features_is_decided_by_the_prevalence_of_actions():
    task = SequenceLabelling("ab", features=lambda x, i: [], history=0)
    for learner in (SVC(), Ridge(), KNeighborsClassifier(3)):
        searn = Searn(task, learner, beta=1.0, iterations=1)
        assert searn.fit(["xyz"], ["bba"]).predict(["uv"]) == [("b", "b")]


def test_weights_go_to_the_last_step_of_a_pipeline():
    decisions, costs = decisions_of(examples(4))
    plain = EstimatorLearner(LogisticRegression()).fit(decisions, costs, None)
    steps = make_pipeline(MaxAbsScaler(), make_pipeline(LogisticRegression()))
    scaled = EstimatorLearner(steps).fit(decisions, costs, None)
    one = LogisticRegression()
    X, code = plain.columns.matrix(decisions.states).toarray(), plain.classes
    seen = EstimatorLearner(Seen()).fit(decisions, costs, None).model
    one.fit(MaxAbsScaler().fit(seen.X).transform(seen.X), seen.y, seen.weight)
    wanted = one.decision_function(MaxAbsScaler().fit(seen.X).transform(X))
    np.testing.assert_allclose(scaled._values(decisions), wanted, rtol=1e-9)
    np.testing.assert_array_equal(scaled.classes, code)


def test_weights_that_differ_by_rounding_are_equal():
    rows = [
        ([(i, 1.0)], [(0, []), (1, [])], np.array(own_costs))
        for i, own_costs in enumerate([(0.1, 0.4), (0.5, 0.2)])
    ]
    decisions, costs = decisions_of(rows)
    scorer = EstimatorLearner(KNeighborsClassifier(1)).fit(decisions, costs, None)
    best = scorer.scores(decisions).reshape(2, 2).argmax(axis=1)
    assert best.tolist() == [0, 1]


def test_a_classifier_that_has_scores_once_it_is_fitted():
    task, X, Y = SequenceLabelling("ab"), ["uvu", "vuv"] * 3, ["aba", "bab"] * 3
    stacked = StackingClassifier([("a", SVC())], cv=2)
    searn = Searn(task, stacked, beta=1.0, iterations=1, beam=2)
    assert searn.fit(X, Y).predict(["vu"]) == [("b", "a")]
    hard = StackingClassifier([("a", SVC())], VotingClassifier([("b", SVC())]), cv=2)
    message = "StackingClassifier has no decision_function and no predict_proba"
    refuses(TypeError, message, Searn(task, hard).fit, X, Y)


def two_states():
    """Actions 0 and 1 by one feature; action 2 is never the cheapest."""
    cases = [(1.0, [0, 1, 1]), (-1.0, [1, 0, 1])] * 5
    rows = [
        ([(7, x)], [(a, []) for a in range(3)], np.array(c, dtype=float))
        for x, c in cases
    ]
    decisions, costs = decisions_of(rows)
    return rows, decisions, costs


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        LogisticRegression(),
        KNeighborsClassifier(1),
        HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=5),
        Ridge(1e-3),
        SVR(epsilon=0.01),
        KNeighborsRegressor(1),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("dense", [True, False])
def test_kinds_of_estimators(estimator, dense):
    if not dense and isinstance(estimator, HistGradientBoostingClassifier):
        return
    _, decisions, costs = two_states()
    scorer = EstimatorLearner(estimator, dense).fit(decisions, costs, None)
    scores = scorer.scores(decisions).reshape(-1, 3)
    best = scores.argmax(axis=1)
    assert best.tolist() == [0, 1] * 5
    classifies = hasattr(estimator, "decision_function") or hasattr(
        estimator, "predict_proba"
    )
    assert np.isneginf(scores[:, 2]).all() == classifies
    if isinstance(estimator, LogisticRegression):
        model = scorer.model
        odds = scores[:, :2]
        own_odds = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
        codes = decisions.codes[:2]
        x = np.array([1.0, -1.0] * 5)[:, None]
        own = model.predict_proba(x)[:, np.searchsorted(scorer.classes, codes)]
        np.testing.assert_allclose(own_odds, own)


def test_probabilities_of_zero_stay_finite():
    _, decisions, costs = two_states()
    scorer = EstimatorLearner(KNeighborsClassifier(1)).fit(decisions, costs, None)
    first = scorer.scores(decisions)[:2]
    np.testing.assert_allclose(first, [0.0, math.log(1e-300)])


def test_states_are_scored_in_blocks(monkeypatch):
    decisions, costs = decisions_of(examples(2))
    scorer = EstimatorLearner(Seen()).fit(decisions, costs, None)
    whole = scorer.scores(decisions)
    monkeypatch.setattr(_estimators, "_MOST_NUMBERS", 16)
    np.testing.assert_array_equal(scorer.scores(decisions), whole)
    empty = decisions.take(np.zeros(0, dtype=np.int64))
    assert scorer.scores(empty).size == 0


ESTIMATORS = [
    SVC(),
    Seen(),
    KNeighborsClassifier(3),
    Ridge(),
    AllPairs(LogisticRegression()),
    OneAgainstAll(Ridge()),
]
WAYS = [
    {"beta": 1.0, "iterations": 2, "beam": 3},
    {"beta": 0.5, "iterations": 3, "beam": 3, "beam_scores": "raw"},
    {"beta": 0.5, "iterations": 3},
    {"beta": 0.5, "iterations": 2, "prediction": "mean"},
    {"beta": 1.0, "iterations": 2, "cross_validation": 3},
    {"beta": 0.5, "iterations": 2, "algorithm": "lols"},
    {"beta": 0.5, "iterations": 2, "algorithm": "aggrevate"},
    {"beta": 0.5, "iterations": 2, "costs": "rollout", "n_rollouts": 2},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("which", ["labels", "chunks"])
def test_batches_equal_the_generic_loop(which, way):
    batched, generic, sample = pairs()[which]
    differ = which == "chunks" or way.keys() & {"costs"} or "lols" in way.values()
    for learner in ESTIMATORS[WAYS.index(way) % 2 :: 2]:
        if differ and isinstance(learner, KNeighborsClassifier):
            continue  # it takes no weights
        fits = [
            Searn(task, learner, random_state=3, **way).fit(*sample(0, 20))
            for task in (batched, generic)
        ]
        for one, other in zip(*(fit.history_ for fit in fits), strict=True):
            assert one.examples == other.examples
            assert one.regret == pytest.approx(other.regret, abs=1e-12)
            assert one.roll_in_loss == pytest.approx(other.roll_in_loss, abs=1e-12)
        X = sample(1, 20)[0]
        assert fits[0].predict(X) == fits[1].predict(X)


def one_by_one(searn, x, width, form):
    """The labels of one input by a beam that asks about one state at a time."""
    task, policy = searn.task, searn.policy_.learned[0]
    beam = [(0.0, ())]
    while task.actions(x, beam[0][1]):
        children = []
        for rank, (total, state) in enumerate(beam):
            legal = task.actions(x, state)
            one = describe(task, [Situation(0, x, None, state, tuple(legal))])
            scores = policy.scorer.scores(one).tolist()
            if form == "log":
                top = max(scores)
                odds = [math.exp(s - top) for s in scores]
                scores = [math.log(o / sum(odds)) for o in odds]
            for number, (action, score) in enumerate(zip(legal, scores, strict=True)):
                key = (-(total + score), rank, -score, number)
                children.append((key, (total + score, (*state, action))))
        children.sort(key=lambda child: child[0])
        beam = [child for _, child in children[:width]]
    return beam[0][1]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.sampled_from([1, 2, 3, 10, 40]),
    n_values=st.integers(1, 3),
    history=st.integers(0, 3),
)
def test_a_beam_equals_its_slow_twin(seed, width, n_values, history):
    """With scores that are whole numbers: most of the paths tie."""
    task = SequenceLabelling("abc", features=own, history=history)
    searn = Searn(task, Seen(n_values), beta=1.0, iterations=1, beam=width)
    searn.set_params(beam_scores="raw").fit(*labelled(seed, 12))
    X = labelled(seed + 1, 8)[0]
    wanted = [one_by_one(searn, x, width, "raw") for x in X]
    assert searn.predict(X) == wanted


@pytest.mark.parametrize("which", ["labels", "chunks"])
def test_a_beam_of_log_probabilities_equals_its_slow_twin(which, monkeypatch):
    task, _, sample = pairs()[which]
    searn = Searn(task, SVC(), beta=1.0, iterations=1, beam=4).fit(*sample(0, 30))
    X = sample(1, 12)[0]
    wanted = [one_by_one(searn, x, 4, "log") for x in X]
    assert searn.predict(X) == wanted
    monkeypatch.setattr(_batches, "_MOST_CHILDREN", 60)  # a few inputs at a time
    assert searn.predict(X) == wanted
    assert searn.predict([]) == []


def test_only_known_tasks_run_in_batches():
    """Others ask the task, and say so by the type of their decisions."""
    for task in (SequenceLabelling("abc", features=own), WordChunking(["X", "Y"])):
        learner = EstimatorLearner(Seen())
        assert Searn(task, learner)._start()._prepare([["x"]]) != [["x"]]
    for task in (GenericLabelling("abc"), GenericChunking(["X", "Y"])):
        assert Searn(task, Seen())._start()._prepare(["x"]) == ["x"]


def test_one_class_alone_needs_no_estimator():
    X, Y = [["u", "v"], ["v"]], ["aa", "a"]
    for learner in (SVC(), KNeighborsClassifier(), HistGradientBoostingClassifier()):
        task = SequenceLabelling("ab")
        searn = Searn(task, learner, beta=0.5, iterations=2, beam=2).fit(X, Y)
        assert searn.predict(X) == [("a", "a"), ("a",)]
    # No decision has a regret: the first action is as good as any
    lost = SequenceLabelling("ab", whole=True)
    examples_of = decisions_of([([(1, 1.0)], [(0, []), (1, [])], np.zeros(2))] * 3)
    scorer = EstimatorLearner(SVC()).fit(*examples_of, None)
    assert np.isneginf(scorer.scores(examples_of[0])).all()
    assert Searn(lost, SVC(), beta=1.0, iterations=1).fit(X, Y).predict([["v"]]) == [
        ("a",)
    ]


def test_clone_pickle_and_save(tmp_path):
    X, Y = chunked(0, 20)
    searn = Searn(WordChunking(["X", "Y"], features=own), SVC(), beta=1.0, iterations=1)
    again = clone(searn)
    assert again.learner is not searn.learner
    assert again.learner.get_params() == searn.learner.get_params()
    found = searn.fit(X, Y).predict(X)
    assert again.fit(X, Y).predict(X) == found
    assert pickle.loads(pickle.dumps(searn)).predict(X) == found
    refuses(
        TypeError, r"SVC\(\) cannot be saved.*or pickle it", searn.save, tmp_path / "s"
    )
    assert repr(searn) == "Searn(WordChunking, learner=SVC(), beta=1.0, iterations=1)"


class WrongShape(Seen):
    def decision_function(self, X):
        return np.zeros((len(X), 7))


class NotFinite(Seen):
    def decision_function(self, X):
        found = super().decision_function(X)
        found[0, 1] = np.nan
        return found


class OtherLabels(DummyClassifier):
    def fit(self, X, y):
        return super().fit(X, [f"label {one}" for one in y])


def test_estimators_that_do_not_do_are_refused():
    _, decisions, costs = two_states()

    def no(error, message, estimator, given=(decisions, costs)):
        refuses(
            error,
            message,
            lambda: EstimatorLearner(estimator).fit(*given, None).scores(given[0]),
        )

    voting = VotingClassifier([("a", SVC())])
    no(TypeError, "VotingClassifier has no decision_function and no predict_pr", voting)
    no(TypeError, r"must be a classifier or regressor .* not <class", SVC)
    no(TypeError, r"must be a classifier or regressor .* not 3", 3)
    no(TypeError, "must be a classifier or regressor .* not Isol", IsolationForest())
    no(TypeError, "must be a classifier or regressor .* not KMeans", KMeans())
    ovo = SVC(decision_function_shape="ovo")
    no(ValueError, "SVC scores pairs: set decision_function_shape='ovr'", ovo)
    message = "Pipeline scores pairs: set svc__decision_function_shape='ovr'"
    no(ValueError, message, make_pipeline(StandardScaler(), ovo))
    no(ValueError, r"shape \(10, 7\) for 10 states and 2 actions", WrongShape())
    no(ValueError, "gives nan for action 1 of state 0: scores must be", NotFinite())
    no(ValueError, "labels 0 to 1 and predicts .*label 0", OtherLabels())
    weighted = decisions_of(examples(3))
    message = r"takes no sample_weight.*pass AllPairs\(Costing\(KNeighborsClassifier"
    no(TypeError, message, KNeighborsClassifier(), weighted)
    task = QueueTask(SequenceLabelling("ab"), 2)
    message = r"have features of their own.*pass AllPairs\(SVC"
    refuses(ValueError, message, Searn(task, SVC()).fit, ["xy"], ["ab"])
    refuses(TypeError, "or be a classifier", Searn(task, object()).fit, ["x"], ["a"])
    refuses(TypeError, "dense must be", EstimatorLearner(SVC(), 2).fit, *weighted, None)


def test_arrays_that_are_too_large_are_refused_before_they_are_laid_out(monkeypatch):
    monkeypatch.setattr(_estimators, "_MOST_TO_LEARN", 9)
    _, decisions, costs = two_states()
    message = "10 states of 1 features are too many for a dense array.*dense=False"
    refuses(ValueError, message, EstimatorLearner(SVC()).fit, decisions, costs, None)
    EstimatorLearner(SVC(), dense=False).fit(decisions, costs, None)


def test_a_network_of_torch():
    torch = pytest.importorskip("torch", reason="needs extra 'torch'")

    class Network:
        """One hidden layer, trained on all rows at once."""

        def fit(self, X, y, sample_weight=None):
            torch.manual_seed(0)
            X, y = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
            weight = torch.ones(len(y))
            if sample_weight is not None:
                weight = torch.as_tensor(sample_weight, dtype=torch.float32)
            layers = torch.nn.Linear(X.shape[1], 16), torch.nn.ReLU()
            self.model = torch.nn.Sequential(
                *layers, torch.nn.Linear(16, int(y.max()) + 1)
            )
            steps = torch.optim.Adam(self.model.parameters(), 0.03)
            for _ in range(100):
                losses = torch.nn.functional.cross_entropy(
                    self.model(X), y, reduction="none"
                )
                steps.zero_grad()
                (weight * losses).mean().backward()
                steps.step()
            return self

        @torch.no_grad()
        def decision_function(self, X):
            return self.model(torch.as_tensor(X, dtype=torch.float32)).numpy()

    X, Y = chunked(0, 60)
    task = WordChunking(["X", "Y"], features=own)
    searn = Searn(task, Network(), beta=1.0, iterations=2, beam=3).fit(X, Y)
    assert searn.score(*chunked(1, 60)) > 0.8
