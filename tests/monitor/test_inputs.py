"""What monitor is given: times, periods, rules, segments, and what it refuses."""

import copy
import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import argmetric as am

RNG = np.random.default_rng(3)
P = RNG.beta(0.6, 3, 900)
Y = RNG.random(900) < P
REFERENCE = (Y[:400], P[:400])
NEW = P[400:500]


def watch(p: Any = NEW, labels: Any = 0.3, **options: Any) -> am.Monitoring:
    return am.monitor(p, labels, **{"reference": REFERENCE, **options})


# -- times and periods -------------------------------------------------------------

DAYS = ["2026-01-04", "2026-01-05", "2026-01-11T23:59:59", "2026-02-01", "1969-12-31"]


@pytest.mark.parametrize(
    ("every", "starts"),
    [
        ("1d", ["2026-01-04", "2026-01-05", "2026-01-11", "2026-02-01", "1969-12-31"]),
        ("1w", ["2025-12-29", "2026-01-05", "2026-01-05", "2026-01-26", "1969-12-29"]),
        (
            "week",
            ["2025-12-29", "2026-01-05", "2026-01-05", "2026-01-26", "1969-12-29"],
        ),
        ("1mo", ["2026-01-01", "2026-01-01", "2026-01-01", "2026-02-01", "1969-12-01"]),
        ("1q", ["2026-01-01", "2026-01-01", "2026-01-01", "2026-01-01", "1969-10-01"]),
        ("1y", ["2026-01-01", "2026-01-01", "2026-01-01", "2026-01-01", "1969-01-01"]),
        ("12h", [*(f"{x}T00" for x in DAYS[:2]), "2026-01-11T12", "2026-02-01T00", ""]),
    ],
)
def test_periods_begin_where_people_expect(every: str, starts: list[str]) -> None:
    wanted = [*starts[:4], starts[4] or "1969-12-31T00"]
    found = watch(NEW[:5], time=DAYS, every=every)
    assert [one.start for one in found.periods] == sorted(set(wanted))
    assert found.notes == ()


def test_weeks_and_months_begin_with_their_first_day() -> None:
    weeks = ["2020-W53", "2026-W01", "2026-W53", "2026-W01", "2025-W30"]
    days = ["2020-12-28", "2025-12-29", "2026-12-28", "2025-12-29", "2025-07-21"]
    for texts, first in (
        (weeks, days),
        (["2026-01", "2026-02"], ["2026-01-01", "2026-02-01"]),
    ):
        some = NEW[: len(texts)]
        found, wanted = (watch(some, time=x, every="1d") for x in (texts, first))
        assert [one.start for one in found.periods] == sorted(set(first))
        assert found.to_dict() == wanted.to_dict()
    for bad in (["2025-W53"], ["2026-W00"], ["2026-01-05", "2026-W02"], ["2026-13"]):
        with pytest.raises(ValueError, match=r"time is .* at row .: ISO text"):
            watch(NEW[: len(bad)], time=bad)


def test_all_kinds_of_times_are_the_same() -> None:
    texts = [f"2026-03-{day:02}" for day in range(1, 29)] * 3
    objects = [dt.date.fromisoformat(one) for one in texts]
    given = {
        "numpy": np.array(texts, dtype="datetime64[D]"),
        "nanoseconds": np.array(texts, dtype="datetime64[ns]"),
        "dates": objects,
        "datetimes": [dt.datetime(one.year, one.month, one.day) for one in objects],
        "pandas": pd.to_datetime(pd.Series(texts)),
        "pandas text": pd.Series(texts),
        "polars": pl.Series(objects),
        "polars text": pl.Series(texts),
        "arrow": pl.Series(objects).to_arrow(),
    }
    wanted = watch(P[400:484], time=texts, every="1w").to_dict()
    for name, times in given.items():
        assert watch(P[400:484], time=times, every="1w").to_dict() == wanted, name


