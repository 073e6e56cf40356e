"""Labels of a row, compiled: against twins in plain Python, and what it refuses."""

import io
import itertools
import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import argmetric as am
from argmetric.search import MultiLabelTagger
from multilabel_oracle import (
    RowTask,
    greedy_walk,
    in_columns,
    log_probability,
    slow_beam,
    slow_fit,
)


def fewest_on(tp, k, t, n):
    """Less is better, and neither count moves it in one direction."""
    return (k - t / 2) ** 2 + 0.1 * tp


METRICS = [
    "f1",
    "jaccard",
    "mcc",
    "precision",
    "recall",
    "accuracy",
    "gmean",
    "kappa",
    am.FBeta(2.0),
    am.FBeta(0.5, zero_division=0.0),
    am.CustomMetric(fewest_on, greater_is_better=False),
]
MATRIX, CLASSES = "y has more columns than one", "y holds 0 and 1, not more classes"
EXPECTED_TO_FAIL = {
    "check_estimators_dtypes": CLASSES,
    "check_classifier_data_not_an_array": CLASSES,
    "check_fit2d_1feature": CLASSES,
    "check_classifiers_one_label": MATRIX,
    "check_classifiers_classes": MATRIX,
    "check_classifiers_train": MATRIX,
    "check_classifiers_regression_target": "the message has row, column and value",
    "check_classifier_not_supporting_multiclass": "the same",
}


