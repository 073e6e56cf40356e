"""Ties: a set does not depend on other questions, nor on the order of items."""

import numpy as np
import pytest

import argmetric as am


@pytest.mark.parametrize("names", ["abcdefgh", range(8), [(i, "x") for i in range(8)]])
def test_a_set_does_not_depend_on_the_other_questions(names):
    rng = np.random.default_rng(0)
    names = list(names)
    questions = [
        [[names[i] for i in rng.permutation(8)[: rng.integers(1, 5)]] for _ in range(4)]
        for _ in range(40)
    ]
    together = am.sets.decide(questions, "f1").labels
    alone = [am.sets.decide(one, "f1").labels for one in questions]
    backwards = am.sets.decide(questions[::-1], "f1").labels[::-1]
    turned = [[answer[::-1] for answer in one] for one in questions]
    assert together == alone == backwards == am.sets.decide(turned, "f1").labels


def test_the_item_that_sorts_first_wins_a_tie():
    assert am.sets.decide([["b", "a"]], max_items=1).labels == {"a"}
    assert am.sets.decide([[2, "a"], ["a", 2]], max_items=1).labels == {2}  # int, str
