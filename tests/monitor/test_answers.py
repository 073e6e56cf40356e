"""One period has one answer: words, verdicts and alarms on every surface."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argmetric as am
from command import Run

RNG = np.random.default_rng(11)
CUT = 0.4
BETTER, WORSE = "moved for the better", "moved for the worse"


def rows(n: int, share: float = 0.2, moved: float = 0.0) -> tuple[Any, Any]:
    """Labels, and scores that are right where a fifth is positive."""
    y = RNG.random(n) < share
    x = RNG.normal(np.where(y, 1.0, -1.0), 1.0)
    return y, 1.0 / (1.0 + 4.0 * np.exp(-2.0 * x - moved))


REFERENCE = rows(2000)
QUIET = [rows(1000) for _ in range(6)]
RISEN = [rows(1000, moved=1.2) for _ in range(3)]
STRANGE = [
    (y[:1000], p[:1000])
    for y, p in [rows(9000)]
    for y, p in [(y[(p > 0.2) & (p < 0.6)], p[(p > 0.2) & (p < 0.6)])]
]


def joined(weeks: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    y, p = (np.concatenate(one) for one in zip(*weeks, strict=True))
    return y, p


def watched(weeks: list[tuple[Any, Any]], **options: Any) -> am.Monitoring:
    how = {"reference": REFERENCE, "every": 1000} | options
    return am.monitor(joined(weeks)[1], CUT, **how)


def test_scores_that_rise_raise_an_alarm_in_the_first_week() -> None:
    found = watched(QUIET + RISEN, floor=0.6)
    assert not any(one.alarm for one in found.periods[:6])
    for one in found.periods[6:]:
        assert one.alarm == BETTER
        assert one.z < -one.critical
        assert one.verdict != "no shift"
    y, p = joined(RISEN)
    assert am.evaluate(y, p >= CUT) < found.periods[-1].if_prevalence_shift
    said = repr(found)
    assert "ALARM: moved for the better" in said
    assert "without a cause that is suspect" in said
    fallen = watched([*QUIET, rows(1000, 0.05)]).periods[-1]
    assert (fallen.alarm, fallen.z > fallen.critical) == (WORSE, True)


def test_a_period_that_raised_an_alarm_has_shifted() -> None:
    weeks = QUIET + [rows(1000, 0.25) for _ in range(8)]
    periods = watched(weeks).periods
    assert any(one.alarm == BETTER for one in periods)
    for one in periods:
        if one.alarm == BETTER and one.z_reference < -2.0:
            assert one.verdict != "no shift"
    bare = am.Monitoring.from_dict(watched(weeks).to_dict())
    assert [x.verdict for x in bare.periods] == [x.verdict for x in periods]


def test_a_rise_ends_the_command_with_code_3(run: Run) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, (y, p) in (("val", REFERENCE), ("new", joined(QUIET + RISEN))):
        table = {"score": p} | ({"label": y.astype(int)} if name == "val" else {})
        pq.write_table(pa.table(table), f"{name}.parquet")
    base = ("monitor", "new.parquet", "--reference", "val.parquet", "--every", "1000")
    ended = run(*base, "--threshold", str(CUT), "--report", "page.html")
    assert ended.code == 3
    printed = " ".join(ended.out.split())
    for one in watched(QUIET + RISEN).periods[-2:]:
        assert f"{one.start} " in ended.out
        assert one.answer[0] in printed
    assert f"({BETTER})" in ended.err
    assert "without a cause that is suspect" in " ".join(ended.out.split())
    assert "without a cause that is suspect" in Path("page.html").read_text()


def test_every_surface_gives_the_same_answer() -> None:
    found = watched([*QUIET, *STRANGE, rows(1000, 0.05)])
    verdicts = [one.verdict for one in found.periods]
    assert verdicts[6:] == ["cannot say without labels", "prevalence shift"]
    page = am.report(found).render("md")
    saved = json.loads(json.dumps(found.to_dict()))["texts"]
    frame = found.to_frame()
    for i, one in enumerate(found.periods):
        score, interval = one.answer
        if one.verdict == "cannot say without labels":
            assert (
                score
                == f"{one.if_covariate_shift:.3f} or {one.if_prevalence_shift:.3f}"
            )
            assert interval == "no interval"
        else:
            assert score == f"{one.mean:.3f}"
            assert interval == f"{one.interval.low:.3f} to {one.interval.high:.3f}"
        assert f"{score}, {interval}: {one.verdict}" in repr(one).splitlines()[0]
        if one in found.periods[-4:]:
            assert re.search(
                rf"{one.start} .*{re.escape(score)} \({interval}\)", repr(found)
            )
        assert (saved[i]["score_text"], saved[i]["interval_text"]) == (score, interval)
        assert (frame["score_text"][i], frame["interval_text"][i]) == (score, interval)
        row = next(x for x in page.splitlines() if x.startswith(f"| {one.start} |"))
        assert f"| {score} | {interval} |" in row


def test_labels_decide_where_all_are_there() -> None:
    bad = rows(1000, 0.04)
    weeks = [bad, bad, bad, *STRANGE, QUIET[0]]
    y, p = joined(weeks)
    known = y.astype(float)
    actual = [am.evaluate(*(one[0], one[1] >= CUT)) for one in weeks]
    floor = (max(actual[:3]) + min(actual[3:])) / 2
    found = am.monitor(
        p, CUT, reference=REFERENCE, every=1000, known=known, floor=floor
    ).periods
    assert [one.verdict for one in found[:3]] == ["below the floor"] * 3
    for one in found[3:]:  # the floor holds, and other alarms stand beside it
        assert one.verdict == ("all labels known" if one.alarm else "no alarm")
    for one, score in zip(found, actual, strict=True):
        assert ("below the floor" in one.alarm) == (score < floor)
        assert one.answer == (f"{score:.3f}", "all labels known")
    # A score at the floor is not below it
    at = am.monitor(
        p[3000:4000],
        CUT,
        reference=REFERENCE,
        known=known[3000:4000],
        floor=actual[3],
    ).periods[0]
    assert (at.verdict, "floor" in at.alarm) == ("all labels known", False)
    y, p = QUIET[0]
    quiet = am.monitor(p, CUT, reference=REFERENCE, known=y.astype(float), floor=0.1)
    assert (quiet.periods[0].verdict, quiet.periods[0].alarm) == ("no alarm", "")
    y, p = joined(weeks)
    without = am.monitor(p, CUT, reference=REFERENCE, every=1000, known=known).periods
    assert {one.verdict for one in without} == {"all labels known"}


@pytest.mark.parametrize(
    ("metric", "floor"), [("f1", 5), ("f1", -0.1), ("mcc", 1.5), ("precision", 60)]
)
def test_a_floor_that_no_score_can_have_is_refused(metric: str, floor: float) -> None:
    with pytest.raises(ValueError, match=f"floor is {floor:g}, but {metric} lies"):
        am.monitor(QUIET[0][1], CUT, metric, reference=REFERENCE, floor=floor)


def test_a_metric_of_counts_has_any_floor() -> None:
    gain = am.CustomMetric(lambda tp, k, t, n: 5 * tp - k, "gain")
    am.monitor(QUIET[0][1], CUT, gain, reference=REFERENCE, floor=250)
    am.monitor(QUIET[0][1], CUT, "mcc", reference=REFERENCE, floor=-0.2)


def test_a_period_is_told_in_ten_lines() -> None:
    (one,) = watched(QUIET[:1], floor=0.5).periods
    lines = repr(one).splitlines()
    assert lines[0].startswith("Period: score 0 to 1000 ")
    names = [x.split()[0] for x in lines[1:]]
    assert names == [
        *("rows", "alarm", "actual"),
        *("prevalence", "readings", "movement", "floor"),
    ]
    assert "<table" in one._repr_html_()


def test_every_period_says_whether_it_meets_the_floor() -> None:
    free = watched(QUIET)
    ends = [one.interval for one in free.periods]
    floor = float(np.round(np.sort([one.low for one in ends])[-2] + 1e-3, 3))
    found = watched(QUIET, floor=floor)
    expected = [
        f"floor {floor:g} {'met' if low >= floor else 'may be missed'}"
        for low, _ in ends
    ]
    assert len(set(expected)) == 2
    assert [one.floor_text for one in found.periods] == expected
    assert list(found.to_frame()["floor_text"]) == expected
    lines = repr(found).splitlines()
    for one in found.periods[-4:]:
        assert any(one.start in x and one.floor_text in x for x in lines)
    page = am.report(found).render("html")
    assert all(one.removeprefix("floor ") in page for one in set(expected))
    assert {one.floor_text for one in free.periods} == {""}
    for form, title in (("md", r"## (.+)"), ("text", r"\n\n(\S.+)")):
        titles = re.findall(title, am.report(found).render(form))
        assert ("F1 by period" in titles, "Prevalence" in titles) == (True, False)
    nothing = am.monitor(
        np.full(50, 1e-9),
        np.zeros(50),
        reference=REFERENCE,
        floor=0.5,
        zero_division=math.nan,
    )
    assert nothing.periods[-1].floor_text == "floor 0.5 may be missed"


def test_alarms_after_a_bad_period_are_explained() -> None:
    """Ordinary periods after it are part of the windows of the alarm."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 2, 4032)
    p[:504] = rng.beta(0.3, 6, 504)
    q = np.random.default_rng(0).beta(0.5, 2, 3000)
    y = np.random.default_rng(1).random(3000) < q
    found = am.monitor(p, 0.3, reference=(y, q), every=504)
    first, after = found.periods[:2]
    assert (first.alarm, after.alarm) == ("moved for the worse",) * 2
    count = (
        f"{len(found.alarms)} alarms in 8 periods, the last {found.alarms[-1].start}"
    )
    assert repr(found).splitlines()[0].endswith(count)
    assert "a bad period may raise them" in repr(found)
    quiet = am.monitor(p[504:], 0.3, reference=(y, q), every=504)
    assert "may raise them" not in repr(quiet)
    assert repr(quiet).splitlines()[0].endswith("; 0 alarms in 7 periods")
    level = am.monitor(p[504:], 0.3, reference=(y, q), every=504, floor=0.62)
    assert "floor 0.62 may be missed" in {one.floor_text for one in level.alarms}
    assert "below the floor the last 4" in repr(level)


