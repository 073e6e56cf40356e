"""Parsers: fitting, parsing, relations, files, and what they refuse."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from argmetric.search import Parser, Tagger, Tree, read_trees, write_trees
from argmetric.sequence import Sentence
from treebank import treebank


def text(n=120, seed=0):
    """Sentences with their tags, and their heads."""
    trees = treebank(n, seed)
    return [(t.words, t.tags) for t in trees], [t.heads.tolist() for t in trees]


def small(**options):
    return Parser(**{"hash_bits": 14, "epochs": 4, **options})


def lists(found):
    return [heads.tolist() for heads in found]


@pytest.mark.parametrize("beam", [1, 8])
@pytest.mark.parametrize("roll_in", ["static", "own"])
@pytest.mark.parametrize("direction", ["left", "right", "both"])
def test_a_small_grammar_is_learned(direction, roll_in, beam):
    parser = small(direction=direction, roll_in=roll_in, beam=beam).fit(*text())
    sentences, heads = text(seed=1)
    assert lists(parser.predict(sentences)) == heads
    found = parser.evaluate(sentences, heads)
    assert (found.uas, found.exact_match, found.root_accuracy) == (1.0, 1.0, 1.0)
    assert found.heads.total == sum(map(len, heads))
    assert parser.direction_ == direction


def test_ways_to_hand_over_sentences():
    sentences, heads = text(12)
    expected = lists(small().fit(sentences, heads).predict(sentences))
    tokens = [list(zip(*pair, strict=True)) for pair in sentences]
    objects = [Sentence(tuple(map(list, pair))) for pair in sentences]
    trees = [
        SimpleNamespace(words=words, tags=tags, heads=np.array(own))
        for (words, tags), own in zip(sentences, heads, strict=True)
    ]
    for given in (tokens, objects):
        assert lists(small().fit(given, heads).predict(given)) == expected
    assert lists(small().fit(trees).predict(trees)) == expected
    assert small().fit(trees).score(trees) == small().fit(trees).evaluate(trees).uas
    alone = [words for words, _ in sentences]
    blind = small(templates=["s0.w", "b0.w", "s0.w|b0.w", "s1.w"], roll_in="static")
    assert blind.fit(alone, heads).score(alone, heads) > 0.8


def test_what_trees_come_to():
    sentences = [(["a", "b", "."], ["X", "Y", "."]), (["a"], ["X"]), ([], [])]
    parser = small().fit(sentences * 4, [[0, 1, 2], [0], []] * 4)
    assert lists(parser.predict(sentences)) == [[0, 1, 2], [0], []]
    found = parser.evaluate(sentences, [[0, 1, 1], [0], []])
    assert (found.uas, found.uas_without_punctuation) == (0.75, 1.0)
    assert (found.heads, found.sentences) == ((3, 4), (2, 3))
    assert found.worst == (0,)
    assert parser.predict([]) == []
    with pytest.raises(ValueError, match="no sentences"):
        parser.evaluate([], [])


def test_dev_chooses_the_epoch():
    sentences, heads = text(20)
    rows = []
    parser = small(direction="left", roll_in="own")
    parser.fit(sentences, heads, dev=text(10, seed=1), on_epoch=rows.append)
    assert rows == parser.history_
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert parser.set_params(beam=1).score(*text(10, seed=1)) == pytest.approx(
        max(row["score"] for row in rows), abs=0.01
    )
    json.dumps(rows)


@pytest.mark.parametrize(("epochs", "direction"), [(1, "left"), (5, "both")])
def test_an_interrupt_keeps_what_is_learned(epochs, direction):
    rows = []

    def tell(row):
        rows.append(row)
        if len(rows) == epochs:  # the first of its side, which has four
            raise KeyboardInterrupt

    parser = small(direction=direction)
    with pytest.warns(UserWarning, match="learning was interrupted"):
        parser.fit(*text(), on_epoch=tell)
    assert parser.interrupted_
    assert parser.direction_ == "left"
    assert parser.score(*text(seed=1)) > 0.9


def test_crossing_arcs_are_learned_from_as_the_nearest_projective_tree():
    crossing = (list("abcd"), list("abcd")), [3, 4, 0, 3]
    sentences, heads = text(10)
    parser = small()
    with pytest.warns(UserWarning, match="2 of 12 trees have crossing arcs"):
        parser.fit([*sentences, *[crossing[0]] * 2], [*heads, *[crossing[1]] * 2])
    assert parser.n_lifted_ == 2
    # The arc from d to b is lifted to the head of d; the right tree stays what it is
    assert lists(parser.predict([crossing[0]])) == [[3, 3, 0, 3]]
    assert parser.score([crossing[0]], [crossing[1]]) == 0.75


PAIR = (["a", "b", "c"], ["X", "Y", "Z"])


@pytest.mark.parametrize(
    ("sentences", "heads", "message"),
    [
        ([PAIR] * 2, [[0, 1, 1], [0, 0, 1]], r"sentence 1, token 2 \('b'\): a second"),
        ([PAIR], [[2, 3, 2]], r"token 2 \('b'\): its heads go round: 2 → 3 → 2"),
        ([PAIR], [[0, 1]], "sentence 0 has 3 words and 2 heads"),
        ([PAIR, PAIR], [[0, 1, 1]], "2 sentences have heads of 1"),
        ([PAIR], [[0, 1, 1.5]], "heads of sentence 0 must be whole numbers"),
        ([PAIR], None, "sentence 0 has no heads"),
        ([(["a", "b"], ["X"])], [[0, 1]], "sentence 0 has 2 words and 1 parts"),
        ([["a", "b"]], [[0, 1]], "sentence 0 has no parts of speech"),
        ([[("a", "X"), ("b",)]], [[0, 1]], "sentence 0: its tokens have not all"),
        ([[3, 4]], [[0, 1]], "sentence 0: its tokens have not all"),
        ([([1], ["X"])], [[0]], "sentence 0, token 1: a word must be text"),
        ([7], [[0]], "sentence 0 must be"),
        ("text", [[0]], "sentences must be a list of sentences"),
        ([], [], "there is no word to learn from"),
        ([([], [])], [[]], "there is no word to learn from"),
    ],
)
def test_what_is_no_tree_is_refused(sentences, heads, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small().fit(sentences, heads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "direction must be one of"),
        ({"roll_in": "gold"}, "roll_in must be one of"),
        ({"beam": 0}, "beam must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"step": 0.0}, "step must lie strictly"),
        ({"dropout": 1.0}, "dropout must lie"),
        ({"hash_bits": 40}, "hash_bits must be"),
        ({"templates": "s0.w|x"}, "template 1: 'x' is no part"),
        ({"templates": "s0.w\ns0.q"}, "template 2: there is no attribute 'q'"),
        ({"templates": "# none"}, "there is no template"),
        ({"templates": [3]}, "template 1 must be text"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options).fit(*text(8))


def test_odd_sentences_and_options_after_the_fit():
    with pytest.raises(ValueError, match="call fit first"):
        Parser().predict([PAIR])
    assert repr(Parser(beam=1)) == "Parser(beam=1)"
    sentences, heads = text(10)
    parser = small().fit(sentences, heads)
    arrays = [tuple(map(np.array, pair)) for pair in sentences]
    assert lists(parser.predict(arrays)) == lists(parser.predict(sentences))
    assert lists(parser.predict([(), [], ([], [])])) == [[], [], []]
    with pytest.raises(ValueError, match="beam must be"):
        parser.set_params(beam=0).predict(sentences)


# -- parts of speech by a tagger ---------------------------------------------------


def tagger(**options):
    return Tagger("pos", **{"hash_bits": 12, "epochs": 3, **options})


def words_of(sentences):
    return [words for words, _ in sentences]


def stages(parser):
    return list(dict.fromkeys(row["stage"] for row in parser.history_))


def test_a_fitted_tagger_takes_the_place_of_tags(tmp_path):
    sentences, heads = text()
    others, right = text(seed=1)
    tags = [own for _, own in sentences]
    fitted = tagger().fit(words_of(sentences), tags)
    fitted.save(tmp_path / "tags.npz")
    parser = small().fit(sentences, heads)
    assert parser.tagger_ is None
    false = [(words, ["V"] * len(words)) for words, _ in others]
    assert lists(parser.predict(false)) != right
    for named in (fitted, tmp_path / "tags.npz", str(tmp_path / "tags.npz")):
        for given in (words_of(others), false):
            assert lists(parser.predict(given, tagger=named)) == right
        assert parser.score(false, right, tagger=named) == 1.0
    kept = small().fit(words_of(sentences), heads, tagger=fitted)
    assert kept.tagger_ is fitted
    assert stages(kept) == ["left", "right"]
    assert lists(kept.predict(false)) == right
    trees = kept.parse(words_of(others))
    assert [(tree.words, tree.tags) for tree in trees] == others
    assert lists(tree.heads for tree in trees) == right


def test_a_tagger_that_has_learned_nothing_is_jackknifed(tmp_path):
    sentences, heads = text()
    others, right = text(seed=1)
    given = tagger()
    parser = small(direction="left").fit(
        [*sentences, ([], [])], [*heads, []], tagger=given, dev=text(10, seed=2)
    )
    assert not hasattr(given, "_model")
    folds = [f"tagger, fold {k}, {side}" for k in range(1, 5) for side in SIDES]
    assert stages(parser) == [*folds, "tagger, left", "tagger, right", "left"]
    assert parser.history_[-1]["score"] == 1.0
    parser.save(tmp_path / "parser.npz")
    again = Parser.load(tmp_path / "parser.npz")
    assert again.tagger_.get_params() == parser.tagger_.get_params()
    found = lists(again.predict([*words_of(others), []]))
    assert found == lists(parser.predict([*words_of(others), []]))
    assert np.mean([a == b for a, b in zip(found, [*right, []], strict=True)]) > 0.95


SIDES = "left", "right"


class Upper:
    """A tagger of another kind."""

    def predict(self, sentences):
        assert all(isinstance(word, str) for words in sentences for word in words)
        return [[word.upper() for word in words] for words in sentences]


def test_any_object_that_predicts_tags_is_a_tagger(tmp_path):
    sentences, heads = text(30)
    parser = small().fit(words_of(sentences), heads, tagger=Upper())
    tree = parser.parse([["the", "cat", "sees", "dog"], []])[0]
    assert tree.tags == ["THE", "CAT", "SEES", "DOG"]
    assert tree.heads.tolist() == [2, 3, 0, 3]
    with pytest.raises(TypeError, match=r"type Upper cannot be saved .* tagger_ to N"):
        parser.save(tmp_path / "parser.npz")
    parser.tagger_ = None
    parser.save(tmp_path / "parser.npz")
    assert Parser.load(tmp_path / "parser.npz").tagger_ is None


def test_trees_keep_what_they_know_of_their_file(tmp_path):
    path = tmp_path / "a.conllu"
    row = "{}\t{}\t_\t{}\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    lines = [row.format(i, *p) for i, p in enumerate([("the", "D"), ("cat", "N")], 1)]
    path.write_text("# id = 7\n" + "".join(lines) + "\n", encoding="utf-8")
    parser = small().fit(*text(20))
    (tree,) = parser.parse(read_trees(path))
    assert (tree.comments, tree.tags) == (["# id = 7"], ["D", "N"])
    write_trees(path, [tree])
    assert path.read_text(encoding="utf-8") == (
        "# id = 7\n1\tthe\t_\tD\t_\t_\t2\t_\t_\tSpaceAfter=No\n"
        "2\tcat\t_\tN\t_\t_\t0\t_\t_\tSpaceAfter=No\n\n"
    )


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (7, "tagger must be a Tagger, the path of a saved one"),
        (Tagger("chunk"), "the tagger must be one of parts of speech"),
        (SimpleNamespace(predict=lambda s: [["X"]]), "one tag"),
        (SimpleNamespace(predict=lambda s: 3), "what the tagger gives must be a list"),
        (SimpleNamespace(predict=lambda s: [[1, 2, 3]]), "tags of the tagger must be"),
        ("nowhere.npz", "cannot read nowhere.npz"),
    ],
)
def test_taggers_that_cannot_be(named, message):
    with pytest.raises((ValueError, TypeError), match=message):
        small().fit([PAIR], [[0, 1, 1]], tagger=named)


def test_sentences_without_tags_and_without_a_tagger():
    sentences, heads = text(8)
    parser = small(epochs=1).fit(sentences, heads)
    for call in (parser.predict, parser.parse):
        with pytest.raises(ValueError, match=r"sentence 1 has no .* tagger=\.\.\."):
            call([PAIR, ["a", "b"]])
    with pytest.raises(ValueError, match="sentence 0 has no parts of speech"):
        small().fit(words_of(sentences), heads, tagger=tagger())
    with pytest.raises(ValueError, match="the tagger has learned nothing yet"):
        parser.predict([PAIR], tagger=tagger())


# -- relations of words to their heads ---------------------------------------------

TRAIN, TEST = treebank(200), treebank(60, seed=1)


def labelled(**options):
    return Parser(**{"hash_bits": 15, "epochs": 6, **options})


@pytest.fixture(scope="module")
def parser():
    return labelled().fit(TRAIN)


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


def test_the_seed_decides_and_blocks_do_not(parser):
    again, other = labelled().fit(TRAIN), labelled(random_state=1).fit(TRAIN)
    errors = [[row["error"] for row in p.history_] for p in (parser, again, other)]
    assert errors[0] == errors[1] != errors[2]
    times = 50_000 // sum(map(len, TEST)) + 2  # more words than a block has
    assert relations_of(again.parse(TEST * times)) == relations_of(TEST) * times


def test_sentences_without_relations_teach_none():
    bare = [replace(tree, relations=None) for tree in TRAIN[60:]]
    half = [*TRAIN[:60], *bare]
    parser = labelled(direction="left").fit(half)
    assert parser.evaluate(TEST).las > 0.97
    unknown = [replace(tree, relations=["_"] * len(tree)) for tree in bare]
    same = labelled(direction="left").fit([*TRAIN[:60], *unknown])
    assert relations_of(same.parse(TEST)) == relations_of(parser.parse(TEST))
    for none in (bare, unknown):
        nothing = labelled(direction="left", epochs=1).fit(none)
        assert nothing.relations_ == ()
        assert nothing.parse(TEST)[0].relations is None
        assert nothing.evaluate(TEST).las is None
    assert parser.evaluate(bare).las is None


def test_relations_that_are_not_those_of_the_words():
    wrong = SimpleNamespace(words=["a"], tags=["X"], heads=[0], relations=["x", "y"])
    with pytest.raises(ValueError, match="sentence 0 has 1 words and 2 relations"):
        labelled().fit([wrong])
    wrong.relations = [3]
    with pytest.raises(TypeError, match="relations of sentence 0 must be"):
        labelled().fit([wrong])


def test_an_interrupt_keeps_the_trees():
    def stop(row):
        if row["stage"] == "relations":
            raise KeyboardInterrupt

    parser = labelled(direction="left")
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
    one = labelled(direction="left", epochs=1).fit(
        [Tree(["a"], ["X"], [0], ["root"])] * 4
    )
    (tree,) = one.parse([(["b", "a"], ["X", "X"])])
    assert tree.relations == ["root", "root"]  # there is no other
