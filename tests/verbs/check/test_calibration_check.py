"""`calibration_check`: verdicts and routes, against counts row by row."""

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import argmetric as am
from argmetric._calibrate.calibrate import calibrate_out_of_fold, fold_numbers
from argmetric._calibrate.reference import check_reference
from argmetric._verbs.check import Route
from argmetric._verbs.check._routes import (
    RouteScores,
    best_route,
    list_routes,
    loses_ranking,
)
from checked import expit, f1, queries, times

# What it is for


def test_odds_off_by_ten_lose_more_than_decoding_gains_and_a_map_restores_it():
    y, p, groups = queries()
    off = times(p, 10)
    check = am.calibration_check(y, off, groups=groups)
    assert (check.fit_to_decide, check.fit_to_forecast) == ("no", "recalibrated")
    assert (check.route, check.method) == ("recalibrate", "spline")
    assert check.loss == check.score_recalibrated - check.score_as_is
    assert check.loss > 0.05
    assert check.loss > 10 * check.loss_standard_error
    assert check.gap == check.expected - check.score_as_is
    assert check.gap > 0.2  # it promises far too much
    assert check.intercept == pytest.approx(-math.log(10), abs=0.2)
    assert check.slope == pytest.approx(1, abs=4 * check.slope_standard_error)
    # Against one global cut, tuned on the truth, decoding as it stands loses .05;
    # recalibrated, and as it was, it wins.
    ranked = np.sort(p)[::-1]
    cuts = [
        am.evaluate(y, p >= ranked[k], groups=groups) for k in range(500, 6000, 250)
    ]
    assert check.score_as_is < max(cuts) - 0.05
    assert check.score_recalibrated > max(cuts)
    right = am.calibration_check(y, p, groups=groups)
    assert (right.fit_to_decide, right.fit_to_forecast) == ("yes", "yes")
    assert abs(right.loss) < 0.002
    assert check.score_recalibrated == pytest.approx(right.score_as_is, abs=0.002)
    # And so it goes on rows that were never seen.
    y_new, p_new, groups_new = queries(seed=1)
    options = {"groups": groups_new, "average": "groups"}
    mended = am.decide(times(p_new, 10), reference=(y, off), **options)
    told = "as after training with resampled or weighted classes"
    assert any(told in note for note in mended.notes)
    best = am.decide(p_new, **options)
    score, best_score = (
        am.evaluate(y_new, one.labels, groups=groups_new) for one in (mended, best)
    )
    assert score == pytest.approx(best_score, abs=0.002)


def test_many_errors_of_calibration_cost_nothing():
    """A cut at 0.5 and a slope: accuracy does not care, ECE does, promises do."""
    rng = np.random.default_rng(2)
    x = rng.normal(0, 2, 10_000)
    y = rng.random(10_000) < expit(x)
    check = am.calibration_check(y, expit(3 * x), "accuracy")
    assert check.ece > 0.05
    assert abs(check.loss) < 0.003
    assert check.slope == pytest.approx(1 / 3, abs=0.03)
    assert (check.fit_to_decide, check.fit_to_forecast) == ("yes", "recalibrated")
    assert "pass reference=(y, p) to forecast" in check.advice[1]
    assert check.gap > 0.05
    # Too timid is as wrong, the other way.
    timid = am.calibration_check(y, expit(x / 3), "accuracy")
    assert (timid.fit_to_decide, timid.fit_to_forecast) == ("yes", "recalibrated")
    assert timid.gap < -0.05


def test_verdicts():
    rng = np.random.default_rng(1)
    x = rng.normal(-2, 1.5, 50_000)
    y, p = rng.random(x.size) < expit(x), expit(x)
    fit = am.calibration_check(y, p)
    assert (fit.fit_to_decide, fit.fit_to_forecast) == ("yes", "yes")
    assert abs(fit.gap) < 2 * fit.score_standard_error
    assert fit.p_value > 0.001
    for off in (times(p, 10), expit(3 * x)):
        wrong = am.calibration_check(y, off)
        assert (wrong.fit_to_decide, wrong.fit_to_forecast) == ("no", "recalibrated")
        assert abs(wrong.expected_recalibrated - wrong.score_recalibrated) < 0.01
        assert wrong.route == "recalibrate"
        assert wrong.advice[0].endswith(
            "pass reference=(y, p) to decide, or reference=calibrate(y, p)"
        )
        best = wrong.score_recalibrated
        assert best == pytest.approx(fit.score_as_is, abs=0.003)
    small = am.calibration_check(y[:60], p[:60])
    assert small.fit_to_decide == "too few rows to say"
    assert small.fit_to_forecast == "recalibrated"  # whose interval knows of few rows
    assert "60 rows with 8 positives cannot detect a loss below" in small.advice[0]
    assert "pass reference=(y, p) to forecast" in small.advice[1]
    # Some 10 positives, but odds off by 1000: the loss speaks for itself.
    rng = np.random.default_rng(0)
    rare = np.concatenate([np.full(2000, 1e-3), np.full(30, 0.5)])
    truth = rng.random(rare.size) < rare
    loud = am.calibration_check(truth, times(rare, 1000))
    assert loud.n_positives < 25
    assert (loud.fit_to_decide, loud.fit_to_forecast) == ("no", "recalibrated")


