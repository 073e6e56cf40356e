"""Score of a period, likelihood over θ and readings, against slow twins."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

import argmetric as am
from argmetric._calibrate.resolve import resolve_reference
from argmetric._forecast.distributions import ALWAYS_UNDEFINED, ScorePMF
from argmetric._monitor._bins import (
    PeriodBins,
    Readings,
    binned_change,
    rows_of,
    weigh_readings,
)
from argmetric._monitor._distribution import (
    ALLOWED,
    NOT_RULED_OUT,
    BinProbabilities,
    PeriodDistribution,
    ThetaTable,
    draws_at,
    label_likelihood,
    period_likelihood,
    population_prevalence,
    widen_interval,
)
from watched import shifted_maps

P = np.array([0.02, 0.1, 0.3, 0.55, 0.8, 0.97])
METRICS = ("f1", "f2", "mcc", "gmean", "precision", "recall", "jaccard", "accuracy")


def table_of(missable: Any, called: Any) -> Any:
    table = np.zeros((2, 3, P.size), dtype=np.int64)
    table[0, 0], table[1, 0] = missable, called
    return table


def count_pmf(p: Any) -> Any:
    pmf = np.ones(1)
    for one in p:
        pmf = np.convolve(pmf, [1 - one, one])
    return pmf


def exact_distribution(table: Any, q: Any, metric: Any) -> tuple[Any, Any]:
    """Values and probabilities of the score, all counts enumerated."""
    missed, hits = (count_pmf(np.repeat(q, table[side, 0])) for side in (0, 1))
    tp = np.arange(hits.size)[:, None] + table[1, 2].sum()
    fn = np.arange(missed.size) + table[0, 2].sum()
    values = metric.value(tp, table[1].sum(), tp + fn, table.sum())
    order = np.argsort(values.ravel())
    return values.ravel()[order], (hits[:, None] * missed).ravel()[order]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("missable", "called"),
    [
        ((300, 60, 20, 8, 0, 0), (0, 0, 10, 20, 40, 30)),
        ((40, 9, 3, 0, 0, 0), (0, 0, 2, 3, 4, 2)),
    ],
)
@pytest.mark.parametrize("theta", [0.0, -0.9])
def test_draws_are_those_of_the_exact_distribution(
    metric: str, missable: Any, called: Any, theta: float
) -> None:
    score, table = am.get_metric(metric), table_of(missable, called)
    q = P * np.exp(theta) / (1 - P + P * np.exp(theta))
    values, probabilities = exact_distribution(table, q, score)
    maps = shifted_maps(P, 48)
    drawn = draws_at(table, maps, np.full((48, 16), theta), np.full(48, 1 / 48), score)
    mean, (low, high) = drawn.summary(0.9)
    deviation = np.sqrt(probabilities @ (values - probabilities @ values) ** 2)
    assert mean == pytest.approx(probabilities @ values, abs=0.06 * deviation)
    for at, level in ((low, 0.05), (high, 0.95)):
        below = probabilities[values < at - 1e-9].sum()
        reached = probabilities[values <= at + 1e-9].sum()
        assert below - 0.03 <= level <= reached + 0.03
    assert drawn.weight.sum() == pytest.approx(1.0)
    prevalence = (q @ (np.array(missable) + called)) / table.sum()
    assert drawn.summary(0.9, "prevalence_pmf")[0] == pytest.approx(
        prevalence, rel=0.02
    )


def test_a_prevalence_shift_multiplies_the_odds_that_the_reference_allows() -> None:
    """Odds were moved before the counts of either side had corrected the calibrator."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 500)
    reference = resolve_reference((rng.random(500) < p**2, p))
    assert reference.calibrator is not None
    assert reference.rows is not None
    maps = BinProbabilities.from_calibrator(
        reference.calibrator, PeriodBins.from_reference(reference.rows, 0.3)
    )
    rows = np.full(maps.x.size, 9)
    cells = maps.open_rows(
        np.array([[rows * (maps.x < -0.8)], [rows * (maps.x >= -0.8)]])
    )
    theta = rng.normal(0, 1, (3, maps.posterior.n_calibrators))
    factors = maps.posterior.factors(cells, len(theta))
    usual = maps.posterior.probabilities(cells, factors=factors)
    moved = maps.posterior.probabilities(cells, shift=theta, factors=factors)
    ratio = moved / (1 - moved) / (usual / (1 - usual))
    expected = np.broadcast_to(np.exp(theta).ravel(), ratio.shape)
    np.testing.assert_allclose(ratio, expected, rtol=1e-6)


