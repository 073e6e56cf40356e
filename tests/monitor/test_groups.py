"""monitor with groups and label columns, against enumeration and simulation."""

import math
from typing import Any

import numpy as np
import pytest

import argmetric as am

RNG = np.random.default_rng(11)


def rows(n: int, share: float = 0.15) -> tuple[Any, Any]:
    """Labels, and scores that are too sure of them."""
    y = RNG.random(n) < share
    x = RNG.normal(np.where(y, 1.2, -0.8), 1.0)
    return y, 1.0 / (1.0 + np.exp(-(2.8 * x - 2.0)))


REFERENCE = rows(2000)
Y, P = rows(1200)
BASKET = RNG.integers(0, 150, 1200)


@pytest.fixture(autouse=True)
def _draws() -> None:
    """Let no test depend on those before it."""
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


def watch(**options: Any) -> am.Monitoring:
    given = {"every": 400, "groups": BASKET, "reference": REFERENCE, **options}
    return am.monitor(P, 0.3, **given)


@pytest.fixture(scope="module")
def watched() -> am.Monitoring:
    return watch(floor=0.2)


def test_quiet_periods_are_as_forecast_says(watched: am.Monitoring) -> None:
    still = watch(shift="none").periods
    for i, one in enumerate(watched.periods):
        part = slice(400 * i, 400 * (i + 1))
        other = am.forecast(
            P[part], P[part] >= 0.3, groups=BASKET[part], reference=REFERENCE
        )
        low, high = other.interval
        assert one.mean == pytest.approx(other.mean, abs=0.015)
        width = still[i].interval.high - still[i].interval.low
        assert 0.9 < width / (high - low) < 1.4
        # The prevalence may have moved a little, which is not ruled out.
        assert one.interval.low < still[i].interval.low + 0.1 * width
        assert one.interval.high > still[i].interval.high - 0.1 * width
        assert one.interval.high - one.interval.low < 1.8 * width
        parts = one.from_calibrator + one.from_prevalence + one.from_labels
        assert parts == pytest.approx(1.0)
    assert "mean over groups" in repr(watched)
    assert "to_label" not in repr(watched)


def score_of(y: Any, part: Any) -> float:
    called, groups = P[part] >= 0.3, BASKET[part]
    return am.evaluate(y[part], called, groups=groups, average="groups")


def test_known_labels_give_the_actual_mean() -> None:
    made = watch(known=Y.astype(float), floor=0.9)
    for i, one in enumerate(made.periods):
        part = slice(400 * i, 400 * (i + 1))
        score = score_of(Y, part)
        assert one.actual == pytest.approx(score, abs=1e-12)
        assert one.mean == pytest.approx(score, abs=1e-9)
        assert one.interval.high - one.interval.low < 1e-9
        assert one.actual_interval.low < score < one.actual_interval.high
        assert one.alarm.endswith("below the floor")


def test_labels_in_part_score_the_groups_that_are_wholly_known() -> None:
    known = np.where(BASKET < 50, Y, math.nan)
    known[np.flatnonzero(BASKET >= 50)[::2]] = 0.0
    one = watch(known=known, every=None).periods[0]
    open_ = np.unique(BASKET[np.isnan(known)])
    part = ~np.isin(BASKET, open_)
    assert part.sum() < 600
    assert one.actual == pytest.approx(score_of(known, part), abs=1e-12)
    assert one.n_known == (~np.isnan(known)).sum()


def test_rows_and_labels_that_are_added_bit_by_bit(
    watched: am.Monitoring, tmp_path: Any
) -> None:
    made = am.monitor(
        P[:250], 0.3, reference=REFERENCE, every=400, groups=BASKET[:250], floor=0.2
    )
    made = made.add(P[250:900], groups=BASKET[250:900])
    made.save(tmp_path / "state.json")
    made = am.Monitoring.load(tmp_path / "state.json")
    made = made.add(P[900:], groups=BASKET[900:])
    assert made.to_dict() == watched.to_dict()
    part = slice(0, 400)
    late = made.add_labels(Y[part], P[part], period=0, groups=BASKET[part])
    known = np.where(np.arange(1200) < 400, Y, math.nan)
    assert late.to_dict() == watch(known=known, floor=0.2).to_dict()
    with pytest.raises(ValueError, match="groups are not those that these rows"):
        made.add_labels(Y[part], P[part], period=0, groups=BASKET[part] + 1)


MATRIX, TRUTH = P.reshape(200, 6), Y.reshape(200, 6)
WIDE = tuple(one[:1998].reshape(333, 6) for one in REFERENCE)


