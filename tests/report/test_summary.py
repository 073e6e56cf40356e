"""What a report says is what the functions of the package say."""

import json
import pickle

import numpy as np
import pytest
from sklearn import metrics

import argmetric as am
from argmetric._report import Report, summarize, summarize_file
from argmetric._report._curves import BETAS, FLOORS, METRICS
from argmetric._report._knots import HEIGHT, KNOTS
from argmetric._report._parts import ranked_curves
from argmetric._results.pictures import adaptive_edges

RNG = np.random.default_rng(5)
P = RNG.beta(0.4, 3.0, 6000)
Y = (RNG.random(P.size) < P).astype(int)
GROUPS = RNG.permutation(np.arange(P.size) % 700)
NAMES = {*METRICS, *(f"f{beta:g}" for beta in BETAS)}


@pytest.fixture(scope="module")
def single():
    return summarize(P, "f1", y=Y)


@pytest.fixture(scope="module")
def grouped():
    return summarize(P, "f1", y=Y, groups=GROUPS, zero_division=1.0)


def test_the_decision_and_its_forecast(single):
    decision = am.decide(P)
    forecast = am.forecast(P, decision.labels)
    assert single.chosen.positives == decision.n_positives
    assert single.chosen.threshold == decision.threshold
    assert single.chosen.expected == decision.expected
    assert single.score.mean == forecast.mean
    assert single.score.mean == pytest.approx(forecast.mean, rel=1e-12)
    assert (single.score.low, single.score.high) == forecast.interval
    assert single.score.assumptions == forecast.assumptions
    assert single.expected_positives == forecast.expected_positives
    assert single.half.expected == decision.cut_half.expected
    assert single.best_cut.threshold == decision.best_cut.threshold


def test_every_metric_side_by_side(single):
    assert [one.metric for one in single.choices] == list(METRICS)
    k = am.decide(P).n_positives
    for one in single.choices:
        decision = am.decide(P, one.metric)
        found = one.positives, one.threshold, one.expected
        wanted = decision.n_positives, decision.threshold, decision.expected
        assert found == wanted
        assert one.here == decision.curve[k]


def test_curves_are_exact_at_their_places_and_within_a_pixel_between(single):
    curves = single.curves
    k = np.array(curves.k)
    assert k.size <= KNOTS + 100
    assert set(curves.scores) == NAMES
    for name, values in curves.scores.items():
        curve, view = am.decide(P, name).curve, curves.views[name]
        np.testing.assert_array_equal(values, curve[k])
        line = np.interp(np.arange(curve.size), k, values)
        assert np.abs(line - curve).max() * HEIGHT / (view.high - view.low) < 1.0
        best = am.decide(P, name).n_positives
        assert k[curves.best[name]] == best <= view.most
        assert view.low <= curve[best] <= view.high
    recall = am.decide(P, "recall", zero_division=np.nan).curve
    np.testing.assert_array_equal(curves.recall, recall[k])
    top = np.concatenate([[0.0], np.cumsum(np.sort(P)[::-1])])
    np.testing.assert_allclose(curves.hits, top[k], rtol=1e-12)


def test_thresholds_give_their_numbers_of_positives(single):
    curves = single.curves
    for cuts in (curves.thresholds[1:], map(float, curves.cuts[1:])):
        assert [int((t <= P).sum()) for t in cuts] == list(curves.k)[1:]
    assert (curves.k[0], curves.thresholds[0], curves.cuts[0]) == (0, np.inf, None)


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "accuracy"])
@pytest.mark.parametrize("limit", ["min_recall", "min_precision"])
def test_the_best_cut_above_every_floor_is_among_the_places(single, name, limit):
    curves = single.curves
    values = np.array(curves.scores[name])
    k = np.array(curves.k)
    precision = np.where(k > 0, np.array(curves.hits) / np.maximum(k, 1), 1.0)
    by_floor = {"min_recall": np.array(curves.recall), "min_precision": precision}
    for floor in FLOORS:
        allowed = by_floor[limit] >= floor - 1e-12
        best = int(np.argmax(np.where(allowed, values, -np.inf)))
        decision = am.decide(P, name, **{limit: floor})
        assert values[best] == pytest.approx(decision.expected, rel=1e-12)


