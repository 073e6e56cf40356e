"""Means over many groups and mixtures over an effect: distributions against twins.

Twins: convolution over all groups value by value, sums over a dense grid of
effects, and simulation.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom

import argmetric as am
import oracle
from argmetric import forecast
from argmetric._forecast.distributions import _edgeworth_points
from forecast.test_group_mean import rows_of
from margins import centre_log_odds

NAN = math.nan
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
few = settings(deadline=None, max_examples=15)


def assert_consistent(result):
    """The distribution has the mean and the deviation that are reported."""
    values, mass = result.values, result.probabilities
    assert (np.diff(values) > 0).all()
    assert (mass >= 0).all()
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert values @ mass / mass.sum() == pytest.approx(result.mean, rel=1e-9, abs=1e-12)
    spread = math.sqrt(mass @ (values - result.mean) ** 2)
    assert result.std == pytest.approx(spread, rel=1e-9, abs=1e-12)


def group_sums(metric, p, labels, ids, zd=0.0):
    """The distribution of the mean over groups, convolved value by value."""
    state = {(0, 0.0): 1.0}
    for group in np.unique(ids):
        rows = ids == group
        atoms, mass, missing = oracle.distribution(metric, p[rows], labels[rows], zd)
        steps = [((1, float(a)), float(w)) for a, w in zip(atoms, mass, strict=True)]
        steps = [(key, w * (1 - float(missing))) for key, w in steps]
        steps.append(((0, 0.0), float(missing)))
        fresh = {}
        for (count, total), weight in state.items():
            for (more, value), probability in steps:
                key = count + more, round(total + value, 11)
                fresh[key] = fresh.get(key, 0.0) + weight * probability
        state = {key: weight for key, weight in fresh.items() if weight > 1e-14}
    values = np.array([total / count for count, total in state if count])
    mass = np.array([weight for (count, _), weight in state.items() if count])
    order = np.argsort(values)
    return values[order], mass[order] / mass.sum()


def distance(result, values, mass):
    """Largest difference of the distribution functions, between and at the atoms."""
    worst = 0.0
    for x in np.unique(values.round(9)):
        for at in (x - 1e-7, x + 1e-7):
            worst = max(worst, abs(result.cdf(at) - mass[values <= at].sum()))
    return worst


# -------------------------------------------------------------- mean over groups


def lumpy(kind, groups, rng):
    """Groups of three: positives are rare, or few groups are uncertain."""
    p = np.full(3 * groups, 1.0 / groups) * rng.choice([0.5, 1.0], 3 * groups)
    if kind == "few":
        p = (rng.random(3 * groups) < 0.3).astype(float)
        p[:12] = rng.choice([0.25, 0.5, 0.75], 12)
    labels = (np.arange(3 * groups) % 3 < rng.integers(0, 3, groups).repeat(3)) * 1
    return p, labels, np.arange(groups).repeat(3)


@pytest.mark.parametrize("kind", ["rare", "few"])
@pytest.mark.parametrize("groups", [25, 300])
@pytest.mark.parametrize(("name", "zd"), [("f1", 0.0), ("f1", 1.0), ("accuracy", 0.0)])
def test_lumpy_means_over_many_groups(name, zd, groups, kind):
    p, labels, ids = lumpy(kind, groups, np.random.default_rng(groups))
    values, mass = group_sums(name, p, labels, ids, zd)
    result = forecast(
        p, labels, name, groups=ids, zero_division=oracle.obeyed(name, zd)
    )
    assert_consistent(result)
    mean = float(values @ mass)
    assert result.mean == pytest.approx(mean, rel=1e-8)
    spread = math.sqrt(mass @ (values - mean) ** 2)
    assert result.std == pytest.approx(spread, rel=1e-4)
    assert distance(result, values, mass) < 1e-3
    low, high = result.interval
    assert mass[(values >= low - 1e-7) & (values <= high + 1e-7)].sum() > 0.899


@pytest.mark.parametrize("kind", ["rare", "few"])
@pytest.mark.parametrize("groups", [30, 300])
def test_values_left_out_of_many_groups(kind, groups):
    """Recall of groups without a positive: the mean is over few, or over none."""
    p, labels, ids = lumpy(kind, groups, np.random.default_rng(groups))
    values, mass = group_sums("recall", p, labels, ids, NAN)
    result = forecast(p, labels, "recall", groups=ids, zero_division=NAN)
    assert_consistent(result)
    assert result.mean == pytest.approx(float(values @ mass), rel=1e-7)
    assert distance(result, values, mass) < 1e-3
    none = np.prod(1 - p)
    assert result.p_undefined == pytest.approx(none, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("scale", [0.1, 3.0])
@pytest.mark.parametrize("groups", [24, 25, 30, 300])
def test_metrics_that_leave_the_unit_interval_are_not_clipped(groups, scale):
    """A sum over rows: the mean over groups is a known linear function of a count."""
    metric = am.Utility(tp=scale)
    p, ids = np.full(20 * groups, 0.5), np.arange(groups).repeat(20)
    result = forecast(p, np.ones(p.size), metric, groups=ids)
    assert_consistent(result)
    assert result.mean == pytest.approx(10 * scale, rel=1e-9)
    assert result.std == pytest.approx(scale * math.sqrt(p.size / 4) / groups, rel=1e-4)
    low, high = result.interval
    assert low < result.mean < high


@pytest.mark.parametrize("groups", [256, 257, 3000, 20_000])
def test_groups_of_one_row_count_like_rows(groups):
    """Accuracy of groups of one is that of the rows: on its lattice, or normal."""
    rng = np.random.default_rng(0)
    p = rng.random(groups)
    labels = (p > 0.5).astype(int)
    single = forecast(p, labels, "accuracy")
    result = forecast(p, labels, "accuracy", groups=np.arange(groups))
    assert result.mean == pytest.approx(single.mean, rel=1e-10)
    assert result.std == pytest.approx(single.std, rel=1e-7)
    normal = groups > 3000
    near = 1e-4 if normal else 1e-9
    assert result.interval == pytest.approx(single.interval, abs=near)
    for q in (0.02, 0.3, 0.7, 0.98):
        at = single.quantile(q)
        far = 4e-3 if normal else 1e-6  # half a step of the lattice
        assert result.cdf(at) == pytest.approx(single.cdf(at), abs=far)


@few
@pytest.mark.filterwarnings("ignore:p has .* values, all of them 0 or 1")
@given(
    st.lists(
        st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1 - 1e-16, 0.3]), min_size=1, max_size=5
    ),
    st.integers(1, 4),
    st.sampled_from([26, 260]),
    st.sampled_from(["f1", "mcc", "jaccard"]),
)
def test_nasty_groups_repeated(kinds, size, groups, name):
    p = np.resize(kinds, groups * size)
    labels, ids = np.arange(p.size) % 2, np.arange(groups).repeat(size)
    result = forecast(p, labels, name, groups=ids)
    assert_consistent(result)
    means = [
        forecast(p[ids == g], labels[ids == g], name).mean for g in range(0, groups)
    ]
    assert result.mean == pytest.approx(np.mean(means), rel=1e-9, abs=1e-12)


# ------------------------------------------------------------ one effect for all


@pytest.mark.parametrize(("n", "k"), [(300, 0), (300, 5), (520, 1)])
def test_rare_positives_with_an_effect(n, k):
    """Most often there is no positive at all; given the effect, counts are binomial."""
    p, labels = np.full(n, 0.004), (np.arange(n) < k).astype(int)
    z = np.linspace(-10, 10, 1001)
    weight = np.exp(-(z**2) / 2)
    probability = expit(centre_log_odds(p[:1], 1 - p[:1], 0.5)[0] + 0.5 * z)
    tp, fn = np.arange(k + 1)[:, None, None], np.arange(n - k + 1)[:, None]
    joint = binom.pmf(tp, k, probability) * binom.pmf(fn, n - k, probability)
    mass = joint @ weight / weight.sum()
    values = (2 * tp / np.maximum(k + tp + fn, 1))[..., 0]
    result = forecast(p, labels, overdispersion=0.5)
    assert_consistent(result)
    assert result.expected_positives == pytest.approx(p.sum(), rel=1e-9)
    for x in (0.0, 0.25, 0.5, 0.9):
        assert result.cdf(x) == pytest.approx(mass[values <= x + 1e-9].sum(), abs=1e-9)


@pytest.mark.parametrize("rows", [512, 513])
def test_many_rows_with_an_effect_on_both_sides_of_the_switch(rows):
    """Against simulation; k is small, so that the score has lumps."""
    rng = np.random.default_rng(rows)
    p = np.full(rows, 0.1)
    labels = (np.arange(rows) < 3).astype(int)
    result = forecast(p, labels, "precision", overdispersion=1.0)
    assert_consistent(result)
    centre = centre_log_odds(p[:1], 1 - p[:1], 1.0)[0]
    probability = expit(centre + rng.normal(size=200_000))
    seen = np.bincount(rng.binomial(3, probability), minlength=4) / probability.size
    np.testing.assert_allclose(result.values, np.arange(4) / 3, atol=1e-12)
    np.testing.assert_allclose(result.probabilities, seen, atol=0.005)


def test_known_labels_sharpen_the_shared_effect():
    """Bayes' rule: P(next | s of m known) from integrals over the effect."""
    p, deviation = 0.2, 1.0
    centre = centre_log_odds(np.array([p]), np.array([1 - p]), deviation)[0]
    z = np.linspace(-9, 9, 1801)
    weights = np.exp(-(z**2) / 2)
    probability = expit(centre + deviation * z)
    for positives in (0, 8, 20):
        known = np.full(60, NAN)
        known[:40] = np.arange(40) < positives
        level = weights * probability**positives * (1 - probability) ** (40 - positives)
        truth = 20 * (level @ probability) / level.sum() + positives
        labels = np.ones(60)
        result = forecast(
            np.full(60, p), labels, "precision", known=known, overdispersion=deviation
        )
        assert result.expected_positives == pytest.approx(truth, rel=1e-6)
    wide = forecast(np.full(20, p), np.ones(20), "precision", overdispersion=deviation)
    assert result.std * 60 < wide.std * 20  # of the 20 rows to come


