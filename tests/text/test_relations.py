"""Relations of words to their heads: learned beside the trees, kept in files."""

import operator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric._text.parsing import _relations
from argmetric._text.parsing._relations import Relations
from argmetric._text.parsing.text import read_text
from argmetric.search import Parser, Tagger, Tree, read_trees, write_trees
from treebank import treebank

TRAIN, TEST = treebank(200), treebank(60, seed=1)


def small(**options):
    return Parser(**{"hash_bits": 15, "epochs": 6, **options})


@pytest.fixture(scope="module")
def parser():
    return small().fit(TRAIN)


def relations_of(trees):
    return [tree.relations for tree in trees]


def test_relations_are_learned(parser):
    found = parser.evaluate(TEST)
    assert (found.uas, found.las) == (1.0, 1.0)
    assert found.labelled.total == sum(map(len, TEST))
    assert relations_of(parser.parse(TEST)) == relations_of(TEST)
    assert parser.history_[-1]["stage"] == "relations"
    assert parser.history_[-1]["error"] < 0.01


def test_relations_are_those_of_the_arcs(parser):
    """A noun is another thing to the verb behind it than to the one before it."""
    relations = parser._model.relations
    text = read_text([(["cat", "sees", "dog"], ["N", "V", "N"])], tagged=True)
    before = relations.of(text, np.array([-1, 2, 0, 2]))
    assert before == ["nsubj", "root", "obj"]
    text = read_text([(["cat", "gives", "dog", "man"], list("NVNN"))], tagged=True)
    before = relations.of(text, np.array([-1, 2, 0, 2, 2]))
    assert before == ["nsubj", "root", "iobj", "obj"]


def test_files_keep_relations(parser, tmp_path):
    path = tmp_path / "parser.npz"
    parser.save(path)
    again = Parser.load(path)
    assert again.evaluate(TEST).las == 1.0
    own, other = parser._model.relations, again._model.relations
    assert (own.labels, own.hash_bits) == (other.labels, other.hash_bits)
    np.testing.assert_array_equal(own.weights, other.weights)
    write_trees(tmp_path / "found.conllu", again.parse(TEST))
    found = read_trees(tmp_path / "found.conllu")
    assert relations_of(found) == relations_of(TEST)


def test_relations_with_a_tagger(tmp_path):
    tagger = Tagger("pos", hash_bits=12, epochs=3)
    parser = small(direction="left").fit(TRAIN, tagger=tagger)
    parser.save(tmp_path / "all.npz")
    again = Parser.load(tmp_path / "all.npz")
    trees = again.parse([tree.words for tree in TEST])
    assert [tree.tags for tree in trees] == [tree.tags for tree in TEST]
    assert relations_of(trees) == relations_of(TEST)
    assert again.evaluate(TEST).las == 1.0


def test_the_seed_decides_and_blocks_do_not(parser, monkeypatch):
    again = small().fit(TRAIN)
    weights = parser._model.relations.weights
    np.testing.assert_array_equal(weights, again._model.relations.weights)
    other = small(random_state=1).fit(TRAIN)
    assert not np.array_equal(weights, other._model.relations.weights)
    monkeypatch.setattr("argmetric._text.parsing._model._BLOCK", 7)
    assert relations_of(again.parse(TEST)) == relations_of(TEST)


def test_sentences_without_relations_teach_none():
    bare = [replace(tree, relations=None) for tree in TRAIN[60:]]
    half = [*TRAIN[:60], *bare]
    parser = small(direction="left").fit(half)
    assert parser.evaluate(TEST).las > 0.97
    unknown = [replace(tree, relations=["_"] * len(tree)) for tree in bare]
    same = small(direction="left").fit([*TRAIN[:60], *unknown])
    assert relations_of(same.parse(TEST)) == relations_of(parser.parse(TEST))
    for none in (bare, unknown):
        nothing = small(direction="left", epochs=1).fit(none)
        assert nothing._model.relations is None
        assert nothing.parse(TEST)[0].relations is None
        assert nothing.evaluate(TEST).las is None
    assert parser.evaluate(bare).las is None


def test_one_relation_is_all_there_is():
    trees = [replace(tree, relations=["dep"] * len(tree)) for tree in TRAIN[:8]]
    parser = small(direction="left", epochs=1).fit(trees)
    assert {name for t in parser.parse(TEST) for name in t.relations} == {"dep"}