def test_zones_are_utc_and_told() -> None:
    aware = pd.Series(pd.to_datetime(["2026-01-05 00:30"]).tz_localize("Europe/Rome"))
    for times in (
        ["2026-01-05T00:30:00+02:00"],
        aware,
        pl.from_pandas(aware),
        [aware[0].to_pydatetime()],
    ):
        made = watch(NEW[:1], time=times, every="1d")
        assert made.periods[0].start == "2026-01-04"
        assert "times have a zone: periods begin in UTC" in made.notes


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2026-01-05", "2026-01-05T10:00+01:00"], "some times have a time zone"),
        (["2026-01-05", "05.01.2026"], "time is '05.01.2026' at row 1: ISO text"),
        (["2026-01-05", None], "time is no date, time or text at row 1: None"),
        ([1767571200, 2], "time must hold dates, times or ISO text"),
        (np.array(["2026-01-05", "NaT"], dtype="datetime64[s]"), "missing at row 1"),
        (["2026-01-05"], "time has 1 rows but p has 2"),
        ([["2026-01-05", "2026-01-06"]], "one dimension"),
        ("2026-01-05", "one time per row"),
    ],
)
def test_times_that_cannot_be_read(times: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        watch(NEW[:2], time=times)


@pytest.mark.parametrize("every", ["fortnight", "0d", "1.5d", 0, 2.5, True, "1m", []])
def test_lengths_that_are_none(every: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="every must be"):
        watch(every=every, time=["2026-01-05"] * 100)


def test_a_length_of_time_needs_times() -> None:
    with pytest.raises(ValueError, match="every='1w' needs time="):
        watch(every="1w")
    made = watch(every="1w", time=["2026-01-05"] * 100)
    with pytest.raises(ValueError, match="time is needed: periods are 1w long"):
        made.add(P[500:])


def test_rows_without_times_fill_periods_in_order() -> None:
    made = watch(P[400:], every=120)
    assert [(one.start, one.end, one.n) for one in made.periods] == [
        ("0", "120", 120),
        ("120", "240", 120),
        ("240", "360", 120),
        ("360", "480", 120),
        ("480", "500", 20),
    ]
    assert made.to_frame()["start"].tolist() == [0, 120, 240, 360, 480]


def test_unsorted_and_repeated_times_are_counted_alike() -> None:
    times = np.repeat(np.datetime64("2026-01-05") + np.arange(50), 10)
    made = watch(P[400:], time=times, every="1w")
    order = np.random.default_rng(0).permutation(500)
    again = watch(P[400:][order], time=times[order], every="1w")
    assert again.to_dict() == made.to_dict()
    # Periods of rows are filled in the order of time
    by_rows = watch(P[400:], time=times, every=100)
    assert [one.n for one in by_rows.periods] == [100] * 5
    assert by_rows.periods[0].start.startswith("2026-01-05")
    with pytest.raises(ValueError, match="before the end of the rows that were added"):
        by_rows.add(NEW, time=["2026-01-06"] * 100)


def test_rows_of_an_earlier_week_may_come_late() -> None:
    times = np.repeat(np.datetime64("2026-01-05") + np.arange(5) * 7, 100)
    whole = watch(P[400:], time=times, floor=0.3)
    late = np.arange(500) % 100 < 30
    made = watch(P[400:][~late], time=times[~late], floor=0.3)
    made = made.add(P[400:][late], time=times[late])
    assert made.to_dict() == whole.to_dict()


def test_periods_without_rows_are_left_out_and_told() -> None:
    times = np.repeat(np.array(["2026-01-05", "2026-02-02"], dtype="datetime64[D]"), 50)
    made = watch(time=times)
    assert [one.start for one in made.periods] == ["2026-01-05", "2026-02-02"]
    assert "3 periods between these have no rows" in repr(made)


# -- rules and labels --------------------------------------------------------------


def test_a_rule_a_threshold_and_labels_say_the_same() -> None:
    rule = am.tune(*REFERENCE, n_bootstrap=0, cv=0)
    by_rule = watch(P[400:], rule)
    by_cut = watch(P[400:], rule.threshold)
    by_labels = watch(P[400:], rule.apply(P[400:]))
    assert by_rule.periods == by_cut.periods or repr(by_rule) == repr(by_cut)
    # Without the cut as a bound one cell straddles it
    assert by_labels.periods[0].n_positives == by_rule.periods[0].n_positives
    gap = by_labels.periods[0].mean - by_rule.periods[0].mean
    assert abs(gap) < 0.01


def test_a_rule_on_another_scale_is_refused() -> None:
    x = np.log(P / (1 - P))
    rule = am.tune(Y[:400], 10 * x[:400], n_bootstrap=0, cv=0)
    with pytest.raises(ValueError, match="another scale: pass logits=True"):
        watch(labels=rule)
    with pytest.raises(ValueError, match="tuned on probabilities and cannot label"):
        watch(
            x[400:500],
            am.tune(*REFERENCE, n_bootstrap=0, cv=0),
            reference=(Y[:400], x[:400]),
            logits=True,
        )
    with pytest.raises(ValueError, match="the threshold 30"):
        watch(labels=30)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": (np.ones(400), P[:400])}, "one class|only one|all"),
        ({"reference": (Y[:400], np.full(400, 0.3))}, "scores are equal"),
        ({"reference": P}, "reference must be labelled rows, a pair"),
        ({"reference": (Y[:400], P[:400], Y[:400])}, "goes with by="),
        ({"coverage": 1.0}, "coverage must"),
        ({"false_alarms": 0.0}, "false_alarms must"),
        ({"floor": float("nan")}, "floor must"),
        ({"shift": "label"}, "shift must be one of"),
        ({"p": np.full((3, 2), 0.2)}, "a matrix needs average="),
        ({"p": np.full((3, 2, 2), 0.2)}, "p must have one dimension"),
        ({"p": []}, "p is empty"),
        ({"p": [0.5, np.nan]}, "p has NaN at row 1"),
        ({"p": [0.5, 7.0]}, "p is 7 at row 1"),
        ({"labels": [0, 1]}, "labels has shape"),
        ({"known": [0, 1]}, "known has shape"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        watch(**options)


def test_the_reference_is_read_with_the_label_that_is_positive() -> None:
    names = np.where(Y[:400] == 1, "yes", "no")
    plain = watch()
    named = watch(reference=(names, P[:400]), pos_label="yes")
    assert repr(named) == repr(plain)
    assert repr(watch(pos_label="yes")) == repr(plain)  # 0 and 1 need no name
    with pytest.raises(ValueError, match=r"pass pos_label='yes' or pos_label='no'$"):
        watch(reference=(names, P[:400]))


def test_labels_go_with_no_rule_and_a_rule_without_labels() -> None:
    made = watch(labels=(NEW > 0.3).astype(int))
    with pytest.raises(ValueError, match="labels are needed"):
        made.add(NEW)
    with pytest.raises(ValueError, match="labels are predicted by the rule"):
        watch().add(NEW, NEW > 0.3)
    named = watch(labels=np.where(NEW > 0.3, "yes", "no"), pos_label="yes")
    assert named.periods == made.periods or repr(named) == repr(made)


def test_few_positives_and_scores_beyond_the_reference_are_told() -> None:
    y = np.zeros(400, dtype=int)
    y[np.argsort(P[:400])[-5:]] = 1
    made = watch(reference=(y, P[:400]))
    assert "only 5 rows of one class" in made.notes[0]
    high = np.full(100, 1.0)
    far = watch(high)
    assert far.periods[0].n_outside == 100
    assert "100.0% of the last period's scores lie outside" in repr(far)
    assert np.isfinite([far.periods[0].mean, far.periods[0].prevalence]).all()


def test_one_predicted_class() -> None:
    assert watch(labels=np.zeros(100)).periods[0].mean == 0.0
    everything = watch(labels=np.ones(100)).periods[0]
    assert everything.interval.low <= everything.mean <= everything.interval.high
    never = watch(labels=np.zeros(100), metric="precision", zero_division=np.nan)
    assert np.isnan(never.periods[0].mean)
    assert np.isfinite(never.periods[0].prevalence)


def test_a_reference_among_the_rows_is_told() -> None:
    with pytest.warns(UserWarning, match="of the reference are also among p"):
        watch(P)
    watch(P[400:])  # and not otherwise


# -- known labels ------------------------------------------------------------------


def test_all_labels_give_the_actual_score() -> None:
    made = watch(P[400:], known=Y[400:])
    one = made.periods[0]
    actual = am.evaluate(Y[400:], P[400:] >= 0.3, "f1").score
    assert one.actual == pytest.approx(actual)
    assert (one.mean, *one.interval) == pytest.approx((actual,) * 3)
    assert one.actual_interval.low < actual < one.actual_interval.high
    assert one.prevalence == pytest.approx(Y[400:].mean())
    assert one.n_known == 500


def test_labels_that_come_later_change_nothing() -> None:
    times = np.repeat(np.datetime64("2026-01-05") + np.arange(5) * 7, 100)
    known = np.where(np.arange(500) % 3 == 0, Y[400:].astype(float), np.nan)
    at_once = watch(P[400:], time=times, known=known)
    first = watch(P[400:], time=times)
    arrived = ~np.isnan(known)
    late = first.add_labels(known[arrived], P[400:][arrived], time=times[arrived])
    assert late.to_dict() == at_once.to_dict()
    with pytest.raises(ValueError, match="rows that were not added before"):
        late.add_labels(known[arrived], P[400:][arrived], time=times[arrived])
    with pytest.raises(ValueError, match="rows that were not added before"):
        first.add_labels([1], [0.5], time=["2027-01-01"])
    with pytest.raises(ValueError, match="period is needed"):
        watch().add_labels([1], NEW[:1])
    assert watch().add_labels(Y[400:500], NEW, period=0).periods[0].n_known == 100


# -- segments ----------------------------------------------------------------------


def test_segments_are_monitored_by_themselves_the_worst_first() -> None:
    by = np.where(np.arange(500) % 2, "north", "south")
    p = P[400:].copy()
    p[(by == "south") & (np.arange(500) % 4 == 0)] = 0.12  # many rows of one score
    made = watch(p, 0.3, by=by, every=250)
    assert list(made.segments) == ["south", "north"]
    alone = watch(p[by == "north"], 0.3, every=125)
    one, other = made.segments["north"].periods[0], alone.periods[0]
    assert (one.mean, one.z) == (other.mean, other.z)
    assert one.critical > other.critical  # two segments share the false alarms
    frame = made.to_frame()
    assert frame["segment"].tolist() == ["", "", "south", "south", "north", "north"]
    assert "whole reference" in made.notes[0]
    assert made.segments["south"].periods[0].verdict == "cannot say without labels"
    south = made.segments["south"].periods[0]
    shown = f"{south.if_covariate_shift:.3f} or {south.if_prevalence_shift:.3f}"
    assert shown in repr(made.segments["south"])
    assert "label some rows to know which" in repr(made.segments["south"])
    with pytest.raises(ValueError, match="by is needed"):
        made.add(NEW)
    again = watch(p[:100], 0.3, by=by[:100], every=250).add(p[100:], by=by[100:])
    assert again.to_dict() == made.to_dict()
    loaded = am.Monitoring.from_dict(made.to_dict())
    assert repr(loaded) == repr(made)


def test_segments_may_have_their_own_reference() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.6, 3, 1200)
    y = rng.random(1200) < p
    ids = np.where(np.arange(1200) % 3 == 0, "small", "large")
    p[ids == "large"] **= 2  # scores that mean something else there
    made = am.monitor(
        p[800:], 0.3, reference=(y[:800], p[:800], ids[:800]), by=ids[800:]
    )
    assert made.segments["large"].watch.bins.size != made.watch.bins.size
    assert made.segments["large"].periods[0].verdict == "no shift"
    few = am.monitor(
        p[800:], 0.3, reference=(y[:200], p[:200], ids[:200]), by=ids[800:]
    )
    assert "too few rows in the reference" in few.notes[0]


# -- saved states ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(file="other"), "no saved monitoring"),
        (lambda d: d.update(format=99), "newer"),
        (lambda d: d.pop("watch"), "lacks 'watch'"),
        (lambda d: d["counts"][0].__setitem__(3, [[1]]), "damaged"),
        (lambda d: d["periods"].clear(), "not as many periods as counts"),
        (lambda d: d["watch"]["bins"]["edges"].reverse(), "edges .* must rise"),
    ],
)
def test_damaged_states_are_refused(change: Any, message: str) -> None:
    state = watch().to_dict()
    change(state)
    with pytest.raises(ValueError, match=message):
        am.Monitoring.from_dict(state)


