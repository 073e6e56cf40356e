"""Parsers: fitting, parsing, files, and what they refuse."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from argmetric._saving import DataError
from argmetric.search import Parser
from argmetric.search._parsing import _model
from argmetric.search._parsing._learning import Learning, Trees
from argmetric.search._parsing._text import mirror, mirrored_heads, read_text
from argmetric.sequence import Sentence

WORDS = {
    "D": ["the", "a"],
    "J": ["big", "old"],
    "N": ["cat", "dog", "sun"],
    "V": ["sees", "eats"],
    "P": ["in", "with"],
    ".": ["."],
}


def noun_phrase(rng, first):
    """Tags and heads of a noun phrase; that of the noun is left to be filled in."""
    tags = ["D"] * rng.integers(0, 2) + ["J"] * rng.integers(0, 3) + ["N"]
    noun = first + len(tags) - 1
    return tags, [noun] * (len(tags) - 1) + [None], noun


def text(n=60, seed=0):
    """Sentences whose trees follow from the parts of speech."""
    rng = np.random.default_rng(seed)
    sentences, trees = [], []
    for _ in range(n):
        tags, heads, subject = noun_phrase(rng, 1)
        verb = len(tags) + 1
        heads[subject - 1] = verb
        tags, heads = [*tags, "V"], [*heads, 0]
        more, others, item = noun_phrase(rng, verb + 1)
        others[-1] = verb
        tags, heads = tags + more, heads + others
        if rng.random() < 0.5:
            preposition = len(tags) + 1
            more, others, _ = noun_phrase(rng, preposition + 1)
            others[-1] = preposition
            tags, heads = [*tags, "P", *more], [*heads, item, *others]
        tags, heads = [*tags, "."], [*heads, verb]
        words = [str(rng.choice(WORDS[tag])) for tag in tags]
        sentences.append((words, tags))
        trees.append(heads)
    return sentences, trees


def small(**options):
    return Parser(**{"hash_bits": 14, "epochs": 4, **options})


def lists(found):
    return [heads.tolist() for heads in found]


@pytest.mark.parametrize("beam", [1, 8])
@pytest.mark.parametrize("roll_in", ["static", "own", "cross"])
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
    assert blind.fit(alone, heads).score(alone, heads) > 0.9


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


def test_the_seed_decides_and_nothing_else_does(monkeypatch):
    sentences, heads = text(30)
    first, second, other = (
        small(random_state=seed).fit(sentences, heads) for seed in (3, 3, 4)
    )
    weights = [
        [side.policy.weights for side in p._model.sides] for p in (first, second, other)
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    whole = lists(first.predict(sentences))
    monkeypatch.setattr(_model, "_BLOCK", 7)
    assert lists(first.predict(sentences)) == whole


def test_a_beam_of_one_is_greedy_search():
    sentences, heads = text(30)
    rng = np.random.default_rng(0)
    odd = [(words, rng.permutation(tags).tolist()) for words, tags in sentences]
    model = small(direction="left").fit(sentences, heads)._model
    read = read_text(odd, tagged=True)
    nothing = np.zeros(int(read.starts[-1]), np.int64)
    trees = Trees(read.codes(model.templates), read.starts, nothing)
    (side,) = model.sides
    by_beam = side.votes(trees, 1, np.empty(0), np.empty(0, np.int64))
    np.testing.assert_array_equal(by_beam, side.policy.greedy(trees)[0])


def test_mirrored_trees():
    edges = np.array([0, 4, 5, 7])
    heads = np.array([-1, 2, 0, 2, -1, -1, 0])
    assert mirror(edges).tolist() == [0, 3, 2, 1, 4, 5, 6]
    assert mirrored_heads(heads, edges).tolist() == [-1, 2, 0, 2, -1, -1, 0]
    heads[1:4] = 2, 3, 0
    once = mirrored_heads(heads, edges)
    assert once.tolist() == [-1, 0, 1, 2, -1, -1, 0]
    assert mirrored_heads(once, edges).tolist() == heads.tolist()


@pytest.mark.parametrize("direction", ["right", "both"])
def test_files_give_the_same_parser_back(direction, tmp_path):
    sentences, heads = text(30)
    parser = small(direction=direction, beam=3).fit(sentences, heads)
    path = tmp_path / "parser.npz"
    parser.save(path)
    again = Parser.load(path)
    assert again.get_params() == parser.get_params()
    assert again.history_ == parser.history_
    assert again.direction_ == direction
    others, _ = text(seed=2)
    assert lists(again.predict(others)) == lists(parser.predict(others))
    for own, other in zip(parser._model.sides, again._model.sides, strict=True):
        np.testing.assert_array_equal(own.policy.weights, other.policy.weights)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(DataError, match=r"parser\.npz"):
        Parser.load(path)


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


def test_progress_is_told(capsys):
    small(direction="left", roll_in="static", epochs=1, verbose=1).fit(*text(8))
    assert re.fullmatch(
        r"left, epoch 1: \d+\.\d\d% wrong, \d+\.\d s\n", capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("stop_at", "roll_in", "direction"),
    [
        (2, "own", "left"),  # in the second epoch
        (3, "cross", "left"),  # in the second fold
        (14, "cross", "both"),  # in a fold of the other side
    ],
)
def test_an_interrupt_keeps_what_is_learned(monkeypatch, stop_at, roll_in, direction):
    run, count = Learning.run_epoch, [0]

    def interrupted(self, *arguments):
        count[0] += 1
        if count[0] == stop_at:
            raise KeyboardInterrupt
        return run(self, *arguments)

    monkeypatch.setattr(Learning, "run_epoch", interrupted)
    parser = small(roll_in=roll_in, direction=direction)
    with pytest.warns(UserWarning, match="learning was interrupted"):
        parser.fit(*text())
    assert parser.interrupted_
    assert parser.direction_ == "left"
    assert parser.score(*text(seed=1)) > 0.9


def test_an_interrupt_before_anything_is_learned(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Learning, "run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small().fit(*text(8))


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
        (
            [PAIR, PAIR],
            [[0, 1, 1], [0, 0, 1]],
            r"sentence 1, token 2 \('b'\): a sec",
        ),
        (
            [PAIR],
            [[2, 3, 2]],
            r"sentence 0, token 2 \('b'\): its heads go round: 2 → 3 → 2",
        ),
        ([PAIR], [[0, 1, 4]], r"token 3 \('c'\): head 4 is outside of .* 3 tokens"),
        ([PAIR], [[0, -1, 1]], r"token 2 \('b'\): it has no head"),
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


def test_a_parser_that_has_learned_nothing():
    with pytest.raises(ValueError, match="call fit first"):
        Parser().predict([PAIR])
    assert repr(Parser(beam=1)) == "Parser(beam=1)"


def test_odd_sentences_and_options_after_the_fit():
    sentences, heads = text(10)
    parser = small().fit(sentences, heads)
    arrays = [tuple(map(np.array, pair)) for pair in sentences]
    assert lists(parser.predict(arrays)) == lists(parser.predict(sentences))
    assert lists(parser.predict([(), [], ([], [])])) == [[], [], []]
    with pytest.raises(ValueError, match="beam must be"):
        parser.set_params(beam=0).predict(sentences)