@pytest.mark.parametrize("known_rows", [0, 2])
def test_each_group_has_an_effect_of_its_own(known_rows):
    """Many equal groups of four: mean and spread from one of them."""
    p, labels = np.array([0.7, 0.5, 0.3, 0.1]), np.array([1, 1, 0, 0])
    known = np.where(np.arange(4) < known_rows, [1.0, 0.0, 0.0, 0.0], NAN)
    one = forecast(p, labels, known=known, overdispersion=1.5)
    for groups in (20, 30, 400):
        result = forecast(
            np.tile(p, groups),
            np.tile(labels, groups),
            groups=np.arange(groups).repeat(4),
            known=np.tile(known, groups),
            overdispersion=1.5,
        )
        assert_consistent(result)
        assert result.mean == pytest.approx(one.mean, rel=1e-6)
        assert result.std == pytest.approx(one.std / math.sqrt(groups), rel=1e-4)
        assert result.expected_positives == pytest.approx(
            groups * one.expected_positives, rel=1e-6
        )


# ------------------------------------------------- counts that are long to sum


def count_pmf_by_convolution(p):
    """Probabilities of 0, 1, … positives."""
    return oracle.poisson_binomial(p).astype(float)


@pytest.mark.parametrize("name", ["f1", "mcc", "rough"])
def test_values_of_a_long_vector_are_those_of_all_pairs_of_counts(name):
    """In bins; a rough metric has values that no sample of counts shows."""
    p, labels, _ = rows_of(1, 6000)
    metric = am.CustomMetric(lambda a, k, t, n: a / (k + t) + 10.0 * (a % 7 == 5))
    found = forecast(p, labels, metric if name == "rough" else name)
    hits, misses = (count_pmf_by_convolution(p[side]) for side in (labels, ~labels))
    tp, r = (np.flatnonzero(pmf > 1e-18).astype(float) for pmf in (hits, misses))
    probability = np.outer(hits[tp.astype(int)], misses[r.astype(int)]).ravel()
    t = (tp[:, None] + r).ravel()
    tp, k = tp.repeat(r.size), int(labels.sum())
    values = metric.value(tp, k, t, p.size)
    if name != "rough":
        values = am.get_metric(name).value(tp, k, t, p.size)
    order = np.argsort(values)
    values, probability = values[order], probability[order]
    assert found.mean == pytest.approx(values @ probability, rel=1e-12)
    spread = math.sqrt(probability @ (values - found.mean) ** 2)
    assert found.std == pytest.approx(spread, rel=1e-6)
    reached = np.cumsum(probability)
    for q in SHARES:
        at = values[np.searchsorted(reached, q)]
        assert found.quantile(q) == pytest.approx(at, abs=1e-3 * spread)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_sums_on_a_lattice_keep_their_atoms(size):
    """Accuracy of groups of one size: the number of right labels over all rows."""
    p, labels, ids = rows_of(600, size, size)
    found = forecast(p, labels, "accuracy", groups=ids)
    right = np.where(labels, p, 1 - p)
    pmf = count_pmf_by_convolution(right)
    for q in SHARES:
        count = int(np.searchsorted(np.cumsum(pmf), q))
        assert found.quantile(q) == pytest.approx(count / p.size, abs=1e-12)
        total = pmf[: count + 1].sum()
        assert found.cdf(count / p.size) == pytest.approx(total, abs=1e-9)


