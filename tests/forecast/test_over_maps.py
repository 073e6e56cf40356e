"""Forecasts over all maps that a reference allows, and scores that surprise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import argmetric as am
import strategies as nasty
from argmetric._calibrate.maps import IdentityMap, PlattMap
from argmetric._forecast.laws import law_of_count as exact_law_of_count
from argmetric._forecast.over_maps import law_of_positives
from argmetric._forecast.sides import (
    ATOMS,
    CELLS,
    NEARLY_NORMAL,
    Nudge,
    Rows,
    Side,
    _factors,
    law_of_count,
    reduced,
)


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def reference(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(-2, 1.5, n)
    return (rng.random(n) < expit(x)).astype(int), expit(1.3 * x + 1)


def moments(values, chances):
    mean = values @ chances
    return mean, np.sqrt(chances @ (values - mean) ** 2)


def log_odds(p):
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


@given(nasty.probability_vectors(min_size=0, max_size=40))
def test_small_counts_have_their_exact_law(p):
    values, chances = law_of_positives(p, 1 - p, np.ones(p.size))
    low, law = exact_law_of_count(np.sort(p), 1 - np.sort(p))
    exact = np.zeros(200)
    exact[low : low + law.size] = law
    if values.size < ATOMS:
        found = np.zeros(200)
        found[values.astype(int)] = chances
        np.testing.assert_allclose(found, exact, atol=1e-9)
    mean = float(p.sum())
    assert values @ chances == pytest.approx(mean, abs=1e-9)
    assert chances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.02, 0.3])
@pytest.mark.parametrize("n", [600, 20_000])
def test_counts_on_both_sides_of_nearly_normal(n, share):
    """Fourier or nearly normal."""
    rng = np.random.default_rng(n)
    for scale in (1.0, NEARLY_NORMAL / (n * share * (1 - share)) * 1.1, 1e-3):
        p = np.minimum(rng.beta(0.5, 0.5 / share, n) * scale, 1.0)
        values, chances = law_of_positives(p, 1 - p, np.ones(n))
        low, law = exact_law_of_count(p, 1 - p)
        exact = low + np.arange(law.size)
        mean, spread = moments(exact, law)
        ours = moments(values, chances)
        assert ours[0] == pytest.approx(mean, rel=2e-4, abs=1e-6)
        assert ours[1] == pytest.approx(spread, rel=0.01, abs=1e-6)
        for q in (0.05, 0.5, 0.95):
            one = values[np.searchsorted(np.cumsum(chances), q)]
            assert abs(one - exact[np.searchsorted(np.cumsum(law), q)]) <= max(
                1.0, 0.12 * spread
            )


def drawn_count(side, calibrator, rng, size=6_000):
    """Positives of a side, drawn: a share from its beta law, then every row."""
    rows = np.repeat(side.rows.x, side.rows.count.astype(int))
    p, chance = expit(calibrator._map(rows)), side.rows.chances(calibrator)[0]
    says = side.reference.chances(calibrator)[0] if side.reference.total else chance
    a = side.trust * says + side.positives + 0.5
    b = side.trust * (1 - says) + side.reference.total - side.positives + 0.5
    # The same relative move as from what the map says to the mean of the beta law.
    mean = a / (a + b)
    if mean < says:
        target = chance * mean / says
    else:
        target = 1 - (1 - chance) * (1 - mean) / (1 - says)
    shares = rng.beta(target * (a + b), (1 - target) * (a + b), size)
    counts = np.empty(size)
    for part in np.array_split(np.arange(size), 10):
        share = shares[part][:, None]
        down = np.where(share < chance, share / chance, 1.0)
        up = np.where(share < chance, 1.0, (1 - share) / (1 - chance))
        moved = p * down + (1 - p) * (1 - up)
        counts[part] = (rng.random(moved.shape) < moved).sum(axis=1)
    return counts


@pytest.mark.parametrize("known", [0, 5, 400])
@pytest.mark.parametrize("n", [8, 60, 400])
def test_the_law_of_a_count_is_that_of_drawn_shares_and_rows(n, known):
    """Both sides of the switch to a normal law of chance, and of where the map errs."""
    rng = np.random.default_rng(n + known)
    for level, wrong in ((-3.0, 0.0), (0.0, 0.2), (2.0, -0.2)):
        x = rng.normal(level, 0.3, n)
        counts = Rows(np.linspace(level - 1, level + 1, 9), np.full(9, known / 9))
        says = counts.chances(IdentityMap())[0]
        positives = known * np.clip(says + wrong, 0.02, 0.98)
        side = Side(Rows(np.sort(x), np.ones(n)), counts, positives, 100.0)
        laws = [law_of_count(side, IdentityMap(), turn) for turn in range(16)]
        values, chances = (np.concatenate(one) for one in zip(*laws, strict=True))
        order = np.argsort(values, kind="stable")
        values, chances = values[order], chances[order] / 16
        drawn = drawn_count(side, IdentityMap(), rng)
        mean, spread = moments(values, chances)
        assert chances.sum() == pytest.approx(1.0)
        assert mean == pytest.approx(drawn.mean(), abs=0.05 * drawn.std() + 0.02)
        assert spread == pytest.approx(drawn.std(), rel=0.06)
        for q in (0.05, 0.5, 0.95):
            one = values[np.searchsorted(np.cumsum(chances), q)]
            assert abs(one - np.quantile(drawn, q)) <= max(1.0, 0.15 * drawn.std())


@given(nasty.probability_vectors(min_size=1, max_size=40))
def test_counts_of_nasty_probabilities_stay_within_their_rows(p):
    rows = Rows.of(log_odds(p), IdentityMap())
    for positives, known in ((0.0, 0.0), (0.0, 7.0), (7.0, 7.0)):
        counts = Rows(np.array([0.3]), np.array([known]))
        side = Side(rows, counts, positives, 20.0)
        values, chances = law_of_count(side, IdentityMap(), 0)
        assert chances.sum() == pytest.approx(1.0)
        assert (chances >= 0).all()
        assert values.min() >= 0.0
        assert values.max() <= p.size


def test_no_side_has_no_positives():
    side = Side(
        Rows(np.zeros(0), np.zeros(0)), Rows(np.zeros(0), np.zeros(0)), 0.0, 1.0
    )
    values, chances = law_of_count(side, IdentityMap(), 0)
    assert (values.tolist(), chances.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("n", [CELLS, CELLS + 1, 20_000])
def test_cells_of_rows_keep_their_chances(n):
    x = np.random.default_rng(n).normal(-2, 3, n)
    p = expit(x)
    rows = Rows.of(x, IdentityMap())
    assert rows.total == n
    assert rows.x.size <= CELLS
    mean, spread = rows.chances(IdentityMap())
    assert mean == pytest.approx(p.mean(), rel=1e-3)
    assert spread == pytest.approx((p * (1 - p)).mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("positives", "lowest"),
    [(5, 0.85), pytest.param(13, 0.94, marks=pytest.mark.slow), (30, 0.98)],
)
def test_a_handful_of_positives_leaves_no_certainty(positives, lowest):
    """All of them at p = 0.999, among 4,000 rows: the interval was (1.0, 1.0)."""
    y = np.arange(4000) < positives
    p = np.where(y, 0.999, 0.001 + 1e-7 * np.arange(4000))
    f = am.forecast(p, y, reference=(y, p))
    low, high = f.interval
    assert high == 1.0
    assert 0.75 < low < lowest
    assert 1 - low > 0.25 * (1 - 0.1 ** (1 / positives))
    groups = np.arange(4000) % 40
    f = am.forecast(p, y, reference=(y, p), groups=groups, zero_division=1.0)
    assert f.interval[0] < 1.0


def test_a_share_that_rounds_to_one_makes_no_row_certain():
    """With a prior, rows called positive were all p = 1: it could not be met."""
    y = np.arange(400) < 40
    p = np.where(y, 1 - 1e-9, 1e-9)
    p[::7] = np.where(y, 0.999, 0.001)[::7]
    f = am.forecast(p, y, reference=(y, p), prior=0.1)
    assert f.interval[0] > 0.8
    assert f.interval[1] == 1.0
    for before, after in ((0.9, 1.0), (0.1, 0.0), (0.5, 1.0 - 1e-17)):
        nudge = Nudge(_factors(before, after), _factors(before, after))
        half = np.full(2, 0.5)
        moved = nudge.applied(half, half, np.array([True, False]))
        assert (np.array(moved) > 0.0).all()


def test_rows_unlike_the_reference_keep_what_the_map_says_of_them():
    """Counts of the reference speak of the map's errors, not of its composition."""
    rng = np.random.default_rng(0)
    x = rng.normal(-2, 1.5, 4000)
    y = rng.random(4000) < expit(x)
    hard = rng.normal(-0.5, 0.5, 2000)  # all of them near the cut
    labels = hard > -0.5
    with pytest.warns(UserWarning, match="the scores moved since the reference"):
        f = am.forecast(expit(hard), labels, reference=(y, expit(x)))
    alone = am.forecast(expit(hard), labels)
    assert f.mean == pytest.approx(alone.mean, abs=0.03)


