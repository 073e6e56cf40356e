"""Shares of classes that have changed: adjust_prior against Bayes' rule and EM."""

import numpy as np
import pytest

import argmetric as am
from refusing import refuses

NAMES = ["a", "b", "c"]
OLD = np.array([0.6, 0.3, 0.1])


def shifted(n, new, seed=0):
    """Probabilities that are right at the shares OLD, of rows that have others."""
    rng = np.random.default_rng(seed)
    code = rng.choice(3, size=n, p=new)
    x = rng.normal(size=(n, 3))
    x[np.arange(n), code] += 1.5
    odds = np.exp(1.5 * x) * OLD  # the likelihood ratio of a normal shift by 1.5
    return code, odds / odds.sum(axis=1, keepdims=True)


def by_hand(p, new, old):
    rows = [[q * a / b for q, a, b in zip(row, new, old, strict=True)] for row in p]
    return np.array([[q / sum(row) for q in row] for row in rows])


def slow_em(p, old):
    """Expectation and maximisation, row by row, for a long time."""
    shares = np.full(3, 1 / 3)
    for _ in range(1000):
        shares = by_hand(p, shares, old).mean(axis=0)
    return shares


def test_known_shares_are_bayes_rule():
    _, p = shifted(50, OLD)
    new = [0.2, 0.0, 0.8]
    shift = am.classes.adjust_prior(p, prevalence=new, reference_prevalence=OLD)
    np.testing.assert_allclose(shift.apply(p), by_hand(p, new, OLD))
    logs = np.log(p) + 3.0
    np.testing.assert_allclose(shift.apply(logs, logits=True), by_hand(p, new, OLD))
    named = am.classes.adjust_prior(
        p,
        prevalence={"c": 0.8, "a": 0.2},
        reference_prevalence=dict(zip(NAMES, OLD, strict=True)),
        classes=NAMES,
    )
    np.testing.assert_array_equal(named.prevalences, new)


def test_unknown_shares_are_the_fixed_point_of_em():
    _, p = shifted(60, [0.2, 0.3, 0.5], seed=1)
    shift = am.classes.adjust_prior(p, reference_prevalence=OLD)
    np.testing.assert_allclose(shift.prevalences, slow_em(p, OLD), atol=1e-6)
    assert (shift.n, shift.prevalences.sum()) == (60, pytest.approx(1.0))
    words = am.classes.adjust_prior(
        np.log(p),
        prevalence="estimate",
        reference_prevalence=OLD,
        classes=NAMES,
        logits=True,
    )
    np.testing.assert_allclose(words.prevalences, shift.prevalences, atol=1e-9)
    assert "a 0.6 → " in repr(words)


def test_estimated_shares_come_near_the_true_ones():
    new = [0.2, 0.3, 0.5]
    code, p = shifted(8000, new, seed=2)
    shift = am.classes.adjust_prior(p, reference_prevalence=OLD)
    np.testing.assert_allclose(shift.prevalences, new, atol=0.03)
    own = np.arange(8000), code
    assert np.log(shift.apply(p)[own]).mean() > np.log(p[own]).mean() + 0.05


def test_the_shift_is_a_calibrator():
    _, p = shifted(200, OLD, seed=3)
    shift = am.classes.adjust_prior(
        p, prevalence=[0.2, 0.3, 0.5], reference_prevalence=OLD, classes=NAMES
    )
    d = am.classes.decide(p, classes=NAMES, reference=shift)
    assert d.expected == am.classes.decide(shift.apply(p), classes=NAMES).expected
    first = am.classes.calibrate(np.array(NAMES * 2), p[:6], "matrix", classes=NAMES)
    np.testing.assert_allclose(
        first.then(shift).apply(p), shift.apply(first.apply(p)), rtol=1e-12
    )


def test_an_unseen_class_keeps_what_p_says():
    code, p = shifted(400, OLD, seed=4)
    there = code != 2
    found = am.classes.decide(p, reference=(code[there], p[there]), prior="estimate")
    assert found.expected_counts[2] < 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prevalence": [0.3, 0.3, 0.3]}, "prevalence sums to"),
        ({"reference_prevalence": [0.5, 0.5]}, "one value for each of the 3 classes"),
        ({"reference_prevalence": [0.5, 0.5, 0]}, "0 for the class 2"),
        ({"prevalence": "guess"}, 'or "estimate"'),
        ({"p": np.zeros((0, 3))}, "empty"),
        ({"p": [[0.1, 0.2, 0.2]]}, "sums to"),
    ],
)
def test_wrong_input(change, message):
    good = {"p": shifted(10, OLD)[1], "reference_prevalence": OLD}
    refuses(ValueError, message, am.classes.adjust_prior, **good | change)
    sure = am.classes.adjust_prior(**good, prevalence=[0.5, 0.5, 0.0])
    refuses(ValueError, "3 columns", sure.apply, [[0.5, 0.5]])
