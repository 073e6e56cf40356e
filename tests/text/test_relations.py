"""Relations of words to their heads: learned beside the trees, kept in files."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

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


def test_files_keep_relations(parser, tmp_path):
    path = tmp_path / "parser.npz"
    parser.save(path)
    again = Parser.load(path)
    assert again.evaluate(TEST).las == 1.0
    assert again.relations_ == parser.relations_
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
    again, other = small().fit(TRAIN), small(random_state=1).fit(TRAIN)
    errors = [[row["error"] for row in p.history_] for p in (parser, again, other)]
    assert errors[0] == errors[1] != errors[2]
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
        assert nothing.relations_ == ()
        assert nothing.parse(TEST)[0].relations is None
        assert nothing.evaluate(TEST).las is None
    assert parser.evaluate(bare).las is None


def test_relations_that_are_not_those_of_the_words():
    wrong = SimpleNamespace(words=["a"], tags=["X"], heads=[0], relations=["x", "y"])
    with pytest.raises(ValueError, match="sentence 0 has 1 words and 2 relations"):
        small().fit([wrong])
    wrong.relations = [3]
    with pytest.raises(TypeError, match="relations of sentence 0 must be"):
        small().fit([wrong])


def test_an_interrupt_keeps_the_trees():
    def stop(row):
        if row["stage"] == "relations":
            raise KeyboardInterrupt

    parser = small(direction="left")
    with pytest.warns(UserWarning, match="learning was interrupted"):
        parser.fit(TRAIN, on_epoch=stop)
    assert parser.interrupted_
    assert parser.evaluate(TEST).uas == 1.0
    assert parser.evaluate(TEST).las > 0.9


def test_the_relation_of_a_root_is_that_of_no_other_word(parser):
    """Nouns are never roots in training, nor do verbs hang on anything."""
    found = parser.parse([(["cat"], ["N"]), (["sees", "gives"], ["V", "V"])])
    for tree in found:
        for head, name in zip(tree.heads.tolist(), tree.relations, strict=True):
            assert (name == "root") == (head == 0)
    one = small(direction="left", epochs=1).fit([Tree(["a"], ["X"], [0], ["root"])] * 4)
    (tree,) = one.parse([(["b", "a"], ["X", "X"])])
    assert tree.relations == ["root", "root"]  # there is no other