def test_reduced_laws_keep_mass_and_mean():
    rng = np.random.default_rng(0)
    values, chances = np.arange(1000.0), rng.dirichlet(np.ones(1000))
    fewer, mass = reduced(values, chances)
    assert fewer.size <= ATOMS
    assert mass.sum() == pytest.approx(1.0)
    assert fewer @ mass == pytest.approx(values @ chances)


def mixture(y, p, new, labels, metric, repeats=4, **options):
    """Slowly: for every map one forecast of probabilities with drawn shares, mixed.

    A share on either side of the cut is drawn as the reference's rows there allow.
    """
    calibrator, rng = am.calibrate(y, p), np.random.default_rng(0)
    labels, cut = np.asarray(labels) == 1, new[np.asarray(labels) == 1].min(initial=2.0)
    laws = []
    for one in calibrator.alternatives:
        for _ in range(repeats):
            q = one.apply(new)
            for side, rows in ((labels, p >= cut), (~labels, p < cut)):
                if not side.any():
                    continue
                trust, says = 20 * y.sum(), one.apply(p[rows]).mean()
                a = trust * says + y[rows].sum() + 0.5
                b = trust * (1 - says) + (1 - y[rows]).sum() + 0.5
                before, after = q[side].mean(), a / (a + b)
                if after < says:
                    mean = before * after / says
                else:
                    mean = 1 - (1 - before) * (1 - after) / (1 - says)
                share = rng.beta(mean * (a + b), (1 - mean) * (a + b))
                if share < before:
                    q[side] *= share / before
                else:
                    q[side] = 1 - (1 - q[side]) * (1 - share) / (1 - before)
            laws.append(am.forecast(q, labels, metric, **options))
    values = np.concatenate([one.values for one in laws])
    chances = np.concatenate([one.probabilities for one in laws]) / len(laws)
    order = np.argsort(values)
    return values[order], chances[order]


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
def test_the_law_is_the_mixture_of_the_laws_under_all_maps(metric, n):
    y, p = reference(500)
    _, new = reference(n, seed=1)
    labels = am.decide(new, "f1", reference=(y, p)).labels
    ours = am.forecast(new, labels, metric, reference=(y, p))
    values, chances = mixture(y, p, new, labels, metric)
    mean, spread = moments(values, chances)
    assert ours.mean == pytest.approx(mean, abs=0.1 * spread)
    # Of few rows chance is taken as binomial, which is a little more than it is.
    wider = 1.15 if n == 30 else 1.05
    assert 0.95 * spread <= ours.std <= wider * spread
    reached = np.append(0.0, np.cumsum(chances))
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
    calibrator = am.calibrate(y[:600], votes[:600], method)
    new = votes[600:]
    labels = (calibrator.apply(new) > 0.3).astype(int)
    ours = am.forecast(new, labels, calibrator=calibrator)
    laws = [am.forecast(one.apply(new), labels) for one in calibrator.alternatives]
    means = np.array([one.mean for one in laws])
    within = np.mean([one.std**2 for one in laws])
    spread = np.sqrt(means.var() + within)
    assert ours.mean == pytest.approx(means.mean(), abs=0.15 * spread)
    # Shares of either side besides, but what the reference counted is known better.
    assert 0.9 * spread <= ours.std <= 1.3 * spread


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
            new, new > 0.2, groups=groups, zero_division=1.0, calibrator=calibrator
        )
        shares.append(f.share_of_map)
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
def test_means_over_groups_move_with_the_map(size, zero_division):
    """Both sides of the switch from tables to expected counts."""
    y, p = reference(400)
    _, new = reference(20 * size, seed=2)
    options = {"groups": np.arange(new.size) // size, "zero_division": zero_division}
    labels = am.calibrate(y, p).apply(new) > 0.3
    ours = am.forecast(new, labels, "f1", reference=(y, p), **options)
    values, chances = mixture(y, p, new, labels, "f1", **options)
    mean, spread = moments(values, chances)
    assert ours.mean == pytest.approx(mean, abs=0.15 * spread)
    assert ours.std == pytest.approx(spread, rel=0.12)


def test_many_groups_are_sampled():
    y, p = reference(400)
    _, new = reference(50_000, seed=3)
    groups = np.arange(new.size) // 20
    labels = am.calibrate(y, p).apply(new) > 0.3
    ours = am.forecast(new, labels, "f1", reference=(y, p), groups=groups)
    values, chances = mixture(y, p, new, labels, "f1", repeats=1, groups=groups)
    mean, spread = moments(values, chances)
    assert ours.mean == pytest.approx(mean, abs=0.2 * spread)
    assert ours.std == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("options", [{"prior": 0.3}, {"overdispersion": 0.4}])
def test_other_assumptions_keep_the_uncertainty_of_the_map(options):
    y, p = reference(300)
    _, new = reference(1500, seed=4)
    labels = am.decide(new, reference=(y, p)).labels
    f = am.forecast(new, labels, reference=(y, p), **options)
    low, high = f.interval_given_map
    assert f.interval[0] < low < high < f.interval[1]
    alone = am.forecast(am.calibrate(y, p).apply(new), labels, **options)
    assert alone.interval == pytest.approx((low, high))
    assert f.mean == pytest.approx(alone.mean, abs=0.3 * f.std)


def test_known_labels_are_not_guessed():
    y, p = reference(300)
    truth, new = reference(200, seed=5)
    labels = am.decide(new, reference=(y, p)).labels
    f = am.forecast(new, labels, reference=(y, p), known=truth)
    got = am.evaluate(truth, labels)
    assert f.interval == pytest.approx((got, got))
    half = np.where(np.arange(200) < 100, truth, np.nan)
    some = am.forecast(new, labels, reference=(y, p), known=half)
    none = am.forecast(new, labels, reference=(y, p))
    assert some.std < none.std


def test_a_saved_calibrator_brings_its_uncertainty_along(tmp_path):
    y, p = reference(300)
    _, new = reference(500, seed=6)
    calibrator = am.calibrate(y, p)
    calibrator.save(tmp_path / "map.json")
    again = am.Calibrator.load(tmp_path / "map.json")
    labels = am.decide(new, calibrator=again).labels
    here, there = (
        am.forecast(new, labels, calibrator=one) for one in (calibrator, again)
    )
    assert here.interval == there.interval
    assert here.interval_given_map == there.interval_given_map
    assert "given the map" in repr(here)
    assert here.to_dict()["share_of_map"] == here.share_of_map


def test_a_map_without_draws_is_taken_as_certain():
    _, new = reference(100)
    labels = (new > 0.3).astype(int)
    f = am.forecast(new, labels, calibrator=PlattMap(0.8, -0.5))
    assert f.interval_given_map is None
    assert f.share_of_map is None
    assert f.assumptions[-1] == "the map is certain: the interval is given the map"


def test_the_interval_narrows_to_the_given_map_as_the_reference_grows():
    _, new = reference(2000, seed=7)
    labels = am.decide(new, reference=reference(1000)).labels
    shares = [
        am.forecast(new, labels, reference=reference(n)).share_of_map
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
    with pytest.warns(UserWarning, match=r"calibration_check\(y, p\)"):
        assert am.evaluate(y, labels, forecast=f) == got
    mended = am.forecast(p, labels, reference=reference(3000, seed=8))
    assert am.evaluate(y, labels, forecast=mended) == got
    with pytest.raises(TypeError, match="forecast must be what forecast"):
        am.evaluate(y, labels, forecast=0.3)
