"""Monitoring of the gap between groups."""

import numpy as np
import pytest

import argmetric as am
from argmetric._verbs._parity import gap_interval


def drawn(n, seed, power=1.0):
    """Labels, scores and groups; `power` lowers the scores of group b."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["b", "a"], n, p=[0.4, 0.6])
    p = rng.beta(1, np.where(group == "a", 2, 3))
    y = (rng.random(n) < p).astype(int)
    return y, np.where(group == "b", p**power, p), group


Y, P, G = drawn(4000, 0)
RULES = {
    rate: am.tune(Y, P, parity=(rate, G, 0.1), confidence=0.9)
    for rate in ("recall", "selection_rate")
}


def watched(rate, rows, *, labelled=True, **how):
    y, p, g = rows
    how = {"known": y} | how if labelled else how
    return am.monitor(p, RULES[rate], groups=g, reference=(Y, P, G), **how)


@pytest.mark.parametrize("rate", RULES)
def test_each_period_has_the_gap_of_its_labels(rate):
    y, p, g = rows = drawn(3000, 1)
    known = np.where(np.random.default_rng(2).random(3000) < 0.4, y, np.nan)
    found = watched(rate, rows, known=known, every=1500)
    chosen = RULES[rate].apply(p, g) == 1
    for i, one in enumerate(found.periods):
        part = np.arange(3000) // 1500 == i
        base = part & ((known == 1) | (rate == "selection_rate"))
        names = RULES[rate].names
        sizes = [int((base & (g == x)).sum()) for x in names]
        hits = [int((base & chosen & (g == x)).sum()) for x in names]
        assert (one.sizes, one.hits) == (tuple(sizes), tuple(hits))
        assert one.rows == tuple(int((part & (g == x)).sum()) for x in names)
        wanted = gap_interval(np.array(hits), np.array(sizes), 0.9)
        assert (one.gap, one.interval) == wanted
        assert one.alarm == ""
    assert f"{found.periods[-1].gap:.3f}" in repr(found)
    assert "<table" in found._repr_html_()


def test_a_broken_gap_raises_an_alarm():
    for rate, said in (("recall", "recalls"), ("selection_rate", "selection rates")):
        found = watched(rate, drawn(3000, 1, power=1.7), every=1500)
        for one in found.periods:
            assert f"the {said} differ by more than 0.1" in one.alarm
        assert found.alarms == found.periods
    without = watched("selection_rate", drawn(3000, 1, power=1.7), labelled=False)
    assert without.alarms == without.periods
    assert "no label is needed" in without.notes[0]


def test_a_kept_gap_raises_an_alarm_rarely():
    """A year of periods has an alarm with a probability of 0.05 at the most."""
    (one,) = watched("recall", drawn(100_000, 5)).periods
    assert one.gap < 0.1
    assert watched("recall", drawn(52 * 400, 100), every=400).alarms == ()


def test_without_labels_the_gap_is_forecast():
    y, p, g = rows = drawn(4000, 3)
    found = watched("recall", rows, labelled=False, every=2000)
    for i, one in enumerate(found.periods):
        part = np.arange(4000) // 2000 == i
        means = []
        for name, cut in RULES["recall"].thresholds.items():
            here = part & (g == name)
            rule = am.Rule("recall", cut)
            alone = am.monitor(p[here], rule, reference=(Y[name == G], P[name == G]))
            means.append(alone.periods[0].mean)
        assert one.forecast == pytest.approx(np.ptp(means), abs=0.01)
        assert one.forecast_interval.low <= one.forecast <= one.forecast_interval.high
        assert np.isnan(one.gap)
        assert "forecast gap" in " ".join(one.cells())
    assert "whether the gap of recall is kept shows in labels" in found.notes[-1]
    late = found.add_labels(y[:2000], p[:2000], g[:2000], period=0)
    assert not np.isnan(late.periods[0].gap)
    assert np.isnan(late.periods[1].gap)
    assert "drawn at random in each group, not chosen by score" in late.notes[-1]
    moved = watched("recall", drawn(20_000, 4, power=2.0), labelled=False)
    assert "the forecast gap is above 0.1: label some rows" in moved.periods[0].alarm


@pytest.mark.parametrize("rate", RULES)
def test_rows_come_later_and_a_file_keeps_all(rate, tmp_path):
    y, p, g = rows = drawn(3000, 6)
    whole = watched(rate, rows, every=1000)
    first = [x[:1000] for x in rows]
    parts = watched(rate, first, every=1000).add(p[1000:], g[1000:], known=y[1000:])
    assert repr(parts) == repr(whole)
    parts.save(tmp_path / "m.json")
    again = am.ParityMonitoring.load(tmp_path / "m.json")
    assert repr(again) == repr(whole)
    assert repr(again.add(p, g, known=y)) == repr(whole.add(p, g, known=y))
    frame = whole.to_frame()
    assert frame["gap"].tolist() == [one.gap for one in whole.periods]
    assert frame["rate_a"].tolist() == [
        one.rates[RULES[rate].names.index("a")] for one in whole.periods
    ]
    with pytest.raises(ValueError, match="no saved parity monitoring"):
        am.ParityMonitoring.from_dict(RULES[rate].to_dict())


def test_a_group_without_rows_has_no_rate():
    y, p, g = drawn(600, 7)
    only = g == "a"
    found = watched("recall", (y[only], p[only], g[only]))
    (one,) = found.periods
    assert np.isnan(one.gap)
    assert one.interval == (0.0, 1.0)
    assert one.rows[RULES["recall"].names.index("b")] == 0
    assert "nan" not in repr(found)
    assert "gap in the last period unknown, two groups are needed" in repr(found)
    assert found.alarms == ()


def test_labels_of_text_go_with_pos_label():
    y, p, g = drawn(1000, 8)
    words, first = (np.where(x, "yes", "no") for x in (y, Y))
    how = {"groups": g, "known": words, "pos_label": "yes"}
    wanted = watched("recall", (y, p, g)).periods
    for rule in (
        RULES["recall"],
        am.tune(first, P, parity=("recall", G, 0.1), confidence=0.9, pos_label="yes"),
    ):
        found = am.monitor(p, rule, reference=(first, P, G), **how)
        assert found.periods == wanted
    with pytest.raises(ValueError, match="'no', the rule's negative label"):
        am.monitor(p, rule, reference=(first, P, G), **how | {"pos_label": "no"})


def test_what_has_no_meaning_is_refused():
    _, p, g = drawn(100, 9)
    how = {"reference": (Y, P, G)}
    rule = RULES["recall"]
    for name, value in {"metric": "f1", "floor": 0.5, "by": g, "average": "x"}.items():
        with pytest.raises(ValueError, match=f"{name} has no meaning with a ParityRu"):
            am.monitor(p, rule, groups=g, **how, **{name: value})
    with pytest.raises(ValueError, match="needs the group of each row: pass groups="):
        am.monitor(p, rule, **how)
    with pytest.raises(ValueError, match="groups has 'z' at row 1, which the rule"):
        am.monitor(p, rule, groups=["a", "z", *g[2:]], **how)
    with pytest.raises(ValueError, match="groups of reference has 'z' at row 0"):
        am.monitor(p, rule, groups=g, reference=(Y, P, ["z", *G[1:]]))
    for names, message in ((None, "must be an array, not None"), (G[:9], "9 rows but")):
        with pytest.raises((TypeError, ValueError), match=message):
            am.monitor(p, rule, groups=g, reference=(Y, P, names))
    alike = am.ParityRule((1, "1"), rule.rules, "recall", 0.1)
    with pytest.raises(ValueError, match="two groups are written alike"):
        am.monitor(p, alike, groups=[1] * 100, **how)
    notes = am.monitor(p, rule, groups=g, reference=(Y, P)).notes
    assert "reference=(y, p, groups) compares each with its own rows" in notes[0]
