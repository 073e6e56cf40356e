"""monitor for several classes: against known truths, brute force and `forecast`."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import argmetric as am
from argmetric._monitor import critical_value, movements
from argmetric.classes import ClassMonitoring, monitor
from refusing import refuses

SHAPE = (1.0, 0.5, 0.3, 0.2)


def drawn(seed, n, factor=(1, 1, 1, 1)):
    """Rows whose probabilities are right; with factors, the shares of classes move."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(SHAPE, 12 * n)
    y = (p.cumsum(axis=1) < rng.random((12 * n, 1))).sum(axis=1).clip(0, 3)
    kept = np.flatnonzero(rng.random(12 * n) < (np.array(factor) / max(factor))[y])[:n]
    assert kept.size == n
    return y[kept], p[kept]


Y0, P0 = drawn(1, 1000)
REFERENCE = Y0, P0


def test_intervals_hold_when_quiet_and_when_shares_move():
    """16 periods with known truth: scores and shares lie in nearly all intervals."""
    inside, shares, fine = [], [], []
    for seed in range(8):
        rows = [drawn(seed, 200, one) for one in ((1, 1, 1, 1), (1, 3, 1, 4))]
        y, p = map(np.concatenate, zip(*rows, strict=True))
        found = monitor(p, reference=drawn(100 + seed, 400), every=200)
        for one, own in zip(found.periods, y.reshape(2, 200), strict=True):
            z = p[int(one.start) : int(one.end)].argmax(axis=1)
            actual = am.classes.evaluate(own, z, "f1")
            inside.append(one.interval.low <= actual <= one.interval.high)
            true = np.bincount(own, minlength=4) / own.size
            low, high = np.array(one.prevalence_intervals).T
            shares += list((low <= true) & (true <= high))
            fine.append(one.verdict == "no shift")
    assert np.mean(inside) >= 0.85
    assert np.mean(shares) >= 0.85
    assert np.mean(fine[::2]) >= 0.85  # quiet ones are fine
    assert np.mean(fine[1::2]) <= 0.25  # and the others are not


@pytest.mark.parametrize(
    "metric", ["f1", "accuracy", "mcc", "gmean", "quadratic_kappa"]
)
def test_an_interval_is_never_narrower_than_the_forecast_of_the_same_rows(metric):
    """By the calibrator alone, which is how a period is forecast."""
    found = am.classes.calibrate(*REFERENCE)
    for factor in ((1, 1, 1, 1), (1, 4, 1, 1)):
        _, p = drawn(5, 120, factor)
        z = p.argmax(axis=1)
        plain = am.classes.forecast(p, z, metric, reference=found)
        (mixed,) = monitor(p, z, metric, reference=REFERENCE).periods
        assert mixed.interval.low <= plain.interval[0]
        assert mixed.interval.high >= plain.interval[1]
        (same,) = monitor(p, z, metric, reference=REFERENCE, shift="none").periods
        assert same.interval == plain.interval
        assert same.mean == pytest.approx(plain.mean, abs=1e-12)


def importance(log_density, sd, center, draws=15_000):
    """log ∫ exp(log_density(β))·N(β; 0, sd²) dβ by draws around a point."""
    rng = np.random.default_rng(0)
    spread = np.minimum(sd, 0.6)
    beta = center + spread * rng.standard_t(4, (draws, sd.size))
    from scipy.stats import norm
    from scipy.stats import t as student

    level = norm.logpdf(beta, 0, sd).sum(axis=1)
    level += log_density(beta)
    level -= (student.logpdf((beta - center) / spread, 4) - np.log(spread)).sum(axis=1)
    return np.logaddexp.reduce(level) - math.log(draws)