@parametrize_with_checks(
    [MultiLabelTagger()], expected_failed_checks=lambda _: EXPECTED_TO_FAIL
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_estimator_checks(estimator, check):
    check(estimator)


def problem(n=60, d=5, n_labels=4, seed=0):
    """Labels that follow from the row and from each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    Y = np.zeros((n, n_labels), dtype=int)
    for j in range(n_labels):
        before = 2 * Y[:, :j] - 1
        score = 1.5 * X[:, j % d] + before @ rng.normal(size=j) - 0.3
        Y[:, j] = score + rng.logistic(scale=0.3, size=n) > 0
    return X, Y


def arrays_of(tagger):
    return tagger.coef_, tagger.history_coef_, tagger.intercept_


def same(a, b):
    return all(np.array_equal(x, z) for x, z in zip(a, b, strict=True))


@pytest.mark.parametrize("roll_in", ["mixed", "gold", "own", "none"])
@pytest.mark.parametrize("costs", ["regret", "zero_one"])
@pytest.mark.parametrize("epochs", [1, 4])
def test_training_equals_its_twin(roll_in, costs, epochs):
    X, Y = problem(40)
    order = [2, 0, 3, 1]
    tagger = MultiLabelTagger(
        roll_in=roll_in, costs=costs, epochs=epochs, order=order, random_state=3
    )
    tagger.fit(X, Y)
    for fast, slow in zip(
        arrays_of(tagger), slow_fit(tagger, X, Y, order), strict=True
    ):
        np.testing.assert_allclose(fast, slow, atol=1e-9)
    assert (roll_in == "none") == (not tagger.history_coef_.any())


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: am.get_metric(m).name)
def test_training_equals_its_twin_under_every_metric(metric):
    X, Y = problem(30, n_labels=3)
    tagger = MultiLabelTagger(metric, epochs=3, order=[0, 1, 2]).fit(X, Y)
    slow = slow_fit(tagger, X, Y, [0, 1, 2])
    for fast, found in zip(arrays_of(tagger), slow, strict=True):
        np.testing.assert_allclose(fast, found, atol=1e-9)


def at_random(beam, n_labels=5, seed=0):
    """A tagger whose weights nobody learned: beams and greedy search differ."""
    X, Y = problem(n_labels=n_labels, seed=seed)
    tagger = MultiLabelTagger(beam=beam, epochs=1).fit(X, Y)
    rng = np.random.default_rng(seed)
    for array in (tagger.coef_, tagger.intercept_, tagger.history_coef_):
        array[array != 0] = rng.normal(size=(array != 0).sum())
    return tagger, X


@pytest.mark.parametrize("seed", range(3))
def test_greedy_prediction_is_a_walk_of_the_task(seed):
    X, Y = problem(seed=seed)
    learned = MultiLabelTagger().fit(X, Y)
    for tagger in (learned, at_random(1, 4, seed)[0]):
        labels = tagger.predict(X)
        assert labels.tolist() == [greedy_walk(tagger, x) for x in X]
        assert len(np.unique(labels, axis=0)) > 3


@pytest.mark.parametrize("width", [2, 3, 5])
def test_beams_equal_their_twin(width):
    tagger, X = at_random(width)
    assert tagger.predict(X).tolist() == [slow_beam(tagger, x, width) for x in X]


def test_a_wide_beam_finds_the_likeliest_labels():
    tagger, X = at_random(10**9)
    everything = list(itertools.product((0, 1), repeat=5))
    best = [max(everything, key=lambda d: log_probability(tagger, x, d)) for x in X]
    labels = tagger.predict(X)
    assert labels.tolist() == [in_columns(tagger, d) for d in best]
    assert (tagger.set_params(beam=1).predict(X) != labels).any()


def test_regrets_bring_more_of_the_metric_than_alike_weights():
    X, Y = problem(3000, d=8, n_labels=6)
    Y &= np.random.default_rng(1).random(Y.shape) < 0.5
    f1 = [
        MultiLabelTagger(costs=costs).fit(X[:2000], Y[:2000]).score(X[2000:], Y[2000:])
        for costs in ("regret", "zero_one")
    ]
    assert f1[0] > f1[1] + 0.02


def test_score_is_the_mean_of_the_metric_of_rows():
    X, Y = problem()
    Y[:5] = 0
    for metric in ("f1", am.FBeta(1.0, zero_division=0.0), "mcc"):
        tagger = MultiLabelTagger(metric).fit(X, Y)
        labels = tagger.predict(X)
        judge = RowTask(4, metric)
        losses = [judge.loss(y, z) for y, z in zip(Y, labels, strict=True)]
        assert tagger.score(X, Y) == pytest.approx(1.0 - np.mean(losses))
    average = am.evaluate(Y, labels, "mcc", average="samples", zero_division=1.0)
    assert tagger.score(X, Y) == pytest.approx(float(average))


def test_sparse_equals_dense_and_frames():
    X, Y = problem()
    dense = MultiLabelTagger(beam=3).fit(X, Y)
    unsorted = sp.csr_array(X)
    unsorted.data, unsorted.indices = unsorted.data.copy(), unsorted.indices.copy()
    for a, b in itertools.pairwise(unsorted.indptr):
        unsorted.data[a:b] = unsorted.data[a:b][::-1]
        unsorted.indices[a:b] = unsorted.indices[a:b][::-1]
    unsorted.has_sorted_indices = False
    halves = sp.coo_array(
        (np.tile(X.ravel() / 2, 2), np.tile(np.indices(X.shape).reshape(2, -1), 2)),
        shape=X.shape,
    )
    for other in (sp.csr_matrix(X), sp.csc_array(X), unsorted, halves):
        for labels in (Y, sp.csr_array(Y), Y.astype(bool), Y.astype(float).tolist()):
            tagger = MultiLabelTagger(beam=3).fit(other, labels)
            assert same(arrays_of(tagger), arrays_of(dense))
        assert (tagger.predict(other) == dense.predict(X)).all()
        assert tagger.score(other, sp.csr_array(Y)) == dense.score(X, Y)
    pd = pytest.importorskip("pandas")
    tagger = MultiLabelTagger(beam=3).fit(pd.DataFrame(X).add_prefix("x"), Y)
    assert same(arrays_of(tagger), arrays_of(dense))
    assert len(tagger.feature_names_in_) == 5


def test_input_stays_as_it_is():
    X, Y = problem()
    rows = sp.csr_matrix(X)
    before = rows.copy()
    for array in (X, Y, rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    dense = MultiLabelTagger().fit(X, Y)
    sparse = MultiLabelTagger().fit(rows, Y)
    assert (dense.predict(X) == sparse.predict(rows)).all()
    assert (rows != before).nnz == 0


def test_a_seed_makes_it_the_same_again():
    X, Y = problem()
    a, b, c = (MultiLabelTagger(random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    assert same(arrays_of(a), arrays_of(b))
    assert not same(arrays_of(a), arrays_of(c))
    assert same(arrays_of(a), arrays_of(a.fit(X, Y)))


def test_it_works_inside_scikit_learn():
    X, Y = problem(120)
    tags = get_tags(MultiLabelTagger())
    assert tags.classifier_tags.multi_label
    assert not tags.classifier_tags.multi_class
    assert tags.target_tags.multi_output
    assert tags.input_tags.sparse
    model = make_pipeline(StandardScaler(), MultiLabelTagger())
    assert cross_val_score(model, X, Y, cv=3).shape == (3,)
    search = GridSearchCV(model, {"multilabeltagger__step": [0.01, 0.1]}, cv=2)
    assert search.fit(X, Y).predict(X).shape == Y.shape


def test_rarest_labels_come_first():
    Y = np.zeros((20, 4), dtype=int)
    for j, count in enumerate((9, 3, 15, 3)):
        Y[:count, j] = 1
    tagger = MultiLabelTagger(epochs=1).fit(np.ones((20, 1)), Y)
    assert tagger.order_.tolist() == [1, 3, 0, 2]
    decided_later = tagger.history_coef_[tagger.order_][:, tagger.order_]
    assert not np.triu(decided_later).any()


def test_progress(capsys):
    X, Y = problem()
    tagger = MultiLabelTagger(epochs=3, verbose=1).fit(X, Y)
    assert [row["epoch"] for row in tagger.history_] == [1, 2, 3]
    assert all(0 <= row["error"] <= 1 for row in tagger.history_)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("epoch 3: ")
    assert not tagger.interrupted_


def stop(*_):
    raise KeyboardInterrupt


class Stopped(io.StringIO):
    """A standard error that is interrupted when a line is written."""

    write = stop


def test_an_interrupt_keeps_what_was_learned(monkeypatch):
    X, Y = problem()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", Stopped())
        with pytest.warns(UserWarning, match="interrupted"):
            tagger = MultiLabelTagger(epochs=5, verbose=1).fit(X, Y)
    assert tagger.interrupted_
    assert len(tagger.history_) == 1
    assert tagger.predict(X).shape == Y.shape
    monkeypatch.setattr("argmetric.search.kernels.multilabel.train", stop)
    with pytest.raises(KeyboardInterrupt):
        MultiLabelTagger().fit(X, Y)


nasty = st.sampled_from([0.0, 1.0, -1.0, 1e-300, -1e-12, 5e-324, 1e150, -1e9, 0.5])


@st.composite
def nasty_problems(draw):
    n, d, n_labels = (draw(st.integers(1, most)) for most in (6, 3, 4))
    cells = st.lists(nasty, min_size=n * d, max_size=n * d)
    X = np.array(draw(cells)).reshape(n, d)
    bits = st.lists(st.integers(0, 1), min_size=n * n_labels, max_size=n * n_labels)
    Y = np.array(draw(bits)).reshape(n, n_labels)
    if draw(st.booleans()):
        X[draw(st.integers(0, n - 1))] = 0.0
        Y[draw(st.integers(0, n - 1))] = 0
        Y[:, 0] = draw(st.integers(0, 1))
    return X, Y


@given(
    nasty_problems(),
    st.sampled_from(METRICS),
    st.sampled_from(["mixed", "gold", "own", "none"]),
    st.sampled_from(["regret", "zero_one"]),
    st.integers(1, 4),
)
def test_nasty_input_leaves_finite_weights(data, metric, roll_in, costs, epochs):
    X, Y = data
    options = {"roll_in": roll_in, "costs": costs, "epochs": epochs}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger = MultiLabelTagger(metric, **options).fit(X, Y)
        assert all(np.isfinite(array).all() for array in arrays_of(tagger))
        greedy = tagger.predict(X)
        assert set(np.unique(greedy)) <= {0, 1}
        assert greedy.shape == Y.shape
        assert np.isfinite(tagger.score(X, Y))
        rows = sp.csr_array(X)
        sparse = MultiLabelTagger(metric, **options).fit(rows, Y)
        assert same(arrays_of(tagger), arrays_of(sparse))
        assert (sparse.predict(rows) == greedy).all()
        assert (np.vstack([tagger.predict(x[None]) for x in X]) == greedy).all()


def test_one_label_and_one_class():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    y = np.array([[1], [0], [1], [0]])
    tagger = MultiLabelTagger("accuracy").fit(X, y)
    assert tagger.predict(X).tolist() == y.tolist()
    assert tagger.history_coef_.tolist() == [[0.0]]
    for value in (0, 1):
        Y = np.full((4, 3), value)
        tagger = MultiLabelTagger().fit(X, Y)
        assert (tagger.predict(X) == value).all()
        assert tagger.score(X, Y) == 1.0


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0], [2.0]], [[0, 1], [2, 0]], r"y holds 0, 1, 2 \(2 at row 1, column 0\)"),
        ([[1.0], [2.0]], [[0, 0.5], [1, 0]], r"\(0.5 at row 0, column 1\); labels"),
        ([[1.0], [2.0]], [[0, math.nan], [1, 0]], "y has no label at row 0, column 1"),
        ([[1.0]], sp.csr_array([[0, 3]]), "y holds 0, 3, not 0 and 1"),
        ([[1.0], [2.0]], [0, 1], "a matrix with a column for each label"),
        ([[1.0], [2.0]], [[0, 1]], "y has 1 rows but X has 2"),
        ([[1.0], [2.0]], np.zeros((2, 0)), "y has no column"),
        ([[1.0], [2.0]], [[0, 1], [1]], "y is ragged: row 1 has 1 values"),
        ([[1.0], [-1e200]], [[0], [1]], r"X is -1e\+200 at row 1, column 0, too large"),
        ([[1.0], [math.nan]], [[0], [1]], "NaN"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "X has no rows"),
        ([[1.0]], None, "requires y"),
    ],
)
def test_bad_data_is_refused(X, Y, message):
    with pytest.raises(ValueError, match=message):
        MultiLabelTagger().fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roll_in": "random"}, "roll_in must be one of 'mixed', 'gold'"),
        ({"costs": "f1"}, "costs must be one of"),
        ({"beam": 0}, "beam must be a positive integer, not 0"),
        ({"beam": 2.0}, "beam must be a positive integer"),
        ({"epochs": True}, "epochs must be a positive integer"),
        ({"step": -1}, "step must be a positive number, not -1"),
        ({"step": math.inf}, "step must be a positive number"),
        ({"step": "small"}, "step must be a positive number, not 'small'"),
        ({"order": [0, 1, 1, 3]}, "order must have each label from 0 to 3 once"),
        ({"order": [0, 1]}, "order must have each label from 0 to 3 once"),
        ({"order": "rare"}, "order must have each label from 0 to 3 once"),
        ({"metric": "best"}, "best"),
        ({"metric": am.FBeta(1.0, zero_division=math.nan)}, "a loss cannot be nan"),
        (
            {
                "metric": am.CustomMetric(
                    lambda tp, k, t, n: np.where(k == 2, np.inf, 0)
                )
            },
            "not finite at tp=0, k=2",
        ),
    ],
)
def test_bad_options_are_refused(options, message):
    X, Y = problem()
    with pytest.raises(ValueError, match=message):
        MultiLabelTagger(**options).fit(X, Y)


def test_bad_rows_are_refused_after_learning():
    X, Y = problem()
    tagger = MultiLabelTagger().fit(X, Y)
    with pytest.raises(ValueError, match="expecting 5 features"):
        tagger.predict(X[:, :3])
    with pytest.raises(ValueError, match="y has 3 labels, the tagger learned 4"):
        tagger.score(X, Y[:, :3])
    with pytest.raises(ValueError, match="too large"):
        tagger.predict(X * 1e200)
