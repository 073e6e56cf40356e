"""A Utility with one value a row, against enumeration of labels and of true labels."""

import itertools

import numpy as np
import pytest

import argmetric as am
from argmetric._forecast.rivals import SharedDraws, cut_forecasts
from argmetric._ground.layout import lay_out

NASTY = [
    [0.0, 1.0, 0.5, 0.5, 0.2],
    [1e-300, 1 - 1e-16, 0.3, 0.3, 0.9],
    [0.5] * 7,
    [0.9],
    [0.05, 0.4, 0.7, 0.2, 0.61, 0.33, 0.8, 0.11],
]


def utility(n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    amount = np.round(rng.lognormal(2.0, 1.5, n), 0 if ties else 2)
    return am.Utility(tp=amount, fp=-5.0, fn=-np.round(amount / 3), tn=0.5)


def total(u, y, z):
    """The sum of the worths, row by row."""
    out = 0.0
    for i, (a, b) in enumerate(zip(y, z, strict=True)):
        name = {(1, 1): "tp", (0, 1): "fp", (1, 0): "fn", (0, 0): "tn"}[a, b]
        worth = getattr(u, name)
        out += worth[i] if np.ndim(worth) else worth
    return out


def slow_expected(u, p, z):
    """Sum over all true labels."""
    out = 0.0
    for y in itertools.product((0, 1), repeat=len(p)):
        mass = np.prod([x if a else 1 - x for x, a in zip(p, y, strict=True)])
        out += mass * total(u, y, z)
    return out


@pytest.mark.parametrize("p", NASTY)
@pytest.mark.parametrize("ties", [False, True])
def test_decisions_are_the_best_of_all_labels(p, ties):
    n = len(p)
    u, cost = utility(n, ties=ties), np.random.default_rng(1).integers(1, 9, n) / 2.0
    sets = list(itertools.product((0, 1), repeat=n))
    expected = {z: slow_expected(u, p, z) for z in sets}
    for options, allowed in (
        ({}, lambda z: True),
        ({"max_positives": 2}, lambda z: sum(z) <= 2),
        ({"max_positives": "50%"}, lambda z: sum(z) <= n // 2),
        ({"min_positives": n}, lambda z: sum(z) == n),
        ({"budget": (cost, 6.0)}, lambda z: cost @ z <= 6.0),
        ({"budget": (cost, 0.0)}, lambda z: sum(z) == 0),
        (
            {"budget": (cost, 7.5), "max_positives": 2},
            lambda z: cost @ z <= 7.5 and sum(z) < 3,
        ),
    ):
        d = am.decide(p, u, **options)
        best = max(value for z, value in expected.items() if allowed(z))
        assert d.expected == pytest.approx(best, rel=1e-9, abs=1e-9)
        assert allowed(tuple(d.labels.tolist()))
        assert expected[tuple(d.labels.tolist())] == pytest.approx(best, rel=1e-9)
        assert d.gap == pytest.approx(0.0, abs=1e-6)
    d = am.decide(p, u)
    assert d.curve.max() == pytest.approx(d.expected)
    tops = [max(expected[z] for z in sets if sum(z) == k) for k in range(n + 1)]
    np.testing.assert_allclose(d.curve, tops, rtol=1e-9, atol=1e-9)
    cuts = [[int(x >= c) for x in p] for c in [*p, 2.0]]
    best = max(expected[tuple(z)] for z in cuts)
    assert d.best_cut.expected == pytest.approx(best)
    half = tuple(int(x >= 0.5) for x in p)
    assert d.cut_half.expected == pytest.approx(expected[half])


def test_equal_amounts_are_the_utility_of_counts():
    p = np.random.default_rng(2).random(50)
    plain = am.Utility(tp=3.0, fp=-1.0, fn=-2.0, tn=0.5)
    rows = am.Utility(tp=[3.0] * 50, fp=-1.0, fn=-2.0, tn=0.5)
    a, b = am.decide(p, plain), am.decide(p, rows)
    assert a.labels.tolist() == b.labels.tolist()
    assert a.expected == pytest.approx(b.expected)
    assert a.threshold == pytest.approx(b.threshold, abs=0.02)
    f, g = am.forecast(p, a, plain), am.forecast(p, a.labels, rows)
    assert f.mean == pytest.approx(g.mean)
    assert f.std == pytest.approx(g.std)
    assert f.interval == pytest.approx(g.interval)
    y = (p > 0.4).astype(int)
    assert am.evaluate(y, a.labels, rows) == pytest.approx(
        am.evaluate(y, a.labels, plain)
    )
    one, two = (am.tune(y ^ (p > 0.9), p, u) for u in (plain, rows))
    assert two.threshold == one.threshold
    assert two.score == pytest.approx(one.score)


@pytest.mark.parametrize("p", NASTY)
def test_forecast_is_the_distribution_over_all_true_labels(p):
    u = utility(len(p), 3)
    labels = am.decide(p, u).labels
    f = am.forecast(p, labels, u)
    values, mass = [], []
    for y in itertools.product((0, 1), repeat=len(p)):
        values.append(total(u, y, labels.tolist()))
        mass.append(np.prod([x if a else 1 - x for x, a in zip(p, y, strict=True)]))
    values, mass = np.array(values), np.array(mass)
    assert f.mean == pytest.approx(values @ mass)
    assert f.std == pytest.approx(
        np.sqrt(mass @ (values - values @ mass) ** 2), abs=1e-6
    )
    for x in np.linspace(values.min(), values.max(), 7) + 1e-6:
        assert f.probabilities[f.values <= x].sum() == pytest.approx(
            mass[values <= x].sum(), abs=1e-9
        )
    known = [1.0] + [np.nan] * (len(p) - 1)
    fixed = [1.0, *p[1:]]
    assert am.forecast(p, labels, u, known=known).mean == pytest.approx(
        slow_expected(u, fixed, labels.tolist())
    )


@pytest.mark.parametrize("n", [300, 5000])
def test_distribution_of_many_rows_is_that_of_draws(n):
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 4.0, n)
    amount = rng.lognormal(0.0, 2.0, n)  # few rows make most of the total
    u = am.Utility(tp=amount, fp=-0.5)
    d = am.decide(p, u)
    f = d.forecast()
    assert f.mean == pytest.approx(d.expected)
    weight = np.where(d.labels == 1, amount + 0.5, 0.0)
    drawn = np.array([weight @ (rng.random(n) < p) for _ in range(8000)])
    drawn -= 0.5 * d.n_positives
    assert f.std == pytest.approx(drawn.std(), rel=0.05)
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        x = np.quantile(drawn, level)
        assert f.probabilities[f.values <= x].sum() == pytest.approx(level, abs=0.015)
    assert float(f.probabilities @ f.values) == pytest.approx(f.mean, rel=1e-3)


def test_evaluate_adds_up_and_its_interval_holds():
    rng = np.random.default_rng(5)
    u = utility(400, 5)
    y, z = rng.integers(0, 2, (2, 400))
    score = am.evaluate(y, z, u)
    assert score == pytest.approx(total(u, y.tolist(), z.tolist()))
    assert sum(score.counts.values()) == 400
    low, high = score.interval
    parts = np.array(
        [
            total(am.Utility(*(x[i : i + 1] for x in u._by_row(400))), [a], [b])
            for i, (a, b) in enumerate(zip(y.tolist(), z.tolist(), strict=True))
        ]
    )
    drawn = [rng.choice(parts, 400).sum() for _ in range(4000)]
    assert (low, high) == pytest.approx(
        np.quantile(drawn, (0.05, 0.95)), abs=0.1 * (high - low)
    )


def test_tune_takes_the_best_cut_and_its_interval_has_the_same_origin():
    rng = np.random.default_rng(6)
    p = rng.random(300).round(2)
    y = (rng.random(300) < p).astype(int)
    u = utility(300, 7)
    rule = am.tune(y, p, u)
    totals = {c: total(u, y.tolist(), [int(x >= c) for x in p]) for c in [*set(p), 2.0]}
    assert rule.score == pytest.approx(max(totals.values()))
    assert am.evaluate(y, rule.apply(p), u) == pytest.approx(rule.score)
    assert rule.interval[0] < rule.mean < rule.interval[1]
    assert rule.prevalence == pytest.approx(y.mean())
    assert rule.positive_rate == pytest.approx((p >= rule.threshold).mean())
    again = am.Rule.from_dict(rule.to_dict())
    assert again.threshold == rule.threshold
    assert again.metric == am.Utility(u.tp.mean(), -5.0, u.fn.mean(), 0.5)


def test_weighted_f1_of_tune_is_that_of_amounts():
    rng = np.random.default_rng(8)
    p, amount = rng.random(200), rng.lognormal(0.0, 1.0, 200)
    y = rng.random(200) < p
    rule = am.tune(y, p, "f1", sample_weight=amount)
    best = max(
        2 * amount[y & (p >= c)].sum() / (amount[p >= c].sum() + amount[y].sum())
        for c in p
    )
    assert rule.score == pytest.approx(best)


def test_large_budgets_are_within_their_bound():
    rng = np.random.default_rng(9)
    n = 3000
    p, amount, cost = rng.beta(1, 4, n), rng.lognormal(1, 1, n), rng.random(n)
    u = am.Utility(tp=amount, fp=-1.0)
    d = am.decide(p, u, budget=(cost, 20.0))
    assert cost @ d.labels <= 20.0 * (1 + 1e-12)
    gain = p * amount - (1 - p)
    order = np.argsort(-gain / cost)  # the relaxed knapsack is above all
    spent = np.cumsum(cost[order])
    whole = np.searchsorted(spent, 20.0)
    relaxed = gain[order][:whole].sum() + gain[order][whole]
    assert relaxed >= d.expected >= gain[order][:whole].sum() - 1e-9
    assert d.gap < 1e-3


def test_forecasts_with_a_reference_contain_the_worth():
    rng = np.random.default_rng(10)
    inside, widths = [], []
    for _ in range(60):
        p = rng.beta(1, 4, 900)
        y = (rng.random(900) < p**1.3).astype(int)  # too high until recalibrated
        amount = rng.lognormal(1, 0.5, 600)
        u = am.Utility(tp=amount, fp=-2.0)
        f = am.decide(p[300:], u, reference=(y[:300], p[:300])).forecast()
        labels = am.decide(p[300:], u, reference=(y[:300], p[:300])).labels
        low, high = f.interval
        inside.append(low <= am.evaluate(y[300:], labels, u) <= high)
        given = f.interval_given_calibrator
        widths.append((high - low) / (given[1] - given[0]))
    assert np.mean(inside) >= 0.8
    assert np.mean(widths) > 1.1


def test_variance_with_a_reference_is_that_of_labels_and_of_calibrators():
    rng = np.random.default_rng(11)
    p = rng.beta(1, 4, 800)
    y = (rng.random(800) < p**1.3).astype(int)
    amount = rng.lognormal(1, 1, 500)
    u = am.Utility(tp=amount, fp=-2.0, fn=-0.1 * amount)
    d = am.decide(p[300:], u, reference=(y[:300], p[:300]))
    draws = SharedDraws(
        lay_out(p[300:], groups=None, average=None, logits=False),
        d.labels == 1,
        reference=d._asked["calibrator"],
        logits=False,
    )
    fitted = am.calibrate(y[:300], p[:300]).apply(p[300:])
    w = np.where(d.labels == 1, amount + 2.0, -0.1 * amount)
    moves = w @ (draws.p - draws.fitted)[draws.bins.place]
    f = d.forecast()
    mean = w @ fitted - 2.0 * d.n_positives + moves.mean()
    assert f.mean == pytest.approx(mean, rel=1e-3)
    variance = np.sum(w**2 * fitted * (1.0 - fitted)) + moves.var()
    assert f.std**2 == pytest.approx(variance, rel=1e-3)
    assert moves.var() > 0.1 * variance
    for one in (d, f):
        assert "labels independent of amounts given the scores" in one.assumptions


@pytest.mark.parametrize("start", [0.5, -3.0, 0.0])
def test_forecasts_of_cuts_leave_the_unit_interval(start):
    p = np.linspace(0.05, 0.95, 40)
    y = (np.random.default_rng(12).random(400) < np.tile(p, 10)).astype(int)
    reference = y, np.tile(p, 10) ** 0.5
    for worth in (1.0, np.full(40, 1.0)):
        u = am.Utility(tp=worth, fp=-1.0, tn=start / 40)
        d = am.decide(p**0.5, u, reference=reference)
        mean = d.forecast().mean
        half = am.forecast(p**0.5, (p**0.5 >= 0.5).astype(int), u, reference=reference)
        assert cut_forecasts(d, mean)["cut_half"] == pytest.approx(half.mean, abs=0.3)