def test_one_period_without_a_rate_is_not_a_fault_of_the_metric() -> None:
    p = np.append(0.02, QUIET[0][1])
    at = np.repeat(
        np.array(["2024-01-01", "2024-01-09"], "datetime64[D]"), [1, len(p) - 1]
    )
    found = am.monitor(p, CUT, reference=REFERENCE, time=at)
    assert "in 1 period f1 does not depend on the prevalence" in repr(found)
    recall = am.monitor(QUIET[0][1], CUT, "recall", reference=REFERENCE)
    assert "in 1 period recall does not depend on the prevalence" in repr(recall)


def test_five_positives_leave_no_certain_score() -> None:
    """The low ends are compared in the mean over six data sets.

    Each is a quantile of draws of few counts: where a processor draws otherwise, the
    end of one data set moves by a whole count, which is 0.02 here.
    """
    y = np.arange(200) < 5
    excess = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = np.where(y, 0.95, 0.05) + rng.uniform(-0.04, 0.04, 200)
        new_y = rng.random(1000) < 0.025
        new = np.where(new_y, 0.95, 0.05) + rng.uniform(-0.04, 0.04, 1000)
        one = am.monitor(new, 0.5, reference=(y, p), floor=0.9).periods[0]
        least = am.forecast(new, new >= 0.5, reference=(y, p)).interval
        assert least[0] < 0.9
        assert one.interval.high == 1.0
        assert abs(one.z_floor) < 3.0
        excess.append(one.interval.low - least[0])
    assert np.mean(excess) <= 0.005


