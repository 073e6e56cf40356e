"""Weights, groups, folds and several classes of a MetricClassifier."""

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import argmetric as am
from classified import WORDS, X, Y, best_cut, f1, learned_from, model
from refusing import refuses


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


def test_weights_act_on_the_model_the_calibrator_and_the_rule():
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
    with pytest.warns(UserWarning, match="carry no information about y") as seen:
        flat = model(nearest).fit(noise, y, groups=groups)
    assert len(seen) == 1
    assert np.unique(flat.predict(noise)).size == 1


def test_mean_over_groups():
    groups = np.arange(400) // 20
    splits = list(StratifiedKFold(5).split(X, Y))
    fitted = model(calibration=None, cv=splits, average="groups")
    fitted.fit(X, Y, groups=groups)
    scores = cross_val_predict(LogisticRegression(), X, Y, method="predict_proba")[:, 1]

    def mean_f1(y, chosen):
        return np.mean([f1(y[groups == g], chosen[groups == g]) for g in range(20)])

    assert fitted.best_score_ == pytest.approx(best_cut(Y, scores, mean_f1), rel=1e-12)
    refuses(ValueError, "needs groups", fitted.fit, X, Y)
    decision = fitted.decide(X, groups=groups)
    assert decision.average == "groups"


@pytest.mark.parametrize(
    "cv",
    [
        TimeSeriesSplit(4),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        PredefinedSplit(np.where(np.arange(400) < 100, 0, -1)),
        LeaveOneGroupOut(),
    ],
)
def test_splitters_that_test_rows_never_once_or_often(cv):
    groups = np.arange(400) % 7 if isinstance(cv, LeaveOneGroupOut) else None
    fitted = model(GaussianNB(), cv=cv, calibration=None).fit(X, Y, groups=groups)
    tested, scores = [], []
    for train, test in cv.split(X, Y, groups):
        one = GaussianNB().fit(X[train], Y[train])
        tested.append(Y[test])
        scores.append(one.predict_proba(X[test])[:, 1])
    best = best_cut(np.concatenate(tested), np.concatenate(scores), f1)
    assert fitted.best_score_ == pytest.approx(best, rel=1e-14)
    calibrated = model(GaussianNB(), cv=cv).fit(X, Y, groups=groups)
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


def held_out_scores(inner, X, y):
    method = "predict_proba" if hasattr(inner, "predict_proba") else "decision_function"
    return cross_val_predict(inner, X, y, cv=StratifiedKFold(5), method=method), (
        method == "decision_function"
    )


@pytest.mark.parametrize("inner", [LogisticRegression(max_iter=500), LinearSVC()])
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_a_batch_of_several_classes_is_decided_with_the_matrix_of_held_out_scores(
    inner, metric
):
    X, y = three_classes(400)
    y = np.array(["a", "b", "c"])[y]
    train, batch = slice(0, 300), slice(300, 400)
    fitted = model(inner, metric, average="macro").fit(X[train], y[train])
    scores, logits = held_out_scores(inner, X[train], y[train])
    own = clone(inner).fit(X[train], y[train])
    new = own.decision_function(X[batch]) if logits else own.predict_proba(X[batch])
    given = {"reference": (y[train], scores), "logits": logits, "classes": list("abc")}
    decision, by_hand = fitted.decide(X[batch]), am.classes.decide(new, metric, **given)
    assert decision.labels.tolist() == by_hand.labels.tolist()
    assert decision.expected == pytest.approx(by_hand.expected, rel=1e-9)
    # the estimator keeps the calibrator, not the rows that it was fitted to
    given["reference"] = am.classes.calibrate(
        y[train], scores, classes=list("abc"), logits=logits
    )
    forecast = am.classes.forecast(new, by_hand.labels, metric, **given)
    for labels in (decision, decision.labels):
        found = fitted.forecast(X[batch], labels)
        assert found.mean == pytest.approx(forecast.mean, rel=1e-9)
        assert found.interval == pytest.approx(forecast.interval, rel=1e-9)
    plain = am.classes.forecast(new, fitted.predict(X[batch]), metric, **given)
    assert fitted.forecast(X[batch]).mean == pytest.approx(plain.mean, rel=1e-9)
    kept = fitted.decide(X[batch], max_per_class={"c": 1}) if metric == "f1" else None
    assert kept is None or kept.counts[2] <= 1


def test_what_several_classes_and_two_do_not_share():
    X, y = three_classes(60)
    with pytest.raises(ValueError, match="average='macro' is for more than two"):
        model(average="macro").fit(X, y == 1)

    def own(tp, k, t, n):
        return 2 * tp / (k + t) if k + t else 0.0

    fitted = model(metric=own).fit(X, y)
    for verb in (fitted.decide, fitted.forecast):
        refuses(ValueError, "3 classes takes named metrics only", verb, X)


def test_options_of_two_classes_are_refused_for_three():
    X, y = three_classes(60)
    for options in (
        {"min_recall": 0.5},
        {"max_positives": 3},
        {"calibration": "isotonic"},
    ):
        refuses(ValueError, "two classes", model(**options).fit, X, y)
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
    assert chosen(max_positives="5%").sum() <= 20


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
    alone = fitted.decide(X, groups=groups, min_recall=None)
    np.testing.assert_array_equal(alone.labels, by_group.labels)
    assert fitted.decide(X, min_recall=None, max_positives=3).n_positives == 3


