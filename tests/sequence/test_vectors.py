"""Utilities with values in a vector space (Jansche 2007, section 5)."""

import math

import numpy as np
import pytest

from argmetric.sequence import (
    Independent,
    MarkovChain,
    VectorFunction,
    decode,
    distribution,
    evaluate,
    expectation,
)
from sequence_oracle import (
    chain_probability,
    independent_probability,
    random_chain,
    sequences,
)


class Several(VectorFunction):
    """F1, the square of the hits, and precision, undefined where nothing is taken."""

    wrap = tuple

    def start(self):
        return self.wrap((0, 0))

    def transition(self, state, z, i, y_i):
        hits, ones = state
        return self.wrap((hits + int(z[i]) * y_i, ones + y_i))

    def value(self, state, z):
        return values(state, int(z.sum()))

    def bounds(self, z):
        return np.zeros(3), np.array([1.0, z.size**2, 1.0])


class InLists(Several):
    wrap = list


def values(state, k):
    hits, ones = state
    f1 = 2 * hits / (k + ones) if k + ones else 1.0
    return np.array([f1, hits**2, hits / ones if ones else math.nan])


def enumerated(z, probability_of):
    """E of every component over the outcomes in which it is defined."""
    rows = [
        (probability_of(y), values((z @ y, y.sum()), z.sum()))
        for y in sequences(z.size)
    ]
    probability = np.array([probability for probability, _ in rows])
    found = np.array([value for _, value in rows])
    known = ~np.isnan(found)
    return (probability @ np.where(known, found, 0.0)) / (probability @ known)


@pytest.mark.parametrize("utility", [Several(), InLists()])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_every_component_equals_enumeration(utility, order):
    rng = np.random.default_rng(order)
    for n in (4, 7):
        z = rng.integers(2, size=n)
        if order:
            parts = random_chain(rng, n, order)
            model, probability_of = MarkovChain(*parts), chain_probability(*parts)
        else:
            p = rng.random(n)
            model, probability_of = Independent(p), independent_probability(p)
        found = expectation(utility, z, model)
        np.testing.assert_allclose(
            found.mean, enumerated(z, probability_of), rtol=1e-12
        )
        np.testing.assert_array_equal(found.bounds.low, found.bounds.high)
        assert found.exact
        assert found.beam is None
        assert found.n_states == expectation("f1", z, model).n_states


@pytest.mark.parametrize("width", [1, 3, 8])
def test_bounds_of_a_beam_hold_for_every_component(width):
    rng = np.random.default_rng(width)
    model = Independent(rng.random(9))
    z = rng.integers(2, size=9)
    exact = expectation(Several(), z, model).mean
    found = expectation(Several(), z, model, beam=width)
    assert (found.bounds.low <= exact).all()
    assert (exact <= found.bounds.high).all()
    assert (found.bounds.high - found.bounds.low > 0).all()
    assert found.beam == width
    assert not found.exact
    wide = expectation(Several(), z, model, beam=1000)
    np.testing.assert_allclose(wide.mean, exact, rtol=1e-12)


def test_without_bounds_nothing_is_known_of_what_is_dropped():
    class Unbounded(Several):
        def bounds(self, z):
            return VectorFunction.bounds(self, z)

    model = Independent([0.5, 0.4, 0.3, 0.6])
    found = expectation(Unbounded(), [1, 0, 1, 0], model, beam=2)
    np.testing.assert_array_equal(found.bounds.low, -np.inf)
    np.testing.assert_array_equal(found.bounds.high, np.inf)


def test_a_vector_is_refused_where_a_number_is_needed():
    model = Independent([0.5, 0.4])
    for call, name in (
        (lambda: decode(Several(), model), "decode"),
        (lambda: distribution(Several(), [1, 0], model), "distribution"),
        (lambda: evaluate(Several(), [1, 0], [1, 1]), "evaluate"),
    ):
        with pytest.raises(ValueError, match=rf"is a vector, and {name}\(\) needs a"):
            call()
    with pytest.raises((TypeError, ValueError), match="beam must be"):
        expectation(Several(), [1, 0], model, beam="auto")

    class Uneven(Several):
        def value(self, state, z):
            return [1.0] * (1 + state[0])

    with pytest.raises(ValueError, match=r"one length, not of shapes \(1,\), \(2,\)"):
        expectation(Uneven(), [1, 0], model)

    class Bare(VectorFunction):
        def start(self):
            return 0

        def transition(self, state, z, i, y_i):
            return 0

    with pytest.raises(TypeError, match="Bare must define the method `value`"):
        expectation(Bare(), [1, 0], model)
