"""MetricClassifier against loops written out by hand, and inside of scikit-learn."""

import pickle
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metaestimators import available_if

import argmetric as am
from classified import WORDS, X, Y, best_cut, f1, learned_from, model, rare
from refusing import refuses

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
        am.MetricClassifier(cv=2),
        am.MetricClassifier(LinearSVC(random_state=0), "mcc", calibration=None, cv=2),
    ],
    expected_failed_checks=lambda one: BY_NATURE if one.calibration else {},
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


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
def test_the_rule_is_on_the_scores_and_the_calibrator_beside_it(method):
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
    low, high = f.interval_given_calibrator
    assert f.interval[0] < low
    assert f.interval[1] > high
    assert (
        model(GaussianNB(), calibration=None)
        .fit(X, Y)
        .forecast(X)
        .interval_given_calibrator
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
    whole = am.forecast(raw, chosen, reference=am.calibrate(Y, scores)).interval
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
        model(route="auto", max_positives="20%").fit(X, Y)
    refuses(ValueError, "route must be one of", model(route="guess").fit, X, Y)
    with pytest.raises(ValueError, match="group by group, which predict does not"):
        model(route="auto", average="groups").fit(X, Y, groups=np.arange(Y.size) // 5)
    for route in ("auto", "decide"):
        with pytest.raises(ValueError, match="has margins only: set a calibration"):
            model(LinearSVC(), calibration=None, route=route).fit(X, Y)


def fitted_seed(random_state):
    return int(np.random.RandomState(random_state).randint(2**31 - 1))


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


class ScoresGiven(ClassifierMixin, BaseEstimator):
    """The first feature is its probability, or its margin."""

    def __init__(self, margins=False):
        self.margins, self.classes_ = margins, np.array([0, 1])

    def fit(self, X, y):
        return self

    @available_if(lambda self: self.margins)
    def decision_function(self, X):
        return X[:, 0]

    @available_if(lambda self: not self.margins)
    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("pos_label", [0, 1])
@settings(max_examples=15, deadline=None)
@given(values=SCORES, data=st.data())
def test_decision_function_has_the_sign_of_the_decision(
    values, data, pos_label, margins
):
    frozen = FrozenEstimator(ScoresGiven(margins))
    fitted = model(frozen, calibration=None, pos_label=pos_label).fit(
        np.array([[0.1], [0.8], [0.3], [0.6]]), [0, 1, 0, 1]
    )
    threshold = data.draw(st.sampled_from([*values, np.inf, -np.inf, 0.0, 1.0, 0.3]))
    fitted.rule_ = replace(fitted.rule_, threshold=threshold)
    scores = np.array(values)[:, None]
    away, second = fitted.decision_function(scores), fitted.predict(scores) == 1
    np.testing.assert_array_equal(away > 0, second)
    np.testing.assert_array_equal(away.astype(np.float32) > 0, second)
    assert np.isfinite(away).all()
    assert (np.diff(away[np.argsort(values)]) >= 0).all()
    if not margins and pos_label == 1:
        fitted.rule_ = replace(fitted.rule_, threshold=0.5)
        away = fitted.decision_function(np.array([[0.2], [0.5], [0.9]]))
        assert away == pytest.approx([np.log(0.25), 0.0, np.log(9.0)], abs=1e-12)
        assert 0 < away[1] < 1e-30


def three_labels():
    noise = np.random.default_rng(5).normal(size=(400, 2))
    return np.column_stack([Y, X[:, :2] + noise > 1.0]).astype(int)


def test_one_versus_rest_keeps_the_rule():
    labels = three_labels()
    ours = OneVsRestClassifier(model(GaussianNB())).fit(X, labels)
    each = np.column_stack([one.predict(X) for one in ours.estimators_])
    np.testing.assert_array_equal(ours.predict(X), each)


def test_one_rule_for_each_output():
    labels = three_labels()
    several = MultiOutputClassifier(model(GaussianNB()))
    several.fit(X, labels)
    for column, one in enumerate(several.estimators_):
        alone = model(GaussianNB()).fit(X, labels[:, column])
        assert one.best_threshold_ == alone.best_threshold_
        np.testing.assert_array_equal(several.predict(X)[:, column], alone.predict(X))
    refuses(ValueError, "OneVsRestClassifier or MultiOutput", model().fit, X, labels)


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
        refuses(ValueError, "needs probabilities", verb, X)


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
    fitted = model(max_positives="30%").fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.decision_function(X), fitted.decision_function(X)
    )
    assert again.rule_ == fitted.rule_
    assert clone(fitted).get_params()["max_positives"] == "30%"
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)
    assert "LogisticRegression" in fitted._repr_html_()
    assert repr(am.MetricClassifier(metric="mcc")) == "MetricClassifier(metric='mcc')"


@pytest.mark.parametrize("classes", [2, 3])
def test_notebooks_show_threshold_score_and_picture(classes):
    X, y = make_classification(300, n_informative=4, n_classes=classes, random_state=0)
    unfitted = am.MetricClassifier(LogisticRegression(), random_state=0)
    fitted = clone(unfitted).fit(X, y)
    rule = fitted.rule_
    for page in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert f"{rule.mean:.3f}" in page
        assert f"{rule.score:.3f}" in page
        assert "LogisticRegression" in page
        if classes == 2:
            assert f"p &gt;= {rule.threshold:.3g}" in page
            assert "<title>Actual F1 by threshold</title>" in page
    assert "<svg viewBox" not in unfitted._repr_html_()
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")


