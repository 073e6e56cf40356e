"""What is a tree, which are projective, their scores and their drawings."""

import re
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from argmetric.cli import main
from argmetric.search import Parser, Tree, read_trees, score_trees, write_trees
from tree_texts import put, text_of, tree


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(*heads):
    return "".join(
        f"{i}\tw\t_\tX\t_\t_\t{h}\t_\t_\t_\n" for i, h in enumerate(heads, 1)
    )


GOOD = "# fine\n" + rows_of(2, 0) + "\n# text\n1-2\tww\t_\t_\t_\t_\t_\t_\t_\t_\n"
SMALL = {"hash_bits": 8, "epochs": 1, "direction": "left", "templates": "s0.w"}


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
        Parser(**SMALL).fit(trees)
    with pytest.raises(ValueError, match=f"^sentence 1, {re.escape(place)}$"):
        Parser(**SMALL).fit([trees[0], replace(trees[1], format=None)])
    write_trees("b.conllu", trees)
    assert text_of("b.conllu") == GOOD + rows_of(*heads)
    with pytest.raises(ValueError, match="heads has 1 values for 2 words"):
        Tree(["a", "b"], None, [0])


def way(heads, word):
    """A word and all above it."""
    found = [word]
    while found[-1] and heads[found[-1] - 1] not in found:
        found.append(heads[found[-1] - 1])
    return found


def crosses(heads):
    """Whether an arc spans a word not below its head, by definition."""
    return any(
        head not in way(heads, k)
        for word, head in enumerate(heads, start=1)
        for k in range(min(word, head) + 1, max(word, head))
    )


@pytest.mark.parametrize("n", [*range(1, 5), pytest.param(5, marks=pytest.mark.slow)])
def test_all_short_sentences(n):
    trees = []
    for heads in product(range(n + 1), repeat=n):
        if all(0 in way(heads, word) for word in range(1, n + 1)):
            trees.append(heads)
            assert score_trees([tree(heads)], [heads]).uas == 1.0
        else:
            with pytest.raises(ValueError, match=r"its heads go round|its own head"):
                score_trees([tree(heads)], [heads])
    assert len(trees) == (n + 1) ** (n - 1)  # Cayley
    check_crossing([heads for heads in trees if heads.count(0) == 1])


def check_crossing(trees):
    """Parsers lift trees whose arcs cross, and no others."""
    expected = sum(map(crosses, trees))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*trees have crossing arcs")
        parser = Parser(**SMALL).fit([tree(heads) for heads in trees])
    assert parser.n_lifted_ == expected


def grown(order, choices, several=False):
    """A tree whose words are hung on earlier ones in some order; 0 is the root."""
    heads = [0] * len(order)
    for i, (word, choice) in enumerate(zip(order, choices, strict=True)):
        if i or several:
            heads[word - 1] = ([0, *order[:i]] if several else order[:i])[choice]
    return heads


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
        "TreeScores: right heads (UAS) 66.67% (4 of 6)",
        "  UAS without punctuation  80.00% (4 of 5)",
        "  LAS                      50.00% (3 of 6)",
        "  exact match              50.00% (1 of 2)",
        "  roots                    100.00% (2 of 2)",
        "  UAS of 1-10 words        66.67% (4 of 6)",
    ]
    assert found._repr_html_().count("<tr>") == 5
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
        grown(rng.permutation(n) + 1, [rng.integers(i + 1) for i in range(n)], True)
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


def drawn(gold, found, capfd, **more):
    """Lines of both drawings by `argmetric parse evaluate`: (right, predicted)."""
    write_trees("gold.conllu", [Tree(WORDS, None, gold, **more)])
    write_trees("found.conllu", [Tree(WORDS, None, found, **more)])
    assert main(["parse", "evaluate", "gold.conllu", "found.conllu"]) == 0
    lines = capfd.readouterr().out.rstrip("\n").split("\n")
    head = next(i for i, line in enumerate(lines) if line.startswith("right"))
    at = lines[head].index("predicted")
    return [line[:at].rstrip() for line in lines[head + 1 :]], [
        line[at:] for line in lines[head + 1 :]
    ]


def test_a_drawing_with_crossing_arcs_and_an_unknown_head(capfd):
    gold = [2, 3, 0, 3, 2, 7, 5, 4, 3]
    right, predicted = drawn(gold, [*gold[:8], -1], capfd)
    assert predicted == [
        "1   ┌ A",
        "2 ┌ hearing",
        "3 is",
        "4 └ scheduled",
        "5   ╌ on     ← 2 hearing",
        "6     │ ┌ the",
        "7     └ issue",
        "8   ╌ today  ← 4 scheduled",
        "9 .          ← no head  ✗ 3 is",
    ]
    assert right[7] == "8 │ ╌ today  ← 4 scheduled"
    bad = Tree(["a\x1b[2J", "b"], None, [0, 1])  # text that would move the cursor
    write_trees("gold.conllu", [bad])
    write_trees("found.conllu", [replace(bad, heads=[2, 0])])
    assert main(["parse", "evaluate", "gold.conllu", "found.conllu"]) == 0
    assert "1 a?[2J" in capfd.readouterr().out
