"""monitor: periods, verdicts and alarms through the public face."""

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

import argmetric as am

RNG = np.random.default_rng(7)


def rows(n: int, share: float = 0.15, rng: Any = RNG) -> tuple[Any, Any]:
    """Labels, and scores that are too sure of them."""
    y = rng.random(n) < share
    x = rng.normal(np.where(y, 1.2, -0.8), 1.0)
    return y, 1.0 / (1.0 + np.exp(-(2.8 * x - 2.0)))


REFERENCE = rows(2000)
YEAR = [rows(1000) for _ in range(6)] + [rows(1000, 0.4), rows(1000, 0.04)]
Y, P = (np.concatenate(one) for one in zip(*YEAR, strict=True))
CUT = 0.3


@pytest.fixture(scope="module")
def watched() -> am.Monitoring:
    return am.monitor(P, CUT, reference=REFERENCE, every=1000, floor=0.5)


def test_quiet_periods_are_fine_and_a_new_share_is_seen(watched: am.Monitoring) -> None:
    verdicts = [one.verdict for one in watched.periods]
    assert verdicts == ["no shift"] * 6 + ["prevalence shift"] * 2
    assert [one.alarm for one in watched.periods[:6]] == [""] * 6
    assert watched.periods[6].alarm == "moved for the better"
    assert watched.periods[7].alarm.startswith("moved for the worse")
    share = np.array([y.mean() for y, _ in YEAR])
    low, high = np.array([one.prevalence_interval for one in watched.periods]).T
    assert ((low <= share) & (share <= high)).sum() >= 6
    low, high = np.array([one.population_interval for one in watched.periods]).T
    assert (low < share).all()
    assert (share < high).all()
    assert (high - low < 0.2).all()


def test_without_a_shift_readings_are_those_of_auto(watched: am.Monitoring) -> None:
    how: Any = {"reference": REFERENCE, "every": 1000, "floor": 0.5, "shift": "none"}
    found = am.monitor(P, CUT, **how)
    again = pickle.loads(pickle.dumps(found))
    for one, other, auto in zip(
        found.periods, again.periods, watched.periods, strict=True
    ):
        assert one.verdict == auto.verdict
        assert one.interval.low < one.mean < one.interval.high
        for name in (
            "if_prevalence_shift_interval",
            "if_covariate_shift",
            "population_interval",
            "z",
        ):
            assert getattr(one, name) == getattr(auto, name)
        assert repr(other.values()) == repr(one.values())  # nan is itself


def test_many_rows_are_counted_as_few() -> None:
    """Scores of 0 and 1, at the edges of cells, and beyond all of the reference."""
    y, p = (np.tile(one, 40) for one in YEAR[0])
    p[:3000:3], p[1:3000:3] = RNG.choice([0.0, 1.0, CUT], (2, 1000))
    p[2:3000:3] = RNG.choice(REFERENCE[1], 1000)
    with np.errstate(divide="ignore"):
        x, old = (np.log(one) - np.log1p(-one) for one in (p, REFERENCE[1]))
    for scores, then, cut in ((p, REFERENCE[1], CUT), (x, old, -1.0)):
        how: Any = {"reference": (REFERENCE[0], then), "logits": scores is x}
        how["every"] = 10**6
        at_once = am.monitor(scores, cut, known=y.astype(float), **how)
        parts = am.monitor(scores[:100], cut, known=y[:100].astype(float), **how)
        for i in range(100, scores.size, 9975):
            part = slice(i, i + 9975)
            parts = parts.add(scores[part], known=y[part].astype(float))
        np.testing.assert_array_equal(at_once.counts[0].table, parts.counts[0].table)


def test_rows_that_are_added_bit_by_bit_change_nothing(watched: am.Monitoring) -> None:
    made = am.monitor(P[:1500], CUT, reference=REFERENCE, every=1000, floor=0.5)
    for begin, end in ((1500, 1600), (1600, 4200), (4200, 8000)):
        made = made.add(P[begin:end])
    assert made.to_dict() == watched.to_dict()
    assert made.periods == watched.periods or repr(made) == repr(watched)


def test_a_state_that_was_saved_goes_on(watched: am.Monitoring, tmp_path: Any) -> None:
    first = am.monitor(P[:5000], CUT, reference=REFERENCE, every=1000, floor=0.5)
    first.save(tmp_path / "state.json")
    text = (tmp_path / "state.json").read_text()
    assert json.loads(text)["file"] == "argmetric monitoring"
    again = am.Monitoring.load(tmp_path / "state.json").add(P[5000:])
    assert again.to_dict() == watched.to_dict()


@pytest.mark.parametrize(("floor", "z"), [(0.1, -math.inf), (0.99, math.inf)])
def test_a_score_that_is_known_has_no_statistic_of_a_floor(
    floor: float, z: float
) -> None:
    y, p = YEAR[0]
    known = y.astype(float)
    made = am.monitor(p, CUT, reference=REFERENCE, known=known, floor=floor)
    one = made.periods[0]
    assert one.z_floor == z
    assert one.alarm == ("below the floor" if z > 0 else "")
    assert one.interval.low == one.interval.high == pytest.approx(one.actual, abs=1e-12)
    assert (one.from_calibrator, one.from_prevalence, one.from_labels) == (
        0.0,
        0.0,
        0.0,
    )
    again = am.Monitoring.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again.periods[0].z_floor == z


def test_strange_rows_of_the_past_do_not_make_ordinary_ones_look_moved() -> None:
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 2.0, 40_000)
    y = rng.random(scores.size) < scores
    weeks = [scores[2000 + 1000 * i :][:1000] for i in range(30)]
    for i in range(4, 12):  # rows of middling and high scores come nine times as often
        high = np.sort(weeks[i])[500:]
        weeks[i] = np.concatenate([high, rng.choice(high, 450), weeks[i][:50]])
    reference = y[:2000], scores[:2000]
    found = am.monitor(np.concatenate(weeks), 0.3, reference=reference, every=1000)
    said = [one.verdict for one in found.periods]
    assert set(said[4:12]) == {"cannot say without labels"}
    assert said[12:].count("no shift") == 18
    assert not any(one.alarm for one in found.periods[20:])


def test_periods_without_a_shift_allow_for_one_of_prevalence() -> None:
    """Weak scores hide a quarter of the positives: 8 of 16 intervals held before."""
    rng = np.random.default_rng(0)

    def drawn(n: int, share: float) -> tuple[Any, Any]:
        y = rng.random(n) < share
        return y, 1 / (1 + np.exp(-rng.normal(0.8 * y, 1.0)))

    found = []
    for _ in range(24):
        (y, p), reference = drawn(400, 0.075), drawn(400, 0.3)
        (one,) = am.monitor(p, 0.55, reference=reference).periods
        if one.verdict == "no shift":
            low, high = one.interval
            assert low <= one.mean <= high
            if one.p_prevalence_shift >= 0.3:
                assert low <= one.if_prevalence_shift_interval.low
                assert high >= one.if_prevalence_shift_interval.high
            found.append(low <= am.evaluate(y, p >= 0.55) <= high)
    assert len(found) == 16
    assert sum(found) >= 13
