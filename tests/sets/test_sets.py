"""`sets.decide` against all sets, and the score that it tells to expect."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import argmetric as am
from refusing import refuses

ITEMS = "abcdefg"
METRICS = [
    am.FBeta(1.0),
    am.FBeta(2.0),
    am.FBeta(0.5),
    am.Jaccard(),
    am.Tversky(0.3, 0.9),
    am.Tversky(0.2, 0.3),
]


def mean_score(chosen, samples, weights, metric):
    """The mean score of a set over samples, by the metric's own values."""
    total = 0.0
    for one, weight in zip(samples, weights, strict=True):
        hits, k, t = len(chosen & one), len(chosen), len(one)
        total += weight * float(metric.value(hits, k, t, 100))
    return total


def best_of_all(samples, weights, metric, most):
    """The highest mean score of all sets, and the smallest size that has it."""
    items = sorted(set().union(*samples))
    chosen = list(product([0, 1], repeat=len(items)))
    chosen = np.array(chosen, dtype=int).reshape(len(chosen), len(items))
    chosen = chosen[chosen.sum(axis=1) <= most]
    k, values = chosen.sum(axis=1), np.zeros(len(chosen))
    for one, weight in zip(samples, weights, strict=True):
        hits = chosen @ np.array([item in one for item in items], dtype=int)
        values += weight * metric.value(hits, k, len(one), 100)
    best = values.max()
    return best, k[values > best - 1e-12].min()


@given(
    st.lists(st.sets(st.sampled_from(ITEMS)), min_size=1, max_size=6),
    st.sampled_from(METRICS),
    st.sampled_from([0.0, 1.0]),
    st.integers(0, 8),
    st.randoms(use_true_random=False),
)
def test_the_best_of_all_sets_is_found(samples, metric, zero, most, random):
    metric = am.get_metric(metric, zero_division=zero)
    weights = [random.choice((0.0, 1.0, 2.5)) for _ in samples]
    weights[0] = 1.0
    found = am.sets.decide(samples, metric, weights=weights, max_items=most)
    shares = np.array(weights) / sum(weights)
    best, size = best_of_all(samples, shares, metric, most)
    assert found.expected == pytest.approx(best, abs=1e-12)
    assert found.bound == pytest.approx(best, abs=1e-12)
    told = mean_score(set(found.labels), samples, shares, metric)
    assert told == pytest.approx(best, abs=1e-12)
    assert len(found.labels) == found.sizes[0] == size


@pytest.mark.parametrize("metric", ["jaccard", am.Tversky(0.3, 0.9)])
def test_many_items_are_within_the_bound(metric):
    """More items than all sets are tried for: the bound holds, and is seldom far."""
    rng = np.random.default_rng(3)
    gaps = []
    for _ in range(60):
        p = rng.beta(0.4, 0.8, 14)
        shift = rng.normal(0.0, 1.5, 8)[:, None]
        odds = np.log(p / (1 - p)) + shift
        draws = rng.random((8, 14)) < 1 / (1 + np.exp(-odds))
        samples = [set(np.flatnonzero(row).tolist()) for row in draws]
        found = am.sets.decide(samples, metric)
        kind = am.get_metric(metric)
        best, _ = best_of_all(samples, np.full(8, 1 / 8), kind, 14)
        assert found.bound >= best - 1e-12
        gaps.append(best - found.expected)
    assert min(gaps) > -1e-12
    assert np.median(gaps) < 1e-12
    assert max(gaps) < 0.01


