"""Forecasts with a reference, from draws of what may be true; scores that surprise."""

import os

import numpy as np
import pytest
from hypothesis import given
from scipy.special import betaincinv, betaln

import argmetric as am
from argmetric._forecast.distributions import count_pmf
from argmetric._forecast.draws import draw_counts, match_total
from calibrated import expit, logit, platt_map
from strategies import probability_vectors


def reference(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-2, 1.5, n)
    return (rng.random(n) < expit(x)).astype(int), expit(1.3 * x + 1)


def moments(values, probabilities):
    mean = values @ probabilities
    return mean, np.sqrt(probabilities @ (values - mean) ** 2)


@pytest.mark.parametrize(
    ("positives", "lowest"),
    [(5, 6 / 8), pytest.param(13, 24 / 27, marks=pytest.mark.slow), (30, 58 / 61)],
)
def test_a_handful_of_positives_leaves_no_certainty(positives, lowest):
    """All of them at p = 0.999, among 4,000 rows: the interval was (1.0, 1.0).

    Few values of F1 are possible, so its end is one of them: with a hundred times as
    many draws less has probability .049, .046 and .046, as much .070, .053 and .053.
    """
    y = np.arange(4000) < positives
    p = np.where(y, 0.999, 0.001 + 1e-7 * np.arange(4000))
    f = am.forecast(p, y, reference=(y, p))
    low, high = f.interval
    assert high == 1.0
    assert low == pytest.approx(lowest)
    assert 1 - low > 0.25 * (1 - 0.1 ** (1 / positives))
    groups = np.arange(4000) % 40
    f = am.forecast(p, y, reference=(y, p), groups=groups, zero_division=1.0)
    assert f.interval[0] < 1.0


