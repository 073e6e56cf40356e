"""What is a tree, which are projective, their scores and their drawings."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric._text.corpus.heads import Heads, draw_tree
from argmetric._text.corpus.tree_scores import check_trees
from argmetric.search import Tree, read_trees, score_trees, write_trees
from tree_texts import put, text_of, tree


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(*heads):
    return "".join(
        f"{i}\tw\t_\t_\t_\t_\t{h}\t_\t_\t_\n" for i, h in enumerate(heads, 1)
    )


GOOD = "# fine\n" + rows_of(2, 0) + "\n# text\n1-2\tww\t_\t_\t_\t_\t_\t_\t_\t_\n"


@pytest.mark.parametrize(
    ("heads", "token", "what"),
    [
        ((2, 4, 0), 2, "head 4 is outside of the sentence of 3 tokens"),
        ((2, 0, "_"), 3, "it has no head"),
        ((2, 2, 0), 2, "it is its own head"),
        ((4, 3, 2, 0), 2, "its heads go round: 2 → 3 → 2"),
        ((3, 1, 2), 1, "its heads go round: 1 → 3 → 2 → 1"),
        ((0, 1, 0), 3, "a second root, after token 1"),
    ],
)
def test_what_is_no_tree_is_read_and_named(heads, token, what):
    trees = read_trees(put("a.conllu", GOOD + rows_of(*heads)))
    place = f"token {token} ('w'): {what}"
    told = f"a.conllu, line {6 + token}: sentence 2, {place}"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        check_trees(trees)
    with pytest.raises(ValueError, match=f"^sentence 1, {re.escape(place)}$"):
        check_trees([trees[0], replace(trees[1], format=None)])
    write_trees("b.conllu", trees)
    assert text_of("b.conllu") == GOOD + rows_of(*heads)


def test_several_roots_are_let_through_where_they_may_be():
    check_trees([tree([0, 1, 0])], roots="any")
    check_trees([])
    with pytest.raises(
        ValueError, match="roots must be one of 'one', 'any', not 'two'"
    ):
        check_trees([], roots="two")
    with pytest.raises(ValueError, match="heads has 1 values for 2 words"):
        Tree(["a", "b"], None, [0])


def is_rooted(heads):
    return all(0 in way(heads, word) for word in range(1, len(heads) + 1))


def way(heads, word):
    """A word and all above it."""
    found = [word]
    while found[-1] and heads[found[-1] - 1] not in found:
        found.append(heads[found[-1] - 1])
    return found


def broken(heads):
    """Words whose arc spans a word not below their head, by definition."""
    return [
        word
        for word, head in enumerate(heads, start=1)
        if any(
            head not in way(heads, k)
            for k in range(min(word, head) + 1, max(word, head))
        )
    ]


@pytest.mark.parametrize("n", [*range(1, 6), pytest.param(6, marks=pytest.mark.slow)])
def test_all_short_sentences(n):
    every = [list(one) for one in product(range(n + 1), repeat=n)]
    flat = Heads.of([np.array(one) for one in every])
    bad = set(flat.sentence_of_words()[flat.unrooted()].tolist())
    assert bad == {i for i, one in enumerate(every) if not is_rooted(one)}
    trees = [one for i, one in enumerate(every) if i not in bad]
    assert len(trees) == (n + 1) ** (n - 1)  # Cayley
    flat = Heads.of([np.array(one) for one in trees])
    assert flat.projective().tolist() == [not broken(one) for one in trees]


TREES = st.integers(1, 14).flatmap(
    lambda n: st.tuples(
        st.permutations(range(1, n + 1)),
        st.tuples(*[st.integers(0, i) for i in range(n)]),
    )
)


def grown(order, choices):
    """A tree whose words are hung on earlier ones in some order; 0 is the root."""
    heads = [0] * len(order)
    for i, (word, choice) in enumerate(zip(order, choices, strict=True)):
        heads[word - 1] = [0, *order[:i]][choice]
    return heads


@settings(max_examples=150)
@given(st.lists(TREES.map(lambda parts: grown(*parts)), min_size=1, max_size=4))
def test_crossing_arcs_are_found(sentences):
    flat = Heads.of([np.array(one) for one in sentences])
    found = [broken(one) for one in sentences]
    assert flat.projective().tolist() == [not own for own in found]
    starts = flat.sentences.tolist()
    words = [a + w - 1 for a, own in zip(starts, found, strict=False) for w in own]
    assert flat.broken().tolist() == words


def test_broken_arcs_of_a_very_long_sentence():
    """Every even word hangs on the last odd one: 0 → 1 → 3 → ..., and 2, 4, ..."""
    n = 20_001
    words = np.arange(1, n + 1)
    heads = np.where(words % 2 == 0, n, np.maximum(words - 2, 0))
    flat = Heads.of([heads])
    # An arc between odd words spans an even one, which hangs below both; that of an
    # even word spans odd ones, which do not hang below the last
    assert flat.broken().tolist() == (words[1:-2:2] - 1).tolist()


def test_scores_by_hand():
    words, tags = ["He", "ate", "$", "5", "."], ["PRP", "VBD", "$", "CD", "."]
    relations = ["nsubj", "root", "obj", "nummod", "punct"]
    first = Tree(words, tags, [2, 0, 2, 3, 2], relations)
    second = Tree(["Go"], ["VB"], [0], ["root"])
    guess = replace(first, heads=[2, 0, 4, 3, 3], relations=[*relations[:3], "x", "y"])
    found = score_trees([second, first], [second, guess])
    assert (found.heads, found.uas) == ((4, 6), 4 / 6)
    assert found.without_punctuation == (4, 5)
    assert found.uas_without_punctuation == 4 / 5
    assert (found.labelled, found.las) == ((3, 6), 1 / 2)
    assert (found.sentences, found.exact_match) == ((1, 2), 1 / 2)
    assert (found.roots, found.root_accuracy) == ((2, 2), 1.0)
    assert found.by_length[0] == ("1-10", (4, 6), (1, 2))
    assert all(one[1:] == ((0, 0), (0, 0)) for one in found.by_length[1:])
    assert found.worst == (1,)
    assert repr(found).splitlines() == [
        "TreeScores",
        "  UAS                      66.67% (4 of 6)",
        "  UAS without punctuation  80.00% (4 of 5)",
        "  LAS                      50.00% (3 of 6)",
        "  exact match              50.00% (1 of 2)",
        "  roots                    100.00% (2 of 2)",
        "  UAS of 1-10 words        66.67% (4 of 6)",
    ]
    assert found._repr_html_().count("<tr>") == 6
    assert score_trees([second, first], iter([second, guess])) == found
    alone = score_trees([second, first], [[0], guess.heads])
    assert (alone.labelled, alone.las) == (None, None)
    assert replace(alone, labelled=found.labelled) == found


@pytest.mark.parametrize(
    ("tags", "kept"),
    [
        (None, 2),  # words with a letter or digit
        (["A", "B", "C", "D"], 2),  # no known tag of punctuation: words again
        (["PUNCT", "B", "C", "D"], 3),
        (["``", ",", ":", "''"], 0),
        (["$", "B", "C", "."], 3),
    ],
)
def test_what_is_punctuation(tags, kept):
    gold = Tree(["$", "é", "5%", "?!"], tags, [2, 0, 2, 2])
    assert score_trees([gold], [[2, 0, 2, 2]]).without_punctuation == (kept, kept)
    assert score_trees([gold], [[2, 0, 2, 2]]).uas_without_punctuation == 1.0


def slow_scores(gold, found):
    pairs = [list(zip(*pair, strict=True)) for pair in zip(gold, found, strict=True)]
    wrong = [sum(a != b for a, b in one) for one in pairs]
    roots = [all((a == 0) == (b == 0) for a, b in one) for one in pairs]
    bins = [0, 0, 0, 0, 0]
    for one, errors in zip(pairs, wrong, strict=True):
        bins[min((len(one) - 1) // 10, 4)] += len(one) - errors
    order = sorted((-errors, i) for i, errors in enumerate(wrong) if errors)
    return wrong.count(0), sum(roots), bins, tuple(i for _, i in order[:10])


def test_scores_equal_those_of_a_slow_twin():
    rng = np.random.default_rng(5)
    sizes = [*rng.integers(1, 60, 40).tolist(), 1, 10, 11, 20, 21, 30, 31, 40, 41]
    gold = [
        grown(rng.permutation(n) + 1, [rng.integers(i + 1) for i in range(n)])
        for n in sizes
    ]
    found = [
        [int(rng.integers(-1, len(one) + 1)) if rng.random() < 0.05 else h for h in one]
        for one in gold
    ]
    scores = score_trees([tree(one) for one in gold], found)
    exact, roots, bins, worst = slow_scores(gold, found)
    assert (scores.sentences, scores.roots) == ((exact, 49), (roots, 49))
    assert [one.heads.right for one in scores.by_length] == bins
    assert scores.heads == (sum(bins), sum(sizes))
    assert sum(one.heads.total for one in scores.by_length) == sum(sizes)
    assert sum(one.sentences.right for one in scores.by_length) == exact
    assert sum(one.sentences.total for one in scores.by_length) == 49
    assert scores.worst == worst
    assert len(worst) == 10


def test_scores_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = score_trees([tree([2, 0]), tree([0] + [1] * 44)], [[2, 0], [0] * 45]).plot()
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["1-10\n(1)", ">40\n(1)"]
    assert [bar.get_height() for bar in ax.patches] == [1.0, 1 / 45, 1.0, 0.0]
    assert ax.get_legend() is not None
    plt.close(ax.figure)


def test_what_cannot_be_scored():
    gold = [tree([2, 0])]
    wrong = {
        "predicted has 0 sentences but gold has 1": [],
        "predicted[0] has 1 heads, but gold has 2 words": [[0]],
        "predicted: sentence 0, token 1 ('w1'): head 3 is outside of the sentence of 2 "
        "tokens": [[3, 0]],
        "predicted has 'x' where gold has 'w2': sentence 0, token 2": [
            tree([2, 0], words=["w1", "x"])
        ],
        "predicted[0] must be a list of whole numbers, not 'ab'": ["ab"],
    }
    for message, predicted in wrong.items():
        with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
            score_trees(gold, predicted)
    with pytest.raises(ValueError, match="gold has no sentences"):
        score_trees([], [])
    with pytest.raises(
        ValueError, match=r"^sentence 0, token 1 \('w1'\): it has no head"
    ):
        score_trees([tree([-1])], [[0]])
    put("a.dp", "a\tDT\t0\n\nb\tNN\t2\n")
    with pytest.raises(ValueError, match=r"^predicted: a\.dp, line 3: sentence 2, tok"):
        score_trees(
            [tree([0], words=["a"]), tree([0], words=["b"])], read_trees("a.dp")
        )


WORDS = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today", "."]


def test_a_drawing():
    heads, gold = [2, 4, 4, 0, 4, 7, 5, 7, 4], [2, 4, 4, 0, 2, 7, 5, 4, 4]
    relations = ["det", "nsubj", "aux", "root", "nmod", "det", "obl", "x", "punct"]
    assert draw_tree(WORDS, heads, relations, gold).split("\n") == [
        "1   ┌ A det",
        "2 ┌ hearing nsubj",
        "3 ├ is aux",
        "4 scheduled root",
        "5 ├ on nmod      ✗ 2 hearing",
        "6 │ │ ┌ the det",
        "7 │ └ issue obl",
        "8 │   └ today x  ✗ 4 scheduled",
        "9 └ . punct",
    ]


def test_a_drawing_with_crossing_arcs_and_an_unknown_head():
    heads = [2, 3, 0, 3, 2, 7, 5, 4, -1]
    assert draw_tree(WORDS, heads, gold_heads=[*heads[:8], 0]).split("\n") == [
        "1   ┌ A",
        "2 ┌ hearing",
        "3 is",
        "4 └ scheduled",
        "5   ╌ on     ← 2 hearing",
        "6     │ ┌ the",
        "7     └ issue",
        "8   ╌ today  ← 4 scheduled",
        "9 .          ← no head  ✗ root",
    ]


def test_drawings_at_their_edges():
    assert draw_tree(["Go"], [0]) == "1 Go"
    assert draw_tree([], []) == ""
    assert draw_tree(["a\x1b[2J"], [0]) == "1 a?[2J"
    n = 60
    lines = draw_tree(["word"] * n, [*range(2, n + 1), 0], width=40).split("\n")
    assert lines[-1] == "60 word"
    assert lines[0] == " 1 …" + " " * 17 + "┌ word"
    assert max(map(len, lines)) <= 40
    assert draw_tree(["x" * 50], [0], width=20) == "1 " + "x" * 17 + "…"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": [0]}, "heads has 1 values for 2 words"),
        ({"heads": [2, 1]}, "heads must be those of a tree: one is outside, or in a"),
        ({"heads": [3, 0]}, "heads must be those of a tree: one is outside, or in a"),
        ({"relations": ["x"]}, "relations has 1 values for 2 words"),
        ({"gold_heads": [1, 2, 3]}, "gold_heads has 3 values for 2 words"),
        ({"width": 5}, "width must be a whole number from 20 to 100,000, not 5"),
    ],
)
def test_what_cannot_be_drawn(options, message):
    with pytest.raises(ValueError, match=message):
        draw_tree(**{"words": ["a", "b"], "heads": [2, 0]} | options)