def test_the_score_of_a_batch_is_forecast():
    fitted = model(pos_label="ham").fit(X, WORDS)
    p = fitted.estimator_.predict_proba(X)[:, 0]
    predicted = fitted.predict(X)
    by_hand = am.forecast(p, predicted == "ham", reference=fitted.calibrator_)
    mean = by_hand.mean
    assert fitted.forecast(X).mean == mean
    assert fitted.forecast(X).interval == by_hand.interval
    assert fitted.forecast(X, predicted).mean == mean
    assert fitted.forecast(X, predicted == "ham", coverage=0.5).coverage == 0.5
    assert fitted.forecast(X, (predicted == "ham").astype(int)).mean == mean
    decision = fitted.decide(X)
    # The mean over maps is that of the calibrator itself, nearly.
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


ONE = np.ones(400, dtype=int)
NO_POSITIVE = [(np.flatnonzero(Y == 0), np.flatnonzero(Y == 1))]


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({}, {"y": ONE}, "one class only: every label is 1"),
        ({}, {"y": np.where(np.arange(400) == 5, "b", "a")}, "'b' has one row only"),
        ({"pos_label": "eggs"}, {"y": WORDS}, "never holds 'eggs', which pos_label"),
        ({"calibration": "sigmoid"}, {}, "calibration must be one of"),
        ({"average": "samples"}, {}, "average must be one of"),
        ({"cv": 1}, {}, "at least 2 folds"),
        ({"metric": "f7x"}, {}, "f7"),
        ({"cv": NO_POSITIVE}, {}, "fold 0 has no row of class 1"),
        ({}, {"sample_weight": [1, 1, -1, *[1] * 397]}, "sample_weight is -1 at row 2"),
        ({}, {"sample_weight": 1.0 - Y}, "every label of positive weight is 0"),
        ({}, {"groups": [1, 2, 3]}, "groups has 3 rows but y has 400"),
        ({}, {"groups": ONE}, "one group only"),
        ({"estimator": StandardScaler()}, {}, "neither predict_proba nor decision_fun"),
    ],
)
def test_bad_input_says_what_to_do(settings, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        model(**settings).fit(**{"X": X, "y": Y} | given)


def test_score_is_the_metric_as_it_was_built():
    weight = 0.5 + np.arange(400) % 3
    groups = np.arange(400) % 20
    fitted = model(metric="f1").fit(X, Y)
    said = fitted.predict(X)
    assert fitted.score(X, Y) == pytest.approx(f1_score(Y, said), rel=1e-12)
    wanted = f1_score(Y, said, sample_weight=weight)
    assert fitted.score(X, Y, weight) == pytest.approx(wanted, rel=1e-12)
    turned = model(metric="recall", pos_label=0).fit(X, Y)
    wanted = ((Y == 0) & (turned.predict(X) == 0)).sum() / (Y == 0).sum()
    assert turned.score(X, Y) == pytest.approx(wanted, rel=1e-12)
    by_group = model(average="groups", zero_division=1.0).fit(X, Y, groups=groups)
    said = by_group.predict(X)
    each = [
        f1_score(Y[rows], said[rows], zero_division=1.0)
        for rows in (groups == g for g in range(20))
    ]
    found = by_group.score(X, Y, groups=groups)
    assert found == pytest.approx(np.mean(each), rel=1e-12)
    refuses(ValueError, r"needs score\(X, y, groups=\.\.\.\)", by_group.score, X, Y)
    error = am.SquaredCountError()
    counted = model(metric=error).fit(X, Y)
    assert counted.score(X, Y) == -am.evaluate(Y, counted.predict(X), error)


@pytest.mark.parametrize("pos_label", [None, 0])
def test_score_of_a_model_fitted_for_a_metric_is_that_metric(pos_label):
    metrics = [am.FBeta(2), "precision"]
    fitted = am.MetricLogisticRegression(metrics, pos_label=pos_label).fit(X, Y)
    chosen, positive = (
        a == (1 if pos_label is None else 0) for a in (fitted.predict(X), Y)
    )
    assert fitted.score(X, Y) == am.FBeta(2).score(positive, chosen)
    weight = 0.5 + np.arange(400) % 3
    wanted = am.evaluate(positive, chosen, am.FBeta(2), sample_weight=weight)
    assert fitted.score(X, Y, weight) == wanted


def test_several_classes_without_a_map_or_with_the_temperature():
    X, y = three_classes()
    groups = np.arange(300) % 7
    for calibration in (None, "temperature"):
        fitted = model(calibration=calibration, zero_division=0.0).fit(X, y)
        p = fitted.predict_proba(X)
        by_hand = am.classes.decide(p, zero_division=0.0, groups=groups)
        decision = fitted.decide(X, groups=groups)
        assert decision.labels.tolist() == by_hand.labels.tolist()
        assert decision.expected == pytest.approx(by_hand.expected, rel=1e-12)
