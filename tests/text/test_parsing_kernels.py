"""The kernels of parsing equal enumeration and their plain Python twins."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric._text.kernels import parsing, parsing_trees
from argmetric._text.parsing.templates import read_templates
from twins import parsing as twin

TABLE = """
bias
s0.w
b0.p
s0.w|b0.p
s1.p|s0.p
s0.lc.p|s0.rc.w
s1.rc2.p|b0.lc2.w
s0.rc.lc.p|b1.w
s2.w
"""
BITS = 7

trees_of = cache(twin.projective_trees)


@st.composite
def states(draw):
    """A projective tree of at most five words, and a state that can be reached."""
    n = draw(st.integers(1, 5))
    gold = draw(st.sampled_from(trees_of(n)))
    state = twin.State(n)
    for _ in range(draw(st.integers(0, 2 * n - 1))):
        state = state.after(draw(st.sampled_from(state.legal())))
    return gold, state


@given(states())
@settings(max_examples=300, deadline=None)
def test_costs_equal_enumeration_of_all_completions(case):
    gold, state = case
    allowed, found = np.empty(3, np.bool_), np.empty(3, np.int64)
    parsing.legal_steps(state.as_array(), state.n, allowed)
    parsing.step_costs(state.as_array(), state.n, np.array(gold), found)
    assert np.flatnonzero(allowed).tolist() == state.legal()
    expected = twin.costs(state, gold)
    assert {a: found[a] for a in state.legal()} == expected
    assert min(expected.values()) == 0


def problem(seed, lengths=(4, 0, 1, 3)):
    """Codes of a small text with a ROOT for each sentence, scheme and weights."""
    rng = np.random.default_rng(seed)
    scheme = read_templates(TABLE, BITS).scheme
    starts = np.cumsum([0, *(n + 1 for n in lengths)])
    codes = rng.integers(3, 7, (int(starts[-1]), 2)).astype(np.uint64)
    weights = rng.normal(size=3 << BITS).astype(np.float32)
    return codes, starts, scheme, weights


def heads_of(found, n):
    return [-1, *(found[v] for v in range(1, n + 1))]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_parses_equal_the_twin(seed):
    codes, starts, scheme, weights = problem(seed)
    heads = np.empty(int(starts[-1]), np.int64)
    parsing.parse_greedily((codes, starts), scheme, weights, heads)
    built = []
    for a, b in itertools.pairwise(starts.tolist()):
        found = twin.greedy(codes[a:b], b - a - 1, scheme, weights)
        built += heads_of(found, b - a - 1)
    assert heads.tolist() == built


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("width", [1, 3, 50])
def test_beam_parses_and_votes_equal_the_twin(width, mirrored):
    codes, starts, scheme, weights = problem(width)
    heads = np.empty(int(starts[-1]), np.int64)
    matrices = np.cumsum([0, *np.diff(starts) ** 2])
    votes = np.zeros(int(matrices[-1]))
    parsing.parse_beams(
        (codes, starts), scheme, weights, width, mirrored, heads, votes, matrices
    )
    for s, (a, b) in enumerate(itertools.pairwise(starts.tolist())):
        n = b - a - 1
        best, expected = twin.beam(codes[a:b], n, scheme, weights, width)
        assert heads[a:b].tolist() == heads_of(best, n)
        if mirrored:
            back = [0, *range(n, 0, -1)]
            expected = expected[np.ix_(back, back)]
        own = votes[matrices[s] : matrices[s + 1]].reshape(n + 1, n + 1)
        np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("share", "dropout"), [(1.0, 0.0), (0.5, 0.3), (0.0, 0.3)])
def test_learning_of_trees_equals_the_twin(share, dropout):
    codes, starts, scheme, _ = problem(1)
    golds = [[-1, 2, 0, 4, 2], [-1], [-1, 0], [-1, 3, 1, 0]]
    options = 0.1, dropout, share, 0.01
    size = 3 << BITS

    def fresh():
        zeros = [np.zeros(size, np.float32) for _ in range(2)]
        return zeros[0], np.full(size, 0.01, np.float32), zeros[1]

    own, expected = fresh(), fresh()
    order = np.array([3, 0, 1, 2, 0, 3])
    wrong, when = parsing.learn_trees(
        (codes, starts),
        scheme,
        options,
        np.array(list(itertools.chain(*golds))),
        order,
        own,
        0.0,
        np.array([5], np.uint64),
    )
    sentences = [(codes[starts[s] : starts[s + 1]], golds[s]) for s in order]
    assert (wrong, when) == twin.learn(sentences, scheme, options, expected, 5)
    assert np.count_nonzero(own[0]) > 20
    for mine, other in zip(own, expected, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("n", range(1, 6))
def test_best_trees_equal_enumeration(n):
    rng = np.random.default_rng(n)
    for _ in range(10):
        scores = rng.normal(size=(n + 1, n + 1))
        totals = {
            tuple(tree): sum(scores[tree[v], v] for v in range(1, n + 1))
            for tree in trees_of(n)
        }
        # An empty sentence before it
        starts, matrices = np.array([0, 1, n + 2]), np.array([0, 1, 1 + (n + 1) ** 2])
        flat = np.concatenate([[0.0], scores.ravel()])
        heads = np.empty(n + 2, np.int64)
        parsing_trees.best_trees(starts, flat, matrices, heads)
        assert tuple(heads[1:].tolist()) == max(totals, key=totals.get)


def test_nearest_trees_keep_as_many_arcs_as_can_be():
    n = 5
    starts, matrices = np.array([0, n + 1]), np.array([0, (n + 1) ** 2])
    rng = np.random.default_rng(0)
    crossing = [
        [-1, *heads]
        for heads in itertools.product(range(n + 1), repeat=n)
        if heads.count(0) == 1 and twin.is_tree([-1, *heads])
    ]
    crossing = [tree for tree in crossing if twin.crosses(tree)]
    for tree in [crossing[i] for i in rng.integers(0, len(crossing), 50)]:
        scores, nearest = np.empty((n + 1) ** 2), np.empty(n + 1, np.int64)
        parsing_trees.nearness(starts, np.array(tree), matrices, scores)
        parsing_trees.best_trees(starts, scores, matrices, nearest)
        assert nearest.tolist() in trees_of(n)
        most = max(sum(map(int.__eq__, tree, other)) for other in trees_of(n))
        assert sum(map(int.__eq__, tree, nearest.tolist())) == most
