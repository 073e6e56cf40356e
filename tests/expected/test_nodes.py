"""The exponential sums that stand for powers, in which every term is positive."""

import numpy as np
import pytest

from argmetric._expected.kernels.nodes import exponential_sum, two_sided_sum


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.0])
@pytest.mark.parametrize("ratio", [1.0, 2.0, 32.0, 1e3, 1e6, 1e9])
def test_exponential_sums_are_accurate_uniformly(alpha, ratio):
    nodes, weights = exponential_sum(alpha, 3.0, 3.0 * ratio)
    y = np.geomspace(3.0, 3.0 * ratio, 500)
    approximation = np.exp(-np.outer(y, nodes)) @ weights
    np.testing.assert_allclose(approximation, y**-alpha, rtol=1e-14)
    assert (weights > 0).all()


@pytest.mark.parametrize("n", [2, 3, 20, 1000, 100_000])
def test_two_sided_sums_are_accurate_uniformly(n):
    nodes, weights = two_sided_sum(n)
    t = np.unique(np.geomspace(1, n - 1, 300).round())
    t = np.union1d(t, n - t)
    terms = np.exp(-np.outer(t, nodes)) + np.exp(-np.outer(n - t, nodes))
    np.testing.assert_allclose(terms @ weights, (t * (n - t)) ** -0.5, rtol=1e-14)
    assert (weights > 0).all()