def test_cuts_that_lose_little(single):
    curve = am.decide(P).curve
    low, high = (single.curves.k[at] for at in single.curves.near)
    assert curve[low:high].min() >= curve.max() - 0.01
    assert max(curve[low - 1], curve[high + 1]) < curve.max() - 0.01


def test_what_would_change_it(single):
    share = P.mean()
    half = am.adjust_prior(P, prevalence=share / 2, reference_prevalence=share)
    labels = am.decide(P).labels
    change = single.changes[0]
    assert change.what == "positives are half as common"
    assert change.here == am.forecast(half.apply(P), labels).mean
    best = am.decide(half.apply(P))
    assert (change.positives, change.best) == (best.n_positives, best.expected)
    assert all(one.best >= one.here - 1e-12 for one in single.changes)
    assert len(single.changes) == 4


def test_what_came_true(single):
    labels = am.decide(P).labels
    truth = single.truth
    assert truth.score == am.evaluate(Y, labels)
    assert truth.counts["tp"] == int(((Y == 1) & (labels == 1)).sum())
    assert sum(truth.counts.values()) == P.size
    assert sum(truth.expected_counts.values()) == pytest.approx(P.size)
    assert truth.half == am.evaluate(Y, (P >= 0.5).astype(int))
    assert truth.surprise == am.forecast(P, labels).surprise(truth.score)


def test_calibration_is_that_of_the_check(single):
    check = am.calibration_check(Y, P)
    assert single.calibration.fit_to_decide == check.fit_to_decide
    assert single.calibration.advice == check.advice
    assert single.calibration.bins == check.positive_bins.to_dict()
    assert single.calibration.threshold == check.threshold


def test_the_mass_adds_up(single):
    mass = single.mass
    assert sum(mass.rows) == P.size
    assert sum(mass.positives) == pytest.approx(P.sum())
    assert sum(mass.chosen) == pytest.approx(P[am.decide(P).labels == 1].sum())


def test_groups(grouped):
    decision = am.decide(P, groups=GROUPS, average="groups", zero_division=1.0)
    part = grouped.groups
    assert part.count == 700
    assert part.empty == int((decision.group_n_positives == 0).sum()) > 0
    counts = dict(part.by_positives)
    assert counts["1"] == int((decision.group_n_positives == 1).sum())
    assert sum(counts.values()) == 700
    worst = np.argsort(decision.group_expected, kind="stable")[:10]
    assert [one.name for one in part.least_certain] == [
        str(decision.group_ids[g]) for g in worst
    ]
    first = part.least_certain[0]
    rows = decision.group_ids[worst[0]] == GROUPS
    assert first.rows == rows.sum()
    assert first.positives == decision.labels[rows].sum()
    chosen = P[rows & (decision.labels == 1)]
    assert first.threshold == (chosen.min() if chosen.size else None)


