"""The likelihood over θ and the three readings, against slow twins on rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal, norm

from argmetric._calibrate.resolve import resolve_reference
from argmetric._monitor._cells import Cells, rows_of
from argmetric._monitor._likelihood import (
    ThetaTable,
    label_likelihood,
    likelihood_of,
    population_share,
)
from argmetric._monitor._readings import Readings, binned_change, weigh_readings

CELLS = 30


def two_samples(theta: float, m: int, n: int, seed: int = 0) -> Any:
    """Rows of cells, then and now, and three maps of which the first is right."""
    rng = np.random.default_rng(seed)
    chance = np.linspace(0.01, 0.9, CELLS) ** 2
    density = rng.dirichlet(np.full(CELLS, 4.0))
    moved = density * (1 - chance + chance * np.exp(theta))
    old = rng.multinomial(m, density).astype(float)
    new = rng.multinomial(n, moved / moved.sum()).astype(float)
    return old, new, np.stack([chance, chance**1.3, np.sqrt(chance) * 0.8])


def loglik_of_rows(old: Any, new: Any, chance: Any, theta: float) -> float:
    """max over a of Σ_new log r - Σ_all log(m + n·r) + (m + n)·log(m + n), on rows."""
    then, now = (np.repeat(chance, x.astype(int)) for x in (old, new))
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
    old, new, chances = two_samples(moved, 300, 200)
    table = ThetaTable.of(old, new, np.zeros((2, CELLS)), chances)
    assert table.width.sum() == pytest.approx(8.0, rel=0.01)
    for at in (-3.3, -1.17, 0.0, 0.61, 2.02):
        for row, chance in enumerate(chances):
            found = np.interp(at, table.theta, table.scores[row])
            wanted = loglik_of_rows(old, new, chance, at)
            assert found == pytest.approx(wanted, abs=0.02)
    np.testing.assert_allclose(
        [np.interp(0.0, table.theta, row) for row in table.scores], 0.0, atol=1e-3
    )


@pytest.mark.parametrize("n", [1, 40, 3000, 300_000])
def test_the_likeliest_theta_and_a_narrow_posterior(n: int) -> None:
    old, new, chances = two_samples(0.8, 2000, n)
    (theta,), (level,) = likelihood_of(old, new, chances[:1]).peaks
    one = likelihood_of(old, new, chances[:1])
    found = minimize_scalar(
        lambda x: -float(one.loglik(np.array([[x]]))[0, 0]),
        bounds=(-8, 8),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert level == pytest.approx(-found.fun, abs=1e-3)
    if abs(theta) < 7.9:
        assert theta == pytest.approx(found.x, abs=0.01)
    # However narrow the likelihood is, the table has points below its peak
    table = ThetaTable.of(old, new, np.zeros((2, CELLS)), chances[:1])
    assert (table.scores[0] > table.scores[0].max() - 2.0).sum() >= 8
    assert table.scores[0].max() == pytest.approx(
        max(level, 0.0) if abs(theta) < 4 else table.scores[0].max(), abs=0.05
    )


@pytest.mark.parametrize("moved", [-1.2, 0.0, 0.8])
def test_the_share_of_the_population_ends_where_the_likelihood_has_fallen(
    moved: float,
) -> None:
    old, new, (chance, *_) = two_samples(moved, 300, 400)
    (peak,) = likelihood_of(old, new, chance[None]).peaks[1]
    odds = old @ chance / (old @ (1 - chance))
    for share in population_share(old, new, chance, 0.9):
        theta = np.log(share / (1 - share) / odds)
        level = loglik_of_rows(old, new, chance, theta)
        assert 2 * (peak - level) == pytest.approx(norm.ppf(0.95) ** 2, abs=0.01)


def test_the_share_of_the_population_is_open_where_scores_tell_nothing() -> None:
    old = np.array([50.0, 50.0])
    low, high = population_share(old, np.array([1.0, 0.0]), np.array([0.1, 0.9]), 0.9)
    assert low < 0.001 < 0.5 < high < 1.0


def test_the_share_of_the_population_is_covered_as_stated() -> None:
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.random(1500) < np.repeat([0.2, 0.1], [500, 1000])
        p = 1 / (1 + np.exp(1.0 - rng.normal(2.0 * y, 1.0)))
        reference = resolve_reference(None, (y[:500], p[:500]), logits=False)
        cells = Cells.of(reference.rows, None)
        chance = reference.calibrator.apply(cells.scores)
        old, new = (rows_of(cells.count(x, x > 2)[0]) for x in (p[:500], p[500:]))
        low, high = population_share(old, new, chance, 0.9)
        held += low <= 0.1 <= high
    assert 47 <= held <= 59  # 54 expected, 2.3 the standard error


def test_known_labels_are_bernoulli() -> None:
    _, _, chances = two_samples(0.0, 10, 10)
    known = np.zeros((2, CELLS))
    known[0, [3, 9]], known[1, [3, 20]] = (2, 1), (1, 4)
    theta = np.array([-1.0, 0.0, 0.7])
    found = label_likelihood(known, chances, theta)
    for j, chance in enumerate(chances):
        for k, at in enumerate(theta):
            q = chance * np.exp(at) / (1 - chance + chance * np.exp(at))
            wanted = (known[1] * np.log(q) + known[0] * np.log(1 - q)).sum()
            assert found[j, k] == pytest.approx(wanted, rel=1e-12)


def weights_by_scipy(old: Any, new: Any, chances: Any) -> Any:
    g, variance, binned = binned_change(old, new, chances)
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
def test_readings_are_weighed_as_normal_laws_say(moved: float) -> None:
    old, new, chances = two_samples(moved, 1000, 400)
    found = weigh_readings(old, new, chances)
    np.testing.assert_allclose(found, weights_by_scipy(old, new, chances), rtol=1e-9)


def test_bins_hold_the_change_of_their_cells() -> None:
    old, new, chances = two_samples(0.0, 500, 250)
    g, variance, binned = binned_change(old, new, chances)
    assert 10 <= g.size <= 20
    # 1/V is at most the harmonic mean of the rows of both, and rows add up
    assert (1 / variance).sum() <= 500 * 250 / 750 + g.size
    assert binned.shape == (3, g.size)
    assert (np.diff(binned[0]) > 0).all()
    one = np.zeros(CELLS)
    one[7] = 1.0
    g, _, _ = binned_change(old, one, chances)  # a period of one row
    assert np.isfinite(g).all()


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        ((0.1, 0.1, 0.8), "fine"),
        ((0.0999, 0.1, 0.8001), "share moved"),
        ((0.0, 0.2, 0.8), "share moved"),
        ((0.0, 0.21, 0.79), "cannot say without labels"),
    ],
)
def test_verdicts(weights: Any, verdict: str) -> None:
    assert Readings(*weights).verdict() == verdict


def test_verdicts_of_many_segments_need_more_evidence() -> None:
    one = Readings(0.02, 0.0, 0.98)
    assert one.verdict() == "share moved"
    assert one.verdict(5) == "share moved"  # 0.1/1.08
    assert one.verdict(6) == "fine"


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