def test_rows_unlike_the_reference_keep_their_calibrated_p():
    """Counts of the reference tell of errors of the calibrator, not of its rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(-2, 1.5, 4000)
    y = rng.random(4000) < expit(x)
    hard = rng.normal(-0.5, 0.5, 2000)  # all of them near the cut
    labels = hard > -0.5
    with pytest.warns(UserWarning, match="the scores moved since the reference"):
        f = am.forecast(expit(hard), labels, reference=(y, expit(x)))
    alone = am.forecast(expit(hard), labels)
    assert f.mean == pytest.approx(alone.mean, abs=0.03)


TRUST, TRUSTED = (20.0, 1.0, 0.05), (0.3, 0.5, 0.2)


def evidence(kappa, sides, one):
    """Beta-binomial probability of the positives of both sides under a map."""
    total = 0.0
    for _, p, y in sides:
        if y.size:
            a = kappa * one.apply(p).mean()
            k, m = y.sum(), y.size
            total += betaln(a + k, kappa - a + m - k) - betaln(a, kappa - a)
    return total


def drawn_rows(y, p, new, labels, repeats, method=None):
    """Yield probabilities of new rows: `repeats` for every posterior calibrator.

    A share on either side of the cut is drawn as the reference's rows there allow, and
    moves all probabilities of the side by the same part of their way to 0 or 1.
    """
    calibrator, rng = am.calibrate(y, p, method), np.random.default_rng(0)
    labels, cut = np.asarray(labels) == 1, new[np.asarray(labels) == 1].min(initial=2.0)
    sides = [
        (here, p[rows], y[rows])
        for here, rows in ((labels, p >= cut), (~labels, p < cut))
    ]
    kappas = y.sum() * np.array(TRUST)
    fits = np.array(
        [[evidence(k, sides, one) for one in calibrator.alternatives] for k in kappas]
    )
    weights = np.array(TRUSTED) * np.exp(fits - fits.max()).mean(axis=1)
    up_to = np.cumsum(weights) / weights.sum()
    size = len(calibrator.alternatives) * repeats
    levels = np.array([rng.permutation(size) + 0.5 for _ in range(3)]) / size
    for one, (level, *places) in zip(
        calibrator.alternatives,
        np.moveaxis(levels.reshape(3, -1, repeats), 1, 0),
        strict=True,
    ):
        q = np.tile(one.apply(new), (repeats, 1))
        trust = kappas[np.searchsorted(up_to, level)]
        for (here, scores, truth), place in zip(sides, places, strict=True):
            says = one.apply(scores).mean() if scores.size else q[0, here].mean()
            a = trust * says + truth.sum() + 0.5
            b = trust * (1 - says) + (1 - truth).sum() + 0.5
            share = betaincinv(a, b, place)[:, None]
            down, up = share / says, (1 - share) / (1 - says)
            moved = q[:, here] * np.minimum(down, 1)
            q[:, here] = 1 - (1 - moved) * np.minimum(up, 1)
        yield from q


def simulated(y, p, new, labels, metric, repeats=100):
    """Return 4,800 drawn scores, rising: labels are drawn by the probabilities."""
    rng, called = np.random.default_rng(1), np.asarray(labels) == 1
    true = [rng.random(q.size) < q for q in drawn_rows(y, p, new, labels, repeats)]
    tp, t = np.array([(one[called].sum(), one.sum()) for one in true]).T
    return np.sort(am.get_metric(metric).value(tp, called.sum(), t, new.size))


def mixture(y, p, new, labels, metric, repeats=3, method=None, **options):
    """Slowly: one forecast for each of `drawn_rows`, mixed."""
    rows = drawn_rows(y, p, new, labels, repeats, method)
    forecasts = [am.forecast(q, labels, metric, **options) for q in rows]
    values = np.concatenate([one.values for one in forecasts])
    probabilities = np.concatenate([one.probabilities for one in forecasts]) / len(
        forecasts
    )
    order = np.argsort(values)
    return values[order], probabilities[order]


@pytest.mark.parametrize(
    ("n", "metric"),
    [
        *((30, metric) for metric in ("f1", "mcc", "gmean", "precision", "lift")),
        (2000, "f1"),
        *(
            pytest.param(2000, metric, marks=pytest.mark.slow)
            for metric in ("mcc", "gmean", "precision", "lift")
        ),
    ],
)
def test_the_distribution_is_the_mixture_over_all_calibrators(metric, n):
    """The calibrator keeps bins of the reference: a row may be on the cut's other side.

    One of 134 moves the mean by 0.07 standard deviations, the simulation by 0.015.
    """
    y, p = reference(500)
    _, new = reference(n, seed=1)
    labels = am.decide(new, "f1", reference=(y, p)).labels
    ours = am.forecast(new, labels, metric, reference=(y, p))
    values = simulated(y, p, new, labels, metric)
    mean, spread = values.mean(), values.std()
    assert ours.mean == pytest.approx(mean, abs=0.1 * spread)
    assert ours.std == pytest.approx(spread, rel=0.07)
    reached = np.arange(values.size + 1) / values.size
    near = 0.02 * spread
    for at in np.linspace(mean - 2 * spread, mean + 2 * spread, 21):
        below, above = (
            reached[np.searchsorted(values, at + step)] for step in (-near, near)
        )
        assert below - 0.05 <= ours.cdf(at) <= above + 0.05


@pytest.mark.parametrize("method", ["spline", "platt", "isotonic"])
def test_tied_scores_and_plateaus(method):
    """Votes of a forest: 11 distinct scores on more rows than there are cells."""
    rng = np.random.default_rng(0)
    votes = rng.binomial(10, rng.beta(0.4, 3, 2000)) / 10
    y = (rng.random(2000) < 0.05 + 0.8 * votes).astype(int)
    y, p, new = y[:600], votes[:600], votes[600:]
    calibrator = am.calibrate(y, p, method)
    labels = (calibrator.apply(new) > 0.3).astype(int)
    ours = am.forecast(new, labels, reference=calibrator)
    mean, spread = moments(*mixture(y, p, new, labels, "f1", 3, method))
    assert ours.mean == pytest.approx(mean, abs=0.15 * spread)
    assert ours.std == pytest.approx(spread, rel=0.1)


def test_long_groups_where_nothing_is_predicted_move_too():
    """With 0/0 = 1 the score of an empty prediction is P(no positive)."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 4, 400)
    calibrator = am.calibrate(rng.random(400) < p, p)
    new = rng.beta(0.05, 4, 9800) * 0.3
    shares = []
    for length in (56, 70):  # both sides of the limit of the tables
        groups = np.arange(new.size) // length
        f = am.forecast(
            new, new > 0.2, groups=groups, zero_division=1.0, reference=calibrator
        )
        shares.append(f.from_calibrator)
    assert shares[1] == pytest.approx(shares[0], abs=0.1)
    assert shares[0] > 0.4


def test_scores_that_all_become_0():
    y, p = reference(300)
    x = np.log(p / (1 - p))
    new, labels = np.full(1000, -900.0), np.zeros(1000, int)
    with pytest.warns(UserWarning, match="the scores moved since the reference"):
        f = am.forecast(new, labels, reference=(y, x), logits=True)
    assert f.mean == 0.0


