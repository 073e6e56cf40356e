"""Summarizers: budgets, what is chosen, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from argmetric.search import Summarizer, Tree
from refusing import refuses
from reviews import DOCUMENTS, Chain, Flat, hotels

MODES = [
    Summarizer(),
    Summarizer("compressed", parser=Chain()),
    Summarizer("compressed", parser=Flat()),
]


# -------------------------------------------------------------------------- budgets


BUDGETS = [("words", n) for n in (5, 9, 14, 100)] + [
    ("characters", n) for n in (19, 40, 77)
]


@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize(("unit", "limit"), BUDGETS)
def test_a_budget_is_kept(summarizer, unit, limit):
    [found] = summarizer.predict([DOCUMENTS], **{unit: limit})
    size = len(found.text.split() if unit == "words" else found.text)
    assert 0 < size == found.size <= limit
    assert found.n_words == len(found.text.split())
    assert (found.limit, found.unit) == (limit, unit)


def test_a_budget_is_used_to_its_last_unit():
    [found] = Summarizer().predict([["The room was clean."] * 2], characters=19)
    assert found.text == "The room was clean."
    [found] = Summarizer().predict([["The room was clean."] * 2], words=4)
    assert found.size == 4


COUNTS = {
    "characters": len,
    "bytes": lambda text: len(text.encode()),
    "words and two marks": lambda text: 2 + len(text.split()),
    "four characters": lambda text: -(-len(text) // 4),
    "kinds of words": lambda text: len(set(text.split())),
    "kinds, squared": lambda text: len(set(text.split())) ** 2,
    "squares": lambda text: len(text.split()) ** 2,
    "nothing": lambda text: 0,
    "whole floats": lambda text: float(len(text.split())),
    "numpy": lambda text: np.int64(len(text.split())),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("budget", [19, 45])
def test_the_users_own_budget_is_kept(summarizer, name, budget):
    count = COUNTS[name]
    [found] = summarizer.predict([DOCUMENTS], budget=budget, count=count)
    assert found.text
    assert found.size == count(found.text) <= budget
    assert (found.limit, found.unit) == (budget, "units")


def test_the_users_own_budget_is_used_up():
    """As that of words or characters is, whatever every text costs beside."""
    for own, mine in [
        ({"budget": 14, "count": COUNTS["numpy"]}, {"words": 14}),
        ({"budget": 16, "count": COUNTS["words and two marks"]}, {"words": 14}),
        ({"budget": 60, "count": len}, {"characters": 60}),
        ({"budget": 15, "count": COUNTS["four characters"]}, {"characters": 60}),
    ]:
        for summarizer in MODES:
            [one] = summarizer.predict([DOCUMENTS], **own)
            [other] = summarizer.predict([DOCUMENTS], **mine)
            assert one.text == other.text, own


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"words": 0}, ValueError, "words must be a whole number ≥ 1, not 0"),
        ({"words": 2.5}, ValueError, "words must be a whole number ≥ 1, not 2.5"),
        ({"characters": "9"}, TypeError, "characters must be a whole number"),
        ({"words": 3, "characters": 9}, ValueError, "one of words and characters"),
        ({"budget": 9}, ValueError, "budget and count go together: pass count"),
        ({"count": len}, ValueError, "budget and count go together: pass budget"),
        ({"budget": 9, "count": 3}, TypeError, "count must be a function .* not 3"),
        ({"budget": 9, "count": lambda _: None}, TypeError, "what count gives .* None"),
        ({"budget": 9, "count": lambda _: 1.5}, ValueError, "what count gives .* 1.5"),
        ({"budget": 9, "count": lambda _: -1}, ValueError, "what count gives .* -1"),
        ({"words": 1}, ValueError, "cluster 0: the shortest piece .* has 2 words, mo"),
        ({"characters": 11}, ValueError, "has 12 characters, more than .* of 11"),
        ({"budget": 11, "count": len}, ValueError, "has 12 units, more than .* of 11"),
    ],
)
def test_budgets_that_cannot_be_are_told(given, error, message):
    with pytest.raises(error, match=message):
        Summarizer().predict(
            [["Staff: kind! The room was clean. No lift here."]], **given
        )


# ------------------------------------------------------------------- what is chosen


def test_what_must_be_in_is_in_and_first():
    asked = [[(1, 0), (2, 2)]]
    for summarizer in MODES:
        [found] = summarizer.predict([DOCUMENTS], words=15, must=asked)
        assert "Parking is hard to find." in found.sentences
        assert "We would not come again, ever." in found.sentences
        assert [" ".join(step.words) for step in found.steps[:2]] == [
            "Parking is hard to find.",
            "We would not come again, ever.",
        ]
        assert found.gains[:2].tolist() == [0.0, 0.0]
        assert found.n_words <= 15
        [twice] = summarizer.predict(
            [DOCUMENTS], words=15, must=[asked[0] + [(np.int64(1), 0)]]
        )
        assert twice.to_dict() == found.to_dict()
    [one, other] = Summarizer().predict([DOCUMENTS] * 2, words=9, must=[None, [(0, 1)]])
    assert "We ate at a bar nearby." in other.text
    assert one.to_dict()["text"] == Summarizer().predict([DOCUMENTS], words=9)[0].text


def test_of_what_is_never_in_nothing_is():
    for summarizer in MODES:
        [free] = summarizer.predict([DOCUMENTS], words=12)
        out = sorted({(d, s) for d, s, _, _ in free.positions.tolist()})
        [found] = summarizer.predict([DOCUMENTS], words=12, never=[out])
        kept = {(d, s) for d, s, _, _ in found.positions.tolist()}
        assert kept
        assert not kept & set(out)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (3, "a list for each cluster of pairs"),
        ([], "must is a list for each cluster .*: 0 lists for 1 clusters"),
        ([[3]], r"named by a pair \(document, sentence\), not 3"),
        ([[(0, 1, 2)]], r"a pair .* not \(0, 1, 2\)"),
        ([[(0.5, 1)]], r"a pair .* not \(0.5, 1\)"),
        ([["01"]], "a pair .* not '01'"),
        ([[(3, 0)]], "has no document 3; they are counted from 0 to 2"),
        ([[(-1, 0)]], "has no document -1"),
        ([[(1, 3)]], "document 1 of cluster 0 has no sentence 3; .* from 0 to 2"),
        ([[(0, 0), (0, 1), (0, 2)]], "must be in do not fit the budget of 12 words"),
    ],
)
def test_sentences_that_there_are_not_are_told(asked, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Summarizer().predict([DOCUMENTS], words=12, must=asked)


EVERY = [(d, s) for d in range(3) for s in range(3)]


@pytest.mark.parametrize(
    ("floor", "given", "message"),
    [
        (1, {"must": [[(0, 0)]], "never": [[(0, 0)]]}, "in both must and"),
        (1, {"budget": 9, "count": len, "must": [[(0, 0)]]}, "not fit the budget of 9"),
        (1, {"never": [EVERY]}, "there is nothing to take; never and min_word"),
        (50, {}, "there is nothing to take"),
    ],
)
def test_contradictions_are_told(floor, given, message):
    with pytest.raises(ValueError, match=f"cluster 0: .*{message}"):
        Summarizer(min_words=floor).predict([DOCUMENTS], **given)


@pytest.mark.parametrize("summarizer", MODES)
@pytest.mark.parametrize("floor", [1, 4, 6])
def test_no_sentence_is_shorter_than_asked(summarizer, floor):
    model = clone(summarizer).set_params(min_words=floor)
    [found] = model.predict([DOCUMENTS], words=17)
    sizes = [len(one.split()) for one in found.sentences]
    assert sizes
    assert min(sizes) >= floor


@given(
    st.lists(
        st.lists(
            st.sampled_from(["room", "big", "the", "lift", "old", "is"]), min_size=2
        )
        .map(lambda words: " ".join(words[:5]))
        .map("{}.".format),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from([0.0, 0.5, 0.7, 1.0]),
)
def test_new_sentences_repeat_no_more_than_they_may(sentences, share):
    [found] = Summarizer(redundancy=share).predict([[sentences, sentences]], words=40)
    so_far = set()
    for step in found.steps:
        own = {word.strip(".") for word in step.words} - {"the", "is"}
        assert len(own & so_far) <= share * len(own)
        so_far |= own


# -------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "headlines"}, "mode must be"),
        ({"policy": "magic"}, "policy must be"),
        ({"min_words": 0}, "min_words must be a whole number ≥ 1"),
        ({"redundancy": 1.5}, "redundancy must lie between 0 and 1, not 1.5"),
        ({"iterations": 0}, "iterations must be a whole number from 1"),
        ({"oracle_beam": 0}, "oracle_beam must be a whole number from 1"),
    ],
)
def test_options_that_cannot_be_are_told(given, message):
    clusters, references = hotels(2)
    model = Summarizer(**given)
    for call in (
        lambda: model.fit(clusters, references),
        lambda: model.predict(clusters),
        lambda: model.oracle(clusters, references),
        lambda: model.evaluate(clusters, references),
    ):
        refuses((ValueError, TypeError), message, call)


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        (None, "cluster 0 has sentences without trees, and mode='compressed' needs"),
        (3, r"parser must have a method parse\(sentences\) .* not be 3"),
    ],
)
def test_compressed_summaries_need_a_parser(parser, message):
    model = Summarizer("compressed", parser=parser)
    refuses((ValueError, TypeError), message, model.predict, [DOCUMENTS])


def test_trees_need_no_parser():
    tree = Tree(
        ["The", "new", "bed", "is", "not", "very", "soft", "."],
        ["DT", "JJ", "NN", "VBZ", "RB", "RB", "JJ", "."],
        [3, 3, 4, 0, 4, 7, 4, 4],
    )
    model = Summarizer("compressed")
    [found] = model.predict([[[tree], [tree]]], words=6)
    assert found.text == "The bed is not very soft"
    assert found.positions["start"].tolist() == [0, 8, 12, 15, 19, 24]
    with pytest.raises(ValueError, match="has 6 words, more than the budget of 5"):
        model.predict([[[tree], [tree]]], words=5)


REFERENCES = ["The room was clean."]


@pytest.mark.parametrize(
    ("clusters", "references", "message"),
    [
        ([], [], "clusters is empty: there is nothing to learn from"),
        ([DOCUMENTS, []], [REFERENCES] * 2, "cluster 1 has no document: leave it out"),
        ([["a b", " "]], [REFERENCES], "cluster 0, document 1 is empty: leave it out"),
        ([DOCUMENTS], [], "references of 0 clusters for 1 clusters"),
        ([DOCUMENTS], [[]], "cluster 0 has no reference: leave it out, or write one"),
        ([DOCUMENTS], [["ok", "?"]], r"cluster 0: reference 1 is empty: '\?' has no"),
        ([DOCUMENTS], [[3]], "references of cluster 0 must be a list of text"),
        ([DOCUMENTS], "text", "references must be a list of lists of text"),
        ([DOCUMENTS], None, "references must be a list of lists of text"),
        (DOCUMENTS, REFERENCES, "cluster 0 must be a list of documents, not text"),
        ("text", REFERENCES, "clusters must be a list of clusters"),
        ([[[["a"]]]], [REFERENCES], "sentence 0 must be text or a Tree"),
    ],
)
def test_what_cannot_be_learned_from_is_told(clusters, references, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Summarizer().fit(clusters, references)
    if clusters:
        with pytest.raises((ValueError, TypeError), match=message):
            Summarizer().oracle(clusters, references)
        with pytest.raises((ValueError, TypeError), match=message):
            Summarizer().evaluate(clusters, references)


def test_what_has_no_summary():
    assert Summarizer().predict([]) == []
    with pytest.raises(ValueError, match="has 2 words, more than the budget of 1"):
        Summarizer().oracle([DOCUMENTS], [REFERENCES], words=1)
    message = "cluster 1 has no letter of a-z and no digit: words are compared as ROUGE"
    with pytest.raises(ValueError, match=message):
        Summarizer().predict([["A dog."], ["Хорошая гостиница.", "Гостиница!"]])
