"""Monitoring of a rule that gives rows a class or leaves them to a person."""

import numpy as np
import pytest

import argmetric as am

RNG = np.random.default_rng(0)
P = RNG.dirichlet([0.2, 0.2, 0.2], 8000)
NAMES = np.array(["ant", "bee", "cat"])
Y = NAMES[(P.cumsum(axis=1) < RNG.random((8000, 1))).sum(axis=1).clip(0, 2)]
FIRST, NEW = slice(0, 2000), slice(2000, 8000)
REFERENCE = Y[FIRST], P[FIRST]
FLOORS = {"ant": 0.9, "cat": 0.8}
RULE = am.classes.tune(
    *REFERENCE, min_precision=FLOORS, confidence=0.9, review=True, classes=NAMES
)


def watched(p, **how):
    return am.classes.monitor(p, RULE, reference=REFERENCE, every=2000, **how)


def test_each_period_has_the_rows_given_a_class_and_a_forecast_of_each_promise():
    found = watched(P[NEW])
    assert found.alarms == ()
    assert list(found.parts) == ["ant", "cat"]
    for i, one in enumerate(found.periods):
        part = slice(2000 * (i + 1), 2000 * (i + 2))
        labels = RULE.apply(P[part])
        assert (one.n, one.rejected) == (2000, 0)
        assert one.accepted == (labels != "ask").sum()
        assert one.automated == (labels != "ask").mean()
        for name, forecast in one.forecasts.items():
            assert forecast.n_positives == (labels == name).sum()
            low, high = forecast.interval
            right = (Y[part] == labels)[labels == name].mean()
            assert low - 0.02 <= right <= high + 0.02


def test_a_class_given_in_full_has_no_row_of_other_classes():
    rule = am.classes.ClassReviewRule(
        NAMES, [0.0, 0.5, np.inf], min_precision=[0.5, 0.5, np.nan], n=2000
    )
    (one,) = am.classes.monitor(P[NEW], rule, reference=REFERENCE).periods
    labels = rule.apply(P[NEW])
    for name in ("ant", "bee"):
        assert one.forecasts[name].n_positives == (labels == name).sum() > 0


def test_audited_labels_are_counted_and_contradict():
    audited = np.random.default_rng(1).random(8000) < 0.1
    good = watched(P[NEW], known=np.where(audited, Y, None)[NEW])
    part, labels = slice(2000, 4000), RULE.apply(P[2000:4000])
    for name in FLOORS:
        there = audited[part] & (labels == name)
        value, ends = good.periods[0].actual(name)
        assert value == pytest.approx((Y[part] == name)[there].mean())
        assert ends.low < value <= ends.high
    assert good.periods[0].broken == ()
    turned = np.roll(NAMES, 1)[np.searchsorted(NAMES, Y)]
    bad = watched(P[NEW], known=np.where(audited, turned, None)[NEW])
    assert bad.periods[0].broken == ("ant", "cat")
    assert "ant: audited labels contradict it" in bad.periods[0].alarm
    with pytest.raises(ValueError, match="'cow' in row 0, which is not among"):
        watched(P[NEW], known=np.where(audited, "cow", "cow")[NEW])


def test_a_promise_is_kept_where_no_row_is_given_the_class():
    """A rare class has no row in many periods: that is no broken promise."""
    of_ant = P[NEW][P[NEW][:, 0] > 0.9][:300]
    one = watched(of_ant).periods[0]
    assert one.forecasts["cat"].n_positives == 0
    assert one.forecasts["cat"].mean == pytest.approx(1.0)
    assert "cat" not in one.alarm
    assert one.actual("cat") is None


def test_a_moved_proportion_raises_an_alarm():
    flat = P[NEW] ** 0.4
    moved = watched(flat / flat.sum(axis=1, keepdims=True))
    assert "automated moved" in moved.periods[0].alarm


def test_rows_and_labels_come_later_and_a_file_keeps_all(tmp_path):
    whole = watched(P[NEW])
    parts = watched(P[2000:4000]).add(P[4000:8000])
    assert repr(parts) == repr(whole)
    later = parts.add_labels(Y[2000:2500], P[2000:2500], period=0)
    n, errors = later.periods[0].audited["ant"]
    labels = RULE.apply(P[2000:2500])
    assert n == (labels == "ant").sum()
    assert errors == ((labels == "ant") & (Y[2000:2500] != "ant")).sum()
    later.save(tmp_path / "m.json")
    loaded = am.classes.ClassReviewMonitoring.load(tmp_path / "m.json")
    assert repr(loaded) == repr(later)
    assert repr(loaded.add(P[:2000])) == repr(later.add(P[:2000]))
    frame = later.to_frame()
    assert frame["automated"].tolist() == [one.automated for one in later.periods]
    assert {"ant_low", "cat_high", "cat_audited"} <= set(frame.columns)
    assert "<table" in later._repr_html_()
    with pytest.raises(ValueError, match="no saved class review monitoring"):
        am.classes.ClassReviewMonitoring.from_dict(RULE.to_dict())


def test_the_picture_marks_alarms():
    pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")
    found = watched(P[NEW])
    lines = found.plot().get_lines()
    assert [line.get_label() for line in lines] == ["decided", "by the rule"]
    assert list(lines[0].get_ydata()) == [one.automated for one in found.periods]
    flat = P[2000:4000] ** 0.4
    moved = watched(flat / flat.sum(axis=1, keepdims=True)).plot().get_lines()
    assert [line.get_label() for line in moved] == ["decided", "alarm", "by the rule"]


@pytest.mark.parametrize(
    "how",
    [
        {"metric": "f1"},
        {"average": "macro"},
        {"cost": np.eye(3)},
        {"zero_division": 1.0},
        {"classes": NAMES},
        {"logits": True},
    ],
)
def test_options_of_a_metric_have_no_meaning(how):
    with pytest.raises(ValueError, match=f"{next(iter(how))} has no meaning"):
        watched(P[NEW], **how)


def test_what_cannot_be_monitored_is_refused():
    by_hand = am.classes.ClassReviewRule(NAMES, [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="promises nothing"):
        am.classes.monitor(P[NEW], by_hand, reference=REFERENCE)
    for label in ("bee", "cat"):
        only = np.full(2000, label), P[FIRST]
        with pytest.raises(ValueError, match="reference needs rows of ant and of oth"):
            am.classes.monitor(P[NEW], RULE, reference=only)
    with pytest.raises(ValueError, match="needs reference"):
        am.classes.monitor(P[NEW], RULE, reference=Y)
