"""Compiled SEARN on sequences against the generic loop, which asks the task."""

import numpy as np
import pytest

from argmetric.search import (
    LinearLearner,
    Searn,
    SequenceLabelling,
    SpanChunking,
    WordChunking,
)
from searn_tasks import (
    GenericChunking,
    GenericLabelling,
    Kept,
    chunked,
    labelled,
    own,
    pairs,
)


def fits_of(which, n=40, **options):
    """Compiled and generic, with what their learners were given."""
    compiled, generic, sample = pairs()[which]
    fast, slow = (
        Searn(task, Kept(epochs=3, hash_bits=None), **options).fit(*sample(0, n))
        for task in (compiled, generic)
    )
    for one, other in zip(fast.history_, slow.history_, strict=True):
        assert one.examples == other.examples
        assert one.regret == pytest.approx(other.regret, abs=1e-9)
        assert one.roll_in_loss == pytest.approx(other.roll_in_loss)
        assert one.initial_weight == other.initial_weight
    return fast, slow


@pytest.mark.parametrize("which", ["labels", "chunks"])
@pytest.mark.parametrize("costs", ["optimal", "rollout", "tied"])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_roll_in_and_costs(which, costs, beta):
    """By the initial policy, then by a mixture of it or by what was learned alone."""
    options = {"beta": beta, "iterations": 3, "n_rollouts": 3, "random_state": 5}
    fast, slow = fits_of(which, costs=costs, **options)
    met = zip(fast.learner.seen, slow.learner.seen, strict=True)
    scorer = fast.policy_.learned[0].scorer
    for (decisions, found), (expected, right) in met:
        assert type(decisions) is not type(expected)  # compiled, and not
        np.testing.assert_allclose(found, right, atol=1e-12)
        np.testing.assert_array_equal(decisions.indptr, expected.indptr)
        np.testing.assert_allclose(
            scorer.scores(decisions), scorer.scores(expected), atol=1e-12
        )


@pytest.mark.parametrize("which", ["labels", "chunks"])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"beta": 1.0, "iterations": 2},
        {"beta": 0.4, "iterations": 3},
        {"beta": 1.0, "iterations": 1, "beam_scores": "raw"},
    ],
)
def test_a_whole_fit(which, beam, options):
    fast, slow = fits_of(which, beam=beam, **options)
    X, Y = pairs()[which][2](1, 60)
    assert fast.predict(X) == slow.predict(X)
    assert fast.score(X, Y) == slow.score(X, Y)


@pytest.mark.parametrize("kind", ["perceptron", "svm", "logistic"])
@pytest.mark.parametrize("history", [0, 1, 3])
def test_learners_and_lengths_of_history(kind, history):
    compiled, generic, sample = pairs(history)["labels"]
    learner = LinearLearner(kind, epochs=3, hash_bits=None)
    options = {"beta": "search", "iterations": 3}
    (X, Y), dev = sample(0), sample(1)
    fast = Searn(compiled, learner, **options).fit(X, Y, dev=dev)
    slow = Searn(generic, learner, **options).fit(X, Y, dev=dev)
    assert [one.beta for one in fast.history_] == [one.beta for one in slow.history_]
    assert [x.dev_loss for x in fast.history_] == [x.dev_loss for x in slow.history_]
    assert fast.predict(dev[0]) == slow.predict(dev[0])


def test_a_table_learns_as_hashed_weights_do_without_collisions():
    X, Y = labelled(0)
    task = GenericLabelling("abc", features=own)
    found = []
    for bits in (None, 20):
        learner = Kept(hash_bits=bits)
        searn = Searn(task, learner, iterations=1, beta=1.0).fit(X, Y)
        scorer = searn.policy_.learned[0].scorer
        found.append(scorer.scores(learner.seen[0][0]))
    # Slopes below NEGLIGIBLE are left out of the table
    np.testing.assert_allclose(*found, atol=2e-2)


def test_labels_out_of_reach_and_unknown_ones():
    X, Y = chunked(0)
    task = WordChunking(["X"], features=own)
    slow = GenericChunking(["X"], features=own)
    learner = LinearLearner(hash_bits=None, epochs=2)
    fits = [Searn(one, learner, iterations=2).fit(X, Y) for one in (task, slow)]
    assert fits[0].predict(X) == fits[1].predict(X)
    letters = SequenceLabelling("ab", features=own)
    with pytest.raises(ValueError, match="label 'c' is not among"):
        Searn(letters, learner).fit(*labelled(0))


def test_what_a_table_refuses():
    X, Y = chunked(0)
    words = [[" ".join(token) for token in x] for x in X]
    learner = LinearLearner(hash_bits=None)
    searn = Searn(SpanChunking(["X", "Y"]), learner, prediction="mean")
    with pytest.raises(ValueError, match="no features of their own"):
        searn.fit(words, Y)


def test_features_are_read_once():
    read = []

    def counted(x, i):
        read.append(i)
        return x[i]

    X, Y = labelled(0)
    task = SequenceLabelling("abc", features=counted)
    searn = Searn(task, LinearLearner(hash_bits=None), beta=0.5, iterations=3)
    searn.fit(X, Y)
    assert len(read) == sum(map(len, X))
    searn.predict(X)
    assert len(read) == 2 * sum(map(len, X))
