"""The online classifier, river's side of it, delayed labels and drift."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import argmetric as am
from argmetric.stream import FOFORule, OnlineClassifier
from refusing import refuses
from stream_data import problem, same_state

ORDER = "steps are counted in rows: a row of weight 2 is not two rows"
EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
    "check_classifiers_train": (
        "predict obeys the learned threshold, and not the larger probability"
    ),
}


@parametrize_with_checks(
    [
        OnlineClassifier(),
        OnlineClassifier(learner="sgd", rule="newton", average="polynomial"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_estimator_checks(estimator, check):
    check(estimator)


def test_decisions_agree_with_labels_and_thresholds():
    X, y = problem()
    for rule in ("histogram", "newton", FOFORule(n=2000)):
        model = OnlineClassifier(rule=rule).fit(X, y)
        positive = model.predict(X) == 1
        np.testing.assert_array_equal(model.decision_function(X) > 0, positive)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(p[:, 1] > model.threshold_, positive)
        assert model.score(X, y) == am.get_metric("f1").score(y, positive)


def test_labels_of_all_kinds():
    X, y = problem(300)
    numbers = OnlineClassifier().fit(X, y)
    words = OnlineClassifier(pos_label="fraud").fit(X, np.where(y, "fraud", "plain"))
    assert words.classes_.tolist() == ["plain", "fraud"]
    np.testing.assert_array_equal(words.predict(X) == "fraud", numbers.predict(X) == 1)
    assert words.score(X, np.where(y, "fraud", "plain")) == numbers.score(X, y)
    bools = OnlineClassifier().fit(X, y == 1)
    np.testing.assert_array_equal(bools.predict(X), numbers.predict(X) == 1)
    signs = OnlineClassifier().partial_fit(X[:1], [-1], classes=[-1, 1])
    assert signs.classes_.tolist() == [-1, 1]
    first = OnlineClassifier().partial_fit(X[:3], [0, 0, 0])
    assert first.classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: m.fit(X, y * 0), "one class only"),
        (
            lambda m, X, y: m.set_params(rule="fofo").fit(X, np.arange(len(y)) % 3),
            "Only binary",
        ),
        (lambda m, X, y: m.fit(X, y).partial_fit(X[:2], [1, 7]), "row 1: label 7 is"),
        (lambda m, X, y: m.fit(X, y).partial_fit(X, y, classes=[0, 2]), "not those"),
        (lambda m, X, y: m.partial_fit(X[:2], ["a", "a"]), "classes="),
        (lambda m, X, y: m.set_params(pos_label=5).fit(X, y), "never holds 5"),
        (lambda m, X, y: m.fit(X, y).predict(X[:, :2]), "2 features"),
        (lambda m, X, y: m.fit(X, y, -np.ones(len(y))), "sample_weight is -1 at row 0"),
        (lambda m, X, y: m.fit(X, y, 0.0 * y), "zero for all rows"),
        (lambda m, X, y: m.fit(np.where(X > 2, np.nan, X), y), "NaN"),
        (lambda m, X, y: m.learn_one([1.0], True), r"x must be a dict of features by"),
        (lambda m, X, y: m.learn_one({"a": 1.0}, [True]), "y must be one label, not "),
        (lambda m, X, y: m.learn_one({"a": None}, True), "feature 'a' is None"),
        (lambda m, X, y: m.fit(X, y).feedback([[0]], [1]), "ids must be a list of ids"),
        (lambda m, X, y: m.fit(X, y).feedback([0], [pd.NA]), "y has no label at row 0"),
        (lambda m, X, y: m.partial_fit(X, y, classes=3), "classes must be an array of"),
        (
            lambda m, X, y: m.progressive(X, y, return_proba="yes"),
            "return_proba must be True or False",
        ),
    ],
)
def test_refusals(call, message):
    X, y = problem(100)
    with pytest.raises((ValueError, TypeError), match=message):
        call(OnlineClassifier(), X, y)


# -- one row at a time --------------------------------------------------------


@pytest.mark.parametrize("learner", ["sgd", "mixture", "adagrad"])
def test_one_row_at_a_time_is_a_block(learner):
    X, y = problem(120)
    block = OnlineClassifier(learner=learner)
    labels = block.progressive(sp.csr_matrix(X), y)
    one = OnlineClassifier(learner=learner)
    one.partial_fit(X[:1], y[:1])
    for x, label, expected in zip(X[1:], y[1:], labels[1:], strict=True):
        row = dict(enumerate(x))
        state = one.get_state()
        assert one.predict_one(row) == expected
        assert one.predict_proba_one(row)[1] == pytest.approx(
            one.predict_proba(sp.csr_matrix(x))[0, 1], rel=1e-14
        )
        for key, array in one.get_state().items():
            np.testing.assert_array_equal(array, state[key])
        one.learn_one(row, label)
    np.testing.assert_allclose(one.coef_, block.coef_, rtol=1e-12)
    assert one.score_ == block.score_


def test_named_features_come_and_go():
    model = OnlineClassifier(learner="sgd", rule="newton")
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    assert model.predict_one({"a": 1.0}) is True
    rng = np.random.default_rng(0)
    for i in range(200):
        a = float(rng.normal())
        x = {"a": a, "color": "red" if a > 0 else "blue"} | (
            {"b": 1.0} if i > 50 else {}
        )
        model.learn_one(x, bool(a > 0))
    assert model.predict_one({"color": "red"}) is True
    assert model.predict_one({"color": "blue", "unseen": 3.0}) is False
    assert model.n_features_in_ == 4
    assert model.coef_.shape == (1, 4)
    expected = model.predict_proba_one({})
    for wrong in (math.nan, 10**400):
        with pytest.raises(ValueError, match=r"feature 'a' is .*; drop or fill it"):
            model.learn_one({"new": 1.0, "a": wrong}, True)
    assert model.predict_proba_one({"new": 1e9}) == expected  # an unknown name
    assert model.n_features_in_ == 4


def test_columns_outside_of_a_sparse_matrix_are_refused():
    X, y = problem(10)
    model = OnlineClassifier(learner="sgd").partial_fit(X, y)
    broken = sp.csr_matrix(X)
    broken.indices[9] = 77
    with pytest.raises(ValueError, match="column 77 at row 2, but 4 columns"):
        model.partial_fit(broken, y)
    broken.indices[9] = -1
    refuses(ValueError, "column -1 at row 2", model.predict, broken)


def test_hashed_features_take_any_width():
    X, y = problem(500)
    wide = sp.csr_matrix(
        (X.ravel(), np.tile([3, 70_000, 2_000_000, 9], 500), np.arange(0, 2001, 4)),
        shape=(500, 2_000_001),
    )
    model = OnlineClassifier(hash_bits=12)
    labels = model.progressive(wide[:250], y[:250])
    plain = OnlineClassifier()
    np.testing.assert_array_equal(labels, plain.progressive(X[:250], y[:250]))
    narrow = wide[:, :70_001]
    assert model.predict(narrow).shape == (500,)
    assert model.coef_.shape == (1, 4096)
    named = OnlineClassifier(hash_bits=10)
    named.learn_one({"a": 1.0, "b": "text", 7: 2.0}, True)
    named.learn_one({"a": -1.0}, False)
    assert named.predict_proba_one({"a": 1.0})[True] > 0.5


def test_river_checks():
    pytest.importorskip("river")
    from river import checks

    from argmetric.stream import RiverClassifier

    model = RiverClassifier("f1", learner="sgd")
    for check in checks.yield_checks(model):
        check(model.clone())


def test_river_evaluation():
    pytest.importorskip("river")
    from river import metrics

    from argmetric.stream import RiverClassifier

    X, y = problem(400)
    model, score = RiverClassifier(), metrics.F1()
    assert score.works_with(model)
    for x, label in zip(X, y == 1, strict=True):
        row = dict(enumerate(x))
        score.update(label, model.predict_one(row))
        model.learn_one(row, label)
    assert score.get() == pytest.approx(model.score_, abs=0.02)


# -- labels that come later ---------------------------------------------------


def test_labels_out_of_order_and_the_score_of_what_was_said():
    X, y = problem(600)
    model = OnlineClassifier().fit(X[:300], y[:300])
    before = [am.get_metric("f1"), model.n_seen_]
    said = model.progressive(X[:0], y[:0])
    counts = model._model.state.model[4:8].copy()
    ids, said = model.predict_id(X[300:])
    order = np.random.default_rng(0).permutation(300)
    for part in np.array_split(order, 7):
        assert model.feedback(ids[part], y[300:][part]) == part.size
    late = y[300:]
    counts += [(said & late).sum(), said.sum(), late.sum(), 300]
    assert model.score_ == before[0].value(*counts)
    assert model.n_seen_ == before[1] + 300


@pytest.mark.parametrize("policy", ["drop", "negative"])
def test_labels_that_never_come(policy):
    X, y = problem(500)
    model = OnlineClassifier(waiting=50, expired=policy).fit(X[:300], y[:300])
    ids, _ = model.predict_id(X[300:])
    assert model.n_expired_ == 150
    assert model.n_seen_ == 300 + (150 if policy == "negative" else 0)
    assert model.feedback(ids[:3], y[300:303]) == 0
    assert model.n_late_ == 3
    assert model.feedback(ids[-50:], y[-50:]) == 50
    refuses(ValueError, "had its label already", model.feedback, ids[-1:], y[-1:])
    refuses(ValueError, "predict_id never returned", model.feedback, [10_000], [1])
    refuses(ValueError, "twice", model.feedback, [1, 1], [1, 1])


# -- drift --------------------------------------------------------------------


class EveryHundred:
    """A detector that fires after every hundredth number."""

    def __init__(self):
        self.n, self.drift_detected = 0, False

    def update(self, value):
        assert value in (0.0, 1.0)
        self.n += 1
        self.drift_detected = self.n % 100 == 0


@pytest.mark.parametrize("learner", ["sgd", "mixture", "adagrad"])
def test_drifts_are_seen_at_the_same_row_in_all_blocks(learner):
    X, y = problem(950)
    whole = OnlineClassifier(learner=learner, detector=EveryHundred())
    expected = whole.progressive(X, y)
    assert whole.n_drifts_ == 9
    assert whole.detector.n == 0
    for size in (1, 33, 400):
        model = clone(whole)
        labels = [
            model.progressive(X[i : i + size], y[i : i + size], classes=[0, 1])
            for i in range(0, 950, size)
        ]
        np.testing.assert_array_equal(np.concatenate(labels), expected)
        same_state(model, whole)
    assert whole.score_ == am.get_metric("f1").score(y, expected)


def test_later_blocks_are_checked_as_the_first():
    """Rows that need no conversion take a short cut; all others must not."""
    X, y = problem(300)
    expected = OnlineClassifier().fit(X, y)
    for kind in (
        np.asfortranarray,
        lambda a: a.astype(object),
        lambda a: a.tolist(),
        sp.csr_matrix,
        sp.csr_array,
        sp.csc_matrix,
    ):
        model = OnlineClassifier().partial_fit(X[:100], y[:100])
        model.partial_fit(kind(X[100:]), y[100:])
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    for wrong in (np.nan, np.inf, -np.inf):
        bad = X[100:].copy()
        bad[3, 1] = wrong
        for kind in (np.asarray, sp.csr_matrix):
            with pytest.raises(ValueError, match=r"X (has|is) .* row 3, column 1"):
                expected.partial_fit(kind(bad), y[100:])
    for kind in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match="features"):
            expected.partial_fit(kind(X[:, :2]), y)
    with pytest.raises(ValueError, match="X must be a matrix with a row for each"):
        expected.partial_fit(sp.csr_array(X[0]), y[:1])
    refuses(ValueError, "Complex data not supported", expected.partial_fit, X, y + 0j)
    large = np.full((20, X.shape[1]), 1e307)  # finite, though their sum is not
    labels = OnlineClassifier(learner="sgd", step=1e-300).fit(X, y).predict(large)
    assert labels.tolist() == [0] * 20 or labels.tolist() == [1] * 20


@pytest.mark.parametrize("bits", [None, 5])
def test_row_ends_outside_of_a_matrix_are_refused(bits):
    """scipy does not look for them where they are set later; compiled code crashed."""
    X, y = problem(50)
    model = OnlineClassifier(hash_bits=bits).fit(X, y)
    for place, end in ((-1, 999), (0, -3), (2, 40)):
        wrong = sp.csr_array(X[:6])
        wrong.indptr[place] = end
        refuses(ValueError, "indptr", model.predict, wrong)
    short = sp.csr_array(X[:6])
    short.data = short.data[:5]
    refuses(ValueError, "indptr", model.predict, short)


def test_columns_beyond_32_bits_are_hashed_whole():
    def row(column):
        parts = (np.ones(1), np.array([column], dtype=np.int64), np.array([0, 1]))
        return sp.csr_matrix(parts, shape=(1, 2**40))

    model = OnlineClassifier(hash_bits=20)
    for _ in range(5):
        model.partial_fit(row(5), [1])
    near, far = (model.decision_function(row(c)) for c in (5, 2**32 + 5))
    assert near != far


def test_rows_of_no_weight_are_not_shown_to_the_detector():
    class Counter:
        drift_detected, n = False, 0

        def update(self, value):
            self.n += 1

    X, y = problem(600)
    weight = np.arange(600) % 2
    model = OnlineClassifier(detector=Counter()).partial_fit(X, y, sample_weight=weight)
    assert model.detector_.n == model.n_seen_ == 300
    for learner in ("stamp", "omcsl"):
        with pytest.raises(ValueError, match="pass detector=None"):
            OnlineClassifier(learner=learner, detector=Counter()).partial_fit(X, y)


def test_overflow_is_not_silent():
    X, y = problem(100)
    with pytest.raises(ValueError, match="log-odds of row 13 overflow"):
        OnlineClassifier(learner="sgd").partial_fit(
            1e200 * (1 + abs(X)) * [1, -1, 1, 1], y
        )


def test_the_extra_is_named_where_river_is_missing(monkeypatch):
    from argmetric.stream import RiverClassifier

    monkeypatch.setattr("argmetric.stream._wrapper._RiverBase", None)
    refuses(ModuleNotFoundError, r"pip install 'argmetric\[river\]'", RiverClassifier)


def test_text_that_has_no_encoding_is_a_feature_like_others():
    model = OnlineClassifier(hash_bits=8)
    model.learn_one({"a": "\ud800"}, True)
    assert model.predict_one({"a": "\ud800"}) in (True, False)