def recall_of_rows(p, labels):
    """Groups of one row: positives that are found, over all positives."""
    hits, misses = (count_pmf_by_convolution(p[side]) for side in (labels, ~labels))
    likely = [np.flatnonzero(pmf > 1e-18) for pmf in (hits, misses)]
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


@pytest.mark.parametrize("zero", [0.0, math.nan])
@pytest.mark.parametrize("name", ["f1", "mcc", "gmean"])
def test_the_mean_and_the_deviation_are_those_of_the_groups(name, zero):
    rng = np.random.default_rng(4)
    sizes = np.array([70, 130, 66, 20, 300] * 12)
    ids = np.repeat(np.arange(sizes.size), sizes)
    p = rng.beta(0.3, 2.0, ids.size)
    labels = p > 0.25
    found = am.forecast(
        p, labels, name, groups=ids, zero_division=oracle.obeyed(name, zero)
    )
    single = [
        am.forecast(
            p[ids == g], labels[ids == g], name, zero_division=oracle.obeyed(name, zero)
        )
        for g in range(sizes.size)
    ]
    if zero == 0.0:
        mean = np.mean([one.mean for one in single])
        std = math.sqrt(sum(one.std**2 for one in single)) / sizes.size
        assert found.mean == pytest.approx(mean, rel=1e-12)
        assert found.std == pytest.approx(std, rel=1e-3)
    assert found.n_groups == sizes.size
    assert found.interval[0] < found.mean < found.interval[1]


