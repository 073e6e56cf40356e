"""The draws of `benchmarks/monitor.py` and its formulas of others do what they say."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import argmetric as am


@pytest.fixture
def part(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return lambda name: importlib.import_module(f"monitor_parts.{name}")


def test_a_moved_share_has_that_share_and_no_row_twice(part):
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.1
    found = part("shifts").by_share(rng, y, 4000, 0.2)
    assert np.unique(found).size == found.size == 4000
    assert y[found].mean() == pytest.approx(0.2, abs=0.025)  # 4 standard errors
    halves = y[found[:2000]].mean(), y[found[2000:]].mean()
    assert halves[0] == pytest.approx(halves[1], abs=0.06)  # in random order


def test_a_share_that_needs_more_positives_than_there_are_is_not_drawn(part):
    rng = np.random.default_rng(0)
    y = np.arange(1000) < 50
    assert part("shifts").by_share(rng, y, 400, 0.4) is None
    assert part("shifts").by_share(rng, y, 10, 0.95) is None


@pytest.mark.parametrize("odds", [3, 9])
def test_a_side_is_drawn_at_its_odds_even_where_most_values_are_equal(part, odds):
    rng = np.random.default_rng(1)
    x = (np.arange(20_000) < 2000).astype(float)
    shares = []
    for _ in range(20):
        found = part("shifts").by_side(rng, x, 4000, odds)
        assert np.unique(found).size == 4000
        shares.append(x[found].mean())
    # The ones are a fifth of the upper half: their share is that of this half, by 5.
    upper = {odds / (1 + odds) / 5, 1 / (1 + odds) / 5}
    nearest = {min(upper, key=lambda one: abs(one - share)) for share in shares}
    assert nearest == upper
    off = [min(abs(one - share) for one in upper) for share in shares]
    assert max(off) < 0.03


def test_changed_labels_keep_their_number_and_the_rows_below(part):
    rng = np.random.default_rng(0)
    x, y = rng.random(1000), rng.random(1000) < 0.3
    found = part("measured").changed_labels(rng, y, x)
    assert found.sum() == y.sum()
    low = x < np.sort(x)[600]
    assert (found[low] == y[low]).all()
    assert (found[~low] != y[~low]).any()


def test_cbpe_is_the_ratio_of_expected_counts(part):
    y = np.array([0, 0, 1, 0, 1, 1], dtype=bool)
    p = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    cbpe = part("peers").Cbpe.fit(y, p, p >= 0.5)
    # The isotonic map: 0 up to 0.2, 1/2 for 0.3 and 0.6, 1 from 0.7 on.
    new = np.array([0.1, 0.3, 0.6, 0.8])
    score, error = cbpe.estimate(new, new >= 0.5)
    assert score == pytest.approx(2 * 1.5 / (2 + 2.0))
    # Two hits, a false positive and a miss: parts of F1 are 4/3, 4/3, 0, 0.
    assert cbpe.relevant == pytest.approx(4 / 6)
    assert error == pytest.approx((2 / 3) / np.sqrt(4 * 4 / 6))


def test_cbpe_is_that_of_nannyml(part):
    pytest.importorskip("nannyml")
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 3, 5000)
    y, threshold = rng.random(p.size) < p**1.3, 0.3
    reference = y[:3000], p[:3000]
    cbpe = part("peers").Cbpe.fit(*reference, p[:3000] >= threshold)
    theirs = part("peers").from_nannyml(*reference, p[3000:], threshold, 1000)
    for new, found in zip(np.split(p[3000:], 2), theirs, strict=True):
        score, error = cbpe.estimate(new, new >= threshold)
        ours = (score, score - 3 * error, score + 3 * error)
        assert found == pytest.approx(ours, rel=1e-12)


def test_f1_at_the_fallen_share_is_lower_by_these_points(part):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 3, 400_000)
    y = rng.random(p.size) < p
    z = p >= 0.3
    share = part("alarms").fallen_share(y, z, float(y.mean()), 0.1)
    rows = part("shifts").by_share(rng, y, 60_000, share)
    fall = am.evaluate(y, z) - am.evaluate(y[rows], z[rows])
    assert fall == pytest.approx(0.1, abs=0.015)
    assert part("alarms").fallen_share(y, z, float(y.mean()), 0.99) is None


@pytest.mark.parametrize("moved", [False, True])
def test_the_first_alarm_is_that_of_monitor(part, moved):
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 3, 60_000)
    y = rng.random(p.size) < p
    draw, n = part("shifts").by_share, part("alarms").N
    factors = [1.0, 1.0, 1.0, *[0.7 if moved else 1.0] * 4]
    weeks = [draw(rng, y[2000:], n, factor * y.mean()) for factor in factors]
    reference, new = (y[:2000], p[:2000]), p[2000:][np.concatenate(weeks)]
    periods = am.monitor(new, 0.3, reference=reference, every=n).periods
    told = next((i for i, one in enumerate(periods) if one.alarm), None)
    own = am.calibrate(*reference)
    for more in ((), (n, own)):
        found = part("alarms").first_alarm(reference, new, 0.3, *more)
        assert (None if found is None else found.week) == told
        assert found is None or found.way in periods[told].alarm
        ways = (n, own, ("better",))
        assert part("alarms").first_alarm(reference, new, 0.3, *ways) is None
    assert (told is not None) == moved


def test_rows_in_order_are_scored_period_by_period(part):
    rng = np.random.default_rng(0)
    x = rng.normal(size=9500)
    y = rng.random(x.size) < 1 / (1 + np.exp(1.0 - 2.0 * x))
    found = part("order")._periods("drawn", "logistic", x[:, None], y)
    assert [one["verdict"] for one in found] == ["fine"] * 3  # 500 rows are left over
    for one in found:
        low, high, mean = one["auto"]
        assert low < mean < high
        assert one["actual"] == pytest.approx(mean, abs=0.06)
    few = np.arange(x.size) > 5998  # two positives in the reference
    assert part("order")._periods("drawn", "logistic", x[:, None], few) == []


def test_an_alarm_by_labels_needs_a_share_that_fell(part):
    n = part("alarms").N
    weeks = [np.arange(n) < k for k in (100, 100, 100, 60, 60)]
    same = np.arange(2000) < 200
    # 60 of 1,000 after 500 of 5,000: the root of the likelihood ratio is 4.0
    assert part("alarms").labelled_alarm(same, np.concatenate(weeks)).week == 3
    assert part("alarms").labelled_alarm(same, np.concatenate(weeks[:3])) is None
    rising = [np.arange(n) < k for k in (100, 100, 200)]
    assert part("alarms").labelled_alarm(same, np.concatenate(rising)) is None


def test_intervals_of_random_labels_hold(part):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 5000)
    z = p >= 0.3
    held = {"jeffreys": 0, "normal": 0}
    for _ in range(100):
        y = rng.random(p.size) < p
        some = rng.choice(p.size, 200, False)
        actual = am.evaluate(y, z)
        found = {
            "jeffreys": part("label").jeffreys(rng, y[some], z[some], z),
            "normal": part("label").normal(y[some], z[some]),
        }
        for name, (low, high, mean) in found.items():
            assert low < mean < high
            held[name] += low <= actual <= high
    assert 82 <= held["jeffreys"] <= 97
    assert 80 <= held["normal"] <= 97
