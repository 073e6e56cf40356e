"""What words of a sentence cannot be kept without each other."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argmetric.search import Tree
from argmetric.search.summaries.cluster import read_cluster
from argmetric.search.summaries.pieces import (
    parts_of,
    read_needs,
    spans_and_needs,
)
from twins import summaries as twin

# --------------------------------------------------------------------------- parts


PARTS = """
room / clean|. / clean|!|!|! / wait|... / up|-- / do|n't / ca|n't|, / DO|N'T|! / can|not
Can|not|. / it|'s / we|'ve / They|'ll|? / dogs|' / o'clock / '|em / $|5.99|, / €|7
-|$|5 / 50|% / well-made / U.S. / e.g.|, / Mr. / etc|. / x_1 / -- / & / naïve|.
"""
TREEBANK = {
    "(big)": "-LRB- big -RRB-",
    "[ok.]": "-LRB- ok . -RRB-",
    "“Don’t!”": "`` Do n't ! ''",
    '"so"': "`` so ''",
    '"': "``",
    "‘tis": "' tis",
}


def test_parts_of_words_are_written_as_the_treebank_does():
    for one in re.split(r" / |\n", PARTS.strip()):
        assert parts_of(one.replace("|", "")) == one.split("|")
    for word, parts in TREEBANK.items():
        assert parts_of(word) == parts.split()


@given(st.text(min_size=1).map(lambda text: "".join(text.split())).filter(bool))
def test_parts_are_the_whole_word(word):
    parts = parts_of(word)
    assert all(parts)
    written = {"``": '"', "''": '"', "-LRB-": "(", "-RRB-": ")"}
    plain = str.maketrans("’‘“”[]", "''\"\"()")
    found = "".join(written.get(part, part) for part in parts)
    assert found.translate(plain) == word.translate(plain)


# --------------------------------------------------------------------------- needs


def by_word(needs):
    bounds = pairwise(needs.starts.tolist())
    return [needs.words[a:b].tolist() for a, b in bounds]


def kept_with(tree, *words):
    """The words of a tree that are kept where these are."""
    needs = by_word(read_needs(read_cluster([[tree]], "it"), None))
    found = twin.closure([tree.words.index(word) for word in words], needs)
    return " ".join(tree.words[i] for i in sorted(found))


def penn(*rows):
    """A tree from rows of word/tag/head."""
    cells = [row.rsplit("/", 2) for row in " ".join(rows).split()]
    words, tags, heads = zip(*cells, strict=True)
    return Tree(list(words), list(tags), list(map(int, heads)))


STAFF = penn(
    "The/DT/2 staff/NN/3 did/VBD/0 not/RB/3 clean/VB/3 our/PRP$/8 small/JJ/8",
    "room/NN/5 in/IN/5 May/NNP/9 ././3",
)


def test_what_is_glued_by_tags():
    for word in ("did", "The", "not"):
        assert kept_with(STAFF, word) == "The staff did not clean our room"
    assert kept_with(STAFF, "small") == "The staff did not clean our small room"
    for word in ("May", "in"):
        assert kept_with(STAFF, word) == "The staff did not clean our room in May"
    assert kept_with(STAFF, ".") == "The staff did not clean our room ."


# A tree in rows of word/tag/head | a word of it | what is kept with that
KEPT = """
# the first complement, and pronouns; what comes after may go
It/PRP/2 sang/VBD/0 us/PRP/2 hope/NN/2 and/CC/2 joy/NN/2 | sang | It sang us
we/PRP/2 ate/VBD/0 and/CC/2 slept/VBD/2 | slept | we ate and slept
we/PRP/2 ate/VBD/0 and/CC/2 slept/VBD/2 | and | we ate and slept
# comparatives
tea/NN/2 is/VBZ/0 better/RBR/2 than/IN/3 this/DT/4 | is | tea is better
it/PRP/2 had/VBD/0 less/JJR/4 charm/NN/2 | had | it had less charm
# helping verbs to the left and to the right of their verbs
They/PRP/3 have/VBP/3 gone/VBN/0 home/RB/3 | gone | They have gone
I/PRP/2 would/MD/0 really/RB/4 go/VB/2 | would | I would go
It/PRP/2 has/VBZ/0 to/TO/2 go/VB/3 | has | It has to go
Would/MD/0 staff/NNS/1 go/VB/1 | Would | Would staff go
# words that turn what is said around
only/RB/2 cats/NNS/3 sleep/VBP/0 | sleep | only cats sleep
cats/NNS/2 sleep/VBP/0 if/IN/2 fed/VBN/3 | sleep | cats sleep if fed
it/PRP/2 is/VBZ/0 too/RB/4 big/JJ/2 | is | it is too big
# what a form of be says of its subject, and the verb that completes a verb
we/PRP/2 are/VBP/0 here/RB/2 | are | we are here
it/PRP/2 is/VBZ/0 really/RB/2 by/IN/2 me/PRP/4 now/RB/2 | is | it is by me
I/PRP/2 tried/VBD/0 sleeping/VBG/2 | tried | I tried sleeping
# what may be left out
cats/NNS/2 sleep/VBP/0 very/RB/4 well/RB/2 | sleep | cats sleep
# "a" and "an" with all that stands before the noun; "the" with the noun
We/PRP/2 saw/VBD/0 a/DT/6 really/RB/5 good/JJ/6 time/NN/2
    | time | We saw a really good time
