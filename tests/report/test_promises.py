"""Pages of monitored promises say what the periods say."""

import numpy as np
import pytest

import argmetric as am

FLOORS = np.array([0.8, 0.6, np.nan, 0.7, 0.5, 0.9, 0.75, 0.85])
RNG = np.random.default_rng(3)
Q = RNG.dirichlet(np.full(FLOORS.size, 0.15), 4500)
KIND = (Q.cumsum(axis=1) < RNG.random((4500, 1))).sum(axis=1).clip(0, 7)
P = RNG.random(5000)
Y = (RNG.random(5000) < P).astype(int)
GROUP = RNG.choice(["a", "b"], 5000)
OLD, NEW = slice(0, 3000), slice(3000, None)


def number(value):
    return f"{value:.3f}"


def table(page, key):
    """Return the cells of the table of a section by the first one of each row."""
    (found,) = [one for one in page.sections if one.key == key]
    return {name: cells for name, *cells in found.tables[0].rows}


def cards(page):
    return {card.name: card.value for card in page.cards}


def test_of_classes_the_promises_with_the_least_room_come_first():
    cuts = np.where(np.isnan(FLOORS), np.inf, 0.8)
    rule = am.classes.ClassReviewRule(
        range(8), cuts, min_precision=FLOORS, n=1000, automated=0.5
    )
    how = {"reference": (KIND[OLD], Q[OLD]), "every": 500}
    found = am.classes.monitor(Q[NEW], rule, **how)
    page, last = am.report(found), found.periods[-1]
    by_period = table(page, "by-period")
    assert [*by_period] == [one.start for one in found.periods[::-1]]
    asked = f"{last.n - last.accepted:,}"
    assert by_period["1000"][:3] == ["500", f"{100 * last.automated:.1f} %", asked]
    kept = [x.mean >= FLOORS[int(k)] for k, x in last.forecasts.items()]
    assert cards(page)["Promises"] == f"{sum(kept)} of 7"
    assert cards(page)["Alarms"] == f"{len(found.alarms)}" == "3"  # 0.5 is not usual
    assert page.notes[0].startswith("Alarm in the period 1000 to 1500: automated moved")
    assert page.values["periods"] == [one.to_dict() for one in found.periods]
    promised = table(page, "promises")
    room = [float(cells[1]) - float(cells[0]) for cells in promised.values()]
    assert room == sorted(room)
    assert len(page.sections[1].figures) == 6 < len(promised) == 7
    for name, one in last.forecasts.items():
        cells = promised[f"precision of {name}"]
        ends = " to ".join(map(number, one.interval))
        assert cells[:3] == [number(FLOORS[int(name)]), number(one.mean), ends]
        assert cells[-2:] == ["0", "0"]
    labelled = found.add_labels(KIND[4000:], Q[4000:], period=2)
    promised = table(am.report(labelled), "promises")
    given = rule.apply(Q[4000:])
    for name in last.forecasts:
        n, right = (
            (given == int(name)).sum(),
            (given == KIND[4000:])[given == int(name)],
        )
        assert promised[f"precision of {name}"][-2:] == [f"{n}", f"{right.sum()}"]


def test_labels_of_reviewed_rows_are_no_recall():
    limits = {"min_precision": 0.8, "min_recall": 0.9, "confidence": 0.9}
    rule = am.tune(Y[OLD], P[OLD], **limits, review=True)
    found = am.monitor(P[NEW], rule, known=Y[NEW], reference=(Y[OLD], P[OLD]))
    page = am.report(found)
    promised = table(page, "promises")
    n, errors = found.periods[0].audited["min_precision"]
    assert promised["precision"][-2:] == [f"{n}", f"{n - errors}"]
    assert promised["recall"][-2:] == ["", ""]
    figures = {one.y.name: one.layers for one in page.sections[1].figures}
    looks = {key: {x["look"] for x in layers} for key, layers in figures.items()}
    assert "actual" in looks["precision"]
    assert "actual" not in looks["recall"]


@pytest.mark.parametrize("rate", ["recall", "selection_rate"])
def test_the_gap_of_groups_has_a_forecast_where_labels_are_missing(rate):
    rules = am.Rule("f1", 0.3), am.Rule("f1", 0.6)
    rule = am.ParityRule(("a", "b"), rules, rate, 0.1)
    how = {"groups": GROUP[NEW], "reference": (Y[OLD], P[OLD], GROUP[OLD])}
    known = np.where(np.arange(2000) < 1000, Y[NEW], np.nan)
    found = am.monitor(P[NEW], rule, known=known, every=1000, **how)
    page, (first, last) = am.report(found), found.periods
    by_period, groups = table(page, "by-period"), table(page, "groups")
    gap = [number(first.gap), " to ".join(map(number, first.interval))]
    assert by_period["0"][1:3] == gap
    assert by_period["0"][-1] == first.alarm != ""
    if rate == "recall":
        ends = " to ".join(map(number, last.forecast_interval))
        assert by_period["0"][3:5] == ["", ""]
        assert by_period["1000"][1:5] == ["", "", number(last.forecast), ends]
        assert groups["a"] == [f"{last.rows[0]}", f"{last.selected[0]}", "0", ""]
    else:
        own = f"{last.rows[1]}", f"{last.selected[1]}", number(last.rates[1])
        assert groups["b"] == [*own]
        assert by_period["1000"][3:5] == ["", ""]
    names = {layer["name"] for layer in page.sections[0].figures[0].layers}
    labelled = {"gap", "promised", "alarm"}
    assert names == labelled | ({"forecast, without labels"} & names)
    assert ("forecast, without labels" in names) == (rate == "recall")


def test_without_periods_there_is_no_page():
    rule = am.ReviewRule("f1", 0.25, 0.65, constraints={"min_npv": 0.5}, n=4)
    found = am.monitor(P[:9], rule, reference=(Y[OLD], P[OLD]))
    parts = {name: type(one)(one.watch, counts=()) for name, one in found.parts.items()}
    with pytest.raises(ValueError, match="there are no periods to report"):
        am.report(type(found)(rule, parts))