def test_one_cut_for_all_groups(grouped):
    decision = am.decide(P, groups=GROUPS, average="groups", zero_division=1.0)
    curves = grouped.curves
    assert curves.chosen is None
    at = curves.best["f1"]
    assert curves.k[at] == decision.best_cut.n_positives
    assert curves.scores["f1"][at] == decision.best_cut.expected
    for place in (3, len(curves.k) // 2):
        labels = (curves.thresholds[place] <= P).astype(int)
        forecast = am.forecast(P, labels, groups=GROUPS, zero_division=1.0)
        assert curves.scores["f1"][place] == pytest.approx(forecast.mean, rel=1e-9)


def test_labels_found_in_another_way():
    labels = (P >= 0.4).astype(int)
    said = summarize(P, labels=labels)
    assert said.kind == "labels"
    assert said.chosen.positives == labels.sum()
    assert said.score.mean == am.forecast(P, labels).mean


def test_a_reference_recalibrates_and_is_checked():
    odds = 3 * P / (1 - P)
    wrong = odds / (1 + odds)
    said = summarize(wrong, reference=(Y, wrong))
    decision = am.decide(wrong, reference=(Y, wrong))
    assert said.chosen.positives == decision.n_positives
    assert said.scale == "calibrated p"
    check = am.calibration_check(Y, wrong)
    assert said.calibration.fit_to_forecast == check.fit_to_forecast
    assert said.calibration.on == "the labelled reference"


RARE = RNG.beta(0.05, 3.0, 6000)
RARE_Y = (RNG.random(RARE.size) < RARE**1.5).astype(int)


def rare_report(y=None, labels=None, **options):
    """A report on rare positives whose scores are too high."""
    half = slice(0, 3000)
    known = RARE_Y[half], RARE[half]
    rows = RARE[3000:]
    said = summarize(rows, y=y, labels=labels, reference=known, **options)
    return said, rows, known


def test_the_interval_of_a_page_stands_beside_its_own_mean():
    """The mean over the maps that a reference allows is not what was maximised."""
    said, rows, known = rare_report(y=RARE_Y[3000:])
    decision = am.decide(rows, reference=known)
    other = am.forecast(rows, decision.labels, reference=known)
    assert f"{other.mean:.3f}" != f"{decision.expected:.3f}"
    assert said.chosen.expected == decision.expected
    assert said.score.mean == other.mean
    assert (said.score.low, said.score.high) == other.interval
    text = Report(said).render("text")
    low, high = (f"{end:.3f}" for end in other.interval)
    assert f"forecast {other.mean:.3f} (90 % interval {low} to {high})" in text
    assert f"{decision.expected:.3f} is expected under one map of the scores" in text


def test_given_labels_have_the_forecast_of_the_decision_that_has_them():
    decided, rows, known = rare_report()
    labels = am.decide(rows, reference=known).labels
    said, _, _ = rare_report(labels=labels)
    assert said.chosen.expected == pytest.approx(decided.chosen.expected, rel=1e-12)
    assert said.score.mean == pytest.approx(decided.score.mean, rel=1e-12)
    assert said.score.low == decided.score.low


def test_what_is_done_already_is_not_advised():
    said, rows, known = rare_report()
    text = Report(said).render("text")
    assert "This report uses recalibrated probabilities." in text
    assert "pass reference" not in text
    assert "tune(y, p)" not in text
    # A map that was not used may be advised, in words that fit a reference
    asked = summarize_file(rows, "f1", names={}, checked_on=known)
    text = Report(asked).render("text")
    assert "use calibrate(y, p) on the labelled reference" in text
    assert "pass reference" not in text
    # Without a reference the way to have one is said
    text = Report(summarize(known[1], y=known[0])).render("text")
    assert "pass labelled rows as reference=(y, p) to decide and forecast" in text


def test_limits_logits_and_matrices():
    logits = np.log(P / (1 - P))
    said = summarize(logits, logits=True, max_positives=50, min_recall=0.05)
    wanted = am.decide(logits, logits=True, max_positives=50, min_recall=0.05)
    assert said.chosen.threshold == wanted.threshold
    assert said.curves.most == 50
    matrix = P[:300].reshape(60, 5)
    said = summarize(matrix, average="macro", y=Y[:300].reshape(60, 5))
    wanted = am.decide(matrix, average="macro")
    assert said.chosen.expected == wanted.expected
    assert said.truth.score == am.evaluate(
        Y[:300].reshape(60, 5), wanted.labels, average="macro"
    )


def test_results_report_what_summarize_says(single):
    assert am.report(am.decide(P), Y).summary == single
    rule = am.tune(Y, P)
    said = am.report(rule).summary
    assert said.thresholds.threshold == rule.threshold
    assert max(said.thresholds.scores) == rule.score
    check = am.calibration_check(Y, P)
    said = am.report(check).summary.calibration
    assert said.bins == check.positive_bins.to_dict()


def test_json_is_the_whole_summary(single):
    values = json.loads(Report(single).render("json"))
    assert values["chosen"]["positives"] == single.chosen.positives
    assert values["curves"]["scores"]["mcc"] == list(single.curves.scores["mcc"])
    assert values["score"]["low"] == single.score.low


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.3] * 30, "every score is 0.3"),
        ([0.0, 1.0] * 15, "every score is 0 or 1"),
    ],
)
def test_scores_that_leave_nothing_to_say(p, message):
    with pytest.raises(ValueError, match=message):
        summarize(p)