def test_states_of_the_first_format_load() -> None:
    """Values, verdicts and keys had other names then."""
    now = watch(every=25, floor=0.4).to_dict()
    former = {
        "prevalence": "share",
        "prevalence_interval": "share_interval",
        "p_covariate_shift": "p_other_rows",
        "p_prevalence_shift": "p_share",
        "if_prevalence_shift": "if_share",
        "if_prevalence_shift_interval": "if_share_interval",
        "if_covariate_shift": "if_other_rows",
        "if_covariate_shift_interval": "if_other_rows_interval",
        "from_calibrator": "from_map",
        "from_prevalence": "from_share",
        "from_labels": "from_chance",
    }
    verdicts = {"no shift": "fine", "prevalence shift": "share moved"}
    then = copy.deepcopy(now) | {"format": 1}
    then["told"] = then.pop("texts")
    then["watch"]["cells"] = then["watch"].pop("bins")
    then["periods"] = [
        {former.get(key, key): value for key, value in one.items()}
        | {"verdict": verdicts.get(one["verdict"], one["verdict"])}
        for one in now["periods"]
    ]
    assert am.Monitoring.from_dict(then).to_dict() == now


def test_plots_and_frames() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    times = np.repeat(np.datetime64("2026-01-05") + np.arange(5) * 7, 100)
    made = watch(P[400:], time=times, floor=0.9, known=Y[400:])
    axes = made.plot()
    labels = axes.get_legend_handles_labels()[1]
    assert {"floor", "actual", "alarm"} <= set(labels)
    assert axes.get_ylabel() == "F1"
    plain = watch(P[400:], time=times)
    bars = [x for one in plain.plot().collections for x in one.get_segments()]
    drawn = {tuple(np.round(x[:, 1], 9)) for x in bars if len(x)}
    assert {tuple(np.round(one.interval, 9)) for one in plain.periods} <= drawn
    plt.close("all")
    assert all("below the floor" in one.alarm for one in made.periods[1:])
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(made.to_frame(backend)) == 5
    assert str(made.to_frame()["start"][0]) == "2026-01-05 00:00:00"
    assert "<table" in made._repr_html_()