def test_known_labels_are_taken_as_they_are() -> None:
    table = np.zeros((2, 3, P.size), dtype=np.int64)
    table[0, 1, 1], table[0, 2, 2], table[1, 2, 4], table[1, 1, 3] = 50, 4, 9, 3
    old = np.full(P.size, 100.0)
    period = PeriodDistribution(table, old, shifted_maps(P, 4), am.FBeta())
    for found, value in (
        (period.mixture.summary(0.9), 18 / 25),
        (period.mixture.summary(0.9, "prevalence_pmf"), 13 / 66),
    ):
        assert [found[0], *found[1]] == pytest.approx([value] * 3)
    table[0, 0, 0] = 40  # and some that are not known
    period = PeriodDistribution(table, old, shifted_maps(P, 4), am.FBeta())
    mean, (low, high) = period.mixture.summary(0.9)
    assert low < mean <= 18 / 25
    assert high == pytest.approx(18 / 25)


def test_known_labels_are_informative_about_the_prevalence() -> None:
    """A hundred known labels say what the scores leave open."""
    rng = np.random.default_rng(0)
    factor = 3.0
    old = np.array([200.0, 80, 60, 40, 30, 30])
    q = P * factor / (1 - P + P * factor)
    new = np.round(old * (1 - P + P * factor) / 3).astype(int)
    table = table_of(new * [1, 1, 1, 0, 0, 0], new * [0, 0, 0, 1, 1, 1])
    maps = shifted_maps(P, 8)
    before = PeriodDistribution(table.copy(), old, maps, am.FBeta())
    for side in (0, 1):
        known = table[side, 0] // 2
        positive = rng.binomial(known, q)
        table[side, 0] -= known
        table[side, 1], table[side, 2] = known - positive, positive
    # Draws of a score outside of its interval: a part of what the coverage leaves
    pmf, (low, high) = before.mixture.score_pmf, before.summary(0.9)[1]
    assert max(outside(pmf, low, high)) <= ALLOWED * 0.05 + 1e-9
    after = PeriodDistribution(table, old, maps, am.FBeta())
    true = (table[:, 2].sum() + q @ table[:, 0].sum(axis=0)) / table.sum()
    _, (low, high) = after.mixture.summary(0.9, "prevalence_pmf")
    assert low <= true <= high
    assert (
        high - low < 0.6 * np.diff(before.mixture.summary(0.9, "prevalence_pmf")[1])[0]
    )
    assert after.readings.prevalence_shift > 0.99 > before.readings.prevalence_shift


CELLS = 30


def two_samples(theta: float, m: int, n: int, seed: int = 0) -> Any:
    """Rows of cells, then and now, and three maps of which the first is right."""
    rng = np.random.default_rng(seed)
    c = np.linspace(0.01, 0.9, CELLS) ** 2
    density = rng.dirichlet(np.full(CELLS, 4.0))
    moved = density * (1 - c + c * np.exp(theta))
    old = rng.multinomial(m, density).astype(float)
    new = rng.multinomial(n, moved / moved.sum()).astype(float)
    return old, new, np.stack([c, c**1.3, np.sqrt(c) * 0.8])


def loglik_of_rows(old: Any, new: Any, c: Any, theta: float) -> float:
    """max over a of Σ_new log r - Σ_all log(m + n·r) + (m + n)·log(m + n), on rows."""
    then, now = (np.repeat(c, x.astype(int)) for x in (old, new))
    m, n = then.size, now.size
    both = np.concatenate([then, now])

    def level(log_a: float) -> float:
        def ratio(c: Any) -> Any:
            return np.exp(log_a) * (1 - c + c * np.exp(theta))

        return float(
            np.log(ratio(now)).sum()
            - np.log(m + n * ratio(both)).sum()
            + (m + n) * np.log(m + n)
        )

    found = minimize_scalar(lambda x: -level(x), bounds=(-9, 9), method="bounded")
    return max(level(found.x), -found.fun)


@pytest.mark.parametrize("moved", [0.0, -1.2, 1.5])
def test_the_table_over_theta_is_the_likelihood_of_rows(moved: float) -> None:
    old, new, probabilities = two_samples(moved, 300, 200)
    table = ThetaTable.from_rows(old, new, np.zeros((2, CELLS)), probabilities)
    assert table.width.sum() == pytest.approx(8.0, rel=0.01)
    for at in (-3.3, -1.17, 0.0, 0.61, 2.02):
        for row, c in enumerate(probabilities):
            found = np.interp(at, table.theta, table.scores[row])
            wanted = loglik_of_rows(old, new, c, at)
            assert found == pytest.approx(wanted, abs=0.02)
    np.testing.assert_allclose(
        [np.interp(0.0, table.theta, row) for row in table.scores], 0.0, atol=1e-3
    )