def test_groups_of_one_are_told():
    said = summarize(P[:40], groups=np.arange(40))
    assert any("every group has one row" in note for note in said.notes)


def test_a_pickled_decision_has_no_report():
    decision = pickle.loads(pickle.dumps(am.decide(P[:50])))
    with pytest.raises(ValueError, match="decide once more"):
        am.report(decision)


def test_labels_of_one_class_are_told():
    said = summarize(P[:200], y=np.zeros(200))
    assert said.calibration is None
    assert any("calibration was not checked" in note for note in said.notes)


def test_long_curves_that_were_not_made():
    p = RNG.beta(0.4, 3.0, 60_000)
    curves = summarize(p).curves
    k = np.array(curves.k)
    for name in ("f1", "f4", "jaccard", "mcc", "kappa", "gmean", "accuracy"):
        curve, view = am.decide(p, name).curve, curves.views[name]
        np.testing.assert_allclose(curves.scores[name], curve[k], atol=1e-12)
        line = np.interp(np.arange(curve.size), k, curves.scores[name])
        assert np.abs(line - curve).max() * HEIGHT / (view.high - view.low) < 1.0


def test_ranked_curves_are_those_of_scikit_learn(single):
    ranked = single.truth.ranked
    assert ranked.roc_auc == pytest.approx(metrics.roc_auc_score(Y, P), rel=1e-12)
    wanted = metrics.average_precision_score(Y, P)
    assert ranked.average_precision == pytest.approx(wanted, rel=1e-12)
    x, y, _ = metrics.roc_curve(Y, P, drop_intermediate=False)
    points = set(zip(x.tolist(), y.tolist(), strict=True))
    rates = ranked.false_positive_rate, ranked.true_positive_rate
    assert set(zip(*rates, strict=True)) <= points
    precision, recall, _ = metrics.precision_recall_curve(Y, P)
    points = set(zip(recall.tolist(), precision.tolist(), strict=True))
    assert set(zip(ranked.recall, ranked.precision, strict=True)) <= points
    assert 100 < len(ranked.recall) <= 202


def test_ranked_curves_with_ties_and_with_one_class():
    p = np.round(P[:500], 1)
    ranked = ranked_curves(p, Y[:500] == 1)
    wanted = metrics.roc_auc_score(Y[:500], p)
    assert ranked.roc_auc == pytest.approx(wanted, rel=1e-12)
    assert ranked_curves(p, np.zeros(500, bool)) is None


def test_groups_are_counted_in_bins_that_their_number_supports(grouped):
    part = grouped.groups
    assert sum(part.score_bins) == 700
    assert (part.score_edges[0], part.score_edges[-1]) == (
        part.scores[0],
        part.scores[-1],
    )
    assert adaptive_edges(np.full(9, 0.3)).size == 6
    assert adaptive_edges(np.arange(5.0)).size == 6
    assert adaptive_edges(RNG.random(100_000)).size == 41
    assert 10 <= adaptive_edges(RNG.random(300)).size <= 20


def test_probabilities_that_are_not_reliable_are_warned_of_first():
    wrong = 3 * P / (1 + 2 * P)
    text = Report(summarize(wrong, y=Y)).render("text")
    assert "note: The probabilities are not reliable: on these rows this costs" in text
    assert "expected scores on this page do not hold" in text
    assert "not reliable" not in Report(summarize(P, y=Y)).render("text")
    mended = Report(summarize(wrong, y=Y, reference=(Y, wrong))).render("text")
    assert "not reliable" not in mended


def test_advice_is_in_the_syntax_of_the_surface_that_was_used():
    options = {"groups": np.arange(P.size), "average": "groups", "y": Y}
    named = {"names": {"file": "a.csv"}, **options}
    shell = Report(summarize_file(P, "f1", **named)).render()
    python = Report(summarize(P, "f1", **options)).render()
    for one, other in (
        ("--average pooled", "average=&#39;pooled&#39;"),
        ("--min-recall 0.8", "min_recall=0.8"),
        ("as --reference", "as reference=(y, p)"),
    ):
        assert one in shell
        assert one not in python
        assert other in python
        assert other not in shell