@pytest.mark.parametrize(("average", "axis"), [("samples", 0), ("macro", 1)])
def test_a_matrix_is_groups_of_rows_or_columns(average: Any, axis: int) -> None:
    known = np.where(np.arange(200)[:, None] < 60, TRUTH, math.nan)
    given = {"reference": WIDE, "average": average, "every": 100}
    made = am.monitor(MATRIX, 0.3, known=known, **given)
    names = np.indices((200, 6))[axis].ravel()
    assert math.isnan(made.periods[1].actual)
    flat = am.monitor(
        P,
        0.3,
        known=known.ravel(),
        reference=tuple(one.ravel() for one in WIDE),
        groups=[f"{i:04}" for i in names],
        every=600,
    )
    assert len(made.periods) == 2
    for one, other in zip(made.periods, flat.periods, strict=True):
        for name in ("mean", "interval", "n", "verdict"):
            wanted = getattr(other, name)
            assert getattr(one, name) == pytest.approx(wanted, abs=2e-3, nan_ok=True)
    again = am.monitor(MATRIX[:150], 0.3, known=known[:150], **given)
    again = again.add(MATRIX[150:], known=known[150:])
    assert again.to_dict() == made.to_dict()


def test_columns_are_scored_on_the_rows_that_are_known() -> None:
    known = np.where(np.arange(200)[:, None] < 150, TRUTH, math.nan)
    one = am.monitor(MATRIX, 0.3, reference=WIDE, average="macro", known=known).periods[
        0
    ]
    pairs = zip(TRUTH[:150].T, MATRIX[:150].T, strict=True)
    columns = [am.evaluate(y, p >= 0.3) for y, p in pairs]
    assert one.actual == pytest.approx(np.mean(columns), abs=1e-12)
    # Means of samples of 150 rows
    drawn = []
    for _ in range(2000):
        i = RNG.integers(0, 150, 150)
        y, called = TRUTH[i], MATRIX[i] >= 0.3
        hits = (y & called).sum(axis=0)
        drawn.append((2 * hits / (y.sum(axis=0) + called.sum(axis=0))).mean())
    width = np.quantile(drawn, 0.95) - np.quantile(drawn, 0.05)
    assert one.actual_interval.high - one.actual_interval.low == pytest.approx(
        width, rel=0.2
    )
    assert one.actual_interval.low < one.actual < one.actual_interval.high


def test_late_labels_of_columns() -> None:
    given = {"reference": WIDE, "average": "macro"}
    late = am.monitor(MATRIX, 0.3, **given).add_labels(TRUTH, MATRIX, period=0)
    both = am.monitor(MATRIX, 0.3, known=TRUTH.astype(float), **given)
    assert late.to_dict() == both.to_dict()
    made = am.monitor(MATRIX, 0.3, **{**given, "average": "samples"})
    with pytest.raises(ValueError, match="takes labels as known= of add"):
        made.add_labels(TRUTH, MATRIX, period=0)


def test_a_rule_for_groups_goes_with_groups() -> None:
    names = np.arange(2000) // 8
    rule = am.tune(*REFERENCE, groups=names, average="groups")
    made = am.monitor(P, rule, groups=BASKET, reference=REFERENCE)
    assert made.watch.average == "groups"
    with pytest.raises(ValueError, match="periods are scored as a whole"):
        am.monitor(P, rule, reference=REFERENCE)
    with pytest.raises(ValueError, match="periods are scored by average='pooled'"):
        watch(average="pooled") and am.monitor(
            P, rule, groups=BASKET, average="pooled", reference=REFERENCE
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": BASKET[:5]}, "groups has 5 rows but p has 1200"),
        ({"groups": None, "average": "groups"}, "needs groups, or p as a matrix"),
        ({"average": "macro"}, "average must be one of 'groups', 'pooled'"),
    ],
)
def test_averages_that_do_not_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        watch(**given)


def test_matrices_that_do_not_fit() -> None:
    given = {"reference": WIDE, "average": "macro"}
    for options, message in (
        ({"average": None}, "a matrix needs average='samples'"),
        ({"groups": np.arange(200)}, "groups go with one column"),
        ({"features": (MATRIX, MATRIX)}, "features go with one column"),
    ):
        with pytest.raises(ValueError, match=message):
            am.monitor(MATRIX, 0.3, **{**given, **options})
    made = am.monitor(MATRIX, 0.3, **given)
    with pytest.raises(ValueError, match="a matrix of 6 columns, not of shape"):
        made.add(MATRIX[:, :4])


def test_what_groups_cannot_do_is_refused(watched: am.Monitoring) -> None:
    with pytest.raises(ValueError, match="label some groups at random"):
        watched.to_label(20)
    with pytest.raises(ValueError, match="groups are needed"):
        watched.add(P[:10])
    plain = am.monitor(P, 0.3, reference=REFERENCE)
    with pytest.raises(ValueError, match="groups go with periods that had groups"):
        plain.add(P[:10], groups=BASKET[:10])
    values = watched.to_dict()
    values["counts"][0][-1][0] += 1
    with pytest.raises(ValueError, match="damaged"):
        am.Monitoring.from_dict(values)
