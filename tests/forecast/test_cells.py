"""What laws are made of, against plain sums: counts, cells, moments and margins."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import argmetric as am
import oracle
from argmetric._forecast import groups as _cells
from argmetric._forecast import shares as _shares
from argmetric._forecast.effects import centre_log_odds
from argmetric._forecast.groups import JudgedGroups
from argmetric._forecast.laws import law_of_count, summed_cumulants
from argmetric._forecast.truth import MOST, TruthCells, drawn_counts, matched
from argmetric._ground.groups import Segments
from argmetric.metrics import get_metric
from calibrated import logit, made
from strategies import probability_vectors


def groups_of(vectors, metric, seed=0, deviation=0.0, known=0.0, extra=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate(vectors)
    lengths = np.array([vector.size for vector in vectors])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    labels = np.where(rng.random(p.size) < known, rng.random(p.size) < p, np.nan)
    rows = Segments(p, 1 - p, indptr, lengths + extra)
    return JudgedGroups(metric, rows, labels, rng.random(p.size) < 0.4, deviation)


def moments_by_hand(groups, g):
    """P(defined) and E[value^j; defined]: 1 - P(undefined) would round."""
    part = slice(groups.rows.indptr[g], groups.rows.indptr[g + 1])
    rows, selected = groups.certain(), groups.selected[part]
    laws = []
    for side in (selected, ~selected):
        law = np.ones(1)
        for p, q in zip(rows.p[part][side], rows.q[part][side], strict=True):
            law = np.convolve(law, [q, p])
        laws.append(law)
    tp, r = np.ogrid[: laws[0].size, : laws[1].size]
    value = groups.metric.value(tp, selected.sum(), tp + r, groups.rows.sizes[g])
    chance = np.where(np.isnan(value), 0.0, np.outer(*laws))
    return [(chance * np.nan_to_num(value) ** j).sum() for j in range(4)]


def by_hand(law, step, count, base, filled):
    """Mass and moment of one law on cells."""
    mass, moment = np.zeros(count + 1), np.zeros(count + 1)
    atoms = zip(law.values, (1 - law.p_undefined) * law.probabilities, strict=True)
    atoms = [*atoms, (filled, law.p_undefined)]
    for value, chance in atoms:
        if math.isnan(value):
            mass[count] += chance
            continue
        cell = min(max(math.floor((value - base) / step + 1e-9), 0), count - 1)
        mass[cell] += chance
        moment[cell] += chance * (value - cell * step)
    return mass, moment


@pytest.mark.parametrize("name", ["f1", "mcc", "gmean", "lift"])
@settings(deadline=None, max_examples=20)
@given(
    vectors=st.lists(probability_vectors(max_size=9), min_size=1, max_size=5),
    seed=st.integers(0, 99),
    left_out=st.booleans(),
    extra=st.integers(0, 2),
)
def test_cells_hold_the_laws_of_their_groups(name, vectors, seed, left_out, extra):
    metric = get_metric(name, zero_division=math.nan if left_out else 1.0)
    groups = groups_of(vectors, metric, seed, known=0.2, extra=extra)
    laws = _cells.cell_laws(groups)
    single = [groups.law(g) for g in range(groups.size)]
    raw, low, high, positives = laws.moments(0.0)
    assert positives == pytest.approx(sum(mean for _, mean in single), rel=1e-12)
    for g, (law, _) in enumerate(single):
        expected = moments_by_hand(groups, g)
        np.testing.assert_allclose(raw[g], expected, rtol=1e-12, atol=1e-15)
        if law.values.size:
            likely = law.values[law.probabilities > 1e-15]
            rounding = 1e-15  # values alike up to it are one in the law
            assert low[g] <= likely[0] + rounding
            assert high[g] >= likely[-1] - rounding
    step, count, base = 0.37, 5, np.linspace(-0.1, 0.2, groups.size)
    for filled in (math.nan, 0.45):
        mass, moment = laws.place(base, step, count, filled)
        for g, (law, _) in enumerate(single):
            expected = by_hand(law, step, count, base[g], filled)
            np.testing.assert_allclose(mass[g], expected[0], atol=1e-14)
            np.testing.assert_allclose(moment[g], expected[1], atol=1e-13)


def test_boxes_are_trimmed_to_likely_counts():
    """Two groups, one of them with a likely corner that is far off."""
    rng = np.random.default_rng(5)
    shapes, lows = [(6, 9), (4, 3)], [(2, 5), (0, 0)]
    laws = [rng.uniform(1e-9, 1e-3, shape) for shape in shapes]
    laws[0][:2], laws[0][5], laws[0][:, 0] = 1e-30, 1e-30, 1e-30
    laws[1][3, 2] = 0.9
    chance = np.concatenate([law.ravel() for law in laws])
    box = np.array([(a, h, r, m) for (h, m), (a, r) in zip(shapes, lows, strict=True)])
    places = np.array([[0, 9], [54, 3]])
    indptr = np.array([0, 30, 36])
    _cells.kernels.trim_boxes(indptr, 1e-18, chance, box, places)
    assert box.tolist() == [[4, 3, 6, 8], [0, 4, 0, 3]]
    assert places.tolist() == [[19, 9], [54, 3]]


@pytest.mark.parametrize("zero", [0.0, math.nan])
@pytest.mark.parametrize("name", ["f1", "mcc", "gmean"])
def test_the_mean_and_the_deviation_are_those_of_the_groups(name, zero):
    rng = np.random.default_rng(4)
    sizes = np.array([70, 130, 66, 20, 300] * 12)
    ids = np.repeat(np.arange(sizes.size), sizes)
    p = rng.beta(0.3, 2.0, ids.size)
    labels = p > 0.25
    found = am.forecast(p, labels, name, groups=ids, zero_division=zero)
    single = [
        am.forecast(p[ids == g], labels[ids == g], name, zero_division=zero)
        for g in range(sizes.size)
    ]
    if zero == 0.0:
        mean = np.mean([one.mean for one in single])
        std = math.sqrt(sum(one.std**2 for one in single)) / sizes.size
        assert found.mean == pytest.approx(mean, rel=1e-12)
        assert found.std == pytest.approx(std, rel=1e-3)
    assert found.n_groups == sizes.size
    assert found.interval[0] < found.mean < found.interval[1]


@pytest.mark.parametrize("n", [1, 31, 32, 33, 256, 257, 4096, 4097])
@pytest.mark.parametrize("share", [0.3, 1e-3])
def test_laws_of_counts(n, share):
    """Whole or trimmed."""
    rng = np.random.default_rng(n)
    p = rng.beta(0.5, 0.5 * (1 - share) / share, n)
    low, law = law_of_count(p, 1 - p)
    exact = oracle.poisson_binomial(p).astype(float)
    found = np.zeros(n + 1)
    found[low : low + law.size] = law
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=2e-17)
    if n <= 256:  # nothing is too unlikely
        likely = exact > 1e-290
        np.testing.assert_allclose(found[likely], exact[likely], rtol=1e-11)


@pytest.mark.parametrize("sure", [0, 3])
@pytest.mark.parametrize("groups", [1, 2, 40, 400])
@pytest.mark.parametrize("top", [1e-6, 0.3, 1.0])
def test_moments_of_a_ratio(groups, sure, top):
    """Against sums over every number of values that went in."""
    rng = np.random.default_rng(groups)
    share, value = rng.uniform(0.0, top, groups), rng.normal(0.0, 0.3, groups)
    d1, d2 = share * value, share * (value**2 + 0.05)
    start, weight = -d1.sum() if sure else 0.0, share.sum() + sure
    zero, one, two = (np.full(1, x) for x in (1.0, start, start**2))
    for s, a, b in zip(share, d1, d2, strict=True):
        two = np.convolve(two, [1 - s, s]) + np.convolve(one, [0, 2 * a])
        two += np.convolve(zero, [0, b])
        one = np.convolve(one, [1 - s, s]) + np.convolve(zero, [0, a])
        zero = np.convolve(zero, [1 - s, s])
    undefined = 0.0 if sure else zero[0]
    counts = sure + np.arange(groups + 1.0)
    some = counts > 0
    mean = (one[some] / counts[some]).sum() / (1 - undefined)
    square = (two[some] / counts[some] ** 2).sum() / (1 - undefined)
    transforms = _shares.transforms_of(share, d1, d2, weight)
    found = _shares.moments_of_ratio(transforms, weight, start, sure, undefined)
    assert found[0] == pytest.approx(mean, rel=1e-9, abs=1e-12)
    assert found[1] == pytest.approx(math.sqrt(square - mean**2), rel=1e-9)


@pytest.mark.parametrize("deviation", [0.05, 1.0, 2.5, 5.0])
def test_single_probabilities_stay_as_given(deviation):
    p = np.array([1e-300, 1e-9, 0.004, 0.3, 0.9])
    centres = centre_log_odds(p, 1 - p, deviation)
    edges = list(range(-9, 16))

    def margin(a):
        def density(z):
            x = mpmath.mpf(a) + deviation * z
            return mpmath.npdf(z) / (1 + mpmath.exp(-x))

        return mpmath.quad(density, edges)

    with mpmath.workdps(18):
        for a, given_ in zip(centres.tolist(), p.tolist(), strict=True):
            assert float(margin(a) / mpmath.mpf(given_)) == pytest.approx(1, rel=1e-11)


@pytest.mark.parametrize("rows", [1, 50, 400, 20_000])
def test_cumulants_of_rows_in_bins_are_those_of_single_rows(rows):
    """Certain labels too; few rows lie too far apart for bins."""
    rng = np.random.default_rng(rows)
    centre = rng.normal(-2, 2, rows)
    centre[: rows // 4] = rng.choice([-math.inf, math.inf, 30.0, -700.0], rows // 4)
    shifts = np.linspace(-4, 4, 9)
    p = expit(centre[:, None] + shifts)
    v, d = p * (1 - p), 1 - 2 * p
    expected = np.stack([p, v, v * d, v * (1 - 6 * v)]).sum(axis=1)
    found = summed_cumulants(centre, shifts)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * rows)


def counts_of(p, repeats=20_000, seed=0):
    """Drawn counts of positives among rows with these chances."""
    rows, rng = np.ones((1, len(p))), np.random.default_rng(seed)
    return drawn_counts(np.asarray(p)[:, None], rows, repeats, rng)[:, 0, 0]


@pytest.mark.parametrize("n", [1, 3, 30, 600])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.98])
def test_drawn_counts_have_the_moments_and_quantiles_of_their_law(n, share):
    rng = np.random.default_rng(n)
    p = np.minimum(rng.beta(0.7, 0.7 * (1 - share) / share, n), 1.0)
    drawn = counts_of(p)
    low, law = law_of_count(p, 1 - p)
    exact = low + np.arange(law.size)
    mean = exact @ law
    spread = np.sqrt(law @ (exact - mean) ** 2)
    assert drawn.mean() == pytest.approx(mean, abs=0.03 * spread + 1e-9)
    assert drawn.std() == pytest.approx(spread, rel=0.04, abs=0.02)
    for q in (0.05, 0.5, 0.95):
        one = exact[np.searchsorted(np.cumsum(law), q)]
        assert abs(np.quantile(drawn, q) - one) <= max(1.0, 0.12 * spread)


@given(probability_vectors(min_size=0, max_size=40))
def test_counts_of_nasty_probabilities_stay_within_their_rows(p):
    drawn = counts_of(p, 50)
    certain = (p == 1.0).sum() if ((p == 0.0) | (p == 1.0)).all() else None
    assert ((drawn >= 0) & (drawn <= p.size) & (drawn % 1 == 0)).all()
    assert certain is None or (drawn == certain).all()


@pytest.mark.parametrize("n", [0, 1, MOST, MOST + 1, 20_000])
def test_cells_of_rows_keep_their_chances_and_decisions(n):
    x = np.random.default_rng(n).normal(-2, 3, n)
    called, known = x > -1, np.where(np.arange(n) % 5 == 0, 1.0, np.nan)
    cells = TruthCells.of(x, called, known, made("identity"))
    assert cells.rows.sum() == n
    assert cells.open.sum() == np.isnan(known).sum()
    assert cells.x.size <= (n if n <= MOST else MOST + 5)
    np.testing.assert_array_equal(cells.called[cells.place], called)
    p, found = expit(x), expit(cells.x)[cells.place]
    if n <= MOST:
        np.testing.assert_allclose(found, p, rtol=1e-12)
    assert found.sum() == pytest.approx(p.sum(), rel=1e-3)
    assert (found * (1 - found)).sum() == pytest.approx((p * (1 - p)).sum(), rel=2e-3)


def test_scores_of_0_and_1_have_cells_of_their_own():
    x = np.concatenate([[-np.inf] * 3, np.linspace(-5, 5, 5000), [np.inf] * 2])
    cells = TruthCells.of(x, x > 0, np.full(x.size, np.nan), made("identity"))
    assert (cells.rows[0], cells.rows[-1]) == (3, 2)
    assert cells.x[0] < -700
    assert cells.x[-1] > 700


@given(probability_vectors(min_size=2, max_size=30))
def test_chances_meet_a_given_sum(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)[:, None]
    rows = np.arange(1.0, len(p) + 1)
    for share in (0.01, 0.4, 0.97):
        moved = matched(p, rows, share * rows.sum())
        assert rows @ moved[:, 0] == pytest.approx(share * rows.sum(), rel=1e-6)
        middle = np.abs(moved - 0.5).argmin()
        shift = logit(moved[middle]) - logit(p[middle])
        np.testing.assert_allclose(moved, expit(logit(p) + shift), rtol=1e-6)