@pytest.mark.parametrize(
    ("zero_division", "size"),
    [
        (1.0, 5),
        (0.0, 64),
        (1.0, 65),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(1.0, 64), (0.0, 5), (0.0, 65)]
            + [(zero, size) for zero in (0.0, 1.0) for size in (20, 150)]
        ),
    ],
)
def test_means_over_groups_move_with_the_calibrator(size, zero_division):
    """Both sides of the switch from tables to expected counts."""
    y, p = reference(400)
    _, new = reference(20 * size, seed=2)
    options = {"groups": np.arange(new.size) // size, "zero_division": zero_division}
    labels = am.calibrate(y, p).apply(new) > 0.3
    ours = am.forecast(new, labels, "f1", reference=(y, p), **options)
    values, probabilities = mixture(y, p, new, labels, "f1", **options)
    mean, spread = moments(values, probabilities)
    assert ours.mean == pytest.approx(mean, abs=0.15 * spread)
    assert ours.std == pytest.approx(spread, rel=0.12)


def test_many_groups_are_sampled():
    y, p = reference(400)
    _, new = reference(50_000, seed=3)
    groups = np.arange(new.size) // 20
    labels = am.calibrate(y, p).apply(new) > 0.3
    ours = am.forecast(new, labels, "f1", reference=(y, p), groups=groups)
    values, probabilities = mixture(y, p, new, labels, "f1", repeats=2, groups=groups)
    mean, spread = moments(values, probabilities)
    assert ours.mean == pytest.approx(mean, abs=0.2 * spread)
    assert ours.std == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("options", [{"prior": 0.3}, {"overdispersion": 0.4}])
def test_other_assumptions_keep_the_uncertainty_of_the_calibrator(options):
    y, p = reference(300)
    _, new = reference(1500, seed=4)
    labels = am.decide(new, reference=(y, p)).labels
    f = am.forecast(new, labels, reference=(y, p), **options)
    low, high = f.interval_given_calibrator
    assert f.interval[0] < low < high < f.interval[1]
    alone = am.forecast(am.calibrate(y, p).apply(new), labels, **options)
    assert alone.interval == pytest.approx((low, high), abs=0.1 * alone.std)
    if "prior" in options:
        mean, spread = moments(*mixture(y, p, new, labels, "f1", 3, **options))
        assert f.mean == pytest.approx(mean, abs=0.15 * spread)
        assert f.std == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_rows(n):
    y, p = reference(300)
    p_new, labels = np.array([0.9, 0.2])[:n], np.array([1, 0])[:n]
    f = am.forecast(p_new, labels, "accuracy", reference=(y, p), zero_division=1.0)
    exact = am.forecast(am.calibrate(y, p).apply(p_new), labels, "accuracy",
                        zero_division=1.0)  # fmt: skip
    assert set(np.round(f.values, 12)) <= set(np.round(exact.values, 12))
    assert f.mean == pytest.approx(exact.mean, abs=0.08)


@pytest.mark.parametrize("metric", ["f1", "mcc", "accuracy"])
def test_scores_of_0_and_1_are_not_certain(metric):
    """A forest's votes; some of those that are 0 and 1 are wrong."""
    rng = np.random.default_rng(0)
    votes = np.clip(rng.normal(0.3, 0.5, 1000), 0, 1).round(1)
    y = rng.random(1000) < 0.1 + 0.8 * votes
    f = am.forecast(votes, votes > 0.5, metric, reference=(y, votes))
    assert f.interval[0] < am.evaluate(y, votes > 0.5, metric) < f.interval[1]
    assert f.interval[1] < 1.0
    certain = votes[(votes == 0.0) | (votes == 1.0)]
    calibrator = am.calibrate(y, votes)
    f = am.forecast(certain, certain == 1.0, metric, reference=calibrator)
    assert f.interval[1] < 1.0


@pytest.mark.parametrize("options", [{}, {"prior": 0.2}, {"prior": "estimate"}])
def test_the_same_forecast_twice(options):
    y, p = reference(300)
    _, new = reference(500, seed=1)
    one, other = (
        am.forecast(new, new > 0.5, reference=(y, p), **options) for _ in range(2)
    )
    assert one.interval == other.interval
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_a_forecast_makes_few_calls():
    """Of our code, and by it: what libraries call themselves depends on their version.

    They were 19,792 with those.
    """
    import sys

    ours = os.path.dirname(am.__file__)
    y, p = reference(1000)
    _, new = reference(1000, seed=1)
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        files = (x.f_code.co_filename for x in (frame, frame.f_back))
        calls += event == "call" and any(x.startswith(ours) for x in files)

    am.forecast(new, new > 0.5, reference=(y, p))
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        am.forecast(new, new > 0.5, reference=(y, p))
    finally:
        sys.setprofile(before)
    assert calls <= 1450


def test_a_saved_calibrator_brings_its_uncertainty_along(tmp_path):
    y, p = reference(300)
    _, new = reference(500, seed=6)
    calibrator = am.calibrate(y, p)
    calibrator.save(tmp_path / "map.json")
    again = am.Calibrator.load(tmp_path / "map.json")
    labels = am.decide(new, reference=again).labels
    here, there = (
        am.forecast(new, labels, reference=one) for one in (calibrator, again)
    )
    assert here.interval == there.interval
    assert here.interval_given_calibrator == there.interval_given_calibrator
    assert "given the calibrator" in repr(here)
    assert here.to_dict()["from_calibrator"] == here.from_calibrator


def test_a_map_without_draws_is_taken_as_certain():
    _, new = reference(100)
    labels = (new > 0.3).astype(int)
    f = am.forecast(new, labels, reference=platt_map(0.8, -0.5))
    assert f.interval_given_calibrator is None
    assert f.from_calibrator is None
    assert (
        f.assumptions[-1]
        == "the calibrator is taken as exact; the interval is conditional on it"
    )


def test_the_interval_narrows_to_the_given_map_as_the_reference_grows():
    _, new = reference(2000, seed=7)
    labels = am.decide(new, reference=reference(1000)).labels
    shares = [
        am.forecast(new, labels, reference=reference(n)).from_calibrator
        for n in (200, 2000, 50_000)
    ]
    assert shares[0] > shares[1] > shares[2]
    assert shares[0] > 0.5
    assert shares[2] < 0.2


def test_a_score_that_surprises_is_told():
    y, p = reference(3000)
    labels = am.decide(p).labels
    f = am.forecast(p, labels)
    got = am.evaluate(y, labels)
    assert f.surprise(f.mean) is None
    assert f.surprise(f.interval[0]) is None
    assert "outside of the forecast's 90% interval" in f.surprise(got)
    low, high = f.interval
    assert "this may be chance" in f.surprise(high + 0.1 * (high - low))
    assert "this is unlikely to be chance" in f.surprise(high + 2.0 * (high - low))
    with pytest.warns(UserWarning, match=r"calibration_check\(y, p\)"):
        assert am.evaluate(y, labels, forecast=f) == got
    mended = am.forecast(p, labels, reference=reference(3000, seed=8))
    assert am.evaluate(y, labels, forecast=mended) == got
    with pytest.raises(TypeError, match="forecast must be what forecast"):
        am.evaluate(y, labels, forecast=0.3)


def counts_of(p, repeats=20_000, seed=0):
    """Drawn counts of positives among rows with these probabilities."""
    rows, rng = np.ones((1, len(p))), np.random.default_rng(seed)
    return draw_counts(np.asarray(p)[:, None], rows, repeats, rng)[:, 0, 0]


@pytest.mark.parametrize("n", [1, 3, 30, 600])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.98])
def test_drawn_counts_have_the_moments_and_quantiles_of_their_pmf(n, share):
    rng = np.random.default_rng(n)
    p = np.minimum(rng.beta(0.7, 0.7 * (1 - share) / share, n), 1.0)
    drawn = counts_of(p)
    low, pmf = count_pmf(p, 1 - p)
    exact = low + np.arange(pmf.size)
    mean = exact @ pmf
    spread = np.sqrt(pmf @ (exact - mean) ** 2)
    assert drawn.mean() == pytest.approx(mean, abs=0.03 * spread + 1e-9)
    assert drawn.std() == pytest.approx(spread, rel=0.04, abs=0.02)
    for q in (0.05, 0.5, 0.95):
        one = exact[np.searchsorted(np.cumsum(pmf), q)]
        assert abs(np.quantile(drawn, q) - one) <= max(1.0, 0.12 * spread)


@given(probability_vectors(min_size=2, max_size=30))
def test_probabilities_meet_a_given_sum(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)[:, None]
    rows = np.arange(1.0, len(p) + 1)
    for share in (0.01, 0.4, 0.97):
        moved = match_total(p, rows, share * rows.sum())
        assert rows @ moved[:, 0] == pytest.approx(share * rows.sum(), rel=1e-6)
        middle = np.abs(moved - 0.5).argmin()
        shift = logit(moved[middle]) - logit(p[middle])
        np.testing.assert_allclose(moved, expit(logit(p) + shift), rtol=1e-6)
