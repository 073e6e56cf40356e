"""The kernels of tagging equal enumeration and plain Python twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.search.kernels import tagging_features
from argmetric.search.learning import Recipe
from argmetric.search.tagging._model import TaggerPolicy, beam, greedy, score_candidates
from argmetric.search.tagging._training import make_learning
from argmetric.search.tagging.labels import Tier, make_choices
from argmetric.search.tagging.templates import Extractor, read_templates
from twins import tagging as twin

LABELS = ("B-X", "B-Y", "I-X", "I-Y", "O")
TABLE = """
bias
w[0]
suffix2[0]|w[-1]
pos[1]
t[-1]
t[-2]|t[-1]
t[-1]|w[0]
t[-1]|suffix2[0]
"""
JOINT = {"tag": "w[0]\nt[-1]\nchunk[-1]|w[0]", "chunk": "w[0]\nw[1]\ntag[0]\nt[-1]"}
TAGS = ("D", "N", "V")


def words(rng, n):
    vocabulary = ["a", "be", "cat", "does", "eaten"]
    pos = ["P", "QQ", "R"]
    return [list(rng.choice(vocabulary, n)), list(rng.choice(pos, n))]


def problem(seed, lengths=(3, 0, 1, 4), *, joint=False, bits=8):
    """Rows, choices and random weights of a small text."""
    rng = np.random.default_rng(seed)
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = ("tag", "chunk") if joint else ("t",)
    tiers = [Tier("t", LABELS, True)]
    tables = [read_templates(TABLE)]
    if joint:
        tiers = [Tier("tag", TAGS, False), Tier("chunk", LABELS, True)]
        tables = [read_templates(JOINT[name], names) for name in names]
    extractor = Extractor(tables, bits)
    columns = words(rng, int(sentences[-1]))
    attributes = extractor.attributes(columns, int(sentences[-1]))
    choices = make_choices(tiers, tables, hash_bits=bits)
    weights = rng.normal(size=int(choices.starts[-1])).astype(np.float32)
    return (
        extractor.rows(attributes, sentences),
        choices,
        weights,
        attributes,
        extractor,
    )


def split(labels, sentences):
    return [labels[a:b].tolist() for a, b in itertools.pairwise(sentences)]


@pytest.mark.parametrize("joint", [False, True])
def test_features_are_hashed_like_the_twin(joint):
    rows, _, _, attributes, extractor = problem(1, joint=joint)
    n_tiers = 2 if joint else 1
    tokens = rows.sentences // n_tiers
    for begin, end in itertools.pairwise(tokens.tolist()):
        for token, tier in itertools.product(range(begin, end), range(n_tiers)):
            place = token * n_tiers + tier
            arguments = attributes, begin, end, token
            hashes = twin.template_hashes(*arguments, extractor._static, tier)
            expected = [twin.mix(h) >> 56 for h in hashes if h]
            own = rows.indices[rows.indptr[place] : rows.indptr[place + 1]]
            assert own.tolist() == expected
            halves = twin.template_hashes(*arguments, extractor._history, tier)
            assert rows.halves[place, : len(halves)].tolist() == halves


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_searches_equal_the_twin(seed, joint):
    rows, choices, weights, *_ = problem(seed, joint=joint)
    policy = TaggerPolicy(choices, weights)
    own = split(greedy(policy, rows), rows.sentences)
    assert own == twin.greedy(rows, choices, weights)
    for width, kind in itertools.product((1, 2, 5), ("log", "raw")):
        lists = beam(policy, rows, width, width, kind)
        expected = twin.beam(rows, choices, weights, width, log_scale=kind == "log")
        for s, found in enumerate(expected):
            begin, end = rows.sentences[s], rows.sentences[s + 1]
            for r, (labels, total) in enumerate(found):
                assert lists.labels[r, begin:end].tolist() == labels
                assert lists.totals[s, r] == pytest.approx(total, rel=1e-5, abs=1e-5)
            assert np.isneginf(lists.totals[s, len(found) :]).all()


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_beam_of_width_one_is_greedy_search(seed, joint, coarse):
    rows, choices, weights, *_ = problem(seed, (5, 2, 0, 9), joint=joint)
    if coarse:  # many ties
        weights = np.round(weights * 2)
    policy = TaggerPolicy(choices, weights)
    labels = greedy(policy, rows)
    for kind in ("log", "raw"):
        np.testing.assert_array_equal(beam(policy, rows, 1, 1, kind).labels[0], labels)


@pytest.mark.parametrize("joint", [False, True])
def test_a_wide_beam_is_exhaustive_and_forced_scores_agree(joint):
    lengths = (2,) if joint else (3,)
    rows, choices, weights, *_ = problem(7, lengths, joint=joint)
    policy = TaggerPolicy(choices, weights)
    lists = beam(policy, rows, 1000, 200)
    legal = int(np.isfinite(lists.totals).sum())
    assert np.exp(lists.totals[0, :legal]).sum() == pytest.approx(1, abs=1e-6)
    assert (np.diff(lists.totals[0, :legal]) <= 0).all()
    known = np.isneginf(lists.totals)
    forced = score_candidates(
        policy,
        rows,
        lists.static,
        lists.labels,
        np.zeros_like(lists.totals),
        known=known,
    )
    np.testing.assert_array_equal(forced[0, :legal], lists.totals[0, :legal])
    for r in range(legal):
        labels = lists.labels[r].tolist()
        expected = twin.log_probability(rows, choices, weights, 0, labels)
        assert lists.totals[0, r] == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("roll_in", ["gold", "own"])
def test_learning_equals_the_twin(roll_in, joint):
    rows, choices, _, *_ = problem(5, (3, 0, 4), joint=joint)
    rng = np.random.default_rng(11)
    gold = []
    for i in range(int(rows.sentences[-1])):
        tier = i % len(choices.n_labels)
        gold.append(int(rng.integers(choices.n_labels[tier])))
    gold = np.array(gold)
    if not joint:
        gold = np.array([0, 2, 4, 1, 3, 3, 0])
    else:
        gold[1::2] = [0, 2, 4, 1, 3, 3, 0]
    recipe = Recipe(roll_in, 3, 0.1, 0.0)
    learning = make_learning(choices, recipe, rows, gold, 2)
    plain = [learning.weights.astype(float), learning.squares.astype(float)]
    plain.append(learning.sums.astype(float))
    when = 0.0
    share = 1.0 if roll_in == "gold" else 0.0
    order = np.random.default_rng(2)
    for epoch in range(3):
        learning.run_epoch()
        growth = 0.0 if epoch == 0 else 1 / len(gold) / 2
        plan = twin.Settings(0.1, share, growth)
        when = twin.train(
            rows, choices, plan, gold, order.permutation(np.arange(3)), *plain, when
        )
    np.testing.assert_allclose(learning.weights, plain[0], rtol=2e-4, atol=2e-5)
    assert learning.time == pytest.approx(when) == pytest.approx(1)
    average = plain[0] - plain[2] / when
    np.testing.assert_allclose(learning.average(), average, rtol=2e-4, atol=2e-5)
    assert np.any(learning.average() != learning.weights)


@given(st.data())
def test_memory_equals_the_twin(data):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    n = sum(lengths)
    vocabulary = st.integers(0, 2)
    words = np.array(data.draw(st.lists(vocabulary, min_size=n, max_size=n)), np.int64)
    labels = np.array(data.draw(st.lists(vocabulary, min_size=n, max_size=n)), np.int64)
    window, past = data.draw(st.integers(0, 8)), data.draw(st.booleans())
    owners = np.repeat(np.arange(len(lengths)), lengths)
    memory = np.zeros(n, np.uint32)
    order = np.argsort(words, kind="stable")
    tagging_features.fill_majority(
        words, order, owners, labels, 3, window, past, memory
    )
    expected = twin.remembered(words, owners, labels, 3, window, past)
    assert memory.tolist() == expected