We/PRP/2 saw/VBD/0 an/DT/5 old/JJ/5 item/NN/2 | saw | We saw an old item
The/DT/3 old/JJ/3 bus/NN/4 left/VBD/0 | left | The bus left
# by their places, where the parser takes a word for another
The/DT/2 posted/VBN/0 speed/NN/4 limit/NN/2 shows/VBZ/2 | The | The posted speed limit
I/PRP/2 wash/VBP/0 my/PRP$/2 feet/NNS/2 | feet | I wash my feet
# the objects of light verbs
It/PRP/2 gave/VBD/0 us/PRP/2 hope/NN/2 today/RB/2 | gave | It gave us hope
# words of degree and what they modify, where the parser hung them elsewhere
We/PRP/2 slept/VBD/0 really/RB/2 well/RB/2 there/RB/2 | really | We slept really well
We/PRP/3 really/RB/3 slept/VBD/0 well/RB/3 | slept | We slept
# what a form of be says: asides say nothing
It/PRP/2 is/VBZ/0 there/RB/2 though/RB/2 | is | It is there
# conjunctions and relatives with what they open, and what they follow
It/PRP/2 was/VBD/0 huge/JJ/5 but/CC/5 easy/JJ/2 | but | It was huge but easy
It/PRP/2 is/VBZ/0 right/RB/2 where/WRB/2 we/PRP/6 were/VBD/4
    | where | It is where we were
# a verb without an object and its preposition; a gerund that is a subject
It/PRP/2 fell/VBD/0 in/IN/2 May/NNP/3 | fell | It fell in May
Watching/VBG/3 films/NNS/1 drains/VBZ/0 it/PRP/3 | drains | Watching films drains it
# all that a title says of its noun, names of two nouns, quantities of something
Great/JJ/2 size/NN/0 for/IN/2 me/PRP/3 | size | Great size
Old/JJ/3 dog/NN/3 items/NNS/4 sell/VBP/0 well/RB/4 | items | dog items sell
It/PRP/2 holds/VBZ/0 a/DT/4 lot/NN/2 of/IN/4 tea/NN/5 now/RB/2
    | lot | It holds a lot of tea
a/DT/2 ring/NN/0 instead/RB/4 of/IN/2 gold/NN/4 | of | a ring instead of gold
# a clause that is begun needs the main one, whatever the parser takes for it
While/IN/2 wet,/JJ/0 we/PRP/4 slept/VBD/2 well/RB/4 | While | While wet, we slept
"""
CASES = re.findall(r"^([^#\n].*?)\s+\| (.*?) \| (.*)$", KEPT, re.MULTILINE)


@pytest.mark.parametrize(("tree", "word", "expected"), CASES)
def test_what_is_kept_with_a_word(tree, word, expected):
    assert kept_with(penn(tree), word) == expected


UD = Tree(
    ["She", "has", "never", "liked", "the", "very", "old", "beds", "upstairs", "."],
    ["PRON", "AUX", "ADV", "VERB", "DET", "ADV", "ADJ", "NOUN", "ADV", "PUNCT"],
    [4, 4, 4, 0, 8, 7, 8, 4, 4, 4],
    ["nsubj", "aux", "advmod", "root", "det", "advmod", "amod", "obj", "obl", "punct"],
)


@pytest.mark.parametrize("tags", [UD.tags, None])
@pytest.mark.parametrize("subtype", ["", ":pass"])
def test_what_is_glued_by_relations(tags, subtype):
    named = [name + subtype for name in UD.relations]
    tree = Tree(UD.words, tags, UD.heads, named)
    assert kept_with(tree, "liked") == "She has never liked the beds"
    assert kept_with(tree, "very") == "She has never liked the very old beds"
    assert kept_with(tree, "upstairs") == "She has never liked the beds upstairs"


@pytest.mark.parametrize("negation", ["n't", "n’t", "dont", "Don't", "NOT", "cannot"])
def test_negations_as_people_write_them(negation):
    tree = Tree(["I", negation, "really", "like", "it"], None, [4, 4, 4, 0, 4])
    assert kept_with(tree, "like") == f"{negation} really like"


class Fixed:
    """A parser that has been told its trees' heads."""

    def __init__(self, *heads):
        self.heads = heads
        self.asked = []

    def __call__(self, sentences):
        self.asked += sentences
        pairs = zip(sentences, self.heads, strict=True)
        return [Tree(list(own), None, list(heads)) for own, heads in pairs]


