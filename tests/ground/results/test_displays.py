"""Displays in the way of scikit-learn: what they compute, and what they draw."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import argmetric as am
from argmetric.stream import HistogramRule, OnlineClassifier, StreamDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = np.where(RNG.random(400) < 1 / (1 + np.exp(2 - 2 * X[:, 0])), "yes", "no")
MODEL = LogisticRegression().fit(X, Y)
P = MODEL.predict_proba(X)[:, 1]


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


def texts(ax):
    return [one.get_text() for one in ax.get_legend().get_texts()]


def displays():
    yield am.ExpectedMetricDisplay, (P, "f1"), (MODEL, X, "f1"), {}
    labels = MODEL.predict(X) == "yes"
    yield am.ForecastDisplay, (P, labels, "f1"), (MODEL, X, "f1"), {}
    quick = {"n_bootstrap": 2}
    yield am.CalibrationCostDisplay, (Y == "yes", P, "f1"), (MODEL, X, Y, "f1"), quick
    yield am.ThresholdDisplay, (Y == "yes", P, "f1"), (MODEL, X, Y, "f1"), quick


@pytest.mark.parametrize("place", range(4))
def test_predictions_and_estimators_are_drawn_alike(place):
    kind, predictions, estimator, options = list(displays())[place]
    one = kind.from_predictions(*predictions, **options)
    two = kind.from_estimator(*estimator, ax=one.figure_.add_subplot(), **options)
    assert two.figure_ is one.figure_ is one.ax_.figure
    assert two.ax_ is not one.ax_
    assert texts(one.ax_) == texts(two.ax_)
    for axis in ("x", "y"):
        drawn, again = (getattr(d.line_, f"get_{axis}data")() for d in (one, two))
        np.testing.assert_array_equal(drawn, again)
    assert repr(one) == f"{kind.__name__}(drawn)"


def test_the_other_class_may_be_the_positive_one():
    one = am.ExpectedMetricDisplay.from_estimator(MODEL, X, pos_label="no")
    assert one.decision.expected == pytest.approx(am.decide(1 - P).expected)
    forecast = am.ForecastDisplay.from_estimator(MODEL, X, pos_label="no").forecast
    assert forecast.n_positives == (MODEL.predict(X) == "no").sum()


def test_margins_have_a_threshold_and_no_decision():
    margins = LinearSVC().fit(X, Y)
    rule = am.ThresholdDisplay.from_estimator(margins, X, Y, n_bootstrap=2).rule
    scores = margins.decision_function(X)
    assert rule.pos_label == "yes"
    np.testing.assert_array_equal(rule.apply(scores) == "yes", scores >= rule.threshold)
    with pytest.raises(TypeError, match="estimator must have predict_proba, which Lin"):
        am.ExpectedMetricDisplay.from_estimator(margins, X)


def test_three_classes_are_refused():
    three = LogisticRegression().fit(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        am.ExpectedMetricDisplay.from_estimator(three, X)


def test_the_best_k_stands_in_the_left_half_of_its_picture():
    p = np.concatenate([np.full(100, 0.7), np.full(3000, 0.0001)])
    display = am.ExpectedMetricDisplay.from_predictions(p)
    assert display.decision.n_positives == 100
    assert display.ax_.get_xlim() == pytest.approx((-5, 255))
    assert display.line_.get_xdata().tolist() == list(range(251))
    assert texts(display.ax_)[1].startswith("decision: 100 rows (p ≥ ")


def test_a_long_curve_is_thinned_and_keeps_its_best():
    display = am.ExpectedMetricDisplay.from_predictions(np.linspace(0.9, 0.3, 30_000))
    k = display.line_.get_xdata()
    assert k.size in (4000, 4001)
    assert display.decision.n_positives in k
    np.testing.assert_array_equal(display.line_.get_ydata(), display.decision.curve[k])


def test_labels_have_a_bar_each_and_many_labels_a_histogram():
    p = np.array([[0.9, 0.2], [0.4, 0.1], [0.6, 0.3]])
    display = am.ExpectedMetricDisplay.from_predictions(p, average="macro")
    ax, decision = display.ax_, display.decision
    assert [bar.get_width() for bar in ax.patches] == list(decision.group_expected)
    assert [one.get_text() for one in ax.get_yticklabels()] == ["0 (2)", "1 (2)"]
    assert ax.get_title() == f"Mean over the labels: {decision.expected:.3f}"
    many = am.ExpectedMetricDisplay.from_predictions(np.tile(p, 21), average="macro")
    assert many.ax_.get_ylabel() == "Labels"
    assert sum(bar.get_height() for bar in many.ax_.patches) == 42
    rows = am.ExpectedMetricDisplay.from_predictions(p, average="samples")
    assert rows.ax_.get_xlabel() == "Expected F1 of a row"


def test_a_forecast_is_drawn_whole_with_what_came_true():
    display = am.ForecastDisplay.from_predictions(P, P >= 0.4, score=0.5)
    shown = sum(one.get_height() for one in display.ax_.patches[:60])
    assert shown == pytest.approx(1.0, abs=0.002)
    assert display.ax_.lines[-1].get_xdata() == [0.5, 0.5]
    assert texts(display.ax_)[-1] == "actual: 0.500"


def test_there_are_points_where_the_cut_is():
    """Of bins with equal numbers of rows, all but one lie far below the cut."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.1, 4, 5000)
    y = rng.random(5000) < p
    check = am.calibration_check(y, p, n_bootstrap=2)
    assert check.threshold == am.decide(p).threshold
    near = check.threshold / 2
    assert (check.bins.mean > near).sum() == 1
    display = am.CalibrationCostDisplay(check).plot()
    assert (display.line_.get_xdata() > near).sum() >= 5
    assert f"threshold of decide: p ≥ {check.threshold:.3g}" in texts(display.ax_)
    shares = check.positive_bins.weight * check.positive_bins.mean
    np.testing.assert_allclose(shares, p.sum() / 10, rtol=0.05)
    logits = am.calibration_check(y, np.log(p / (1 - p)), n_bootstrap=2, logits=True)
    assert (p >= logits.threshold).sum() == (p >= check.threshold).sum()