def test_forms_of_samples_agree():
    rng = np.random.default_rng(0)
    draws = (rng.random((7, 9, 5)) < 0.4).astype(int)
    matrix = am.sets.decide(draws, "f1")
    lists = [
        [set(np.flatnonzero(d).tolist()) for d in row] for row in draws.swapaxes(0, 1)
    ]
    sets = am.sets.decide(lists, "f1")
    keyed = am.sets.decide({f"q{i}": one for i, one in enumerate(lists)}, "f1")
    alone = [am.sets.decide(one, "f1") for one in lists]
    assert matrix.labels.shape == (9, 5)
    assert [set(np.flatnonzero(row)) for row in matrix.labels] == sets.labels
    assert list(keyed.labels.values()) == sets.labels
    assert [one.labels for one in alone] == sets.labels
    for found in (matrix, keyed):
        np.testing.assert_allclose(found.expected_each, sets.expected_each, rtol=1e-15)
    np.testing.assert_allclose([one.mean for one in alone], sets.mean_each, rtol=1e-12)


def test_items_that_a_sample_has_twice_count_once():
    twice = am.sets.decide([["a", "a", "b"], ["a"]], "f1")
    once = am.sets.decide([{"a", "b"}, {"a"}], "f1")
    assert twice.labels == once.labels
    assert twice.expected == once.expected


def test_a_copied_sample_weighs_as_a_weight_does():
    copied = am.sets.decide([{"a"}, {"b", "c"}, {"b", "c"}], "f1")
    weighted = am.sets.decide([{"a"}, {"b", "c"}], "f1", weights=[1, 2])
    assert copied.labels == weighted.labels
    assert copied.expected == pytest.approx(weighted.expected, abs=1e-15)


def test_decisions_beat_votes_and_the_best_sample_on_new_truths():
    """Labels that depend on each other: F1 on labels drawn from one distribution."""
    rng = np.random.default_rng(5)
    gains = []
    for _ in range(150):
        odds = rng.normal(-1.0, 1.0, 12) + rng.normal(0.0, 2.0, (31, 1))
        draws = rng.random((31, 12)) < 1 / (1 + np.exp(-odds))
        samples, truth = draws[:10, None], draws[10:]
        chosen = am.sets.decide(samples, "f1", zero_division=1.0).labels[0] == 1
        votes = draws[:10].mean(axis=0) >= 0.5

        def score(labels, truth=truth):
            hits = (labels & truth).sum(axis=1)
            both = labels.sum() + truth.sum(axis=1)
            return np.where(both > 0, 2 * hits / np.maximum(both, 1), 1.0).mean()

        gains.append(score(chosen) - score(votes))
    assert np.mean(gains) > 3 * np.std(gains) / np.sqrt(len(gains))


def draw_answers(rng, n, sure):
    """Samples of a model that is too sure, and truths, of n questions."""
    odds = rng.normal(-0.5, 1.5, (n, 1, 8)) + rng.normal(0.0, 1.0, (n, 1, 1))
    truth = rng.random((n, 8)) < 1 / (1 + np.exp(-odds[:, 0]))
    draws = rng.random((n, 10, 8)) < 1 / (1 + np.exp(-sure * odds))
    return draws.swapaxes(0, 1).astype(int), truth.astype(int)


def actual(labels, truth):
    hits, both = (labels * truth).sum(1), labels.sum(1) + truth.sum(1)
    return np.where(both > 0, 2 * hits / np.maximum(both, 1), 0.0).mean()


def test_intervals_hold_with_a_reference_and_miss_without_for_a_model_too_sure():
    rng = np.random.default_rng(1)
    with_reference = without = 0
    for _ in range(80):
        old, truth = draw_answers(rng, 60, 3.0)
        new, new_truth = draw_answers(rng, 100, 3.0)
        found = am.sets.decide(new, reference=(truth, old))
        score = actual(found.labels, new_truth)
        with_reference += found.interval[0] <= score <= found.interval[1]
        plain = am.sets.decide(new)
        without += plain.interval[0] <= score <= plain.interval[1]
    assert 0.82 <= with_reference / 80 <= 0.98
    assert without / 80 < 0.1