@pytest.mark.parametrize("moved", [-1.2, 0.0, 0.8])
def test_the_prevalence_of_the_population_ends_where_the_likelihood_has_fallen(
    moved: float,
) -> None:
    old, new, (c, *_) = two_samples(moved, 300, 400)
    (peak,) = period_likelihood(old, new, c[None]).peaks[1]
    odds = old @ c / (old @ (1 - c))
    for prevalence in population_prevalence(old, new, c, 0.9):
        theta = np.log(prevalence / (1 - prevalence) / odds)
        level = loglik_of_rows(old, new, c, theta)
        assert 2 * (peak - level) == pytest.approx(norm.ppf(0.95) ** 2, abs=0.01)


def test_the_prevalence_of_the_population_is_covered_as_stated() -> None:
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.random(1500) < np.repeat([0.2, 0.1], [500, 1000])
        p = 1 / (1 + np.exp(1.0 - rng.normal(2.0 * y, 1.0)))
        reference = resolve_reference((y[:500], p[:500]), logits=False)
        cells = PeriodBins.from_reference(reference.rows, None)
        c = reference.calibrator.apply(cells.scores)
        old, new = (rows_of(cells.count(x, x > 2)[0]) for x in (p[:500], p[500:]))
        low, high = population_prevalence(old, new, c, 0.9)
        held += low <= 0.1 <= high
    assert 47 <= held <= 59  # 54 expected, 2.3 the standard error


def weights_by_scipy(old: Any, new: Any, probabilities: Any) -> Any:
    g, variance, binned = binned_change(old, new, probabilities)
    size = g.size
    S = np.diag(variance) + np.ones((size, size))
    u = (np.arange(size) + 0.5) / size
    zero = np.zeros(size)
    nothing = multivariate_normal(zero, S).pdf(g)
    other = np.mean(
        [
            multivariate_normal(
                zero,
                S + a**2 * np.exp(-((u[:, None] - u) ** 2) / (2 * b**2)),
            ).pdf(g)
            for a in (0.25, 0.5, 1.0)
            for b in (0.15, 0.4, 1.0)
        ]
    )
    grid = np.linspace(-3, 3, 61)
    prior = norm.pdf(grid) / norm.pdf(grid).sum()
    share = np.mean(
        [
            sum(
                w * multivariate_normal(np.log(1 - c + c * np.exp(t)), S).pdf(g)
                for t, w in zip(grid, prior, strict=True)
            )
            for c in binned
        ]
    )
    weight = np.array([0.4 * nothing, 0.2 * other, 0.4 * share])
    return weight / weight.sum()


@pytest.mark.parametrize("moved", [0.0, 0.4, -1.5])
def test_readings_are_weighed_as_normal_distributions_say(moved: float) -> None:
    old, new, probabilities = two_samples(moved, 1000, 400)
    found = weigh_readings(old, new, probabilities)
    np.testing.assert_allclose(
        found, weights_by_scipy(old, new, probabilities), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        ((0.1, 0.1, 0.8), "no shift"),
        ((0.0999, 0.1, 0.8001), "prevalence shift"),
        ((0.0, 0.2, 0.8), "prevalence shift"),
        ((0.0, 0.21, 0.79), "cannot say without labels"),
    ],
)
def test_verdicts(weights: Any, verdict: str) -> None:
    assert Readings(*weights).verdict() == verdict


def outside(pmf: Any, low: float, high: float) -> tuple[float, float]:
    """Probabilities of a value below and above an interval, value by value."""
    pairs = list(zip(pmf.values.tolist(), pmf.probabilities.tolist(), strict=True))
    below = sum(p for value, p in pairs if value < low)
    return below, sum(p for value, p in pairs if value > high)


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(20))
def test_no_reading_misses_more_than_its_part(seed: int, coverage: float) -> None:
    """Both ends hold under the mixture and every reading, and no narrower ones do."""
    rng = np.random.default_rng(seed)
    weight = rng.dirichlet([0.5, 0.5, 0.5])
    parts = [
        (np.round(rng.normal(3 * i, 1, 60), 1), rng.dirichlet(np.ones(60)))
        for i in rng.permutation(3)
    ]
    pmfs = [ScorePMF.from_atoms([one]) for one in parts]
    atoms = [(x, w * p) for (x, p), w in zip(parts, weight, strict=True)]
    mixed = ScorePMF.from_atoms(atoms)
    low, high = widen_interval(mixed, pmfs, Readings(*weight), coverage)
    allowed = (1 - coverage) / 2 * np.maximum(1, NOT_RULED_OUT / weight)
    kept = [(mixed, (1 - coverage) / 2)]
    kept += [(x, a) for x, a in zip(pmfs, allowed, strict=True) if a < 0.5]
    for pmf, most in kept:
        assert max(outside(pmf, low, high)) <= most + 1e-9
    values = mixed.values
    above, under = values[values > low].min(), values[values < high].max()
    assert any(outside(pmf, above, high)[0] > most - 1e-9 for pmf, most in kept)
    assert any(outside(pmf, low, under)[1] > most - 1e-9 for pmf, most in kept)


