"""Which heads form a tree, by definition and by name in messages."""

import re
from dataclasses import replace
from itertools import product

import pytest

from argmetric.search import Summarizer, Tree, read_trees
from refusing import refuses
from tree_texts import put, tree


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(*heads):
    return "".join(
        f"{i}\tw\t_\tX\t_\t_\t{h}\t_\t_\t_\n" for i, h in enumerate(heads, 1)
    )


GOOD = "# fine\n" + rows_of(2, 0) + "\n# text\n1-2\tww\t_\t_\t_\t_\t_\t_\t_\t_\n"


def summarize(trees):
    return Summarizer("compressed").predict([[trees]], words=9)


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
    located = f"a.conllu, line {6 + token}: sentence 2, {place}"
    refuses(ValueError, f"{re.escape(located)}$", summarize, trees)
    with pytest.raises(ValueError, match=f"sentence 1, {re.escape(place)}$"):
        summarize([trees[0], replace(trees[1], format=None)])
    refuses(ValueError, "heads has 1 values for 2 words", Tree, ["a", "b"], None, [0])


def way(heads, word):
    """A word and all above it."""
    found = [word]
    while found[-1] and heads[found[-1] - 1] not in found:
        found.append(heads[found[-1] - 1])
    return found


@pytest.mark.parametrize("n", [*range(1, 5), pytest.param(5, marks=pytest.mark.slow)])
def test_all_short_sentences(n):
    n_trees = 0
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) > 1:
            message = "a second root|its heads go round|its own head"
        elif all(0 in way(heads, word) for word in range(1, n + 1)):
            n_trees += 1
            assert summarize([tree(heads), tree(heads)])[0].n_words <= 9
            continue
        else:
            message = "its heads go round|its own head"
        with pytest.raises(ValueError, match=message):
            summarize([tree(heads)])
    assert n_trees == n ** (n - 1)  # Cayley: rooted trees of n words