def test_the_score_of_an_honest_model_is_that_of_new_truths():
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(80):
        new, truth = draw_answers(rng, 100, 1.0)
        found = am.sets.decide(new)
        held += found.interval[0] <= actual(found.labels, truth) <= found.interval[1]
        assert found.mean < found.expected
    assert 0.82 <= held / 80 <= 0.98


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"],), "sample 0 of question 0 of samples is 'a'"),
        (([],), "samples is empty"),
        (([[{"a"}], []],), "question 1 of samples has no samples"),
        (([{"a"}], "mcc"), "must be F-beta, Dice, Jaccard or Tversky, not mcc"),
        (([[["a"]], [[["b"]]]],), "items must be hashable, such as texts"),
        (("rome",), "samples is 'rome': samples must be several sets"),
        (({"q": [], "r": [{"a"}]},), "question 'q' of samples has no samples"),
        (([[1, 0, 1], [0, 0, 1]],), "lists of 0 and 1 only: pass draws as an array"),
        ((np.zeros((2, 3)),), r"samples has shape \(2, 3\)"),
        ((np.zeros((2, 3, 0)),), r"samples has shape \(2, 3, 0\)"),
        ((sp.csr_array(np.eye(2)),), "samples is a value of type csr_array"),
        ((np.full((1, 1, 2), 2),), "samples has 2 in draw 0, row 0, label 0"),
    ],
)
def test_bad_samples_are_refused(arguments, message):
    refuses((ValueError, TypeError), message, am.sets.decide, *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0]}, "weights has 1 numbers and question 0 2 samples"),
        ({"weights": [0.0, 0.0]}, "all weights of question 0 are 0"),
        ({"weights": [1.0, -1.0]}, "weights must be finite and ≥ 0: number 1"),
        ({"weights": 3}, "weights must be a list of numbers, not 3"),
        ({"weights": ["a", 1]}, "weights is not a number at row 0: 'a'"),
        ({"weights": {"q": [1, 1]}}, "weights is a dict, but samples are not"),
        ({"zero_division": float("nan")}, "zero_division=nan"),
        ({"reference": ([{"a"}], [[{"a"}]])}, r"has samples of 1 question\(s\): 10 or"),
        ({"reference": (["ab"] * 10, [[{"a"}]] * 10)}, "is 'ab' for question 0, and"),
        ({"reference": (None, [[{"a"}]] * 10)}, "is None: pass a set for every"),
        ({"reference": ([[["a"]]] * 10, [[{"a"}]] * 10)}, "items must be hashable"),
        ({"reference": ({0: {"a"}}, [[{"a"}]] * 10)}, "is a dict, but samples are not"),
        ({"max_items": -1}, "max_items must be a whole number ≥ 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    refuses((ValueError, TypeError), message, am.sets.decide, [{"a"}, {"b"}], **options)


def test_forms_that_say_the_same_are_taken():
    answers = [{"a", "b"}, {"a"}, {"c"}]
    found = am.sets.decide({"q": answers}, weights={"q": [1, 2, 3]})
    assert found.labels["q"] == am.sets.decide(tuple(answers), weights=(1, 2, 3)).labels
    draws = np.random.default_rng(0).integers(0, 2, (4, 10, 3))
    with pytest.raises(ValueError, match="has 2 in row 0, label 0: draws are 0 or 1"):
        am.sets.decide(draws, reference=(np.full((10, 3), 2), draws))


def test_a_single_sample_is_no_forecast():
    found = am.sets.decide([[{"a"}], [{"a"}, {"b"}]])
    assert "1 of 2 questions have one sample, which the set equals" in found.notes[1]
    assert len(am.sets.decide([{"a"}, {"b"}]).notes) == 1


def test_a_decision_shows_the_score_first():
    found = am.sets.decide([{"a", "b"}, {"a"}, {"a", "c"}])
    first, *rest = repr(found).splitlines()
    assert first.startswith("SetDecision: F1 ")
    assert "maximum" in repr(found)
    assert len(rest) <= 9
    assert found.to_dict()["mean"] == found.mean
    assert list(found.to_frame()["size"]) == [1]
