"""A vote share tuned on a reference, beside sums over samples."""

import math

import numpy as np
import pytest

import argmetric as am

ITEMS = np.array(list("abcdefgh"))


def f1(a, b):
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 0.0


def named(rows):
    return [frozenset(ITEMS[row].tolist()) for row in rows]


def questions(rng, n, *, doubtful, k=10):
    """Samples and truth of n questions: every fourth item is `doubtful` of the time.

    The others are named 0.95 of the time where they are true; the doubtful ones are
    never true.
    """
    true = rng.random((n, 8)) < 0.4
    wrong = np.arange(8) % 4 == 0
    true &= ~wrong
    p = np.where(wrong, doubtful, np.where(true, 0.95, 0.02))
    draws = rng.random((k, n, 8)) < p
    return [named(one) for one in draws.swapaxes(0, 1)], named(true)


def voted(samples, least, most=99):
    """Items with a vote share of `least`, the largest shares first."""
    items = sorted(frozenset().union(*samples))
    shares = {x: sum(x in one for one in samples) / len(samples) for x in items}
    ranked = sorted(items, key=lambda x: -shares[x])
    return frozenset([x for x in ranked if shares[x] >= least - 1e-12][:most])


def tuned(samples, truth, most=99):
    """The highest mean score of all vote shares, and that score."""
    pairs = list(zip(samples, truth, strict=True))
    scores = {
        least / 10: np.mean([f1(voted(one, least / 10, most), t) for one, t in pairs])
        for least in range(12)
    }
    best = max(scores, key=scores.__getitem__)
    return best, scores[best]


@pytest.mark.parametrize("most", [None, 2])
def test_votes_are_taken_where_they_score_more_on_the_reference(most):
    rng = np.random.default_rng(0)
    old, truth = questions(rng, 80, doubtful=0.7)
    new, new_truth = questions(rng, 200, doubtful=0.7)
    limit = 99 if most is None else most
    least, _ = tuned(old, truth, limit)
    d = am.sets.decide(new, "f1", reference=(truth, old), max_items=most)
    assert least - 0.1 < d.vote_share <= least
    assert d.labels == [voted(one, least, limit) for one in new]
    assert f"the items that {d.vote_share:.0%} or more of the samples" in d.notes[0]
    pairs = list(zip(new, d.labels, strict=True))
    means = [np.mean([f1(z, x) for x in one]) for one, z in pairs]
    assert d.expected_each == pytest.approx(means, abs=1e-12)
    assert (d.expected_each <= d.bound_each + 1e-12).all()
    plain = am.sets.decide(new, "f1", max_items=most)
    score, before = (
        np.mean([f1(a, b) for a, b in zip(x.labels, new_truth, strict=True)])
        for x in (d, plain)
    )
    assert score > before + (0.1 if most is None else 0.02)
    assert d.interval[0] <= score <= d.interval[1]


def honest(rng, n, k=10):
    """Samples and truth of a model whose samples are like the truth."""
    odds = rng.normal(-1.5, 1.5, (n, 1, 8)) + rng.normal(0.0, 1.0, (n, 1, 1))
    draws = rng.random((n, k + 1, 8)) < 1 / (1 + np.exp(-odds))
    return [named(one[:k]) for one in draws], named(draws[:, k])


def test_an_honest_model_keeps_the_sums_over_its_samples():
    samples, truth = honest(np.random.default_rng(1), 400)
    d = am.sets.decide(samples[:200], reference=(truth[200:], samples[200:]))
    assert d.vote_share is None
    assert d.labels == am.sets.decide(samples[:200]).labels
    assert not d.notes


def test_sums_are_taken_where_no_vote_share_scores_more_on_the_reference():
    rng = np.random.default_rng(3)
    by_sums = []
    for _ in range(12):
        old, truth = honest(rng, 40)
        plain = am.sets.decide(old).labels
        score = np.mean([f1(a, b) for a, b in zip(plain, truth, strict=True)])
        d = am.sets.decide(old, reference=(truth, old))
        by_sums.append(d.vote_share is None)
        assert by_sums[-1] == (score >= tuned(old, truth)[1])
    assert 2 <= sum(by_sums) <= 10


def test_no_reference_is_far_below_the_vote_share_that_is_tuned_on_it():
    rng = np.random.default_rng(2)
    gains = []
    for doubtful in np.repeat([0.05, 0.3, 0.5, 0.7, 0.9], 6):
        old, truth = questions(rng, 40, doubtful=doubtful)
        new, new_truth = questions(rng, 100, doubtful=doubtful)
        least, _ = tuned(old, truth)
        d = am.sets.decide(new, reference=(truth, old))
        rival = [voted(one, least) for one in new]
        gains += [
            f1(a, t) - f1(b, t)
            for a, b, t in zip(d.labels, rival, new_truth, strict=True)
        ]
    assert np.mean(gains) > -0.005


def test_empty_sets_are_a_share_too():
    """Where nothing is ever true and an empty set counts 1, nothing is taken."""
    samples = [[{"a"}, {"a", "b"}], [{"c"}, {"c"}]] * 6
    d = am.sets.decide(
        samples, reference=([frozenset()] * 12, samples), zero_division=1.0
    )
    assert math.isinf(d.vote_share)
    assert d.labels == [frozenset()] * 12
    assert d.mean > 0.8
    assert d.notes == ("sets have no items, which scores most on the reference",)


def test_weights_count_in_votes_and_other_numbers_of_samples_fit():
    rng = np.random.default_rng(3)
    old, truth = questions(rng, 60, doubtful=0.6)
    answers = [[{"a", "b"}, {"a", "c"}, {"a", "c", "d"}]]
    d = am.sets.decide(answers, reference=(truth, old), weights=[1, 1, 10])
    assert 0.6 < d.vote_share <= 0.9
    assert d.labels == [{"a", "c", "d"}] if d.vote_share < 10 / 12 else [{"a", "c"}]
