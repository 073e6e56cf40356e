"""monitor with groups and label columns, against enumeration and simulation."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import argmetric as am
from argmetric._forecast.over_truth import GroupSample
from argmetric._monitor._groups import MeanOverGroups
from argmetric._monitor._rows import GroupTable
from argmetric.metrics import get_metric

RNG = np.random.default_rng(11)
PLACE = np.tile(np.arange(10), 2)  # of ten cells, whatever rows are called


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


def groups_of(sizes: list[int], metric: str = "f1", **options: Any) -> MeanOverGroups:
    """Groups of these sizes, with random cells of ten and random predictions."""
    n = sum(sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    known = options.pop("known", np.full(n, math.nan))
    selected = RNG.random(n) < 0.5
    judged = get_metric(metric, **options)
    return MeanOverGroups(judged, RNG.integers(0, 10, n), selected, known, indptr)


def sample_of(groups: MeanOverGroups) -> GroupSample:
    of_rows = groups.cell, groups.selected, groups.known
    return GroupSample(groups.metric, *of_rows, groups.indptr, groups.lengths)


def slow_mean(groups: MeanOverGroups, labels: Any) -> float:
    """The mean of the metric over the groups, one group after the other."""
    values = []
    for a, b in itertools.pairwise(groups.indptr.tolist()):
        y, called = labels[a:b], groups.selected[a:b]
        counts = ((y & called).sum(), called.sum(), y.sum(), b - a)
        values.append(float(groups.metric.value(*counts)))
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


@pytest.mark.parametrize("metric", ["f1", "mcc", "recall", "precision"])
def test_moments_of_short_groups_are_those_of_all_labels(metric: str) -> None:
    known = np.full(10, math.nan)
    known[[1, 7]] = 1.0, 0.0
    groups = groups_of([3, 1, 4, 2], metric, zero_division=1.0, known=known)
    c = RNG.uniform(0.05, 0.9, 10)
    p = np.where(np.isnan(known), c[groups.cell], known)
    labels = np.array(list(itertools.product([False, True], repeat=10)))
    chance = np.where(labels, p, 1 - p).prod(axis=1)
    means = np.array([slow_mean(groups, one) for one in labels])
    found = sample_of(groups).moments(c)
    mean = chance @ means
    assert found[0] == pytest.approx(mean, abs=1e-12)
    assert found[1] == pytest.approx(np.sqrt(chance @ (means - mean) ** 2), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "metric", "zero", "lumps"),
    [
        ([6] * 40, "f1", 1.0, 0.015),
        ([3, 5, 2, 6, 4], "f1", 1.0, 0.04),  # few values, which do not move
        ([200] * 8, "f1", 1.0, 0.015),
        ([4] * 30 + [150] * 5, "gmean", 1.0, 0.015),
        ([3] * 60, "precision", math.nan, 0.015),
    ],
)
def test_draws_are_those_of_simulated_labels(
    sizes: list[int], metric: str, zero: float, lumps: float
) -> None:
    groups = groups_of(sizes, metric, zero_division=zero)
    usual = np.sort(RNG.uniform(0.02, 0.8, 10))
    chances = [usual ** np.exp(0.3 * i) for i in range(-2, 3)]
    value, expected = groups.drawn(np.array(chances).T, PLACE, 400)
    for i, chance in enumerate(chances):
        q = chance[groups.cell]
        labels = RNG.random((4000, q.size)) < q
        sums = [
            np.add.reduceat(one, groups.indptr[:-1], axis=1, dtype=np.float64)
            for one in (labels & groups.selected, labels)
        ]
        k = np.add.reduceat(groups.selected, groups.indptr[:-1], dtype=np.float64)
        drawn = np.nanmean(
            groups.metric.value(sums[0], k, sums[1], groups.lengths), axis=1
        )
        error = drawn.std() / math.sqrt(4000)
        assert abs(expected[i] - drawn.mean()) < 5 * error + 0.002
        assert value[:, i].std() == pytest.approx(drawn.std(), rel=0.12)
        for level in (0.05, 0.5, 0.95):
            below, above = np.quantile(drawn, [level - 0.04, level + 0.04])
            found = np.quantile(value[:, i], level)
            assert below - lumps <= found <= above + lumps


def test_the_mean_of_many_groups_is_read_from_some_of_them() -> None:
    groups = groups_of([2] * 5000)
    chances = RNG.uniform(0.1, 0.6, (10, 4))
    _, found = groups.drawn(chances, PLACE, 1)
    values = [
        groups.values((RNG.random(groups.cell.size) < one[groups.cell]) * 1.0)
        for one in chances.T
        for _ in range(40)
    ]
    wanted = np.mean(values, axis=1).reshape(4, 40).mean(axis=1)
    np.testing.assert_allclose(found, wanted, atol=0.006)


def test_many_known_groups_have_their_actual_mean() -> None:
    known = (RNG.random(10_000) < 0.3).astype(np.float64)
    groups = groups_of([2] * 5000, known=known)
    value, found = groups.drawn(np.full((10, 2), 0.3), PLACE, 3)
    np.testing.assert_allclose(found, slow_mean(groups, known == 1.0), atol=1e-12)
    np.testing.assert_allclose(value, np.tile(found, (3, 1)), atol=1e-12)


def watch(**options: Any) -> am.Monitoring:
    given = {"every": 400, "groups": BASKET, "reference": REFERENCE, **options}
    return am.monitor(P, 0.3, **given)


@pytest.fixture(scope="module")
def watched() -> am.Monitoring:
    return watch(floor=0.2)


def test_quiet_periods_are_as_forecast_says(watched: am.Monitoring) -> None:
    for i, one in enumerate(watched.periods):
        part = slice(400 * i, 400 * (i + 1))
        other = am.forecast(
            P[part], P[part] >= 0.3, groups=BASKET[part], reference=REFERENCE
        )
        low, high = other.interval
        assert one.expected == pytest.approx(other.mean, abs=0.015)
        assert 0.9 < (one.high - one.low) / (high - low) < 1.4
        assert one.from_map + one.from_share + one.from_chance == pytest.approx(1.0)
    assert "mean over groups" in repr(watched)
    assert "to_label" not in repr(watched)


def test_known_labels_give_the_actual_mean() -> None:
    made = watch(known=Y.astype(float), floor=0.9)
    for i, one in enumerate(made.periods):
        part = slice(400 * i, 400 * (i + 1))
        score = am.evaluate(
            Y[part], P[part] >= 0.3, groups=BASKET[part], average="groups"
        )
        assert one.actual == pytest.approx(score, abs=1e-12)
        assert one.expected == pytest.approx(score, abs=1e-9)
        assert one.high - one.low < 1e-9
        assert one.actual_low < score < one.actual_high
        assert one.alarm.endswith("below the floor")


def test_labels_in_part_score_the_groups_that_are_wholly_known() -> None:
    known = np.where(BASKET < 50, Y, math.nan)
    known[np.flatnonzero(BASKET >= 50)[::2]] = 0.0
    one = watch(known=known, every=None).periods[0]
    open_ = np.unique(BASKET[np.isnan(known)])
    part = ~np.isin(BASKET, open_)
    assert part.sum() < 600
    wanted = am.evaluate(
        known[part], P[part] >= 0.3, groups=BASKET[part], average="groups"
    )
    assert one.actual == pytest.approx(wanted, abs=1e-12)
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


def test_names_of_groups_are_text_or_numbers_in_any_order(
    watched: am.Monitoring,
) -> None:
    names = np.array([f"user {i}" for i in range(150)], dtype=object)[BASKET]
    order = np.concatenate([RNG.permutation(400) + 400 * i for i in range(3)])
    made = am.monitor(
        P[order],
        0.3,
        reference=REFERENCE,
        every=400,
        groups=names[order],
        floor=0.2,
    )
    for one, other in zip(made.periods, watched.periods, strict=True):
        assert one.expected == pytest.approx(other.expected, abs=1e-3)
        assert one.low == pytest.approx(other.low, abs=0.01)


def test_segments_have_their_own_groups() -> None:
    by = np.where(BASKET % 3 == 0, "a", "b")
    made = watch(by=by, every=None)
    part = by == "a"
    alone = am.monitor(P[part], 0.3, reference=REFERENCE, groups=BASKET[part])
    assert made.segments["a"].periods[0].expected == alone.periods[0].expected


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
        for name in ("expected", "low", "high", "n", "verdict"):
            wanted = getattr(other, name)
            assert getattr(one, name) == pytest.approx(wanted, abs=2e-3, nan_ok=True)
    again = am.monitor(MATRIX[:150], 0.3, known=known[:150], **given)
    again = again.add(MATRIX[150:], known=known[150:])
    assert again.to_dict() == made.to_dict()


def test_micro_and_pooled_are_the_score_of_all_together() -> None:
    given = {"reference": REFERENCE}
    plain = am.monitor(P, 0.3, **given).periods
    assert watch(every=None, average="pooled").periods == plain
    wide = am.monitor(MATRIX, 0.3, average="micro", **given)
    assert wide.periods == am.monitor(P, 0.3, **given).periods[:1] or (
        wide.periods[0].low == plain[0].low
    )


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
    assert one.actual_high - one.actual_low == pytest.approx(width, rel=0.2)
    assert one.actual_low < one.actual < one.actual_high


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


def test_tables_of_groups_add_up() -> None:
    place = RNG.integers(0, 60, 100)
    codes = RNG.integers(0, 7, 100)
    ids = np.array(list("gfedcba"))
    whole = GroupTable.of(ids, codes, place, 10)
    halves = [
        GroupTable.of(ids, codes[s], place[s], 10) for s in (slice(30), slice(30, 100))
    ]
    for found, wanted in zip(halves[1].plus(halves[0], 10), whole, strict=True):
        np.testing.assert_array_equal(found, wanted)