def test_relations_that_are_not_those_of_the_words():
    wrong = SimpleNamespace(words=["a"], tags=["X"], heads=[0], relations=["x", "y"])
    with pytest.raises(ValueError, match="sentence 0 has 1 words and 2 relations"):
        small().fit([wrong])
    wrong.relations = [3]
    with pytest.raises(TypeError, match="relations of sentence 0 must be"):
        small().fit([wrong])


@pytest.mark.parametrize("learned", [False, True])
def test_an_interrupt_keeps_the_trees(monkeypatch, learned):
    make = _relations.make_learning

    def make_interrupted(*arguments):
        learning = make(*arguments)
        run = learning.run_epoch

        def run_epoch():
            if learning.epoch == int(learned):
                raise KeyboardInterrupt
            return run()

        learning.run_epoch = run_epoch
        return learning

    monkeypatch.setattr(_relations, "make_learning", make_interrupted)
    parser = small(direction="left")
    with pytest.warns(UserWarning, match="learning was interrupted"):
        parser.fit(TRAIN)
    assert parser.interrupted_
    assert parser.evaluate(TEST).uas == 1.0
    assert (parser._model.relations is not None) == learned
    assert not learned or parser.evaluate(TEST).las > 0.9


@st.composite
def forests(draw):
    """Sentences with any heads that make a tree."""
    trees = []
    for n in draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)):
        order = draw(st.permutations(range(1, n + 1)))
        heads = [0] * n
        for i, word in enumerate(order[1:], start=1):
            heads[word - 1] = draw(st.sampled_from(order[:i]))
        trees.append(heads)
    return trees


@given(forests())
@settings(max_examples=100, deadline=None)
def test_nodes_of_arcs_equal_their_definition(trees):
    text = read_text([([f"w{i}" for i in t], ["X"] * len(t)) for t in trees], tagged=1)
    flat = np.concatenate([[-1, *heads] for heads in trees]).astype(np.int64)
    found = _relations._nodes(text, flat)
    expected = {name: [] for name in found}
    for start, heads in zip(text.starts.tolist(), trees, strict=False):
        for c, h in enumerate(heads, start=1):
            children = [i for i, head in enumerate(heads, start=1) if head == c]
            siblings = [i for i, head in enumerate(heads, start=1) if head == h]
            rows = {
                "c": c,
                "h": h,
                "g": heads[h - 1] if h else None,
                "lc": min((i for i in children if i < c), default=None),
                "rc": max((i for i in children if i > c), default=None),
                "s": max((i for i in siblings if h < i < c), default=None)
                if h < c
                else min((i for i in siblings if c < i < h), default=None),
            }
            for name, node in rows.items():
                expected[name].append(-1 if node is None else start + node)
    assert {name: rows.tolist() for name, rows in found.items()} == expected


def test_the_best_sum_of_weights_is_chosen():
    """The one feature of all arcs is the bias, whose row of weights decides."""
    text = read_text([(["aaaa"], ["X"])], tagged=True)
    heads = np.array([-1, 0])
    rows = _relations._rows(text, heads, 15)
    assert len(set(rows.indices.tolist())) == len(_relations._TABLE.split())
    weights = np.zeros(3 << 15, dtype=np.float32)
    for row, label in zip(rows.indices.tolist(), [0, 1, 1, *[2] * 30], strict=True):
        weights[3 * row + label] += 1 / (1 + label)
    scores = np.bincount([0, 1, 1, *[2] * 30]) / [1, 2, 3]
    labels = "x", "y", "z"
    expected = max(zip(scores, labels, strict=True), key=operator.itemgetter(0))[1]
    places = np.ones((2, 3), dtype=np.bool_)
    found = Relations(labels, places, 15, weights)
    assert found.of(text, heads) == [expected] == ["z"]
    places[1, 2] = False  # but not below ROOT, where "x" and "y" have 1 each
    assert found.of(text, heads) == ["x"]


def test_the_relation_of_a_root_is_that_of_no_other_word(parser):
    """Nouns are never roots in training, nor do verbs hang on anything."""
    relations = parser._model.relations
    text = read_text([(["cat", "sees"], ["N", "V"])], tagged=True)
    first, second = relations.of(text, np.array([-1, 0, 1]))
    assert first == "root"
    assert second != "root"
    one = small(direction="left", epochs=1).fit([Tree(["a"], ["X"], [0], ["root"])] * 4)
    (tree,) = one.parse([(["b", "a"], ["X", "X"])])
    assert tree.relations == ["root", "root"]  # there is no other
