"""Laws on finitely many values, and their conventions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from argmetric._ground.discrete import (
    ROUNDING,
    SAME,
    DiscreteLaw,
    central_interval,
    distinct,
)


@dataclass
class Law(DiscreteLaw):
    values: np.ndarray
    probabilities: np.ndarray


# 0.1 + 0.2 + ... and 0.3 are off by a last bit, as sums of probabilities are
TENTHS = Law(np.arange(10) * 0.1, np.full(10, 0.1))


def test_cdf_counts_values_that_are_missed_by_rounding():
    for i in range(10):
        below, at = TENTHS.probability_below(i / 10), TENTHS.cdf(i / 10)
        assert below == pytest.approx(i / 10, abs=1e-15)
        assert at == pytest.approx((i + 1) / 10, abs=1e-15)
    assert TENTHS.cdf(0.3 - 2 * ROUNDING) == pytest.approx(0.3)
    assert TENTHS.cdf(-math.inf) == 0.0
    assert TENTHS.cdf(math.inf) == pytest.approx(1.0, abs=1e-15)


def test_quantile_is_the_first_value_whose_cdf_reaches_it():
    for i in range(1, 11):
        assert TENTHS.quantile(i / 10) == TENTHS.values[i - 1]
        assert TENTHS.quantile(i / 10 - 2 * ROUNDING) == TENTHS.values[i - 1]
    assert TENTHS.quantile(0.3 + 2 * ROUNDING) == TENTHS.values[3]
    assert TENTHS.quantile(0.0) == 0.0
    assert TENTHS.quantile(1.0) == TENTHS.values[-1]


def test_quantile_and_cdf_agree_on_any_law():
    rng = np.random.default_rng(0)
    for _ in range(50):
        size = int(rng.integers(1, 40))
        chances = rng.dirichlet(np.ones(size))
        law = Law(np.sort(rng.normal(size=size)), chances)
        for q in rng.uniform(size=20):
            x = law.quantile(q)
            assert law.cdf(x) >= q - 2 * ROUNDING
            assert law.probability_below(x) < q


def test_a_law_of_nothing():
    law = Law(np.zeros(0), np.zeros(0))
    assert math.isnan(law.quantile(0.5))
    assert law.cdf(1.0) == 0.0


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, "half"])
def test_quantile_refuses_what_is_no_probability(q):
    with pytest.raises((TypeError, ValueError), match=r"^q must "):
        TENTHS.quantile(q)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_values_that_differ_by_rounding_are_one(scale):
    a, b = scale, scale * (1 + SAME / 4)
    values, weights = distinct(
        np.array([b, 0.5 * scale, a, 0.0]), np.array([0.1, 0.2, 0.3, 0.4])
    )
    assert values.tolist() == [0.0, 0.5 * scale, a]
    assert weights == pytest.approx([0.4, 0.2, 0.4])
    apart = np.array([a, scale * (1 + 4 * SAME)])
    assert distinct(apart, np.ones(2))[0].size == 2


def test_distinct_values_of_odd_laws():
    assert distinct(np.zeros(0), np.zeros(0))[0].size == 0
    assert distinct(np.zeros(3), np.ones(3))[1].tolist() == [3.0]
    values, _ = distinct(np.array([np.inf, 1.0, -np.inf]), np.ones(3))
    assert values.tolist() == [-np.inf, 1.0, np.inf]


def test_the_central_interval_leaves_half_of_the_rest_beyond_each_end():
    values = np.array([0.0, 1.0, 2.0, 4.0])
    chances = np.array([0.3, 0.2, 0.4, 0.1])
    assert central_interval(values, chances, 0.4) == (1.0, 2.0)  # .3 below, .1 above
    assert central_interval(values, chances, 0.5) == (0.0, 2.0)
    assert central_interval(values, chances, 0.8) == (0.0, 2.0)
    assert central_interval(values, chances, 0.9) == (0.0, 4.0)
    assert central_interval(values, chances, 1.0) == (0.0, 4.0)
    assert central_interval(values[:1], np.ones(1), 0.9) == (0.0, 0.0)
