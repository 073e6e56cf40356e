"""Monitoring of a rule that leaves rows to a person."""

import numpy as np
import pytest

import argmetric as am

RNG = np.random.default_rng(0)
P = RNG.random(8000)
Y = (RNG.random(8000) < P).astype(int)
FIRST, NEW = slice(0, 2000), slice(2000, 8000)
BOTH = {"min_precision": 0.8, "min_npv": 0.8, "confidence": 0.9}
RULE = am.tune(Y[FIRST], P[FIRST], **BOTH, review=True)
REFERENCE = Y[FIRST], P[FIRST]


def watched(p, **how):
    return am.monitor(p, RULE, reference=REFERENCE, every=2000, **how)


def test_each_period_has_what_was_decided_and_a_forecast_of_each_promise():
    found = watched(P[NEW])
    assert found.alarms == ()
    for i, one in enumerate(found.periods):
        part = P[2000 * (i + 1) : 2000 * (i + 2)]
        actions = RULE.actions(part)
        assert one.n == 2000
        assert one.accepted == (actions == "accept").sum()
        assert one.rejected == (actions == "reject").sum()
        assert one.automated == (actions != "ask").mean()
        rule = RULE.promise_rules["min_precision"]
        alone = am.monitor(part, rule, reference=REFERENCE, floor=0.8)
        assert one.forecasts["min_precision"].mean == alone.periods[0].mean
        low, high = one.forecasts["min_npv"].interval
        assert (
            low
            <= 1 - Y[2000 * (i + 1) : 2000 * (i + 2)][actions == "reject"].mean()
            <= high + 0.05
        )


def test_a_promise_is_kept_where_no_row_is_decided():
    unsure = P[NEW][(RULE.low <= P[NEW]) & (RULE.high > P[NEW])][:50]
    (one,) = am.monitor(unsure, RULE, reference=REFERENCE).periods
    assert one.automated == 0.0
    assert [x.mean for x in one.forecasts.values()] == pytest.approx([1.0, 1.0])
    assert one.alarm == "automated moved"


@pytest.mark.parametrize("verb", [am.evaluate, am.forecast])
def test_rules_that_are_no_labels_are_named(verb):
    rows = Y[NEW] if verb is am.evaluate else P[NEW]
    parity = am.ParityRule(("a", "b"), (am.Rule("f1", 0.3),) * 2, "recall", 0.1)
    with pytest.raises(TypeError, match="a ReviewRule: it leaves rows to a person"):
        verb(rows, RULE)
    with pytest.raises(TypeError, match=r"a ParityRule: .* rule\.apply\(p, gr"):
        verb(rows, parity)
    by_class = am.classes.ClassReviewRule((0, 1), [0.5, 0.6])
    with pytest.raises(TypeError, match="a ClassReviewRule: it leaves rows to a"):
        am.classes.forecast(np.stack([1 - P, P], axis=1), by_class)


def test_labels_of_reviewed_rows_are_no_audit():
    reviewed = (RULE.low <= P) & (RULE.high > P)
    known = np.where(reviewed, Y.astype(float), np.nan)
    found = watched(P[NEW], known=known[NEW])
    for one in found.periods:
        assert one.actual("min_precision") is None
        assert one.actual("min_npv") is None
    assert "no random sample" in found.notes[-1]
    assert "no random sample" not in watched(P[NEW]).notes[-1]


def test_audited_labels_are_counted_and_contradict():
    rng = np.random.default_rng(1)
    audited = rng.random(8000) < 0.1
    good = watched(P[NEW], known=np.where(audited, Y, np.nan)[NEW])
    for i, one in enumerate(good.periods):
        part = slice(2000 * (i + 1), 2000 * (i + 2))
        there = audited[part] & (P[part] >= RULE.high)
        value, ends = one.actual("min_precision")
        assert value == pytest.approx(Y[part][there].mean())
        assert ends.low < value < ends.high
        assert one.broken == ()
    flipped = np.where(audited, 1 - Y, np.nan)[NEW]
    bad = watched(P[NEW], known=flipped)
    assert bad.periods[0].broken == ("min_precision", "min_npv")
    assert "audited labels contradict it" in bad.periods[0].alarm


def test_a_moved_proportion_raises_an_alarm():
    assert "automated moved" in watched(P[NEW] ** 3).periods[0].alarm


def test_a_usual_proportion_of_few_rows_raises_no_alarm():
    """The rule knows its proportion from 60 new rows, or from no rows at all."""
    for new_rows in (np.sort(P)[3000:3060], np.sort(P)[::130][:61]):
        rule = am.tune(*REFERENCE, **BOTH, review=True, new_rows=new_rows)
        low, high = rule.automated_interval
        (one,) = am.monitor(P[NEW], rule, reference=REFERENCE).periods
        std = (high - low) / 2 / 1.6449
        assert abs(one.z) < abs(one.automated - rule.automated) / std
    by_hand = am.ReviewRule("f1", 0.2, 0.9, constraints={"min_npv": 0.8})
    (one,) = am.monitor(P[NEW], by_hand, reference=REFERENCE).periods
    assert np.isnan(one.z)
    assert one.alarm == ""


def test_rows_and_labels_come_later_and_a_file_keeps_all(tmp_path):
    whole = watched(P[NEW])
    parts = watched(P[2000:4000]).add(P[4000:8000])
    assert repr(parts) == repr(whole)
    for wrong in ({"labels": P[2000:4000]}, {"groups": P[2000:4000]}):
        with pytest.raises(TypeError, match="unexpected keyword"):
            parts.add(P[2000:4000], **wrong)
    later = parts.add_labels(Y[2000:2500], P[2000:2500], period=0)
    assert sum(n for n, _ in later.periods[0].audited.values()) > 0
    later.save(tmp_path / "m.json")
    assert repr(am.ReviewMonitoring.load(tmp_path / "m.json")) == repr(later)
    frame = later.to_frame()
    assert frame["automated"].tolist() == [one.automated for one in later.periods]
    assert {"precision_low", "npv_high", "npv_audited"} <= set(frame.columns)
    assert "<table" in later._repr_html_()
    with pytest.raises(ValueError, match="no saved review monitoring"):
        am.ReviewMonitoring.from_dict(RULE.to_dict())


def test_a_side_that_asks_decides_no_row():
    rule = am.tune(Y[FIRST], P[FIRST], min_npv=0.8, confidence=0.9, review=True)
    found = am.monitor(P[NEW], rule, reference=REFERENCE)
    assert [one.accepted for one in found.periods] == [0]
    assert list(found.parts) == ["min_npv"]
    recall = am.tune(Y[FIRST], P[FIRST], min_recall=0.8, confidence=0.9, review=True)
    (one,) = am.monitor(P[NEW], recall, reference=REFERENCE).periods
    assert one.audited == {}


@pytest.mark.parametrize("name", ["metric", "floor", "by", "groups", "zero_division"])
def test_options_of_a_metric_have_no_meaning(name):
    value = {"metric": "f1", "floor": 0.5, "zero_division": 1.0}.get(name, P[NEW])
    with pytest.raises(ValueError, match=f"{name} has no meaning"):
        watched(P[NEW], **{name: value})
    with pytest.raises(ValueError, match="promises nothing"):
        am.monitor(P[NEW], am.ReviewRule("f1", 0.1, 0.9), reference=REFERENCE)