def made_up(route="recalibrate", **changes):
    """A check with figures that were made up."""
    figures = {"gain": 0.0, "error": 0.001, "expected": 0.6, "again": 0.6, "wrong": 0}
    figures |= {"p_value": 0.5, "score": 0.6, "score_error": 0.005, "n": 1000}
    figures |= {"n_positives": 200, "weighted": False} | changes
    y, p, _ = queries(n_groups=10)
    score, error, gain = (figures[one] for one in ("score", "score_error", "gain"))
    check = am.calibration_check(y, p, n_bootstrap=2)
    forecast = replace(  # 99 % of it lie within .01 of what is expected
        check.forecast,
        mean=figures["again"],
        interval=(figures["again"] - 0.01, figures["again"] + 0.01),
        values=figures["again"] + np.array([-0.02, -0.01, 0.0, 0.01, 0.02]),
        probabilities=np.array([0.004, 0.046, 0.9, 0.046, 0.004]),
    )
    return replace(
        check,
        forecast=None if figures["weighted"] else forecast,
        route=route,
        routes=(
            Route(route, score + gain, error, gain, figures["error"]),
            Route("decide", score, error, 0.0, 0.0),
            Route("recalibrate", score, error, 0.0, 0.001),
        ),
        expected=figures["expected"],
        expected_recalibrated=figures["again"],
        line=type(check.line)(1.0, 0.1, 0.0, 0.1, figures["p_value"]),
        n=figures["n"],
        n_positives=figures["n_positives"],
        weighted=figures["weighted"],
        as_is=type(check.as_is)(0.0, 0.1, 0.3, figures["wrong"]),
    )


@pytest.mark.parametrize(
    ("route", "how"),
    [
        ("recalibrate", "reference=calibrate(y, p)"),
        ("tune", "take the cut of tune(y, p)"),
        ("half", "cut at 0.5"),
    ],
)
def test_advice_names_the_route(route, how):
    for gain, verdict, words in (
        (0.1, "no", "p as it stands loses 0.100 ± 0.001 of f1: "),
        (0.001, "yes", "another way would gain 0.001 ± 0.001 of f1: "),
    ):
        check = made_up(route, gain=gain)
        assert check.fit_to_decide == verdict
        assert words in check.advice[0]
        assert check.advice[0].endswith(how)
    stays = made_up("decide")
    assert stays.fit_to_decide == "yes"
    assert stays.advice[0] == "deciding with p as it stands is the advised way in f1"


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({}, "yes"),
        ({"gain": 0.0199, "error": 0.01}, "too few rows to say"),  # no two errors
        ({"gain": 0.0201, "error": 0.01}, "no"),
        ({"gain": 0.0029}, "yes"),  # two errors, but no 0.5 % of .6029
        ({"gain": 0.0031}, "no"),
        ({"error": 0.0149}, "yes"),  # two errors below 5 % of .6
        ({"error": 0.0151}, "too few rows to say"),
        ({"error": math.nan}, "too few rows to say"),
        ({"n_positives": 19}, "too few rows to say"),
        ({"n_positives": 20}, "yes"),
        ({"n_positives": 981}, "too few rows to say"),
        ({"n_positives": 19, "gain": 0.1}, "no"),
    ],
)
def test_where_a_loss_speaks(figures, verdict):
    assert made_up(**figures).fit_to_decide == verdict


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ({}, "yes"),
        ({"expected": 0.6099}, "yes"),  # gap and error are .0149
        ({"expected": 0.6101}, "recalibrated"),
        ({"expected": 0.5901}, "yes"),
        ({"expected": 0.5899}, "recalibrated"),
        ({"score_error": 0.0149}, "yes"),
        ({"score_error": 0.0151}, "recalibrated"),
        ({"p_value": 0.051}, "yes"),
        ({"p_value": 0.049}, "recalibrated"),
        ({"p_value": math.nan}, "recalibrated"),
        ({"wrong": 1}, "recalibrated"),
        (
            {"expected": 0.7, "again": 0.6099},
            "recalibrated",
        ),  # within the distribution's 99 %
        ({"expected": 0.7, "again": 0.6101}, "no"),
        ({"expected": 0.7, "again": 0.5899}, "no"),
        ({"again": 0.7}, "yes"),  # nobody asks the calibrator
        ({"score_error": math.nan}, "recalibrated"),
        ({"expected": math.nan}, "recalibrated"),
        ({"weighted": True}, "too few rows to say"),
        # A metric that exceeds 1 is allowed the same share.
        ({"score": 10.0, "expected": 10.14, "again": 10.0}, "yes"),
        ({"score": 10.0, "expected": 10.15, "again": 10.0}, "recalibrated"),
    ],
)
def test_where_a_promise_is_kept(figures, verdict):
    assert made_up(**figures).fit_to_forecast == verdict