def test_other_names_of_the_threshold_say_where_it_is():
    two = model().fit(X, Y)
    three = am.MetricClassifier().fit(X, X[:, 0].round().clip(-1, 1))
    for name in ("threshold_", "thresholds_", "threshold"):
        for one, words in (
            (two, f"no {name}: best_threshold_ holds the threshold"),
            (three, f"no {name}: rule_ holds what it decides by"),
            (model(), f"no {name}: call fit first, then best_threshold_"),
        ):
            refuses(AttributeError, words, getattr, one, name)
    refuses(AttributeError, "no best_threshold_: rule_", lambda: three.best_threshold_)
    bare = am.MetricClassifier(LinearSVC(), calibration=None)
    refuses(
        AttributeError, "has no attribute 'predict_proba'", lambda: bare.predict_proba
    )
    refuses(AttributeError, "has no attribute 'sore'", lambda: two.sore)
    assert two.best_threshold_ == two.rule_.threshold
    assert "threshold_" not in dir(two)


def test_folds_in_parallel_give_the_same():
    one = model().fit(X, Y)
    with joblib.parallel_config("threading"):
        two = model(n_jobs=2).fit(X, Y)
    assert one.rule_ == two.rule_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_classifier_leaves_rows_to_a_person():
    X, y = make_classification(1500, class_sep=1.0, random_state=0)
    limits = {"min_precision": 0.9, "min_npv": 0.9, "confidence": 0.9}
    names = np.where(y == 1, "spam", "ham")
    frozen = FrozenEstimator(LogisticRegression().fit(X[:500], names[:500]))
    asking = am.MetricClassifier(frozen, **limits, review=True)
    asking.fit(X[500:], names[500:])
    scores = frozen.predict_proba(X[500:])[:, 1]
    rule = am.tune(y[500:], scores, **limits, review=True)
    assert (asking.rule_.low, asking.rule_.high) == (rule.low, rule.high)
    found = asking.predict(X)
    wanted = {1: "spam", 0: "ham", -1: -1}
    by_rule = rule.apply(frozen.predict_proba(X)[:, 1]).tolist()
    assert found.tolist() == [wanted[x] for x in by_rule]
    assert asking.predict_proba(X).shape == (1500, 2)
    for call in (
        lambda: asking.score(X, names),
        lambda: asking.decision_function(X),
        lambda: asking.forecast(X),
    ):
        with pytest.raises(ValueError, match="leaves some to a person"):
            call()
    assert asking.decide(X).n_positives > 0
    asking.fit(X[500:], names[500:], groups=np.arange(1000) // 2)
    assert asking.rule_.guarantee.n == 500
    named = am.MetricClassifier(frozen, **limits, review=True, ask="look")
    looked = named.fit(X[500:], names[500:]).predict(X)
    assert looked.tolist() == [wanted[x] if x >= 0 else "look" for x in by_rule]
    for ask, message in (("spam", "all must differ"), ([1], "ask must be one label")):
        with pytest.raises((TypeError, ValueError), match=message):
            named.set_params(ask=ask).fit(X[500:], names[500:])
    with pytest.raises(ValueError, match="goes with review=True"):
        am.MetricClassifier(ask=5).fit(X, y)
    with pytest.raises(ValueError, match="review goes with route='tune'"):
        am.MetricClassifier(review=True, route="half").fit(X, y)


def test_review_of_several_classes_gives_a_class_or_asks():
    X, y = make_classification(
        1500, n_classes=3, n_informative=5, class_sep=1.5, random_state=0
    )
    names = np.array(["ant", "bee", "cat"])[y]
    limits = {"min_precision": {"ant": 0.8, "bee": 0.85}, "confidence": 0.9}
    frozen = FrozenEstimator(LogisticRegression().fit(X[:500], names[:500]))
    model = am.MetricClassifier(frozen, **limits, review=True).fit(X[500:], names[500:])
    rule = am.classes.tune(
        names[500:], frozen.predict_proba(X[500:]), **limits, review=True
    )
    assert model.rule_ == rule
    assert model.predict(X).tolist() == rule.apply(frozen.predict_proba(X)).tolist()
    assert set(model.predict(X)) == {"ant", "bee", "ask"}
    looked = am.MetricClassifier(frozen, **limits, review=True, ask="look")
    looked = looked.fit(X[500:], names[500:]).predict(X)
    assert (looked == np.where(model.predict(X) == "ask", "look", looked)).all()
    assert "look" in looked
    assert model.predict_proba(X).shape == (1500, 3)
    assert model.decide(X).labels.size == 1500
    for call in (
        lambda: model.score(X, names),
        lambda: model.decision_function(X),
        lambda: model.forecast(X),
    ):
        with pytest.raises(ValueError, match="leaves some to a person"):
            call()
    folds = am.MetricClassifier(**limits, review=True).fit(X, names)
    assert folds.rule_.n == 1500
    for kind, options, message in (
        (LinearSVC(), {}, "needs predict_proba, and the estimator has margins only"),
        (None, {"average": "macro"}, "review=True goes without average"),
        (None, {"min_recall": 0.5}, "min_recall only supports two classes"),
        (None, {"confidence": None}, "pass confidence=0.9"),
        (None, {"review": False}, "min_precision only supports two classes"),
    ):
        odd = am.MetricClassifier(kind, **limits | {"review": True} | options)
        with pytest.raises(ValueError, match=message):
            odd.fit(X, names)
    with pytest.raises(ValueError, match="fit on one row of each group"):
        am.MetricClassifier(**limits, review=True).fit(
            X, names, groups=np.arange(1500) // 2
        )
