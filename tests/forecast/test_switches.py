"""Both sides of every switch between routes of a forecast, against an exact twin.

The twin of a mean over groups has the exact law of every group on a very fine grid,
convolved by one Fourier transform for all of them.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import argmetric as am
import oracle
from argmetric import forecast
from argmetric._expected import kernels as compiled
from argmetric._forecast import counts as _counts
from argmetric._forecast import effects as _effects
from argmetric._forecast import groups as _groups
from argmetric._forecast import laws as _laws
from argmetric._forecast import means as _means
from argmetric._forecast import shares as _shares
from argmetric._forecast import sums as _sums
from argmetric._forecast.laws import law_of_count, law_of_values
from argmetric._results.discrete import central_interval

NAN = math.nan
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def rows_of(groups, size, seed=0, share=0.25):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5 * (1 - share) / share, groups * size)
    return p, p > 0.3, np.repeat(np.arange(groups), size)


def convolved(laws, times=1, cells=1 << 15):
    """Values and chances of the mean over groups, so many of each law."""
    laws = [(law.values, law.probabilities) for law in laws]
    groups = times * len(laws)
    low, high = (times * sum(float(v[end]) for v, _ in laws) for end in (0, -1))
    step = (high - low) / (cells - 2 * groups - 2)
    spectrum = np.ones(cells // 2 + 1, dtype=complex)
    for values, chances in laws:
        place = (values - values[0]) / step
        cell = np.floor(place).astype(int)
        rest = place - cell
        mass = np.bincount(cell, chances * (1 - rest), cells)
        mass += np.bincount(cell + 1, chances * rest, cells)
        spectrum *= np.fft.rfft(mass)
    mass = np.maximum(np.fft.irfft(spectrum**times, cells), 0.0)
    return (low + step * np.arange(cells)) / groups, mass / mass.sum()


def exact_mean(p, labels, ids, name, **options):
    laws = [
        forecast(p[ids == g], labels[ids == g], name, **options) for g in np.unique(ids)
    ]
    return convolved(laws)


def assert_same(found, values, mass, far=0.01, mean=1e-9):
    """Mean, deviation, quantiles and the width of the interval, by deviations."""
    centre = float(values @ mass)
    spread = math.sqrt(mass @ (values - centre) ** 2)
    assert found.mean == pytest.approx(centre, rel=mean)
    assert found.std == pytest.approx(spread, rel=2e-3)
    reached = np.cumsum(mass)
    for q in SHARES:
        at = values[np.searchsorted(reached, q)]
        assert found.quantile(q) == pytest.approx(at, abs=far * spread)
    low, high = central_interval(values, mass, 0.9)
    width = found.interval[1] - found.interval[0]
    assert width == pytest.approx(high - low, rel=far)


# --------------------------------------------------------------- one vector


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


@pytest.mark.parametrize("name", ["f1", "mcc", "accuracy", "qmean", "lift"])
def test_values_one_by_one_and_in_bins(name, monkeypatch):
    p, labels, _ = rows_of(1, 9000)
    metric = am.get_metric(name)
    binned = law_of_values(metric, p.size, p, 1 - p, labels)
    monkeypatch.setattr(_laws, "MAX_ATOMS", 1 << 24)
    exact = law_of_values(metric, p.size, p, 1 - p, labels)
    assert exact.values.size != binned.values.size or name == "accuracy"
    assert binned.mean == pytest.approx(exact.mean, rel=1e-13)
    assert binned.variance == pytest.approx(exact.variance, rel=1e-7)
    reached = [np.cumsum(law.probabilities) for law in (binned, exact)]
    for q in SHARES:
        one, other = (
            law.values[np.searchsorted(total, q)]
            for law, total in zip((binned, exact), reached, strict=True)
        )
        assert one == pytest.approx(other, abs=4e-4 * math.sqrt(exact.variance))


def test_bins_reach_values_that_no_sample_shows(monkeypatch):
    """A metric that is rough: every 7th number of hits counts more."""
    p, labels, _ = rows_of(1, 3000)
    rough = am.CustomMetric(
        lambda tp, k, t, n: tp / (k + t) + 10.0 * (tp % 7 == 5), name="rough"
    )
    sampled = _laws._Pairs.sampled_values
    monkeypatch.setattr(
        _laws._Pairs, "sampled_values", lambda self: sampled(self) * 0.0
    )
    found = law_of_values(rough, p.size, p, 1 - p, labels)
    low, hits = law_of_count(p[labels], 1 - p[labels])
    first, misses = law_of_count(p[~labels], 1 - p[~labels])
    tp = (low + np.arange(hits.size, dtype=float))[:, None]
    t = tp + first + np.arange(misses.size)
    chance = hits[:, None] * misses
    value = tp / (labels.sum() + t) + 10.0 * (tp % 7 == 5)
    assert found.mean == pytest.approx(float((chance * value).sum()), rel=1e-12)
    high = found.probabilities[found.values > 5].sum()
    assert high == pytest.approx(float((chance * (value > 5)).sum()), rel=1e-9)


# -------------------------------------------------------- means over groups


@pytest.mark.parametrize("groups", [2, 16, 17, 40])
@pytest.mark.parametrize("name", ["f1", "gmean", "accuracy"])
def test_few_groups_one_by_one_or_many(groups, name):
    p, labels, ids = rows_of(groups, 12, groups)
    assert_same(
        forecast(p, labels, name, groups=ids), *exact_mean(p, labels, ids, name)
    )


@pytest.mark.parametrize("size", [64, 65, 150])
@pytest.mark.parametrize("groups", [3, 30])
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_groups_in_tables_and_beyond(size, groups, name):
    p, labels, ids = rows_of(groups, size, size)
    assert_same(
        forecast(p, labels, name, groups=ids), *exact_mean(p, labels, ids, name)
    )


@pytest.mark.parametrize("limit", [100, 99])
def test_groups_that_are_very_long(limit, monkeypatch):
    p, labels, ids = rows_of(20, 100)
    values, mass = exact_mean(p, labels, ids, "f1")
    monkeypatch.setattr(_groups, "LONGEST", limit)
    assert_same(forecast(p, labels, "f1", groups=ids), values, mass)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_sums_on_a_lattice_keep_their_atoms(size):
    """Accuracy of groups of one size: the number of right labels over all rows."""
    p, labels, ids = rows_of(600, size, size)
    found = forecast(p, labels, "accuracy", groups=ids)
    right = np.where(labels, p, 1 - p)
    low, law = law_of_count(right, 1 - right)
    for q in SHARES:
        count = low + int(np.searchsorted(np.cumsum(law), q))
        assert found.quantile(q) == pytest.approx(count / p.size, abs=1e-12)
        total = law[: count - low + 1].sum()
        assert found.cdf(count / p.size) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("route", ["smooth", "rough", "grid"])
@pytest.mark.parametrize(("groups", "size"), [(60, 20), (300, 5), (40, 90)])
def test_all_routes_of_a_sum_agree(groups, size, route, monkeypatch):
    """A smooth law read between cells, one without lumps, and sums pair by pair."""
    p, labels, ids = rows_of(groups, size, groups)
    values, mass = exact_mean(p, labels, ids, "f1")
    if route == "rough":
        monkeypatch.setattr(_sums, "SMOOTH", 0.0)
        monkeypatch.setattr(_means, "WORK", 1 << 30)
    if route == "grid":
        monkeypatch.setattr(_means, "WORK", 0)
    assert_same(forecast(p, labels, "f1", groups=ids), values, mass)


@pytest.mark.parametrize("ratio", [0.9, 1.1])
@pytest.mark.parametrize("name", ["f1", "precision"])
def test_many_groups_are_normal_or_not(name, ratio, monkeypatch):
    """On either side of the switch to a normal law with its skewness."""
    p, labels, ids = rows_of(3000, 8, share=0.1)
    values, mass = exact_mean(p[:2400], labels[:2400], ids[:2400], name)
    part = slice(0, 2400)
    deviation = math.sqrt(mass @ (values - values @ mass) ** 2) * 300
    monkeypatch.setattr(_means, "NORMAL", ratio * deviation)
    normal, calls = _means._Sum.normal, []
    monkeypatch.setattr(
        _means._Sum, "normal", lambda *given: calls.append(1) or normal(*given)
    )
    found = forecast(p[part], labels[part], name, groups=ids[part])
    assert bool(calls) == (ratio < 1)
    assert_same(found, values, mass, far=0.03)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize(("groups", "size"), [(20, 100), (300, 100), (300, 6)])
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_many_groups_that_are_nearly_equal(name, groups, size, noise):
    """Equal groups have equal values, so that their sums lie on few of them."""
    rng = np.random.default_rng(1)
    one = rng.beta(0.5, 1.5, size)
    p = np.clip(np.tile(one, groups) + noise * rng.random(groups * size), 0, 1)
    labels, ids = np.tile(one > 0.3, groups), np.repeat(np.arange(groups), size)
    single = forecast(one + noise / 2, one > 0.3, name)
    values, mass = convolved([single], groups, 1 << 18)
    found = forecast(p, labels, name, groups=ids)
    assert_same(found, values, mass, far=0.02, mean=3e-3 if noise == 1e-3 else 1e-7)


# ------------------------------------------------------- values that are left out


def recall_of_rows(p, labels):
    """Groups of one row: positives that are found, over all positives."""
    first, hits = law_of_count(p[labels], 1 - p[labels])
    second, misses = law_of_count(p[~labels], 1 - p[~labels])
    a = (first + np.arange(hits.size, dtype=float))[:, None]
    r = second + np.arange(misses.size, dtype=float)
    values, mass = a / np.maximum(a + r, 1), hits[:, None] * misses
    mass = np.where(a + r > 0, mass, 0.0)
    order = np.argsort(values, axis=None)
    return values.ravel()[order], mass.ravel()[order] / mass.sum()


@pytest.mark.parametrize("groups", [12, 60, 400, 6000])
def test_a_mean_over_the_groups_that_are_defined(groups):
    """One by one, by counts and cells, and over about as many: no bias of a ratio."""
    p, labels, ids = rows_of(groups, 1, groups, share=0.3)
    values, mass = recall_of_rows(p, labels)
    found = forecast(p, labels, "recall", groups=ids, zero_division=NAN)
    spread = math.sqrt(mass @ (values - values @ mass) ** 2)
    assert found.mean == pytest.approx(values @ mass, abs=6e-3 * spread)
    assert found.std == pytest.approx(spread, rel=0.01)
    reached = np.cumsum(mass)
    for x in (-1.5, -0.7, 0.1, 0.8, 1.6):
        at = values @ mass + x * spread
        total = reached[np.searchsorted(values, at, side="right") - 1]
        assert found.cdf(at) == pytest.approx(total, abs=0.012)


@pytest.mark.parametrize("broad", [1.5, 1e9])
@pytest.mark.parametrize("groups", [60, 150])
def test_a_ratio_by_its_sum_and_counts_beside_cells(groups, broad, monkeypatch):
    """F1 of groups of ten, left out where there is nothing: against simulation."""
    rng = np.random.default_rng(groups)
    p, labels, ids = rows_of(groups, 10, groups, share=0.15)
    monkeypatch.setattr(_means, "BROAD", broad)
    found = forecast(p, labels, "f1", groups=ids, zero_division=NAN)
    draws = 100_000
    sums, counts = np.zeros((2, draws))
    for g in range(groups):
        one = forecast_of_group(p[ids == g], labels[ids == g])
        cell = np.searchsorted(np.cumsum(one[1]), rng.random(draws))
        value = np.append(one[0], NAN)[np.minimum(cell, one[0].size)]
        sums += np.nan_to_num(value)
        counts += ~np.isnan(value)
    drawn = sums / counts
    assert found.mean == pytest.approx(drawn.mean(), abs=0.012 * found.std)
    assert found.std == pytest.approx(drawn.std(), rel=0.01)
    for q in SHARES:
        assert found.cdf(np.quantile(drawn, q)) == pytest.approx(q, abs=0.006)


def forecast_of_group(p, labels):
    """Values and chances, which add up to less than one where some are left out."""
    if not labels.any() and (p == 0).all():
        return np.zeros(0), np.zeros(0)
    one = forecast(p, labels, "f1", zero_division=NAN)
    return one.values, one.probabilities * (1 - one.p_undefined)


def law_of_defined(p, labels, ids, name, cells=1 << 14):
    """Law of the mean over defined groups: a fine grid of sums for every count."""
    laws = [
        forecast(p[ids == g], labels[ids == g], name, zero_division=NAN)
        for g in np.unique(ids)
    ]
    low, high = (
        end(law.values[at] for law in laws) for end, at in ((min, 0), (max, -1))
    )
    step = (high - low) * len(laws) / (cells - 2 * len(laws) - 2)
    spectra = np.zeros((len(laws) + 1, cells // 2 + 1), dtype=complex)
    spectra[0] = 1.0
    for g, law in enumerate(laws):
        place = (law.values - low) / step
        cell = np.floor(place).astype(int)
        rest, chances = place - cell, law.probabilities * (1 - law.p_undefined)
        mass = np.bincount(cell, chances * (1 - rest), cells)
        mass += np.bincount(cell + 1, chances * rest, cells)
        more = spectra[: g + 1] * np.fft.rfft(mass)
        spectra *= law.p_undefined
        spectra[1 : g + 2] += more
    mass = np.fft.irfft(spectra[1:], cells, axis=1)
    counts = np.arange(1.0, len(laws) + 1)[:, None]
    values = low + step * np.arange(cells) / counts
    likely = mass > 1e-16
    order = np.argsort(values[likely])
    values, mass = values[likely][order], mass[likely][order]
    return values, mass / mass.sum()


@pytest.mark.parametrize("single", [0, 1, 5])
def test_few_groups_that_can_be_left_out_among_long_ones(single):
    """60 groups whose recalls hardly vary, beside groups of one row or none."""
    p = np.append(np.full(3600, 0.95), np.full(single, 0.5))
    labels = np.append(np.arange(3600) % 60 < 57, np.ones(single, dtype=bool))
    ids = np.append(np.repeat(np.arange(60), 60), np.arange(60, 60 + single))
    found = forecast(p, labels, "recall", groups=ids, zero_division=NAN)
    values, mass = law_of_defined(p, labels, ids, "recall", 1 << 16)
    assert_same(found, values, mass, far=0.02)
    low, high = found.interval
    held = mass[(values >= low) & (values <= high)].sum()
    assert held == pytest.approx(0.9, abs=0.003)


@pytest.mark.parametrize(
    ("name", "groups", "broad"),
    [
        *itertools.product(("qmean", "recall"), (17, 100), (0.0, 1.5, 1e9)),
        ("recall", 238, 1.5),
        *(
            pytest.param(name, 238, broad, marks=pytest.mark.slow)
            for name, broad in [("recall", 0.0), ("recall", 1e9)]
            + [("qmean", broad) for broad in (0.0, 1.5, 1e9)]
        ),
    ],
)
def test_the_mean_of_a_ratio_is_exact(name, groups, broad, monkeypatch):
    """E[S/N] is not E[S]/E[N]: on either side of the switch between its routes."""
    p, labels, ids = rows_of(groups, 5, groups, share=0.5)
    monkeypatch.setattr(_means, "BROAD", broad)
    found = forecast(p, labels, name, groups=ids, zero_division=NAN)
    values, mass = law_of_defined(p, labels, ids, name)
    centre = values @ mass
    assert found.mean == pytest.approx(centre, rel=1e-11)
    spread = math.sqrt(mass @ (values - centre) ** 2)
    assert found.std == pytest.approx(spread, rel=2e-3)


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


def test_values_that_are_left_out_very_rarely(monkeypatch):
    """Chances of 1e-12 change nothing, on either side of the switch."""
    p, labels, ids = rows_of(30, 80, 3)
    results = []
    for rarely in (0.0, 1.0):
        monkeypatch.setattr(_means, "RARELY", rarely)
        results.append(forecast(p, labels, "mcc", groups=ids, zero_division=NAN))
    assert results[0].mean == pytest.approx(results[1].mean, rel=1e-8)
    assert results[0].std == pytest.approx(results[1].std, rel=5e-3)
    values, mass = exact_mean(p, labels, ids, "mcc", zero_division=NAN)
    assert_same(results[1], values, mass)


# ----------------------------------------------------------------- shared effects


@pytest.mark.parametrize("limit", [90, 89])
@pytest.mark.parametrize("deviation", [0.3, 2.0])
def test_effects_of_groups_many_at_a_time_or_alone(limit, deviation, monkeypatch):
    p, labels, ids = rows_of(25, 90, 4)
    options = {"overdispersion": deviation}
    values, mass = exact_mean(p, labels, ids, "f1", **options)
    monkeypatch.setattr(_groups, "LONGEST_MIXED", limit)
    found = forecast(p, labels, "f1", groups=ids, **options)
    assert_same(found, values, mass, mean=1e-7)


@pytest.mark.parametrize("deviation", [0.4, 3.0])
def test_tilted_laws_are_those_built_anew(deviation, monkeypatch):
    """In groups and in one vector: an anchor for every effect, or few of them."""
    p, labels, ids = rows_of(30, 40, 5)
    for options in ({"groups": ids}, {}):
        tilted = forecast(p, labels, "f1", overdispersion=deviation, **options)
        monkeypatch.setattr(_groups, "LONGEST_TILT", 1e-9)
        monkeypatch.setattr(_counts, "LONGEST_TILT", 0.0)
        anew = forecast(p, labels, "f1", overdispersion=deviation, **options)
        monkeypatch.undo()
        assert tilted.mean == pytest.approx(anew.mean, rel=1e-10)
        assert tilted.std == pytest.approx(anew.std, rel=1e-8)
        assert tilted.interval == pytest.approx(anew.interval, rel=1e-6)


@pytest.mark.parametrize("smooth", [1.0, 1e9])
def test_counts_by_cumulants_and_exactly(smooth, monkeypatch):
    """Variances from which four cumulants stand for a law; 100 lies between."""
    p, labels, _ = rows_of(1, 2500, 6)
    options = {"overdispersion": 0.3}
    plain = forecast(p, labels, "f1", **options)
    monkeypatch.setattr(_counts.CountLaws, "SMOOTH", smooth)
    if smooth == 1e9:
        monkeypatch.setattr("argmetric._forecast.effects.FEW_ROWS", 10**6)
    other = forecast(p, labels, "f1", **options)
    assert other.mean == pytest.approx(plain.mean, abs=2e-3 * plain.std)
    assert other.std == pytest.approx(plain.std, rel=5e-3)
    for q in SHARES:
        assert other.quantile(q) == pytest.approx(
            plain.quantile(q), abs=0.02 * plain.std
        )


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_a_row_more_than_all_counts_are_exact_for(name):
    """A certain negative that nobody predicts changes nothing but the route."""
    limit = _effects.FEW_ROWS
    p = np.append(np.random.default_rng(11).random(limit), 1e-300)
    below, above = (
        forecast(p[:n], p[:n] > 0.4, name, overdispersion=0.3)
        for n in (limit, limit + 1)
    )
    assert above.mean == pytest.approx(below.mean, abs=2e-3 * below.std)
    assert above.std == pytest.approx(below.std, rel=5e-3)
    for q in SHARES:
        assert above.quantile(q) == pytest.approx(
            below.quantile(q), abs=0.02 * below.std
        )


# --------------------------------------------------------------------- kernels


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.1, 0.6), (0.25, 0.25)])
def test_bins_hold_the_mass_and_the_mean_of_their_values(ends):
    rng = np.random.default_rng(3)
    values, weights = rng.random(5000), rng.random(5000)
    values[::7], weights[::5] = math.nan, 0.0
    bins = _laws.Bins(np.array(ends))
    for part in (slice(2000), slice(2000, None)):
        bins.add(values[part], weights[part])
    gone = np.isnan(values)
    atoms, mass = bins.atoms()
    assert mass.sum() == pytest.approx(weights[~gone].sum(), rel=1e-12)
    assert atoms @ mass == pytest.approx(values[~gone] @ weights[~gone], rel=1e-12)
    assert bins.undefined == pytest.approx(weights[gone].sum(), rel=1e-12)
    outside = (values < ends[0]) | (values > ends[1])
    assert bins.beyond == pytest.approx(weights[outside].sum(), rel=1e-12)
    seen = np.append(values[~gone], ends)
    assert (bins.least, bins.most) == (seen.min(), seen.max())


@pytest.mark.parametrize("gone", [0.0, 1e-32])
@pytest.mark.parametrize("width", [1, 2, 40])
def test_a_spectrum_is_the_product_of_transforms(width, gone):
    rng = np.random.default_rng(width)
    mass = rng.dirichlet(np.full(width, 0.3), 21) * (rng.random((21, width)) < 0.7)
    mass[:, -1] += 1.0 - mass.sum(axis=1)
    period = 1024
    turn = 2 * np.pi * np.arange(period) / period
    real, imaginary = np.ones(period // 2 + 1), np.zeros(period // 2 + 1)
    compiled.multiply_spectrum(
        mass, np.cos(turn), np.sin(turn), 0.0, gone, real, imaginary
    )
    expected = np.fft.rfft(mass, period, axis=1).conj().prod(axis=0)
    np.testing.assert_allclose(real + 1j * imaginary, expected, atol=2e-15)
