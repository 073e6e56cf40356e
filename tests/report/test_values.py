"""What a report says is what the functions of the package say."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import metrics

import argmetric as am
from refusing import refuses

METRICS = ("f1", "f2", "f0.5", "jaccard", "mcc", "kappa", "gmean")
METRICS += ("balanced_accuracy", "accuracy")
BETAS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
FLOORS = np.arange(1, 20) / 20
HEIGHT, KNOTS = 300.0, 512  # pixels of a curve, and places that a page keeps
RNG = np.random.default_rng(5)
P = RNG.beta(0.4, 3.0, 6000)
Y = (RNG.random(P.size) < P).astype(int)
GROUPS = RNG.permutation(np.arange(P.size) % 700)
NAMES = {*METRICS, *(f"f{beta:g}" for beta in BETAS)}
GROUPED = {"groups": GROUPS, "average": "groups", "zero_division": 1.0}


@pytest.fixture(scope="module")
def single():
    return am.report(am.decide(P), Y)


@pytest.fixture(scope="module")
def grouped():
    return am.report(am.decide(P, **GROUPED), Y)


def number(score):
    return f"{score:.3f}"


def section(report, key):
    (found,) = [one for one in report.sections if one.key == key]
    return found


def rows_of(report, key, table=0):
    """The cells of a table by the first one of each row."""
    return {name: cells for name, *cells in section(report, key).tables[table].rows}


def test_the_decision_and_its_forecast(single):
    decision = am.decide(P)
    forecast = am.forecast(P, decision.labels)
    assert single.values["decision"] == decision.to_dict()
    assert single.values["forecast"] == forecast.to_dict()
    assert single.assumptions == forecast.assumptions
    cards = {card.name: card.value for card in single.cards}
    assert cards["Forecast F1"] == number(forecast.mean)
    name, half = next(x for x in decision.lines() if x[0] == "cut at 0.5")
    assert cards[name.capitalize()] == half.split(" (")[0]


def test_every_metric_side_by_side(single):
    assert list(single.values["metrics"]) == list(METRICS)
    k = am.decide(P).n_positives
    for name, one in single.values["metrics"].items():
        decision = am.decide(P, name)
        assert one["positives"] == decision.n_positives
        assert one["threshold"] == decision.threshold
        assert one["expected"] == decision.expected
        assert one["here"] == decision.curve[k]


def test_curves_are_exact_at_their_places_and_within_a_pixel_between(single):
    curves = single.values["curves"]
    k = np.array(curves["k"])
    assert k.size <= KNOTS + 100
    assert set(curves["scores"]) == NAMES
    for name, values in curves["scores"].items():
        curve, view = am.decide(P, name).curve, curves["views"][name]
        np.testing.assert_array_equal(values, curve[k])
        line = np.interp(np.arange(curve.size), k, values)
        assert np.abs(line - curve).max() * HEIGHT / (view["high"] - view["low"]) < 1.0
        best = am.decide(P, name).n_positives
        assert k[curves["best"][name]] == best <= view["most"]
        assert view["low"] <= curve[best] <= view["high"]
    recall = am.decide(P, "recall", zero_division=np.nan).curve
    np.testing.assert_array_equal(curves["recall"], recall[k])
    top = np.concatenate([[0.0], np.cumsum(np.sort(P)[::-1])])
    np.testing.assert_allclose(curves["hits"], top[k], rtol=1e-12)


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "accuracy"])
@pytest.mark.parametrize("limit", ["min_recall", "min_precision"])
def test_the_best_cut_above_every_floor_is_among_the_places(single, name, limit):
    curves = single.values["curves"]
    values, k = np.array(curves["scores"][name]), np.array(curves["k"])
    precision = np.where(k > 0, np.array(curves["hits"]) / np.maximum(k, 1), 1.0)
    by_floor = {"min_recall": np.array(curves["recall"]), "min_precision": precision}
    for floor in FLOORS:
        allowed = by_floor[limit] >= floor - 1e-12
        best = int(np.argmax(np.where(allowed, values, -np.inf)))
        decision = am.decide(P, name, **{limit: floor})
        assert values[best] == pytest.approx(decision.expected, rel=1e-12)


def test_cuts_that_lose_little(single):
    curve, curves = am.decide(P).curve, single.values["curves"]
    low, high = (curves["k"][at] for at in curves["near"])
    assert curve[low:high].min() >= curve.max() - 0.01
    assert max(curve[low - 1], curve[high + 1]) < curve.max() - 0.01
    assert (
        f"between {low:,} and {high:,} positives" in section(single, "change").text[0]
    )


def test_what_would_change_it(single):
    share = P.mean()
    half = am.adjust_prior(P, prevalence=share / 2, reference_prevalence=share)
    labels = am.decide(P).labels
    changes = single.values["changes"]
    assert changes[0]["what"] == "positives are half as common"
    assert changes[0]["here"] == am.forecast(half.apply(P), labels).mean
    best = am.decide(half.apply(P))
    assert changes[0]["positives"] == best.n_positives
    assert changes[0]["best"] == best.expected
    assert all(one["best"] >= one["here"] - 1e-12 for one in changes)
    assert len(changes) == len(section(single, "change").tables[0].rows) == 4


def test_what_came_true(single):
    labels = am.decide(P).labels
    actual = am.evaluate(Y, labels)
    assert single.values["actual"] == actual.to_dict()
    cells = rows_of(single, "truth")
    expected = P[labels == 1].sum()
    assert cells["actual positive"][0] == (
        f"{actual.counts['tp']:,} ({expected:,.1f} expected)"
    )
    half = am.evaluate(Y, (P >= 0.5).astype(int))
    assert rows_of(single, "truth", 1)["cut at 0.5"][1] == number(half)
    surprise = am.forecast(P, labels).surprise(actual)
    assert ("inside" in single.cards[-1].below) == (surprise is None)


def test_a_score_just_outside_is_no_warning():
    """Of right forecasts 10 % lie outside: only a score far outside is warned of."""
    p = np.repeat([0.5, 0.6], 200)
    decision = am.decide(p)
    forecast = decision.forecast()
    found = {}
    for positives in (220, 203, 180):
        low = positives * 5 // 11  # of those with p = 0.5
        y = (np.arange(400) % 200 < np.repeat([low, positives - low], 200)).astype(int)
        page = am.report(decision, y)
        told = any("far outside the forecast" in one for one in page.notes)
        found[positives] = (page.cards[-1].below, told)
        said = forecast.surprise(am.evaluate(y, decision.labels)) or ""
        assert ("may be chance" in said, "unlikely" in said) == (
            positives == 203,
            positives == 180,
        )
    outside = "outside the interval of the forecast"
    assert found == {
        220: ("inside the interval of the forecast", False),
        203: (f"{outside}, as 10 % of right forecasts are", False),
        180: (outside, True),
    }


def test_the_check_is_that_of_calibration_check(single):
    check = am.calibration_check(Y, P)
    assert single.values["check"] == check.to_dict()
    text = section(single, "calibration").text
    assert text[0] == f"Decide with p? yes: {check.advice[0]}."


def test_the_mass_adds_up(single):
    (layer,) = section(single, "mass").figures[0].layers
    missed, taken = layer["bars"]
    assert sum(missed["high"]) == pytest.approx(P.sum())
    assert sum(taken["high"]) == pytest.approx(P[am.decide(P).labels == 1].sum())


def test_groups(grouped):
    decision = am.decide(P, **GROUPED)
    part = section(grouped, "groups")
    assert part.title == "700 groups"
    empty = int((decision.group_n_positives == 0).sum())
    assert part.text[0].startswith(f"{empty:,} of them get an empty answer")
    counts = {k: int(n) for k, (n,) in rows_of(grouped, "groups", 1).items()}
    assert counts["1"] == int((decision.group_n_positives == 1).sum())
    assert sum(counts.values()) == 700
    worst = np.argsort(decision.group_expected, kind="stable")[:10]
    least = rows_of(grouped, "groups", 2)
    assert list(least) == [str(decision.group_ids[g]) for g in worst]
    rows = decision.group_ids[worst[0]] == GROUPS
    chosen = P[rows & (decision.labels == 1)]
    assert least[str(decision.group_ids[worst[0]])] == [
        str(rows.sum()),
        str(chosen.size),
        number(chosen.min()) if chosen.size else "",
        number(decision.group_expected[worst[0]]),
    ]


def test_one_cut_for_all_groups(grouped):
    decision, curves = am.decide(P, **GROUPED), grouped.values["curves"]
    assert curves["chosen"] is None
    at = curves["best"]["f1"]
    assert curves["k"][at] == decision.best_cut.n_positives
    assert curves["scores"]["f1"][at] == decision.best_cut.expected
    for place in (3, len(curves["k"]) // 2):
        labels = (curves["thresholds"][place] <= P).astype(int)
        forecast = am.forecast(P, labels, groups=GROUPS, zero_division=1.0)
        assert curves["scores"]["f1"][place] == pytest.approx(forecast.mean, rel=1e-9)


def test_a_reference_recalibrates_and_is_checked():
    odds = 3 * P / (1 - P)
    wrong = odds / (1 + odds)
    decision = am.decide(wrong, reference=(Y, wrong))
    said = am.report(decision)
    assert said.cards[0].value.startswith("calibrated p ≥ ")
    assert said.values["check"] == am.calibration_check(Y, wrong).to_dict()
    table = section(said, "calibration").tables[0]
    assert table.caption == "The check on the labelled reference"


RARE = RNG.beta(0.05, 3.0, 6000)
RARE_Y = (RNG.random(RARE.size) < RARE**1.5).astype(int)
ROWS, KNOWN = RARE[3000:], (RARE_Y[:3000], RARE[:3000])


def test_the_interval_of_a_page_stands_beside_its_own_mean():
    """The mean over the calibrators of a reference is not what was maximised."""
    decision = am.decide(ROWS, reference=KNOWN)
    said = am.report(decision, RARE_Y[3000:])
    other = am.forecast(ROWS, decision.labels, reference=KNOWN)
    assert f"{other.mean:.3f}" != f"{decision.expected:.3f}"
    assert said.values["forecast"]["mean"] == other.mean
    text = said.render("text")
    low, high = (f"{end:.3f}" for end in other.interval)
    assert f"forecast {other.mean:.3f} (90 % interval {low} to {high})" in text
    assert f"{decision.expected:.3f}" not in text


def test_what_is_done_already_is_not_advised():
    text = am.report(am.decide(ROWS, reference=KNOWN)).render("text")
    assert "recalibrate it, as is done here" in text
    assert "pass " not in text
    assert "tune(y, p)" not in text
    # A map that was not used may be advised, in words that fit a reference
    text = am.report(am.decide(ROWS), reference=KNOWN).render("text")
    assert "use calibrate(y, p) on the labelled reference" in text
    assert "pass " not in text
    # Without a reference the way to have one is said
    text = am.report(am.decide(KNOWN[1]), KNOWN[0]).render("text")
    assert "pass labelled rows as reference=(y, p) to decide and forecast" in text


def test_limits_logits_and_matrices():
    logits, limits = np.log(P / (1 - P)), {"max_positives": 50, "min_recall": 0.05}
    decision = am.decide(logits, logits=True, **limits)
    said = am.report(decision)
    assert said.values["decision"]["threshold"] == decision.threshold
    assert said.values["curves"]["most"] == 50
    matrix, y = P[:300].reshape(60, 5), Y[:300].reshape(60, 5)
    decision = am.decide(matrix, average="macro")
    actual = am.evaluate(y, decision.labels, average="macro")
    assert am.report(decision, y).values["actual"]["score"] == actual


def test_rules_and_checks_show_what_they_found():
    rule = am.tune(Y, P)
    said = am.report(rule)
    assert said.values["rule"]["threshold"] == rule.threshold
    (curve,) = [x for x in said.sections[0].figures[0].layers if x["draw"] == "line"]
    assert max(curve["y"]) == rule.score
    check = am.calibration_check(Y, P)
    said = am.report(check)
    points = said.sections[0].figures[0].layers[-1]
    assert points["x"] == check.positive_bins.to_dict()["mean"]
    assert said.values["check"] == check.to_dict()


@pytest.mark.parametrize(
    ("p", "message"),
    [([0.3] * 30, "every score is 0.3"), ([0.0, 1.0] * 15, "every score is 0 or 1")],
)
def test_scores_that_leave_nothing_to_say(p, message):
    with warnings.catch_warnings(action="ignore"):  # decide warns of labels too
        decision = am.decide(p)
    refuses(ValueError, message, am.report, decision)


def test_groups_of_one_are_told():
    said = am.report(am.decide(P[:40], groups=np.arange(40), average="groups"))
    assert any("every group has one row" in note for note in said.notes)


def test_a_pickled_decision_has_no_report():
    decision = pickle.loads(pickle.dumps(am.decide(P[:50])))
    refuses(ValueError, "decide once more", am.report, decision)


def test_labels_of_one_class_are_told():
    said = am.report(am.decide(P[:200]), np.zeros(200))
    assert said.values["check"] is None
    assert any("calibration was not checked" in note for note in said.notes)
    assert len(section(said, "truth").figures) == 1  # no curves of ranks


@pytest.mark.parametrize("digits", [17, 1])
def test_ranked_curves_are_those_of_scikit_learn(digits):
    p = np.round(P, digits)
    _, roc, pr = section(am.report(am.decide(p), Y), "truth").figures
    assert roc.title == f"ROC curve, AUC {number(metrics.roc_auc_score(Y, p))}"
    wanted = number(metrics.average_precision_score(Y, p))
    assert pr.title == f"Precision–recall curve, average precision {wanted}"
    x, y, _ = metrics.roc_curve(Y, p, drop_intermediate=False)
    drawn = roc.layers[1]
    points = set(zip(drawn["x"], drawn["y"], strict=True))
    assert points <= set(zip(x.tolist(), y.tolist(), strict=True))
    precision, recall, _ = metrics.precision_recall_curve(Y, p)
    drawn = pr.layers[1]
    points = set(zip(drawn["x"], drawn["y"], strict=True))
    assert points <= set(zip(recall.tolist(), precision.tolist(), strict=True))
    assert len(points) <= 202


def test_probabilities_that_are_not_reliable_are_warned_of_first():
    wrong = 3 * P / (1 + 2 * P)
    told = "The probabilities are not reliable: on these rows this costs"
    notes = am.report(am.decide(wrong), Y).notes
    assert notes[0].startswith(told)
    assert "expected scores on this page do not hold" in notes[0]
    assert not any(one.startswith(told) for one in am.report(am.decide(P), Y).notes)
    mended = am.report(am.decide(wrong, reference=(Y, wrong)), Y)
    assert not any(one.startswith(told) for one in mended.notes)


def test_bars_of_a_monitoring_count_the_rows_between_their_edges():
    known, now = (Y[:4000], P[:4000]), P[4000:]
    watched = am.monitor(now, 0.3, reference=known, every=1000)
    said = am.report(watched).values["histogram"]
    assert len(said["names"]) == 20
    edges = [0.0, *said["edges"], 1.0]
    counted = np.histogram(known[1], edges)[0] / known[1].size
    assert said["reference"] == pytest.approx(counted, abs=0.005)
    for period, shares in zip((now[:1000], now[1000:]), said["shares"], strict=True):
        counted = np.histogram(period, edges)[0] / period.size
        assert shares == pytest.approx(counted, abs=0.005)
    positives = np.histogram(P[:4000], edges, weights=Y[:4000])[0] / Y[:4000].sum()
    weight = np.add(said["reference"], positives) / 2  # a twentieth, but for fine bins
    assert 0.04 < weight.min() < 0.05 < weight.max() < 0.07
