"""decode(..., beam=L): the approximate decoder of Jansche (2007), and its bound."""

import math

import numpy as np
import pytest

import argmetric as am
from argmetric.sequence import (
    Hamming,
    Independent,
    MarkovChain,
    SimpleFunction,
    decode,
    expectation,
)
from sequence_oracle import random_chain

PAPER_F = am.FBeta(1, zero_division=1.0)


def section_4(utility, model, width):
    """Algorithm 1 with a beam, hypothesis by hypothesis and without reuse."""
    order = np.argsort(-model.chain().marginals(), kind="stable")
    z, rows, states = np.zeros(model.n, dtype=int), [], 0
    for k in range(model.n + 1):
        z[order[k - 1 : k]] = 1
        found = expectation(utility, z, model, beam=width)
        rows.append((found.partial, found.bounds.low, found.bounds.high))
        states += found.n_states
    kept, lower, upper = np.array(rows).T
    best = int(np.argmax(kept >= kept.max() * (1 - 1e-12)))
    z[:] = 0
    z[order[:best]] = 1
    return z, lower, upper, states


@pytest.mark.parametrize("width", [1, 3, 10, 40, 10_000])
@pytest.mark.parametrize("shape", [(1, 1), (0.5, 0.5), (0.5, 3)])
def test_the_decoder_equals_its_twin_without_reuse(width, shape):
    rng = np.random.default_rng(width)
    for n in (1, 2, 7, 19):
        model = Independent(rng.beta(*shape, n))
        for metric in (PAPER_F, "f1", am.FBeta(2), "jaccard"):
            labels, lower, upper, states = section_4(metric, model, width)
            found = decode(metric, model, beam=width)
            np.testing.assert_array_equal(found.labels, labels)
            np.testing.assert_allclose(found.curve, lower, rtol=1e-12, atol=1e-15)
            assert found.expected == pytest.approx(lower[labels.sum()], rel=1e-12)
            assert found.bound == pytest.approx(upper.max(), rel=2e-12)
            assert found.n_states <= states
            assert found.n_states < states or n < 3


@pytest.mark.parametrize("width", [1, 4, 12, 60])
@pytest.mark.parametrize("metric", [PAPER_F, "f1", "mcc", "gmean", "accuracy", "lift"])
def test_the_optimum_lies_between_the_value_and_the_bound(metric, width):
    rng = np.random.default_rng(5)
    for n in (3, 8, 15):
        model = Independent(rng.random(n))
        exact, found = decode(metric, model), decode(metric, model, beam=width)
        real = expectation(metric, found.labels, model).mean
        assert found.expected <= real + 1e-12
        assert real <= exact.expected + 1e-12
        assert exact.expected <= found.bound + 1e-12
        assert found.method == f"most probable k, beam of {width}"


def test_a_beam_wide_enough_is_exact_and_says_so():
    rng = np.random.default_rng(1)
    model = Independent(rng.random(12))
    found, exact = decode(PAPER_F, model, beam=10**9), decode(PAPER_F, model)
    assert found.proven
    assert found.bound == found.expected == pytest.approx(exact.expected, rel=1e-12)
    np.testing.assert_array_equal(found.labels, exact.labels)
    np.testing.assert_allclose(found.curve, exact.curve, rtol=1e-12)
    assert not decode(PAPER_F, model, beam=3).proven
    assert exact.n_states is None


def test_a_beam_of_one_is_viterbi():
    rng = np.random.default_rng(2)
    for n in (2, 5, 20, 50, 200):
        p = rng.random(n)
        found = decode(PAPER_F, Independent(p), beam=1)
        np.testing.assert_array_equal(found.labels, p > 0.5)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_chains_of_any_order(order):
    rng = np.random.default_rng(order)
    model = MarkovChain(*random_chain(rng, 9, order))
    for width in (2, 20, 10_000):
        labels, lower, _, _ = section_4("f1", model, width)
        found = decode("f1", model, beam=width)
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_allclose(found.curve, lower, rtol=1e-12)
        assert found.expected <= decode("f1", model).expected + 1e-12
        assert (found.bound, found.proven) == (math.inf, False)


def test_undefined_outcomes_are_left_out():
    f1 = am.FBeta(1, zero_division=np.nan)
    model = Independent([0.2, 0.1, 0.6, 0.5])
    found, exact = decode(f1, model, beam=100), decode(f1, model)
    assert found.expected == pytest.approx(exact.expected, rel=1e-12)
    np.testing.assert_array_equal(found.labels, exact.labels)
    narrow = decode(f1, model, beam=2)
    assert narrow.expected <= exact.expected <= narrow.bound
    nowhere = decode(f1, Independent([0.0, 0.0]), beam=2)
    np.testing.assert_array_equal(nowhere.labels, [1, 0])


def test_what_a_beam_cannot_be():
    model = Independent(np.full(1000, 0.5))
    for beam in (0, -1, 1.5, "auto", True):
        with pytest.raises((TypeError, ValueError), match="beam must be"):
            decode("f1", model, beam=beam)
    with pytest.raises(ValueError, match=r"beam=100000 keeps 200,000 states at each"):
        decode("f1", model, beam=100_000)


class OneOff(SimpleFunction):
    """Whether there are as many ones in y as in z, give or take one."""

    def start(self):
        return 0

    def transition(self, state, z, i, y_i):
        return state + y_i

    def value(self, state, z):
        return float(abs(state - z.sum()) <= 1)

    def bounds(self, z):
        return 0.0, 1.0


def test_utilities_of_your_own_and_losses():
    rng = np.random.default_rng(3)
    model = Independent(rng.random(8))
    labels, lower, _, states = section_4(OneOff(), model, 4)
    found = decode(OneOff(), model, beam=4)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.curve, lower)
    assert (found.n_states, found.bound) == (states, math.inf)
    loss = decode(Hamming(), model, beam=3)
    assert loss.bound == -math.inf
    assert loss.expected == loss.curve.min()
    real = expectation(Hamming(), loss.labels, model).mean
    assert real <= loss.expected
    exact = decode(Hamming(), model, beam=1000)
    np.testing.assert_array_equal(exact.labels, model.p > 0.5)
    least = am.SquaredCountError()
    found, best = decode(least, model, beam=5), decode(least, model)
    assert found.bound <= best.expected + 1e-12 <= found.expected + 2e-12