def test_features_weigh_the_reference_as_the_period() -> None:
    """Where x is 1 scores mean less; all rows of the period are of that kind."""
    rng = np.random.default_rng(0)
    p = rng.beta(1.0, 2.0, 4000)
    x = (rng.random(4000) < 0.3).astype(float)
    y = rng.random(4000) < np.where(x == 1, 0.4 * p, p)
    old, new = np.arange(3000), 3000 + np.flatnonzero(x[3000:] == 1)
    X = np.stack([x, rng.normal(size=4000)], axis=1)
    actual = am.evaluate(y[new], p[new] >= 0.4, "f1").score
    options = {"reference": (y[old], p[old]), "shift": "none"}
    plain = am.monitor(p[new], 0.4, **options).periods[0]
    one = am.monitor(p[new], 0.4, features=(X[old], X[new]), **options).periods[0]
    assert plain.interval.low > actual
    assert one.interval.low <= actual <= one.interval.high
    assert one.z == plain.z
    for features, message in (
        (X[old], "features must be a pair"),
        ((X[old], X[new][:, :1]), "2 columns, and those of p 1"),
        ((X[old][1:], X[new]), "features of the reference has 2999 rows"),
        ((X[old], X[new][:, 0]), "features of p must have two dimensions"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            am.monitor(p[new], 0.4, features=features, **options)