# Routes: four ways to labels, row by row


def out_of_fold(y, p, fold, fit):
    """Every row by what was fitted on the other folds; fit gives a function of p."""
    found = np.empty(p.shape)
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        found[inside] = fit(y[~inside], p[~inside])(p[inside])
    return found


def best_cut(score):
    """The cut in the middle between distinct scores that does best, by trying all."""

    def fit(y, p):
        levels = np.unique(p)
        middles = (levels[1:] + levels[:-1]) / 2
        cuts = [np.inf, *middles[::-1], -np.inf]  # ties go to fewer positives
        values = [score(y, p >= cut) for cut in cuts]
        cut = cuts[int(np.argmax(np.round(values, 12)))]
        return lambda new: new >= cut

    return fit


def assert_routes(check, score, p, mended, tuned, **how):
    """Every route scores what its labels score, row by row; return the scores."""
    labels = {
        "recalibrate": am.decide(mended, **how).labels == 1,
        "decide": am.decide(p, **how).labels == 1,
        "tune": tuned == 1,
        "half": p >= 0.5,
    }
    expected = {name: score(one) for name, one in labels.items()}
    found = {one.name: one.score for one in check.routes}
    assert found == pytest.approx(expected, rel=1e-12)
    return expected


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("off", [1.0, 4.0])
def test_routes_are_what_they_say_row_by_row(off, logits):
    y, p, _ = queries(n_groups=15)
    p = times(p, off)
    fold = fold_numbers(y, 5)
    mended = out_of_fold(y, p, fold, lambda y, p: am.calibrate(y, p).apply)
    tuned = out_of_fold(y, p, fold, best_cut(f1))
    given_ = p
    if logits:
        given_ = np.log(p / (1 - p))
        mended = out_of_fold(
            y, given_, fold, lambda y, x: am.calibrate(y, x, logits=True).apply_logits
        )
        tuned = out_of_fold(y, given_, fold, best_cut(f1))
        mended = expit(mended)
    check = am.calibration_check(y, given_, logits=logits)
    expected = assert_routes(check, lambda labels: f1(y, labels), p, mended, tuned)
    assert len(set(expected.values())) == 4
    for one in check.routes:
        assert one.gain == one.score - expected["decide"]
        assert (one.gain_standard_error == 0) == (one.name == "decide")


def test_routes_of_groups():
    y, p, groups = queries(n_groups=40)
    p = times(p, 4)
    fold = fold_numbers(y, 5, groups)
    mended = out_of_fold(y, p, fold, lambda y, p: am.calibrate(y, p).apply)
    tuned = np.empty(y.size)
    for number in range(5):
        rest = fold != number

        def score(y, labels, rest=rest):
            return am.evaluate(y, labels, groups=groups[rest])

        tuned[~rest] = best_cut(score)(y[rest], p[rest])(p[~rest])

    def mean(labels):
        return am.evaluate(y, labels, groups=groups)

    check = am.calibration_check(y, p, groups=groups)
    assert_routes(check, mean, p, mended, tuned, groups=groups, average="groups")
    pooled = am.calibration_check(y, p, groups=groups, average="pooled")
    tuned = out_of_fold(y, p, fold, best_cut(f1))
    assert_routes(pooled, lambda labels: f1(y, labels), p, mended, tuned)


