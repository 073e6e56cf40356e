"""MetricClassifier against loops written out by hand, and inside of scikit-learn."""

import pickle
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import argmetric as am
from argmetric.estimators._folds import distance

BY_NATURE = {
    "check_classifiers_train": (
        "asks that predict be the class of the largest probability, which no threshold "
        "other than one half gives; decision_function does agree with predict"
    ),
}


# Some checks fit noise, on which no calibration can help.
@pytest.mark.filterwarnings("ignore:the out-of-fold scores tell nothing")
@parametrize_with_checks(
    [
        am.MetricClassifier(cv=3),
        am.MetricClassifier(LinearSVC(random_state=0), "mcc", calibration=None, cv=3),
    ],
    expected_failed_checks=lambda one: BY_NATURE if one.calibration else {},
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def rare(n=400, seed=0, **options):
    return make_classification(
        n, 6, weights=[0.85], flip_y=0.1, random_state=seed, **options
    )


X, Y = rare()
WORDS = np.array(["ham", "spam"])[Y]


def model(estimator=None, metric="f1", **options):
    return am.MetricClassifier(
        LogisticRegression() if estimator is None else estimator,
        metric,
        **{"random_state": 0} | options,
    )


def learned_from(calibrator):
    """The same map, each row of its reference counted as half a row."""
    x, rows, positives = calibrator.counts
    return replace(calibrator, counts=np.stack([x, rows / 2, positives / 2]))


def best_cut(y, scores, score):
    """Every cut between distinct scores, one after the other."""
    cuts = [np.inf, *np.unique(scores)]
    return max(score(y, scores >= cut) for cut in cuts)


def f1(y, chosen, weights=1.0):
    """2·tp/(k + t), written out: scikit-learn's own takes a millisecond."""
    y, chosen = y * weights, chosen * weights
    tp = (y * (chosen > 0)).sum()
    size = y.sum() + chosen.sum()
    return 2 * tp / size if size else 0.0


def test_threshold_is_the_best_cut_of_the_out_of_fold_scores():
    fitted = model(calibration=None).fit(X, Y)
    scores = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]
    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, f1), rel=1e-14)
    assert f1(Y, scores >= fitted.best_threshold_) == pytest.approx(fitted.best_score_)
    assert fitted.best_threshold_ == fitted.rule_.threshold
    p = LogisticRegression().fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(fitted.predict_proba(X), p)
    np.testing.assert_array_equal(fitted.predict(X), p[:, 1] >= fitted.best_threshold_)


@pytest.mark.parametrize("method", ["spline", "platt", "beta", "isotonic", "auto"])
def test_the_rule_is_on_the_scores_and_the_map_beside_it(method):
    """The loop of the class, written out with scikit-learn's and our own functions."""
    fitted = model(GaussianNB(), calibration=method).fit(X, Y)
    scores = cross_val_predict(GaussianNB(), X, Y, method="predict_proba")[:, 1]
    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, f1), rel=1e-14)
    assert fitted.best_threshold_ == am.tune(Y, scores).threshold
    assert fitted.calibrator_ == learned_from(am.calibrate(Y, scores, method))
    raw = GaussianNB().fit(X, Y).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(fitted.predict(X), raw >= fitted.best_threshold_)
    p = fitted.calibrator_.apply(raw)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], p, rtol=1e-14)


