"""Every score of a page is a forecast, from the same draws for all decisions on it."""

import json
import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import argmetric as am
from argmetric._forecast.rivals import SharedDraws, cut_forecasts, shift_scores
from argmetric._ground.discrete import beside
from argmetric._ground.layout import lay_out

MODELS = {
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "forest": lambda: RandomForestClassifier(40, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(10),
    "naive Bayes": GaussianNB,
}
N_TRAIN, N_LABELLED = 700, 450


@cache
def scores(model, seed=0):
    """Labelled scores, then new ones with their labels: 3 and 8 among noisy digits."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(digit.size)
    X, y = (X + rng.normal(0, 6, X.shape))[order], np.isin(digit, (3, 8))[order] * 1
    fitted = MODELS[model]().fit(X[:N_TRAIN], y[:N_TRAIN])
    y, p = y[N_TRAIN:], fitted.predict_proba(X[N_TRAIN:])[:, 1]
    known, new = slice(N_LABELLED), slice(N_LABELLED, None)
    return SimpleNamespace(known=(y[known], p[known]), p=p[new], y=y[new])


def section(page, key):
    (found,) = [one for one in page.sections if one.key == key]
    return found


def column(table, name):
    at = table.header.index(name)
    return {row[0]: row[at] for row in table.rows}


@pytest.mark.parametrize("model", MODELS)
def test_no_rival_that_is_beaten_looks_better_on_a_page(model):
    rows = scores(model)
    decision = am.decide(rows.p, reference=rows.known)
    mean, page = decision.forecast().mean, am.report(decision, rows.y)
    cards = {card.name: card.value for card in page.cards}
    assert cards["Forecast F1"] == f"{mean:.3f}" != f"{decision.expected:.3f}"
    for card, value in cards.items():
        if card in ("Best single cut", "Cut at 0.5"):
            assert float(value) <= float(cards["Forecast F1"])
    # One number for this decision, wherever it stands
    compared = column(section(page, "curve").tables[0], "F1")
    outcome = column(section(page, "truth").tables[1], "forecast")
    best = column(section(page, "metrics").tables[0], "expected")["F1"]
    here = column(section(page, "metrics").tables[0], "this decision")
    assert {compared["this decision"], outcome["this decision"], best, here["F1"]} == {
        f"{mean:.3f}"
    }
    curves = page.values["curves"]
    assert curves["scores"]["f1"][curves["chosen"]] == pytest.approx(mean, abs=1e-12)
    mcc = am.forecast(rows.p, decision.labels, "mcc", reference=rows.known).mean
    assert here["MCC"] == f"{mcc:.3f}"
    # And one for the cut at 0.5
    half = cut_forecasts(decision, mean)["cut_half"]
    assert {cards["Cut at 0.5"], compared["cut at 0.5"], outcome["cut at 0.5"]} == {
        f"{half:.3f}"
    }
    assert curves["scores"]["f1"][curves["half"]] == pytest.approx(half, abs=1e-12)
    assert not any("is forecast" in note for note in page.notes)


def test_thresholds_are_named_by_the_score_they_are_compared_with():
    rows = scores("boosting")
    decision = am.decide(rows.p, reference=rows.known)
    text = am.report(decision).render("text")
    card, *_ = am.report(decision).cards
    raw = card.below.partition(" selects")[0].removeprefix("raw p ≥ ")
    np.testing.assert_array_equal(rows.p >= float(raw), decision.labels == 1)
    assert card.value.startswith("calibrated p ≥ ")
    for before in text.split("p ≥ ")[:-1]:
        assert before.endswith(("calibrated ", "raw "))


@pytest.mark.parametrize("metric", ["f1", "mcc", "gmean", "jaccard"])
def test_decisions_are_forecast_above_the_cuts_they_beat(metric):
    sign = 1.0 if am.get_metric(metric).greater_is_better else -1.0
    for model in MODELS:
        for seed in range(2):
            rows = scores(model, seed)
            decision = am.decide(rows.p, metric, reference=rows.known)
            mean = decision.forecast().mean
            for value in cut_forecasts(decision, mean).values():
                assert sign * (mean - value) >= -1e-12


def draws_of(rows, decision):
    layout = lay_out(rows.p, groups=None, average=None, logits=False)
    reference = am.calibrate(*rows.known)
    return SharedDraws(layout, decision.labels == 1, reference=reference, logits=False)


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall"])
def test_gaps_are_means_over_draws_row_by_row(metric):
    """The twin adds up the probabilities of the rows, one draw after the other."""
    rows = scores("naive Bayes")
    decision = am.decide(rows.p, metric, reference=rows.known)
    draws, found = draws_of(rows, decision), am.get_metric(metric)
    order = np.argsort(-rows.p, kind="stable")
    k = np.array([0, 1, 40, decision.n_positives, rows.p.size])
    gaps = draws.gaps(draws.counts_along(order, k), found)
    for size, gap in zip(k.tolist(), gaps.tolist(), strict=True):
        top = order[:size]

        def value(p, top=top, size=size):
            p = p[draws.bins.place]
            return float(found.value(p[top].sum(), size, p.sum(), float(p.size)))

        mean = np.mean([value(one) for one in draws.p.T])
        assert gap == pytest.approx(mean - value(draws.fitted[:, 0]), abs=1e-12)
        labels = np.isin(np.arange(rows.p.size), top)
        assert draws.gap(labels, found) == pytest.approx(gap, abs=1e-12)
    assert draws.mean(found) == decision.forecast().mean


@pytest.mark.parametrize("model", MODELS)
def test_expected_scores_and_gaps_make_forecasts(model):
    rows = scores(model)
    for metric in ("f1", "mcc", "gmean"):
        decision = am.decide(rows.p, metric, reference=rows.known)
        gap = draws_of(rows, decision).gap(decision.labels == 1, decision.metric)
        mean = decision.forecast().mean
        assert decision.expected + gap == pytest.approx(mean, abs=0.004)


def test_scores_stay_where_scores_lie():
    f1 = am.metrics.get_metric("f1")
    assert shift_scores(0.99, 0.02, f1) == 1.0
    assert shift_scores(-0.1, -0.2, f1) == pytest.approx(-0.3)
    assert shift_scores(2.0, 0.5, f1) == 2.5
    assert shift_scores(0.99, -3.0, am.Utility(fp=-1.0)) == pytest.approx(-2.01)
    np.testing.assert_array_equal(
        shift_scores(np.array([0.01, np.nan]), -0.1, f1), [0.0, np.nan]
    )


def test_groups_have_one_number_too():
    rows = scores("forest")
    groups = np.arange(rows.p.size) % 60
    how = {"groups": groups, "average": "groups", "zero_division": 1.0}
    decision = am.decide(rows.p, reference=rows.known, **how)
    mean, page = decision.forecast().mean, am.report(decision, rows.y)
    cuts = cut_forecasts(decision, mean)
    assert max(cuts.values()) <= mean
    compared = column(section(page, "curve").tables[0], "F1")
    wanted = {"this decision": mean, "best single cut": cuts["best_cut"]}
    wanted["cut at 0.5"] = cuts["cut_half"]
    assert compared == {name: f"{value:.3f}" for name, value in wanted.items()}
    assert column(section(page, "metrics").tables[0], "expected")["F1"] == f"{mean:.3f}"
    curves = page.values["curves"]
    assert curves["level"] == mean
    drawn = curves["scores"]["f1"]
    assert drawn[curves["best_cut"]] == pytest.approx(cuts["best_cut"], abs=1e-12)
    assert drawn[curves["half"]] == pytest.approx(cuts["cut_half"], abs=1e-12)


def test_a_given_prevalence_has_one_forecast():
    rows = scores("logistic")
    decision = am.decide(rows.p, reference=rows.known, prior=0.4)
    told = am.forecast(rows.p, decision.labels, reference=rows.known, prior=0.4)
    assert decision.forecast().to_dict() == told.to_dict()
    assert am.report(decision).values["forecast"] == told.to_dict()


def test_a_rival_with_a_higher_forecast_is_named(monkeypatch):
    from argmetric._report import _curves

    real = _curves.PageForecasts.of

    def higher(self, labels, expected):
        return real(self, labels, expected) + 0.5

    rows = scores("logistic")
    decision = am.decide(rows.p, reference=rows.known)
    monkeypatch.setattr(_curves.PageForecasts, "of", higher)
    (note,) = [x for x in am.report(decision).notes if "is forecast" in x]
    assert note.startswith("the cut at 0.5 is forecast ")
    assert f"this decision {decision.forecast().mean:.3f}: it is the best" in note


def test_labels_with_a_higher_forecast_than_the_best_are_named(monkeypatch):
    from argmetric._report import report_decision
    from argmetric._report._decision import DecisionPage

    rows = scores("logistic")
    decision = am.decide(rows.p, reference=rows.known)
    labels = (rows.p >= 0.5).astype(int)
    told = am.forecast(rows.p, labels, reference=rows.known).mean
    page = report_decision(decision, labels=labels)
    assert not any("these labels are forecast" in note for note in page.notes)
    monkeypatch.setattr(DecisionPage, "best", told - 0.1)
    (note,) = [
        note
        for note in report_decision(decision, labels=labels).notes
        if note.startswith("these labels are forecast")
    ]
    said = f"forecast {told:.3f}, the best decision {told - 0.1:.3f}: it is the best"
    assert said in note


def test_the_command_names_a_rival_with_a_higher_forecast(
    monkeypatch, tmp_path, capsys
):
    from argmetric._forecast import rivals
    from argmetric.cli import main

    rows = scores("logistic")
    for name, (y, p) in (("known", rows.known), ("new", (rows.y, rows.p))):
        pairs = zip(p.tolist(), y.tolist(), strict=True)
        text = "".join(f"{a!r},{b}\n" for a, b in pairs)
        (tmp_path / f"{name}.csv").write_text(f"p,y\n{text}")
    monkeypatch.setattr(rivals, "shift_scores", lambda expected, *_: expected + 0.5)
    files = [str(tmp_path / "new.csv"), "--reference", str(tmp_path / "known.csv")]
    options = ["--json", "-o", str(tmp_path / "out.csv")]
    assert main(["decide", *files, *options]) == 0
    values = json.loads(capsys.readouterr().out)
    own, half = values["forecast"]["mean"], values["decision"]["cut_half"]["expected"]
    said = f"the cut at 0.5 is forecast {half + 0.5:.4f}, this decision {own:.4f}: it "
    assert any(note.startswith(said) for note in values["notes"])


@pytest.mark.parametrize("metric", ["mcc", "precision"])
def test_a_rival_without_a_score_leaves_the_page(metric, tmp_path, capsys):
    """No row reaches 0.5: that cut has no score where 0/0 is undefined."""
    from argmetric.cli import main

    p = np.append(np.repeat(0.45, 5), np.linspace(0.05, 0.3, 40))
    y = np.isin(np.arange(45), (0, 1, 3, 44)) * 1
    decision = am.decide(p, metric, zero_division=math.nan)
    outcome = section(am.report(decision, y), "truth").tables[1]
    assert column(outcome, "actual")["cut at 0.5"] == "undefined"
    actual = am.evaluate(y, decision.labels, metric)
    assert column(outcome, "actual")["this decision"] == f"{actual:.3f}"
    rows = "".join(f"{a},{b}\n" for a, b in zip(p.tolist(), y.tolist(), strict=True))
    (tmp_path / "rows.csv").write_text(f"p,y\n{rows}")
    files = [str(tmp_path / "rows.csv"), "-o", str(tmp_path / "out.csv")]
    options = ["--metric", metric, "--zero-division", "nan", "--json"]
    assert main(["decide", *files, *options]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["actual"]["score"] == pytest.approx(actual)


@pytest.mark.parametrize(
    ("value", "low", "high", "wanted"),
    [
        (0.4793, 0.41, 0.4791, ("0.4793", "0.4100", "0.4791")),
        (0.47912, 0.41, 0.4791, ("0.47912", "0.41000", "0.47910")),
        (0.4790, 0.41, 0.4791, ("0.479", "0.410", "0.479")),
        (0.40996, 0.41, 0.4791, ("0.40996", "0.41000", "0.47910")),
        (0.5, 0.41, 0.4791, ("0.500", "0.410", "0.479")),
        (0.4791 + 1e-14, 0.41, 0.4791, ("0.479", "0.410", "0.479")),
        (0.79999999, 0.8, math.inf, ("0.79999999", "0.80000000", "inf")),
        (math.nan, 0.41, 0.4791, ("undefined", "0.410", "0.479")),
        (-1e-5, 0.0, 0.4, ("-1e-05", "0.000", "0.400")),
        (10.00001, 9.0, 9.9999, ("10.0000", "9.0000", "9.9999")),
        (0.4793, 0.4791, 0.4791, ("0.4793", "0.4791", "0.4791")),
        (0.5, math.nan, math.nan, ("0.500", "undefined", "undefined")),
    ],
)
def test_the_digit_that_decides_is_printed(value, low, high, wanted):
    assert beside(value, low, high) == wanted


def test_minus_zero_is_not_below_zero():
    texts = beside(-1e-5, 0.0, 0.4, "{:.4f}".format)
    assert texts == ("-0.00001", "0.00000", "0.40000")


def test_a_page_prints_the_digit_that_decides():
    """Of 4,000 rows one more positive leaves the interval, and not the third digit."""
    for n in range(4000, 4040, 2):
        half = n // 2
        decision = am.decide(np.repeat([0.55, 0.65], half), "accuracy")
        forecast = decision.forecast()
        end = forecast.interval[1]
        positives = round(end * n) + 1
        if f"{positives / n:.3f}" == f"{end:.3f}":
            break
    low = positives * 11 // 24  # of those with p = 0.55
    y = (np.arange(n) % half < np.repeat([low, positives - low], half)).astype(int)
    page = am.report(decision, y)
    actual, shown = page.cards[-1], page.cards[1].below
    assert actual.below.startswith("outside the interval")
    assert actual.value == f"{positives / n:.4f}" != f"{end:.4f}"
    assert shown.endswith(f" to {end:.4f}")
    text = section(page, "truth").text[0]
    assert f"{positives / n:.4f}" in text
    assert f" to {end:.4f})" in text
    said = forecast.surprise(am.evaluate(y, decision.labels, "accuracy"))
    assert f"is {positives / n:.4f}, outside" in said


def test_a_gate_prints_the_digit_that_decides(capsys):
    from argmetric.cli._errors import GATE_NOT_MET, gate

    assert gate(0.79999999, 0.8, am.get_metric("f1"), "f1") == GATE_NOT_MET
    assert "f1 is 0.79999999, under 0.80000000" in capsys.readouterr().err
    assert gate(0.5, 0.8, am.get_metric("f1"), "f1") == GATE_NOT_MET
    assert "f1 is 0.5, under 0.8" in capsys.readouterr().err
    assert gate(0.1 + 0.7, 0.8, am.get_metric("f1"), "f1") == 0  # 0.7999999999999999
    assert gate(0.1 + 0.2, 0.3, am.get_metric("sec"), "sec") == 0  # 0.30000000000000004