def test_a_reading_under_which_nothing_is_defined_widens_nothing() -> None:
    pmf = ScorePMF.from_atoms([(np.arange(10.0), np.full(10, 0.1))])
    even = Readings(0.4, 0.3, 0.3)
    assert widen_interval(pmf, [pmf, ALWAYS_UNDEFINED, pmf], even, 0.8) == (1.0, 8.0)
    assert np.isnan(
        widen_interval(ALWAYS_UNDEFINED, [ALWAYS_UNDEFINED] * 3, even, 0.8)
    ).all()


@pytest.mark.parametrize(("m", "n"), [(4000, 200), (1000, 1000), (200, 4000)])
def test_change_of_a_quiet_period_has_no_bias_where_rows_are_few(m, n):
    """Half a row added to both samples gave 0.17 for m = 4,000 and n = 200."""
    rng = np.random.default_rng(0)
    c = np.linspace(0.001, 0.9, 40)
    share = (1.0 - c) ** 8 + 0.003
    share /= share.sum()
    rare = []
    for _ in range(400):
        old, new = rng.multinomial(m, share), rng.multinomial(n, share)
        g, variance, _ = binned_change(old * 1.0, new * 1.0, c[None])
        last = slice(2 * g.size // 3, None)  # those of most positives
        rare.append(np.average(g[last], weights=1.0 / variance[last]))
    assert abs(np.mean(rare)) < 0.1


@pytest.mark.parametrize(("m", "n"), [(1000, 3000), (3000, 1000)])
def test_the_variance_of_change_is_that_of_drawn_samples(m, n):
    """Less the one degree of freedom that both totals take."""
    rng, cells = np.random.default_rng(0), 200
    c, share = np.linspace(0.02, 0.9, cells) ** 2, np.full(cells, 1 / cells)
    squares = []
    for _ in range(300):
        old, new = rng.multinomial(m, share), rng.multinomial(n, share)
        g, variance, _ = binned_change(old * 1.0, new * 1.0, c[None])
        squares.append((g**2 / variance).mean())
    # One standard error of this mean is 0.017
    assert np.mean(squares) == pytest.approx(1 - 1 / g.size, abs=0.07)


def ratio(c, selected):
    return 2 * c[selected].sum() / (selected.sum() + c.sum())


@pytest.mark.parametrize("share", [0.01, 0.03, 0.2])
@pytest.mark.parametrize("logits", [False, True])
def test_cells_give_the_expected_score_of_the_rows(share, logits):
    """With ten positives quantiles alone gave 0.02 to 0.05 less."""
    gaps = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.random(6000) < share
        x = rng.normal(np.where(y, 0.0, -6.0), 2.0) + np.log(share / 0.03)
        s = x if logits else 1 / (1 + np.exp(-x))
        found = resolve_reference((y[:1000], s[:1000]), logits=logits)
        cut = float(np.quantile(s[:1000], 1 - share))
        cells = PeriodBins.from_reference(found.rows, cut)
        inside = (s >= s[:1000].min()) & (s <= s[:1000].max())
        new = s[inside][1000:]
        cell = np.searchsorted(cells.edges, new, side="right")
        probabilities = BinProbabilities.from_calibrator(
            found.calibrator, cells
        ).probabilities
        for one, c in zip(found.calibrator.alternatives, probabilities, strict=True):
            exact = ratio(one.apply(new, logits=logits), new >= cut)
            gaps.append(ratio(c[cell], new >= cut) - exact)
    assert abs(np.mean(gaps)) < 0.002
    assert np.abs(gaps).max() < 0.025


def test_known_labels_are_bernoulli() -> None:
    _, _, probabilities = two_samples(0.0, 10, 10)
    known = np.zeros((2, CELLS))
    known[0, [3, 9]], known[1, [3, 20]] = (2, 1), (1, 4)
    theta = np.array([-1.0, 0.0, 0.7])
    found = label_likelihood(known, probabilities, theta)
    for j, c in enumerate(probabilities):
        for k, at in enumerate(theta):
            q = c * np.exp(at) / (1 - c + c * np.exp(at))
            wanted = (known[1] * np.log(q) + known[0] * np.log(1 - q)).sum()
            assert found[j, k] == pytest.approx(wanted, rel=1e-12)