@pytest.mark.parametrize("metric", ["f1", "recall", "precision", "mcc"])
@pytest.mark.parametrize(
    ("m", "k", "gap"),
    [(200, 5, 1.3), (200, 5, 4.0), (200, 40, 1.3), (1000, 30, 3.0), (4000, 120, 1.3)],
)
def test_intervals_are_no_narrower_than_those_of_forecast(
    metric: str, m: int, k: int, gap: float
) -> None:
    """Both use the same draws; bins of the scores differ, and may by a count."""
    rng = np.random.default_rng([m, k])

    def scores(y: Any) -> Any:
        x = rng.normal(np.where(y, gap, -gap), 1.0)
        return 1.0 / (1.0 + (m - k) / k * np.exp(-2.5 * x))

    y = np.arange(m) < k
    p, new = scores(y), scores(rng.random(1000) < k / m)
    cut = float(np.quantile(p, 1.0 - k / m))
    one = am.monitor(new, cut, metric, reference=(y, p)).periods[0]
    assert one.verdict == "no shift"
    low, high = am.forecast(new, new >= cut, metric, reference=(y, p)).interval
    assert one.interval.high - one.interval.low >= 0.98 * (high - low)
    assert one.interval.low <= low + 0.01
    assert one.interval.high >= high - 0.01


def test_the_first_line_says_where_the_score_lies_beside_the_floor() -> None:
    low, high = watched(QUIET).periods[-1].interval
    ends = {low - 0.05: "met", (low + high) / 2: "may be missed", high + 0.05: "missed"}
    for floor, word in ends.items():
        found = watched(QUIET, floor=round(floor, 3))
        said = f"; floor {round(floor, 3):g} {word};"
        assert said in repr(found).splitlines()[0]
        assert said in found._repr_html_()
    unknown = watched([*QUIET, STRANGE[0]], floor=0.001)
    assert unknown.periods[-1].verdict == "cannot say without labels"
    assert "; floor 0.001 may be missed;" in repr(unknown)
    y, _ = joined(QUIET)
    actual = watched(QUIET, known=y).periods[-1].actual
    for floor, word in ((0.99 * actual, "met"), (1.01 * actual, "missed")):
        said = repr(watched(QUIET, known=y, floor=round(floor, 3)))
        assert f"; floor {round(floor, 3):g} {word};" in said