def test_words_are_parsed_in_parts_and_trees_that_were_given_are_kept():
    cluster = read_cluster([["We don't sleep."], [UD], ["Fine!"]], "it")
    parse = Fixed([4, 4, 4, 0, 4], [0, 1])
    needs = read_needs(cluster, parse)
    assert parse.asked == [["We", "do", "n't", "sleep", "."], ["Fine", "!"]]
    ud = [-1 if head == 0 else 2 + head for head in UD.heads.tolist()]
    assert needs.heads.tolist() == [2, 2, -1, *ud, -1]
    assert np.flatnonzero(needs.is_negation).tolist() == [1, 5]


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        (lambda _: [], "a tree of its words"),
        (lambda _: [Tree(["so"], None, [0])], "a tree of its words"),
        (lambda _: [Tree(["so", "."], None, [2, 1])], "its heads go"),
        (lambda _: [Tree(["so", "."], None, [0, 7])], "outside of the sentence"),
        (lambda _: ["so"], "must be"),
    ],
)
def test_a_parser_that_gives_no_trees_is_told(parse, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read_needs(read_cluster(["so."], "it"), parse)


# ---------------------------------------------------------------------- properties

WORDS = ["cat", "do", "in", "don't", "not", "never", "no,", "it's"]
WORDS += ["cannot", "if", "--"]
NEGATIONS = {"don't", "not", "never", "no,", "cannot"}
TAGS = ["NN", "VB", "IN", "DT", "RB", "CC", "MD", "PRP", "VERB", "ADP", ""]
RELATIONS = ["nsubj", "advmod", "obj", "obl:tmod", "conj", "cc"]


@st.composite
def heads_of(draw, n):
    """Heads of a tree of n words, crossing or not."""
    order = draw(st.permutations(range(n)))
    heads = [0] * n
    for i, word in enumerate(order[1:], start=1):
        heads[word] = order[draw(st.integers(0, i - 1))] + 1
    return heads


@st.composite
def parsed_sentences(draw, parted):
    """White-space words, and a tree of them or of their parts."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))
    parts = [part for word in words for part in (parts_of(word) if parted else [word])]
    n = len(parts)

    def some(values):
        return draw(
            st.none() | st.lists(st.sampled_from(values), min_size=n, max_size=n)
        )

    return words, Tree(parts, some(TAGS), draw(heads_of(n)), some(RELATIONS))


def read_as(parted, words, tree):
    if parted:
        cluster = read_cluster([[" ".join(words)]], "it")
        return cluster, read_needs(cluster, lambda _: [tree])
    cluster = read_cluster([[tree]], "it")
    return cluster, read_needs(cluster, None)


@pytest.mark.parametrize("parted", [False, True])
@given(data=st.data())
@settings(max_examples=80)
def test_no_piece_has_a_head_without_its_negation(parted, data):
    words, tree = data.draw(parsed_sentences(parted))
    cluster, needs = read_as(parted, words, tree)
    parts = [parts_of(word) if parted else [word] for word in words]
    word_of = [i for i, own in enumerate(parts) for _ in own]
    is_mark = [not any(map(str.isalnum, part)) for part in tree.words]
    heads, _ = twin.word_heads(tree.heads.tolist(), word_of, is_mark)
    assert needs.heads.tolist() == heads
    assert needs.is_negation.tolist() == [word in NEGATIONS for word in words]
    pairs = [(i, head) for i, head in enumerate(heads) if head >= 0]
    negated = [(i, head) for i, head in pairs if words[i] in NEGATIONS]
    for part, above in enumerate(tree.heads.tolist()):  # the head of "n't" itself
        if above and tree.words[part] in {"n't", "not"}:
            negated.append((word_of[part], word_of[above - 1]))
    pieces = spans_and_needs(cluster, needs)
    for c in range(len(pieces)):
        kept = set(pieces.words_of(c).tolist())
        assert kept
        for word, head in pairs:
            assert word not in kept or head in kept, "words hang together"
        for word, head in negated:
            assert head not in kept or word in kept, "a negation is dropped"
        for word in set(range(1, len(words))) & kept:
            assert words[word - 1] not in NEGATIONS or word - 1 in kept
