"""Both sides of every switch between routes of a forecast, against an exact twin.

The twin of a mean over groups has the exact law of every group on a very fine grid,
convolved by one Fourier transform for all of them.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import argmetric as am
import oracle
from argmetric import forecast

NAN = math.nan
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def rows_of(groups, size, seed=0, share=0.25):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5 * (1 - share) / share, groups * size)
    return p, p > 0.3, np.repeat(np.arange(groups), size)


def law_of_count(p):
    """Chances of 0, 1, … positives."""
    return oracle.poisson_binomial(p).astype(float)


def central_interval(values, mass, coverage):
    """The last value with at most half of the rest below, the first with it above."""
    rest, reached = (1 - coverage) / 2 + 1e-12, np.cumsum(mass)
    below = values[reached - mass <= rest].max()
    return below, values[reached[-1] - reached <= rest].min()


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


@pytest.mark.parametrize("name", ["f1", "mcc", "accuracy", "lift", "rough"])
def test_values_of_a_long_vector_are_those_of_all_pairs_of_counts(name):
    """In bins; a rough metric has values that no sample of counts shows."""
    p, labels, _ = rows_of(1, 6000)
    metric = am.CustomMetric(lambda a, k, t, n: a / (k + t) + 10.0 * (a % 7 == 5))
    found = forecast(p, labels, metric if name == "rough" else name)
    hits, misses = (law_of_count(p[side]) for side in (labels, ~labels))
    tp, r = (np.flatnonzero(law > 1e-18).astype(float) for law in (hits, misses))
    chance = np.outer(hits[tp.astype(int)], misses[r.astype(int)]).ravel()
    t = (tp[:, None] + r).ravel()
    tp, k = tp.repeat(r.size), int(labels.sum())
    values = metric.value(tp, k, t, p.size)
    if name != "rough":
        values = am.get_metric(name).value(tp, k, t, p.size)
    order = np.argsort(values)
    values, chance = values[order], chance[order]
    assert found.mean == pytest.approx(values @ chance, rel=1e-12)
    spread = math.sqrt(chance @ (values - found.mean) ** 2)
    assert found.std == pytest.approx(spread, rel=1e-6)
    reached = np.cumsum(chance)
    for q in SHARES:
        at = values[np.searchsorted(reached, q)]
        assert found.quantile(q) == pytest.approx(at, abs=1e-3 * spread)


# -------------------------------------------------------- means over groups


@pytest.mark.parametrize("size", [1, 3, 5])
def test_sums_on_a_lattice_keep_their_atoms(size):
    """Accuracy of groups of one size: the number of right labels over all rows."""
    p, labels, ids = rows_of(600, size, size)
    found = forecast(p, labels, "accuracy", groups=ids)
    right = np.where(labels, p, 1 - p)
    law = law_of_count(right)
    for q in SHARES:
        count = int(np.searchsorted(np.cumsum(law), q))
        assert found.quantile(q) == pytest.approx(count / p.size, abs=1e-12)
        total = law[: count + 1].sum()
        assert found.cdf(count / p.size) == pytest.approx(total, abs=1e-9)


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
    hits, misses = (law_of_count(p[side]) for side in (labels, ~labels))
    likely = [np.flatnonzero(law > 1e-18) for law in (hits, misses)]
    hits, misses = hits[likely[0]], misses[likely[1]]
    a, r = likely[0][:, None].astype(float), likely[1].astype(float)
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


@pytest.mark.parametrize("groups", [25, 60, 150])
def test_a_ratio_by_its_sum_and_counts_beside_cells(groups):
    """F1 of groups of ten, left out where there is nothing: against simulation."""
    rng = np.random.default_rng(groups)
    p, labels, ids = rows_of(groups, 10, groups, share=0.15)
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


# ----------------------------------------------------------------- shared effects


@pytest.mark.parametrize("deviation", [0.3, 2.0])
def test_effects_of_groups(deviation):
    p, labels, ids = rows_of(25, 90, 4)
    options = {"overdispersion": deviation}
    values, mass = exact_mean(p, labels, ids, "f1", **options)
    found = forecast(p, labels, "f1", groups=ids, **options)
    assert_same(found, values, mass, mean=1e-7)


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_a_row_more_than_all_counts_are_exact_for(name):
    """A certain negative that nobody predicts changes nothing but the route."""
    limit = 512
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
