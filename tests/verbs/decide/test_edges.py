"""Where conventions, rounding and rough metrics meet; each was wrong once."""

import math

import numpy as np
import pytest
from scipy import sparse

import argmetric as am
from routes import decide_by

NAN = math.nan


def test_left_out_outcomes_do_not_make_certain_negatives_positive():
    """A group without any probability of a positive stays empty, and is left out."""
    p, groups = [0.9, 0.4, 0.0, 0.0], list("aabb")
    decision = am.decide(p, groups=groups, average="groups", zero_division=NAN)
    np.testing.assert_array_equal(decision.labels, [1, 0, 0, 0])
    only = am.decide(p[:2], zero_division=NAN)
    assert decision.expected == pytest.approx(only.expected, rel=1e-12)


def test_rare_defined_outcomes_are_kept():
    """One positive among a hundred, given that there is one: √(1/1 · (k wrong)/…)."""
    decision = am.decide([1e-20] * 100, "gmean", zero_division=NAN)
    k = np.arange(101)
    # T = 1 for certain: the hit is among the k with probability k/100.
    expected = k / 100 * np.sqrt((99 - (k - 1)) / 99, where=k > 0, out=np.zeros(101))
    np.testing.assert_allclose(decision.curve, expected, atol=1e-12)


def test_a_rough_metric_is_summed_over_windows():
    def hits_if_precise(tp, k, t, n):
        return np.where(tp >= 0.8 * k, tp / np.maximum(t, 1), 0.0)

    p = np.random.default_rng(0).random(600)
    auto = am.decide(p, hits_if_precise)
    windows = decide_by(p, hits_if_precise, method="windows")
    assert auto.n_positives == windows.n_positives
    np.testing.assert_allclose(auto.curve, windows.curve, atol=1e-12)
    assert auto.error < 1e-12


def test_the_error_covers_rounding_and_has_the_unit_of_the_metric():
    decision = am.decide(np.full(1000, 1e-12), "gmean", zero_division=1.0)
    assert 2.2e-14 < decision.error < 1e-11
    scaled = am.CustomMetric(lambda tp, k, t, n: 1e9 * tp / np.maximum(k + t, 1))
    p = np.random.default_rng(0).random(200)
    assert decide_by(p, scaled, method="windows").error > 1e-6


def test_a_threshold_survives_single_precision():
    upper = np.nextafter(np.float32(0.6), np.float32(1))
    p = np.array([0.6, upper, 0.1, 0.9], dtype=np.float32)
    decision = am.decide(p, min_positives=2, max_positives=2)
    np.testing.assert_array_equal(decision.labels, [0, 1, 0, 1])
    np.testing.assert_array_equal(p >= decision.threshold, decision.labels == 1)


def test_the_ranking_principle_is_checked_for_every_size():
    def turns_around(tp, k, t, n):
        return np.where(n < 5, -tp, tp) / (k + 1.0)

    p = [0.5] * 11
    groups = [0] * 8 + [1] * 3
    with pytest.raises(ValueError, match="need not be a top-k set"):
        am.decide(p, turns_around, groups=groups, average="groups")
    am.decide(p[:8], turns_around)


def test_the_best_single_cut_never_splits_a_tie():
    decision = am.decide([0.5] * 6, "gmean", min_positives=2, max_positives=4)
    assert decision.n_positives == 3
    assert decision.threshold is None
    assert decision.best_cut.n_positives in (0, 6)
    assert not math.isnan(decision.best_cut.threshold)


def test_known_labels_tell_about_the_shared_effect():
    """Two of four positive: the others are likelier too, by Bayes on a fine grid."""
    z = np.linspace(-9, 9, 20001)
    prior = np.exp(-(z**2) / 2)
    p = 1 / (1 + np.exp(-1.5 * z))  # the margin 1/2 keeps its centre at 0
    posterior = prior * p**2
    expected = (2 + 2 * (posterior @ p) / posterior.sum()) / 4
    known = [1, 1, NAN, NAN]
    result = am.forecast(
        [0.5] * 4, [1] * 4, "precision", overdispersion=1.5, known=known
    )
    assert result.mean == pytest.approx(expected, rel=1e-9)
    # The same in many groups, by moments.
    groups = np.repeat(np.arange(30), 4)
    many = am.forecast(
        np.full(120, 0.5),
        np.ones(120),
        "precision",
        overdispersion=1.5,
        known=np.tile(known, 30),
        groups=groups,
    )
    assert many.mean == pytest.approx(expected, rel=1e-4)


def test_a_shared_effect_in_a_large_sample_has_a_smooth_distribution():
    """Precision of all labels is the prevalence: the distribution of expit(a + z)."""
    result = am.forecast(
        np.full(20_000, 0.3), np.ones(20_000), "precision", overdispersion=1.0
    )
    assert result.mean == pytest.approx(0.3, abs=1e-4)
    assert result.cdf(0.4) == pytest.approx(0.730, abs=2e-3)


def test_effects_are_bounded_and_tiny_probabilities_survive_them():
    result = am.forecast([1e-300, 0.5], [0, 1], overdispersion=2.0)
    assert result.expected_positives == pytest.approx(0.5, rel=1e-9)


def test_lift_over_many_groups_is_not_cut_off():
    p = np.tile([0.9] + [0.02] * 9, 30)
    labels = np.tile([1] + [0] * 9, 30)
    result = am.forecast(p, labels, "lift", groups=np.repeat(np.arange(30), 10))
    assert result.interval[0] < result.mean < result.interval[1]


def test_prior_counts_the_implicit_cells_of_a_sparse_matrix():
    dense = np.array([[0.5, 0.0, 0.2], [0.0, 0.7, 0.0]])
    labels = (dense > 0.4).astype(int)
    options = {"average": "micro", "prior": 0.3}
    one = am.forecast(dense, labels, **options)
    other = am.forecast(sparse.csr_array(dense), sparse.csr_array(labels), **options)
    assert other.mean == pytest.approx(one.mean, rel=1e-9)
    with pytest.raises(ValueError, match="known is 1 where"):
        am.forecast(
            sparse.csr_array(dense), labels, average="micro", known=np.ones((2, 3))
        )


def test_a_small_p_beside_large_ones_is_a_tie_at_no_positives():
    n = 1500
    usual = np.random.default_rng(0).beta(1, 5, n)
    found = am.decide(np.stack([usual, np.full(n, 1e-15)]), "mcc", average="samples")
    alone = am.decide(usual, "mcc").n_positives
    assert found.group_n_positives.tolist() == [alone, 0]


@pytest.mark.parametrize("p", [1e-200, 0.3, 1.0 - 2.0**-53])
@pytest.mark.parametrize(("metric", "fewest"), [("mcc", 1), ("kappa", 0)])
def test_equal_items_tie_also_where_0_over_0_is_left_out(metric, fewest, p):
    """Values of rare outcomes are divided by their probability, and so is rounding."""
    for n in (34, 70, 201):
        options = {"zero_division": math.nan}
        alone = am.decide(np.full(n, p), metric, **options)
        groups = np.repeat([0, 1], n)
        both = am.decide(np.full(2 * n, p), metric, groups=groups, **options)
        assert [alone.n_positives, *both.group_n_positives] == [fewest] * 3
