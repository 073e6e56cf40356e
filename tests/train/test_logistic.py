"""MetricLogisticRegression as a scikit-learn estimator."""

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import argmetric as am
from argmetric import MetricLogisticRegression
from refusing import refuses

ITEM_WEIGHTS = (
    "the labels of two copies of a row are drawn apart: an item of weight 2 is another "
    "random variable"
)
EXPECTED_TO_FAIL = {
    "check_sample_weight_equivalence_on_dense_data": ITEM_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": ITEM_WEIGHTS,
    "check_class_weight_classifiers": (
        "at a weight of 1e7 to 1 the optimum predicts the few positives that no "
        "negative is near to, on the training rows"
    ),
}


def failures(estimator):
    return EXPECTED_TO_FAIL if estimator.objective == "expected" else {}


@parametrize_with_checks(
    [
        MetricLogisticRegression(n_restarts=1),
        MetricLogisticRegression(objective="expected", n_restarts=1),
        MetricLogisticRegression(C=np.inf, init="random", solver="bfgs"),
    ],
    expected_failed_checks=failures,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def rare(n=1500, k=5, seed=0, shift=3.0):
    """Few positives, so that a cut at 0.5 finds hardly any."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    z = X @ np.linspace(1.5, 0.1, k) - shift
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.mark.parametrize("objective", ["soft", "expected"])
def test_it_beats_maximum_likelihood_at_one_half(objective):
    X, y = rare(4000)
    train, test = slice(0, 2000), slice(2000, None)
    plain = LogisticRegression().fit(X[train], y[train])
    for beta in (1, 2):
        model = MetricLogisticRegression(
            am.FBeta(beta), objective=objective, random_state=0
        ).fit(X[train], y[train])
        ours = fbeta_score(y[test], model.predict(X[test]), beta=beta)
        theirs = fbeta_score(y[test], plain.predict(X[test]), beta=beta)
        assert ours > theirs + 0.03 * beta


def test_a_loss_is_minimised():
    X, y = rare()
    model = MetricLogisticRegression("sec", random_state=0).fit(X, y)
    assert model.objective_ <= 0
    assert model.objective_ == pytest.approx(0, abs=1e-4)


def test_attributes():
    X, y = rare(300)
    model = MetricLogisticRegression(random_state=0).fit(X, y)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    assert model.n_iter_.shape == (1,)
    assert model.restarts_.shape == (5,)
    assert model.objective_ == model.restarts_.max()
    np.testing.assert_array_equal(model.classes_, [0, 1])
    margin = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), margin > 0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-margin)))
    p = model.predict_proba(X)[:, 1]
    value = am.FBeta(1).value(p @ y, p.sum(), y.sum(), y.size)
    penalty = (model.coef_**2).sum() / (2 * 10 * y.size)  # C = 10
    assert model.objective_ == pytest.approx(value - penalty, rel=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_give_the_same_model(container):
    X, y = rare(400)
    X[np.abs(X) < 0.5] = 0
    dense = MetricLogisticRegression(random_state=0).fit(X, y)
    other = MetricLogisticRegression(random_state=0).fit(container(X), y)
    np.testing.assert_allclose(other.restarts_, dense.restarts_, rtol=1e-6)
    np.testing.assert_allclose(
        other.decision_function(container(X)), dense.decision_function(X), rtol=1e-4
    )


def test_csr_entries_that_stand_twice_are_added():
    X, y = rare(400)
    once = sparse.csr_array(X)
    twice = sparse.csr_array(
        (np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr),
        shape=X.shape,
    )
    assert not twice.has_canonical_format
    expected = MetricLogisticRegression(random_state=0).fit(once, y)
    model = MetricLogisticRegression(random_state=0).fit(twice, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert twice.nnz == 2 * once.nnz  # what was passed is as it was


def test_many_rows_start_on_a_sample_and_end_on_all(capsys):
    """Whatever the threads: two optima at most climb on, the best has its own value."""
    X, y = rare(60_000, k=3)
    how = {"random_state": 0, "n_restarts": 3}
    one = MetricLogisticRegression(verbose=1, **how).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[MetricLogisticRegression] start 1: 0.")
    assert 1 <= sum("on all rows" in line for line in lines) == len(lines) - 3 <= 2
    p = one.predict_proba(X)[:, 1]
    value = am.FBeta(1).value(p @ y, p.sum(), y.sum(), y.size)
    penalty = (one.coef_**2).sum() / (2 * 10 * y.size)  # C = 10
    assert one.objective_ == one.restarts_.max()
    assert one.objective_ == pytest.approx(value - penalty, rel=1e-12)
    two = MetricLogisticRegression(n_jobs=2, **how).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.restarts_, two.restarts_)


def test_weights_count_rows():
    X, y = rare(200)
    weight = np.random.default_rng(0).integers(0, 4, 200)
    settings = {"random_state": 0, "tol": 1e-9, "max_iter": 1000}
    weighted = MetricLogisticRegression(**settings).fit(X, y, sample_weight=weight)
    copied = MetricLogisticRegression(**settings).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-4)
    np.testing.assert_allclose(weighted.objective_, copied.objective_, rtol=1e-10)


def test_the_positive_label():
    X, y = rare(300)
    words = np.where(y == 1, "spam", "ham")
    model = MetricLogisticRegression(random_state=0).fit(X, words)
    np.testing.assert_array_equal(model.classes_, ["ham", "spam"])
    number = MetricLogisticRegression(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X) == "spam", number.predict(X) == 1)
    other = MetricLogisticRegression(pos_label="ham", random_state=0).fit(X, words)
    np.testing.assert_array_equal(other.classes_, ["ham", "spam"])
    turned = MetricLogisticRegression(random_state=0).fit(X, 1 - y)
    np.testing.assert_allclose(other.coef_, -turned.coef_)
    above = other.decision_function(X) > 0
    np.testing.assert_array_equal(other.predict(X) == "spam", above)
    truth = MetricLogisticRegression(random_state=0).fit(X, y == 1)
    assert truth.predict(X).dtype == bool
    with pytest.raises(ValueError, match="y never holds 'eggs'"):
        MetricLogisticRegression(pos_label="eggs").fit(X, words)


def test_warm_start_begins_where_it_ended():
    X, y = rare(400)
    model = MetricLogisticRegression(n_restarts=1, warm_start=True, max_iter=500)
    first = model.fit(X, y).coef_.copy()
    steps = model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] < steps / 4
    np.testing.assert_allclose(model.coef_, first, rtol=0.05)
    model.fit(X[:, :2], y)  # another number of features: as if new
    assert model.coef_.shape == (1, 2)
    turned = MetricLogisticRegression(
        n_restarts=1, warm_start=True, max_iter=500, pos_label=0
    ).fit(X, y)
    steps = turned.n_iter_[0]
    assert turned.fit(X, y).n_iter_[0] < max(steps / 4, 2)


def test_features_of_different_scales():
    X, y = rare(600)
    wide = X * [1e6, 1e-3, 1.0, 1.0, 1e3] + [0, 0, 5e3, 0, 0]
    free = {"C": 1e12, "random_state": 0}
    plain = MetricLogisticRegression(**free).fit(X, y)
    scaled = MetricLogisticRegression(**free).fit(wide, y)
    assert scaled.objective_ == pytest.approx(plain.objective_, abs=1e-3)
    with_constant = np.column_stack([X, np.full(600, 7.0), np.zeros(600)])
    model = MetricLogisticRegression(random_state=0).fit(with_constant, y)
    np.testing.assert_array_equal(model.coef_[0, 5:], 0)
    assert f1_score(y, model.predict(with_constant)) > 0.5


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values_whose_squares_overflow_are_refused(container):
    X, y = rare(100)
    for factor in (1e160, 1e300):
        wide = container(X * [1.0, 1.0, factor, 1.0, 1.0])
        with pytest.raises(ValueError, match="column 2 of X are too large"):
            MetricLogisticRegression(random_state=0).fit(wide, y)


def test_separated_classes_are_said_once():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    y = [0, 0, 1, 1]
    model = MetricLogisticRegression(random_state=0).fit(X, y)  # C bounds it: silent
    np.testing.assert_array_equal(model.predict(X), y)
    with pytest.warns(ConvergenceWarning, match="separated") as caught:
        model = MetricLogisticRegression(C=1e12, tol=1e-9, random_state=0).fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(model.coef_).all()


def rare_binary_columns(n=15_000, k=400, seed=1):
    """Rows of eight kinds, each with some twenty of many binary columns."""
    rng = np.random.default_rng(seed)
    shares = 20 * rng.dirichlet(np.full(k, 0.1), 8)
    X = sparse.csr_array((rng.random((n, k)) < shares[rng.integers(0, 8, n)]) * 1.0)
    z = X @ rng.normal(0, 0.7, k) - 6
    return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.mark.parametrize("objective", ["soft", "expected"])
def test_many_rare_columns_converge_by_default(objective):
    X, y = rare_binary_columns()
    settings = {"objective": objective, "C": 100, "n_restarts": 1, "random_state": 0}
    model = MetricLogisticRegression(**settings).fit(X, y)  # a warning is an error
    with pytest.warns(ConvergenceWarning, match="max_iter=100 "):
        stopped = MetricLogisticRegression(**settings, max_iter=100).fit(X, y)
    assert model.objective_ > stopped.objective_


def test_no_convergence_is_said_once():
    X, y = rare(300)
    with pytest.warns(ConvergenceWarning, match="max_iter=2") as caught:
        MetricLogisticRegression(max_iter=2, random_state=0).fit(X, y)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C must be a positive number"),
        ({"C": 5e-324}, "C must be 1e-100 or more"),
        ({"gamma": -1}, "gamma must be a positive number"),
        ({"gamma": np.inf}, "gamma must be finite"),
        ({"tol": "small"}, "tol must be a number"),
        ({"n_restarts": 0}, "n_restarts must be a whole number"),
        ({"max_iter": 1.5}, "max_iter must be a whole number"),
        ({"objective": "hard"}, "objective must be one of"),
        ({"metric": "f-one"}, "unknown metric"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"class_weight": {0: -1, 1: 1}}, "class_weight of 0 must be 0 or a positive"),
        ({"class_weight": {1: math.nan}}, "class_weight of 1 must be 0 or a positive"),
        ({"class_weight": {7: 1}}, "class_weight names the class 7, which is not"),
        ({"metric": "mcc", "objective": "expected"}, 'objective="soft"'),
    ],
)
def test_settings_are_checked(settings, message):
    X, y = rare(50, shift=0.0)
    with pytest.raises((TypeError, ValueError), match=message):
        MetricLogisticRegression(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(50, dtype=int)}, "y has one class only: every label is 1"),
        ({"X": np.full((50, 5), np.nan)}, "NaN"),
        ({"y": np.arange(50) % 3}, "Only binary"),
        ({"sample_weight": [1, 1, 1, -1] + [1] * 46}, "is -1 at row 3; weights are"),
        ({"sample_weight": 1 - rare(50, shift=0.0)[1]}, "of positive weight is 0"),
        ({"sample_weight": np.ones(7)}, r"shape \(7,\) but y has shape \(50,\)"),
    ],
)
def test_bad_rows(change, message):
    X, y = rare(50, shift=0.0)
    model = MetricLogisticRegression()
    refuses(ValueError, message, model.fit, **{"X": X, "y": y} | change)
    assert not hasattr(model, "coef_")


def test_an_interrupted_fit_leaves_nothing():
    def interrupt(tp, k, t, n):
        raise KeyboardInterrupt

    X, y = rare(200)
    model = MetricLogisticRegression(random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.set_params(metric=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(2 * X, 1 - y)
    np.testing.assert_array_equal(model.coef_, before)


def test_among_the_tools_of_scikit_learn():
    pandas = pytest.importorskip("pandas")
    X, y = rare(300)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = MetricLogisticRegression(random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcde"))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert cross_val_score(pipeline, X, y, cv=2, scoring="f1").min() > 0.3
    grid = {"C": [0.1, 1.0], "metric": ["f1", am.FBeta(2)]}
    search = GridSearchCV(model, grid, cv=2, scoring="f1").fit(X, y)
    assert set(search.best_params_) == {"C", "metric"}
    three = np.digitize(X[:, 0], [-0.7, 0.7])
    assert OneVsRestClassifier(model).fit(X, three).score(X, three) > 0.7


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a positive number"),
        ({"gamma": "1"}, "gamma must be a number"),
        ({"theta0": [0.0, np.nan]}, "theta0 is nan at row 1"),
        ({"theta1": [[0.0]]}, "theta1 must be a list of numbers"),
        ({"X": [0.0, np.inf, 1.0]}, "X is inf at row 1"),
    ],
)
def test_what_a_surface_cannot_be_made_of_is_refused_by_name(given, message):
    data = {"X": [0.0, 1.0, 2.0], "y": [0, 1, 1]} | given
    refuses((TypeError, ValueError), message, am.MetricSurfaceDisplay.from_data, **data)


@pytest.mark.parametrize("depth", [1, 5000])
@pytest.mark.parametrize("of", [lambda one: one, lambda one: {0: one}])
def test_weights_of_classes_that_are_no_numbers(depth, of):
    nested: list[object] = []
    for _ in range(depth):
        nested = [nested]
    X, y = np.arange(8.0)[:, None], [0, 1] * 4
    with pytest.raises(TypeError, match=r"class_weight (of 0 )?must be"):
        MetricLogisticRegression(class_weight=of(nested)).fit(X, y)


def test_balanced_classes():
    X, y = rare(300)
    sizes = np.bincount(y)
    named = MetricLogisticRegression(class_weight="balanced", random_state=0)
    given = MetricLogisticRegression(
        class_weight={0: 150 / sizes[0], 1: 150 / sizes[1]}, random_state=0
    )
    np.testing.assert_allclose(named.fit(X, y).coef_, given.fit(X, y).coef_)
    plain = MetricLogisticRegression(random_state=0).fit(X, y)
    assert named.predict(X).sum() > plain.predict(X).sum()


def test_without_an_intercept():
    X, y = rare(300, shift=0.0)
    model = MetricLogisticRegression(fit_intercept=False, random_state=0).fit(X, y)
    assert model.intercept_ == [0.0]
    assert f1_score(y, model.predict(X)) > 0.7