def test_a_calibrator_is_drawn_over_what_changes_nothing():
    ax = am.calibrate([0, 1, 0, 1, 1, 0] * 5, [0.1, 0.6, 0.3, 0.8, 0.4, 0.5] * 5).plot()
    assert ax.lines[0].get_label() == "unchanged"
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]


def test_a_stream_is_drawn_from_its_classifier_and_from_its_predictions():
    model = OnlineClassifier("f1")
    positive = Y == "yes"
    labels = model.progressive(X, positive)
    display = StreamDisplay.from_estimator(model)
    assert display.score[-1] == pytest.approx(model.score_)
    np.testing.assert_array_equal(display.n_seen, model.history_["n_seen"])
    thresholds = np.linspace(0.2, 0.4, 400)
    other = StreamDisplay.from_predictions(
        positive, labels, thresholds=thresholds, ax=display.ax_
    )
    assert other.ax_ is display.ax_
    assert other.score[-1] == pytest.approx(model.score_)
    np.testing.assert_array_equal(other.threshold, thresholds)
    last = slice(390, 400)
    recent = am.evaluate(positive[last], np.asarray(labels)[last])
    assert other.recent[-1] == pytest.approx(recent)
    assert other.ax_.get_ylabel() == "f1, threshold"


def test_a_run_of_a_rule_is_drawn_by_the_same_display():
    rule = HistogramRule()
    run = rule.run(rule.init_state("f1"), P, Y == "yes")
    line = run.plot().lines[0]
    np.testing.assert_array_equal(line.get_ydata(), run.thresholds)
    assert line.get_xdata()[[0, -1]].tolist() == [1, 400]


def test_rules_of_several_labels_and_classes_have_a_bar_each():
    y, p = [[1, 0], [0, 0], [1, 1], [0, 1]], [[0.9, 0.2], [0.4, 0.1], [0.6, 0.3]]
    labels = am.tune(y, [*p, [0.1, 0.4]], n_bootstrap=0, cv=None)
    ax = labels.plot()
    assert [bar.get_width() for bar in ax.patches] == [r.score for r in labels.rules]
    names = [one.get_text() for one in ax.get_yticklabels()]
    assert names == ["0 (p >= 0.5)", "1 (p >= 0.25)"]
    three = [[0.5, 0.3, 0.2], [0.6, 0.4, 0], [0.5, 0.1, 0.4], [0.8, 0.1, 0.1]]
    classes = am.classes.tune(list("abca"), three, n_bootstrap=0, cv=None)
    ax = classes.plot()
    assert [one.get_text() for one in ax.get_yticklabels()] == ["a", "b", "c"]
    assert [bar.get_width() for bar in ax.patches] == classes.weights.tolist()


@pytest.mark.parametrize("odd", [None, "abc", 3, [0.5]])
def test_what_is_no_estimator_is_refused_by_name(odd):
    for kind, rows in (
        (am.ExpectedMetricDisplay, (X,)),
        (am.ForecastDisplay, (X,)),
        (am.CalibrationCostDisplay, (X, Y)),
        (am.ThresholdDisplay, (X, Y)),
        (StreamDisplay, ()),
    ):
        with pytest.raises(TypeError, match="estimator"):
            kind.from_estimator(odd, *rows)