@pytest.mark.parametrize("zero", [0.0, math.nan])
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_routes_of_matrices(average, zero):
    rng = np.random.default_rng(5)
    P = rng.beta(1, 3, (60, 3))
    Y, P = rng.random(P.shape) < P, times(P, 4)
    fold = fold_numbers(Y.ravel(), 5, np.repeat(np.arange(60), 3))[::3]
    mended = out_of_fold(Y, P, fold, lambda y, p: am.calibrate(y, p).apply)

    how = {"average": average, "zero_division": zero}

    def score(y, labels):
        return am.evaluate(y, labels, **how)

    if average == "macro":  # a cut for each column
        columns = [out_of_fold(Y[:, j], P[:, j], fold, best_cut(f1)) for j in range(3)]
        tuned = np.stack(columns, axis=1)
    else:
        tuned = out_of_fold(Y, P, fold, best_cut(score))
    check = am.calibration_check(Y, P, **how)
    assert_routes(check, lambda labels: score(Y, labels), P, mended, tuned, **how)
    assert check.n_units == 60
    assert check.expected == am.decide(P, **how).expected


def test_routes_with_whole_weights_are_judged_on_repeated_rows():
    y, p, _ = queries(n_groups=15)
    p, w = times(p, 4), np.random.default_rng(0).integers(1, 4, y.size)
    rows = np.repeat(np.arange(y.size), w)
    check = am.calibration_check(y, p, sample_weight=w)
    mended = calibrate_out_of_fold(check_reference(y, p, w, logits=False), p, weight=w)
    fold, tuned = fold_numbers(y, 5), np.empty(y.size)
    for number in range(5):
        copies = rows[fold[rows] != number]
        inside = fold == number
        tuned[inside] = best_cut(f1)(y[copies], p[copies])(p[inside])
    assert_routes(check, lambda one: f1(y[rows], one[rows]), p, mended, tuned)
    assert check.fit_to_forecast == "too few rows to say"


@pytest.mark.parametrize("metric", ["f1", "accuracy", "mcc"])
@pytest.mark.parametrize("seed", range(10))
def test_a_map_is_advised_where_it_lowers_the_log_loss(metric, seed):
    """Few rows, nearly calibrated: noise decides which labels score better."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, 80)
    y = rng.random(80) < p
    check = am.calibration_check(y, p, metric, n_bootstrap=50)
    better = check.recalibrated.log_loss <= check.log_loss
    assert check.route == ("recalibrate" if better else "decide")
    gain = {one.name: one.gain for one in check.routes}
    assert check.loss == gain[check.route]
    if check.loss <= 0:
        said = "gains nothing here", "is the advised way", "cannot detect a loss"
        assert any(words in check.advice[0] for words in said)


OTHERS = (
    Route("decide", 0.6, 0.01, 0.0, 0.0),
    Route("tune", 0.61, 0.01, 0.01, 0.02),
    Route("half", 0.5, 0.01, -0.1, 0.02),
)


def test_a_better_score_that_is_not_advised_has_its_reason():
    """A cut within noise of the advised route; a calibrator of worse log-loss."""
    recalibrated = Route("recalibrate", 0.62, 0.01, 0.02, 0.02)
    check = replace(made_up("decide", gain=0.0), routes=(recalibrated, *OTHERS))
    lines = dict(check.lines())
    assert lines["decide, recalibrated"].endswith("not advised: the log-loss is higher")
    assert lines["decide, as it stands"].endswith(", advised")
    assert lines["one tuned cut"].endswith("not advised: no advantage on new rows")
    assert lines["cut at 0.5"].endswith("(-0.100 ± 0.020)")


def test_p_that_will_do_is_not_advised_against():
    """Recalibration lowers the log-loss and gains nothing: one verdict, one reason."""
    recalibrated = Route("recalibrate", 0.598, 0.01, -0.002, 0.002)
    check = replace(made_up("recalibrate", gain=0.0), routes=(recalibrated, *OTHERS))
    assert check.fit_to_decide == "yes"
    assert check.advice[0] == (
        "decide, recalibrated, gains nothing here (-0.002 ± 0.002 of f1) and is "
        "advised for its lower log-loss only"
    )
    lines = dict(check.lines())
    assert lines["decide, recalibrated"].endswith(", advised")
    assert lines["decide, as it stands"].endswith(
        "as good here; the log-loss is higher"
    )
    page = am.report(check).render("md")
    assert f"Decide with p?: **yes** ({check.advice[0]})" in page
    assert "as good here; the log-loss is higher |" in page
    assert "no other way" not in page


@pytest.mark.parametrize("seed", range(12))
def test_no_line_contradicts_the_verdict(seed):
    """Whatever the figures: what is reliable is not advised against."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, 400)
    y = rng.random(400) < p ** rng.choice([1.0, 1.15])
    check = am.calibration_check(y, p, "f1", n_bootstrap=30)
    for text in (repr(check), am.report(check).render("md")):
        of_p = [line for line in text.splitlines() if "decide, " in line]
        as_it_is = next(x for x in of_p if "stands  " in x or "stands |" in x)
        assert ("not advised" in as_it_is) <= (check.fit_to_decide != "yes")
        if "not advised" in as_it_is or "as good here" in as_it_is:
            assert "the log-loss is higher" in as_it_is  # and no word on cuts


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4), st.floats(0.01, 0.5))
def test_the_route_by_hand(scores, noise):
    """Recalibration if it helps; a tuned cut better by two errors, if allowed."""
    samples = np.random.default_rng(0).normal(scores, noise, (30, 4))
    judged = RouteScores(np.array(scores), samples)
    names = ("recalibrate", "decide", "tune", "half")
    for sign, mended, cuts in product((1.0, -1.0), (False, True), (False, True)):
        value = dict(zip(names, sign * np.array(scores), strict=True))
        best = "recalibrate" if mended else "decide"
        pair = samples[:, 2] - samples[:, names.index(best)]
        if cuts and value["tune"] - value[best] > 2 * pair.std(ddof=1):
            best = "tune"
        assert best_route(judged, names, sign, mended=mended, cuts=cuts) == best
    assume(scores[1] != scores[3])
    assert list_routes(judged, names, -1.0)[3].gain == scores[1] - scores[3]


