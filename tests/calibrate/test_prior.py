"""A prevalence that changed: known, or found from the scores."""

import math

import numpy as np
import pytest

import argmetric as am
from calibrated import expit, logit, unpenalised


def test_a_known_prevalence_is_bayes_rule():
    shift = am.adjust_prior([0.3], prevalence=0.1, reference_prevalence=0.4)
    factor = (0.1 / 0.9) / (0.4 / 0.6)
    p = np.array([0.0, 0.2, 0.5, 0.99, 1.0])
    odds = factor * p[:-1] / (1 - p[:-1])
    np.testing.assert_allclose(shift.apply(p), [*odds / (1 + odds), 1.0], rtol=1e-14)
    assert (shift.prevalence, shift.reference_prevalence) == (0.1, 0.4)
    assert shift.n_iterations == 0
    np.testing.assert_allclose(shift.apply_logits([900.0]), [900 + math.log(factor)])


def saerens(p, old, steps=200_000):
    """The EM iteration as it is printed."""
    pi = old
    for _ in range(steps):
        odds_p, odds_n = p * pi / old, (1 - p) * (1 - pi) / (1 - old)
        new = float((odds_p / (odds_p + odds_n)).mean())
        if abs(new - pi) < 1e-16:
            break
        pi = new
    return pi


@pytest.mark.parametrize("seed", range(5))
def test_the_prevalence_that_is_found_is_where_em_ends(seed):
    rng = np.random.default_rng(seed)
    p, old = rng.beta(1, 2, 60), rng.uniform(0.2, 0.5)
    ours = am.adjust_prior(p, reference_prevalence=old)
    assert ours.prevalence == pytest.approx(saerens(p, old), rel=1e-9)
    same = am.adjust_prior(logit(p), reference_prevalence=old, logits=True)
    assert same.prevalence == pytest.approx(ours.prevalence, rel=1e-12)
    assert (ours.n, 0 < ours.n_iterations < 50) == (60, True)


def test_a_simulated_shift_is_found_and_corrected():
    """Two normals: p is calibrated for 0.5, the batch has 0.1."""
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.1
    x = 2 * rng.normal(np.where(y, 1.0, -1.0), 1.0)  # log-odds under equal shares
    shift = am.adjust_prior(x, reference_prevalence=0.5, logits=True)
    assert shift.prevalence == pytest.approx(0.1, abs=0.005)
    corrected = shift.apply(x, logits=True)
    assert corrected.mean() == pytest.approx(y.mean(), abs=0.005)
    known = am.adjust_prior(
        x, prevalence=0.1, reference_prevalence=0.5, logits=True
    ).apply(x, logits=True)
    np.testing.assert_allclose(known, expit(x + math.log(1 / 9)), rtol=1e-12)
    for p in (corrected, known):
        slope, intercept = unpenalised([logit(p)], y, np.ones(y.size))
        assert slope == pytest.approx(1, abs=0.05)
        assert intercept == pytest.approx(0, abs=0.1)


def test_certain_rows_are_no_trouble():
    p = [0.0, 1.0, 0.3, 0.6]
    found = am.adjust_prior(p, reference_prevalence=0.3)
    assert found.prevalence == pytest.approx(saerens(np.array(p), 0.3), rel=1e-9)
    assert found.apply([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_prior_errors():
    for bad in (0.0, 1.0, -0.2, 1.5, float("nan")):
        with pytest.raises(ValueError, match="prevalence must"):
            am.adjust_prior([0.3], prevalence=bad, reference_prevalence=0.5)
        with pytest.raises(ValueError, match="reference_prevalence must"):
            am.adjust_prior([0.3], prevalence=0.5, reference_prevalence=bad)
    with pytest.raises(ValueError, match="runs to 0: all 3 scores"):
        am.adjust_prior([0.1, 0.2, 0.1], reference_prevalence=0.5)
    with pytest.raises(TypeError, match="must be a number"):
        am.adjust_prior([0.1], prevalence="0.3", reference_prevalence=0.5)


# Chains, files, printed forms