def test_a_threshold_does_not_fall_between_the_steps_of_maps():
    """Scores that separate the classes gave every fold its own two-step map."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.02).astype(int)
    x = np.where(y == 1, 4.0, -4.0) + rng.normal(0, 1, y.size)
    fitted = am.MetricClassifier(
        LogisticRegression(), "gmean", calibration="isotonic", random_state=0
    ).fit(x[:, None], y)
    new = (rng.random(3000) < 0.02).astype(int)
    z = np.where(new == 1, 4.0, -4.0) + rng.normal(0, 1, new.size)
    predicted = fitted.predict(z[:, None])
    assert am.evaluate(new, predicted, "gmean") > 0.99
    assert predicted.mean() < 0.03


def test_the_default_map_and_its_uncertainty_reach_the_forecast():
    fitted = model(GaussianNB()).fit(X, Y)
    assert fitted.calibrator_.method == "spline"
    assert fitted.calibrator_.n == 400
    f = fitted.forecast(X)
    low, high = f.interval_given_map
    assert f.interval[0] < low
    assert f.interval[1] > high
    assert (
        model(GaussianNB(), calibration=None).fit(X, Y).forecast(X).interval_given_map
        is None
    )


def test_rows_that_the_model_learns_from_too_count_half():
    """Their scores are those of other models; a frozen model has scored its own."""
    scores = cross_val_predict(GaussianNB(), X, Y, method="predict_proba")[:, 1]
    fitted = model(GaussianNB()).fit(X, Y)
    assert fitted.calibrator_.counts[1:].sum(axis=1).tolist() == [200.0, Y.sum() / 2]
    np.testing.assert_array_equal(
        fitted.calibrator_.counts[0], am.calibrate(Y, scores).counts[0]
    )
    frozen = model(FrozenEstimator(GaussianNB().fit(X, Y))).fit(*rare(300, seed=1))
    assert frozen.calibrator_.counts[1].sum() == 300.0

    raw, chosen = fitted.estimator_.predict_proba(X)[:, 1], fitted.predict(X)
    whole = am.forecast(raw, chosen, calibrator=am.calibrate(Y, scores)).interval
    low, high = fitted.forecast(X).interval
    assert low < whole[0]
    assert high > whole[1]


@pytest.mark.parametrize("inner", [GaussianNB(), LinearSVC(random_state=0)])
def test_routes_of_a_frozen_threshold(inner):
    margins = not hasattr(inner, "predict_proba")
    how = "decision_function" if margins else "predict_proba"
    scores = cross_val_predict(inner, X, Y, method=how)
    scores = scores if margins else scores[:, 1]
    half = model(inner, route="half").fit(X, Y)
    assert half.best_threshold_ == (0.0 if margins else 0.5)
    assert half.best_score_ == pytest.approx(f1(Y, scores >= half.best_threshold_))
    np.testing.assert_array_equal(half.predict(X), half.estimator_.predict(X))
    decided = model(inner, route="decide").fit(X, Y)
    p = decided.calibrator_.apply(scores, logits=margins)
    cut = am.decide(p).best_cut  # the same cut on log-odds and on probabilities
    np.testing.assert_array_equal(scores >= decided.best_threshold_, p >= cut.threshold)
    assert decided.best_score_ == pytest.approx(f1(Y, p >= cut.threshold))
    assert decided.rule_.positive_rate == pytest.approx((p >= cut.threshold).mean())
    assert (half.route_, decided.route_) == ("half", "decide")
    assert decided.check_ is None


def test_the_route_is_measured():
    fitted = model(GaussianNB(), route="auto").fit(X, Y)
    scores = cross_val_predict(GaussianNB(), X, Y, method="predict_proba")[:, 1]
    check = am.calibration_check(Y, scores, random_state=fitted_seed(0))
    assert fitted.check_.to_dict() == check.to_dict()
    taken = {"recalibrate": "decide"}.get(check.route, check.route)
    assert fitted.route_ == taken
    assert fitted.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="max_positives goes with route='tune'"):
        model(route="auto", max_positives=0.2).fit(X, Y)
    with pytest.raises(ValueError, match="route must be one of"):
        model(route="guess").fit(X, Y)
    with pytest.raises(ValueError, match="group by group, which predict does not"):
        model(route="auto", average="groups").fit(X, Y, groups=np.arange(Y.size) // 5)
    for route in ("auto", "decide"):
        with pytest.raises(ValueError, match="has margins only: set a calibration"):
            model(LinearSVC(), calibration=None, route=route).fit(X, Y)


def fitted_seed(random_state):
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


def test_the_rule_serves_the_scores_it_is_compared_with():
    fitted = model(metric="mcc").fit(X, WORDS)
    p = fitted.estimator_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(fitted.rule_.apply(p), fitted.predict(X))
    assert fitted.rule_.pos_label == "spam"


@pytest.mark.parametrize("kind", [int, bool, float, str, "minus one", "one and two"])
def test_labels_of_any_kind(kind):
    names = {
        str: WORDS,
        "minus one": 2 * Y - 1,
        "one and two": Y + 1,
    }
    y = names[kind] if kind in names else Y.astype(kind)
    fitted, plain = model().fit(X, y), model().fit(X, Y)
    predicted = fitted.predict(X)
    assert predicted.dtype == y.dtype
    np.testing.assert_array_equal(predicted == np.unique(y)[1], plain.predict(X) == 1)
    assert fitted.best_threshold_ == plain.best_threshold_


def test_pos_label_turns_the_problem_round():
    first, second = model().fit(X, Y), model(pos_label="ham").fit(X, WORDS)
    p = second.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    positive = second.predict(X) == "ham"
    np.testing.assert_array_equal(positive, p[:, 0] >= second.best_threshold_)
    np.testing.assert_array_equal(second.decision_function(X) > 0, ~positive)
    swapped = model().fit(X, 1 - Y)
    np.testing.assert_array_equal(positive, swapped.predict(X) == 1)
    assert second.best_threshold_ == pytest.approx(swapped.best_threshold_, rel=1e-9)
    assert first.best_score_ != second.best_score_


SCORES = st.lists(
    st.one_of(
        st.floats(0.0, 1.0),
        st.sampled_from([0.0, 1.0, 1e-300, 5e-324, 1 - 1e-16, 0.5, 0.25]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(SCORES, st.data(), st.sampled_from([0, 1]), st.booleans())
def test_distance_has_the_sign_of_the_decision(values, data, positive, probabilities):
    scores = np.array(values)
    cuts = st.sampled_from([*values, np.inf, -np.inf, 0.0, 1.0, 0.3])
    threshold = data.draw(cuts)
    applies = scores >= threshold
    away = distance(
        scores, threshold, applies, probabilities=probabilities, positive=positive
    )
    second = applies if positive == 1 else ~applies
    np.testing.assert_array_equal(away > 0, second)
    np.testing.assert_array_equal(away.astype(np.float32) > 0, second)
    assert np.isfinite(away).all()
    order = np.argsort(scores if positive == 1 else -scores)
    assert (np.diff(away[order]) >= 0).all()


def test_distance_is_the_difference_of_log_odds():
    scores = np.array([0.2, 0.5, 0.9])
    away = distance(scores, 0.5, scores >= 0.5, probabilities=True, positive=1)
    assert away[0] == pytest.approx(np.log(0.25))
    assert 0 < away[1] < 1e-30
    assert away[2] == pytest.approx(np.log(9.0))


def three_labels():
    noise = np.random.default_rng(5).normal(size=(400, 2))
    return np.column_stack([Y, X[:, :2] + noise > 1.0]).astype(int)


def test_one_versus_rest_keeps_the_rule_where_scikit_learn_drops_its_own():
    labels = three_labels()
    ours = OneVsRestClassifier(model(GaussianNB())).fit(X, labels)
    each = np.column_stack([one.predict(X) for one in ours.estimators_])
    np.testing.assert_array_equal(ours.predict(X), each)
    theirs = OneVsRestClassifier(
        TunedThresholdClassifierCV(GaussianNB(), scoring="f1", thresholds=15, cv=3)
    ).fit(X, labels)
    each_of_theirs = np.column_stack([one.predict(X) for one in theirs.estimators_])
    at_half = np.column_stack(
        [one.predict_proba(X)[:, 1] > 0.5 for one in theirs.estimators_]
    )
    assert (theirs.predict(X) != each_of_theirs).any()  # their thresholds are gone
    np.testing.assert_array_equal(theirs.predict(X), at_half)


def test_one_rule_for_each_output():
    labels = three_labels()
    several = MultiOutputClassifier(model(GaussianNB()))
    several.fit(X, labels)
    for column, one in enumerate(several.estimators_):
        alone = model(GaussianNB()).fit(X, labels[:, column])
        assert one.best_threshold_ == alone.best_threshold_
        np.testing.assert_array_equal(several.predict(X)[:, column], alone.predict(X))
    with pytest.raises(ValueError, match="OneVsRestClassifier or MultiOutput"):
        model().fit(X, labels)


def test_margins_alone_are_enough():
    """No predict_proba: calibrated margins, or the margins as they are."""
    calibrated = model(LinearSVC(random_state=0)).fit(X, Y)
    p = calibrated.predict_proba(X)
    assert ((p > 0) & (p < 1)).all()
    margins = calibrated.estimator_.decision_function(X)
    np.testing.assert_array_equal(
        calibrated.predict(X), margins >= calibrated.best_threshold_
    )
    plain = model(RidgeClassifier(), calibration=None).fit(X, Y)
    assert not hasattr(plain, "predict_proba")
    margins = cross_val_predict(RidgeClassifier(), X, Y, method="decision_function")
    assert plain.best_score_ == pytest.approx(best_cut(Y, margins, f1), rel=1e-14)
    inner = plain.estimator_.decision_function(X)
    np.testing.assert_allclose(
        plain.decision_function(X), inner - plain.best_threshold_, atol=1e-30
    )
    for verb in (plain.decide, plain.forecast):
        with pytest.raises(ValueError, match="needs probabilities"):
            verb(X)


def test_margins_that_look_like_probabilities_are_none():
    inside = RidgeClassifier().fit(X, Y)
    margins = inside.decision_function(X)
    rows = np.flatnonzero((margins > -0.5) & (margins < 0.5))
    X_inside = X[rows]

    class Shifted(RidgeClassifier):
        def decision_function(self, X):
            return super().decision_function(X) + 0.5

    shifted = Shifted().fit(X, Y)
    fitted = model(FrozenEstimator(shifted), calibration=None).fit(X_inside, Y[rows])
    chosen = shifted.decision_function(X) >= fitted.best_threshold_
    np.testing.assert_array_equal(fitted.predict(X), chosen)  # and no warning


def test_margins_of_the_first_class_are_turned_round():
    plain = model(RidgeClassifier(), calibration=None, pos_label="ham").fit(X, WORDS)
    inner = -plain.estimator_.decision_function(X)
    chosen = np.where(inner >= plain.best_threshold_, "ham", "spam")
    np.testing.assert_array_equal(plain.predict(X), chosen)


def test_containers_of_rows():
    expected = model().fit(X, Y)
    names = [f"x{j}" for j in range(X.shape[1])]
    for kind in (
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        X.tolist(),
        np.asfortranarray(X),
        pd.DataFrame(X, columns=names, index=np.arange(X.shape[0]) * 7),
        pl.DataFrame(X, schema=names),
    ):
        fitted = model().fit(kind, Y)
        assert fitted.best_threshold_ == pytest.approx(expected.best_threshold_)
        np.testing.assert_array_equal(fitted.predict(kind), expected.predict(X))
        assert fitted.n_features_in_ == 6
        if hasattr(kind, "columns"):
            assert fitted.feature_names_in_.tolist() == names
    for y in (Y.tolist(), pd.Series(Y, index=Y.size - np.arange(Y.size)), pl.Series(Y)):
        assert model().fit(X, y).best_threshold_ == expected.best_threshold_


def test_documents():
    words = np.array(["good", "fine", "bad", "poor", "film", "plot"])
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.3
    texts = [
        " ".join(rng.choice(words, 5, p=[0.1, 0.1, 0.1 + w, 0.1 + w, 0.3 - w, 0.3 - w]))
        for w in 0.2 * y
    ]
    pipe = make_pipeline(CountVectorizer(), LogisticRegression())
    fitted = model(pipe).fit(texts, y)
    assert fitted.predict(texts).dtype == bool
    assert f1(y, fitted.predict(texts)) > 0.7


def test_inside_of_a_pipeline_and_a_search():
    pipe = make_pipeline(StandardScaler(), model())
    search = GridSearchCV(
        pipe,
        {
            "metricclassifier__metric": ["f1", am.FBeta(2), "accuracy"],
            "metricclassifier__estimator__C": [0.01, 1.0],
        },
        scoring="f1",
        cv=3,
    ).fit(X, Y)
    best = search.best_estimator_[-1]
    chosen = search.best_params_["metricclassifier__estimator__C"]
    assert chosen == best.estimator_.get_params()["C"]
    assert best.rule_.metric.name in ("f1", "f2", am.FBeta(2).name)
    scores = search.cv_results_["mean_test_score"].reshape(2, 3)
    assert scores[:, 0].max() > scores[:, 2].max()  # tuned for accuracy loses f1
    assert cross_val_score(pipe, X, Y, scoring="f1").shape == (5,)


@pytest.mark.parametrize("classes", [2, 3])
def test_skops_gives_the_same_model_back(classes):
    skops = pytest.importorskip("skops.io")
    X, y = make_classification(200, n_informative=4, n_classes=classes, random_state=0)
    fitted = am.MetricClassifier(random_state=0).fit(X, y)
    data = skops.dumps(fitted)
    own = skops.get_untrusted_types(data=data)
    assert all(name.startswith("argmetric.") for name in own)
    again = skops.loads(data, trusted=own)
    assert again.rule_ == fitted.rule_
    assert again.calibrator_ == fitted.calibrator_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_copies():
    fitted = model(max_positives=0.3).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.decision_function(X), fitted.decision_function(X)
    )
    assert again.rule_ == fitted.rule_
    assert clone(fitted).get_params()["max_positives"] == 0.3
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)
    assert "LogisticRegression" in fitted._repr_html_()
    assert repr(am.MetricClassifier(metric="mcc")) == "MetricClassifier(metric='mcc')"


def test_folds_in_parallel_give_the_same():
    one = model().fit(X, Y)
    with joblib.parallel_config("threading"):
        two = model(n_jobs=2).fit(X, Y)
    assert one.rule_ == two.rule_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_without_an_estimator():
    fitted = am.MetricClassifier(random_state=0).fit(X, Y)
    assert fitted.estimator_.get_params()["max_iter"] == 1000
    np.testing.assert_array_equal(fitted.predict(X), model().fit(X, Y).predict(X))


class Counting(ClassifierMixin, BaseEstimator):
    """Remembers what its fits were given."""

    def __init__(self, log=None):
        self.log = log

    def fit(self, X, y, sample_weight=None, extra=None, constant=None):
        self.classes_ = np.unique(y)
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        self.seen_ = (len(X), None if extra is None else len(extra), constant)
        if extra is not None:
            np.testing.assert_array_equal(extra, np.asarray(X)[:, 0])
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_parameters_of_fit_follow_the_rows():
    fitted = model(Counting()).fit(X, Y, extra=X[:, 0], constant="c")
    assert fitted.estimator_.seen_ == (400, 400, "c")
    fitted = model(Counting()).fit(X, Y, extra=X[:, 0].tolist())
    assert fitted.estimator_.seen_ == (400, 400, None)


def test_weights_act_on_the_model_the_map_and_the_rule():
    weights = np.where(Y == 1, 3.0, 1.0)
    splits = list(StratifiedKFold(4).split(X, Y))
    fitted = model(GaussianNB(), cv=splits).fit(X, Y, sample_weight=weights)
    scores = np.empty(Y.size)
    for train, test in splits:
        one = GaussianNB().fit(X[train], Y[train], weights[train])
        scores[test] = one.predict_proba(X[test])[:, 1]

    def weighted(y, chosen):
        return f1(y, chosen, weights)

    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, weighted), rel=1e-12)
    assert fitted.calibrator_ == learned_from(
        am.calibrate(Y, scores, sample_weight=weights)
    )
    whole = GaussianNB().fit(X, Y, weights)
    np.testing.assert_array_equal(fitted.estimator_.theta_, whole.theta_)


def test_an_estimator_without_weights_is_said_once():
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    weights = np.where(Y == 1, 2.0, 1.0)
    with pytest.warns(UserWarning, match="Pipeline.fit takes no sample_weight") as seen:
        model(pipe).fit(X, Y, sample_weight=weights)
    assert len(seen) == 1
    model(pipe).fit(X, Y, logisticregression__sample_weight=weights)


def test_groups_stay_together():
    """Rows of a group repeat each other: only whole groups tell what is learned."""
    rng = np.random.default_rng(3)
    groups = np.arange(300) % 60
    noise = rng.normal(size=(60, 8))[groups]
    y = (rng.random(60) < 0.4)[groups]
    nearest = KNeighborsClassifier(1)
    plain = {"calibration": None}
    apart = model(nearest, **plain).fit(noise, y)
    together = model(nearest, **plain).fit(noise, y, groups=groups)
    assert apart.best_score_ > 0.95
    assert together.best_score_ < 0.75
    named = model(nearest, cv=GroupKFold(5), **plain).fit(noise, y, groups=groups)
    assert named.best_score_ < 0.75
    names = pl.Series(groups).cast(pl.String)
    as_text = model(nearest, **plain).fit(noise, y, groups=names)
    assert as_text.best_threshold_ == together.best_threshold_
    # With calibration there is nothing left to tell rows apart, and that is said.
    with pytest.warns(UserWarning, match="tell nothing about y") as seen:
        flat = model(nearest).fit(noise, y, groups=groups)
    assert len(seen) == 1
    assert np.unique(flat.predict(noise)).size == 1


def test_leave_one_group_out():
    groups = np.arange(400) % 7
    logo = LeaveOneGroupOut()
    fitted = model(calibration=None, cv=logo).fit(X, Y, groups=groups)
    scores = cross_val_predict(
        LogisticRegression(), X, Y, groups=groups, cv=logo, method="predict_proba"
    )[:, 1]
    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, f1), rel=1e-14)


def test_mean_over_groups():
    groups = np.arange(400) // 20
    splits = list(StratifiedKFold(5).split(X, Y))
    fitted = model(calibration=None, cv=splits, average="groups")
    fitted.fit(X, Y, groups=groups)
    scores = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]

    def mean_f1(y, chosen):
        return np.mean([f1(y[groups == g], chosen[groups == g]) for g in range(20)])

    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, mean_f1), rel=1e-12)
    with pytest.raises(ValueError, match="needs groups"):
        fitted.fit(X, Y)
    decision = fitted.decide(X, groups=groups)
    assert decision.average == "groups"


@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(4),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        PredefinedSplit(np.where(np.arange(400) < 100, 0, -1)),
    ],
)
def test_splitters_that_test_rows_never_once_or_often(cv):
    fitted = model(GaussianNB(), cv=cv, calibration=None).fit(X, Y)
    tested, scores = [], []
    for train, test in cv.split(X, Y):
        one = GaussianNB().fit(X[train], Y[train])
        tested.append(Y[test])
        scores.append(one.predict_proba(X[test])[:, 1])
    best = best_cut(np.concatenate(tested), np.concatenate(scores), f1)
    assert fitted.best_score_ == pytest.approx(best, rel=1e-14)
    calibrated = model(GaussianNB(), cv=cv).fit(X, Y)
    assert calibrated.calibrator_.n == sum(map(len, tested))


def test_a_frozen_estimator_is_neither_fitted_nor_cloned():
    inner = LogisticRegression().fit(X[:200], Y[:200])
    coefficients = inner.coef_.copy()
    frozen = FrozenEstimator(inner)
    fitted = model(frozen, calibration=None).fit(X[200:], Y[200:])
    assert fitted.estimator_ is frozen
    np.testing.assert_array_equal(inner.coef_, coefficients)
    p = inner.predict_proba(X[200:])[:, 1]
    assert fitted.best_score_ == pytest.approx(best_cut(Y[200:], p, f1), rel=1e-14)
    calibrated = model(frozen).fit(X[200:], Y[200:])
    assert calibrated.calibrator_ == am.calibrate(Y[200:], p)
    weighted = model(frozen).fit(X[200:], Y[200:], sample_weight=1.0 + Y[200:])
    assert weighted.calibrator_ != calibrated.calibrator_
    with pytest.raises(NotFittedError):
        model(FrozenEstimator(LogisticRegression())).fit(X, Y)
    words = model(FrozenEstimator(LogisticRegression().fit(X, WORDS)))
    with pytest.raises(ValueError, match="'eggs', which the frozen"):
        words.fit(X, np.where(WORDS == "spam", "eggs", "ham"))


def test_another_calibrated_classifier_may_be_inside():
    fitted = model(CalibratedClassifierCV(LinearSVC(), cv=3)).fit(X, Y)
    np.testing.assert_array_equal(fitted.decision_function(X) > 0, fitted.predict(X))


def three_classes(n=300):
    return make_classification(
        n,
        8,
        n_informative=5,
        n_classes=3,
        weights=[0.7, 0.2],
        class_sep=0.7,
        random_state=0,
    )


@pytest.mark.parametrize("inner", [LogisticRegression(max_iter=500), LinearSVC()])
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_more_than_two_classes(inner, metric):
    X, y = three_classes()
    y = np.array(["a", "b", "c"])[y]
    fitted = model(inner, metric).fit(X, y)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert fitted.calibrator_.method == "temperature"
    weighted = fitted.decision_function(X)
    np.testing.assert_array_equal(
        fitted.predict(X), fitted.classes_[weighted.argmax(1)]
    )
    np.testing.assert_array_equal(fitted.predict(X), fitted.rule_.apply(p))
    plain = cross_val_predict(inner, X, y)
    if metric == "f1":
        assert fitted.best_score_ >= f1_score(y, plain, average="macro") - 0.01
    assert not hasattr(fitted, "best_threshold_")
    for verb in (fitted.decide, fitted.forecast):
        with pytest.raises(ValueError, match="two classes"):
            verb(X)


def test_options_of_two_classes_are_refused_for_three():
    X, y = three_classes(60)
    for options in (
        {"min_recall": 0.5},
        {"max_positives": 3},
        {"choice": "one_se"},
        {"calibration": "isotonic"},
    ):
        with pytest.raises(ValueError, match="two classes"):
            model(**options).fit(X, y)
    with pytest.raises(ValueError, match="pass y == 1 for 1 against the rest"):
        model(pos_label=1).fit(X, y)
    with pytest.raises(ValueError, match="calibration='temperature'"):
        model(LinearSVC(), calibration=None).fit(X, y)


def test_floors_and_budgets_hold_out_of_fold():
    scores = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]

    def chosen(**limits):
        fitted = model(calibration=None, **limits).fit(X, Y)
        return scores >= fitted.best_threshold_

    assert chosen(min_recall=0.9)[Y == 1].mean() >= 0.9
    strict = chosen(min_precision=0.8)
    assert Y[strict].mean() >= 0.8
    assert chosen(max_positives=10).sum() <= 10
    assert chosen(max_positives=0.05).sum() <= 20
    assert chosen(choice="one_se").sum() <= chosen().sum()


def test_a_batch_is_decided_jointly():
    fitted = model(min_recall=0.5, zero_division=1.0).fit(X, Y)
    p = fitted.predict_proba(X)[:, 1]
    decision = fitted.decide(X)
    expected = am.decide(p, "f1", zero_division=1.0, min_recall=0.5)
    np.testing.assert_array_equal(decision.labels, expected.labels)
    groups = np.arange(400) // 10
    grouped = fitted.decide(X, groups=groups, average="groups", min_recall=None)
    by_group = am.decide(p, groups=groups, average="groups", zero_division=1.0)
    np.testing.assert_array_equal(grouped.labels, by_group.labels)
    with pytest.raises(ValueError, match="average='groups' or average='pooled'"):
        fitted.decide(X, groups=groups)
    assert fitted.decide(X, min_recall=None, max_positives=3).n_positives == 3


def test_the_score_of_a_batch_is_forecast():
    fitted = model(pos_label="ham").fit(X, WORDS)
    p = fitted.estimator_.predict_proba(X)[:, 0]
    predicted = fitted.predict(X)
    by_hand = am.forecast(p, predicted == "ham", calibrator=fitted.calibrator_)
    mean = by_hand.mean
    assert fitted.forecast(X).mean == mean
    assert fitted.forecast(X).interval == by_hand.interval
    assert fitted.forecast(X, predicted).mean == mean
    assert fitted.forecast(X, predicted == "ham", coverage=0.5).coverage == 0.5
    assert fitted.forecast(X, (predicted == "ham").astype(int)).mean == mean
    decision = fitted.decide(X)
    # The mean over maps is that of the map itself, nearly.
    assert fitted.forecast(X, decision).mean == pytest.approx(
        decision.expected, abs=2e-3
    )
    with pytest.raises(ValueError, match="row 3: label 'eggs' is neither 'spam'"):
        fitted.forecast(X, [*WORDS[:3], "eggs", *WORDS[4:]])


def test_metadata_is_routed():
    weights = np.where(Y == 1, 2.0, 1.0)
    groups = np.arange(400) % 10
    plain = model().fit(X, Y, sample_weight=weights)
    grouped = model(cv=GroupKFold(4)).fit(X, Y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = LogisticRegression().set_fit_request(sample_weight=True)
        routed = model(asking).fit(X, Y, sample_weight=weights)
        assert routed.best_threshold_ == plain.best_threshold_
        np.testing.assert_array_equal(routed.estimator_.coef_, plain.estimator_.coef_)
        # The weights may be for the rule alone.
        silent = LogisticRegression().set_fit_request(sample_weight=False)
        apart = model(silent).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(
            apart.estimator_.coef_, LogisticRegression().fit(X, Y).coef_
        )
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            model(LogisticRegression()).fit(X, Y, sample_weight=weights)
        assert am.MetricClassifier(random_state=0).fit(
            X, Y, sample_weight=weights
        ).best_threshold_ == pytest.approx(plain.best_threshold_)
        again = model(cv=GroupKFold(4)).fit(X, Y, groups=groups)
        assert again.best_threshold_ == grouped.best_threshold_
        # Through a search, down to the estimator and to both splitters.
        search = GridSearchCV(
            model(asking)
            .set_fit_request(sample_weight=True)
            .set_score_request(sample_weight=False),
            {"metric": ["f1", "mcc"]},
            cv=GroupKFold(3),
        ).fit(X, Y, sample_weight=weights, groups=groups)
        inner = model(asking, search.best_params_["metric"])
        inner.fit(X, Y, sample_weight=weights, groups=groups)
        assert search.best_estimator_.best_threshold_ == inner.best_threshold_
        # And to a step of a pipeline.
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, asking)
        model(pipe).fit(X, Y, sample_weight=weights)
        scores = cross_validate(
            search.estimator,
            X,
            Y,
            params={"sample_weight": weights},
            error_score="raise",
        )
        assert scores["test_score"].shape == (5,)


def test_bad_input_says_what_to_do():
    one = np.ones(400, dtype=int)
    with pytest.raises(ValueError, match="one class only: every label is 1"):
        model().fit(X, one)
    with pytest.raises(ValueError, match="class 'spam' has one row only"):
        model().fit(X, np.where(np.arange(400) == 5, "spam", "ham"))
    with pytest.raises(ValueError, match="never holds 'eggs', which pos_label"):
        model(pos_label="eggs").fit(X, WORDS)
    with pytest.raises(ValueError, match="calibration must be one of"):
        model(calibration="sigmoid").fit(X, Y)
    with pytest.raises(ValueError, match="choice must be one of"):
        model(choice="worst").fit(X, Y)
    with pytest.raises(ValueError, match="average must be one of"):
        model(average="macro").fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 folds"):
        model(cv=1).fit(X, Y)
    with pytest.raises(ValueError, match="f7"):
        model(metric="f7x").fit(X, Y)
    with pytest.raises(ValueError, match="fold 0 has no row of class 1"):
        model(cv=[(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))]).fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight is -1 at row 2"):
        model().fit(X, Y, sample_weight=[1, 1, -1, *[1] * 397])
    with pytest.raises(ValueError, match="every label of positive weight is 0"):
        model().fit(X, Y, sample_weight=1.0 - Y)
    with pytest.raises(ValueError, match="groups has 3 rows but y has 400"):
        model().fit(X, Y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="one group only"):
        model().fit(X, Y, groups=one)
    with pytest.raises(TypeError, match="neither predict_proba nor decision_function"):
        model(StandardScaler()).fit(X, Y)


def test_few_rows_make_fewer_folds():
    rows = np.concatenate([np.flatnonzero(Y == 0)[:40], np.flatnonzero(Y == 1)[:3]])
    fitted = model(calibration=None).fit(X[rows], Y[rows])
    scores = cross_val_predict(
        LogisticRegression(), X[rows], Y[rows], cv=3, method="predict_proba"
    )[:, 1]
    assert fitted.best_score_ == pytest.approx(best_cut(Y[rows], scores, f1))