@pytest.mark.parametrize(("long", "pairs"), [(70, 140), (20_001, 9)])
def test_long_groups_among_many(long, pairs):
    """Groups beyond the tables, and beyond distributions of many at a time."""
    rng = np.random.default_rng(7)
    sizes = np.tile([2, long], pairs)
    ids = np.arange(sizes.size).repeat(sizes)
    p = rng.beta(0.5, 1.5, ids.size)
    labels = (p > 0.3).astype(int)
    result = forecast(p, labels, groups=ids)
    assert_consistent(result)
    parts = [forecast(p[ids == g], labels[ids == g]) for g in range(sizes.size)]
    assert result.mean == pytest.approx(np.mean([f.mean for f in parts]), rel=1e-9)
    variance = sum(f.std**2 for f in parts) / sizes.size**2
    assert result.std == pytest.approx(math.sqrt(variance), rel=1e-6)


@pytest.mark.parametrize(("n", "p"), [(5_000, 0.02), (40_000, 0.001), (300, 0.9)])
def test_edgeworth_weights_are_near_those_of_a_binomial(n, p):
    q = 1 - p
    variance, third = n * p * q, n * p * q * (q - p)
    fourth = variance * (1 - 6 * p * q)
    cumulants = np.array([[n * p], [variance], [third], [fourth]])
    counts, weights = _edgeworth_points(cumulants, n)
    exact = binom.pmf(counts, n, p)
    np.testing.assert_allclose(weights, exact / exact.sum(), atol=1e-4)