def test_a_cut_is_advised_where_the_calibrator_loses_the_ranking():
    """A function that makes one tie of all scores above .2, as a clip would."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 3000)
    y = rng.random(3000) < p
    problem = SimpleNamespace(y=y, scores=p)
    folds = np.arange(3000) % 5
    assert not loses_ranking(problem, p**2, folds)
    assert not loses_ranking(problem, np.minimum(p, 0.95), folds)
    assert loses_ranking(problem, np.minimum(p, 0.2), folds)
    # The mean of what the pairs lose, ties counted one half: on both sides of .005.
    for top in np.linspace(0.3, 0.9, 25):
        lost = []
        for one in (p, np.minimum(p, top)):
            pairs = [
                one[y & f][:, None] - one[~y & f]
                for f in np.eye(5, dtype=bool)[folds].T
            ]
            lost.append(np.mean([np.sign(x).mean() / 2 for x in pairs]))
        assert loses_ranking(problem, np.minimum(p, top), folds) == (
            lost[0] - lost[1] > 0.005
        )


def test_a_cut_is_not_tuned_where_a_label_has_one_class():
    rng = np.random.default_rng(3)
    P = rng.beta(1, 3, (40, 2))
    Y = rng.random(P.shape) < P
    Y[:, 1] = np.arange(40) == 0
    check = am.calibration_check(Y, P, average="macro")
    assert [one.name for one in check.routes] == ["recalibrate", "decide", "half"]


def test_the_expected_error_is_that_of_the_distribution():
    y, p, _ = queries(n_groups=40)
    check = am.calibration_check(y, p)
    forecast = check.forecast
    slow = sum(
        c * abs(v - forecast.mean)
        for v, c in zip(forecast.values, forecast.probabilities, strict=True)
    )
    assert check.forecast_error == pytest.approx(slow)
    assert check.forecast_error_interval == pytest.approx(
        (forecast.interval[0] - forecast.mean, forecast.interval[1] - forecast.mean)
    )
    plain = check.to_dict()
    assert plain["forecast_error"] == pytest.approx(slow)
    weighted = am.calibration_check(y, p, sample_weight=1.0 + (np.arange(y.size) % 2))
    assert weighted.forecast is None
    assert math.isnan(weighted.forecast_error)
    assert weighted.to_dict()["forecast_error"] is None