def test_readings_are_those_of_the_integrals():
    """The evidence of each reading by importance sampling, two classes, few rows."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 1.5, 160)
    y = (rng.random(160) < p).astype(int)
    P = np.stack([1 - p, p], axis=1)
    old, new = P[:80], P[80:][np.argsort(-p[80:] - rng.random(80))[:40]]
    (one,) = monitor(new, reference=(y[:80], old)).periods
    q = am.classes.calibrate(y[:80], old, classes=[0, 1]).apply(
        np.concatenate([old, new])
    )
    is_new = np.arange(120) >= 80
    logs = np.log(q)
    phi = (logs - logs[:80].mean(axis=0)) / logs[:80].std(axis=0)

    def level(rise):
        x = math.log(40 / 80) + rise
        return x[:, is_new].sum(axis=1) - np.logaddexp(0, x).sum(axis=1)

    def shares(beta):
        moved = np.exp(beta[:, None, 1:]) * q
        return level(beta[:, :1] + np.log(moved.sum(axis=2)))

    found = [importance(lambda b: level(np.tile(b, 120)), np.ones(1), 0.0)]
    others = [
        importance(
            lambda b: level(b[:, :1] + b[:, 1:] @ phi.T),
            np.array([1, size / math.sqrt(2), size / math.sqrt(2)]),
            0.0,
        )
        for size in (0.25, 0.5, 1.0)
    ]
    found.append(np.logaddexp.reduce(others) - math.log(3))
    found.append(importance(shares, np.ones(3), np.array([-0.2, -0.3, 0.3])))
    weight = np.array([0.4, 0.2, 0.4]) * np.exp(np.array(found) - max(found))
    expected = weight / weight.sum()
    got = one.p_nothing, one.p_covariate_shift, one.p_prevalence_shift
    np.testing.assert_allclose(np.log(got), np.log(expected), atol=0.2)  # Laplace's


def test_shares_are_those_that_adjust_prior_finds_beside_a_large_reference():
    y, p = drawn(7, 3000)
    _, new = drawn(8, 800, (1, 3, 1, 2))
    (one,) = monitor(new, reference=(y, p), shift="prior").periods
    found = am.classes.calibrate(y, p, classes=range(4))
    usual = am.classes.adjust_prior(
        found.apply(new), reference_prevalence=found.prevalences, classes=range(4)
    )
    np.testing.assert_allclose(one.prevalences, usual.prevalences, atol=0.02)


def test_labels_that_arrived_are_certain():
    y, p = drawn(3, 200)
    z = p.argmax(axis=1)
    (one,) = monitor(p, reference=REFERENCE, known=y).periods
    actual = am.classes.evaluate(y, z, "f1")
    assert one.verdict == "all labels known"
    assert one.actual == pytest.approx(actual)
    np.testing.assert_allclose((one.mean, *one.interval), actual)
    np.testing.assert_allclose(one.prevalences, np.bincount(y, minlength=4) / 200)
    assert one.actual_interval.low < actual < one.actual_interval.high
    half = np.where(np.arange(200) < 150, y, np.nan)
    (part,) = monitor(p, reference=REFERENCE, known=half).periods
    (none,) = monitor(p, reference=REFERENCE).periods
    assert part.n_known == 150
    seen = am.classes.evaluate(y[:150], z[:150], "f1")
    assert part.actual == pytest.approx(seen)
    assert part.interval.high - part.interval.low < 0.8 * (
        none.interval.high - none.interval.low
    )
    assert math.isnan(none.actual)


def test_known_labels_tell_of_shares_that_the_scores_hide():
    """Probabilities that are all alike say nothing; labels do."""
    rng = np.random.default_rng(0)
    flat = np.tile([0.5, 0.3, 0.2], (600, 1)) + rng.uniform(-0.01, 0.01, (600, 3))
    flat /= flat.sum(axis=1, keepdims=True)
    y = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    known = np.where(
        np.arange(300) < 150, rng.choice(3, 300, p=[0.1, 0.1, 0.8]), np.nan
    )
    how = {"reference": (y[:300], flat[:300]), "shift": "prior", "known": known}
    (one,) = monitor(flat[300:], **how).periods
    assert one.prevalences[2] == pytest.approx(0.8, abs=0.08)


def test_the_alarm_says_which_way_the_score_went():
    """Rows that are sure raise the score, rows that are not lower it: 8 periods."""
    _, p = drawn(11, 1600)
    sure = p.max(axis=1) > np.median(p.max(axis=1))
    quiet = monitor(p, reference=REFERENCE, every=400)
    assert not quiet.alarms
    for part, words in ((sure, "moved for the better"), (~sure, "moved for the worse")):
        found = monitor(p[part], reference=REFERENCE, every=400)
        assert {one.alarm for one in found.periods} == {words}
        up = found.periods[0].mean > quiet.periods[0].mean
        assert up == (words == "moved for the better")
    usual = am.monitor(p[:, 0], 0.5, reference=(Y0 == 0, P0[:, 0]))
    assert quiet.periods[0].critical == usual.periods[0].critical


def test_the_alarm_keeps_its_rate_in_simulated_years():
    """48 years of 13 periods whose rows come as those of the reference did."""
    alarms = 0
    for seed in range(8):
        y, p = drawn(1000 + seed, 200)
        watch = monitor(p[100:], reference=(y[:100], p[:100]), shift="none").watch
        rng = np.random.default_rng(seed)
        for _ in range(6):
            tables = []
            for _ in range(13):
                p = rng.dirichlet(SHAPE, 60)
                tables.append(watch.count(watch.calibrator.apply(p), p)[None, None])
            z = [one for one, _ in movements(tables, *watch.bins[1:], None)]
            alarms += max(map(abs, z)) > critical_value(13, 0.2)
    assert 2 <= alarms <= 19  # 10 are expected, with years of a reference alike


def test_periods_by_time_and_periods_that_are_added():
    _, p = drawn(2, 600)
    time = pd.date_range("2026-01-01", periods=600, freq="1h")
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(p, columns=names)
    z = np.array(names)[p.argmax(axis=1)]
    reference = np.array(names)[Y0], P0
    how = {"reference": reference, "every": "1w"}
    whole = monitor(frame, z, time=time, **how)
    assert [one.start for one in whole.periods] == [
        "2025-12-29",
        "2026-01-05",
        "2026-01-12",
        "2026-01-19",
    ]
    assert whole.periods[0].counts == tuple((z[:96] == x).sum() for x in names)
    first = np.asarray(time < "2026-01-12")
    begun = monitor(frame[first], z[first], time=time[first], **how)
    added = begun.add(frame[~first], z[~first], time=time[~first])
    assert added.to_dict() == whole.to_dict()
    with pytest.raises(ValueError, match="2026-01-12 was added before"):
        added.add(frame[~first], z[~first], time=time[~first])
    with pytest.raises(ValueError, match="labels are needed"):
        added.add(frame[~first], time=time[~first])
    sizes = [x.n for x in monitor(p, reference=REFERENCE, every=250).periods]
    assert sizes == [250, 250, 100]


def test_a_rule_labels_the_rows_and_brings_its_metric(tmp_path):
    _, p = drawn(4, 300)
    rule = am.classes.tune(Y0, P0, "jaccard", n_bootstrap=0, cv=None)
    found = monitor(p, rule, reference=REFERENCE)
    assert found.metric.name == "macro jaccard"
    given = monitor(p, rule.apply(p), "jaccard", reference=REFERENCE)
    assert found.periods[0].mean == given.periods[0].mean
    found.save(tmp_path / "m.json")
    again = ClassMonitoring.load(tmp_path / "m.json")
    assert again.to_dict() == found.to_dict()
    more = again.add(p[:100])
    assert more.periods[:1] == again.periods
    assert len(more.periods) == 2
    refuses(ValueError, "labels are predicted here", again.add, p, rule.apply(p))
    cost = 1 - np.eye(4)
    priced = monitor(p, cost=cost, reference=REFERENCE).periods[0]
    exact = monitor(p, metric="accuracy", reference=REFERENCE).periods[0]
    assert priced.mean == pytest.approx(exact.mean - 1.0)


def test_states_with_former_names_load():
    now = monitor(drawn(4, 300)[1], reference=REFERENCE).to_dict()
    then = json.loads(json.dumps(now))
    for one in then["periods"]:
        one["shares"] = one.pop("prevalences")
        one["share_intervals"] = one.pop("prevalence_intervals")
    assert ClassMonitoring.from_dict(then).to_dict() == now


def test_what_is_shown(tmp_path):
    _, p = drawn(6, 400, (1, 5, 1, 1))
    found = monitor(p, reference=REFERENCE, every=200)
    text = repr(found)
    assert text.startswith("ClassMonitoring: macro F1 in the last period ")
    assert "  reference  1,000 rows, 4 classes" in text
    assert "→" in text
    assert "scores alone cannot reveal a changed label definition" in text
    assert "readings" in repr(found.periods[0])
    assert json.loads(json.dumps(found.to_dict()))["periods"][0]["n"] == 200
    frame = found.to_frame()
    assert list(frame["n"]) == [200, 200]
    assert frame["prevalence 1"][0] == found.periods[0].prevalences[1]
    assert found.plot().get_ylabel() == "macro F1"
    assert "<table" in found._repr_html_()
    page = am.report(found)
    assert "Prevalences of the classes" in page.render()
    assert page.to_dict()["periods"][1]["n"] == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": Y0}, r"monitor needs reference=\(y, p\)"),
        ({"p": P0[:0]}, "p is empty"),
        ({"p": P0[:, :3] / P0[:, :3].sum(1, keepdims=True)}, "p|classes"),
        ({"p": P0 / 2}, "sums to 0.5 in row 0"),
        ({"labels": ["x"] * 1000}, "labels has the label 'x' in row 0"),
        ({"known": [9] * 1000}, "known has the label 9 in row 0"),
        ({"every": "1w"}, "needs time="),
        ({"shift": "other"}, "shift must be one of"),
        ({"metric": "specificity"}, "has no form for several classes"),
    ],
)
def test_bad_input(change, message):
    given = {"p": drawn(9, 1000)[1], "reference": REFERENCE} | change
    refuses(ValueError, message, monitor, **given)
